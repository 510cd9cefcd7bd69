//! The flash that YAFFS is mounted on: a dump whose free spare bytes begin with the tags, wherever they lie.
//!
//! Layer: rank 7. Main types: [`ImageFlash`]; [`PastState`], an older state that it is in.

use super::pages::{Pages, Place};
use crate::dump::Dump;
use boardlab_mtd::{BlockIndex, Error, Geometry, Mtd, Oob, PageIndex, RawPages, ReadResult};
use boardlab_sim::{Bytes, Clock};
use boardlab_yaffs2::format::Tags;
use boardlab_yaffs2::format::tags::Checked;
use boardlab_yaffs2::format::tags1::Layout1;
use std::ops::Range;

/// A dump as YAFFS sees it.
#[derive(Debug, Clone)]
pub(super) struct ImageFlash {
    dump: Dump,
    geometry: Geometry,
    pub(super) pages: Pages,
    /// The spare bytes in the order in which YAFFS gets them.
    free: Vec<usize>,
    /// The spare bytes of bad-block marks.
    mark: Option<Range<usize>>,
    /// The older state that is shown.
    pub(super) past: Option<PastState>,
    /// The pages in use, in order, with their objects: what the audit has read.
    pub(super) holders: Vec<(u32, u32)>,
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
        Self { dump, geometry, pages, free, mark, past: None, holders: Vec::new() }
    }

    pub(super) const fn dump(&self) -> &Dump {
        &self.dump
    }

    /// Erases a block, whatever mark it has.
    pub(super) fn blank(&mut self, block: BlockIndex) {
        self.dump.blank(block);
    }

    /// A page: whether all of it could be corrected, and its tags. `data` is filled in any case.
    pub(super) fn look(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &mut [u8],
    ) -> Result<PageLook, Error> {
        let start = self.geometry.page_range(page)?.start;
        let whole = match self.dump.read(clock, start, data) {
            Ok(_) => true,
            Err(Error::Uncorrectable { .. }) => false,
            Err(error) => return Err(error),
        };
        let spare = if self.pages.oob.is_zero() { Vec::new() } else { self.spare(clock, page)? };
        let (tags, checked) = self.pages.place.tags(data, &spare, self.pages.order);
        Ok(PageLook { whole, tags, checked })
    }

    /// All spare bytes of a page.
    fn spare(&mut self, clock: &mut Clock, page: PageIndex) -> Result<Vec<u8>, Error> {
        let mut spare = vec![0xFF; self.pages.oob.to_usize()];
        self.dump.read_raw(clock, page, &mut [], &mut spare)?;
        Ok(spare)
    }

    /// The zero bits in a byte of the bad-block mark of `block` that has the most.
    pub(super) fn mark_zeros(
        &mut self,
        clock: &mut Clock,
        block: BlockIndex,
    ) -> Result<u32, Error> {
        let Some(mark) = self.mark.clone() else { return Ok(0) };
        let pages = self.dump.shape().pages_per_block();
        let first = u64::from(block.0) * pages;
        let mut zeros = 0;
        for page in first..first + pages.min(2) {
            let page = PageIndex(u32::try_from(page).expect("pages are counted in u32"));
            let spare = self.spare(clock, page)?;
            let most = spare[mark.clone()].iter().map(|byte| byte.count_zeros()).max();
            zeros = zeros.max(most.unwrap_or(0));
        }
        Ok(zeros)
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
        self.dump.erase(clock, block)
    }

    fn read_oob(&mut self, clock: &mut Clock, page: PageIndex, buffer: &mut [u8]) -> ReadResult {
        self.geometry.oob_range(page, Bytes::of(buffer))?;
        let spare = self.spare(clock, page)?;
        for (byte, &at) in buffer.iter_mut().zip(&self.free) {
            *byte = spare[at];
        }
        Ok(boardlab_mtd::ReadHealth::default())
    }

    fn is_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<bool, Error> {
        Ok(self.mark_zeros(clock, block)? > 0)
    }
}
