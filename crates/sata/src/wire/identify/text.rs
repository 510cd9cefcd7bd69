//! Texts of IDENTIFY DEVICE data: printable ASCII, the first character in the upper byte of a word.
//!
//! Layer: format. Texts begin at the left of their field and are padded with spaces. Some drives put
//! spaces before them or NUL after them; both are accepted.

use super::WORDS;
use crate::wire::error::Error;
use std::ops::Range;

/// Returns the text in `field`, without the spaces around it.
pub(super) fn get(words: &[u16; WORDS], field: Range<usize>) -> Result<String, Error> {
    let start = field.start;
    let bytes: Vec<u8> = words[field].iter().flat_map(|word| word.to_be_bytes()).collect();
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    if let Some(at) = bytes[..end].iter().position(|&byte| !is_printable(byte)) {
        return Err(Error::IdentifyText { word: start + at / 2, found: char::from(bytes[at]) });
    }
    let text = bytes[..end].iter().map(|&byte| char::from(byte)).collect::<String>();
    Ok(text.trim_matches(' ').to_owned())
}

/// Stores `text` in `field`.
pub(super) fn put(words: &mut [u16; WORDS], field: Range<usize>, text: &str) -> Result<(), Error> {
    let word = field.start;
    let known = |letter: char| u8::try_from(letter).is_ok_and(is_printable);
    if let Some(found) = text.chars().find(|&letter| !known(letter)) {
        return Err(Error::IdentifyText { word, found });
    }
    let limit = field.len() * 2;
    if text.len() > limit {
        return Err(Error::IdentifyLong { word, limit, found: text.len() });
    }
    let mut letters = text.bytes().chain(std::iter::repeat(b' '));
    words[field].fill_with(|| {
        let mut letter = || letters.next().unwrap_or(b' ');
        u16::from_be_bytes([letter(), letter()])
    });
    Ok(())
}

const fn is_printable(byte: u8) -> bool {
    byte == b' ' || byte.is_ascii_graphic()
}
