//! Recovery of names whose inode is lost: they refer to their former inode again.
//!
//! Layer: rank 5. `Volume::restore_older_entries`, a step of the mount between the scan and the
//! count of names; and `Volume::read_entry`, which reads one entry from the flash.
//!
//! When a new file is renamed over an old one, its inode node and its entry may be in one page of NAND.
//! When the program of that page is interrupted, the entry may be readable and the inode not. The file
//! was never durable, so neither was the rename. The older entry is still on the flash, since a block
//! is erased only after the page that made it obsolete is programmed. So it becomes valid again:
//!
//! ```text
//!  n -> 982, version 10 (durable) | torn page: [inode 991: damaged] [n -> 991, version 20]
//!  scan:   version 20 is newer; version 10 becomes obsolete
//!  here:   there is no inode 991; of the others of this name the newest that leads to an inode, or says that
//!          the name was removed, counts
//! ```
//! The same applies when the header of the new inode's only node is readable and its data are not.
//! Only the checksum of the data shows that. So inodes whose nodes all lie where a power cut may
//! have torn a page are read: in the last two written pages of a block without a summary.
//!
//! At each mount the damaged entry is rejected again, whatever its version, until its block is erased:
//! its inode number is not reused (see `scan.rs`). Nothing is read unless such a name is found.
//!
//! Deliberate deviation: Linux 6.1 first drops the older entry in favour of the newer
//! (`jffs2_add_fd_to_list` of `nodelist.c`) and then the newer one (`jffs2_build_inode_pass1` of
//! `fs/jffs2/build.c`). The name is lost, and with it the durable inode that it referred to.

use crate::block::{NodeId, NodeState, Owner};
use crate::error::{Error, InodeProblem};
use crate::format::{DirentView, to_usize};
use crate::inode::DirEntry;
use crate::mount::DIRECTORY;
use crate::names::{DirentsByDirectory, ScannedDirent};
use crate::volume::Volume;
use crate::wbuf::is_power_cut;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use std::collections::{BTreeMap, HashMap};

/// The names of one directory whose inode is lost, with their numbers among all entries.
type DanglingNames = BTreeMap<Box<[u8]>, usize>;

/// Whether the target of an entry exists, by inode and by whether the entry calls it a directory.
type TargetStates = HashMap<(u32, bool), bool>;

/// An entry with its name.
pub(crate) type NamedEntry = (Box<[u8]>, DirEntry);

impl<M: Mtd> Volume<M> {
    /// Restores for every name whose inode is lost the newest entry whose inode is not.
    ///
    /// # Errors
    /// Only a power cut: an entry that cannot be read is ignored.
    pub(crate) fn restore_older_entries(
        &mut self,
        clock: &mut Clock,
        names: &mut DirentsByDirectory,
    ) -> Result<(), Error> {
        let mut lost: BTreeMap<u32, DanglingNames> = BTreeMap::new();
        // An inode may have as many names as nodes, so each inode is examined once.
        let mut known = TargetStates::new();
        for number in 0..names.len() {
            let name = names.get(number);
            let key = (name.ino, name.kind == DIRECTORY);
            let leads = match known.get(&key) {
                Some(leads) => *leads,
                None => {
                    self.verify_torn_inode(clock, &name)?;
                    let leads = self.target_exists(name.ino, name.kind);
                    known.insert(key, leads);
                    leads
                }
            };
            if !leads {
                let directory = lost.entry(name.directory).or_default();
                directory.insert(names.text(number).into(), number);
            }
        }
        for (directory, dangling) in lost {
            for (number, older) in self.older_entries(clock, directory, &dangling, &mut known)? {
                let state = if older.ino == 0 { NodeState::Normal } else { NodeState::Pristine };
                self.blocks.unmark_obsolete(older.node, state);
                self.account_obsolete(names.get(number).node);
                names.replace(number, older);
            }
        }
        Ok(())
    }

    /// Whether the target of an entry exists: an inode, with a node unless it is a directory, or
    /// number 0 for a removed name.
    pub(crate) fn target_exists(&self, ino: u32, kind: u8) -> bool {
        let has_node = |slot| {
            let mut chain = self.blocks.chain(self.inodes.get(slot).nodes);
            kind == DIRECTORY || chain.any(|id| self.blocks.node(id).state().is_live())
        };
        ino == 0 || self.inodes.slot(ino).is_some_and(has_node)
    }

    /// Reads the inode of a name when a power cut may have torn all of its nodes. Damaged nodes
    /// become obsolete.
    fn verify_torn_inode(&mut self, clock: &mut Clock, name: &ScannedDirent) -> Result<(), Error> {
        let slot = self.inodes.slot(name.ino).filter(|_| name.kind != DIRECTORY && name.ino != 0);
        let Some(slot) = slot.filter(|&slot| self.is_only_in_last_pages(slot)) else {
            return Ok(());
        };
        match self.read_inode(clock, slot, true) {
            Err(Error::Flash(error)) if is_power_cut(&error) => Err(error.into()),
            Err(Error::Inode { problem: InodeProblem::NoNodes, .. }) => {
                let nodes: Vec<_> = self.blocks.chain(self.inodes.get(slot).nodes).collect();
                nodes.into_iter().for_each(|id| {
                    self.account_obsolete(id);
                });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether all live nodes of an inode lie where the last write to their block may be torn.
    fn is_only_in_last_pages(&self, slot: u32) -> bool {
        let mut counting = self
            .blocks
            .chain(self.inodes.get(slot).nodes)
            .filter(|&id| self.blocks.node(id).state().is_live())
            .peekable();
        counting.peek().is_some() && counting.all(|id| self.is_in_last_pages(id))
    }

    /// Whether a node extends into the last two written pages of a block without a summary; without
    /// pages, whether it is the last node.
    fn is_in_last_pages(&self, id: NodeId) -> bool {
        let block = id.block();
        let refs = self.blocks.block(block).refs().len();
        let last = u32::try_from(refs).ok().and_then(|refs| refs.checked_sub(1));
        let has_summary = last
            .and_then(|last| self.blocks.id(block, last))
            .map(|last| self.blocks.node(last))
            .is_some_and(|last| last.owner() == Owner::Nobody && last.state().is_live());
        let written = self.blocks.free_offset(block);
        let end = self.blocks.node(id).offset() + self.blocks.length(id);
        !has_summary && end + 2 * self.layout.page_size.unwrap_or(0) >= written
    }

    /// For each name, the newest obsolete entry of the directory whose target exists.
    fn older_entries(
        &mut self,
        clock: &mut Clock,
        directory: u32,
        dangling: &DanglingNames,
        known: &mut TargetStates,
    ) -> Result<BTreeMap<usize, ScannedDirent>, Error> {
        let chain = self.blocks.chain(self.inodes.get(directory).nodes);
        let obsolete: Vec<NodeId> =
            chain.filter(|&id| !self.blocks.node(id).state().is_live()).collect();
        let mut newest: BTreeMap<usize, ScannedDirent> = BTreeMap::new();
        for node in obsolete {
            let Some((text, entry)) = self.read_entry(clock, node)? else { continue };
            let Some(&number) = dangling.get(&text) else { continue };
            let DirEntry { ino, kind, version, .. } = entry;
            let newer = newest.get(&number).is_none_or(|best| best.version <= version);
            let leads = || self.target_exists(ino, kind);
            if newer && *known.entry((ino, kind == DIRECTORY)).or_insert_with(leads) {
                newest.insert(number, ScannedDirent { directory, version, ino, kind, node });
            }
        }
        Ok(newest)
    }

    /// Reads a node of a directory as an entry with its name; `None` when it is not an entry or is
    /// damaged.
    ///
    /// # Errors
    /// Only a power cut.
    pub(crate) fn read_entry(
        &mut self,
        clock: &mut Clock,
        id: NodeId,
    ) -> Result<Option<NamedEntry>, Error> {
        let mut bytes = vec![0; to_usize(self.blocks.length(id))];
        let at = self.blocks.flash_offset(id);
        match self.read_flash(clock, at, &mut bytes) {
            Err(Error::Flash(error)) if is_power_cut(&error) => return Err(error.into()),
            Err(_) => return Ok(None),
            Ok(()) => {}
        }
        let node = DirentView::new(&bytes, self.order).and_then(|view| view.parse());
        let Some(node) = node.ok().filter(|node| self.check_owner(id, node.parent).is_ok()) else {
            return Ok(None);
        };
        let (ino, kind, version) = (node.ino, node.kind, node.version);
        Ok(Some((node.name.into(), DirEntry { ino, kind, version, node: Some(id) })))
    }
}
