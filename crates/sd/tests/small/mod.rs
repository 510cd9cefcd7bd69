//! A small card for tests: 64 MiB, pages of 16 KiB on two planes, blocks of 4 MiB.

#![allow(dead_code, reason = "no test uses all of it")]
#![allow(unreachable_pub, reason = "shared by test files")]

use boardlab_block::{BlockDevice, Extent, Payload, Request};
use boardlab_ftl::{CellTimes, Geometry, PageMapped, Policies, Stripe, TimedMedium, Timing};
use boardlab_sd::{
    AllocationUnit, Cid, Classes, Discard, EraseTime, Face, Gaps, Host, Kind, Mode, Part, Width,
    Wiring, free_link,
};
use boardlab_sim::{Bytes, Duration, Instant, Rate, Seed};

pub const PAGE: u64 = 16 << 10;
/// A row: two planes of a page each.
pub const ROW: u64 = 2 * PAGE;
pub const PROGRAM: Duration = Duration::from_micros(1_000);
pub const READ: Duration = Duration::from_micros(75);

pub fn face() -> Face {
    Face {
        kind: Kind::Sd,
        capacity: Bytes::mib(64),
        allocation_unit: AllocationUnit::new(Bytes::mib(4)).unwrap(),
        counts_blocks: true,
        command: Duration::from_micros(10),
        cache: None,
        write_back_after: Duration::from_millis(1),
        discard: Discard::Erase,
        erased_ones: false,
        cid: Cid {
            manufacturer: 2,
            brand: *b"TM",
            product: *b"SA016",
            revision: 0x10,
            serial: 1,
            year: 2023,
            month: 5,
        },
        classes: Classes { speed: 10, uhs: 1, video: 0, application: 0 },
        erase: EraseTime { units: 1, timeout: 1, offset: 1 },
        health: None,
    }
}

/// A card of this face in the usual slot.
pub fn in_slot(face: Face) -> Part {
    Part {
        face,
        wiring: Wiring { mode: Mode::Ddr50, width: Width::Four, clock: None, gaps: Gaps::LEAST },
        host: Host {
            request: Duration::from_micros(50),
            largest: Bytes::kib(512),
            announces: true,
            asks_state: true,
        },
        rated: 3_000,
    }
}

pub fn part() -> Part {
    in_slot(face())
}

pub fn timing(slots: u32) -> Timing {
    let cells = CellTimes::uniform(READ, PROGRAM, Duration::from_micros(4_500));
    Timing {
        native: cells.clone(),
        slc: cells,
        // So fast that it takes no time beside the cells.
        channel: Rate::new(Bytes::mib(1 << 20), Duration::from_nanos(1)).unwrap(),
        link: free_link(),
        command: Duration::ZERO,
        slots,
        cache_program: false,
    }
}

/// So many blocks, 16 of which the host sees.
pub fn geometry(blocks: u32) -> Geometry {
    let pages = u32::try_from(Bytes::mib(64).get() / PAGE).unwrap();
    let stripe = Stripe { channels: 1, dies: 1, planes: 2, units: 1 };
    Geometry::new(blocks, 256, Bytes::new(PAGE), pages).unwrap().striped(stripe).unwrap()
}

pub fn layer(slots: u32) -> PageMapped<TimedMedium> {
    let geometry = geometry(24);
    let medium = TimedMedium::new(&geometry, &timing(slots)).unwrap();
    PageMapped::new(geometry, Policies::default(), medium, Seed::new(1)).unwrap()
}

pub fn blocks(bytes: u64) -> u64 {
    bytes / 512
}

pub fn write(card: &mut impl BlockDevice, at: Instant, first: u64, bytes: u64) -> Instant {
    let extent = Extent::new(first, blocks(bytes));
    let request = Request::Write { extent, data: Payload::Repeated(0x5A), durable: false };
    card.submit(at, request).unwrap().ended
}
