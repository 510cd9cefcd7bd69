//! The pages of the flash in memory: those that were read, and those that are not written yet.
//!
//! Layer: rank 5. Main type: [`Media`]. Everything is read in pages of 4 KiB, which stay in memory while
//! there is room. What an open segment gets is in such pages until it is written, and longer: they are
//! released with the segment.
//!
//! Source: Linux 3.12, `get_mapping_page`, `__logfs_buf_write` and `wbuf_read` in `fs/logfs/segment.c`;
//! `fs/logfs/dev_mtd.c`.

use boardlab_mtd::{BlockIndex, Error, Mtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::LruMap;
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a page.
pub(crate) const PAGE: u64 = 4_096;
const PAGE_LEN: usize = 4_096;

type Page = Box<[u8]>;

/// A flash and pages of it.
#[derive(Debug, Clone)]
pub(crate) struct Media<M> {
    pub(crate) device: M,
    /// Pages of open segments.
    held: BTreeMap<u64, Page>,
    /// Pages that can be read again.
    idle: LruMap<u64, Page>,
    limit: usize,
    /// The memory of forgotten pages, for others.
    spare: Vec<Page>,
}

/// A page of ones, in the memory of a forgotten one if there is some.
fn erased(spare: &mut Vec<Page>) -> Page {
    let Some(mut page) = spare.pop() else { return [0xFF; PAGE_LEN].into() };
    page.fill(0xFF);
    page
}

/// The pages that a range touches, each with its bytes in it.
fn pieces(at: u64, length: usize) -> impl Iterator<Item = (u64, Range<usize>)> {
    let end = at + length as u64;
    (at / PAGE..end.div_ceil(PAGE)).map(move |page| {
        let within = |at: u64| usize::try_from(at - page * PAGE).expect("within a page");
        (page, within(at.max(page * PAGE))..within(end.min((page + 1) * PAGE)))
    })
}

impl<M: Mtd> Media<M> {
    pub(crate) fn new(device: M, cache: Bytes) -> Self {
        let limit = (cache.to_usize() / PAGE_LEN).max(8);
        let (held, idle, spare) = (BTreeMap::new(), LruMap::default(), Vec::new());
        Self { device, held, idle, limit, spare }
    }

    /// Bytes in memory.
    pub(crate) fn cached(&self) -> usize {
        (self.held.len() + self.idle.len()) * PAGE_LEN
    }

    /// Forgets all pages but those of open segments.
    pub(crate) fn shrink(&mut self) {
        self.idle = LruMap::default();
        self.spare = Vec::new();
    }

    /// Forgets the pages that were not used for the longest time, until so many are left.
    fn forget_idle(&mut self, left: usize) {
        while self.idle.len() > left
            && let Some(index) = self.idle.oldest()
        {
            self.spare.extend(self.idle.remove(index));
        }
    }

    /// The bytes of a page that is in memory.
    fn page(&self, index: u64) -> Option<&[u8]> {
        self.held.get(&index).or_else(|| self.idle.peek(index)).map(|page| &**page)
    }

    /// Reads a page from the flash unless it is in memory. Data that cannot be corrected are kept: their
    /// checksums decide.
    fn fill(&mut self, clock: &mut Clock, index: u64) -> Result<&[u8], Error> {
        let start = index * PAGE;
        if !self.held.contains_key(&index) && self.idle.get(index).is_none() {
            let size = self.device.geometry().size().get();
            let length = size.saturating_sub(start).min(PAGE);
            let length = usize::try_from(length).expect("at most a page");
            self.forget_idle(self.limit - 1);
            let mut page = erased(&mut self.spare);
            match self.device.read(clock, Bytes::new(start), &mut page[..length]) {
                Ok(_) | Err(Error::Uncorrectable { .. }) => {}
                Err(error) => return Err(error),
            }
            self.idle.insert(index, page);
        }
        Ok(self.page(index).unwrap_or_default())
    }

    /// Reads bytes (`wbuf_read`).
    pub(crate) fn read(
        &mut self,
        clock: &mut Clock,
        at: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let mut done = 0;
        for (index, range) in pieces(at, buffer.len()) {
            let count = range.len();
            buffer[done..done + count].copy_from_slice(&self.fill(clock, index)?[range]);
            done += count;
        }
        Ok(())
    }

    /// Keeps a page in memory until its segment is closed.
    fn hold(&mut self, index: u64) -> &mut [u8] {
        let Self { held, idle, spare, .. } = self;
        held.entry(index).or_insert_with(|| idle.remove(index).unwrap_or_else(|| erased(spare)))
    }

    /// Changes bytes of an open segment in memory (`logfs_buf_write`).
    pub(crate) fn write(&mut self, at: u64, data: &[u8]) {
        let mut done = 0;
        for (index, range) in pieces(at, data.len()) {
            let piece = &data[done..done + range.len()];
            done += range.len();
            self.hold(index)[range].copy_from_slice(piece);
        }
    }

    /// As [`Media::write`], for a page of which other bytes are on the flash (`logfs_buf_recover`).
    pub(crate) fn recover(&mut self, clock: &mut Clock, at: u64, data: &[u8]) -> Result<(), Error> {
        for (index, _) in pieces(at, data.len().max(1)) {
            self.fill(clock, index)?;
            self.hold(index);
        }
        self.write(at, data);
        Ok(())
    }

    /// Copies bytes of an open segment, which are in memory.
    pub(crate) fn peek(&self, at: u64, buffer: &mut [u8]) {
        let mut done = 0;
        for (index, range) in pieces(at, buffer.len()) {
            let count = range.len();
            if let Some(page) = self.page(index) {
                buffer[done..done + count].copy_from_slice(&page[range]);
            }
            done += count;
        }
    }

    /// Fills bytes of an open segment with 0xFF in memory.
    pub(crate) fn pad(&mut self, range: Range<u64>) {
        let length = usize::try_from(range.end - range.start).expect("within a segment");
        for (index, range) in pieces(range.start, length) {
            self.hold(index)[range].fill(0xFF);
        }
    }

    /// Programs bytes that are in memory, in whole pages or parts of one.
    pub(crate) fn program(
        &mut self,
        clock: &mut Clock,
        range: Range<u64>,
        unit: u32,
    ) -> Result<(), Error> {
        let step = u64::from(unit).max(PAGE);
        let mut at = range.start;
        let mut buffer = Vec::new();
        while at < range.end {
            let end = (at / step * step + step).min(range.end);
            let length = usize::try_from(end - at).expect("at most a write unit");
            buffer.resize(length, 0xFF);
            let mut done = 0;
            for (index, within) in pieces(at, length) {
                let count = within.len();
                buffer[done..done + count].copy_from_slice(&self.hold(index)[within]);
                done += count;
            }
            self.device.program(clock, Bytes::new(at), &buffer)?;
            at = end;
        }
        Ok(())
    }

    /// Programs bytes that are not of an open segment; what is in memory of them is forgotten.
    pub(crate) fn program_directly(
        &mut self,
        clock: &mut Clock,
        at: u64,
        data: &[u8],
    ) -> Result<(), Error> {
        self.forget(at..at + data.len() as u64);
        self.device.program(clock, Bytes::new(at), data)
    }

    fn forget(&mut self, range: Range<u64>) {
        for index in range.start / PAGE..range.end.div_ceil(PAGE) {
            self.held.remove(&index);
            self.idle.remove(index);
        }
    }

    /// Lets go of the pages of a segment that is written (`freeseg`).
    pub(crate) fn release(&mut self, range: Range<u64>) {
        for index in range.start / PAGE..range.end / PAGE {
            if let Some(page) = self.held.remove(&index) {
                self.idle.insert(index, page);
            }
        }
        self.forget_idle(self.limit);
    }

    /// Erases the blocks of a segment.
    pub(crate) fn erase(
        &mut self,
        clock: &mut Clock,
        blocks: Range<u32>,
        bytes: Range<u64>,
    ) -> Result<(), Error> {
        for block in blocks {
            self.device.erase(clock, BlockIndex(block))?;
        }
        for index in bytes.start / PAGE..bytes.end / PAGE {
            let page = self.held.get_mut(&index).or_else(|| self.idle.peek_mut(index));
            if let Some(page) = page {
                page.fill(0xFF);
            }
        }
        Ok(())
    }

    /// Whether these bytes of the flash are erased, whatever is in memory; not when they cannot be
    /// corrected (`logfs_mtd_can_write_buf`).
    pub(crate) fn is_erased(
        &mut self,
        clock: &mut Clock,
        at: u64,
        length: u32,
    ) -> Result<bool, Error> {
        let length = usize::try_from(length).expect("usize holds u32");
        let mut bytes = vec![0; length];
        match self.device.read(clock, Bytes::new(at), &mut bytes) {
            Err(Error::Uncorrectable { .. }) => Ok(false),
            Err(error) => Err(error),
            Ok(health) => Ok(health.corrected == 0 && boardlab_mtd::is_erased(&bytes)),
        }
    }
}
