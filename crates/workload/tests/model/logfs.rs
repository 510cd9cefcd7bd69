//! LogFS on NAND and NOR in memory, with and without compression.
use super::{Pair, extent};
use boardlab_logfs::mkfs::Format;
use boardlab_logfs::{Logfs, Options};
use boardlab_mtd::RamMtd;
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::FileSystem;

fn mount(device: RamMtd, clock: &mut Clock) -> Logfs<RamMtd> {
    Logfs::mount(clock, device, Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn remount(mut fs: Logfs<RamMtd>, clock: &mut Clock) -> Logfs<RamMtd> {
    assert_eq!(fs.audit(clock).unwrap().faults, [], "before the remount: {:?}", fs.counts());
    assert_eq!(fs.counts().corrected_entries, 0);
    let mut fs = mount(fs.into_device(), clock);
    fs.check_tables().unwrap();
    let faults = fs.audit(clock).unwrap_or_else(|error| panic!("{error}")).faults;
    assert_eq!(faults, [], "{:?} {:?}", fs.findings(), fs.counts());
    fs
}

fn run(name: &str, mut device: RamMtd, format: Format) {
    let mut pair = Pair::new(|clock| {
        format.make(clock, &mut device).unwrap_or_else(|error| panic!("{error}"));
        mount(device, clock)
    });
    pair.fill();
    let count = extent(4_000);
    pair.run(name, count, remount);
    pair.assert_was_full(count);
}

#[test]
fn a_full_logfs_is_as_a_tree_in_memory() {
    let device = RamMtd::nand(48, 64, Bytes::kib(2), Bytes::new(64));
    run("logfs", device, Format::default());
}

#[test]
fn a_full_logfs_with_compression_is_as_a_tree_in_memory() {
    let device = RamMtd::nand(44, 64, Bytes::kib(2), Bytes::new(64));
    run("logfs.zlib", device, Format { compress: true, ..Format::default() });
}

#[test]
fn a_full_logfs_of_small_segments_is_as_a_tree_in_memory() {
    let device = RamMtd::nand(360, 32, Bytes::new(512), Bytes::new(16));
    let format = Format { segment_shift: Some(15), write_shift: Some(9), ..Format::default() };
    run("logfs.small", device, format);
}

#[test]
fn a_full_logfs_on_nor_is_as_a_tree_in_memory() {
    let device = RamMtd::nor(80, Bytes::kib(64));
    let format = Format { segment_shift: Some(16), write_shift: Some(0), ..Format::default() };
    run("logfs.nor", device, format);
}
