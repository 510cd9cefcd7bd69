//! Fields of the texts of file trees: any bytes, written in printable ASCII without spaces.
//!
//! Layer: rank 6, part of [`tree`](crate::tree). docs/formats/file-tree.md, "Fields".

use std::fmt::Write;

/// Appends bytes as a field; those in `special` are escaped too.
pub(super) fn escape(bytes: &[u8], special: &[u8], to: &mut String) {
    if bytes == b"-" {
        to.push_str("\\x2d");
        return;
    }
    for &byte in bytes {
        if (b'!'..=b'~').contains(&byte) && byte != b'\\' && !special.contains(&byte) {
            to.push(char::from(byte));
        } else {
            let _ = write!(to, "\\x{byte:02x}");
        }
    }
}

/// The same as a new text.
pub(super) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    escape(bytes, &[], &mut text);
    text
}

/// Appends bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8], to: &mut String) {
    for byte in bytes {
        let _ = write!(to, "{byte:02x}");
    }
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

fn pair(high: u8, low: u8) -> Option<u8> {
    Some(digit(high)? << 4 | digit(low)?)
}

/// The bytes of a field; `None` for a backslash without `xHH`.
pub(super) fn unescape(field: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'\\' {
            bytes.push(first);
            continue;
        }
        let [b'x', high, low, after @ ..] = rest else { return None };
        bytes.push(pair(*high, *low)?);
        rest = after;
    }
    Some(bytes)
}

/// The bytes of hexadecimal digits; `-` is the empty value.
pub(super) fn unhex(field: &str) -> Option<Vec<u8>> {
    if field == "-" {
        return Some(Vec::new());
    }
    let (pairs, []) = field.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|&[high, low]| pair(high, low)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_a_field() {
        let bytes: Vec<u8> = (0..=255).collect();
        let text = escaped(&bytes);
        assert!(text.bytes().all(|byte| (b'!'..=b'~').contains(&byte)), "{text}");
        assert_eq!(unescape(&text), Some(bytes));
        assert_eq!((escaped(b"-"), unescape("\\x2d")), ("\\x2d".to_owned(), Some(b"-".to_vec())));
        assert_eq!(escaped(b"a b\\"), "a\\x20b\\x5c");
    }

    #[test]
    fn a_damaged_field_is_none() {
        for field in ["\\", "\\x", "\\x1", "\\y41", "\\xAB"] {
            assert_eq!(unescape(field), None, "{field}");
        }
        assert_eq!((unhex("0g"), unhex("012"), unhex("-")), (None, None, Some(vec![])));
        assert_eq!(unhex("00ff"), Some(vec![0, 255]));
    }
}
