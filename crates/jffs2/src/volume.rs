//! A mounted flash: the device and all tables about it, but no open inodes.
//!
//! Layer: rank 5. Main types: [`Volume`], [`Layout`], [`Reserves`]. [`Jffs2`](crate::Jffs2) keeps
//! the open inodes beside it, so that an operation can borrow one of them and change the volume.
//!
//! Source: Linux 6.1, `struct jffs2_sb_info`, and `jffs2_calc_trigger_levels` of `build.c`.

use crate::block::{Blocks, List, NodeId, RefilePolicy};
use crate::compress::Compressors;
use crate::format::{ByteOrder, cleanmarker};
use crate::fragments::Effect;
use crate::index::Inodes;
use crate::options::{Compression, Mistake, Profile};
use crate::summary_builder::SummaryBuilder;
use crate::ticks::Ticks;
use crate::wbuf::WriteBuffer;
use crate::xattr::Xattrs;
use boardlab_mtd::{FlashKind, Geometry, Mtd};
use boardlab_sim::Bytes;
use boardlab_vfs::{Host, WallClock};
use std::collections::BTreeMap;

/// The layout of JFFS2 on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of an erase block; the largest, where a device has several sizes.
    pub block_size: u32,
    /// The number of blocks of that size.
    pub block_count: u32,
    /// NAND: bytes of a page, the unit of programs. `None` on NOR, which programs bytes.
    pub page_size: Option<u32>,
    /// Free spare bytes of a page.
    pub oob_free: u32,
}

impl Layout {
    /// The layout on a device of this geometry. `None` when the geometry is not valid, when blocks
    /// are of 4 GiB or more, or when blocks of one size do not fill the device.
    #[must_use]
    pub fn of(geometry: &Geometry) -> Option<Self> {
        if !geometry.is_sound() {
            return None;
        }
        let largest = geometry.regions.iter().map(|region| region.size).max()?;
        let block_size = u32::try_from(largest.get()).ok()?;
        let fits = |region: &boardlab_mtd::EraseRegion| largest.is_multiple_of(region.size);
        if !geometry.size().is_multiple_of(largest) || !geometry.regions.iter().all(fits) {
            return None;
        }
        let nand = geometry.kind == FlashKind::Nand;
        let page_size = u32::try_from(geometry.write_size.get()).ok()?;
        let oob = geometry.oob.map_or(0, |oob| oob.available.get());
        Some(Self {
            block_size,
            block_count: u32::try_from(geometry.size() / largest).ok()?,
            page_size: nand.then_some(page_size),
            oob_free: u32::try_from(oob).ok()?,
        })
    }

    /// Whether a node can be marked obsolete in place (NOR).
    #[must_use]
    pub const fn can_mark_obsolete(&self) -> bool {
        self.page_size.is_none()
    }

    /// Bytes of the cleanmarker within the block: none on NAND, where it is in the OOB area.
    #[must_use]
    pub const fn cleanmarker(&self) -> u32 {
        match self.page_size {
            Some(_) => 0,
            None => cleanmarker::SIZE,
        }
    }

    /// Bytes of the flash.
    #[must_use]
    pub fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.block_size)) * u64::from(self.block_count)
    }
}

/// The reserves of free blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserves {
    /// Deletions may use free blocks down to this number.
    pub deletion: u32,
    /// Other writes may use free blocks down to this number.
    pub write: u32,
    /// Below this, garbage collection runs in the background.
    pub gc_trigger: u32,
    /// Below this, garbage collection does not merge nodes.
    pub gc_merge: u32,
    /// This many very dirty blocks trigger garbage collection, too.
    pub very_dirty_trigger: u32,
    /// With less dirty space than this, a write does not try garbage collection.
    pub no_space_dirty: u64,
}

impl Reserves {
    /// The reserves of a flash on which nodes are marked obsolete in place, or not.
    #[must_use]
    pub fn of(layout: &Layout, marks_obsolete: bool) -> Self {
        let (block, count) = (u64::from(layout.block_size), u64::from(layout.block_count));
        let size = layout.size().get();
        let deletion = 2;
        // Two percent, and 100 bytes per block, for what nodes waste at the ends of blocks.
        let overhead = (size / 50 + count * 100).div_ceil(block);
        let write = deletion + u32::try_from(overhead).expect("a part of the number of blocks");
        let gc_trigger = write + 1;
        let nor = if marks_obsolete { 10 } else { 1 };
        Self {
            deletion,
            write,
            gc_trigger,
            gc_merge: deletion + 1,
            very_dirty_trigger: gc_trigger * nor,
            no_space_dirty: block + size / 100,
        }
    }
}

/// The progress of the check of all inodes after a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckProgress {
    /// The number of the next inode to check.
    pub(crate) next: u32,
    /// Whether the extended attributes were checked.
    pub(crate) xattrs_done: bool,
}

/// A mounted flash.
#[derive(Debug, Clone)]
pub struct Volume<M> {
    /// The flash itself.
    pub(crate) device: M,
    /// How JFFS2 lies on it.
    pub(crate) layout: Layout,
    /// The byte order of the image.
    pub(crate) order: ByteOrder,
    /// The cost model of the CPU.
    pub(crate) host: Host,
    /// The calendar time.
    pub(crate) wall: WallClock,
    /// The tick counter that garbage collection chooses by.
    pub(crate) ticks: Ticks,
    /// How data are compressed.
    pub(crate) compression: Compression,
    /// The compressors, with their memory.
    pub(crate) compressors: Compressors,
    /// Blocks that could not be erased, and how often (NAND).
    pub(crate) erase_failures: BTreeMap<u32, u32>,
    /// Whether summaries are read and written.
    pub(crate) summary: bool,
    /// Whether the volume is read-only.
    pub(crate) read_only: bool,
    /// A bug injected on purpose.
    pub(crate) mistake: Option<Mistake>,
    /// The kernel to mirror.
    pub(crate) profile: Profile,
    /// All erase blocks with the nodes in them.
    pub(crate) blocks: Blocks,
    /// All inodes.
    pub(crate) inodes: Inodes,
    /// All extended attributes.
    pub(crate) xattrs: Xattrs,
    /// NAND: the write buffer.
    pub(crate) wbuf: WriteBuffer,
    /// The summary of the block that is being written.
    pub(crate) summary_builder: SummaryBuilder,
    /// The reserves of free blocks.
    pub(crate) reserves: Reserves,
    /// The progress of the check after the mount.
    pub(crate) check: CheckProgress,
    /// Whether the last pass of the background erased a block.
    pub(crate) signalled: bool,
    /// Whether the tables are still being built; nothing is written meanwhile.
    pub(crate) building: bool,
    /// Pending effects of a change of fragments; kept to reuse its memory.
    pub(crate) effects: Vec<Effect>,
}

impl<M: Mtd> Volume<M> {
    /// The layout of JFFS2 on the device.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether nodes are marked obsolete in place: on NOR, unless blocks get summaries, which would
    /// still list such a node (`jffs2_can_mark_obsolete`).
    #[must_use]
    pub const fn marks_obsolete(&self) -> bool {
        self.layout.can_mark_obsolete() && !self.summary
    }

    /// The byte order of the image.
    #[must_use]
    pub const fn byte_order(&self) -> ByteOrder {
        self.order
    }

    /// All erase blocks.
    #[must_use]
    pub const fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// All inodes.
    #[must_use]
    pub const fn inodes(&self) -> &Inodes {
        &self.inodes
    }

    /// All extended attributes.
    #[must_use]
    pub const fn xattrs(&self) -> &Xattrs {
        &self.xattrs
    }

    /// The reserves of free blocks.
    #[must_use]
    pub const fn reserves(&self) -> &Reserves {
        &self.reserves
    }

    /// The work of the CPU.
    #[must_use]
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// Marks a node obsolete in the accounting only; the flash is not touched. Returns false when
    /// it was obsolete before. A block without live nodes becomes ready to be erased; one time in
    /// 128 it is kept back, to level the wear.
    pub(crate) fn account_obsolete(&mut self, id: NodeId) -> bool {
        let early = self.mistake == Some(Mistake::ErasesBeforeFlush);
        let erasable = if self.wbuf.is_dirty() && !early {
            List::ErasablePendingWbuf
        } else if self.ticks.shown() == 0 {
            List::Erasable
        } else {
            List::ErasePending
        };
        self.blocks.mark_obsolete(id, RefilePolicy::To(erasable))
    }

    /// Applies the effects of a change of fragments to the accounting, and returns the nodes that
    /// became obsolete.
    pub(crate) fn account_effects(&mut self, effects: &[Effect]) -> Vec<NodeId> {
        let mut obsolete = Vec::new();
        for &effect in effects {
            match effect {
                Effect::Normal(id) => self.blocks.mark_normal(id),
                Effect::Pristine(id) if self.blocks.node(id).state().is_live() => {
                    self.blocks.mark_used(id, crate::block::NodeState::Pristine);
                }
                Effect::Pristine(_) => {}
                Effect::Obsolete(id) => {
                    if self.account_obsolete(id) {
                        obsolete.push(id);
                    }
                }
            }
        }
        obsolete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nand(blocks: u32) -> Layout {
        Layout { block_size: 131_072, block_count: blocks, page_size: Some(2048), oob_free: 38 }
    }

    #[test]
    fn the_reserves_of_the_evaluated_part_are_those_of_the_kernel() {
        let reserves = Reserves::of(&nand(2048), false);
        assert_eq!((reserves.deletion, reserves.write, reserves.gc_trigger), (2, 45, 46));
        assert_eq!((reserves.gc_merge, reserves.very_dirty_trigger), (3, 46));
        assert_eq!(reserves.no_space_dirty, 131_072 + 2_684_354);
    }

    #[test]
    fn a_boot_sector_part_is_used_in_units_of_its_largest_block() {
        let kib = Bytes::kib;
        let region = |count, size| boardlab_mtd::EraseRegion { count, size };
        let mut geometry = Geometry::uniform(FlashKind::Nor, 1, kib(64));
        geometry.regions = vec![region(8, kib(8)), region(15, kib(64))];
        let layout = Layout::of(&geometry).unwrap();
        assert_eq!((layout.block_count, layout.block_size), (16, 65_536));
        assert_eq!((layout.page_size, layout.cleanmarker()), (None, 12));
        geometry.regions[0].count = 7;
        assert_eq!(Layout::of(&geometry), None);
    }
}
