//! Changes of directories and of attributes' names. Source: Linux 6.1, `fs/ubifs/journal.c`
//! (`ubifs_jnl_update`, `ubifs_jnl_rename`).

use super::NodeGroup;
use crate::format::key::Key;
use crate::wbuf::BASE_HEAD;
use crate::{Error, Lebs, Volume};
use boardlab_sim::Clock;

/// A new or removed entry.
pub(crate) struct Update<'a> {
    /// The directory, or the inode with the attribute.
    pub dir: u32,
    /// The name.
    pub name: &'a [u8],
    /// The inode that the entry refers to.
    pub ino: u32,
    /// Whether the entry is removed.
    pub deletion: bool,
    /// Whether it is an extended attribute.
    pub xent: bool,
}

/// An entry that moves.
#[derive(Clone, Copy)]
pub(crate) struct Rename<'a> {
    /// The directory.
    pub old_dir: u32,
    /// The name.
    pub old_name: &'a [u8],
    /// The inode.
    pub ino: u32,
    /// The new directory.
    pub new_dir: u32,
    /// The new name.
    pub new_name: &'a [u8],
    /// The inode that had the new name.
    pub replaced: Option<u32>,
}

impl<L: Lebs> Volume<L> {
    /// Writes an entry, its inode, and the directory or host (`ubifs_jnl_update`). The host comes last:
    /// when it is on flash, the rest is. An inode whose last name goes becomes an orphan.
    pub(crate) fn jnl_update(
        &mut self,
        clock: &mut Clock,
        update: &Update<'_>,
    ) -> Result<(), Error> {
        let &Update { dir, name, ino, deletion, xent } = update;
        let inode = self.inode(ino);
        let (itype, last_reference) = (inode.entry_type(), deletion && inode.nlink == 0);
        // The inode of an attribute is synchronous while it is created (`create_xattr`).
        let sync = self.inode(dir).is_dirsync() || !last_reference && (inode.is_sync() || xent);
        let key = if xent { self.xattr_key(dir, name) } else { self.entry_key(dir, name) };
        let entry = self.pack_entry(key, name, if deletion { 0 } else { ino }, itype);
        let mut group = NodeGroup::of([entry, self.pack_inode(ino), self.pack_inode(dir)]);
        self.make_reservation(clock, BASE_HEAD, group.length())?;
        self.prepare_group(clock, &mut group);
        if last_reference {
            self.add_orphan(clock, ino)?;
            self.inode_mut(ino).del_cmtno = self.cmt_no;
        }
        let written = self.write_update(clock, update, key, &group, sync);
        if written.is_err() && last_reference {
            self.delete_orphan(ino);
        }
        self.fail_on_error(written)?;
        self.mark_size_synced(ino);
        if xent {
            self.mark_size_synced(dir);
        }
        self.mark_inode_clean(ino);
        self.mark_inode_clean(dir);
        Ok(())
    }

    fn write_update(
        &mut self,
        clock: &mut Clock,
        update: &Update<'_>,
        key: Key,
        group: &NodeGroup,
        sync: bool,
    ) -> Result<(), Error> {
        let written = self.write_group(clock, group, sync, &[update.ino, update.dir])?;
        if update.deletion {
            self.tnc_remove_name(clock, key, update.name)?;
            self.add_dirt(clock, written.leb, written.length(0))?;
        } else {
            self.tnc_add_name(clock, written.branch(0, key), update.name)?;
        }
        self.tnc_add(clock, written.branch(1, Key::inode(update.ino)))?;
        self.tnc_add(clock, written.branch(2, Key::inode(update.dir)))
    }

    /// Moves an entry: the new one, the removal of the old one, the inode that is replaced, and the
    /// directories (`ubifs_jnl_rename`).
    pub(crate) fn jnl_rename(
        &mut self,
        clock: &mut Clock,
        rename: Rename<'_>,
        sync: bool,
    ) -> Result<(), Error> {
        let Rename { old_dir, new_dir, replaced, .. } = rename;
        let old_key = self.entry_key(old_dir, rename.old_name);
        let new_key = self.entry_key(new_dir, rename.new_name);
        let itype = self.inode(rename.ino).entry_type();
        let entry = self.pack_entry(new_key, rename.new_name, rename.ino, itype);
        let mut group = NodeGroup::of([entry, self.pack_entry(old_key, rename.old_name, 0, 0)]);
        let moved = Some(new_dir).filter(|&dir| dir != old_dir);
        for ino in replaced.into_iter().chain([old_dir]).chain(moved) {
            group.nodes.push(self.pack_inode(ino));
        }
        let group_length = group.length();
        self.make_reservation(clock, BASE_HEAD, group_length)?;
        self.prepare_group(clock, &mut group);
        let orphan = replaced.filter(|&ino| self.inode(ino).nlink == 0);
        if let Some(ino) = orphan {
            self.add_orphan(clock, ino)?;
            self.inode_mut(ino).del_cmtno = self.cmt_no;
        }
        let written = self.write_rename(clock, rename, (old_key, new_key), &group, sync);
        if let (Err(_), Some(ino)) = (&written, orphan) {
            self.delete_orphan(ino);
        }
        self.fail_on_error(written)?;
        if let Some(ino) = replaced {
            self.mark_inode_clean(ino);
            self.mark_size_synced(ino);
        }
        for ino in [old_dir].into_iter().chain(moved) {
            self.mark_inode_clean(ino);
        }
        Ok(())
    }

    fn write_rename(
        &mut self,
        clock: &mut Clock,
        rename: Rename<'_>,
        (old_key, new_key): (Key, Key),
        group: &NodeGroup,
        sync: bool,
    ) -> Result<(), Error> {
        let Rename { old_dir, new_dir, replaced, .. } = rename;
        let inodes: Vec<u32> = [new_dir, old_dir].into_iter().chain(replaced).collect();
        let written = self.write_group(clock, group, sync, &inodes)?;
        self.tnc_add_name(clock, written.branch(0, new_key), rename.new_name)?;
        self.add_dirt(clock, written.leb, written.length(1))?;
        self.tnc_remove_name(clock, old_key, rename.old_name)?;
        let moved = Some(new_dir).filter(|&dir| dir != old_dir);
        let inodes = replaced.into_iter().chain([old_dir]).chain(moved);
        for (index, ino) in inodes.enumerate() {
            self.tnc_add(clock, written.branch(2 + index, Key::inode(ino)))?;
        }
        Ok(())
    }
}
