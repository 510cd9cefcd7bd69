//! The scenario of a life: the card, the load, the number of cards, and the alternatives.
//!
//! Layer: rank 10. Main types: [`Scenario`], [`Load`], [`Pattern`], [`Method`]; function: [`read`]. The
//! scenario has only the path of a trace; `recorded` reads the trace.

use crate::fio::scenario::{self, Jobs};
use boardlab_document::quantity::Ratio;
use boardlab_document::{Read, Section, section};
use boardlab_experiment::data_file;
use boardlab_parts::card::board::{self, Host};
use boardlab_parts::card::part::{self, CardPart};
use boardlab_parts::card::unused;
use boardlab_parts::managed::unused::{by_choice, choosers};
use boardlab_sim::{Bytes, Duration};
use boardlab_workload::trace::{Action, BeyondEnd, Disk, Order, UnalignedPolicy};
use std::path::PathBuf;

/// The most cards of one run.
const CARDS: u64 = 10_000;
/// The longest life to simulate: instants end after 584 years.
const HORIZON: Duration = Duration::from_secs(250 * 365 * 86_400);
/// The most that is written or read in a day: 10 GB/s all day long.
pub(crate) const A_DAY: Bytes = Bytes::new(864_000_000_000_000);
/// A block of a card, which is the smallest request.
pub(crate) const BLOCK: Bytes = Bytes::new(512);
/// The largest request.
pub(crate) const LARGEST: Bytes = Bytes::mib(1 << 10);
/// A day.
pub(crate) const DAY: Duration = Duration::from_secs(86_400);
/// The least share that is more than nothing.
pub(crate) const LEAST: Ratio = Ratio::from_millionths(1);

/// A scenario, checked.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    /// The card.
    pub part: CardPart,
    /// The host with the card's slot.
    pub host: Host,
    /// The load on the card.
    pub load: Load,
    /// Other loads in the scenario.
    pub unused: UnusedLoads,
    /// The conditions of its days.
    pub days: Days,
    /// How lives are computed.
    pub life: Life,
    /// The alternatives.
    pub what_if: WhatIf,
}

/// Keys of times.
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

/// Kinds of loads; each has a section of its name.
const LOADS: [&str; 3] = ["pattern", "fio", "trace"];

/// The load on a card.
#[derive(Debug, Clone)]
pub(crate) enum Load {
    /// A number of bytes a day, placed by a rule.
    Pattern(Pattern),
    /// Jobs of fio.
    Fio {
        /// The jobs.
        jobs: Jobs,
        /// Their runs in a day.
        runs_a_day: u64,
    },
    /// A block trace, repeated.
    Trace(Trace),
}

/// Loads of other kinds in the scenario, which are not used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UnusedLoads {
    /// Whether there are jobs of fio.
    pub jobs: bool,
    /// A block trace.
    pub trace: Option<PathBuf>,
}

/// A number of bytes a day, placed by a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// Bytes written in a day.
    pub bytes_a_day: Bytes,
    /// The rule.
    pub places: Places,
    /// Bytes of a request.
    pub request: Bytes,
    /// Share of the card that holds data.
    pub used: Ratio,
    /// Share of these data that is trimmed at any time.
    pub trim: Ratio,
}

/// The place of the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// Behind the last one, and again from the start.
    Sequential,
    /// Anywhere.
    Random,
    /// A share of the space that gets a share of the writes.
    HotCold {
        /// Of the space.
        space: Ratio,
        /// Of the writes.
        writes: Ratio,
    },
    /// Zipf's law with this exponent; the most popular places lie side by side.
    Zipf(Ratio),
}

section! {
    /// A block trace.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Trace(section) {
        /// Its path.
        pub file: PathBuf = section.sourced::<String>("file").map(|file| data_file::path(&section, "file", &file.value)),
        /// The events of blkparse that count.
        pub action: Action => one_of(ACTIONS).or(Action::default()),
        /// The disk; all if `None`.
        pub disk: Option<Disk> = section.optional::<String>("disk") => self::disk,
        /// What happens to times that run backwards.
        pub order: Order => one_of(ORDERS).or(Order::default()),
        /// What happens to places behind the end of the card.
        pub beyond: BeyondEnd => one_of(BEYONDS).or(BeyondEnd::default()),
        /// What happens to parts of blocks.
        pub ragged: UnalignedPolicy => one_of(RAGGEDS).or(UnalignedPolicy::default()),
        /// The time from the start of one repetition to the next; the length of the trace by default.
        pub every: Option<Duration> => within(Duration::from_secs(1), HORIZON),
    }
}

const ACTIONS: [(&str, Action); 2] = [("issued", Action::Issued), ("queued", Action::Queued)];
const ORDERS: [(&str, Order); 2] = [("refuse", Order::Refuse), ("clamp", Order::Clamp)];
const BEYONDS: [(&str, BeyondEnd); 3] =
    [("refuse", BeyondEnd::Refuse), ("clamp", BeyondEnd::Clamp), ("wrap", BeyondEnd::Wrap)];
const RAGGEDS: [(&str, UnalignedPolicy); 2] =
    [("refuse", UnalignedPolicy::Refuse), ("widen", UnalignedPolicy::Widen)];

fn disk(section: &Section<'_>, name: Option<String>) -> Read<Option<Disk>> {
    let help = "major,minor as blkparse prints them, or host.disk of a CSV";
    let refused = || section.refuse("disk", "names no disk", "\"8,0\" or \"hm.1\"", help);
    name.map(|name| Disk::parse(&name).ok_or_else(refused)).transpose()
}

/// The conditions of a card's days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    /// Whether what the load never touches was written once, and never trimmed.
    pub stale: bool,
    /// Bytes read in a day, spread evenly over what is in use.
    pub reads_a_day: Bytes,
    /// The time of a day with power.
    pub powered: Duration,
    /// The time that data must survive without power.
    pub shelf: Duration,
}

/// How a life is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// In full if that takes seconds, scaled otherwise.
    Auto,
    /// With fewer and larger pages, and erases that stand for several.
    Scaled,
    /// With every program.
    Full,
}

const METHODS: [(&str, Method); 3] =
    [("auto", Method::Auto), ("scaled", Method::Scaled), ("full", Method::Full)];

section! {
    /// How lives are computed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Life {
        /// The number of cards, each with blocks of its own.
        pub cards: u64 => within(1, CARDS),
        /// The longest life to simulate.
        pub horizon: Duration => within(DAY, HORIZON),
        /// The method.
        pub method: Method => one_of(METHODS),
    }
}

section! {
    /// The alternatives.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct WhatIf(section) {
        /// The number of cards for each; zero for no alternatives.
        pub cards: u64 => up_to(CARDS),
        /// A larger over-provisioning.
        pub over_provisioning: Ratio => within(LEAST, Ratio::from_millionths(500_000)),
        /// Blocks of a larger SLC cache.
        pub slc_cache_blocks: u64 => within(1, u32::MAX.into()),
        /// The threshold of static wear levelling.
        pub threshold: u64 => within(1, u32::MAX.into()),
        /// Names of other cards, separated by commas; `all` for every built-in one, `none` for none.
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

/// Reads a whole scenario, its part and board mounted in place of their names.
pub(crate) fn read(section: &Section<'_>) -> Read<Scenario> {
    let title = section.required::<String>("title");
    let experiment = section.required::<String>("experiment");
    let part = section.section("part", part::read);
    let host = section.section("board", board::read);
    let workload = section.section("workload", workload);
    let pattern = section.optional_section("pattern", pattern);
    let jobs = section.optional_section("fio", |fio| scenario::jobs(&fio));
    let trace = section.optional_section("trace", Trace::read);
    let life = section.section("life", Life::read);
    let what_if = section.section("what_if", WhatIf::read);
    section.finish()?;
    title.and(experiment)?;
    let missing = |name: &str| {
        let problem = format!("is of kind {name}, which lacks");
        let (expected, help) =
            (format!("a section [{name}]"), "what it holds: boardlab list keys sd-life");
        section.refuse("workload", &problem, &expected, help)
    };
    let (kind, runs_a_day, days) = workload?;
    unused_loads(section, kind)?;
    let (jobs, trace) = (jobs?, trace?);
    let other = trace.as_ref().filter(|_| kind != "trace").map(|trace| trace.file.clone());
    let unused = UnusedLoads { jobs: jobs.is_some() && kind != "fio", trace: other };
    let load = match kind {
        "fio" => Load::Fio { jobs: jobs.ok_or_else(|| missing("fio"))?, runs_a_day },
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
    unasked(section, &part, kind)?;
    Ok(Scenario { part, host: host?, load, unused, days, life: life?, what_if: what_if? })
}

/// Refuses values of `--set` for loads other than that of this `kind`.
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

/// Refuses values of `--set` for the card and its days on which no life of this card depends.
fn unasked(section: &Section<'_>, part: &CardPart, kind: &str) -> Read<()> {
    let mut all = vec![];
    if kind != "fio" {
        // A load that is no job of fio is written without times.
        let help = "wear is counted in programs and erases; only workload.kind = \"fio\" runs a job in time";
        all.push(section.idle_each(TIMED, "on a life under this load", help));
    }
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

/// Refuses a card whose life cannot be computed.
fn mortal(section: &Section<'_>, part: &CardPart) -> Read<()> {
    let Some(what) = super::run::model::lacks(part) else { return Ok(()) };
    let expected = "a card with a map of pages and a section [endurance]";
    let help = "such a card is --set part=kioxia-16gb; others: boardlab list parts";
    Err(section.refuse("part", what, expected, help))
}

fn workload(section: Section<'_>) -> Read<(&'static str, u64, Days)> {
    let kind = section.one_of("kind", &LOADS.map(|kind| (kind, kind)));
    let runs = section.key::<u64>("runs_a_day").within(1, 10_000_000).required();
    let days = days(&section);
    section.finish()?;
    Ok((kind?, runs?, days?))
}

/// The conditions of the days, which stand in `section`.
pub(crate) fn days(section: &Section<'_>) -> Read<Days> {
    let stale = section.one_of("unused", &[("stale", true), ("trimmed", false)]);
    let reads = section.key::<Bytes>("reads_a_day").within(Bytes::ZERO, A_DAY).required();
    let minute = Duration::from_secs(60);
    let powered = section.key::<Duration>("powered").within(minute, DAY).required();
    let shelf = section.key::<Duration>("shelf").within(Duration::ZERO, HORIZON).required();
    Ok(Days { stale: stale?, reads_a_day: reads?, powered: powered?, shelf: shelf? })
}

fn pattern(section: Section<'_>) -> Read<Pattern> {
    let a_day = section.key::<Bytes>("bytes_a_day").within(Bytes::kib(1), A_DAY).required();
    let kinds = ["sequential", "random", "hot-cold", "zipf"].map(|kind| (kind, kind));
    let places = section.one_of("places", &kinds);
    let request = section.key::<Bytes>("request").within(BLOCK, LARGEST).required();
    let share = |key, most| section.key::<Ratio>(key).within(LEAST, most).required();
    let used = share("used", Ratio::WHOLE);
    let trim = section.key::<Ratio>("trim").up_to(Ratio::from_millionths(950_000)).required();
    let most = Ratio::from_millionths(999_999);
    let [space, writes] = ["hot_space", "hot_writes"].map(|key| share(key, most));
    let exponent = share("exponent", Ratio::from_millionths(3_000_000));
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
    whole_blocks(&section, "request", request)?;
    Ok(Pattern { bytes_a_day: a_day?, places, request, used: used?, trim: trim? })
}

/// Refuses a size of requests that is no whole number of blocks.
pub(crate) fn whole_blocks(section: &Section<'_>, key: &str, size: Bytes) -> Read<()> {
    if size.is_multiple_of(BLOCK) {
        return Ok(());
    }
    let help = "cards count in blocks of 512 bytes";
    let expected = "a multiple of 512 bytes";
    Err(section.refuse(key, "is no whole number of blocks", expected, help))
}
