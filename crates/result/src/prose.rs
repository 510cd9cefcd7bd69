//! Figures in sentences and charts: counts, rounding, lists of names.
//!
//! Layer: rank 1, formatting.

use boardlab_sim::Bytes;
use std::fmt::{Debug, Display};

/// Bytes of a KiB.
pub const KIB: f64 = 1_024.0;
/// Bytes of a MiB.
pub const MIB: f64 = 1_024.0 * KIB;
/// Bytes of a GiB.
pub const GIB: f64 = 1_024.0 * MIB;
/// Seconds of a year, of 365.25 days.
pub const YEAR: f64 = 365.25 * 86_400.0;

/// `1 byte`, `2 bytes`, `2 switches`.
#[must_use]
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let plural = match noun {
        _ if count == N::from(1) => "",
        hissing if hissing.ends_with("ch") || hissing.ends_with("sh") => "es",
        _ => "s",
    };
    format!("{count} {noun}{plural}")
}

/// A share in whole percent; a share between 0 and 1 is never rounded to 0 % or 100 %.
#[must_use]
pub fn percent_of(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.5 => "less than 1 %".into(),
        percent if percent < 100.0 && percent > 99.5 => "more than 99 %".into(),
        percent => format!("{percent:.0} %"),
    }
}

/// A number of bytes as a floating-point number.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "display, and ratios of volumes")]
pub fn real(bytes: Bytes) -> f64 {
    bytes.get() as f64
}

/// A count as a floating-point number.
///
/// # Panics
/// When it is negative.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "counts below 2^53, and sums for display")]
pub fn float(count: impl TryInto<u128, Error: Debug>) -> f64 {
    count.try_into().expect("a count is not negative") as f64
}

/// `value` rounded to `decimals` decimals.
#[must_use]
pub fn round(value: f64, decimals: i32) -> f64 {
    let scale = 10_f64.powi(decimals);
    (value * scale).round() / scale
}

/// `a`, `a and b`, `a, b and c`.
#[must_use]
pub fn listed(names: &[String]) -> String {
    match names {
        [] => "none".into(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_beyond_64_bits_is_a_figure_like_any_other() {
        assert_eq!(
            [float(3_usize), float(u64::MAX), float(1_u128 << 100)],
            [3.0, 2f64.powi(64), 2f64.powi(100)]
        );
    }

    #[test]
    fn names_are_listed_as_people_list_them() {
        let names = ["a", "b", "c"].map(String::from);
        assert_eq!(listed(&names), "a, b and c");
        assert_eq!((listed(&names[..1]), listed(&[])), ("a".into(), "none".into()));
    }

    #[test]
    fn one_is_no_plural_and_little_is_not_none() {
        assert_eq!(
            (counted(1_u64, "byte"), counted(0_u64, "byte")),
            ("1 byte".into(), "0 bytes".into())
        );
        let told = [0.0, 0.001, 0.5, 0.999, 1.0].map(percent_of);
        assert_eq!(told, ["0 %", "less than 1 %", "50 %", "more than 99 %", "100 %"]);
    }

    #[test]
    fn decimals_are_rounded() {
        assert_eq!((round(1.236, 2), round(1_236.0, -2)), (1.24, 1_200.0));
    }
}
