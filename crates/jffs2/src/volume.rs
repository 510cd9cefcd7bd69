//! A mounted flash: the device and everything that is known of it, but no open inodes.
//!
//! Layer: rank 5. Main types: [`Volume`], [`Layout`], [`Reserves`]. The open inodes stand beside it in
//! [`Jffs2`](crate::Jffs2), so that an operation can hold one of them and change the volume.
//!
//! Source: Linux 6.1, `struct jffs2_sb_info`, and `jffs2_calc_trigger_levels` of `build.c`.

use crate::block::{Blocks, List, NodeId, Refile};
use crate::collected::Collected;
use crate::compress::Compressors;
use crate::format::{ByteOrder, cleanmarker};
use crate::fragments::Effect;
use crate::index::Inodes;
use crate::options::{Compression, Mistake, Profile};
use crate::ticks::Ticks;
use crate::wbuf::WriteBuffer;
use crate::xattr::Xattrs;
use boardlab_mtd::{FlashKind, Geometry, Mtd};
use boardlab_sim::Bytes;
use boardlab_vfs::{Host, WallClock};
use std::collections::BTreeMap;

/// How JFFS2 lies on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of an erase block; the largest, where a device has several sizes.
    pub block_size: u32,
    /// How many blocks of that size.
    pub block_count: u32,
    /// NAND: bytes of a page, which are written at once. `None` on NOR, where bytes are.
    pub page_size: Option<u32>,
    /// Free spare bytes of a page.
    pub oob_free: u32,
}

impl Layout {
    /// How JFFS2 lies on a device of this shape; `None` when the shape is not sound, the blocks are of
    /// 4 GiB or more, or blocks of one size do not fill it.
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

    /// Whether bits of a node can be programmed once more (NOR).
    #[must_use]
    pub const fn can_mark_obsolete(&self) -> bool {
        self.page_size.is_none()
    }

    /// Bytes of the cleanmarker within the block: none on NAND, where it lies in spare bytes.
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

/// How many free blocks are kept back from whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserves {
    /// For deletions: they may go on down to this.
    pub deletion: u32,
    /// For writes.
    pub write: u32,
    /// Below this, garbage collection runs in the background.
    pub gc_trigger: u32,
    /// Below this, garbage collection does not merge nodes.
    pub gc_merge: u32,
    /// As many very dirty blocks start garbage collection as well.
    pub very_dirty_trigger: u32,
    /// With less dirty space than this, garbage collection is not tried for a write.
    pub no_space_dirty: u64,
}

impl Reserves {
    /// Those of a flash on which nodes are made obsolete in place, or not.
    #[must_use]
    pub fn of(layout: &Layout, marks_obsolete: bool) -> Self {
        let (block, count) = (u64::from(layout.block_size), u64::from(layout.block_count));
        let size = layout.size().get();
        let deletion = 2;
        // Two parts in a hundred, and 100 bytes a block, for what nodes lose at the ends of blocks.
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

/// How far the check of all inodes after a mount has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckProgress {
    /// The number of the inode to look at next.
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
    /// The order of bytes of the image.
    pub(crate) order: ByteOrder,
    /// What the CPU costs.
    pub(crate) host: Host,
    /// What time it is.
    pub(crate) wall: WallClock,
    /// What garbage collection chooses by.
    pub(crate) ticks: Ticks,
    /// How data are compressed.
    pub(crate) compression: Compression,
    /// The compressors, with their memory.
    pub(crate) compressors: Compressors,
    /// Blocks that could not be erased, and how often (NAND).
    pub(crate) erase_failures: BTreeMap<u32, u32>,
    /// Whether summaries are read and written.
    pub(crate) summary: bool,
    /// Whether nothing may be written.
    pub(crate) read_only: bool,
    /// What is done wrong on purpose.
    pub(crate) mistake: Option<Mistake>,
    /// Which kernel.
    pub(crate) profile: Profile,
    /// All erase blocks with the nodes in them.
    pub(crate) blocks: Blocks,
    /// All inodes.
    pub(crate) inodes: Inodes,
    /// All extended attributes.
    pub(crate) xattrs: Xattrs,
    /// NAND: the page that is not full yet.
    pub(crate) wbuf: WriteBuffer,
    /// The summary of the block that is being written.
    pub(crate) collected: Collected,
    /// How many free blocks are kept back from whom.
    pub(crate) reserves: Reserves,
    /// How far the check after the mount has come.
    pub(crate) check: CheckProgress,
    /// Whether the tables are still being built: nothing is written meanwhile.
    pub(crate) building: bool,
    /// Effects of a change of fragments that are to be carried out; kept for its memory.
    pub(crate) effects: Vec<Effect>,
}

impl<M: Mtd> Volume<M> {
    /// How JFFS2 lies on the device.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether nodes are made obsolete in place: on NOR, unless blocks get summaries, in which such a node
    /// would still be listed (`jffs2_can_mark_obsolete`).
    #[must_use]
    pub const fn marks_obsolete(&self) -> bool {
        self.layout.can_mark_obsolete() && !self.summary
    }

    /// The order of bytes of the image.
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

    /// How many free blocks are kept back from whom.
    #[must_use]
    pub const fn reserves(&self) -> &Reserves {
        &self.reserves
    }

    /// What the CPU did.
    #[must_use]
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// Makes a node obsolete in the accounting; the flash is not touched. Gives false when it was
    /// obsolete before. A block that became all obsolete goes to be erased; one time in 128 it is kept
    /// back, to spread the wear.
    pub(crate) fn obsolete(&mut self, id: NodeId) -> bool {
        let early = self.mistake == Some(Mistake::ErasesBeforeFlush);
        let erasable = if self.wbuf.is_dirty() && !early {
            List::ErasablePendingWbuf
        } else if self.ticks.shown() == 0 {
            List::Erasable
        } else {
            List::ErasePending
        };
        self.blocks.obsolete(id, Refile::To(erasable))
    }

    /// Carries out what a change of fragments means, in the accounting; gives the nodes that became
    /// obsolete.
    pub(crate) fn apply(&mut self, effects: &[Effect]) -> Vec<NodeId> {
        let mut obsolete = Vec::new();
        for &effect in effects {
            match effect {
                Effect::Normal(id) => self.blocks.set_normal(id),
                Effect::Pristine(id) if self.blocks.node(id).state().counts() => {
                    self.blocks.set_used(id, crate::block::NodeState::Pristine);
                }
                Effect::Pristine(_) => {}
                Effect::Obsolete(id) => {
                    if self.obsolete(id) {
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
