//! Text on a terminal: its width, line breaks, and sparklines.
//!
//! Layer: rank 8, inside `report`. Functions: [`width`], [`longest_word`], [`wrap`], [`sparkline`].
//! Widths are those of UAX #11 (East Asian wide characters take two columns). Left out:
//! hyphenation, and the Japanese rules for characters that may not begin a line.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Units that stay on the line of their number.
const UNITS: [&str; 40] = [
    "ps", "ns", "us", "ms", "s", "min", "h", "day", "days", "year", "years", "B", "KB", "kB", "MB",
    "GB", "TB", "KiB", "MiB", "GiB", "TiB", "KB/s", "MB/s", "GB/s", "KiB/s", "MiB/s", "GiB/s",
    "Gb/s", "Hz", "kHz", "MHz", "GHz", "IOPS", "ticks", "cycles", "pages", "blocks", "bits", "bit",
    "%",
];

/// The width of `text` in columns.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The width of the longest unbreakable piece of `text`: a word, or one wide character.
pub(crate) fn longest_word(text: &str) -> usize {
    let words = text.split(' ');
    words.flat_map(pieces).map(|piece| width(&piece)).max().unwrap_or(0)
}

/// `text` in lines of at most `limit` columns, broken at spaces and between wide characters, but
/// not between a number and its unit. A word longer than a line is broken where the line ends.
pub(crate) fn wrap(text: &str, limit: usize) -> Vec<String> {
    let limit = limit.max(2);
    let mut lines = vec![String::new()];
    for word in words(text) {
        for (index, piece) in pieces(&word).iter().enumerate() {
            append(&mut lines, piece, index == 0, limit);
        }
    }
    lines
}

/// `text` with no-break spaces between numbers and their units, for what wraps by itself.
pub(crate) fn tied(text: &str) -> String {
    let mut tied = String::with_capacity(text.len());
    for (index, word) in text.split(' ').enumerate() {
        let after_digit = tied.ends_with(|last: char| last.is_ascii_digit());
        if index > 0 {
            tied.push(if after_digit && is_unit(word) { '\u{a0}' } else { ' ' });
        }
        tied.push_str(word);
    }
    tied
}

fn is_unit(word: &str) -> bool {
    UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')', '"', '`']))
}

/// The words of `text`; a number and its unit are one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_ascii_whitespace() {
        match words.last_mut() {
            Some(last) if is_unit(word) && last.ends_with(|c: char| c.is_ascii_digit()) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.into()),
        }
    }
    words
}

/// Adds `piece` to the last line or to a new one; `spaced` pieces begin a word.
fn append(lines: &mut Vec<String>, piece: &str, spaced: bool, limit: usize) {
    let last = lines.last_mut().expect("wrap: begins with one line");
    let space = if spaced && !last.is_empty() { " " } else { "" };
    if width(last) + space.len() + width(piece) <= limit {
        last.push_str(space);
        last.push_str(piece);
        return;
    }
    if !last.is_empty() {
        lines.push(String::new());
    }
    for symbol in piece.chars() {
        let last = lines.last_mut().expect("wrap: begins with one line");
        if width(last) + symbol.width().unwrap_or(0) > limit {
            lines.push(symbol.into());
        } else {
            last.push(symbol);
        }
    }
}

/// A word split wherever a line may break: around each wide character.
fn pieces(word: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut after_wide = true;
    for symbol in word.chars() {
        let wide = symbol.width().unwrap_or(0) > 1;
        match pieces.last_mut() {
            Some(last) if !wide && !after_wide => last.push(symbol),
            _ => pieces.push(symbol.into()),
        }
        after_wide = wide;
    }
    pieces
}

/// The eight heights of a block; zero is a space.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// `heights` from zero as one line of at most `limit` blocks. More heights than that are averaged
/// in groups. Anything above zero shows at least the lowest block.
pub(crate) fn sparkline(heights: &[f64], limit: usize) -> String {
    let group = heights.len().div_ceil(limit.max(1)).max(1);
    let mean = |chunk: &[f64]| chunk.iter().sum::<f64>() / chunk.len() as f64;
    let means: Vec<f64> = heights.chunks(group).map(mean).collect();
    let top = means.iter().copied().fold(0.0, f64::max);
    let block = |height: &f64| {
        let reached = |index: &usize| *height > top * *index as f64 / 8.0;
        (0..8).filter(reached).map(|index| BLOCKS[index]).next_back().unwrap_or(' ')
    };
    means.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("", 8), [""]);
        assert_eq!(wrap("waits 256 us, not 170", 10), ["waits", "256 us,", "not 170"]);
    }

    #[test]
    fn numbers_are_tied_to_their_units_alone() {
        let text = "takes 36.37 s, not 43 s;  2 of us";
        assert_eq!(tied(text), "takes 36.37\u{a0}s, not 43\u{a0}s;  2 of us");
    }

    #[test]
    fn a_word_longer_than_a_line_is_broken() {
        assert_eq!(wrap("ab abcdefghij", 4), ["ab", "abcd", "efgh", "ij"]);
    }

    #[test]
    fn wide_characters_count_twice_and_may_break_anywhere() {
        assert_eq!(width("書込み"), 6);
        assert_eq!((longest_word("書込み buffer 53"), longest_word("書込み")), (6, 2));
        assert_eq!(wrap("書込み待ち時間 253 us", 8), ["書込み待", "ち時間", "253 us"]);
        assert!(wrap("固定の待ち256us後にトグル", 7).iter().all(|line| width(line) <= 7));
    }

    #[test]
    fn a_sparkline_rises_with_its_heights() {
        assert_eq!(sparkline(&[0.0, 1.0, 2.0, 4.0, 8.0], 10), " ▁▂▄█");
        assert_eq!(sparkline(&[1.0; 100], 5), "█████");
        assert_eq!(sparkline(&[], 5), "");
        assert_eq!(sparkline(&[0.0, 0.0], 5), "  ");
    }
}
