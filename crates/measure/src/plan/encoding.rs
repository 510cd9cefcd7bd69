//! The encoding of values in plans: `%` and two upper-case hexadecimal digits for what a field cannot hold.
//!
//! Layer: rank 8. Functions: [`encode`], [`decode`].

use std::fmt::Write as _;

/// `value` as a field of a plan has it.
#[must_use]
pub fn encode(value: &str) -> String {
    let mut field = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            field.push(char::from(byte));
        } else {
            write!(field, "%{byte:02X}").expect("a String takes all text");
        }
    }
    field
}

/// The value of a field. `None` where `%` is followed by something else, and for zero bytes and what is
/// not UTF-8.
#[must_use]
pub fn decode(field: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => digit(rest.next()?)? * 16 + digit(rest.next()?)?,
            other => other,
        });
    }
    if bytes.contains(&0) { None } else { String::from_utf8(bytes).ok() }
}

const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_without_a_zero_byte_survives_encoding() {
        for text in ["/dev/mtd0", "/mnt/my card", "100%", "%41", "書\u{7f}\n\t=é", ""] {
            let field = encode(text);
            assert!(field.bytes().all(|byte| byte.is_ascii_graphic()), "{field}");
            assert_eq!(decode(&field).as_deref(), Some(text));
        }
        assert_eq!(encode("a b%"), "a%20b%25");
    }

    #[test]
    fn codes_that_are_none_are_refused() {
        for field in ["%", "%4", "%4g", "%4a", "a%00b", "%FF", "%+1"] {
            assert_eq!(decode(field), None, "{field}");
        }
    }
}
