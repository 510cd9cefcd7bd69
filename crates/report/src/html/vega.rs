//! Charts as Vega-Lite 6 specifications with their data inside.
//!
//! Layer: inside `report::html`. Function: [`spec`]. A specification names no colour: the page adds
//! those of the theme when it draws, so that one specification serves light, dark and paper. Source
//! of the grammar: the Vega-Lite 6 documentation. Left out: width and height, which the page sets.

use super::points::{PlottedLayer, category};
use boardlab_result::{Axis, Chart, Mark, Side, Style};
use serde_json::{Map, Value, json};

/// Height of one line of mark labels.
const LANE: f64 = 15.0;

/// Columns in which a mark's label is broken into lines: half the width of a phone.
const FLAG_WIDTH: usize = 26;

/// The margin between the data and the sides of a plot with bars or marks.
const SIDE_AIR: u32 = 12;

/// Curves with more points than this have no hover targets of their own.
const HOVER_MAX: usize = 400;

/// A dashed line: drawn and left out, in pixels.
const DASHES: [u32; 2] = [7, 4];

/// The field with the label of a row's layer.
const LAYER: &str = "layer";

/// Columns in which a category name is broken into lines.
const CATEGORY_WIDTH: usize = 14;

/// The field with the place of a percentile on its axis: the number of nines.
const PLACE: &str = "place";

/// Labelled places of that axis: 0, 50, 90, 99, 99.9, 99.99, 99.999 and 99.9999 %.
const NINES: [f64; 8] = [0.0, std::f64::consts::LOG10_2, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

/// Category names of more columns than this in all are slanted.
const UPRIGHT_MAX: usize = 84;

/// More rows of a matrix than these make the chart higher than others: so many pixels a row.
const HEAT_ROWS: usize = 18;
const HEAT_ROW: usize = 17;

/// Of a scale from light to dark, the share from which on a figure is written in the light colour.
const DARK: f64 = 0.85;

/// The specification of `chart` with the points of `layers`.
pub(super) fn spec(chart: &Chart, layers: &[PlottedLayer]) -> Value {
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
    let rows = layers.iter().filter(|layer| layer.style == Style::Heat).count();
    if rows > HEAT_ROWS {
        spec["usermeta"] = json!({ "height": rows * HEAT_ROW });
    }
    if drawing.has(Side::Right) {
        spec["resolve"] = json!({ "scale": { "y": "independent" } });
    }
    spec
}

struct Drawing<'a> {
    chart: &'a Chart,
    layers: &'a [PlottedLayer],
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
            if !matches!(layer.style, Style::Bars | Style::Stacked | Style::Heat) {
                marks.push(self.path(layer));
            } else if !barred.contains(&layer.style) {
                barred.push(layer.style);
                let same: Vec<_> = of_side().filter(|other| other.style == layer.style).collect();
                marks.push(match layer.style {
                    Style::Heat => self.heat(&same),
                    style => self.bars(&same, style),
                });
            }
        }
        marks
    }

    /// A line, an area or points.
    fn path(&self, layer: &PlottedLayer) -> Value {
        let point = match layer.points.len() {
            // A line needs two points.
            0..=1 => json!({ "size": 60 }),
            2..=HOVER_MAX => json!({ "opacity": 0, "size": 90 }),
            _ => json!(false),
        };
        let mark = match layer.style {
            Style::Dashed => json!({ "type": "line", "strokeDash": DASHES, "point": point }),
            Style::Points => json!({ "type": "point", "filled": true, "size": 36 }),
            Style::Area => json!({ "type": "area", "opacity": 0.3, "line": true }),
            Style::Steps => json!({ "type": "line", "interpolate": "step-after", "point": point }),
            Style::Band => json!({ "type": "area", "interpolate": "step-after", "opacity": 0.25 }),
            Style::Line | Style::Bars | Style::Stacked | Style::Heat => {
                json!({ "type": "line", "point": point })
            }
        };
        let mut rows: Vec<Value> =
            layer.points.iter().map(|point| self.row(layer, *point)).collect();
        for (row, edge) in rows.iter_mut().zip(&layer.edge) {
            row["y2"] = short(*edge);
        }
        let mut encoding = self.encoding(layer);
        encoding.insert("x".into(), self.x());
        if let Some(dashes) = self.dashes() {
            encoding.insert("strokeDash".into(), dashes);
        }
        let transform: Vec<Value> = self.names().into_iter().chain(self.placed()).collect();
        if matches!(layer.style, Style::Area | Style::Band) {
            encoding["y"]["stack"] = Value::Null;
        }
        if layer.style == Style::Band {
            encoding.insert("y2".into(), json!({ "field": "y2" }));
        }
        json!({
            "data": { "values": rows },
            "transform": transform,
            "mark": mark,
            "encoding": encoding,
        })
    }

    /// Gives every row the label of its layer, and that of the layer whose colour it has: rows carry an index, which is
    /// shorter.
    fn names(&self) -> Vec<Value> {
        let by_index = |labels: &[&str], field| json!({ "calculate": format!("{}[datum.l]", json!(labels)), "as": field });
        let mut names = vec![by_index(&self.labels(), LAYER)];
        if self.colour_field() != LAYER {
            let colours: Vec<_> = self.layers.iter().map(|layer| self.colour(layer)).collect();
            names.push(by_index(&colours, self.colour_field()));
        }
        names
    }

    /// The field that gives the colour. Where every layer has its own it is that of the dashes, so that both have one
    /// legend.
    fn colour_field(&self) -> &'static str {
        if self.own_colours().len() == self.layers.len() { LAYER } else { "colour" }
    }

    /// The label of the layer whose colour `layer` has.
    fn colour<'l>(&'l self, layer: &'l PlottedLayer) -> &'l str {
        let like = layer
            .like
            .as_deref()
            .and_then(|label| self.layers.iter().find(|one| one.label == label));
        like.map_or(layer.label.as_str(), |one| one.label.as_str())
    }

    /// The labels of layers with colours of their own, in order.
    fn own_colours(&self) -> Vec<&str> {
        let own = self.layers.iter().filter(|layer| self.colour(layer) == layer.label);
        own.map(|layer| layer.label.as_str()).collect()
    }

    /// Labels of all layers in order.
    fn labels(&self) -> Vec<&str> {
        self.layers.iter().map(|layer| layer.label.as_str()).collect()
    }

    fn bars(&self, layers: &[&PlottedLayer], style: Style) -> Value {
        let mut encoding = self.encoding(layers[0]);
        let numeric = self.chart.categories.is_empty();
        let mut transform = self.names();
        if numeric {
            let widths = layers.iter().map(|layer| half_width(self.chart, layer));
            transform.extend(edges(self.chart, widths.fold(f64::MAX, f64::min)));
        }
        let rows: Vec<Value> = layers
            .iter()
            .flat_map(|layer| layer.points.iter().map(|point| self.row(layer, *point)))
            .collect();
        let mut x = self.x();
        if numeric {
            x["field"] = json!("from");
            // Without this the bars would float, since a bar with two ends on one axis has none on
            // the other.
            x["bin"] = json!("binned");
            encoding.insert("x2".into(), json!({ "field": "to" }));
        } else if style == Style::Bars {
            let scale = json!({ "domain": self.barred(), "paddingInner": 0.06 });
            encoding.insert("xOffset".into(), json!({ "field": "layer", "scale": scale }));
        }
        encoding.insert("x".into(), x);
        // Heights do not add up on a logarithmic axis, so there bars are not stacked.
        let stacked = style == Style::Stacked && !self.y_axis(layers[0].side).log2;
        encoding["y"]["stack"] = if stacked { json!("zero") } else { Value::Null };
        let overlap = numeric && style == Style::Bars && layers.len() > 1;
        let mark = json!({ "type": "bar", "opacity": if overlap { 0.65 } else { 1.0 } });
        json!({
            "data": { "values": rows },
            "transform": transform,
            "mark": mark,
            "encoding": encoding,
        })
    }

    /// A matrix: one row a layer, one column a category, the value as colour and as text.
    fn heat(&self, layers: &[&PlottedLayer]) -> Value {
        let rows: Vec<Value> = layers
            .iter()
            .flat_map(|layer| layer.points.iter().map(|point| self.row(layer, *point)))
            .collect();
        let format = if layers[0].unit == "ratio" { ".3~%" } else { ",.4~g" };
        // A ratio is coloured on a scale from bad to good, other values from none, which is light, to the most.
        let most =
            layers.iter().flat_map(|layer| &layer.points).map(|(_, y)| *y).fold(0.0, f64::max);
        let (scale, dark) = match layers[0].unit.as_str() {
            "ratio" => (json!({ "type": "linear", "domain": [0, 1] }), f64::MIN),
            _ => (json!({ "type": "linear", "domain": [0, most], "range": "ramp" }), DARK * most),
        };
        let field = json!({
            "mark": "rect",
            "encoding": { "color": {
                "field": "y", "type": "quantitative", "scale": scale, "legend": Value::Null,
            } },
        });
        let figure = |style: &str, shown: String| {
            let opacity = json!({ "condition": { "test": shown, "value": 1 }, "value": 0 });
            let text = json!({ "field": "y", "type": "quantitative", "format": format });
            let mark = json!({ "type": "text", "style": style });
            json!({ "mark": mark, "encoding": { "text": text, "opacity": opacity } })
        };
        let high = match dark >= 0.0 {
            true => format!("datum.y > 0 && datum.y >= {dark:e}"),
            false => "true".into(),
        };
        let mut marks = vec![field, figure("mark-field", high)];
        if dark >= 0.0 {
            marks.push(figure("mark-label", format!("datum.y <= 0 || datum.y < {dark:e}")));
        }
        let title = &self.chart.y.label;
        json!({
            "data": { "values": rows },
            "transform": self.names(),
            "encoding": {
                "x": self.x(),
                "y": { "field": "layer", "type": "nominal", "title": Value::Null,
                       "scale": { "domain": self.labels() } },
                "tooltip": [
                    { "field": "layer", "type": "nominal", "title": " " },
                    { "field": "x", "type": "nominal", "title": self.chart.x.label },
                    { "field": "y", "type": "quantitative", "title": title, "format": format },
                ],
            },
            "layer": marks,
        })
    }

    /// Labels of all layers that stand side by side.
    fn barred(&self) -> Vec<&str> {
        let bars = self.layers.iter().filter(|layer| layer.style == Style::Bars);
        bars.map(|layer| layer.label.as_str()).collect()
    }

    fn row(&self, layer: &PlottedLayer, (x, y): (f64, f64)) -> Value {
        let x = match category(self.chart, x) {
            Some(name) => json!(broken(name)),
            None => short(x),
        };
        let index = self.layers.iter().position(|other| other.label == layer.label);
        json!({ "l": index, "x": x, "y": short(y) })
    }

    /// Adds the place of a percentile on its axis.
    fn placed(&self) -> Option<Value> {
        let nines = "-log(1 - datum.x / 100) / LN10";
        self.chart.x.nines.then(|| json!({ "calculate": nines, "as": PLACE }))
    }

    /// Lines in the legend of lines, squares otherwise.
    fn legend(&self) -> Value {
        let line = |layer: &PlottedLayer| {
            matches!(layer.style, Style::Line | Style::Dashed | Style::Steps)
        };
        if self.layers.iter().all(line) {
            json!({ "symbolType": "stroke", "symbolSize": 500 })
        } else {
            json!({ "symbolType": "square" })
        }
    }

    /// Which layers are dashed; the legend shows it too. Only where all layers are lines.
    fn dashes(&self) -> Option<Value> {
        let dashed = |layer: &PlottedLayer| layer.style == Style::Dashed;
        let line = |layer: &PlottedLayer| dashed(layer) || layer.style == Style::Line;
        if !self.layers.iter().all(line) || !self.layers.iter().any(dashed) {
            return None;
        }
        let labels = self.labels();
        let pattern = |layer: &PlottedLayer| if dashed(layer) { DASHES } else { [1, 0] };
        let range: Vec<[u32; 2]> = self.layers.iter().map(pattern).collect();
        Some(json!({
            "field": "layer",
            "type": "nominal",
            "scale": { "domain": labels, "range": range },
            "legend": if labels.len() > 1 { self.legend() } else { Value::Null },
        }))
    }

    /// Vertical position, colour and tooltip, shared by all marks.
    fn encoding(&self, layer: &PlottedLayer) -> Map<String, Value> {
        let labels = self.own_colours();
        let several = labels.len() > 1;
        let legend = if several { self.legend() } else { Value::Null };
        let color = json!({
            "field": self.colour_field(),
            "type": "nominal",
            "scale": { "domain": labels },
            "legend": legend,
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
                "field": if axis.nines { PLACE } else { "x" },
                "type": "quantitative",
                "title": axis.label,
                "scale": self.x_scale(),
                "axis": self.x_ticks(),
            });
        }
        let names: Vec<_> = self.chart.categories.iter().map(|name| broken(name)).collect();
        let lines = names.iter().flat_map(|name| name.lines());
        let longest = lines.map(|line| line.chars().count()).max().unwrap_or_default();
        let slant = if names.len() * longest > UPRIGHT_MAX { -40 } else { 0 };
        json!({
            "field": "x",
            "type": "nominal",
            "title": axis.label,
            "scale": { "domain": names, "paddingInner": 0.25 },
            "axis": {
                "labelAngle": slant,
                "labelLimit": 160,
                "labelExpr": "split(datum.label, '\\n')",
                "ticks": false,
            },
        })
    }

    /// The labels of a horizontal axis of numbers: whole numbers if all positions are whole, since
    /// they are counts.
    fn x_ticks(&self) -> Value {
        let mut axis = json!({ "grid": false, "labelFlush": false });
        if self.chart.x.nines {
            axis["values"] = json!(NINES);
            axis["labelExpr"] = json!("format(100 - 100 * pow(10, -datum.value), '.6~g') + ' %'");
            return axis;
        }
        let mut positions = self.layers.iter().flat_map(|layer| &layer.points).map(|point| point.0);
        if !self.chart.x.log2 && positions.all(|x| x.fract() == 0.0) {
            axis["tickMinStep"] = json!(1);
        }
        axis
    }

    /// The horizontal scale, with margins where bars or marks are at its ends.
    fn x_scale(&self) -> Value {
        let mut scale = scale(&self.chart.x, false);
        let bars = self.layers.iter().any(|layer| layer.style == Style::Bars);
        if !self.chart.x.zero && (bars || !self.chart.marks.is_empty()) {
            scale["padding"] = json!(SIDE_AIR);
        }
        scale
    }

    fn y(&self, layer: &PlottedLayer) -> Value {
        let axis = self.y_axis(layer.side);
        let mut look = Map::new();
        match layer.unit.as_str() {
            "ratio" => {
                look.insert("format".into(), json!(".0%"));
            }
            // Large numbers in their base unit: 500, 1k, 2M.
            "bytes" | "bytes_per_s" | "ns" => {
                look.insert("labelExpr".into(), json!("format(datum.value, '.3~s')"));
            }
            _ => {}
        }
        if layer.side == Side::Right {
            look.insert("orient".into(), json!("right"));
            look.insert("grid".into(), json!(false));
        }
        let mut scale = scale(axis, true);
        if !axis.log2 && matches!(layer.style, Style::Bars | Style::Stacked | Style::Area) {
            // A bar must begin at zero, or its height would mislead.
            scale["zero"] = json!(true);
        }
        if layer.style == Style::Stacked && layer.unit == "ratio" {
            // Shares of a whole, whose axis must not exceed it by rounding.
            scale["domain"] = json!([0, 1]);
            scale["clamp"] = json!(true);
        }
        json!({
            "field": "y",
            "type": "quantitative",
            "title": axis.label,
            "scale": scale,
            "axis": look,
        })
    }

    fn y_axis(&self, side: Side) -> &Axis {
        match (side, &self.chart.y2) {
            (Side::Right, Some(axis)) => axis,
            _ => &self.chart.y,
        }
    }

    /// Vertical rules. Each label has lines of its own above the plot and runs from its rule
    /// towards the middle. Those in the left half come first, the outermost highest, and a rule
    /// ends at its own label. So few rules cross a label, and a halo keeps it readable.
    fn marks(&self) -> Vec<Value> {
        let mut marks: Vec<&Mark> = self.chart.marks.iter().filter(|m| m.x.is_finite()).collect();
        marks.sort_by(|a, b| a.x.total_cmp(&b.x));
        let middle = self.middle(&marks);
        let left = marks.iter().filter(|mark| mark.x <= middle);
        let right = marks.iter().rev().filter(|mark| mark.x > middle);
        let in_lanes: Vec<Flag> = left.chain(right).map(|mark| Flag::new(mark, middle)).collect();
        let mut top: f64 = -in_lanes.iter().map(Flag::height).sum::<f64>();
        let mut drawn = Vec::new();
        for flag in in_lanes {
            drawn.push(self.mark(&flag, top));
            top += flag.height();
        }
        drawn
    }

    /// The middle of the horizontal axis.
    fn middle(&self, marks: &[&Mark]) -> f64 {
        let points = self.layers.iter().flat_map(|layer| &layer.points).map(|point| point.0);
        let all = || points.clone().chain(marks.iter().map(|mark| mark.x));
        f64::midpoint(all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max))
    }

    fn mark(&self, flag: &Flag, top: f64) -> Value {
        let x = match category(self.chart, flag.x) {
            Some(name) => json!(broken(name)),
            None => short(flag.x),
        };
        let placed: Vec<Value> = self.placed().into_iter().collect();
        let (align, dx) = if flag.leftward { ("right", -5) } else { ("left", 5) };
        let text = |style: &str| {
            json!({
                "mark": {
                    "type": "text", "style": style, "align": align, "dx": dx,
                    "baseline": "top", "lineBreak": "\n", "lineHeight": LANE,
                },
                "encoding": { "text": { "field": "label" }, "y": { "value": top } },
            })
        };
        json!({
            "data": { "values": [{ "x": x, "label": flag.lines.join("\n") }] },
            "transform": placed,
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

/// A mark with its label in short lines.
struct Flag {
    x: f64,
    lines: Vec<String>,
    leftward: bool,
}

impl Flag {
    fn new(mark: &Mark, middle: f64) -> Self {
        let lines = crate::text::wrap(&mark.label, FLAG_WIDTH);
        Self { x: mark.x, lines, leftward: mark.x > middle }
    }

    /// The height above the plot, with a small margin below.
    fn height(&self) -> f64 {
        LANE * self.lines.len() as f64 + 3.0
    }
}

fn scale(axis: &Axis, vertical: bool) -> Value {
    if axis.log2 {
        json!({ "type": "log", "base": 2 })
    } else {
        json!({ "zero": axis.zero, "nice": vertical })
    }
}

/// Half the width of a bar: a little less than half the smallest distance of two positions, or
/// the logarithm of it on a logarithmic axis.
fn half_width(chart: &Chart, layer: &PlottedLayer) -> f64 {
    let place = |x: f64| if chart.x.log2 { x.log2() } else { x };
    let mut places: Vec<f64> = layer.points.iter().map(|point| place(point.0)).collect();
    places.sort_by(f64::total_cmp);
    let gaps = places.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0);
    gaps.fold(None, |least: Option<f64>, gap| Some(least.map_or(gap, |least| least.min(gap))))
        .map_or(0.5, |gap| gap * 0.46)
}

/// The two ends of every bar, `half` to either side of its position.
fn edges(chart: &Chart, half: f64) -> [Value; 2] {
    let (less, more, by) = if chart.x.log2 { ('/', '*', half.exp2()) } else { ('-', '+', half) };
    [
        json!({ "calculate": format!("datum.x {less} {by}"), "as": "from" }),
        json!({ "calculate": format!("datum.x {more} {by}"), "as": "to" }),
    ]
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
    crate::text::wrap(name, CATEGORY_WIDTH).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(label: &str, style: Style, like: Option<&str>) -> PlottedLayer {
        PlottedLayer {
            label: label.into(),
            style,
            side: Side::Left,
            like: like.map(String::from),
            unit: "MB/s".into(),
            points: vec![(1.0, 2.0), (2.0, 3.0)],
            edge: Vec::new(),
            thinned_from: None,
        }
    }

    fn colour_of(like: Option<&str>) -> Value {
        let axes = [Axis::fitting("x"), Axis::fitting("y")];
        let chart = Chart::new("c", "t", "", axes);
        let layers = [layer("ours", Style::Line, None), layer("ours, print", Style::Points, like)];
        spec(&chart, &layers)["layer"][0]["layer"][1]["encoding"]["color"].clone()
    }

    #[test]
    fn points_of_the_print_have_the_colour_of_their_line() {
        let colour = colour_of(Some("ours"));
        assert_eq!(colour["field"], "colour");
        assert_eq!(colour["scale"]["domain"], json!(["ours"]));
        assert_eq!(colour["legend"], Value::Null, "one colour needs no legend");
        for like in [None, Some("absent")] {
            let colour = colour_of(like);
            assert_eq!(colour["field"], LAYER, "{like:?}");
            assert_eq!(colour["scale"]["domain"], json!(["ours", "ours, print"]));
        }
    }
}
