//! The published figures beside ours, and the parameters that they depend on.
//!
//! Layer: rank 10. Functions: [`verdicts`], [`name_parameters`], [`clusters`]. The clusters of
//! experiment 2 are compared with, never steered towards.

use super::findings::Explaining;
use boardlab_document::error::Error;
use boardlab_experiment::reference::Reference;
use boardlab_experiment::verdict::{self, Rules, apply_each, is_of};
use boardlab_result::{Origin, RunResult};

/// The printed clusters of experiment 2 by row, in bytes a second; none without a print.
pub(super) fn clusters(print: Option<&Reference>) -> Result<Vec<(&'static str, f64)>, Error> {
    let Some(reference) = print else { return Ok(Vec::new()) };
    let each = ["upper", "middle", "lower"].into_iter();
    each.map(|row| Ok((row, reference.number("experiment2", row, "card")?))).collect()
}

/// Puts the published figures beside ours and gives the verdicts.
pub(super) fn verdicts(
    run: &mut RunResult,
    reference: &Reference,
    explaining: &Explaining,
) -> Result<(), Error> {
    let Explaining { rate, cycles, clusters } = *explaining;
    // A time that was chosen so that the rate comes out proves nothing by it.
    let fitted = run
        .parameters
        .iter()
        .any(|one| one.origin == Origin::Fitted && one.key.starts_with("part.flash.times."));
    apply_each(&mut run.tables, reference, |table, _| {
        if table.id == "experiment1" {
            let rules = Rules::default()
                .input("iterations", "card")
                .input("capacity", "card")
                .input("capacity", "same_volume")
                .input("written", "same_volume")
                .input("endurance", "card")
                .explained("written", "card", rate)
                .explained("cycles", "card", cycles)
                .explained("cycles", "same_volume", cycles);
            if fitted {
                rules.input("throughput", "card")
            } else {
                rules.explained("throughput", "card", rate)
            }
        } else {
            let rules = Rules::default().input("iterations", "card").input("rewrites", "card");
            ["upper", "middle", "lower"]
                .iter()
                .fold(rules, |rules, row| rules.explained(*row, "card", clusters))
        }
    })
}

/// Names the parameters that each table depends on.
pub(super) fn name_parameters(run: &mut RunResult) {
    verdict::name_parameters(run, |table, key| {
        let own: &[&str] = match table {
            "experiment1" | "experiment1-work" | "health" => {
                &["part.", "board.", "experiment1.", "wear."]
            }
            "experiment1-units" => &["part.capacity", "part.over_provisioning", "wear.volume"],
            "wear" | "wear-life" => &["part.", "wear.", "experiment1."],
            "power" => &["part.", "wear.", "experiment2."],
            "experiment2-kinds" => &[],
            _ => &["part.", "board.", "wear.", "experiment1.", "experiment2.", "controller."],
        };
        // Where blocks wear does not depend on how long anything takes.
        let counted = matches!(table, "wear" | "wear-life" | "power");
        let timed = [
            "part.flash.times.",
            "part.flash.slc.",
            "part.bus.",
            "part.controller.",
            "part.flash.channel",
        ];
        is_of(key, own) && !(counted && is_of(key, &timed))
    });
}
