//! The tables of a fio bench beside fio's own: what slowed requests, and what the flash did.
//!
//! Layer: rank 10. Functions: [`causes`], [`flash`], [`operations`].

use super::run::device::{Device, Did};
use super::run::pace::Pace;
use boardlab_block::{Cause, Kind};
use boardlab_ftl::Counters;
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
    let mut table = Table::new("causes", "Requests by what slowed them")
        .column("requests_count", "requests")
        .column("moved_bytes", "bytes")
        .column("bandwidth_bytes_per_s", "bandwidth")
        .column("mean_ns", "mean time")
        .column("max_ns", "longest");
    for kind in Kind::ALL {
        for (cause, slowed) in pace.slowed(kind) {
            let nanos = slowed.time.as_nanos();
            let rate = u128::from(slowed.bytes) * 1_000_000_000 / u128::from(nanos.max(1));
            let id = format!("{}.{}", kind.name(), word(cause).replace(' ', "_"));
            let row = Row::new(id, "")
                .cell("requests_count", Cell::int(slowed.requests))
                .cell("moved_bytes", Cell::int(slowed.bytes))
                .cell("bandwidth_bytes_per_s", Cell::int(u64::try_from(rate).unwrap_or(0)))
                .cell("mean_ns", Cell::int(nanos / slowed.requests))
                .cell("max_ns", Cell::int(slowed.slowest.as_nanos()));
            table.rows.push(row);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// What device and flash did for the jobs, in all.
pub(super) fn flash(device: &Device, before: &Before) -> Table {
    let (layer, name, ours) = (device.layer(), device.name(), device.did());
    let (did, wear) = (layer.counters().since(&before.counters), layer.wear());
    let (page, summary) = (layer.page_size().get(), wear.summary());
    #[allow(clippy::cast_precision_loss, reason = "a ratio for display")]
    let amplification = did.programs.total() as f64 / did.written.max(1) as f64;
    let mut table = Table::new(
        name,
        format!("What the {name} did for the jobs (factor: pages programmed for each of the host)"),
    )
    .column("commands_count", "commands")
    .column("merged_count", "merged")
    .column("written_bytes", "of the host")
    .column("programmed_bytes", "programmed")
    .column("amplification", "factor")
    .column("erases_count", "erases")
    .column("most_worn_count", "most worn")
    .column("bad_blocks_count", "bad")
    .column("unreadable_count", "lost");
    table.rows.push(
        Row::new("jobs", "")
            .cell("commands_count", Cell::int(ours.commands - before.did.commands))
            .cell("merged_count", Cell::int(ours.merged - before.did.merged))
            .cell("written_bytes", Cell::int(did.written * page))
            .cell("programmed_bytes", Cell::int(did.programs.total() * page))
            .cell("amplification", Cell::real(amplification))
            .cell("erases_count", Cell::int(summary.total - before.erases))
            .cell("most_worn_count", Cell::int(summary.most.into()))
            .cell("bad_blocks_count", Cell::int(wear.retired.into()))
            .cell("unreadable_count", Cell::int(wear.unreadable)),
    );
    table
}

/// What was programmed and read for the jobs, by cause.
pub(super) fn operations(device: &Device, before: &Before) -> Table {
    let layer = device.layer();
    let (did, page) = (layer.counters().since(&before.counters), layer.page_size().get());
    let mut table = Table::new("flash", "What the flash did for the jobs, by cause")
        .column("programmed_bytes", "programmed")
        .column("read_bytes", "read")
        .column("erases_count", "erases");
    for (cause, programs) in did.programs.iter() {
        let (reads, erases) = (did.reads[cause], did.erases[cause]);
        if programs + reads + erases == 0 {
            continue;
        }
        let row = Row::new(cause.name().replace(' ', "_"), "")
            .cell("programmed_bytes", Cell::int(programs * page))
            .cell("read_bytes", Cell::int(reads * page))
            .cell("erases_count", Cell::int(erases));
        table.rows.push(row);
    }
    table
}
