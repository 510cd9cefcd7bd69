//! A new LEB properties tree (LPT), for an empty filesystem or one that is made with its files.
//!
//! Layer: rank 5. Main types: [`DefaultLpt`]; [`Props`] of the LEBs. Order on flash: all leaves, the
//! inner nodes level by level up to the root, the save table (large model), the table of the tree's own
//! LEBs.
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
    /// Writes the tree of an empty filesystem from LEB `lpt_first` on. It shares `lebs` LEBs with the
    /// main area.
    ///
    /// # Errors
    /// [`MountError::Shape`] when they do not suffice, and any of the LEBs.
    pub(crate) fn create_default_lpt(
        &mut self,
        clock: &mut Clock,
        lpt_first: LebIndex,
        lebs: u32,
    ) -> Result<DefaultLpt, MountError> {
        let sized = self.size_new_lpt(lpt_first, lebs)?;
        self.layout.main_first = LebIndex(self.layout.leb_count - sized.main_lebs);
        let props = self.default_props();
        self.write_new_lpt(clock, &props)?;
        Ok(sized)
    }

    /// Sizes a new tree from LEB `lpt_first` on, which shares `lebs` LEBs with the main area.
    ///
    /// # Errors
    /// [`MountError::Shape`] when they do not suffice.
    pub(crate) fn size_new_lpt(
        &mut self,
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
        Ok(DefaultLpt { main_lebs, lpt_lebs, big: geometry.big })
    }

    /// Writes a new tree with the properties of the first LEBs of the main area; the others are empty.
    ///
    /// # Errors
    /// Any of the LEBs.
    pub(crate) fn write_new_lpt(
        &mut self,
        clock: &mut Clock,
        props: &[Props],
    ) -> Result<(), MountError> {
        let free = self.layout.leb_size;
        self.lpt.own = vec![OwnLeb { free, ..OwnLeb::default() }; usize_of(self.layout.lpt_lebs)];
        let mut writer = Writer { leb: self.layout.lpt_first, bytes: Vec::new() };
        self.create_nodes(clock, &mut writer, props)?;
        self.create_tables(clock, &mut writer)?;
        self.lpt.own.clear();
        Ok(())
    }

    /// Writes leaves and inner nodes. The tree has the height that it needs when the filesystem has
    /// grown.
    fn create_nodes(
        &mut self,
        clock: &mut Clock,
        writer: &mut Writer,
        props: &[Props],
    ) -> Result<(), MountError> {
        let mut below = Vec::new();
        let empty = Props::empty(self.layout.leb_size);
        for number in 0..self.lpt.pnode_count {
            let first = number * FANOUT;
            let of = |leb| props.get(usize_of(leb)).copied().unwrap_or(empty);
            let node = self.lpt.pack_pnode(number, (first..first + FANOUT).map(of));
            below.push(self.append(clock, writer, &node)?);
        }
        for row in (0..self.lpt.height).rev() {
            let mut level = Vec::new();
            for (column, places) in below.chunks(usize_of(FANOUT)).enumerate() {
                let mut all: Vec<Place> = places.iter().copied().map(Some).collect();
                all.resize(usize_of(FANOUT), None);
                let number = nnode_number(row, u32_of(column));
                let node = self.lpt.pack_nnode(&self.layout, number, &all);
                level.push(self.append(clock, writer, &node)?);
            }
            below = level;
        }
        (self.lpt.lpt_lnum, self.lpt.lpt_offs) = below[0];
        Ok(())
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

    /// The properties of the LEBs of an empty filesystem: the root of the index is in the first one, the
    /// root directory in the second.
    fn default_props(&self) -> [Props; 2] {
        let (leb_size, min_io) = (self.layout.leb_size, self.layout.min_io);
        let of = |size: usize, index: bool| {
            let size = u32_of(size).next_multiple_of(8);
            let written = size.next_multiple_of(min_io);
            Props { free: leb_size - written, dirty: written - size, index }
        };
        [of(index::SIZE + index::BRANCH_SIZE, true), of(inode::SIZE, false)]
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
