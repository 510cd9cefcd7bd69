//! The records of extended headers (`pax` of POSIX.1-2001): `LENGTH KEY=VALUE`, each with a line feed.
//!
//! Layer: rank 7. Main type: [`Records`]. Values may hold any bytes, line feeds included.

use super::problem::ArchiveProblem;
use boardlab_vfs::Timestamp;

/// Keys and values in order; of two with one key the later one holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Records(Vec<(Vec<u8>, Vec<u8>)>);

impl Records {
    /// Adds the records of a header.
    pub(super) fn add(&mut self, mut bytes: &[u8]) -> Result<(), ArchiveProblem> {
        while !bytes.is_empty() {
            let (record, rest) = split(bytes).ok_or(ArchiveProblem::Record)?;
            let equals = record.iter().position(|&byte| byte == b'=');
            let (key, value) = record.split_at(equals.ok_or(ArchiveProblem::Record)?);
            self.0.push((key.to_vec(), value[1..].to_vec()));
            bytes = rest;
        }
        Ok(())
    }

    /// Adds records that hold over these.
    pub(super) fn over(&self, later: &Self) -> Self {
        Self(self.0.iter().chain(&later.0).cloned().collect())
    }

    /// All records in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(key, value)| (key.as_slice(), value.as_slice()))
    }

    /// The value of a key; an empty one takes it back.
    pub(super) fn get(&self, key: &str) -> Option<&[u8]> {
        let found = self.0.iter().rev().find(|(one, _)| one == key.as_bytes());
        found.map(|(_, value)| value.as_slice()).filter(|value| !value.is_empty())
    }

    /// The number that a key has.
    pub(super) fn number(&self, key: &'static str) -> Result<Option<u64>, ArchiveProblem> {
        let Some(value) = self.get(key) else { return Ok(None) };
        number(value).map(Some).ok_or(ArchiveProblem::Number { field: key })
    }

    /// The time that a key has, with its fraction.
    pub(super) fn time(&self, key: &'static str) -> Result<Option<Timestamp>, ArchiveProblem> {
        let Some(value) = self.get(key) else { return Ok(None) };
        time(value).map(Some).ok_or(ArchiveProblem::Number { field: key })
    }
}

/// The record that `bytes` begin with, without its length and its line feed, and the rest.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = bytes.iter().position(|&byte| byte == b' ')?;
    let length = usize::try_from(number(&bytes[..space])?).ok()?;
    if length <= space || length > bytes.len() {
        return None;
    }
    let (record, rest) = bytes.split_at(length);
    Some((record[space + 1..].strip_suffix(b"\n")?, rest))
}

/// A decimal number.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}

/// Seconds since 1970 with a fraction, of which nanoseconds are kept.
fn time(text: &[u8]) -> Option<Timestamp> {
    let (is_before, text) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
    let seconds = i64::try_from(number(&text[..point])?).ok()?;
    let fraction = text.get(point + 1..).unwrap_or_default();
    let mut digits: Vec<u8> = fraction.iter().copied().take(9).collect();
    digits.resize(9, b'0');
    if !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let nanos = u32::try_from(number(&digits)?).ok()?;
    Some(match is_before {
        false => Timestamp { seconds, nanos },
        true => Timestamp::before_1970(seconds, nanos),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_hold_any_bytes_and_later_ones_hold() {
        let mut records = Records::default();
        records.add(b"12 path=a\nb\n10 a=\xff=\0\n\n12 path=c\nd\n").unwrap();
        assert_eq!(records.get("path"), Some(&b"c\nd"[..]));
        assert_eq!(records.get("a"), Some(&b"\xff=\0\n"[..]));
        assert_eq!(records.get("b"), None);
        for wrong in [&b"12 path=a\n"[..], b"x a=b\n", b"6 a=b\nx", b"4 a\n", b"0 \n", b"6 a=bc"] {
            assert!(Records::default().add(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn times_have_fractions_and_may_be_before_1970() {
        let time = |text: &str| time(text.as_bytes());
        assert_eq!(time("5"), Some(Timestamp::seconds(5)));
        assert_eq!(time("5.25"), Some(Timestamp { seconds: 5, nanos: 250_000_000 }));
        assert_eq!(time("-1.25"), Some(Timestamp { seconds: -2, nanos: 750_000_000 }));
        assert_eq!(time("1.0000000019"), Some(Timestamp { seconds: 1, nanos: 1 }));
        for wrong in ["", "x", "1.x", "--1", "99999999999999999999"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
    }
}
