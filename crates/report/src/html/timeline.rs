//! Timelines as Vega-Lite 6 specifications: a bar for each span, a band for each shaded one, and a
//! time axis that a reader can zoom and pan.
//!
//! Layer: inside `report::html`. Functions: [`drawable`], [`spec`], [`values`]. As in `vega`, a specification names no
//! colour but the opacity of bands.

use super::view::Values;
use crate::format;
use boardlab_result::{Span, Timeline};
use serde_json::{Value, json};

/// Spans of one timeline, at most: the first ones are drawn.
const SPANS_MAX: usize = 4_000;

/// Rows of the table of its values, at most.
const ROWS_MAX: usize = 200;

/// The hint for the reader.
pub(super) const HINT: &str = " Ctrl and the wheel stretch the time axis, dragging moves it, a double click shows all \
                               of it again; details of a span appear under the pointer.";

/// Height of a lane, in pixels.
const LANE_HEIGHT: usize = 72;

/// The spans that can be drawn: they have an existing lane and activity, and begin before they end.
/// Also their number, if the last ones are omitted.
pub(super) fn drawable(timeline: &Timeline) -> (Vec<&Span>, Option<usize>) {
    let known = |span: &&Span| {
        let named = span.lane < timeline.lanes.len() && span.activity < timeline.activities.len();
        named && span.from.is_finite() && span.to.is_finite() && span.from < span.to
    };
    let all: Vec<&Span> = timeline.spans.iter().filter(known).collect();
    let count = all.len();
    (all.into_iter().take(SPANS_MAX).collect(), (count > SPANS_MAX).then_some(count))
}

/// The specification of `timeline` with `spans`.
pub(super) fn spec(timeline: &Timeline, spans: &[&Span]) -> Value {
    let labels: Vec<&str> =
        timeline.activities.iter().map(|activity| activity.label.as_str()).collect();
    let row = |span: &&Span| {
        json!({
            "a": span.activity, "lane": timeline.lanes[span.lane],
            "from": span.from, "to": span.to, "what": span.label,
        })
    };
    let rows: Vec<Value> = spans.iter().map(row).collect();
    let shaded: Vec<&&Span> =
        spans.iter().filter(|span| timeline.activities[span.activity].shaded).collect();
    let bands: Vec<Value> = shaded.into_iter().map(row).collect();
    let name = json!({ "calculate": format!("{}[datum.a]", json!(labels)), "as": "activity" });
    let colour = json!({
        "field": "activity", "type": "nominal", "scale": { "domain": labels },
        "legend": { "symbolType": "square", "symbolOpacity": 1 },
    });
    let band = json!({
        "data": { "values": bands },
        "transform": [name],
        "mark": { "type": "rect", "opacity": 0.16, "clip": true },
        "encoding": { "x": x(timeline), "x2": { "field": "to" }, "color": colour },
    });
    let bars = json!({
        "data": { "values": rows },
        "transform": [name, { "calculate": "datum.to - datum.from", "as": "took" }],
        "mark": { "type": "bar", "clip": true, "minBandSize": 2 },
        "params": [{
            "name": "stretch",
            "select": { "type": "interval", "encodings": ["x"], "zoom": "wheel![event.ctrlKey]" },
            "bind": "scales",
        }],
        "encoding": {
            "x": x(timeline),
            "x2": { "field": "to" },
            "y": {
                "field": "lane", "type": "nominal", "title": Value::Null,
                "scale": { "domain": timeline.lanes, "paddingInner": 0.3, "paddingOuter": 0.2 },
            },
            "color": colour,
            "tooltip": [
                { "field": "lane", "type": "nominal", "title": " " },
                { "field": "activity", "type": "nominal", "title": "activity" },
                { "field": "what", "type": "nominal", "title": "what" },
                { "field": "from", "type": "quantitative", "title": "from", "format": ",.6~g" },
                { "field": "took", "type": "quantitative", "title": "took", "format": ",.4~g" },
            ],
        },
    });
    json!({
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": timeline.title,
        "usermeta": { "height": LANE_HEIGHT * timeline.lanes.len() },
        "layer": [band, bars],
    })
}

fn x(timeline: &Timeline) -> Value {
    json!({
        "field": "from",
        "type": "quantitative",
        "title": timeline.time,
        "scale": { "zero": false, "nice": false },
        "axis": { "grid": true, "labelFlush": false, "labelOverlap": "greedy", "labelSeparation": 12 },
    })
}

/// One row for each span, for readers without pictures.
pub(super) fn values(timeline: &Timeline, spans: &[&Span]) -> Values {
    let row = |span: &&Span| {
        let activity = timeline.activities[span.activity].label.clone();
        let (from, to) = (format::number(span.from), format::number(span.to));
        vec![from, to, timeline.lanes[span.lane].clone(), activity, span.label.clone()]
    };
    let headings = [timeline.time.as_str(), "until", "who", "activity", "what"];
    Values {
        headings: headings.map(str::to_owned).into(),
        rows: spans.iter().take(ROWS_MAX).map(row).collect(),
        left_out: spans.len().saturating_sub(ROWS_MAX),
    }
}
