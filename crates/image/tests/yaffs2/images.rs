//! The images.

use crate::asked::opened;
use boardlab_codec::zlib::Inflate;
use boardlab_image::{Hints, MountedImage};
use boardlab_result::Value;
use boardlab_vfs::Mount;
use boardlab_workload::tree::manifest;

pub(crate) const LINUX_MANIFEST: &str = include_str!("../data/yaffs2/linux-3.6.manifest");
pub(crate) const TREE: &str = include_str!("../data/yaffs2/tree.manifest");
/// Bytes of a page of 2 KiB with its spare bytes.
pub(crate) const RAW: usize = 2_112;

fn unpacked(packed: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Inflate::new().raw(packed, &mut bytes).unwrap();
    bytes
}

/// 256 blocks of 64 pages of 2,048 + 64 bytes.
pub(crate) fn linux() -> Vec<u8> {
    unpacked(include_bytes!("../data/yaffs2/linux-3.6.deflate"), 256 * 64 * RAW)
}

/// 64 blocks of 16 pages of 2,048 + 64 bytes.
pub(crate) fn large() -> Vec<u8> {
    unpacked(include_bytes!("../data/yaffs2/2048.deflate"), 64 * 16 * RAW)
}

pub(crate) fn big_endian() -> Vec<u8> {
    unpacked(include_bytes!("../data/yaffs2/2048-big-endian.deflate"), 64 * 16 * RAW)
}

pub(crate) fn in_band() -> Vec<u8> {
    unpacked(include_bytes!("../data/yaffs2/2048-in-band.deflate"), 64 * 16 * RAW)
}

/// 64 blocks of 8 pages of 4,096 + 128 bytes.
pub(crate) fn larger() -> Vec<u8> {
    unpacked(include_bytes!("../data/yaffs2/4096.deflate"), 64 * 8 * 2 * RAW)
}

/// The images of YAFFS1: 64 blocks of 32 pages of 512 + 16 bytes.
pub(crate) fn small() -> [Vec<u8>; 3] {
    let all: [&[u8]; 3] = [
        include_bytes!("../data/yaffs2/yaffs1.deflate"),
        include_bytes!("../data/yaffs2/yaffs1-linux-ecc.deflate"),
        include_bytes!("../data/yaffs2/yaffs1-mtd.deflate"),
    ];
    all.map(|packed| unpacked(packed, 64 * 32 * 528))
}

/// The pages of 2,048 + 64 bytes, each changed.
pub(crate) fn moved(image: &[u8], change: impl Fn(&[u8], &[u8]) -> Vec<u8>) -> Vec<u8> {
    let pages = image.chunks(RAW).map(|raw| raw.split_at(2_048));
    pages.flat_map(|(data, spare)| [data.to_vec(), change(data, spare)].concat()).collect()
}

/// The manifest of an image, without lost+found, whose times are those of the mount.
pub(crate) fn told(bytes: &[u8]) -> String {
    told_by(bytes, &Hints::default())
}

pub(crate) fn told_by(bytes: &[u8], hints: &Hints) -> String {
    let MountedImage { fs, mut clock, .. } = opened(bytes, hints).unwrap();
    let all = manifest(&mut Mount::new(fs), &mut clock).unwrap();
    let lines = all.lines().filter(|line| !line.starts_with("lost+found "));
    lines.map(|line| format!("{line}\n")).collect()
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.into())
}
