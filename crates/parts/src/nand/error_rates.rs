//! The bit error rates of a flash: the section `errors` of a part file.
//!
//! Layer: rank 8. Main type: [`Chance`], a value such as `"1.63e-9"`; function: [`rates`].
//! [`boardlab_media::ErrorRates`] defines the rates.

use boardlab_document::misfit::Misfit;
use boardlab_document::quantity::{Decimal, Ratio};
use boardlab_document::{Description, Node, PlacedMisfit, Read, Section, Value, fields};
use boardlab_media::{Curve, ErrorRates};

/// The number of decimals of a probability.
const DECIMALS: u32 = 18;
/// A probability in units of 10^-18, such as `"2e-5"` in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chance(u64);

impl Chance {
    /// The probability in units of 10^-18.
    #[must_use]
    pub const fn atto(self) -> u64 {
        self.0
    }

    /// Reads `0.00002` or `2e-5` exactly; refuses what cannot be represented.
    fn parse(text: &str) -> Result<Self, Misfit> {
        let (number, rest) = Decimal::split(text)?;
        let down: u32 = match rest {
            "" => 0,
            _ => rest.strip_prefix("e-").and_then(|e| e.parse().ok()).ok_or(Misfit::NotANumber)?,
        };
        let finer = Misfit::NotWhole("parts of 10^18");
        let up = DECIMALS.checked_sub(number.decimals.saturating_add(down)).ok_or(finer)?;
        let most = 10_u128.pow(DECIMALS);
        let chance = number.digits.checked_mul(10_u128.pow(up)).filter(|&chance| chance <= most);
        let chance = chance.ok_or_else(|| Misfit::TooLarge("1".into()))?;
        Ok(Self(u64::try_from(chance).expect("at most 10^18")))
    }
}

impl Value for Chance {
    const NUMBER: bool = true;

    fn description() -> Description {
        Description::new("a probability from 0 to 1", "\"2e-5\"").hint("in quotes, down to 1e-18")
    }

    fn read(node: &Node) -> Result<Self, PlacedMisfit> {
        let text = node.as_text().ok_or_else(|| PlacedMisfit::of_type(node))?;
        Self::parse(text).map_err(|misfit| PlacedMisfit::new(node, misfit))
    }
}

/// The section `errors` of a part.
///
/// # Errors
/// Keys that are missing, unknown or of the wrong kind, and lists that fall where they must rise.
pub fn rates(section: Section<'_>) -> Read<ErrorRates> {
    let by_pe_cycles = |section: Section<'_>| {
        let rates = section.required::<Vec<Chance>>("rate");
        curve(&section, "pe_cycles", rates, |rate| rate.0)
    };
    let by_hours = |section: Section<'_>| {
        let shares = section.required::<Vec<Ratio>>("share");
        curve(&section, "hours", shares, |share| share.millionths() / 1_000)
    };
    fields!(section => ErrorRates {
        program: Curve => section(by_pe_cycles),
        retention: Curve => section(by_pe_cycles),
        disturb: Curve => section(by_pe_cycles),
        retention_share: Curve => section(by_hours),
    })
}

/// Reads the line through the points of a section.
fn curve<T>(
    section: &Section<'_>,
    x: &str,
    y: Read<Vec<T>>,
    value: impl Fn(&T) -> u64,
) -> Read<Curve> {
    let x_values = section.required::<Vec<u64>>(x);
    section.finish()?;
    let (xs, ys) = (x_values?, y?);
    let points: Vec<_> = xs.iter().copied().zip(ys.iter().map(value)).collect();
    let curve = Curve::new(&points).filter(|_| xs.len() == ys.len());
    curve.ok_or_else(|| {
        section.refuse(
            x,
            "and the other list are not a line that rises",
            "two lists of one length, this one rising, the other never falling",
            "compare it with a built-in part: boardlab list parts",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chance_is_read_exactly_or_not_at_all() {
        for (text, value) in [
            ("0", 0),
            ("1", 1_000_000_000_000_000_000),
            ("1.63e-9", 1_630_000_000),
            ("0.00002", 20_000_000_000_000),
            ("5e-12", 5_000_000),
            ("1e-18", 1),
        ] {
            assert_eq!(Chance::parse(text), Ok(Chance(value)), "{text}");
        }
        for text in
            ["", "-1", "1.1", "2", "1e-19", "0.5e-18", "1e9", "1e-", "1 %", "1e-99999999999"]
        {
            assert!(Chance::parse(text).is_err(), "{text}");
        }
    }
}
