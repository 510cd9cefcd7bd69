//! Values that only files of managed flash have: times of rows, and counts.
//!
//! Layer: rank 8. Main type: [`Times`], one duration or a list of them by row; function: [`count`].

use boardlab_document::{Content, Description, Node, PlacedMisfit, Read, Section, Value};
use boardlab_sim::Duration;

/// Times of the rows of a block: one for all rows, or a list that repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Times(pub(super) Vec<Duration>);

impl Times {
    /// Reads the times called `key`, each more than zero and at most `most`.
    pub(super) fn of(section: &Section<'_>, key: &str, most: Duration) -> Read<Vec<Duration>> {
        let Self(times) = section.required::<Self>(key)?;
        match times.iter().find(|time| time.is_zero() || **time > most) {
            None => Ok(times),
            Some(time) => Err(section.refuse(
                key,
                &format!("has a row of {time}"),
                &format!("more than zero and at most {most}"),
                "check the unit",
            )),
        }
    }
}

impl Value for Times {
    const NUMBER: bool = true;

    fn description() -> Description {
        let expected = "a duration, or a list of them for the rows of a word line";
        let example = "\"75 us\" or [\"56 us\", \"77 us\", \"106 us\"]";
        Description::new(expected, example).hint(Duration::description().hint)
    }

    fn read(node: &Node) -> Result<Self, PlacedMisfit> {
        match node.content() {
            Content::List(_) => Vec::<Duration>::read(node).map(Self),
            _ => Duration::read(node).map(|time| Self(vec![time])),
        }
    }
}

/// Reads the whole number called `key` from `least` to `most`, both at most 2^32 - 1.
pub fn count(section: &Section<'_>, key: &str, least: u64, most: u64) -> Read<u32> {
    let count = section.key::<u64>(key).within(least, most.min(u32::MAX.into())).required()?;
    Ok(u32::try_from(count).expect("within u32"))
}
