//! The check that follows a mount: every inode is read once, and the data of its nodes are verified.
//!
//! Layer: rank 5. [`Jffs2::check_next`] does one inode; until all are done nothing can be garbage
//! collected, and whoever opens an inode first waits for its own check (that is what `ls` waits for
//! after a mount). Source: Linux 6.1, the first half of `jffs2_garbage_collect_pass` in `fs/jffs2/gc.c`.
//! The kernel goes through the buckets of its hash table, this by number.

use crate::Jffs2;
use crate::error::Error;
use crate::index::InodeState;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::Errno;

impl<M: Mtd> Jffs2<M> {
    /// Whether nodes are left that were not checked.
    #[must_use]
    pub const fn is_unchecked(&self) -> bool {
        self.volume.blocks.totals().unchecked > 0
    }

    /// Checks the next inode that was not checked and was not opened since the mount. An inode whose
    /// nodes are damaged is passed over: who opens it gets the error.
    ///
    /// # Errors
    /// ENOSPC when there is none left and yet nodes are unchecked, [`Error::Flash`].
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

    /// Checks everything that is left.
    ///
    /// # Errors
    /// As [`Jffs2::check_next`], but for ENOSPC.
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
    /// The next inode with a name that was not checked.
    fn next_unchecked(&self) -> Option<u32> {
        let mut slots = self.inodes.slots_from(self.check.next..);
        slots.find(|&slot| {
            let inode = self.inodes.get(slot);
            inode.state == InodeState::Unchecked && inode.links > 0
        })
    }
}
