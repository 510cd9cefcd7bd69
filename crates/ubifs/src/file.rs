//! The content of files: what the cache above reserves, and what it reads and writes.
//!
//! Layer: rank 5. Main type: [`PageState`]. A dirty page holds a reservation: that of a new page if it
//! lies in a hole or was overwritten without being read, else that of a page on flash (the flag
//! `PG_checked` in Linux).
//!
//! ```text
//!  reserve_page --> page_dirtied --> write_page: the inode first, if the size on flash is too small
//!       |                                |
//!       +-- release_page (truncated)     +--> the reservation is released
//! ```
//!
//! Source: Linux 6.1, `fs/ubifs/file.c`: `ubifs_write_begin`, `ubifs_write_end`, `ubifs_writepage`,
//! `do_truncation`, `do_setattr`, `ubifs_fsync`, `update_mctime`. Reading is in `file/read.rs`. Left
//! out: memory maps, encryption, and that a file with the flag `SYNC` is written out after each
//! `write` (only the flag of an open file does so, in the cache above).

mod read;

#[cfg(test)]
mod tests;

use crate::budget::BudgetRequest;
use crate::format::BLOCK_SIZE;
use crate::inode::SIZE_MAX;
use crate::{Error, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::{Errno, Ino, PageWrite, SetAttr, Timestamp};
use std::collections::BTreeSet;

/// Bytes of a page, which is a block.
const PAGE: u64 = BLOCK_SIZE as u64;
/// The permission bits of a mode.
const PERMISSIONS: u32 = 0o7777;
/// What a truncation node adds to the budget (`UBIFS_TRUN_NODE_SZ`).
const TRUNCATION_BUDGET: u32 = 56;

/// What UBIFS knows of the pages in the cache above.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageState {
    /// Pages that are in a hole, as far as the cache has them (`PG_checked`).
    holes: BTreeSet<(u32, u64)>,
    /// Dirty pages (`PG_private`).
    dirty: BTreeSet<(u32, u64)>,
    /// The truncation that has been budgeted and waits for the cache.
    truncation: Option<Truncating>,
    /// Pages that bulk-read has read besides the wanted one.
    read_ahead: Vec<(u64, Box<[u8]>)>,
}

/// A truncation in progress.
#[derive(Debug, Clone, Copy)]
struct Truncating {
    ino: u32,
    old_size: u64,
    new_size: u64,
    request: BudgetRequest,
    /// False when nothing could be budgeted and the file becomes empty.
    budgeted: bool,
}

impl PageState {
    /// Forgets the pages of an inode that leaves the memory; none is dirty.
    pub(crate) fn forget(&mut self, ino: u32) {
        let stale: Vec<_> = self.holes.range((ino, 0)..=(ino, u64::MAX)).copied().collect();
        for page in stale {
            self.holes.remove(&page);
        }
    }

    /// Notes whether a page that was read lies in a hole.
    fn set_hole(&mut self, page: (u32, u64), hole: bool) {
        if hole {
            self.holes.insert(page);
        } else {
            self.holes.remove(&page);
        }
    }

    /// Whether a truncation is budgeted and not written yet.
    pub(crate) const fn is_truncating(&self) -> bool {
        self.truncation.is_some()
    }

    /// Dirty pages with the reservation of a new page, and of a page on flash.
    pub(crate) fn dirty_counts(&self) -> (i64, i64) {
        let mut counts = (0, 0);
        for page in &self.dirty {
            if self.holes.contains(page) {
                counts.0 += 1;
            } else {
                counts.1 += 1;
            }
        }
        counts
    }

    /// Takes the pages that bulk-read has read.
    pub(crate) fn take_read_ahead(&mut self) -> Vec<(u64, Box<[u8]>)> {
        std::mem::take(&mut self.read_ahead)
    }
}

impl<L: Lebs> Volume<L> {
    /// EROFS on a read-only mount, and after an error that made it one. The kernel's VFS checks this
    /// before each operation.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        if self.mode.read_only || self.mode.failed { Err(Errno::RoFs.into()) } else { Ok(()) }
    }

    /// Updates the times of a file that is written (`update_mctime`).
    pub(crate) fn do_begin_write(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        let now = self.current_time(clock);
        let inode = self.iget(clock, ino)?;
        if (inode.modified, inode.changed) == (now, now) {
            return Ok(());
        }
        let dirtied_ino_d = inode.data_budget();
        let mut request = BudgetRequest { dirtied_ino: 1, dirtied_ino_d, ..Default::default() };
        self.budget_space(clock, &mut request)?;
        let now = self.current_time(clock);
        let inode = self.inode_mut(ino);
        (inode.modified, inode.changed) = (now, now);
        if self.mark_inode_dirty(ino) {
            self.release_budget(&mut request);
        }
        Ok(())
    }

    /// Budgets the change of a page (`ubifs_write_begin`).
    ///
    /// # Errors
    /// EROFS, EFBIG, ENOSPC, `NeedsWriteBack`, any of the volume.
    pub(crate) fn do_reserve_page(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        write: &PageWrite,
    ) -> Result<(), Error> {
        self.iget(clock, ino)?;
        if write.size_after > SIZE_MAX {
            return Err(Errno::FBig.into());
        }
        let page = (ino, write.page);
        // A page that was not read is overwritten, or lies beyond the end.
        let hole = !write.uptodate || self.pages.holes.contains(&page);
        let dirty = self.pages.dirty.contains(&page);
        let appending = write.size_after > write.size_before;
        let slow =
            self.bi.is_waiting() || !self.reserve_fast(clock, ino, (hole, dirty), appending)?;
        if slow {
            self.reserve_slow(clock, ino, (hole, dirty), appending)?;
        }
        if !write.uptodate {
            self.pages.holes.insert(page);
        }
        Ok(())
    }

    /// Budgets exactly what the page needs, without a search for space (`allocate_budget`).
    fn reserve_fast(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        (hole, dirty): (bool, bool),
        appending: bool,
    ) -> Result<bool, Error> {
        let mut request = BudgetRequest {
            fast: true,
            new_page: !dirty && hole,
            dirtied_page: !dirty && !hole,
            dirtied_ino: u32::from(appending && !self.inode(ino).dirty),
            ..Default::default()
        };
        self.try_budget(clock, &mut request)
    }

    /// Budgets the most that a page can need, and then releases what it does not (`write_begin_slow`).
    fn reserve_slow(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        (hole, dirty): (bool, bool),
        appending: bool,
    ) -> Result<(), Error> {
        let dirtied_ino = u32::from(appending);
        let mut request = BudgetRequest { new_page: true, dirtied_ino, ..Default::default() };
        self.budget_space(clock, &mut request)?;
        if dirty {
            self.release_new_page_budget();
        } else if !hole {
            self.convert_page_budget();
        }
        let inode = self.inode(ino);
        if appending && inode.dirty {
            let length = inode.data_len();
            self.release_dirty_inode_budget(length);
        }
        Ok(())
    }

    /// Notes that a page is dirty, and the new size (`ubifs_write_end`).
    pub(crate) fn do_page_dirtied(&mut self, ino: u32, write: &PageWrite) {
        self.pages.dirty.insert((ino, write.page));
        if write.size_after > write.size_before {
            let inode = self.inode_mut(ino);
            (inode.size, inode.ui_size) = (write.size_after, write.size_after);
            self.mark_inode_dirty(ino);
        }
    }

    /// Releases the reservation of a dirty page that is not written, or that has been
    /// (`ubifs_invalidate_folio`).
    pub(crate) fn do_release_page(&mut self, ino: u32, page: u64) {
        let hole = self.pages.holes.remove(&(ino, page));
        if !self.pages.dirty.remove(&(ino, page)) {
            return;
        }
        if hole {
            self.release_new_page_budget();
        } else {
            self.release_existing_page_budget();
        }
    }

    /// Writes a dirty page (`ubifs_writepage`). If the size on flash ends before it, the inode is
    /// written first: a page beyond the size would not be found by a recovery that finds no inode in
    /// the journal.
    pub(crate) fn do_write_page(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        page: u64,
        content: &[u8],
    ) -> Result<(), Error> {
        let inode = self.inode(ino);
        let (size, synced) = (inode.size, inode.synced_i_size);
        if page * PAGE >= size {
            // A truncation is dropping the page.
            self.do_release_page(ino, page);
            return Ok(());
        }
        let inside = page < size / PAGE;
        let length = if inside { PAGE } else { size % PAGE };
        let truncates = self.pages.truncation.is_some_and(|truncation| truncation.ino == ino);
        let inode_first = if inside { page >= synced / PAGE } else { size > synced };
        if inode_first && !truncates {
            let written = self.write_inode(clock, ino);
            if written.is_err() {
                // The kernel keeps the page dirty. The cache above forgets it.
                self.do_release_page(ino, page);
                return written;
            }
        }
        let length = usize::try_from(length).expect("at most a page");
        let block = u32::try_from(page).expect("a file has at most 2^29 blocks");
        let written = self.jnl_write_data(clock, ino, block, &content[..length]);
        if let Err(error) = &written {
            self.switch_to_read_only(error);
        }
        self.do_release_page(ino, page);
        written
    }

    /// Budgets a truncation; the cache above then drops the pages, and writes the one in which the
    /// file ends (first half of `do_truncation`).
    pub(crate) fn do_begin_truncation(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        new_size: u64,
    ) -> Result<(), Error> {
        let old_size = self.iget(clock, ino)?.size;
        let mut request = BudgetRequest {
            dirtied_page: !new_size.is_multiple_of(PAGE),
            dirtied_ino: 1,
            dirtied_ino_d: TRUNCATION_BUDGET,
            ..Default::default()
        };
        let budgeted = if new_size == 0 {
            self.try_budget(clock, &mut request)?
        } else {
            self.budget_space(clock, &mut request)?;
            true
        };
        self.inode_mut(ino).size = new_size;
        self.pages.truncation = Some(Truncating { ino, old_size, new_size, request, budgeted });
        Ok(())
    }

    /// Writes a truncation (second half of `do_truncation`).
    fn finish_truncation(
        &mut self,
        clock: &mut Clock,
        mut truncating: Truncating,
        change: &SetAttr,
    ) -> Result<(), Error> {
        let Truncating { ino, old_size, new_size, .. } = truncating;
        let now = self.current_time(clock);
        let inode = self.inode_mut(ino);
        inode.ui_size = inode.size;
        (inode.modified, inode.changed) = (now, now);
        self.change_attributes(ino, change, now);
        let written = self.jnl_truncate(clock, ino, old_size, new_size);
        if truncating.budgeted {
            self.release_budget(&mut truncating.request);
        } else {
            self.bi.clear_no_space();
        }
        written
    }

    /// Changes attributes (`ubifs_setattr`).
    ///
    /// # Errors
    /// EISDIR or EINVAL for the size of what is not a file; EFBIG; ENOSPC; any of the volume.
    pub(crate) fn do_setattr(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        change: &SetAttr,
    ) -> Result<(), Error> {
        let inode = self.iget(clock, ino)?;
        let Some(size) = change.size else { return self.change_inode(clock, ino, change) };
        if !inode.is_file() {
            return Err(if inode.is_dir() { Errno::IsDir } else { Errno::Inval }.into());
        }
        if size > SIZE_MAX {
            return Err(Errno::FBig.into());
        }
        let begun = self.pages.truncation.take().filter(|begun| begun.ino == ino);
        if begun.is_none() && size >= self.inode(ino).size {
            return self.change_inode(clock, ino, change);
        }
        if begun.is_none() {
            self.do_begin_truncation(clock, ino, size)?;
        }
        let begun = begun.or_else(|| self.pages.truncation.take());
        self.finish_truncation(clock, begun.expect("begun above"), change)
    }

    /// All changes but truncations (`do_setattr`).
    fn change_inode(&mut self, clock: &mut Clock, ino: u32, change: &SetAttr) -> Result<(), Error> {
        let dirtied_ino_d = self.inode(ino).data_budget();
        let mut request = BudgetRequest { dirtied_ino: 1, dirtied_ino_d, ..Default::default() };
        self.budget_space(clock, &mut request)?;
        let now = self.current_time(clock);
        let inode = self.inode_mut(ino);
        inode.changed = now;
        if let Some(size) = change.size {
            (inode.size, inode.ui_size) = (size, size);
            inode.modified = now;
        }
        self.change_attributes(ino, change, now);
        if self.mark_inode_dirty(ino) {
            self.release_budget(&mut request);
        }
        if self.inode(ino).is_sync() { self.write_inode(clock, ino) } else { Ok(()) }
    }

    /// `do_attr_changes`
    fn change_attributes(&mut self, ino: u32, change: &SetAttr, now: Timestamp) {
        let accessed = change.accessed.map(|time| self.truncate_time(time));
        let modified = change.modified.map(|time| self.truncate_time(time));
        let inode = self.inode_mut(ino);
        inode.uid = change.uid.unwrap_or(inode.uid);
        inode.gid = change.gid.unwrap_or(inode.gid);
        inode.accessed = accessed.unwrap_or(inode.accessed);
        inode.modified = modified.unwrap_or(inode.modified);
        inode.changed = now;
        if let Some(mode) = change.mode {
            inode.mode = (inode.mode & !PERMISSIONS) | (mode & PERMISSIONS);
        }
    }

    /// Makes a file durable: its pages are written (`ubifs_fsync`).
    pub(crate) fn do_fsync(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        if self.mode.read_only {
            return Ok(());
        }
        self.write_inode(clock, ino)?;
        self.sync_wbufs_by_inode(clock, ino)
    }

    /// Makes all durable (`ubifs_sync_fs`). The commit is for `statfs`, which is more precise then.
    pub(crate) fn sync_fs(&mut self, clock: &mut Clock) -> Result<(), Error> {
        for head in 0..self.heads.len() {
            self.wbuf_sync(clock, head)?;
        }
        self.run_commit(clock)?;
        Ok(self.lebs.sync(clock)?)
    }

    /// The number of an inode; ENOENT (ESTALE of a file handle) for one that cannot exist.
    pub(crate) fn number(ino: Ino) -> Result<u32, Error> {
        u32::try_from(ino.0).map_err(|_| Errno::Stale.into())
    }
}
