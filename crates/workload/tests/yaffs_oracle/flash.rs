//! A flash in memory that writes down each operation as the oracle does, and cuts the power at one of them.

use boardlab_mtd::{BlockIndex, Error, Geometry, Mtd, PageIndex, RamMtd, RawPages, ReadResult};
use boardlab_sim::{Bytes, Clock};
use boardlab_yaffs2::TagsPlace;
use boardlab_yaffs2::format::tags1::Layout1;
use boardlab_yaffs2::format::{ByteOrder, ObjectType, Tags};
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

/// The object of the chunks of block summaries.
const SUMMARY: u32 = 0x10;

/// What is done to a flash in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) page_reads: u64,
    pub(super) oob_reads: u64,
    pub(super) programs: u64,
    pub(super) erases: u64,
}

/// What becomes of the operation at which the power fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Torn {
    /// It has not begun.
    NotBegun,
    /// Half of the data, and no spare bytes; half of a block.
    Half,
    /// It is complete.
    Whole,
}

#[derive(Debug, Default)]
struct Log {
    trace: String,
    work: Work,
    /// Programs and erases until the power fails, and how.
    cut: Option<(u64, Torn)>,
    /// Nothing works until the power is back.
    dead: bool,
}

/// The flash. Clones share one log.
#[derive(Debug, Clone)]
pub(super) struct Traced {
    ram: RamMtd,
    log: Rc<RefCell<Log>>,
    tags: TagsPlace,
    order: ByteOrder,
}

impl Traced {
    pub(super) fn new(ram: RamMtd, tags: TagsPlace, order: ByteOrder) -> Self {
        Self { ram, log: Rc::default(), tags, order }
    }

    /// Does something that nobody watches.
    pub(super) fn unwatched<T>(&self, look: impl FnOnce() -> T) -> T {
        let kept = self.log.take();
        let seen = look();
        self.log.replace(kept);
        seen
    }

    pub(super) fn cut(&self, number: u64, torn: Torn) {
        self.log.borrow_mut().cut = Some((number, torn));
    }

    pub(super) fn note(&self, name: &str) -> Work {
        let mut log = self.log.borrow_mut();
        let _ = writeln!(log.trace, "# {name}");
        std::mem::take(&mut log.work)
    }

    /// The power is back, and counts begin anew.
    pub(super) fn power_on(&self) {
        let mut log = self.log.borrow_mut();
        (log.work, log.dead) = (Work::default(), false);
    }

    pub(super) fn trace(&self) -> String {
        self.log.borrow().trace.clone()
    }

    /// All pages, each with the spare bytes as a driver places them; without what the sources leave to chance, as
    /// `record.py` explains.
    pub(super) fn dump(&self) -> Vec<u8> {
        let mut ram = self.ram.clone();
        let before = match self.tags {
            TagsPlace::Yaffs1(Layout1::Around) => 0,
            TagsPlace::Yaffs1(Layout1::Packed) => 8,
            _ => 2,
        };
        let (mut clock, mut dump) = (Clock::new(), Vec::new());
        let (mut data, mut spare) = self.buffers();
        for number in 0..ram.geometry().block_count() * self.pages() {
            let number = PageIndex(number);
            ram.read_raw(&mut clock, number, &mut data, &mut spare).unwrap();
            self.blank(&mut data, &mut spare);
            dump.extend(&data);
            dump.extend(std::iter::repeat_n(0xFF, before));
            dump.extend(&spare);
        }
        dump
    }

    /// Blanks what the sources leave to chance.
    fn blank(&self, data: &mut [u8], spare: &mut [u8]) {
        let end = data.len() - if self.tags == TagsPlace::InBand { 16 } else { 0 };
        let tags = match self.tags {
            TagsPlace::Yaffs1(_) => return,
            TagsPlace::InBand => &data[end..],
            TagsPlace::Oob { .. } => &*spare,
        };
        let Some(Tags { object, .. }) = Tags::parse(tags, self.order) else { return };
        if object == SUMMARY {
            let entries = 16 + 12 * (usize::try_from(self.pages()).expect("few pages") - 1);
            data[entries..end].fill(0xFF);
        }
    }

    /// Pages of a block.
    fn pages(&self) -> u32 {
        let geometry = self.ram.geometry();
        let pages = geometry.size() / geometry.write_size / u64::from(geometry.block_count());
        u32::try_from(pages).expect("a small block")
    }

    /// Room for the data and the spare bytes of a page.
    fn buffers(&self) -> (Vec<u8>, Vec<u8>) {
        let geometry = self.ram.geometry();
        let free = geometry.oob.expect("a NAND").available;
        (vec![0; geometry.write_size.to_usize()], vec![0; free.to_usize()])
    }

    /// Writes an operation down. Returns how it is torn if it is the last.
    fn changes(&self, line: &str) -> Option<Torn> {
        let mut log = self.log.borrow_mut();
        if log.dead {
            return Some(Torn::NotBegun);
        }
        let _ = writeln!(log.trace, "{line}");
        let (left, torn) = log.cut.take()?;
        log.cut = (left > 1).then(|| (left - 1, torn));
        log.dead = left == 1;
        (left == 1).then_some(torn)
    }

    fn reads(&self, line: &str, page: bool) {
        let mut log = self.log.borrow_mut();
        if log.dead {
            return;
        }
        let _ = writeln!(log.trace, "{line}");
        log.work.page_reads += u64::from(page);
        log.work.oob_reads += u64::from(!page);
    }

    fn page_at(&self, offset: Bytes) -> PageIndex {
        let page = offset.get() / self.ram.geometry().write_size.get();
        PageIndex(u32::try_from(page).expect("a small flash"))
    }

    fn program_line(&self, page: PageIndex, data: &[u8], oob: &[u8]) -> String {
        let word = |bytes: &[u8], at: usize| self.order.get32(bytes, at..at + 4);
        let page = page.0;
        let bytes = match self.tags {
            TagsPlace::Yaffs1(_) if data.is_empty() => return format!("D {page}"),
            TagsPlace::Yaffs1(layout) => {
                let spare = match layout {
                    Layout1::Packed => oob.to_vec(),
                    Layout1::Around => [0, 1, 2, 3, 6, 7, 11, 12].map(|at| oob[at]).to_vec(),
                };
                let (low, high) = (word(&spare, 0), word(&spare, 4));
                let (object, chunk) = (high & 0x3_FFFF, low & 0xF_FFFF);
                let (bytes, serial) = (low >> 22 & 0x3FF, low >> 20 & 3);
                return format!("P {page} {object} {chunk} {bytes} s{serial}");
            }
            TagsPlace::InBand => &data[data.len() - 16..],
            TagsPlace::Oob { .. } => oob,
        };
        let tags = Tags::parse(bytes, self.order).expect("not erased");
        let Tags { object, chunk, bytes, sequence, .. } = tags;
        let Some(extra) = tags.extra else {
            return format!("P {page} {object} {chunk} {bytes} {sequence}");
        };
        let size = match extra.kind() {
            ObjectType::HardLink => u64::from(extra.equivalent),
            _ => extra.size,
        };
        let shrink = if extra.shrink { " shrink" } else { "" };
        let shadows = if extra.shadows { " shadows" } else { "" };
        let (kind, parent) = (extra.kind, extra.parent);
        format!("P {page} {object} 0 {size} {sequence} type{kind} parent{parent}{shrink}{shadows}")
    }
}

fn power_fails(clock: &Clock) -> Error {
    Error::PowerCut { at: clock.now() }
}

impl Mtd for Traced {
    fn geometry(&self) -> &Geometry {
        self.ram.geometry()
    }

    fn read(&mut self, clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult {
        self.reads(&format!("R {}", self.page_at(offset).0), true);
        self.ram.read(clock, offset, buffer)
    }

    fn read_page(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> ReadResult {
        self.reads(&format!("R {}", page.0), true);
        self.ram.read_page(clock, page, data, oob)
    }

    fn read_oob(&mut self, clock: &mut Clock, page: PageIndex, buffer: &mut [u8]) -> ReadResult {
        self.reads(&format!("T {}", page.0), false);
        self.ram.read_oob(clock, page, buffer)
    }

    fn program(&mut self, clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error> {
        self.program_oob(clock, self.page_at(offset), data, &[])
    }

    fn program_oob(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), Error> {
        self.log.borrow_mut().work.programs += 1;
        let torn = self.changes(&self.program_line(page, data, oob));
        match torn {
            None => return self.ram.program_oob(clock, page, data, oob),
            Some(Torn::NotBegun) => {}
            Some(Torn::Half) => {
                let mut half = data.to_vec();
                half[data.len() / 2..].fill(0xFF);
                self.ram.program_oob(clock, page, &half, &[])?;
            }
            Some(Torn::Whole) => self.ram.program_oob(clock, page, data, oob)?,
        }
        Err(power_fails(clock))
    }

    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        self.log.borrow_mut().work.erases += 1;
        match self.changes(&format!("E {}", block.0)) {
            None => return self.ram.erase(clock, block),
            Some(Torn::NotBegun) => {}
            Some(Torn::Half) => self.erase_half(clock, block)?,
            Some(Torn::Whole) => self.ram.erase(clock, block)?,
        }
        Err(power_fails(clock))
    }

    fn is_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<bool, Error> {
        self.ram.is_bad(clock, block)
    }
}

impl Traced {
    /// Erases the first half of the pages of a block.
    fn erase_half(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        let pages = self.pages();
        let mut kept = Vec::new();
        for number in (pages / 2..pages).map(|page| PageIndex(block.0 * pages + page)) {
            let (mut data, mut spare) = self.buffers();
            self.ram.read_raw(clock, number, &mut data, &mut spare)?;
            kept.push((number, data, spare));
        }
        self.ram.erase(clock, block)?;
        kept.into_iter().try_for_each(|(number, data, spare)| {
            self.ram.program_oob(clock, number, &data, &spare)
        })
    }
}
