//! The runs whose keys are tried, each of a tenth of a second.
//!
//! `contexts` are there for keys that are read, or that matter, only with another choice elsewhere. The first context is
//! always the base alone. Each file has the benches of one kind and the exceptions among their keys.

use super::bench::Bench;
use super::exceptions::{Elsewhere, Exception, covers};

/// A card of 64 MiB in blocks of 1 MiB.
macro_rules! small_card {
    ($part:literal $(, $more:expr)* $(,)?) => {
        &[
            concat!($part, ".capacity=64 MiB"),
            concat!($part, ".over_provisioning=40 %"),
            concat!($part, ".flash.pages_per_block=32"),
            $($more),*
        ]
    };
}

mod advise;
mod card_advise;
mod fcse;
mod fio;
mod life;
mod nandfs;
mod nandwear;
mod nor;
mod os;
mod sata;
mod sdwear;
mod steps;

/// Benches that belong together.
#[derive(Debug)]
pub(crate) struct Group {
    /// The benches.
    pub(crate) benches: &'static [Bench],
    /// Their keys that may be taken without effect.
    pub(crate) exceptions: &'static [Exception],
    /// Their keys that matter in one context alone.
    pub(crate) elsewhere: &'static [Elsewhere],
}

/// All of them, one file each.
pub(crate) const GROUPS: &[Group] = &[
    advise::GROUP,
    card_advise::GROUP,
    fcse::GROUP,
    fio::GROUP,
    life::GROUP,
    nandfs::GROUP,
    nandwear::GROUP,
    nor::GROUP,
    sata::GROUP,
    sdwear::GROUP,
    steps::GROUP,
    os::GROUP,
];

/// The one context in which the key at `path` of the bench `name` has to change something.
pub(crate) fn elsewhere(name: &str, path: &str) -> Option<&'static str> {
    let mut all = GROUPS.iter().flat_map(|group| group.elsewhere);
    let found = all.find(|one| name == one.bench && one.keys.iter().any(|key| covers(key, path)));
    found.map(|one| one.context)
}

const READS: &str = "part.reads={ codeword = \"1 KiB\", correctable = 40, refresh_at = 20, retries = [\"60 %\", \"40 %\"], patrol = \"10 days\", errors = { program = { pe_cycles = [0, 20, 60], rate = [\"1e-4\", \"1e-3\", \"4e-3\"] }, retention = { pe_cycles = [0, 20, 60], rate = [\"1e-4\", \"1e-3\", \"4e-3\"] }, retention_share = { hours = [0, 1, 1000], share = [\"0 %\", \"50 %\", \"100 %\"] }, disturb = { pe_cycles = [0, 20, 60], rate = [\"1e-9\", \"1e-8\", \"4e-8\"] } } }";

/// What controllers of cards choose: keys that are read, or matter, with one choice alone.
const CHOICES: &[(&str, &[&str])] = &[
    (
        "a map in flash",
        &["part.mapping.kind=demand-page", "part.mapping.cache=256 B", "part.mapping.segment=16"],
    ),
    ("a cache", &["part.slc_cache.size=fixed", "part.slc_cache.blocks=6"]),
    (
        "a cache of short runs",
        &[
            "part.slc_cache.size=fixed",
            "part.slc_cache.blocks=6",
            "part.slc_cache.admission=short-runs",
            "part.slc_cache.run_pages=8",
            "part.slc_cache.run_streams=2",
            "part.slc_cache.when_full=bypass",
        ],
    ),
    ("generations", &["part.collection.streams=generations", "part.collection.generations=3"]),
    ("windows", &["part.collection.policy=windowed-greedy", "part.collection.blocks=8"]),
    ("threshold", &["part.levelling.policy=threshold", "part.levelling.threshold=4"]),
    (
        "sw-leveler",
        &[
            "part.levelling.policy=sw-leveler",
            "part.levelling.threshold=4",
            "part.levelling.shift=1",
        ],
    ),
    ("errors", &[READS]),
    ("power", &["part.power_loss={ rows = 2, shared = \"padded\" }"]),
];

/// For benches of built-in files alone.
#[allow(clippy::unnecessary_wraps, reason = "one of several functions")]
const fn nothing() -> Option<Vec<String>> {
    Some(Vec::new())
}
