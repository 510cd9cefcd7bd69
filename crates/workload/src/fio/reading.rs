//! Parses the value of an option: numbers with suffixes, times, triples, ranges, words.
//!
//! Layer: rank 6. Main types: [`Reading`], [`Units`], [`Amount`]. The suffixes are those measured
//! with fio 3.33: case does not matter; with `kb_base=1024`, the default, `k`, `kb` and `ki` stand
//! for 1024 and `kib` for 1000, and with `kb_base=1000` the other way round. Where fio silently
//! ignores what follows a number (`4q`, `1.5m`, `5x`), this reader refuses it.

use crate::fio::problem::Problem;
use boardlab_sim::Duration;

/// The meaning of suffixes such as `k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    /// 1024 or 1000.
    pub kb_base: u64,
}

impl Default for Units {
    fn default() -> Self {
        Self { kb_base: 1_024 }
    }
}

/// A size, in bytes or as a share of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// A number of bytes.
    Bytes(u64),
    /// A percentage, at most 100.
    Percent(u64),
}

impl Amount {
    /// The bytes, of `whole`, rounded down.
    #[must_use]
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => {
                let share = u128::from(whole) * u128::from(percent) / 100;
                u64::try_from(share).unwrap_or(u64::MAX)
            }
        }
    }
}

/// The value of an option, to be parsed.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// The option's first name.
    pub option: &'static str,
    /// The text after `=`; `None` when the option stands alone.
    pub text: Option<&'a str>,
    /// The meaning of suffixes.
    pub units: Units,
}

const SIZE: &str = "a number such as 4096, 4k, 1m or 0x200";

impl<'a> Reading<'a> {
    /// The text, which must be there.
    ///
    /// # Errors
    /// [`Problem::NeedsArgument`].
    pub fn text(&self) -> Result<&'a str, Problem> {
        let text = self.text.filter(|text| !text.is_empty());
        text.ok_or(Problem::NeedsArgument { option: self.option })
    }

    /// A problem with a value that cannot be read.
    #[must_use]
    pub fn unreadable(&self, found: &str, expected: &'static str) -> Problem {
        Problem::Unreadable { option: self.option, found: found.to_owned(), expected }
    }

    /// The same option with a part of its value.
    const fn part(self, text: &'a str) -> Self {
        Self { text: Some(text), ..self }
    }

    /// A flag: `1`, `0`, or no value, which means `1`.
    ///
    /// # Errors
    /// [`Problem::Unreadable`].
    pub fn flag(&self) -> Result<bool, Problem> {
        match self.text {
            None | Some("1") => Ok(true),
            Some("0") => Ok(false),
            Some(found) => Err(self.unreadable(found, "0 or 1")),
        }
    }

    /// As [`Reading::flag`], for an option that must have its value.
    ///
    /// # Errors
    /// [`Problem::NeedsArgument`], [`Problem::Unreadable`].
    pub fn boolean(&self) -> Result<bool, Problem> {
        self.text()?;
        self.flag()
    }

    /// A whole number from `minimum` to `maximum`, with suffixes as in fio.
    ///
    /// # Errors
    /// [`Problem::NeedsArgument`], [`Problem::Unreadable`], [`Problem::Below`], [`Problem::Above`].
    pub fn count(&self, minimum: u64, maximum: u64) -> Result<u64, Problem> {
        let text = self.text()?;
        if text.starts_with('-') {
            let minimum = i64::try_from(minimum).unwrap_or(i64::MAX);
            return Err(Problem::Below { option: self.option, found: text.to_owned(), minimum });
        }
        let value = self.size()?;
        let found = || text.to_owned();
        if value < minimum {
            let minimum = i64::try_from(minimum).unwrap_or(i64::MAX);
            return Err(Problem::Below { option: self.option, found: found(), minimum });
        }
        if value > maximum {
            return Err(Problem::Above { option: self.option, found: found(), maximum });
        }
        Ok(value)
    }

    /// A size in bytes.
    ///
    /// # Errors
    /// [`Problem::NeedsArgument`], [`Problem::Unreadable`].
    pub fn size(&self) -> Result<u64, Problem> {
        let text = self.text()?;
        let (value, suffix) = number(text).ok_or_else(|| self.unreadable(text, SIZE))?;
        let factor = factor(suffix, self.units).ok_or_else(|| self.unreadable(text, SIZE))?;
        value.checked_mul(factor).ok_or_else(|| self.unreadable(text, "a size below 16 EiB"))
    }

    /// A size in bytes that may be negative.
    ///
    /// # Errors
    /// As [`Reading::size`].
    pub fn signed_size(&self) -> Result<i64, Problem> {
        let text = self.text()?;
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
        let size = i64::try_from(self.part(digits).size()?).ok();
        size.map(|size| sign * size).ok_or_else(|| self.unreadable(text, "a size below 8 EiB"))
    }

    /// A size in bytes, or percent.
    ///
    /// # Errors
    /// As [`Reading::size`]; [`Problem::Above`] beyond 100 %.
    pub fn amount(&self) -> Result<Amount, Problem> {
        let text = self.text()?;
        match text.strip_suffix('%') {
            Some(percent) => self.part(percent).count(0, 100).map(Amount::Percent),
            None => self.size().map(Amount::Bytes),
        }
    }

    /// A time: a number with `d`, `h`, `m`, `s`, `ms` or `us`, or one of `unit`s without.
    ///
    /// # Errors
    /// [`Problem::NeedsArgument`], [`Problem::Unreadable`].
    pub fn time(&self, unit: Duration) -> Result<Duration, Problem> {
        const EXPECTED: &str = "a time such as 10, 10s, 5m, 2h, 500ms or 20us";
        let text = self.text()?;
        let (value, suffix) = number(text).ok_or_else(|| self.unreadable(text, EXPECTED))?;
        let unit = match suffix.to_ascii_lowercase().as_str() {
            "" => Some(unit),
            "us" => Some(Duration::from_micros(1)),
            "ms" => Some(Duration::from_millis(1)),
            "s" => Some(Duration::from_secs(1)),
            "m" => Some(Duration::from_secs(60)),
            "h" => Some(Duration::from_secs(3_600)),
            "d" => Some(Duration::from_secs(86_400)),
            _ => None,
        };
        let unit = unit.ok_or_else(|| self.unreadable(text, EXPECTED))?;
        unit.checked_mul(value).ok_or_else(|| self.unreadable(text, "a time below 584 years"))
    }

    /// One of `words`, as its index.
    ///
    /// # Errors
    /// [`Problem::NeedsArgument`], [`Problem::NotOneOf`].
    pub fn word(&self, valid: &'static [&'static str]) -> Result<usize, Problem> {
        let found = self.text()?;
        let index = valid.iter().position(|word| *word == found);
        index.ok_or_else(|| Problem::NotOneOf {
            option: self.option,
            found: found.to_owned(),
            valid,
        })
    }

    /// Up to three values with commas: for reads, writes and trims. A missing one is as the one before
    /// it; an empty one is left as it was.
    ///
    /// # Errors
    /// Those of `read`; [`Problem::Unreadable`] for a fourth.
    pub fn triple<T: Clone>(
        &self,
        old: &[T; 3],
        read: impl Fn(Self) -> Result<T, Problem>,
    ) -> Result<[T; 3], Problem> {
        let text = self.text()?;
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > 3 {
            return Err(self.unreadable(text, "up to three values: reads,writes,trims"));
        }
        let mut values = old.clone();
        for (index, value) in values.iter_mut().enumerate() {
            let part = parts[index.min(parts.len() - 1)];
            if !part.is_empty() {
                *value = read(self.part(part))?;
            }
        }
        Ok(values)
    }

    /// Numbers with a colon between, at most `limit`.
    ///
    /// # Errors
    /// [`Problem::NeedsArgument`], [`Problem::Unreadable`].
    pub fn floats(&self, limit: usize) -> Result<Vec<f64>, Problem> {
        let text = self.text()?;
        let read = |part: &str| part.parse().ok().filter(|value: &f64| value.is_finite());
        let values: Option<Vec<f64>> = text.split(':').map(read).collect();
        let expected = "up to 20 numbers with a colon between";
        let values = values.filter(|values| values.len() <= limit);
        values.ok_or_else(|| self.unreadable(text, expected))
    }

    /// Two values with `-` or `:` between.
    ///
    /// # Errors
    /// As [`Reading::size`].
    pub fn range(&self) -> Result<(u64, u64), Problem> {
        const EXPECTED: &str = "a range such as 1k-4k";
        let text = self.text()?;
        let (low, high) =
            text.split_once(['-', ':']).ok_or_else(|| self.unreadable(text, EXPECTED))?;
        let (low, high) = (self.part(low).count(1, MAXIMUM)?, self.part(high).count(1, MAXIMUM)?);
        Ok((low.min(high), low.max(high)))
    }

    /// A rule about blocks: `size/percent` with colons between.
    ///
    /// # Errors
    /// As [`Reading::size`]; [`Problem::Unreadable`] when the percentages are more than 100 in all.
    pub fn split(&self) -> Result<Vec<(u64, u64)>, Problem> {
        let text = self.text()?;
        let mut entries = Vec::new();
        for part in text.split(':') {
            let (size, share) = part.split_once('/').map_or((part, None), |(s, p)| (s, Some(p)));
            let size = self.part(size).count(1, MAXIMUM)?;
            let share = share.filter(|share| !share.is_empty());
            let share = share.map(|share| self.part(share).count(0, 100)).transpose()?;
            entries.push((size, share));
        }
        self.shares(&entries)
    }

    /// Missing shares divide the rest equally.
    ///
    /// # Errors
    /// [`Problem::Unreadable`] when there are more than 100 in all, or fewer.
    pub fn shares<T: Copy>(&self, entries: &[(T, Option<u64>)]) -> Result<Vec<(T, u64)>, Problem> {
        let expected = "percentages that add up to 100";
        let given: u64 = entries.iter().filter_map(|(_, share)| *share).sum();
        let open = entries.iter().filter(|(_, share)| share.is_none()).count();
        let rest = 100_u64.checked_sub(given).filter(|rest| open > 0 || *rest == 0);
        let text = self.text.unwrap_or_default();
        let rest = rest.ok_or_else(|| self.unreadable(text, expected))?;
        let open = u64::try_from(open).expect("u64 holds usize");
        let mut index = 0;
        let fill = |&(value, share): &(T, Option<u64>)| match share {
            Some(share) => (value, share),
            None => {
                index += 1;
                (value, rest * index / open - rest * (index - 1) / open)
            }
        };
        Ok(entries.iter().map(fill).collect())
    }
}

/// The largest count that fio keeps in an `unsigned int`.
pub const MAXIMUM: u64 = u32::MAX as u64;

/// The number at the start of `text`, decimal or `0x`, and what follows it.
fn number(text: &str) -> Option<(u64, &str)> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = hex.map_or((text, 10), |digits| (digits, 16));
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let value = u64::from_str_radix(&digits[..end], radix).ok()?;
    Some((value, &digits[end..]))
}

fn factor(suffix: &str, units: Units) -> Option<u64> {
    let suffix = suffix.to_ascii_lowercase();
    let (letter, rest) = match suffix.chars().next() {
        None => return Some(1),
        Some(letter) => (letter, &suffix[letter.len_utf8()..]),
    };
    let base: u64 = match (rest, units.kb_base) {
        ("ib", 1_024) => 1_000,
        ("ib", _) => 1_024,
        ("" | "b" | "i", base) => base,
        _ => return None,
    };
    let power = match letter {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        'p' => 5,
        _ => return (suffix == "b").then_some(1),
    };
    Some(base.pow(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(text: &str) -> Reading<'_> {
        Reading { option: "bs", text: Some(text), units: Units::default() }
    }

    #[test]
    fn suffixes_mean_what_they_mean_in_fio() {
        let size = |text| reading(text).size().ok();
        for (text, value) in [
            ("512", 512),
            ("0x200", 512),
            ("4k", 4_096),
            ("4K", 4_096),
            ("1kb", 1_024),
            ("1ki", 1_024),
            ("1KiB", 1_000),
            ("1mib", 1_000_000),
            ("1m", 1_048_576),
            ("2G", 2 << 30),
        ] {
            assert_eq!(size(text), Some(value), "{text}");
        }
        for text in ["", "k", "4q", "1.5m", "-4k", "4 k", "99999999999t", "1kibb", "é"] {
            assert_eq!(size(text), None, "{text}");
        }
        let thousand = Reading { units: Units { kb_base: 1_000 }, ..reading("1k") };
        assert_eq!(thousand.size(), Ok(1_000));
        assert_eq!(Reading { text: Some("1KiB"), ..thousand }.size(), Ok(1_024));
    }

    #[test]
    fn times_have_the_unit_of_their_option_unless_they_bring_one() {
        let time = |text| reading(text).time(Duration::from_secs(1)).ok();
        assert_eq!(time("60"), Some(Duration::from_secs(60)));
        assert_eq!(time("1h"), Some(Duration::from_secs(3_600)));
        assert_eq!(time("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(time("5x"), None);
        assert_eq!(time("999999999999d"), None);
    }

    #[test]
    fn triples_repeat_the_last_value_and_leave_out_empty_ones() {
        let triple = |text| reading(text).triple(&[1, 2, 3], |part| part.size()).ok();
        assert_eq!(triple("4k"), Some([4_096; 3]));
        assert_eq!(triple("4k,8k"), Some([4_096, 8_192, 8_192]));
        assert_eq!(triple(",8k"), Some([1, 8_192, 8_192]));
        assert_eq!(triple("4k,"), Some([4_096, 2, 3]));
        assert_eq!(triple("1,2,3,4"), None);
    }

    #[test]
    fn open_shares_divide_the_rest() {
        assert_eq!(reading("4k/10:64k/50:32k").split().unwrap()[2], (32_768, 40));
        assert_eq!(reading("4k:8k").split().unwrap(), [(4_096, 50), (8_192, 50)]);
        assert!(reading("4k/60:8k/60").split().is_err());
        assert!(reading("4k/60:8k/30").split().is_err());
        assert!(reading("4k/x").split().is_err());
    }
}
