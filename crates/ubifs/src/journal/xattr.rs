//! Extended attributes. Source: Linux 6.1, `fs/ubifs/journal.c` (`ubifs_jnl_delete_xattr`,
//! `ubifs_jnl_change_xattr`).

use super::NodeGroup;
use crate::format::dirent::Dirent;
use crate::format::key::Key;
use crate::wbuf::BASE_HEAD;
use crate::{Error, Lebs, Volume};
use boardlab_sim::Clock;

impl<L: Lebs> Volume<L> {
    /// Deletes an attribute: its entry, its inode, and the host (`ubifs_jnl_delete_xattr`).
    pub(crate) fn jnl_delete_xattr(
        &mut self,
        clock: &mut Clock,
        host: u32,
        ino: u32,
        name: &[u8],
    ) -> Result<(), Error> {
        assert_eq!(self.inode(ino).nlink, 0, "inode {ino} has names");
        let key = self.xattr_key(host, name);
        let itype = self.inode(ino).entry_type();
        // Unlike all other entries this one has no cookie.
        let entry = Dirent { key, inum: 0, itype, cookie: 0, name: name.to_vec() }.emit();
        let nodes = [entry, self.pack_inode(ino), self.pack_inode(host)];
        let mut group = NodeGroup::of(nodes).padded();
        self.make_reservation(clock, BASE_HEAD, group.length())?;
        self.prepare_group(clock, &mut group);
        let written = self.write_xattr_deletion(clock, (host, ino), (key, name), &group);
        self.fail_on_error(written)?;
        self.mark_size_synced(host);
        self.mark_inode_clean(host);
        Ok(())
    }

    fn write_xattr_deletion(
        &mut self,
        clock: &mut Clock,
        (host, ino): (u32, u32),
        (key, name): (Key, &[u8]),
        group: &NodeGroup,
    ) -> Result<(), Error> {
        let sync = self.inode(host).is_dirsync();
        let written = self.write_group(clock, group, sync, &[host])?;
        self.tnc_remove_name(clock, key, name)?;
        self.add_dirt(clock, written.leb, written.length(0))?;
        self.tnc_remove_range(clock, Key::lowest_of(ino), Key::highest_of(ino))?;
        self.add_dirt(clock, written.leb, written.length(1))?;
        self.tnc_add(clock, written.branch(2, Key::inode(host)))
    }

    /// Writes a changed attribute: the host, then the inode (`ubifs_jnl_change_xattr`). As in Linux
    /// the write buffer is not written out, though it forgets the inodes of a synchronous host.
    pub(crate) fn jnl_change_xattr(
        &mut self,
        clock: &mut Clock,
        host: u32,
        ino: u32,
    ) -> Result<(), Error> {
        assert!(self.inode(ino).nlink > 0, "inode {ino} has no names");
        let mut group = NodeGroup::of([self.pack_inode(host), self.pack_inode(ino)]).padded();
        self.make_reservation(clock, BASE_HEAD, group.length())?;
        self.prepare_group(clock, &mut group);
        let written = self.write_xattr_change(clock, host, ino, &group);
        self.fail_on_error(written)?;
        self.mark_size_synced(host);
        self.mark_inode_clean(host);
        Ok(())
    }

    fn write_xattr_change(
        &mut self,
        clock: &mut Clock,
        host: u32,
        ino: u32,
        group: &NodeGroup,
    ) -> Result<(), Error> {
        let all = [host, ino];
        let inodes = if self.inode(host).is_dirsync() { &[][..] } else { &all };
        let written = self.write_group(clock, group, false, inodes)?;
        self.tnc_add(clock, written.branch(0, Key::inode(host)))?;
        self.tnc_add(clock, written.branch(1, Key::inode(ino)))
    }
}
