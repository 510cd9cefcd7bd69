//! Why a program could not be started, or did not end well.
//!
//! Layer: rank 9. Main type: [`Failure`]. What it says comes in three parts, as all errors of the command line: what is wrong, the file, and
//! what to try.

use super::built_in;
use super::listing::exception_name;
use super::symbols::Symbols;
use boardlab_arm926::{Exception, Virtual};
use boardlab_document::error::{Error, reason};
use boardlab_document::lock::Holder;
use boardlab_document::nearest::nearest;
use boardlab_realview::{Machine, Outcome};
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no result, or why a run counts as failed.
#[derive(Debug)]
pub enum Failure {
    /// What is wrong with the board or a `--set`.
    Board(Error),
    /// A file cannot be read, for this reason.
    Unreadable(PathBuf, String),
    /// A file cannot be written, for this reason.
    Unwritable(PathBuf, String),
    /// The image of a card is in use by another process.
    InUse(PathBuf, Holder),
    /// The image of a card was changed during the run, by who asks for no lock, and how that was noticed.
    CardChanged(PathBuf, String),
    /// The image of a card could not be written to the end.
    CardUnwritten {
        /// Which.
        path: PathBuf,
        /// Why not.
        problem: String,
        /// Blocks that were written, of those that the guest changed.
        written: usize,
        /// Blocks that the guest changed.
        changed: usize,
    },
    /// A file is no program for this board, or does not fit it, for this reason.
    Program(PathBuf, boardlab_realview::Error),
    /// The board cannot be made so.
    Machine(boardlab_realview::Error),
    /// An argument does not fit the program.
    Argument {
        /// What is wrong.
        problem: String,
        /// What to try.
        help: String,
    },
    /// What the guest did; a result may be there as well.
    Guest {
        /// What happened, where.
        problem: String,
        /// What to try.
        help: String,
    },
    /// The console cannot be read or written.
    Console(io::Error),
    /// The lines of a trace cannot be written.
    Listing(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Board(error)
    }
}

impl Failure {
    /// The file at `path` cannot be written because of `error`.
    #[must_use]
    pub fn unwritable(path: &Path, error: &io::Error) -> Self {
        Self::Unwritable(path.into(), reason(error))
    }

    pub(super) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::Unreadable(path.into(), reason(error))
    }

    /// The image at `path` has `written` of `changed` blocks.
    pub(super) fn card(path: &Path, error: &io::Error, [written, changed]: [usize; 2]) -> Self {
        Self::CardUnwritten { path: path.into(), problem: reason(error), written, changed }
    }

    /// Whether the run failed, and not its input.
    #[must_use]
    pub const fn is_run(&self) -> bool {
        let card = matches!(self, Self::CardChanged(..) | Self::CardUnwritten { .. });
        card || matches!(self, Self::Guest { .. } | Self::Console(_) | Self::Listing(_))
    }

    /// What is wrong.
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            Self::Board(error) => error.to_string(),
            Self::Unreadable(path, problem) => {
                format!("cannot read `{}`: {problem}", path.display())
            }
            Self::Unwritable(path, problem) => {
                format!("cannot write `{}`: {problem}", path.display())
            }
            Self::InUse(path, holder) => {
                format!("`{}` is in use by {holder}", path.display())
            }
            Self::CardChanged(path, found) => format!(
                "`{}` was changed by another program during the run: {found}; nothing was written",
                path.display()
            ),
            Self::CardUnwritten { path, problem, written, changed } => format!(
                "cannot write `{}`: {problem}; {written} of {changed} changed blocks were written",
                path.display()
            ),
            Self::Program(_, problem) | Self::Machine(problem) => problem.to_string(),
            Self::Argument { problem, .. } | Self::Guest { problem, .. } => problem.clone(),
            Self::Console(error) => format!("the console: {}", reason(error)),
            Self::Listing(error) => format!("the lines of the trace: {}", reason(error)),
        }
    }

    /// The file that it is about.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Unreadable(path, _)
            | Self::Unwritable(path, _)
            | Self::InUse(path, _)
            | Self::CardChanged(path, _)
            | Self::CardUnwritten { path, .. }
            | Self::Program(path, _) => Some(path),
            _ => None,
        }
    }

    /// What to try.
    #[must_use]
    pub fn help(&self) -> String {
        use boardlab_realview::Error as Problem;
        match self {
            Self::Argument { help, .. } | Self::Guest { help, .. } => help.clone(),
            Self::Unreadable(path, _) => {
                let near = path.to_str().and_then(|name| nearest(name, [built_in::NAME]));
                match near {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => "name a regular file that can be read".into(),
                }
            }
            Self::Unwritable(..) => "name another file, in a folder that can be written".into(),
            Self::InUse(..) => "wait until it has ended, or give this run a copy of the image".into(),
            Self::CardChanged(..) => {
                "run it again on an image that nothing else writes to, or on a copy".into()
            }
            Self::CardUnwritten { .. } => {
                "each block is old or new; make room, and run it again on a copy from before".into()
            }
            Self::Program(_, problem) => match problem {
                Problem::NotElf { .. } => {
                    "give a program linked by arm-none-eabi-gcc; a raw image is loaded by --load FILE@ADDRESS"
                }
                Problem::SegmentBeyondMemory { .. }
                | Problem::EntryBeyondMemory { .. }
                | Problem::ImageBeyondMemory { .. } => {
                    "link it below the end of memory, or give the board more: --memory 256MiB"
                }
                Problem::CardSize { .. } | Problem::CardBlock { .. } => {
                    "a card image has whole blocks of 512 bytes; cards above 2 GiB whole 512 KiB"
                }
                Problem::NotSnapshot
                | Problem::SnapshotVersion { .. }
                | Problem::SnapshotLength { .. }
                | Problem::SnapshotCrc { .. }
                | Problem::SnapshotContents { .. } => {
                    "make it again: boardlab os run PROGRAM --limit 1s --save FILE"
                }
                Problem::SegmentsOverlap { .. } => {
                    "give each part an address of its own in the linker script"
                }
                _ => "build it with arm-none-eabi-gcc -mcpu=arm926ej-s, linked to fixed addresses",
            }
            .into(),
            Self::Machine(_) => "compare with the built-in board: boardlab list boards".into(),
            Self::Board(_) => String::new(),
            Self::Console(_) | Self::Listing(_) => {
                "see what standard input and output are connected to, and whether there is room".into()
            }
        }
    }

    /// Why a run with this `outcome` failed, if it did.
    pub(super) fn of_outcome(
        outcome: &Outcome,
        machine: &Machine,
        symbols: &Symbols,
    ) -> Option<Self> {
        let violations = machine.processor().memory.violations().len();
        let (problem, help) = match outcome {
            Outcome::Limit | Outcome::Reset | Outcome::Exit { code: 0, .. } if violations > 0 => (
                format!(
                    "the program ended, but used at {violations} {} what was not the newest",
                    if violations == 1 { "place" } else { "places" }
                ),
                "the table of coherence says where, and which operation is missing".into(),
            ),
            Outcome::Limit | Outcome::Reset | Outcome::Exit { code: 0, .. } => return None,
            Outcome::Exit { code, .. } => (
                format!("the program ended with exit code {code}"),
                "what it printed may say why".into(),
            ),
            Outcome::NoHandler { exception, at } => no_handler(*exception, *at, machine, symbols),
            Outcome::Asleep => asleep(machine, symbols),
            Outcome::NotModelled { at, .. } => (
                format!("{outcome}{}", symbols.suffix(*at)),
                "the page `RealView EB` of the documents lists what is modelled; leave the part out of the program".into(),
            ),
            _ => (outcome.to_string(), "report this with the program".into()),
        };
        Some(Self::Guest { problem, help })
    }
}

fn no_handler(
    exception: Exception,
    at: u32,
    machine: &Machine,
    symbols: &Symbols,
) -> (String, String) {
    let vector = exception.vector(machine.processor().memory.high_vectors());
    let name = exception_name(exception);
    let word = machine.peek(Virtual(at & !3));
    let word = match (exception, word) {
        (Exception::Undefined, Some(word)) => format!(", word {word:08x},"),
        _ => String::new(),
    };
    let problem = format!(
        "{name} at {}{word} and no handler: the vector at {vector:#010x} holds nothing",
        symbols.place(at)
    );
    let help = match exception {
        Exception::SoftwareInterrupt | Exception::Irq | Exception::Fiq => {
            "set up the vectors before the first SVC and before interrupts are let in".into()
        }
        _ => "boardlab os trace shows the way there; a handler at the vector can tell more".into(),
    };
    (problem, help)
}

fn asleep(machine: &Machine, symbols: &Symbols) -> (String, String) {
    let at = machine.processor().registers.pc;
    let problem = format!(
        "the guest sleeps for ever: it waits for an interrupt before {}, and none can come",
        symbols.place(at)
    );
    (problem, "start a timer, or type something: standard input goes to UART 0".into())
}
