//! The policies of a controller: mapping, garbage collection, wear levelling, SLC cache.
//!
//! Layer: rank 8. Main type: [`Mapping`]; functions: [`mapping`] and [`policies`]. No manufacturer
//! publishes these, so nearly all are assumed in every part file; a scenario can set each of them.

use super::limits;
use super::values::count;
use boardlab_document::{Field, Read, Section, fields};
use boardlab_ftl::{
    Admission, Cache, CacheSize, Collection, EmptyBlocks, Folding, Levelling, LevellingTime,
    LogCells, LogPolicies, Logs, MapMemory, Policies, Streams, WhenFull,
};
use boardlab_sim::{Bytes, Duration, OwnPolicy};

/// The mapping of logical pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mapping {
    /// A page map, entirely in the controller's memory.
    Page,
    /// A demand-paged map: a page map in flash with a cache of segments.
    DemandPage {
        /// The size of the cache.
        cache: Bytes,
        /// The number of entries that are cached together.
        segment: u32,
    },
    /// A block map with log blocks. Wear levelling follows from the other policies, whatever this
    /// value says.
    LogBlocks(LogPolicies),
}

impl Mapping {
    /// Where a page map is kept.
    #[must_use]
    pub const fn memory(self) -> MapMemory {
        match self {
            Self::DemandPage { cache, segment } => MapMemory::Cached { cache, segment },
            Self::Page | Self::LogBlocks(_) => MapMemory::Whole,
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Page,
    Demand,
    Own,
    Shared,
    InOrder,
}

const KINDS: [(&str, Kind); 5] = [
    ("page", Kind::Page),
    ("demand-page", Kind::Demand),
    ("log-blocks", Kind::Own),
    ("shared-logs", Kind::Shared),
    ("blocks", Kind::InOrder),
];

/// Reads the section `mapping`: the mapping, and the size of a mapped page where it differs from
/// the flash page. `bits` is the number of bits of a cell.
pub(super) fn mapping(section: Section<'_>, bits: u32) -> Read<(Mapping, Option<Bytes>)> {
    let kind = section.one_of("kind", &KINDS);
    let page = section.key::<Bytes>("page").within(Bytes::new(512), limits::PAGE).optional();
    let mapping = match kind {
        Ok(Kind::Page) => Ok(Mapping::Page),
        Ok(Kind::Demand) => {
            let cache = section.key("cache").within(Bytes::new(8), limits::MEMORY).required();
            let segment = count(&section, "segment", 1, 65_536);
            cache.and_then(|cache| Ok(Mapping::DemandPage { cache, segment: segment? }))
        }
        Ok(kind) => logs(&section, kind, bits).map(Mapping::LogBlocks),
        Err(reported) => {
            section.leave_rest();
            Err(reported)
        }
    };
    section.finish()?;
    Ok((mapping?, page?))
}

/// Reads the logs and their use; the default of each optional key is the simplest choice.
fn logs(section: &Section<'_>, kind: Kind, bits: u32) -> Read<LogPolicies> {
    let optional = |key: &str, least, otherwise: u32| {
        u32::required(section.key(key).within(least, limits::ERASES).or(otherwise.into()))
    };
    let logs = match kind {
        Kind::Shared => {
            count(section, "logs", 1, limits::ERASES).map(|blocks| Logs::Shared { blocks })
        }
        Kind::InOrder => {
            count(section, "open_units", 1, limits::ERASES).map(|units| Logs::InOrder { units })
        }
        _ => {
            let units = count(section, "open_units", 1, limits::ERASES);
            let chain = optional("chain", 1, 1);
            units.and_then(|units| {
                let chain = chain?;
                let all = optional("logs", 1, units.saturating_mul(chain))?;
                Ok(Logs::Own { units, chain, all })
            })
        }
    };
    let sequential = optional("sequential", 0, 0);
    let slc = section.optional_one_of("cells", &[("ordinary", false), ("slc", true)]);
    let fixed = section.key::<bool>("fixed").or(false).required();
    let idle = section.key::<bool>("merge_when_idle").or(false).required();
    Ok(LogPolicies {
        logs: logs?,
        cells: match (slc?, fixed?) {
            (Some(true), fixed) => LogCells::Slc { bits, fixed },
            _ => LogCells::Ordinary,
        },
        sequential: sequential?,
        merge_when_idle: idle?,
        ..LogPolicies::default()
    })
}

/// Reads the sections `collection`, `levelling` and `slc_cache` of a part.
pub(super) fn policies(part: &Section<'_>, bits: u32) -> Read<Policies> {
    let collected = part.section("collection", collection);
    let levelled = part.section("levelling", levelling);
    let cache = part.optional_section("slc_cache", |section| cache(section, bits));
    let ((levelling, levelling_time), cache) = (levelled?, cache?);
    let cache = cache.unwrap_or(Cache { bits, ..Cache::default() });
    Ok(Policies { levelling, levelling_time, cache, ..collected? })
}

/// A policy by itself, or one with a number.
#[derive(Clone, Copy)]
enum Policy<T> {
    Plain(T),
    Of(fn(u32) -> T),
}

const COLLECTIONS: [(&str, Policy<Collection>); 6] = [
    ("greedy", Policy::Plain(Collection::Greedy)),
    ("fifo", Policy::Plain(Collection::Fifo)),
    ("random", Policy::Plain(Collection::Random)),
    ("windowed-greedy", Policy::Of(Collection::WindowedGreedy)),
    ("choices", Policy::Of(Collection::Choices)),
    ("cost-benefit", Policy::Of(Collection::CostBenefit)),
];
const STREAMS: [(&str, Policy<Streams>); 3] = [
    ("single", Policy::Plain(Streams::Single)),
    ("copies-apart", Policy::Plain(Streams::CopiesApart)),
    (
        "generations",
        Policy::Of(|count| Streams::Generations(u8::try_from(count).unwrap_or(u8::MAX))),
    ),
];
const LEVELLINGS: [(&str, Policy<Levelling>); 6] = [
    ("none", Policy::Plain(Levelling::None)),
    ("dynamic", Policy::Plain(Levelling::Dynamic)),
    ("threshold", Policy::Of(Levelling::Threshold)),
    ("dual-pool", Policy::Of(Levelling::DualPool)),
    ("random-swap", Policy::Of(Levelling::RandomSwap)),
    ("sw-leveler", Policy::Of(|threshold| Levelling::SwLeveler { shift: 0, threshold })),
];

const SIZES: [(&str, Policy<CacheSize>); 3] = [
    ("none", Policy::Plain(CacheSize::None)),
    ("fixed", Policy::Of(CacheSize::Fixed)),
    ("dynamic", Policy::Of(CacheSize::Dynamic)),
];

/// Reads the policy called `key`, and its number, if it has one, from the key `number`.
fn policy<T: Copy>(
    section: &Section<'_>,
    key: &str,
    names: &[(&str, Policy<T>)],
    (number, least, most): (&str, u64, u64),
) -> Read<T> {
    let chosen = section.one_of(key, names);
    // The number is a known key in any case, so that the command line can change a policy without
    // removing its number.
    if section.has(number) && !matches!(chosen, Ok(Policy::Of(_))) {
        count(section, number, 0, u32::MAX.into())?;
    }
    match chosen? {
        Policy::Plain(policy) => Ok(policy),
        Policy::Of(policy) => count(section, number, least, most).map(policy),
    }
}

fn collection(section: Section<'_>) -> Read<Policies> {
    fields!(section => Policies {
        collection as "policy": Collection => with(victims),
        streams: Streams => with(policy, &STREAMS, ("generations", 2, Streams::MOST.into())),
        emptied: EmptyBlocks => one_of(EMPTIED),
        reserve: u32 => within(1, limits::ERASES),
        idle_blocks: u32 => up_to(limits::ERASES),
        ..Policies::default()
    })
}

/// Reads which blocks are collected.
fn victims(section: &Section<'_>, key: &str) -> Read<Collection> {
    let numbers = ("blocks", 0, limits::ERASES);
    if section.own_policy(key)?.is_none() {
        return policy(section, key, &COLLECTIONS, numbers);
    }
    // A known key, as with any other policy.
    if section.has(numbers.0) {
        count(section, numbers.0, 0, u32::MAX.into())?;
    }
    Ok(Collection::Own)
}

/// The caller's policy for [`Collection::Own`].
pub(super) fn own_collection(part: &Section<'_>, policies: &Policies) -> Read<Option<OwnPolicy>> {
    if policies.collection != Collection::Own {
        return Ok(None);
    }
    part.section("collection", |section| {
        section.leave_rest();
        section.own_policy("policy")
    })
}

const EMPTIED: [(&str, EmptyBlocks); 2] =
    [("returned", EmptyBlocks::Returned), ("kept", EmptyBlocks::Kept)];

fn levelling(section: Section<'_>) -> Read<(Levelling, LevellingTime)> {
    let numbers = ("threshold", 1, limits::ERASES);
    let levelling = policy(&section, "policy", &LEVELLINGS, numbers);
    let levelling = match levelling {
        Ok(Levelling::SwLeveler { threshold, .. }) => {
            let shift = u8::required(section.key("shift").up_to(16));
            shift.map(|shift| Levelling::SwLeveler { shift, threshold })
        }
        other => {
            if section.has("shift") {
                count(&section, "shift", 0, 16)?;
            }
            other
        }
    };
    let times = [("in-the-way", LevellingTime::Foreground), ("idle", LevellingTime::Idle)];
    let when = section.one_of("when", &times);
    section.finish()?;
    Ok((levelling?, when?))
}

const FULLS: [(&str, WhenFull); 2] = [("fold", WhenFull::Fold), ("bypass", WhenFull::Bypass)];
const FOLDINGS: [(&str, Folding); 2] = [("valid", Folding::Valid), ("whole", Folding::Whole)];

fn cache(section: Section<'_>, bits: u32) -> Read<Cache> {
    let after = |section: &Section<'_>| {
        let on = section.required::<bool>("fold_when_idle");
        let after = section.key("fold_after").up_to(limits::AWAY).or(Duration::ZERO).required();
        on.and_then(|on| Ok(on.then_some(after?)))
    };
    fields!(section => Cache {
        size: CacheSize => with(policy, &SIZES, ("blocks", 1, limits::ERASES)),
        bits: u32 = Ok(bits),
        admission: Admission = admission(&section),
        when_full: WhenFull => one_of(FULLS),
        folding: Folding => one_of(FOLDINGS).or(Folding::default()),
        fold_after: Option<Duration> = after(&section),
    })
}

/// Reads the admission to the cache; by default it admits everything.
fn admission(section: &Section<'_>) -> Read<Admission> {
    let runs = section.optional_one_of("admission", &[("all", false), ("short-runs", true)]);
    let number = |key, most| Option::<u32>::required(section.key(key).within(1, most));
    let pages = number("run_pages", u32::MAX.into());
    let streams = number("run_streams", Admission::MOST_STREAMS.into());
    let (runs, pages, streams) = (runs?.unwrap_or(false), pages?, streams?);
    match (pages, streams) {
        _ if !runs => Ok(Admission::All),
        (Some(pages), Some(streams)) => Ok(Admission::ShortRuns { pages, streams }),
        _ => Err(section.refuse(
            "admission",
            "needs the length of a run and the number of tracked runs",
            "`run_pages` and `run_streams` beside it",
            "what they mean: boardlab explain run_pages",
        )),
    }
}
