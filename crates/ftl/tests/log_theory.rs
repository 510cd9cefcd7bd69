//! Write amplification of block-mapped layers against derived figures: random writes, and merge
//! counts of the published layers.

use boardlab_ftl::{
    Cause, Extent, Geometry, LogBlocks, LogCells, LogPolicies, Logs, Merges, Translation,
    UntimedMedium,
};
use boardlab_sim::{Bytes, Instant, Seed, Stream};

const NOW: Instant = Instant::ZERO;
/// Pages of a block, units of a device.
const B: u32 = 64;
const UNITS: u32 = 200;

fn below(stream: &mut Stream, bound: u32) -> u32 {
    u32::try_from(stream.below(bound.into())).unwrap()
}

/// A full device.
fn filled(policies: LogPolicies) -> LogBlocks<UntimedMedium> {
    let blocks = policies.blocks_needed(UNITS) + 2;
    let part = Geometry::new(blocks, B, Bytes::kib(4), UNITS * B).unwrap();
    let mut ftl = LogBlocks::new(part, policies, UntimedMedium::new(&part), Seed::new(1)).unwrap();
    ftl.write(NOW, Extent::new(0, UNITS * B)).unwrap();
    ftl
}

/// Programs a page under `writes` writes of one page of any unit, in steady state. Units get their
/// pages in turn, so that none is written again before a log is merged.
fn amplification(policies: LogPolicies, writes: u32) -> f64 {
    let mut ftl = filled(policies);
    let mut draw = Seed::new(5).stream("pages");
    let mut next = vec![0; UNITS as usize];
    let mut write = |ftl: &mut LogBlocks<UntimedMedium>, times| {
        for _ in 0..times {
            let unit = below(&mut draw, UNITS);
            let page = &mut next[unit as usize];
            // 27 pages on: not in order.
            *page = (*page + 27) % B;
            ftl.write(NOW, Extent::new(unit * B + *page, 1)).unwrap();
        }
    };
    write(&mut ftl, writes / 5);
    let before = *ftl.counters();
    write(&mut ftl, writes);
    let of = ftl.counters().since(&before);
    let count = |number: u64| f64::from(u32::try_from(number).unwrap());
    count(of.programs.total()) / count(of.written)
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    let off = (found / expected - 1.0).abs();
    assert!(off < 0.01, "{found:.4} programs a page, {expected:.4} expected");
}

#[test]
fn random_writes_beyond_the_open_units_cost_a_block_for_each_miss() {
    for open in [1, 4, 20, 50] {
        // A page finds its unit open with probability k / U; otherwise a full merge programs b pages.
        let hit = f64::from(open) / f64::from(UNITS);
        let expected = 1.0 + f64::from(B) * (1.0 - hit);
        assert_near(amplification(LogPolicies::own(open), 40_000), expected);
    }
}

#[test]
fn writes_of_n_pages_in_turn_cost_b_over_n_programs_a_page() {
    for n in [1, 2, 8, 16, 64] {
        let mut ftl = filled(LogPolicies::own(3));
        let mut before = *ftl.counters();
        for round in 0..2 * B / n {
            if round == B / n {
                before = *ftl.counters();
            }
            for unit in 0..UNITS {
                // Not in order: the second half of the unit first.
                let at = (round * n + B / 2) % B;
                ftl.write(NOW, Extent::new(unit * B + at.min(B - n), n)).unwrap();
            }
        }
        let of = ftl.counters().since(&before);
        let whole = n == B;
        let expected = if whole { 1 } else { 1 + B / n };
        let exact = of.programs.total() == of.written * u64::from(expected);
        // A piece at the first page is completed rather than copied.
        let copied = of.written * u64::from(B / n) - u64::from(UNITS * n);
        assert!(exact || of.programs[Cause::Merge] == copied, "{n}: {:?}", of.programs);
    }
}

#[test]
fn shared_logs_pay_for_each_unit_that_the_oldest_has_a_page_of() {
    for logs in [1, 2, 4, 16] {
        // A unit is merged m + k logs after its last merge, where its next write falls into log m: the
        // number of whole logs before a geometric time with mean U.
        let q = (1.0 - 1.0 / f64::from(UNITS)).powi(i32::try_from(B).unwrap());
        let cycle = f64::from(logs) + q / (1.0 - q);
        let expected = 1.0 + f64::from(UNITS) / cycle;
        let policies = LogPolicies { sequential: 0, ..LogPolicies::shared(logs) };
        assert_near(amplification(policies, 60_000), expected);
    }
}

#[test]
fn shared_logs_beat_logs_of_each_unit_when_writes_are_scattered() {
    let own = amplification(LogPolicies::own(8), 20_000);
    let shared = amplification(LogPolicies { sequential: 0, ..LogPolicies::shared(8) }, 20_000);
    assert!(shared * 2.0 < own, "{shared} and {own}");
}

#[test]
fn block_mapping_programs_one_block_for_each_that_it_replaces() {
    let mut ftl = filled(LogPolicies::in_order(1));
    let (before, replaced) = (*ftl.counters(), ftl.merges());
    let mut draw = Seed::new(5).stream("pages");
    for _ in 0..2_000 {
        ftl.write(NOW, Extent::new(below(&mut draw, UNITS * B), 1)).unwrap();
    }
    // Closes the last one.
    ftl.write(NOW, Extent::new(0, B)).unwrap();
    let (of, all) = (ftl.counters().since(&before), ftl.merges());
    let merges = all.switches + all.partial - replaced.switches - replaced.partial;
    assert_eq!((all.full, of.programs.total()), (0, merges * u64::from(B)));
    // One write in 2 U goes on in the open block: it is the same unit, and a later page.
    assert!((1_980..=2_001).contains(&merges), "{merges}");
}

#[test]
fn block_mapping_costs_nothing_in_order_and_the_gap_where_pages_are_left_out() {
    let mut ftl = filled(LogPolicies::in_order(2));
    let before = *ftl.counters();
    for page in 0..B {
        ftl.write(NOW, Extent::new(page, 1)).unwrap();
    }
    assert_eq!(ftl.counters().since(&before).programs.total(), B.into());
    ftl.write(NOW, Extent::new(3 * B + 5, 2)).unwrap();
    ftl.write(NOW, Extent::new(3 * B + 10, 1)).unwrap();
    let gaps = ftl.counters().since(&before).programs[Cause::Merge];
    assert_eq!(gaps, 5 + 3, "pages 0 to 4, and 7 to 9");
    ftl.write(NOW, Extent::new(3 * B + 10, 1)).unwrap();
    let again = ftl.counters().since(&before).programs[Cause::Merge];
    assert_eq!(again, 8 + u64::from(B) - 11 + 10, "the rest, and what lies before the page");
}

/// Shared logs, and one sequential log.
fn fast(logs: u32) -> LogBlocks<UntimedMedium> {
    let mut ftl = filled(LogPolicies::shared(logs));
    // Ends in the log for writes in order: nothing is in the shared ones.
    ftl.write(NOW, Extent::new(0, 1)).unwrap();
    ftl
}

#[test]
fn a_sequence_from_the_first_page_goes_to_the_log_for_writes_in_order() {
    let mut ftl = fast(2);
    let before = ftl.merges();
    ftl.write(NOW, Extent::new(5 * B, B)).unwrap();
    ftl.write(NOW, Extent::new(6 * B, B)).unwrap();
    ftl.write(NOW, Extent::new(7 * B, 10)).unwrap();
    let after = ftl.merges();
    let whole = (after.switches - before.switches, after.full - before.full);
    assert_eq!((whole, after.partial - before.partial), ((2, 0), 1), "unit 0 had one page");
    // What is no page after the last goes elsewhere, and does not close the log.
    ftl.write(NOW, Extent::new(7 * B + 20, 1)).unwrap();
    ftl.write(NOW, Extent::new(7 * B + 10, 5)).unwrap();
    assert_eq!(ftl.merges(), after);
    ftl.write(NOW, Extent::new(8 * B, 1)).unwrap();
    assert_eq!(ftl.merges(), Merges { partial: after.partial + 1, ..after });
    // 49 pages were not in the log; the one in a shared log is among them.
    assert_eq!(ftl.counters().programs[Cause::Merge], 63 + 49);
}

#[test]
fn the_oldest_shared_log_takes_along_all_that_its_units_have() {
    let mut ftl = fast(2);
    let before = (*ftl.counters(), ftl.merges());
    // Units 1 and 2 in the first log, unit 1 in the second too, and unit 3.
    for round in 0..B / 2 {
        ftl.write(NOW, Extent::new(B + 1 + round, 1)).unwrap();
        ftl.write(NOW, Extent::new(2 * B + 1 + round, 1)).unwrap();
    }
    for round in 0..B / 2 {
        ftl.write(NOW, Extent::new(B + 1 + round, 1)).unwrap();
        ftl.write(NOW, Extent::new(3 * B + 1 + round, 1)).unwrap();
    }
    assert_eq!(ftl.merges(), before.1);
    // The first page was written anew since: unit 1 has nothing valid in the oldest log.
    ftl.write(NOW, Extent::new(4 * B + 1, 1)).unwrap();
    assert_eq!(ftl.merges().full - before.1.full, 1, "unit 2");
    for page in 0..B - 1 {
        ftl.write(NOW, Extent::new(4 * B + 1 + page % 3, 1)).unwrap();
    }
    ftl.write(NOW, Extent::new(9 * B + 1, 1)).unwrap();
    assert_eq!(ftl.merges().full - before.1.full, 3, "units 1 and 3");
    assert_eq!(ftl.counters().since(&before.0).programs[Cause::Merge], 3 * u64::from(B));
}

#[test]
fn a_log_of_slc_cells_is_folded_and_one_in_order_switched() {
    let cells = LogCells::Slc { bits: 3, fixed: false };
    let logs = Logs::Own { units: 2, chain: 2, all: 4 };
    let policies = LogPolicies { cells, logs, sequential: 1, ..LogPolicies::default() };
    let mut ftl = filled(policies);
    let before = *ftl.counters();
    ftl.write(NOW, Extent::new(0, B)).unwrap();
    assert_eq!(ftl.counters().since(&before).programs.total(), B.into(), "in order: no copy");
    // 42 pages fit into two logs of 21.
    for _ in 0..43 {
        ftl.write(NOW, Extent::new(B + 7, 1)).unwrap();
    }
    let of = ftl.counters().since(&before).programs;
    assert_eq!((of[Cause::Fold], of[Cause::Merge]), (1, u64::from(B) - 1));
}
