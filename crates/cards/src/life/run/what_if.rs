//! What else could be chosen, and what it would give.
//!
//! Layer: rank 10. Main type: [`Choice`]; function: [`choices`]. Each choice is the card or its load with one thing changed, or another card.

use super::model::lacks;
use crate::life::scenario::Scenario;
use boardlab_document::Document;
use boardlab_document::error::Error;
use boardlab_document::source::Kind;
use boardlab_ftl::{CacheSize, Levelling};
use boardlab_parts::card::part::{self, CardPart};
use boardlab_parts::catalog;

/// Something else that could be chosen.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    /// Its row.
    pub(crate) id: String,
    /// What it is.
    pub(crate) title: String,
    /// With its own card and load.
    pub(crate) scenario: Scenario,
    /// Whether the load must be recorded anew: pages of the card may have another size.
    pub(crate) other_card: bool,
}

/// All that are tried.
pub(crate) fn choices(scenario: &Scenario) -> Result<Vec<Choice>, Error> {
    let mut all = levellings(scenario);
    let what_if = &scenario.what_if;
    let same = |id: &str, title: String, change: &dyn Fn(&mut Scenario)| {
        let mut scenario = scenario.clone();
        change(&mut scenario);
        Choice { id: id.into(), title, scenario, other_card: false }
    };
    if what_if.over_provisioning > scenario.part.managed.over_provisioning {
        let title = format!(
            "{} spare instead of {}",
            what_if.over_provisioning, scenario.part.managed.over_provisioning
        );
        all.push(same("spare", title, &|one| {
            one.part.managed.over_provisioning = what_if.over_provisioning;
        }));
    }
    let blocks = u32::try_from(what_if.slc_cache_blocks).unwrap_or(u32::MAX);
    let cache = scenario.part.managed.policies.cache.size;
    if cache != CacheSize::Dynamic(blocks) {
        let title = format!("an SLC cache of {blocks} free blocks");
        all.push(same("cache", title, &|one| {
            one.part.managed.policies.cache.size = CacheSize::Dynamic(blocks);
        }));
    }
    if scenario.days.stale {
        let title = "what the load never touches is given up (TRIM)".into();
        all.push(same("trim", title, &|one| one.days.stale = false));
    }
    all.extend(parts(scenario)?);
    Ok(all)
}

fn levellings(scenario: &Scenario) -> Vec<Choice> {
    let threshold = u32::try_from(scenario.what_if.threshold).unwrap_or(u32::MAX);
    let named = [
        ("levelling-none", "no wear levelling".to_owned(), Levelling::None),
        ("levelling-dynamic", "dynamic wear levelling".into(), Levelling::Dynamic),
        (
            "levelling-static",
            format!("static wear levelling, threshold {threshold}"),
            Levelling::Threshold(threshold),
        ),
    ];
    let others = named
        .into_iter()
        .filter(|(_, _, levelling)| *levelling != scenario.part.managed.policies.levelling);
    let each = |(id, title, levelling): (&str, String, Levelling)| {
        let mut scenario = scenario.clone();
        scenario.part.managed.policies.levelling = levelling;
        Choice { id: id.into(), title, scenario, other_card: false }
    };
    others.map(each).collect()
}

/// Other cards; `all` for every built-in one that has a life, `none` for none.
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
        let document = Document::parse(&catalog::find(Kind::Part, name, None)?)?;
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
