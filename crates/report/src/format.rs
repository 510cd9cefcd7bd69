//! Figures for people: a short text of a value with its unit, with four significant digits.
//!
//! Layer: rank 8, inside `report`; used by the terminal and the HTML renderers, never by JSON or
//! CSV, which carry the exact numbers. Sizes are binary (`KiB`, `MiB`), rates are decimal (1 MB/s
//! is 1,000,000 bytes a second): data sheets and tools print them so, and the spelling
//! distinguishes them. Counts are grouped with a narrow no-break space (SI brochure, 5.4.4). Left
//! out: any choice of unit by the reader.

use boardlab_result::prose::{GIB, KIB, MIB, round};
use boardlab_result::{Origin, Parameter, Row, RunResult, Unit, Value};
use boardlab_sim::Bytes;

/// The significant digits of a figure.
const DIGITS: i32 = 4;

/// Between groups of three digits: U+202F, narrow and not breaking.
pub(crate) const GROUP: char = '\u{202f}';

/// A unit: used from `from` on, worth `worth` base units, called `name`.
struct Step {
    from: f64,
    worth: f64,
    name: &'static str,
}

const fn step(from: f64, worth: f64, name: &'static str) -> Step {
    Step { from, worth, name }
}

/// Times in nanoseconds. Seconds go on to 10,000, because totals are compared in seconds.
const TIMES: [Step; 7] = [
    step(0.0, 1.0, "ns"),
    step(1e3, 1e3, "us"),
    step(1e6, 1e6, "ms"),
    step(1e9, 1e9, "s"),
    step(1e13, 3.6e12, "h"),
    step(3.6e14, 8.64e13, "d"),
    step(8.64e16, 3.155_76e16, "years"),
];

const SIZES: [Step; 5] = [
    step(0.0, 1.0, "B"),
    step(KIB, KIB, "KiB"),
    step(MIB, MIB, "MiB"),
    step(GIB, GIB, "GiB"),
    step(1_099_511_627_776.0, 1_099_511_627_776.0, "TiB"),
];

const RATES: [Step; 4] =
    [step(0.0, 1.0, "B/s"), step(1e3, 1e3, "kB/s"), step(1e6, 1e6, "MB/s"), step(1e9, 1e9, "GB/s")];

/// `value` in `unit`, as short as four significant digits allow: `253.7 us`, `64 MiB`,
/// `1.865 MB/s`, `131 072`, `55.24 %`. An empty cell is a dash.
#[must_use]
pub fn figure(value: &Value, unit: Unit) -> String {
    match value {
        Value::Text(words) => words.clone(),
        Value::None => "–".into(),
        Value::Int(number) => whole(*number, unit),
        Value::Real(number) => real(*number, unit),
    }
}

/// A span of virtual or measured time.
#[must_use]
pub fn nanoseconds(span: u64) -> String {
    i64::try_from(span).map_or_else(
        |_| figure(&Value::Real(span as f64), Unit::Nanoseconds),
        |span| figure(&Value::Int(span), Unit::Nanoseconds),
    )
}

/// Whether the title of `row` says more than its id: `sequential write` does not.
pub(crate) fn says_more(row: &Row) -> bool {
    !row.title.is_empty() && row.title != row.id && row.title != row.id.replace('_', " ")
}

/// Whether the result is that of a run. Lists and comparisons have neither inputs nor virtual time, and
/// what is known of a measurement is measured, so seed and times would be meaningless.
pub(crate) fn ran(run: &RunResult) -> bool {
    let is_input = |parameter: &Parameter| parameter.origin != Origin::Measured;
    run.virtual_time_ns > 0 || run.parameters.iter().any(is_input)
}

/// The difference of our figure from the published one in percent with one decimal: `+0.3 %`, `-0.9 %`, `0.0 %`.
#[must_use]
pub fn difference(ours: &Value, published: &Value) -> Option<String> {
    ours.difference(published).map(signed_percent)
}

/// A share in percent with its sign and one decimal.
pub(crate) fn signed_percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 0.05 {
        return "0.0 %".into();
    }
    if percent.abs() >= 1_000.0 {
        return format!("{}{} %", sign(percent), plain(percent.abs()));
    }
    format!("{percent:+.1} %")
}

/// A number without a unit, such as a position on an axis: whole ones without decimals.
pub(crate) fn number(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 10_000.0 {
        return format!("{number:.0}");
    }
    figure(&Value::Real(number), Unit::Plain)
}

/// `count` in groups of three digits from five digits on: `1024`, `131 072`.
#[must_use]
pub fn grouped(count: i64) -> String {
    let digits = count.unsigned_abs().to_string();
    let minus = if count < 0 { "-" } else { "" };
    if digits.len() < 5 {
        return format!("{minus}{digits}");
    }
    let head = digits.len() % 3;
    let mut text = String::from(minus);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && index % 3 == head {
            text.push(GROUP);
        }
        text.push(digit);
    }
    text
}

const fn sign(number: f64) -> &'static str {
    if number < 0.0 { "-" } else { "+" }
}

fn whole(number: i64, unit: Unit) -> String {
    match unit {
        Unit::Count => grouped(number),
        Unit::Plain => number.to_string(),
        Unit::Nanoseconds if number.unsigned_abs() < 1_000 => format!("{number} ns"),
        Unit::BytesPerSecond if number.unsigned_abs() < 1_000 => format!("{number} B/s"),
        Unit::Bytes => whole_size(number),
        _ => real(number as f64, unit),
    }
}

/// Sizes that are whole in some binary unit are shown exactly.
fn whole_size(number: i64) -> String {
    let exact = Bytes::new(number.unsigned_abs()).to_string();
    let short = exact.split(' ').next().is_some_and(|digits| digits.len() <= 4);
    match (short, number < 0) {
        (true, false) => exact,
        (true, true) => format!("-{exact}"),
        (false, _) => real(number as f64, Unit::Bytes),
    }
}

fn real(number: f64, unit: Unit) -> String {
    if !number.is_finite() {
        return "n/a".into();
    }
    match unit {
        Unit::Nanoseconds => scaled(number, &TIMES),
        Unit::Bytes => scaled(number, &SIZES),
        Unit::BytesPerSecond => scaled(number, &RATES),
        Unit::Ratio => format!("{} %", plain(number * 100.0)),
        Unit::Deviation => deviation(number * 100.0),
        Unit::Count | Unit::Plain => plain(number),
    }
}

/// A deviation in percent: at most three significant digits and two decimals.
fn deviation(percent: f64) -> String {
    // What rounds to zero has no sign.
    let rounded = round(percent, 2) + 0.0;
    if rounded.abs() >= 1_000.0 {
        return format!("{} %", plain(rounded));
    }
    let decimals = if rounded == 0.0 { 2 } else { decimals(rounded, 3).min(2) };
    format!("{rounded:.decimals$} %")
}

/// The number in the largest unit that leaves at least one digit before the point.
fn scaled(number: f64, steps: &[Step]) -> String {
    let rounded = significant(number);
    let fits = |step: &&Step| rounded.abs() >= step.from;
    let step = steps.iter().rev().find(fits).unwrap_or(&steps[0]);
    // A kibibyte is not a power of ten, so a size rounded in bytes is rounded again in its unit.
    format!("{} {}", plain(number / step.worth), step.name)
}

/// Four significant digits without a unit; very large and very small ones with an exponent.
fn plain(number: f64) -> String {
    if number == 0.0 {
        return "0".into();
    }
    let rounded = significant(number);
    if !(1e-4..1e15).contains(&rounded.abs()) {
        return format!("{rounded:.3e}");
    }
    if rounded.abs() >= 10_000.0 {
        // At most 1e15 by the line above, so the conversion is exact.
        #[allow(clippy::cast_possible_truncation, reason = "within i64 by the check above")]
        return grouped(rounded as i64);
    }
    let decimals = decimals(rounded, DIGITS);
    format!("{rounded:.decimals$}")
}

/// The digits behind the point of `number` with `digits` significant digits.
pub(crate) fn decimals(number: f64, digits: i32) -> usize {
    if number == 0.0 || !number.is_finite() {
        return 0;
    }
    // Large numbers have none.
    usize::try_from(digits - 1 - magnitude(number)).unwrap_or(0)
}

/// `number` rounded to four significant digits.
fn significant(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return number;
    }
    let places = DIGITS - 1 - magnitude(number);
    if places >= 0 {
        let factor = 10f64.powi(places);
        (number * factor).round() / factor
    } else {
        let factor = 10f64.powi(-places);
        (number / factor).round() * factor
    }
}

/// The power of ten of the first digit.
#[allow(clippy::cast_possible_truncation, reason = "a finite f64 has at most 308")]
fn magnitude(number: f64) -> i32 {
    number.abs().log10().floor() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(number: i64, unit: Unit) -> String {
        figure(&Value::Int(number), unit)
    }

    #[test]
    fn times_choose_the_unit_and_keep_four_digits() {
        let ns = |number| int(number, Unit::Nanoseconds);
        assert_eq!(ns(253_694), "253.7 us");
        assert_eq!(ns(285), "285 ns");
        assert_eq!(ns(0), "0 ns");
        assert_eq!(ns(1_000), "1.000 us");
        assert_eq!(ns(999_960), "1.000 ms", "rounding up reaches the next unit");
        assert_eq!(ns(33_325_752_320), "33.33 s");
        assert_eq!(ns(-6_500_000_000), "-6.500 s");
        assert_eq!(ns(3_155_760_000_000_000_000), "100.0 years");
        assert_eq!(nanoseconds(u64::MAX), "584.5 years");
        assert_eq!(figure(&Value::Real(285.4), Unit::Nanoseconds), "285.4 ns");
    }

    #[test]
    fn sizes_are_binary_and_rates_decimal() {
        assert_eq!(int(67_108_864, Unit::Bytes), "64 MiB");
        assert_eq!(int(512, Unit::Bytes), "512 B");
        assert_eq!(int(1_536, Unit::Bytes), "1536 B");
        assert_eq!(int(1_000_000, Unit::Bytes), "976.6 KiB");
        assert_eq!(int(1_865_240, Unit::BytesPerSecond), "1.865 MB/s");
        assert_eq!(int(999, Unit::BytesPerSecond), "999 B/s");
    }

    #[test]
    fn counts_are_grouped_from_five_digits_on() {
        assert_eq!(int(1_024, Unit::Count), "1024");
        assert_eq!(int(131_072, Unit::Count), "131\u{202f}072");
        assert_eq!(int(-33_554_432, Unit::Count), "-33\u{202f}554\u{202f}432");
        assert_eq!(figure(&Value::Real(129.4), Unit::Count), "129.4");
    }

    #[test]
    fn ratios_are_percents_and_words_stay_words() {
        assert_eq!(figure(&Value::Real(0.552_4), Unit::Ratio), "55.24 %");
        assert_eq!(figure(&Value::Text("sleep".into()), Unit::Plain), "sleep");
        assert_eq!(figure(&Value::None, Unit::Count), "–");
        assert_eq!(figure(&Value::Real(f64::NAN), Unit::Count), "n/a");
        assert_eq!(figure(&Value::Real(1e-9), Unit::Plain), "1.000e-9");
    }

    #[test]
    fn a_deviation_has_no_digits_beyond_those_that_count() {
        let shown = [0.5169, -0.020_82, 0.001_655, -0.000_976, 0.000_006, -0.000_006, 2.694, 12.5]
            .map(|share| figure(&Value::Real(share), Unit::Deviation));
        let expected =
            ["51.7 %", "-2.08 %", "0.17 %", "-0.10 %", "0.00 %", "0.00 %", "269 %", "1250 %"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_difference_is_relative_to_the_print() {
        let difference = |ours, print| difference(&Value::Int(ours), &Value::Int(print));
        assert_eq!(difference(361, 359).unwrap(), "+0.6 %");
        assert_eq!(difference(251, 253).unwrap(), "-0.8 %");
        assert_eq!(difference(432, 432).unwrap(), "0.0 %");
        assert_eq!(difference(5, 0), None);
        assert_eq!(difference(9_000, 5).unwrap(), "+179\u{202f}900 %");
    }
}
