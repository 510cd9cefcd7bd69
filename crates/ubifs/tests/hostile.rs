//! Damaged and forged images: errors, never a panic or an endless loop.
use boardlab_codec::zlib::Inflate;
use boardlab_sim::{Clock, Seed, Stream};
use boardlab_ubi::{LebIndex, Lebs, RamLebs, Shape};
use boardlab_ubifs::{Checks, Options, Ubifs};
use boardlab_vfs::{Kind, Mount, survey};

const LEB_SIZE: usize = 15_360;
const MIN_IO: usize = 512;

fn shape() -> Shape {
    Shape { leb_count: 40, leb_size: 15_360, leb_start: 1_024, min_io: 512, max_write: 512 }
}

/// The image of `mkfs.ubifs` with 29 inodes.
fn image() -> Vec<u8> {
    let mut image = vec![0; 13 * LEB_SIZE];
    let packed = include_bytes!("images/mkfs-512.deflate");
    Inflate::new().raw(packed, &mut image).unwrap();
    image
}

/// A volume with these bytes; what is erased at the end of a LEB can be written.
fn volume(image: &[u8]) -> RamLebs {
    let (mut lebs, mut clock) = (RamLebs::new(shape()), Clock::new());
    for (leb, bytes) in (0..).zip(image.chunks(LEB_SIZE)) {
        let used = bytes.iter().rposition(|&byte| byte != 0xFF).map_or(0, |last| last + 1);
        let mut bytes = bytes[..used].to_vec();
        bytes.resize(used.next_multiple_of(MIN_IO), 0xFF);
        if !bytes.is_empty() {
            lebs.change(&mut clock, LebIndex(leb), &bytes).unwrap();
        }
    }
    lebs
}

/// Does with an image what can be done with it; whether it could be mounted.
fn exercise(image: &[u8], read_only: bool, checks: Checks) -> bool {
    let mut clock = Clock::new();
    let options = Options { read_only, checks, ..Options::default() };
    let Ok(fs) = Ubifs::mount(&mut clock, volume(image), options) else { return false };
    let mut mount = Mount::new(fs);
    for entry in survey(&mut mount, &mut clock).unwrap_or_default() {
        let Ok(path) = String::from_utf8(entry.path) else { continue };
        if entry.attributes.kind == Kind::File && entry.attributes.size < 1 << 20 {
            let Ok(fd) = mount.open(&mut clock, &path) else { continue };
            let mut bytes = vec![0; 1 << 16];
            drop(mount.read(&mut clock, fd, 0, &mut bytes));
            drop(mount.write(&mut clock, fd, 1_000, &bytes[..6_000]));
            drop(mount.close(&mut clock, fd));
        }
        drop(mount.unlink(&mut clock, &path));
    }
    drop(mount.sync(&mut clock));
    drop(mount.unmount(&mut clock));
    true
}

/// Where nodes begin.
fn nodes(image: &[u8]) -> Vec<usize> {
    let magic = 0x0610_1831_u32.to_le_bytes();
    (0..image.len()).step_by(8).filter(|&at| image[at..].starts_with(&magic)).collect()
}

fn length(image: &[u8], node: usize) -> usize {
    let bytes = image[node + 16..node + 20].try_into().unwrap();
    usize::try_from(u32::from_le_bytes(bytes)).unwrap().clamp(24, image.len() - node)
}

fn below(stream: &mut Stream, bound: usize) -> usize {
    usize::try_from(stream.below(u64::try_from(bound).unwrap())).unwrap()
}

/// Changes a byte of a node, and its checksum, so that the change is not noticed at once.
fn forge(image: &mut [u8], nodes: &[usize], stream: &mut Stream) {
    let node = nodes[below(stream, nodes.len())];
    let mut bound = length(image, node) - 8;
    if stream.chance(1, 2) {
        bound = bound.min(60);
    }
    let at = node + 8 + below(stream, bound);
    image[at] = match stream.below(3) {
        0 => 0,
        1 => 0xFF,
        _ => image[at] ^ (1 << stream.below(8)),
    };
    let end = node + length(image, node);
    let crc = boardlab_codec::crc32(u32::MAX, &image[node + 8..end]);
    image[node + 4..node + 8].copy_from_slice(&crc.to_le_bytes());
}

#[test]
fn forged_nodes_are_refused_or_survived() {
    let (original, mut stream) = (image(), Seed::new(20).stream("ubifs.hostile.forged"));
    let nodes = nodes(&original);
    let full = std::env::var_os("BOARDLAB_FULL").is_some();
    let mut mounted = 0;
    for round in 0..if full { 50_000 } else { 1_500 } {
        let mut image = original.clone();
        for _ in 0..=stream.below(3) {
            forge(&mut image, &nodes, &mut stream);
        }
        let checks = if round % 4 == 0 { Checks::ALL } else { Checks::NONE };
        mounted += u32::from(exercise(&image, round % 3 == 0, checks));
    }
    assert!(mounted > 100, "{mounted} mounted: the damage is too great to show anything");
}

#[test]
fn every_changed_byte_is_refused_or_survived() {
    let original = image();
    let used: Vec<usize> = (0..original.len()).filter(|&at| original[at] != 0xFF).collect();
    let step = if std::env::var_os("BOARDLAB_FULL").is_some() { 1 } else { 61 };
    for (round, &at) in used.iter().step_by(step).enumerate() {
        let mut image = original.clone();
        image[at] ^= 0x55;
        exercise(&image, round % 3 == 0, Checks::NONE);
    }
}

#[test]
fn every_truncated_image_is_refused_or_survived() {
    let original = image();
    let step = if std::env::var_os("BOARDLAB_FULL").is_some() { 1 } else { 509 };
    for length in (0..original.len()).step_by(step) {
        let mut image = original.clone();
        image[length..].fill(0xFF);
        exercise(&image, length % 3 == 0, Checks::NONE);
    }
    assert!(exercise(&original, false, Checks::ALL));
}
