//! Operations on directories.
//!
//! Layer: rank 5. The size of a directory is that of its inode node and of all its entries. A
//! directory has a link from its name, one from itself, and one from each directory in it. Deletions
//! go on when nothing can be budgeted: a LEB is kept for them.
//!
//! Source: Linux 6.1, `fs/ubifs/dir.c`. Left out: encrypted names, whiteouts and the exchange of two
//! names (`renameat2`).

use crate::budget::BudgetRequest;
use crate::format::dirent::{Dirent, NAME_MAX, SIZE};
use crate::format::inode::DATA_MAX;
use crate::format::key::{Key, r5, test_hash};
use crate::format::superblock::Superblock;
use crate::inode::{Template, encode_device};
use crate::journal::{Rename, Update};
use crate::{Error, Lebs, Volume};
use boardlab_sim::{Clock, Seed};
use boardlab_vfs::{Entry, Errno, Ino, Kind, NewInode, Timestamp};

/// The name under which a file without a name is written as removed. `d_tmpfile` has by then changed
/// the name that was looked up, "/", into "#" and the number of the inode, of which one byte counts.
const TMPFILE_NAME: &[u8] = b"#";

/// What an entry adds to the size of its directory (`CALC_DENT_SIZE`).
pub(crate) fn entry_size(name: &[u8]) -> u32 {
    let bytes = SIZE + name.len() + 1;
    u32::try_from(bytes.next_multiple_of(8)).expect("a name has at most 255 bytes")
}

/// The type byte of the page cache's entries (`vfs_dent_type`); 0 for an unknown kind.
const fn dirent_type(itype: u8) -> u8 {
    match itype {
        0 => Kind::File.dirent_type(),
        1 => Kind::Directory.dirent_type(),
        2 => Kind::Symlink.dirent_type(),
        3 => 6,
        4 => 2,
        5 => Kind::Fifo.dirent_type(),
        6 => Kind::Socket.dirent_type(),
        _ => 0,
    }
}

impl<L: Lebs> Volume<L> {
    fn name_hash(&self, name: &[u8]) -> u32 {
        if self.sb.test_hash { test_hash(name) } else { r5(name) }
    }

    /// The key of a name in a directory.
    pub(crate) fn entry_key(&self, dir: u32, name: &[u8]) -> Key {
        Key::dirent(dir, self.name_hash(name))
    }

    /// The key of an attribute's name.
    pub(crate) fn xattr_key(&self, host: u32, name: &[u8]) -> Key {
        Key::xattr(host, self.name_hash(name))
    }

    /// The second hash of a new entry (`set_dent_cookie`): random, where the format wants one.
    pub(crate) fn new_cookie(&self) -> u32 {
        if self.sb.flags & Superblock::DOUBLE_HASH == 0 {
            return 0;
        }
        let seed = Seed::new(self.options.seed.get() ^ self.max_sqnum);
        let word = seed.stream("cookie").next_u64() >> 32;
        u32::try_from(word).expect("half of the bits")
    }

    /// Finds a name (`ubifs_lookup`). An entry whose inode is missing, damaged, or the value of an
    /// attribute, makes the filesystem read-only.
    ///
    /// # Errors
    /// ENAMETOOLONG, ENOENT, a damaged inode, any of the volume.
    pub(crate) fn do_lookup(
        &mut self,
        clock: &mut Clock,
        dir: u32,
        name: &[u8],
    ) -> Result<u32, Error> {
        let ino = self.find_entry(clock, dir, name)?;
        let found = match self.iget(clock, ino) {
            Ok(inode) if inode.xattr => Err(Error::of_inode(ino)),
            Ok(_) => Ok(ino),
            Err(error) => Err(error),
        };
        found.inspect_err(|error| self.switch_to_read_only(error))
    }

    fn find_entry(&mut self, clock: &mut Clock, dir: u32, name: &[u8]) -> Result<u32, Error> {
        if !self.iget(clock, dir)?.is_dir() {
            return Err(Errno::NotDir.into());
        }
        if name.len() > NAME_MAX {
            return Err(Errno::NameTooLong.into());
        }
        let key = self.entry_key(dir, name);
        let entry = self.tnc_lookup_name(clock, key, name)?.ok_or(Errno::NoEnt)?;
        u32::try_from(entry.inum).map_err(|_| Errno::NoEnt.into())
    }

    /// All entries in the order of their keys (`ubifs_readdir`).
    pub(crate) fn do_readdir(&mut self, clock: &mut Clock, dir: u32) -> Result<Vec<Entry>, Error> {
        if !self.iget(clock, dir)?.is_dir() {
            return Err(Errno::NotDir.into());
        }
        let mut entries = Vec::new();
        let mut next = self.tnc_next_entry(clock, Key::dirent(dir, 0), None)?;
        while let Some(Dirent { key, inum, itype, name, .. }) = next {
            next = self.tnc_next_entry(clock, key, Some(&name))?;
            entries.push(Entry { name, ino: Ino(inum), kind: dirent_type(itype) });
        }
        Ok(entries)
    }

    /// Whether a directory has no entries (`ubifs_check_dir_empty`).
    fn check_empty(&mut self, clock: &mut Clock, dir: u32) -> Result<(), Error> {
        match self.tnc_next_entry(clock, Key::dirent(dir, 0), None)? {
            Some(_) => Err(Errno::NotEmpty.into()),
            None => Ok(()),
        }
    }

    /// Creates an inode of any kind (`ubifs_create`, `ubifs_mkdir`, `ubifs_mknod`, `ubifs_symlink`).
    ///
    /// # Errors
    /// ENAMETOOLONG for a target of 4,096 bytes and more; EEXIST, ENOTDIR, ENOSPC; any of the volume.
    pub(crate) fn do_create(
        &mut self,
        clock: &mut Clock,
        dir: u32,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Result<u32, Error> {
        self.check_new_name(clock, dir, name)?;
        let template = template_of(new)?;
        let data = u32::try_from(template.data.len()).expect("at most 4,096 bytes");
        let mut request = BudgetRequest {
            new_ino: 1,
            new_dent: 1,
            dirtied_ino: 1,
            new_ino_d: data.next_multiple_of(8),
            ..Default::default()
        };
        self.budget_space(clock, &mut request)?;
        let created = self.new_inode(clock, dir, template);
        let added = created.and_then(|ino| self.add_entry(clock, dir, name, ino).map(|()| ino));
        self.release_budget(&mut request);
        added
    }

    /// Checks the directory and the name of a new entry. The cache above has looked the name up before,
    /// so that this reads nothing.
    fn check_new_name(&mut self, clock: &mut Clock, dir: u32, name: &[u8]) -> Result<(), Error> {
        if !self.iget(clock, dir)?.is_dir() {
            return Err(Errno::NotDir.into());
        }
        if name.len() > NAME_MAX {
            return Err(Errno::NameTooLong.into());
        }
        let key = self.entry_key(dir, name);
        if self.tnc_lookup_name(clock, key, name)?.is_some() {
            return Err(Errno::Exist.into());
        }
        Ok(())
    }

    /// Adds the entry of a new inode, or forgets the inode.
    fn add_entry(
        &mut self,
        clock: &mut Clock,
        dir: u32,
        name: &[u8],
        ino: u32,
    ) -> Result<(), Error> {
        let inode = self.inode_mut(ino);
        let (is_dir, now) = (inode.is_dir(), inode.changed);
        if is_dir {
            inode.nlink = 2;
            let parent = self.inode_mut(dir);
            parent.nlink = parent.nlink.saturating_add(1);
        }
        let parent = self.inode_mut(dir);
        parent.size += u64::from(entry_size(name));
        parent.ui_size = parent.size;
        (parent.modified, parent.changed) = (now, now);
        let update = Update { dir, name, ino, deletion: false, xent: false };
        let added = self.jnl_update(clock, &update);
        if added.is_err() {
            let parent = self.inode_mut(dir);
            parent.size -= u64::from(entry_size(name));
            parent.ui_size = parent.size;
            parent.nlink -= u32::from(is_dir);
            self.inodes.remove(&ino);
        }
        added
    }

    /// Creates a file without a name (`ubifs_tmpfile`). It is an orphan until it gets one.
    pub(crate) fn do_tmpfile(
        &mut self,
        clock: &mut Clock,
        dir: u32,
        new: &NewInode<'_>,
    ) -> Result<u32, Error> {
        self.iget(clock, dir)?;
        let template = template_of(new)?;
        let mut request =
            BudgetRequest { new_ino: 1, new_dent: 1, dirtied_ino: 1, ..Default::default() };
        let mut inode_request = BudgetRequest { dirtied_ino: 1, ..Default::default() };
        self.budget_twice(clock, &mut request, &mut inode_request)?;
        let ino = match self.new_inode(clock, dir, template) {
            Ok(ino) => ino,
            Err(error) => {
                self.release_budget(&mut request);
                self.release_budget(&mut inode_request);
                return Err(error);
            }
        };
        self.inode_mut(ino).nlink = 0;
        self.mark_inode_dirty(ino);
        let update = Update { dir, name: TMPFILE_NAME, ino, deletion: true, xent: false };
        let written = self.jnl_update(clock, &update);
        self.release_budget(&mut request);
        if written.is_err() {
            self.mark_inode_clean(ino);
            self.inodes.remove(&ino);
        }
        written.map(|()| ino)
    }

    /// Adds a name to an inode (`ubifs_link`).
    ///
    /// # Errors
    /// EPERM for a directory, ENOSPC, any of the volume.
    pub(crate) fn do_link(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        dir: u32,
        name: &[u8],
    ) -> Result<(), Error> {
        self.check_new_name(clock, dir, name)?;
        let inode = self.iget(clock, ino)?;
        if inode.is_dir() {
            return Err(Errno::Perm.into());
        }
        if inode.nlink == u32::MAX {
            return Err(Errno::MLink.into());
        }
        let dirtied_ino_d = inode.data_budget();
        let mut request =
            BudgetRequest { new_dent: 1, dirtied_ino: 2, dirtied_ino_d, ..Default::default() };
        self.budget_space(clock, &mut request)?;
        let now = self.current_time(clock);
        let was_orphan = self.inode(ino).nlink == 0;
        if was_orphan {
            self.delete_orphan(ino);
        }
        let inode = self.inode_mut(ino);
        inode.nlink += 1;
        inode.changed = now;
        let parent = self.inode_mut(dir);
        parent.size += u64::from(entry_size(name));
        parent.ui_size = parent.size;
        (parent.modified, parent.changed) = (now, now);
        let update = Update { dir, name, ino, deletion: false, xent: false };
        let added = self.jnl_update(clock, &update);
        if added.is_err() {
            let parent = self.inode_mut(dir);
            parent.size -= u64::from(entry_size(name));
            parent.ui_size = parent.size;
            self.inode_mut(ino).nlink -= 1;
            if was_orphan {
                self.add_orphan(clock, ino).or_else(Error::unless_power_cut)?;
            }
        }
        self.release_budget(&mut request);
        added
    }

    /// Removes a name (`ubifs_unlink`), or an empty directory (`ubifs_rmdir`).
    ///
    /// # Errors
    /// ENOENT, EISDIR, ENOTDIR, ENOTEMPTY, any of the volume.
    pub(crate) fn do_unlink(
        &mut self,
        clock: &mut Clock,
        dir: u32,
        name: &[u8],
        directory: bool,
    ) -> Result<(), Error> {
        let ino = self.do_lookup(clock, dir, name)?;
        match (self.inode(ino).is_dir(), directory) {
            (true, false) => return Err(Errno::IsDir.into()),
            (false, true) => return Err(Errno::NotDir.into()),
            (true, true) => self.check_empty(clock, ino)?,
            (false, false) => {}
        }
        self.purge_xattrs(clock, ino)?;
        let mut request = BudgetRequest { mod_dent: true, dirtied_ino: 2, ..Default::default() };
        let budgeted = self.try_budget(clock, &mut request)?;
        let removed = self.remove_entry(clock, dir, name, ino);
        if budgeted {
            self.release_budget(&mut request);
        } else if removed.is_ok() {
            self.bi.clear_no_space();
        }
        removed
    }

    /// Budgets an operation that can do without; false when there is no space.
    pub(crate) fn try_budget(
        &mut self,
        clock: &mut Clock,
        request: &mut BudgetRequest,
    ) -> Result<bool, Error> {
        match self.budget_space(clock, request) {
            Ok(()) => Ok(true),
            Err(Error::Refused(Errno::NoSpc)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn remove_entry(
        &mut self,
        clock: &mut Clock,
        dir: u32,
        name: &[u8],
        ino: u32,
    ) -> Result<(), Error> {
        let now = self.current_time(clock);
        let inode = self.inode_mut(ino);
        let (is_dir, links) = (inode.is_dir(), inode.nlink);
        inode.nlink = if is_dir { 0 } else { links.saturating_sub(1) };
        inode.changed = now;
        let parent = self.inode_mut(dir);
        let (parent_links, parent_size) = (parent.nlink, parent.size);
        parent.nlink = parent_links.saturating_sub(u32::from(is_dir));
        parent.size = parent_size.saturating_sub(u64::from(entry_size(name)));
        parent.ui_size = parent.size;
        (parent.modified, parent.changed) = (now, now);
        let update = Update { dir, name, ino, deletion: true, xent: false };
        let removed = self.jnl_update(clock, &update);
        if removed.is_err() {
            let parent = self.inode_mut(dir);
            (parent.nlink, parent.size, parent.ui_size) = (parent_links, parent_size, parent_size);
            self.inode_mut(ino).nlink = links;
        }
        removed
    }

    /// Renames, and replaces what has the new name (`do_rename`).
    ///
    /// # Errors
    /// ENOENT, EISDIR, ENOTDIR, ENOTEMPTY, ENOSPC, any of the volume.
    pub(crate) fn do_rename(
        &mut self,
        clock: &mut Clock,
        old: (u32, &[u8]),
        new: (u32, &[u8]),
    ) -> Result<(), Error> {
        let Some(rename) = self.plan_rename(clock, old, new)? else { return Ok(()) };
        let Rename { ino, replaced, .. } = rename;
        let dirtied_ino_d = replaced.map_or(0, |ino| self.inode(ino).data_budget());
        let mut request = BudgetRequest {
            new_dent: 1,
            mod_dent: true,
            dirtied_ino: 3,
            dirtied_ino_d,
            ..Default::default()
        };
        let dirtied_ino_d = self.inode(ino).data_budget();
        let mut inode_request =
            BudgetRequest { dirtied_ino: 1, dirtied_ino_d, ..Default::default() };
        self.budget_twice(clock, &mut request, &mut inode_request)?;
        let now = self.current_time(clock);
        self.inode_mut(ino).changed = now;
        let saved = self.change_parents(rename, now);
        let renamed = self.jnl_rename(clock, rename, self.rename_is_sync(rename));
        if let Err(error) = renamed {
            for (ino, nlink, size) in saved {
                let inode = self.inode_mut(ino);
                (inode.nlink, inode.size, inode.ui_size) = (nlink, size, size);
            }
            self.release_budget(&mut inode_request);
            self.release_budget(&mut request);
            return Err(error);
        }
        self.release_budget(&mut request);
        if self.mark_inode_dirty(ino) {
            self.release_budget(&mut inode_request);
        }
        if self.inode(ino).is_sync() {
            self.write_inode(clock, ino).or_else(Error::unless_power_cut)?;
        }
        Ok(())
    }

    /// Looks the names of a rename up; `None` if both are the same inode.
    fn plan_rename<'a>(
        &mut self,
        clock: &mut Clock,
        (old_dir, old_name): (u32, &'a [u8]),
        (new_dir, new_name): (u32, &'a [u8]),
    ) -> Result<Option<Rename<'a>>, Error> {
        let ino = self.do_lookup(clock, old_dir, old_name)?;
        let replaced = match self.do_lookup(clock, new_dir, new_name) {
            Ok(found) if found == ino => return Ok(None),
            Ok(found) => Some(found),
            Err(Error::Refused(Errno::NoEnt)) => None,
            Err(error) => return Err(error),
        };
        if let Some(target) = replaced {
            let is_dir = self.inode(ino).is_dir();
            match (is_dir, self.inode(target).is_dir()) {
                (false, true) => return Err(Errno::IsDir.into()),
                (true, false) => return Err(Errno::NotDir.into()),
                _ => {}
            }
            self.purge_xattrs(clock, target)?;
            if is_dir {
                self.check_empty(clock, target)?;
            }
        }
        Ok(Some(Rename { old_dir, old_name, ino, new_dir, new_name, replaced }))
    }

    /// Changes links, sizes and times of the directories of a rename and of what it replaces. Returns
    /// the inodes with their links and sizes before.
    fn change_parents(&mut self, rename: Rename<'_>, now: Timestamp) -> Vec<(u32, u32, u64)> {
        let Rename { old_dir, new_dir, ino, replaced, .. } = rename;
        let is_dir = self.inode(ino).is_dir();
        let moves = old_dir != new_dir;
        let changed = [old_dir, new_dir].into_iter().chain(replaced);
        let saved = changed.map(|ino| (ino, self.inode(ino).nlink, self.inode(ino).size)).collect();
        let parent = self.inode_mut(old_dir);
        // A directory that replaces another one takes its link, wherever it comes from.
        let loses = is_dir && (moves || replaced.is_some());
        parent.nlink = parent.nlink.saturating_sub(u32::from(loses));
        parent.size = parent.size.saturating_sub(u64::from(entry_size(rename.old_name)));
        parent.ui_size = parent.size;
        (parent.modified, parent.changed) = (now, now);
        let parent = self.inode_mut(new_dir);
        (parent.modified, parent.changed) = (now, now);
        if let Some(target) = replaced {
            let inode = self.inode_mut(target);
            inode.nlink = if is_dir { 0 } else { inode.nlink.saturating_sub(1) };
            inode.changed = now;
        } else {
            parent.nlink = parent.nlink.saturating_add(u32::from(is_dir && moves));
            parent.size += u64::from(entry_size(rename.new_name));
            parent.ui_size = parent.size;
        }
        saved
    }

    /// Whether a rename is written out at once. As in Linux that takes a synchronous inode.
    fn rename_is_sync(&self, rename: Rename<'_>) -> bool {
        let dirsync = |ino| self.inode(ino).is_dirsync();
        let replaced = rename.replaced.is_some_and(|ino| self.inode(ino).is_sync());
        self.inode(rename.ino).is_sync()
            && (dirsync(rename.old_dir) || dirsync(rename.new_dir) || replaced)
    }
}

/// Mode, owner and data of an inode to create.
fn template_of(new: &NewInode<'_>) -> Result<Template, Error> {
    let data = match new.kind {
        Kind::Symlink if new.target.len() + 1 > DATA_MAX => {
            return Err(Errno::NameTooLong.into());
        }
        Kind::Symlink => new.target.to_vec(),
        Kind::Character(device) | Kind::Block(device) => encode_device(device),
        _ => Vec::new(),
    };
    let mode = new.kind.mode_bits() | if new.kind == Kind::Symlink { 0o777 } else { new.mode };
    Ok(Template { mode, uid: new.uid, gid: new.gid, data })
}
