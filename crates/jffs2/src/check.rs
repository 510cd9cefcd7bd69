//! The check after a mount: every inode is read once, and the data of its nodes are verified.
//!
//! Layer: rank 5. [`Jffs2::check_next`] checks one inode. Nothing can be garbage collected until
//! all are checked, and whoever opens an inode first waits for its check, as `ls` does after a
//! mount. Source: Linux 6.1, the first half of `jffs2_garbage_collect_pass` in `fs/jffs2/gc.c`. The
//! kernel proceeds by the buckets of its hash table, this by number.

use crate::Jffs2;
use crate::error::Error;
use crate::index::InodeState;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::Errno;

impl<M: Mtd> Jffs2<M> {
    /// Whether unchecked nodes are left.
    #[must_use]
    pub const fn is_unchecked(&self) -> bool {
        self.volume.blocks.totals().unchecked > 0
    }

    /// Checks the next inode that was neither checked nor opened since the mount. An inode with
    /// damaged nodes is skipped: opening it returns the error.
    ///
    /// # Errors
    /// ENOSPC when no inode is left although nodes are unchecked, [`Error::Flash`].
    pub fn check_next(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if !self.volume.check.xattrs_done {
            self.volume.check_xattrs(clock)?;
            self.volume.check.xattrs_done = true;
        }
        let Some(slot) = self.volume.next_unchecked() else {
            return Err(Errno::NoSpc.into());
        };
        let ino = self.volume.inodes.get(slot).ino;
        self.volume.check.next = ino.saturating_add(1);
        let result = self.volume.read_inode(clock, slot, true);
        self.volume.inodes.get_mut(slot).state = InodeState::Checked;
        match result {
            Err(Error::Flash(error)) => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Checks all remaining inodes.
    ///
    /// # Errors
    /// As [`Jffs2::check_next`], except ENOSPC.
    pub fn check_all(&mut self, clock: &mut Clock) -> Result<(), Error> {
        while self.is_unchecked() {
            match self.check_next(clock) {
                Err(Error::Refused(Errno::NoSpc)) => return Ok(()),
                result => result?,
            }
        }
        Ok(())
    }
}

impl<M: Mtd> crate::Volume<M> {
    /// The next unchecked inode with a name.
    fn next_unchecked(&self) -> Option<u32> {
        let mut slots = self.inodes.slots_from(self.check.next..);
        slots.find(|&slot| {
            let inode = self.inodes.get(slot);
            inode.state == InodeState::Unchecked && inode.links > 0
        })
    }
}
