//! The commit: the index and the LEB properties are written, and the journal begins anew.
//!
//! Layer: rank 5. Main type: [`CommitState`]. The commit is one indivisible step here. The kernel lets
//! writers continue while the commit writes; the nodes that it writes are the same.
//!
//! ```text
//!  write buffers -> gc start -> log: commit start -> index and LPT get their places
//!   -> index, LPT and orphans are written -> master node twice -> old LEBs are unmapped
//! ```
//!
//! Source: Linux 6.1, `fs/ubifs/commit.c` (`do_commit`, `nothing_to_commit`, `ubifs_run_commit`,
//! `run_bg_commit`, `ubifs_bg_thread`).

use crate::error::Problem;
use crate::format::index::Branch;
use crate::format::master::Master;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Errno;

/// Whether a commit is wanted (`cmt_state`, as far as it can be seen between two steps).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CommitState {
    /// No commit is wanted.
    #[default]
    Resting,
    /// The background thread should commit.
    Background,
    /// The next writer must commit.
    Required,
    /// A commit failed. Nothing is written any more.
    Broken,
}

impl<L: Lebs> Volume<L> {
    /// Commits, unless nothing changed since the last commit (`ubifs_run_commit`).
    pub(crate) fn run_commit(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if self.commit == CommitState::Broken {
            return Err(Errno::RoFs.into());
        }
        self.commit = CommitState::Required;
        self.do_commit(clock)
    }

    /// Asks the background thread to commit (`ubifs_request_bg_commit`).
    pub(crate) fn request_bg_commit(&mut self) {
        if self.commit == CommitState::Resting {
            self.commit = CommitState::Background;
        }
    }

    /// Records that the next writer must commit (`ubifs_commit_required`).
    pub(crate) fn commit_required(&mut self) {
        if self.commit != CommitState::Broken {
            self.commit = CommitState::Required;
        }
    }

    /// Whether garbage collection should make room for a commit now (`ubifs_gc_should_commit`): a
    /// commit for the background becomes one for the next writer.
    pub(crate) fn gc_should_commit(&mut self) -> bool {
        if self.commit == CommitState::Background {
            self.commit = CommitState::Required;
        }
        self.commit == CommitState::Required
    }

    /// One step of the background thread, or of the one of UBI (`ubifs_bg_thread`): write buffers
    /// whose timer has expired, then a commit if one is wanted, then the volume manager. Returns
    /// whether there may be more to do.
    pub(crate) fn background_step(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        if !self.mode.read_only && !self.mode.failed {
            if self.bg_wbufs_sync(clock).inspect_err(|error| self.switch_to_read_only(error))? {
                return Ok(true);
            }
            if matches!(self.commit, CommitState::Background | CommitState::Required) {
                self.do_commit(clock)?;
                return Ok(true);
            }
        }
        Ok(self.lebs.background(clock)?)
    }

    /// Does the commit that an earlier operation requested of the background thread, which begins it
    /// as soon as that operation ends. As in Linux the caller hears of a failure when it finds the
    /// filesystem read-only.
    ///
    /// # Errors
    /// A power cut.
    pub(crate) fn commit_if_requested(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if self.commit == CommitState::Background && self.check_writable().is_ok() {
            self.do_commit(clock).or_else(Error::unless_power_cut)?;
        }
        Ok(())
    }

    /// Whether a commit would change nothing (`nothing_to_commit`). A mount always commits when it
    /// wants to.
    fn nothing_to_commit(&self) -> bool {
        if self.mode.mounting || self.tnc_root_is_dirty() || self.lpt_root_is_dirty() {
            return false;
        }
        assert_eq!(self.znode_counts().0, 0, "a dirty indexing node below a clean root");
        true
    }

    fn do_commit(&mut self, clock: &mut Clock) -> Result<(), Error> {
        assert!(!self.mode.read_only, "do_commit: mounted read-only");
        let result = if self.mode.failed {
            Err(Errno::RoFs.into())
        } else if self.nothing_to_commit() {
            Ok(())
        } else {
            self.commit_everything(clock)
        };
        match &result {
            Ok(()) => self.commit = CommitState::Resting,
            Err(error) => {
                self.commit = CommitState::Broken;
                self.switch_to_read_only(error);
            }
        }
        result
    }

    fn commit_everything(&mut self, clock: &mut Clock) -> Result<(), Error> {
        // A recovery relies on this: what the freed LEBs held is obsolete on the flash.
        for head in 0..self.heads.len() {
            self.wbuf_sync(clock, head)?;
        }
        self.cmt_no += 1;
        self.gc_start_commit(clock)?;
        if self.options.checks.lprops {
            self.check_lprops(clock)?;
        }
        let tail = self.log_start_commit(clock)?;
        let root = self.tnc_start_commit(clock)?;
        self.lpt_start_commit(clock)?;
        self.orphan_start_commit();
        let totals = self.lst;
        let [empty_lebs, idx_lebs] = [totals.empty_lebs, totals.idx_lebs].map(u32::try_from);
        let (Ok(empty_lebs), Ok(idx_lebs)) = (empty_lebs, idx_lebs) else {
            // The properties of LEBs are forged: more of a kind were taken than there were.
            return Err(Error::at(self.layout.lpt_first, 0, Problem::LptSpace));
        };
        self.tnc_end_commit(clock)?;
        self.lpt_end_commit(clock)?;
        self.orphan_end_commit(clock)?;
        if self.options.checks.index {
            self.check_old_index(clock)?;
        }
        self.fill_master(tail, &root);
        self.master.empty_lebs = empty_lebs;
        self.master.idx_lebs = idx_lebs;
        self.master.total_free = totals.total_free.unsigned_abs();
        self.master.total_dirty = totals.total_dirty.unsigned_abs();
        self.master.total_used = totals.total_used.unsigned_abs();
        self.master.total_dead = totals.total_dead.unsigned_abs();
        self.master.total_dark = totals.total_dark.unsigned_abs();
        let old_tail = self.log.tail;
        self.log_end_commit(clock, tail)?;
        self.log_post_commit(clock, old_tail)?;
        self.gc_end_commit(clock)?;
        self.lpt_post_commit(clock)
    }

    /// Takes the roots of all trees over to the master node.
    fn fill_master(&mut self, tail: LebIndex, root: &Branch) {
        let master = &mut self.master;
        master.cmt_no = self.cmt_no;
        master.log_lnum = tail;
        (master.root_lnum, master.root_offs, master.root_len) = (root.lnum, root.offs, root.len);
        (master.ihead_lnum, master.ihead_offs) = (self.tnc.ihead_lnum, self.tnc.ihead_offs);
        master.index_size = self.bi.old_idx_sz;
        self.lpt.store_in_master(master);
        if self.orphans.none {
            master.flags |= Master::NO_ORPHS;
        } else {
            master.flags &= !Master::NO_ORPHS;
        }
    }
}
