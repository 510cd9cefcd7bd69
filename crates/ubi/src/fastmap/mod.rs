//! Fastmaps: attaching without a scan.
//!
//! Layer: rank 4. Main type: [`FastmapState`]. [`read`] attaches by a fastmap. `pooling` writes one,
//! and sets free blocks aside: only blocks of the pools are written between two fastmaps, so
//! only their headers have to be read at the next attach.
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/fastmap.c`, `fastmap-wl.c`; `build.c`, `ubi_attach_mtd_dev`.
//! Left out: the reserve of blocks for the pools (`need_resv_pool`).

pub(crate) mod read;

use crate::format::fastmap::{POOL_MAX, POOL_MIN, START, size};
use crate::format::to_usize;
use crate::layout::Layout;
use crate::lebs::PebIndex;
use crate::options::FastmapMode;

/// A block of the fastmap on flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MapBlock {
    pub(crate) peb: PebIndex,
    pub(crate) ec: u32,
    /// Whether it had bit flips, so that it is tested when it is erased.
    pub(crate) torture: bool,
}

/// Blocks set aside, of which the first `used` are in use.
#[derive(Debug, Clone, Default)]
pub(crate) struct PebPool {
    pub(crate) pebs: Vec<PebIndex>,
    pub(crate) used: usize,
    pub(crate) size_max: u32,
}

impl PebPool {
    /// Whether all its blocks are in use.
    pub(crate) const fn is_used_up(&self) -> bool {
        self.used == self.pebs.len()
    }

    /// The next block.
    pub(crate) fn peek(&self) -> Option<PebIndex> {
        self.pebs.get(self.used).copied()
    }

    pub(crate) fn take(&mut self) -> Option<PebIndex> {
        let peb = self.peek()?;
        self.used += 1;
        Some(peb)
    }

    pub(crate) fn has_room(&self) -> bool {
        self.pebs.len() < to_usize(self.size_max)
    }

    /// Empties the pool; returns the blocks that are not in use.
    pub(crate) fn drain_unused(&mut self) -> Vec<PebIndex> {
        let unused = self.pebs.split_off(self.used);
        self.pebs.clear();
        self.used = 0;
        unused
    }
}

/// What a kernel with fastmaps keeps about them.
#[derive(Debug, Clone)]
pub(crate) struct FastmapState {
    /// Whether none is written (`fm_disabled`).
    pub(crate) disabled: bool,
    /// The blocks of the fastmap on flash (`fm`).
    pub(crate) blocks: Option<Vec<MapBlock>>,
    /// Blocks for new data.
    pub(crate) pool: PebPool,
    /// Blocks for data that are moved.
    pub(crate) wl_pool: PebPool,
    /// The bytes of a fastmap.
    pub(crate) size: usize,
    /// The blocks of a fastmap.
    pub(crate) block_count: u32,
    /// The block for the first part of the next fastmap (`fm_anchor`).
    pub(crate) anchor: Option<PebIndex>,
    /// Whether a block at the beginning of the device must be made free (`fm_do_produce_anchor`).
    pub(crate) produce_anchor: bool,
    /// Whether a new fastmap is to be written (`fm_work_scheduled`).
    pub(crate) write_scheduled: bool,
    /// Whether the device was attached by a fastmap, so that mappings are checked at their first use.
    pub(crate) attached_fast: bool,
}

impl FastmapState {
    /// The state before the attach; `None` in a kernel without fastmaps.
    pub(crate) fn new(mode: FastmapMode, layout: &Layout) -> Option<Self> {
        if mode == FastmapMode::Absent {
            return None;
        }
        let pool_max = (layout.peb_count / 100 * 5).clamp(POOL_MIN, POOL_MAX);
        let pool = |size_max| PebPool { size_max, ..PebPool::default() };
        let size = size(layout.peb_count, layout.leb_size);
        let blocks = size / u64::from(layout.leb_size);
        Some(Self {
            disabled: mode != FastmapMode::Convert || layout.peb_count <= START,
            blocks: None,
            pool: pool(pool_max),
            wl_pool: pool(pool_max / 2),
            size: usize::try_from(size).expect("a fastmap fits memory"),
            block_count: u32::try_from(blocks).expect("fewer blocks than the device has"),
            anchor: None,
            produce_anchor: false,
            write_scheduled: false,
            attached_fast: false,
        })
    }
}
