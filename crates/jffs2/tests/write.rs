//! Writing, and reading back after a remount.
use boardlab_jffs2::format::ByteOrder;
use boardlab_jffs2::{Jffs2, Options};
use boardlab_mtd::{Mtd, RamMtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{Device, FileSystem, Kind, Mount};

fn nand() -> RamMtd {
    RamMtd::nand(32, 64, Bytes::new(2048), Bytes::new(64))
}

fn nor() -> RamMtd {
    RamMtd::nor(32, Bytes::kib(64))
}

fn mount<M: Mtd>(clock: &mut Clock, device: M, order: ByteOrder) -> Mount<Jffs2<M>> {
    let options = Options { byte_order: Some(order), ..Options::default() };
    Mount::new(Jffs2::mount(clock, device, options).unwrap())
}

fn remount<M: Mtd>(
    clock: &mut Clock,
    mut mounted: Mount<Jffs2<M>>,
    order: ByteOrder,
) -> Mount<Jffs2<M>> {
    mounted.unmount(clock).unwrap();
    let fs = mounted.into_fs();
    fs.check_tables().unwrap();
    mount(clock, fs.into_device(), order)
}

fn write_tree<M: Mtd>(fs: &mut Mount<Jffs2<M>>, clock: &mut Clock) {
    fs.mkdir(clock, "/etc", 0o755).unwrap();
    let fd = fs.create(clock, "/etc/big", 0o640).unwrap();
    let data: Vec<u8> = (0..100_000_u32).map(|i| (i / 7 % 251) as u8).collect();
    fs.write(clock, fd, 0, &data).unwrap();
    fs.write(clock, fd, 150_000, b"behind a hole").unwrap();
    fs.close(clock, fd).unwrap();
    fs.symlink(clock, "etc/big", "/link").unwrap();
    let device = Device { major: 300, minor: 2 };
    fs.mknod(clock, "/dev", Kind::Character(device), 0o600).unwrap();
    fs.link(clock, "/etc/big", "/second").unwrap();
    fs.rename(clock, "/etc", "/moved").unwrap();
    fs.setxattr(clock, "/second", "user.colour", b"blue").unwrap();
    let fd = fs.create(clock, "/gone", 0o600).unwrap();
    fs.write(clock, fd, 0, &data).unwrap();
    fs.close(clock, fd).unwrap();
    fs.unlink(clock, "/gone").unwrap();
    fs.truncate(clock, "/second", 120_000).unwrap();
}

fn check_tree<M: Mtd>(fs: &mut Mount<Jffs2<M>>, clock: &mut Clock) {
    let stat = fs.stat(clock, "/link").unwrap_err();
    assert_eq!(stat.errno(), Some(boardlab_vfs::Errno::NoEnt), "/etc was renamed");
    let stat = fs.stat(clock, "/moved/big").unwrap();
    assert_eq!((stat.size, stat.links, stat.mode), (120_000, 2, 0o640));
    let fd = fs.open(clock, "/second").unwrap();
    let mut found = vec![0xEE; 130_000];
    assert_eq!(fs.read(clock, fd, 0, &mut found).unwrap(), 120_000);
    fs.close(clock, fd).unwrap();
    assert!(found[..100_000].iter().zip(0_u32..).all(|(&b, i)| b == (i / 7 % 251) as u8));
    assert!(found[100_000..120_000].iter().all(|&byte| byte == 0));
    assert_eq!(fs.getxattr(clock, "/moved/big", "user.colour").unwrap(), b"blue");
    let device = Device { major: 300, minor: 2 };
    assert_eq!(fs.stat(clock, "/dev").unwrap().kind, Kind::Character(device));
    assert_eq!(fs.stat(clock, "/").unwrap().links, 4, "Linux counts one more for the root");
    assert!(fs.stat(clock, "/gone").is_err());
}

#[test]
fn what_was_written_is_read_before_and_after_a_remount() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut clock = Clock::new();
        let mut fs = mount(&mut clock, nand(), order);
        write_tree(&mut fs, &mut clock);
        check_tree(&mut fs, &mut clock);
        let mut fs = remount(&mut clock, fs, order);
        check_tree(&mut fs, &mut clock);
        let mut fs = mount(&mut clock, nor(), order);
        write_tree(&mut fs, &mut clock);
        check_tree(&mut fs, &mut clock);
        let mut fs = remount(&mut clock, fs, order);
        check_tree(&mut fs, &mut clock);
    }
}
