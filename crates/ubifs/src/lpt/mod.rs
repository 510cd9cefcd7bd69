//! The LEB properties tree (LPT): free and dirty bytes of every LEB of the main area.
//!
//! Layer: rank 5. Main type: [`Lpt`]. In reading order: [`geometry`] has the sizes, [`node`] and
//! [`bits`] the bytes of nodes, [`tree`] the nodes in memory and how they are loaded, [`scan`] the
//! search through nodes that are not in memory, [`categories`] the lists and heaps of LEBs, [`create`] a new tree, [`commit`] and [`collect`] what
//! is written and how the tree's own area is cleaned, [`check`] the consistency of all of it.
//!
//! The tree has a fixed shape: leaves (pnodes) with the properties of four LEBs each, and inner nodes
//! (nnodes) with four branches. Nodes are loaded on demand and stay in memory. Its own area is cleaned
//! by rewriting everything (small model), or LEB by LEB (large model).
//!
//! Source: Linux 6.1, `fs/ubifs/lpt.c`, `lpt_commit.c`.

mod bits;
pub(crate) mod categories;
mod check;
mod collect;
mod commit;
mod create;
mod geometry;
mod node;
mod scan;
#[cfg(test)]
mod tests;
mod tree;

pub(crate) use create::DefaultLpt;
pub(crate) use node::Props;
pub(crate) use scan::ScanStep;
pub(crate) use tree::Slot;

use crate::error::MountError;
use crate::error::Problem;
use crate::format::master::Master;
use crate::format::superblock::Superblock;
use crate::format::usize_of;
use crate::lprops::Lprops;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Work;
use geometry::{Geometry, Inputs};
use node::OwnLeb;
use std::ops::Deref;
use tree::{Nnode, Pnode};

/// The LEB properties tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lpt {
    /// Its sizes.
    geometry: Geometry,
    /// The place of the root.
    pub(crate) lpt_lnum: LebIndex,
    /// Its offset.
    pub(crate) lpt_offs: u32,
    /// Where the next commit writes.
    pub(crate) nhead_lnum: LebIndex,
    /// The offset there.
    pub(crate) nhead_offs: u32,
    /// The place of the table of the tree's own LEBs.
    pub(crate) ltab_lnum: LebIndex,
    /// Its offset.
    pub(crate) ltab_offs: u32,
    /// The place of the save table.
    pub(crate) lsave_lnum: LebIndex,
    /// Its offset.
    pub(crate) lsave_offs: u32,
    /// The LEB at which the last scan ended.
    pub(crate) lscan_lnum: LebIndex,
    /// Inner nodes in memory; the root is the first.
    nnodes: Vec<Nnode>,
    /// Leaves in memory, in the order in which they were loaded.
    pnodes: Vec<Pnode>,
    /// By number, the position of a leaf in `pnodes`, plus one.
    loaded: Vec<u32>,
    /// The table of the tree's own LEBs.
    own: Vec<OwnLeb>,
    /// The same as it is written by this commit.
    own_committed: Vec<OwnLeb>,
    /// The save table.
    saved: Vec<LebIndex>,
    /// Nodes that this commit writes.
    committing: Vec<commit::Cnode>,
    /// Dirty inner nodes.
    dirty_nnodes: u32,
    /// Dirty leaves.
    dirty_pnodes: u32,
    /// Whether the table of the tree's own LEBs is dirty.
    ltab_dirty: bool,
    /// Whether the save table is dirty.
    lsave_dirty: bool,
    /// Whether the first commit after a mount must check the space of the tree's own area.
    check_free: bool,
}

impl Deref for Lpt {
    type Target = Geometry;

    fn deref(&self) -> &Geometry {
        &self.geometry
    }
}

impl Lpt {
    /// Takes the places from a master node.
    pub(crate) fn load_master(&mut self, master: &Master) {
        (self.lpt_lnum, self.lpt_offs) = (master.lpt_lnum, master.lpt_offs);
        (self.nhead_lnum, self.nhead_offs) = (master.nhead_lnum, master.nhead_offs);
        (self.ltab_lnum, self.ltab_offs) = (master.ltab_lnum, master.ltab_offs);
        (self.lsave_lnum, self.lsave_offs) = (master.lsave_lnum, master.lsave_offs);
        self.lscan_lnum = master.lscan_lnum;
    }

    /// Puts the places into a master node.
    pub(crate) const fn store_in_master(&self, master: &mut Master) {
        (master.lpt_lnum, master.lpt_offs) = (self.lpt_lnum, self.lpt_offs);
        (master.nhead_lnum, master.nhead_offs) = (self.nhead_lnum, self.nhead_offs);
        (master.ltab_lnum, master.ltab_offs) = (self.ltab_lnum, self.ltab_offs);
        (master.lsave_lnum, master.lsave_offs) = (self.lsave_lnum, self.lsave_offs);
        master.lscan_lnum = self.lscan_lnum;
    }

    /// Leaves and inner nodes in memory.
    pub(crate) fn node_counts(&self) -> (u64, u64) {
        (self.pnodes.len() as u64, self.nnodes.len() as u64)
    }

    /// Whether every leaf is in memory, so that no scan finds more.
    pub(crate) fn is_complete(&self) -> bool {
        self.pnodes.len() >= usize_of(self.pnode_count)
    }
}

impl<L: Lebs> Volume<L> {
    fn lpt_inputs(&self) -> Inputs {
        let layout = &self.layout;
        Inputs {
            min_io: layout.min_io,
            leb_size: layout.leb_size,
            leb_count: layout.leb_count,
            max_leb_count: layout.max_leb_count,
            main_lebs: layout.main_lebs,
            lpt_lebs: layout.lpt_lebs,
            lsave_count: self.sb.lsave_count,
            big: self.sb.flags & Superblock::BIGLPT != 0,
        }
    }

    /// Calculates the sizes of the tree (`ubifs_calc_lpt_geom`).
    ///
    /// # Errors
    /// [`MountError::Superblock`] when the tree's area is too small for it.
    pub(crate) fn calc_lpt_geom(&mut self) -> Result<(), MountError> {
        let (geometry, layout) = (Geometry::of(&self.lpt_inputs()), &self.layout);
        let (needed, found) = (geometry.lebs(2, layout.leb_size), u64::from(layout.lpt_lebs));
        if needed > found {
            return Err(MountError::Superblock { field: "lpt_lebs", found, expected: needed });
        }
        for (field, size) in [("lpt_lebs", geometry.ltab_sz), ("lsave_cnt", geometry.lsave_sz)] {
            let (found, expected) = (u64::from(size), u64::from(layout.leb_size));
            if found > expected && (geometry.big || field == "lpt_lebs") {
                return Err(MountError::Superblock { field, found, expected });
            }
        }
        self.lpt.check_free = geometry.big;
        self.lpt.geometry = geometry;
        Ok(())
    }

    /// Reads the tables of the tree, and prepares it for writing (`ubifs_lpt_init`).
    ///
    /// # Errors
    /// A damaged table, and any of the LEBs.
    pub(crate) fn lpt_init(
        &mut self,
        clock: &mut Clock,
        read: bool,
        write: bool,
    ) -> Result<(), Error> {
        if read {
            let (leb, offs) = (self.lpt.ltab_lnum, self.lpt.ltab_offs);
            let bytes = self.read_lpt_node(clock, (leb, offs), self.lpt.ltab_sz)?;
            let table = self.lpt.unpack_ltab(&self.layout, &bytes);
            self.lpt.own = table.ok_or(Error::at(leb, offs, Problem::LptNode))?;
            self.lpt.loaded = vec![0; usize_of(self.lpt.pnode_count)];
        }
        if write {
            if self.lpt.big {
                self.read_lsave(clock)?;
            }
            let own = self.lpt.own.iter().zip(self.layout.lpt_first.0..);
            let empty = own.filter(|(leb, _)| leb.free == self.layout.leb_size);
            for leb in empty.map(|(_, leb)| LebIndex(leb)).collect::<Vec<_>>() {
                self.leb_unmap(clock, leb)?;
            }
        }
        Ok(())
    }

    /// Reads the save table, and the properties of the LEBs in it.
    fn read_lsave(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let (leb, offs) = (self.lpt.lsave_lnum, self.lpt.lsave_offs);
        let bytes = self.read_lpt_node(clock, (leb, offs), self.lpt.lsave_sz)?;
        let table = self.lpt.unpack_lsave(&self.layout, &bytes, self.sb.lsave_count);
        self.lpt.saved = table.ok_or(Error::at(leb, offs, Problem::LptNode))?;
        for at in 0..self.lpt.saved.len() {
            self.lpt_lookup(clock, self.lpt.saved[at])?;
        }
        Ok(())
    }

    fn read_lpt_node(
        &mut self,
        clock: &mut Clock,
        (leb, offs): (LebIndex, u32),
        size: u32,
    ) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; usize_of(size)];
        self.leb_read_unchecked(clock, leb, offs, &mut bytes)?;
        self.host.spend(clock, Work::Crc, bytes.len());
        Ok(bytes)
    }

    /// The properties of a LEB of the main area (`ubifs_lpt_lookup`).
    ///
    /// # Errors
    /// A damaged node, and any of the LEBs.
    pub(crate) fn lpt_lookup(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<Lprops, Error> {
        self.load_pnode(clock, self.main_index(leb) >> geometry::FANOUT_BITS)?;
        Ok(self.lprops(leb))
    }

    /// The properties of a LEB, in a node that is dirty now (`ubifs_lpt_lookup_dirty`).
    ///
    /// # Errors
    /// As [`Volume::lpt_lookup`].
    pub(crate) fn lpt_lookup_dirty(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
    ) -> Result<Lprops, Error> {
        let pnode = self.load_pnode(clock, self.main_index(leb) >> geometry::FANOUT_BITS)?;
        self.make_pnode_dirty(pnode);
        Ok(self.lprops(leb))
    }

    /// The position of a LEB in the main area.
    ///
    /// # Panics
    /// When it is not in it.
    pub(crate) fn main_index(&self, leb: LebIndex) -> u32 {
        let (first, count) = (self.layout.main_first.0, self.layout.leb_count);
        assert!((first..count).contains(&leb.0), "LEB {leb} is not in the main area");
        leb.0 - first
    }

    /// The properties of a LEB that are in memory.
    pub(crate) fn lprops(&self, leb: LebIndex) -> Lprops {
        let Slot { free, dirty, flags, .. } = *self.lpt.slot(self.main_index(leb));
        Lprops { leb, free, dirty, flags }
    }

    /// Free bytes of one of the tree's own LEBs.
    pub(crate) fn lpt_leb_free(&self, leb: LebIndex) -> u32 {
        self.lpt.own[usize_of(leb.0 - self.layout.lpt_first.0)].free
    }

    /// Whether a node of the tree is dirty.
    pub(crate) fn lpt_root_is_dirty(&self) -> bool {
        self.lpt.nnodes.first().is_some_and(|root| root.dirty)
    }

    /// Leaves and inner nodes in memory.
    pub(crate) fn lpt_node_counts(&self) -> (u64, u64) {
        self.lpt.node_counts()
    }
}
