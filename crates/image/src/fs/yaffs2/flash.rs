//! The flash that YAFFS is mounted on: a dump whose free spare bytes begin with the tags, wherever they lie.
//!
//! Layer: rank 7. Main types: [`ImageFlash`]; [`PastState`], an older state that it is in.

use super::pages::{Pages, Place};
use crate::contents::WINDOW;
use crate::dump::Dump;
use crate::spare::Spare;
use boardlab_mtd::{
    BlockIndex, Error, Geometry, Mtd, Oob, PageIndex, RawPages, ReadHealth, ReadResult,
};
use boardlab_sim::{Bytes, Clock};
use boardlab_yaffs2::format::Tags;
use boardlab_yaffs2::format::tags::Checked;
use boardlab_yaffs2::format::tags1::Layout1;
use std::ops::Range;
use std::sync::Arc;

/// A dump as YAFFS sees it.
#[derive(Debug, Clone)]
pub(super) struct ImageFlash {
    dump: Dump,
    geometry: Geometry,
    pub(super) pages: Pages,
    /// The spare bytes in the order in which YAFFS gets them.
    free: Vec<usize>,
    /// Those of all pages, as far as they were read. Clones share them.
    known: Arc<KnownSpare>,
    /// All spare bytes of the page that was read last.
    spare: Vec<u8>,
    /// The spare bytes of bad-block marks.
    mark: Option<Range<usize>>,
    /// Whether the size of its blocks is known.
    pub(super) blocks_known: bool,
    /// The older state that is shown.
    pub(super) past: Option<PastState>,
    /// The pages in use, in order, with their objects: what the audit has read.
    pub(super) holders: Vec<(u32, u32)>,
}

/// The free spare bytes of pages that were read.
#[derive(Debug, Clone)]
struct KnownSpare {
    /// Of a page.
    length: usize,
    bytes: Vec<u8>,
    /// By page, whether they are here.
    there: Vec<bool>,
}

impl KnownSpare {
    fn new(pages: u64, length: usize) -> Self {
        let pages = usize::try_from(pages).expect("pages are counted in u32");
        Self { length, bytes: vec![0; pages * length], there: vec![false; pages] }
    }

    fn range(&self, page: PageIndex) -> Range<usize> {
        let start = slot(page) * self.length;
        start..start + self.length
    }

    fn get(&self, page: PageIndex) -> Option<&[u8]> {
        self.there[slot(page)].then(|| &self.bytes[self.range(page)])
    }

    fn put(&mut self, page: PageIndex, bytes: &[u8]) {
        let range = self.range(page);
        self.bytes[range].copy_from_slice(bytes);
        self.there[slot(page)] = true;
    }

    fn drop_page(&mut self, page: PageIndex) {
        self.there[slot(page)] = false;
    }

    fn forget(&mut self, block: BlockIndex, pages: u64) {
        let pages = usize::try_from(pages).expect("pages are counted in u32");
        let first = slot(PageIndex(block.0)) * pages;
        self.there[first..first + pages].fill(false);
    }
}

fn slot(page: PageIndex) -> usize {
    usize::try_from(page.0).expect("boardlab runs where usize holds u32")
}

/// An older state of a flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PastState {
    /// The last block in it, by its sequence number.
    pub(super) sequence: u32,
    /// The newest block of the flash.
    pub(super) newest: u32,
}

/// What is in a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageLook {
    /// Whether all of its data could be corrected.
    pub(super) whole: bool,
    /// Its tags; `None` when it is not programmed.
    pub(super) tags: Option<Tags>,
    /// Whether they are right by their code.
    pub(super) checked: Checked,
}

/// The ECC bytes whose first two are swapped in the order of SmartMedia.
const SMART_MEDIA: [(usize, usize); 2] = [(8, 9), (13, 14)];

impl ImageFlash {
    /// `dump` with these pages. Linux' own order of ECC bytes around the page status of YAFFS1, `linux_order`,
    /// becomes that of YAFFS.
    pub(super) fn new(
        dump: Dump,
        pages: Pages,
        mark: Option<Range<usize>>,
        linux_order: bool,
    ) -> Self {
        let mut geometry = dump.geometry().clone();
        let mut free = pages.place.bytes().to_vec();
        if let (Place::Yaffs1(Layout1::Around, _), true) = (&pages.place, linux_order) {
            SMART_MEDIA.into_iter().for_each(|(one, other)| free.swap(one, other));
        }
        let available = Bytes::new(free.len() as u64);
        geometry.oob = geometry.oob.map(|oob| Oob { available, ..oob });
        let spare = vec![0xFF; pages.oob.to_usize()];
        let known = Arc::new(KnownSpare::new(geometry.page_count(), free.len()));
        Self {
            dump,
            geometry,
            pages,
            free,
            known,
            spare,
            mark,
            blocks_known: false,
            past: None,
            holders: Vec::new(),
        }
    }

    pub(super) const fn dump(&self) -> &Dump {
        &self.dump
    }

    pub(super) const fn dump_mut(&mut self) -> &mut Dump {
        &mut self.dump
    }

    /// Forgets the spare bytes of a block that changes.
    fn forget(&mut self, block: BlockIndex) {
        let pages = self.dump.shape().pages_per_block();
        Arc::make_mut(&mut self.known).forget(block, pages);
    }

    /// Erases a block, whatever mark it has.
    pub(super) fn blank(&mut self, block: BlockIndex) {
        self.dump.blank(block);
        self.forget(block);
    }

    /// A page: whether all of it could be read and corrected, and its tags. `data` is filled in any case.
    pub(super) fn look(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &mut [u8],
    ) -> Result<PageLook, Error> {
        let read = if self.spare.is_empty() {
            let start = self.geometry.page_range(page)?.start;
            self.dump.read(clock, start, data)
        } else {
            self.dump.read_with_oob(page, data, &mut self.spare)
        };
        let whole = match read {
            Ok(_) => true,
            Err(Error::Uncorrectable { .. }) => false,
            Err(error) => return Err(error),
        };
        let (tags, checked) = self.pages.place.tags(data, &self.spare, self.pages.order);
        Ok(PageLook { whole, tags, checked })
    }

    /// The tags of a page that was read before, where nothing but them can be wrong: its data have no ECC, and
    /// the file could be read. All of it was, with the spare bytes in front of it and its own.
    pub(super) fn known_tags(&self, page: PageIndex) -> Option<(Option<Tags>, Checked)> {
        let corrects = self.dump.spare().is_some_and(Spare::corrects);
        let before = PageIndex(page.0.checked_sub(1)?);
        if corrects || self.pages.raw() > WINDOW || self.known.get(before).is_none() {
            return None;
        }
        let known = self.known.get(page).filter(|known| !known.is_empty())?;
        Some(self.pages.place.parse(known, self.pages.order))
    }

    /// Reads all spare bytes of a page.
    fn read_spare(&mut self, clock: &mut Clock, page: PageIndex) -> Result<(), Error> {
        self.dump.read_raw(clock, page, &mut [], &mut self.spare)
    }

    /// The spare bytes that YAFFS gets of the page that was read last.
    fn gather(&self, buffer: &mut [u8]) {
        for (byte, &at) in buffer.iter_mut().zip(&self.free) {
            *byte = self.spare[at];
        }
    }

    /// The zero bits in the byte of the bad-block mark of `block` that has the most.
    pub(super) fn mark_zeros(&mut self, block: BlockIndex) -> Result<u32, Error> {
        let Some(mark) = &self.mark else { return Ok(0) };
        self.dump.zeros_at(block, mark)
    }
}

impl Mtd for ImageFlash {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn read(&mut self, clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult {
        self.dump.read(clock, offset, buffer)
    }

    fn program(&mut self, clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error> {
        self.dump.program(clock, offset, data)
    }

    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        if self.is_bad(clock, block)? {
            return Err(Error::BadBlock { block });
        }
        self.forget(block);
        self.dump.erase(clock, block)
    }

    fn program_oob(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), Error> {
        self.geometry.oob_range(page, Bytes::of(oob))?;
        let mut spare = match self.dump.spare() {
            Some(spare) => spare.protect(data, &[]),
            None => return Err(Error::NoOob),
        };
        for (byte, &at) in oob.iter().zip(&self.free) {
            spare[at] &= byte;
        }
        Arc::make_mut(&mut self.known).drop_page(page);
        self.dump.program_raw(clock, page, data, &spare)
    }

    fn mark_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        self.geometry.block_range(block)?;
        let Some(mark) = self.mark.clone() else { return Err(Error::NoOob) };
        let mut spare = vec![0xFF; self.spare.len()];
        spare[mark].fill(0);
        self.forget(block);
        let pages =
            u32::try_from(self.dump.shape().pages_per_block()).expect("pages are counted in u32");
        self.dump.program_raw(clock, PageIndex(block.0 * pages), &[], &spare)
    }

    fn read_oob(&mut self, clock: &mut Clock, page: PageIndex, buffer: &mut [u8]) -> ReadResult {
        self.geometry.oob_range(page, Bytes::of(buffer))?;
        self.read_spare(clock, page)?;
        self.gather(buffer);
        if buffer.len() == self.free.len() {
            // A copy that reads on has no need of its own table.
            if let Some(known) = Arc::get_mut(&mut self.known) {
                known.put(page, buffer);
            }
        }
        Ok(ReadHealth::default())
    }

    fn read_page(
        &mut self,
        _clock: &mut Clock,
        page: PageIndex,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> ReadResult {
        self.geometry.oob_range(page, Bytes::of(oob))?;
        let read = self.dump.read_with_oob(page, data, &mut self.spare);
        self.gather(oob);
        read
    }

    fn is_bad(&mut self, _clock: &mut Clock, block: BlockIndex) -> Result<bool, Error> {
        Ok(self.mark_zeros(block)? > 0)
    }
}
