//! No lost write in a block-mapped layer: random writes, trims, flushes, reads and idle times
//! against a shadow map, over every kind of log, cell mode and wear levelling.
//!
//! The medium keeps the contents of each page, so a read proves that the map refers to the latest
//! version. The seed and the policies are printed on failure.

use boardlab_ftl::{
    Cause, Contents, Extent, Geometry, Levelling, LevellingTime, LogBlocks, LogCells, LogPolicies,
    Logs, Stripe, Translation, Version,
};
use boardlab_sim::{Bytes, Duration, Instant, Seed, Stream};

const PAGES: u32 = 700;

const LOGS: [Logs; 7] = [
    Logs::InOrder { units: 1 },
    Logs::InOrder { units: 3 },
    Logs::Own { units: 1, chain: 1, all: 1 },
    Logs::Own { units: 3, chain: 1, all: 3 },
    Logs::Own { units: 3, chain: 4, all: 6 },
    Logs::Shared { blocks: 1 },
    Logs::Shared { blocks: 4 },
];
const LEVELLINGS: [Levelling; 6] = [
    Levelling::None,
    Levelling::Dynamic,
    Levelling::Threshold(3),
    Levelling::SwLeveler { shift: 1, threshold: 6 },
    Levelling::DualPool(3),
    Levelling::RandomSwap(5),
];

fn below(stream: &mut Stream, bound: u32) -> u32 {
    u32::try_from(stream.below(bound.into())).unwrap()
}

/// All policies with these logs: cell modes and sequential logs.
fn variants(logs: Logs, levelling: Levelling) -> Vec<LogPolicies> {
    let base = LogPolicies { logs, levelling, ..LogPolicies::default() };
    if matches!(logs, Logs::InOrder { .. }) {
        return vec![base];
    }
    let single = |fixed| LogCells::Slc { bits: 3, fixed };
    let cells = [LogCells::Ordinary, single(false), single(true)];
    let both = |cells| [0, 1].map(|sequential| LogPolicies { cells, sequential, ..base });
    cells.into_iter().flat_map(both).collect()
}

/// A layer and its expected contents.
struct Pair {
    ftl: LogBlocks<Contents>,
    shadow: Vec<Version>,
    now: Instant,
}

impl Pair {
    fn new(policies: LogPolicies, seed: u64) -> Self {
        let stripe = Stripe { channels: 1, dies: 1, planes: 2, units: 2 };
        let part = Geometry::new(42, 24, Bytes::new(512), PAGES).unwrap().striped(stripe).unwrap();
        let medium = Contents::new(&part);
        let ftl = LogBlocks::new(part, policies, medium, Seed::new(seed)).unwrap();
        Self { ftl, shadow: vec![Version(0); PAGES as usize], now: Instant::ZERO }
    }

    fn write(&mut self, extent: Extent) {
        let range = extent.first as usize..(extent.first + extent.count) as usize;
        self.shadow[range].fill(self.ftl.write(self.now, extent).unwrap().version);
    }

    /// A unit from its first page on, in pieces.
    fn write_in_order(&mut self, stream: &mut Stream) {
        let first = below(stream, PAGES / 24) * 24;
        let (mut at, end) = (first, first + 1 + below(stream, 24));
        while at < end {
            let count = (1 + below(stream, 9)).min(end - at);
            self.write(Extent::new(at, count));
            at += count;
        }
    }

    /// Performs one operation. Returns whether it was a read of unexpected contents.
    fn step(&mut self, stream: &mut Stream) -> bool {
        self.now += Duration::from_micros(1);
        // Half of the operations go to a tenth of the pages.
        let space = if stream.chance(1, 2) { PAGES / 10 } else { PAGES };
        let first = below(stream, space);
        let most = if stream.chance(1, 20) { 90 } else { 8 };
        let extent = Extent::new(first, 1 + below(stream, (PAGES - first).min(most)));
        let range = first as usize..(first + extent.count) as usize;
        match stream.below(100) {
            0..50 => self.write(extent),
            50..60 => self.write_in_order(stream),
            60..70 => {
                self.ftl.trim(self.now, extent).unwrap();
                self.shadow[range].fill(Version(0));
            }
            70..75 => {
                self.ftl.flush(self.now);
            }
            75..77 => {
                self.ftl.idle(self.now, self.now);
            }
            _ => {
                let mut found = vec![Version(0); extent.count as usize];
                self.ftl.read(self.now, extent, &mut found).unwrap();
                return found != self.shadow[range];
            }
        }
        false
    }

    fn assert_sound(&self, seed: u64) {
        self.ftl.assert_sound();
        let held = self.shadow.iter().filter(|&&version| version != Version(0)).count();
        assert_eq!(self.ftl.occupancy().pages as usize, held, "seed {seed}");
        let programs = self.ftl.counters().programs;
        let known = [Cause::Host, Cause::Levelling, Cause::Fold, Cause::Merge, Cause::Padding];
        let known = known.map(|cause| programs[cause]);
        assert_eq!(programs.total(), known.iter().sum::<u64>(), "seed {seed}");
    }
}

#[test]
fn no_write_is_lost_whatever_takes_the_writes_and_levels_wear() {
    let logs = LOGS.into_iter();
    let pairs = logs.flat_map(|logs| LEVELLINGS.map(|levelling| (logs, levelling)));
    let all: Vec<LogPolicies> = pairs.flat_map(|(logs, level)| variants(logs, level)).collect();
    // 10^7 operations in all, or a fortieth of them.
    let full = std::env::var_os("BOARDLAB_FULL").is_some();
    let steps = if full { 10_000_000 } else { 250_000 } / all.len() + 1;
    let mut moved = [0_u64; LEVELLINGS.len()];
    for (seed, policies) in (0..).zip(all) {
        let mut draw = Seed::new(seed).stream("operations");
        let idle = draw.chance(1, 2);
        let levelling_time = [LevellingTime::Foreground, LevellingTime::Idle][usize::from(idle)];
        let merge_when_idle = draw.chance(1, 2);
        let policies = LogPolicies { levelling_time, merge_when_idle, ..policies };
        let mut pair = Pair::new(policies, seed);
        for step in 0..steps {
            let wrong = pair.step(&mut draw);
            assert!(!wrong, "seed {seed}, step {step}: a stale read with {policies:?}");
        }
        pair.assert_sound(seed);
        let kind = LEVELLINGS.iter().position(|&levelling| levelling == policies.levelling);
        moved[kind.unwrap()] += pair.ftl.counters().levelled;
    }
    assert_eq!(moved[..2], [0, 0], "nothing is moved without a policy that moves");
    assert!(moved[2..].iter().all(|&moves| moves > 100), "every policy moves data: {moved:?}");
}
