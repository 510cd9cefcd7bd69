//! A new LEB properties tree (LPT), for an empty filesystem.
//!
//! Layer: rank 5. Main type: [`DefaultLpt`]. Order on flash: all leaves, the inner nodes level by level
//! up to the root, the save table (large model), the table of the tree's own LEBs.
//!
//! Source: Linux 6.1, `fs/ubifs/lpt.c`, `ubifs_create_dflt_lpt`.

use super::geometry::{FANOUT, Geometry, Inputs, nnode_number};
use super::node::{OwnLeb, Place, Props};
use crate::error::MountError;
use crate::format::{index, inode, u32_of, usize_of};
use crate::{LebIndex, Lebs, Volume};
use boardlab_sim::Clock;

/// How many LEBs a new tree has and leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DefaultLpt {
    /// LEBs of the main area.
    pub(crate) main_lebs: u32,
    /// LEBs of the tree.
    pub(crate) lpt_lebs: u32,
    /// The large model.
    pub(crate) big: bool,
}

/// Nodes that are being written LEB by LEB.
struct Writer {
    /// The present LEB.
    leb: LebIndex,
    /// Its content so far.
    bytes: Vec<u8>,
}

impl<L: Lebs> Volume<L> {
    /// Writes a new tree from LEB `lpt_first` on. It shares `lebs` LEBs with the main area.
    ///
    /// # Errors
    /// [`MountError::Shape`] when they do not suffice, and any of the LEBs.
    pub(crate) fn create_default_lpt(
        &mut self,
        clock: &mut Clock,
        lpt_first: LebIndex,
        lebs: u32,
    ) -> Result<DefaultLpt, MountError> {
        let inputs = Inputs { main_lebs: lebs, big: false, ..self.lpt_inputs() };
        let (found, limit) = (u64::from(lebs), u64::from(lebs) + 1);
        let none = MountError::Shape { problem: "LEBs for the main area", found, limit };
        let (geometry, inputs) = Geometry::default(&inputs).ok_or(none)?;
        let (lpt_lebs, main_lebs) = (inputs.lpt_lebs, inputs.main_lebs);
        self.lpt.geometry = geometry;
        self.layout.lpt_first = lpt_first;
        self.layout.lpt_last = LebIndex(lpt_first.0 + lpt_lebs - 1);
        (self.layout.lpt_lebs, self.layout.main_lebs) = (lpt_lebs, main_lebs);
        self.layout.main_first = LebIndex(self.layout.leb_count - main_lebs);
        let free = self.layout.leb_size;
        self.lpt.own = vec![OwnLeb { free, ..OwnLeb::default() }; usize_of(lpt_lebs)];
        let mut writer = Writer { leb: lpt_first, bytes: Vec::new() };
        self.create_nodes(clock, &mut writer)?;
        self.create_tables(clock, &mut writer)?;
        self.lpt.own.clear();
        Ok(DefaultLpt { main_lebs, lpt_lebs, big: geometry.big })
    }

    /// Writes leaves and inner nodes.
    fn create_nodes(&mut self, clock: &mut Clock, writer: &mut Writer) -> Result<(), MountError> {
        let mut below = Vec::new();
        for number in 0..self.lpt.pnode_count {
            let node = self.lpt.pack_pnode(number, self.default_props(number).into_iter());
            below.push(self.append(clock, writer, &node)?);
        }
        // The levels that the tree takes are those of its leaves, without room for growth.
        let (mut row, mut reach) = (0, FANOUT);
        while self.lpt.pnode_count > reach {
            (row, reach) = (row + 1, reach * FANOUT);
        }
        loop {
            let mut level = Vec::new();
            for (column, places) in below.chunks(usize_of(FANOUT)).enumerate() {
                let mut all: Vec<Place> = places.iter().copied().map(Some).collect();
                all.resize(usize_of(FANOUT), None);
                let number = nnode_number(row, u32_of(column));
                let node = self.lpt.pack_nnode(&self.layout, number, &all);
                level.push(self.append(clock, writer, &node)?);
            }
            if let [root] = level[..] {
                (self.lpt.lpt_lnum, self.lpt.lpt_offs) = root;
                return Ok(());
            }
            (row, below) = (row - 1, level);
        }
    }

    /// Writes the save table and the table of the tree's own LEBs.
    fn create_tables(&mut self, clock: &mut Clock, writer: &mut Writer) -> Result<(), MountError> {
        let first = self.layout.main_first.0;
        if self.lpt.big {
            let beyond = self.layout.main_lebs;
            let saved =
                (0..self.sb.lsave_count).map(|at| if at < beyond { first + at } else { first });
            let node = self.lpt.pack_lsave(&saved.map(LebIndex).collect::<Vec<_>>());
            (self.lpt.lsave_lnum, self.lpt.lsave_offs) = self.append(clock, writer, &node)?;
        }
        let size = self.lpt.ltab_sz;
        if u32_of(writer.bytes.len()) + size > self.layout.leb_size {
            self.close(clock, writer)?;
        }
        (self.lpt.ltab_lnum, self.lpt.ltab_offs) = (writer.leb, u32_of(writer.bytes.len()));
        // The table says how full its own LEB is with it.
        self.set_own(writer.leb, self.lpt.ltab_offs + size);
        let table = self.lpt.pack_ltab(&self.lpt.own);
        writer.bytes.extend(table);
        self.lpt.nhead_lnum = writer.leb;
        self.lpt.nhead_offs = u32_of(writer.bytes.len()).next_multiple_of(self.layout.min_io);
        self.close(clock, writer)
    }

    /// The properties in a leaf of an empty filesystem: the root of the index is in the first LEB, the
    /// root directory in the second.
    fn default_props(&self, number: u32) -> [Props; 4] {
        let (leb_size, min_io) = (self.layout.leb_size, self.layout.min_io);
        let mut all = [Props { free: leb_size, dirty: 0, index: false }; 4];
        if number == 0 {
            let of = |size: usize, index: bool| {
                let size = u32_of(size).next_multiple_of(8);
                let written = size.next_multiple_of(min_io);
                Props { free: leb_size - written, dirty: written - size, index }
            };
            all[0] = of(index::SIZE + index::BRANCH_SIZE, true);
            all[1] = of(inode::SIZE, false);
        }
        all
    }

    /// Appends a node, in the next LEB if it does not fit; returns its place.
    fn append(
        &mut self,
        clock: &mut Clock,
        writer: &mut Writer,
        node: &[u8],
    ) -> Result<(LebIndex, u32), MountError> {
        if writer.bytes.len() + node.len() > usize_of(self.layout.leb_size) {
            self.set_own(writer.leb, u32_of(writer.bytes.len()));
            self.close(clock, writer)?;
        }
        let place = (writer.leb, u32_of(writer.bytes.len()));
        writer.bytes.extend(node);
        Ok(place)
    }

    fn set_own(&mut self, leb: LebIndex, used: u32) {
        let written = used.next_multiple_of(self.layout.min_io);
        let own = &mut self.lpt.own[usize_of(leb.0 - self.layout.lpt_first.0)];
        (own.free, own.dirty) = (self.layout.leb_size - written, written - used);
    }

    fn close(&mut self, clock: &mut Clock, writer: &mut Writer) -> Result<(), MountError> {
        let padded = writer.bytes.len().next_multiple_of(usize_of(self.layout.min_io));
        writer.bytes.resize(padded, 0xFF);
        self.leb_change(clock, writer.leb, &writer.bytes)?;
        writer.leb.0 += 1;
        writer.bytes.clear();
        Ok(())
    }
}
