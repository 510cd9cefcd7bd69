//! The drive as a block device: contents compared with a plain vector, times with engines and
//! arithmetic.
//!
//! A random run prints its seed when it fails. To replay it, set `FIRST_SEED` to the seed and run
//! `cargo test -p boardlab-sata --test sata disk`.

use crate::drive;

use crate::drive::{Layer, layer, micros, storage, wiring};
use boardlab_block::{
    BlockDevice, Cache, DiscardedContent, Error, Extent, Noise, Payload, Request, Target,
};
use boardlab_ftl::{Geometry, PageMapped, Policies, TimedMedium};
use boardlab_sata::device::{Drive, Ssd, Storage, WriteCache};
use boardlab_sata::disk::{Disk, Driver};
use boardlab_sata::host::{
    Addressing, Build, Costs, Data as HostData, Direction, Host, Job, Pattern, Settings, Transfer,
};
use boardlab_sata::link::Wiring;
use boardlab_sata::wire::identify::Identify;
use boardlab_sata::{Speed, Stop, Tick, fast};
use boardlab_sim::{Bytes, Clock, Duration, Instant, Seed, Stream};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const FIRST_SEED: u64 = 0;
const SEEDS: u64 = 30;
const STEPS: usize = 200;

fn driver(queue: Option<u32>) -> Driver {
    Driver { queue, largest: 65_535, submit: Duration::ZERO, complete: Duration::ZERO }
}

fn disk(queue: Option<u32>, write_cache: WriteCache) -> Disk<Layer> {
    Disk::new(storage(40, write_cache), &wiring(), driver(queue))
}

fn extent(stream: &mut Stream, count: u64) -> Extent {
    let longest = if stream.chance(1, 6) { 300 } else { 20 };
    Extent::new(stream.below(count + 20), stream.below(longest))
}

/// Executes a random request on the device and on the model.
fn step(device: &mut Disk<Layer>, at: Instant, image: &mut [u8], stream: &mut Stream) {
    let geometry = device.geometry().clone();
    let extent = extent(stream, 1_200);
    let blocks = extent.blocks();
    let bytes = |block: u64| usize::try_from(block * 512).unwrap();
    let range = bytes(blocks.start)..bytes(blocks.end);
    let mut buffer = vec![0; range.len()];
    let kind = stream.below(8);
    let data = match kind {
        0 => {
            stream.fill(&mut buffer);
            Payload::Bytes(&buffer)
        }
        1 => Payload::Repeated(u8::try_from(stream.below(256)).unwrap()),
        _ => Payload::Noise(Noise { seed: stream.below(9), zeros: 30 }),
    };
    let done = match kind {
        0..=2 => {
            data.copy_to(&geometry, extent, &mut image[range]);
            let durable = stream.chance(1, 4);
            device.submit(at, Request::Write { extent, data, durable })
        }
        3 => {
            let inner = geometry.aligned_within(extent, Bytes::kib(4)).blocks();
            image[bytes(inner.start)..bytes(inner.end)].fill(0);
            device.submit(at, Request::Discard { extent })
        }
        4 => {
            image[range].fill(0);
            device.submit(at, Request::WriteZeroes { extent })
        }
        5 => device.submit(at, Request::Flush),
        _ => {
            let into = Target::Buffer(&mut buffer);
            let done = device.submit(at, Request::Read { extent, into });
            assert!(buffer == image[range], "read {extent}");
            done
        }
    }
    .unwrap();
    assert!(at <= done.accepted && done.accepted <= done.started && done.started <= done.ended);
}

#[test]
fn a_disk_holds_what_was_written() {
    for seed in FIRST_SEED..FIRST_SEED + SEEDS {
        let mut stream = Seed::new(seed).stream("disk");
        let cache = match seed % 3 {
            0 => WriteCache::Through,
            1 => WriteCache::Back(Bytes::kib(64)),
            _ => WriteCache::Protected(Bytes::kib(64)),
        };
        let queue = (seed % 2 == 0).then_some(8);
        let mut device = disk(queue, cache);
        let (mut image, mut now) = (vec![0; 2_000 * 512], Instant::ZERO);
        for number in 0..STEPS {
            now += Duration::from_micros(stream.below(300));
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                step(&mut device, now, &mut image, &mut stream);
            }));
            assert!(result.is_ok(), "seed {seed}, step {number}");
        }
        let mut found = vec![0; image.len()];
        let mut clock = Clock::new();
        clock.advance_to(now);
        device.read(&mut clock, Extent::new(0, 2_000), &mut found).unwrap();
        assert!(found == image, "seed {seed}: the disk differs at the end");
    }
}

/// Returns the random reads of 4 KiB per second at a queue depth.
fn reads_a_second(depth: u32) -> u64 {
    let mut device = filled(Some(depth));
    let pages = device.geometry().count / 8;
    let (mut stream, count) = (Seed::new(7).stream("places"), 2_000);
    let mut ends = BinaryHeap::new();
    let start = device.storage().idle_from();
    let mut last = start;
    for _ in 0..count {
        let mut at = start;
        if ends.len() == usize::try_from(depth).unwrap() {
            let Reverse(first) = ends.pop().unwrap();
            at = first;
        }
        let extent = Extent::new(stream.below(pages) * 8, 8);
        let request = Request::Read { extent, into: Target::Nowhere };
        let done = device.submit(at, request).unwrap();
        ends.push(Reverse(done.ended));
        last = last.max(done.ended);
    }
    count * 1_000_000_000 / last.since(start).as_nanos()
}

/// Returns a disk all of whose pages were written.
fn filled(queue: Option<u32>) -> Disk<Layer> {
    let mut device = disk(queue, WriteCache::Through);
    let extent = device.geometry().whole();
    let data = Payload::Repeated(1);
    device.submit(Instant::ZERO, Request::Write { extent, data, durable: false }).unwrap();
    device
}

#[test]
fn random_reads_scale_with_the_queue_until_dies_are_busy() {
    let rates = [1, 2, 4, 8, 32].map(reads_a_second);
    // 4 dies with 50 us each, plus 20.5 us on one of two channels: at most one read in about 17.6 us.
    assert!(rates[1] * 10 > rates[0] * 17, "{rates:?}");
    assert!(rates[2] * 10 > rates[0] * 27, "{rates:?}");
    assert!(rates[3] > rates[2] && rates[4] >= rates[3], "{rates:?}");
    let bound = 4 * 1_000_000_000 / 50_000;
    assert!(rates[4] < bound && rates[4] * 10 > bound * 5, "{rates:?}, bound {bound}");
}

#[test]
fn a_fast_flash_is_held_up_by_the_link() {
    // Without dies as a limit: all data are still in the drive's buffer.
    let mut device = filled(Some(32));
    let start = device.storage().idle_from();
    let extent = Extent::new(0, 16_384);
    let done = device.submit(start, Request::Read { extent, into: Target::Nowhere }).unwrap();
    let bytes = 16_384 * 512 * 1_000_000_000 / done.latency(start).as_nanos();
    // Four dies read 2 pages in 50 us over channels of 200 MB/s: 400 MB/s would be available.
    assert!((270_000_000..297_100_000).contains(&bytes), "{bytes} B/s");
}

#[test]
fn requests_of_a_size_beyond_the_largest_are_split() {
    let mut device = disk(None, WriteCache::Through);
    let extent = Extent::new(0, 20_000);
    let small = Driver { largest: 1_000, ..driver(None) };
    let mut split = Disk::new(storage(40, WriteCache::Through), &wiring(), small);
    let write = |device: &mut Disk<Layer>| {
        let data = Payload::Repeated(7);
        let request = Request::Write { extent, data, durable: false };
        device.submit(Instant::ZERO, request).unwrap().ended
    };
    let (whole, pieces) = (write(&mut device), write(&mut split));
    assert_eq!((device.counts().commands, split.counts().commands), (1, 20));
    assert!(pieces > whole, "each command waits for its own end on flash");
}

#[test]
fn a_discard_of_several_commands_leaves_no_page_between_them() {
    let pages = 40_000;
    let geometry = Geometry::new(pages / 1_024 + 8, 1_024, Bytes::kib(64), pages).unwrap();
    let geometry = geometry.striped(drive::STRIPE).unwrap();
    let medium = TimedMedium::new(&geometry, &drive::timing()).unwrap();
    let layer = PageMapped::new(geometry, Policies::default(), medium, Seed::new(1)).unwrap();
    let sectors = u64::from(pages) * 128;
    let plan = Drive { read_buffer: Bytes::mib(1), ..drive::drive(sectors, WriteCache::Through) };
    let storage = Storage::new(plan, layer, true).unwrap();
    let mut device = Disk::new(storage, &wiring(), driver(None));
    let mut clock = Clock::new();
    // The first command ends between these sectors, wherever the discard is split.
    let middle = Extent::new(64 * 65_535 - 512, 1_024);
    device.write(&mut clock, middle, &[7; 512 * 1_024]).unwrap();
    let discard = Request::Discard { extent: Extent::new(1, sectors - 1) };
    device.submit(clock.now(), discard).unwrap();
    assert_eq!(device.counts().commands, 3);
    let mut found = vec![1; 512 * 1_024];
    device.read(&mut clock, middle, &mut found).unwrap();
    assert!(found.iter().all(|&byte| byte == 0));
}

#[test]
fn a_durable_write_waits_for_the_flash_behind_a_cache() {
    let write = |cache, durable| {
        let mut device = disk(Some(4), cache);
        let (extent, data) = (Extent::new(0, 8), Payload::Repeated(1));
        device.submit(Instant::ZERO, Request::Write { extent, data, durable }).unwrap().ended
    };
    let back = WriteCache::Back(Bytes::kib(256));
    let program = Instant::ZERO + micros(400);
    assert!(write(WriteCache::Through, false) > program);
    assert!(write(back, false) < program);
    assert!(write(back, true) > program);
    assert!(write(WriteCache::Protected(Bytes::kib(256)), true) < program);
}

#[test]
fn the_block_device_reports_the_geometry_of_the_drive() {
    let geometry = |cache| disk(Some(64), cache).geometry().clone();
    let through = geometry(WriteCache::Through);
    assert!(through.is_sound());
    assert_eq!((through.depth, through.cache), (32, Cache::None));
    assert_eq!(through.physical, Bytes::kib(4));
    assert_eq!(through.discard.unwrap().reads, DiscardedContent::Zeros);
    let size = Bytes::kib(256);
    assert_eq!(geometry(WriteCache::Back(size)).cache, Cache::Volatile(size));
    assert_eq!(disk(None, WriteCache::Through).geometry().depth, 1);
}

#[test]
fn sectors_beyond_the_end_are_refused() {
    let mut device = disk(Some(4), WriteCache::Through);
    let count = device.geometry().count;
    let extent = Extent::new(count - 1, 2);
    let request = Request::Read { extent, into: Target::Nowhere };
    let refused = Error::OutOfRange { extent, count };
    assert_eq!(device.submit(Instant::ZERO, request), Err(refused));
}

#[test]
fn a_power_cut_loses_data_that_only_the_cache_held() {
    let mut device = disk(Some(4), WriteCache::Back(Bytes::kib(256)));
    let mut clock = Clock::new();
    device.write(&mut clock, Extent::new(0, 8), &[1; 4_096]).unwrap();
    device.flush(&mut clock).unwrap();
    device.write(&mut clock, Extent::new(0, 8), &[2; 4_096]).unwrap();
    device.write(&mut clock, Extent::new(8, 8), &[2; 4_096]).unwrap();
    device.cut_power(clock.now());
    let mut found = [9; 8_192];
    device.read(&mut clock, Extent::new(0, 16), &mut found).unwrap();
    assert_eq!((found[0], found[8_191]), (1, 0));
}

#[test]
fn flushes_wait_for_the_queue_and_the_queue_for_them() {
    let mut device = disk(Some(8), WriteCache::Back(Bytes::kib(256)));
    let write = |device: &mut Disk<Layer>, first| {
        let (extent, data) = (Extent::new(first, 64), Payload::Repeated(3));
        let request = Request::Write { extent, data, durable: false };
        device.submit(Instant::ZERO, request).unwrap()
    };
    let before = write(&mut device, 0);
    let flush = device.submit(Instant::ZERO, Request::Flush).unwrap();
    let after = write(&mut device, 64);
    assert!(flush.accepted >= before.ended && after.accepted >= flush.ended);
}

#[test]
fn a_damaged_data_fis_costs_a_command_and_names_the_link() {
    let write = |mut device: Disk<Layer>| {
        let (extent, data) = (Extent::new(0, 64), Payload::Repeated(3));
        let request = Request::Write { extent, data, durable: false };
        (device.submit(Instant::ZERO, request), *device.counts())
    };
    let cache = WriteCache::Protected(Bytes::kib(256));
    let (clean, _) = write(disk(Some(4), cache));
    let mut hit = 0;
    for seed in 0..20 {
        let device = disk(Some(4), cache).with_link_damage(8, Seed::new(seed).stream("damage"));
        let (done, counts) = write(device);
        let (done, clean) = (done.unwrap(), clean.clone().unwrap());
        let again = counts.reissues > 0;
        hit += u32::from(again);
        assert_eq!(done.ended > clean.ended, again, "seed {seed}");
        assert_eq!(done.cause, again.then_some(boardlab_block::Cause::Link), "seed {seed}");
    }
    assert!((2..18).contains(&hit), "four Data FISes, one in eight damaged: {hit} of 20");
    let (refused, counts) =
        write(disk(Some(4), cache).with_link_damage(1, Seed::new(0).stream("all")));
    assert!(matches!(refused, Err(Error::WriteFailed { .. })), "{refused:?}");
    assert_eq!((counts.commands, counts.reissues), (6, 5));
}

#[test]
fn collection_is_named_as_the_cause() {
    let mut device = filled(Some(1));
    let mut clock = Clock::new();
    clock.advance_to(device.storage().idle_from());
    let pages = device.geometry().count / 8;
    let mut stream = Seed::new(3).stream("overwrites");
    let mut causes = 0;
    for _ in 0..8_000 {
        let extent = Extent::new(stream.below(pages) * 8, 8);
        let request = Request::Write { extent, data: Payload::Repeated(5), durable: false };
        let done = device.wait(&mut clock, request).unwrap();
        causes += u64::from(done.cause == Some(boardlab_block::Cause::Collection));
    }
    assert!(causes > 0, "the drive is full and overwritten");
}

/// Returns the times of jobs over the FIS engine, each starting when the one before ends. The host
/// spends `submit` per command.
fn over_the_engine(
    (wiring, drive): (Wiring, Drive),
    submit: Duration,
    jobs: &[Transfer],
) -> Vec<Duration> {
    let storage = Storage::new(drive, layer(40, Policies::default()), true).unwrap();
    let ssd = Ssd::new(wiring.speed, storage, Identify::new("SSD", 1, wiring.speed)).unwrap();
    let costs = Costs { update_read: submit, update_write: submit, ..Costs::default() };
    let host =
        Host::new(wiring.speed, Settings { costs, ..Settings::without_costs(Build::Sequencer) });
    let mut engine = fast::Engine::new(wiring, host, ssd);
    jobs.iter().for_each(|job| engine.host_mut().push(Job::Transfer(job.clone())));
    assert_eq!(engine.run(Tick::NEVER), Stop::Idle);
    let reports = engine.host().reports();
    assert!(reports.iter().all(|report| report.outcome == Ok(())));
    reports.iter().map(|report| report.time(wiring.speed)).collect()
}

/// Returns the times of the same jobs as requests at a queue depth.
fn as_requests(
    (wiring, drive): (Wiring, Drive),
    submit: Duration,
    jobs: &[Transfer],
) -> Vec<Duration> {
    let storage = Storage::new(drive, layer(40, Policies::default()), true).unwrap();
    let queue = match jobs[0].addressing {
        Addressing::Queued(depth) => Some(depth),
        _ => None,
    };
    let mut disk = Disk::new(storage, &wiring, Driver { submit, ..driver(queue) });
    let (mut now, depth) = (Instant::ZERO, usize::try_from(queue.unwrap_or(1)).unwrap());
    let mut time = |job: &Transfer| {
        let (start, mut ends) = (now, BinaryHeap::new());
        for number in 0..job.commands() {
            if ends.len() == depth {
                let Reverse(first) = ends.pop().unwrap();
                now = first;
            }
            let extent = Extent::new(
                job.first + number * u64::from(job.command_sectors),
                job.command_sectors.into(),
            );
            let request = match job.direction {
                Direction::Read => Request::Read { extent, into: Target::Nowhere },
                Direction::Write => {
                    Request::Write { extent, data: Payload::Repeated(1), durable: false }
                }
            };
            ends.push(Reverse(disk.submit(now, request).unwrap().ended));
        }
        now = ends.into_iter().map(|Reverse(end)| end).max().unwrap();
        now.since(start)
    };
    jobs.iter().map(&mut time).collect()
}

#[test]
fn a_queue_takes_about_as_long_as_over_an_engine_and_as_long_where_link_or_flash_are_busy() {
    let back = WriteCache::Protected(Bytes::kib(64));
    for (direction, each, cache, depth, most) in [
        (Direction::Read, 64, WriteCache::Through, 2, 10),
        (Direction::Read, 64, WriteCache::Through, 32, 10),
        (Direction::Read, 8, WriteCache::Through, 2, 10),
        (Direction::Read, 8, WriteCache::Through, 32, 20),
        // Here the engine's device serves what is ready first, and delays commands on the link.
        (Direction::Read, 8, WriteCache::Through, 4, 300),
        (Direction::Write, 8, back, 4, 10),
        (Direction::Write, 64, back, 32, 10),
        (Direction::Write, 16, WriteCache::Through, 2, 60),
        (Direction::Write, 16, WriteCache::Through, 32, 10),
    ] {
        let drive = Drive { look_ahead: false, ..drive::drive(drive::sectors(40), cache) };
        let make = |way| {
            let transfer = Transfer::looped(way, 0, each, 200);
            transfer.with_addressing(Addressing::Queued(depth)).with_data(match way {
                Direction::Read => HostData::Ignored,
                Direction::Write => HostData::Pattern(Pattern::Increment),
            })
        };
        let jobs = [make(Direction::Write), make(direction)];
        let times = [over_the_engine, as_requests]
            .map(|run| run((wiring(), drive), Duration::ZERO, &jobs)[1]);
        let [engine, disk] = times.map(Duration::as_nanos);
        let off = engine.abs_diff(disk) * 1_000 / engine;
        assert!(off <= most, "{direction:?} {each} {depth}: {engine} ns, here {disk} ns");
    }
}

#[test]
fn one_command_at_a_time_takes_as_long_as_over_an_engine() {
    let mut stream = Seed::new(5).stream("sizes");
    /// One per cent, in ten-thousandths.
    const WORST: u64 = 100;
    let mut worst = 0;
    for number in 0..120 {
        let mut wiring = wiring();
        wiring.speed = Speed::ALL[number % 3];
        wiring.host.latency = 1 + u32::try_from(stream.below(20)).unwrap();
        wiring.device.latency = 1 + u32::try_from(stream.below(20)).unwrap();
        let cache = match stream.below(2) {
            0 => WriteCache::Through,
            _ => WriteCache::Protected(Bytes::kib(64)),
        };
        let drive = Drive {
            look_ahead: stream.chance(1, 2),
            activates_early: stream.chance(1, 2),
            frame: 128 << stream.below(5),
            ..drive::drive(drive::sectors(40), cache)
        };
        let addressing = match stream.below(2) {
            0 => Addressing::Lba48,
            _ => Addressing::Queued(1),
        };
        let mut job = |direction| {
            let each = match stream.below(4) {
                0 => 8,
                1 => 1 + u32::try_from(stream.below(64)).unwrap(),
                2 => 256,
                _ => 2_000,
            };
            let transfer = Transfer::looped(direction, stream.below(8_000), each, 4);
            transfer.with_addressing(addressing).with_data(match direction {
                Direction::Read => HostData::Ignored,
                Direction::Write => HostData::Pattern(Pattern::Increment),
            })
        };
        let jobs = [Direction::Write, Direction::Write, Direction::Read, Direction::Read];
        let jobs = jobs.map(&mut job);
        let times =
            [over_the_engine, as_requests].map(|run| run((wiring, drive), Duration::ZERO, &jobs));
        // Over the engine, the first job waits for the signature.
        for ((job, expected), found) in jobs.iter().zip(&times[0]).zip(&times[1]).skip(1) {
            let (expected, found) = (expected.as_nanos(), found.as_nanos());
            let off = expected.abs_diff(found) * 10_000 / expected;
            worst = worst.max(off);
            assert!(off <= WORST, "{number}: {expected} ns, here {found} ns: {job:?} {drive:?}");
        }
    }

    assert!(worst > 0, "they are two computations");
}

/// Returns the times in nanoseconds of [`READS`] sequential reads of a number of sectors, over an
/// engine and as requests.
fn times_of_reads(each: u32, depth: u32, submit: Duration) -> [u64; 2] {
    let drive = drive::drive(drive::sectors(40), WriteCache::Through);
    let drive = Drive { look_ahead: false, ..drive };
    let make = |way, data| {
        let transfer = Transfer::looped(way, 0, each, READS);
        transfer.with_addressing(Addressing::Queued(depth)).with_data(data)
    };
    let write = make(Direction::Write, HostData::Pattern(Pattern::Increment));
    let jobs = [write, make(Direction::Read, HostData::Ignored)];
    [over_the_engine, as_requests].map(|run| run((wiring(), drive), submit, &jobs)[1].as_nanos())
}

const READS: u64 = 400;

#[test]
fn a_queue_hides_the_hosts_time_per_command_as_over_an_engine() {
    for (each, depth) in [8, 64].into_iter().flat_map(|each| [1, 2, 4, 32].map(|n| (each, n))) {
        let mut free = 0;
        for submit in [0, 1, 3, 10] {
            let [engine, disk] = times_of_reads(each, depth, micros(submit));
            let most = match (each, depth, submit) {
                // The engine's device serves what is ready first, and delays commands on the link.
                (8, 4, _) => 300,
                // So its host, which prepares one command at a time, builds all others while the drive
                // is idle.
                (8, 32, 10) => 150,
                (64, 32, 10) => 35,
                _ => 20,
            };
            let off = engine.abs_diff(disk) * 1_000 / engine;
            let what = format!("{each} sectors, depth {depth}, {submit} us");
            assert!(off <= most, "{what}: {engine} ns, here {disk} ns");
            free = if submit == 0 { disk } else { free };
            let (added, all) = (disk.saturating_sub(free), READS * submit * 1_000);
            match depth {
                // No other work overlaps but what the flash began for the command before.
                1 => assert!(added * 2 >= all && added <= all, "{what}: {added} of {all} ns"),
                // The link or the flash is busy all the time.
                32 => assert!(added * 500 <= free, "{what}: {added} ns in {free}"),
                _ => assert!(added * 10 <= all * 11, "{what}: {added} of {all} ns"),
            }
        }
    }
}
