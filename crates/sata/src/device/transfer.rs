//! Data phases: the contents of Data FISes, and when they can be sent or accepted.
//!
//! Layer: part of [`Ssd`]. Main type: [`PayloadBuffer`], payload supplied word by word. Source and what
//! is left out: see [`crate::device::ssd`].

use crate::SECTOR_DWORDS;
use crate::agent::{Gate, Outcome, Outgoing, Reception};
use crate::device::protocol::Failure;
use crate::device::ssd::{Phase, Ssd};
use crate::wire::{Counting, Tick};
use boardlab_block::Extent;
use boardlab_ftl::Translation;

/// The dwords of a page of PIO data.
const PAGE: u32 = SECTOR_DWORDS;

/// The payload of the outgoing Data FIS as words, filled when the link first asks for words.
#[derive(Debug, Clone, Default)]
pub(crate) struct PayloadBuffer {
    is_filled: bool,
    bytes: Vec<u8>,
    words: Vec<u32>,
}

impl PayloadBuffer {
    /// Begins a new frame.
    #[inline]
    pub(crate) const fn clear(&mut self) {
        self.is_filled = false;
    }

    fn fill(&mut self, dwords: u32, bytes: impl FnOnce(&mut [u8])) {
        self.bytes.resize(usize::try_from(dwords * 4).unwrap_or(0), 0);
        bytes(&mut self.bytes);
        let (chunks, _) = self.bytes.as_chunks::<4>();
        self.words.clear();
        self.words.extend(chunks.iter().map(|bytes| u32::from_le_bytes(*bytes)));
        self.is_filled = true;
    }
}

/// Copies the words of a payload from `first` on.
fn copy(from: &[u32], first: u32, words: &mut [u32]) {
    let start = usize::try_from(first).unwrap_or(usize::MAX).min(from.len());
    from[start..].iter().zip(words).for_each(|(&word, to)| *to = word);
}

impl<T: Translation> Ssd<T> {
    /// Returns when the next Data FIS of a read can begin.
    #[inline]
    pub(crate) fn read_wake(&self, slot: usize) -> Tick {
        match self.reads[slot].next_ready() {
            Ok(Some(at)) => self.tick(at),
            Ok(None) => Tick::NEVER,
            Err(_) => Tick::ZERO,
        }
    }

    /// Returns the Data FIS that can be sent now.
    #[inline]
    pub(crate) fn offer_data(&mut self, now: Tick) -> Option<Outgoing> {
        match self.phase {
            Phase::Pio { sent } => {
                Some(Outgoing::Data(self.storage.drive().identify_frame.min(PAGE - sent)))
            }
            Phase::Read { slot, .. } => {
                let op = &self.reads[slot];
                match op.next_ready() {
                    Ok(Some(at)) if self.tick(at) <= now => {
                        let most = u64::from(self.storage.drive().frame / SECTOR_DWORDS);
                        let sectors = (op.readable_end() - op.next_sector()).min(most);
                        let offered = u32::try_from(sectors).unwrap_or(0) * SECTOR_DWORDS;
                        self.phase = Phase::Read { slot, offered };
                        self.payload.clear();
                        Some(Outgoing::Data(offered))
                    }
                    Ok(_) => None,
                    Err(refusal) => {
                        let failure = Failure::from_refusal(refusal, op.next_sector());
                        self.fail_transfer(now, slot, failure);
                        None
                    }
                }
            }
            Phase::None | Phase::Write { .. } | Phase::Trim { .. } => None,
        }
    }

    /// Returns when the payload after the first `sent` dwords of a read is in the buffer.
    #[inline]
    pub(crate) fn read_gate(&self, slot: usize, now: Tick, sent: u32) -> Gate {
        let op = &self.reads[slot];
        let sector = op.next_sector() + u64::from(sent / SECTOR_DWORDS);
        match op.ready(sector, self.speed.instant(now)) {
            Ok(Some(ready)) => {
                let until = (ready.end - op.next_sector()) * u64::from(SECTOR_DWORDS);
                Gate { until: u32::try_from(until).unwrap_or(u32::MAX), at: self.tick(ready.at) }
            }
            // A frame contains only sectors that were requested and are readable.
            Ok(None) | Err(_) => Gate { until: u32::MAX, at: Tick::NEVER },
        }
    }

    /// Returns the extent of the Data FIS offered to the link.
    #[inline]
    fn offered(&self) -> Option<Extent> {
        let Phase::Read { slot, offered } = self.phase else { return None };
        let sectors = u64::from(offered / SECTOR_DWORDS);
        Some(Extent::new(self.reads[slot].next_sector(), sectors))
    }

    #[inline]
    pub(crate) fn describe_data(&mut self) -> Option<Counting> {
        let extent = self.offered()?;
        self.storage.counting(extent)
    }

    pub(crate) fn fill_data(&mut self, first: u32, words: &mut [u32]) {
        if let Phase::Pio { sent } = self.phase {
            return copy(&self.page, sent + first, words);
        }
        let Some(extent) = self.offered() else { return words.fill(0) };
        if !self.payload.is_filled {
            let dwords = u32::try_from(extent.count).unwrap_or(0) * SECTOR_DWORDS;
            self.payload.fill(dwords, |bytes| self.storage.fill(extent, bytes));
        }
        copy(&self.payload.words, first, words);
    }

    /// Handles the outcome of sending a Data FIS.
    #[inline]
    pub(crate) fn data_sent(&mut self, now: Tick, outcome: Outcome) {
        match self.phase {
            Phase::Pio { .. } if outcome != Outcome::Accepted => {
                self.phase = Phase::None;
                self.fail_command(now, Failure::damaged(0));
            }
            Phase::Pio { sent } => {
                let sent = sent + self.storage.drive().identify_frame.min(PAGE - sent);
                self.phase = Phase::Pio { sent };
                if sent == PAGE {
                    (self.phase, self.busy) = (Phase::None, false);
                }
            }
            Phase::Read { slot, .. } if outcome != Outcome::Accepted => {
                self.fail_transfer(now, slot, Failure::damaged(self.reads[slot].next_sector()));
            }
            Phase::Read { slot, offered } => {
                let (at, sectors) = (self.speed.instant(now), u64::from(offered / SECTOR_DWORDS));
                let op = &mut self.reads[slot];
                self.storage.consume(op, at, sectors);
                if op.is_complete() {
                    self.storage.end_read(op);
                    self.end_transfer(now, slot, Ok(at));
                }
            }
            Phase::None | Phase::Write { .. } | Phase::Trim { .. } => {}
        }
    }

    /// Handles the end of an incoming Data FIS.
    #[inline]
    pub(crate) fn data_received(&mut self, now: Tick, good: bool) -> Reception {
        self.tally.damaged += u64::from(!good);
        match self.phase {
            Phase::Write { slot, remaining } => {
                self.write_data_received(now, good, slot, remaining)
            }
            Phase::Trim { blocks, done } => {
                let failure = match (good, self.frame.sectors()) {
                    (false, _) => Some(Failure::damaged(self.command.lba)),
                    (true, Some(received)) if received <= blocks => None,
                    (true, _) => Some(Failure::ABORTED),
                };
                if let Some(failure) = failure {
                    self.phase = Phase::None;
                    self.fail_command(now, failure);
                    return Reception::Refuse;
                }
                self.trim_data_received(now, blocks, done);
                Reception::Accept
            }
            Phase::None | Phase::Pio { .. } | Phase::Read { .. } => Reception::Refuse,
        }
    }

    fn trim_data_received(&mut self, now: Tick, blocks: u64, done: boardlab_sim::Instant) {
        let at = self.speed.instant(now);
        let blocks = blocks - self.frame.sectors().unwrap_or(blocks);
        match self.trim_ranges(at) {
            Err(failure) => {
                self.phase = Phase::None;
                self.fail_command(now, failure);
            }
            Ok(ended) if blocks == 0 => {
                self.phase = Phase::None;
                self.complete_command(at, Ok(ended.max(done)));
            }
            Ok(ended) => {
                self.phase = Phase::Trim { blocks, done: ended.max(done) };
                self.activate(at);
            }
        }
    }

    #[inline]
    fn write_data_received(
        &mut self,
        now: Tick,
        good: bool,
        slot: usize,
        remaining: Extent,
    ) -> Reception {
        let fits = self.frame.sectors().filter(|&received| received <= remaining.count);
        let sectors = match (good, fits) {
            (true, Some(sectors)) => sectors,
            (false, _) => {
                self.fail_transfer(now, slot, Failure::damaged(remaining.first.0));
                return Reception::Refuse;
            }
            (true, None) => {
                self.fail_transfer(
                    now,
                    slot,
                    Failure { sector: remaining.first.0, ..Failure::ABORTED },
                );
                return Reception::Refuse;
            }
        };
        let (at, first) = (self.speed.instant(now), remaining.first.0);
        let written = self.storage.write(at, Extent::new(first, sectors), self.frame.data());
        if let Err(refusal) = written {
            self.fail_transfer(now, slot, Failure::from_refusal(refusal, first));
            return Reception::Accept;
        }
        let remaining = Extent::new(first + sectors, remaining.count - sectors);
        self.phase = Phase::Write { slot, remaining };
        if remaining.count == 0 {
            let ended = self.storage.end_write(at);
            self.end_transfer(now, slot, ended);
        } else {
            self.activate(at);
        }
        Reception::Accept
    }
}
