//! Our figure as it stands beside a printed one: in the unit, with as many digits and grouped as in the
//! print.
//!
//! Layer: rank 8, inside `report`. Main function: [`figure`]. The unit is that of the publication, whose
//! KB may be KiB: the printed number and the published value give its worth. Ours has the significant
//! digits of the print, at least three.

use crate::format;
use boardlab_result::{Cell, Unit, Value};

/// The fewest significant digits of a figure beside a print.
const DIGITS: i32 = 3;

/// A figure that differs from the print by this factor is shown in a unit of its own size.
const FAR: f64 = 1000.0;

/// The most digits of a print: a saved result is untrusted input.
const LENGTH: usize = 15;

/// A printed figure: `11,205,597,184 KB`.
struct Printed<'a> {
    number: f64,
    /// Its significant digits: zeros behind them are digits that were printed.
    digits: i32,
    /// The digits behind the point.
    decimals: usize,
    /// Whether commas group its digits.
    grouped: bool,
    /// What follows the number, with the space before it; empty for a count.
    unit: &'a str,
}

/// Our figure of `cell`, of a column in `unit`. Without a printed number it is [`format::figure`].
pub(crate) fn figure(cell: &Cell, unit: Unit) -> String {
    in_its_unit(cell).unwrap_or_else(|| format::figure(&cell.value, unit))
}

fn in_its_unit(cell: &Cell) -> Option<String> {
    let printed = Printed::parse(cell.printed.as_deref()?)?;
    let ours = printed.in_its_unit(cell.value.as_f64()?, cell.published.as_ref()?.as_f64()?)?;
    let is_count = matches!(cell.value, Value::Int(_)) && printed.unit.is_empty();
    if is_count && !printed.grouped {
        // As the counts of the same column without a print.
        return None;
    }
    let decimals = if is_count || ours == 0.0 {
        printed.decimals
    } else {
        format::decimals(ours, printed.digits.max(DIGITS))
    };
    let digits = format!("{ours:.decimals$}");
    let digits = if printed.grouped { with_commas(&digits) } else { digits };
    Some(format!("{digits}{}", printed.unit))
}

impl<'a> Printed<'a> {
    /// Reads a number with or without a unit; `None` for words and ranges.
    fn parse(text: &'a str) -> Option<Self> {
        let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | ',' | '-'));
        let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
        if unit.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let number = digits.replace(',', "").parse().ok()?;
        let grouped = digits.contains(',');
        let significant = digits.trim_start_matches(['-', '0', '.', ',']);
        let count = significant.bytes().filter(u8::is_ascii_digit).count();
        let digits = i32::try_from(count).ok()?;
        let is_short = count.max(decimals) <= LENGTH;
        is_short.then_some(Self { number, digits, decimals, grouped, unit })
    }

    /// `ours`, a figure in the unit of the column, in the unit of the print, whose figure is
    /// `published`; `None` where both are too far apart for one unit.
    fn in_its_unit(&self, ours: f64, published: f64) -> Option<f64> {
        if self.number == 0.0 || published == 0.0 {
            // Zero has no worth: without a unit none is needed.
            return (self.unit.is_empty() && ours.abs() < FAR).then_some(ours);
        }
        let share = ours / published;
        let near = share == 0.0 || (1.0 / FAR..=FAR).contains(&share.abs());
        near.then_some(share * self.number)
    }
}

/// Groups the digits before the point by commas.
fn with_commas(number: &str) -> String {
    let (whole, decimals) = number.split_at(number.find('.').unwrap_or(number.len()));
    let count = whole.bytes().filter(u8::is_ascii_digit).count();
    let mut text = String::new();
    let mut left = count;
    for c in whole.chars() {
        if c.is_ascii_digit() {
            if left < count && left.is_multiple_of(3) {
                text.push(',');
            }
            left -= 1;
        }
        text.push(c);
    }
    text + decimals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beside(printed: &str, published: Value, ours: Value, unit: Unit) -> String {
        let cell =
            Cell { published: Some(published), printed: Some(printed.into()), ..Cell::new(ours) };
        figure(&cell, unit)
    }

    fn time(printed: &str, published: i64, ours: i64) -> String {
        beside(printed, Value::Int(published), Value::Int(ours), Unit::Nanoseconds)
    }

    #[test]
    fn ours_has_the_unit_and_the_digits_of_the_print() {
        assert_eq!(time("3.91 s", 3_910_000_000, 990_500_000), "0.991 s", "not 990.5 ms");
        assert_eq!(time("6.36 s", 6_360_000_000, 23_490_000_000), "23.5 s");
        assert_eq!(time("7.467 s", 7_467_000_000, 10_982_000_000), "10.98 s");
        assert_eq!(time("0.02 s", 20_000_000, 20_123_456), "0.0201 s");
        assert_eq!(time("35.9 s", 35_900_000_000, 35_938_000_000), "35.9 s");
        assert_eq!(time("253 us", 253_000, 254_264), "254 us");
        assert_eq!(time("1 us", 1_000, 1_141), "1.14 us", "never fewer than three digits");
        let share = |ours| beside("4.87 %", Value::Real(0.0487), Value::Real(ours), Unit::Ratio);
        assert_eq!(share(0.045_394), "4.54 %");
        assert_eq!(share(-0.045_394), "-4.54 %");
        assert_eq!(share(0.0), "0.00 %");
    }

    #[test]
    fn the_unit_means_what_the_publication_means() {
        let (print, ours) = (Value::Int(12_764 * 1024), Value::Int(12_185_600));
        assert_eq!(beside("12764 KB", print, ours, Unit::Bytes), "11900 KB");
        let (print, ours) = (Value::Int(18 << 20), Value::Real(19_168_000.0));
        assert_eq!(beside("18 MB/s", print, ours.clone(), Unit::BytesPerSecond), "18.3 MB/s");
        let print = Value::Int(18_000_000);
        assert_eq!(beside("18 MB/s", print, ours, Unit::BytesPerSecond), "19.2 MB/s");
    }

    #[test]
    fn counts_are_grouped_as_in_the_print_or_as_other_counts() {
        let count = |printed: &str, published, ours| {
            beside(printed, Value::Int(published), Value::Int(ours), Unit::Count)
        };
        assert_eq!(count("131072", 131_072, 131_072), "131\u{202f}072", "as other counts");
        assert_eq!(count("100,000", 100_000, 123_456), "123,456");
        assert_eq!(count("1,000", 1_000, -999), "-999");
        assert_eq!(count("700", 700, 746), "746");
        assert_eq!(with_commas("-1234567.25"), "-1,234,567.25");
        assert_eq!(count("0", 0, 0), "0");
        assert_eq!(count("0", 0, 12), "12");
    }

    #[test]
    fn what_has_no_common_unit_keeps_its_own() {
        assert_eq!(time("3.91 s", 3_910_000_000, 1_200), "1.200 us", "a thousand times less");
        assert_eq!(time("0 s", 0, 1_200), "1.200 us", "the worth of the unit is unknown");
        let range = Value::Text("170 us to 226 us".into());
        let text = beside("170 us to 226 us", range, Value::Int(200_000), Unit::Nanoseconds);
        assert_eq!(text, "200.0 us");
        let words = beside("4 MB/s", Value::Int(4), Value::Text("none".into()), Unit::Plain);
        assert_eq!(words, "none");
        let long = format!("0.{} s", "1".repeat(1 << 17));
        assert_eq!(time(&long, 111_111_111, 200), "200 ns", "no publication prints that");
        assert_eq!(figure(&Cell::int(1_141), Unit::Nanoseconds), "1.141 us");
    }
}
