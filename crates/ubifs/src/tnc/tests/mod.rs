//! Tests of the index alone: a volume with leaf nodes, an index, and properties of LEBs.

mod damage;
mod gaps;
mod image;
mod model;
mod shape;

use crate::format::data::Data;
use crate::format::dirent::Dirent;
use crate::format::index::{Branch, size_of};
use crate::format::inode::InodeNode;
use crate::format::key::{Key, KeyType};
use crate::format::master::Master;
use crate::format::u32_of;
use crate::lprops::flag;
use crate::options::Options;
use crate::test_volume::{read_roots, unread};
use crate::{LebIndex, Volume};
use boardlab_sim::Clock;
use boardlab_ubi::{RamLebs, Shape};
use std::collections::BTreeMap;

const LEB_SIZE: u32 = 16_384;
/// The node of the root directory, which no test removes.
const ROOT: Key = Key::inode(1);

/// A volume whose index is the only table.
#[derive(Clone)]
pub(super) struct Bench {
    pub volume: Volume<RamLebs>,
    pub clock: Clock,
    /// Where leaf nodes are written.
    head: Option<(LebIndex, u32)>,
}

/// The bytes of an inode node with this many bytes of data.
fn inode_node(key: Key, data: usize) -> Vec<u8> {
    InodeNode {
        creat_sqnum: 1,
        nlink: 1,
        mode: 0o10_0644,
        data: vec![7; data],
        ..InodeNode::zeroed(key)
    }
    .emit()
}

/// The bytes of some leaf node for a key that needs no name.
pub(super) fn leaf_node(key: Key, size: usize) -> Vec<u8> {
    match key.kind() {
        Some(KeyType::Inode) => inode_node(key, size),
        Some(KeyType::Data) => {
            let data = vec![9; size];
            let size = u32_of(size.max(1));
            Data { key, size, compr_type: 0, compr_size: 0, data: &data }.emit()
        }
        _ => panic!("{key} needs a name"),
    }
}

pub(super) fn entry_node(key: Key, name: &[u8], inum: u64, cookie: u32) -> Vec<u8> {
    Dirent { key, inum, itype: 0, cookie, name: name.to_vec() }.emit()
}

impl Bench {
    /// A default filesystem whose index has this fanout from now on.
    pub(super) fn new(fanout: u32, lebs: u32, min_io: u32) -> Self {
        let shape =
            Shape { leb_count: lebs, leb_size: LEB_SIZE, leb_start: 0, min_io, max_write: min_io };
        let (mut clock, mut volume) =
            (Clock::new(), unread(RamLebs::new(shape), Options::default()));
        volume.mode.empty = true;
        read_roots(&mut clock, &mut volume);
        volume.lpt_init(&mut clock, true, true).unwrap();
        volume.layout.fanout = fanout;
        volume.layout.max_idx_node_sz = size_of(fanout);
        for leb in [volume.tnc.ihead_lnum, volume.master.gc_lnum.unwrap()] {
            volume.change_one_lp(&mut clock, leb, None, None, (flag::TAKEN, 0)).unwrap();
        }
        volume.bi.min_idx_lebs = volume.calc_min_idx_lebs();
        Self { volume, clock, head: None }
    }

    /// Forgets what is in memory of the index.
    pub(super) fn open(&mut self, root: &Branch, head: (LebIndex, u32)) {
        let master = Master {
            root_lnum: root.lnum,
            root_offs: root.offs,
            root_len: root.len,
            ihead_lnum: head.0,
            ihead_offs: head.1,
            ..Master::default()
        };
        self.volume.tnc.load_master(&master);
    }

    pub(super) fn reopen(&mut self) {
        let head = (self.volume.tnc.ihead_lnum, self.volume.tnc.ihead_offs);
        self.open(&self.volume.tnc.zroot.branch(), head);
    }

    /// Writes a leaf node, and returns the branch to it.
    pub(super) fn write_leaf(&mut self, key: Key, node: Vec<u8>) -> Branch {
        let len = u32_of(node.len());
        let size = len.next_multiple_of(8).next_multiple_of(self.volume.layout.min_io);
        let clock = &mut self.clock;
        let (leb, offs) = match self.head.filter(|&(_, offs)| offs + size <= LEB_SIZE) {
            Some(head) => head,
            None => {
                if let Some((full, _)) = self.head.take() {
                    self.volume.return_leb(clock, full).unwrap();
                }
                let found = self.volume.find_free_space(clock, LEB_SIZE, false).unwrap();
                let (leb, offs, _) = found.expect("the test does not fill the volume");
                (leb, offs)
            }
        };
        self.volume.write_node(clock, node, leb, offs).unwrap();
        let (free, waste) = (LEB_SIZE - offs - size, size - len.next_multiple_of(8));
        self.volume.update_one_lp(clock, leb, Some(free), waste, (0, 0)).unwrap();
        self.head = Some((leb, offs + size));
        Branch { lnum: leb, offs, len, key }
    }

    /// Writes a leaf node and adds it.
    pub(super) fn add(&mut self, key: Key, size: usize) -> Branch {
        let branch = self.write_leaf(key, leaf_node(key, size));
        self.volume.tnc_add(&mut self.clock, branch).unwrap();
        branch
    }

    pub(super) fn add_name(&mut self, key: Key, name: &[u8], inum: u64, cookie: u32) -> Branch {
        let branch = self.write_leaf(key, entry_node(key, name, inum, cookie));
        self.volume.tnc_add_name(&mut self.clock, branch, name).unwrap();
        branch
    }

    /// Writes the index; unused LEBs of it are free afterwards. The result is the new root.
    pub(super) fn commit(&mut self) -> Branch {
        let clock = &mut self.clock;
        self.volume.cmt_no += 1;
        let root = self.volume.tnc_start_commit(clock).unwrap();
        self.volume.tnc_end_commit(clock).unwrap();
        self.volume.compare_tnc().unwrap();
        self.free_lebs();
        root
    }

    /// Frees LEBs without used nodes.
    fn free_lebs(&mut self) {
        let clock = &mut self.clock;
        let layout = &self.volume.layout;
        for leb in (layout.main_first.0..layout.leb_count).map(LebIndex) {
            let lp = self.volume.read_one_lp(clock, leb).unwrap();
            if lp.free + lp.dirty == LEB_SIZE && lp.dirty > 0 && !lp.is_taken() {
                self.volume.leb_unmap(clock, leb).unwrap();
                let clean = (0, flag::INDEX);
                self.volume.change_one_lp(clock, leb, Some(LEB_SIZE), Some(0), clean).unwrap();
            }
        }
    }

    /// The branches of all leaf nodes, in order, and the bytes of the index.
    pub(super) fn walk(&mut self) -> (Vec<Branch>, u64) {
        let (leaves, nodes) = self.branches();
        let size = nodes.iter().map(|node| u64::from(node.len.next_multiple_of(8))).sum();
        (leaves, size)
    }

    /// The branches of all leaf nodes and of all indexing nodes.
    fn branches(&mut self) -> (Vec<Branch>, Vec<Branch>) {
        let (mut leaves, mut nodes) = (Vec::new(), Vec::new());
        let mut leaf = |_: &mut Volume<RamLebs>, _: &mut Clock, branch: Branch| {
            leaves.push(branch);
            Ok(())
        };
        let mut node = |branch: Branch| nodes.push(branch);
        self.volume.walk_index(&mut self.clock, &mut leaf, &mut node).unwrap();
        (leaves, nodes)
    }

    /// After a commit, what is neither free nor dirty of a LEB is what the index refers to.
    pub(super) fn check_space(&mut self) {
        let (leaves, nodes) = self.branches();
        let mut used = BTreeMap::new();
        for branch in leaves.iter().chain(&nodes) {
            *used.entry(branch.lnum).or_insert(0) += branch.len.next_multiple_of(8);
        }
        let layout = &self.volume.layout;
        for leb in (layout.main_first.0..layout.leb_count).map(LebIndex) {
            let lp = self.volume.read_one_lp(&mut self.clock, leb).unwrap();
            let expected = used.get(&leb).copied().unwrap_or_default();
            assert_eq!(LEB_SIZE - lp.free - lp.dirty, expected, "LEB {leb}");
        }
    }
}
