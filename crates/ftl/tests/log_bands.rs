//! Throughput of a card with logs in SLC mode is in bands, each with its cause: room in the logs, a
//! merge, a merge with a move of wear levelling.
//!
//! The first 4 MiB of a full card are rewritten repeatedly: 16 KiB pages on two planes, units of 12
//! MiB, logs of 4 MiB. Array times are data-sheet figures; nothing is fitted to a published band.

use boardlab_ftl::{
    ByCause, Cause, CellTimes, Event, Extent, Geometry, Levelling, LogBlocks, LogCells,
    LogPolicies, Logs, Stripe, TimedMedium, Timing, Translation,
};
use boardlab_sim::{Bytes, Duration, Instant, Rate, Seed};

/// Pages of 4 MiB and of a request of 1 MiB.
const REGION: u32 = 256;
const REQUEST: u32 = 64;

fn card(policies: LogPolicies) -> LogBlocks<TimedMedium> {
    let stripe = Stripe { channels: 1, dies: 1, planes: 2, units: 1 };
    // 20 units, all full, and what the logs need, with three blocks more.
    let blocks = policies.blocks_needed(20) + 3;
    let part = Geometry::new(blocks, 768, Bytes::kib(16), 20 * 768).unwrap();
    let part = part.striped(stripe).unwrap();
    let micros = Duration::from_micros;
    let rate = |bytes| Rate::new(Bytes::new(bytes), Duration::from_secs(1)).unwrap();
    let timing = Timing {
        native: CellTimes::uniform(micros(75), micros(1_000), micros(4_500)),
        slc: CellTimes::uniform(micros(25), micros(250), micros(2_000)),
        channel: rate(200_000_000),
        link: rate(45_000_000),
        command: Duration::ZERO,
        slots: 0,
        cache_program: false,
    };
    let mut ftl =
        LogBlocks::new(part, policies, TimedMedium::new(&part, &timing).unwrap(), Seed::new(1))
            .unwrap();
    let full = ftl.write(Instant::ZERO, Extent::new(0, 20 * 768)).unwrap();
    ftl.idle(full.accepted, full.accepted + Duration::from_secs(60));
    ftl
}

fn slc(chain: u32) -> LogPolicies {
    LogPolicies {
        logs: Logs::Own { units: 2, chain, all: 2 * chain },
        cells: LogCells::Slc { bits: 3, fixed: false },
        ..LogPolicies::default()
    }
}

/// One rewrite: kB/s, nanoseconds of work by cause, and whether an event names a merge.
#[derive(Clone, Copy)]
struct Sample {
    rate: u64,
    work: ByCause,
    named: bool,
}

impl Sample {
    fn did(&self, cause: Cause) -> bool {
        self.work[cause] > 0
    }
}

fn rewrite(ftl: &mut LogBlocks<TimedMedium>, times: u32, pause: Duration) -> Vec<Sample> {
    let mut now = Instant::ZERO + Duration::from_secs(600);
    let mut samples = Vec::new();
    for _ in 0..times {
        let (start, mut named, before) = (now, false, ftl.busy().by_cause);
        for request in 0..REGION / REQUEST {
            let done = ftl.write(now, Extent::new(request * REQUEST, REQUEST)).unwrap();
            named |= done.events.has(Event::LogsFull) || done.events.has(Event::OpenUnitMiss);
            now = done.accepted;
        }
        let nanos = now.saturating_since(start).as_nanos();
        let rate = 4 * 1_048_576 * 1_000_000 / nanos;
        samples.push(Sample { rate, work: ftl.busy().by_cause.since(&before), named });
        ftl.idle(now, now + pause);
        now += pause;
    }
    samples
}

/// Least and greatest rate of the samples that `belong`, and how many they are.
fn band(samples: &[Sample], belong: impl Fn(&Sample) -> bool) -> (u64, u64, usize) {
    let rates: Vec<u64> = samples.iter().filter(|s| belong(s)).map(|s| s.rate).collect();
    let (least, most) = (rates.iter().min().unwrap(), rates.iter().max().unwrap());
    (*least, *most, rates.len())
}

#[test]
fn room_merges_and_levelling_are_bands_apart() {
    let policies = LogPolicies { levelling: Levelling::Threshold(6), ..slc(3) };
    let samples = rewrite(&mut card(policies), 400, Duration::ZERO);
    let merged = |s: &Sample| s.did(Cause::Fold);
    let levelled = |s: &Sample| s.did(Cause::Levelling);
    let room = band(&samples, |s| !merged(s) && !levelled(s));
    let merge = band(&samples, |s| merged(s) && !levelled(s));
    let level = band(&samples, |s| levelled(s));
    eprintln!("room {room:?} merge {merge:?} merge and move {level:?} kB/s");
    // A third of the link's time, two thirds programs: 32 KiB in 0.728 + 0.25 ms.
    assert!((32_500..33_600).contains(&room.0) && room.1 < 33_600, "{room:?}");
    // A merge programs 768 pages, two at a time, after reading them.
    assert!(merge.1 * 3 < room.0, "{merge:?} {room:?}");
    assert!(level.1 * 4 < merge.0 * 3, "{level:?} {merge:?}");
    for (least, most, _) in [room, merge, level] {
        assert!((most - least) * 8 < most, "a band is narrow: {least} to {most}");
    }
    assert!(room.2 > 2 * (merge.2 + level.2) - 3 && merge.2 > 50 && level.2 > 5);
    for sample in &samples {
        assert_eq!(sample.named, merged(sample), "whoever pays for a merge is told");
        assert!(merged(sample) || !levelled(sample), "moves come with merges");
    }
}

#[test]
fn merging_while_the_host_is_away_leaves_room() {
    let policies = LogPolicies { merge_when_idle: true, ..slc(3) };
    let rested = rewrite(&mut card(policies), 60, Duration::from_secs(2));
    assert!(rested.iter().all(|s| s.rate > 32_500 && !s.did(Cause::Fold)));
    let hurried = rewrite(&mut card(policies), 60, Duration::from_millis(1));
    let slow = hurried.iter().filter(|s| s.rate < 32_500).count();
    assert!(slow > 10, "a pause too short for a merge is paid for by who comes next: {slow}");
    let mut ftl = card(policies);
    rewrite(&mut ftl, 3, Duration::from_secs(2));
    assert_eq!(ftl.occupancy().cache_blocks, 0);
    let programs = ftl.counters().programs;
    assert_eq!(programs[Cause::Merge], 3 * 512, "what was not rewritten comes from the data block");
}

#[test]
fn a_longer_chain_merges_less_often_and_not_faster() {
    let slow = |chain| {
        let samples = rewrite(&mut card(slc(chain)), 240, Duration::ZERO);
        band(&samples, |s| s.did(Cause::Fold))
    };
    let [(low1, _, one), (_, _, two), (low4, _, four)] = [1, 2, 4].map(slow);
    assert_eq!([one, two, four].map(|n| (n + 1) / 4 * 4), [240, 120, 60]);
    assert!(low1.abs_diff(low4) * 20 < low1, "{low1} {low4}");
}
