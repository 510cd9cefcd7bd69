//! Quantities as they are written: `256 us`, `128 KiB`, `33.3 MHz`, `4 MiB / 11 ms`, `10 %`.
//!
//! Layer: rank 7. Main types: [`Decimal`], the number as written, and [`Ratio`]. All arithmetic is
//! exact: a decimal is a whole number of u128 digits and a count of decimals, and a value that is
//! not a whole number of nanoseconds, bytes, hertz or millionths is refused, never rounded.
//! Binary prefixes are IEC 80000-13 (1 KiB = 1,024 B), decimal ones SI (1 kB = 1,000 B).
//! Leaves out exponents (`1e3`), signs and digit separators: data sheets print none.

use crate::misfit::Misfit;
use crate::nearest::nearest;
use boardlab_sim::{Bytes, Duration, Hertz, Rate};
use std::fmt;

/// Digits that a number may have. With the largest factor, a year in nanoseconds, 22 digits stay
/// below 2^128, so that no step of the arithmetic can overflow.
const DIGITS: usize = 22;

/// The largest value in nanoseconds, bytes or hertz: results are stored as signed 64-bit numbers.
const LARGEST: u128 = i64::MAX as u128;

/// What a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Time, in whole nanoseconds.
    Time,
    /// Size, in whole bytes.
    Size,
    /// Frequency, in whole hertz.
    Frequency,
    /// A part of a whole, in whole millionths.
    Ratio,
}

impl Dimension {
    /// Every dimension.
    pub const ALL: [Self; 4] = [Self::Time, Self::Size, Self::Frequency, Self::Ratio];

    /// Its units, each with its size in the smallest one.
    #[must_use]
    pub const fn units(self) -> &'static [(&'static str, u64)] {
        match self {
            Self::Time => &[
                ("ns", 1),
                ("us", 1_000),
                ("ms", 1_000_000),
                ("s", 1_000_000_000),
                ("min", 60_000_000_000),
                ("h", 3_600_000_000_000),
                ("days", 86_400_000_000_000),
                ("day", 86_400_000_000_000),
                // Of 365.25 days.
                ("years", 31_557_600_000_000_000),
                ("year", 31_557_600_000_000_000),
                // The micro sign and the Greek letter look the same.
                ("\u{b5}s", 1_000),
                ("\u{3bc}s", 1_000),
            ],
            Self::Size => &[
                ("B", 1),
                ("KiB", 1 << 10),
                ("MiB", 1 << 20),
                ("GiB", 1 << 30),
                ("TiB", 1 << 40),
                ("kB", 1_000),
                ("MB", 1_000_000),
                ("GB", 1_000_000_000),
                ("TB", 1_000_000_000_000),
            ],
            Self::Frequency => {
                &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)]
            }
            Self::Ratio => &[("%", 10_000), ("ppm", 1)],
        }
    }

    /// What people call it, its smallest unit in the plural, and the names of its units.
    const fn words(self) -> [&'static str; 3] {
        match self {
            Self::Time => ["time", "nanoseconds", "ns us ms s min h days years"],
            Self::Size => ["size", "bytes", "B KiB MiB GiB TiB kB MB GB TB"],
            Self::Frequency => ["frequency", "hertz", "Hz kHz MHz GHz"],
            Self::Ratio => ["ratio", "millionths", "% ppm"],
        }
    }

    /// What people call it.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        self.words()[0]
    }

    const fn step(self) -> &'static str {
        self.words()[1]
    }

    /// The names of its units, as a help line lists them.
    pub(crate) const fn unit_names(self) -> &'static str {
        self.words()[2]
    }

    /// The size of `unit` in the smallest one.
    ///
    /// # Errors
    /// [`Misfit`] when there is no unit, or it is unknown or of another dimension.
    pub fn scale_of(self, unit: &str) -> Result<u64, Misfit> {
        let of = |dimension: Self| dimension.units().iter().find(|(name, _)| *name == unit);
        if let Some((_, scale)) = of(self) {
            return Ok(*scale);
        }
        if unit.is_empty() {
            return Err(Misfit::NoUnit);
        }
        if let Some(kind) = Self::ALL.into_iter().find(|&other| of(other).is_some()) {
            return Err(Misfit::OtherUnit(unit.into(), kind.noun()));
        }
        let names = self.units().iter().map(|(name, _)| *name);
        Err(Misfit::UnknownUnit(unit.into(), nearest(unit, names)))
    }
}

/// A number as it is written: digits and how many of them are decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    /// All digits as one number.
    pub digits: u128,
    /// How many of them stand behind the point.
    pub decimals: u32,
}

impl Decimal {
    /// Splits `text` into the number at its beginning and the rest, without the space between.
    ///
    /// # Errors
    /// [`Misfit`] when there is no number, it is negative, or it has more than 22 digits.
    pub fn split(text: &str) -> Result<(Self, &str), Misfit> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Misfit::Empty);
        }
        if text.strip_prefix(['-', '\u{2212}']).is_some_and(begins_with_digit) {
            return Err(Misfit::Negative);
        }
        let is_digit = |character: char| character.is_ascii_digit();
        let (whole, rest) = text.split_at(text.find(|c| !is_digit(c)).unwrap_or(text.len()));
        let (fraction, rest) = match rest.strip_prefix('.').filter(|rest| begins_with_digit(rest)) {
            Some(rest) => rest.split_at(rest.find(|c| !is_digit(c)).unwrap_or(rest.len())),
            None => ("", rest),
        };
        if whole.is_empty() {
            return Err(Misfit::NotANumber);
        }
        if whole.len() + fraction.len() > DIGITS {
            return Err(Misfit::TooManyDigits(DIGITS));
        }
        let digits = whole.bytes().chain(fraction.bytes());
        let digits = digits.fold(0, |sum, digit| sum * 10 + u128::from(digit - b'0'));
        let decimals = u32::try_from(fraction.len()).expect("at most 22 digits");
        Ok((Self { digits, decimals }, rest.trim_start()))
    }

    /// The number times `scale`, which must come out whole.
    ///
    /// # Errors
    /// [`Misfit::NotWhole`] and [`Misfit::TooLarge`], in terms of `dimension`.
    pub fn exactly(self, scale: u64, dimension: Dimension) -> Result<u64, Misfit> {
        let product = self.digits * u128::from(scale);
        let divisor = 10_u128.pow(self.decimals);
        if !product.is_multiple_of(divisor) {
            return Err(Misfit::NotWhole(dimension.step()));
        }
        let value = product / divisor;
        match u64::try_from(value) {
            Ok(whole) if value <= LARGEST => Ok(whole),
            _ => Err(Misfit::TooLarge(format!("{LARGEST} {}", dimension.step()))),
        }
    }
}

fn begins_with_digit(text: &str) -> bool {
    text.starts_with(|character: char| character.is_ascii_digit())
}

/// Whether both texts are quantities, and the same one.
#[must_use]
pub fn same(one: &str, other: &str) -> bool {
    equal(duration, one, other)
        || equal(bytes, one, other)
        || equal(hertz, one, other)
        || equal(rate, one, other)
        || equal(ratio, one, other)
}

/// Whether `read` takes both texts and gives the same value.
pub(crate) fn equal<T: PartialEq, E>(
    read: fn(&str) -> Result<T, E>,
    one: &str,
    other: &str,
) -> bool {
    matches!((read(one), read(other)), (Ok(one), Ok(other)) if one == other)
}

/// A part of a whole in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ratio(u64);

impl Ratio {
    /// All of it.
    pub const WHOLE: Self = Self(1_000_000);

    /// A ratio of `millionths`.
    #[must_use]
    pub const fn from_millionths(millionths: u64) -> Self {
        Self(millionths)
    }

    /// The ratio in millionths.
    #[must_use]
    pub const fn millionths(self) -> u64 {
        self.0
    }

    /// This part of `size`, rounded down.
    #[must_use]
    pub fn of(self, size: Bytes) -> Bytes {
        let part = u128::from(size.get()) * u128::from(self.0) / 1_000_000;
        Bytes::new(u64::try_from(part).unwrap_or(u64::MAX))
    }

    /// The ratio as a number, for analysis and display only.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "analysis only; exact below 2^53 millionths")]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// Shows percent: `12.5 %`.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:04}", self.0 % 10_000);
        let fraction = digits.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        f.pad(&format!("{}{point}{fraction} %", self.0 / 10_000))
    }
}

fn measure(text: &str, dimension: Dimension) -> Result<u64, Misfit> {
    let (number, unit) = Decimal::split(text)?;
    number.exactly(dimension.scale_of(unit)?, dimension)
}

/// Reads a span of time: `256 us`, `1.5 ms`, `30 days`.
///
/// # Errors
/// [`Misfit`] when it is not a whole number of nanoseconds in a unit of time.
pub fn duration(text: &str) -> Result<Duration, Misfit> {
    measure(text, Dimension::Time).map(Duration::from_nanos)
}

/// Reads a size: `128 KiB`, `16 MB`.
///
/// # Errors
/// [`Misfit`] when it is not a whole number of bytes in a unit of size.
pub fn bytes(text: &str) -> Result<Bytes, Misfit> {
    measure(text, Dimension::Size).map(Bytes::new)
}

/// Reads a frequency: `33.3 MHz`.
///
/// # Errors
/// [`Misfit`] when it is not a whole number of hertz, or zero.
pub fn hertz(text: &str) -> Result<Hertz, Misfit> {
    match measure(text, Dimension::Frequency)? {
        0 => Err(Misfit::Zero),
        hz => Ok(Hertz::from_hz(hz)),
    }
}

/// Reads a part of a whole: `10 %`, `250 ppm`.
///
/// # Errors
/// [`Misfit`] when it is not a whole number of millionths.
pub fn ratio(text: &str) -> Result<Ratio, Misfit> {
    measure(text, Dimension::Ratio).map(Ratio)
}

/// Reads a rate: a size over a time, `4 MiB / 11 ms`, or over a unit of time, `381 MB/s`.
///
/// # Errors
/// [`Misfit`] when either side is not what it should be, or zero.
pub fn rate(text: &str) -> Result<Rate, Misfit> {
    let Some((amount, per)) = text.split_once('/') else {
        // Says first what is wrong with the amount itself, then that the time lacks.
        let (_, unit) = Decimal::split(text)?;
        Dimension::Size.scale_of(unit)?;
        return Err(Misfit::OtherUnit(unit.into(), Dimension::Size.noun()));
    };
    let amount = bytes(amount)?;
    let per = per.trim();
    let per = if begins_with_digit(per) || per.is_empty() || per.starts_with('-') {
        duration(per)?
    } else {
        Duration::from_nanos(Dimension::Time.scale_of(per)?)
    };
    Rate::new(amount, per).ok_or(Misfit::Zero)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_are_exact() {
        let nanos = |text| duration(text).unwrap().as_nanos();
        assert_eq!(nanos("256 us"), 256_000);
        assert_eq!(nanos("256us"), 256_000);
        assert_eq!(nanos(" 1.5  ms "), 1_500_000);
        assert_eq!(nanos("284.5 us"), 284_500);
        assert_eq!(nanos("2 \u{b5}s"), 2_000);
        assert_eq!(nanos("2 \u{3bc}s"), 2_000);
        assert_eq!(nanos("1.500000000000000 us"), 1_500);
        assert_eq!(nanos("2 min"), 120_000_000_000);
        assert_eq!(nanos("30 days"), 30 * 86_400 * 1_000_000_000);
        assert_eq!(bytes("128 KiB").unwrap(), Bytes::kib(128));
        assert_eq!(bytes("16 MB").unwrap().get(), 16_000_000);
        assert_eq!(bytes("1MiB").unwrap(), Bytes::mib(1));
        assert_eq!(hertz("33.3 MHz").unwrap().get(), 33_300_000);
        assert_eq!(ratio("12.5 %").unwrap().millionths(), 125_000);
        assert_eq!(ratio("12.5 %").unwrap().to_string(), "12.5 %");
        assert_eq!(ratio("10 %").unwrap().to_string(), "10 %");
    }

    #[test]
    fn a_rate_is_an_exact_ratio() {
        let published = Rate::new(Bytes::mib(4), Duration::from_millis(11)).unwrap();
        assert_eq!(rate("4 MiB / 11 ms").unwrap(), published);
        assert_eq!(rate("4MiB/11ms").unwrap(), published);
        let megabytes = Rate::new(Bytes::new(381_000_000), Duration::from_secs(1)).unwrap();
        assert_eq!(rate("381 MB/s").unwrap(), megabytes);
        assert_eq!(rate("0 B/s"), Err(Misfit::Zero));
        assert_eq!(rate("1 B/0 s"), Err(Misfit::Zero));
        assert_eq!(rate("1 B/"), Err(Misfit::Empty));
        let of_size = Misfit::OtherUnit("MB".into(), "size");
        assert_eq!(rate("381 MB"), Err(of_size));
    }

    #[test]
    fn what_is_not_exact_is_refused() {
        assert_eq!(duration("1.5 ns"), Err(Misfit::NotWhole("nanoseconds")));
        assert_eq!(bytes("0.3 KiB"), Err(Misfit::NotWhole("bytes")));
        assert_eq!(duration("256"), Err(Misfit::NoUnit));
        assert_eq!(duration("-1 us"), Err(Misfit::Negative));
        assert_eq!(duration(""), Err(Misfit::Empty));
        assert_eq!(duration("us"), Err(Misfit::NotANumber));
        assert_eq!(hertz("0 Hz"), Err(Misfit::Zero));
        assert!(matches!(duration("300 KiB"), Err(Misfit::OtherUnit(_, "size"))));
        assert!(matches!(duration("110000 days"), Err(Misfit::TooLarge(_))));
        assert!(matches!(bytes("99999999999 TiB"), Err(Misfit::TooLarge(_))));
        let many = "1".repeat(23) + " ns";
        assert_eq!(duration(&many), Err(Misfit::TooManyDigits(22)));
        // The largest unit with as many digits as may be.
        let most = "9".repeat(22) + " years";
        assert!(matches!(duration(&most), Err(Misfit::TooLarge(_))));
        assert_eq!(duration("5 years").unwrap().as_nanos(), 157_788_000_000_000_000);
        let near = Misfit::UnknownUnit("mhz".into(), Some("MHz"));
        assert_eq!(hertz("33 mhz"), Err(near));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = (duration(&text), bytes(&text), hertz(&text), rate(&text), ratio(&text));
        }

        #[test]
        fn a_whole_number_of_nanoseconds_round_trips(nanos in 0..=i64::MAX.cast_unsigned()) {
            prop_assert_eq!(duration(&format!("{nanos} ns")).unwrap().as_nanos(), nanos);
            let micros = format!("{}.{:03} us", nanos / 1_000, nanos % 1_000);
            prop_assert_eq!(duration(&micros).unwrap().as_nanos(), nanos);
        }

        #[test]
        fn hostile_numbers_are_refused_or_exact(
            text in "-?[0-9]{0,30}(\\.[0-9]{0,30})? ?(ns|us|min|days|KiB|TB|GHz|%|/|/s)?"
        ) {
            let _ = (duration(&text), bytes(&text), hertz(&text), rate(&text), ratio(&text));
        }
    }
}
