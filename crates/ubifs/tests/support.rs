//! Volumes and mounts that the tests share.
use boardlab_sim::Clock;
use boardlab_ubi::lebs::Shape;
use boardlab_ubi::{Lebs, RamLebs};
use boardlab_ubifs::{Checks, Options, Ubifs};
use boardlab_vfs::{FileSystem, Mount};

/// A volume on NAND with pages of 2 KiB.
pub(crate) fn nand(leb_count: u32) -> Shape {
    Shape { leb_count, leb_size: 126_976, leb_start: 4_096, min_io: 2_048, max_write: 2_048 }
}

/// A volume on NAND with pages of 512 bytes.
pub(crate) fn small_nand(leb_count: u32) -> Shape {
    Shape { leb_count, leb_size: 15_872, leb_start: 512, min_io: 512, max_write: 512 }
}

/// All checks on.
pub(crate) fn checked() -> Options {
    Options { checks: Checks::ALL, ..Options::default() }
}

/// Mounts a volume.
pub(crate) fn mount<L: Lebs>(clock: &mut Clock, lebs: L, options: Options) -> Ubifs<L> {
    Ubifs::mount(clock, lebs, options).unwrap_or_else(|error| panic!("{error}"))
}

/// An empty volume with a default filesystem, with all checks on.
pub(crate) fn fresh(clock: &mut Clock, shape: Shape) -> Mount<Ubifs<RamLebs>> {
    Mount::new(mount(clock, RamLebs::new(shape), checked()))
}

/// Checks everything that can be checked.
pub(crate) fn check<L: Lebs>(clock: &mut Clock, fs: &mut Ubifs<L>) {
    fs.check_tables().unwrap();
    fs.check_all(clock).unwrap_or_else(|error| panic!("{error}"));
}
