//! UBI images that our own UBI and UBIFS have made.

use boardlab_image::create::write_data;
use boardlab_mtd::RamMtd;
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::{LebIndex, Lebs, NewVolume, Options, Ubi};
use boardlab_ubifs::Ubifs;
use boardlab_vfs::Mount;
use std::collections::BTreeMap;

/// Bytes of a block and of a page of [`flash`], and where data begin in a block.
pub(super) const BLOCK: usize = 16_384;
pub(super) const PAGE: usize = 512;
pub(super) const DATA: usize = 1_024;
/// Bytes of a LEB.
pub(super) const LEB: usize = BLOCK - DATA;

/// Content of files and volumes by their paths.
pub(super) type Tree = BTreeMap<String, Vec<u8>>;

/// An attached, empty flash of 160 blocks.
pub(super) fn flash() -> Ubi<RamMtd> {
    let flash = RamMtd::nand(160, 32, Bytes::new(512), Bytes::new(16));
    Ubi::attach(&mut Clock::new(), flash, &Options::default()).unwrap()
}

/// The flash as a file without OOB bytes.
pub(super) fn file_of(mut ubi: Ubi<RamMtd>) -> Vec<u8> {
    let (mut clock, mut file) = (Clock::new(), Vec::new());
    while ubi.background(&mut clock).unwrap() {}
    write_data(&mut ubi.into_device(), &mut clock, &mut file).unwrap();
    file
}

/// The beginning of a SquashFS of `length` bytes, and what follows.
pub(super) fn squashfs(length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..length).map(|n| (n * 31 % 253).to_le_bytes()[0]).collect();
    bytes[..4].copy_from_slice(b"hsqs");
    bytes[28..32].copy_from_slice(&[4, 0, 0, 0]);
    bytes[40..48].copy_from_slice(&(length as u64).to_le_bytes());
    bytes
}

/// Adds a static volume with `data`.
pub(super) fn add_static(ubi: &mut Ubi<RamMtd>, name: &str, data: &[u8]) {
    let mut clock = Clock::new();
    let size = Bytes::of(data) + Bytes::new(LEB as u64);
    let id = ubi.create_volume(&mut clock, &NewVolume::fixed(name, size)).unwrap();
    ubi.update_volume(&mut clock, id, data).unwrap();
}

/// Adds a dynamic volume of six LEBs with `data` in these LEBs.
pub(super) fn add_dynamic(ubi: &mut Ubi<RamMtd>, name: &str, data: &[(u32, &[u8])]) {
    let mut clock = Clock::new();
    let volume = NewVolume::dynamic(name, Bytes::new(6 * LEB as u64));
    let id = ubi.create_volume(&mut clock, &volume).unwrap();
    let mut volume = ubi.volume(&mut clock, id).unwrap();
    for (leb, data) in data {
        let mut whole = data.to_vec();
        whole.resize(data.len().next_multiple_of(PAGE), 0xFF);
        volume.change(&mut clock, LebIndex(*leb), &whole).unwrap();
    }
}

/// A flash with a UBIFS that was changed and committed three times, then changed once more and not
/// unmounted; and the tree after each commit, by its number.
pub(super) fn committed() -> (Vec<u8>, BTreeMap<u64, Tree>) {
    let (mut clock, mut ubi) = (Clock::new(), flash());
    let volume = NewVolume::dynamic("root", Bytes::new(100 * LEB as u64));
    let id = ubi.create_volume(&mut clock, &volume).unwrap();
    let volume = ubi.into_volume(&mut clock, id).unwrap();
    let fs = Ubifs::mount(&mut clock, volume, boardlab_ubifs::Options::default()).unwrap();
    let (mut mount, mut tree, mut trees) = (Mount::new(fs), Tree::new(), BTreeMap::new());
    for round in 0..4_u8 {
        let dir = format!("/round-{round}");
        mount.mkdir(&mut clock, &dir, 0o755).unwrap();
        tree.insert(dir.clone(), Vec::new());
        for file in 0..6_u8 {
            let path = format!("{dir}/{file}");
            let content: Vec<u8> = (0..9_000_u32)
                .map(|n| (n * 37 % 241).to_le_bytes()[0] ^ (round * 16 + file))
                .collect();
            let fd = mount.create(&mut clock, &path, 0o644).unwrap();
            mount.write(&mut clock, fd, 0, &content).unwrap();
            mount.fsync(&mut clock, fd).unwrap();
            mount.close(&mut clock, fd).unwrap();
            tree.insert(path, content);
        }
        if round == 2 {
            mount.unlink(&mut clock, "/round-0/1").unwrap();
            tree.remove("/round-0/1");
        }
        if round < 3 {
            mount.sync(&mut clock).unwrap();
            trees.insert(u64::from(round) + 1, tree.clone());
        }
    }
    let volume = mount.into_fs().into_lebs();
    (file_of(volume.into_ubi()), trees)
}

/// The blocks of a volume in a file, by their LEBs.
pub(super) fn blocks_of(file: &[u8], volume: u32) -> BTreeMap<u32, usize> {
    let number =
        |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let header = |block: usize| &file[block * BLOCK + PAGE..block * BLOCK + PAGE + 64];
    let is_its =
        |block: &usize| header(*block).starts_with(b"UBI!") && number(header(*block), 8) == volume;
    let blocks = (0..file.len() / BLOCK).filter(is_its);
    blocks.map(|block| (number(header(block), 12), block)).collect()
}
