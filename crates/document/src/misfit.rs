//! Why one value was refused.
//!
//! Layer: rank 7. A [`Misfit`] knows neither key nor place: parsers of single values return it, and
//! [`crate::error::Error::Value`] adds where it was found and what was due.

use std::fmt;

/// Why one value was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// Nothing is written.
    Empty,
    /// Another kind of TOML value than is due; this one stands there, such as `an integer`.
    Type(&'static str),
    /// It does not begin with a number.
    NotANumber,
    /// It is below zero.
    Negative,
    /// A number without a unit.
    NoUnit,
    /// A unit that does not exist, as written, and the one that was probably meant.
    UnknownUnit(String, Option<&'static str>),
    /// A unit, as written, that measures something else, and what it measures.
    OtherUnit(String, &'static str),
    /// It is finer than the smallest step, the unit with this name in the plural.
    NotWhole(&'static str),
    /// More digits than this limit.
    TooManyDigits(usize),
    /// Larger than this limit of what can be stored.
    TooLarge(String),
    /// Zero where something is due.
    Zero,
    /// Outside the range that makes sense.
    Outside {
        /// The least value that is taken.
        low: String,
        /// The greatest value that is taken.
        high: String,
    },
    /// A bare value in a file in which each number needs a source.
    Unsourced,
    /// A name that is none of these, which are known.
    UnknownName(Vec<String>),
    /// The name of a file of this kind, where one of another kind is due.
    OtherKind(String),
    /// A call such as `triangular(...)` with the wrong arguments, and how it is written.
    Arguments(&'static str),
    /// Values that must rise from left to right and do not, and the order that is due.
    Order(&'static str),
    /// It is right, and the run does not use it; when, as a clause: `with places = "random"`.
    Idle(String),
    /// A rule between values is broken, as a clause: `is not a multiple of the buffer`.
    Rule(String),
}

/// A clause that follows the value: "`256` has no unit".
impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::Type(found) => write!(f, "is {found}"),
            Self::NotANumber => f.write_str("does not begin with a number"),
            Self::Negative => f.write_str("is negative"),
            Self::NoUnit => f.write_str("has no unit"),
            Self::UnknownUnit(unit, _) => write!(f, "has the unknown unit `{unit}`"),
            Self::OtherUnit(unit, kind) => write!(f, "has `{unit}`, a unit of {kind}"),
            Self::NotWhole(step) => write!(f, "is not a whole number of {step}"),
            Self::TooManyDigits(limit) => write!(f, "has more than {limit} digits"),
            Self::TooLarge(limit) => write!(f, "is larger than {limit}"),
            Self::Zero => f.write_str("is zero"),
            Self::Outside { low, high } => write!(f, "is not from {low} to {high}"),
            Self::Unsourced => f.write_str("has no source"),
            Self::UnknownName(_) => f.write_str("is not known here"),
            Self::OtherKind(kind) => write!(f, "is of kind {kind}"),
            Self::Arguments(_) => f.write_str("has the wrong arguments"),
            Self::Order(order) => write!(f, "breaks the order {order}"),
            Self::Idle(why) => write!(f, "has no effect {why}"),
            Self::Rule(problem) => f.write_str(problem),
        }
    }
}
