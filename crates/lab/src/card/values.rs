//! Values of card files that no other file has: a mode of the bus, times of rows, a word of letters.
//!
//! Layer: rank 8. Main types: [`Times`], one duration or a list of them by row; [`Letters`]; and
//! [`Mode`] as a [`Value`].

use crate::document::{Content, Misplaced, Node, Read, Section, Value};
use crate::misfit::Misfit;
use boardlab_sd::Mode;
use boardlab_sim::Duration;

impl Value for Mode {
    const NUMBER: bool = false;

    fn expected() -> String {
        "a mode of the bus".into()
    }

    fn example() -> String {
        "\"ddr50\"".into()
    }

    fn read(node: &Node) -> Result<Self, Misplaced> {
        let text = node.as_text().ok_or_else(|| Misplaced::of_type(node))?;
        Self::named(text).ok_or_else(|| {
            let names = Self::ALL.iter().map(|mode| mode.name().into()).collect();
            Misplaced::new(node, Misfit::UnknownName { names })
        })
    }
}

/// Times of the rows of a block: one for all, or several that repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Times(pub(super) Vec<Duration>);

impl Times {
    /// The times called `key`, each more than nothing and at most `most`.
    pub(super) fn of(section: &Section<'_>, key: &str, most: Duration) -> Read<Vec<Duration>> {
        let Self(times) = section.required::<Self>(key)?;
        match times.iter().find(|time| time.is_zero() || **time > most) {
            None => Ok(times),
            Some(time) => Err(section.refuse(
                key,
                &format!("has a row of {time}"),
                &format!("more than nothing and at most {most}"),
                "check the unit",
            )),
        }
    }
}

impl Value for Times {
    const NUMBER: bool = true;

    fn expected() -> String {
        "a duration, or a list of them for the rows of a word line".into()
    }

    fn example() -> String {
        "\"75 us\" or [\"56 us\", \"77 us\", \"106 us\"]".into()
    }

    fn hint() -> String {
        Duration::hint()
    }

    fn read(node: &Node) -> Result<Self, Misplaced> {
        match node.content() {
            Content::List(_) => Vec::<Duration>::read(node).map(Self),
            _ => Duration::read(node).map(|time| Self(vec![time])),
        }
    }
}

/// Exactly `N` letters of ASCII.
pub(super) struct Letters<const N: usize>(pub(super) [u8; N]);

impl<const N: usize> Value for Letters<N> {
    const NUMBER: bool = false;

    fn expected() -> String {
        format!("{N} letters or digits")
    }

    fn example() -> String {
        format!("\"{}\"", "SD16G"[..].chars().cycle().take(N).collect::<String>())
    }

    fn read(node: &Node) -> Result<Self, Misplaced> {
        let text = node.as_text().ok_or_else(|| Misplaced::of_type(node))?;
        let letters = text.as_bytes().try_into().ok().filter(|_| text.is_ascii()).map(Self);
        letters.ok_or_else(|| {
            let problem = format!("is not {N} letters or digits");
            Misplaced::new(node, Misfit::Rule { problem })
        })
    }
}

/// A whole number called `key` from `least` to `most`, both of them at most 2^32 - 1.
pub(super) fn count(section: &Section<'_>, key: &str, least: u64, most: u64) -> Read<u32> {
    let count = section.key::<u64>(key).within(least, most.min(u32::MAX.into())).required()?;
    Ok(u32::try_from(count).expect("within u32"))
}
