//! The run under test: a seeded mixture of everything that a program can do to a filesystem.
//!
//! Layer: rank 6. Main type: [`Runner`]. Before an action begins, the shadow learns its possible
//! results. When the filesystem refuses an action half-way (no space), the shadow adopts the
//! present state. A directory with two names is neither moved nor removed: kernels prevent that
//! case. Files and directories are chosen so that the data stay at about `live` bytes: on a
//! slightly larger device, garbage collection works all the time.

use super::shadow::{Body, Id, Name, Object, Owner, ROOT, Shadow, owner};
use boardlab_sim::{Clock, Stream};
use boardlab_vfs::{Errno, Error, FileSystem, Kind, NewInode, PAGE_SIZE, SetAttr};
use std::ops::Range;

/// The kinds of action, chosen by weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Create,
    Mkdir,
    Symlink,
    Link,
    Rename,
    Remove,
    Write,
    Truncate,
    Chmod,
    Xattr,
    Fsync,
    Sync,
    Background,
}

/// The weights; most actions are writes, as in practice.
const WEIGHTS: [(Action, u64); 13] = [
    (Action::Create, 12),
    (Action::Mkdir, 2),
    (Action::Symlink, 2),
    (Action::Link, 3),
    (Action::Rename, 6),
    (Action::Remove, 8),
    (Action::Write, 46),
    (Action::Truncate, 5),
    (Action::Chmod, 3),
    (Action::Xattr, 4),
    (Action::Fsync, 4),
    (Action::Sync, 2),
    (Action::Background, 3),
];

/// The size limit of a file, in pages.
const PAGES_MAX: u64 = 12;

/// What an action made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    Nothing,
    File(Id),
    All,
}

/// Runs actions on a filesystem and records them in the shadow.
pub(super) struct Runner {
    pub(super) fs: Box<dyn FileSystem>,
    pub(super) clock: Clock,
    pub(super) shadow: Shadow,
    pub(super) stream: Stream,
    /// The approximate amount of data in files.
    pub(super) live: u64,
    /// Whether the filesystem has extended attributes.
    pub(super) xattrs: bool,
}

/// A size or an offset as an index into a page.
fn index(value: u64) -> usize {
    usize::try_from(value).expect("within a page")
}

impl Runner {
    /// Runs one action and returns what it made durable. Refusals by the filesystem (no space, an
    /// existing name) are normal.
    ///
    /// # Errors
    /// Errors that an intact filesystem never returns: EIO and the like.
    pub(super) fn step(&mut self) -> Result<Durability, Error> {
        let full = self.shadow.bytes() > self.live;
        let action = if full && self.stream.chance(1, 2) { Action::Remove } else { self.choose() };
        let done = match action {
            Action::Create => self.make(Kind::File, &[]),
            Action::Mkdir => self.make(Kind::Directory, &[]),
            Action::Symlink => {
                let target = format!("../to/{}", self.stream.below(1_000)).into_bytes();
                self.make(Kind::Symlink, &target)
            }
            Action::Link => self.link(),
            Action::Rename => self.rename(),
            Action::Remove => self.remove(),
            Action::Write => self.write(),
            Action::Truncate => self.truncate(),
            Action::Chmod => self.chmod(),
            Action::Xattr if self.xattrs => self.change_xattr(),
            Action::Fsync => return self.fsync(),
            Action::Sync => return self.fs.sync(&mut self.clock).map(|()| Durability::All),
            Action::Background | Action::Xattr => self.fs.background(&mut self.clock).map(|_| ()),
        };
        match done {
            Err(Error::Refused(Errno::NoSpc | Errno::Exist | Errno::NotEmpty)) => {
                Ok(Durability::Nothing)
            }
            done => done.map(|()| Durability::Nothing),
        }
    }

    /// Creates a file that is durable before the first cut: some filesystems refuse a flash that
    /// contains only the remains of a cut.
    ///
    /// # Errors
    /// What the filesystem says.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        self.make(Kind::File, &[])?;
        self.write()?;
        self.fs.sync(&mut self.clock)?;
        self.shadow.sync();
        Ok(())
    }

    /// Records what a completed action made durable.
    pub(super) fn settle(&mut self, settled: Durability) {
        match settled {
            Durability::Nothing => {}
            Durability::All => self.shadow.sync(),
            Durability::File(id) => self.shadow.fsync(id),
        }
    }

    fn choose(&mut self) -> Action {
        let total = WEIGHTS.iter().map(|(_, weight)| weight).sum();
        let mut drawn = self.stream.below(total);
        for (action, weight) in WEIGHTS {
            if drawn < weight {
                return action;
            }
            drawn -= weight;
        }
        Action::Write
    }

    /// Draws a name in one of the directories; there are few, so that names recur.
    fn name(&mut self) -> Name {
        let is_directory = |object: &Object| object.body == Body::Directory;
        let dir = self.shadow.pick(&mut self.stream, is_directory).unwrap_or(ROOT);
        let long =
            if self.stream.chance(1, 16) { "-with-a-long-name".repeat(8) } else { String::new() };
        (dir, format!("n{}{long}", self.stream.below(24)).into_bytes())
    }

    fn file(&mut self) -> Option<Id> {
        self.shadow.pick(&mut self.stream, |object| object.body == Body::File)
    }

    fn ino(&mut self, id: Id) -> boardlab_vfs::Ino {
        self.shadow.object(id).ino
    }

    fn make(&mut self, kind: Kind, target: &[u8]) -> Result<(), Error> {
        let name = self.name();
        if self.shadow.target(&name).is_some() {
            return Ok(());
        }
        let dir = self.ino(name.0);
        let owner: Owner = match kind {
            Kind::Symlink => (0o777, 0, 0),
            _ => (0o600 + u32::from(self.stream.chance(1, 2)) * 0o055, 1_000, 100),
        };
        let body = match kind {
            Kind::Directory => Body::Directory,
            Kind::Symlink => Body::Symlink(target.to_vec()),
            _ => Body::File,
        };
        let id = self.shadow.add(Object::new(self.fs.root(), body, name.0, owner));
        self.shadow.put_name(name.clone(), Some(id));
        let new = NewInode { kind, mode: owner.0, uid: owner.1, gid: owner.2, target };
        match self.fs.create(&mut self.clock, dir, &name.1, &new) {
            Ok(ino) => {
                self.shadow.object(id).ino = ino;
                Ok(())
            }
            Err(error) => {
                self.shadow.put_name(name, None);
                Err(error)
            }
        }
    }

    fn link(&mut self) -> Result<(), Error> {
        let (Some(id), name) = (self.file(), self.name()) else { return Ok(()) };
        if self.shadow.target(&name).is_some() {
            return Ok(());
        }
        let (ino, dir) = (self.ino(id), self.ino(name.0));
        self.shadow.put_name(name.clone(), Some(id));
        let done = self.fs.link(&mut self.clock, ino, dir, &name.1);
        if done.is_err() {
            self.shadow.put_name(name, None);
        }
        done
    }

    fn rename(&mut self) -> Result<(), Error> {
        let Some((from, id)) = self.shadow.pick_name(&mut self.stream) else { return Ok(()) };
        let to = self.name();
        let replaced = self.shadow.target(&to);
        let directories = [Some(id), replaced].into_iter().flatten();
        let any_directory = directories.into_iter().any(|id| self.is_directory(id));
        if (any_directory && (replaced.is_some() || self.shadow.has_a_directory_twice()))
            || replaced == Some(id)
            || self.shadow.is_within(to.0, id)
        {
            return Ok(());
        }
        let (old_dir, new_dir) = (self.ino(from.0), self.ino(to.0));
        self.shadow.put_name(to.clone(), Some(id));
        self.shadow.put_name(from.clone(), None);
        match self.fs.rename(&mut self.clock, old_dir, &from.1, new_dir, &to.1) {
            Ok(()) => {
                self.shadow.object(id).parent = to.0;
                replaced.map_or(Ok(()), |gone| self.forget(gone))
            }
            Err(error) => {
                self.look_again(&from, &[Some(id)]);
                self.look_again(&to, &[Some(id), replaced]);
                Err(error)
            }
        }
    }

    /// Looks up a name after an action that was refused half-way.
    fn look_again(&mut self, name: &Name, candidates: &[Option<Id>]) {
        let dir = self.ino(name.0);
        let found = self.fs.lookup(&mut self.clock, dir, &name.1).ok();
        let is_it = |id: &Id| found == Some(self.shadow.objects[id].ino);
        let now = candidates.iter().flatten().copied().find(is_it);
        self.shadow.put_name(name.clone(), now);
    }

    fn is_directory(&mut self, id: Id) -> bool {
        self.shadow.object(id).body == Body::Directory
    }

    fn remove(&mut self) -> Result<(), Error> {
        let Some((name, id)) = self.shadow.pick_name(&mut self.stream) else { return Ok(()) };
        let dir = self.ino(name.0);
        if !self.is_directory(id) {
            self.shadow.put_name(name.clone(), None);
            return match self.fs.unlink(&mut self.clock, dir, &name.1) {
                Ok(()) => self.forget(id),
                Err(error) => {
                    self.shadow.put_name(name, Some(id));
                    Err(error)
                }
            };
        }
        let inhabited = self.shadow.live().any(|((parent, _), _)| *parent == id);
        if inhabited || self.shadow.has_a_directory_twice() {
            return Ok(());
        }
        self.shadow.put_name(name.clone(), None);
        match self.fs.rmdir(&mut self.clock, dir, &name.1) {
            Ok(()) => self.forget(id),
            Err(error) => {
                self.shadow.put_name(name, Some(id));
                Err(error)
            }
        }
    }

    fn forget(&mut self, id: Id) -> Result<(), Error> {
        if self.shadow.links(id) > 0 {
            return Ok(());
        }
        let ino = self.ino(id);
        self.fs.evict_inode(&mut self.clock, ino)
    }

    fn write(&mut self) -> Result<(), Error> {
        let Some(id) = self.file() else { return self.make(Kind::File, &[]) };
        let page_size = u64::try_from(PAGE_SIZE).expect("a page is small");
        let size = *self.shadow.object(id).size.now();
        // Mostly at the end, else anywhere, sometimes beyond the end.
        let start = match self.stream.below(4) {
            0 | 1 => size,
            2 => self.stream.below(size + 1),
            _ => self.stream.below(PAGES_MAX * page_size),
        };
        let longest = if self.stream.chance(1, 2) { 3 * page_size } else { 600 };
        let end = (start + 1 + self.stream.below(longest)).min(PAGES_MAX * page_size);
        let mut at = start;
        while at < end {
            let page = at / page_size;
            let stop = end.min((page + 1) * page_size);
            self.write_page(id, page, index(at % page_size)..index(stop - page * page_size))?;
            at = stop;
        }
        Ok(())
    }

    fn write_page(&mut self, id: Id, page: u64, changed: Range<usize>) -> Result<(), Error> {
        let mut data = vec![0; changed.len()];
        self.stream.fill(&mut data);
        if self.stream.chance(1, 3) {
            let same = data[0];
            data.fill(same);
        }
        let page_size = u64::try_from(PAGE_SIZE).expect("a page is small");
        let end = page * page_size + u64::try_from(changed.end).expect("within a page");
        let object = self.shadow.object(id);
        let (ino, before) = (object.ino, *object.size.now());
        let mut content = object.page(page);
        content[changed.clone()].copy_from_slice(&data);
        object.put_page(page, &content);
        object.put_size(before.max(end));
        let done = self.fs.write_page(&mut self.clock, ino, page, &content, changed);
        if matches!(done, Err(Error::Refused(_))) {
            self.read_again(id, page)?;
        }
        done
    }

    /// Reads a page after an action that was refused half-way.
    fn read_again(&mut self, id: Id, page: u64) -> Result<(), Error> {
        let ino = self.ino(id);
        let size = self.fs.getattr(&mut self.clock, ino)?.size;
        let mut content = vec![0; PAGE_SIZE];
        self.fs.read_page(&mut self.clock, ino, page, &mut content)?;
        let object = self.shadow.object(id);
        object.put_page(page, &content);
        object.put_size(size);
        Ok(())
    }

    fn truncate(&mut self) -> Result<(), Error> {
        let Some(id) = self.file() else { return Ok(()) };
        let page_size = u64::try_from(PAGE_SIZE).expect("a page is small");
        let size = self.stream.below(PAGES_MAX * page_size);
        let object = self.shadow.object(id);
        let (ino, before) = (object.ino, *object.size.now());
        let kept = object.page(size / page_size);
        object.put_size(size);
        let change = SetAttr { size: Some(size), ..SetAttr::default() };
        let done = self.fs.setattr(&mut self.clock, ino, &change);
        if done.is_err() {
            let object = self.shadow.object(id);
            object.put_page(size / page_size, &kept);
            object.put_size(before);
            self.read_all_again(id)?;
        }
        done
    }

    fn read_all_again(&mut self, id: Id) -> Result<(), Error> {
        (0..PAGES_MAX).try_for_each(|page| self.read_again(id, page))
    }

    fn chmod(&mut self) -> Result<(), Error> {
        let wanted = |object: &Object| !matches!(object.body, Body::Symlink(_));
        let Some(id) = self.shadow.pick(&mut self.stream, wanted) else { return Ok(()) };
        let mode = 0o400 + u32::try_from(self.stream.below(0o100)).expect("below 64");
        let (_, uid, gid) = *self.shadow.object(id).owner.now();
        let uid = uid + 1;
        self.shadow.object(id).owner.push((mode, uid, gid));
        let ino = self.ino(id);
        let change = SetAttr { mode: Some(mode), uid: Some(uid), ..SetAttr::default() };
        let done = self.fs.setattr(&mut self.clock, ino, &change);
        if done.is_err() {
            let now = self.fs.getattr(&mut self.clock, ino)?;
            self.shadow.object(id).owner.push(owner(&now));
        }
        done
    }

    fn change_xattr(&mut self) -> Result<(), Error> {
        let Some(id) = self.file() else { return Ok(()) };
        let name = format!("user.x{}", self.stream.below(3)).into_bytes();
        let mut value = vec![0; index(self.stream.below(200))];
        self.stream.fill(&mut value);
        let ino = self.ino(id);
        let none = || super::shadow::History::new(None);
        let history = self.shadow.object(id).xattrs.entry(name.clone()).or_insert_with(none);
        let there = history.now().is_some();
        let value = (!there || self.stream.chance(2, 3)).then_some(value);
        history.push(value.clone());
        let done = self.fs.setxattr(&mut self.clock, ino, &name, value.as_deref());
        if done.is_err() {
            let now = self.fs.getxattr(&mut self.clock, ino, &name).ok();
            let history = self.shadow.object(id).xattrs.entry(name).or_insert_with(none);
            history.push(now);
        }
        done
    }

    fn fsync(&mut self) -> Result<Durability, Error> {
        let Some(id) = self.file() else { return Ok(Durability::Nothing) };
        let ino = self.ino(id);
        self.fs.fsync(&mut self.clock, ino)?;
        Ok(Durability::File(id))
    }
}
