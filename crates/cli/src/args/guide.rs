//! The arguments of `list`, `explain` and `doctor`, the commands for finding one's way.
//!
//! Layer: rank 12. Main types: [`ListTopic`], [`PartKind`].

use super::{Cli, SCENARIO, SET, Scenario, candidates};
use boardlab_lab::guide::CommandName;
use clap::{Command, CommandFactory, Subcommand, ValueEnum};
use clap_complete::ArgValueCompleter;

pub(super) const LIST: &str = "\
Examples:
  boardlab list
  boardlab list parts sd
  boardlab list keys nor-write --json";

const LIST_PARTS: &str = "\
Examples:
  boardlab list parts
  boardlab list parts nor nand
  boardlab list parts sd emmc";

const LIST_BOARDS: &str = "\
Examples:
  boardlab list boards
  boardlab list boards --json";

const LIST_SCENARIOS: &str = "\
Examples:
  boardlab list scenarios
  boardlab list scenarios --format csv";

const LIST_KEYS: &str = "\
Examples:
  boardlab list keys nor-write
  boardlab list keys nor-write --set part=s29gl01gs
  boardlab list keys my/scenario.toml --json
  boardlab list keys os
  boardlab list keys sata-console --set part=transcend-ts32gssd25s-m";

/// What `list keys` is asked about.
const OF: &str = "Scenario, by name or path; `os` or `sata-console` for the keys of these commands";

pub(super) const EXPLAIN: &str = "\
A key may be cut off at the front: `wait` finds linux.wait and uboot.wait. Terms are those of the glossary, \
also in Japanese; tables, rows and columns those of the results.

Examples:
  boardlab explain linux.wait
  boardlab explain over-provisioning
  boardlab explain tuned
  boardlab explain powercut
  boardlab explain table6-own-gap";

pub(super) const DOCTOR: &str = "\
Nothing is installed or changed. The exit status is 1 when something that boardlab itself needs is broken.

Examples:
  boardlab doctor
  boardlab doctor --json";

/// All commands, and those of which they are made.
pub(crate) fn command_names() -> Vec<CommandName> {
    let about =
        |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    let top = Cli::command();
    let each = top.get_subcommands().flat_map(|command| {
        let inner = command.get_subcommands().map(move |inner| {
            let name = format!("{} {}", command.get_name(), inner.get_name());
            CommandName { name, about: about(inner) }
        });
        let name = command.get_name().into();
        std::iter::once(CommandName { name, about: about(command) }).chain(inner)
    });
    each.collect()
}

/// What `list` shows.
#[derive(Debug, Subcommand)]
pub(crate) enum ListTopic {
    /// Data sheets, those of some kinds only if these are named
    #[command(after_help = LIST_PARTS)]
    Parts {
        /// Kinds of parts; all of them if left out
        #[arg(value_name = "KIND")]
        kinds: Vec<PartKind>,
    },
    /// Boards: bus and CPU
    #[command(after_help = LIST_BOARDS)]
    Boards,
    /// What can be run
    #[command(after_help = LIST_SCENARIOS)]
    Scenarios,
    /// The keys of a scenario or a command, its part and its board, for --set
    #[command(after_help = LIST_KEYS)]
    #[command(mut_arg(SCENARIO, |one| one.help(OF).add(ArgValueCompleter::new(candidates::settable))))]
    #[command(mut_arg(SET, |one| one.add(ArgValueCompleter::new(candidates::keys_of_settable))))]
    Keys(Scenario),
}

/// Kinds of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PartKind {
    /// NOR flash chips
    Nor,
    /// NAND flash chips
    Nand,
    /// SD cards
    Sd,
    /// eMMC devices
    Emmc,
    /// SATA SSDs
    Sata,
}

impl PartKind {
    /// The value of `kind` in the files of such parts.
    pub(crate) const fn in_files(self) -> &'static str {
        match self {
            Self::Nor => "nor",
            Self::Nand => "nand",
            Self::Sd => "sd",
            Self::Emmc => "emmc",
            Self::Sata => "sata",
        }
    }
}
