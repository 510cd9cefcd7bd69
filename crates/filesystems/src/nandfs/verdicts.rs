//! The published figures beside ours, and the parameters that they depend on.
//!
//! Layer: rank 10. Functions: [`verdicts`], [`name_parameters`]. Rows with the fitted port are inputs.

use super::findings::Explaining;
use super::fs::FileSystemType;
use super::judgements::Judging;
use super::run::measure::PHASES;
use boardlab_document::error::Error;
use boardlab_experiment::reference::{Reference, ReferenceTable};
use boardlab_experiment::verdict::{self, Rules, apply, is_of};
use boardlab_result::RunResult;

/// Puts the published figures beside ours and gives the verdicts.
pub(super) fn verdicts(
    run: &mut RunResult,
    reference: &Reference,
    (explaining, judging): (&[Explaining], Option<&Judging>),
) -> Result<(), Error> {
    for table in &mut run.tables {
        let id = table.id.strip_suffix("-fitted").unwrap_or(&table.id).to_owned();
        let Ok(published) = reference.table(&id) else { continue };
        let rules = match table.id.as_str() {
            "table2.1" => explaining.iter().fold(Rules::default(), |rules, one| {
                // Compression is a setting, and taken from this table.
                let rules = ["since", "stability", "compression"]
                    .into_iter()
                    .fold(rules, |rules, row| rules.input(row, one.system));
                match judging {
                    Some(judging) => rules.explained("wear", one.system, judging.wear),
                    None => rules,
                }
            }),
            "table3.7" => by_one(published, "system", judging.map(|one| one.products)),
            "table3.8" => by_one(published, "wanted", judging.map(|one| one.wishes)),
            id => explaining
                .iter()
                .fold(Rules::default(), |rules, one| one.rules(rules, (id, published))),
        };
        apply(table, published, &rules)?;
    }
    Ok(())
}

/// The rules about a column whose cells one finding explains.
fn by_one(published: &ReferenceTable, column: &str, finding: Option<usize>) -> Rules {
    published.rows.iter().fold(Rules::default(), |rules, row| match finding {
        Some(finding) => rules.explained(&row.id, column, finding),
        None => rules,
    })
}

impl Explaining {
    /// The rules about the cells of a table.
    fn rules(&self, rules: Rules, (table, published): (&str, &ReferenceTable)) -> Rules {
        let Self { system, mount, listing, throughput, ram, metadata } = *self;
        let printed = |row: &str| published.cell(row, system).is_ok();
        match table {
            "table3.2" => rules.explained("mount", system, mount).explained("ls", system, listing),
            "table3.2-fitted" => rules.input("mount", system).input("ls", system),
            "table3.3" => {
                PHASES.iter().fold(rules, |rules, row| rules.explained(*row, system, throughput))
            }
            "table3.3-fitted" => PHASES.iter().fold(rules, |rules, row| rules.input(*row, system)),
            "table3.4" => rules.explained("ram", system, ram),
            "table3.6" if printed("mount") => rules
                .explained("mount", system, mount)
                .explained("throughput", system, throughput)
                .explained("ram", system, ram)
                .explained("flash", system, metadata),
            "table3.6" => rules,
            _ => rules.explained("metadata", system, metadata).explained("share", system, metadata),
        }
    }
}

/// Names the parameters that each table depends on.
pub(super) fn name_parameters(run: &mut RunResult, types: &[FileSystemType]) {
    const SHARED: [&str; 4] = ["part.", "kernel.", "board.cpu.", "board.nand_port."];
    let sections: Vec<_> = types.iter().map(|one| format!("{}.", one.name)).collect();
    verdict::name_parameters(run, |id, key| {
        let own: &[&str] = match id {
            _ if id.starts_with("table3.2") || id.starts_with("table3.4") => &["fill."],
            "table2.1" | "table2.1-wear" => &["grades.wear."],
            "table3.6" | "table3.6-figures" | "table3.7" | "table3.8" => {
                &["fill.", "tiobench.", "board.memory.", "grades."]
            }
            _ if id.starts_with("table3.3") => &["tiobench.", "board.memory."],
            "fit" => &["fill.", "tiobench.", "board.memory."],
            _ => &[],
        };
        if key.starts_with("board.nand_port.fitted") {
            return id.ends_with("-fitted") || id.ends_with("-counts") || id == "fit";
        }
        let counted = id.starts_with("table3.4") || id == "table3.5";
        let timed = is_of(key, &["board.", "part.timing."]);
        let of_systems = sections.iter().any(|section| key.starts_with(section));
        (of_systems || is_of(key, &SHARED) || is_of(key, own)) && !(counted && timed)
    });
}
