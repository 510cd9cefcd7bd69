//! Erases: sector erase with its window, chip erase, suspend and resume.
//!
//! Layer: inside the chip. Main type: [`Erase`].
//! Source: S29GL-P data sheet, 7.7.4 to 7.7.6 and 7.8.6; Am29LV800D data sheet, sector erase: "any
//! command other than sector erase or erase suspend during the time-out period resets the device
//! to reading array data"; M29W128G data sheet, 7.2.5 (DQ2 after a failed erase).
//!
//! Assumed: sectors are erased in the order in which they were queued, each with its own time from
//! the same distribution whatever its size; a failure ends the whole operation; an operation
//! continues during the latency of a suspend command, so it may still complete.

use super::command::Command;
use super::span::Span;
use super::status::{DQ3, DQ5, ERASE_FAILED};
use super::wiring::Address;
use super::{Chip, Work};
use boardlab_media::{EraseTear, SectorIndex};
use boardlab_sim::{Duration, Instant};

/// An erase that waits for further sectors, runs, is suspended or has failed.
#[derive(Debug, Clone)]
pub(super) struct Erase {
    /// Sectors in the order in which they were queued, each with its erase time.
    queue: Vec<(SectorIndex, Duration)>,
    /// The index in the queue of the sector being erased.
    next: usize,
    /// The progress of that sector; `None` before the first one has begun.
    span: Option<Span>,
    /// A bit per sector, set for those in the queue.
    selected: Box<[u64]>,
    whole_chip: bool,
    failed: bool,
}

impl Erase {
    /// An erase with an empty queue.
    fn new(sector_count: u32, whole_chip: bool) -> Self {
        let words = SectorIndex::new(sector_count).to_usize().div_ceil(64);
        let selected = vec![0; words].into();
        Self { queue: Vec::new(), next: 0, span: None, selected, whole_chip, failed: false }
    }

    /// Whether a sector is selected for erase: DQ2 toggles in it.
    #[inline]
    pub(super) fn selects(&self, sector: SectorIndex) -> bool {
        let at = sector.to_usize();
        self.selected[at / 64] >> (at % 64) & 1 == 1
    }

    fn push(&mut self, sector: SectorIndex, time: Duration) {
        let at = sector.to_usize();
        self.selected[at / 64] |= 1 << (at % 64);
        self.queue.push((sector, time));
    }

    /// Whether the queue is empty: all sectors so far are protected.
    pub(super) const fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether it is a chip erase, which cannot be suspended.
    pub(super) const fn is_whole_chip(&self) -> bool {
        self.whole_chip
    }

    /// Whether it has failed.
    pub(super) const fn has_failed(&self) -> bool {
        self.failed
    }
}

impl Chip {
    /// The last cycle of an erase sequence: `30` at a sector's address, or `10`.
    pub(super) fn write_erase(&mut self, now: Instant, address: Address, value: u16) {
        self.command = Command::Idle;
        match value {
            0x30 => {
                self.erase = Some(Erase::new(self.array.layout().sector_count(), false));
                self.add_sector(now, address);
            }
            0x10 if self.wiring.is_unlock1(address) => {
                self.erase = Some(Erase::new(self.array.layout().sector_count(), true));
                for sector in self.array.layout().sectors() {
                    self.enqueue(sector);
                }
                self.begin_erase(now);
            }
            _ => {}
        }
    }

    /// A write while further sectors may be added.
    pub(super) fn write_window(&mut self, now: Instant, address: Address, value: u16) {
        if self.write_register_command(address, value) {
            return;
        }
        match value {
            0x30 => self.add_sector(now, address),
            0xB0 if self.part.features.erase_suspend => {
                self.become_idle();
                if self.erase.as_ref().is_some_and(Erase::is_empty) {
                    self.erase = None;
                }
            }
            _ => {
                self.erase = None;
                self.become_idle();
            }
        }
    }

    /// Adds a sector and restarts the window.
    fn add_sector(&mut self, now: Instant, address: Address) {
        self.enqueue(self.sector_at(address));
        self.work = Work::Window;
        self.stuck = false;
        self.status = 0;
        self.event_at = now.saturating_add(self.part.timing.erase_window);
    }

    /// Queues a sector unless it is protected or already queued.
    fn enqueue(&mut self, sector: SectorIndex) {
        let Some(erase) = &mut self.erase else { return };
        if self.protection.is_set(sector) || erase.selects(sector) {
            return;
        }
        let timed = &self.part.timing.sector_erase;
        let drawn = timed.time.sample(&mut self.streams.erase);
        erase.push(sector, self.faults.erase_time(sector, drawn, timed.max));
    }

    /// Closes the window and starts the erase of the first sector.
    pub(super) fn begin_erase(&mut self, now: Instant) {
        if self.erase.as_ref().is_none_or(Erase::is_empty) {
            self.erase = None;
            return self.start_protected(now, DQ3, true);
        }
        self.start_sector(now);
        self.run_erase();
    }

    /// Starts the next sector's span.
    fn start_sector(&mut self, now: Instant) {
        let max = self.part.timing.sector_erase.max;
        if let Some(erase) = &mut self.erase {
            let time = erase.queue[erase.next].1;
            erase.span = Some(Span::new(now, self.faults.limit(time, max)));
        }
    }

    /// Runs the erase that was started or resumed.
    fn run_erase(&mut self) {
        self.work = Work::Erase;
        self.stuck = false;
        self.status = DQ3;
        self.event_at = self.next_event();
    }

    /// Processes the event of a running erase at `at`: the end of a sector, or the suspension.
    pub(super) fn advance_erase(&mut self, at: Instant) {
        let Some(Erase { queue, next, span: Some(span), .. }) = &mut self.erase else {
            return self.become_idle();
        };
        if span.end() > at {
            span.pause(at);
            return self.become_idle();
        }
        let (whole, (sector, time)) = (span.whole, queue[*next]);
        EraseTear::at(whole, time).apply(&mut self.array, sector, &mut self.streams.torn);
        if time > whole {
            return self.fail_erase(sector);
        }
        *next += 1;
        let is_last = *next == queue.len();
        self.counts.erases += 1;
        if is_last {
            self.erase = None;
            self.finish();
        } else {
            self.start_sector(at);
            self.event_at = self.next_event();
        }
    }

    /// Fails the erase at `sector`: sets DQ5, and DQ2 shows the sector.
    fn fail_erase(&mut self, sector: SectorIndex) {
        if let Some(erase) = &mut self.erase {
            erase.failed = true;
            erase.selected.fill(0);
            erase.push(sector, Duration::ZERO);
        }
        self.become_idle();
        self.work = Work::Failed;
        self.status |= DQ5;
        self.register |= ERASE_FAILED;
    }

    /// `30` while an erase is suspended. An erase that was suspended in its window begins.
    pub(super) fn resume_erase(&mut self, now: Instant) {
        match &mut self.erase {
            Some(Erase { span: Some(span), .. }) => {
                span.resumed = now;
                self.run_erase();
            }
            _ => self.begin_erase(now),
        }
    }

    /// Interrupts the waiting, running or suspended erase and leaves it torn.
    pub(super) fn tear_erase(&mut self, now: Instant) {
        let Some(mut erase) = self.erase.take().filter(|erase| !erase.failed) else { return };
        let Some(span) = &mut erase.span else { return };
        if self.work == Work::Erase {
            span.pause(now);
        }
        let (sector, time) = erase.queue[erase.next];
        EraseTear::at(span.done, time).apply(&mut self.array, sector, &mut self.streams.torn);
    }

    /// The end of the current sector's erase, unless the erase is suspended.
    pub(super) fn sector_end(&self) -> Instant {
        let span = self.erase.as_ref().and_then(|erase| erase.span);
        span.map_or(Instant::MAX, |span| span.end())
    }

    /// The end of the erase whose window, or current sector, ends at `end`.
    pub(super) fn erase_end(&self, end: Instant) -> Instant {
        let max = self.part.timing.sector_erase.max;
        let Some(erase) = &self.erase else { return end };
        let mut rest = erase.queue[erase.next..].iter();
        if erase.span.is_some() && rest.next().is_none_or(|&(_, time)| time > max) {
            return end;
        }
        let mut sum = end;
        for &(_, time) in rest {
            sum = sum.saturating_add(self.faults.limit(time, max));
            if time > max {
                break;
            }
        }
        sum
    }
}
