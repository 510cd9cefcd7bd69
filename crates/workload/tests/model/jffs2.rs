//! JFFS2 on NAND and NOR in memory.
use super::{PAGE, Pair, extent};
use boardlab_jffs2::block::Owner;
use boardlab_jffs2::format::ByteOrder;
use boardlab_jffs2::{Compression, Jffs2, Options};
use boardlab_mtd::{BlockIndex, Mtd, RamMtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{Action, FileSystem};
use std::collections::BTreeMap;

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

fn remount<M: Mtd>(fs: Jffs2<M>, clock: &mut Clock, options: &Options) -> Jffs2<M> {
    fs.check_tables().unwrap();
    let before = nodes(&fs);
    let mut fs = Jffs2::mount(clock, fs.into_device(), options.clone()).unwrap();
    fs.check_tables().unwrap();
    // What any sequence of operations leaves is whole.
    assert_eq!(fs.findings().wrong_summaries, 0);
    let audit = fs.audit(clock, |_, _| false).unwrap();
    assert!(audit.inode_damage.is_empty() && audit.places.is_empty(), "{audit:?}");
    fs.check_all(clock).unwrap();
    fs.check_tables().unwrap();
    let after = nodes(&fs);
    let of = |map: &BTreeMap<u32, (u32, u32)>, ino| map.get(&ino).copied();
    let inodes = before.keys().chain(after.keys());
    let differ: Vec<_> = inodes
        .map(|&ino| (ino, of(&before, ino), of(&after, ino)))
        .filter(|(_, before, after)| before != after)
        .collect();
    assert!(differ.is_empty(), "nodes that count, before and after a remount: {differ:?}");
    fs
}

/// Fills the flash to 95 % with a file that stays.
fn fill<M: Mtd>(pair: &mut Pair<Jffs2<M>>) {
    let (real, clock) = pair.real();
    let space = real.statfs(clock).unwrap();
    let free = space.free * u64::from(space.block_size);
    let size = free * 95 / 100 / PAGE * PAGE;
    pair.apply(&Action::Create { path: "/filler".to_owned(), mode: 0o600 });
    for start in (0..size).step_by(4_096) {
        pair.write_filler(start);
    }
}

fn run<M: Mtd>(name: &str, device: M, (order, summary): (ByteOrder, bool)) {
    let options = Options {
        byte_order: Some(order),
        summary,
        compression: Compression { lzo: false, ..Compression::default() },
        ..Options::default()
    };
    let mut pair = Pair::new(|clock| Jffs2::mount(clock, device, options.clone()).unwrap());
    fill(&mut pair);
    let count = extent(8_000);
    pair.run(name, count, |fs, clock| remount(fs, clock, &options));
    pair.assert_was_full(count);
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
