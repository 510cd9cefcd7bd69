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
use crate::lru::LruMap;
use crate::node::Ino;
use boardlab_sim::{Bytes, Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

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
    /// The dirty bytes.
    changed: Option<Range<usize>>,
}

/// A dirty inode: it has dirty pages, or its attributes must be written, or both.
#[derive(Debug, Clone)]
struct Dirty {
    since: Instant,
    /// Its place in the order in which inodes became dirty.
    turn: u64,
    pages: BTreeSet<u64>,
    attributes: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct PageCache {
    limit: usize,
    pages: LruMap<Key, Page>,
    dirty: BTreeMap<Ino, Dirty>,
    /// The dirty inodes in the order in which they became dirty (`b_dirty` in Linux).
    by_age: BTreeMap<u64, Ino>,
    next_turn: u64,
    dirty_pages: usize,
}

impl PageCache {
    pub(crate) fn new(size: Bytes) -> Self {
        Self {
            limit: (size.to_usize() / PAGE_SIZE).max(1),
            pages: LruMap::default(),
            dirty: BTreeMap::new(),
            by_age: BTreeMap::new(),
            next_turn: 0,
            dirty_pages: 0,
        }
    }

    pub(crate) fn contains(&self, key: Key) -> bool {
        self.pages.contains(key)
    }

    pub(crate) fn bytes(&self) -> Bytes {
        in_bytes(self.pages.len())
    }

    pub(crate) fn dirty_bytes(&self) -> Bytes {
        in_bytes(self.dirty_pages)
    }

    /// Returns the page and makes it the most recently used one.
    pub(crate) fn get(&mut self, key: Key) -> Option<&mut [u8]> {
        self.pages.get(key).map(|page| &mut *page.content)
    }

    /// Adds a page that is not there yet; the caller has made room.
    pub(crate) fn insert(&mut self, key: Key, content: Box<[u8]>) {
        let replaced = self.pages.insert(key, Page { content, changed: None });
        assert!(replaced.is_none(), "PageCache::insert: {key:?} was there");
    }

    /// The page to evict before another is added: the least recently used one. `None` while there
    /// is room.
    pub(crate) fn victim(&self) -> Option<Key> {
        let full = self.pages.len() >= self.limit;
        self.pages.oldest().filter(|_| full)
    }

    /// Removes a page, and returns its memory.
    pub(crate) fn remove(&mut self, key: Key) -> Option<Box<[u8]>> {
        self.mark_clean(key);
        self.pages.remove(key).map(|page| page.content)
    }

    /// Marks these bytes of a page as dirty.
    pub(crate) fn mark_dirty(&mut self, key: Key, changed: Range<usize>, now: Instant) {
        let Some(page) = self.pages.peek_mut(key) else { return };
        let all = page.changed.take();
        page.changed =
            Some(all.map_or(changed.clone(), |all| {
                all.start.min(changed.start)..all.end.max(changed.end)
            }));
        let added = self.dirtied(key.0, now).pages.insert(key.1);
        self.dirty_pages += usize::from(added);
    }

    /// Marks an inode as dirty itself. It keeps its age when it is dirty already.
    pub(crate) fn mark_inode_dirty(&mut self, ino: Ino, now: Instant) {
        self.dirtied(ino, now).attributes = true;
    }

    fn dirtied(&mut self, ino: Ino, now: Instant) -> &mut Dirty {
        self.dirty.entry(ino).or_insert_with(|| {
            let turn = self.next_turn;
            self.next_turn += 1;
            self.by_age.insert(turn, ino);
            Dirty { since: now, turn, pages: BTreeSet::new(), attributes: false }
        })
    }

    /// Marks an inode as clean but for its pages, and returns whether it was dirty.
    pub(crate) fn mark_inode_clean(&mut self, ino: Ino) -> bool {
        let Some(dirty) = self.dirty.get_mut(&ino) else { return false };
        let was = std::mem::take(&mut dirty.attributes);
        self.drop_if_clean(ino);
        was
    }

    fn drop_if_clean(&mut self, ino: Ino) {
        if let Some(dirty) = self.dirty.get(&ino)
            && dirty.pages.is_empty()
            && !dirty.attributes
        {
            self.by_age.remove(&dirty.turn);
            self.dirty.remove(&ino);
        }
    }

    pub(crate) fn mark_clean(&mut self, key: Key) {
        if let Some(page) = self.pages.peek_mut(key) {
            page.changed = None;
        }
        if let Some(dirty) = self.dirty.get_mut(&key.0) {
            self.dirty_pages -= usize::from(dirty.pages.remove(&key.1));
            self.drop_if_clean(key.0);
        }
    }

    /// The content of a dirty page, and its dirty bytes.
    pub(crate) fn dirty_range(&self, key: Key) -> Option<(&[u8], Range<usize>)> {
        let page = self.pages.peek(key)?;
        page.changed.clone().map(|changed| (&*page.content, changed))
    }

    /// The first dirty page of an inode.
    pub(crate) fn first_dirty(&self, ino: Ino) -> Option<Key> {
        self.first_dirty_of(ino, 0..=u64::MAX)
    }

    /// The first dirty page of an inode among these pages.
    pub(crate) fn first_dirty_of(&self, ino: Ino, pages: RangeInclusive<u64>) -> Option<Key> {
        self.dirty.get(&ino)?.pages.range(pages).next().map(|&page| (ino, page))
    }

    /// Whether nothing is dirty, neither a page nor an inode.
    pub(crate) fn is_clean(&self) -> bool {
        self.dirty.is_empty()
    }

    /// Whether an inode or one of its pages is dirty.
    pub(crate) fn is_dirty(&self, ino: Ino) -> bool {
        self.dirty.contains_key(&ino)
    }

    /// The inode that has been dirty for the longest time.
    pub(crate) fn oldest_dirty(&self) -> Option<Ino> {
        self.by_age.values().next().copied()
    }

    /// The dirty inodes, the oldest first, each with the instant since when it is dirty.
    pub(crate) fn dirty_inodes(&self) -> Vec<(Instant, Ino)> {
        self.by_age.values().map(|&ino| (self.dirty[&ino].since, ino)).collect()
    }

    /// Drops the pages beyond the new end of a file, and clears the rest of its last page. Returns
    /// the pages that were dirty and are not any more.
    pub(crate) fn truncate(&mut self, ino: Ino, size: u64) -> Vec<u64> {
        let unit = PAGE_SIZE as u64;
        let beyond = size.div_ceil(unit);
        let dirty = self.dirty.get(&ino);
        let mut released: Vec<u64> =
            dirty.map_or_else(Vec::new, |dirty| dirty.pages.range(beyond..).copied().collect());
        let gone: Vec<Key> = self.pages.keys_within((ino, beyond)..=(ino, u64::MAX)).collect();
        for key in gone {
            self.remove(key);
        }
        let tail = usize::try_from(size % unit).expect("less than a page");
        let last = size / unit;
        let Some(page) = self.pages.peek_mut((ino, last)).filter(|_| tail > 0) else {
            return released;
        };
        page.content[tail..].fill(0);
        let left =
            page.changed.clone().map(|changed| changed.start.min(tail)..changed.end.min(tail));
        page.changed.clone_from(&left);
        if left.is_some_and(|left| left.is_empty()) {
            self.mark_clean((ino, last));
            released.insert(0, last);
        }
        released
    }

    /// Drops every clean page.
    pub(crate) fn drop_clean(&mut self) {
        self.pages.retain(|_, page| page.changed.is_some());
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
        assert_eq!(cache.truncate(INO, 4_096 + 60), [2]);
        assert_eq!(cache.dirty_range((INO, 1)).unwrap().1, 50..60);
        assert_eq!(cache.get((INO, 1)).unwrap()[59..62], [1, 0, 0]);
        assert!(!cache.contains((INO, 2)));
        assert_eq!(cache.truncate(INO, 4_096 + 50), [1]);
        assert_eq!((cache.dirty_bytes(), cache.dirty_range((INO, 1))), (Bytes::kib(4), None));
    }

    #[test]
    fn an_inode_keeps_its_age_until_it_and_its_pages_are_clean() {
        let mut cache = with_pages(2);
        let (at, other) = (Instant::from_nanos, Ino(3));
        cache.mark_inode_dirty(INO, at(7));
        cache.mark_inode_dirty(other, at(7));
        cache.mark_dirty((INO, 1), 0..1, at(9));
        assert!(cache.mark_inode_clean(INO));
        assert!(!cache.mark_inode_clean(INO));
        assert_eq!(cache.dirty_inodes(), [(at(7), INO), (at(7), other)]);
        cache.mark_clean((INO, 1));
        cache.mark_inode_dirty(INO, at(9));
        assert_eq!(cache.dirty_inodes(), [(at(7), other), (at(9), INO)]);
        assert_eq!((cache.oldest_dirty(), cache.dirty_bytes()), (Some(other), Bytes::ZERO));
    }

    #[test]
    fn dropping_the_cache_keeps_what_is_not_written_yet() {
        let mut cache = with_pages(3);
        cache.mark_dirty((INO, 1), 0..1, Instant::ZERO);
        cache.drop_clean();
        assert_eq!((cache.contains((INO, 1)), cache.bytes()), (true, Bytes::kib(4)));
    }
}
