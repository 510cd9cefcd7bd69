//! Keys of managed flash that a choice elsewhere in the part leaves without use.
//!
//! Layer: rank 8. Function: [`by_choice`]. A file may keep such keys, so that the choice can be made on the command line
//! without taking them away; set by hand, they would do nothing.

use super::{Managed, Mapping};
use crate::document::{Read, Section};
use boardlab_ftl::{Admission, Collection, Levelling, LogCells, Streams};

/// Refuses in `--set` what of the part at the dotted path `part` is not used. `cache` says that the run tries a cache of
/// single-bit cells besides the part's own.
pub(crate) fn by_choice(
    section: &Section<'_>,
    part: &str,
    managed: &Managed,
    cache: bool,
) -> Read<()> {
    let idle = |keys: &[&str], used: bool, why: &str, help: &str| {
        let unused = keys.iter().filter(|_| !used);
        let each = unused.map(|key| section.idle(&format!("{part}.{key}"), why, help));
        each.collect::<Vec<_>>().into_iter().collect::<Read<()>>()
    };
    let policies = &managed.policies;
    let on = policies.cache.is_on();
    let logged = match managed.mapping {
        Mapping::LogBlocks(logs) => logs.cells != LogCells::Ordinary,
        Mapping::Page | Mapping::DemandPage { .. } => false,
    };
    let counted = matches!(
        policies.collection,
        Collection::WindowedGreedy(_) | Collection::Choices(_) | Collection::CostBenefit(_)
    );
    let moving = !matches!(policies.levelling, Levelling::None | Levelling::Dynamic);
    let short = matches!(policies.cache.admission, Admission::ShortRuns { .. });
    let generations = matches!(policies.streams, Streams::Generations(_));
    let swept = matches!(policies.levelling, Levelling::SwLeveler { .. });
    let (policy, size) = ("with this policy", "with single_bit_cache.size = \"none\"");
    let all = [
        idle(&["single_bit_cache.blocks"], on, size, "set the size to fixed or dynamic"),
        idle(&CACHE, on || cache, size, "set the size to fixed or dynamic"),
        idle(&RUNS, short, "with this admission", "set single_bit_cache.admission=short-runs"),
        idle(
            &["single_bit_cache.fold_after"],
            policies.cache.fold_after.is_some(),
            "with fold_when_idle = false",
            "set single_bit_cache.fold_when_idle=true",
        ),
        idle(&SINGLE_BIT, on || cache || logged, "without single-bit cells", "set a cache of them"),
        idle(
            &["collection.blocks"],
            counted,
            policy,
            "it is for windowed-greedy, choices and cost-benefit",
        ),
        idle(
            &["collection.generations"],
            generations,
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
