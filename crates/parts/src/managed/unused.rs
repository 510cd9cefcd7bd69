//! Keys of managed flash that another key of the part makes useless.
//!
//! Layer: rank 8. Function: [`by_choice`]. A file may keep such keys, so that the command line can
//! change the other key without removing them. Set with `--set` they would have no effect, so they
//! are refused.

use super::{ManagedFlash, Mapping};
use boardlab_document::{Read, Section};
use boardlab_ftl::{Admission, Collection, Levelling, LogCells, Streams};

/// Refuses in `--set` the unused keys of the part at the dotted path `part`. `tried` says whether
/// the run also tries the part with other policies, with which a key has an effect.
pub fn by_choice(
    section: &Section<'_>,
    part: &str,
    managed: &ManagedFlash,
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
    let map = "with a block map";
    let (policy, size) = ("with this policy", "with slc_cache.size = \"none\"");
    let all = [
        idle(&["collection"], !blocks, map, "blocks are merged there: set mapping.kind=page"),
        idle(&["mapping.fixed"], !blocks || logged, "with ordinary cells", "set mapping.cells=slc"),
        idle(&["slc_cache.blocks"], on, size, "set the size to fixed or dynamic"),
        idle(&CACHE, on, size, "set the size to fixed or dynamic"),
        idle(&RUNS, short, "with this admission", "set slc_cache.admission=short-runs"),
        idle(
            &["slc_cache.fold_after"],
            policies.cache.fold_after.is_some(),
            "with fold_when_idle = false",
            "set slc_cache.fold_when_idle=true",
        ),
        idle(
            &SLC,
            on || logged,
            "without cells in SLC mode",
            "set slc_cache.size or mapping.cells",
        ),
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

/// The keys that decide whether `key` has an effect; none where it always has.
pub fn choosers(key: &str) -> &'static [&'static str] {
    match key {
        "collection" => &["mapping.kind"],
        "collection.blocks" => &["collection.policy"],
        "collection.generations" => &["collection.streams"],
        "mapping.fixed" => &["mapping.cells"],
        key if RUNS.contains(&key) => &["slc_cache.admission"],
        key if CACHE.contains(&key) || key == "slc_cache.blocks" => &["slc_cache.size"],
        key if SLC.contains(&key) => &["slc_cache.size", "mapping.cells"],
        _ => &[],
    }
}

/// Keys of the cache, apart from its size.
const CACHE: [&str; 5] = [
    "slc_cache.admission",
    "slc_cache.when_full",
    "slc_cache.folding",
    "slc_cache.fold_when_idle",
    "slc_cache.fold_after",
];
/// Keys of an admission by runs.
const RUNS: [&str; 2] = ["slc_cache.run_pages", "slc_cache.run_streams"];
/// Keys of the cells in SLC mode.
const SLC: [&str; 3] = ["flash.slc", "flash.cell", "endurance.slc_wear"];
