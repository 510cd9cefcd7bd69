//! The alternatives to a card and its load.
//!
//! Layer: rank 10. Main type: [`Choice`]; function: [`choices`]. Each alternative is the card or its
//! load with one thing changed, or another card.

use super::model::lacks;
use crate::life::scenario::Scenario;
use crate::others::{NamedCard, others};
use boardlab_document::error::Error;
use boardlab_ftl::{CacheSize, Levelling};

/// An alternative.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    /// The name of its row.
    pub(crate) id: String,
    /// What it changes.
    pub(crate) title: String,
    /// The scenario with that change.
    pub(crate) scenario: Scenario,
    /// Whether the load must be recorded again: the card's pages may have another size.
    pub(crate) other_card: bool,
}

/// All choices to try.
pub(crate) fn choices(scenario: &Scenario) -> Result<Vec<Choice>, Error> {
    let (managed, what_if) = (&scenario.part.managed, &scenario.what_if);
    let mut all = Vec::new();
    let mut add = |id: &str, title: String, change: &dyn Fn(&mut Scenario)| {
        let mut scenario = scenario.clone();
        change(&mut scenario);
        all.push(Choice { id: id.into(), title, scenario, other_card: false });
    };
    let threshold = u32::try_from(what_if.threshold).unwrap_or(u32::MAX);
    for (id, title, levelling) in [
        ("levelling-none", "no wear levelling".to_owned(), Levelling::None),
        ("levelling-dynamic", "dynamic wear levelling".into(), Levelling::Dynamic),
        (
            "levelling-static",
            format!("static wear levelling, threshold {threshold}"),
            Levelling::Threshold(threshold),
        ),
    ] {
        if levelling != managed.policies.levelling {
            add(id, title, &|one| one.part.managed.policies.levelling = levelling);
        }
    }
    if what_if.over_provisioning > managed.over_provisioning {
        let title =
            format!("{} spare instead of {}", what_if.over_provisioning, managed.over_provisioning);
        add("spare", title, &|one| one.part.managed.over_provisioning = what_if.over_provisioning);
    }
    let blocks = u32::try_from(what_if.slc_cache_blocks).unwrap_or(u32::MAX);
    let size = CacheSize::Dynamic(blocks);
    if managed.policies.cache.size != size {
        let title = format!("an SLC cache of {blocks} free blocks");
        add("cache", title, &|one| one.part.managed.policies.cache.size = size);
    }
    if scenario.days.stale {
        let title = "what the load never touches is given up (TRIM)".into();
        add("trim", title, &|one| one.days.stale = false);
    }
    all.extend(parts(scenario)?);
    Ok(all)
}

/// The other cards that have a life.
fn parts(scenario: &Scenario) -> Result<Vec<Choice>, Error> {
    let others = others(&scenario.what_if.parts, None, &scenario.host)?;
    let others = others.into_iter();
    let mortal = others.filter(|one| one.part != scenario.part && lacks(&one.part).is_none());
    let choice = |NamedCard { name, part }: NamedCard| {
        let (id, title) = (format!("part-{name}"), part.name.clone());
        let scenario = Scenario { part, ..scenario.clone() };
        Choice { id, title, scenario, other_card: true }
    };
    Ok(mortal.map(choice).collect())
}
