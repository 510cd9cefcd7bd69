//! Our side: UBI and UBIFS on our NAND chip.

use crate::flash::{chip, load};
use boardlab_checks::nandsim::Flash;
use boardlab_nand::Nand;
use boardlab_sim::{Bytes, Clock, Duration};
use boardlab_ubi::{NewVolume, Ubi, Volume, options::Options};
use boardlab_ubifs::{Compressor, Ubifs};
use boardlab_vfs::{Host, Mount, WriteBack};
use boardlab_workload::tree;

/// A mounted UBIFS.
pub(crate) type Mounted = Mount<Ubifs<Volume<Nand>>>;

/// Attaches a partition of a flash, with the sub-pages of the chip or without.
pub(crate) fn attach(clock: &mut Clock, nand: Nand, flash: Flash, sub_pages: bool) -> Ubi<Nand> {
    let sub_page = sub_pages.then(|| u32::try_from(nand.subpage().get()).unwrap());
    let chip_blocks = Some(u32::try_from(flash.blocks_of(flash.mebibytes)).unwrap());
    let options = Options { sub_page, chip_blocks, ..Options::default() };
    Ubi::attach(clock, nand, &options).unwrap()
}

/// An erased flash as `ubiformat` leaves it: every block has an erase counter.
pub(crate) fn formatted(
    clock: &mut Clock,
    flash: Flash,
    mebibytes: usize,
    sub_pages: bool,
) -> Ubi<Nand> {
    let mut ubi = attach(clock, chip(flash, mebibytes), flash, sub_pages);
    settle_ubi(clock, &mut ubi);
    ubi
}

/// Lets the background thread do all that waits.
pub(crate) fn settle_ubi(clock: &mut Clock, ubi: &mut Ubi<Nand>) {
    while ubi.background(clock).unwrap() {}
}

/// What our UBIFS shows of a flash; the flash is not written.
pub(crate) fn manifest_of_dump(flash: Flash, dump: &[u8], sub_pages: bool) -> String {
    let mut clock = Clock::default();
    let mebibytes = (dump.len() / flash.raw_page() * flash.page) >> 20;
    let mut nand = chip(flash, mebibytes);
    load(&mut nand, dump);
    let ubi = attach(&mut clock, nand, flash, sub_pages);
    let options = boardlab_ubifs::Options { read_only: true, ..boardlab_ubifs::Options::default() };
    let mut mount = mount(&mut clock, ubi, options);
    tree::manifest(&mut mount, &mut clock).unwrap()
}

/// Makes a volume of all space.
pub(crate) fn make_volume(clock: &mut Clock, ubi: &mut Ubi<Nand>) {
    let size = ubi.available();
    ubi.create_volume(clock, &NewVolume::dynamic("volume", size)).unwrap();
}

/// The compressor of a mount option.
pub(crate) fn compressor(name: &str) -> Compressor {
    match name {
        "none" => Compressor::None,
        "lzo" => Compressor::Lzo,
        "zlib" => Compressor::Zlib,
        "zstd" => Compressor::Zstd,
        other => panic!("no compressor {other}"),
    }
}

/// Mounts the first volume, with a page cache that writes nothing back by itself.
pub(crate) fn mount(
    clock: &mut Clock,
    ubi: Ubi<Nand>,
    options: boardlab_ubifs::Options,
) -> Mounted {
    let volume = ubi.into_volume(clock, 0).unwrap_or_else(|error| panic!("{error}"));
    let fs = Ubifs::mount(clock, volume, options).unwrap_or_else(|error| panic!("{error}"));
    let forever = Duration::from_secs(1_000_000);
    let write_back =
        WriteBack { background: Bytes::mib(1_024), expire: forever, interval: forever };
    let options = boardlab_vfs::Options { cache: Bytes::mib(1_024), readahead: 1, write_back };
    Mount::with_host(fs, Host::free(), options)
}

/// Unmounts; UBI stays attached.
pub(crate) fn unmount(clock: &mut Clock, mut mount: Mounted) -> Ubi<Nand> {
    mount.unmount(clock).unwrap();
    mount.into_fs().into_lebs().into_ubi()
}
