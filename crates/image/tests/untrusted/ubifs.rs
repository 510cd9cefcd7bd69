//! A UBIFS of unknown content on a volume of UBI: what an input of its fuzz target stands for, and all
//! that is done with it. The pieces of an input are those of the LEBs.

use super::pieces::{Blocks, Contents, Input};
use super::ubi::{Device, Shape};
use super::{WalkCounts, background, walk, within_limits};
use boardlab_mtd::stats::Stats;
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::{self as ubi, LebIndex, Lebs, NewVolume, Ubi, Volume};
use boardlab_ubifs::{Checks, Compressor, Options, Ubifs};
use boardlab_vfs::{FileSystem, Kind, Mount, survey};

/// The LEBs of a volume, and its flash: the smallest that UBIFS can be on, and larger ones.
pub(crate) const SHAPES: [(u32, Shape); 4] = [
    (20, Shape { blocks: 26, block: 16 << 10, page: 512, sub_page: 512 }),
    (20, Shape { blocks: 26, block: 16 << 10, page: 1, sub_page: 1 }),
    (24, Shape { blocks: 30, block: 32 << 10, page: 2_048, sub_page: 2_048 }),
    (48, Shape { blocks: 54, block: 16 << 10, page: 512, sub_page: 512 }),
];

/// What compressors and caches take as soon as something is written, whatever the size of the flash.
const WRITING: usize = 2 << 20;

/// The shape of a number: the LEBs of the volume and the flash below.
pub(crate) fn shape(number: u8) -> (u32, Shape) {
    SHAPES[usize::from(number) % SHAPES.len()]
}

/// The blocks that pieces are put into.
pub(crate) fn lebs(number: u8) -> Blocks {
    let (count, shape) = shape(number);
    let page = shape.page.max(8) as usize;
    let size = (shape.block - 2 * shape.page.max(64)) as usize;
    Blocks { count: count as usize, size, page, sub_page: page }
}

/// An erased flash with an empty volume.
fn volume(clock: &mut Clock, number: u8) -> Volume<Device> {
    let (count, shape) = shape(number);
    let options = ubi::Options { beb_limit: 0, ..ubi::Options::default() };
    let mut ubi = Ubi::attach(clock, Stats::new(shape.device()), &options).expect("it is empty");
    let size = Bytes::new(u64::from(count) * u64::from(ubi.layout().leb_size));
    let id = ubi.create_volume(clock, &NewVolume::dynamic("ubifs", size)).expect("it has room");
    while ubi.background(clock).expect("the flash is good") {}
    ubi.into_volume(clock, id).expect("it was made")
}

/// The volume of an input.
pub(crate) fn volume_of(clock: &mut Clock, input: &Input) -> Volume<Device> {
    let mut volume = volume(clock, input.shape);
    let contents = Contents::of(input, lebs(input.shape));
    for (leb, bytes) in (0..).zip(&contents.blocks).filter(|(_, bytes)| !bytes.is_empty()) {
        volume.write(clock, LebIndex(leb), 0, bytes).expect("within the LEB");
    }
    volume
}

/// Bit 0: mounted to be written, and written on. Bit 1: with all checks of the kernel. Bit 2: checksums
/// of data are verified. Bit 3: bulk reads. Bits 4 and 5: the compressor. Bit 6: mounted read-only
/// first. Bit 7: much is written.
fn options(input: &Input) -> Options {
    let bit = |number: u8| input.options >> number & 1 != 0;
    let compressor = match input.options >> 4 & 3 {
        0 => None,
        1 => Some(Compressor::Lzo),
        2 => Some(Compressor::Zlib),
        _ => Some(Compressor::Zstd),
    };
    Options {
        read_only: !bit(0) || bit(6),
        checks: if bit(1) { Checks::ALL } else { Checks::NONE },
        check_data_crc: bit(2),
        bulk_read: bit(3),
        compressor,
        ..Options::default()
    }
}

/// Mounts, walks, reads and perhaps writes the volume of an input, within the limits.
pub(crate) fn run(bytes: &[u8]) -> WalkCounts {
    let input = Input::parse(bytes);
    let clock = &mut Clock::new();
    let mut volume = volume_of(clock, &input);
    let writes = input.options & 1 != 0;
    let blocks = lebs(input.shape);
    let fixed = if writes { WRITING } else { 0 };
    within_limits((blocks.count * blocks.size, fixed), || {
        let mut found = WalkCounts::default();
        mount(clock, &mut volume, &input, &mut found);
        found.count_reads(volume.ubi().device());
        found
    })
}

/// Everything with a mounted volume.
fn mount(clock: &mut Clock, volume: &mut Volume<Device>, input: &Input, found: &mut WalkCounts) {
    let options = options(input);
    let Ok(mut fs) = Ubifs::mount(clock, &mut *volume, options.clone()) else { return };
    found.mounted = true;
    walk(&mut fs, clock, found);
    let _ = fs.statfs(clock);
    if input.options & 1 == 0 {
        return;
    }
    if options.read_only && fs.remount_writable(clock).is_err() {
        return;
    }
    let mut mount = Mount::new(fs);
    write_on(clock, &mut mount);
    if input.options & 128 != 0 {
        fill(clock, &mut mount);
    }
    let _ = mount.sync(clock);
    background(mount.fs_mut(), clock);
    let _ = mount.unmount(clock);
    drop(mount);
    let options = Options { read_only: false, ..options };
    let Ok(mut fs) = Ubifs::mount(clock, volume, options) else { return };
    walk(&mut fs, clock, &mut WalkCounts::default());
    let _ = fs.unmount(clock);
}

/// Every operation that writes, on names that were there and on new ones; whether they succeed is
/// the image's affair.
fn write_on<F: FileSystem>(clock: &mut Clock, mount: &mut Mount<F>) {
    let content: Vec<u8> = (0..9_000).map(|at: u32| (at * at / 7).to_le_bytes()[0]).collect();
    let tree = survey(mount, clock).unwrap_or_default();
    for (index, entry) in tree.iter().skip(1).take(16).enumerate() {
        let (path, new) = (&entry.path, [&entry.path[..], b"+"].concat());
        if entry.attributes.kind == Kind::File {
            write_file(clock, mount, path, &content);
        }
        let _ = mount.setxattr(clock, path, b"user.colour", &content[..100]);
        let _ = match index % 6 {
            0 => mount.unlink(clock, path),
            1 => mount.rename(clock, path, &new),
            2 => mount.link(clock, path, &new),
            3 => mount.rmdir(clock, path),
            4 => mount.truncate(clock, path, 5_000),
            _ => mount.rename(clock, path, &tree[1].path),
        };
    }
    let _ = mount.mkdir(clock, "/a new directory", 0o755);
    let _ = mount.symlink(clock, "target", "/a new directory/link");
    let _ = mount.mknod(clock, "/a pipe", Kind::Fifo, 0o600);
    if let Ok(fd) = mount.create(clock, "/a new directory/file", 0o644) {
        let _ = mount.write(clock, fd, 0, &content);
        let _ = mount.fsync(clock, fd);
        let _ = mount.unlink(clock, "/a new directory/file");
        let _ = mount.sync(clock);
        let _ = mount.close(clock, fd);
    }
}

fn write_file<F: FileSystem>(clock: &mut Clock, mount: &mut Mount<F>, path: &[u8], data: &[u8]) {
    let Ok(fd) = mount.open(clock, path) else { return };
    let size = mount.fstat(clock, fd).map_or(0, |attributes| attributes.size);
    let _ = mount.write(clock, fd, 100, &data[..2_000]);
    let _ = mount.write(clock, fd, size.min(1 << 40), data);
    let _ = mount.fsync(clock, fd);
    let _ = mount.ftruncate(clock, fd, size / 2 + 1);
    let _ = mount.close(clock, fd);
}

/// Writes and removes files until commits and garbage collection have run several times.
fn fill<F: FileSystem>(clock: &mut Clock, mount: &mut Mount<F>) {
    let noise = |at: u32| at.wrapping_mul(0x9E37_79B9).to_be_bytes()[1];
    let noise: Vec<u8> = (0..20_000).map(noise).collect();
    for round in 0..24 {
        let path = format!("/filler{}", round % 7);
        let _ = mount.unlink(clock, &path);
        let Ok(fd) = mount.create(clock, &path, 0o644) else { continue };
        let _ = mount.write(clock, fd, 0, &noise[..20_000 - 512 * round]);
        let _ = mount.close(clock, fd);
        if round % 5 == 0 {
            let _ = mount.sync(clock);
        }
        background(mount.fs_mut(), clock);
    }
}
