//! The damage of an image as tables and warnings, the same for every command.
//!
//! Layer: rank 7. Main function: [`tell`]. Places are given as block, page and ECC step of the
//! flash, and as offset in the file. The tables are bounded, and state how much they omit.

use super::place;
use crate::damage::{Damage, Paths};
use crate::health::Step;
use boardlab_result::prose::counted;
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::Bytes;

/// The row limit of a table.
pub(super) const ROWS: usize = 1_000;

/// Adds the damage to `run`. `paths` are the known paths of inodes.
pub(super) fn tell(run: &mut RunResult, damage: &Damage, paths: &Paths) {
    if !damage.steps.is_empty() {
        run.tables.push(steps(damage, paths));
    }
    if !damage.audit.places.is_empty() || !damage.unreadable.is_empty() {
        run.tables.push(places(damage, paths));
    }
    run.warnings.extend(warnings(damage));
}

/// The path of an inode, or its number.
fn name(ino: u32, paths: &Paths) -> String {
    paths.get(&ino).cloned().unwrap_or_else(|| format!("inode {ino}"))
}

fn names(inodes: &[u32], paths: &Paths) -> Cell {
    let names: Vec<_> = inodes.iter().map(|&ino| name(ino, paths)).collect();
    if names.is_empty() { Cell::none() } else { Cell::text(names.join(", ")) }
}

/// Uncorrectable steps come first.
fn steps(damage: &Damage, paths: &Paths) -> Table {
    let mut table = Table::new("correction", "Error correction, with what lies in the step")
        .column("block", "block")
        .column("page", "page")
        .column("step", "step")
        .column("at", "at")
        .column("result", "result")
        .column("of", "of");
    let (lost, corrected): (Vec<_>, Vec<_>) =
        damage.steps.iter().partition(|touched| touched.step.bits.is_none());
    for (number, touched) in (1..).zip(lost.into_iter().chain(corrected).take(ROWS)) {
        let at = damage.places.of_step(&touched.step).start;
        let row = Row::new(number.to_string(), "")
            .cell("block", Cell::int(damage.places.block(at)))
            .cell("page", damage.places.page(at).map_or(Cell::none(), Cell::int))
            .cell("step", Cell::int(touched.step.step))
            .cell("at", Cell::text(place(damage.places.in_file(at))))
            .cell("result", Cell::text(result(&touched.step)))
            .cell("of", names(&touched.inodes, paths));
        table.rows.push(row);
    }
    table
}

fn result(step: &Step) -> String {
    match step.bits {
        None => "uncorrectable".into(),
        Some(1) => "1 bit corrected".into(),
        Some(bits) => format!("{bits} bits corrected"),
    }
}

fn places(damage: &Damage, paths: &Paths) -> Table {
    let mut table = Table::new("damage", "Damage, after correction")
        .column("block", "block")
        .column("page", "page")
        .column("at", "at")
        .column("what", "what is there")
        .column("meaning", "what is lost")
        .column("of", "of");
    let int = |value: Option<u64>| value.map_or(Cell::none(), Cell::int);
    let mut add = |at: Option<Bytes>, what: String, meaning: &str, of: Cell| {
        let in_file = at.map(|at| Cell::text(place(damage.places.in_file(at))));
        let row = Row::new((table.rows.len() + 1).to_string(), "")
            .cell("block", int(at.map(|at| damage.places.block(at))))
            .cell("page", int(at.and_then(|at| damage.places.page(at))))
            .cell("at", in_file.unwrap_or(Cell::none()))
            .cell("what", Cell::text(what))
            .cell("meaning", Cell::text(meaning))
            .cell("of", of);
        table.rows.push(row);
    };
    for unit in damage.unreadable.iter().take(ROWS) {
        let (at, what) = (damage.places.unit * *unit, "the file cannot be read here");
        add(Some(at), what.into(), "lost; names or files may be missing", Cell::none());
    }
    // The most important first.
    let (first, rest): (Vec<_>, Vec<_>) =
        damage.audit.places.iter().partition(|place| place.is_loss);
    for place in first.into_iter().chain(rest).take(ROWS) {
        let of = place.ino.map_or(Cell::none(), |ino| Cell::text(name(ino, paths)));
        add(place.at, place.what.clone(), place.meaning, of);
    }
    table
}

fn warnings(damage: &Damage) -> Vec<String> {
    let mut warnings = Vec::new();
    let Damage { corrected_bits, uncorrectable_steps, audit, .. } = damage;
    if *corrected_bits > 0 {
        let steps = damage.steps.len() as u64 - uncorrectable_steps;
        warnings.push(format!(
            "ECC corrected {} in {}: none of these data are lost.",
            counted(*corrected_bits, "bit error"),
            counted(steps, "ECC step"),
        ));
    }
    if *uncorrectable_steps > 0 {
        warnings.push(format!(
            "{} could not be corrected: see the table of the correction.",
            counted(*uncorrectable_steps, "ECC step"),
        ));
    }
    if !damage.unreadable.is_empty() {
        let places = counted(damage.unreadable.len(), "place");
        warnings.push(format!("{places} of the file cannot be read."));
    }
    for block in &audit.doubtful_blocks {
        warnings.push(format!(
            "Block {block} is left out because it is marked bad, although by only one or two bits and although it has nodes."
        ));
    }
    if audit.unknown_loss {
        warnings
            .push("Some of the loss cannot be attributed: names or files may be missing.".into());
    }
    if let Some(needed) = damage.truncated {
        let needed = needed.get();
        warnings.push(format!("The file is truncated: it should have at least {needed} bytes."));
    }
    warnings.extend(audit.foreign.clone());
    let rows = damage.steps.len().max(audit.places.len()) as u64;
    if rows > ROWS as u64 || audit.more > 0 {
        warnings.push(format!(
            "Only {ROWS} rows of a table of damage are shown; there are {} and {}.",
            counted(damage.steps.len(), "ECC step"),
            counted(audit.places.len() as u64 + audit.more, "place"),
        ));
    }
    warnings
}
