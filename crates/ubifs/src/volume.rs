//! A mounted volume: the LEBs and all tables about them.
//!
//! Layer: rank 5. Main type: [`Volume`]. Source: Linux 6.1, `struct ubifs_info`.

use crate::budget::BudgetInfo;
use crate::commit::CommitState;
use crate::compress::Compressors;
use crate::file::PageState;
use crate::format::master::Master;
use crate::format::superblock::Superblock;
use crate::gc::GcState;
use crate::inode::Inode;
use crate::layout::Layout;
use crate::log::Log;
use crate::lprops::SpaceTotals;
use crate::lpt::Lpt;
use crate::lpt::categories::SpaceLists;
use crate::options::{Mistake, Options};
use crate::orphan::Orphans;
use crate::past::Past;
use crate::recovery::Recovery;
use crate::tnc::Tnc;
use crate::wbuf::JournalHead;
use boardlab_vfs::{Host, Ino, WallClock};
use std::collections::BTreeMap;

/// The mode of a mounted volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mode {
    /// Mounted read-only.
    pub read_only: bool,
    /// Switched to read-only by an error (`ro_error`).
    pub failed: bool,
    /// The last unmount was not clean.
    pub need_recovery: bool,
    /// The journal is being replayed.
    pub replaying: bool,
    /// The mount is not finished.
    pub mounting: bool,
    /// The volume was empty and gets a default filesystem.
    pub empty: bool,
    /// The superblock in memory differs from the one on flash (`superblock_need_write`).
    pub superblock_changed: bool,
}

/// A mounted volume.
#[derive(Debug, Clone)]
pub struct Volume<L> {
    /// The LEBs.
    pub(crate) lebs: L,
    /// The constants.
    pub(crate) layout: Layout,
    /// The superblock as on flash.
    pub(crate) sb: Superblock,
    /// The master node as it will be written next.
    pub(crate) master: Master,
    /// The offset of the last master node.
    pub(crate) master_offs: u32,
    /// The options of the mount.
    pub(crate) options: Options,
    /// The CPU.
    pub(crate) host: Host,
    /// The calendar.
    pub(crate) wall: WallClock,
    /// A bug to inject.
    pub(crate) mistake: Option<Mistake>,
    /// Read-only, mounting and so on.
    pub(crate) mode: Mode,
    /// The last sequence number that was given out (`max_sqnum`).
    pub(crate) max_sqnum: u64,
    /// The highest inode number that was given out.
    pub(crate) highest_inum: u32,
    /// The number of the last commit.
    pub(crate) cmt_no: u64,
    /// The log and the buds.
    pub(crate) log: Log,
    /// The journal heads: garbage collection, base, data.
    pub(crate) heads: Vec<JournalHead>,
    /// The index.
    pub(crate) tnc: Tnc,
    /// The LEB properties tree.
    pub(crate) lpt: Lpt,
    /// Lists and heaps of LEBs by free and dirty space.
    pub(crate) lists: SpaceLists,
    /// Totals of the main area.
    pub(crate) lst: SpaceTotals,
    /// The budget.
    pub(crate) bi: BudgetInfo,
    /// The bytes of the index as the commit has calculated them (`calc_idx_sz`).
    pub(crate) calc_idx_sz: u64,
    /// Garbage collection.
    pub(crate) gc: GcState,
    /// The commit.
    pub(crate) commit: CommitState,
    /// Orphans.
    pub(crate) orphans: Orphans,
    /// What the recovery of this mount has to do.
    pub(crate) recovery: Recovery,
    /// The compressors.
    pub(crate) compressors: Compressors,
    /// The inodes in memory.
    pub(crate) inodes: BTreeMap<u32, Inode>,
    /// Inodes that became dirty and that the cache above does not know of yet.
    pub(crate) dirtied: Vec<Ino>,
    /// The pages that the cache above has, as far as their budget goes.
    pub(crate) pages: PageState,
    /// Of a mounted older commit, what of it stands.
    pub(crate) past: Option<Box<Past>>,
}

impl<L> Volume<L> {
    /// The areas of the volume and its constants.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The superblock.
    #[must_use]
    pub const fn superblock(&self) -> &Superblock {
        &self.sb
    }
}
