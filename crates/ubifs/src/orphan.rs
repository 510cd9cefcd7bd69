//! Orphans: inodes without a name that are still open, or not deleted yet, at a commit.
//!
//! Layer: rank 5. Main type: [`Orphans`]. After a power cut nobody has them open, so a mount deletes
//! them. The commit writes the new ones to the orphan area, which fills from its first LEB to its
//! last. When it is full, all that still are orphans are written to the beginning again, each LEB
//! atomically and in order, so that none is lost on the way (`consolidate`).
//!
//! Source: Linux 6.1, `fs/ubifs/orphan.c`.

use crate::error::Problem;
use crate::format::key::Key;
use crate::format::{NodeType, inode, orphan, usize_of};
use crate::options::Mistake;
use crate::scan::ScannedLeb;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Errno;
use std::collections::BTreeMap;

/// Bytes of an inode number in an orphan node.
const NUMBER_SIZE: u32 = 8;
/// Bytes of an orphan node before the numbers.
const NODE_SIZE: u32 = 32;

/// An orphan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Orphan {
    /// Whether it was added since the last commit.
    new: bool,
    /// Whether a mount has deleted it, so that it goes at the next commit.
    dead: bool,
    /// The inodes of its extended attributes, which are orphans too.
    children: Vec<u32>,
}

/// All orphans, and the head of the orphan area.
#[derive(Debug, Clone, Default)]
pub(crate) struct Orphans {
    /// By inode number.
    table: BTreeMap<u32, Orphan>,
    /// All, the oldest first.
    list: Vec<u32>,
    /// Those to write by the running commit, in this order.
    to_commit: Vec<u32>,
    /// The LEB where the next node is written.
    head: LebIndex,
    /// The offset there.
    head_offs: u32,
    /// Whether there were no orphans at the last commit (`no_orphs`).
    pub none: bool,
}

impl Orphans {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether this inode is one.
    pub(crate) fn contains(&self, ino: u32) -> bool {
        self.table.contains_key(&ino)
    }

    fn insert(&mut self, ino: u32, orphan: Orphan) {
        self.table.insert(ino, orphan);
        self.list.push(ino);
    }

    fn delete(&mut self, ino: u32) {
        if self.table.get(&ino).is_some_and(|orphan| !orphan.dead) {
            self.drop(ino);
        }
    }

    fn drop(&mut self, ino: u32) {
        self.table.remove(&ino);
        self.list.retain(|&other| other != ino);
    }

    /// Those that no commit has written yet.
    fn new_ones(&self) -> impl Iterator<Item = u32> + '_ {
        self.list.iter().copied().filter(|ino| self.table[ino].new)
    }
}

impl<L: Lebs> Volume<L> {
    /// Adds an inode whose last name was removed, and the inodes of its extended attributes
    /// (`ubifs_add_orphan`).
    pub(crate) fn add_orphan(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        self.add_one_orphan(ino, None)?;
        let (mut key, mut name) = (Key::xattr(ino, 0), None);
        while let Some(entry) = self.tnc_next_entry(clock, key, name.as_deref())? {
            let child = u32::try_from(entry.inum).map_err(|_| Errno::Io)?;
            self.add_one_orphan(child, Some(ino))?;
            (key, name) = (entry.key, Some(entry.name));
        }
        Ok(())
    }

    fn add_one_orphan(&mut self, ino: u32, parent: Option<u32>) -> Result<(), Error> {
        if self.orphans.len() >= usize_of(self.layout.max_orphans) {
            return Err(Errno::NFile.into());
        }
        if self.orphans.contains(ino) {
            return Err(Errno::Inval.into());
        }
        self.orphans.insert(ino, Orphan { new: true, ..Orphan::default() });
        if let Some(parent) = parent.and_then(|parent| self.orphans.table.get_mut(&parent)) {
            parent.children.push(ino);
        }
        Ok(())
    }

    /// Removes an inode that was deleted, and the inodes of its attributes (`ubifs_delete_orphan`).
    pub(crate) fn delete_orphan(&mut self, ino: u32) {
        let Some(orphan) = self.orphans.table.get(&ino) else { return };
        for child in orphan.children.clone() {
            self.orphans.delete(child);
        }
        self.orphans.delete(ino);
    }

    /// Chooses the orphans to write (`ubifs_orphan_start_commit`).
    pub(crate) fn orphan_start_commit(&mut self) {
        let orphans = &mut self.orphans;
        orphans.to_commit = orphans.new_ones().collect();
        for orphan in orphans.table.values_mut() {
            orphan.new = false;
        }
        orphans.none = orphans.table.is_empty();
    }

    /// Writes the chosen orphans, and forgets those that the mount has deleted
    /// (`ubifs_orphan_end_commit`).
    pub(crate) fn orphan_end_commit(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if !self.orphans.to_commit.is_empty() {
            let consolidates = self.avail_orphans() < self.orphans.to_commit.len();
            if consolidates {
                self.consolidate_orphans()?;
            }
            self.write_orphan_nodes(clock, consolidates)?;
        }
        let dead: Vec<u32> = self.orphans.list.clone();
        for ino in dead {
            if self.orphans.table[&ino].dead {
                self.orphans.drop(ino);
            }
        }
        if self.options.checks.orphans {
            self.check_orphans(clock)?;
        }
        Ok(())
    }

    /// How many numbers a LEB holds.
    const fn orphans_per_leb(&self) -> u32 {
        (self.layout.leb_size - NODE_SIZE) / NUMBER_SIZE
    }

    /// How many numbers the rest of the area can hold (`avail_orphs`).
    fn avail_orphans(&self) -> usize {
        let (layout, orphans) = (&self.layout, &self.orphans);
        let lebs = layout.orph_last.0.saturating_sub(orphans.head.0);
        let gap = layout.leb_size - orphans.head_offs;
        usize_of(lebs * self.orphans_per_leb() + gap.saturating_sub(NODE_SIZE) / NUMBER_SIZE)
    }

    /// How many orphans there may be: half of what the area holds (`tot_avail_orphs`).
    const fn total_orphans(&self) -> u32 {
        self.layout.orph_lebs * self.orphans_per_leb() / 2
    }

    /// Begins the area anew with all orphans (`consolidate`).
    fn consolidate_orphans(&mut self) -> Result<(), Error> {
        if self.orphans.len() > usize_of(self.total_orphans()) {
            return Err(Errno::Inval.into());
        }
        self.orphans.to_commit.clone_from(&self.orphans.list);
        (self.orphans.head, self.orphans.head_offs) = (self.layout.orph_first, 0);
        Ok(())
    }

    fn write_orphan_nodes(&mut self, clock: &mut Clock, atomic: bool) -> Result<(), Error> {
        while !self.orphans.to_commit.is_empty() {
            self.write_orphan_node(clock, atomic)?;
        }
        if atomic {
            for leb in self.orphans.head.0 + 1..=self.layout.orph_last.0 {
                self.leb_unmap(clock, LebIndex(leb))?;
            }
        }
        Ok(())
    }

    /// Writes one node with as many numbers as fit (`write_orph_node`).
    fn write_orphan_node(&mut self, clock: &mut Clock, atomic: bool) -> Result<(), Error> {
        let leb_size = self.layout.leb_size;
        let orphans = &mut self.orphans;
        if leb_size - orphans.head_offs < NODE_SIZE + NUMBER_SIZE {
            (orphans.head, orphans.head_offs) = (LebIndex(orphans.head.0 + 1), 0);
            assert!(orphans.head <= self.layout.orph_last, "the orphan area is full");
        }
        let fits = usize_of((leb_size - orphans.head_offs - NODE_SIZE) / NUMBER_SIZE);
        let count = fits.min(orphans.to_commit.len());
        let inos = orphans.to_commit.drain(..count).map(u64::from).collect();
        let (leb, offs) = (orphans.head, orphans.head_offs);
        let last = orphans.to_commit.is_empty();
        let node = orphan::OrphanNode { cmt_no: self.cmt_no, last, inos };
        let mut bytes = node.emit();
        let length = u32::try_from(bytes.len()).expect("a node fits a LEB");
        if atomic {
            self.prepare_node(clock, &mut bytes, true);
            self.leb_change(clock, leb, &bytes)?;
        } else {
            if offs == 0 {
                self.leb_unmap(clock, leb)?;
            }
            self.write_node(clock, bytes, leb, offs)?;
        }
        let padded = length.next_multiple_of(self.layout.min_io);
        self.orphans.head_offs = (offs + padded).next_multiple_of(NUMBER_SIZE);
        Ok(())
    }

    /// Unmaps the orphan area after a clean unmount (`ubifs_clear_orphans`).
    pub(crate) fn clear_orphans(&mut self, clock: &mut Clock) -> Result<(), Error> {
        for leb in self.layout.orph_first.0..=self.layout.orph_last.0 {
            self.leb_unmap(clock, LebIndex(leb))?;
        }
        (self.orphans.head, self.orphans.head_offs) = (self.layout.orph_first, 0);
        Ok(())
    }

    /// Deletes the orphans of the last mount if it did not end cleanly (`ubifs_mount_orphans`).
    pub(crate) fn mount_orphans(
        &mut self,
        clock: &mut Clock,
        unclean: bool,
        read_only: bool,
    ) -> Result<(), Error> {
        self.layout.max_orphans = self.total_orphans();
        if unclean {
            self.kill_orphans(clock)
        } else if read_only {
            Ok(())
        } else {
            self.clear_orphans(clock)
        }
    }

    /// Deletes all orphans from the index (`kill_orphans`). The area stays as it is until the next
    /// commit has written the index.
    fn kill_orphans(&mut self, clock: &mut Clock) -> Result<(), Error> {
        (self.orphans.head, self.orphans.head_offs) = (self.layout.orph_first, 0);
        if self.orphans.none || self.mistake == Some(Mistake::KeepsOrphans) {
            return Ok(());
        }
        let mut last = LastNode { cmt_no: 0, flagged: false };
        for leb in self.layout.orph_first.0..=self.layout.orph_last.0 {
            let leb = LebIndex(leb);
            let scanned = match self.scan(clock, leb, 0) {
                Err(error) if error.is_unclean() => self.recover_leb(clock, leb, 0, None)?,
                other => other?,
            };
            if !self.kill_orphans_of(clock, &scanned, &mut last)? {
                break;
            }
            if scanned.endpt != 0 {
                (self.orphans.head, self.orphans.head_offs) = (leb, scanned.endpt);
            }
        }
        Ok(())
    }

    /// Deletes the orphans of one LEB (`do_kill_orphans`). Returns false when the LEB is older than
    /// the one before it: an unmap that a power cut has undone.
    fn kill_orphans_of(
        &mut self,
        clock: &mut Clock,
        scanned: &ScannedLeb,
        last: &mut LastNode,
    ) -> Result<bool, Error> {
        for (index, node) in scanned.nodes.iter().enumerate() {
            let wrong = Error::at(scanned.leb, node.offs, Problem::Orphan);
            if node.kind != NodeType::Orphan {
                return Err(wrong);
            }
            let found = orphan::OrphanNode::parse(scanned.node_bytes(node))
                .map_err(|cause| Error::Node { leb: scanned.leb, offs: node.offs, cause })?;
            // A commit that failed may have written orphans before its master node.
            self.cmt_no = self.cmt_no.max(found.cmt_no);
            if found.cmt_no < last.cmt_no && last.flagged {
                return if index == 0 { Ok(false) } else { Err(wrong) };
            }
            for &number in &found.inos {
                let ino = u32::try_from(number).map_err(|_| wrong.clone())?;
                self.kill_orphan(clock, ino)?;
            }
            *last = LastNode { cmt_no: found.cmt_no, flagged: found.last };
        }
        Ok(true)
    }

    fn kill_orphan(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        // An inode that got a name again meanwhile (`O_TMPFILE` and `link`) stays.
        if let Some(bytes) = self.tnc_lookup(clock, Key::inode(ino))? {
            let node = inode::InodeNode::parse(&bytes).map_err(|_| Error::of_inode(ino))?;
            if node.nlink == 0 {
                self.tnc_remove_range(clock, Key::lowest_of(ino), Key::highest_of(ino))
                    .inspect_err(|error| self.switch_to_read_only(error))?;
            }
        }
        if !self.orphans.contains(ino) {
            self.orphans.insert(ino, Orphan { dead: true, ..Orphan::default() });
        }
        Ok(())
    }
}

/// The last orphan node that was read.
struct LastNode {
    /// Its commit number.
    cmt_no: u64,
    /// Whether it was the last one of its commit.
    flagged: bool,
}

const _: () = assert!(orphan::SIZE == 32);
