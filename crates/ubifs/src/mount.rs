//! Mount and unmount.
//!
//! Layer: rank 5. [`Ubifs::mount`], and [`MountError`], which says what was found and what would fit.
//!
//! ```text
//!  superblock (an empty volume gets a default filesystem) -> master node -> [heads of index and LPT]
//!   -> LPT -> master node: dirty -> replay -> [orphans are deleted; sizes; LEB for GC; commit]
//! ```
//! The steps in brackets only when the last unmount was not clean.
//!
//! Source: Linux 6.1, `fs/ubifs/super.c` (`mount_ubifs`, `ubifs_put_super`, `ubifs_remount_rw`,
//! `ubifs_remount_ro`).

use crate::budget::{BudgetInfo, MIN_INDEX_LEBS};
use crate::commit::CommitState;
use crate::compress::Compressors;
use crate::error::{Error, MountError, Problem};
use crate::file::PageState;
use crate::format::ROOT_INO;
use crate::format::master::Master;
use crate::format::superblock::Superblock;
use crate::gc::GcState;
use crate::layout::{LOG_LEB, Layout};
use crate::log::Log;
use crate::lprops::{SpaceTotals, flag};
use crate::lpt::Lpt;
use crate::lpt::categories::SpaceLists;
use crate::options::Options;
use crate::orphan::Orphans;
use crate::recovery::Recovery;
use crate::tnc::Tnc;
use crate::volume::{Mode, Volume};
use crate::{LebIndex, Lebs, Ubifs};
use boardlab_sim::Clock;
use boardlab_vfs::Errno;
use std::collections::BTreeMap;

/// Bits of a block's size.
const BLOCK_SHIFT: u32 = 12;

impl<L: Lebs> Ubifs<L> {
    /// Mounts the volume. An empty volume gets a default filesystem first.
    ///
    /// # Errors
    /// [`MountError`]; after a power cut `Failed`, with the cut in it.
    pub fn mount(clock: &mut Clock, lebs: L, options: Options) -> Result<Self, MountError> {
        let layout = Layout::early(&lebs.shape())?;
        let mut volume = Volume::new(lebs, layout, options);
        volume.mount_volume(clock)?;
        volume.iget(clock, ROOT_INO)?;
        Ok(Self { volume })
    }

    /// Makes a read-only mount writable, with the recovery that it has deferred
    /// (`ubifs_remount_rw`).
    ///
    /// # Errors
    /// EROFS after an error; [`MountError::NoSpace`]; any of the volume.
    pub fn remount_writable(&mut self, clock: &mut Clock) -> Result<(), MountError> {
        let volume = &mut self.volume;
        if volume.mode.failed {
            return Err(Error::from(Errno::RoFs).into());
        }
        if !volume.mode.read_only {
            return Ok(());
        }
        volume.mode.read_only = false;
        volume.mode.mounting = true;
        let result = volume.make_writable(clock);
        volume.mode.mounting = false;
        volume.mode.read_only = result.is_err();
        result
    }

    /// Unmounts: writes the write buffers and a clean master node (`ubifs_put_super`). The cache above
    /// has written its inodes and has committed before.
    ///
    /// # Errors
    /// Any of the volume.
    pub fn unmount_volume(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let volume = &mut self.volume;
        if volume.mode.read_only || volume.mode.failed {
            return Ok(());
        }
        for head in 0..volume.heads.len() {
            let synced = volume.wbuf_sync(clock, head);
            synced.inspect_err(|error| volume.switch_to_read_only(error))?;
        }
        volume.master.flags &= !Master::DIRTY;
        volume.master.flags |= Master::NO_ORPHS;
        volume.master.gc_lnum = volume.gc.gc_lnum;
        volume.write_master(clock)
    }
}

impl<L: Lebs> Volume<L> {
    /// A volume of which nothing has been read.
    pub(crate) fn new(lebs: L, layout: Layout, options: Options) -> Self {
        Self {
            lebs,
            layout,
            sb: Superblock::default(),
            master: Master::default(),
            master_offs: 0,
            host: options.host.clone(),
            wall: options.wall,
            mistake: options.mistake,
            mode: Mode { read_only: options.read_only, mounting: true, ..Mode::default() },
            options,
            max_sqnum: 0,
            highest_inum: 0,
            cmt_no: 0,
            log: Log::default(),
            heads: Vec::new(),
            tnc: Tnc::default(),
            lpt: Lpt::default(),
            lists: SpaceLists::default(),
            lst: SpaceTotals::default(),
            bi: BudgetInfo::default(),
            calc_idx_sz: 0,
            gc: GcState::default(),
            commit: CommitState::default(),
            orphans: Orphans::default(),
            recovery: Recovery::default(),
            compressors: Compressors::default(),
            inodes: BTreeMap::new(),
            dirtied: Vec::new(),
            pages: PageState::default(),
            past: None,
        }
    }

    /// Reads the tables and replays the journal (`mount_ubifs`).
    fn mount_volume(&mut self, clock: &mut Clock) -> Result<(), MountError> {
        self.mode.empty = self.is_empty_volume()?;
        if self.mode.empty && self.mode.read_only {
            return Err(MountError::Empty);
        }
        self.read_superblock(clock)?;
        self.init_constants_sb()?;
        self.alloc_wbufs();
        self.read_master(clock)?;
        self.orphans.none = self.master.flags & Master::NO_ORPHS != 0;
        self.gc.gc_lnum = self.master.gc_lnum;
        self.init_constants_master();
        self.mode.need_recovery = self.master.flags & Master::DIRTY != 0;
        let writable = !self.mode.read_only;
        if self.mode.need_recovery && writable {
            self.recover_inl_heads(clock)?;
        }
        self.lpt_init(clock, true, writable)?;
        if writable {
            self.write_mount_state(clock)?;
        }
        if self.options.checks.index {
            self.check_index_size(clock)?;
        }
        self.replay_journal(clock)?;
        self.bi.min_idx_lebs = self.calc_min_idx_lebs();
        self.mount_orphans(clock, self.mode.need_recovery, self.mode.read_only)?;
        if writable {
            self.finish_writable(clock)?;
        } else if self.mode.need_recovery {
            self.recover_size(clock, false)?;
        } else {
            self.take_gc_lnum(clock)?;
        }
        if writable {
            self.mode.need_recovery = false;
        }
        if self.options.checks.fs {
            self.check_filesystem(clock)?;
        }
        self.mode.mounting = false;
        Ok(())
    }

    /// Whether no LEB is mapped (`check_volume_empty`).
    fn is_empty_volume(&self) -> Result<bool, MountError> {
        for leb in 0..self.layout.leb_count {
            if self.lebs.is_mapped(LebIndex(leb))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sizes that depend on the master node (`init_constants_master`).
    fn init_constants_master(&mut self) {
        self.bi.min_idx_lebs = self.calc_min_idx_lebs();
        let pool = i64::try_from(self.layout.rp_size).unwrap_or(i64::MAX);
        self.layout.report_rp_size = self.reported_space(pool).unsigned_abs();
        let layout = &self.layout;
        // Not for files: the LEBs of GC, of deletions, of the index and of the journal heads.
        let reserved = 2 + MIN_INDEX_LEBS + i64::from(layout.jhead_count);
        let lebs = i64::from(layout.main_lebs) - reserved;
        let bytes = lebs * i64::from(layout.leb_size - layout.leb_overhead);
        self.layout.block_count = self.reported_space(bytes).unsigned_abs() >> BLOCK_SHIFT;
    }

    /// What a writable mount writes before the replay: a fixed-up volume, and that it is in use.
    fn write_mount_state(&mut self, clock: &mut Clock) -> Result<(), MountError> {
        if self.sb.flags & Superblock::SPACE_FIXUP != 0 {
            self.fix_up_free_space(clock)?;
        }
        if !self.mode.need_recovery {
            self.master.flags |= Master::DIRTY;
            self.write_master(clock)?;
        }
        if self.mode.superblock_changed {
            self.write_superblock(clock)?;
            self.mode.superblock_changed = false;
        }
        Ok(())
    }

    /// The last steps of a writable mount.
    fn finish_writable(&mut self, clock: &mut Clock) -> Result<(), MountError> {
        self.check_free_space()?;
        self.make_log_space(clock)?;
        if self.mode.need_recovery {
            self.recover_size(clock, true)?;
            self.recovery_gc_commit(clock)?;
        } else {
            self.take_gc_lnum(clock)?;
            self.unmap_gc_lnum(clock)?;
        }
        if self.options.checks.lprops {
            self.check_lprops(clock)?;
        }
        Ok(())
    }

    /// The steps of `ubifs_remount_rw`.
    fn make_writable(&mut self, clock: &mut Clock) -> Result<(), MountError> {
        if self.sb.flags & Superblock::SPACE_FIXUP != 0 {
            self.fix_up_free_space(clock)?;
        }
        self.check_free_space()?;
        if self.mode.need_recovery {
            self.write_recovered_master(clock)?;
            self.recover_size(clock, true)?;
            self.clean_lebs(clock)?;
            self.recover_inl_heads(clock)?;
        } else {
            self.clear_orphans(clock)?;
        }
        if self.master.flags & Master::DIRTY == 0 {
            self.master.flags |= Master::DIRTY;
            self.write_master(clock)?;
        }
        if self.mode.superblock_changed {
            self.write_superblock(clock)?;
            self.mode.superblock_changed = false;
        }
        self.lpt_init(clock, false, true)?;
        self.make_log_space(clock)?;
        if self.mode.need_recovery {
            self.recovery_gc_commit(clock)?;
            self.mode.need_recovery = false;
        } else {
            self.unmap_gc_lnum(clock)?;
        }
        Ok(())
    }

    /// Deletions need some space (`check_free_space`).
    fn check_free_space(&self) -> Result<(), MountError> {
        let space = self.lst.total_free + self.lst.total_dirty;
        if space < i64::from(self.layout.dark_wm) {
            let found = u64::try_from(space).unwrap_or(0);
            return Err(MountError::NoSpace { found, needed: u64::from(self.layout.dark_wm) });
        }
        Ok(())
    }

    /// A commit needs a free LEB in the log.
    fn make_log_space(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let next = LebIndex(self.log.head.0 + 1);
        let next = if next > self.layout.log_last { LOG_LEB } else { next };
        if next == self.log.tail { self.consolidate_log(clock) } else { Ok(()) }
    }

    /// Marks the LEB reserved for garbage collection as taken, and as empty: the LPT may be older than
    /// its reservation (`take_gc_lnum`).
    fn take_gc_lnum(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let leb = self.gc.gc_lnum.ok_or(Error::from(Errno::Inval))?;
        if self.search_bud(leb).is_some() {
            return Err(Error::at(leb, 0, Problem::Properties));
        }
        let whole = Some(self.layout.leb_size);
        self.change_one_lp(clock, leb, whole, Some(0), (flag::TAKEN, 0))
    }

    /// The reserved LEB may hold what an incomplete collection has written.
    fn unmap_gc_lnum(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let leb = self.gc.gc_lnum.ok_or(Error::from(Errno::Inval))?;
        self.leb_unmap(clock, leb)
    }
}
