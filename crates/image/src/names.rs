//! Names from images as text.
//!
//! Layer: rank 7. Functions: [`shown`] and [`unshown`]. Such names are untrusted: bytes that are
//! not UTF-8, the backslash and what a terminal does not simply draw are shown as escapes, so that
//! a name that is shown can be told from every other and none moves the cursor.

use boardlab_result::foreign::is_harmless;
use std::fmt::Write;

/// A name or a path as text that nothing can be hidden in.
#[must_use]
pub fn shown(name: &[u8]) -> String {
    let mut shown = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character == '\\' || !is_harmless(character) {
                shown.extend(character.escape_unicode());
            } else {
                shown.push(character);
            }
        }
        for byte in chunk.invalid() {
            write!(shown, "\\x{byte:02x}").expect("a String takes all text");
        }
    }
    // At the end nobody would see a space.
    if shown.ends_with(' ') {
        shown.pop();
        shown.push_str("\\u{20}");
    }
    shown
}

/// The bytes of a path in which [`shown`] put escapes; text without escapes is itself.
///
/// # Errors
/// The place of a backslash that begins no escape.
pub fn unshown(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte != b'\\' {
            bytes.push(byte);
            at += 1;
            continue;
        }
        let (escaped, length) = escape(&text[at..]).ok_or(at)?;
        bytes.extend(escaped);
        at += length;
    }
    Ok(bytes)
}

/// The escape that `text` begins with: `\xff` or `\u{1b}`; its bytes and its length.
fn escape(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let digits = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).ok()?;
        let are = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        u32::from_str_radix(digits, 16).ok().filter(|_| are)
    };
    if text.starts_with(b"\\x") {
        let byte = digits(text.get(2..4)?)?;
        return Some((vec![u8::try_from(byte).ok()?], 4));
    }
    let rest = text.strip_prefix(b"\\u{")?;
    let end = rest.iter().position(|&byte| byte == b'}').filter(|end| *end <= 6)?;
    let character = char::from_u32(digits(&rest[..end])?)?;
    Some((character.to_string().into_bytes(), end + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hide_nothing() {
        assert_eq!(shown("größe 書".as_bytes()), "größe 書");
        assert_eq!(shown(b"a\x1b[2J\\\xff\n"), "a\\u{1b}[2J\\u{5c}\\xff\\u{a}");
        assert_eq!(shown("\u{202e}exe".as_bytes()), "\\u{202e}exe");
        assert_eq!(shown("a\u{200b} ".as_bytes()), "a\\u{200b}\\u{20}");
        for name in
            [&b"a\x1b[2J\\\xff\n"[..], b"/etc/motd", "größe 書\u{202e} ".as_bytes(), b"\\x41"]
        {
            assert_eq!(unshown(shown(name).as_bytes()), Ok(name.to_vec()));
        }
        for (wrong, at) in [("a\\", 1), ("\\x4", 0), ("b/\\u{110000}", 2), ("\\n", 0), ("\\x+1", 0)]
        {
            assert_eq!(unshown(wrong.as_bytes()), Err(at), "{wrong}");
        }
    }
}
