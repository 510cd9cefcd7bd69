//! Inodes, and their deletion. Source: Linux 6.1, `fs/ubifs/journal.c` (`ubifs_jnl_write_inode`,
//! `ubifs_jnl_delete_inode`).

use super::NodeGroup;
use crate::format::inode;
use crate::format::key::Key;
use crate::format::usize_of;
use crate::wbuf::BASE_HEAD;
use crate::{Error, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Errno;

/// Bytes of an inode node without data.
const INODE_SIZE: u32 = 160;

impl<L: Lebs> Volume<L> {
    /// How many extended attributes an inode may have: their deletion fits half a LEB
    /// (`ubifs_xattr_max_cnt`).
    pub(crate) const fn xattr_count_max(&self) -> u32 {
        self.layout.leb_size / 2 / INODE_SIZE
    }

    /// Writes an inode; one without names is deleted from the index, with its attributes
    /// (`ubifs_jnl_write_inode`).
    pub(crate) fn jnl_write_inode(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        let inode = self.inode(ino);
        let last_reference = inode.nlink == 0;
        let sync = !last_reference && inode.is_sync();
        let attributes = if last_reference { inode.xattr_cnt } else { 0 };
        let length = INODE_SIZE + if last_reference { 0 } else { inode.data_len() };
        let all = u64::from(attributes) * u64::from(INODE_SIZE) + u64::from(length);
        // More than a LEB cannot be reserved; the check of the number follows, as in Linux.
        let all = u32::try_from(all).unwrap_or(u32::MAX);
        self.make_reservation(clock, BASE_HEAD, all)?;
        let packed = self.pack_deletion(clock, ino, attributes);
        let mut group = self.fail_on_error(packed)?;
        self.prepare_group(clock, &mut group);
        let written = self.write_packed_inode(clock, ino, &group, sync);
        self.fail_on_error(written)?;
        self.mark_size_synced(ino);
        Ok(())
    }

    /// The nodes of all attributes of an inode that is deleted, and of the inode.
    fn pack_deletion(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        attributes: u32,
    ) -> Result<NodeGroup, Error> {
        let mut group = NodeGroup::of([]);
        if attributes > 0 {
            if attributes > self.xattr_count_max() {
                return Err(Errno::Perm.into());
            }
            let (mut key, mut name) = (Key::xattr(ino, 0), None);
            while let Some(entry) = self.tnc_next_entry(clock, key, name.as_deref())? {
                group.nodes.push(self.pack_dead_attribute(clock, entry.inum)?);
                (key, name) = (entry.key, Some(entry.name));
            }
        }
        if group.nodes.len() != usize_of(attributes) {
            return Err(Error::of_inode(ino));
        }
        group.nodes.push(self.pack_inode(ino));
        Ok(group)
    }

    fn pack_dead_attribute(&mut self, clock: &mut Clock, inum: u64) -> Result<Vec<u8>, Error> {
        let ino = self.iget_xattr(clock, inum)?;
        self.inode_mut(ino).nlink = 0;
        let node = self.pack_inode(ino);
        self.finish_deletion(ino);
        self.inodes.remove(&ino);
        Ok(node)
    }

    fn write_packed_inode(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        group: &NodeGroup,
        sync: bool,
    ) -> Result<(), Error> {
        let written = self.write_group(clock, group, sync, &[ino])?;
        if self.inode(ino).nlink == 0 {
            self.tnc_remove_ino(clock, ino)?;
            self.delete_orphan(ino);
            return self.add_dirt(clock, written.leb, group.length());
        }
        self.tnc_add(clock, written.branch(0, Key::inode(ino)))
    }

    /// Deletes an inode without names (`ubifs_jnl_delete_inode`). If no commit came since its last
    /// name was removed, the node that says so is in the journal still.
    pub(crate) fn jnl_delete_inode(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        let inode = self.inode(ino);
        assert_eq!(inode.nlink, 0, "inode {ino} has names");
        if inode.xattr_cnt > 0 || inode.del_cmtno != self.cmt_no {
            return self.jnl_write_inode(clock, ino);
        }
        let removed = self.tnc_remove_ino(clock, ino);
        self.fail_on_error(removed)?;
        self.delete_orphan(ino);
        Ok(())
    }
}

const _: () = assert!(inode::SIZE == 160);
