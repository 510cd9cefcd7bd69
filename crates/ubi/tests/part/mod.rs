//! A part of NAND flash for the tests and the benchmark.

use boardlab_media::{CellKind, NandGeometry};
use boardlab_nand::part::{BadMarks, BusWidth, EccNeed, Interface, Part, TimeLimit, Timing};
use boardlab_sim::{Bytes, Duration, QuantileTable};

/// The class of the evaluation's part with other blocks.
pub(crate) fn part(blocks: u32, pages_per_block: u32) -> Part {
    let time = |micros| QuantileTable::constant(Duration::from_micros(micros));
    let limited = |micros, max| TimeLimit { time: time(micros), max: Duration::from_micros(max) };
    let nanos = Duration::from_nanos;
    Part {
        name: format!("{blocks} blocks of {pages_per_block} pages"),
        interface: Interface::Parallel(BusWidth::X8),
        geometry: NandGeometry {
            blocks,
            pages_per_block,
            page: Bytes::new(2_048),
            oob: Bytes::new(64),
        },
        cell: CellKind::Slc,
        programs_per_page: 4,
        identity: vec![0x20, 0xDA, 0x10, 0x95],
        onfi: None,
        timing: Timing {
            read: time(25),
            program: limited(200, 700),
            erase: limited(2_000, 3_000),
            write_cycle: nanos(50),
            read_cycle: nanos(50),
            write_to_busy: nanos(100),
            ready_to_read: nanos(20),
            write_to_read: nanos(60),
            address_to_data: nanos(100),
            reset: Duration::from_micros(500),
        },
        endurance: 100_000,
        bad_blocks_max: 4,
        bad_marks: BadMarks::FIRST_TWO,
        ecc: EccNeed { bits: 1, step: Bytes::new(512) },
        on_die_ecc: None,
    }
}
