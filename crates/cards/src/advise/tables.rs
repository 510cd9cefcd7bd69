//! The tables of an advice.
//!
//! Layer: rank 10. Function: [`all`].

use super::rank::{Advice, Ranked};
use crate::life::tables::years;
use boardlab_experiment::limits::{self, missed_by_name};
use boardlab_result::{Cell, Row, Table};
use boardlab_sd::Kind;

/// All tables, the cards in their order.
pub(super) fn all(advice: &Advice) -> Vec<Table> {
    let ranked = &advice.ranked;
    let limits =
        limits::table("card-advise-limits", ranked.iter().map(|one| (one.name(), &*one.held)));
    let mut all = vec![ranking(ranked), limits];
    all.retain(|table| !table.rows.is_empty());
    all
}

fn ranking(ranked: &[Ranked]) -> Table {
    let lasts = |end: Option<f64>| end.map(|end| Cell::real(years(end)));
    let rows = ranked.iter().map(|one| (Row::new(one.name(), "").at_the_head(), one));
    Table::new("card-advise", "The cards, the best first")
        .of(rows)
        .column("kind", "kind", |one| {
            Cell::text(match one.candidate.kind {
                Kind::Sd => "SD",
                Kind::Emmc => "eMMC",
            })
        })
        .column("missed_count", "limits missed", |one| {
            Cell::int(u64::try_from(one.missed()).expect("a count fits u64"))
        })
        .column("missed", "which", |one| missed_by_name(&one.held))
        .column("life_years", "years, 5 % of cards", move |one| lasts(one.candidate.lived.earliest))
        .column("median_years", "years, 50 %", move |one| lasts(one.candidate.lived.median))
        .column("capacity_bytes", "capacity", |one| Cell::int(one.candidate.capacity.get()))
        .column("rate_bytes_per_s", "writes of the job", |one| Cell::int(one.candidate.jobs.rate))
        .column("latency_ns", "99 % of them", |one| {
            Cell::int(one.candidate.jobs.latency.as_nanos())
        })
        .column("longest_ns", "longest", |one| Cell::int(one.candidate.jobs.longest.as_nanos()))
        .column("slowed", "slowed by", |one| {
            one.candidate.jobs.slowed.as_ref().map(|slowed| Cell::text(slowed.cause.as_str()))
        })
        .table()
}
