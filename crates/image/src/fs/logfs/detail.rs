//! What the superblock says, as a table.
//!
//! Layer: rank 7.

use crate::audit::Audit;
use crate::shape::Shape;
use boardlab_logfs::format::Superblock;
use boardlab_result::{Cell, Row, Table};
use boardlab_sim::Bytes;

/// The table of a filesystem.
pub(super) fn filesystem(superblock: &Superblock, audit: Option<&Audit>) -> Table {
    let size = |shift: u8| Cell::text(Bytes::new(1 << shift).to_string());
    let segments = superblock.size >> superblock.segment_shift;
    let journal: Vec<String> =
        superblock.journal.iter().filter(|&&it| it > 0).map(ToString::to_string).collect();
    let count = |of: fn(&Audit) -> u64| audit.map_or(Cell::none(), |it| Cell::int(of(it)));
    Table::new("filesystem", "Filesystem")
        .of([(Row::new("logfs", ""), ())])
        .column("segment_count", "segments", |()| Cell::int(segments))
        .column("segment", "segment", |()| size(superblock.segment_shift))
        .column("write_size", "written at once", |()| size(superblock.write_shift))
        .column("journal", "journal segments", |()| Cell::text(journal.join(", ")))
        .column("reserve_count", "reserve for bad ones", |()| {
            Cell::int(u64::from(superblock.bad_segment_reserve))
        })
        .column("checked_count", "objects checked", |()| count(|audit| audit.nodes))
        .column("damaged_count", "of them damaged", |()| count(|audit| audit.damaged))
        .table()
}

/// The warning for a file without OOB bytes.
pub(super) fn without_spare(shape: Shape) -> Option<String> {
    let text = "The file has no OOB bytes. If it is of NAND, its files are the same, but bit errors cannot be corrected \
                and bad blocks cannot be recognised. `nanddump --oob --bb=dumpbad` dumps the OOB bytes.";
    (shape.oob.is_zero() && shape.is_nand()).then(|| text.into())
}
