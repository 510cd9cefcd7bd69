//! The drive without its protocol: no data are lost silently, and its speed is that of the flash.
use crate::drive;

use crate::drive::{BLOCK, Layer, PAGE, layer, micros, sectors, storage};
use boardlab_block::{Extent, Noise};
use boardlab_ftl::{EmptyBlocks, Policies, Translation};
use boardlab_sata::device::{Data, ReadOp, Refusal, Storage, WriteCache};
use boardlab_sata::wire::{Counting, Step};
use boardlab_sim::{Bytes, Duration, Instant, Seed, Stream};

const UP: Counting = Counting { first: 0, step: Step::Up };

/// The possible contents of each sector, newest last. Contents older than the last durable one are
/// dropped.
struct Model {
    /// The contents, by index.
    contents: Vec<[u8; 512]>,
    /// For each sector: indices of contents, and when each becomes durable.
    sectors: Vec<Vec<(usize, Instant)>>,
}

impl Model {
    fn new(sectors: u64) -> Self {
        let sectors = usize::try_from(sectors).unwrap();
        Self { contents: vec![[0; 512]], sectors: vec![vec![(0, Instant::ZERO)]; sectors] }
    }

    fn write(&mut self, sector: u64, bytes: [u8; 512], durable: Instant) {
        let number = self.contents.len();
        self.contents.push(bytes);
        self.sectors[usize::try_from(sector).unwrap()].push((number, durable));
    }

    /// Makes all written data durable at `at`.
    fn flush(&mut self, at: Instant) {
        for versions in &mut self.sectors {
            for version in versions.iter_mut() {
                version.1 = version.1.min(at);
            }
        }
    }

    fn newest(&self, sector: u64) -> &[u8; 512] {
        let versions = &self.sectors[usize::try_from(sector).unwrap()];
        &self.contents[versions.last().unwrap().0]
    }

    /// Whether `found` may be the content of `sector` after a power cut at `at`: the newest durable content, or
    /// a later one.
    fn survived(&mut self, sector: u64, at: Instant, found: [u8; 512]) -> bool {
        let versions = &mut self.sectors[usize::try_from(sector).unwrap()];
        let safe = versions.iter().rposition(|(_, durable)| *durable <= at).unwrap();
        let known = versions[safe..].iter().find(|(number, _)| self.contents[*number] == found);
        let Some(&(number, _)) = known else { return false };
        *versions = vec![(number, Instant::ZERO)];
        true
    }
}

fn sector(storage: &mut Storage<Layer>, number: u64) -> [u8; 512] {
    let mut bytes = [0; 512];
    storage.fill(Extent::new(number, 1), &mut bytes);
    bytes
}

/// Writes an extent with random data. Returns when the command completes, and the data.
fn write(
    storage: &mut Storage<Layer>,
    stream: &mut Stream,
    at: Instant,
    extent: Extent,
) -> (Instant, Vec<u8>) {
    let first = extent.first.0;
    let mut bytes = vec![0; usize::try_from(extent.count).unwrap() * 512];
    stream.fill(&mut bytes);
    let counting = Counting { first: u32::from(bytes[0]), step: Step::Down };
    let words: Vec<u32> =
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    let data = match stream.below(5) {
        0 => Data::Bytes(&bytes),
        1 => Data::Words(&words),
        2 => Data::Repeated(bytes[0]),
        3 => Data::Noise(Noise::new(first)),
        _ => Data::Counting(counting),
    };
    // In two pieces, as frames arrive.
    let cut = stream.below(extent.count);
    let mut now = at;
    if let (1.., Data::Repeated(_) | Data::Noise(_)) = (cut, data) {
        now = now.max(storage.write(now, Extent::new(first, cut), data).unwrap());
        storage.write(now, Extent::new(first + cut, extent.count - cut), data).unwrap();
    } else {
        storage.write(now, extent, data).unwrap();
    }
    let ended = storage.end_write(now).unwrap();
    let mut written = bytes.clone();
    match data {
        Data::Repeated(byte) => written.fill(byte),
        Data::Noise(noise) => (first..)
            .zip(written.chunks_mut(512))
            .for_each(|(number, sector)| noise.fill(number, sector)),
        Data::Counting(words) => (0..)
            .zip(written.chunks_mut(4))
            .for_each(|(at, word)| word.copy_from_slice(&words.word(at).to_le_bytes())),
        Data::Bytes(_) | Data::Words(_) => {}
    }
    (ended, written)
}

/// Returns a random extent, usually small, sometimes of whole groups.
fn extent(stream: &mut Stream, sectors: u64) -> Extent {
    let (first, count) = match stream.below(4) {
        0 => (stream.below(sectors / 16) * 16, 16 * (1 + stream.below(4))),
        1 => (stream.below(sectors), 1 + stream.below(70)),
        _ => (stream.below(sectors), 1 + stream.below(9)),
    };
    Extent::new(first, count.min(sectors - first))
}

/// Compares random writes, reads, trims, flushes and power cuts with the model.
fn survives(seed: u64, cache: WriteCache, rounds: u32) {
    const BLOCKS: u32 = 12;
    let mut stream = Seed::new(seed).stream("storage");
    // The drive ends within a page.
    let all = sectors(BLOCKS) - 3;
    let drive = drive::drive(all, cache);
    let mut storage = Storage::new(drive, layer(BLOCKS, Policies::default()), true).unwrap();
    let (mut model, mut now) = (Model::new(all), Instant::ZERO);
    for round in 0..rounds {
        let what = format!("seed {seed} round {round} {cache:?}");
        let extent = extent(&mut stream, all);
        let ended;
        match stream.below(60) {
            0 | 1 => {
                ended = storage.flush(now).unwrap();
                model.flush(ended);
            }
            2..5 => {
                ended = storage.trim(now, extent).unwrap();
                let last = if extent.blocks().end == all { all + 3 } else { extent.blocks().end };
                let whole = extent.first.0.div_ceil(PAGE) * PAGE..last / PAGE * PAGE;
                for number in whole.start..whole.end.min(all) {
                    model.write(number, [0; 512], ended);
                }
            }
            5 => {
                // Possibly before the commands in progress complete.
                let at = now + micros(stream.below(3_000));
                storage.cut_power(at);
                for number in 0..all {
                    let found = sector(&mut storage, number);
                    assert!(model.survived(number, at, found), "{what}: sector {number}");
                }
                ended = at;
            }
            6..20 => {
                ended = storage.read(now, extent).unwrap();
                for number in extent.blocks() {
                    let found = sector(&mut storage, number);
                    assert_eq!(&found, model.newest(number), "{what}: sector {number}");
                }
            }
            _ => {
                let written;
                (ended, written) = write(&mut storage, &mut stream, now, extent);
                let durable = match cache {
                    WriteCache::Back(_) => Instant::from_nanos(u64::MAX),
                    WriteCache::Through | WriteCache::Protected(_) => ended,
                };
                for (number, bytes) in extent.blocks().zip(written.chunks(512)) {
                    model.write(number, bytes.try_into().unwrap(), durable);
                }
            }
        }
        now = match stream.below(10) {
            0 => ended + micros(50_000),
            1..4 => now,
            _ => ended.max(now),
        };
    }
    assert!(storage.translation().counters().victims > 0, "seed {seed}: collection ran");
    storage.translation().assert_sound();
}

#[test]
fn no_acknowledged_sector_is_lost_by_writes_trims_and_power_cuts() {
    let full = std::env::var_os("BOARDLAB_FULL").is_some();
    for seed in 0..if full { 200 } else { 3 } {
        survives(seed, WriteCache::Through, 2_000);
        survives(seed, WriteCache::Back(Bytes::kib(64)), 2_000);
        survives(seed, WriteCache::Protected(Bytes::kib(64)), 2_000);
    }
}

/// Writes an extent in groups, each as soon as there is room. Returns when all are on flash.
fn sweep(storage: &mut Storage<Layer>, at: Instant, extent: Extent) -> Instant {
    let mut now = at;
    for first in extent.blocks().step_by(16) {
        let data = Data::Counting(UP.from(first * 128));
        now = now.max(storage.write(now, Extent::new(first, 16), data).unwrap());
    }
    storage.end_write(now).unwrap()
}

#[test]
fn sequential_writes_run_at_the_speed_of_the_dies() {
    let mut storage = storage(100, WriteCache::Through);
    let extent = Extent::new(0, sectors(80));
    let ended = sweep(&mut storage, Instant::ZERO, extent);
    // Four dies program two pages of 8 sectors each in 400 us, after 40.96 us for the transfer of their
    // data.
    let rows = extent.count / (4 * 2 * PAGE);
    let expected = Duration::from_nanos(rows * (400_000 + 8_192 * 5));
    let (found, expected) = (ended.as_nanos(), expected.as_nanos());
    assert!(found.abs_diff(expected) * 100 < expected, "{found} ns, expected {expected}");
    let all = storage.counting(extent).unwrap();
    assert_eq!(all, UP, "one run");
}

#[test]
fn erases_delay_writes_when_the_erased_blocks_are_used_up() {
    let policies = Policies { emptied: EmptyBlocks::Kept, idle_blocks: 20, ..Policies::default() };
    let drive = drive::drive(sectors(100), WriteCache::Through);
    let mut storage = Storage::new(drive, layer(100, policies), true).unwrap();
    let block = u64::from(BLOCK) * PAGE;
    let mut now = Instant::ZERO;
    let mut sweep_of = |from: &mut Instant, block_number: u64| {
        let before = *from;
        *from = sweep(&mut storage, *from, Extent::new(block_number * block, block));
        (from.since(before), storage.translation().occupancy().free_blocks)
    };
    // All is written once, then again. From then on only idle time provides erased blocks.
    for number in 0..140 {
        sweep_of(&mut now, number % 70);
    }
    now += micros(1_000_000);
    let (mut fast, mut slow) = (0, Duration::ZERO);
    let mut quick = Duration::ZERO;
    for number in 0..60 {
        let (time, free) = sweep_of(&mut now, number);
        if free > 1 && slow.is_zero() {
            (fast, quick) = (fast + 1, time);
        } else {
            slow = slow.max(time);
        }
    }
    assert!((19..=22).contains(&fast), "{fast} blocks without an erase");
    let erase = slow.as_nanos() - quick.as_nanos();
    assert!((1_900_000..=2_100_000).contains(&erase), "an erase stalls all dies: {erase} ns");
}

#[test]
fn a_read_fills_the_read_buffer_and_requests_more_as_the_host_receives_data() {
    let mut storage = storage(40, WriteCache::Through);
    let written = sweep(&mut storage, Instant::ZERO, Extent::new(0, 4_096));
    let (mut reading, mut now) = (ReadOp::new(), written);
    storage.begin_read(&mut reading, now, Extent::new(3, 2_048));
    let first = reading.ready(3, now).unwrap().unwrap();
    assert_eq!((first.end, first.at.since(now).as_nanos()), (16, 50_000 + 2 * 4_096 * 5));
    while !reading.is_complete() {
        let ready = reading.ready(reading.next_sector(), now).unwrap().unwrap();
        now = now.max(ready.at);
        let count = ready.end - reading.next_sector();
        storage.consume(&mut reading, now, count);
    }
    storage.end_read(&mut reading);
    // The two channels transfer 200 bytes per microsecond each and limit a host that accepts all data
    // at once.
    let expected = 2_048 * 512 * 1_000 / 400;
    let found = now.since(written).as_nanos();
    assert!(found.abs_diff(expected) * 20 < expected, "{found} ns, expected {expected}");
    assert_eq!(storage.counts().read, 2_048);
}

#[test]
fn a_sequential_command_uses_sectors_read_ahead() {
    let mut storage = storage(40, WriteCache::Through);
    let mut now = sweep(&mut storage, Instant::ZERO, Extent::new(0, 4_096));
    let mut reading = ReadOp::new();
    let mut wait = |storage: &mut Storage<Layer>, now: &mut Instant, first: u64| {
        storage.begin_read(&mut reading, *now, Extent::new(first, 64));
        let begun = *now;
        let ready = reading.ready(first, *now).unwrap().unwrap();
        *now = ready.at.max(*now);
        let waited = now.since(begun);
        while !reading.is_complete() {
            let ready = reading.ready(reading.next_sector(), *now).unwrap().unwrap();
            *now = ready.at.max(*now);
            let count = ready.end - reading.next_sector();
            storage.consume(&mut reading, *now, count);
        }
        storage.end_read(&mut reading);
        *now += micros(1_000);
        waited
    };
    assert!(!wait(&mut storage, &mut now, 0).is_zero());
    assert!(!wait(&mut storage, &mut now, 64).is_zero(), "nothing goes on before the second");
    assert!(wait(&mut storage, &mut now, 128).is_zero(), "the third goes on");
    assert!(!wait(&mut storage, &mut now, 1_000).is_zero(), "not elsewhere");
    wait(&mut storage, &mut now, 1_064);
    storage.write(now, Extent::new(1_128, 8), Data::Repeated(1)).unwrap();
    now = storage.end_write(now).unwrap();
    assert!(!wait(&mut storage, &mut now, 1_128).is_zero(), "what was written since is read anew");
}

#[test]
fn sectors_written_while_they_are_read_ahead_are_read_again() {
    for written in [None, Some(Extent::new(80, 8)), Some(Extent::new(1_000, 8))] {
        let mut storage = storage(40, WriteCache::Through);
        let mut now = sweep(&mut storage, Instant::ZERO, Extent::new(0, 2_048));
        let (mut reading, before) = (ReadOp::new(), storage.counts().read_ahead_hits);
        for first in [0, 32, 64] {
            storage.begin_read(&mut reading, now, Extent::new(first, 32));
            if let Some(extent) = written.filter(|_| first == 32) {
                storage.write(now, extent, Data::Repeated(1)).unwrap();
                now = storage.end_write(now).unwrap();
            }
            while !reading.is_complete() {
                now = now.max(reading.next_ready().unwrap().unwrap());
                storage.consume(&mut reading, now, 8);
            }
            storage.end_read(&mut reading);
        }
        let found = storage.counts().read_ahead_hits - before;
        let expected = u64::from(written != Some(Extent::new(80, 8)));
        assert_eq!(found, expected, "{written:?}");
    }
}

#[test]
fn a_page_of_which_a_part_is_written_is_read_first() {
    let mut storage = storage(40, WriteCache::Through);
    let written = sweep(&mut storage, Instant::ZERO, Extent::new(0, 64));
    storage.write(written, Extent::new(8, 8), Data::Repeated(1)).unwrap();
    let whole = storage.end_write(written).unwrap().since(written);
    let later = written + micros(10_000);
    storage.write(later, Extent::new(9, 7), Data::Repeated(2)).unwrap();
    let part = storage.end_write(later).unwrap().since(later);
    assert_eq!((part - whole).as_nanos(), 50_000 + 4_096 * 5, "a read and a transfer");
    assert_eq!(storage.counts().merged, 1);
}

#[test]
fn a_cache_gathers_incomplete_pages_and_reports_data_that_it_loses() {
    let mut storage = storage(40, WriteCache::Back(Bytes::kib(64)));
    for sector in (0..64).rev() {
        storage.write(Instant::ZERO, Extent::new(sector, 1), Data::Repeated(7)).unwrap();
        assert_eq!(storage.end_write(Instant::ZERO).unwrap(), Instant::ZERO, "at once");
    }
    assert_eq!(storage.counts().merged, 0, "all pages came to be whole");
    storage.write(Instant::ZERO, Extent::new(100, 1), Data::Repeated(7)).unwrap();
    storage.end_write(Instant::ZERO).unwrap();
    let flushed = storage.flush(Instant::ZERO).unwrap();
    assert!(flushed > Instant::ZERO + micros(400));
    assert_eq!(storage.counts().merged, 1);
    storage.cut_power(flushed);
    assert_eq!(sector(&mut storage, 100), [7; 512]);
    assert!(!storage.is_write_cache_on() || storage.set_write_cache(flushed, false).is_ok());
    storage.write(flushed, Extent::new(200, 8), Data::Repeated(7)).unwrap();
    assert!(storage.end_write(flushed).unwrap() > flushed + micros(400), "off");
}

#[test]
fn a_page_that_waits_for_the_other_plane_is_not_on_flash() {
    let mut storage = storage(40, WriteCache::Back(Bytes::kib(64)));
    let later = Instant::ZERO + micros(15_000);
    storage.write(Instant::ZERO, Extent::new(0, 8), Data::Repeated(7)).unwrap();
    // Another write follows. The page is submitted, and its die programs two at once.
    storage.write(Instant::ZERO, Extent::new(800, 3), Data::Repeated(7)).unwrap();
    let mut other = storage.clone();
    storage.cut_power(later);
    assert_eq!(sector(&mut storage, 0), [0; 512]);
    // It is programmed together with its neighbour.
    other.write(Instant::ZERO, Extent::new(1_600, 8), Data::Repeated(8)).unwrap();
    other.write(Instant::ZERO, Extent::new(2_400, 3), Data::Repeated(7)).unwrap();
    other.cut_power(later);
    assert_eq!((sector(&mut other, 0), sector(&mut other, 1_600)), ([7; 512], [8; 512]));
    assert_eq!(sector(&mut other, 800), [0; 512]);
}

#[test]
fn inconsistent_parameters_are_refused_with_the_expected_range() {
    let good = drive::drive(sectors(40), WriteCache::Through);
    let refused =
        |drive| Storage::new(drive, layer(40, Policies::default()), true).unwrap_err().to_string();
    use boardlab_sata::device::Drive;
    let message = refused(Drive { sectors: 1 << 40, ..good });
    assert_eq!(message, "a drive with 1099511627776 sectors: expected 1 to 28672");
    let message = refused(Drive { frame: 2_000, ..good });
    assert_eq!(message, "a drive with 2000 dwords of a Data FIS: expected 2048 to 2048");
    let message = refused(Drive { queue: Some(33), ..good });
    assert_eq!(message, "a drive with 33 queue entries: expected 1 to 32");
    let message = refused(Drive { read_buffer: Bytes::kib(4), ..good });
    assert_eq!(message, "a drive with 8 sectors of the read buffer: expected at least 32");
}

#[test]
fn a_worn_out_drive_refuses_and_keeps_what_it_holds() {
    use boardlab_ftl::{EndOfLife, Endurance, Reliability};
    let reliability = Reliability {
        endurance: Endurance::new(&[20, 30]).unwrap(),
        slc_wear: 100,
        factory_bad: 0,
        program_failures: 0,
        end_of_life: EndOfLife::ReadOnly,
        reads: None,
    };
    let policies = Policies { reserve: 2, ..Policies::default() };
    let layer = layer(20, policies).with_reliability(&reliability, Seed::new(1)).unwrap();
    let drive = drive::drive(sectors(20), WriteCache::Through);
    let mut storage = Storage::new(drive, layer, true).unwrap();
    let mut stream = Seed::new(2).stream("wear");
    let (mut now, mut model) = (Instant::ZERO, vec![0; 14_000]);
    let refused = loop {
        let page = stream.below(sectors(20) / 8);
        let byte = u8::try_from(stream.below(256)).unwrap();
        let wrote = storage.write(now, Extent::new(page * 8, 8), Data::Repeated(byte));
        match wrote.and_then(|_| storage.end_write(now)) {
            Ok(ended) => (now, model[usize::try_from(page).unwrap()]) = (ended, byte),
            Err(refusal) => break refusal,
        }
    };
    assert_eq!(refused, Refusal::WornOut);
    for page in 0..sectors(20) / 8 {
        let expected = model[usize::try_from(page).unwrap()];
        assert_eq!(sector(&mut storage, page * 8), [expected; 512], "page {page}");
    }
    assert!(
        storage.write(now, Extent::new(0, 8), Data::Repeated(0)).is_err()
            || storage.end_write(now).is_err()
    );
}
