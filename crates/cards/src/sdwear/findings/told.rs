//! Figures in sentences: rates, volumes, counts, as findings print them.
//!
//! Layer: rank 10, formatting. Volumes are in units of 1,000, as drives are sold; rates in both.

use boardlab_result::prose::{MIB, real};
use boardlab_sim::{Bytes, Duration};

/// `18.2 MiB/s`.
pub(crate) fn mib_per_s(rate: f64) -> String {
    format!("{:.2} MiB/s", rate / MIB)
}

/// `18.2 MiB/s (19.1 MB/s)`.
pub(crate) fn both(rate: f64) -> String {
    format!("{:.2} MiB/s ({:.2} MB/s)", rate / MIB, rate / 1e6)
}

/// `3.56 TB`.
pub(crate) fn tb(bytes: Bytes) -> String {
    format!("{:.3} TB", real(bytes) / 1e12)
}

/// `33.3 days`.
pub(crate) fn days(span: f64) -> String {
    format!("{:.1} days", span / 86_400.0)
}

/// A span in seconds with a decimal.
pub(crate) fn seconds(span: Duration) -> String {
    format!("{:.1} s", span.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_as_people_write_them() {
        assert_eq!(both(19_125_000.0), "18.24 MiB/s (19.12 MB/s)");
        assert_eq!(tb(Bytes::new(3_560_000_000_000)), "3.560 TB");
    }
}
