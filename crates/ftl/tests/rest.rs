//! While the host is idle the layer does background work, and then becomes idle as well: it never
//! moves the same data endlessly.

use boardlab_ftl::{
    CellTimes, Collection, EmptyBlocks, Extent, Geometry, Levelling, LevellingTime, PageMapped,
    Policies, PowerSafety, SharedCells, Stripe, TimedMedium, Timing, Translation,
};
use boardlab_sim::{Bytes, Duration, Instant, Rate, Seed};

const PAGES: u32 = 600;

fn layer(policies: Policies) -> PageMapped<TimedMedium> {
    let stripe = Stripe { channels: 1, dies: 1, planes: 2, units: 1 };
    let part = Geometry::new(58, 24, Bytes::new(512), PAGES).unwrap().striped(stripe).unwrap();
    let micros = Duration::from_micros;
    let cells = CellTimes::uniform(micros(50), micros(500), micros(3_000));
    let fast = Rate::new(Bytes::new(400), micros(1)).unwrap();
    let timing = Timing {
        native: cells.clone(),
        slc: cells,
        channel: fast,
        link: fast,
        command: Duration::ZERO,
        slots: 1,
        cache_program: false,
    };
    PageMapped::new(part, policies, TimedMedium::new(&part, &timing).unwrap(), Seed::new(1))
        .unwrap()
}

/// Fills the part, writes every third page anew, some times over, and rests for an hour; how many
/// blocks that erased.
fn erased_at_rest(mut ftl: PageMapped<TimedMedium>) -> u64 {
    let mut now = ftl.write(Instant::ZERO, Extent::new(0, PAGES)).unwrap().finished;
    for page in (0..3 * PAGES).step_by(3) {
        now = ftl.write(now, Extent::new(page % PAGES, 1)).unwrap().finished;
    }
    now = ftl.flush(now).finished;
    let before = ftl.counters().erases.total();
    let until = now + Duration::from_secs(3_600);
    let ended = ftl.idle(now, until);
    assert!(ended.since(now) < Duration::from_secs(10), "work goes on at {ended:?}");
    let erased = ftl.counters().erases.total() - before;
    assert_eq!(ftl.idle(until, until), until, "nothing was left to do");
    ftl.assert_sound();
    erased
}

#[test]
fn a_swap_is_not_the_reason_of_the_next_one() {
    let levelling = Levelling::RandomSwap(1);
    let policies =
        Policies { levelling, levelling_time: LevellingTime::Idle, ..Policies::default() };
    assert_eq!(erased_at_rest(layer(policies)), 1, "one swap is due");
}

#[test]
fn no_more_free_blocks_are_wanted_than_the_data_leave() {
    for collection in [Collection::Greedy, Collection::Fifo, Collection::Random] {
        for emptied in [EmptyBlocks::Returned, EmptyBlocks::Kept] {
            let policies =
                Policies { collection, emptied, idle_blocks: u32::MAX, ..Policies::default() };
            let padded = PowerSafety { bits: 3, shared: SharedCells::Padded };
            let erased = erased_at_rest(layer(policies).power_safe(padded).unwrap());
            assert!(erased <= 400, "{collection:?} {emptied:?}: {erased}");
            let erased = erased_at_rest(layer(policies));
            assert!((1..=400).contains(&erased), "{collection:?} {emptied:?}: {erased}");
        }
    }
}
