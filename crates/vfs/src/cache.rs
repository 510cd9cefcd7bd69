//! The page cache: which pages of files are in memory, which are dirty, and which is evicted next.
//!
//! Layer: rank 2. Main types: [`Options`], [`WriteBack`], [`CacheCounts`]. The private `PageCache`
//! keeps the pages for [`Mount`](crate::Mount). It knows no time and calls nobody: it says which
//! page is due, and `Mount` writes it.
//!
//! It mirrors Linux 6.1: `mm/filemap.c` (pages by inode and index), `mm/vmscan.c` (least recently
//! used pages go first; here in one list, there in two), `fs/fs-writeback.c` (inodes are written in
//! the order in which they became dirty, their pages in ascending order), `mm/readahead.c`.
//!
//! Left out: memory pressure from other parts of the kernel, the second chance of pages on the
//! active list, and mapped files.

use crate::filesystem::PAGE_SIZE;
use crate::node::Ino;
use boardlab_sim::{Bytes, Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The settings of the page cache. The board says how much memory there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The limit in bytes; at least one page is kept.
    pub cache: Bytes,
    /// How many pages a sequential read fetches at once. Linux has 32 for block devices and none
    /// for MTD (`mtd_bdi_init`, `drivers/mtd/mtdcore.c`, and `ubifs_fill_super`).
    pub readahead: u32,
    /// When dirty pages are written, for filesystems that ask for write-back.
    pub write_back: WriteBack,
}

/// When dirty pages are written: the settings of `/proc/sys/vm` (Linux 6.1, `mm/page-writeback.c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteBack {
    /// Dirty pages beyond this limit are written at once, the oldest inode first
    /// (`dirty_background_bytes`, or 10 % of the memory). The hard limit `dirty_bytes` is never
    /// reached here: there is one thread, so the writer waits for the flusher.
    pub background: Bytes,
    /// An inode is written when it has been dirty for this long (`dirty_expire_centisecs`).
    pub expire: Duration,
    /// How often the flusher looks for such inodes (`dirty_writeback_centisecs`).
    pub interval: Duration,
}

impl Options {
    /// A cache of `cache` bytes with the defaults of Linux: no readahead, the flusher starts at 10 %.
    #[must_use]
    pub fn with_cache(cache: Bytes) -> Self {
        let write_back = WriteBack {
            background: Bytes::new(cache.get() / 10),
            expire: Duration::from_secs(30),
            interval: Duration::from_secs(5),
        };
        Self { cache, readahead: 0, write_back }
    }
}

impl Default for Options {
    /// A cache of 32 MiB.
    fn default() -> Self {
        Self::with_cache(Bytes::mib(32))
    }
}

/// Counters of the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheCounts {
    /// Pages that were found in the cache.
    pub hits: u64,
    /// Pages that the filesystem was asked to read.
    pub read: u64,
    /// Pages that the filesystem was asked to write.
    pub written: u64,
    /// Pages that were evicted to make room.
    pub evicted: u64,
}

/// A page of a file.
pub(crate) type Key = (Ino, u64);

#[derive(Debug, Clone)]
struct Page {
    content: Box<[u8]>,
    /// The time of the last use, counted in uses of the cache.
    stamp: u64,
    /// The dirty bytes.
    changed: Option<Range<usize>>,
}

/// The dirty pages of an inode.
#[derive(Debug, Clone)]
struct Dirty {
    since: Instant,
    pages: BTreeSet<u64>,
}

#[derive(Debug, Clone)]
pub(crate) struct PageCache {
    limit: usize,
    uses: u64,
    pages: BTreeMap<Key, Page>,
    by_use: BTreeMap<u64, Key>,
    dirty: BTreeMap<Ino, Dirty>,
    dirty_pages: usize,
}

impl PageCache {
    pub(crate) fn new(size: Bytes) -> Self {
        Self {
            limit: (size.to_usize() / PAGE_SIZE).max(1),
            uses: 0,
            pages: BTreeMap::new(),
            by_use: BTreeMap::new(),
            dirty: BTreeMap::new(),
            dirty_pages: 0,
        }
    }

    pub(crate) fn contains(&self, key: Key) -> bool {
        self.pages.contains_key(&key)
    }

    pub(crate) fn bytes(&self) -> Bytes {
        in_bytes(self.pages.len())
    }

    pub(crate) fn dirty_bytes(&self) -> Bytes {
        in_bytes(self.dirty_pages)
    }

    /// Returns the page and makes it the most recently used one.
    pub(crate) fn get(&mut self, key: Key) -> Option<&mut [u8]> {
        let page = self.pages.get_mut(&key)?;
        self.by_use.remove(&page.stamp);
        self.uses += 1;
        page.stamp = self.uses;
        self.by_use.insert(self.uses, key);
        Some(&mut page.content)
    }

    /// Adds a page that is not there yet; the caller has made room.
    pub(crate) fn insert(&mut self, key: Key, content: Box<[u8]>) {
        self.uses += 1;
        self.by_use.insert(self.uses, key);
        let page = Page { content, stamp: self.uses, changed: None };
        let replaced = self.pages.insert(key, page);
        assert!(replaced.is_none(), "PageCache::insert: {key:?} was there");
    }

    /// The page to evict before another is added: the least recently used one. `None` while there
    /// is room.
    pub(crate) fn victim(&self) -> Option<Key> {
        let full = self.pages.len() >= self.limit;
        self.by_use.values().next().copied().filter(|_| full)
    }

    pub(crate) fn remove(&mut self, key: Key) {
        self.mark_clean(key);
        if let Some(page) = self.pages.remove(&key) {
            self.by_use.remove(&page.stamp);
        }
    }

    /// Marks these bytes of a page as dirty.
    pub(crate) fn mark_dirty(&mut self, key: Key, changed: Range<usize>, now: Instant) {
        let Some(page) = self.pages.get_mut(&key) else { return };
        let all = page.changed.take();
        page.changed =
            Some(all.map_or(changed.clone(), |all| {
                all.start.min(changed.start)..all.end.max(changed.end)
            }));
        let dirty = self.dirty.entry(key.0).or_insert(Dirty { since: now, pages: BTreeSet::new() });
        self.dirty_pages += usize::from(dirty.pages.insert(key.1));
    }

    pub(crate) fn mark_clean(&mut self, key: Key) {
        if let Some(page) = self.pages.get_mut(&key) {
            page.changed = None;
        }
        if let Some(dirty) = self.dirty.get_mut(&key.0) {
            self.dirty_pages -= usize::from(dirty.pages.remove(&key.1));
            if dirty.pages.is_empty() {
                self.dirty.remove(&key.0);
            }
        }
    }

    /// The content of a dirty page, and its dirty bytes.
    pub(crate) fn dirty_range(&self, key: Key) -> Option<(&[u8], Range<usize>)> {
        let page = self.pages.get(&key)?;
        page.changed.clone().map(|changed| (&*page.content, changed))
    }

    /// The first dirty page of an inode.
    pub(crate) fn first_dirty(&self, ino: Ino) -> Option<Key> {
        self.dirty.get(&ino)?.pages.first().map(|&page| (ino, page))
    }

    /// The inodes with dirty pages, the oldest first, each with the instant since when it is dirty.
    pub(crate) fn dirty_inodes(&self) -> Vec<(Instant, Ino)> {
        let mut inodes: Vec<_> =
            self.dirty.iter().map(|(&ino, dirty)| (dirty.since, ino)).collect();
        inodes.sort_unstable();
        inodes
    }

    /// Drops the pages beyond the new end of a file, and clears the rest of its last page.
    pub(crate) fn truncate(&mut self, ino: Ino, size: u64) {
        let unit = PAGE_SIZE as u64;
        let beyond = (ino, size.div_ceil(unit))..=(ino, u64::MAX);
        let gone: Vec<Key> = self.pages.range(beyond).map(|(&key, _)| key).collect();
        gone.into_iter().for_each(|key| self.remove(key));
        let tail = usize::try_from(size % unit).expect("less than a page");
        let Some(page) = self.pages.get_mut(&(ino, size / unit)).filter(|_| tail > 0) else {
            return;
        };
        page.content[tail..].fill(0);
        let left =
            page.changed.clone().map(|changed| changed.start.min(tail)..changed.end.min(tail));
        page.changed.clone_from(&left);
        if left.is_some_and(|left| left.is_empty()) {
            self.mark_clean((ino, size / unit));
        }
    }

    /// Drops every clean page.
    pub(crate) fn drop_clean(&mut self) {
        self.pages.retain(|_, page| page.changed.is_some());
        let pages = &self.pages;
        self.by_use.retain(|_, key| pages.contains_key(key));
    }
}

fn in_bytes(pages: usize) -> Bytes {
    Bytes::new((pages * PAGE_SIZE) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INO: Ino = Ino(5);

    fn page() -> Box<[u8]> {
        vec![1; PAGE_SIZE].into()
    }

    fn with_pages(count: u64) -> PageCache {
        let mut cache = PageCache::new(Bytes::kib(4 * count));
        (0..count).for_each(|index| cache.insert((INO, index), page()));
        cache
    }

    #[test]
    fn the_least_recently_used_page_makes_room() {
        let mut cache = with_pages(3);
        cache.get((INO, 0)).unwrap();
        assert_eq!(cache.victim(), Some((INO, 1)));
        cache.remove((INO, 1));
        assert_eq!((cache.victim(), cache.bytes()), (None, Bytes::kib(8)));
    }

    #[test]
    fn changed_bytes_of_a_page_are_written_together() {
        let mut cache = with_pages(2);
        let at = Instant::from_nanos;
        cache.mark_dirty((INO, 1), 100..200, at(7));
        cache.mark_dirty((INO, 1), 300..301, at(8));
        assert_eq!(cache.dirty_range((INO, 1)).unwrap().1, 100..301);
        assert_eq!(
            (cache.dirty_inodes(), cache.dirty_bytes()),
            (vec![(at(7), INO)], Bytes::kib(4))
        );
        cache.mark_clean((INO, 1));
        assert_eq!((cache.dirty_inodes(), cache.dirty_bytes()), (vec![], Bytes::ZERO));
    }

    #[test]
    fn what_is_cut_off_is_neither_read_nor_written() {
        let mut cache = with_pages(3);
        (0..3).for_each(|index| cache.mark_dirty((INO, index), 50..80, Instant::ZERO));
        cache.truncate(INO, 4_096 + 60);
        assert_eq!(cache.dirty_range((INO, 1)).unwrap().1, 50..60);
        assert_eq!(cache.get((INO, 1)).unwrap()[59..62], [1, 0, 0]);
        assert!(!cache.contains((INO, 2)));
        cache.truncate(INO, 4_096 + 50);
        assert_eq!((cache.dirty_bytes(), cache.dirty_range((INO, 1))), (Bytes::kib(4), None));
    }

    #[test]
    fn dropping_the_cache_keeps_what_is_not_written_yet() {
        let mut cache = with_pages(3);
        cache.mark_dirty((INO, 1), 0..1, Instant::ZERO);
        cache.drop_clean();
        assert_eq!((cache.contains((INO, 1)), cache.bytes()), (true, Bytes::kib(4)));
    }
}
