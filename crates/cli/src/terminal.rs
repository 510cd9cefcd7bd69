//! Terminal output: every text for standard output and standard error passes through this module.
//!
//! Layer: rank 12. Functions: [`tell`], [`harmless`] and [`drawn`]; main type: [`Escaping`]. Names
//! in programs, images, job files, saved results and arguments are untrusted text, so characters
//! that a terminal would not simply draw are escaped by [`boardlab_result::foreign`], also into
//! pipes, which may lead to a terminal. Three kinds of output are deliberately not escaped: that of
//! a guest, unless `--safe-console` is set; the content of a requested file; and CSV and the
//! formats of fio for programs, unless standard output is a terminal.

use boardlab_result::foreign::{Escaper, is_harmless};
use std::io::{self, Write};

/// Prints `words` on standard error.
pub(crate) fn tell(words: &str) {
    tell_in_colours(words, false);
}

/// As [`tell`]; with `colour` the colours in `words` are kept.
pub(crate) fn tell_in_colours(words: &str, colour: bool) {
    // If standard error is closed, nothing can be reported.
    let _ = writeln!(io::stderr().lock(), "{}", harmless(words, colour));
}

/// `text` with its line breaks and with escapes for harmful characters. Colours are kept if
/// `colour` is set.
pub(crate) fn harmless(text: &str, colour: bool) -> String {
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
pub(crate) fn drawn(styled: bool, draw: impl Fn(bool) -> String) -> String {
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

/// A writer that escapes untrusted text.
#[derive(Debug)]
pub(crate) struct Escaping<W: Write> {
    to: W,
    escaper: Escaper,
}

impl<W: Write> Escaping<W> {
    /// A writer to `to`.
    pub(crate) fn new(to: W) -> Self {
        Self { to, escaper: Escaper::default() }
    }
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write_all(self.escaper.take(bytes).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl<W: Write> Drop for Escaping<W> {
    fn drop(&mut self) {
        let rest = self.escaper.finish();
        // At most a part of a character is left; everything else was flushed where errors are handled.
        let _ = self.to.write_all(rest.as_bytes()).and_then(|()| self.to.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_stream_ends_with_what_was_kept_back() {
        let mut bytes = Vec::new();
        let mut stream = Escaping::new(&mut bytes);
        stream.write_all(b"a\x1b\r\n\xe6").unwrap();
        drop(stream);
        assert_eq!(String::from_utf8(bytes).unwrap(), "a\\u{1b}\r\n\\xe6");
    }

    /// Whoever writes to a stream of people elsewhere writes raw: this is where to say that it is by purpose.
    #[test]
    fn no_other_file_writes_to_the_streams_of_people() {
        let raw = [
            "terminal.rs",
            "output.rs",
            "closed.rs",
            "commands/os/console.rs",
            "commands/os/gdb.rs",
        ];
        let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut folders = vec![source.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                let name = path.strip_prefix(&source).unwrap().to_str().unwrap();
                for line in text.lines().filter(|_| !raw.contains(&name)) {
                    let named = ["io::stdout()", "io::stderr()", "println!", "print!"]
                        .iter()
                        .any(|one| line.contains(one));
                    let only_asked =
                        ["is_terminal", "Escaping::new"].iter().any(|one| line.contains(one));
                    assert!(!named || only_asked, "{name}: {line}: use crate::terminal");
                }
            }
        }
    }
}
