//! Reading indexing nodes and leaf nodes.
//!
//! Layer: rank 5. What is read is checked: an index that is damaged ends in an error with its place.
//! Besides the kernel's checks, levels must descend one by one and keys must be within the range that
//! the parent gives, and no indexing node may be reached twice, so that every walk ends soon.
//!
//! Source: Linux 6.1, `fs/ubifs/tnc_misc.c` (`read_znode`, `ubifs_load_znode`, `ubifs_tnc_read_node`),
//! `tnc.c` (`try_read_node`, `fallible_read_node`, `lnc_add`).

use super::znode::{Arena, Cursor, ZnodeId};
use super::{broken, second};
use crate::error::Problem;
use crate::format::dirent::Dirent;
use crate::format::index::{Branch, IndexNode};
use crate::format::key::{Key, KeyType};
use crate::format::{NodeType, usize_of};
use crate::{Error, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Work;

/// Where the key is in every leaf node.
const KEY_AT: usize = 24;

/// The kind of the leaf nodes of a key; `None` for keys that are not in the index.
pub(crate) fn kind_of(key: Key) -> Option<NodeType> {
    match key.kind()? {
        KeyType::Inode => Some(NodeType::Inode),
        KeyType::Data => Some(NodeType::Data),
        KeyType::Dirent => Some(NodeType::Dirent),
        KeyType::Xattr => Some(NodeType::Xattr),
        KeyType::Truncation => None,
    }
}

/// The key of a leaf node; `None` if it is too short for one.
pub(crate) fn key_of(node: &[u8]) -> Option<Key> {
    let words = node.get(KEY_AT..)?.first_chunk::<8>()?;
    let (ino, word) = words.split_at(4);
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u32::from(byte));
    Some(Key::from_words(number(ino), number(word)))
}

/// The name within an entry that [`Dirent::parse`] accepts.
pub(super) fn name_of(entry: &[u8]) -> &[u8] {
    let length = usize::from(entry[50]) | usize::from(entry[51]) << 8;
    &entry[56..56 + length]
}

impl<L: Lebs> Volume<L> {
    /// The root, which is read if need be.
    pub(super) fn root_znode(&mut self, clock: &mut Clock) -> Result<ZnodeId, Error> {
        match self.tnc.zroot.child() {
            Some(root) => Ok(root),
            None => self.load_znode(clock, None),
        }
    }

    /// The znode below a branch, which is read if need be (`get_znode`).
    pub(super) fn child_znode(
        &mut self,
        clock: &mut Clock,
        parent: ZnodeId,
        slot: usize,
    ) -> Result<ZnodeId, Error> {
        match self.tnc.arena.branch(parent, slot).child() {
            Some(child) => Ok(child),
            None => self.load_znode(clock, Some((parent, slot))),
        }
    }

    /// Reads the indexing node of a branch: of the root, or of a slot.
    pub(super) fn load_znode(
        &mut self,
        clock: &mut Clock,
        parent: Option<(ZnodeId, usize)>,
    ) -> Result<ZnodeId, Error> {
        let arena = &self.tnc.arena;
        let branch = parent.map_or(&self.tnc.zroot, |(id, slot)| arena.branch(id, slot)).branch();
        let layout = &self.layout;
        let most = layout.main_bytes / u64::from(layout.min_idx_node_sz.max(8));
        let possible = layout.min_idx_node_sz..=layout.max_idx_node_sz;
        if !possible.contains(&branch.len) || self.tnc.clean + self.tnc.dirty >= most {
            return Err(broken(&branch));
        }
        let bytes = self.read_node(clock, NodeType::Index, branch.lnum, branch.offs, branch.len)?;
        self.host.spend(clock, Work::Node, 0);
        let node = IndexNode::parse(&bytes, self.layout.fanout).map_err(|cause| Error::Node {
            leb: branch.lnum,
            offs: branch.offs,
            cause,
        })?;
        self.check_branches(&branch, &node)?;
        let arena = &self.tnc.arena;
        if !fits_parent(arena, parent, &node) || is_shared(arena, parent, &node) {
            return Err(broken(&branch));
        }
        Ok(self.add_loaded(clock, parent, &node))
    }

    fn add_loaded(
        &mut self,
        clock: &Clock,
        parent: Option<(ZnodeId, usize)>,
        node: &IndexNode,
    ) -> ZnodeId {
        if parent.is_none() {
            // Nothing of the index is in memory without its root.
            self.tnc.arena = Arena::new(self.layout.fanout);
        }
        let arena = &mut self.tnc.arena;
        let id = arena.add(node.level);
        arena.node_mut(id).time = second(clock.now());
        for &branch in &node.branches {
            arena.push(id, branch.into());
        }
        arena.set_parent(id, parent);
        self.tnc.clean += 1;
        self.tnc.own_branch_mut(id).set_child(Some(id));
        id
    }

    /// Whether the branches of an indexing node lead to places and keys that can be.
    pub(crate) fn check_branches(&self, place: &Branch, node: &IndexNode) -> Result<(), Error> {
        let layout = &self.layout;
        for branch in &node.branches {
            let inside = branch.lnum >= layout.main_first && branch.lnum.0 < layout.leb_count;
            let end = branch.offs.checked_add(branch.len);
            let fits = end.is_some_and(|end| end <= layout.leb_size);
            if !inside || !fits || !branch.offs.is_multiple_of(8) {
                return Err(Error::at(place.lnum, place.offs, Problem::Area));
            }
            let Some(kind) = kind_of(branch.key) else { return Err(broken(place)) };
            let (min, max) = match node.level {
                0 => kind.lengths(),
                _ => (layout.min_idx_node_sz, layout.max_idx_node_sz),
            };
            if !(min..=max).contains(&branch.len) {
                return Err(broken(place));
            }
        }
        let ascends = |pair: &[Branch]| {
            let (left, right) = (pair[0].key, pair[1].key);
            left < right || (left == right && left.is_hashed())
        };
        if node.branches.windows(2).all(ascends) { Ok(()) } else { Err(broken(place)) }
    }

    /// Reads the leaf node of a branch, which may be in a write buffer (`ubifs_tnc_read_node`).
    ///
    /// # Errors
    /// [`Error::Node`] if there is no such node, [`Problem::WrongKey`] if it is another one.
    pub(crate) fn tnc_read_node(
        &mut self,
        clock: &mut Clock,
        branch: Branch,
    ) -> Result<Vec<u8>, Error> {
        let Branch { lnum, offs, len, key } = branch;
        let kind = kind_of(key).ok_or_else(|| broken(&branch))?;
        let node = self.read_node_wbuf(clock, kind, lnum, offs, len)?;
        if key_of(&node) != Some(key) {
            return Err(Error::at(lnum, offs, Problem::WrongKey));
        }
        Ok(node)
    }

    /// Reads the leaf node of a branch if it is there: garbage collection may have moved it, or the
    /// journal may have been cut (`fallible_read_node`). `None`: there is no such node.
    pub(super) fn fallible_read_node(
        &mut self,
        clock: &mut Clock,
        branch: &Branch,
    ) -> Result<Option<Vec<u8>>, Error> {
        let mut node = vec![0; usize_of(branch.len)];
        self.leb_read(clock, branch.lnum, branch.offs, &mut node)?;
        let Ok(header) = self.check_node(clock, &node, branch.offs, false) else {
            return Ok(None);
        };
        let is_it = Some(header.node_type) == kind_of(branch.key)
            && header.len == branch.len
            && !self.is_beyond_commit(&header)
            && key_of(&node) == Some(branch.key);
        Ok(is_it.then_some(node))
    }

    /// Takes the entry under a cursor to the leaf node cache, if it is not there. `fallible`: it may be
    /// missing on flash, then the result is false.
    pub(super) fn cache_entry(
        &mut self,
        clock: &mut Clock,
        at: Cursor,
        fallible: bool,
    ) -> Result<bool, Error> {
        if self.tnc.arena.leaf(at).is_some() {
            return Ok(true);
        }
        let branch = self.tnc.arena.under(at).branch();
        let node = if fallible {
            let Some(node) = self.fallible_read_node(clock, &branch)? else { return Ok(false) };
            node
        } else {
            self.tnc_read_node(clock, branch)?
        };
        Dirent::parse(&node).map_err(|cause| Error::Node {
            leb: branch.lnum,
            offs: branch.offs,
            cause,
        })?;
        self.tnc.arena.set_leaf(at, node);
        Ok(true)
    }

    /// A copy of the entry under a cursor (`tnc_read_hashed_node`). `None`: the replay finds it missing.
    pub(super) fn read_entry(
        &mut self,
        clock: &mut Clock,
        at: Cursor,
    ) -> Result<Option<Vec<u8>>, Error> {
        if !self.cache_entry(clock, at, self.mode.replaying)? {
            return Ok(None);
        }
        let node = self.cached(at).to_vec();
        self.host.spend(clock, Work::Copy, node.len());
        Ok(Some(node))
    }

    /// The entry under a cursor, which is in the leaf node cache.
    pub(super) fn cached(&self, at: Cursor) -> &[u8] {
        self.tnc.arena.leaf(at).expect("the entry was cached")
    }
}

/// Whether a node's level and keys are what its parent promises.
fn fits_parent(arena: &Arena, parent: Option<(ZnodeId, usize)>, node: &IndexNode) -> bool {
    let (Some(first), Some(last)) = (node.branches.first(), node.branches.last()) else {
        return false;
    };
    let Some((parent, slot)) = parent else { return true };
    let branches = arena.branches(parent);
    let upper = branches.get(slot + 1).map_or(Key::HIGHEST, |next| next.key);
    node.level + 1 == arena.node(parent).level
        && first.key >= branches[slot].key
        && last.key <= upper
}

/// Whether another branch leads to the same node. In the ranges of two parents at once are only nodes
/// that have one and the same key of entries throughout, so the branches that could are neighbours.
fn is_shared(arena: &Arena, parent: Option<(ZnodeId, usize)>, node: &IndexNode) -> bool {
    let (Some(at), Some(first)) = (parent, node.branches.first()) else { return false };
    let (key, own) = (first.key, arena.branch(at.0, at.1));
    let one_key = node.branches.last().is_some_and(|last| last.key == key);
    if node.level == 0 || !one_key || !key.is_hashed() {
        return false;
    }
    let is_own = |at: (ZnodeId, usize)| arena.branch(at.0, at.1).is_at(own.lnum(), own.offs);
    let mut left = arena.loaded_left(at);
    while let Some(at) = left {
        if is_own(at) {
            return true;
        }
        left = arena.loaded_left(at).filter(|_| arena.branch(at.0, at.1).key >= key);
    }
    let has_key = |at: &(ZnodeId, usize)| arena.branch(at.0, at.1).key <= key;
    let mut right = arena.loaded_right(at).filter(has_key);
    while let Some(at) = right {
        if is_own(at) {
            return true;
        }
        right = arena.loaded_right(at).filter(has_key);
    }
    false
}
