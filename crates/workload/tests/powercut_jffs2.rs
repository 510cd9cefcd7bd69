//! JFFS2 under power cuts: every operation on the flash, every outcome, and cuts in the recovery; and
//! JFFS2 with mistakes, each of which must be found.

use crate::powercut_plans;
use boardlab_jffs2::{Jffs2, Mistake, Options};
use boardlab_media::{CellKind, NandGeometry};
use boardlab_mtd::{Kind, RamMtd, Tear, TearOutcome};
use boardlab_nand::Nand;
use boardlab_nand::part::{BadMarks, BusWidth, EccNeed, Interface, Part, TimeLimit, Timing};
use boardlab_sim::{Bytes, Clock, Duration, QuantileTable, Seed};
use boardlab_workload::powercut::{Matrix, Plan, Sampling};
use std::sync::Arc;

fn ram_nand() -> RamMtd {
    RamMtd::nand(48, 8, Bytes::kib(2), Bytes::new(64))
}

fn ram_nor() -> RamMtd {
    RamMtd::nor(96, Bytes::kib(8))
}

/// A chip with error correction, in which an interrupted erase may leave a weak block.
fn chip() -> Nand {
    let micros = |count| QuantileTable::constant(Duration::from_micros(count));
    let timed = |count| TimeLimit { time: micros(count), max: Duration::from_micros(4 * count) };
    let nanos = Duration::from_nanos;
    let part = Part {
        name: "small".into(),
        interface: Interface::Parallel(BusWidth::X8),
        geometry: NandGeometry {
            blocks: 48,
            pages_per_block: 8,
            page: Bytes::kib(2),
            oob: Bytes::new(64),
        },
        cell: CellKind::Slc,
        programs_per_page: 4,
        identity: vec![0x20, 0xDA, 0x10, 0x95],
        onfi: None,
        timing: Timing {
            read: micros(25),
            program: timed(200),
            erase: timed(2_000),
            write_cycle: nanos(50),
            read_cycle: nanos(50),
            write_to_busy: nanos(100),
            ready_to_read: nanos(20),
            write_to_read: nanos(60),
            address_to_data: nanos(100),
            reset: Duration::from_micros(500),
        },
        endurance: 100_000,
        bad_blocks_max: 2,
        bad_marks: BadMarks::FIRST_TWO,
        ecc: EccNeed { bits: 1, step: Bytes::new(512) },
        on_die_ecc: None,
    };
    Nand::perfect(Arc::new(part), Seed::new(1), &mut Clock::new()).unwrap()
}

/// With erases that are broken off and say that they are done.
fn plan(seed: u64, operations: u64) -> Plan {
    Plan { brownout_one_in: 10, ..powercut_plans::plan(seed, operations) }
}

/// Runs that must lose nothing.
fn plans(short: u64) -> Vec<Plan> {
    powercut_plans::runs(short, plan)
}

/// The same with cuts in one operation of four: what a mistake loses, it loses in many of them.
fn sparse(operations: u64) -> Plan {
    Plan { first: Sampling { exhaustive: 0, one_in: 4 }, ..plan(7, operations) }
}

fn explored<M: Tear + Send + Sync + 'static>(
    flash: M,
    plan: &Plan,
    mistake: Option<Mistake>,
) -> Matrix {
    let options = Options { mistake, ..Options::default() };
    powercut_plans::explored(flash, plan, |clock, flash| {
        Ok(Box::new(Jffs2::mount(clock, flash, options.clone())?))
    })
}

fn assert_nothing_lost(matrix: &Matrix, plan: &Plan) {
    powercut_plans::assert_nothing_lost(matrix, plan);
    let erases = powercut_plans::cuts(matrix, Kind::Erase, TearOutcome::Partial);
    assert!(erases > 20, "{matrix:?}");
    assert!(matrix.second_cuts() > 50, "{matrix:?}");
}

#[test]
fn nothing_is_lost_at_any_cut_on_nand() {
    for plan in plans(1_000) {
        assert_nothing_lost(&explored(ram_nand(), &plan, None), &plan);
    }
}

#[test]
fn nothing_is_lost_at_any_cut_on_nor() {
    for plan in plans(1_000) {
        assert_nothing_lost(&explored(ram_nor(), &plan, None), &plan);
    }
}

#[test]
fn nothing_is_lost_at_any_cut_on_a_chip_with_error_correction_and_weak_blocks() {
    for plan in plans(1_000) {
        let matrix = explored(chip(), &plan, None);
        assert_nothing_lost(&matrix, &plan);
        assert!(matrix.first[&(Kind::Erase, TearOutcome::Weak)].cuts > 20, "{matrix:?}");
    }
}

fn assert_found(matrix: &Matrix, mistake: Mistake) {
    let Matrix { brownouts, lives, .. } = matrix;
    let cuts = matrix.cuts();
    let seen = format!("{cuts} cuts, {lives} lives, {brownouts} brownouts");
    assert!(matrix.failed() > 0, "{mistake:?} was not found in {seen}");
}

#[test]
fn torn_data_that_are_believed_are_found() {
    let mistake = Mistake::TrustsTornData;
    assert_found(&explored(ram_nand(), &plan(7, 300), Some(mistake)), mistake);
}

#[test]
fn blocks_that_are_taken_for_erased_without_a_cleanmarker_are_found() {
    let mistake = Mistake::TrustsUnmarkedBlocks;
    assert_found(&explored(chip(), &sparse(1_000), Some(mistake)), mistake);
}

#[test]
fn an_erase_before_the_flush_is_found() {
    let mistake = Mistake::ErasesBeforeFlush;
    assert_found(&explored(ram_nand(), &sparse(1_000), Some(mistake)), mistake);
}

#[test]
fn forgotten_deletions_are_found() {
    let mistake = Mistake::ForgetsDeletions;
    assert_found(&explored(ram_nand(), &sparse(1_500), Some(mistake)), mistake);
}

#[test]
fn versions_that_are_read_too_low_are_found() {
    let mistake = Mistake::ReadsVersionsTooLow;
    assert_found(&explored(ram_nand(), &plan(7, 100), Some(mistake)), mistake);
}

#[test]
fn erases_that_are_believed_are_found() {
    let mistake = Mistake::TrustsErases;
    assert_found(&explored(chip(), &sparse(1_000), Some(mistake)), mistake);
}
