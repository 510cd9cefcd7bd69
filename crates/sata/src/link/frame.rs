//! The frames that an end sends and receives: payload, CRC, scrambling, and the receive FIFO.
//!
//! Layer: the data of the transport layer, between link layer and agent; its rules are in `transport`.
//! Main types: [`TxFrame`], [`RxFrame`]. A frame has up to [`crate::LARGEST_DATA`] payload dwords. The
//! receive FIFO is the part of a frame that has arrived and that the agent has not taken.
//!
//! The FIS engine does not share these buffers: each end here has a copy of its own, which is scrambled
//! in place, because a fault may damage the payload between them.
//!
//! Source: Serial ATA Revision 3, 10.

use super::End;
use super::hold::HoldAnswer;
use super::transport::{Retry, drain, supply};
use crate::LARGEST_DATA;
use crate::agent::{Agent, Gate, Outgoing};
use crate::wire::fis::{DataHeader, Fis, Kind};
use crate::wire::{Crc, Scrambler, Tick};

const LARGEST: usize = LARGEST_DATA as usize;

fn index(dwords: u32) -> usize {
    usize::try_from(dwords).expect("dwords of a frame fit memory")
}

/// The frame that an end sends.
#[derive(Debug, Clone)]
pub(super) struct TxFrame {
    /// What the agent sends; `None` if there is nothing.
    pub(super) outgoing: Option<Outgoing>,
    pub(super) retry: Retry,
    /// Whether the receiver has terminated the frame by DMAT.
    pub(super) terminated: bool,
    /// The number of frames begun.
    pub(super) frames: u64,
    pub(super) answer: HoldAnswer,
    /// The FIS, or the header of a Data FIS: `head` dwords.
    fis: [u32; Fis::LONGEST],
    head: u32,
    /// The dwords sent after SOF.
    at: u32,
    /// The payload, of which the first `filled` dwords are valid.
    pub(super) words: Vec<u32>,
    filled: u32,
    total: u32,
    pub(super) gate: Gate,
    crc: Crc,
    pub(super) scrambler: Scrambler,
}

impl TxFrame {
    pub(super) fn new() -> Self {
        Self {
            outgoing: None,
            retry: Retry::default(),
            terminated: false,
            frames: 0,
            answer: HoldAnswer::default(),
            fis: [0; Fis::LONGEST],
            head: 0,
            at: 0,
            words: vec![0; LARGEST],
            filled: 0,
            total: 0,
            gate: Gate::OPEN,
            crc: Crc::new(),
            scrambler: Scrambler::new(),
        }
    }

    /// Begins the frame as SOF is sent.
    pub(super) fn begin<A: Agent>(&mut self, agent: &mut A, now: Tick) {
        self.frames += 1;
        (self.crc, self.scrambler, self.at, self.filled) = (Crc::new(), Scrambler::new(), 0, 0);
        (self.terminated, self.answer, self.total) = (false, HoldAnswer::default(), 0);
        match self.outgoing {
            Some(Outgoing::Data(dwords)) => {
                self.fis[0] = DataHeader::default().emit();
                (self.head, self.total) = (1, dwords);
                if self.words.len() < index(dwords) {
                    self.words.resize(index(dwords), 0);
                }
                self.gate = supply(agent, now, 0);
            }
            Some(Outgoing::Fis(fis)) => {
                let dwords = fis.emit(&mut self.fis);
                self.head = u32::try_from(dwords).expect("a FIS of seven dwords at most");
            }
            Some(Outgoing::Reset) | None => unreachable!("TxFrame::begin: nothing to send"),
        }
    }

    /// Changes the type of the FIS.
    pub(super) fn set_type(&mut self, code: u8) {
        self.fis[0] = self.fis[0] & !0xFF | u32::from(code);
    }

    /// The payload dwords sent.
    pub(super) fn payload_sent(&self) -> u32 {
        self.at.saturating_sub(self.head)
    }

    /// The dwords of the FIS sent, header included.
    pub(super) const fn sent(&self) -> u32 {
        self.at
    }

    /// Whether the next dword belongs to the payload.
    #[inline]
    pub(super) const fn in_payload(&self) -> bool {
        self.at >= self.head
    }

    /// Whether the next dword can be sent at `now`.
    #[inline]
    pub(super) fn is_ready(&self, now: Tick) -> bool {
        !self.in_payload() || (self.at - self.head < self.gate.until && self.gate.at <= now)
    }

    /// Whether the next dword is the last one before the CRC.
    #[inline]
    pub(super) const fn is_last(&self) -> bool {
        self.at + 1 >= self.head + self.total
    }

    /// Whether all dwords are sent.
    #[inline]
    const fn is_done(&self) -> bool {
        self.at >= self.head + self.total
    }

    /// Returns the next dword, scrambled.
    #[inline]
    pub(super) fn dword<A: Agent>(&mut self, agent: &mut A, now: Tick) -> u32 {
        let word = if self.in_payload() {
            let at = self.at - self.head;
            if at >= self.filled {
                self.fill(agent);
            }
            self.words[index(at)]
        } else {
            self.fis[index(self.at)]
        };
        self.at += 1;
        if self.in_payload() && self.payload_sent() == self.gate.until && !self.is_done() {
            self.gate = supply(agent, now, self.payload_sent());
        }
        self.crc.update(word);
        word ^ self.scrambler.key()
    }

    /// The payload dwords that a burst may send: those that the gate grants, without the last of them
    /// and without the last of the frame, which have further effects.
    pub(super) fn burst_limit(&self, now: Tick) -> u32 {
        if !self.in_payload() || self.gate.at > now {
            return 0;
        }
        (self.gate.until.min(self.total) - 1).saturating_sub(self.payload_sent())
    }

    /// Returns the next `count` payload dwords, scrambled; at most [`TxFrame::burst_limit`].
    pub(super) fn burst<A: Agent>(&mut self, agent: &mut A, count: u32) -> &[u32] {
        let first = self.payload_sent();
        if first + count > self.filled {
            self.fill(agent);
        }
        self.at += count;
        let slice = &mut self.words[index(first)..index(first + count)];
        self.crc.extend(slice);
        self.scrambler.apply(slice);
        slice
    }

    /// Fills in all dwords that the gate grants.
    fn fill<A: Agent>(&mut self, agent: &mut A) {
        let until = self.gate.until.min(self.total);
        agent.fill(self.filled, &mut self.words[index(self.filled)..index(until)]);
        self.filled = until;
    }

    /// Returns the CRC, scrambled.
    pub(super) fn crc(&mut self) -> u32 {
        self.crc.value() ^ self.scrambler.key()
    }
}

/// The kind of an incoming frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RxKind {
    /// Its first dword has not arrived.
    Unknown,
    /// A Data FIS.
    Data,
    /// Any other FIS.
    Fis,
}

/// The frame that an end receives.
#[derive(Debug, Clone)]
pub(super) struct RxFrame {
    pub(super) kind: RxKind,
    /// All dwords of a FIS, or those of a Data FIS after its header; the CRC included.
    pub(super) words: Vec<u32>,
    /// The dwords taken from the FIFO. The agent gets them in pieces: `delivered` of them so far.
    pub(super) taken: u32,
    delivered: u32,
    /// The frame exceeds the largest length.
    pub(super) overlong: bool,
    /// The FIFO has overflowed.
    overflow: bool,
    /// EOF has arrived, and the CRC is removed.
    pub(super) complete: bool,
    pub(super) gate: Gate,
    pub(super) crc: Crc,
    pub(super) scrambler: Scrambler,
}

impl RxFrame {
    pub(super) fn new() -> Self {
        Self {
            kind: RxKind::Unknown,
            words: Vec::with_capacity(LARGEST + 1),
            taken: 0,
            delivered: 0,
            overlong: false,
            overflow: false,
            complete: false,
            gate: Gate::OPEN,
            crc: Crc::new(),
            scrambler: Scrambler::new(),
        }
    }

    /// Begins a frame as SOF arrives.
    pub(super) fn begin(&mut self) {
        self.words.clear();
        (self.kind, self.taken, self.delivered) = (RxKind::Unknown, 0, 0);
        (self.overlong, self.overflow, self.complete) = (false, false, false);
        (self.crc, self.scrambler) = (Crc::new(), Scrambler::new());
    }

    /// The dwords that have arrived, without the header.
    #[inline]
    pub(super) fn arrived(&self) -> u32 {
        u32::try_from(self.words.len()).expect("a frame of bounded length")
    }

    /// The dwords in the FIFO.
    #[inline]
    pub(super) fn fill(&self) -> u32 {
        if self.kind == RxKind::Data { self.arrived() - self.taken } else { 0 }
    }

    /// Stores an incoming dword of the receiver `end`. Returns whether it overflows the FIFO.
    #[inline]
    pub(super) fn dword<A: Agent>(
        &mut self,
        agent: &mut A,
        now: Tick,
        dword: u32,
        end: &End,
    ) -> bool {
        let dword = dword ^ self.scrambler.key();
        self.crc.update(dword);
        let room = match self.kind {
            RxKind::Unknown => {
                if Kind::of(dword) == Ok(Kind::Data) {
                    self.kind = RxKind::Data;
                    agent.begin(now);
                    self.gate = drain(agent, now, self.taken);
                    return false;
                }
                self.kind = RxKind::Fis;
                Fis::LONGEST
            }
            RxKind::Fis => Fis::LONGEST,
            RxKind::Data => LARGEST,
        };
        if self.words.len() > room {
            self.overlong = true;
            return false;
        }
        self.words.push(dword);
        let lost = self.kind == RxKind::Data && end.overflows(self.fill());
        self.overflow |= lost;
        lost
    }

    /// The dwords that are known to be payload.
    #[inline]
    fn payload(&self) -> u32 {
        if self.complete { self.arrived() } else { self.arrived().saturating_sub(1) }
    }

    /// The dwords that a burst may pass through the FIFO from `now` on without a question to the agent
    /// and without an overlong frame: none if the FIFO is empty or full.
    pub(super) fn burst_limit(&self, now: Tick, fifo: u32) -> u32 {
        let fill = self.fill();
        if self.kind != RxKind::Data || fill == 0 || fill > fifo || self.gate.at > now {
            return 0;
        }
        let asked = self.gate.until - self.taken - 1;
        asked.min(LARGEST_DATA - self.arrived().min(LARGEST_DATA))
    }

    /// Receives scrambled payload during `ticks` ticks, some of which may carry ALIGN. The agent takes
    /// a dword in each tick in which there is one.
    pub(super) fn burst(&mut self, ticks: u32, scrambled: impl Iterator<Item = u32>) {
        let (before, fill) = (self.words.len(), self.fill());
        self.words.extend(scrambled);
        let new = &mut self.words[before..];
        let count = u32::try_from(new.len()).expect("as many as ticks at most");
        self.scrambler.apply(new);
        self.crc.extend(new);
        self.taken += count + (fill - 1).min(ticks - count);
    }

    /// Lets the agent take a dword, if its gate is open and there is one. Returns whether it did.
    #[inline]
    pub(super) fn drain<A: Agent>(&mut self, agent: &mut A, now: Tick) -> bool {
        if self.kind != RxKind::Data
            || self.taken >= self.payload()
            || self.gate.at > now
            || self.taken >= self.gate.until
        {
            return false;
        }
        self.taken += 1;
        let last = if self.complete { self.arrived() } else { LARGEST_DATA };
        if self.taken == self.gate.until && self.taken < last {
            self.deliver(agent);
            self.gate = drain(agent, now, self.taken);
        }
        true
    }

    /// Delivers the dwords taken to the agent.
    pub(super) fn deliver<A: Agent>(&mut self, agent: &mut A) {
        let words = &self.words[index(self.delivered)..index(self.taken)];
        if !words.is_empty() {
            agent.take(words);
            self.delivered = self.taken;
        }
    }

    /// Ends the frame as EOF arrives: removes the CRC and returns whether the frame is good.
    pub(super) fn complete(&mut self) -> bool {
        self.complete = self.words.pop().is_some();
        // A frame that consists of a header has no payload; one that consists of a CRC has no type.
        self.crc.is_residue() && !self.overlong && !self.overflow && !self.words.is_empty()
    }

    /// Whether all dwords of a complete frame are taken.
    pub(super) fn is_drained(&self) -> bool {
        self.taken >= self.arrived()
    }
}
