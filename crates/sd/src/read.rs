//! The read path: from the write cache, or from the layer below.
//!
//! Layer: rank 4, part of [`Card`]. Source and what is left out: see [`crate::card`].

use crate::card::Card;
use crate::pieces::{Pages, number, pieces, within_page};
use boardlab_block::{Extent, Target};
use boardlab_ftl as ftl;
use boardlab_ftl::{Translation, Version};
use boardlab_sim::Instant;

impl<T: Translation> Card<T> {
    pub(crate) fn read(
        &mut self,
        start: Instant,
        extent: Extent,
        mut into: Target<'_>,
    ) -> Result<Instant, ftl::Error> {
        let mut now = start;
        for transfer in pieces(extent, self.largest, 0) {
            let alone = transfer.count == 1;
            now = self.begin(now, alone);
            let mut asked = now;
            for piece in pieces(transfer, self.row_blocks, self.row_blocks) {
                let pages = Pages { extent: piece, page_blocks: self.page_blocks };
                let mut ready = asked;
                if !self.is_cached(pages) {
                    let whole = pages.whole();
                    self.versions.resize(whole.count as usize, Version(0));
                    let done = self.translation.read(asked, whole, &mut self.versions)?;
                    self.note(&done);
                    (asked, ready) = (done.accepted, done.finished);
                }
                if let Target::Buffer(buffer) = &mut into {
                    self.fetch(extent, piece, buffer);
                }
                let time = self.read_times[usize::try_from(piece.count).unwrap_or(0)];
                self.counts.busy_ns += ready.max(now).since(now).as_nanos();
                self.counts.bus_ns += time.as_nanos();
                self.counts.blocks_out += piece.count;
                now = now.max(ready) + time;
            }
            now = self.stop(now, alone);
        }
        Ok(now)
    }

    fn is_cached(&self, pages: Pages) -> bool {
        self.cache.as_ref().is_some_and(|cache| {
            pages.iter().all(|(page, blocks)| cache.holds(page) & blocks == blocks)
        })
    }

    /// Copies the bytes of `piece` into the buffer of a read of `extent`; the layer below has
    /// already returned the versions of the pages.
    fn fetch(&mut self, extent: Extent, piece: Extent, buffer: &mut [u8]) {
        let size = crate::BLOCK.to_usize();
        let start = usize::try_from(piece.first.0 - extent.first.0).unwrap_or(0) * size;
        let mut offset = start;
        let first = piece.first.0 / self.page_blocks;
        for part in pieces(piece, self.page_blocks, self.page_blocks) {
            let page = part.first.0 / self.page_blocks;
            let (within, length) = within_page(part, self.page_blocks);
            let bytes = &mut buffer[offset..offset + length];
            let cached = self.cache.as_ref().is_some_and(|cache| cache.holds(number(page)) != 0);
            match &self.store {
                Some(store) if cached => store.newest(number(page), within, bytes),
                Some(store) => {
                    let index = usize::try_from(page - first).unwrap_or(0);
                    store.read(number(page), self.versions[index], within, bytes);
                }
                None => bytes.fill(self.erased()),
            }
            offset += length;
        }
    }
}
