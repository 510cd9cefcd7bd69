//! A filesystem in memory: the reference for all others.
//!
//! Layer: rank 2. Main type: [`MemoryFs`]. It implements each rule in the plainest way: names in
//! ordered maps, content in pages that exist once written, link counts kept by hand. Nothing takes
//! time. The rules are those of POSIX as Linux 6.1 implements them (`fs/namei.c`, `fs/libfs.c`).
//! Where POSIX leaves a choice it follows JFFS2: a directory has size 0, and entries are listed in
//! an order of the filesystem's own (here by name).
//!
//! A clone shares every inode until one side changes it, so a history of states is cheap.
//!
//! Left out: permissions, and times of access (as mounted with `noatime`).

use crate::error::{Errno, Error};
use crate::filesystem::{Caching, FileSystem, PAGE_SIZE};
use crate::node::{Attributes, Entry, Ino, Kind, NewInode, SetAttr, StatFs, Timestamp, WallClock};
use boardlab_sim::Clock;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The size limit of a file: that of the page cache of a 32-bit kernel, a page less than 2^31 pages.
const SIZE_MAX: u64 = (1 << 31) * PAGE_SIZE_U64 - 1;

const PAGE_SIZE_U64: u64 = 4_096;

/// The limit of links to an inode; tmpfs and most others allow at least as many.
const LINKS_MAX: u32 = 65_000;

const ROOT: Ino = Ino(1);

/// A filesystem in memory.
///
/// ```
/// use boardlab_sim::Clock;
/// use boardlab_vfs::{FileSystem, Kind, MemoryFs, NewInode};
///
/// let (mut fs, mut clock) = (MemoryFs::new(), Clock::new());
/// let root = fs.root();
/// let ino = fs.create(&mut clock, root, b"file", &NewInode::of(Kind::File, 0o644))?;
/// assert_eq!(fs.lookup(&mut clock, root, b"file")?, ino);
/// # Ok::<(), boardlab_vfs::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MemoryFs {
    wall: WallClock,
    caching: Caching,
    capacity: Option<u64>,
    used: u64,
    next: u64,
    nodes: BTreeMap<Ino, Arc<Node>>,
}

#[derive(Debug, Clone)]
struct Node {
    attributes: Attributes,
    body: Body,
    xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
}

#[derive(Debug, Clone)]
enum Body {
    /// The pages that were written. Each is [`PAGE_SIZE`] long, and zero beyond the end of the file.
    File(BTreeMap<u64, Arc<[u8]>>),
    Directory(BTreeMap<Vec<u8>, Ino>),
    Symlink(Vec<u8>),
    Special,
}

impl Default for MemoryFs {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryFs {
    /// An empty filesystem without a size limit, whose calendar begins in 1970.
    #[must_use]
    pub fn new() -> Self {
        let mut fs = Self {
            wall: WallClock::default(),
            caching: Caching::WriteThrough,
            capacity: None,
            used: 0,
            next: ROOT.0,
            nodes: BTreeMap::new(),
        };
        fs.add(Timestamp::default(), &NewInode::of(Kind::Directory, 0o755));
        fs
    }

    /// This filesystem with another kind of caching.
    #[must_use]
    pub const fn with_caching(mut self, caching: Caching) -> Self {
        self.caching = caching;
        self
    }

    /// This filesystem with a capacity of `pages` pages of content; a further page is ENOSPC.
    #[must_use]
    pub const fn with_capacity(mut self, pages: u64) -> Self {
        self.capacity = Some(pages);
        self
    }

    /// The number of inodes, including the root and inodes without names.
    #[must_use]
    pub fn inodes(&self) -> usize {
        self.nodes.len()
    }

    fn node(&self, ino: Ino) -> Result<&Node, Error> {
        self.nodes.get(&ino).map(Arc::as_ref).ok_or_else(|| Errno::Stale.into())
    }

    fn node_mut(&mut self, ino: Ino) -> Result<&mut Node, Error> {
        self.nodes.get_mut(&ino).map(Arc::make_mut).ok_or_else(|| Errno::Stale.into())
    }

    fn entries(&self, dir: Ino) -> Result<&BTreeMap<Vec<u8>, Ino>, Error> {
        match &self.node(dir)?.body {
            Body::Directory(entries) => Ok(entries),
            _ => Err(Errno::NotDir.into()),
        }
    }

    /// Creates an inode without a name; a directory counts its own `.`.
    fn add(&mut self, now: Timestamp, new: &NewInode<'_>) -> Ino {
        let ino = Ino(self.next);
        self.next += 1;
        let (links, body) = match new.kind {
            Kind::Directory => (2, Body::Directory(BTreeMap::new())),
            Kind::File => (1, Body::File(BTreeMap::new())),
            Kind::Symlink => (1, Body::Symlink(new.target.to_vec())),
            _ => (1, Body::Special),
        };
        let attributes = Attributes {
            ino,
            kind: new.kind,
            mode: new.mode,
            links,
            uid: new.uid,
            gid: new.gid,
            size: new.target.len() as u64,
            accessed: now,
            modified: now,
            changed: now,
        };
        self.nodes.insert(ino, Arc::new(Node { attributes, body, xattrs: BTreeMap::new() }));
        ino
    }

    /// Adds a name to a directory, or removes it, and updates the directory's times and links.
    fn set_entry(
        &mut self,
        now: Timestamp,
        dir: Ino,
        name: &[u8],
        ino: Option<Ino>,
    ) -> Result<(), Error> {
        let is_dir = |fs: &Self, ino| fs.node(ino).is_ok_and(Node::is_directory);
        let old = self.entries(dir)?.get(name).copied();
        let (gone, came) =
            (old.filter(|&old| is_dir(self, old)), ino.filter(|&new| is_dir(self, new)));
        let node = self.node_mut(dir)?;
        let Body::Directory(entries) = &mut node.body else { return Err(Errno::NotDir.into()) };
        match ino {
            Some(ino) => entries.insert(name.to_vec(), ino),
            None => entries.remove(name),
        };
        node.attributes.links += u32::from(came.is_some());
        node.attributes.links -= u32::from(gone.is_some());
        (node.attributes.modified, node.attributes.changed) = (now, now);
        Ok(())
    }

    /// Removes one link of `ino`; a directory has none left then.
    fn drop_link(&mut self, now: Timestamp, ino: Ino) -> Result<(), Error> {
        let node = self.node_mut(ino)?;
        node.attributes.links = if node.is_directory() { 0 } else { node.attributes.links - 1 };
        node.attributes.changed = now;
        Ok(())
    }

    /// Checks whether a rename of `source` may replace `target`.
    fn replaceable(&self, source: Ino, target: Ino) -> Result<(), Error> {
        match (self.node(source)?.is_directory(), self.node(target)?.is_directory()) {
            (false, true) => Err(Errno::IsDir.into()),
            (true, false) => Err(Errno::NotDir.into()),
            (true, true) if !self.entries(target)?.is_empty() => Err(Errno::NotEmpty.into()),
            _ => Ok(()),
        }
    }

    fn resize(&mut self, ino: Ino, size: u64) -> Result<(), Error> {
        let node = self.node_mut(ino)?;
        let pages = match &mut node.body {
            Body::File(pages) if size <= SIZE_MAX => pages,
            Body::File(_) => return Err(Errno::FBig.into()),
            Body::Directory(_) => return Err(Errno::IsDir.into()),
            _ => return Err(Errno::Inval.into()),
        };
        let before = pages.len();
        pages.split_off(&size.div_ceil(PAGE_SIZE_U64));
        let removed = before - pages.len();
        let tail = usize::try_from(size % PAGE_SIZE_U64).expect("less than a page");
        if tail > 0
            && let Some(page) = pages.get_mut(&(size / PAGE_SIZE_U64))
        {
            Arc::make_mut(page)[tail..].fill(0);
        }
        node.attributes.size = size;
        self.used -= removed as u64;
        Ok(())
    }

    fn now(&self, clock: &Clock) -> Timestamp {
        self.wall.at(clock.now())
    }
}

impl Node {
    const fn is_directory(&self) -> bool {
        matches!(self.body, Body::Directory(_))
    }
}

impl FileSystem for MemoryFs {
    fn caching(&self) -> Caching {
        self.caching
    }

    fn root(&self) -> Ino {
        ROOT
    }

    fn lookup(&mut self, _clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<Ino, Error> {
        self.entries(dir)?.get(name).copied().ok_or_else(|| Errno::NoEnt.into())
    }

    fn getattr(&mut self, _clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
        self.node(ino).map(|node| node.attributes)
    }

    fn setattr(&mut self, clock: &mut Clock, ino: Ino, change: &SetAttr) -> Result<(), Error> {
        let now = self.now(clock);
        if let Some(size) = change.size {
            self.resize(ino, size)?;
        }
        let attributes = &mut self.node_mut(ino)?.attributes;
        if change.size.is_some() {
            attributes.modified = now;
        }
        attributes.mode = change.mode.unwrap_or(attributes.mode);
        attributes.uid = change.uid.unwrap_or(attributes.uid);
        attributes.gid = change.gid.unwrap_or(attributes.gid);
        attributes.accessed = change.accessed.unwrap_or(attributes.accessed);
        attributes.modified = change.modified.unwrap_or(attributes.modified);
        attributes.changed = now;
        Ok(())
    }

    fn create(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Result<Ino, Error> {
        if self.entries(dir)?.contains_key(name) {
            return Err(Errno::Exist.into());
        }
        let now = self.now(clock);
        let ino = self.add(now, new);
        self.set_entry(now, dir, name, Some(ino))?;
        Ok(ino)
    }

    fn link(&mut self, clock: &mut Clock, ino: Ino, dir: Ino, name: &[u8]) -> Result<(), Error> {
        if self.entries(dir)?.contains_key(name) {
            return Err(Errno::Exist.into());
        }
        let now = self.now(clock);
        let node = self.node_mut(ino)?;
        if node.is_directory() {
            return Err(Errno::Perm.into());
        }
        if node.attributes.links >= LINKS_MAX {
            return Err(Errno::MLink.into());
        }
        node.attributes.links += 1;
        node.attributes.changed = now;
        self.set_entry(now, dir, name, Some(ino))
    }

    fn unlink(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        let ino = self.lookup(clock, dir, name)?;
        if self.node(ino)?.is_directory() {
            return Err(Errno::IsDir.into());
        }
        let now = self.now(clock);
        self.set_entry(now, dir, name, None)?;
        self.drop_link(now, ino)
    }

    fn rmdir(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        let ino = self.lookup(clock, dir, name)?;
        if !self.entries(ino)?.is_empty() {
            return Err(Errno::NotEmpty.into());
        }
        let now = self.now(clock);
        self.set_entry(now, dir, name, None)?;
        self.drop_link(now, ino)
    }

    fn rename(
        &mut self,
        clock: &mut Clock,
        old_dir: Ino,
        old_name: &[u8],
        new_dir: Ino,
        new_name: &[u8],
    ) -> Result<(), Error> {
        let source = self.lookup(clock, old_dir, old_name)?;
        let target = self.entries(new_dir)?.get(new_name).copied();
        if target == Some(source) {
            return Ok(());
        }
        let now = self.now(clock);
        if let Some(target) = target {
            self.replaceable(source, target)?;
        }
        self.set_entry(now, new_dir, new_name, Some(source))?;
        self.set_entry(now, old_dir, old_name, None)?;
        self.node_mut(source)?.attributes.changed = now;
        target.map_or(Ok(()), |target| self.drop_link(now, target))
    }

    fn readdir(&mut self, _clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error> {
        let entry = |(name, &ino): (&Vec<u8>, &Ino)| {
            let kind = self.node(ino)?.attributes.kind.dirent_type();
            Ok(Entry { name: name.clone(), ino, kind })
        };
        self.entries(dir)?.iter().map(entry).collect()
    }

    fn readlink(&mut self, _clock: &mut Clock, ino: Ino) -> Result<Vec<u8>, Error> {
        match &self.node(ino)?.body {
            Body::Symlink(target) => Ok(target.clone()),
            _ => Err(Errno::Inval.into()),
        }
    }

    fn read_page(
        &mut self,
        _clock: &mut Clock,
        ino: Ino,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        match &self.node(ino)?.body {
            Body::File(pages) => match pages.get(&page) {
                Some(content) => buffer.copy_from_slice(content),
                None => buffer.fill(0),
            },
            _ => return Err(Errno::IsDir.into()),
        }
        Ok(())
    }

    fn write_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        content: &[u8],
        changed: Range<usize>,
    ) -> Result<(), Error> {
        let now = self.now(clock);
        let full = self.capacity.is_some_and(|capacity| self.used >= capacity);
        let node = self.node_mut(ino)?;
        let Body::File(pages) = &mut node.body else { return Err(Errno::IsDir.into()) };
        let end = page
            .checked_mul(PAGE_SIZE_U64)
            .and_then(|start| start.checked_add(changed.end as u64).filter(|&end| end <= SIZE_MAX));
        let Some(end) = end else { return Err(Errno::FBig.into()) };
        let added = !pages.contains_key(&page);
        if added && full {
            return Err(Errno::NoSpc.into());
        }
        let kept = pages.entry(page).or_insert_with(|| vec![0; PAGE_SIZE].into());
        Arc::make_mut(kept)[changed.clone()].copy_from_slice(&content[changed]);
        let attributes = &mut node.attributes;
        attributes.size = attributes.size.max(end);
        (attributes.modified, attributes.changed) = (now, now);
        self.used += u64::from(added);
        Ok(())
    }

    fn getxattr(&mut self, _clock: &mut Clock, ino: Ino, name: &[u8]) -> Result<Vec<u8>, Error> {
        self.node(ino)?.xattrs.get(name).cloned().ok_or_else(|| Errno::NoData.into())
    }

    fn setxattr(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        name: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        let now = self.now(clock);
        let node = self.node_mut(ino)?;
        match value {
            Some(value) => node.xattrs.insert(name.to_vec(), value.to_vec()),
            None => Some(node.xattrs.remove(name).ok_or(Errno::NoData)?),
        };
        node.attributes.changed = now;
        Ok(())
    }

    fn listxattr(&mut self, _clock: &mut Clock, ino: Ino) -> Result<Vec<Vec<u8>>, Error> {
        self.node(ino).map(|node| node.xattrs.keys().cloned().collect())
    }

    fn fsync(&mut self, _clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        self.node(ino).map(|_| ())
    }

    fn sync(&mut self, _clock: &mut Clock) -> Result<(), Error> {
        Ok(())
    }

    fn evict_inode(&mut self, _clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        let node = self.node(ino)?;
        if node.attributes.links == 0 {
            if let Body::File(pages) = &node.body {
                self.used -= pages.len() as u64;
            }
            self.nodes.remove(&ino);
        }
        Ok(())
    }

    fn background(&mut self, _clock: &mut Clock) -> Result<bool, Error> {
        Ok(false)
    }

    fn statfs(&mut self, _clock: &mut Clock) -> Result<StatFs, Error> {
        let blocks = self.capacity.unwrap_or(u64::MAX / PAGE_SIZE_U64);
        let free = blocks - self.used;
        let block_size = u32::try_from(PAGE_SIZE).expect("a page is 4 KiB");
        Ok(StatFs { block_size, blocks, free, available: free, name_max: 255 })
    }

    fn unmount(&mut self, _clock: &mut Clock) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(fs: &mut MemoryFs, name: &[u8]) -> Ino {
        fs.create(&mut Clock::new(), ROOT, name, &NewInode::of(Kind::File, 0o644)).unwrap()
    }

    fn links(fs: &mut MemoryFs, ino: Ino) -> u32 {
        fs.getattr(&mut Clock::new(), ino).unwrap().links
    }

    #[test]
    fn an_inode_without_names_stays_until_it_is_forgotten() {
        let (mut fs, mut clock) = (MemoryFs::new(), Clock::new());
        let ino = file(&mut fs, b"a");
        fs.write_page(&mut clock, ino, 0, &[7; PAGE_SIZE], 0..3).unwrap();
        fs.unlink(&mut clock, ROOT, b"a").unwrap();
        let mut page = [9; PAGE_SIZE];
        fs.read_page(&mut clock, ino, 0, &mut page).unwrap();
        assert_eq!(page[..4], [7, 7, 7, 0]);
        fs.evict_inode(&mut clock, ino).unwrap();
        assert_eq!(fs.getattr(&mut clock, ino), Err(Errno::Stale.into()));
        assert_eq!((fs.inodes(), fs.used), (1, 0));
    }

    #[test]
    fn a_directory_counts_its_directories() {
        let (mut fs, mut clock) = (MemoryFs::new(), Clock::new());
        let new = NewInode::of(Kind::Directory, 0o755);
        let (first, second) = (
            fs.create(&mut clock, ROOT, b"1", &new).unwrap(),
            fs.create(&mut clock, ROOT, b"2", &new).unwrap(),
        );
        let inner = fs.create(&mut clock, first, b"inner", &new).unwrap();
        assert_eq!((links(&mut fs, ROOT), links(&mut fs, first)), (4, 3));
        fs.rename(&mut clock, first, b"inner", second, b"moved").unwrap();
        assert_eq!((links(&mut fs, first), links(&mut fs, second)), (2, 3));
        fs.rename(&mut clock, ROOT, b"1", second, b"moved").unwrap();
        assert_eq!(
            (links(&mut fs, ROOT), links(&mut fs, second), links(&mut fs, inner)),
            (3, 3, 0)
        );
        let full = fs.rmdir(&mut clock, ROOT, b"2");
        assert_eq!(full, Err(Errno::NotEmpty.into()));
        fs.rmdir(&mut clock, second, b"moved").unwrap();
        fs.rmdir(&mut clock, ROOT, b"2").unwrap();
        assert_eq!(links(&mut fs, ROOT), 2);
    }

    #[test]
    fn a_rename_replaces_only_its_like() {
        let (mut fs, mut clock) = (MemoryFs::new(), Clock::new());
        let (one, two) = (file(&mut fs, b"one"), file(&mut fs, b"two"));
        fs.create(&mut clock, ROOT, b"dir", &NewInode::of(Kind::Directory, 0o755)).unwrap();
        let mut rename = |from: &[u8], to: &[u8]| fs.rename(&mut clock, ROOT, from, ROOT, to);
        assert_eq!(rename(b"one", b"dir"), Err(Errno::IsDir.into()));
        assert_eq!(rename(b"dir", b"one"), Err(Errno::NotDir.into()));
        assert_eq!(rename(b"none", b"one"), Err(Errno::NoEnt.into()));
        rename(b"one", b"two").unwrap();
        assert_eq!(fs.lookup(&mut clock, ROOT, b"two"), Ok(one));
        assert_eq!((links(&mut fs, one), links(&mut fs, two)), (1, 0));
    }

    #[test]
    fn two_names_of_one_inode_are_left_alone_by_a_rename() {
        let (mut fs, mut clock) = (MemoryFs::new(), Clock::new());
        let ino = file(&mut fs, b"a");
        fs.link(&mut clock, ino, ROOT, b"b").unwrap();
        fs.rename(&mut clock, ROOT, b"a", ROOT, b"b").unwrap();
        assert_eq!(links(&mut fs, ino), 2);
        assert_eq!(fs.readdir(&mut clock, ROOT).unwrap().len(), 2);
    }

    #[test]
    fn what_was_cut_off_is_zero_when_the_file_grows_again() {
        let (mut fs, mut clock) = (MemoryFs::new(), Clock::new());
        let ino = file(&mut fs, b"a");
        for page in 0..3 {
            fs.write_page(&mut clock, ino, page, &[7; PAGE_SIZE], 0..PAGE_SIZE).unwrap();
        }
        for size in [5_000, 12_000] {
            let change = SetAttr { size: Some(size), ..SetAttr::default() };
            fs.setattr(&mut clock, ino, &change).unwrap();
        }
        let mut pages = [[9; PAGE_SIZE]; 3];
        for (number, page) in (0..).zip(&mut pages) {
            fs.read_page(&mut clock, ino, number, page).unwrap();
        }
        let content = pages.concat();
        assert!(content[..5_000].iter().all(|&byte| byte == 7));
        assert!(content[5_000..].iter().all(|&byte| byte == 0));
        assert_eq!(fs.used, 2);
    }

    #[test]
    fn a_full_filesystem_takes_no_page_more() {
        let (mut fs, mut clock) = (MemoryFs::new().with_capacity(1), Clock::new());
        let ino = file(&mut fs, b"a");
        fs.write_page(&mut clock, ino, 4, &[1; PAGE_SIZE], 0..1).unwrap();
        let next = fs.write_page(&mut clock, ino, 5, &[1; PAGE_SIZE], 0..1);
        assert_eq!(next, Err(Errno::NoSpc.into()));
        fs.write_page(&mut clock, ino, 4, &[2; PAGE_SIZE], 0..2).unwrap();
        assert_eq!(fs.statfs(&mut clock).unwrap().free, 0);
    }

    #[test]
    fn a_clone_goes_its_own_way() {
        let (mut fs, mut clock) = (MemoryFs::new(), Clock::new());
        let ino = file(&mut fs, b"a");
        fs.write_page(&mut clock, ino, 0, &[1; PAGE_SIZE], 0..1).unwrap();
        let mut fork = fs.clone();
        fork.write_page(&mut clock, ino, 0, &[2; PAGE_SIZE], 0..1).unwrap();
        fork.unlink(&mut clock, ROOT, b"a").unwrap();
        let mut page = [0; PAGE_SIZE];
        fs.read_page(&mut clock, ino, 0, &mut page).unwrap();
        assert_eq!((page[0], fs.lookup(&mut clock, ROOT, b"a")), (1, Ok(ino)));
    }
}
