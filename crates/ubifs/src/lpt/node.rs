//! The nodes of the LEB properties tree (LPT) as bytes.
//!
//! Layer: rank 5. Main types: [`Props`], [`Place`], [`OwnLeb`]. Every node has a checksum of 16 bits, a
//! type of 4 bits, and in the large model its number.
//!
//! Source: Linux 6.1, `fs/ubifs/lpt.c`: `ubifs_pack_pnode`, `unpack_pnode` and their like.

use super::bits::{BitReader, BitWriter};
use super::geometry::{CRC_SIZE, FANOUT, Geometry, TYPE_BITS};
use crate::LebIndex;
use crate::format::usize_of;
use crate::layout::Layout;
use boardlab_codec::crc::crc16;

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A leaf: the properties of four LEBs.
    Pnode,
    /// An inner node.
    Nnode,
    /// The table of the tree's own LEBs.
    Ltab,
    /// The save table.
    Lsave,
}

impl Kind {
    /// The number on flash.
    const fn number(self) -> u32 {
        match self {
            Self::Pnode => 0,
            Self::Nnode => 1,
            Self::Ltab => 2,
            Self::Lsave => 3,
        }
    }

    /// The kind with this number.
    fn of(number: u32) -> Option<Self> {
        [Self::Pnode, Self::Nnode, Self::Ltab, Self::Lsave].get(usize_of(number)).copied()
    }
}

/// The properties of a LEB as they are on flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Props {
    /// Free bytes.
    pub(crate) free: u32,
    /// Dirty bytes.
    pub(crate) dirty: u32,
    /// Whether it has indexing nodes.
    pub(crate) index: bool,
}

impl Props {
    /// Those of an empty LEB.
    pub(crate) const fn empty(leb_size: u32) -> Self {
        Self { free: leb_size, dirty: 0, index: false }
    }
}

/// Where a node is; `None`: never written, since all LEBs below it are empty.
pub(super) type Place = Option<(LebIndex, u32)>;

/// The space of one of the tree's own LEBs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct OwnLeb {
    /// Free bytes.
    pub(super) free: u32,
    /// Dirty bytes.
    pub(super) dirty: u32,
    /// Free after this commit, for all of it is dirty (`tgc`).
    pub(super) collected: bool,
    /// Taken by this commit (`cmt`).
    pub(super) taken: bool,
}

impl Geometry {
    /// Bytes of a node of this kind.
    pub(super) const fn size_of(&self, kind: Kind) -> u32 {
        match kind {
            Kind::Pnode => self.pnode_sz,
            Kind::Nnode => self.nnode_sz,
            Kind::Ltab => self.ltab_sz,
            Kind::Lsave => self.lsave_sz,
        }
    }

    fn begin(&self, kind: Kind, number: Option<u32>) -> BitWriter {
        let mut writer = BitWriter::after(vec![0; CRC_SIZE]);
        writer.put(kind.number(), TYPE_BITS);
        if let Some(number) = number.filter(|_| self.big) {
            writer.put(number, self.number_bits);
        }
        writer
    }

    fn finish(&self, kind: Kind, writer: BitWriter) -> Vec<u8> {
        let mut bytes = writer.finish();
        bytes.resize(usize_of(self.size_of(kind)), 0);
        let crc = crc16(&bytes[CRC_SIZE..]);
        bytes[..CRC_SIZE].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// A leaf.
    pub(super) fn pack_pnode(&self, number: u32, props: impl Iterator<Item = Props>) -> Vec<u8> {
        let mut writer = self.begin(Kind::Pnode, Some(number));
        for one in props {
            writer.put(one.free >> 3, self.space_bits);
            writer.put(one.dirty >> 3, self.space_bits);
            writer.put(u32::from(one.index), 1);
        }
        self.finish(Kind::Pnode, writer)
    }

    /// An inner node.
    pub(super) fn pack_nnode(&self, layout: &Layout, number: u32, places: &[Place]) -> Vec<u8> {
        let mut writer = self.begin(Kind::Nnode, Some(number));
        for place in places {
            let (leb, offs) = place.unwrap_or((LebIndex(layout.lpt_last.0 + 1), 0));
            writer.put(leb.0 - layout.lpt_first.0, self.lnum_bits);
            writer.put(offs, self.offs_bits);
        }
        self.finish(Kind::Nnode, writer)
    }

    /// The table of the tree's own LEBs.
    pub(super) fn pack_ltab(&self, table: &[OwnLeb]) -> Vec<u8> {
        let mut writer = self.begin(Kind::Ltab, None);
        for leb in table {
            writer.put(leb.free, self.own_space_bits);
            writer.put(leb.dirty, self.own_space_bits);
        }
        self.finish(Kind::Ltab, writer)
    }

    /// The save table.
    pub(super) fn pack_lsave(&self, table: &[LebIndex]) -> Vec<u8> {
        let mut writer = self.begin(Kind::Lsave, None);
        table.iter().for_each(|leb| writer.put(leb.0, self.saved_bits));
        self.finish(Kind::Lsave, writer)
    }

    /// The fields of a node of this kind behind its type, if its checksum is right.
    fn open<'a>(&self, kind: Kind, bytes: &'a [u8]) -> Option<BitReader<'a>> {
        (self.kind(bytes)? == kind).then_some(())?;
        let mut reader = BitReader::new(&bytes[CRC_SIZE..]);
        reader.get(TYPE_BITS);
        Some(reader)
    }

    /// The kind of the node that `bytes` begin with; `None` if they begin with none (`is_a_node`).
    pub(super) fn kind(&self, bytes: &[u8]) -> Option<Kind> {
        let body = bytes.get(CRC_SIZE..)?;
        let kind = Kind::of(BitReader::new(body).get(TYPE_BITS))?;
        let size = usize_of(self.size_of(kind));
        let node = bytes.get(..size).filter(|_| size > CRC_SIZE)?;
        let stored = u16::from_le_bytes([node[0], node[1]]);
        (crc16(&node[CRC_SIZE..]) == stored).then_some(kind)
    }

    /// The number in a leaf or an inner node of the large model.
    pub(super) fn number(&self, bytes: &[u8]) -> u32 {
        let mut reader = BitReader::new(&bytes[CRC_SIZE..]);
        reader.get(TYPE_BITS);
        reader.get(self.number_bits)
    }

    fn checked_number(&self, reader: &mut BitReader<'_>, expected: u32) -> Option<()> {
        (!self.big || reader.get(self.number_bits) == expected).then_some(())
    }

    /// The properties in a leaf; `None` if it is damaged (`unpack_pnode`, `validate_pnode`).
    pub(super) fn unpack_pnode(
        &self,
        layout: &Layout,
        bytes: &[u8],
        number: u32,
    ) -> Option<[Props; 4]> {
        let mut reader = self.open(Kind::Pnode, bytes)?;
        self.checked_number(&mut reader, number)?;
        let mut all = [Props::default(); FANOUT as usize];
        for one in &mut all {
            let (free, dirty) =
                (reader.get(self.space_bits) << 3, reader.get(self.space_bits) << 3);
            let fits = free.checked_add(dirty).is_some_and(|sum| sum <= layout.leb_size);
            if !fits || !free.is_multiple_of(layout.min_io) {
                return None;
            }
            *one = Props { free, dirty, index: reader.get(1) == 1 };
            if one.index && free == layout.leb_size {
                return None;
            }
        }
        Some(all)
    }

    /// The places in an inner node at `level`; `None` if it is damaged (`ubifs_unpack_nnode`,
    /// `validate_nnode`).
    pub(super) fn unpack_nnode(
        &self,
        layout: &Layout,
        bytes: &[u8],
        (number, level): (u32, u32),
    ) -> Option<[Place; 4]> {
        let mut reader = self.open(Kind::Nnode, bytes)?;
        self.checked_number(&mut reader, number)?;
        let below = if level == 1 { self.pnode_sz } else { self.nnode_sz };
        let mut all = [None; FANOUT as usize];
        for (iip, one) in (0..).zip(&mut all) {
            let leb = layout.lpt_first.0 + reader.get(self.lnum_bits);
            let offs = reader.get(self.offs_bits);
            if leb > layout.lpt_last.0 {
                if leb != layout.lpt_last.0 + 1 || offs != 0 {
                    return None;
                }
            } else if offs > layout.leb_size - below
                || self.first_leaf((number, level), iip) >= self.pnode_count
            {
                return None;
            } else {
                *one = Some((LebIndex(leb), offs));
            }
        }
        Some(all)
    }

    /// The table of the tree's own LEBs; `None` if it is damaged.
    pub(super) fn unpack_ltab(&self, layout: &Layout, bytes: &[u8]) -> Option<Vec<OwnLeb>> {
        let mut reader = self.open(Kind::Ltab, bytes)?;
        let mut table = Vec::new();
        for _ in 0..layout.lpt_lebs {
            let (free, dirty) = (reader.get(self.own_space_bits), reader.get(self.own_space_bits));
            free.checked_add(dirty).filter(|&sum| sum <= layout.leb_size)?;
            table.push(OwnLeb { free, dirty, collected: false, taken: false });
        }
        Some(table)
    }

    /// The save table; `None` if it is damaged.
    pub(super) fn unpack_lsave(
        &self,
        layout: &Layout,
        bytes: &[u8],
        count: u32,
    ) -> Option<Vec<LebIndex>> {
        let mut reader = self.open(Kind::Lsave, bytes)?;
        let main = layout.main_first.0..layout.leb_count;
        let lebs = (0..count).map(|_| reader.get(self.saved_bits));
        lebs.map(|leb| main.contains(&leb).then_some(LebIndex(leb))).collect()
    }
}
