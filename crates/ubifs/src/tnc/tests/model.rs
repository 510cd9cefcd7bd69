//! Random operations against a map, with commits, and with all of the index read again from flash.
use super::{Bench, ROOT, entry_node, leaf_node};
use crate::LebIndex;
use crate::format::index::Branch;
use crate::format::key::{Key, KeyType};
use boardlab_sim::{Seed, Stream};
use std::collections::BTreeMap;

/// Inodes, blocks and hashes are so few that keys are found again, and that names collide.
const INODES: u64 = 12;
const BLOCKS: u64 = 60;
const HASHES: u64 = 4;

type Map = BTreeMap<(Key, Vec<u8>), Branch>;

struct Run {
    bench: Bench,
    map: Map,
    random: Stream,
    /// What the last commit wrote, and the map then.
    committed: Option<(Branch, (LebIndex, u32), Vec<Branch>)>,
}

impl Run {
    fn new(seed: u64, fanout: u32, min_io: u32, checks: bool) -> Self {
        let mut bench = Bench::new(fanout, 900, min_io);
        bench.volume.options.checks.index = checks;
        bench.volume.sb.flags |= crate::format::superblock::Superblock::DOUBLE_HASH;
        let (leaves, _) = bench.walk();
        let map = leaves.into_iter().map(|branch| ((branch.key, Vec::new()), branch)).collect();
        Self { bench, map, random: Seed::new(seed).stream("tnc"), committed: None }
    }

    fn number(&mut self, bound: u64) -> u32 {
        u32::try_from(self.random.below(bound)).unwrap()
    }

    fn plain_key(&mut self) -> Key {
        let ino = 2 + self.number(INODES);
        if self.random.chance(1, 4) {
            return Key::inode(ino);
        }
        Key::data(ino, self.number(BLOCKS))
    }

    fn entry(&mut self) -> (Key, Vec<u8>) {
        let (ino, hash) = (2 + self.number(INODES), 3 + self.number(HASHES));
        let name = format!("n{}", self.random.below(30)).into_bytes();
        let key =
            if self.random.chance(3, 4) { Key::dirent(ino, hash) } else { Key::xattr(ino, hash) };
        (key, name)
    }

    /// Inodes of attributes are far away, so that removing them removes nothing else.
    fn inum(key: Key) -> u64 {
        if key.kind() == Some(KeyType::Xattr) { 1_000 } else { 5 }
    }

    fn cookie(name: &[u8]) -> u32 {
        name.iter().fold(1, |sum, &byte| sum * 31 + u32::from(byte))
    }

    /// A node with a length of its own, so that places tell nodes apart.
    fn size(&mut self) -> usize {
        usize::try_from(self.random.below(80)).unwrap()
    }

    fn add(&mut self) {
        let (key, size) = (self.plain_key(), self.size());
        let branch = self.bench.add(key, size);
        self.map.insert((key, Vec::new()), branch);
    }

    /// A file is written from its beginning.
    fn append(&mut self) {
        let (ino, count) = (2 + self.number(INODES), self.number(40));
        for block in 0..count {
            let key = Key::data(ino, block);
            let branch = self.bench.add(key, 8);
            self.map.insert((key, Vec::new()), branch);
        }
    }

    fn add_name(&mut self) {
        let (key, name) = self.entry();
        let cookie = Self::cookie(&name);
        let branch = self.bench.add_name(key, &name, Self::inum(key), cookie);
        self.map.insert((key, name), branch);
    }

    fn replace(&mut self) {
        let index = self.number(u64::try_from(self.map.len()).unwrap());
        let ((key, name), old) = self.map.iter().nth(usize::try_from(index).unwrap()).unwrap();
        let (key, name, old) = (*key, name.clone(), *old);
        let node = match key.is_hashed() {
            true => entry_node(key, &name, Self::inum(key), Self::cookie(&name)),
            false => leaf_node(key, 16),
        };
        let new = self.bench.write_leaf(key, node);
        let stale = self.random.chance(1, 8);
        let place = if stale { (old.lnum, old.offs + 8) } else { (old.lnum, old.offs) };
        self.bench.volume.tnc_replace(&mut self.bench.clock, place, new).unwrap();
        if !stale {
            self.map.insert((key, name), new);
        }
    }

    fn remove(&mut self) {
        let key = self.plain_key();
        self.bench.volume.tnc_remove(&mut self.bench.clock, key).unwrap();
        self.map.remove(&(key, Vec::new()));
    }

    fn remove_name(&mut self) {
        let (key, name) = self.entry();
        let clock = &mut self.bench.clock;
        self.bench.volume.tnc_remove_name(clock, key, &name).unwrap();
        self.map.remove(&(key, name));
    }

    fn remove_range(&mut self) {
        let (ino, first) = (2 + self.number(INODES), self.number(BLOCKS));
        let (from, to) = match self.random.below(8) {
            0 => (Key::lowest_of(ino), Key::highest_of(ino)),
            _ => (Key::data(ino, first), Key::data(ino, first + self.number(BLOCKS))),
        };
        self.bench.volume.tnc_remove_range(&mut self.bench.clock, from, to).unwrap();
        self.map.retain(|(key, _), _| !(from..=to).contains(key));
    }

    fn remove_ino(&mut self) {
        let ino = 2 + self.number(INODES);
        self.bench.volume.tnc_remove_ino(&mut self.bench.clock, ino).unwrap();
        self.map.retain(|(key, _), _| key.ino() != ino);
    }

    fn look_up(&mut self) {
        let key = self.plain_key();
        let found = self.bench.volume.tnc_locate(&mut self.bench.clock, key).unwrap();
        let expected = self.map.get(&(key, Vec::new())).map(|branch| (branch.lnum, branch.offs));
        assert_eq!(found.map(|found| (found.leb, found.offs)), expected);
        let (key, name) = self.entry();
        let clock = &mut self.bench.clock;
        let found = self.bench.volume.tnc_lookup_name(clock, key, &name).unwrap();
        let expected = self.map.contains_key(&(key, name.clone()));
        assert_eq!(found.map(|found| found.name), expected.then_some(name));
    }

    fn list(&mut self) {
        let (first, _) = self.entry();
        let (mut key, mut name) = (Key::dirent(first.ino(), 0), None);
        let mut found = Vec::new();
        let bench = &mut self.bench;
        while let Some(entry) =
            bench.volume.tnc_next_entry(&mut bench.clock, key, name.as_deref()).unwrap()
        {
            found.push((entry.key, entry.name.clone()));
            key = entry.key;
            name = Some(entry.name);
        }
        let of_directory =
            |key: &Key| key.ino() == first.ino() && key.kind() == Some(KeyType::Dirent);
        let expected: Vec<_> =
            self.map.keys().filter(|(key, _)| of_directory(key)).cloned().collect();
        assert_eq!(found, expected);
    }

    fn has_node(&mut self) {
        let index = usize::try_from(self.random.below(u64::try_from(self.map.len()).unwrap()));
        let ((key, _), branch) = self.map.iter().nth(index.unwrap()).unwrap();
        let clock = &mut self.bench.clock;
        let (leb, offs) = (branch.lnum, branch.offs);
        assert!(self.bench.volume.tnc_has_node(clock, *key, 0, (leb, offs), false).unwrap());
        let other = (leb, offs + 8);
        assert!(!self.bench.volume.tnc_has_node(clock, *key, 0, other, false).unwrap());
    }

    /// The last commit's index is intact until the next commit has been written.
    fn commit(&mut self) {
        // With the checks on, gaps are used whenever the commit needs LEBs.
        self.bench.volume.cmt_no += 8;
        let clock = &mut self.bench.clock;
        let root = self.bench.volume.tnc_start_commit(clock).unwrap();
        self.bench.volume.tnc_end_commit(clock).unwrap();
        if let Some((root, head, leaves)) = &self.committed {
            let mut old = self.bench.clone();
            old.open(root, *head);
            assert_eq!(old.walk().0, *leaves, "the old index was damaged");
        }
        self.bench.free_lebs();
        self.bench.check_space();
        let (leaves, size) = self.bench.walk();
        assert_eq!(size, self.bench.volume.calc_idx_sz);
        let tnc = &self.bench.volume.tnc;
        self.committed = Some((root, (tnc.ihead_lnum, tnc.ihead_offs), leaves));
        if self.random.chance(1, 2) {
            self.bench.reopen();
        }
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..25 => self.add(),
            25..28 => self.append(),
            28..48 => self.add_name(),
            48..55 => self.replace(),
            55..63 => self.remove(),
            63..73 => self.remove_name(),
            73..76 => self.remove_range(),
            76..77 => self.remove_ino(),
            77..88 => self.look_up(),
            88..91 => self.list(),
            91..94 => self.has_node(),
            94..97 => self.commit(),
            97..98 => {
                let now = self.bench.clock.now();
                self.bench.volume.shrink_tnc(now, 1 + self.random.below(20));
            }
            _ => self.compare(),
        }
    }

    fn compare(&mut self) {
        self.bench.volume.compare_tnc().unwrap();
        let (leaves, _) = self.bench.walk();
        let expected: Vec<Branch> = self.map.values().copied().collect();
        let other = leaves.iter().zip(&expected).find(|(found, expected)| found != expected);
        assert_eq!((other, leaves.len()), (None, expected.len()));
        assert_eq!(leaves[0].key, ROOT);
    }
}

fn run(seed: u64, fanout: u32, min_io: u32, checks: bool, steps: u32) {
    let mut run = Run::new(seed, fanout, min_io, checks);
    for _ in 0..steps {
        run.step();
    }
    run.commit();
    run.bench.reopen();
    run.compare();
}

#[test]
fn the_index_is_a_map_with_the_smallest_fanout() {
    for seed in 1..=4 {
        run(seed, 3, 8, false, 2_000);
    }
}

#[test]
fn the_index_is_a_map_with_the_usual_fanout_and_large_pages() {
    for seed in 5..=8 {
        run(seed, 8, 512, false, 2_000);
    }
}

#[test]
fn the_index_passes_its_checks_after_each_operation_and_fills_gaps() {
    for seed in 9..=12 {
        run(seed, 3, 8, true, 1_500);
    }
}
