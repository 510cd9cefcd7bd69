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
        fs.unlink(&mut clock, format!("/{number}")).unwrap();
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
        fs.unlink(&mut clock, format!("/{number}")).unwrap();
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

/// A node that fills a block of 4 KiB leaves no room for a summary: it is split when it is moved.
#[test]
fn a_node_as_long_as_a_block_can_be_collected() {
    let mut clock = Clock::new();
    let mount = |clock: &mut Clock, nor: RamMtd, summary: bool| {
        let options = Options { summary, ..Options::default() };
        Mount::new(Jffs2::mount(clock, nor, options).unwrap())
    };
    let mut fs = mount(&mut clock, RamMtd::nor(512, Bytes::kib(4)), false);
    fs.background(&mut clock, None).unwrap();
    let mut content = vec![0; 4_096 - 12 - 68];
    Seed::new(1).stream("content").fill(&mut content);
    let name = |number: usize| format!("/{number}");
    let files: Vec<_> =
        (0..301).map(|number| fs.create(&mut clock, name(number), 0o644).unwrap()).collect();
    // The first file leaves too little of its block for another node: each further one fills a block.
    let blocks = fs.fs().volume().blocks();
    let room = blocks.totals().free - u64::from(blocks.on_list(List::Free)) * (4_096 - 12);
    let first = usize::try_from(room - 68 - 100).unwrap();
    for (number, fd) in files.into_iter().enumerate() {
        let length = if number == 0 { first } else { content.len() };
        fs.write(&mut clock, fd, 0, &content[..length]).unwrap();
        fs.close(&mut clock, fd).unwrap();
    }
    assert!(fs.fs().volume().blocks().on_list(List::Clean) >= 299);
    fs.unmount(&mut clock).unwrap();
    let mut fs = mount(&mut clock, fs.into_fs().into_device(), true);
    let fd = fs.create(&mut clock, "/changes", 0o644).unwrap();
    for step in 0..4_000 {
        let written = fs.write(&mut clock, fd, 0, &content).and_then(|_| fs.sync(&mut clock));
        assert_eq!(written, Ok(()), "{step}");
    }
    // The background comes to its end, though each block has one node.
    let ends = (0..10_000).any(|_| !fs.background_step(&mut clock).unwrap());
    assert!(ends);
    fs.fs().check_tables().unwrap();
}
