//! A medium that keeps the content of each page, and loses power at a chosen step.
//!
//! Layer: a medium, for integrity tests, recovery and devices that need data. Main types:
//! [`Contents`], [`PageState`]. A page holds the stamp that it was programmed with: logical page
//! and version, as the OOB bytes of a real page do. Every page program, page of a copy and erase is
//! one step; power is lost in the middle of a step, which leaves a torn page or a half-erased
//! block, and all later steps do nothing.
//!
//! Source: the outcomes of an interrupted program and erase in `boardlab-media`, reduced to what a
//! translation layer can distinguish: readable, erased, or neither. Left out: time.

use crate::cause::Cause;
use crate::geometry::{Geometry, Page, PageRun};
use crate::medium::{
    CellMode, Cells, Copies, Label, Medium, OperationCounts, RequestTiming, Stamp, Version,
};
use boardlab_sim::Instant;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageState {
    /// Nothing was programmed since the erase.
    Erased,
    /// Neither erased nor readable: interrupted, or corrupted by an interrupted step.
    Torn,
    /// Data.
    Data(Stamp),
}

/// A medium that keeps page contents.
#[derive(Debug, Clone)]
pub struct Contents {
    geometry: Geometry,
    cells: Cells,
    holds: Vec<PageState>,
    /// Steps until power is lost.
    steps_left: Option<u64>,
    steps: u64,
    /// The records of the layer itself that pages hold besides a stamp, by page number.
    words: BTreeMap<u32, Arc<[u64]>>,
    /// The number of rows that share a word line.
    bits: u32,
    /// The contents of the OOB bytes of each block's first page: erase count, mode, and the number
    /// of blocks opened before it.
    erases: Vec<u32>,
    modes: Vec<CellMode>,
    opened: Vec<u64>,
    opens: u64,
    /// The label in the last programmed pages of each block.
    labels: Vec<Option<Label>>,
    /// Blocks that are marked bad.
    bad: Vec<bool>,
    /// The page that was being programmed, or the first page of the block that was being erased,
    /// when power was lost.
    torn: Option<Page>,
    /// When the current request began. It ends at the same time, since nothing takes time.
    now: Instant,
}

impl Contents {
    /// A medium with all blocks erased and no power cut.
    #[must_use]
    pub fn new(geometry: &Geometry) -> Self {
        Self {
            geometry: *geometry,
            cells: Cells::new(geometry),
            holds: vec![PageState::Erased; geometry.pages() as usize],
            steps_left: None,
            steps: 0,
            words: BTreeMap::new(),
            bits: 1,
            erases: vec![0; geometry.blocks() as usize],
            modes: vec![CellMode::Native; geometry.blocks() as usize],
            opened: vec![0; geometry.blocks() as usize],
            opens: 0,
            labels: vec![None; geometry.blocks() as usize],
            bad: vec![false; geometry.blocks() as usize],
            torn: None,
            now: Instant::ZERO,
        }
    }

    /// The same with `bits` rows in each word line. A torn program corrupts the earlier rows of its
    /// word line on its die, and the earlier mapped pages of its flash page.
    #[must_use]
    pub fn paired(self, bits: u32) -> Self {
        Self { bits: bits.max(1), ..self }
    }

    /// The erase count of a block, including an interrupted erase.
    #[must_use]
    pub fn erases(&self, block: u32) -> u32 {
        self.erases[block as usize]
    }

    /// The mode in which a block was last opened.
    #[must_use]
    pub fn mode(&self, block: u32) -> CellMode {
        self.modes[block as usize]
    }

    /// The sequence number of the block's last opening among all openings.
    #[must_use]
    pub fn opened(&self, block: u32) -> u64 {
        self.opened[block as usize]
    }

    /// The label of a block that holds all pages of its unit.
    #[must_use]
    pub fn whole(&self, block: u32) -> Option<Label> {
        let last = |label: &Label| Page { block, offset: label.pages - 1 };
        let label = self.labels[block as usize];
        label.filter(|label| matches!(self.state(last(label)), PageState::Data(_)))
    }

    /// Whether a block is marked bad.
    #[must_use]
    pub fn is_bad(&self, block: u32) -> bool {
        self.bad[block as usize]
    }

    /// The record that a readable page holds, if any.
    #[must_use]
    pub fn words(&self, page: Page) -> Option<&[u64]> {
        let readable = matches!(self.state(page), PageState::Data(_));
        let number = self.geometry.first_page(page.block) + page.offset;
        self.words.get(&number).filter(|_| readable).map(|words| &words[..])
    }

    /// Corrupts the pages before `page` that share its cells.
    fn corrupt_shared(&mut self, page: Page) {
        let (mine, units) = (self.geometry.place(page.offset), self.geometry.stripe().units);
        for offset in 0..page.offset {
            let other = self.geometry.place(offset);
            let same_flash_page = offset / units == page.offset / units;
            let lower = other.row < mine.row
                && other.row / self.bits == mine.row / self.bits
                && self.modes[page.block as usize] == CellMode::Native;
            if same_flash_page || (lower && other.die == mine.die) {
                self.corrupt(Page { offset, ..page });
            }
        }
    }

    /// Loses power in the middle of the step after `steps` more.
    pub const fn cut_after(&mut self, steps: u64) {
        self.steps_left = Some(steps);
    }

    /// Whether power is on.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.torn.is_none()
    }

    /// The number of completed steps.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// The page, or the first page of the block, that the power cut tore.
    #[must_use]
    pub const fn torn(&self) -> Option<Page> {
        self.torn
    }

    /// The state of a page.
    #[must_use]
    pub fn state(&self, page: Page) -> PageState {
        self.holds[self.index(page)]
    }

    /// Makes a page unreadable, as a torn program does to pages that share its cells.
    pub fn corrupt(&mut self, page: Page) {
        let index = self.index(page);
        self.holds[index] = PageState::Torn;
    }

    /// Restores power. Each block may be programmed from the first page on behind its last page
    /// that is not erased. The counts of [`Medium::operations`] restart from zero.
    pub fn restart(&mut self) {
        self.cells = Cells::new(&self.geometry);
        (self.steps_left, self.torn) = (None, None);
        let pages = self.geometry.pages_per_block();
        for block in 0..self.geometry.blocks() {
            let first = self.geometry.first_page(block) as usize;
            let held = &self.holds[first..first + pages as usize];
            let used = held.iter().rposition(|holds| *holds != PageState::Erased);
            let used = used.map_or(0, |last| u32::try_from(last + 1).expect("a block fits u32"));
            self.cells.assume(block, used);
        }
    }

    fn index(&self, page: Page) -> usize {
        self.geometry.first_page(page.block) as usize + page.offset as usize
    }

    /// Counts the next step and returns whether it completes. The step that the power cut
    /// interrupts is recorded as `page`.
    fn step(&mut self, page: Page) -> bool {
        if !self.is_on() {
            return false;
        }
        match &mut self.steps_left {
            Some(0) => {
                self.torn = Some(page);
                false
            }
            left => {
                if let Some(left) = left {
                    *left -= 1;
                }
                self.steps += 1;
                true
            }
        }
    }

    fn put(&mut self, page: Page, stamp: Stamp) {
        let was_on = self.is_on();
        let holds = if self.step(page) { PageState::Data(stamp) } else { PageState::Torn };
        if was_on {
            let index = self.index(page);
            self.holds[index] = holds;
            if holds == PageState::Torn {
                self.corrupt_shared(page);
            }
        }
    }
}

impl Medium for Contents {
    fn program(&mut self, run: PageRun, stamp: Stamp, _: Cause) {
        self.cells.program(run);
        for more in 0..run.count {
            let logical = match stamp.logical {
                Stamp::NOTHING => Stamp::NOTHING,
                first => first + more,
            };
            let page = Page { block: run.block, offset: run.offset + more };
            self.put(page, Stamp { logical, ..stamp });
        }
    }

    fn copy(&mut self, copies: Copies<'_>, _: Cause) {
        self.cells.copy(copies);
        let moves = copies.offsets.iter().zip(copies.logical);
        for ((&offset, &logical), to) in moves.zip(copies.to.offset..) {
            let from = Page { block: copies.from, offset };
            let to = Page { block: copies.to.block, offset: to };
            match self.state(from) {
                _ if logical == Stamp::NOTHING => self.put(to, Stamp::FILLER),
                PageState::Data(stamp) => {
                    let number = |page: Page| self.geometry.first_page(page.block) + page.offset;
                    let record = self.words.get(&number(from)).cloned();
                    if let Some(record) = record.filter(|_| self.is_on()) {
                        self.words.insert(number(to), record);
                    }
                    self.put(to, stamp);
                }
                // Without power the mechanism continues, but its results do not matter.
                holds => assert!(!self.is_on(), "{from} is copied and holds {holds:?}"),
            }
        }
    }

    fn read(&mut self, run: PageRun, _: Cause) {
        self.cells.read(run);
    }

    fn erase(&mut self, block: u32, _: Cause) {
        self.cells.erase(block);
        let was_on = self.is_on();
        let done = self.step(Page { block, offset: 0 });
        if was_on {
            let first = self.geometry.first_page(block) as usize;
            let pages = self.geometry.pages_per_block() as usize;
            let left = if done { PageState::Erased } else { PageState::Torn };
            self.holds[first..first + pages].fill(left);
            self.erases[block as usize] += 1;
            self.labels[block as usize] = None;
            let first = self.geometry.first_page(block);
            let gone = first..first + self.geometry.pages_per_block();
            gone.for_each(|page| drop(self.words.remove(&page)));
        }
    }

    fn open(&mut self, block: u32, mode: CellMode) {
        if self.is_on() {
            self.opens += 1;
            self.opened[block as usize] = self.opens;
            self.modes[block as usize] = mode;
        }
    }

    fn label(&mut self, block: u32, label: Label) {
        if self.is_on() {
            self.labels[block as usize] = Some(label);
        }
    }

    fn mark_bad(&mut self, block: u32) {
        let was_on = self.is_on();
        let marked = self.step(Page { block, offset: 0 });
        if was_on {
            self.bad[block as usize] = marked;
            // The content of a block that fails to erase or program is undefined.
            let first = self.geometry.first_page(block) as usize;
            let pages = self.geometry.pages_per_block() as usize;
            self.holds[first..first + pages].fill(PageState::Torn);
        }
    }

    fn program_record(&mut self, page: Page, stamp: Stamp, words: &[u64], cause: Cause) {
        if self.is_on() {
            let number = self.geometry.first_page(page.block) + page.offset;
            self.words.insert(number, words.into());
        }
        self.program(page.into(), stamp, cause);
    }

    fn begin(&mut self, at: Instant) {
        self.now = at;
    }

    fn end(&mut self) -> RequestTiming {
        let now = self.now;
        RequestTiming { transferred: now, accepted: now, finished: now, ..RequestTiming::default() }
    }

    fn operations(&self) -> OperationCounts {
        self.cells.operations()
    }

    fn programmed(&self, block: u32) -> u32 {
        self.cells.next(block)
    }

    fn version(&self, page: Page) -> Version {
        match self.state(page) {
            PageState::Data(stamp) => stamp.version,
            PageState::Erased | PageState::Torn => Version(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_sim::Bytes;

    #[test]
    fn a_torn_program_corrupts_the_row_that_shares_its_cells_unless_they_hold_one_bit() {
        let part = Geometry::new(4, 8, Bytes::new(64), 8).expect("a geometry");
        for (mode, corrupts) in [(CellMode::Native, true), (CellMode::Slc, false)] {
            let mut medium = Contents::new(&part).paired(2);
            let stamp = |logical| Stamp { logical, version: Version(1) };
            medium.open(0, mode);
            medium.program(PageRun { block: 0, offset: 0, count: 3 }, stamp(0), Cause::Host);
            medium.cut_after(0);
            medium.program(PageRun { block: 0, offset: 3, count: 1 }, stamp(3), Cause::Host);
            assert_eq!(medium.steps(), 3, "the torn one is none");
            let held = [0, 1, 2, 3].map(|offset| medium.state(Page { block: 0, offset }));
            let lower = if corrupts { PageState::Torn } else { PageState::Data(stamp(2)) };
            assert_eq!(
                held,
                [PageState::Data(stamp(0)), PageState::Data(stamp(1)), lower, PageState::Torn]
            );
        }
    }
}
