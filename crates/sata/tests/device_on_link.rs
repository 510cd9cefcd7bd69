//! A drive on a link: only its buffer and its flash determine the flow control.
use crate::drive;

use crate::drive::{BLOCK, Layer, STRIPE, micros};
use boardlab_ftl::{CellTimes, Geometry, PageMapped, Policies, TimedMedium, Timing};
use boardlab_sata::arithmetic::{self, Link};
use boardlab_sata::device::{Drive, Ssd, Storage, WriteCache};
use boardlab_sata::fast;
use boardlab_sata::host::{Build, Direction, Host, Job, Report, Settings, Transfer};
use boardlab_sata::link::{self, End, Wiring};
use boardlab_sata::wire::identify::Identify;
use boardlab_sata::{Speed, Tick};
use boardlab_sim::{Bytes, Rate, Seed};

/// A link whose two latencies sum to 24 dwords.
fn wiring() -> Wiring {
    let end =
        End { latency: 12, holda_after: 4, fifo: 256, hold_from: 128, hold_to: 64, cont: true };
    Wiring { speed: Speed::Gen2, host: end, device: end }
}

/// Returns a drive of four dies that read 8 KiB in `read` us and program 8 KiB in `program` us.
fn ssd(read: u64, program: u64, blocks: u32) -> Ssd<Layer> {
    let geometry = Geometry::new(blocks, BLOCK, Bytes::kib(4), blocks * BLOCK / 10 * 7).unwrap();
    let geometry = geometry.striped(STRIPE).unwrap();
    let cells = CellTimes::uniform(micros(read), micros(program), micros(2_000));
    let timing = Timing {
        native: cells.clone(),
        slc: cells,
        channel: Rate::new(Bytes::new(400), micros(1)).unwrap(),
        ..drive::timing()
    };
    let medium = TimedMedium::new(&geometry, &timing).unwrap();
    let layer = PageMapped::new(geometry, Policies::default(), medium, Seed::new(1)).unwrap();
    let drive = Drive { sectors: 131_072, ..drive::drive(131_072, WriteCache::Through) };
    let storage = Storage::new(drive, layer, true).unwrap();
    Ssd::new(Speed::Gen2, storage, Identify::new("LINKED", 1, Speed::Gen2)).unwrap()
}

fn host(direction: Direction, each: u32) -> Host {
    let mut host = Host::new(Speed::Gen2, Settings::without_costs(Build::Single));
    host.push(Job::Transfer(Transfer::looped(direction, 0, each, 1)));
    host
}

/// Returns the rate of one command of 65,536 sectors in 1,000 bytes per second.
fn rate(report: &Report) -> u64 {
    assert_eq!((report.outcome.clone(), report.mismatches), (Ok(()), 0));
    report.bytes().get() * 1_000_000 / report.time(Speed::Gen2).as_nanos()
}

/// Returns the rates of a write and a read of 32 MiB.
fn rates(read: u64, program: u64) -> (u64, u64) {
    let mut engine =
        fast::Engine::new(wiring(), host(Direction::Write, 0), ssd(read, program, 300));
    for direction in [Direction::Write, Direction::Read] {
        engine.host_mut().push(Job::Transfer(Transfer::looped(direction, 0, 65_536, 1)));
    }
    engine.run(Tick::NEVER);
    let reports: Vec<Report> = engine.host_mut().take_reports();
    let [.., write, read] = &reports[..] else { panic!("two reports: {reports:?}") };
    (rate(write), rate(read))
}

#[test]
fn a_slow_flash_shows_on_the_link_as_its_own_rate_and_a_fast_one_as_that_of_the_link() {
    // Four dies program 8 KiB each in 400 us, plus 20.48 us on a channel that two of them share.
    let (write, read) = rates(25, 400);
    let expected = 4 * 8_192 * 1_000_000 / 420_480;
    assert!(write.abs_diff(expected) * 100 < expected, "{write}, expected {expected}");
    // Reads: 8 KiB of a die in 25 us, plus 20.48 us on the channel, are faster than the link.
    let link = |direction| Link::of(&wiring()).rate(direction) / 1_000;
    let limit = link(arithmetic::Direction::Read);
    assert!(read.abs_diff(limit) * 1_000 < limit, "{read} kB/s, the link alone {limit}");
    // Four dies read 8 KiB each in 180 us, and transfer it while they read the next.
    let (write, read) = rates(180, 50);
    let expected = 4 * 8_192 * 1_000_000 / 180_000;
    assert!(read.abs_diff(expected) * 100 < expected, "{read}, expected {expected}");
    let limit = link(arithmetic::Direction::Write);
    assert!(write.abs_diff(limit) * 1_000 < limit, "{write} kB/s, the link alone {limit}");
}

#[test]
fn both_engines_carry_the_same_bytes_at_the_same_ticks() {
    for (read, program) in [(25, 400), (300, 50)] {
        for direction in [Direction::Write, Direction::Read] {
            let mut fast =
                fast::Engine::new(wiring(), host(direction, 500), ssd(read, program, 300));
            let mut slow =
                link::Engine::new(wiring(), host(direction, 500), ssd(read, program, 300));
            if direction == Direction::Read {
                // Sectors never written hold zeros; after the write they hold the expected data.
                for host in [fast.host_mut(), slow.host_mut()] {
                    *host = self::host(Direction::Write, 500);
                    host.push(Job::Transfer(Transfer::looped(direction, 0, 500, 1)));
                }
            }
            fast.run(Tick::NEVER);
            slow.run(Tick::NEVER);
            let (one, other) = (fast.host_mut().take_reports(), slow.host_mut().take_reports());
            assert_eq!(one, other, "{direction:?} at {read} us");
            assert!(one.iter().all(|report| report.mismatches == 0));
            let extent = boardlab_block::Extent::new(0, 500);
            let words = fast.device_mut().storage_mut().counting(extent);
            assert_eq!(words, slow.device_mut().storage_mut().counting(extent));
            assert!(words.is_some(), "words that came one by one are known to count");
        }
    }
}
