//! Recovery after a power cut: what a cut can have damaged is repaired, other damage is refused.
//!
//! Layer: rank 5. Main type: [`Recovery`]. In reading order: `master` (the master node), `leb` (the
//! last LEB of a journal head, or of the log), `size` (sizes of files), and here the heads of index and
//! LPT, and the LEB reserved for garbage collection.
//!
//! A LEB is written from its beginning to its end, one write unit at a time. So a power cut damages one
//! write unit, and behind it the flash is empty. Anything else is no power cut, and the mount refuses
//! it: repairing it would hide a defect.
//!
//! Source: Linux 6.1, `fs/ubifs/recovery.c`.

mod leb;
mod master;
pub(crate) use master::same_master;
mod size;

use crate::error::Problem;
use crate::format::master::Master;
use crate::format::usize_of;
use crate::gc::LebCollected;
use crate::lprops::flag;
use crate::scan::Scanned;
use crate::wbuf::GC_HEAD;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Errno;
use size::SizeEntry;
use std::collections::BTreeMap;

/// What the recovery of this mount has found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recovery {
    /// Read-only: LEBs to repair when the volume becomes writable, and the end of their nodes.
    unclean: Vec<(LebIndex, u32)>,
    /// What the journal says about sizes, by inode number.
    sizes: BTreeMap<u32, SizeEntry>,
    /// Read-only: the master node to write when the volume becomes writable.
    master: Option<Master>,
    /// The sequence number of the commit start at the tail of the log; 0 before it is read.
    pub cs_sqnum: u64,
}

impl<L: Lebs> Volume<L> {
    /// Clears what an incomplete commit has written at the heads of index and LPT
    /// (`ubifs_recover_inl_heads`).
    pub(crate) fn recover_inl_heads(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let (leb, offs) = (self.tnc.ihead_lnum, self.tnc.ihead_offs);
        self.recover_head(clock, leb, offs)?;
        let (leb, offs) = (self.lpt.nhead_lnum, self.lpt.nhead_offs);
        self.recover_head(clock, leb, offs)
    }

    /// Makes sure that the flash is empty from a head on (`recover_head`).
    fn recover_head(&mut self, clock: &mut Clock, leb: LebIndex, offs: u32) -> Result<(), Error> {
        let length = self.layout.max_write.min(self.layout.leb_size - offs);
        if length == 0 {
            return Ok(());
        }
        let mut bytes = vec![0; usize_of(length)];
        let read = self.leb_read(clock, leb, offs, &mut bytes);
        match read {
            Ok(()) if boardlab_mtd::is_erased(&bytes) => return Ok(()),
            Err(error) if !crate::io::is_uncorrectable(&error) => return Err(error),
            _ => {}
        }
        if offs == 0 {
            return self.leb_unmap(clock, leb);
        }
        let mut before = vec![0; usize_of(offs)];
        self.leb_read(clock, leb, 0, &mut before)?;
        self.leb_change(clock, leb, &before)
    }

    /// Repairs the LEBs that a read-only mount has only noted (`ubifs_clean_lebs`).
    pub(crate) fn clean_lebs(&mut self, clock: &mut Clock) -> Result<(), Error> {
        while let Some(&(leb, end)) = self.recovery.unclean.first() {
            self.clean_leb(clock, leb, end)?;
            self.recovery.unclean.remove(0);
        }
        Ok(())
    }

    fn clean_leb(&mut self, clock: &mut Clock, leb: LebIndex, end: u32) -> Result<(), Error> {
        if end == 0 {
            return self.leb_unmap(clock, leb);
        }
        let mut bytes = vec![0; usize_of(end)];
        self.leb_read_unchecked(clock, leb, 0, &mut bytes)?;
        let mut offs = 0;
        while end.saturating_sub(offs) >= 8 {
            offs += match self.scan_a_node(clock, &bytes[usize_of(offs)..], leb, offs) {
                Scanned::Node(header) => header.len.next_multiple_of(8),
                Scanned::Padding(length) => length,
                _ => return Err(Error::at(leb, offs, Problem::NotAPowerCut)),
            };
        }
        bytes.resize(usize_of(end.next_multiple_of(self.layout.min_io)), 0xFF);
        let padded = usize_of(end.next_multiple_of(8)).min(bytes.len());
        self.pad(clock, &mut bytes[padded..]);
        self.leb_change(clock, leb, &bytes)
    }

    /// Reserves a LEB for garbage collection, and commits what the recovery has changed
    /// (`ubifs_rcvry_gc_commit`). When no LEB is empty, one is collected into the GC head.
    pub(crate) fn recovery_gc_commit(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.gc.gc_lnum = None;
        let wbuf = &self.heads[GC_HEAD].wbuf;
        let offs = wbuf.offs;
        if wbuf.leb.is_none() || offs == self.layout.leb_size {
            return self.grab_empty_leb(clock);
        }
        let Some(lp) = self.find_dirty_leb(clock, offs, PICK_FREEABLE)? else {
            return self.grab_empty_leb(clock);
        };
        assert!(!lp.is_index() && lp.free + lp.dirty >= offs, "the search ignored its limits");
        // Before the collection: the next mount must see the deletion of orphans first.
        self.run_commit(clock)?;
        let collected = self.garbage_collect_leb(clock, lp);
        if collected.is_ok() {
            self.wbuf_sync(clock, GC_HEAD)?;
        }
        if collected? != Some(LebCollected::Retained) {
            return Err(Errno::Inval.into());
        }
        let reserved = self.gc.gc_lnum.expect("a retained LEB is reserved");
        self.leb_unmap(clock, reserved)
    }

    /// Reserves an empty LEB, then commits, in this order: the commit would take the last empty LEB
    /// for the index (`grab_empty_leb`).
    fn grab_empty_leb(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let Some(leb) = self.find_free_leb_for_idx(clock)? else {
            return Err(Errno::NoSpc.into());
        };
        self.change_one_lp(clock, leb, None, None, (0, flag::INDEX))?;
        self.gc.gc_lnum = Some(leb);
        self.run_commit(clock)
    }
}

/// Argument of `find_dirty_leb`: freeable LEBs before dirty ones, but no index LEBs.
const PICK_FREEABLE: u8 = 2;

#[cfg(test)]
mod tests;
