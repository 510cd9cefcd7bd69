//! The nodes of the LEB properties tree (LPT) in memory, and how they are loaded.
//!
//! Layer: rank 5. Main types: [`Nnode`], [`Pnode`], [`Slot`]. Nodes are in vectors and refer to each
//! other by position; the root is nnode 0. A leaf that is dirty has dirty nodes on its whole way to the
//! root.
//!
//! Source: Linux 6.1, `fs/ubifs/lpt.c`: `ubifs_get_nnode`, `ubifs_get_pnode`, `dirty_cow_pnode`.

use super::Lpt;
use super::geometry::{FANOUT, FANOUT_BITS};
use super::node::{Place, Props};
use crate::error::Problem;
use crate::format::usize_of;
use crate::lprops::flag;
use crate::lpt::categories::Category;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;

/// No node, no LEB.
pub(crate) const NONE: u32 = u32::MAX;

/// A branch of an inner node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Branch {
    /// Where the node below is on flash.
    pub(super) place: Place,
    /// Its position in memory, or [`NONE`].
    pub(super) child: u32,
}

/// An inner node.
#[derive(Debug, Clone)]
pub(super) struct Nnode {
    /// Its number, which says the way from the root.
    pub(super) number: u32,
    /// Its level; the one above the leaves is 1.
    pub(super) level: u32,
    /// The position of its parent; [`NONE`] for the root.
    pub(super) parent: u32,
    /// Its branch there.
    pub(super) iip: u32,
    /// Whether the next commit writes it.
    pub(super) dirty: bool,
    /// The nodes below.
    pub(super) branches: [Branch; 4],
}

/// The properties of a LEB in memory.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Slot {
    /// Free bytes.
    pub(crate) free: u32,
    /// Dirty bytes.
    pub(crate) dirty: u32,
    /// Flags of [`flag`].
    pub(crate) flags: u8,
    /// The list or heap that it is on.
    pub(crate) category: Category,
    /// On a list: the LEB before, or [`NONE`]. On a heap: the position.
    pub(crate) before: u32,
    /// On a list: the LEB behind, or [`NONE`].
    pub(crate) behind: u32,
}

/// A leaf.
#[derive(Debug, Clone)]
pub(super) struct Pnode {
    /// Its number, from the left.
    pub(super) number: u32,
    /// The position of its parent.
    pub(super) parent: u32,
    /// Its branch there.
    pub(super) iip: u32,
    /// Whether the next commit writes it.
    pub(super) dirty: bool,
    /// The properties of its LEBs. Those beyond the end of the volume are not used.
    pub(super) slots: [Slot; 4],
}

impl Pnode {
    /// The properties as they are written.
    pub(super) fn props(&self) -> impl Iterator<Item = Props> + '_ {
        let of = |slot: &Slot| Props {
            free: slot.free,
            dirty: slot.dirty,
            index: slot.flags & flag::INDEX != 0,
        };
        self.slots.iter().map(of)
    }
}

/// An inner node read from flash that is not in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadNnode {
    pub(super) number: u32,
    pub(super) level: u32,
    pub(super) places: [Place; 4],
}

impl Lpt {
    /// The properties of the LEB at this position of the main area, in memory.
    ///
    /// # Panics
    /// When its leaf is not in memory.
    pub(crate) fn slot(&self, index: u32) -> &Slot {
        let at = self.pnode_of(index >> FANOUT_BITS).expect("the leaf is in memory");
        &self.pnodes[usize_of(at)].slots[usize_of(index % FANOUT)]
    }

    /// As [`Lpt::slot`], to be changed.
    pub(crate) fn slot_mut(&mut self, index: u32) -> &mut Slot {
        let at = self.pnode_of(index >> FANOUT_BITS).expect("the leaf is in memory");
        &mut self.pnodes[usize_of(at)].slots[usize_of(index % FANOUT)]
    }

    /// The position of a leaf in memory.
    pub(super) fn pnode_of(&self, number: u32) -> Option<u32> {
        self.loaded[usize_of(number)].checked_sub(1)
    }

    /// The number of the node at branch `iip` of an inner node (`calc_nnode_num_from_parent`).
    pub(super) const fn child_number(&self, (number, level): (u32, u32), iip: u32) -> u32 {
        let shift = (self.geometry.height - level) * FANOUT_BITS;
        (number ^ (1 << shift)) | ((FANOUT + iip) << shift)
    }

    /// The branch of an inner node at `level` on the way to leaf `number`.
    pub(super) const fn branch_to(number: u32, level: u32) -> u32 {
        (number >> ((level - 1) * FANOUT_BITS)) % FANOUT
    }

    /// Where a node is on flash, by its parent.
    pub(super) fn place_of(&self, parent: u32, iip: u32) -> Place {
        if parent == NONE {
            return Some((self.lpt_lnum, self.lpt_offs));
        }
        self.nnodes[usize_of(parent)].branches[usize_of(iip)].place
    }

    /// Sets where a node is on flash.
    pub(super) fn set_place(&mut self, parent: u32, iip: u32, (leb, offs): (LebIndex, u32)) {
        if parent == NONE {
            (self.lpt_lnum, self.lpt_offs) = (leb, offs);
        } else {
            self.nnodes[usize_of(parent)].branches[usize_of(iip)].place = Some((leb, offs));
        }
    }

    /// Adds an inner node to the tree in memory; returns its position.
    pub(super) fn insert_nnode(&mut self, parent: u32, iip: u32, read: &ReadNnode) -> u32 {
        let at = u32::try_from(self.nnodes.len()).expect("there are fewer nodes than LEBs");
        let ReadNnode { number, level, places } = *read;
        let branches = places.map(|place| Branch { place, child: NONE });
        self.nnodes.push(Nnode { number, level, parent, iip, dirty: false, branches });
        if parent != NONE {
            self.nnodes[usize_of(parent)].branches[usize_of(iip)].child = at;
        }
        at
    }
}

impl<L: Lebs> Volume<L> {
    /// Reads the inner node with this number and level; one that was never written has no branches.
    pub(super) fn read_nnode(
        &mut self,
        clock: &mut Clock,
        place: Place,
        (number, level): (u32, u32),
    ) -> Result<ReadNnode, Error> {
        let Some((leb, offs)) = place else {
            return Ok(ReadNnode { number, level, places: [None; 4] });
        };
        let bytes = self.read_lpt_node(clock, (leb, offs), self.lpt.nnode_sz)?;
        let places = self.lpt.unpack_nnode(&self.layout, &bytes, (number, level));
        let places = places.ok_or(Error::at(leb, offs, Problem::LptNode))?;
        Ok(ReadNnode { number, level, places })
    }

    /// Reads the leaf with this number; one that was never written has empty LEBs.
    pub(super) fn read_pnode(
        &mut self,
        clock: &mut Clock,
        place: Place,
        number: u32,
    ) -> Result<[Props; 4], Error> {
        let Some((leb, offs)) = place else {
            return Ok([Props::empty(self.layout.leb_size); 4]);
        };
        let bytes = self.read_lpt_node(clock, (leb, offs), self.lpt.pnode_sz)?;
        let props = self.lpt.unpack_pnode(&self.layout, &bytes, number);
        props.ok_or(Error::at(leb, offs, Problem::LptNode))
    }

    /// LEB and size of every node of the tree on flash.
    pub(crate) fn lpt_places(&mut self, clock: &mut Clock) -> Result<Vec<(LebIndex, u32)>, Error> {
        let (height, root) = (self.lpt.height, (self.lpt.lpt_lnum, self.lpt.lpt_offs));
        let (mut found, mut waiting) = (Vec::new(), vec![(root, (1, height))]);
        while let Some((place, (number, level))) = waiting.pop() {
            found.push((place.0, self.lpt.nnode_sz));
            let read = self.read_nnode(clock, Some(place), (number, level))?;
            for (iip, place) in (0..).zip(read.places) {
                let Some(place) = place else { continue };
                if level > 1 {
                    waiting.push((place, (self.lpt.child_number((number, level), iip), level - 1)));
                } else {
                    found.push((place.0, self.lpt.pnode_sz));
                }
            }
        }
        Ok(found)
    }

    /// The position of the root, which is loaded if it is not in memory.
    pub(super) fn lpt_root(&mut self, clock: &mut Clock) -> Result<u32, Error> {
        if self.lpt.nnodes.is_empty() {
            let place = Some((self.lpt.lpt_lnum, self.lpt.lpt_offs));
            let read = self.read_nnode(clock, place, (1, self.lpt.height))?;
            self.lpt.insert_nnode(NONE, 0, &read);
        }
        Ok(0)
    }

    /// The position of the inner node below branch `iip` (`ubifs_get_nnode`).
    pub(super) fn get_nnode(
        &mut self,
        clock: &mut Clock,
        parent: u32,
        iip: u32,
    ) -> Result<u32, Error> {
        let node = &self.lpt.nnodes[usize_of(parent)];
        let Branch { place, child } = node.branches[usize_of(iip)];
        if child != NONE {
            return Ok(child);
        }
        let (number, level) = (node.number, node.level);
        let number = self.lpt.child_number((number, level), iip);
        let read = self.read_nnode(clock, place, (number, level - 1))?;
        Ok(self.lpt.insert_nnode(parent, iip, &read))
    }

    /// The position of a leaf, which is loaded with all nodes on the way to it if it is not in memory.
    pub(super) fn load_pnode(&mut self, clock: &mut Clock, number: u32) -> Result<u32, Error> {
        if let Some(at) = self.lpt.pnode_of(number) {
            return Ok(at);
        }
        let mut node = self.lpt_root(clock)?;
        for level in (2..=self.lpt.height).rev() {
            node = self.get_nnode(clock, node, Lpt::branch_to(number, level))?;
        }
        let iip = Lpt::branch_to(number, 1);
        let place = self.lpt.nnodes[usize_of(node)].branches[usize_of(iip)].place;
        let props = self.read_pnode(clock, place, number)?;
        Ok(self.insert_pnode(node, number, &props))
    }

    /// Adds a leaf to the tree in memory, and its LEBs to their lists and heaps.
    pub(super) fn insert_pnode(&mut self, parent: u32, number: u32, props: &[Props; 4]) -> u32 {
        let iip = Lpt::branch_to(number, 1);
        let at = u32::try_from(self.lpt.pnodes.len()).expect("there are fewer nodes than LEBs");
        let slots = props.map(|Props { free, dirty, index }| {
            let flags = if index { flag::INDEX } else { 0 };
            Slot { free, dirty, flags, ..Slot::default() }
        });
        self.lpt.pnodes.push(Pnode { number, parent, iip, dirty: false, slots });
        self.lpt.nnodes[usize_of(parent)].branches[usize_of(iip)].child = at;
        self.lpt.loaded[usize_of(number)] = at + 1;
        let first = number << FANOUT_BITS;
        for index in first..self.layout.main_lebs.min(first + FANOUT) {
            let category = self.categorize(self.lpt.slot(index));
            self.add_to_category(index, category);
        }
        at
    }

    /// Makes a leaf dirty, and all nodes on its way to the root.
    pub(super) fn make_pnode_dirty(&mut self, at: u32) {
        let pnode = &mut self.lpt.pnodes[usize_of(at)];
        if pnode.dirty {
            return;
        }
        pnode.dirty = true;
        let (parent, iip) = (pnode.parent, pnode.iip);
        self.lpt.dirty_pnodes += 1;
        let place = self.lpt.place_of(parent, iip);
        self.add_own_dirt(place, self.lpt.pnode_sz);
        self.make_nnodes_dirty(parent);
    }

    /// Makes an inner node dirty, and all nodes on its way to the root.
    pub(super) fn make_nnodes_dirty(&mut self, mut at: u32) {
        while at != NONE {
            let nnode = &mut self.lpt.nnodes[usize_of(at)];
            if nnode.dirty {
                return;
            }
            nnode.dirty = true;
            let (parent, iip) = (nnode.parent, nnode.iip);
            self.lpt.dirty_nnodes += 1;
            let place = self.lpt.place_of(parent, iip);
            self.add_own_dirt(place, self.lpt.nnode_sz);
            if parent == NONE {
                self.make_ltab_dirty();
            }
            at = parent;
        }
    }

    pub(super) fn make_ltab_dirty(&mut self) {
        if !self.lpt.ltab_dirty {
            self.lpt.ltab_dirty = true;
            let place = Some((self.lpt.ltab_lnum, self.lpt.ltab_offs));
            self.add_own_dirt(place, self.lpt.ltab_sz);
        }
    }

    pub(super) fn make_lsave_dirty(&mut self) {
        if !self.lpt.lsave_dirty {
            self.lpt.lsave_dirty = true;
            let place = Some((self.lpt.lsave_lnum, self.lpt.lsave_offs));
            self.add_own_dirt(place, self.lpt.lsave_sz);
        }
    }

    /// Counts a node of the tree that is obsolete as dirt (`ubifs_add_lpt_dirt`).
    fn add_own_dirt(&mut self, place: Place, size: u32) {
        let Some((leb, _)) = place else { return };
        let own = &mut self.lpt.own[usize_of(leb.0 - self.layout.lpt_first.0)];
        own.dirty = own.dirty.saturating_add(size);
    }
}
