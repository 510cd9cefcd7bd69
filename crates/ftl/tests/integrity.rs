//! No lost write: random writes, trims, flushes, reads and idle times against a shadow map, over
//! every garbage collection, wear levelling and stream policy.
//!
//! The medium keeps the contents of each page, so a read proves that the map refers to the latest
//! version. The sequence and the seed are printed on failure.

use boardlab_ftl::{
    Admission, Cache, CacheSize, Collection, Contents, EmptyBlocks, Extent, Folding, Geometry,
    Levelling, LevellingTime, MapMemory, PageMapped, Policies, Streams, Stripe, Translation,
    Version, WhenFull,
};
use boardlab_sim::{Bytes, Duration, Instant, Seed, Stream};

const COLLECTIONS: [Collection; 7] = [
    Collection::Random,
    Collection::Fifo,
    Collection::Greedy,
    Collection::WindowedGreedy(8),
    Collection::Choices(4),
    Collection::CostBenefit(0),
    Collection::CostBenefit(8),
];
const LEVELLINGS: [Levelling; 6] = [
    Levelling::None,
    Levelling::Dynamic,
    Levelling::Threshold(3),
    Levelling::SwLeveler { shift: 1, threshold: 6 },
    Levelling::DualPool(3),
    Levelling::RandomSwap(5),
];
const STREAMS: [Streams; 4] = [
    Streams::Single,
    Streams::CopiesApart,
    Streams::Generations(3),
    Streams::ByClass { hot_pages: 200, hot_blocks: 11 },
];

fn below(stream: &mut Stream, bound: u32) -> u32 {
    u32::try_from(stream.below(bound.into())).unwrap()
}

/// A layer and its expected contents.
struct Pair {
    ftl: PageMapped<Contents>,
    shadow: Vec<Version>,
    now: Instant,
}

impl Pair {
    fn new(policies: Policies, seed: u64) -> Self {
        let stripe = Stripe { channels: 1, dies: 2, planes: 2, units: 2 };
        let part = Geometry::new(46, 24, Bytes::new(512), 760).unwrap().striped(stripe).unwrap();
        let medium = Contents::new(&part);
        let ftl = PageMapped::new(part, policies, medium, Seed::new(seed)).unwrap();
        Self { ftl, shadow: vec![Version(0); 760], now: Instant::ZERO }
    }

    /// Performs one operation. Returns whether it was a read of unexpected contents.
    fn step(&mut self, stream: &mut Stream) -> bool {
        self.now += Duration::from_micros(1);
        let first = below(stream, 760);
        let most = if stream.chance(1, 20) { 200 } else { 8 };
        let extent = Extent::new(first, 1 + below(stream, (760 - first).min(most)));
        let range = first as usize..(first + extent.count) as usize;
        match stream.below(100) {
            0..60 => {
                let version = self.ftl.write(self.now, extent).unwrap().version;
                self.shadow[range].fill(version);
            }
            60..70 => {
                self.ftl.trim(self.now, extent).unwrap();
                self.shadow[range].fill(Version(0));
            }
            70..75 => {
                self.ftl.flush(self.now);
            }
            75..78 => {
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
}

/// No cache in half of the cases.
fn cache(draw: &mut Stream) -> Cache {
    let size = match draw.below(4) {
        0 => CacheSize::Fixed(2),
        1 => CacheSize::Dynamic(3),
        _ => CacheSize::None,
    };
    let runs = Admission::ShortRuns { pages: 1 + below(draw, 100), streams: 1 + below(draw, 3) };
    Cache {
        size,
        bits: 3,
        admission: [Admission::All, runs][usize::from(draw.chance(1, 2))],
        when_full: [WhenFull::Fold, WhenFull::Bypass][usize::from(draw.chance(1, 2))],
        folding: [Folding::Valid, Folding::Whole][usize::from(draw.chance(1, 2))],
        fold_after: draw.chance(1, 2).then_some(Duration::ZERO),
    }
}

/// The whole map in memory in two of three cases; otherwise at most a quarter of it.
fn map(draw: &mut Stream) -> MapMemory {
    match draw.below(6) {
        0 => MapMemory::Cached { cache: Bytes::new(400), segment: 1 },
        1 => MapMemory::Cached { cache: Bytes::new(640), segment: 16 },
        _ => MapMemory::Whole,
    }
}

#[test]
fn no_write_is_lost_under_any_policy() {
    let all = 7 * 6 * 4;
    // 10^7 operations in all, or a fortieth of them.
    let full = std::env::var_os("BOARDLAB_FULL").is_some();
    let steps = if full { 10_000_000 / all + 1 } else { 2_000 };
    let mut seed = 0;
    for collection in COLLECTIONS {
        for levelling in LEVELLINGS {
            for streams in STREAMS {
                seed += 1;
                let mut draw = Seed::new(seed).stream("operations");
                let idle = draw.chance(1, 2);
                let policies = Policies {
                    collection,
                    levelling,
                    streams,
                    reserve: 1 + below(&mut draw, 2),
                    idle_blocks: if idle { 3 } else { 0 },
                    levelling_time: [LevellingTime::Foreground, LevellingTime::Idle]
                        [usize::from(idle)],
                    cache: match streams {
                        Streams::ByClass { .. } => Cache::default(),
                        _ => cache(&mut draw),
                    },
                    map: map(&mut draw),
                    emptied: [EmptyBlocks::Returned, EmptyBlocks::Kept]
                        [usize::from(draw.chance(1, 4))],
                };
                let mut pair = Pair::new(policies, seed);
                for step in 0..steps {
                    let wrong = pair.step(&mut draw);
                    assert!(!wrong, "seed {seed}, step {step}: a stale read with {policies:?}");
                }
                pair.ftl.assert_sound();
            }
        }
    }
}

#[test]
fn a_flush_fills_the_flash_page_up_and_says_so() {
    let mut pair = Pair::new(Policies::default(), 1);
    pair.ftl.write(Instant::ZERO, Extent::new(0, 3)).unwrap();
    pair.ftl.flush(Instant::ZERO);
    pair.ftl.flush(Instant::ZERO);
    assert_eq!(pair.ftl.counters().programs[boardlab_ftl::Cause::Padding], 1);
    assert_eq!(pair.ftl.counters().programs.total(), 4);
    assert_eq!(pair.ftl.counters().flushes, 2);
}
