//! The arguments of `boardlab os`.
//!
//! Layer: rank 12. Main type: [`OsAction`]. `boardlab_computer::board` defines the contents of boards.

use super::{candidates, size};
use crate::error::Error;
use boardlab_computer::trace::From;
use boardlab_computer::{EngineKind, Load, Until};
use boardlab_document::quantity;
use boardlab_sim::Bytes;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use clap_complete::ArgValueCompleter;
use std::path::PathBuf;

pub(super) const OS: &str = "\
Examples:
  boardlab os run kernel.elf
  boardlab os trace kernel.elf --from main --count 100";

const RUN: &str = "\
What the program prints goes to standard output and the tables to standard error; with --format json or csv \
the result goes to standard output and what the program prints to standard error. Standard input is typed on \
UART 0: a terminal as it comes, all else as a whole before the start, so that equal runs are equal. \
What the program prints reaches the terminal raw, by purpose: it may draw on it as it likes. With \
--safe-console its control characters are shown as escapes such as \\u{1b}; names in it always are.

Exit status: 0 also at the limit; 1 if the program ends with another code than 0, sleeps for ever, or takes an \
exception without a handler.

Examples:
  boardlab os run kernel.elf
  boardlab os run kernel.elf --limit 2s --profile --format json
  boardlab os run kernel.elf --load initrd.img@0x02000000 --timeline run.json < commands
  boardlab os run kernel.elf --card sd.img --check --set board.core.data_cache=\"32 KiB\"
  boardlab os run kernel.elf --limit 1s --save booted
  boardlab os run kernel.elf --restore booted";

const TRACE: &str = "\
Each line has the cycle at which an instruction began and how many it took, its address and symbol, its code, \
the instruction, and the registers that it changed. The program's own output goes to standard error.

Examples:
  boardlab os trace kernel.elf
  boardlab os trace kernel.elf --from main --count 500
  boardlab os trace kernel.elf --from 1000000 --count 20000 --file trace.txt";

const DEBUG: &str = "\
Examples:
  boardlab os debug kernel.elf
  boardlab os debug kernel.elf --listen 127.0.0.1:3333
  gdb-multiarch kernel.elf -ex \"target remote | boardlab os debug kernel.elf --stdio\"";

/// What `os` does.
#[derive(Debug, Subcommand)]
pub(crate) enum OsAction {
    /// Run a program, and show where its cycles went
    #[command(after_help = RUN)]
    Run(OsRun),
    /// Write every instruction of a stretch of a run
    #[command(after_help = TRACE)]
    Trace(OsTrace),
    /// Wait for GDB, and let it debug a program
    #[command(after_help = DEBUG)]
    Debug(OsDebug),
}

/// Arguments of `os run`.
#[derive(Debug, Args)]
pub(crate) struct OsRun {
    /// The machine and its program.
    #[command(flatten)]
    pub(crate) machine: OsMachine,
    /// Where to stop: virtual time such as "20 ms", or a count of instructions
    #[arg(long, value_name = "LIMIT", value_parser = until)]
    pub(crate) limit: Option<Until>,
    /// Count cycles, misses and calls by function and by system call
    #[arg(long)]
    pub(crate) profile: bool,
    /// File for what ran when, as Chrome trace JSON for Perfetto
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) timeline: Option<PathBuf>,
    /// File for the state of the machine at the end, to go on from
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) save: Option<PathBuf>,
    /// Check for stale code, data, descriptors and translations; any makes the run fail
    #[arg(long)]
    pub(crate) check: bool,
    /// Type standard input as it comes, also where it is no terminal
    #[arg(long)]
    pub(crate) live: bool,
}

/// Arguments of `os trace`.
#[derive(Debug, Args)]
pub(crate) struct OsTrace {
    /// The machine and its program.
    #[command(flatten)]
    pub(crate) machine: OsMachine,
    /// Where to begin: after so many instructions, or at a function or an address (0x...)
    #[arg(long, value_name = "PLACE", default_value = "0", value_parser = place)]
    pub(crate) from: From,
    /// Instructions at most
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) count: u64,
    /// File for the lines; standard output if left out
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
}

/// Arguments of `os debug`.
#[derive(Debug, Args)]
pub(crate) struct OsDebug {
    /// The machine and its program.
    #[command(flatten)]
    pub(crate) machine: OsMachine,
    /// Where to wait for GDB; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:1234")]
    pub(crate) listen: String,
    /// Speak with GDB on standard input and output
    #[arg(long, conflicts_with = "listen")]
    pub(crate) stdio: bool,
}

/// A machine and its program.
#[derive(Debug, Args)]
#[command(next_help_heading = "The machine")]
pub(crate) struct OsMachine {
    /// Program: an ELF file for ARM, linked to fixed addresses
    #[arg(value_name = "ELF", value_hint = ValueHint::FilePath)]
    pub(crate) program: PathBuf,
    /// Value in place of the one in the board (board.*), or another board; keys: boardlab list keys os
    #[arg(long, value_name = "KEY=VALUE", add = ArgValueCompleter::new(candidates::keys_of_os))]
    pub(crate) set: Vec<String>,
    /// Memory in place of the board's 128 MiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<Bytes>,
    /// Raw image to be put in memory after the program
    #[arg(long, value_name = "FILE@ADDRESS", value_parser = load, value_hint = ValueHint::FilePath)]
    pub(crate) load: Vec<Load>,
    /// Image of the memory card in the reader; the guest writes to a copy
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) card: Option<PathBuf>,
    /// Write what the guest wrote to the card back to its image at the end
    #[arg(long, requires = "card")]
    pub(crate) card_write: bool,
    /// Saved state to go on from; ELF then gives the names only
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) restore: Option<PathBuf>,
    /// Command line that the program can ask for; its file's name if left out
    #[arg(long, value_name = "TEXT")]
    pub(crate) command_line: Option<String>,
    /// How the core is simulated; the results are the same with each [default: predecoded]
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<EngineName>,
    /// Show control characters that the program prints as escapes, instead of sending them
    #[arg(long)]
    pub(crate) safe_console: bool,
}

/// Engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// The reference: one instruction at a time
    Interpreter,
    /// Blocks of predecoded instructions
    Predecoded,
    /// Hot code compiled to machine code of the host
    Compiled,
}

impl EngineName {
    /// The engine that it names, if this program has it.
    pub(crate) const fn kind(self) -> Result<EngineKind, Error> {
        match self {
            Self::Interpreter => Ok(EngineKind::Interpreter),
            Self::Predecoded => Ok(EngineKind::Predecoded),
            #[cfg(feature = "compiler")]
            Self::Compiled => Ok(EngineKind::Compiled),
            #[cfg(not(feature = "compiler"))]
            Self::Compiled => Err(Error::NoCompiler),
        }
    }
}

/// A duration with its unit, or a count of instructions.
fn until(text: &str) -> Result<Until, String> {
    match text.parse() {
        Ok(count) => Ok(Until::Instructions(count)),
        Err(_) => quantity::duration(text).map(Until::Time).map_err(|misfit| {
            format!("{misfit}; expected virtual time such as \"20 ms\", or a count of instructions")
        }),
    }
}

/// A count of instructions, or a symbol or an address.
#[allow(clippy::unnecessary_wraps, reason = "as clap calls it")]
fn place(text: &str) -> Result<From, String> {
    Ok(text.parse().map_or_else(|_| From::Place(text.into()), From::Instructions))
}

/// A file and an address.
fn load(text: &str) -> Result<Load, String> {
    let expected = || "expected FILE@ADDRESS, such as disk.img@0x02000000".to_owned();
    let (path, at) = text.rsplit_once('@').ok_or_else(expected)?;
    let at = match at.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => at.parse(),
    };
    let at = at.map_err(|_| expected())?;
    if path.is_empty() { Err(expected()) } else { Ok(Load { path: path.into(), at }) }
}
