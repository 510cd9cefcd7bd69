//! Untrusted text, made safe to display: names in a program, an image, a job file or a saved result.
//!
//! Layer: rank 1. Functions: [`shown`], [`shown_bytes`] and [`shown_at_most`] for a text on one
//! line, [`shown_path`] for a path, [`harmless`] and [`drawn`] for one of several; main type: [`Escaper`], for a stream of bytes. All untrusted text passes through this
//! module before it reaches a terminal, so that it can neither move the cursor nor hide or reorder
//! other text. Characters that a terminal would not simply draw become escapes: `\u{1b}` for a
//! character, `\xff` for a byte that is not UTF-8. Sources: ECMA-48 for control characters, UAX #9,
//! 2 for marks of direction, UAX #44 `Default_Ignorable_Code_Point` for invisible characters. Left
//! out: letters that look like others, and backslashes, which are not escaped.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

/// Whether a terminal only draws `character`: it is not a control character, a directional mark or
/// invisible.
#[must_use]
pub fn is_harmless(character: char) -> bool {
    let hidden = matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}');
    !character.is_control() && !hidden
}

/// `text` on one line, with escapes for harmful characters.
#[must_use]
pub fn shown(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_harmless) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    text.chars().for_each(|character| push(&mut shown, character));
    shown.into()
}

/// As [`shown`], for bytes that may not be UTF-8.
#[must_use]
pub fn shown_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|character| push(&mut shown, character));
        chunk.invalid().iter().for_each(|byte| push_byte(&mut shown, *byte));
    }
    shown
}

/// As [`shown`], truncated to `limit` characters of `text`, with dots in place of the rest.
#[must_use]
pub fn shown_at_most(text: &str, limit: usize) -> String {
    let end = text.char_indices().nth(limit).map(|(end, _)| end);
    let mut all = shown(&text[..end.unwrap_or(text.len())]).into_owned();
    if end.is_some() {
        all.push_str("...");
    }
    all
}

/// The number of characters of a path that an error repeats.
pub const PATH_SHOWN: usize = 240;

/// `path` on one line, truncated to [`PATH_SHOWN`] characters.
#[must_use]
pub fn shown_path(path: &Path) -> String {
    shown_at_most(&shown_bytes(path.as_os_str().as_encoded_bytes()), PATH_SHOWN)
}

/// `character`, or its escape.
fn push(shown: &mut String, character: char) {
    if is_harmless(character) {
        shown.push(character);
    } else {
        shown.extend(character.escape_unicode());
    }
}

fn push_byte(shown: &mut String, byte: u8) {
    write!(shown, "\\x{byte:02x}").expect("a String takes all text");
}

/// `text` with its line breaks and with escapes for harmful characters. Colours are kept if
/// `colour` is set.
#[must_use]
pub fn harmless(text: &str, colour: bool) -> String {
    let mut harmless = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let length = if colour { colour_length(rest) } else { 0 };
        let length = length.max(character.len_utf8());
        if length > character.len_utf8()
            || matches!(character, '\n' | '\t')
            || is_harmless(character)
        {
            harmless.push_str(&rest[..length]);
        } else {
            harmless.extend(character.escape_unicode());
        }
        rest = &rest[length..];
    }
    harmless
}

/// The output of `draw`, which renders untrusted text, with its colours if `styled` is set. If the
/// text itself has control characters, which cannot be distinguished from colours, it is drawn
/// without colours.
#[must_use]
pub fn drawn(styled: bool, draw: impl Fn(bool) -> String) -> String {
    let plain = draw(false);
    let clean = harmless(&plain, false);
    if styled && clean == plain { draw(true) } else { clean }
}

/// The length of the Select Graphic Rendition (ECMA-48, 8.3.117) at the beginning of `text`, or 0.
fn colour_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\u{1b}[") else { return 0 };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';');
    end.filter(|end| rest[*end..].starts_with('m')).map_or(0, |end| 2 + end + 1)
}

/// Escapes a stream of bytes that arrives in pieces of any size. Line ends and tabs stay: `\n`,
/// `\t`, and `\r` next to `\n`.
#[derive(Debug, Clone, Default)]
pub struct Escaper {
    /// The beginning of a character, or a carriage return, whose form depends on the next byte.
    kept: Vec<u8>,
    /// Whether the last byte was a line feed.
    at_start: bool,
}

impl Escaper {
    /// Returns the escaped form of `bytes`, as far as it is determined.
    #[must_use]
    pub fn take(&mut self, bytes: &[u8]) -> String {
        let mut shown = String::with_capacity(bytes.len());
        for byte in bytes {
            self.byte(*byte, &mut shown);
        }
        shown
    }

    /// Returns the escaped form of the kept bytes at the end of the stream.
    #[must_use]
    pub fn finish(&mut self) -> String {
        shown_bytes(&std::mem::take(&mut self.kept))
    }

    fn byte(&mut self, byte: u8, shown: &mut String) {
        if self.kept == [b'\r'] {
            self.kept.clear();
            if byte == b'\n' {
                shown.push('\r');
            } else {
                push(shown, '\r');
            }
        }
        let at_start = std::mem::replace(&mut self.at_start, byte == b'\n');
        self.kept.push(byte);
        match (byte, std::str::from_utf8(&self.kept)) {
            (b'\r', Ok(_)) if at_start => shown.push('\r'),
            (b'\r', Ok(_)) => return,
            (b'\n' | b'\t', Ok(_)) => shown.push(char::from(byte)),
            (_, Ok(text)) => text.chars().for_each(|character| push(shown, character)),
            // A character of which some bytes have not yet arrived.
            (_, Err(error)) if error.error_len().is_none() => return,
            (_, Err(_)) => return self.broken(byte, shown),
        }
        self.kept.clear();
    }

    /// Handles bytes that are not a character; the last one may begin one.
    fn broken(&mut self, last: u8, shown: &mut String) {
        self.kept.pop();
        let alone = self.kept.is_empty();
        std::mem::take(&mut self.kept).iter().for_each(|byte| push_byte(shown, *byte));
        if alone {
            push_byte(shown, last);
        } else {
            self.byte(last, shown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_draws_stays_and_the_rest_becomes_an_escape() {
        let plain = "main+0x10 書込み \u{202f}é \\ `x`";
        assert!(matches!(shown(plain), Cow::Borrowed(text) if text == plain));
        let hostile = "a\u{1b}[2J\n\t\r\u{7f}\u{9b}\u{202e}\u{200b}\u{feff}\u{e0041}b";
        let escaped =
            "a\\u{1b}[2J\\u{a}\\u{9}\\u{d}\\u{7f}\\u{9b}\\u{202e}\\u{200b}\\u{feff}\\u{e0041}b";
        assert_eq!(shown(hostile), escaped);
        assert_eq!(shown_bytes(b"a\xff\xe6\x9b\x1bb"), "a\\xff\\xe6\\x9b\\u{1b}b");
        assert_eq!(shown_at_most("\u{1b}bcd", 2), "\\u{1b}b...");
        assert_eq!(shown_at_most("書込", 2), "書込");
    }

    #[test]
    fn text_and_colours_pass_and_cursor_movements_do_not() {
        let text = "a \u{1b}[1;31mb\u{1b}[0m\n\u{1b}[2Jc\u{7}\u{9b}\u{202e}書込み\u{202f}1\u{1b}";
        let clean =
            "a \u{1b}[1;31mb\u{1b}[0m\n\\u{1b}[2Jc\\u{7}\\u{9b}\\u{202e}書込み\u{202f}1\\u{1b}";
        assert_eq!(harmless(text, true), clean);
        assert_eq!(harmless(text, false), clean.replace('\u{1b}', "\\u{1b}"));
    }

    #[test]
    fn foreign_colours_cost_the_own_ones() {
        let draw = |name: &'static str| {
            move |styled| if styled { format!("\u{1b}[1m{name}\u{1b}[0m") } else { name.into() }
        };
        assert_eq!(drawn(true, draw("a")), "\u{1b}[1ma\u{1b}[0m");
        assert_eq!(drawn(true, draw("a\u{1b}[8mb")), "a\\u{1b}[8mb");
        assert_eq!(drawn(false, draw("a\u{7}")), "a\\u{7}");
    }

    #[test]
    fn every_mark_of_direction_and_every_control_character_is_escaped() {
        let controls = ('\0'..='\u{1f}').chain('\u{7f}'..='\u{9f}');
        let turning = ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}');
        for character in controls.chain(turning).chain(['\u{200e}', '\u{200f}', '\u{61c}']) {
            assert!(!is_harmless(character), "{character:?}");
        }
    }

    #[test]
    fn a_stream_is_escaped_the_same_in_pieces_of_any_size() {
        let bytes = b"one\r\ntwo\n\r\ttab \xe6\x9b\xb8\x1b[2J \xff\xe6\x9bx \rover\xc3\r\n\xf0\x9f"
            .as_slice();
        let expected =
            "one\r\ntwo\n\r\ttab 書\\u{1b}[2J \\xff\\xe6\\x9bx \\u{d}over\\xc3\r\n\\xf0\\x9f";
        for size in 1..=bytes.len() {
            let mut escaper = Escaper::default();
            let mut text: String = bytes.chunks(size).map(|piece| escaper.take(piece)).collect();
            text += &escaper.finish();
            assert_eq!(text, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn a_stream_that_never_ends_a_character_is_not_kept() {
        let mut escaper = Escaper::default();
        for _ in 0..1_000 {
            let _ = escaper.take(&[0xE6]);
            assert!(escaper.kept.len() < 4);
        }
    }
}
