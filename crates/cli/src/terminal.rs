//! Terminal output: every text for standard output and standard error passes through this module.
//!
//! Layer: rank 12. Functions: [`tell`] and [`tell_in_colours`]; main type: [`Escaping`]. Names
//! in programs, images, job files, saved results and arguments are untrusted text, so characters
//! that a terminal would not simply draw are escaped by [`boardlab_result::foreign`], also into
//! pipes, which may lead to a terminal. Three kinds of output are deliberately not escaped: that of
//! a guest, unless `--safe-console` is set; the content of a requested file; and CSV and the
//! formats of fio for programs, unless standard output is a terminal.

use boardlab_result::foreign::{Escaper, harmless};
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
