//! Loss of power at the chip: what is left, and what a driver makes of it.

use crate::rig::{large, nand, serial};
use boardlab_media::Row;
use boardlab_mtd::{BlockIndex, Change, Error, Kind, Mtd, Tear, TearOutcome};
use boardlab_nand::Nand;
use boardlab_sim::{Bytes, Clock, Duration, Instant, Seed};

const OUTCOMES: [TearOutcome; 4] =
    [TearOutcome::NotBegun, TearOutcome::Partial, TearOutcome::Weak, TearOutcome::Finished];

fn page_of(nand: &Nand, row: Row) -> Vec<u8> {
    let mut page = vec![0; nand.port.part().geometry.row_bytes()];
    nand.port.die().array().peek(row, 0, &mut page);
    page
}

fn zeros(bytes: &[u8]) -> u32 {
    bytes.iter().map(|byte| byte.count_zeros()).sum()
}

/// A device whose block 1 holds data, about to lose its power in operation `more` from now on.
fn about_to_lose(part: boardlab_nand::Part, more: u64, torn: TearOutcome) -> (Nand, Clock) {
    let (mut nand, mut clock) = nand(part);
    let size = nand.port.part().geometry.block_size();
    nand.program(&mut clock, size, &vec![0x0F; size.to_usize()]).unwrap();
    let next = nand.port.operations() + more;
    nand.port.cut_at_operation(next, torn);
    (nand, clock)
}

#[test]
fn a_program_is_left_in_each_of_its_outcomes() {
    let unit = Bytes::new(2_048);
    for part in [large(4), serial(4)] {
        for torn in OUTCOMES {
            let (mut nand, mut clock) = about_to_lose(part.clone(), 2, torn);
            let cut = nand.program(&mut clock, Bytes::ZERO, &[0; 5 * 2_048]);
            assert!(matches!(cut, Err(Error::PowerCut { .. })), "{cut:?}");
            let done: Vec<u32> = (0..5)
                .map(|page| zeros(&page_of(&nand, Row { block: 0, page })[..2_048]))
                .collect();
            assert_eq!((done[0], done[1], done[3], done[4]), (16_384, 16_384, 0, 0), "{torn:?}");
            let expected = match torn {
                TearOutcome::NotBegun => 0..=0,
                TearOutcome::Partial => 1..=16_383,
                TearOutcome::Weak => 15_000..=16_383,
                TearOutcome::Finished => 16_384..=16_384,
            };
            assert!(expected.contains(&done[2]), "{} bits, {torn:?}", done[2]);
            let off = nand.read(&mut clock, unit, &mut [0]);
            assert!(matches!(off, Err(Error::PowerCut { .. })), "{off:?}");
            nand.power_on(&mut clock).unwrap();
            let mut back = [0xAA; 2_048];
            nand.read(&mut clock, unit, &mut back).unwrap();
            assert_eq!(back, [0; 2_048]);
        }
    }
}

#[test]
fn an_erase_is_left_in_each_of_its_outcomes() {
    for torn in OUTCOMES {
        let (mut nand, mut clock) = about_to_lose(large(4), 0, torn);
        let cut = nand.erase(&mut clock, BlockIndex(1));
        assert!(matches!(cut, Err(Error::PowerCut { .. })), "{cut:?}");
        nand.power_on(&mut clock).unwrap();
        let left = zeros(&page_of(&nand, Row { block: 1, page: 9 })[..2_048]);
        match torn {
            TearOutcome::NotBegun => assert_eq!(left, 8_192),
            TearOutcome::Partial => assert!((1..8_192).contains(&left), "{left}"),
            TearOutcome::Weak | TearOutcome::Finished => assert_eq!(left, 0),
        }
        // Only a whole erase makes a block that holds what is programmed.
        let mut back = vec![0; 2_048];
        let size = nand.port.part().geometry.block_size();
        if torn == TearOutcome::Weak {
            nand.program(&mut clock, size, &[0; 2_048]).unwrap();
            let read = nand.read(&mut clock, size, &mut back);
            assert_eq!(read, Err(Error::Uncorrectable { offset: size }));
        }
        nand.erase(&mut clock, BlockIndex(1)).unwrap();
        nand.program(&mut clock, size, &[0; 2_048]).unwrap();
        nand.read(&mut clock, size, &mut back).unwrap();
        assert_eq!(back, [0; 2_048]);
    }
}

#[test]
fn a_cut_at_an_instant_leaves_what_the_time_allowed() {
    let program = |after: Duration| {
        let (mut nand, mut clock) = nand(large(4));
        let start = clock.now();
        nand.port.cut_at(start + after);
        let cut = nand.program(&mut clock, Bytes::ZERO, &[0; 2_048]);
        let at = match cut {
            Ok(()) => None,
            Err(Error::PowerCut { at }) => Some(at.since(start)),
            Err(error) => panic!("{error}"),
        };
        (zeros(&page_of(&nand, Row { block: 0, page: 0 })[..2_048]), at)
    };
    // 7 cycles, tADL, 2,112 cycles: 106.05 us; tWB and 200 us of program.
    let micros = Duration::from_micros;
    assert_eq!(program(micros(50)).0, 0);
    let (half, at) = program(micros(106 + 100));
    assert!((7_500..8_900).contains(&half), "{half}");
    assert_eq!(at, Some(micros(206)));
    assert_eq!(program(micros(400)), (16_384, None));
    let early = program(Duration::ZERO);
    assert_eq!(early, (0, Some(Duration::ZERO)));
}

#[test]
fn every_outcome_of_every_change_leaves_a_device_that_works() {
    let (mut base, mut clock) = nand(large(4));
    let data = vec![0x33; 3 * 2_048];
    base.program(&mut clock, Bytes::ZERO, &data).unwrap();
    let changes = [
        Change::Program(Bytes::new(3 * 2_048), &data),
        Change::ProgramOob(boardlab_mtd::PageIndex(70), &data[..2_048], &[1, 2, 3]),
        Change::Erase(BlockIndex(0)),
        Change::MarkBad(BlockIndex(2)),
    ];
    for change in changes {
        for &torn in base.outcomes(change.kind()) {
            let mut fork = base.clone();
            let mut stream = Seed::new(5).stream("tear");
            fork.tear(&mut clock.clone(), change, torn, &mut stream);
            let same = fork.port.die().array().first_difference(base.port.die().array());
            let mut whole = base.clone();
            change.apply(&mut whole, &mut clock.clone()).unwrap();
            let done = fork.port.die().array().first_difference(whole.port.die().array());
            let told = format!("{change:?} {torn:?}");
            // Of a mark the erase before it may be hit, which leaves an erased block as it was.
            let kept = torn == TearOutcome::NotBegun;
            assert!(same.is_none() == kept || change.kind() == Kind::MarkBad, "{told}");
            if change.kind() == Kind::MarkBad {
                let bad = fork.is_bad(&mut clock.clone(), BlockIndex(2)).unwrap();
                assert_eq!(bad, same.is_some(), "{told}");
            }
            if torn == TearOutcome::Finished {
                assert_eq!(done, None, "{told}");
            }
            let mut clock = clock.clone();
            fork.erase(&mut clock, BlockIndex(3)).unwrap();
            fork.program(&mut clock, Bytes::kib(128 * 3), &data).unwrap();
            let mut back = vec![0; data.len()];
            fork.read(&mut clock, Bytes::kib(128 * 3), &mut back).unwrap();
            assert_eq!(back, data, "{told}");
        }
    }
    assert_eq!(base.outcomes(Kind::Erase).len(), 4);
}

#[test]
fn the_same_stream_tears_the_same_bits() {
    let (base, clock) = nand(large(4));
    let torn = |seed| {
        let mut fork = base.clone();
        let change = Change::Program(Bytes::ZERO, &[0; 2_048]);
        let mut stream = Seed::new(seed).stream("tear");
        fork.tear(&mut clock.clone(), change, TearOutcome::Partial, &mut stream);
        page_of(&fork, Row { block: 0, page: 0 })
    };
    assert_eq!(torn(1), torn(1));
    assert_ne!(torn(1), torn(2));
    let _: Instant = clock.now();
}

#[test]
fn a_fork_shares_everything_that_did_not_change() {
    let (mut base, mut clock) = nand(large(2_048));
    for block in 0..100 {
        base.program(&mut clock, Bytes::kib(128 * block), &[0; 2_048]).unwrap();
    }
    let mut fork = base.clone();
    let pair =
        |fork: &Nand, base: &Nand| fork.port.die().array().shared_blocks(base.port.die().array());
    assert_eq!(pair(&fork, &base), 2_048);
    fork.program(&mut clock, Bytes::kib(128 * 7) + Bytes::new(2_048), &[0; 2_048]).unwrap();
    assert_eq!(pair(&fork, &base), 2_047);
}
