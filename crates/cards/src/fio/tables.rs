//! The tables of a fio bench beside fio's own: what slowed requests, and what the flash did.
//!
//! Layer: rank 10. Functions: [`causes`], [`flash`], [`operations`].

use super::run::device::{Device, Did};
use super::run::pace::{Pace, Slowed};
use boardlab_block::{Cause, Kind};
use boardlab_ftl::Counters;
use boardlab_result::prose::float;
use boardlab_result::{Cell, Row, Table};

/// What was counted before the jobs began.
pub(super) struct Before {
    counters: Counters,
    did: Did,
    erases: u64,
}

impl Before {
    pub(super) fn of(device: &Device) -> Self {
        let erases = device.layer().wear().summary().total;
        Self { counters: *device.layer().counters(), did: device.did(), erases }
    }
}

fn word(cause: Option<Cause>) -> &'static str {
    cause.map_or("none", Cause::name)
}

/// Requests by kind and by what slowed them; no table when there was no request.
pub(super) fn causes(pace: &Pace) -> Option<Table> {
    let all = Kind::ALL.into_iter().flat_map(|kind| {
        pace.slowed(kind).map(move |(cause, slowed)| {
            let id = format!("{}.{}", kind.name(), word(cause).replace(' ', "_"));
            (Row::new(id, ""), slowed)
        })
    });
    let rate = |slowed: &Slowed| {
        let nanos = u128::from(slowed.time.as_nanos().max(1));
        u64::try_from(u128::from(slowed.bytes) * 1_000_000_000 / nanos).unwrap_or(0)
    };
    let table = Table::new("causes", "Requests by what slowed them")
        .of(all)
        .column("requests_count", "requests", |one| Cell::int(one.requests))
        .column("moved_bytes", "bytes", |one| Cell::int(one.bytes))
        .column("bandwidth_bytes_per_s", "bandwidth", |one| Cell::int(rate(one)))
        .column("mean_ns", "mean time", |one| Cell::int(one.time.as_nanos() / one.requests))
        .column("max_ns", "longest", |one| Cell::int(one.slowest.as_nanos()))
        .table();
    (!table.rows.is_empty()).then_some(table)
}

/// What device and flash did for the jobs, in all.
pub(super) fn flash(device: &Device, before: &Before) -> Table {
    let (layer, name, ours) = (device.layer(), device.name(), device.did());
    let (did, wear) = (layer.counters().since(&before.counters), layer.wear());
    let (page, summary) = (layer.page_size().get(), wear.summary());
    let amplification = float(did.programs.total()) / float(did.written.max(1));
    let title =
        format!("What the {name} did for the jobs (factor: pages programmed for each of the host)");
    let int = |value: u64| move |_: &()| Cell::int(value);
    Table::new(name, title)
        .of([(Row::new("jobs", ""), ())])
        .column("commands_count", "commands", int(ours.commands - before.did.commands))
        .column("merged_count", "merged", int(ours.merged - before.did.merged))
        .column("written_bytes", "of the host", int(did.written * page))
        .column("programmed_bytes", "programmed", int(did.programs.total() * page))
        .column("amplification", "factor", |()| Cell::real(amplification))
        .column("erases_count", "erases", int(summary.total - before.erases))
        .column("most_worn_count", "most worn", int(summary.most.into()))
        .column("bad_blocks_count", "bad", int(wear.retired.into()))
        .column("unreadable_count", "lost", int(wear.unreadable))
        .table()
}

/// What was programmed and read for the jobs, by cause.
pub(super) fn operations(device: &Device, before: &Before) -> Table {
    let layer = device.layer();
    let (did, page) = (layer.counters().since(&before.counters), layer.page_size().get());
    let causes = did.programs.iter();
    let causes =
        causes.map(|(cause, programs)| (cause, [programs, did.reads[cause], did.erases[cause]]));
    let rows = causes
        .filter(|(_, counts)| counts.iter().any(|count| *count > 0))
        .map(|(cause, counts)| (Row::new(cause.name().replace(' ', "_"), ""), counts));
    Table::new("flash", "What the flash did for the jobs, by cause")
        .of(rows)
        .column("programmed_bytes", "programmed", |counts| Cell::int(counts[0] * page))
        .column("read_bytes", "read", |counts| Cell::int(counts[1] * page))
        .column("erases_count", "erases", |counts| Cell::int(counts[2]))
        .table()
}
