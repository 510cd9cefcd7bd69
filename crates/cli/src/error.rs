//! What can go wrong between the laboratory and the user: files that cannot be read or written.
//!
//! Layer: rank 9. Main type: [`Error`], drawn as `boardlab_lab` draws its own: what is wrong, the
//! place, and what to try. Paths and texts from files are untrusted, so characters that move the
//! cursor are shown as escapes.

use crate::exit::Status;
use annotate_snippets::{Group, Level, Origin, Renderer};
use boardlab_lab::registry::Failure;
use std::io;
use std::path::{Path, PathBuf};

/// How many characters of a text an error repeats.
const TEXT_SHOWN: usize = 240;

/// Why a command did not do what it was told.
#[derive(Debug)]
pub(crate) enum Error {
    /// What the laboratory says of a scenario, a name or a run.
    Lab(Failure),
    /// A saved result cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        problem: ReadProblem,
    },
    /// A file is no saved result.
    NotAResult {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: boardlab_report::Error,
    },
    /// An attachment whose name is not that of a plain file.
    AttachmentName {
        /// The saved result that it is in, unless it was just made.
        path: Option<PathBuf>,
        /// The name.
        name: String,
    },
    /// Two attachments of different content that would be written to one file.
    AttachmentTwice {
        /// The name.
        name: String,
    },
    /// What `--out` names is there and is no folder.
    NotAFolder {
        /// What is in the way.
        path: PathBuf,
    },
    /// A file or a folder cannot be written.
    Unwritable {
        /// Which one.
        path: PathBuf,
        /// What the operating system says.
        problem: io::Error,
    },
    /// The HTML report cannot be made.
    Page(boardlab_report::Error),
    /// Two saved results have no scenario in common.
    NothingShared {
        /// The scenarios of the first one.
        a: Vec<String>,
        /// The scenarios of the second one.
        b: Vec<String>,
    },
    /// A flash image cannot be read, or not so.
    Image {
        /// The file.
        path: PathBuf,
        /// Why not.
        problem: boardlab_image::Error,
    },
    /// A program cannot be run, or did not end well.
    Os(boardlab_lab::os::Failure),
    /// No debugger can come where it was told to.
    Listen {
        /// The address and the port.
        address: String,
        /// What the operating system says.
        problem: io::Error,
    },
    /// The result has no output of fio, and that was asked for.
    NoOutputOfFio,
    /// A form or a folder for the result of a command that has none.
    NoResult,
    /// Standard input cannot be read.
    Stdin(io::Error),
    /// Standard output cannot be written.
    Stdout(io::Error),
}

/// Why a saved result cannot be read.
#[derive(Debug)]
pub(crate) enum ReadProblem {
    /// It is a pipe, a device, a socket or a folder.
    NotAFile,
    /// It is larger than any result.
    TooLarge {
        /// The largest size in bytes.
        limit: u64,
    },
    /// It is not text.
    NotUtf8 {
        /// Line of the first byte that is wrong, from 1.
        line: usize,
        /// Its column in bytes, from 1.
        column: usize,
    },
    /// What the operating system says.
    System(io::Error),
}

impl From<boardlab_lab::os::Failure> for Error {
    fn from(failure: boardlab_lab::os::Failure) -> Self {
        Self::Os(failure)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Lab(failure)
    }
}

/// The parts of a message.
struct Message {
    title: String,
    place: Option<Place>,
    help: String,
}

/// A file, and line and column in it where there are such.
struct Place {
    path: String,
    at: Option<(usize, usize)>,
}

impl Place {
    fn file(path: &Path) -> Option<Self> {
        Some(Self { path: shown_path(path), at: None })
    }
}

impl Error {
    /// What the shell is told.
    pub(crate) const fn status(&self) -> Status {
        match self {
            Self::Lab(Failure::Run { .. }) => Status::Failed,
            Self::Os(failure) if failure.is_run() => Status::Failed,
            _ => Status::Input,
        }
    }

    /// Draws the message; `styled` with the colours of a terminal.
    pub(crate) fn render(&self, styled: bool) -> String {
        if let Self::Lab(failure) = self {
            return match failure {
                Failure::Input(error) => error.render(styled),
                other => other.to_string(),
            };
        }
        if let Self::Os(boardlab_lab::os::Failure::Board(error)) = self {
            return error.render(styled);
        }
        let Message { title, place, help } = self.message();
        let mut group = Group::with_title(Level::ERROR.primary_title(title));
        if let Some(Place { path, at }) = place {
            let origin = Origin::path(path);
            group = group.element(match at {
                Some((line, column)) => origin.line(line).char_column(column),
                None => origin,
            });
        }
        let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group.element(Level::HELP.message(help))])
    }

    fn message(&self) -> Message {
        match self {
            Self::Lab(failure) => {
                Message { title: failure.to_string(), place: None, help: String::new() }
            }
            Self::Unreadable { path, problem } => problem.message(path),
            Self::NotAResult { path, problem } => not_a_result(path, problem),
            Self::AttachmentName { path, name } => Message {
                title: format!("`{}` is not the name of a plain file", shown(name)),
                place: path.as_deref().and_then(Place::file),
                help: "expected an attachment named without folders and without a leading dot, \
                       such as `wait.patch`"
                    .into(),
            },
            Self::AttachmentTwice { name } => Message {
                title: format!("two different attachments are called `{}`", shown(name)),
                place: None,
                help: "write the results into folders of their own".into(),
            },
            Self::NotAFolder { path } => Message {
                title: format!("`--out`: `{}` is not a folder", shown_path(path)),
                place: Place::file(path),
                help: "name a folder, or one that does not exist yet".into(),
            },
            Self::Unwritable { path, problem } => Message {
                title: format!("cannot write `{}`: {}", shown_path(path), reason(problem)),
                place: Place::file(path),
                help: "name another folder with --out".into(),
            },
            Self::Page(problem) => split(problem, None),
            Self::NothingShared { a, b } => Message {
                title: "the two results have no scenario in common".into(),
                place: None,
                help: format!("the first has {}, the second has {}", names(a), names(b)),
            },
            Self::Image { path, problem } => image(path, problem),
            Self::Os(failure) => os(failure),
            Self::Listen { address, problem } => Message {
                title: format!("cannot listen at `{}`: {}", shown(address), reason(problem)),
                place: None,
                help: "give an address of this machine and a free port: --listen 127.0.0.1:0"
                    .into(),
            },
            Self::NoOutputOfFio => Message {
                title: "the result has no output of fio".into(),
                place: None,
                help: "--format fio, fio-json and fio-terse are for runs of fio jobs, such as \
                       `boardlab run card-fio`"
                    .into(),
            },
            Self::NoResult => Message {
                title: "this command has no result for --format or --out".into(),
                place: None,
                help: "redirect what it prints, such as: boardlab sata console < answers > printed"
                    .into(),
            },
            Self::Stdin(problem) => Message {
                title: format!("cannot read standard input: {}", reason(problem)),
                place: None,
                help: "type the answers, or give them as a file or a pipe".into(),
            },
            Self::Stdout(problem) => Message {
                title: format!("cannot write to standard output: {}", reason(problem)),
                place: None,
                help: "name a folder with --out to keep the result in files".into(),
            },
        }
    }
}

fn os(failure: &boardlab_lab::os::Failure) -> Message {
    Message {
        title: shown(&failure.title()),
        place: failure.path().and_then(Place::file),
        help: shown(&failure.help()),
    }
}

impl ReadProblem {
    fn message(&self, path: &Path) -> Message {
        let mut at = None;
        let (problem, help) = match self {
            Self::NotAFile => {
                ("it is not a regular file".into(), "save the result to a file first")
            }
            Self::TooLarge { limit } => (
                format!("it is larger than {limit} bytes"),
                "expected a saved result of a few MB; is this the right file?",
            ),
            Self::NotUtf8 { line, column } => {
                at = Some((*line, *column));
                ("it is not UTF-8 text".into(), "expected JSON; is this the right file?")
            }
            Self::System(error) => (
                reason(error),
                "name a JSON file, or a folder with the result.json of an earlier --out",
            ),
        };
        let path = shown_path(path);
        let title = format!("cannot read `{path}`: {problem}");
        Message { title, place: Some(Place { path, at }), help: help.into() }
    }
}

fn not_a_result(path: &Path, problem: &boardlab_report::Error) -> Message {
    let boardlab_report::Error::Json { line, column, found } = problem else {
        return split(problem, Place::file(path));
    };
    // serde_json counts the column of an empty line from 0.
    let at = Some((*line, (*column).max(1)));
    Message {
        title: format!("not a saved result: {}", shown(found)),
        place: Some(Place { path: shown_path(path), at }),
        help: "expected the JSON that --format json prints and --out writes as result.json".into(),
    }
}

fn image(path: &Path, problem: &boardlab_image::Error) -> Message {
    use boardlab_image::Error as Problem;
    let place = Place::file(path);
    let title = match problem {
        Problem::NotAFile | Problem::Unreadable { .. } => {
            format!("cannot read `{}`: {problem}", shown_path(path))
        }
        Problem::Unwritable { .. } => format!("cannot write `{}`: {problem}", shown_path(path)),
        _ => shown(&problem.to_string()),
    };
    Message { title, place, help: problem.help() }
}

/// The first line of what `report` says as the title, the rest as the help.
fn split(problem: &boardlab_report::Error, place: Option<Place>) -> Message {
    let text = problem.to_string();
    let (title, help) = text.split_once('\n').unwrap_or((&text, "report this with the result"));
    Message { title: shown(title), place, help: shown(help) }
}

fn names(scenarios: &[String]) -> String {
    if scenarios.is_empty() {
        return "none".into();
    }
    shown(&scenarios.join(", "))
}

/// The reason alone, without the number of the operating system.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// `path` as [`shown`].
pub(crate) fn shown_path(path: &Path) -> String {
    shown(&path.to_string_lossy())
}

/// `text` on one line, without characters that move the cursor or turn the direction of text, cut
/// to a length that an error can repeat.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    for character in text.chars().take(TEXT_SHOWN) {
        if is_harmless(character) {
            shown.push(character);
        } else {
            shown.extend(character.escape_unicode());
        }
    }
    if text.chars().nth(TEXT_SHOWN).is_some() {
        shown.push_str("...");
    }
    shown
}

/// Whether a terminal only draws `character`: no control character, no mark that turns the
/// direction of text (UAX #9, 2).
pub(crate) fn is_harmless(character: char) -> bool {
    let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !character.is_control() && !turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_where_and_what_to_try() {
        let error = Error::Unreadable {
            path: "runs/a.json".into(),
            problem: ReadProblem::NotUtf8 { line: 3, column: 7 },
        };
        let text = error.render(false);
        assert!(text.starts_with("error: cannot read `runs/a.json`: it is not UTF-8"), "{text}");
        assert!(text.contains("--> runs/a.json:3:7"), "{text}");
        assert!(text.lines().last().unwrap().contains("help: expected JSON"), "{text}");
        assert_eq!(error.status(), Status::Input);
        assert!(error.render(true).contains('\u{1b}'));
    }

    #[test]
    fn a_hostile_name_cannot_move_the_cursor() {
        let name = "\u{1b}[2J\n\u{202e}".to_owned() + &"x".repeat(10_000);
        let text = Error::AttachmentName { path: None, name }.render(false);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        assert!(text.len() < 1_000, "{} bytes", text.len());
    }

    #[test]
    fn only_a_failed_run_has_status_one() {
        let error = boardlab_lab::registry::experiment("nothing").unwrap_err();
        assert_eq!(Error::Lab(Failure::Input(error)).status(), Status::Input);
        let failure = Failure::NotBuilt { name: "x".into(), action: "tune" };
        assert_eq!(Error::Lab(failure).status(), Status::Input);
    }
}
