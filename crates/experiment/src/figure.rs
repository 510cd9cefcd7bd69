//! A printed figure as a number: its value and the precision of its last digit.
//!
//! Layer: rank 9. Main types: [`Figure`], and [`Meanings`], the meaning of a publication's units.
//! Values are in the unit of the column (nanoseconds, bytes, bytes a second, a count, a ratio), as
//! `f64`: they are compared and shown, and no model computes with them. Whole values below 2^53 are
//! exact.

use boardlab_document::misfit::Misfit;
use boardlab_document::quantity::{Decimal, Dimension};
use boardlab_result::{Unit, Value};

/// Units that a publication uses with another meaning than this program: `("KB", "KiB")`.
pub type Meanings = [(String, String)];

/// A printed figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The value, in the unit of its column.
    pub value: f64,
    /// Half a unit of the last printed digit.
    pub half: f64,
    /// Whether it counts whole things, and so is not rounded.
    pub whole_count: bool,
}

impl Figure {
    /// Reads `text` as printed in a column of `unit`, its units as `meanings` say; `None` for words in
    /// a column without unit.
    ///
    /// # Errors
    /// [`Misfit`] when it is not a number with a unit of that column.
    pub fn parse(text: &str, unit: Unit, meanings: &Meanings) -> Result<Option<Self>, Misfit> {
        // Publications group digits: 131,072.
        let plain = text.replace(',', "");
        let (number, written) = match Decimal::split(&plain) {
            Err(_) if unit == Unit::Plain => return Ok(None),
            split => split?,
        };
        if unit == Unit::Plain && !written.is_empty() {
            return Ok(None);
        }
        let meant = |written: &str| {
            let known = meanings.iter().find(|(print, _)| print == written.trim());
            known.map_or_else(|| written.trim().to_owned(), |(_, meant)| meant.clone())
        };
        let written: Vec<String> = written.split('/').map(meant).collect();
        let (numerator, denominator) = scale(&written.join("/"), unit)?;
        #[allow(clippy::cast_precision_loss, reason = "for comparison; exact below 2^53")]
        let digits = number.digits as f64;
        let divisor = (0..number.decimals).fold(denominator, |power, _| power * 10.0);
        Ok(Some(Self {
            value: digits * numerator / divisor,
            half: 0.5 * numerator / divisor,
            whole_count: unit == Unit::Count && number.decimals == 0,
        }))
    }

    /// The figure as a cell shows it.
    #[must_use]
    pub fn published(self) -> Value {
        // Below 2^53 every whole f64 is that integer.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if self.value.fract() == 0.0 && self.value.abs() < EXACT {
            #[allow(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
            return Value::Int(self.value as i64);
        }
        Value::Real(self.value)
    }

    /// The values that print like it, from the least to the greatest.
    pub(crate) const fn span(self) -> (f64, f64) {
        (self.value - self.half, self.value + self.half)
    }

    /// The greatest change that its rounding makes to a figure computed from it; zero for a whole count
    /// of things, which is not rounded.
    #[must_use]
    pub const fn rounding(self) -> f64 {
        if self.whole_count { 0.0 } else { self.half }
    }
}

/// The size of the unit `written` in the unit of the column, as a fraction.
fn scale(written: &str, unit: Unit) -> Result<(f64, f64), Misfit> {
    #[allow(clippy::cast_precision_loss, reason = "powers of two and ten times 36, all exact")]
    let of = |dimension: Dimension, name: &str| dimension.scale_of(name).map(|scale| scale as f64);
    match unit {
        Unit::Nanoseconds => Ok((of(Dimension::Time, written)?, 1.0)),
        Unit::Bytes => Ok((of(Dimension::Size, written)?, 1.0)),
        Unit::BytesPerSecond => {
            let Some((amount, per)) = written.split_once('/') else {
                of(Dimension::Size, written)?;
                let kind = Dimension::Size.noun();
                return Err(Misfit::OtherUnit(written.into(), kind));
            };
            let second = of(Dimension::Time, "s")?;
            let amount = of(Dimension::Size, amount.trim())?;
            Ok((amount * second, of(Dimension::Time, per.trim())?))
        }
        Unit::Ratio | Unit::Deviation if !written.is_empty() => {
            Ok((of(Dimension::Ratio, written)?, 1e6))
        }
        Unit::Ratio | Unit::Deviation | Unit::Count | Unit::Plain if written.is_empty() => {
            Ok((1.0, 1.0))
        }
        _ => Err(Misfit::UnknownUnit(written.into(), None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(text: &str, unit: Unit) -> (f64, f64) {
        let figure = Figure::parse(text, unit, &[]).unwrap().unwrap();
        (figure.value, figure.half)
    }

    #[test]
    fn the_last_printed_digit_tells_the_tolerance() {
        assert_eq!(figure("253 us", Unit::Nanoseconds), (253_000.0, 500.0));
        assert_eq!(figure("33.3 s", Unit::Nanoseconds), (33_300_000_000.0, 50_000_000.0));
        assert_eq!(figure("33.30 s", Unit::Nanoseconds), (33_300_000_000.0, 5_000_000.0));
        assert_eq!(figure("131,072", Unit::Count), (131_072.0, 0.5));
        assert_eq!(figure("15.0 %", Unit::Ratio), (0.15, 0.0005));
        assert_eq!(figure("0.15", Unit::Ratio), (0.15, 0.005));
        assert_eq!(figure("1.87 MB/s", Unit::BytesPerSecond), (1_870_000.0, 5_000.0));
        assert_eq!(figure("64 MiB", Unit::Bytes), (67_108_864.0, 524_288.0));
    }

    #[test]
    fn words_stand_only_where_no_unit_is_due() {
        assert_eq!(Figure::parse("more than one", Unit::Plain, &[]), Ok(None));
        assert_eq!(Figure::parse("3 of 4", Unit::Plain, &[]), Ok(None));
        assert_eq!(Figure::parse("n/a", Unit::Nanoseconds, &[]), Err(Misfit::NotANumber));
        assert_eq!(Figure::parse("253", Unit::Nanoseconds, &[]), Err(Misfit::NoUnit));
        assert!(Figure::parse("253 us", Unit::Bytes, &[]).is_err());
        assert!(Figure::parse("5 us", Unit::Count, &[]).is_err());
        assert!(Figure::parse("5 MB", Unit::BytesPerSecond, &[]).is_err());
    }

    #[test]
    fn a_publication_may_mean_other_units_than_we_do() {
        let meanings =
            [("KB", "KiB"), ("MB", "MiB")].map(|(print, meant)| (print.into(), meant.into()));
        let figure = |text, unit| Figure::parse(text, unit, &meanings).map(|f| f.unwrap().value);
        assert_eq!(figure("3 KB", Unit::Bytes), Ok(3_072.0));
        assert_eq!(figure("2.5 MB/s", Unit::BytesPerSecond), Ok(2_621_440.0));
        assert_eq!(figure("2.5 MB / s", Unit::BytesPerSecond), Ok(2_621_440.0));
        assert_eq!(figure("2 GB", Unit::Bytes), Ok(2e9));
        assert!(Figure::parse("3 KB", Unit::Bytes, &[]).is_err());
    }

    #[test]
    fn a_whole_count_passes_no_rounding_on() {
        let count = Figure::parse("131072", Unit::Count, &[]).unwrap().unwrap();
        assert!((count.half, count.rounding()) == (0.5, 0.0));
        let mean = Figure::parse("20.6", Unit::Count, &[]).unwrap().unwrap();
        assert!((mean.rounding() - 0.05).abs() < 1e-12);
        assert_eq!(count.published(), Value::Int(131_072));
        assert_eq!(mean.published(), Value::Real(20.6));
    }
}
