//! Random operations on a nearly full flash, against a tree in memory, with remounts.
use boardlab_jffs2::block::Owner;
use boardlab_jffs2::format::ByteOrder;
use boardlab_jffs2::{Compression, Jffs2, Options};
use boardlab_mtd::{BlockIndex, Mtd, RamMtd};
use boardlab_sim::{Bytes, Clock, Duration, Seed};
use boardlab_vfs::script::content;
use boardlab_vfs::{Action, Answer, Errno, FileSystem, Kind, MemoryFs, Mix, Mount, compare};
use std::collections::BTreeMap;

/// Operations of one run, of four.
fn extent() -> u64 {
    let full = std::env::var_os("BOARDLAB_FULL").is_some();
    std::env::var("BOARDLAB_MODEL_OPS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(if full { 250_000 } else { 8_000 })
}

/// Of every inode that is no directory how many nodes count, and their bytes.
fn nodes<M: Mtd>(fs: &Jffs2<M>) -> BTreeMap<u32, (u32, u32)> {
    let blocks = fs.volume().blocks();
    let mut nodes = BTreeMap::new();
    let ids = (0..blocks.count())
        .flat_map(|block| (0..).map_while(move |index| blocks.id(BlockIndex(block), index)));
    for id in ids.filter(|&id| blocks.node(id).state().is_live()) {
        if let Owner::Inode(slot) = blocks.node(id).owner() {
            let inode = fs.volume().inodes().get(slot);
            // An entry of a removed name that is no longer needed is found again by a mount.
            if inode.ino != 1 && !inode.is_directory {
                let found = nodes.entry(inode.ino).or_insert((0, 0));
                *found = (found.0 + 1, found.1 + blocks.length(id));
            }
        }
    }
    nodes
}

/// From which the operations of all four runs follow.
fn seed() -> u64 {
    let given = std::env::var("BOARDLAB_MODEL_SEED").ok();
    given.and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

struct Pair<M> {
    real: Option<Mount<Jffs2<M>>>,
    model: Mount<MemoryFs>,
    clock: Clock,
    options: Options,
    refused: u64,
}

impl<M: Mtd> Pair<M> {
    fn new(device: M, options: Options) -> Self {
        let mut clock = Clock::new();
        let real = Jffs2::mount(&mut clock, device, options.clone()).unwrap();
        let (real, model) = (Some(Mount::new(real)), Mount::new(MemoryFs::new()));
        Self { real, model, clock, options, refused: 0 }
    }

    fn real(&mut self) -> (&mut Mount<Jffs2<M>>, &mut Clock) {
        (self.real.as_mut().unwrap(), &mut self.clock)
    }

    /// Does an action on both; what the flash has no space for is taken back from the model.
    fn apply(&mut self, action: &Action) {
        let real = self.real.as_mut().unwrap();
        let answer = action.apply(real, &mut self.clock);
        match (&answer, action) {
            (Err(error), _) if error.errno() == Some(Errno::NoSpc) => {
                self.refused += 1;
                self.follow(action, 0);
            }
            (Ok(Answer::Written(count)), Action::Write { length, .. }) if count < length => {
                self.refused += 1;
                self.follow(action, *count);
            }
            _ => {
                let expected = action.apply(&mut self.model, &mut self.clock);
                assert_eq!(answer, expected, "{action:?}");
            }
        }
    }

    /// Does on the model as much of an action as there was space for.
    fn follow(&mut self, action: &Action, count: usize) {
        let (real, clock) = (self.real.as_mut().unwrap(), &mut self.clock);
        if let Action::Chown { path, .. } = action {
            // The owner may have been changed, and the times not.
            let Ok(stat) = real.lstat(clock, path) else { return };
            self.model.chown(clock, path, stat.uid, stat.gid).unwrap();
            if stat.kind != Kind::Symlink {
                self.model.chmod(clock, path, stat.mode).unwrap();
            }
        }
        let Action::Write { path, offset, length, tag } = action else { return };
        let Ok(size) = real.stat(clock, path).map(|stat| stat.size) else { return };
        let fd = self.model.open(clock, path).unwrap();
        let end = self.model.fstat(clock, fd).unwrap().size;
        let data = &content(*length, *tag)[..count];
        self.model.write(clock, fd, offset.unwrap_or(end), data).unwrap();
        // A hole before the data may have been written where the data were not.
        if size != self.model.fstat(clock, fd).unwrap().size {
            self.model.ftruncate(clock, fd, size).unwrap();
        }
        self.model.close(clock, fd).unwrap();
    }

    fn remount(&mut self) {
        let mut real = self.real.take().unwrap();
        real.unmount(&mut self.clock).unwrap();
        let fs = real.into_fs();
        fs.check_tables().unwrap();
        let before = nodes(&fs);
        let mut fs = Jffs2::mount(&mut self.clock, fs.into_device(), self.options.clone()).unwrap();
        fs.check_tables().unwrap();
        // What any sequence of operations leaves is whole.
        assert_eq!(fs.findings().wrong_summaries, 0);
        let audit = fs.audit(&mut self.clock, |_, _| false).unwrap();
        assert!(audit.inode_damage.is_empty() && audit.places.is_empty(), "{audit:?}");
        fs.check_all(&mut self.clock).unwrap();
        fs.check_tables().unwrap();
        let after = nodes(&fs);
        let of = |map: &BTreeMap<u32, (u32, u32)>, ino| map.get(&ino).copied();
        let inodes = before.keys().chain(after.keys());
        let differ: Vec<_> = inodes
            .map(|&ino| (ino, of(&before, ino), of(&after, ino)))
            .filter(|(_, before, after)| before != after)
            .collect();
        assert!(differ.is_empty(), "nodes that count, before and after a remount: {differ:?}");
        self.real = Some(Mount::new(fs));
    }

    fn compare(&mut self) {
        let real = self.real.as_mut().unwrap();
        let difference = compare(real, &mut self.model, &mut self.clock).unwrap();
        assert_eq!(difference.map(|difference| difference.to_string()), None);
    }
}

/// Fills the flash to 95 % with a file that stays.
fn fill<M: Mtd>(pair: &mut Pair<M>) {
    let (real, clock) = pair.real();
    let space = real.statfs(clock).unwrap();
    let free = space.free * u64::from(space.block_size);
    let size = free * 95 / 100 / 4096 * 4096;
    for (index, start) in (0..size).step_by(4096).enumerate() {
        if index == 0 {
            pair.apply(&Action::Create { path: "/filler".to_owned(), mode: 0o600 });
        }
        // Of the three kinds of content some cannot be compressed.
        let tag = (0..).find(|&tag| is_noise(tag + start)).unwrap() + start;
        let path = "/filler".to_owned();
        pair.apply(&Action::Write { path, offset: Some(start), length: 4096, tag });
    }
}

fn is_noise(tag: u64) -> bool {
    let bytes = content(4096, tag);
    let distinct: std::collections::BTreeSet<u8> = bytes.iter().copied().collect();
    distinct.len() > 200
}

fn run<M: Mtd>(name: &str, device: M, (order, summary): (ByteOrder, bool)) {
    let (seed, mix) = (Seed::new(seed()), Mix { size: 120_000, write: 20_000, ..Mix::default() });
    let options = Options {
        byte_order: Some(order),
        summary,
        compression: Compression { lzo: false, ..Compression::default() },
        ..Options::default()
    };
    let mut pair = Pair::new(device, options);
    fill(&mut pair);
    let mut stream = seed.stream(name);
    let count = extent();
    for number in 0..count {
        let action = mix.draw(&mut stream);
        pair.apply(&action);
        pair.clock.advance(Duration::from_millis(20));
        if number % 64 == 0 {
            let (real, clock) = pair.real();
            let until = clock.now() + Duration::from_secs(1);
            real.background(clock, Some(until)).unwrap();
            real.fs().check_tables().unwrap();
        }
        if number % 250 == 249 || number == count - 1 {
            pair.compare();
            pair.remount();
            pair.compare();
        }
    }
    assert!(pair.refused > count / 1_000, "never full: {} refused", pair.refused);
}

fn nand() -> RamMtd {
    RamMtd::nand(96, 32, Bytes::new(512), Bytes::new(16))
}

#[test]
fn nand_little_endian_is_as_a_tree_in_memory() {
    run("nand.little", nand(), (ByteOrder::Little, true));
}

#[test]
fn nand_big_endian_is_as_a_tree_in_memory() {
    let device = RamMtd::nand(40, 16, Bytes::new(2048), Bytes::new(64));
    run("nand.big", device, (ByteOrder::Big, false));
}

#[test]
fn nor_little_endian_is_as_a_tree_in_memory() {
    run("nor.little", RamMtd::nor(96, Bytes::kib(16)), (ByteOrder::Little, false));
}

#[test]
fn nor_big_endian_is_as_a_tree_in_memory() {
    run("nor.big", RamMtd::nor(48, Bytes::kib(32)), (ByteOrder::Big, true));
}
