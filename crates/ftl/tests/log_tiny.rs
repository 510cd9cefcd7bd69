//! Block-mapped parts of a few blocks: each works when full to the last page, or is refused with
//! the number of blocks that it needs; none hangs or runs out of free blocks.

use boardlab_ftl::{
    Error, Extent, Geometry, Levelling, LevellingTime, LogBlocks, LogCells, LogPolicies, Logs,
    Translation, UntimedMedium,
};
use boardlab_sim::{Bytes, Instant, Seed, Stream};

const NOW: Instant = Instant::ZERO;
const LEVELLINGS: [Levelling; 6] = [
    Levelling::None,
    Levelling::Dynamic,
    Levelling::Threshold(4),
    Levelling::SwLeveler { shift: 1, threshold: 8 },
    Levelling::DualPool(4),
    Levelling::RandomSwap(1),
];

fn below(stream: &mut Stream, bound: u32) -> u32 {
    u32::try_from(stream.below(bound.into())).unwrap()
}

fn pick<T: Copy>(from: &[T], stream: &mut Stream) -> T {
    from[usize::try_from(stream.below(from.len() as u64)).unwrap()]
}

fn policies(stream: &mut Stream) -> LogPolicies {
    let (units, chain) = (1 + below(stream, 3), 1 + below(stream, 3));
    let all = units + below(stream, units * (chain - 1) + 1);
    let kinds =
        [Logs::InOrder { units }, Logs::Own { units, chain, all }, Logs::Shared { blocks: all }];
    let logs = pick(&kinds, stream);
    let bits = 1 + below(stream, 3);
    let cells = match logs {
        Logs::InOrder { .. } => LogCells::Ordinary,
        _ if stream.chance(1, 3) => LogCells::Ordinary,
        _ => LogCells::Slc { bits, fixed: stream.chance(1, 2) },
    };
    let in_order = matches!(logs, Logs::InOrder { .. });
    let times = [LevellingTime::Foreground, LevellingTime::Idle];
    LogPolicies {
        logs,
        cells,
        sequential: if in_order { 0 } else { below(stream, 2) },
        merge_when_idle: stream.chance(1, 2),
        levelling: pick(&LEVELLINGS, stream),
        levelling_time: pick(&times, stream),
    }
}

/// Fills the part, then overwrites and trims random pages.
fn exercise(mut ftl: LogBlocks<UntimedMedium>, stream: &mut Stream) {
    let pages = ftl.pages();
    ftl.write(NOW, Extent::new(0, pages)).unwrap();
    for _ in 0..400 {
        let first = below(stream, pages);
        let count = 1 + below(stream, (pages - first).min(40));
        match stream.below(20) {
            0 | 1 => drop(ftl.trim(NOW, Extent::new(first, count)).unwrap()),
            2 => drop(ftl.idle(NOW, NOW)),
            _ => drop(ftl.write(NOW, Extent::new(first, count)).unwrap()),
        }
    }
    ftl.assert_sound();
}

#[test]
fn any_part_from_eight_blocks_works_full_or_says_how_many_blocks_it_needs() {
    let mut stream = Seed::new(4).stream("tiny");
    let (mut worked, mut refused) = (0, 0);
    for case in 0..900 {
        let blocks = 8 + below(&mut stream, 12);
        let pages_per_block = pick(&[1, 2, 7, 16, 64, 100], &mut stream);
        let pages = blocks * pages_per_block;
        let spare = pick(&[0, 2, 7, 28, 50], &mut stream);
        let logical = (pages - (pages * spare).div_ceil(100)).max(1);
        let policies = policies(&mut stream);
        let build = |blocks| {
            let part = Geometry::new(blocks, pages_per_block, Bytes::kib(4), logical).unwrap();
            LogBlocks::new(part, policies, UntimedMedium::new(&part), Seed::new(case))
        };
        match build(blocks) {
            Ok(ftl) => {
                exercise(ftl, &mut stream);
                worked += 1;
            }
            Err(Error::TooFewBlocks { needed, .. }) => {
                assert!(needed > blocks && build(needed - 1).is_err(), "case {case}: {policies:?}");
                exercise(build(needed).unwrap(), &mut stream);
                refused += 1;
            }
            Err(Error::Policy { what, .. }) if what.starts_with("bits of a cell") => {}
            Err(error) => panic!("case {case}: {error}"),
        }
    }
    assert!(worked > 200 && refused > 200, "{worked} worked, {refused} were refused");
}

#[test]
fn policies_that_make_no_sense_are_refused() {
    let part = Geometry::new(64, 16, Bytes::kib(4), 800).unwrap();
    let refused =
        |policies| match LogBlocks::new(part, policies, UntimedMedium::new(&part), Seed::new(1)) {
            Err(Error::Policy { what, found, .. }) => (what, found),
            other => panic!("{policies:?} gives {:?}", other.map(|_| ())),
        };
    let base = LogPolicies::own(2);
    let own = |units, chain, all| LogPolicies { logs: Logs::Own { units, chain, all }, ..base };
    assert_eq!(refused(own(0, 1, 1)), ("open units", 0));
    assert_eq!(refused(own(2, 0, 2)), ("logs of a unit", 0));
    assert_eq!(refused(own(2, 3, 1)), ("logs of all units", 1));
    assert_eq!(refused(own(2, 3, 7)), ("logs of all units", 7));
    assert_eq!(refused(LogPolicies::shared(0)), ("shared logs", 0));
    assert_eq!(refused(LogPolicies::in_order(0)), ("open units", 0));
    assert_eq!(refused(LogPolicies { sequential: 3, ..base }), ("sequential logs", 3));
    let beside = LogPolicies { sequential: 1, ..LogPolicies::in_order(1) };
    assert_eq!(refused(beside), ("sequential logs beside a block map", 1));
    let cells = LogCells::Slc { bits: 17, fixed: false };
    assert_eq!(refused(LogPolicies { cells, ..base }).1, 17);
    let cells = LogCells::Slc { bits: 1, fixed: false };
    assert_eq!(refused(LogPolicies { cells, ..LogPolicies::in_order(1) }).1, 1);
    let levelling = Levelling::Threshold(0);
    assert_eq!(refused(LogPolicies { levelling, ..base }), ("spread of erase counts", 0));
}
