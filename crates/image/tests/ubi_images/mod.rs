//! Small images of UBI and UBIFS.

#![allow(dead_code, reason = "not every test reads all of them")]

use boardlab_codec::zlib::Inflate;

/// `mkfs.ubifs -m 512 -e 15872 -c 60 -x zlib` of mtd-utils 2.1.5, of 6 names.
pub(crate) fn single() -> Vec<u8> {
    unpacked(include_bytes!("../data/tree.ubifs.deflate"), 206_336)
}

/// `ubinize -m 512 -p 16384 -s 256`: the volumes rootfs (that tree), data (its folder etc), kernel.
pub(crate) fn two() -> Vec<u8> {
    unpacked(include_bytes!("../data/two-volumes.ubi.deflate"), 475_136)
}

/// A flash with OOB bytes that Linux 6.1 wrote: one volume with symbolic links.
pub(crate) fn linux() -> Vec<u8> {
    unpacked(include_bytes!("../data/linux-512.oob.deflate"), 17_301_504)
}

fn unpacked(packed: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Inflate::new().raw(packed, &mut bytes).unwrap();
    bytes
}
