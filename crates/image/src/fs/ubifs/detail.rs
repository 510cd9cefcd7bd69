//! Everything that the superblock of a UBIFS says, and a survey of its nodes.
//!
//! Layer: rank 7. Functions: [`superblock`] and [`nodes`].

use crate::audit::Audit;
use boardlab_result::{Cell, Row, Table};
use boardlab_sim::Bytes;
use boardlab_ubifs::format::superblock::Superblock;

/// The name of a compressor.
pub(super) const fn compressor(number: u16) -> &'static str {
    match number {
        0 => "none",
        1 => "LZO",
        2 => "zlib",
        3 => "zstd",
        _ => "unknown",
    }
}

/// The superblock, one row a property.
pub(super) fn superblock(superblock: &Superblock) -> Table {
    let mut table = Table::new("superblock", "Superblock").column("value", "value");
    let mut add = |name: &str, cell| table.rows.push(Row::new(name, "").cell("value", cell));
    let size = |bytes: u64| Cell::text(Bytes::new(bytes).to_string());
    let version = match superblock.ro_compat_version {
        0 => format!("{}", superblock.fmt_version),
        read => format!("{}, read-only {read}", superblock.fmt_version),
    };
    add("format version", Cell::text(version));
    add("UUID", Cell::text(uuid(&superblock.uuid)));
    add("flags", Cell::text(flags(superblock.flags)));
    add("LEB size", size(superblock.leb_size.into()));
    add("smallest write", size(superblock.min_io.into()));
    add("LEBs", Cell::int(superblock.leb_count.into()));
    add("LEBs at most", Cell::int(superblock.max_leb_count.into()));
    add("log LEBs", Cell::int(superblock.log_lebs.into()));
    add("properties tree LEBs", Cell::int(superblock.lpt_lebs.into()));
    add("orphan LEBs", Cell::int(superblock.orph_lebs.into()));
    add("journal at most", size(superblock.max_bud_bytes));
    add("journal heads", Cell::int(u64::from(superblock.jhead_count).saturating_add(2)));
    add("index fanout", Cell::int(superblock.fanout.into()));
    add("compressor", Cell::text(compressor(superblock.default_compr)));
    add("hash of names", Cell::text(if superblock.test_hash { "test" } else { "r5" }));
    add("reserved pool", size(superblock.rp_size));
    add("its user and group", Cell::text(format!("{}:{}", superblock.rp_uid, superblock.rp_gid)));
    add("time granularity", Cell::text(format!("{} ns", superblock.time_gran)));
    table
}

fn uuid(bytes: &[u8; 16]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
    parts.join("-")
}

fn flags(flags: u32) -> String {
    const NAMES: [(u32, &str); 5] = [
        (Superblock::BIGLPT, "large properties tree"),
        (Superblock::SPACE_FIXUP, "fix up free space"),
        (Superblock::DOUBLE_HASH, "double hash"),
        (Superblock::ENCRYPTION, "encrypted"),
        (Superblock::AUTHENTICATION, "authenticated"),
    ];
    let mut words: Vec<String> = Vec::new();
    let known = NAMES.iter().fold(0, |known, (flag, _)| known | flag);
    words.extend(NAMES.iter().filter(|(flag, _)| flags & flag != 0).map(|(_, it)| (*it).into()));
    if flags & !known != 0 {
        words.push(format!("unknown {:#x}", flags & !known));
    }
    if words.is_empty() { "none".into() } else { words.join(", ") }
}

/// The nodes that the audit has verified, by their kind; `None` without any.
pub(super) fn nodes(audit: Option<&Audit>) -> Option<Table> {
    let kinds = &audit?.kinds;
    Table::new("nodes", "Nodes of the index")
        .of(kinds.iter().map(|(name, kind)| (Row::new(*name, ""), kind)))
        .column("node_count", "nodes", |kind| Cell::int(kind.nodes))
        .column("size_bytes", "bytes", |kind| Cell::int(kind.bytes))
        .column("damaged_count", "damaged", |kind| Cell::int(kind.damaged))
        .unless_empty()
}
