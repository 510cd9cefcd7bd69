//! The thread of garbage collection: what it erases, and what it leaves in memory.
use boardlab_jffs2::block::List;
use boardlab_jffs2::{Compression, CompressionMode, Jffs2, Options};
use boardlab_mtd::{Kind, RamMtd, Stats};
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_vfs::{FileSystem as _, Mount};

type Nand = Mount<Jffs2<Stats<RamMtd>>>;

fn mount(clock: &mut Clock) -> Nand {
    let nand = RamMtd::nand(48, 16, Bytes::new(2048), Bytes::new(64));
    let compression = Compression { mode: CompressionMode::None, ..Compression::default() };
    let options = Options { summary: true, compression, ..Options::default() };
    let mut fs = Mount::new(Jffs2::mount(clock, Stats::new(nand), options).unwrap());
    fs.background(clock, None).unwrap();
    fs
}

fn write(fs: &mut Nand, clock: &mut Clock, path: &str, size: usize) {
    let mut data = vec![0; size];
    Seed::new(1).stream(path).fill(&mut data);
    let fd = fs.create(clock, path, 0o644).unwrap();
    fs.write(clock, fd, 0, &data).unwrap();
    fs.close(clock, fd).unwrap();
}

fn operations(fs: &Nand, kind: Kind) -> u64 {
    fs.fs().device().of(kind).count()
}

#[test]
fn each_erase_has_the_thread_do_one_more_pass() {
    let mut clock = Clock::new();
    let mut fs = mount(&mut clock);
    for number in 0..20 {
        write(&mut fs, &mut clock, &format!("/{number}"), 26_000);
    }
    fs.sync(&mut clock).unwrap();
    for number in 0..20 {
        fs.unlink(&mut clock, &format!("/{number}")).unwrap();
    }
    let erases = operations(&fs, Kind::Erase);
    fs.sync(&mut clock).unwrap();
    fs.background(&mut clock, None).unwrap();
    // Four nearly empty blocks are no reason to wake: the passes after the erases of the others empty them.
    assert_eq!(operations(&fs, Kind::Erase) - erases, 16);
    assert_eq!(fs.fs().volume().blocks().on_list(List::VeryDirty), 0);
}

#[test]
fn what_collection_opens_is_closed_when_caches_are_dropped() {
    let mut clock = Clock::new();
    let mut fs = mount(&mut clock);
    for number in 0..24 {
        write(&mut fs, &mut clock, &format!("/{number}"), 26_000);
    }
    fs.sync(&mut clock).unwrap();
    fs.drop_caches(&mut clock).unwrap();
    for number in (0..24).filter(|number| number % 4 > 0) {
        fs.unlink(&mut clock, &format!("/{number}")).unwrap();
    }
    let open = |fs: &Nand| fs.fs().structures()[2].count;
    assert_eq!(open(&fs), 1, "the root");
    fs.sync(&mut clock).unwrap();
    fs.background(&mut clock, None).unwrap();
    assert!(open(&fs) > 1, "those of the nodes that were moved");
    fs.drop_caches(&mut clock).unwrap();
    assert_eq!(open(&fs), 1);
    fs.fs().check_tables().unwrap();
}
