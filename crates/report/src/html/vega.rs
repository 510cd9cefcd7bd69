//! Charts as Vega-Lite 6 specifications with their data inside.
//!
//! Layer: inside `report::html`. Function: [`spec`]. A specification names no colour: those come
//! with the theme when the page draws it, so that one specification serves light, dark and paper.
//! Source of the grammar: the Vega-Lite 6 documentation. Left out: width and height, which the
//! page sets.

use super::points::{Plotted, category};
use boardlab_result::{Axis, Chart, Mark, Side, Style};
use serde_json::{Map, Value, json};

/// Height of one line of mark labels.
const LANE: f64 = 16.0;

/// Curves with more points than this have no hover targets of their own.
const HOVER_MAX: usize = 400;

/// Columns in which a category name is broken into lines.
const CATEGORY_WIDTH: usize = 14;

/// More names than this are written at a slant.
const UPRIGHT_MAX: usize = 8;

/// Between the lines of a category name; the page never shows it.
const BREAK: char = '\u{1f}';

/// The specification of `chart` with the points of `layers`.
pub(super) fn spec(chart: &Chart, layers: &[Plotted]) -> Value {
    let drawing = Drawing { chart, layers };
    let mut children = Vec::new();
    for side in [Side::Left, Side::Right] {
        let group = drawing.side(side);
        if !group.is_empty() {
            children.push(json!({ "layer": group }));
        }
    }
    children.extend(drawing.marks());
    let mut spec = json!({
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": chart.title,
        "layer": children,
    });
    if drawing.has(Side::Right) {
        spec["resolve"] = json!({ "scale": { "y": "independent" } });
    }
    spec
}

struct Drawing<'a> {
    chart: &'a Chart,
    layers: &'a [Plotted],
}

impl Drawing<'_> {
    fn has(&self, side: Side) -> bool {
        self.layers.iter().any(|layer| layer.side == side)
    }

    /// The marks of one vertical axis. All bars are one mark, so that they stand side by side.
    fn side(&self, side: Side) -> Vec<Value> {
        let of_side = || self.layers.iter().filter(move |layer| layer.side == side);
        let mut marks = Vec::new();
        let mut barred: Vec<Style> = Vec::new();
        for layer in of_side() {
            if !matches!(layer.style, Style::Bars | Style::Stacked) {
                marks.push(self.path(layer));
            } else if !barred.contains(&layer.style) {
                barred.push(layer.style);
                let same: Vec<_> = of_side().filter(|other| other.style == layer.style).collect();
                marks.push(self.bars(&same, layer.style));
            }
        }
        marks
    }

    /// A line, an area or points.
    fn path(&self, layer: &Plotted) -> Value {
        let hover = layer.points.len() <= HOVER_MAX;
        let point = if hover { json!({ "opacity": 0, "size": 90 }) } else { json!(false) };
        let mark = match layer.style {
            Style::Dashed => json!({ "type": "line", "strokeDash": [7, 4], "point": point }),
            Style::Points => json!({ "type": "point", "filled": true, "size": 36 }),
            Style::Area => json!({ "type": "area", "opacity": 0.3, "line": true }),
            Style::Line | Style::Bars | Style::Stacked => json!({ "type": "line", "point": point }),
        };
        let rows: Vec<Value> = layer.points.iter().map(|point| self.row(layer, *point)).collect();
        let mut encoding = self.encoding(layer);
        encoding.insert("x".into(), self.x());
        json!({ "data": { "values": rows }, "mark": mark, "encoding": encoding })
    }

    fn bars(&self, layers: &[&Plotted], style: Style) -> Value {
        let mut encoding = self.encoding(layers[0]);
        let numeric = self.chart.categories.is_empty();
        let half =
            layers.iter().map(|layer| half_width(self.chart, layer)).fold(f64::MAX, f64::min);
        let mut rows = Vec::new();
        for layer in layers {
            for point in &layer.points {
                let mut row = self.row(layer, *point);
                if numeric {
                    let (from, to) = edges(self.chart, point.0, half);
                    (row["from"], row["to"]) = (short(from), short(to));
                }
                rows.push(row);
            }
        }
        let mut x = self.x();
        if numeric {
            x["field"] = json!("from");
            encoding.insert("x2".into(), json!({ "field": "to" }));
        } else if style == Style::Bars {
            let offset = json!({ "field": "layer", "scale": { "domain": self.barred() } });
            encoding.insert("xOffset".into(), offset);
        }
        encoding.insert("x".into(), x);
        encoding["y"]["stack"] = if style == Style::Stacked { json!("zero") } else { Value::Null };
        let overlap = numeric && style == Style::Bars && layers.len() > 1;
        let mark = json!({ "type": "bar", "opacity": if overlap { 0.65 } else { 1.0 } });
        json!({ "data": { "values": rows }, "mark": mark, "encoding": encoding })
    }

    /// Labels of all layers that stand side by side.
    fn barred(&self) -> Vec<&str> {
        let bars = self.layers.iter().filter(|layer| layer.style == Style::Bars);
        bars.map(|layer| layer.label.as_str()).collect()
    }

    fn row(&self, layer: &Plotted, (x, y): (f64, f64)) -> Value {
        let x = match category(self.chart, x) {
            Some(name) => json!(broken(name)),
            None => short(x),
        };
        json!({ "x": x, "y": short(y), "layer": layer.label })
    }

    /// Vertical position, colour and tooltip, shared by all marks.
    fn encoding(&self, layer: &Plotted) -> Map<String, Value> {
        let labels: Vec<_> = self.layers.iter().map(|layer| layer.label.as_str()).collect();
        let several = labels.len() > 1;
        let color = json!({
            "field": "layer",
            "type": "nominal",
            "scale": { "domain": labels },
            "legend": if several { json!({}) } else { Value::Null },
        });
        let x_kind = if self.chart.categories.is_empty() { "quantitative" } else { "nominal" };
        let tooltip = json!([
            { "field": "layer", "type": "nominal", "title": " " },
            { "field": "x", "type": x_kind, "title": self.chart.x.label },
            { "field": "y", "type": "quantitative", "title": self.y_axis(layer.side).label,
              "format": if layer.unit == "ratio" { ".1%" } else { ",.4~g" } },
        ]);
        let mut encoding = Map::new();
        encoding.insert("y".into(), self.y(layer));
        encoding.insert("color".into(), color);
        encoding.insert("tooltip".into(), tooltip);
        encoding
    }

    fn x(&self) -> Value {
        let axis = &self.chart.x;
        if self.chart.categories.is_empty() {
            return json!({
                "field": "x",
                "type": "quantitative",
                "title": axis.label,
                "scale": scale(axis, false),
                "axis": { "grid": false, "labelFlush": false },
            });
        }
        let names: Vec<_> = self.chart.categories.iter().map(|name| broken(name)).collect();
        let slant = if names.len() > UPRIGHT_MAX { -40 } else { 0 };
        json!({
            "field": "x",
            "type": "nominal",
            "title": axis.label,
            "scale": { "domain": names, "paddingInner": 0.25 },
            "axis": {
                "labelAngle": slant,
                "labelLimit": 160,
                "labelExpr": format!("split(datum.label, '{BREAK}')"),
                "ticks": false,
            },
        })
    }

    fn y(&self, layer: &Plotted) -> Value {
        let axis = self.y_axis(layer.side);
        let mut look = Map::new();
        if let Some(format) = axis_format(&layer.unit) {
            look.insert("format".into(), json!(format));
        }
        if layer.side == Side::Right {
            look.insert("orient".into(), json!("right"));
            look.insert("grid".into(), json!(false));
        }
        json!({
            "field": "y",
            "type": "quantitative",
            "title": axis.label,
            "scale": scale(axis, true),
            "axis": look,
        })
    }

    fn y_axis(&self, side: Side) -> &Axis {
        match (side, &self.chart.y2) {
            (Side::Right, Some(axis)) => axis,
            _ => &self.chart.y,
        }
    }

    /// Vertical rules. Each label has a line of its own above the plot, beginning at its rule;
    /// the leftmost is the highest, and every rule ends at its own label, so none crosses a word.
    /// With marks in the right half labels run to the left instead, and the rightmost is highest.
    fn marks(&self) -> Vec<Value> {
        let mut marks: Vec<&Mark> = self.chart.marks.iter().filter(|m| m.x.is_finite()).collect();
        marks.sort_by(|a, b| a.x.total_cmp(&b.x));
        let leftward = self.leftward(&marks);
        if leftward {
            marks.reverse();
        }
        let lanes = marks.len();
        let lane = |index: usize| -LANE * (lanes - index) as f64;
        marks.iter().enumerate().map(|(index, m)| self.mark(m, lane(index), leftward)).collect()
    }

    /// Whether most marks stand in the right half of the plot.
    fn leftward(&self, marks: &[&Mark]) -> bool {
        let points = self.layers.iter().flat_map(|layer| &layer.points).map(|point| point.0);
        let all = || points.clone().chain(marks.iter().map(|mark| mark.x));
        let (low, high) = (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max));
        let right = marks.iter().filter(|mark| mark.x > f64::midpoint(low, high)).count();
        right * 2 > marks.len()
    }

    fn mark(&self, mark: &Mark, top: f64, leftward: bool) -> Value {
        let x = match category(self.chart, mark.x) {
            Some(name) => json!(broken(name)),
            None => short(mark.x),
        };
        let (align, dx) = if leftward { ("right", -5) } else { ("left", 5) };
        let text = |style: &str| {
            json!({
                "mark": { "type": "text", "style": style, "align": align, "dx": dx, "dy": 7 },
                "encoding": { "text": { "field": "label" }, "y": { "value": top } },
            })
        };
        json!({
            "data": { "values": [{ "x": x, "label": mark.label }] },
            "encoding": { "x": self.x() },
            "layer": [
                {
                    "mark": { "type": "rule", "style": "mark-rule" },
                    "encoding": { "y": { "value": top }, "y2": { "value": "height" } },
                },
                text("mark-halo"),
                text("mark-label"),
            ],
        })
    }
}

fn scale(axis: &Axis, vertical: bool) -> Value {
    if axis.log2 {
        json!({ "type": "log", "base": 2 })
    } else {
        json!({ "zero": axis.zero, "nice": vertical })
    }
}

/// How the numbers of an axis are written, where the plain form would be unreadable.
fn axis_format(unit: &str) -> Option<&'static str> {
    match unit {
        "ratio" => Some(".0%"),
        "count" | "bytes" | "bytes_per_s" | "ns" => Some("~s"),
        _ => None,
    }
}

/// Half the width of a bar: a little less than half the smallest distance of two positions, or
/// the logarithm of it on a logarithmic axis.
fn half_width(chart: &Chart, layer: &Plotted) -> f64 {
    let place = |x: f64| if chart.x.log2 { x.log2() } else { x };
    let mut places: Vec<f64> = layer.points.iter().map(|point| place(point.0)).collect();
    places.sort_by(f64::total_cmp);
    let gaps = places.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0);
    gaps.fold(None, |least: Option<f64>, gap| Some(least.map_or(gap, |least| least.min(gap))))
        .map_or(0.5, |gap| gap * 0.46)
}

fn edges(chart: &Chart, x: f64, half: f64) -> (f64, f64) {
    if chart.x.log2 { (x / half.exp2(), x * half.exp2()) } else { (x - half, x + half) }
}

/// A number with seven significant digits at most: more cannot be seen and makes reports large.
fn short(number: f64) -> Value {
    let rounded: f64 = format!("{number:.6e}").parse().unwrap_or(number);
    if rounded.fract() == 0.0 && rounded.abs() < 9e15 {
        #[allow(clippy::cast_possible_truncation, reason = "whole, and within 2^53")]
        return json!(rounded as i64);
    }
    json!(rounded)
}

/// A name broken into short lines for the axis.
fn broken(name: &str) -> String {
    crate::text::wrap(name, CATEGORY_WIDTH).join(&BREAK.to_string())
}
