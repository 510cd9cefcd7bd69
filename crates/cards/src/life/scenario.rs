//! The scenario of a life: which card, which load, how many cards, and which what-ifs.
//!
//! Layer: rank 10. Main types: [`Scenario`], [`Load`], [`Pattern`], [`Method`]; function: [`read`]. Where a
//! trace is, the scenario says; `recorded` reads it.

pub(super) mod limits;

use crate::fio::scenario::{self, Jobs};
use boardlab_document::quantity::Ratio;
use boardlab_document::{Read, Section, section};
use boardlab_experiment::data_file;
use boardlab_parts::card::board::{self, Host};
use boardlab_parts::card::part::{self, CardPart};
use boardlab_parts::card::unused;
use boardlab_parts::managed::unused::{by_choice, choosers};
use boardlab_sim::{Bytes, Duration};
use boardlab_workload::trace::{Action, BeyondEnd, Disk, Order, Unaligned};
use std::path::{Path, PathBuf};

/// A scenario, checked.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The card.
    pub part: CardPart,
    /// What it is put into.
    pub host: Host,
    /// What is asked of it.
    pub load: Load,
    /// Loads that the scenario has besides.
    pub unused: Unused,
    /// What else is true of its days.
    pub days: Days,
    /// How lives are computed.
    pub life: Life,
    /// What else is tried.
    pub what_if: WhatIf,
}

/// Keys that say how long something takes.
const TIMED: [&str; 11] = [
    "part.bus",
    "part.controller.command",
    "part.controller.write_cache",
    "part.controller.write_back_after",
    "part.controller.discard",
    "part.flash.times",
    "part.flash.slc",
    "part.flash.channel",
    "part.flash.slots",
    "part.flash.cache_program",
    "board",
];

/// Kinds of loads, each with a section of its name.
const LOADS: [&str; 3] = ["pattern", "fio", "trace"];

/// What is asked of the card.
#[derive(Debug, Clone)]
pub enum Load {
    /// So many bytes a day, placed by a rule.
    Pattern(Pattern),
    /// Jobs of fio, so many times a day.
    Fio(Fio),
    /// A block trace, over and over.
    Trace(Trace),
}

/// Loads of other kinds, which wait in the scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unused {
    /// Whether there are jobs of fio.
    pub jobs: bool,
    /// A block trace.
    pub trace: Option<PathBuf>,
}

/// So many bytes a day, placed by a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// Written in a day.
    pub bytes_a_day: Bytes,
    /// Where.
    pub places: Places,
    /// Bytes of a request.
    pub request: Bytes,
    /// Share of the card that holds data.
    pub used: Ratio,
    /// Share of these data that is given up at any time, by TRIM.
    pub trim: Ratio,
}

/// Where the next request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// Behind the last one, and from the start again.
    Sequential,
    /// Anywhere.
    Random,
    /// A share of the space gets a share of the writes.
    HotCold {
        /// Of the space.
        space: Ratio,
        /// Of the writes.
        writes: Ratio,
    },
    /// Zipf's law with this exponent; the most popular places lie side by side.
    Zipf(Ratio),
}

/// Jobs of fio.
#[derive(Debug, Clone)]
pub struct Fio {
    /// What they are.
    pub jobs: Jobs,
    /// How often in a day.
    pub runs_a_day: u64,
}

section! {
    /// A block trace.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Trace(section, folder: Option<&Path>) {
        /// Where it is.
        pub file: PathBuf = section.sourced("file").map(|file| data_file::path(&file, folder)),
        /// Which events of blkparse count.
        pub action: Action => one_of(ACTIONS).or(Action::default()),
        /// Which disk.
        pub disk: Option<Disk> = section.optional::<String>("disk") => self::disk,
        /// Times that run backwards.
        pub order: Order => one_of(ORDERS).or(Order::default()),
        /// Places behind the end of the card.
        pub beyond: BeyondEnd => one_of(BEYONDS).or(BeyondEnd::default()),
        /// Parts of blocks.
        pub ragged: Unaligned => one_of(RAGGEDS).or(Unaligned::default()),
        /// From the beginning of one repetition to that of the next; as long as the trace, where it lacks.
        pub every: Option<Duration> => within(Duration::from_secs(1), limits::HORIZON),
    }
}

const ACTIONS: [(&str, Action); 2] = [("issued", Action::Issued), ("queued", Action::Queued)];
const ORDERS: [(&str, Order); 2] = [("refuse", Order::Refuse), ("clamp", Order::Clamp)];
const BEYONDS: [(&str, BeyondEnd); 3] =
    [("refuse", BeyondEnd::Refuse), ("clamp", BeyondEnd::Clamp), ("wrap", BeyondEnd::Wrap)];
const RAGGEDS: [(&str, Unaligned); 2] =
    [("refuse", Unaligned::Refuse), ("widen", Unaligned::Widen)];

fn disk(section: &Section<'_>, name: Option<String>) -> Read<Option<Disk>> {
    let help = "major,minor as blkparse prints them, or host.disk of a CSV";
    let refused = || section.refuse("disk", "names no disk", "\"8,0\" or \"hm.1\"", help);
    name.map(|name| Disk::parse(&name).ok_or_else(refused)).transpose()
}

/// What else is true of a card's days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    /// What the load never touches was written once, and never given up.
    pub stale: bool,
    /// Read in a day, spread evenly over what is in use.
    pub reads_a_day: Bytes,
    /// Hours of a day with power.
    pub powered: Duration,
    /// For so long data must survive without power.
    pub shelf: Duration,
}

/// How a life is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// In full where that takes seconds, scaled otherwise.
    Auto,
    /// Fewer and larger pages, and erases that stand for several.
    Scaled,
    /// Every program.
    Full,
}

const METHODS: [(&str, Method); 3] =
    [("auto", Method::Auto), ("scaled", Method::Scaled), ("full", Method::Full)];

section! {
    /// How lives are computed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Life {
        /// Cards, each with blocks of its own.
        pub cards: u64 => within(1, limits::CARDS),
        /// Longest life that is looked at.
        pub horizon: Duration => within(limits::DAY, limits::HORIZON),
        /// How.
        pub method: Method => one_of(METHODS),
    }
}

section! {
    /// What else is tried.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct WhatIf(section) {
        /// Cards of each; zero for no what-ifs.
        pub cards: u64 => up_to(limits::CARDS),
        /// A larger over-provisioning.
        pub over_provisioning: Ratio => within(LEAST, limits::OVER_PROVISIONING),
        /// Blocks of a larger SLC cache.
        pub slc_cache_blocks: u64 => within(1, u32::MAX.into()),
        /// Spread of the threshold levelling.
        pub threshold: u64 => within(1, u32::MAX.into()),
        /// Names of other cards, with commas; `all` for every built-in one, `none` for none.
        pub parts: String,
    }
    check(cards) {
        if *cards == 0 {
            for key in ["over_provisioning", "slc_cache_blocks", "threshold", "parts"] {
                section.idle(key, "with what_if.cards = 0", "give each choice a card or more")?;
            }
        }
    }
}

/// The least share that is more than nothing.
const LEAST: Ratio = Ratio::from_millionths(1);

/// Reads a whole scenario, its part and board mounted in place of their names.
///
/// # Errors
/// Whatever is missing, unknown, of the wrong kind or cannot be.
pub fn read(section: &Section<'_>, folder: Option<&Path>) -> Read<Scenario> {
    let title = section.required::<String>("title");
    let experiment = section.required::<String>("experiment");
    let part = section.section("part", part::read);
    let host = section.section("board", board::read);
    let workload = section.section("workload", workload);
    let pattern = section.optional_section("pattern", pattern);
    let jobs = section.optional_section("fio", |fio| scenario::jobs(&fio, folder));
    let trace = section.optional_section("trace", |trace| Trace::read(trace, folder));
    let life = section.section("life", Life::read);
    let what_if = section.section("what_if", WhatIf::read);
    section.finish()?;
    title.and(experiment)?;
    let missing = |name: &str| {
        let expected = format!("a section [{name}]");
        section.refuse(
            "workload",
            &format!("is of kind {name}, which lacks"),
            &expected,
            "see docs/tasks/promise-a-lifetime.md",
        )
    };
    let (kind, runs_a_day, days) = workload?;
    unused_loads(section, kind)?;
    let (jobs, trace) = (jobs?, trace?);
    let other = trace.as_ref().filter(|_| kind != "trace").map(|trace| trace.file.clone());
    let unused = Unused { jobs: jobs.is_some() && kind != "fio", trace: other };
    let load = match kind {
        "fio" => Load::Fio(Fio { jobs: jobs.ok_or_else(|| missing("fio"))?, runs_a_day }),
        "trace" => Load::Trace(trace.ok_or_else(|| missing("trace"))?),
        _ => Load::Pattern(pattern?.ok_or_else(|| missing("pattern"))?),
    };
    let part = part?;
    mortal(section, &part)?;
    unused::described(section, "part")?;
    unused::around(section, &part)?;
    let cards = what_if.as_ref().is_ok_and(|one| one.cards > 0);
    // One of the choices that are tried is a cache of its own size.
    let tried =
        |key: &str| cards && choosers(key).contains(&"slc_cache.size") && key != "slc_cache.blocks";
    by_choice(section, "part", &part.managed, &tried)?;
    if kind != "fio" {
        untimed(section)?;
    }
    unasked(section, &part, kind)?;
    Ok(Scenario { part, host: host?, load, unused, days, life: life?, what_if: what_if? })
}

/// Refuses what `--set` says of loads other than that of this `kind`.
fn unused_loads(section: &Section<'_>, kind: &str) -> Read<()> {
    let why = format!("with workload.kind = \"{kind}\"");
    let mut all = vec![];
    for other in LOADS.into_iter().filter(|other| *other != kind) {
        let help = format!("add --set workload.kind={other}, or leave it out");
        all.push(section.idle(other, &why, &help));
    }
    if kind != "fio" {
        let help = "it counts runs of the jobs of workload.kind = \"fio\"; leave it out";
        all.push(section.idle("workload.runs_a_day", &why, help));
    }
    all.into_iter().collect()
}

/// Refuses what `--set` says of times: a load that is no job of fio is written without them.
fn untimed(section: &Section<'_>) -> Read<()> {
    let help =
        "wear is counted in programs and erases; only workload.kind = \"fio\" runs a job in time";
    section.idle_each(TIMED, "on a life under this load", help)
}

/// Refuses what `--set` says of the card and its days that no life of this card depends on.
fn unasked(section: &Section<'_>, part: &CardPart, kind: &str) -> Read<()> {
    let mut all = vec![];
    let read = ["part.allocation_unit", "part.controller.erased"];
    let help = "`boardlab run card-fio` shows what a host reads of a card";
    all.push(section.idle_each(read, "here: only a host that reads it would see it", help));
    let help = "it is the end of the life that is computed";
    all.push(section.idle("part.endurance.end_of_life", "here: a life ends with it", help));
    if part.managed.reads.is_none() {
        let (why, help) = ("on a card without part.reads", "no data of it fade; give it [reads]");
        all.push(section.idle_each(["workload.reads_a_day", "workload.shelf"], why, help));
        if kind != "fio" {
            all.push(section.idle("workload.powered", why, help));
        }
    }
    all.into_iter().collect()
}

/// Refuses a card of which there is no life to compute.
fn mortal(section: &Section<'_>, part: &CardPart) -> Read<()> {
    let lacks = super::run::model::lacks(part);
    lacks.map_or(Ok(()), |what| {
        let expected = "a card with a map of pages and a section [endurance]";
        let help = "such a card is --set part=kioxia-16gb; others: boardlab list parts";
        Err(section.refuse("part", what, expected, help))
    })
}

fn workload(section: Section<'_>) -> Read<(&'static str, u64, Days)> {
    let kind = section.one_of("kind", &LOADS.map(|kind| (kind, kind)));
    let stale = section.one_of("unused", &[("stale", true), ("trimmed", false)]);
    let reads = section.key::<Bytes>("reads_a_day").within(Bytes::ZERO, limits::A_DAY).required();
    let runs = section.key::<u64>("runs_a_day").within(1, limits::RUNS).required();
    let minute = Duration::from_secs(60);
    let powered = section.key::<Duration>("powered").within(minute, limits::DAY).required();
    let shelf = section.key::<Duration>("shelf").within(Duration::ZERO, limits::HORIZON).required();
    section.finish()?;
    let days = Days { stale: stale?, reads_a_day: reads?, powered: powered?, shelf: shelf? };
    Ok((kind?, runs?, days))
}

fn pattern(section: Section<'_>) -> Read<Pattern> {
    let a_day = section.key::<Bytes>("bytes_a_day").within(Bytes::kib(1), limits::A_DAY).required();
    let kinds = ["sequential", "random", "hot-cold", "zipf"].map(|kind| (kind, kind));
    let places = section.one_of("places", &kinds);
    let request = section.key::<Bytes>("request").within(Bytes::new(512), limits::REQUEST);
    let request = request.required();
    let share = |key, most| section.key::<Ratio>(key).within(LEAST, most).required();
    let used = share("used", limits::ALL);
    let trim = section.key::<Ratio>("trim").up_to(limits::TRIMMED).required();
    let most = Ratio::from_millionths(999_999);
    let [space, writes] = ["hot_space", "hot_writes"].map(|key| share(key, most));
    let exponent = share("exponent", limits::EXPONENT);
    section.finish()?;
    let kind = places?;
    let why = format!("with places = \"{kind}\"");
    for (key, user) in [("hot_space", "hot-cold"), ("hot_writes", "hot-cold"), ("exponent", "zipf")]
    {
        if user != kind {
            section.idle(key, &why, &format!("it is for pattern.places = \"{user}\""))?;
        }
    }
    let places = match kind {
        "sequential" => Places::Sequential,
        "random" => Places::Random,
        "hot-cold" => Places::HotCold { space: space?, writes: writes? },
        _ => Places::Zipf(exponent?),
    };
    let request = request?;
    if !request.is_multiple_of(Bytes::new(512)) {
        let help = "cards count in blocks of 512 bytes";
        let expected = "a multiple of 512 bytes";
        return Err(section.refuse("request", "is no whole number of blocks", expected, help));
    }
    Ok(Pattern { bytes_a_day: a_day?, places, request, used: used?, trim: trim? })
}
