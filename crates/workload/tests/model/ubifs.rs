//! UBIFS on volumes in memory.
use super::{Pair, extent};
use boardlab_sim::Clock;
use boardlab_ubi::RamLebs;
use boardlab_ubi::lebs::Shape;
use boardlab_ubifs::{Checks, Options, Ubifs};
use boardlab_vfs::FileSystem;

/// Mounts with all checks on.
fn mount(lebs: RamLebs, clock: &mut Clock) -> Ubifs<RamLebs> {
    let options = Options { checks: Checks::ALL, ..Options::default() };
    Ubifs::mount(clock, lebs, options).unwrap_or_else(|error| panic!("{error}"))
}

fn remount(fs: Ubifs<RamLebs>, clock: &mut Clock) -> Ubifs<RamLebs> {
    let mut fs = mount(fs.into_lebs(), clock);
    fs.check_tables().unwrap();
    fs.check_all(clock).unwrap_or_else(|error| panic!("{error}"));
    fs
}

fn run(name: &str, shape: Shape, filled: bool) {
    let mut pair = Pair::new(|clock| mount(RamLebs::new(shape), clock));
    if filled {
        pair.fill();
    }
    let count = extent(3_000);
    pair.run(name, count, remount);
    if filled {
        pair.assert_was_full(count);
    }
}

/// A volume on NAND with pages of 2 KiB.
fn nand(leb_count: u32) -> Shape {
    Shape { leb_count, leb_size: 126_976, leb_start: 4_096, min_io: 2_048, max_write: 2_048 }
}

#[test]
fn a_full_nand_is_as_a_tree_in_memory() {
    run("ubifs.nand", nand(60), true);
}

#[test]
fn a_full_nand_of_small_blocks_is_as_a_tree_in_memory() {
    let shape =
        Shape { leb_count: 300, leb_size: 15_872, leb_start: 512, min_io: 512, max_write: 512 };
    run("ubifs.small", shape, true);
}

#[test]
fn a_full_nor_is_as_a_tree_in_memory() {
    let shape =
        Shape { leb_count: 100, leb_size: 65_408, leb_start: 128, min_io: 1, max_write: 64 };
    run("ubifs.nor", shape, true);
}

#[test]
fn a_nand_with_space_is_as_a_tree_in_memory() {
    run("ubifs.space", nand(200), false);
}
