//! The image of a kernel.

use crate::asked::opened;
use boardlab_codec::zlib::Inflate;
use boardlab_image::{Hints, MountedImage};
use boardlab_vfs::Mount;
use boardlab_workload::tree::manifest;

pub(crate) const MANIFEST: &str = include_str!("../data/logfs/linux-3.6.manifest");
/// Bytes of a page of 2 KiB with its spare bytes.
pub(crate) const RAW: usize = 2_112;
/// Pages of a segment.
pub(crate) const PAGES: usize = 64;

/// 256 segments of 64 pages of 2,048 + 64 bytes.
pub(crate) fn linux() -> Vec<u8> {
    let packed = include_bytes!("../data/logfs/linux-3.6.deflate");
    let mut bytes = vec![0; 256 * PAGES * RAW];
    Inflate::new().raw(packed, &mut bytes).unwrap();
    bytes
}

/// The data without spare bytes.
pub(crate) fn plain(image: &[u8]) -> Vec<u8> {
    image.chunks(RAW).flat_map(|raw| raw[..2_048].to_vec()).collect()
}

pub(crate) fn told(bytes: &[u8]) -> String {
    let MountedImage { fs, mut clock, .. } = opened(bytes, &Hints::default()).unwrap();
    manifest(&mut Mount::new(fs), &mut clock).unwrap()
}
