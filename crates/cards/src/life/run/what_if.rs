//! The alternatives to a card and its load.
//!
//! Layer: rank 10. Main type: [`Choice`]; function: [`choices`]. Each alternative is the card or its
//! load with one thing changed, or another card.

use super::model::lacks;
use crate::life::scenario::Scenario;
use boardlab_document::error::Error;
use boardlab_document::source::Kind;
use boardlab_ftl::{CacheSize, Levelling};
use boardlab_parts::card::part::{self, CardPart};
use boardlab_parts::catalog;

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

/// The other cards; `all` stands for every built-in one with a life, `none` for none.
fn parts(scenario: &Scenario) -> Result<Vec<Choice>, Error> {
    let names = scenario.what_if.parts.as_str();
    let built_in = catalog::parts().iter().filter(|part| part.path.starts_with("parts/sd/"));
    let wanted: Vec<&str> = match names {
        "all" => built_in.map(|part| part.name).collect(),
        "none" => Vec::new(),
        names => names.split(',').map(str::trim).collect(),
    };
    let mut choices = Vec::new();
    for name in wanted {
        let document = catalog::read(Kind::Part, name)?;
        let part: CardPart = document.read(part::read)?.value;
        let fits = scenario.host.slot(part.face.kind).is_some();
        if part == scenario.part || lacks(&part).is_some() || (names == "all" && !fits) {
            continue;
        }
        let (id, title) = (format!("part-{name}"), part.name.clone());
        let scenario = Scenario { part, ..scenario.clone() };
        choices.push(Choice { id, title, scenario, other_card: true });
    }
    Ok(choices)
}
