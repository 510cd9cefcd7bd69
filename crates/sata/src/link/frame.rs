//! The transport layer of an end: what a frame on its way carries, and what a frame that came was.
//!
//! Layer: between link layer and agent. Main types: [`Sending`], [`Receiving`]. Frames of up to
//! [`crate::LARGEST_DATA`] payload dwords, CRC, scrambling, the gates of the agents, and the receive FIFO, which is the
//! part of the frame that has arrived and was not taken.
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

/// What an end sends.
#[derive(Debug, Clone)]
pub(super) struct Sending {
    /// What the agent gave; `None` while there is nothing.
    pub(super) outgoing: Option<Outgoing>,
    pub(super) retry: Retry,
    /// The receiver asked for an early end.
    pub(super) cut: bool,
    /// Frames begun.
    pub(super) frames: u64,
    pub(super) answer: HoldAnswer,
    /// The FIS or the header, `head` dwords.
    fis: [u32; Fis::LONGEST],
    head: u32,
    /// Dwords sent after SOF.
    at: u32,
    /// Payload; of which so many are filled in.
    pub(super) words: Vec<u32>,
    filled: u32,
    total: u32,
    pub(super) gate: Gate,
    crc: Crc,
    pub(super) scrambler: Scrambler,
}

impl Sending {
    pub(super) fn new() -> Self {
        Self {
            outgoing: None,
            retry: Retry::default(),
            cut: false,
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

    /// SOF goes: the frame begins, with another type where a fault says so.
    pub(super) fn begin<A: Agent>(&mut self, agent: &mut A, now: Tick) {
        self.frames += 1;
        (self.crc, self.scrambler, self.at, self.filled) = (Crc::new(), Scrambler::new(), 0, 0);
        (self.cut, self.answer, self.total) = (false, HoldAnswer::default(), 0);
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
            Some(Outgoing::Reset) | None => unreachable!("Sending::begin: nothing to send"),
        }
    }

    /// Another type than it has.
    pub(super) fn retype(&mut self, code: u8) {
        self.fis[0] = self.fis[0] & !0xFF | u32::from(code);
    }

    /// Payload dwords that went.
    pub(super) fn payload_sent(&self) -> u32 {
        self.at.saturating_sub(self.head)
    }

    /// Dwords of the FIS that went, header included.
    pub(super) const fn sent(&self) -> u32 {
        self.at
    }

    /// Whether the next dword belongs to the payload.
    #[inline]
    pub(super) const fn in_payload(&self) -> bool {
        self.at >= self.head
    }

    /// Whether the next dword can go.
    #[inline]
    pub(super) fn is_ready(&self, now: Tick) -> bool {
        !self.in_payload() || (self.at - self.head < self.gate.until && self.gate.at <= now)
    }

    /// Whether the next dword is the last before the CRC.
    #[inline]
    pub(super) const fn is_last(&self) -> bool {
        self.at + 1 >= self.head + self.total
    }

    /// Whether all have gone.
    #[inline]
    const fn is_done(&self) -> bool {
        self.at >= self.head + self.total
    }

    /// The next dword, scrambled.
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

    /// Payload dwords that the gate has promised from the next one on, without the last of them and
    /// without the last of the frame, after which things happen.
    pub(super) fn run(&self, now: Tick) -> u32 {
        if !self.in_payload() || self.gate.at > now {
            return 0;
        }
        (self.gate.until.min(self.total) - 1).saturating_sub(self.payload_sent())
    }

    /// The next `count` dwords of payload, at most [`Sending::run`], all at once and scrambled.
    pub(super) fn slice<A: Agent>(&mut self, agent: &mut A, count: u32) -> &[u32] {
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

    /// Fills in all that the gate has promised.
    fn fill<A: Agent>(&mut self, agent: &mut A) {
        let until = self.gate.until.min(self.total);
        agent.fill(self.filled, &mut self.words[index(self.filled)..index(until)]);
        self.filled = until;
    }

    /// The CRC, scrambled.
    pub(super) fn crc(&mut self) -> u32 {
        self.crc.value() ^ self.scrambler.key()
    }
}

/// What kind of frame comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Incoming {
    /// None of its dwords is there yet.
    Unknown,
    /// A Data FIS.
    Data,
    /// Another.
    Fis,
}

/// What an end receives.
#[derive(Debug, Clone)]
pub(super) struct Receiving {
    pub(super) kind: Incoming,
    /// Of a FIS all dwords, of a Data FIS those after the header; the CRC included.
    pub(super) words: Vec<u32>,
    /// So many were taken from the FIFO; given to the agent were less, if it is to get them together.
    pub(super) taken: u32,
    given: u32,
    /// Longer than a frame may be.
    pub(super) overlong: bool,
    /// More came than the FIFO has room for.
    overflow: bool,
    /// EOF came, and the CRC was taken off.
    pub(super) complete: bool,
    pub(super) gate: Gate,
    pub(super) crc: Crc,
    pub(super) scrambler: Scrambler,
}

impl Receiving {
    pub(super) fn new() -> Self {
        Self {
            kind: Incoming::Unknown,
            words: Vec::with_capacity(LARGEST + 1),
            taken: 0,
            given: 0,
            overlong: false,
            overflow: false,
            complete: false,
            gate: Gate::OPEN,
            crc: Crc::new(),
            scrambler: Scrambler::new(),
        }
    }

    /// SOF came.
    pub(super) fn begin(&mut self) {
        self.words.clear();
        (self.kind, self.taken, self.given) = (Incoming::Unknown, 0, 0);
        (self.overlong, self.overflow, self.complete) = (false, false, false);
        (self.crc, self.scrambler) = (Crc::new(), Scrambler::new());
    }

    /// Dwords that came, the header left out.
    #[inline]
    pub(super) fn arrived(&self) -> u32 {
        u32::try_from(self.words.len()).expect("a frame of bounded length")
    }

    /// Dwords in the FIFO.
    #[inline]
    pub(super) fn fill(&self) -> u32 {
        if self.kind == Incoming::Data { self.arrived() - self.taken } else { 0 }
    }

    /// A dword came; true if there was no room for it.
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
            Incoming::Unknown => {
                if Kind::of(dword) == Ok(Kind::Data) {
                    self.kind = Incoming::Data;
                    agent.begin(now);
                    self.gate = drain(agent, now, self.taken);
                    return false;
                }
                self.kind = Incoming::Fis;
                Fis::LONGEST
            }
            Incoming::Fis => Fis::LONGEST,
            Incoming::Data => LARGEST,
        };
        if self.words.len() > room {
            self.overlong = true;
            return false;
        }
        self.words.push(dword);
        let lost = self.kind == Incoming::Data && end.overflows(self.fill());
        self.overflow |= lost;
        lost
    }

    /// Dwords of payload that are known to be payload.
    #[inline]
    fn payload(&self) -> u32 {
        if self.complete { self.arrived() } else { self.arrived().saturating_sub(1) }
    }

    /// Dwords that can go through the FIFO from `now` on without the agent being asked, and without the
    /// frame getting overlong; none while it is empty, or full.
    pub(super) fn run(&self, now: Tick, fifo: u32) -> u32 {
        let fill = self.fill();
        if self.kind != Incoming::Data || fill == 0 || fill > fifo || self.gate.at > now {
            return 0;
        }
        let asked = self.gate.until - self.taken - 1;
        asked.min(LARGEST_DATA - self.arrived().min(LARGEST_DATA))
    }

    /// Scrambled payload came in `ticks` ticks, of which some carried ALIGN; the agent took a dword in
    /// each tick that found one.
    pub(super) fn pass(&mut self, ticks: u32, scrambled: impl Iterator<Item = u32>) {
        let (before, fill) = (self.words.len(), self.fill());
        self.words.extend(scrambled);
        let new = &mut self.words[before..];
        let count = u32::try_from(new.len()).expect("as many as ticks at most");
        self.scrambler.apply(new);
        self.crc.extend(new);
        self.taken += count + (fill - 1).min(ticks - count);
    }

    /// The agent takes a dword, if it can and there is one.
    #[inline]
    pub(super) fn drain<A: Agent>(&mut self, agent: &mut A, now: Tick) -> bool {
        if self.kind != Incoming::Data
            || self.taken >= self.payload()
            || self.gate.at > now
            || self.taken >= self.gate.until
        {
            return false;
        }
        self.taken += 1;
        let last = if self.complete { self.arrived() } else { LARGEST_DATA };
        if self.taken == self.gate.until && self.taken < last {
            self.give(agent);
            self.gate = drain(agent, now, self.taken);
        }
        true
    }

    /// Gives the agent what was taken for it.
    pub(super) fn give<A: Agent>(&mut self, agent: &mut A) {
        let words = &self.words[index(self.given)..index(self.taken)];
        if !words.is_empty() {
            agent.take(words);
            self.given = self.taken;
        }
    }

    /// EOF came: whether the frame is good. The CRC is taken off.
    pub(super) fn complete(&mut self) -> bool {
        self.complete = self.words.pop().is_some();
        // A frame of a header alone has no payload to take; one of a CRC alone has no type.
        self.crc.is_residue() && !self.overlong && !self.overflow && !self.words.is_empty()
    }

    /// Whether all of a complete frame has been taken.
    pub(super) fn is_drained(&self) -> bool {
        self.taken >= self.arrived()
    }
}
