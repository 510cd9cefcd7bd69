//! The drawing of an error: title, file and line, caret, help.
//!
//! Layer: rank 7, a part of [`super`]. Text from files and arguments is made harmless here by
//! `boardlab_result::foreign`: within a message by escapes, and in the line with the caret, where each
//! character has its column, by a sign in its place.

use crate::source::Place;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use boardlab_result::foreign::is_harmless;
pub(super) use boardlab_result::foreign::shown_at_most as shown;

/// How many characters of a text from a file an error repeats.
pub const TEXT_SHOWN: usize = 60;
/// How many characters of a path an error repeats.
const PATH_SHOWN: usize = 240;
/// How many characters of a line are drawn on either side of the place.
const LINE_SHOWN: usize = 400;

/// What an error says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// What is wrong.
    pub title: String,
    /// What is due, beside the caret.
    pub label: String,
    /// What to try; empty where what is due says it all.
    pub help: String,
}

/// Where an error is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// In a text that is drawn.
    Place(Place),
    /// In a file as a whole.
    Path(String),
    /// In a text that is not drawn.
    Line {
        /// Its file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// In no text.
    Nowhere,
}

/// Draws one error.
pub(super) fn draw(message: &Message, at: &At, renderer: &Renderer) -> String {
    let mut group = Group::with_title(Level::ERROR.primary_title(message.title.as_str()));
    let line;
    match at {
        At::Place(place) => {
            let span;
            (line, span) = drawn_line(place);
            let annotation = AnnotationKind::Primary.span(span).label(message.label.as_str());
            let snippet = Snippet::source(line.as_str())
                .path(shown(place.source().name(), PATH_SHOWN))
                .line_start(place.line())
                .annotation(annotation);
            group = group.element(snippet);
        }
        At::Path(path) => group = group.element(Origin::path(shown(path, PATH_SHOWN))),
        At::Line { file, line, column } => {
            let origin = Origin::path(shown(file, PATH_SHOWN));
            group = group.element(origin.line(*line).char_column(*column));
        }
        At::Nowhere => {}
    }
    if !message.help.is_empty() {
        group = group.element(Level::HELP.message(message.help.as_str()));
    }
    renderer.render(&[group])
}

/// The line to draw, and the bytes of it that the place covers.
///
/// Each character stays one character, so that the column that is drawn is the one in the file. Of
/// a long line only the surroundings of the place are kept; the rest becomes spaces up to the
/// place and is cut behind it.
fn drawn_line(place: &Place) -> (String, std::ops::Range<usize>) {
    let (line, span) = place.excerpt();
    let before = line[..span.start].chars().count();
    let mut drawn = String::new();
    for (index, character) in line[..span.start].chars().enumerate() {
        drawn.push(if before - index > LINE_SHOWN { ' ' } else { visible(character) });
    }
    let start = drawn.len();
    drawn.extend(line[span.clone()].chars().take(LINE_SHOWN).map(visible));
    let end = drawn.len();
    drawn.extend(line[span.end..].chars().take(LINE_SHOWN).map(visible));
    (drawn, start..end)
}

fn visible(character: char) -> char {
    match character {
        '\t' => ' ',
        other if is_harmless(other) => other,
        _ => '\u{fffd}',
    }
}

#[cfg(test)]
mod tests {
    use crate::error::{Error, FileProblem};
    use crate::source::{Kind, Place, Source};
    use proptest::prelude::*;

    fn syntax(text: &str, span: std::ops::Range<usize>) -> Error {
        let place = Place::new(&Source::new(Kind::Scenario, "x.toml", text), span);
        Error::Syntax(place, text.into())
    }

    #[test]
    fn a_file_without_place_is_shown_by_its_path() {
        let missing =
            Error::File { path: "no.toml".into(), problem: FileProblem::Missing, place: None };
        let text = missing.to_string();
        assert!(text.starts_with("error: cannot read `no.toml`: there is no such file"), "{text}");
        assert!(text.contains("--> no.toml"), "{text}");
        assert!(text.lines().last().unwrap().contains("= help: check the path"), "{text}");
    }

    #[test]
    fn hostile_text_neither_moves_the_cursor_nor_fills_the_screen() {
        let hostile = "a = \u{1b}[2J\u{7}\u{202e}".to_owned() + &"x".repeat(300_000);
        let text = syntax(&hostile, 4..300_000).to_string();
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
        assert!(text.len() < 3_000, "{} bytes", text.len());
        let late = "y".repeat(300_000) + " = 1";
        let text = syntax(&late, 300_003..300_004).to_string();
        assert!(text.contains("x.toml:1:300004"), "{text}");
        assert!(text.len() < 3_000, "{} bytes", text.len());
    }

    #[test]
    fn styles_are_an_option() {
        let error = syntax("a = b", 4..5);
        assert!(!error.render(false).contains('\u{1b}'));
        assert!(error.render(true).contains('\u{1b}'));
    }

    proptest! {
        #[test]
        fn no_text_and_no_span_panic_the_renderer(
            text in "(?s).{0,200}", start in 0_usize..300, end in 0_usize..300,
        ) {
            let error = syntax(&text, start..end);
            prop_assert!(error.to_string().starts_with("error: "));
            let _ = error.render(true);
        }
    }
}
