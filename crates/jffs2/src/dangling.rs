//! Names whose inode is lost lead where they led before.
//!
//! Layer: rank 5. `Volume::believe_older`, a step of the mount between the scan and the count of names; and
//! `Volume::read_entry`, one entry from the flash.
//!
//! A new file that is renamed over an old one may have its inode node and its entry in one page of NAND. When
//! the program of that page is cut, the entry may be readable and the inode not: the file was never there, so the rename
//! never was either. The older entry is still on the flash, since a block is erased only after the page that made it
//! obsolete is programmed, and it counts again:
//!
//! ```text
//!  n -> 982, version 10 (durable) | torn page: [inode 991: damaged] [n -> 991, version 20]
//!  scan:   version 20 is newer; version 10 becomes obsolete
//!  here:   there is no inode 991; of the others of this name the newest that leads to an inode, or says that
//!          the name was removed, counts
//! ```
//! The same when the header of the new inode's only node is readable and its data are not. That only their
//! checksum tells, so inodes all of whose nodes lie where a cut may have torn something are read: in
//! the last two pages that were written of a block without a summary.
//!
//! At each mount the damaged entry loses again, whatever its version, until its block is erased: its inode
//! number is not given again (see `scan.rs`). Only where such a name is found is anything read.
//!
//! Different on purpose: Linux 6.1 drops the newer entry (`jffs2_build_inode_pass1` of `fs/jffs2/build.c`) after the
//! older one was dropped for it (`jffs2_add_fd_to_list` of `nodelist.c`): the name is lost, and the inode that it
//! led to durably with it.

use crate::block::{NodeId, NodeState, Owner};
use crate::error::{Error, InodeProblem};
use crate::format::{DirentView, to_usize};
use crate::inode::DirEntry;
use crate::mount::DIRECTORY;
use crate::names::{ByDirectory, Name};
use crate::volume::Volume;
use crate::wbuf::is_power_cut;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use std::collections::{BTreeMap, HashMap};

/// The names of one directory whose inode is lost, with their numbers among all entries.
type Dangling = BTreeMap<Box<[u8]>, usize>;

/// Whether names lead somewhere, by inode and by whether they call it a directory.
type Known = HashMap<(u32, bool), bool>;

/// An entry with its name.
pub(crate) type Named = (Box<[u8]>, DirEntry);

impl<M: Mtd> Volume<M> {
    /// Gives every name whose inode is lost back to the newest entry whose inode is not.
    ///
    /// # Errors
    /// A power cut alone: an entry that cannot be read is none.
    pub(crate) fn believe_older(
        &mut self,
        clock: &mut Clock,
        names: &mut ByDirectory,
    ) -> Result<(), Error> {
        let mut lost: BTreeMap<u32, Dangling> = BTreeMap::new();
        // An inode may have as many names as nodes, so each is looked at once.
        let mut known = Known::new();
        for number in 0..names.len() {
            let name = names.get(number);
            let key = (name.ino, name.kind == DIRECTORY);
            let leads = match known.get(&key) {
                Some(leads) => *leads,
                None => {
                    self.verify_last(clock, &name)?;
                    let leads = self.leads_somewhere(name.ino, name.kind);
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
                self.blocks.revive(older.node, state);
                self.obsolete(names.get(number).node);
                names.replace(number, older);
            }
        }
        Ok(())
    }

    /// Whether an entry with this inode number can be believed: there is such an inode, with a node unless
    /// it is a directory, or the number says that the name was removed.
    pub(crate) fn leads_somewhere(&self, ino: u32, kind: u8) -> bool {
        let has_node = |slot| {
            let mut chain = self.blocks.chain(self.inodes.get(slot).nodes);
            kind == DIRECTORY || chain.any(|id| self.blocks.node(id).state().counts())
        };
        ino == 0 || self.inodes.slot(ino).is_some_and(has_node)
    }

    /// Reads the inode of a name when a cut may have torn all that there is of it. What is damaged
    /// becomes obsolete.
    fn verify_last(&mut self, clock: &mut Clock, name: &Name) -> Result<(), Error> {
        let slot = self.inodes.slot(name.ino).filter(|_| name.kind != DIRECTORY && name.ino != 0);
        let Some(slot) = slot.filter(|&slot| self.is_all_last(slot)) else { return Ok(()) };
        match self.read_inode(clock, slot, true) {
            Err(Error::Flash(error)) if is_power_cut(&error) => Err(error.into()),
            Err(Error::Inode { problem: InodeProblem::NoNodes, .. }) => {
                let nodes: Vec<_> = self.blocks.chain(self.inodes.get(slot).nodes).collect();
                nodes.into_iter().for_each(|id| {
                    self.obsolete(id);
                });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether all nodes of an inode that count lie where the last write to their block may be torn.
    fn is_all_last(&self, slot: u32) -> bool {
        let mut counting = self
            .blocks
            .chain(self.inodes.get(slot).nodes)
            .filter(|&id| self.blocks.node(id).state().counts())
            .peekable();
        counting.peek().is_some() && counting.all(|id| self.is_last(id))
    }

    /// Whether a node reaches into the last two pages that were written of a block without a summary; where
    /// there are no pages, whether it is the last.
    fn is_last(&self, id: NodeId) -> bool {
        let block = id.block();
        let refs = self.blocks.block(block).refs().len();
        let last = u32::try_from(refs).ok().and_then(|refs| refs.checked_sub(1));
        let has_summary = last
            .and_then(|last| self.blocks.id(block, last))
            .map(|last| self.blocks.node(last))
            .is_some_and(|last| last.owner() == Owner::Nobody && last.state().counts());
        let written = self.blocks.end_of_nodes(block);
        let end = self.blocks.node(id).offset() + self.blocks.length(id);
        !has_summary && end + 2 * self.layout.page_size.unwrap_or(0) >= written
    }

    /// For each of the names the newest obsolete entry of the directory that can be believed.
    fn older_entries(
        &mut self,
        clock: &mut Clock,
        directory: u32,
        dangling: &Dangling,
        known: &mut Known,
    ) -> Result<BTreeMap<usize, Name>, Error> {
        let chain = self.blocks.chain(self.inodes.get(directory).nodes);
        let obsolete: Vec<NodeId> =
            chain.filter(|&id| !self.blocks.node(id).state().counts()).collect();
        let mut newest: BTreeMap<usize, Name> = BTreeMap::new();
        for node in obsolete {
            let Some((text, entry)) = self.read_entry(clock, node)? else { continue };
            let Some(&number) = dangling.get(&text) else { continue };
            let DirEntry { ino, kind, version, .. } = entry;
            let newer = newest.get(&number).is_none_or(|best| best.version <= version);
            let leads = || self.leads_somewhere(ino, kind);
            if newer && *known.entry((ino, kind == DIRECTORY)).or_insert_with(leads) {
                newest.insert(number, Name { directory, version, ino, kind, node });
            }
        }
        Ok(newest)
    }

    /// The directory entry that a node of a directory is, with its name; `None` when it is none or is
    /// damaged.
    ///
    /// # Errors
    /// A power cut alone.
    pub(crate) fn read_entry(
        &mut self,
        clock: &mut Clock,
        id: NodeId,
    ) -> Result<Option<Named>, Error> {
        let mut bytes = vec![0; to_usize(self.blocks.length(id))];
        let at = self.blocks.place(id);
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
