//! The write path: transfers, partial pages, the write cache, discards.
//!
//! Layer: rank 4, part of [`Card`]. Where no page needs individual handling, a transfer goes to the
//! layer below as a whole, at the pace of the bus. Source and what is left out: see [`crate::card`].

use crate::bus::Kind;
use crate::cache::{BlockMask, Cache, filled};
use crate::card::Card;
use crate::part::Discard;
use crate::pieces::{Pages, edges, number, pieces, within_page};
use crate::store::Store;
use boardlab_block::{Extent, Payload};
use boardlab_ftl as ftl;
use boardlab_ftl::Translation;
use boardlab_sim::Instant;

impl<T: Translation> Card<T> {
    /// Reads a page because only some of its blocks are new.
    fn merge(&mut self, at: Instant, page: u32) -> Result<Instant, ftl::Error> {
        self.counts.merged += 1;
        let done = self.translation.read(at, ftl::Extent::new(page, 1), &mut [])?;
        self.note(&done);
        Ok(done.finished)
    }

    /// Writes pages to the layer below; partial pages are read first. Returns when the next data
    /// may arrive, and when all is programmed.
    fn program(
        &mut self,
        at: Instant,
        pages: &[(u32, BlockMask)],
    ) -> Result<(Instant, Instant), ftl::Error> {
        let Some(&(first, _)) = pages.first() else { return Ok((at, at)) };
        let whole = filled(0..u32::try_from(self.page_blocks).unwrap_or(128));
        let mut now = at;
        for &(page, blocks) in pages {
            if blocks != whole {
                now = self.merge(now, page)?;
            }
        }
        let count = u32::try_from(pages.len()).unwrap_or(u32::MAX);
        self.program_whole(now, ftl::Extent::new(first, count))
    }

    /// Writes pages of which every block is new to the layer below.
    #[inline]
    fn program_whole(
        &mut self,
        at: Instant,
        pages: ftl::Extent,
    ) -> Result<(Instant, Instant), ftl::Error> {
        let done = self.translation.write(at, pages)?;
        self.note(&done);
        if let Some(store) = &mut self.store {
            (pages.first..pages.first + pages.count)
                .for_each(|page| store.name(page, done.version));
        }
        Ok((done.accepted, done.finished))
    }

    /// Ends a command when its data are durable: all data on a card without a cache, and those of a
    /// reliable write with one.
    fn commit(&mut self, at: Instant, transfer: Extent) -> Result<Instant, ftl::Error> {
        let at = if self.cache.is_some() { self.evict(at, transfer)? } else { at };
        let done = self.translation.flush(at);
        self.note(&done);
        if self.cache.is_none() {
            self.settle();
        }
        Ok(done.finished)
    }

    /// Writes the cached pages of a transfer to the layer below.
    fn evict(&mut self, at: Instant, transfer: Extent) -> Result<Instant, ftl::Error> {
        let mut at = at;
        let pages = Pages { extent: transfer, page_blocks: self.page_blocks }.whole();
        for page in pages.first..pages.first + pages.count {
            let Some(blocks) = self.cache.as_mut().and_then(|cache| cache.remove(page)) else {
                continue;
            };
            (at, _) = self.program(at, &[(page, blocks)])?;
        }
        Ok(at)
    }

    /// Records that everything in the layer below is durable. Superseded versions are dropped at
    /// the next request, since power may have been lost meanwhile.
    fn settle(&mut self) {
        self.settled = true;
    }

    /// Evicts cached pages to the layer below, a row at a time, until the rest fits, or all of them.
    pub(crate) fn destage(
        &mut self,
        at: Instant,
        all: bool,
    ) -> Result<(Instant, Instant), ftl::Error> {
        let row = u32::try_from(self.row_blocks / self.page_blocks).unwrap_or(1);
        let (mut accepted, mut finished) = (at, at);
        let mut run = std::mem::take(&mut self.run);
        while let Some(cache) = &mut self.cache {
            if !(all || cache.is_over()) || !cache.take(row, &mut run) {
                break;
            }
            let (next, done) = self.program(accepted, &run)?;
            (accepted, finished) = (next, finished.max(done));
        }
        self.run = run;
        Ok((accepted, finished))
    }

    /// Writes back cached pages while the host is idle, until it returns at `until`. Returns when
    /// all pages are durable, or `until`.
    pub(crate) fn write_back(&mut self, until: Instant) -> Result<Instant, ftl::Error> {
        if self.cache.as_ref().is_none_or(Cache::is_empty) {
            return Ok(self.free);
        }
        let row = u32::try_from(self.row_blocks / self.page_blocks).unwrap_or(1);
        let (mut now, mut finished) = (self.free + self.part.face.write_back_after, self.free);
        let mut run = std::mem::take(&mut self.run);
        while now < until && self.cache.as_mut().is_some_and(|cache| cache.take(row, &mut run)) {
            let (next, done) = self.program(now, &run)?;
            (now, finished) = (next, finished.max(done));
        }
        self.run = run;
        let empty = self.cache.as_ref().is_none_or(Cache::is_empty);
        Ok(if empty { finished.max(now) } else { until })
    }

    /// Handles the arrival of a piece of a write within one row.
    pub(crate) fn arrived(
        &mut self,
        at: Instant,
        blocks: Extent,
    ) -> Result<(Instant, Instant), ftl::Error> {
        let pages = Pages { extent: blocks, page_blocks: self.page_blocks };
        if let Some(cache) = &mut self.cache {
            for (page, part) in pages.iter() {
                cache.put(page, part);
            }
            let (accepted, _) = self.destage(at, false)?;
            return Ok((accepted, at));
        }
        if let Some(whole) = pages.exactly() {
            return self.program_whole(at, whole);
        }
        let mut run = std::mem::take(&mut self.run);
        run.clear();
        run.extend(pages.iter());
        let done = self.program(at, &run);
        self.run = run;
        done
    }

    pub(crate) fn write(
        &mut self,
        start: Instant,
        extent: Extent,
        durable: bool,
    ) -> Result<Instant, ftl::Error> {
        let mut now = start;
        for transfer in pieces(extent, self.largest, 0) {
            let reliable = durable && self.part.face.kind == Kind::Emmc;
            let alone = transfer.count == 1 && !reliable;
            now = self.begin(now, alone);
            let versions = self.store.as_ref().is_some_and(Store::has_versions);
            let (accepted, mut finished) = match self.passes_on(transfer) {
                Some(pages) if !versions => self.write_paced(now, pages)?,
                past => self.write_rows(now, transfer, past.is_some())?,
            };
            now = accepted;
            now = self.stop(now, alone);
            if self.cache.is_none() || reliable {
                let done = self.commit(now, transfer)?;
                finished = finished.max(done);
                self.counts.busy_ns += finished.max(now).since(now).as_nanos();
                now = now.max(finished);
            }
            now = self.ask_state(now);
        }
        // An SD card has no reliable write: Linux flushes its cache instead.
        if durable && self.part.face.kind == Kind::Sd { self.flush(now) } else { Ok(now) }
    }

    /// The pages of a transfer that is written as it arrives: it covers whole pages only, and there
    /// is no cache, or one that is not larger than the transfer.
    fn passes_on(&mut self, transfer: Extent) -> Option<ftl::Extent> {
        let whole = Pages { extent: transfer, page_blocks: self.page_blocks }.exactly()?;
        let past = self.cache.as_mut().is_none_or(|cache| cache.yields(whole.first, whole.count));
        past.then_some(whole)
    }

    /// Writes all pages of a transfer as they arrive, in one request. Returns when the last was
    /// accepted, and when all are programmed.
    fn write_paced(
        &mut self,
        at: Instant,
        pages: ftl::Extent,
    ) -> Result<(Instant, Instant), ftl::Error> {
        let pace = self.pace;
        let done = self.translation.write_paced(at, pages, pace)?;
        self.note(&done);
        let bus = pace.each * u64::from(pages.count) / u64::from(pace.group);
        self.counts.bus_ns += bus.as_nanos();
        self.counts.blocks_in += u64::from(pages.count) * self.page_blocks;
        self.counts.busy_ns += done.accepted.since(at).saturating_sub(bus).as_nanos();
        if let Some(store) = &mut self.store {
            (pages.first..pages.first + pages.count)
                .for_each(|page| store.name(page, done.version));
        }
        Ok((done.accepted, done.finished))
    }

    /// The same row by row, with or without the cache.
    fn write_rows(
        &mut self,
        at: Instant,
        transfer: Extent,
        past: bool,
    ) -> Result<(Instant, Instant), ftl::Error> {
        let (mut now, mut finished) = (at, at);
        for piece in pieces(transfer, self.row_blocks, self.row_blocks) {
            let time = self.write_times[usize::try_from(piece.count).unwrap_or(0)];
            self.counts.bus_ns += time.as_nanos();
            self.counts.blocks_in += piece.count;
            let arrived = now + time;
            self.keep_incoming(piece);
            let (accepted, done) = if past {
                let pages = Pages { extent: piece, page_blocks: self.page_blocks };
                self.program_whole(arrived, pages.whole())?
            } else {
                self.arrived(arrived, piece)?
            };
            self.counts.busy_ns += accepted.max(arrived).since(arrived).as_nanos();
            now = accepted.max(arrived);
            finished = finished.max(done);
        }
        Ok((now, finished))
    }

    /// Flushes the cache. Without a cache there is nothing to do, and the host sends no command.
    pub(crate) fn flush(&mut self, at: Instant) -> Result<Instant, ftl::Error> {
        if self.cache.is_none() {
            return Ok(at);
        }
        self.counts.flushes += 1;
        let asked = self.command(at + self.part.host.request) + self.part.face.command;
        let (accepted, finished) = self.destage(asked, true)?;
        let done = self.translation.flush(accepted);
        self.note(&done);
        let ended = finished.max(done.finished).max(asked);
        self.counts.busy_ns += ended.since(asked).as_nanos();
        self.settle();
        Ok(ended)
    }

    /// Sends CMD32, CMD33 and CMD38. An erase also writes the pages that it covers only in part.
    pub(crate) fn discard(
        &mut self,
        start: Instant,
        extent: Extent,
    ) -> Result<Instant, ftl::Error> {
        self.counts.discards += 1;
        let mut now = start + self.part.host.request;
        for _ in 0..3 {
            now = self.command(now);
        }
        now += self.part.face.command;
        let page = self.bytes_of_page();
        let inner = self.geometry.aligned_within(extent, page);
        if inner.count > 0 {
            let whole = Pages { extent: inner, page_blocks: self.page_blocks }.whole();
            let done = self.translation.trim(now, whole)?;
            self.note(&done);
            now = now.max(done.finished);
            for page in whole.first..whole.first + whole.count {
                self.forget(page);
            }
        }
        if self.part.face.discard == Discard::Erase {
            for edge in edges(extent, inner) {
                let bytes = self.bytes(edge, Payload::Repeated(self.erased()));
                self.keep(edge, &bytes);
                let (accepted, finished) = self.arrived(now, edge)?;
                now = accepted.max(finished);
            }
        }
        if self.cache.is_none() {
            let done = self.translation.flush(now);
            self.note(&done);
            self.settle();
            now = now.max(done.finished);
        }
        Ok(self.ask_state(now))
    }

    fn forget(&mut self, page: u32) {
        if let Some(cache) = &mut self.cache {
            cache.remove(page);
        }
        if let Some(store) = &mut self.store {
            store.forget(page);
        }
    }

    pub(crate) fn bytes(&self, extent: Extent, data: Payload<'_>) -> Vec<u8> {
        let mut bytes = vec![0; self.geometry.bytes(extent).to_usize()];
        data.copy_to(&self.geometry, extent, &mut bytes);
        bytes
    }

    /// Stores the bytes of a write.
    pub(crate) fn keep(&mut self, extent: Extent, bytes: &[u8]) {
        let Some(store) = &mut self.store else { return };
        let mut rest = bytes;
        for piece in pieces(extent, self.page_blocks, self.page_blocks) {
            let (within, length) = within_page(piece, self.page_blocks);
            let (now, later) = rest.split_at(length);
            store.write(number(piece.first.0 / self.page_blocks), within, now);
            rest = later;
        }
    }

    /// Stores the bytes of a piece of the current write.
    fn keep_incoming(&mut self, piece: Extent) {
        let Some((extent, bytes)) = self.incoming.take() else { return };
        let at = |block: u64| {
            let offset = (block - extent.first.0) * crate::BLOCK.get();
            usize::try_from(offset).expect("the bytes of a write fit memory")
        };
        self.keep(piece, &bytes[at(piece.first.0)..at(piece.first.0 + piece.count)]);
        self.incoming = Some((extent, bytes));
    }
}
