//! The published figures beside ours.
//!
//! Layer: rank 11. Functions: [`verdicts`], [`name_parameters`].

use super::findings::Explaining;
use boardlab_document::error::Error;
use boardlab_experiment::reference::{Reference, ReferenceTable};
use boardlab_experiment::verdict::{self, Rules, apply_each, is_of};
use boardlab_result::{Origin, RunResult};

/// How far ours is off the print, as a share of it.
pub(super) fn off(ours: f64, print: f64) -> f64 {
    ours / print - 1.0
}

/// Puts the published figures beside ours and gives the verdicts.
pub(super) fn verdicts(
    run: &mut RunResult,
    reference: &Reference,
    explaining: &Explaining,
) -> Result<(), Error> {
    let fitted = run.parameters.iter().filter(|one| one.origin == Origin::Fitted);
    let fitted: Vec<String> = fitted.map(|one| one.key.clone()).collect();
    apply_each(&mut run.tables, reference, |table, published| {
        rules(&table.id, published, explaining, &fitted)
    })
}

/// Cells that a parameter was fitted to, if it was, and that show nothing therefore.
const FITTED_TO: [(&str, &str, &str, &str); 10] = [
    ("board.sata_host.latency", "table5-1", "1", "read"),
    ("drives.intel-x25-e.flash.times.program", "table5-1", "mean", "write"),
    ("drives.g-monster-v2.flash.times.program", "table5-2", "mean", "write"),
    ("drives.g-monster-v2.flash.channel", "table5-2", "1", "read"),
    ("drives.g-monster-v2.housekeeping.pause", "table5-2", "512", "read"),
    ("drives.g-monster-v2.housekeeping.pause", "table6-1", "firmware", "read"),
    ("drives.transcend.flash.times.program", "table7-1", "transcend", "write"),
    ("drives.transcend.flash.channel", "table7-1", "transcend", "read"),
    ("drives.buffalo.flash.times.program", "table7-1", "buffalo", "write"),
    ("drives.buffalo.flash.channel", "table7-1", "buffalo", "read"),
];

fn rules(
    table: &str,
    published: &ReferenceTable,
    explaining: &Explaining,
    fitted: &[String],
) -> Rules {
    let mut rules = Rules::default();
    for row in &published.rows {
        for column in row.cells.keys() {
            let cell = (table, row.id.as_str(), column.as_str());
            let is_input = table == "table6-2" && matches!(cell.1, "firmware" | "sequencer");
            let is_fitted = FITTED_TO.iter().any(|(key, table, row, column)| {
                (*table, *row, *column) == cell && fitted.iter().any(|known| known == key)
            });
            rules = match explaining.of(cell) {
                _ if is_input || is_fitted => rules.input(&row.id, column),
                Some(finding) => rules.explained(&row.id, column, finding),
                None => rules,
            };
        }
    }
    rules
}

/// Names the parameters that each table depends on.
pub(super) fn name_parameters(run: &mut RunResult) {
    verdict::name_parameters(run, |table, key| {
        let own: &[&str] = match table {
            "table5-1" | "command-size" | "link-speed" => {
                &["drives.intel-x25-e.", "board.", "continuous."]
            }
            "table5-2" | "table6-1" | "write-cache" => {
                &["drives.g-monster-v2.", "board.", "continuous."]
            }
            "table6-2" => {
                &["board.sata_host.firmware.", "board.sata_host.sequencer.", "continuous."]
            }
            "table7-1" => &["drives.transcend.", "drives.buffalo.", "board.", "sweep."],
            "queue" => &["drives.example.", "board."],
            "figure4" | "means" => {
                &["drives.intel-x25-e.", "drives.g-monster-v2.", "board.", "continuous."]
            }
            "table2-1" | "shares" => &["drives.", "board.", "continuous.", "sweep."],
            _ => &[],
        };
        // The example is in no table but its own.
        is_of(key, own) && (own.len() == 2 || !key.starts_with("drives.example."))
    });
}
