//! The tables of a fio bench beside fio's own: the causes of slow requests, and the work of the flash.
//!
//! Layer: rank 10. Functions: [`causes`], [`flash`], [`operations`].

use super::run::device::{Device, DeviceWork};
use boardlab_block::{Cause, Kind, Stats};
use boardlab_result::prose::float;
use boardlab_result::{Cell, Row, Table};

/// Requests by kind and by what slowed them; no table when there was no request.
pub(super) fn causes(stats: &Stats) -> Option<Table> {
    let all = Kind::ALL.into_iter().flat_map(|kind| {
        stats.of(kind).by_cause().map(move |(cause, slowed)| {
            let id =
                format!("{}.{}", kind.name(), cause.map_or("none", Cause::name).replace(' ', "_"));
            (Row::new(id, ""), slowed)
        })
    });
    let table = Table::new("causes", "Requests by what slowed them")
        .of(all)
        .column("requests_count", "requests", |one| Cell::int(one.requests))
        .column("moved_bytes", "bytes", |one| Cell::int(one.bytes.get()))
        .column("mean_ns", "mean time", |one| Cell::int(one.time.as_nanos() / one.requests))
        .column("max_ns", "longest", |one| Cell::int(one.slowest.as_nanos()))
        .table();
    (!table.rows.is_empty()).then_some(table)
}

/// What device and flash did for the jobs: `did`, in all.
pub(super) fn flash(device: &Device, did: &DeviceWork) -> Table {
    let (name, page, wear) =
        (device.name(), device.layer().page_size().get(), device.layer().wear());
    let (written, programs) = (did.counters.written, did.counters.programs.total());
    let amplification = float(programs) / float(written.max(1));
    let title =
        format!("What the {name} did for the jobs (factor: pages programmed for each of the host)");
    let int = |value: u64| move |_: &()| Cell::int(value);
    Table::new(name, title)
        .of([(Row::new("jobs", ""), ())])
        .column("commands_count", "commands", int(did.commands))
        .column("merged_count", "merged", int(did.merged))
        .column("written_bytes", "of the host", int(written * page))
        .column("programmed_bytes", "programmed", int(programs * page))
        .column("amplification", "factor", |()| Cell::real(amplification))
        .column("erases_count", "erases", int(did.erases))
        .column("most_worn_count", "most worn", int(wear.summary().most.into()))
        .column("bad_blocks_count", "bad", int(wear.retired.into()))
        .column("unreadable_count", "lost", int(wear.unreadable))
        .table()
}

/// What was programmed and read for the jobs, by cause.
pub(super) fn operations(device: &Device, did: &DeviceWork) -> Table {
    let (did, page) = (&did.counters, device.layer().page_size().get());
    let rows = did
        .programs
        .iter()
        .map(|(cause, programs)| (cause, [programs, did.reads[cause], did.erases[cause]]))
        .filter(|(_, counts)| counts.iter().any(|count| *count > 0))
        .map(|(cause, counts)| (Row::new(cause.name().replace(' ', "_"), ""), counts));
    Table::new("flash", "What the flash did for the jobs, by cause")
        .of(rows)
        .column("programmed_bytes", "programmed", |counts| Cell::int(counts[0] * page))
        .column("read_bytes", "read", |counts| Cell::int(counts[1] * page))
        .column("erases_count", "erases", |counts| Cell::int(counts[2]))
        .table()
}
