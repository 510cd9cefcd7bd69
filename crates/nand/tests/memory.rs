//! What a device takes in memory: what was written, not what it could hold.

#![allow(clippy::unwrap_used, reason = "the helpers of a test panic like the test")]

mod rig;

use boardlab_media::NandGeometry;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_nand::Part;
use boardlab_nand::chip::Setup;
use boardlab_sim::{Bytes, Seed};
use peak_alloc::PeakAlloc;
use rig::{large, nand, nand_with, profile};
use std::sync::{Mutex, MutexGuard};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Only one test at a time: the memory of the process is counted.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// 16 GiB: 16,384 blocks of 256 pages of 4 KiB.
fn huge() -> Part {
    let geometry = NandGeometry {
        blocks: 16_384,
        pages_per_block: 256,
        page: Bytes::kib(4),
        oob: Bytes::new(224),
    };
    Part { geometry, ..large(1) }
}

#[test]
fn a_mostly_empty_part_of_16_gib_takes_memory_for_its_contents_and_little_for_its_blocks() {
    let _turn = alone();
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let part = huge();
    assert_eq!(part.size(), Bytes::mib(16 << 10));
    // One block in a hundred is bad, as new parts have them.
    let setup = Setup { factory_bad: 655, ..Setup::perfect(Seed::new(1)) };
    let profile = profile(&part);
    let (mut nand, mut clock) = nand_with(part, profile, &setup);
    let empty = MEMORY.peak_usage() - before;
    let bad = nand.driver.bad_blocks().count();
    assert!(bad > 100, "{bad}");
    // The page table of a block and the OOB bytes of its two marked pages.
    let marked = bad * (256 * 8 + 2 * 300);
    let each = (empty - marked) / 16_384;
    assert!(each <= 128, "{empty} bytes, {each} for each block");
    let (unit, data) = (Bytes::kib(4), vec![0x5A; 4 << 10]);
    let mut written = 0;
    for block in (0..16_384).step_by(16) {
        let index = BlockIndex(block);
        if !nand.is_bad(&mut clock, index).unwrap() {
            let offset = unit * 256 * u64::from(block);
            nand.program(&mut clock, offset, &data).unwrap();
            written += 1;
        }
    }
    assert!(written > 900, "{written}");
    let more = MEMORY.peak_usage() - before - empty;
    let page = more / written;
    assert!(page < 2 * 4_320, "{page} bytes for each page that was written");
    for block in 0..16_384 {
        let index = BlockIndex(block);
        if !nand.is_bad(&mut clock, index).unwrap() {
            nand.erase(&mut clock, index).unwrap();
        }
    }
    let left = MEMORY.current_usage() - before;
    assert!(left <= empty + (64 << 10), "{left} after all is erased, {empty} before");
    eprintln!("{empty} bytes empty ({bad} blocks bad), {page} for each page, {left} erased again");
}

#[test]
fn a_fork_takes_memory_for_what_it_changes_and_gives_it_back() {
    let _turn = alone();
    let (mut base, mut clock) = nand(huge());
    let (unit, data) = (Bytes::kib(4), vec![0xA5; 4 << 10]);
    // 32 MiB in 32 blocks, all of their pages.
    for page in 0..32 * 256 {
        base.program(&mut clock, unit * page, &data).unwrap();
    }
    let before = MEMORY.current_usage();
    let fork = base.clone();
    let untouched = MEMORY.current_usage() - before;
    assert!(untouched < 2 << 20, "{untouched} bytes for a fork of 16,384 blocks");
    drop(fork);
    let forks: Vec<_> = (0..8_u32).map(|number| (number, base.clone())).collect();
    let cloned = MEMORY.current_usage();
    let forks: Vec<_> = forks
        .into_iter()
        .map(|(number, mut fork)| {
            fork.erase(&mut clock.clone(), BlockIndex(number)).unwrap();
            fork.program(&mut clock.clone(), unit * 256 * 40, &data).unwrap();
            fork
        })
        .collect();
    let changed = (MEMORY.current_usage() - cloned) / 8;
    assert!(
        changed < 3 * 4_320,
        "{changed} bytes for a fork with a block erased and a page written"
    );
    let mut page = vec![0; 4 << 10];
    base.read(&mut clock, Bytes::ZERO, &mut page).unwrap();
    assert_eq!(page, data, "the base keeps what a fork erased");
    drop(forks);
    let left = MEMORY.current_usage().saturating_sub(before);
    assert!(left < 64 << 10, "{left} bytes are left of the forks");
    eprintln!(
        "{untouched} bytes for a fork, {changed} more with a block erased and a page written"
    );
}
