//! Extended attributes: each is an entry of its host, and an inode whose data are the value.
//!
//! Layer: rank 5. Source: Linux 6.1, `fs/ubifs/xattr.c`. The inodes of attributes stay in memory as
//! long as their host, since the cache above does not know them. Left out: security labels of new
//! inodes (no security module is modelled).

use crate::budget::BudgetRequest;
use crate::dir::entry_size;
use crate::format::dirent::NAME_MAX;
use crate::format::inode::{DATA_MAX, SIZE, flag};
use crate::format::key::Key;
use crate::inode::{Template, XATTR_LIST_MAX};
use crate::journal::Update;
use crate::{Error, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::{Errno, Kind};

/// The attribute of encrypted files, which is not listed.
const ENCRYPTION_CONTEXT: &[u8] = b"c";
/// The kinds of attributes that there are.
const PREFIXES: [&[u8]; 3] = [b"user.", b"trusted.", b"security."];
/// The bit of a mode by which new inodes get the group of their parent.
const SET_GROUP_ID: u32 = 0o2000;

/// What a value adds to the size of all attributes (`CALC_XATTR_BYTES`).
pub(crate) fn value_size(length: usize) -> u32 {
    let bytes = (SIZE + length + 1).next_multiple_of(8);
    u32::try_from(bytes).expect("a value has at most 4,096 bytes")
}

/// Whether the name is of a kind that UBIFS has (`xattr_resolve_name`), and not too long.
pub(crate) fn check_name(name: &[u8]) -> Result<(), Error> {
    let prefix = PREFIXES.into_iter().find(|prefix| name.starts_with(prefix));
    match prefix {
        None => Err(Errno::OpNotSupp.into()),
        Some(prefix) if prefix.len() == name.len() => Err(Errno::Inval.into()),
        Some(_) if name.len() > NAME_MAX => Err(Errno::NameTooLong.into()),
        Some(_) => Ok(()),
    }
}

impl<L: Lebs> Volume<L> {
    /// The inode of an attribute, which an entry refers to (`iget_xattr`).
    pub(crate) fn iget_xattr(&mut self, clock: &mut Clock, inum: u64) -> Result<u32, Error> {
        let missing = Error::of_inode(u32::MAX);
        let ino = u32::try_from(inum).map_err(|_| missing)?;
        let inode = self.iget(clock, ino)?;
        if inode.xattr { Ok(ino) } else { Err(Error::of_inode(ino)) }
    }

    /// The inode with the value of an attribute.
    fn find_xattr(
        &mut self,
        clock: &mut Clock,
        host: u32,
        name: &[u8],
    ) -> Result<Option<u32>, Error> {
        self.iget(clock, host)?;
        let key = self.xattr_key(host, name);
        let Some(entry) = self.tnc_lookup_name(clock, key, name)? else { return Ok(None) };
        let ino = self.iget_xattr(clock, entry.inum)?;
        self.inode_mut(ino).host = Some(host);
        Ok(Some(ino))
    }

    /// The value of an attribute (`ubifs_xattr_get`).
    ///
    /// # Errors
    /// EOPNOTSUPP, EINVAL, ENAMETOOLONG for names; ENODATA; any of the volume.
    pub(crate) fn do_getxattr(
        &mut self,
        clock: &mut Clock,
        host: u32,
        name: &[u8],
    ) -> Result<Vec<u8>, Error> {
        check_name(name)?;
        let ino = self.find_xattr(clock, host, name)?.ok_or(Errno::NoData)?;
        Ok(self.inode(ino).data.clone())
    }

    /// The names of all attributes in the order of their keys (`ubifs_listxattr`).
    pub(crate) fn do_listxattr(
        &mut self,
        clock: &mut Clock,
        host: u32,
    ) -> Result<Vec<Vec<u8>>, Error> {
        self.iget(clock, host)?;
        let mut names = Vec::new();
        let mut next = self.tnc_next_entry(clock, Key::xattr(host, 0), None)?;
        while let Some(entry) = next {
            next = self.tnc_next_entry(clock, entry.key, Some(&entry.name))?;
            if entry.name != ENCRYPTION_CONTEXT {
                names.push(entry.name);
            }
        }
        Ok(names)
    }

    /// Sets an attribute (`ubifs_xattr_set`), or removes it (`ubifs_xattr_remove`).
    ///
    /// # Errors
    /// EOPNOTSUPP, EINVAL, ENAMETOOLONG for names; ERANGE for a value of more than 4,096 bytes;
    /// ENODATA; ENOSPC, also for too many attributes or too long names; any of the volume.
    pub(crate) fn do_setxattr(
        &mut self,
        clock: &mut Clock,
        host: u32,
        name: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        check_name(name)?;
        if value.is_some_and(|value| value.len() > DATA_MAX) {
            return Err(Errno::Range.into());
        }
        let found = self.find_xattr(clock, host, name)?;
        match (found, value) {
            (None, None) => Err(Errno::NoData.into()),
            (None, Some(value)) => self.create_xattr(clock, host, name, value),
            (Some(ino), Some(value)) => self.change_xattr(clock, host, ino, value),
            (Some(ino), None) => {
                self.remove_xattr(clock, host, ino, name)?;
                self.finish_deletion(ino);
                self.inodes.remove(&ino);
                Ok(())
            }
        }
    }

    /// Adds an attribute (`create_xattr`).
    fn create_xattr(
        &mut self,
        clock: &mut Clock,
        host: u32,
        name: &[u8],
        value: &[u8],
    ) -> Result<(), Error> {
        let inode = self.inode(host);
        let length = u32::try_from(value.len()).expect("at most 4,096 bytes");
        let names = u64::from(inode.xattr_names) + u64::from(inode.xattr_cnt);
        let added = u64::try_from(name.len() + 1).expect("at most 256");
        if inode.xattr_cnt >= self.xattr_count_max() || names + added > XATTR_LIST_MAX {
            return Err(Errno::NoSpc.into());
        }
        let mut request = BudgetRequest {
            new_ino: 1,
            new_dent: 1,
            new_ino_d: length.next_multiple_of(8),
            dirtied_ino: 1,
            dirtied_ino_d: inode.data_budget(),
            ..Default::default()
        };
        let gid = if inode.mode & SET_GROUP_ID != 0 { inode.gid } else { 0 };
        self.budget_space(clock, &mut request)?;
        let mode = Kind::File.mode_bits() | 0o777;
        let template = Template { mode, uid: 0, gid, data: value.to_vec() };
        let created = self.new_inode(clock, host, template);
        let result = created.and_then(|ino| self.add_xattr(clock, host, ino, name));
        self.release_budget(&mut request);
        result
    }

    fn add_xattr(
        &mut self,
        clock: &mut Clock,
        host: u32,
        ino: u32,
        name: &[u8],
    ) -> Result<(), Error> {
        let now = self.current_time(clock);
        let inode = self.inode_mut(ino);
        inode.xattr = true;
        inode.host = Some(host);
        inode.flags |= flag::XATTR;
        let bytes = entry_size(name) + value_size(inode.data.len());
        let before = self.inode(host).clone();
        let inode = self.inode_mut(host);
        inode.changed = now;
        inode.xattr_cnt += 1;
        inode.xattr_size = inode.xattr_size.wrapping_add(bytes);
        inode.xattr_names += name_length(name);
        let update = Update { dir: host, name, ino, deletion: false, xent: true };
        let added = self.jnl_update(clock, &update);
        if added.is_err() {
            let inode = self.inode_mut(host);
            inode.xattr_cnt = before.xattr_cnt;
            inode.xattr_size = before.xattr_size;
            inode.xattr_names = before.xattr_names;
            self.inodes.remove(&ino);
        }
        added
    }

    /// Changes the value of an attribute (`change_xattr`).
    fn change_xattr(
        &mut self,
        clock: &mut Clock,
        host: u32,
        ino: u32,
        value: &[u8],
    ) -> Result<(), Error> {
        let length = u32::try_from(value.len()).expect("at most 4,096 bytes");
        let dirtied_ino_d = length.next_multiple_of(8) + self.inode(host).data_budget();
        let mut request = BudgetRequest { dirtied_ino: 2, dirtied_ino_d, ..Default::default() };
        self.budget_space(clock, &mut request)?;
        let now = self.current_time(clock);
        let inode = self.inode_mut(ino);
        let old = value_size(inode.data.len());
        inode.data = value.to_vec();
        (inode.size, inode.ui_size) = (u64::from(length), u64::from(length));
        let inode = self.inode_mut(host);
        inode.changed = now;
        let before = inode.xattr_size;
        inode.xattr_size = before.wrapping_sub(old).wrapping_add(value_size(value.len()));
        let changed = self.jnl_change_xattr(clock, host, ino);
        if changed.is_err() {
            self.inode_mut(host).xattr_size = before;
            self.inodes.remove(&ino);
        }
        self.release_budget(&mut request);
        changed
    }

    /// Removes an attribute (`remove_xattr`).
    fn remove_xattr(
        &mut self,
        clock: &mut Clock,
        host: u32,
        ino: u32,
        name: &[u8],
    ) -> Result<(), Error> {
        let dirtied_ino_d = self.inode(host).data_budget();
        let mut request =
            BudgetRequest { dirtied_ino: 2, mod_dent: true, dirtied_ino_d, ..Default::default() };
        self.budget_space(clock, &mut request)?;
        let now = self.current_time(clock);
        let inode = self.inode_mut(ino);
        inode.nlink = 0;
        let bytes = entry_size(name) + value_size(inode.data.len());
        let before = self.inode(host).clone();
        let inode = self.inode_mut(host);
        inode.changed = now;
        // An image may say anything about its attributes.
        inode.xattr_cnt = inode.xattr_cnt.wrapping_sub(1);
        inode.xattr_size = inode.xattr_size.wrapping_sub(bytes);
        inode.xattr_names = inode.xattr_names.wrapping_sub(name_length(name));
        let removed = self.jnl_delete_xattr(clock, host, ino, name);
        if removed.is_err() {
            let inode = self.inode_mut(host);
            inode.xattr_cnt = before.xattr_cnt;
            inode.xattr_size = before.xattr_size;
            inode.xattr_names = before.xattr_names;
            self.inode_mut(ino).nlink = 1;
        }
        self.release_budget(&mut request);
        removed
    }

    /// Removes all attributes of an inode that has too many of them to be deleted at once
    /// (`ubifs_purge_xattrs`).
    pub(crate) fn purge_xattrs(&mut self, clock: &mut Clock, host: u32) -> Result<(), Error> {
        if self.inode(host).xattr_cnt <= self.xattr_count_max() {
            return Ok(());
        }
        let mut next = self.tnc_next_entry(clock, Key::xattr(host, 0), None)?;
        while let Some(entry) = next {
            let ino = match self.iget_xattr(clock, entry.inum) {
                Ok(ino) => ino,
                Err(error) => {
                    self.switch_to_read_only(&error);
                    return Err(error);
                }
            };
            self.remove_xattr(clock, host, ino, &entry.name)?;
            self.finish_deletion(ino);
            self.inodes.remove(&ino);
            next = self.tnc_next_entry(clock, entry.key, Some(&entry.name))?;
        }
        Ok(())
    }
}

fn name_length(name: &[u8]) -> u32 {
    u32::try_from(name.len()).expect("a name has at most 255 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_prefix_and_something_behind_it() {
        assert_eq!(check_name(b"user.a"), Ok(()));
        assert_eq!(check_name(b"trusted.a"), Ok(()));
        assert_eq!(check_name(b"security.capability"), Ok(()));
        assert_eq!(check_name(b"user."), Err(Errno::Inval.into()));
        assert_eq!(check_name(b"system.posix_acl_access"), Err(Errno::OpNotSupp.into()));
        let long = [&b"user."[..], &[b'x'; 251]].concat();
        assert_eq!(check_name(&long), Err(Errno::NameTooLong.into()));
    }

    #[test]
    fn sizes_are_those_of_the_nodes_with_a_nul() {
        assert_eq!([0, 7, 8].map(value_size), [168, 168, 176]);
        assert_eq!(entry_size(b"a"), 64);
        assert_eq!(entry_size(b"12345678"), 72);
    }
}
