//! What is read, programmed and computed: the numbers from which all times follow.
use boardlab_jffs2::{Compression, CompressionMode, Jffs2, Options};
use boardlab_mtd::{Kind as Operation, RamMtd, Stats};
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_vfs::{Kind, Mount, Work};

/// What happened since the mount began: reads of data and of spare bytes, with the bytes of both;
/// programs; pieces of work for nodes; checksums, with their bytes.
type Costs = [u64; 6];

fn since_mount(fs: &Jffs2<Stats<RamMtd>>) -> Costs {
    let (device, host) = (fs.device(), fs.volume().host());
    let (reads, oob) = (device.of(Operation::Read), device.of(Operation::ReadOob));
    let checksums = host.work_total(Work::Crc);
    [
        reads.count() + oob.count(),
        (reads.bytes() + oob.bytes()).get(),
        device.of(Operation::Program).count(),
        host.work_total(Work::Node).count,
        checksums.count,
        checksums.bytes,
    ]
}

fn mount(clock: &mut Clock, device: RamMtd, summary: bool) -> Mount<Jffs2<Stats<RamMtd>>> {
    let compression = Compression { mode: CompressionMode::None, ..Compression::default() };
    let options = Options { summary, compression, ..Options::default() };
    Mount::new(Jffs2::mount(clock, Stats::new(device), options).unwrap())
}

/// Writes a tree over three blocks: a small file with attributes, a link, a device, and a file of
/// which each page was written twice; a directory at the end.
fn fill(fs: &mut Mount<Jffs2<Stats<RamMtd>>>, clock: &mut Clock) {
    let mut data = vec![0; 1 << 12];
    Seed::new(1).stream("costs").fill(&mut data);
    fs.mkdir(clock, "/directory", 0o755).unwrap();
    let fd = fs.create(clock, "/directory/small", 0o644).unwrap();
    fs.write(clock, fd, 0, &data[..100]).unwrap();
    fs.close(clock, fd).unwrap();
    for name in ["user.first", "user.second"] {
        fs.setxattr(clock, "/directory/small", name, &data[..50]).unwrap();
    }
    fs.symlink(clock, "directory", "/link").unwrap();
    fs.mknod(clock, "/pipe", Kind::Fifo, 0o600).unwrap();
    let fd = fs.create(clock, "/twice", 0o644).unwrap();
    for page in (0..12).chain(0..12) {
        fs.write(clock, fd, page << 12, &data).unwrap();
    }
    fs.close(clock, fd).unwrap();
    fs.mkdir(clock, "/last", 0o755).unwrap();
    fs.sync(clock).unwrap();
}

/// Writes, and what the mount after that costs, the mount with the check of everything, and all
/// with a walk.
fn costs(device: RamMtd, summary: bool) -> [Costs; 4] {
    let mut clock = Clock::new();
    let mut fs = mount(&mut clock, device, summary);
    fill(&mut fs, &mut clock);
    let written = since_mount(fs.fs());
    fs.unmount(&mut clock).unwrap();
    let mut fs = mount(&mut clock, fs.into_fs().into_device().into_inner(), summary);
    let mounted = since_mount(fs.fs());
    fs.fs_mut().check_all(&mut clock).unwrap();
    let checked = since_mount(fs.fs());
    for path in ["/twice", "/link", "/pipe", "/directory/small"] {
        fs.lstat(&mut clock, path).unwrap();
    }
    fs.getxattr(&mut clock, "/directory/small", "user.second").unwrap();
    [written, mounted, checked, since_mount(fs.fs())]
}

fn nand() -> RamMtd {
    RamMtd::nand(24, 16, Bytes::new(2048), Bytes::new(64))
}

#[test]
fn nand_with_summaries_costs_what_it_did() {
    let expected = [
        [200, 192_704, 50, 44, 47, 102_128],
        [158, 123_540, 0, 50, 22, 1_332],
        [217, 208_397, 0, 85, 143, 74_474],
        [242, 235_374, 0, 104, 186, 76_038],
    ];
    assert_eq!(costs(nand(), true), expected);
}

#[test]
fn nand_without_summaries_costs_what_it_did() {
    let expected = [
        [176, 143_552, 50, 44, 44, 101_232],
        [138, 171_140, 0, 50, 99, 2_927],
        [193, 251_628, 0, 85, 218, 70_768],
        [222, 282_174, 0, 104, 263, 72_509],
    ];
    assert_eq!(costs(nand(), false), expected);
}

#[test]
fn nor_costs_what_it_did() {
    let expected = [
        [75, 137_444, 104, 44, 44, 101_232],
        [67, 132_234, 0, 53, 87, 2_051],
        [129, 183_240, 0, 73, 149, 53_004],
        [177, 185_035, 0, 92, 194, 54_745],
    ];
    assert_eq!(costs(RamMtd::nor(24, Bytes::kib(32)), false), expected);
}
