//! Texts that were read, and places in them.
//!
//! Layer: rank 7. A [`Source`] is one text with its name: a file, a built-in
//! file or the argument of a `--set`. A [`Place`] is a stretch of one source; because it holds its
//! source, a document merged from several texts still points at the right line of the right one.
//! Leaves out: the look of an error message (see [`crate::error`]).

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest configuration file that is read. Ours have a few KiB; a larger one is a mistake,
/// such as the image given in place of the scenario.
pub const SIZE_LIMIT: u64 = 1 << 20;

/// What a file describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A data sheet, in `parts/`.
    Part,
    /// A board, in `boards/`.
    Board,
    /// What to run, in `scenarios/`.
    Scenario,
    /// Published tables, in `reference/`.
    Reference,
    /// What holds where a user leaves an option out.
    Defaults,
}

impl Kind {
    /// What a person calls it.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Part => "part",
            Self::Board => "board",
            Self::Scenario => "scenario",
            Self::Reference => "reference",
            Self::Defaults => "configuration",
        }
    }

    /// Whether a bare number is refused: in a part and a board each number needs a source.
    #[must_use]
    pub const fn needs_sources(self) -> bool {
        matches!(self, Self::Part | Self::Board)
    }
}

/// The option that overrides a value.
pub const SET: &str = "--set";
/// The option of a sweep that gives several values.
pub const GRID: &str = "--grid";
/// The option of a sweep that names a cell of the grid.
pub const CELL: &str = "--cell";

/// One text with its name.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// Path of the file, or the option.
    name: String,
    /// The whole text.
    text: String,
    /// What the file describes; `None` for an argument.
    kind: Option<Kind>,
    /// Folder from which relative paths in the text count; `None` for built-in files and `--set`.
    folder: Option<PathBuf>,
}

impl Source {
    /// The text of a `kind` of file, shown in errors as `name`.
    #[must_use]
    pub fn new(kind: Kind, name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into(), kind: Some(kind), folder: None })
    }

    /// The argument of `option`, [`SET`], [`GRID`] or [`CELL`].
    #[must_use]
    pub fn argument(option: &str, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: option.into(), text: text.into(), kind: None, folder: None })
    }

    /// The text of a `kind` of file in `folder`, shown in errors as `name`.
    #[must_use]
    pub fn in_folder(
        kind: Kind,
        name: impl Into<String>,
        text: impl Into<String>,
        folder: Option<PathBuf>,
    ) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into(), kind: Some(kind), folder })
    }

    /// Path of the file, or the option.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the file describes; `None` for a `--set`.
    #[must_use]
    pub const fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// Folder from which relative paths in the text count.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Whether this is a file of the program's own.
    #[must_use]
    pub const fn is_built_in(&self) -> bool {
        self.kind.is_some() && self.folder.is_none()
    }

    /// Whether this is the argument of an option.
    #[must_use]
    pub const fn is_argument(&self) -> bool {
        self.kind.is_none()
    }

    /// Whether this is the argument of `option`, [`SET`], [`GRID`] or [`CELL`].
    #[must_use]
    pub fn is_argument_of(&self, option: &str) -> bool {
        self.is_argument() && self.name == option
    }
}

/// A stretch of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    source: Arc<Source>,
    /// Bytes of the text, on character boundaries.
    span: Range<usize>,
}

impl Place {
    /// The bytes `span` of `source`; what lies outside the text or cuts a character is moved in.
    #[must_use]
    pub fn new(source: &Arc<Source>, span: Range<usize>) -> Self {
        let start = source.text.floor_char_boundary(span.start);
        let end = source.text.ceil_char_boundary(span.end.max(start)).min(source.text.len());
        Self { source: Arc::clone(source), span: start..end }
    }

    /// The text that the place is in.
    #[must_use]
    pub const fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The bytes of the text.
    #[must_use]
    pub const fn span(&self) -> &Range<usize> {
        &self.span
    }

    /// What is written here.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.source.text[self.span.clone()]
    }

    /// Line of the first character, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        1 + self.source.text[..self.line_start()].matches('\n').count()
    }

    /// Column of the first character in characters, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        1 + self.source.text[self.line_start()..self.span.start].chars().count()
    }

    /// The line of the first character, without its end, and the part of it that the place covers.
    #[must_use]
    pub fn excerpt(&self) -> (&str, Range<usize>) {
        let start = self.line_start();
        let rest = &self.source.text[start..];
        let line = rest.split('\n').next().unwrap_or(rest);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let clip = |offset: usize| (offset - start).min(line.len());
        (line, clip(self.span.start)..clip(self.span.end))
    }

    fn line_start(&self) -> usize {
        self.source.text[..self.span.start].rfind('\n').map_or(0, |newline| newline + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str, span: Range<usize>) -> Place {
        Place::new(&Source::new(Kind::Scenario, "x.toml", text), span)
    }

    #[test]
    fn lines_and_columns_count_from_one_in_characters() {
        let text = "a = 1\r\nµµ = 22\n";
        let second = text.find("22").unwrap();
        let at = place(text, second..second + 2);
        assert_eq!((at.line(), at.column(), at.text()), (2, 6, "22"));
        assert_eq!(at.excerpt(), ("µµ = 22", 7..9));
    }

    #[test]
    fn a_place_outside_the_text_is_moved_in() {
        assert_eq!(place("ab", 7..9).excerpt(), ("ab", 2..2));
        assert_eq!(place("µ", 1..1).span(), &(0..2));
        assert_eq!(place("", 0..0).excerpt(), ("", 0..0));
        #[allow(clippy::reversed_empty_ranges, reason = "a parser may hand out such a span")]
        let reversed = place("abc", 2..1);
        assert_eq!(reversed.text(), "");
    }

    #[test]
    fn a_place_over_several_lines_shows_the_first() {
        assert_eq!(place("a = [\n1,\n2]\n", 4..11).excerpt(), ("a = [", 4..5));
    }
}
