//! Reads all nodes of an inode: verifies them, determines which are live, and builds the open inode.
//!
//! Layer: rank 5. `Volume::read_inode`, used to open an inode and by the check after a mount. It
//! reads the header of every node (on NAND to the end of its page). It reads the data for
//! verification only if the node was never checked and no newer valid node covers all of it.
//!
//! ```text
//!  nodes of the inode -> entries                      -> the newest of each name
//!                     -> nodes with data, newest first -> covered by one newer? obsolete, unread
//!                                                      -> data right? a part of the file : obsolete
//!                     -> nodes without data            -> the newest, if it is the newest of all
//! ```
//! Source: Linux 6.1, `fs/jffs2/readinode.c` (`jffs2_do_read_inode_internal`). The kernel finds covered
//! nodes in a tree that may need long walks; processing by version finds the same ones in less time.

use crate::Mistake;
use crate::block::{NodeId, NodeState};
use crate::error::{Error, InodeProblem};
use crate::format::dirent::NAME_MAX;
use crate::format::{
    DirentView, Header, Inode, InodeView, Malformed, NodeType, crc, dirent, inode, to_usize,
};
use crate::fragments::{Effect, FullDnode};
use crate::index::ROOT;
use crate::inode::{DirEntry, Metadata, OpenInode, device_of};
use crate::volume::Volume;
use boardlab_mtd::Mtd;
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{Device, Kind, Work};
use std::collections::BTreeMap;

/// The bytes of a node that are read before its type is known: those of a directory entry.
const FIRST_READ: u32 = dirent::SIZE;

/// A node with data, or only with metadata, that may be live (`struct jffs2_tmp_dnode_info`).
#[derive(Debug, Clone, Copy)]
struct Candidate {
    node: NodeId,
    version: u32,
    offset: u32,
    size: u32,
    csize: u32,
    data_crc: u32,
    /// The checksum of the data that were read together with the header.
    crc_so_far: u32,
}

impl Candidate {
    fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.size)
    }
}

/// The nodes of an inode (`struct jffs2_readinode_info`).
#[derive(Debug, Default)]
struct ReadInodeInfo {
    candidates: Vec<Candidate>,
    /// The newest node without data.
    metadata: Option<Candidate>,
    entries: BTreeMap<Box<[u8]>, DirEntry>,
    highest_version: u32,
    /// Version and time of the newest entry with a time.
    entry_time: (u32, u32),
}

impl<M: Mtd> Volume<M> {
    /// Reads all nodes of an inode. `checking` omits what only an open inode needs.
    ///
    /// # Errors
    /// [`Error::Flash`]; [`Error::Inode`] when no valid nodes are left, or a symbolic link or
    /// device does not have exactly one.
    pub(crate) fn read_inode(
        &mut self,
        clock: &mut Clock,
        slot: u32,
        checking: bool,
    ) -> Result<OpenInode, Error> {
        let ino = self.inodes.get(slot).ino;
        let mut gathered = self.gather(clock, slot)?;
        let mut open = OpenInode::new(ino, slot, Kind::Directory);
        let too_low = self.mistake == Some(Mistake::ReadsVersionsTooLow);
        open.highest_version = gathered.highest_version.saturating_sub(u32::from(too_low));
        let newest = self.build_fragments(clock, &mut gathered, &mut open)?;
        let newest = self.settle_metadata(gathered.metadata, newest, &mut open);
        open.entries = gathered.entries;
        let Some((_, node)) = newest else { return self.without_nodes(open) };
        let node = self.read_inode_node(clock, node)?;
        open.metadata = Metadata::of(&node);
        self.settle_kind(clock, &mut open, &node, checking)?;
        if open.is_directory() && gathered.entry_time.0 > node.version {
            (open.metadata.mtime, open.metadata.ctime) =
                (gathered.entry_time.1, gathered.entry_time.1);
        }
        open.links = self.links_of(&open);
        Ok(open)
    }

    /// The link count of an inode: as counted at the mount, and for a directory from its
    /// subdirectories.
    fn links_of(&self, open: &OpenInode) -> u32 {
        if !open.is_directory() {
            return self.inodes.get(open.slot).links;
        }
        let names = self.sound_names(open);
        let within = names.filter(|(_, entry)| entry.kind == crate::mount::DIRECTORY).count();
        // The kernel adds one for the root, without giving a reason.
        let own = if open.ino == ROOT { 3 } else { 2 };
        own + u32::try_from(within).expect("fewer entries than bytes of a flash")
    }

    /// The root needs no node, nor does a directory that lost its node but has entries.
    fn without_nodes(&self, mut open: OpenInode) -> Result<OpenInode, Error> {
        let is_directory = self.inodes.get(open.slot).is_directory && !open.entries.is_empty();
        if open.ino != ROOT && !is_directory {
            return Err(Error::Inode { ino: open.ino, problem: InodeProblem::NoNodes });
        }
        open.metadata = Metadata { mode: 0o040_755, ..Metadata::default() };
        open.links = self.links_of(&open);
        Ok(open)
    }

    /// Reads the header of every live node of the inode.
    fn gather(&mut self, clock: &mut Clock, slot: u32) -> Result<ReadInodeInfo, Error> {
        let mut gathered = ReadInodeInfo::default();
        let mut buffer = Vec::new();
        let mut next = self.inodes.get(slot).nodes;
        while let Some(id) = next {
            next = self.blocks.node(id).next();
            if self.blocks.node(id).state().is_live() {
                self.gather_node(clock, id, &mut buffer, &mut gathered)?;
            }
        }
        Ok(gathered)
    }

    fn gather_node(
        &mut self,
        clock: &mut Clock,
        id: NodeId,
        buffer: &mut Vec<u8>,
        gathered: &mut ReadInodeInfo,
    ) -> Result<(), Error> {
        buffer.clear();
        self.read_more(clock, id, FIRST_READ, buffer)?;
        self.host.spend(clock, Work::Node, 0);
        self.host.spend(clock, Work::Crc, 8);
        let header = Header::parse(buffer, self.order).ok().filter(|header| header.accurate);
        let result = match header.map(|header| header.node_type) {
            Some(NodeType::Dirent) => self.gather_entry(clock, id, buffer, gathered)?,
            Some(NodeType::Inode) => {
                self.read_more(clock, id, inode::SIZE, buffer)?;
                self.gather_dnode(clock, id, buffer, gathered)
            }
            _ => Err(Malformed::Value { field: "header", found: 0 }),
        };
        if result.is_err() {
            self.account_obsolete(id);
        }
        Ok(())
    }

    /// Reads until `wanted` bytes of a node are in the buffer; on NAND to the end of the page,
    /// which is transferred anyway.
    fn read_more(
        &mut self,
        clock: &mut Clock,
        id: NodeId,
        wanted: u32,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let start = self.blocks.flash_offset(id);
        let end = start + Bytes::new(u64::from(wanted));
        let end = match self.layout.page_size {
            Some(page) => Bytes::new(end.get().next_multiple_of(u64::from(page))),
            None => end,
        };
        let (have, need) = (buffer.len(), (end.min(self.layout.size()) - start).to_usize());
        if have < need {
            buffer.resize(need, 0);
            self.read_flash(clock, start + Bytes::of(&buffer[..have]), &mut buffer[have..])?;
        }
        Ok(())
    }

    /// Processes a directory entry; the outer error is that of the flash.
    fn gather_entry(
        &mut self,
        clock: &mut Clock,
        id: NodeId,
        buffer: &mut Vec<u8>,
        gathered: &mut ReadInodeInfo,
    ) -> Result<Result<(), Malformed>, Error> {
        self.host.spend(clock, Work::Crc, 32);
        let length = match DirentView::new(buffer, self.order) {
            Ok(view) => view.check_lengths().map(|()| dirent::SIZE + u32::from(view.name_length())),
            Err(cause) => Err(cause),
        };
        let length = match length {
            Ok(length) if length <= self.blocks.length(id) => length,
            Ok(length) => {
                let needed = u64::from(length);
                return Ok(Err(Malformed::Length { total: self.blocks.length(id), needed }));
            }
            Err(cause) => return Ok(Err(cause)),
        };
        if buffer.len() < to_usize(length) {
            let have = buffer.len();
            buffer.resize(to_usize(length), 0);
            let from = self.blocks.flash_offset(id) + Bytes::of(&buffer[..have]);
            self.read_flash(clock, from, &mut buffer[have..])?;
        }
        Ok(self.take_entry(id, buffer, gathered))
    }

    fn take_entry(
        &mut self,
        id: NodeId,
        buffer: &[u8],
        gathered: &mut ReadInodeInfo,
    ) -> Result<(), Malformed> {
        let node = DirentView::new(buffer, self.order)?.parse()?;
        self.check_owner(id, node.parent)?;
        if self.blocks.node(id).state() == NodeState::Unchecked {
            let state = if node.ino == 0 { NodeState::Normal } else { NodeState::Pristine };
            self.blocks.mark_used(id, state);
        }
        gathered.highest_version = gathered.highest_version.max(node.version);
        if node.version > gathered.entry_time.0 && node.mctime != 0 {
            gathered.entry_time = (node.version, node.mctime);
        }
        let (ino, kind, version) = (node.ino, node.kind, node.version);
        let entry = DirEntry { ino, kind, version, node: Some(id) };
        let Some(there) = gathered.entries.get_mut(node.name) else {
            gathered.entries.insert(node.name.into(), entry);
            return Ok(());
        };
        let older = if version < there.version {
            id
        } else {
            std::mem::replace(there, entry).node.unwrap_or(id)
        };
        self.account_obsolete(older);
        Ok(())
    }

    /// Whether a node belongs to the inode whose list contains it; a summary may be wrong.
    pub(crate) fn check_owner(&self, id: NodeId, ino: u32) -> Result<(), Malformed> {
        let listed = match self.blocks.node(id).owner() {
            crate::block::Owner::Inode(slot) => self.inodes.get(slot).ino == ino,
            _ => false,
        };
        if listed { Ok(()) } else { Err(Malformed::Value { field: "inode number", found: ino }) }
    }

    fn gather_dnode(
        &mut self,
        clock: &mut Clock,
        id: NodeId,
        buffer: &[u8],
        gathered: &mut ReadInodeInfo,
    ) -> Result<(), Malformed> {
        self.host.spend(clock, Work::Crc, 60);
        let view = InodeView::new(buffer, self.order)?;
        let node = view.parse();
        self.check_owner(id, node.ino)?;
        if node.offset == u32::MAX && node.dsize > 0 {
            // None of its bytes could be part of a file.
            return Err(Malformed::Value { field: "offset", found: node.offset });
        }
        let unchecked = self.blocks.node(id).state() == NodeState::Unchecked;
        let mut crc_so_far = 0;
        if unchecked {
            view.check_lengths()?;
            if node.csize == 0 {
                self.blocks.mark_used(id, NodeState::Normal);
            } else if self.layout.page_size.is_some() {
                let data = view.data();
                self.host.spend(clock, Work::Crc, data.len());
                crc_so_far = crc(0, data);
                let whole = data.len() == to_usize(node.csize);
                let believed = self.mistake == Some(Mistake::TrustsTornData);
                if whole && !believed && crc_so_far != node.data_crc {
                    let (expected, found) = (node.data_crc, crc_so_far);
                    return Err(Malformed::DataCrc { expected, found });
                }
            }
        }
        gathered.highest_version = gathered.highest_version.max(node.version);
        let Inode { version, offset, dsize: size, csize, data_crc, .. } = node;
        let new = Candidate { node: id, version, offset, size, csize, data_crc, crc_so_far };
        if size > 0 {
            gathered.candidates.push(new);
            return Ok(());
        }
        let (newer, older) = match gathered.metadata.replace(new) {
            Some(before) if before.version >= version => (before, Some(new)),
            before => (new, before),
        };
        gathered.metadata = Some(newer);
        if let Some(older) = older {
            self.account_obsolete(older.node);
        }
        Ok(())
    }

    /// Builds fragments of the live nodes with data. Returns version and node of the newest.
    fn build_fragments(
        &mut self,
        clock: &mut Clock,
        gathered: &mut ReadInodeInfo,
        open: &mut OpenInode,
    ) -> Result<Option<(u32, NodeId)>, Error> {
        let mut candidates = std::mem::take(&mut gathered.candidates);
        candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.version));
        let mut accepted = self.uncovered(clock, candidates)?;
        let newest = accepted.first().map(|candidate| (candidate.version, candidate.node));
        let mut effects = std::mem::take(&mut self.effects);
        add_by_clusters(&mut accepted, |candidate| {
            effects.clear();
            let Candidate { node, offset, size, .. } = *candidate;
            open.fragments.add(node, offset, size, &mut effects);
            self.account_effects(&effects);
        });
        self.effects = effects;
        Ok(newest)
    }

    /// Of nodes sorted from the newest on, returns those that no single newer valid node covers and
    /// whose data are valid; the others become obsolete.
    fn uncovered(
        &mut self,
        clock: &mut Clock,
        candidates: Vec<Candidate>,
    ) -> Result<Vec<Candidate>, Error> {
        let mut accepted = Vec::with_capacity(candidates.len());
        // Beginnings and ends of accepted nodes; of nested ones only the outer one is kept.
        let mut outer: BTreeMap<u32, u64> = BTreeMap::new();
        for candidate in candidates {
            let under = outer.range(..=candidate.offset).next_back();
            let covered = under.is_some_and(|(_, &end)| end >= candidate.end());
            if covered || !self.data_are_right(clock, &candidate)? {
                self.account_obsolete(candidate.node);
                continue;
            }
            while let Some((&offset, &end)) = outer.range(candidate.offset..).next()
                && end <= candidate.end()
            {
                outer.remove(&offset);
            }
            outer.insert(candidate.offset, candidate.end());
            accepted.push(candidate);
        }
        Ok(accepted)
    }

    /// Verifies the data of an unchecked node that were not read with the header.
    fn data_are_right(&mut self, clock: &mut Clock, candidate: &Candidate) -> Result<bool, Error> {
        if self.blocks.node(candidate.node).state() != NodeState::Unchecked {
            return Ok(true);
        }
        let data = self.blocks.flash_offset(candidate.node) + Bytes::new(u64::from(inode::SIZE));
        let read = match self.layout.page_size {
            Some(page) => (data.get().next_multiple_of(u64::from(page)) - data.get())
                .min(u64::from(candidate.csize)),
            None => 0,
        };
        let left = Bytes::new(u64::from(candidate.csize) - read).to_usize();
        if left > 0 {
            let mut rest = vec![0; left];
            self.read_flash(clock, data + Bytes::new(read), &mut rest)?;
            self.host.spend(clock, Work::Crc, left);
            let believed = self.mistake == Some(Mistake::TrustsTornData);
            if !believed && crc(candidate.crc_so_far, &rest) != candidate.data_crc {
                return Ok(false);
            }
        }
        self.blocks.mark_used(candidate.node, NodeState::Pristine);
        Ok(true)
    }

    /// The newest node without data carries the metadata if it is the newest of all; otherwise it
    /// is obsolete. Returns the newest of all.
    fn settle_metadata(
        &mut self,
        metadata: Option<Candidate>,
        newest: Option<(u32, NodeId)>,
        open: &mut OpenInode,
    ) -> Option<(u32, NodeId)> {
        let Some(Candidate { node, version, offset, size, .. }) = metadata else { return newest };
        if newest.is_some_and(|(newest, _)| newest > version) {
            self.account_obsolete(node);
            return newest;
        }
        open.metadata_node = Some(FullDnode { node, offset, size, fragments: 0 });
        Some((version, node))
    }

    /// Reads the fields of an inode node again, as the kernel does.
    fn read_inode_node(&mut self, clock: &mut Clock, id: NodeId) -> Result<Inode, Error> {
        let at = self.blocks.flash_offset(id);
        let mut bytes = [0; 68];
        self.read_flash(clock, at, &mut bytes)?;
        self.host.spend(clock, Work::Crc, 60);
        let view = InodeView::new(&bytes, self.order).map_err(|cause| Error::Node { at, cause })?;
        Ok(view.parse())
    }

    /// Sets up the open inode for the mode of the newest node.
    fn settle_kind(
        &mut self,
        clock: &mut Clock,
        open: &mut OpenInode,
        node: &Inode,
        checking: bool,
    ) -> Result<(), Error> {
        let (ino, none) = (open.ino, Device { major: 0, minor: 0 });
        let problem = |problem| Error::Inode { ino, problem };
        let kind = Kind::of_mode(node.mode, none);
        open.kind = kind.ok_or_else(|| problem(InodeProblem::Mode(node.mode)))?;
        match open.kind {
            Kind::File => self.settle_size(open),
            Kind::Directory if ino != ROOT && !self.inodes.get(open.slot).is_directory => {
                // Only an entry that calls it a directory prevents it from becoming its own ancestor.
                return Err(problem(InodeProblem::Mode(node.mode)));
            }
            Kind::Directory | Kind::Fifo | Kind::Socket => {}
            Kind::Symlink | Kind::Character(_) | Kind::Block(_) => {
                let only = open.fragments.take_only().filter(|_| open.metadata_node.is_none());
                let only = only.ok_or_else(|| problem(InodeProblem::NotOneNode))?;
                open.metadata_node = Some(only);
                if open.metadata.size == 0 {
                    open.metadata.size = node.dsize;
                }
                if !checking {
                    self.settle_special(clock, open, node)?;
                }
            }
        }
        Ok(())
    }

    /// Data beyond the size of a file are ignored; a size beyond the last node is reduced.
    fn settle_size(&mut self, open: &mut OpenInode) {
        let mut effects: Vec<Effect> = Vec::new();
        open.metadata.size = open.fragments.truncate(open.metadata.size, &mut effects);
        self.account_effects(&effects);
    }

    /// Reads the target of a link or the number of a device.
    fn settle_special(
        &mut self,
        clock: &mut Clock,
        open: &mut OpenInode,
        node: &Inode,
    ) -> Result<(), Error> {
        let ino = open.ino;
        let problem = |problem| Error::Inode { ino, problem };
        let Some(dnode) = open.metadata_node else { return Ok(()) };
        if open.kind == Kind::Symlink {
            if to_usize(node.csize) > NAME_MAX {
                return Err(problem(InodeProblem::LongTarget));
            }
            let mut target = vec![0; to_usize(node.csize)];
            let data = self.blocks.flash_offset(dnode.node) + Bytes::new(u64::from(inode::SIZE));
            self.read_flash(clock, data, &mut target)?;
            open.target = target.into();
            return Ok(());
        }
        let mut number = [0; 4];
        let number = match dnode.size {
            2 => &mut number[..2],
            4 => &mut number[..],
            _ => return Err(problem(InodeProblem::DeviceNumber)),
        };
        self.read_dnode(clock, dnode.node, 0, number)?;
        let device = device_of(self.order, number);
        let device = device.ok_or_else(|| problem(InodeProblem::DeviceNumber))?;
        open.kind = match open.kind {
            Kind::Block(_) => Kind::Block(device),
            _ => Kind::Character(device),
        };
        Ok(())
    }
}

/// Passes nodes in the kernel's order: groups of overlapping nodes from the end of the file to its
/// beginning, and within each group from the oldest to the newest.
fn add_by_clusters(accepted: &mut [Candidate], mut add: impl FnMut(&Candidate)) {
    let mut sorted: Vec<Candidate> = accepted.to_vec();
    sorted.sort_by_key(|candidate| (candidate.offset, candidate.size));
    let mut clusters: Vec<Vec<Candidate>> = Vec::new();
    let mut end = 0;
    for candidate in sorted {
        match clusters.last_mut() {
            Some(cluster) if u64::from(candidate.offset) < end => cluster.push(candidate),
            _ => clusters.push(vec![candidate]),
        }
        end = end.max(candidate.end());
    }
    for mut cluster in clusters.into_iter().rev() {
        cluster.sort_by_key(|candidate| candidate.version);
        cluster.iter().for_each(&mut add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Blocks, Owner};
    use boardlab_mtd::BlockIndex;

    #[test]
    fn nodes_are_handed_over_in_groups_that_overlap_from_the_end_of_the_file() {
        let mut blocks = Blocks::new(1, 1_024);
        let node = blocks.link(BlockIndex(0), 4, NodeState::Normal, Owner::Nobody, None);
        let places = [(5, 0, 10), (4, 20, 10), (3, 25, 10), (2, 5, 10), (1, 40, 5)];
        let mut accepted = places.map(|(version, offset, size)| {
            let (csize, data_crc, crc_so_far) = (size, 0, 0);
            Candidate { node, version, offset, size, csize, data_crc, crc_so_far }
        });
        let mut versions = Vec::new();
        add_by_clusters(&mut accepted, |candidate| versions.push(candidate.version));
        assert_eq!(versions, [1, 3, 4, 2, 5]);
    }
}
