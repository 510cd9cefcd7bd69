//! The errors of the program besides those of the laboratory: files that cannot be read or written.
//!
//! Layer: rank 12. Main type: [`Error`], rendered as the errors of `boardlab_lab`: the problem, the
//! place, and what to try. Paths and texts from files are untrusted, so they are escaped by
//! `boardlab_result::foreign`.

use crate::exit::Status;
use crate::manifest::{self, Difference};
use crate::measure::problem::Problem;
use annotate_snippets::{Group, Level, Origin, Renderer};
use boardlab_document::lock::Holder;
use boardlab_experiment::Failure;
pub(crate) use boardlab_result::foreign::shown_path;
use boardlab_result::foreign::{self, PATH_SHOWN, shown_at_most};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Error {
    /// An error of the laboratory about a scenario, a name or a run.
    Lab(Failure),
    /// A saved result cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        problem: ReadProblem,
    },
    /// A file is not a saved result.
    NotAResult {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: boardlab_report::Error,
    },
    /// An attachment has a name that is not a plain file name.
    AttachmentName {
        /// The saved result that contains it, unless it was just computed.
        path: Option<PathBuf>,
        /// The name.
        name: String,
    },
    /// Two different attachments would be written to the same file.
    AttachmentTwice {
        /// The name.
        name: String,
    },
    /// The path of `--out` exists and is not a folder.
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// A file or a folder cannot be written, detected before the run.
    Unwritable {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        problem: io::Error,
    },
    /// A file could not be written at the end of the run.
    Incomplete {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        problem: io::Error,
    },
    /// Another process is writing into the folder of `--out`.
    FolderInUse {
        /// The path.
        path: PathBuf,
        /// The process.
        holder: Holder,
    },
    /// The files in a folder are not those of its manifest.
    NotWhole {
        /// The folder.
        path: PathBuf,
        /// What differs.
        differences: Vec<Difference>,
        /// The process that is currently writing there.
        writer: Option<Holder>,
    },
    /// The manifest of a folder cannot be understood.
    NotAManifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The HTML report cannot be made.
    Page(boardlab_report::Error),
    /// A measurement cannot be made or read.
    Measure(Box<Problem>),
    /// Two saved results have no scenario in common.
    NothingShared {
        /// The scenarios of the first one.
        a: Vec<String>,
        /// The scenarios of the second one.
        b: Vec<String>,
    },
    /// A flash image cannot be read, or not with these options.
    Image {
        /// The file.
        path: PathBuf,
        /// The reason.
        problem: boardlab_image::Error,
    },
    /// An image cannot be mounted on a folder.
    Mount {
        /// The folder.
        path: PathBuf,
        /// The reason.
        problem: boardlab_fuse::MountError,
    },
    /// An overlay cannot be used.
    Overlay {
        /// The overlay.
        path: PathBuf,
        /// The reason.
        problem: boardlab_image::overlay::OverlayError,
    },
    /// Another process changes an image.
    ImageInUse {
        /// The image or its overlay.
        path: PathBuf,
        /// The process.
        holder: Holder,
    },
    /// A flash image cannot be made.
    Make {
        /// The folder or the file that it was to be made of.
        path: PathBuf,
        /// The reason.
        problem: boardlab_image::make::MakeError,
    },
    /// A new file cannot be written, detected before the work.
    NewFile {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        problem: io::Error,
    },
    /// A program cannot be run, or did not end well.
    Os(boardlab_computer::Failure),
    /// The address for debuggers cannot be used.
    Listen {
        /// The address and the port.
        address: String,
        /// The error of the operating system.
        problem: io::Error,
    },
    /// The compiled engine, which this program was built without.
    #[cfg(not(feature = "compiler"))]
    NoCompiler,
    /// The result has no output of fio, which was requested.
    NoOutputOfFio,
    /// A form or a folder for the result of a command that has none; what to type instead.
    NoResult(&'static str),
    /// Standard input cannot be read.
    Stdin(io::Error),
    /// Standard output cannot be written.
    Stdout(io::Error),
    /// Standard output was closed before the start.
    StdoutClosed,
    /// The reader of a program's output closed the pipe, so requested files are not written.
    ReaderGone,
    /// The user interrupted a run that writes the card back.
    Interrupted,
    /// Several errors, the most important first.
    Several(Vec<Self>),
}

/// Why a saved result cannot be read.
#[derive(Debug)]
pub(crate) enum ReadProblem {
    /// It is a pipe, a device, a socket or a folder.
    NotAFile,
    /// It is larger than the limit.
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
    /// The error of the operating system.
    System(io::Error),
}

impl fmt::Display for ReadProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAFile => f.write_str("it is not a regular file"),
            Self::TooLarge { limit } => write!(f, "it is larger than {limit} bytes"),
            Self::NotUtf8 { .. } => f.write_str("it is not UTF-8 text"),
            Self::System(error) => f.write_str(&reason(error)),
        }
    }
}

impl From<boardlab_computer::Failure> for Error {
    fn from(failure: boardlab_computer::Failure) -> Self {
        Self::Os(failure)
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Measure(Box::new(problem))
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

impl Message {
    /// A message without a file.
    fn nowhere(title: String, help: &str) -> Self {
        Self { title, place: None, help: help.into() }
    }

    /// A message about the file at `path`.
    fn at(path: &Path, title: String, help: &str) -> Self {
        Self { title, place: Place::file(path), help: help.into() }
    }
}

/// A file, and line and column in it if known.
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
    /// The exit status.
    pub(crate) fn status(&self) -> Status {
        match self {
            Self::Lab(Failure::Run { .. })
            | Self::Incomplete { .. }
            | Self::Stdout(_)
            | Self::StdoutClosed
            | Self::ReaderGone
            | Self::Interrupted => Status::Failed,
            Self::Os(failure) if failure.is_run() => Status::Failed,
            Self::Measure(problem) => problem.status(),
            Self::Several(errors) => errors.first().map_or(Status::Failed, Self::status),
            _ => Status::Input,
        }
    }

    /// All errors of `steps`, each of which was tried.
    pub(crate) fn all(steps: impl IntoIterator<Item = Result<(), Self>>) -> Result<(), Self> {
        let mut errors: Vec<_> = steps.into_iter().filter_map(Result::err).collect();
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(Self::Several(errors)),
        }
    }

    /// Renders the message, with the colours of a terminal if `styled`.
    pub(crate) fn render(&self, styled: bool) -> String {
        foreign::drawn(styled, |styled| self.draw(styled))
    }

    fn draw(&self, styled: bool) -> String {
        if let Self::Lab(failure) = self {
            return failure.render(styled);
        }
        if let Self::Os(boardlab_computer::Failure::Board(error)) = self {
            return error.render(styled);
        }
        if let Self::Several(errors) = self {
            return errors.iter().map(|error| error.render(styled)).collect::<Vec<_>>().join("\n");
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
            Self::Lab(failure) => Message::nowhere(failure.to_string(), ""),
            Self::Several(errors) => errors.first().map_or_else(reader_gone, Self::message),
            Self::Unreadable { path, problem } => problem.message(path),
            Self::NotAResult { path, problem } => not_a_result(path, problem),
            Self::AttachmentName { path, name } => Message {
                title: format!("`{}` is not the name of a plain file", shown(name)),
                place: path.as_deref().and_then(Place::file),
                help: "expected an attachment named without folders and without a leading dot, \
                       such as `wait.patch`"
                    .into(),
            },
            Self::AttachmentTwice { name } => Message::nowhere(
                format!("two different attachments are called `{}`", shown(name)),
                "write the results into folders of their own",
            ),
            Self::NotAFolder { path } => Message::at(
                path,
                format!("`--out`: `{}` is not a folder", shown_path(path)),
                "name a folder, or one that does not exist yet",
            ),
            Self::Unwritable { path, problem } => {
                Message::at(path, unwritten(path, problem), "name another folder with --out")
            }
            Self::Incomplete { path, problem } => {
                let help = "make room, or name another place, and run it again";
                Message::at(path, unwritten(path, problem), help)
            }
            Self::FolderInUse { path, holder } => Message::at(
                path,
                shown(&format!("`--out`: `{}` is in use by {holder}", path.display())),
                "wait until it has ended, or name another folder with --out",
            ),
            Self::NotWhole { path, differences, writer } => {
                not_whole(path, differences, writer.as_ref())
            }
            Self::NotAManifest { path, problem } => Message::at(
                path,
                format!("not a manifest of --out: {}", shown(problem)),
                "run it again with the same --out, or name a file: DIR/result.json",
            ),
            Self::Page(problem) => split(problem, None),
            Self::Measure(problem) => measurement(problem),
            Self::NothingShared { a, b } => nothing_shared(a, b),
            Self::Image { path, problem } => image(path, problem),
            Self::Make { path, problem } => not_made(path, problem),
            Self::NewFile { path, problem } => new_file(path, problem),
            Self::Os(failure) => os(failure),
            Self::Listen { address, problem } => Message::nowhere(
                format!("cannot listen at `{}`: {}", shown(address), reason(problem)),
                "give an address of this machine and a free port: --listen 127.0.0.1:0",
            ),
            #[cfg(not(feature = "compiler"))]
            Self::NoCompiler => Message::nowhere(
                "this program was built without the compiled engine".into(),
                "take --engine predecoded, or build all of it: cargo install --path crates/cli",
            ),
            Self::NoOutputOfFio | Self::NoResult(_) => no_such_output(self),
            Self::Mount { .. } | Self::Overlay { .. } | Self::ImageInUse { .. } => mount(self),
            Self::Stdin(_) | Self::Stdout(_) | Self::StdoutClosed => stream(self),
            Self::ReaderGone => reader_gone(),
            Self::Interrupted => Message::nowhere(
                "interrupted before the program ended".into(),
                "the card is kept; the result, and other files, are not written: see --limit",
            ),
        }
    }
}

fn measurement(problem: &Problem) -> Message {
    Message {
        title: shown(&problem.title()),
        place: problem.path().map(|path| Place { path: shown_path(path), at: problem.at() }),
        help: shown(&problem.help()),
    }
}

fn nothing_shared(a: &[String], b: &[String]) -> Message {
    Message::nowhere(
        "the two results have no scenario in common".into(),
        &format!("the first has {}, the second has {}", names(a), names(b)),
    )
}

/// The message for a form of output that a command does not have.
fn no_such_output(error: &Error) -> Message {
    let (title, help) = match error {
        Error::NoResult(instead) => ("this command has no result for --format or --out", *instead),
        _ => (
            "the result has no output of fio",
            "--format fio, fio-json and fio-terse are for runs of fio jobs, such as \
             `boardlab run card-fio`",
        ),
    };
    Message::nowhere(title.into(), help)
}

/// The message for an error of a standard stream.
fn stream(error: &Error) -> Message {
    let (title, help) = match error {
        Error::Stdin(problem) => (
            format!("cannot read standard input: {}", reason(problem)),
            "type the answers, or give them as a file or a pipe",
        ),
        Error::Stdout(problem) => (
            format!("cannot write to standard output: {}", reason(problem)),
            "name a folder with --out to keep the result in files",
        ),
        _ => (
            "standard output is closed".into(),
            "give it somewhere to go, be it /dev/null: boardlab ... > /dev/null",
        ),
    };
    Message::nowhere(title, help)
}

fn unwritten(path: &Path, problem: &io::Error) -> String {
    format!("cannot write `{}`: {}", shown_path(path), reason(problem))
}

fn os(failure: &boardlab_computer::Failure) -> Message {
    Message {
        title: shown(&failure.title()),
        place: failure.path().and_then(Place::file),
        help: shown(&failure.help()),
    }
}

impl ReadProblem {
    fn message(&self, path: &Path) -> Message {
        let mut at = None;
        let help = match self {
            Self::NotAFile => "save the result to a file first",
            Self::TooLarge { .. } => "expected a saved result of a few MB; is this the right file?",
            Self::NotUtf8 { line, column } => {
                at = Some((*line, *column));
                "expected JSON; is this the right file?"
            }
            Self::System(_) => {
                "name a JSON file, or a folder with the result.json of an earlier --out"
            }
        };
        let path = shown_path(path);
        let title = format!("cannot read `{path}`: {self}");
        Message { title, place: Some(Place { path, at }), help: help.into() }
    }
}

fn reader_gone() -> Message {
    Message {
        title: "the reader of the output closed the pipe before the program ended".into(),
        place: None,
        help:
            "the result, and the files asked for, are not written; let the reader read to the end"
                .into(),
    }
}

fn not_whole(path: &Path, differences: &[Difference], writer: Option<&Holder>) -> Message {
    let path = shown_path(path);
    let help = match writer {
        Some(writer) => format!("{writer} writes there just now: try again when it has ended"),
        None => format!(
            "run it again with the same --out; or name the file that you want read: {path}/result.json"
        ),
    };
    Message {
        title: format!("`{path}` is not whole: {}", shown(&manifest::told(differences))),
        place: Some(Place { path, at: None }),
        help: shown(&help),
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
    let (title, help) = problem.told(path);
    Message { title, place: Place::file(path), help }
}

/// The message for an image that cannot be mounted or changed.
fn mount(error: &Error) -> Message {
    match error {
        Error::Mount { path, problem } => {
            Message::at(path, shown(&without_number(&problem.to_string())), problem.help())
        }
        Error::Overlay { path, problem } => {
            let words = without_number(&problem.to_string());
            let title = format!("the overlay `{}` {words}", shown_path(path));
            Message::at(path, title, problem.help())
        }
        Error::ImageInUse { path, holder } => Message::at(
            path,
            shown(&format!("`{}` is in use by {holder}", path.display())),
            "one mount with --rw at a time: unmount the other one",
        ),
        _ => reader_gone(),
    }
}

fn not_made(path: &Path, problem: &boardlab_image::make::MakeError) -> Message {
    let path = problem.path().unwrap_or(path);
    Message {
        title: shown(&problem.to_string()),
        place: Some(Place { path: shown_path(path), at: problem.place() }),
        help: shown(&problem.help()),
    }
}

fn new_file(path: &Path, problem: &io::Error) -> Message {
    if problem.kind() == io::ErrorKind::AlreadyExists {
        let title = format!("`{}` exists already", shown_path(path));
        return Message::at(path, title, "name a new file: no file is overwritten");
    }
    Message::at(path, unwritten(path, problem), "name another place, on a disk with room")
}

/// A message with the first line of the error of `report` as the title, and the rest as the help.
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

/// `text` without the error number of the operating system at its end.
fn without_number(text: &str) -> String {
    text.split(" (os error").next().unwrap_or(text).to_owned()
}

/// The reason alone, without the error number of the operating system.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// `text` on one line, cut to a length that an error can repeat.
fn shown(text: &str) -> String {
    shown_at_most(text, PATH_SHOWN)
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
        let failure = Failure::NoAction {
            scenario: "x".into(),
            action: boardlab_experiment::Action::Tune,
            others: Vec::new(),
        };
        assert_eq!(Error::Lab(failure).status(), Status::Input);
    }
}
