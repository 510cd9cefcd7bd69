//! Volumes for the tests of all modules.
//!
//! [`mkfs_image`] is an image of `mkfs.ubifs` with 29 inodes; [`from_mkfs`] is the volume with it,
//! whose superblock and master node were read; [`default_fs`] is one with a default filesystem.

use crate::Lebs;
use crate::layout::Layout;
use crate::options::Options;
use crate::volume::Volume;
use boardlab_codec::zlib::Inflate;
use boardlab_sim::Clock;
use boardlab_ubi::{RamLebs, Shape};

/// The bytes of a LEB of [`mkfs_image`].
pub(crate) const MKFS_LEB_SIZE: u32 = 15_360;

/// A volume on NAND with pages of 512 bytes.
pub(crate) const fn shape(leb_count: u32, leb_size: u32) -> Shape {
    Shape { leb_count, leb_size, leb_start: 1_024, min_io: 512, max_write: 512 }
}

/// An image that `mkfs.ubifs` has made; see `tests/images/README.md`.
pub(crate) fn mkfs_image() -> Vec<u8> {
    let packed = include_bytes!("../tests/images/mkfs-512.deflate");
    let mut image = vec![0; 13 * 15_360];
    let length = Inflate::new().raw(packed, &mut image).unwrap();
    assert_eq!(length, image.len());
    image
}

/// A volume of 40 LEBs with [`mkfs_image`].
pub(crate) fn mkfs_lebs() -> RamLebs {
    RamLebs::with_image(shape(40, MKFS_LEB_SIZE), &mkfs_image())
}

/// A volume about which nothing was read yet.
pub(crate) fn unread<L: Lebs>(lebs: L, options: Options) -> Volume<L> {
    let layout = Layout::early(&lebs.shape()).unwrap();
    Volume::new(lebs, layout, options)
}

/// Reads superblock and master node as a mount does; the LPT and the journal are left alone.
pub(crate) fn read_roots<L: Lebs>(clock: &mut Clock, volume: &mut Volume<L>) {
    volume.read_superblock(clock).unwrap();
    volume.init_constants_sb().unwrap();
    volume.alloc_wbufs();
    volume.read_master(clock).unwrap();
    volume.mode.mounting = false;
    volume.mode.empty = false;
}

/// The volume with the image of `mkfs.ubifs`, after [`read_roots`].
pub(crate) fn from_mkfs() -> (Clock, Volume<RamLebs>) {
    let (mut clock, mut volume) = (Clock::new(), unread(mkfs_lebs(), Options::default()));
    read_roots(&mut clock, &mut volume);
    (clock, volume)
}

/// A volume of 200 LEBs of 15,872 bytes with a default filesystem, after [`read_roots`].
pub(crate) fn default_fs() -> (Clock, Volume<RamLebs>) {
    let lebs = RamLebs::new(shape(200, 15_872));
    let (mut clock, mut volume) = (Clock::new(), unread(lebs, Options::default()));
    volume.mode.empty = true;
    read_roots(&mut clock, &mut volume);
    (clock, volume)
}

/// The bytes that hexadecimal digits say.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}
