//! Keys of managed flash that a choice elsewhere in the part leaves without use.
//!
//! Layer: rank 8. Function: [`by_choice`]. A file may keep such keys, so that the choice can be made on the command line
//! without taking them away; set by hand, they would do nothing.

use super::{Managed, Mapping};
use boardlab_document::{Read, Section};
use boardlab_ftl::{Admission, Collection, Levelling, LogCells, Streams};

/// Refuses in `--set` what of the part at the dotted path `part` is not used. `tried` says whether the run also tries the part
/// with another choice for a key, under which the value would count.
pub fn by_choice(
    section: &Section<'_>,
    part: &str,
    managed: &Managed,
    tried: &dyn Fn(&str) -> bool,
) -> Read<()> {
    let idle = |keys: &[&str], used: bool, why: &str, help: &str| {
        let unused = keys.iter().filter(|key| !used && !tried(key));
        section.idle_each(unused.map(|key| format!("{part}.{key}")), why, help)
    };
    let policies = &managed.policies;
    let on = policies.cache.is_on();
    let (blocks, logged) = match managed.mapping {
        Mapping::LogBlocks(logs) => (true, logs.cells != LogCells::Ordinary),
        Mapping::Page | Mapping::DemandPage { .. } => (false, false),
    };
    let counted = matches!(
        policies.collection,
        Collection::WindowedGreedy(_) | Collection::Choices(_) | Collection::CostBenefit(_)
    );
    let moving = !matches!(policies.levelling, Levelling::None | Levelling::Dynamic);
    let short = matches!(policies.cache.admission, Admission::ShortRuns { .. });
    let generations = matches!(policies.streams, Streams::Generations(_));
    let swept = matches!(policies.levelling, Levelling::SwLeveler { .. });
    let map = "with a map of blocks";
    let (policy, size) = ("with this policy", "with single_bit_cache.size = \"none\"");
    let all = [
        idle(&["collection"], !blocks, map, "blocks are merged there: set mapping.kind=page"),
        idle(
            &["mapping.fixed"],
            !blocks || logged,
            "with ordinary cells",
            "set mapping.cells=single-bit",
        ),
        idle(&["single_bit_cache.blocks"], on, size, "set the size to fixed or dynamic"),
        idle(&CACHE, on, size, "set the size to fixed or dynamic"),
        idle(&RUNS, short, "with this admission", "set single_bit_cache.admission=short-runs"),
        idle(
            &["single_bit_cache.fold_after"],
            policies.cache.fold_after.is_some(),
            "with fold_when_idle = false",
            "set single_bit_cache.fold_when_idle=true",
        ),
        idle(&SINGLE_BIT, on || logged, "without single-bit cells", "set a cache of them"),
        idle(
            &["collection.blocks"],
            blocks || counted,
            policy,
            "it is for windowed-greedy, choices and cost-benefit",
        ),
        idle(
            &["collection.generations"],
            blocks || generations,
            "with these streams",
            "set streams=generations",
        ),
        idle(
            &["levelling.threshold", "levelling.when"],
            moving,
            policy,
            "it is for policies that move data",
        ),
        idle(&["levelling.shift"], swept, policy, "it is for sw-leveler"),
    ];
    all.into_iter().collect()
}

/// The keys that choose whether `key` counts; none where nothing else in the part does.
pub fn choosers(key: &str) -> &'static [&'static str] {
    match key {
        "collection" => &["mapping.kind"],
        "collection.blocks" => &["collection.policy"],
        "collection.generations" => &["collection.streams"],
        "mapping.fixed" => &["mapping.cells"],
        key if RUNS.contains(&key) => &["single_bit_cache.admission"],
        key if CACHE.contains(&key) || key == "single_bit_cache.blocks" => {
            &["single_bit_cache.size"]
        }
        key if SINGLE_BIT.contains(&key) => &["single_bit_cache.size", "mapping.cells"],
        _ => &[],
    }
}

/// Keys of the cache, apart from its size.
const CACHE: [&str; 5] = [
    "single_bit_cache.admission",
    "single_bit_cache.when_full",
    "single_bit_cache.folding",
    "single_bit_cache.fold_when_idle",
    "single_bit_cache.fold_after",
];
/// Keys of an admission by runs.
const RUNS: [&str; 2] = ["single_bit_cache.run_pages", "single_bit_cache.run_streams"];
/// What cells are when they are used with one bit.
const SINGLE_BIT: [&str; 3] = ["flash.single_bit", "flash.cell", "endurance.single_bit_wear"];
