//! Figures in sentences: rates, shares and times, as findings print them.
//!
//! Layer: rank 8, formatting. A rate in MB/s counts in 10^6 bytes, as the publication does.

use boardlab_sim::Duration;

/// `286.60 MB/s`.
pub(super) fn mb_per_s(rate: f64) -> String {
    format!("{:.2} MB/s", rate / 1e6)
}

/// `+0.53 %`.
pub(super) fn percent(share: f64) -> String {
    let size = share.abs() * 100.0;
    let decimals = if size < 0.1 { 4 } else { 2 };
    format!("{:+.decimals$} %", share * 100.0)
}

/// `1,150 us`, or with decimals what is shorter than ten.
pub(super) fn micros(span: f64) -> String {
    let micros = span * 1e6;
    if micros.abs() < 10.0 { format!("{micros:.1} us") } else { format!("{micros:.0} us") }
}

/// A span in microseconds.
pub(super) fn span(span: Duration) -> String {
    micros(span.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_as_people_write_them() {
        assert_eq!(mb_per_s(286_600_000.0), "286.60 MB/s");
        assert_eq!((percent(0.0053), percent(-0.000_013)), ("+0.53 %".into(), "-0.0013 %".into()));
        assert_eq!((micros(0.0016), micros(3e-6)), ("1600 us".into(), "3.0 us".into()));
    }
}
