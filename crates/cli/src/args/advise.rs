//! The arguments of `advise`.
//!
//! Layer: rank 12. Main type: [`Advise`]. Every option is a key of the scenario with a shorter name.

use super::{Scenario, candidates};
use boardlab_experiment::Action;
use boardlab_lab::registry;
use clap::{Args, ValueEnum, ValueHint};
use clap_complete::ArgValueCompleter;
use std::path::PathBuf;

pub(super) const ADVISE: &str = "\
Every option stands for a key of the scenario, which keeps what is not named: limits that it names hold too. Without a
scenario the kind of the part names one: nand-advise, nor-advise, or card-advise, which compares cards and no filesystems.

Examples:
  boardlab advise --part k9f1g08u0a --boot \"1 s\" --ram \"1 MiB\" --life \"5 years\"
  boardlab advise --part m29ew --boot \"2 s\"
  boardlab advise --part kioxia-16gb --life \"3 years\" --latency \"50 ms\"
  boardlab advise --tree rootfs --writes \"200 MB/day\" --power-cuts yes
  boardlab advise product-start --format json";

/// A product, and its limits.
#[derive(Debug, Args)]
pub(crate) struct Advise {
    /// Name of a built-in scenario, or path of a scenario file; without it the one for the part
    #[arg(value_hint = ValueHint::FilePath, add = candidates::scenarios(Action::Advise))]
    scenario: Option<String>,
    /// The flash
    #[arg(long)]
    part: Option<String>,
    /// The board
    #[arg(long)]
    board: Option<String>,
    /// Folder whose files are stored: their sizes, and what their data compress to
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    tree: Option<PathBuf>,
    /// How full the flash is
    #[arg(long, value_name = "SHARE")]
    level: Option<String>,
    /// The longest that a mount may take
    #[arg(long, value_name = "TIME")]
    boot: Option<String>,
    /// The most RAM after the mount
    #[arg(long, value_name = "SIZE")]
    ram: Option<String>,
    /// How long the flash has to last
    #[arg(long, value_name = "TIME")]
    life: Option<String>,
    /// What is written, as in "200 MB/day"
    #[arg(long, value_name = "RATE")]
    writes: Option<String>,
    /// The least room for files
    #[arg(long, value_name = "SIZE")]
    room: Option<String>,
    /// The least rate at which a long file is written
    #[arg(long, value_name = "RATE")]
    throughput: Option<String>,
    /// The longest that 99 % of the writes of a card's job may take
    #[arg(long, value_name = "TIME")]
    latency: Option<String>,
    /// Whether the filesystem has to be in the kernel as it is released
    #[arg(long, value_name = "ANSWER")]
    mainline: Option<Answer>,
    /// Whether the power may fail at any time
    #[arg(long, value_name = "ANSWER")]
    power_cuts: Option<Answer>,
    /// Value in place of the one in the scenario, its part (part.*) or its board (board.*)
    #[arg(long, value_name = "KEY=VALUE", add = ArgValueCompleter::new(candidates::keys))]
    set: Vec<String>,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Answer {
    /// It has, or it may
    Yes,
    /// It need not, or may not
    No,
}

impl Advise {
    /// The scenario with a key for each option.
    pub(crate) fn scenario(&self) -> Scenario {
        let data = self.tree.as_ref().map(|tree| format!("sample:{}", tree.display()));
        let file = self.tree.as_ref().map(|_| "tree".to_owned());
        let told = |answer: Option<Answer>| answer.map(|one| (one == Answer::Yes).to_string());
        let keys = [
            ("part", &self.part),
            ("board", &self.board),
            ("product.data", &data),
            ("product.file", &file),
            ("product.level", &self.level),
            ("product.boot", &self.boot),
            ("product.ram", &self.ram),
            ("product.life", &self.life),
            ("product.writes", &self.writes),
            ("product.room", &self.room),
            ("product.throughput", &self.throughput),
            ("product.latency", &self.latency),
            ("product.mainline", &told(self.mainline)),
            ("product.power_cuts", &told(self.power_cuts)),
        ];
        let given =
            keys.iter().filter_map(|(key, value)| Some(format!("{key}={}", value.as_ref()?)));
        let set = given.chain(self.set.iter().cloned()).collect();
        let named = self.scenario.as_deref();
        let scenario = named.unwrap_or_else(|| registry::advice(self.part.as_deref())).to_owned();
        Scenario { scenario, set }
    }
}
