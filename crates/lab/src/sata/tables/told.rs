//! Figures in sentences: rates, shares and times, as findings print them.
//!
//! Layer: rank 11, formatting. A rate in MB/s counts in 10^6 bytes, as the publication does.

use boardlab_parts::drive::part::DrivePart;
use boardlab_sim::Duration;

/// The evaluation's drives: how their titles begin, their names in tables and in sentences.
const NAMES: [(&str, &str, &str); 4] = [
    ("Intel X25-E Extreme", "Intel X25-E", "X25-E"),
    ("PhotoFast G-Monster V2", "G-Monster V2", "G-Monster V2"),
    ("Transcend TS32GSSD25S-M", "Transcend TS32GSSD25S-M", "Transcend"),
    ("Buffalo SHD-NSUM30G", "Buffalo SHD-NSUM30G", "Buffalo"),
];

/// A drive by its name in tables: of any other part, its title up to the colon.
pub(crate) fn name(part: &DrivePart) -> &str {
    let known = NAMES.iter().find(|(title, ..)| part.name.starts_with(title));
    known.map_or_else(|| part.name.split(':').next().unwrap_or(""), |(_, name, _)| name)
}

/// A drive by its name in sentences.
pub(crate) fn short(part: &DrivePart) -> &str {
    let known = NAMES.iter().find(|(title, ..)| part.name.starts_with(title));
    known.map_or_else(|| name(part), |(.., short)| short)
}

/// `1.25 % faster than`, `0.30 % slower than`, or `as fast as` where it is less than a tenth of a percent.
pub(crate) fn beside(rate: f64, other: f64) -> String {
    let gain = (rate / other - 1.0) * 100.0;
    match gain {
        gain if gain >= SAME => format!("{gain:.2} % faster than"),
        gain if gain <= -SAME => format!("{:.2} % slower than", -gain),
        _ => "as fast as".into(),
    }
}

/// Rates that are less than so many percent apart are called the same.
const SAME: f64 = 0.1;

/// `286.60 MB/s`.
pub(crate) fn mb_per_s(rate: f64) -> String {
    format!("{:.2} MB/s", rate / 1e6)
}

/// `+0.53 %`.
pub(crate) fn percent(share: f64) -> String {
    let size = share.abs() * 100.0;
    let decimals = match size {
        // Less than the last digit is nothing, and nothing has no sign.
        size if size < 0.000_05 => return "0 %".into(),
        size if size < 0.1 => 4,
        _ => 2,
    };
    format!("{:+.decimals$} %", share * 100.0)
}

/// `1,150 us`, or with decimals what is shorter than ten.
pub(crate) fn micros(span: f64) -> String {
    let micros = span * 1e6;
    if micros.abs() < 10.0 { format!("{micros:.1} us") } else { format!("{micros:.0} us") }
}

/// A span in microseconds.
pub(crate) fn span(span: Duration) -> String {
    micros(span.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_as_people_write_them() {
        assert_eq!(percent(-1e-9), "0 %");
        assert_eq!(mb_per_s(286_600_000.0), "286.60 MB/s");
        assert_eq!((percent(0.0053), percent(-0.000_013)), ("+0.53 %".into(), "-0.0013 %".into()));
        assert_eq!((micros(0.0016), micros(3e-6)), ("1600 us".into(), "3.0 us".into()));
        let told = [110.0, 100.05, 90.0].map(|rate| beside(rate, 100.0));
        assert_eq!(told, ["10.00 % faster than", "as fast as", "10.00 % slower than"]);
    }
}
