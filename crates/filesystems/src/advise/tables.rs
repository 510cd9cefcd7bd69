//! The tables of an advice.
//!
//! Layer: rank 10. Function: [`all`].

use super::rank::{Advice, Ranked};
use super::scenario::Scenario;
use crate::nandfs::run::measure::memory;
use crate::nandfs::tables::{at_the_head, samples};
use boardlab_experiment::limits::{self, missed, missed_by_name};
use boardlab_result::prose::round;
use boardlab_result::{Cell, Row, Table};

/// All tables, the candidates in their order.
pub(super) fn all(advice: &Advice, scenario: &Scenario) -> Vec<Table> {
    let ranked = &advice.ranked;
    let mut all = vec![
        at_the_head(ranking(ranked, scenario)),
        limits::table("advise-limits", ranked.iter().map(|one| (one.name(), &*one.held))),
        commands(ranked),
        order(advice),
        levels(ranked),
        chips(ranked),
    ];
    all.retain(|table| !table.rows.is_empty());
    let product = &scenario.product;
    let sampled = std::iter::once(&product.data).chain(&product.kinds);
    all.extend(samples(&sampled.filter_map(|data| data.sample()).collect::<Vec<_>>()));
    all
}

fn row(one: &Ranked) -> Row {
    Row::new(one.name(), "")
}

fn count(number: usize) -> Cell {
    Cell::int(u64::try_from(number).expect("a count fits u64"))
}

fn ranking(ranked: &[Ranked], scenario: &Scenario) -> Table {
    let product = &scenario.product;
    let table = Table::new("advise", "The filesystems, the best first")
        .of(ranked.iter().map(|one| (row(one), one)))
        .column("missed_count", "limits missed", |one| count(one.missed()))
        .column("missed", "which", |one| missed_by_name(&one.held))
        .column("mount_ns", "mount", |one| Cell::int(one.figures.mount.as_nanos()))
        .column("ls_ns", "first ls", |one| Cell::int(one.figures.ls.as_nanos()))
        .column("memory_bytes", "RAM after the mount", |one| Cell::int(one.figures.memory.get()))
        .column("life_years", "years it lasts", |one| Cell::real(round(one.figures.years, 2)))
        .column("room_bytes", "room for files", |one| Cell::int(one.figures.room.get()))
        .column("rate_bytes_per_s", "a long file", |one| Cell::real(one.figures.rate.round()))
        .column("durable_ns", "a synced writing", |one| {
            Cell::int(one.candidate.durable(product).as_nanos())
        });
    let table = match ranked.iter().any(|one| one.candidate.survived.is_some()) {
        true => table
            .column("cuts_count", "power cuts", |one| {
                one.candidate.survived.as_ref().map(|survived| Cell::int(survived.cuts))
            })
            .column("lost_count", "with a loss", |one| one.figures.lost.map(Cell::int)),
        false => table,
    };
    table.table()
}

fn commands(ranked: &[Ranked]) -> Table {
    Table::new("advise-commands", "What to type: an image of the folder `root`, then on the board")
        .of(ranked.iter().map(|one| (row(one), &one.candidate.choice)))
        .column("make", "image", |one| Cell::text(one.commands.make.clone()))
        .column("mount", "on the board", |one| Cell::text(one.commands.mount.clone()))
        .column("release", "kernels", |one| Cell::text(one.release.to_string()))
        .table()
}

fn order(advice: &Advice) -> Table {
    let best = advice.ranked[0].name();
    let title =
        "What would change the order; other sizes of the flash are estimated from empty ones";
    Table::new("advise-order", title)
        .of(advice.cases.iter().map(|one| (Row::new(one.case.as_str(), ""), one)))
        .column("first", "first comes", |one| {
            one.best.as_ref().map(|(name, _)| Cell::text(name.as_str()))
        })
        .column("changes", "another one", move |one| {
            let other = one.best.as_ref().is_none_or(|(name, _)| name != best);
            Cell::text(if other { "yes" } else { "no" })
        })
        .column("missed_count", "limits it misses", |one| {
            one.best.as_ref().map(|(_, held)| count(missed(held)))
        })
        .column("refused_count", "that cannot be run", |one| count(one.refused.len()))
        .table()
}

fn levels(ranked: &[Ranked]) -> Table {
    let rows = ranked.iter().flat_map(|one| {
        let each = one.candidate.mountings().iter();
        each.map(|mount| (Row::new(format!("{}/{}", one.name(), mount.level), ""), mount))
    });
    Table::new("advise-levels", "Mount, first ls and RAM by fill level")
        .of(rows)
        .column("files_count", "files", |one| Cell::int(one.files))
        .column("mount_ns", "mount", |one| Cell::int(one.mount.time.as_nanos()))
        .column("ls_ns", "first ls", |one| Cell::int(one.ls.time.as_nanos()))
        .column("memory_bytes", "RAM after the mount", |one| Cell::int(memory(&one.mounted).get()))
        .table()
}

fn chips(ranked: &[Ranked]) -> Table {
    let rows = ranked.iter().flat_map(|one| {
        let each = one.candidate.chips.iter();
        each.map(|chip| (Row::new(format!("{}/{}", one.name(), chip.size), ""), chip))
    });
    Table::new("advise-chips", "Mount and RAM of an empty filesystem by size of the flash")
        .of(rows)
        .column("mount_ns", "mount", |one| Cell::int(one.mount.time.as_nanos()))
        .column("memory_bytes", "RAM after the mount", |one| Cell::int(one.memory.get()))
        .table()
}
