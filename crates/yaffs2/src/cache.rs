//! The cache of short operations: a few chunks of files, read and written whole.
//!
//! Layer: rank 5. Main type: [`ShortOps`]. It gathers small writes to a chunk; Linux' page cache is above it.
//! What it holds is not on the flash: a close, a sync, or a lack of entries writes it. Source:
//! `core/yaffs_cache.c`.

use crate::Yaffs;
use crate::error::Error;
use crate::file::FileChunk;
use crate::object::Slot;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// The count of uses at which all begin anew.
const USES_MAX: i32 = 100_000_000;

/// An entry: a chunk of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct CacheEntry {
    pub(crate) object: Option<Slot>,
    /// The number of the chunk in its file.
    pub(crate) chunk: u32,
    last_use: i32,
    pub(crate) dirty: bool,
    /// Valid bytes.
    pub(crate) bytes: u32,
    pub(crate) data: Vec<u8>,
}

/// All entries.
#[derive(Debug, Clone)]
pub(crate) struct ShortOps {
    pub(crate) entries: Vec<CacheEntry>,
    uses: i32,
}

impl ShortOps {
    pub(crate) fn new(count: usize, chunk: usize) -> Self {
        let entry = CacheEntry { data: vec![0; chunk], ..CacheEntry::default() };
        Self { entries: vec![entry; count], uses: 0 }
    }

    pub(crate) fn is_dirty(&self, object: Slot) -> bool {
        self.entries.iter().any(|entry| entry.object == Some(object) && entry.dirty)
    }

    /// Entries that are dirty, or were when they became invalid: YAFFS counts both.
    pub(crate) fn dirty_count(&self) -> usize {
        self.entries.iter().filter(|entry| entry.dirty).count()
    }

    pub(crate) fn find(&self, object: Slot, chunk: u32) -> Option<usize> {
        self.entries.iter().position(|entry| entry.object == Some(object) && entry.chunk == chunk)
    }

    /// An entry was used.
    pub(crate) fn touch(&mut self, at: usize, write: bool) {
        if self.uses > USES_MAX {
            self.entries.iter_mut().skip(1).for_each(|entry| entry.last_use = 0);
            self.uses = 0;
        }
        self.uses += 1;
        self.entries[at].last_use = self.uses;
        self.entries[at].dirty |= write;
    }

    /// Forgets the chunks of a file, written or not.
    pub(crate) fn invalidate(&mut self, object: Slot) {
        for entry in self.entries.iter_mut().filter(|entry| entry.object == Some(object)) {
            entry.object = None;
        }
    }

    pub(crate) fn invalidate_chunk(&mut self, object: Slot, chunk: u32) {
        if let Some(at) = self.find(object, chunk) {
            self.entries[at].object = None;
        }
    }
}

impl<M: Mtd> Yaffs<M> {
    fn flush_entry(&mut self, clock: &mut Clock, at: usize, discard: bool) -> Result<(), Error> {
        let entry = &mut self.cache.entries[at];
        if let Some(object) = entry.object.filter(|_| entry.dirty) {
            let place = FileChunk { file: object, number: entry.chunk, bytes: entry.bytes };
            let data = std::mem::take(&mut entry.data);
            let written = self.write_data(clock, place, &data, true);
            let entry = &mut self.cache.entries[at];
            entry.data = data;
            self.counts.lost_cache_writes += u64::from(matches!(written, Ok(None)));
            written?;
            entry.dirty = false;
        }
        if discard {
            self.cache.entries[at].object = None;
        }
        Ok(())
    }

    /// Writes the dirty chunks of a file, as they lie in the cache. A repaired YAFFS writes them by their place in
    /// the file: where only the later ones come to the flash, the zeros of a hole before them are missing, and what
    /// was truncated there shows.
    pub(crate) fn flush_file_cache(
        &mut self,
        clock: &mut Clock,
        object: Slot,
        discard: bool,
    ) -> Result<(), Error> {
        let entries = (0..).zip(&self.cache.entries);
        let of_file = entries.filter(|(_, entry)| entry.object == Some(object));
        let mut places: Vec<(u32, usize)> = of_file.map(|(at, entry)| (entry.chunk, at)).collect();
        if self.options.repaired {
            places.sort_unstable();
        }
        for (_, at) in places {
            self.flush_entry(clock, at, discard)?;
        }
        Ok(())
    }

    /// Writes all dirty chunks, file by file.
    pub(crate) fn flush_cache(&mut self, clock: &mut Clock, discard: bool) -> Result<(), Error> {
        while let Some(object) =
            self.cache.entries.iter().find(|entry| entry.dirty && entry.object.is_some())
        {
            let object = object.object.expect("found by it");
            self.flush_file_cache(clock, object, discard)?;
        }
        Ok(())
    }

    /// An entry for a further chunk: a free one, or that which was not used for the longest time.
    pub(crate) fn grab_entry(&mut self, clock: &mut Clock) -> Result<usize, Error> {
        if let Some(free) = self.cache.entries.iter().position(|entry| entry.object.is_none()) {
            return Ok(free);
        }
        let entries = self.cache.entries.iter().enumerate();
        let (oldest, entry) =
            entries.min_by_key(|(_, entry)| entry.last_use).expect("not without entries");
        if let (true, Some(object)) = (self.options.repaired && entry.dirty, entry.object) {
            self.flush_file_cache(clock, object, false)?;
        }
        self.flush_entry(clock, oldest, true)?;
        Ok(oldest)
    }
}
