//! The IDENTIFY data of a drive, as a table of a result.
//!
//! Layer: rank 8. Function: [`identify_table`].

use boardlab_result::{Cell, Row, Table};
use boardlab_sata::wire::identify::{Feature, Identify};

/// The answer to IDENTIFY DEVICE as a table.
#[must_use]
pub fn identify_table(identify: &Identify) -> Table {
    let has = |there: bool| Cell::text(if there { "yes" } else { "no" });
    let feature = |one: Feature| has(one == Feature::On);
    let queue = identify.queue_depth.map_or_else(|| has(false), |depth| Cell::int(depth.into()));
    let rows = [
        ("model", "model", Cell::text(identify.model.clone())),
        ("serial", "serial number", Cell::text(identify.serial.clone())),
        ("firmware", "firmware", Cell::text(identify.firmware.clone())),
        ("sectors", "sectors", Cell::int(identify.sectors)),
        ("speed", "link, at most", Cell::text(identify.speed.to_string())),
        ("lba48", "48-bit commands", has(identify.lba_48)),
        ("queue", "queued commands", queue),
        ("trim", "TRIM", has(identify.trims)),
        ("write_cache", "write cache", feature(identify.write_cache)),
        ("look_ahead", "look-ahead", feature(identify.look_ahead)),
    ];
    Table::new("identify", "What a host reads of the drive (IDENTIFY DEVICE)")
        .column("value", "value")
        .with_rows(rows.map(|(id, title, cell)| Row::new(id, title).cell("value", cell)))
}
