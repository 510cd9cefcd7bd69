//! The command lines that would make an image like the one that was found, from a folder of its files.
//!
//! Layer: rank 7. Main type: [`RebuildStep`]. Functions: [`word`], [`size`], [`spare`], which write their parts. Names
//! come from an image, which is untrusted: they are quoted for a shell, and hide nothing.

use crate::names::shown;
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_sim::Bytes;

/// A line of what is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebuildStep {
    /// The program, the file that the line is in, or `note`.
    pub with: &'static str,
    /// The line. `DIR` stands for the folder with the files.
    pub line: String,
}

impl RebuildStep {
    pub(crate) fn new(with: &'static str, line: impl Into<String>) -> Self {
        Self { with, line: line.into() }
    }
}

/// A name as one word of a shell.
pub(crate) fn word(name: &str) -> String {
    let name = shown(name.as_bytes());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+/:=@%,".contains(c);
    if !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain) {
        return name;
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

/// A name as a file that a command makes: no folder, no option, no hidden file.
pub(crate) fn file(name: &str, ending: &str) -> String {
    let name: String = name
        .chars()
        .take(64)
        .map(|c| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' })
        .collect();
    let name = name.trim_start_matches(['-', '.']);
    let name = if name.is_empty() { "volume" } else { name };
    format!("{name}.{ending}")
}

/// A size as an option takes it: `2KiB`, or bytes.
pub(crate) fn size(bytes: Bytes) -> String {
    let exact = [(1 << 20, "MiB"), (1 << 10, "KiB")];
    let fits = exact
        .into_iter()
        .find(|(unit, _)| bytes.get() >= *unit && bytes.get().is_multiple_of(*unit));
    fits.map_or_else(
        || bytes.get().to_string(),
        |(unit, name)| format!("{}{name}", bytes.get() / unit),
    )
}

/// The options for the pages and blocks of `boardlab image create`.
pub(crate) fn flash(shape: Shape) -> String {
    format!("--page {} --block {}", size(shape.page), size(shape.block))
}

/// The options for the spare bytes, and what is to be noted of those that are not made.
pub(crate) fn spare(shape: Shape, spare: Option<&Spare>) -> (String, Option<RebuildStep>) {
    if shape.oob.is_zero() {
        return (String::new(), None);
    }
    let oob = shape.oob.get();
    match spare.and_then(Spare::linux_code) {
        Some((bits, step)) => (format!(" --oob {oob} --ecc {bits}/{step}"), None),
        None => {
            let found = spare.map_or_else(String::new, ToString::to_string);
            let note = format!(
                "the {oob} spare bytes a page are not made, with their error correction: {found}"
            );
            (String::new(), Some(RebuildStep::new("note", note)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images_are_words_of_a_shell() {
        assert_eq!(word("rootfs_1.2"), "rootfs_1.2");
        for (name, quoted) in [
            ("", "''"),
            ("-rf", "'-rf'"),
            ("a b", "'a b'"),
            ("$(reboot)", "'$(reboot)'"),
            ("a'b", r"'a'\''b'"),
            ("a\nb", r"'a\u{a}b'"),
        ] {
            assert_eq!(word(name), quoted);
        }
        assert_eq!(file("../../etc/x y", "ubifs"), "_.._etc_x_y.ubifs");
        assert_eq!(file("-.", "img"), "volume.img");
    }

    #[test]
    fn sizes_are_exact() {
        let known = [
            (2_048, "2KiB"),
            (126_976, "124KiB"),
            (1_048_576, "1MiB"),
            (512, "512"),
            (4_320, "4320"),
        ];
        for (bytes, text) in known {
            assert_eq!(size(Bytes::new(bytes)), text);
        }
    }
}
