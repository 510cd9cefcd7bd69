//! Power-cut safety of a layer: trims are kept in flash, and nothing is erased too early.
//!
//! Layer: a stream of the mechanism in [`crate::page_map`]. Main types: [`PowerSafety`], the
//! policy, and [`SharedCells`]. A trimmed logical page leaves older copies behind, which a scan
//! would take for data. So the layer keeps one bit for each logical page in *trim pages*, which are
//! logical pages after all others and are scanned, collected and levelled like data. A trim page of
//! version `V` states for the pages whose bit is set that everything older than `V` is void.
//!
//! ```text
//!   trim --> bits in memory --- flush, or any erase ---> trim page (Cause::Map)
//!   data at risk in shared cells --- flush, or any erase ---> padding to the end of the word line
//! ```
//!
//! Sources: cells that two pages share and what a cut program does to the other, Tseng, Grupp, Swanson,
//! "Understanding the impact of power loss on flash memory" (DAC 2011); padding of word lines, the
//! open-channel specification's `mw_cunits` (pages that must follow before data are safe). How a card
//! stores its trims is not published: assumed. Left out: a backup of lower pages, capacitors.

use crate::cause::Cause;
use crate::error::Error;
use crate::frontier::Frontier;
use crate::geometry::{Geometry, Page};
use crate::medium::{CellMode, Medium, Stamp};
use crate::page_map::PageMapped;
use crate::policy::streams::Streams;
use crate::pool::Tier;
use crate::table::Table;
use std::collections::BTreeSet;

const WORD: u32 = 64;

/// How the part protects pages that share cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SharedCells {
    /// Before a flush ends and before any erase, the word lines in use are padded, so flushed data
    /// are durable.
    #[default]
    Padded,
    /// No protection: a power cut may corrupt the flushed pages of one word line of one die.
    Exposed,
}

/// The power-cut safety of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PowerSafety {
    /// Rows that share a word line: 1 where a program cannot corrupt another row.
    pub bits: u32,
    /// Their protection.
    pub shared: SharedCells,
}

impl PowerSafety {
    /// Pages between two points at which all earlier pages are durable.
    #[must_use]
    pub const fn group(&self, geometry: &Geometry) -> u32 {
        match self.bits {
            0 | 1 => geometry.stripe().units,
            bits => bits.saturating_mul(geometry.stripe().row_pages()),
        }
    }

    /// Flushed pages that one power cut may corrupt.
    #[must_use]
    pub const fn flushed_at_risk(&self, geometry: &Geometry) -> u32 {
        match self.shared {
            SharedCells::Padded => 0,
            SharedCells::Exposed => {
                let lower = self.bits.saturating_sub(1) * geometry.stripe().program_pages();
                lower + geometry.stripe().units - 1
            }
        }
    }

    /// The host pages that one trim page covers. Where [`PowerSafety::flushed_at_risk`] is not
    /// zero, one of the pages at risk may be a trim page; without it trimmed data reappear.
    #[must_use]
    pub fn pages_of_trim_page(geometry: &Geometry) -> u32 {
        let words = u32::try_from(geometry.page().get() / 8).unwrap_or(u32::MAX / WORD);
        words.clamp(1, u32::MAX / WORD) * WORD
    }

    /// Pages up to a multiple of which open blocks are filled up: 1 where they are not.
    pub(crate) const fn padding(&self, geometry: &Geometry) -> u32 {
        match self.shared {
            SharedCells::Padded => self.group(geometry),
            SharedCells::Exposed => 1,
        }
    }
}

/// The trimmed logical pages.
#[derive(Debug, Clone)]
pub(crate) struct Trims {
    pub(crate) safety: PowerSafety,
    /// The logical page of the first trim page, and the host pages that one covers.
    pub(crate) first: u32,
    per_page: u32,
    bits: Vec<u64>,
    /// Trim pages that are older than the bits.
    pub(crate) due: BTreeSet<u32>,
}

impl Trims {
    fn new(safety: PowerSafety, geometry: &Geometry, first: u32) -> Self {
        let per_page = PowerSafety::pages_of_trim_page(geometry);
        let pages = geometry.logical_pages().div_ceil(per_page);
        let all = u64::from(pages) * u64::from(per_page / WORD);
        let bits = vec![0; usize::try_from(all).expect("a bit for each page fits memory")];
        Self { safety, first, per_page, bits, due: BTreeSet::new() }
    }

    pub(crate) fn pages(&self, geometry: &Geometry) -> u32 {
        geometry.logical_pages().div_ceil(self.per_page)
    }

    /// The first host page that a trim page covers.
    pub(crate) const fn first_of(&self, page: u32) -> u32 {
        page * self.per_page
    }

    fn set(&mut self, logical: u32, trimmed: bool) -> bool {
        let (word, bit) = ((logical / WORD) as usize, 1 << (logical % WORD));
        let before = self.bits[word] & bit != 0;
        if trimmed {
            self.bits[word] |= bit;
        } else {
            self.bits[word] &= !bit;
        }
        before != trimmed
    }

    /// Records that pages have data again. No trim page is needed: their versions show it.
    #[inline]
    pub(crate) fn written(&mut self, first: u32, count: u32) {
        for logical in first..first + count {
            self.set(logical, false);
        }
    }

    /// Records a trimmed page; returns whether it was trimmed before.
    pub(crate) fn note_trimmed(&mut self, logical: u32) -> bool {
        !self.set(logical, true)
    }

    fn words(&self, page: u32) -> &[u64] {
        let words = (self.per_page / WORD) as usize;
        &self.bits[page as usize * words..][..words]
    }
}

impl<M: Medium> PageMapped<M> {
    /// The same layer, before its first use, with power-cut safety, so that its map can be rebuilt
    /// after a power cut: see [`crate::page_map::recovery`]. It takes one more open block and two
    /// more of reserve.
    ///
    /// # Errors
    /// [`Error::TooFewBlocks`]; [`Error::Policy`] when the trim pages fill more than a block, or a word
    /// line more than a quarter of one.
    ///
    /// # Panics
    /// When the layer has been used.
    pub fn power_safe(mut self, safety: PowerSafety) -> Result<Self, Error> {
        assert_eq!(
            self.flash.version.0 + u64::from(self.flash.mapped),
            0,
            "chosen before the first use"
        );
        let (geometry, first) = (self.flash.geometry, self.flash.table.len());
        let trims = Trims::new(safety, &geometry, first);
        let pages = geometry.pages_per_block();
        let policy = |what, found: u32, most: u32| match found > most {
            true => Err(Error::Policy { what, found: found.into(), least: 1, most: most.into() }),
            false => Ok(()),
        };
        policy("trim pages", trims.pages(&geometry), pages)?;
        let padding = safety.padding(&geometry);
        if padding > 1 {
            policy("pages that share cells", padding, pages / 4)?;
        }
        self.policies.reserve += 2;
        let logical = first + trims.pages(&geometry);
        self.flash.table = Table::new(geometry, logical);
        self.frontiers.push(Frontier::CLOSED);
        self.trims = Some(Box::new(trims));
        if let Streams::ByClass { hot_pages, hot_blocks } = self.policies.streams {
            let least = hot_pages.div_ceil(self.dense_pages()) + 1;
            let (what, found) =
                ("blocks of hot pages, as full as padding leaves them,", hot_blocks.into());
            let (least, most) = (least.into(), geometry.blocks().into());
            if found < least {
                return Err(Error::Policy { what, found, least, most });
            }
        }
        let (blocks, needed) =
            (geometry.blocks() - self.flash.pool.retired(), self.blocks_needed(logical));
        if blocks < needed {
            let logical = logical.div_ceil(pages);
            return Err(Error::TooFewBlocks { blocks, needed, logical });
        }
        Ok(self)
    }

    /// The good blocks that the part needs to hold `pages` pages, including those of the layer itself.
    pub(crate) fn blocks_needed(&self, pages: u32) -> u32 {
        let whole = self.flash.geometry.pages_per_block();
        let pool = self.policies.streams.pool_spare(whole);
        if self.trims.is_none() {
            return self.policies.blocks_needed(pages.div_ceil(whole)) + pool;
        }
        self.policies.blocks_needed(pages.div_ceil(self.dense_pages())) + pool + 1
    }

    /// The pages of a block that are certain to hold data. On average over all blocks, padding must
    /// use less than garbage collection gains.
    fn dense_pages(&self) -> u32 {
        let padding = self.power_safety().map_or(1, |safety| safety.padding(&self.flash.geometry));
        self.flash.geometry.pages_per_block() - if padding > 1 { 2 * padding } else { 0 }
    }

    /// The power-cut safety.
    #[must_use]
    pub fn power_safety(&self) -> Option<PowerSafety> {
        self.trims.as_deref().map(|trims| trims.safety)
    }

    /// Handles a trim of pages with data.
    pub(crate) fn note_trim(&mut self, first: u32, count: u32) {
        let Some(trims) = self.trims.as_deref_mut() else { return };
        // So that the trim page is newer than everything that it voids.
        self.flash.version.0 += 1;
        for logical in first..first + count {
            if !trims.note_trimmed(logical) {
                trims.due.insert(logical / trims.per_page);
            }
        }
    }

    /// Prepares the erase of a block: the replacements of its data, and the trim pages that void
    /// them, must be durable.
    #[inline]
    pub(crate) fn make_durable_before_erase(&mut self) {
        if self.trims.is_some() {
            self.make_durable(false);
        }
    }

    /// Prepares to empty a block: no trim page may move while its list of valid pages is in use.
    /// Returns whether it may be emptied.
    #[inline]
    pub(crate) fn write_due_trims(&mut self) -> bool {
        let due = |trims: &Trims| !trims.due.is_empty();
        !self.trims.as_deref().is_some_and(due) || self.make_durable(false)
    }

    /// Makes all writes and trims durable, with garbage collection if necessary.
    pub(crate) fn make_all_durable(&mut self) {
        if self.trims.is_some() {
            self.make_durable(true);
        }
    }

    /// Returns whether everything is durable: false when no block is left for the trims because
    /// blocks have worn out.
    fn make_durable(&mut self, may_collect: bool) -> bool {
        // Data first: a trim page no longer covers pages that were written since.
        self.pad_word_lines();
        let next = |trims: &Trims| trims.due.first().copied();
        while let Some(page) = self.trims.as_deref().and_then(next) {
            let stream = self.trim_stream();
            // A read-only device still stores earlier trims.
            if may_collect && !self.make_room(stream) && !self.open_trim_block() {
                return false;
            }
            // Garbage collection may have erased a block, and so have written the page.
            let due = self.trims.as_deref_mut().is_some_and(|trims| trims.due.remove(&page));
            if due && !self.write_trim_page(page) {
                return false;
            }
        }
        self.pad_word_lines();
        true
    }

    fn trim_stream(&self) -> u8 {
        self.policies.map_stream() + 1
    }

    fn pad_word_lines(&mut self) {
        let Some(safety) = self.power_safety() else { return };
        let group = safety.padding(&self.flash.geometry);
        for stream in 0..=self.trim_stream() {
            if let Some(filler) = self.frontiers[usize::from(stream)].fill_up(group) {
                self.flash.medium.program(filler, Stamp::FILLER, Cause::Padding);
                self.flash.counters.programs[Cause::Padding] += u64::from(filler.count);
            }
            let frontier = self.frontiers[usize::from(stream)];
            // The program that will fail is tried now: a power cut during it later would corrupt
            // durable data.
            if frontier.room() == 0 && !frontier.is_aligned(group) {
                self.shut(stream);
            }
        }
    }

    /// Returns whether there was space for it; if not, it stays pending.
    fn write_trim_page(&mut self, page: u32) -> bool {
        let stream = usize::from(self.trim_stream());
        while self.frontiers[stream].room() == 0 {
            if !self.open_trim_block() {
                assert!(self.flash.pool.retired() > 0, "the reserve has a block for trims");
                self.flash.read_only = true;
                if let Some(trims) = self.trims.as_deref_mut() {
                    trims.due.insert(page);
                }
                return false;
            }
        }
        let Some(trims) = self.trims.take() else { return false };
        let run = self.frontiers[stream].take(1);
        let (place, logical) = (Page { block: run.block, offset: run.offset }, trims.first + page);
        let old = self.flash.table.set(logical, place);
        self.flash.pool.add_valid(run.block, 1);
        let stamp = Stamp { logical, version: self.flash.version };
        self.flash.medium.program_record(place, stamp, trims.words(page), Cause::Map);
        self.flash.counters.programs[Cause::Map] += 1;
        self.trims = Some(trims);
        match old {
            None => self.flash.mapped += 1,
            // A block without valid pages is left to garbage collection: an erase may be in progress.
            Some(old) => drop(self.flash.pool.invalidate(old.block, 1)),
        }
        true
    }

    /// Opens a block from the reserve without an erase; returns whether there was one.
    fn open_trim_block(&mut self) -> bool {
        let stream = self.trim_stream();
        self.shut(stream);
        let Some(block) = self.flash.pool.take_free(Tier::Main) else { return false };
        self.fill(block, stream, CellMode::Native);
        true
    }
}
