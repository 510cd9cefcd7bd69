//! Figures in sentences and charts, for all experiments: counts as figures, rounding, lists of names.
//!
//! Layer: rank 8, formatting.

use boardlab_sim::Bytes;

/// A count of bytes as a figure.
#[allow(clippy::cast_precision_loss, reason = "display, and ratios of volumes")]
pub(crate) fn real(bytes: Bytes) -> f64 {
    bytes.get() as f64
}

/// A count as a figure.
#[allow(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

/// `value` with so many decimals.
pub(crate) fn round(value: f64, decimals: i32) -> f64 {
    let scale = 10_f64.powi(decimals);
    (value * scale).round() / scale
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(names: &[String]) -> String {
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
    fn names_are_listed_as_people_list_them() {
        let names = ["a", "b", "c"].map(String::from);
        assert_eq!(listed(&names), "a, b and c");
        assert_eq!((listed(&names[..1]), listed(&[])), ("a".into(), "none".into()));
    }

    #[test]
    fn decimals_are_rounded() {
        assert_eq!((round(1.236, 2), round(1_236.0, -2)), (1.24, 1_200.0));
    }
}
