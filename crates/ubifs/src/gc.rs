//! Garbage collection: makes a LEB free by moving what is still used in it.
//!
//! Layer: rank 5. Main types: [`GcState`], [`Collected`], [`LebCollected`].
//!
//! ```text
//!  data LEB:  used nodes, sorted -> GC head; when it is full, it continues in the reserved LEB.
//!             Then the collected LEB is the reserved one (retained), or is free.
//!  index LEB: its nodes become dirty in the index; the next commit writes them elsewhere, and only
//!             then the LEB is free, since the last commit still refers to it.
//! ```
//!
//! Source: Linux 6.1, `fs/ubifs/gc.c`.

use crate::error::Problem;
use crate::format::index::IndexNode;
use crate::format::key::KeyType;
use crate::format::{NodeType, inode};
use crate::lprops::{Lprops, flag};
use crate::scan::{ScannedLeb, ScannedNode};
use crate::wbuf::GC_HEAD;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Errno;
use std::cmp::Ordering;
use std::collections::VecDeque;

/// From this many LEBs on, collected index LEBs are a reason to stop and commit.
const SOFT_LEBS_LIMIT: u32 = 4;
/// More LEBs than this are not collected in a row.
const HARD_LEBS_LIMIT: u32 = 32;

/// The state of garbage collection.
#[derive(Debug, Clone, Default)]
pub(crate) struct GcState {
    /// The reserved LEB; `None` while the GC head has taken it over.
    pub gc_lnum: Option<LebIndex>,
    /// Collected index LEBs, the latest first, and whether the running commit frees them.
    pub idx_gc: VecDeque<(LebIndex, bool)>,
    /// Counts collected data LEBs, so that a reader notices that a node moved.
    pub gc_seq: u32,
    /// The last collected data LEB.
    pub gced_lnum: Option<LebIndex>,
}

impl GcState {
    /// How many LEBs are accounted as free though a commit must come first (`idx_gc_cnt`).
    pub(crate) fn idx_gc_cnt(&self) -> i64 {
        i64::try_from(self.idx_gc.len()).expect("there are fewer than LEBs")
    }
}

/// The result of garbage collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Collected {
    /// This LEB is free. It stays taken for the caller.
    Leb(LebIndex),
    /// A commit is needed first (`-EAGAIN`).
    NeedsCommit,
    /// No progress is possible (`-ENOSPC`).
    NoSpace,
}

/// The result for one LEB (`LEB_FREED`, `LEB_FREED_IDX`, `LEB_RETAINED`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LebCollected {
    /// It is free.
    Freed,
    /// An index LEB: free after the next commit.
    FreedIndex,
    /// It is the new reserved LEB.
    Retained,
}

impl<L: Lebs> Volume<L> {
    /// Collects LEBs until one is free (`ubifs_garbage_collect`). `anyway` collects even when there
    /// is a free LEB.
    pub(crate) fn garbage_collect(
        &mut self,
        clock: &mut Clock,
        anyway: bool,
    ) -> Result<Collected, Error> {
        assert!(!self.mode.read_only, "garbage_collect: mounted read-only");
        if self.gc_should_commit() {
            return Ok(Collected::NeedsCommit);
        }
        if self.mode.failed {
            return Err(Errno::RoFs.into());
        }
        assert_eq!(self.heads[GC_HEAD].wbuf.used, 0, "the write buffer of GC is in use");
        let mut taken = None;
        match self.collect_until_free(clock, anyway, &mut taken) {
            Ok(collected) => self.end_collection(clock, collected),
            Err(error) => {
                // The first error counts; the volume becomes read-only whatever follows.
                drop(self.wbuf_sync(clock, GC_HEAD));
                self.switch_to_read_only(&error);
                if let Some(leb) = taken {
                    drop(self.return_leb(clock, leb));
                }
                Err(error)
            }
        }
    }

    /// The loop of `ubifs_garbage_collect`. `taken` is the LEB that must be returned on an error.
    fn collect_until_free(
        &mut self,
        clock: &mut Clock,
        anyway: bool,
        taken: &mut Option<LebIndex>,
    ) -> Result<Collected, Error> {
        let mut min_space = self.layout.dead_wm;
        for count in 0.. {
            *taken = None;
            if self.gc_should_commit() {
                return Ok(Collected::NeedsCommit);
            }
            if count > SOFT_LEBS_LIMIT && !self.gc.idx_gc.is_empty() {
                self.commit_required();
                return Ok(Collected::NeedsCommit);
            }
            if count > HARD_LEBS_LIMIT {
                break;
            }
            let Some(lp) = self.find_dirty_leb(clock, min_space, u8::from(!anyway))? else { break };
            *taken = Some(lp.leb);
            let before = self.gc_head_space();
            let collected = self.garbage_collect_leb(clock, lp)?;
            match collected {
                None => {
                    *taken = None;
                    self.return_leb(clock, lp.leb)?;
                    return Ok(Collected::NeedsCommit);
                }
                Some(LebCollected::Freed) => return Ok(Collected::Leb(lp.leb)),
                Some(LebCollected::FreedIndex) => continue,
                Some(LebCollected::Retained) => {}
            }
            if self.gc_head_space() > before {
                min_space = (min_space >> 1).max(self.layout.dead_wm);
            } else if count >= SOFT_LEBS_LIMIT {
                // Only a LEB with more dirty space can help: the search must look beyond the heap.
                min_space = (min_space << 1).min(self.layout.dark_wm);
            }
        }
        Ok(Collected::NoSpace)
    }

    fn end_collection(
        &mut self,
        clock: &mut Clock,
        collected: Collected,
    ) -> Result<Collected, Error> {
        let mut collected = collected;
        if collected == Collected::NoSpace && !self.gc.idx_gc.is_empty() {
            self.commit_required();
            collected = Collected::NeedsCommit;
        }
        let reserved = self.gc.gc_lnum.expect("a LEB is reserved between collections");
        let ended = self.wbuf_sync(clock, GC_HEAD).and_then(|()| self.leb_unmap(clock, reserved));
        ended.inspect_err(|error| self.switch_to_read_only(error))?;
        Ok(collected)
    }

    /// Bytes that the GC head can still take; 0 before the head has a LEB.
    fn gc_head_space(&self) -> u32 {
        let wbuf = &self.heads[GC_HEAD].wbuf;
        wbuf.leb.map_or(0, |_| self.layout.leb_size - wbuf.offs - wbuf.used)
    }

    /// Collects one LEB (`ubifs_garbage_collect_leb`); `None`: a commit is needed first (`-EAGAIN`).
    pub(crate) fn garbage_collect_leb(
        &mut self,
        clock: &mut Clock,
        lp: Lprops,
    ) -> Result<Option<LebCollected>, Error> {
        assert_ne!(self.gc.gc_lnum, Some(lp.leb), "the reserved LEB is collected");
        assert_ne!(self.heads[GC_HEAD].wbuf.leb, Some(lp.leb), "the GC head is collected");
        if lp.free + lp.dirty == self.layout.leb_size {
            return self.collect_unused(clock, lp).map(Some);
        }
        let scanned = self.scan(clock, lp.leb, 0)?;
        match scanned.nodes.first().map(|node| node.kind) {
            None => Err(Error::at(lp.leb, 0, Problem::Properties)),
            Some(NodeType::Index) => {
                self.collect_index(clock, &scanned)?;
                Ok(Some(LebCollected::FreedIndex))
            }
            Some(_) => self.collect_data(clock, &scanned),
        }
    }

    fn collect_unused(&mut self, clock: &mut Clock, lp: Lprops) -> Result<LebCollected, Error> {
        assert!(!lp.is_index(), "an index LEB without nodes is in no list of GC");
        if lp.free != self.layout.leb_size {
            // A write buffer may hold what makes the nodes of this LEB obsolete.
            self.gc_sync_wbufs(clock)?;
            self.change_one_lp(clock, lp.leb, Some(self.layout.leb_size), Some(0), (0, 0))?;
        }
        self.leb_unmap(clock, lp.leb)?;
        if self.gc.gc_lnum.is_none() {
            self.gc.gc_lnum = Some(lp.leb);
            return Ok(LebCollected::Retained);
        }
        Ok(LebCollected::Freed)
    }

    fn collect_index(&mut self, clock: &mut Clock, scanned: &ScannedLeb) -> Result<(), Error> {
        for node in &scanned.nodes {
            let index = self.scanned_index(scanned, node)?;
            self.dirty_idx_node(clock, index.branches[0].key, index.level, scanned.leb, node.offs)?;
        }
        self.gc.idx_gc.push_front((scanned.leb, false));
        let whole = Some(self.layout.leb_size);
        self.change_one_lp(clock, scanned.leb, whole, Some(0), (0, flag::INDEX))
    }

    /// The indexing node at the place of a scanned node, with at least one branch.
    pub(crate) fn scanned_index(
        &self,
        scanned: &ScannedLeb,
        node: &ScannedNode,
    ) -> Result<IndexNode, Error> {
        let wrong = Error::at(scanned.leb, node.offs, Problem::Index);
        if node.kind != NodeType::Index {
            return Err(wrong);
        }
        let bytes = scanned.node_bytes(node);
        let index = IndexNode::parse(bytes, self.layout.fanout).map_err(|cause| Error::Node {
            leb: scanned.leb,
            offs: node.offs,
            cause,
        })?;
        if index.branches.is_empty() { Err(wrong) } else { Ok(index) }
    }

    fn collect_data(
        &mut self,
        clock: &mut Clock,
        scanned: &ScannedLeb,
    ) -> Result<Option<LebCollected>, Error> {
        let leb = scanned.leb;
        let moved = self.move_nodes(clock, scanned);
        let moved = match moved {
            Ok(Some(())) => self.empty_collected(clock, leb).map(Some),
            other => other,
        };
        // Some nodes may have moved even when not all have.
        self.gc.gced_lnum = Some(leb);
        self.gc.gc_seq = self.gc.gc_seq.wrapping_add(1);
        if moved?.is_none() {
            return Ok(None);
        }
        if self.gc.gc_lnum.is_none() {
            self.gc.gc_lnum = Some(leb);
            return Ok(Some(LebCollected::Retained));
        }
        self.wbuf_sync(clock, GC_HEAD)?;
        self.leb_unmap(clock, leb)?;
        Ok(Some(LebCollected::Freed))
    }

    fn empty_collected(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<(), Error> {
        self.gc_sync_wbufs(clock)?;
        self.change_one_lp(clock, leb, Some(self.layout.leb_size), Some(0), (0, 0))
    }

    /// Moves the used nodes of a LEB to the GC head, each to the first place where it fits
    /// (`move_nodes`). `None`: a commit is needed first.
    fn move_nodes(&mut self, clock: &mut Clock, scanned: &ScannedLeb) -> Result<Option<()>, Error> {
        if self.heads[GC_HEAD].wbuf.leb.is_none() && self.switch_gc_head(clock)?.is_none() {
            return Ok(None);
        }
        let mut sorted = self.sort_nodes(clock, scanned)?;
        loop {
            self.move_data(clock, scanned, &mut sorted.data)?;
            self.move_others(clock, scanned, &mut sorted)?;
            if sorted.data.is_empty() && sorted.others.is_empty() {
                return Ok(Some(()));
            }
            if self.switch_gc_head(clock)?.is_none() {
                return Ok(None);
            }
        }
    }

    /// Moves data nodes as long as they fit. None is skipped, so that bulk-read finds them in order.
    fn move_data(
        &mut self,
        clock: &mut Clock,
        scanned: &ScannedLeb,
        data: &mut VecDeque<ScannedNode>,
    ) -> Result<(), Error> {
        while let Some(node) = data.front() {
            if node.len > self.gc_head_space() {
                break;
            }
            self.move_node(clock, scanned, node)?;
            data.pop_front();
        }
        Ok(())
    }

    /// Moves inodes and entries. Only inodes with data are skipped when they do not fit: all others
    /// are of nearly the same size.
    fn move_others(
        &mut self,
        clock: &mut Clock,
        scanned: &ScannedLeb,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        let mut index = 0;
        while let Some(node) = sorted.others.get(index) {
            let space = self.gc_head_space();
            if space < sorted.least {
                break;
            }
            if node.len > space {
                let dirent = node.key.kind() == Some(KeyType::Dirent);
                if dirent || usize::try_from(node.len) == Ok(inode::SIZE) {
                    break;
                }
                index += 1;
                continue;
            }
            self.move_node(clock, scanned, node)?;
            sorted.others.remove(index);
        }
        Ok(())
    }

    fn move_node(
        &mut self,
        clock: &mut Clock,
        scanned: &ScannedLeb,
        node: &ScannedNode,
    ) -> Result<(), Error> {
        let wbuf = &self.heads[GC_HEAD].wbuf;
        let lnum = wbuf.leb.expect("the GC head has a LEB");
        let offs = wbuf.offs + wbuf.used;
        self.wbuf_write(clock, GC_HEAD, scanned.node_bytes(node))?;
        let new = crate::format::index::Branch { lnum, offs, len: node.len, key: node.key };
        self.tnc_replace(clock, (scanned.leb, node.offs), new)
    }

    /// Drops what the index does not refer to, and sorts the rest (`sort_nodes`).
    fn sort_nodes(&mut self, clock: &mut Clock, scanned: &ScannedLeb) -> Result<Sorted, Error> {
        let mut sorted = Sorted { data: VecDeque::new(), others: Vec::new(), least: u32::MAX };
        for node in &scanned.nodes {
            if matches!(node.kind, NodeType::Truncation | NodeType::Authentication) {
                continue;
            }
            if kind_of(node.kind).is_none_or(|kind| node.key.kind() != Some(kind)) {
                return Err(Error::at(scanned.leb, node.offs, Problem::WrongKey));
            }
            if !self.tnc_has_node(clock, node.key, 0, (scanned.leb, node.offs), false)? {
                continue;
            }
            sorted.least = sorted.least.min(node.len);
            if node.kind == NodeType::Data {
                sorted.data.push_back(node.clone());
            } else {
                sorted.others.push(node.clone());
            }
        }
        sorted.data.make_contiguous().sort_by_key(|node| node.key);
        sorted.others.sort_by(compare_others);
        Ok(sorted)
    }

    /// The GC head continues in the reserved LEB (`switch_gc_head`). `None`: the log is full.
    fn switch_gc_head(&mut self, clock: &mut Clock) -> Result<Option<()>, Error> {
        let leb = self.gc.gc_lnum.expect("switch_gc_head: no LEB is reserved");
        self.wbuf_sync(clock, GC_HEAD)?;
        self.leb_unmap(clock, leb)?;
        if self.add_bud_to_log(clock, GC_HEAD, leb, 0)?.is_none() {
            return Ok(None);
        }
        self.gc.gc_lnum = None;
        self.wbuf_seek(clock, GC_HEAD, leb, 0)?;
        Ok(Some(()))
    }

    /// Writes what makes collected nodes obsolete (`gc_sync_wbufs`): all heads but that of GC.
    fn gc_sync_wbufs(&mut self, clock: &mut Clock) -> Result<(), Error> {
        for head in (0..self.heads.len()).filter(|&head| head != GC_HEAD) {
            self.wbuf_sync(clock, head)?;
        }
        Ok(())
    }

    /// Frees data LEBs without used nodes, and notes the index LEBs to free at the end of the commit
    /// (`ubifs_gc_start_commit`).
    pub(crate) fn gc_start_commit(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let whole = Some(self.layout.leb_size);
        while let Some(lp) = self.fast_find_freeable() {
            assert!(!lp.is_taken() && !lp.is_index(), "a freeable LEB is in use");
            self.leb_unmap(clock, lp.leb)?;
            self.change_lp(clock, lp, whole, Some(0), lp.flags)?;
        }
        for (_, unmap) in &mut self.gc.idx_gc {
            *unmap = true;
        }
        while let Some(lp) = self.fast_find_frdi_idx() {
            assert!(!lp.is_taken() && lp.is_index(), "a freeable index LEB is in use");
            // The last commit refers to it until the next one is complete.
            let flags = (lp.flags | flag::TAKEN) ^ flag::INDEX;
            self.change_lp(clock, lp, whole, Some(0), flags)?;
            self.gc.idx_gc.push_front((lp.leb, true));
        }
        Ok(())
    }

    /// Frees the collected index LEBs (`ubifs_gc_end_commit`).
    pub(crate) fn gc_end_commit(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let collected = self.gc.idx_gc.clone();
        for &(leb, _) in collected.iter().filter(|(_, unmap)| *unmap) {
            self.leb_unmap(clock, leb)?;
            self.change_one_lp(clock, leb, None, None, (0, flag::TAKEN))?;
            self.gc.idx_gc.retain(|&(other, _)| other != leb);
        }
        Ok(())
    }

    /// Gives a collected index LEB to the running commit (`ubifs_get_idx_gc_leb`).
    pub(crate) fn get_idx_gc_leb(&mut self) -> Option<LebIndex> {
        self.gc.idx_gc.pop_front().map(|(leb, _)| leb)
    }
}

/// Used nodes of a LEB, in the order in which they move.
struct Sorted {
    data: VecDeque<ScannedNode>,
    others: Vec<ScannedNode>,
    /// Bytes of the shortest node.
    least: u32,
}

/// The kind of key that a movable node has.
const fn kind_of(node: NodeType) -> Option<KeyType> {
    match node {
        NodeType::Inode => Some(KeyType::Inode),
        NodeType::Data => Some(KeyType::Data),
        NodeType::Dirent => Some(KeyType::Dirent),
        NodeType::Xattr => Some(KeyType::Xattr),
        _ => None,
    }
}

/// Inodes first, the longest first; then entries by directory and hash (`nondata_nodes_cmp`).
fn compare_others(a: &ScannedNode, b: &ScannedNode) -> Ordering {
    match (a.kind == NodeType::Inode, b.kind == NodeType::Inode) {
        (true, true) => b.len.cmp(&a.len),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => (a.key.ino(), a.key.low()).cmp(&(b.key.ino(), b.key.low())),
    }
}
