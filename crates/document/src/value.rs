//! Values that can be read from a node.
//!
//! Layer: rank 7. Main type: the trait [`Value`]; implement it for a type of your own to read it
//! with [`super::Section`]. Names from a list are not values: see [`super::Section::one_of`].

use super::node::{Content, Node};
use crate::misfit::Misfit;
use crate::quantity::{self, Dimension, Ratio};
use crate::source::Place;
use boardlab_sim::{Bytes, Duration, Hertz, Rate};

/// Something that a single TOML value can say.
pub trait Value: Sized {
    /// Whether it is a number, which needs a source in a part or board file.
    const NUMBER: bool;

    /// What messages say of such a value.
    fn description() -> Description;

    /// Reads it.
    ///
    /// # Errors
    /// [`PlacedMisfit`] with the place of what does not fit.
    fn read(node: &Node) -> Result<Self, PlacedMisfit>;

    /// Whether it is zero, where that makes sense.
    fn is_zero(&self) -> bool {
        false
    }
}

/// What messages say of a kind of value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// What is due, with an article: `a duration`.
    pub expected: String,
    /// A value as a file writes it: `"256 us"`.
    pub example: String,
    /// What else a help line says, such as the units; may be empty.
    pub hint: String,
    /// The values that have names; empty where none has.
    pub names: Vec<String>,
}

impl Description {
    /// A description without a hint.
    pub fn new(expected: impl Into<String>, example: impl Into<String>) -> Self {
        Self {
            expected: expected.into(),
            example: example.into(),
            hint: String::new(),
            names: Vec::new(),
        }
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    /// The same with the values that have names.
    #[must_use]
    pub fn names<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Self {
        Self { names: names.into_iter().map(String::from).collect(), ..self }
    }
}

/// A misfit, what it is about, and where that stands.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedMisfit {
    /// Where it stands.
    pub place: Place,
    /// The text that does not fit.
    pub found: String,
    /// Why not.
    pub misfit: Misfit,
}

impl PlacedMisfit {
    /// `misfit` of the whole of `node`.
    #[must_use]
    pub fn new(node: &Node, misfit: Misfit) -> Self {
        Self { place: node.place().clone(), found: node.written(), misfit }
    }

    /// The wrong type of TOML value.
    #[must_use]
    pub fn of_type(node: &Node) -> Self {
        Self::new(node, Misfit::Type(node.noun()))
    }
}

fn parsed<T>(node: &Node, parse: fn(&str) -> Result<T, Misfit>) -> Result<T, PlacedMisfit> {
    let text = match node.content() {
        Content::Text(text) => text.as_str(),
        Content::Integer(_) | Content::Float(_) => node.place().text(),
        _ => return Err(PlacedMisfit::of_type(node)),
    };
    parse(text).map_err(|misfit| {
        // TOML writes numbers in more ways (`1_000`, `0x10`, `1e3`); all of them lack a unit.
        let bare = node.as_text().is_none() && misfit != Misfit::Negative;
        PlacedMisfit::new(node, if bare { Misfit::NoUnit } else { misfit })
    })
}

fn units(dimension: Dimension) -> String {
    format!("units: {}", dimension.unit_names())
}

fn of_rates() -> String {
    let [size, time] = [Dimension::Size, Dimension::Time].map(Dimension::unit_names);
    format!("a size ({size}) over a time ({time})")
}

/// Quantities: their type, what is due, an example, units, reader, and whether one is zero.
macro_rules! quantities {
    ($($type:ty, $expected:literal, $example:literal, $hint:expr, $parse:path, $zero:expr;)*) => {$(
        impl Value for $type {
            const NUMBER: bool = true;
            fn description() -> Description {
                Description::new($expected, $example).hint($hint)
            }
            fn read(node: &Node) -> Result<Self, PlacedMisfit> {
                parsed(node, $parse)
            }
            fn is_zero(&self) -> bool {
                let zero: fn(Self) -> bool = $zero;
                zero(*self)
            }
        }
    )*};
}
quantities! {
    Duration, "a duration", "\"256 us\"", units(Dimension::Time), quantity::duration, Self::is_zero;
    Bytes, "a size", "\"128 KiB\"", units(Dimension::Size), quantity::bytes, Self::is_zero;
    Hertz, "a frequency", "\"48 MHz\"", units(Dimension::Frequency), quantity::hertz, |_| false;
    Rate, "a rate", "\"381 MB/s\" or \"4 MiB / 11 ms\"", of_rates(), quantity::rate, |_| false;
    Ratio, "a ratio", "\"10 %\"", units(Dimension::Ratio), quantity::ratio, |one| one.millionths() == 0;
}

impl Value for u64 {
    const NUMBER: bool = true;
    fn description() -> Description {
        Description::new("a whole number", "16").hint("without quotes and without a unit")
    }
    fn read(node: &Node) -> Result<Self, PlacedMisfit> {
        match node.content() {
            Content::Integer(Some(..0)) => Err(PlacedMisfit::new(node, Misfit::Negative)),
            Content::Integer(number) => {
                let fits = number.and_then(|number| Self::try_from(number).ok());
                let too_large = || Misfit::TooLarge(Self::MAX.to_string());
                fits.ok_or_else(|| PlacedMisfit::new(node, too_large()))
            }
            _ => Err(PlacedMisfit::of_type(node)),
        }
    }
    fn is_zero(&self) -> bool {
        *self == 0
    }
}

impl Value for bool {
    const NUMBER: bool = false;
    fn description() -> Description {
        Description::new("true or false", "true").hint("without quotes").names(["true", "false"])
    }
    fn read(node: &Node) -> Result<Self, PlacedMisfit> {
        match node.content() {
            Content::Boolean(yes) => Ok(*yes),
            _ => Err(PlacedMisfit::of_type(node)),
        }
    }
}

/// Text that is not empty. A number given by `--set` counts as text: the shell eats quotes.
impl Value for String {
    const NUMBER: bool = false;
    fn description() -> Description {
        Description::new("text", "\"...\"").hint("text stands in quotes")
    }
    fn read(node: &Node) -> Result<Self, PlacedMisfit> {
        match node.content() {
            Content::Text(text) if text.trim().is_empty() => {
                Err(PlacedMisfit::new(node, Misfit::Empty))
            }
            Content::Text(text) => Ok(text.clone()),
            Content::Integer(_) | Content::Float(_) if node.place().source().is_argument() => {
                Ok(node.place().text().into())
            }
            _ => Err(PlacedMisfit::of_type(node)),
        }
    }
}

/// A list of values, each with its own place.
impl<T: Value> Value for Vec<T> {
    const NUMBER: bool = T::NUMBER;
    fn description() -> Description {
        let Description { expected, example, hint, .. } = T::description();
        Description::new(format!("a list, each entry {expected}"), format!("[{example}]"))
            .hint(hint)
    }
    fn read(node: &Node) -> Result<Self, PlacedMisfit> {
        match node.content() {
            Content::List(items) if items.is_empty() => Err(PlacedMisfit::new(node, Misfit::Empty)),
            Content::List(items) => items.iter().map(T::read).collect(),
            _ => Err(PlacedMisfit::of_type(node)),
        }
    }
    fn is_zero(&self) -> bool {
        self.iter().any(T::is_zero)
    }
}
