//! Charts, described by their data. The renderer decides how to draw them.

use serde::{Deserialize, Serialize};

/// The points of a curve: equally many `x` and `y`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Stable id, by which a chart's layer refers to it.
    pub id: String,
    /// Unit of `y`: `bytes_per_s`, `ns`, `count`, `ratio`, `s`, `us`.
    pub unit: String,
    /// Positions; indices into the chart's categories if it has any.
    pub x: Vec<f64>,
    /// Values.
    pub y: Vec<f64>,
}

/// A chart over curves of the same result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// Stable id; the file name of a downloaded image.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What to see in it, one or two sentences.
    pub caption: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Left vertical axis.
    pub y: Axis,
    /// Right vertical axis, where a layer uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y2: Option<Axis>,
    /// Names of the positions 0, 1, 2, ... when the horizontal axis is not a number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// What is drawn, back to front.
    pub layers: Vec<Layer>,
    /// Vertical lines with a label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

impl Chart {
    /// A chart without layers, marks or categories.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        caption: impl Into<String>,
        [x, y]: [Axis; 2],
    ) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            caption: caption.into(),
            x,
            y,
            y2: None,
            categories: Vec::new(),
            layers: Vec::new(),
            marks: Vec::new(),
        }
    }
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The quantity with its unit: `wait (us)`.
    pub label: String,
    /// Whether the axis begins at zero.
    #[serde(default)]
    pub zero: bool,
    /// Whether the axis is logarithmic (base 2).
    #[serde(default)]
    pub log2: bool,
    /// Whether it is an axis of percentiles, in percent: 90, 99, 99.9 and 99.99 are equally far apart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nines: bool,
}

impl Axis {
    /// A linear axis that fits its data.
    #[must_use]
    pub fn fitting(label: impl Into<String>) -> Self {
        Self { label: label.into(), zero: false, log2: false, nines: false }
    }

    /// A linear axis that begins at zero.
    #[must_use]
    pub fn from_zero(label: impl Into<String>) -> Self {
        Self { zero: true, ..Self::fitting(label) }
    }

    /// An axis of percentiles, in percent.
    #[must_use]
    pub fn of_percentiles(label: impl Into<String>) -> Self {
        Self { nines: true, ..Self::fitting(label) }
    }
}

/// One curve, drawn in one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Name in the legend.
    pub label: String,
    /// Id of the [`Curve`].
    pub curve: String,
    /// Id of the [`Curve`] at the other edge of a band, with the same positions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// How it is drawn.
    pub style: Style,
    /// Which vertical axis it belongs to.
    #[serde(default)]
    pub side: Side,
    /// Label of the layer in whose colour it is drawn, such as our figures beside those of the print.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
}

impl Layer {
    /// The curve called `curve`, on the left axis.
    #[must_use]
    pub fn new(label: impl Into<String>, curve: impl Into<String>, style: Style) -> Self {
        Self {
            label: label.into(),
            curve: curve.into(),
            to: None,
            style,
            side: Side::Left,
            like: None,
        }
    }

    /// The band between the curves called `curve` and `to`, on the left axis.
    #[must_use]
    pub fn band(label: impl Into<String>, curve: impl Into<String>, to: impl Into<String>) -> Self {
        Self { to: Some(to.into()), ..Self::new(label, curve, Style::Band) }
    }
}

/// How a layer is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// Bars from zero; several layers of bars stand side by side over categories.
    Bars,
    /// Bars on top of each other.
    Stacked,
    /// A line through the points.
    Line,
    /// A dashed line through the points.
    Dashed,
    /// A line that keeps each value up to the next point.
    Steps,
    /// The area between two curves, which keep each value up to the next point.
    Band,
    /// The points alone.
    Points,
    /// The area under a line.
    Area,
    /// A heat map over categories, one row a layer; the colour is the value.
    Heat,
}

/// A vertical axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The left one.
    #[default]
    Left,
    /// The right one.
    Right,
}

/// A labelled vertical line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// The position on the horizontal axis.
    pub x: f64,
    /// The label.
    pub label: String,
}
