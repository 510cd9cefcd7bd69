//! Parts and devices that the tests share.

#![allow(dead_code, reason = "no test uses all of it")]
#![allow(clippy::unwrap_used, reason = "the helpers of a test panic like the test")]

use boardlab_media::{CellKind, ErrorRates, NandGeometry};
use boardlab_nand::chip::{Die, Setup};
use boardlab_nand::part::{BadMarks, BusWidth, EccNeed, Interface, Onfi, Part, TimeLimit, Timing};
use boardlab_nand::{Nand, Port, PortTiming, Profile};
use boardlab_sim::{Bytes, Clock, Duration, Hertz, QuantileTable, Seed};
use std::sync::Arc;

pub(crate) fn micros(count: u64) -> Duration {
    Duration::from_micros(count)
}

pub(crate) fn nanos(count: u64) -> Duration {
    Duration::from_nanos(count)
}

pub(crate) fn timed(typical: Duration, max: Duration) -> TimeLimit {
    TimeLimit { time: QuantileTable::constant(typical), max }
}

/// The class of the evaluation's part: 2 KiB + 64 B, 64 pages a block, 50 ns cycles.
pub(crate) fn large(blocks: u32) -> Part {
    Part {
        name: "large".into(),
        interface: Interface::Parallel(BusWidth::X8),
        geometry: NandGeometry {
            blocks,
            pages_per_block: 64,
            page: Bytes::new(2_048),
            oob: Bytes::new(64),
        },
        cell: CellKind::Slc,
        programs_per_page: 4,
        identity: vec![0x20, 0xDA, 0x10, 0x95],
        onfi: None,
        timing: Timing {
            read: QuantileTable::constant(micros(25)),
            program: timed(micros(200), micros(700)),
            erase: timed(micros(2_000), micros(3_000)),
            write_cycle: nanos(50),
            read_cycle: nanos(50),
            write_to_busy: nanos(100),
            ready_to_read: nanos(20),
            write_to_read: nanos(60),
            address_to_data: nanos(100),
            reset: micros(500),
        },
        endurance: 100_000,
        bad_blocks_max: 40,
        bad_marks: BadMarks::FIRST_TWO,
        ecc: EccNeed { bits: 1, step: Bytes::new(512) },
        on_die_ecc: None,
    }
}

/// 512 + 16 B, 32 pages a block.
pub(crate) fn small(blocks: u32) -> Part {
    let geometry =
        NandGeometry { blocks, pages_per_block: 32, page: Bytes::new(512), oob: Bytes::new(16) };
    let identity = vec![0xEC, 0x75];
    Part { name: "small".into(), geometry, identity, programs_per_page: 3, ..large(1) }
}

/// 4 KiB + 224 B of two bits a cell, BCH of 8 bits, with a parameter page.
pub(crate) fn mlc(blocks: u32) -> Part {
    let geometry = NandGeometry {
        blocks,
        pages_per_block: 128,
        page: Bytes::new(4_096),
        oob: Bytes::new(224),
    };
    Part {
        name: "mlc".into(),
        geometry,
        cell: CellKind::Mlc,
        programs_per_page: 1,
        endurance: 5_000,
        ecc: EccNeed { bits: 8, step: Bytes::new(512) },
        onfi: Some(Onfi {
            revision: 2,
            features: 0,
            optional_commands: 0x0008,
            manufacturer: "BOARDLAB".into(),
            model: "TEST".into(),
            timing_modes: 0x1F,
        }),
        ..large(1)
    }
}

/// The class of the W25N01GV: serial, four lines, one bit corrected in the chip.
pub(crate) fn serial(blocks: u32) -> Part {
    Part {
        name: "serial".into(),
        interface: Interface::Spi { clock: Hertz::from_hz(100_000_000), lanes: 4 },
        identity: vec![0xEF, 0xAA, 0x21],
        on_die_ecc: Some(EccNeed { bits: 1, step: Bytes::new(512) }),
        timing: Timing { write_to_busy: Duration::ZERO, ..large(1).timing },
        ..large(blocks)
    }
}

pub(crate) fn profile(part: &Part) -> Profile {
    Profile::linux_6_1(part).unwrap()
}

pub(crate) fn port(part: Part, setup: &Setup) -> Port {
    Port::new(Die::new(Arc::new(part), setup).unwrap(), PortTiming::default()).unwrap()
}

pub(crate) fn nand_with(part: Part, profile: Profile, setup: &Setup) -> (Nand, Clock) {
    let mut clock = Clock::new();
    let nand = Nand::attach(port(part, setup), profile, &mut clock).unwrap();
    (nand, clock)
}

/// A perfect device with the driver of Linux 6.1.
pub(crate) fn nand(part: Part) -> (Nand, Clock) {
    let profile = profile(&part);
    nand_with(part, profile, &Setup::perfect(Seed::new(1)))
}

pub(crate) fn setup(seed: u64, errors: Option<ErrorRates>) -> Setup {
    Setup { errors, ..Setup::perfect(Seed::new(seed)) }
}
