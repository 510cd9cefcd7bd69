//! A store of words at the device end of a link, and a client that writes and reads back until it
//! succeeds: the smallest protocol that exposes a hang or a wrong word.
//!
//! It resembles ATA's DMA commands: Register H2D, then DMA Activate and Data for each piece of a write
//! or Data for each piece of a read, then Register D2H with the status.

#![allow(dead_code, reason = "each test binary uses its part")]

use boardlab_sata::link::Engine;
use boardlab_sata::wire::fis::{DmaActivate, RegisterD2h, RegisterH2d, status};
use boardlab_sata::{Agent, Counting, Fis, Gate, Outcome, Outgoing, Reception, Tick};
use boardlab_sim::Stream;
use std::collections::VecDeque;

/// Payload dwords of a frame at most.
pub(crate) const PIECE: usize = 48;
/// Words of the store.
pub(crate) const SIZE: usize = 256;
/// Ticks after which an attempt is given up.
const PATIENCE: u64 = 30_000;
const WRITE: u8 = 0x35;
const READ: u8 = 0x25;

/// Words from an address on, to be written, or to be read and compared.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) is_write: bool,
    pub(crate) first: usize,
    pub(crate) words: Vec<u32>,
}

/// The host's side.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) operations: VecDeque<Operation>,
    /// Attempts that failed.
    pub(crate) failures: u64,
    /// Words that were wrong where all was said to be well.
    pub(crate) wrong: u64,
    /// The command is to be sent.
    to_command: bool,
    /// It was sent, so a status is its.
    commanded: bool,
    activated: bool,
    /// Something of this attempt went wrong.
    failed: bool,
    moved: usize,
    deadline: Tick,
    coming: Vec<u32>,
    stream: Stream,
}

impl Client {
    pub(crate) fn new(operations: VecDeque<Operation>, stream: Stream) -> Self {
        Self {
            operations,
            failures: 0,
            wrong: 0,
            to_command: true,
            commanded: false,
            activated: false,
            failed: false,
            moved: 0,
            deadline: Tick(PATIENCE),
            coming: Vec::new(),
            stream,
        }
    }

    fn restart(&mut self, now: Tick) {
        (self.to_command, self.commanded, self.activated) = (true, false, false);
        (self.failed, self.moved) = (false, 0);
        let is_done = self.operations.is_empty();
        self.deadline = if is_done { Tick::NEVER } else { now.after(PATIENCE) };
        self.coming.clear();
    }

    /// The device has said how the command ended.
    fn conclude(&mut self, now: Tick, status: u8) {
        let Some(operation) = self.operations.front() else {
            return;
        };
        let whole = self.moved == operation.words.len();
        if status != status::DRDY | status::DSC || self.failed || !whole {
            self.failures += 1;
            return self.restart(now);
        }
        if !operation.is_write {
            let pairs = self.coming.iter().zip(&operation.words);
            self.wrong += u64::try_from(pairs.filter(|(came, is)| came != is).count()).unwrap();
        }
        self.operations.pop_front();
        self.restart(now);
    }

    fn piece(&self) -> usize {
        let operation = &self.operations[0];
        PIECE.min(operation.words.len() - self.moved)
    }
}

impl Agent for Client {
    fn wake(&self) -> Tick {
        let is_due = !self.operations.is_empty() && (self.to_command || self.activated);
        if is_due { Tick::ZERO } else { self.deadline }
    }

    fn requests_reset(&self, now: Tick) -> bool {
        self.deadline <= now
    }

    fn next(&mut self, now: Tick) -> Option<Outgoing> {
        if self.requests_reset(now) {
            return Some(Outgoing::Reset);
        }
        let operation = self.operations.front()?;
        if self.to_command {
            return Some(Outgoing::Fis(Fis::RegisterH2d(RegisterH2d {
                is_command: true,
                command: if operation.is_write { WRITE } else { READ },
                lba: u64::try_from(operation.first).unwrap(),
                count: u16::try_from(operation.words.len()).unwrap(),
                ..RegisterH2d::default()
            })));
        }
        self.activated.then(|| Outgoing::Data(u32::try_from(self.piece()).unwrap()))
    }

    fn sent(&mut self, _now: Tick, outcome: Outcome) {
        let is_good = outcome == Outcome::Accepted;
        if self.to_command {
            (self.to_command, self.commanded) = (!is_good, is_good);
            return;
        }
        self.activated = false;
        self.failed |= !is_good;
        self.moved += self.piece();
    }

    fn received(&mut self, now: Tick, fis: &Fis) -> Reception {
        let is_write = self.operations.front().is_some_and(|operation| operation.is_write);
        match fis {
            Fis::RegisterD2h(fis) => {
                // One that comes once more belongs to the command before.
                if self.commanded {
                    self.conclude(now, fis.status);
                }
            }
            Fis::DmaActivate(_) if self.commanded && is_write => {
                if self.moved == self.operations[0].words.len() {
                    return Reception::Refuse;
                }
                self.activated = true;
            }
            _ => return Reception::Refuse,
        }
        Reception::Accept
    }

    fn supply(&mut self, now: Tick, sent: u32) -> Gate {
        gate(&mut self.stream, now, sent)
    }

    fn fill(&mut self, first: u32, words: &mut [u32]) {
        let from = self.moved + usize::try_from(first).unwrap();
        words.copy_from_slice(&self.operations[0].words[from..from + words.len()]);
    }

    fn describe(&mut self) -> Option<Counting> {
        None
    }

    fn begin(&mut self, _now: Tick) {
        self.coming.truncate(self.moved);
    }

    fn drain(&mut self, now: Tick, taken: u32) -> Gate {
        gate(&mut self.stream, now, taken)
    }

    fn take(&mut self, words: &[u32]) {
        self.coming.extend_from_slice(words);
    }

    fn take_described(&mut self, _dwords: u32, _words: Counting) {
        unreachable!("words are real here");
    }

    fn end(&mut self, _now: Tick, good: bool) -> Reception {
        let room = match self.operations.front() {
            Some(operation) if self.commanded && !operation.is_write => operation.words.len(),
            _ => 0,
        };
        if !good || self.coming.len() > room {
            self.coming.truncate(self.moved);
            return Reception::Refuse;
        }
        self.moved = self.coming.len();
        Reception::Accept
    }

    fn reset(&mut self, now: Tick) {
        self.failures += 1;
        self.restart(now);
    }
}

/// Short stops here and there.
fn gate(stream: &mut Stream, now: Tick, passed: u32) -> Gate {
    match stream.below(4) {
        0 => {
            let piece = 1 + u32::try_from(stream.below(20)).unwrap();
            Gate { until: passed + piece, at: now.after(stream.below(60)) }
        }
        _ => Gate::OPEN,
    }
}

/// The device's side. What is written counts when the command has ended.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    pub(crate) words: Vec<u32>,
    command: Option<RegisterH2d>,
    outbox: Option<Outgoing>,
    moved: usize,
    coming: Vec<u32>,
    stream: Stream,
}

impl Store {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            words: vec![0; SIZE],
            command: None,
            outbox: None,
            moved: 0,
            coming: Vec::new(),
            stream,
        }
    }

    fn range(command: &RegisterH2d) -> (usize, usize) {
        (usize::try_from(command.lba).unwrap(), usize::from(command.count))
    }

    fn respond(&mut self, is_good: bool) {
        let status = status::DRDY | status::DSC | if is_good { 0 } else { status::ERR };
        self.outbox =
            Some(Outgoing::Fis(Fis::RegisterD2h(RegisterD2h { status, ..RegisterD2h::default() })));
        if let Some(command) = self.command.take_if(|_| is_good)
            && command.command == WRITE
        {
            let (first, count) = Self::range(&command);
            self.words[first..first + count].copy_from_slice(&self.coming);
        }
        self.command = None;
    }

    /// The next step of the command.
    fn advance(&mut self) {
        let Some(command) = self.command else {
            return;
        };
        let left = Self::range(&command).1 - self.moved;
        match (left, command.command) {
            (0, _) => self.respond(true),
            (_, WRITE) => {
                self.outbox = Some(Outgoing::Fis(Fis::DmaActivate(DmaActivate::default())));
            }
            _ => self.outbox = Some(Outgoing::Data(u32::try_from(left.min(PIECE)).unwrap())),
        }
    }

    /// The power was cut.
    pub(crate) fn forget(&mut self) {
        (self.command, self.outbox, self.moved) = (None, None, 0);
        self.coming.clear();
    }
}

impl Agent for Store {
    fn wake(&self) -> Tick {
        if self.outbox.is_some() { Tick::ZERO } else { Tick::NEVER }
    }

    fn next(&mut self, _now: Tick) -> Option<Outgoing> {
        self.outbox
    }

    fn sent(&mut self, _now: Tick, outcome: Outcome) {
        let sent = self.outbox.take();
        match (sent, outcome) {
            (Some(Outgoing::Data(dwords)), Outcome::Accepted) => {
                self.moved += usize::try_from(dwords).unwrap();
                self.advance();
            }
            (Some(Outgoing::Fis(Fis::RegisterD2h(_))), _) | (_, Outcome::Accepted) => {}
            _ => self.respond(false),
        }
    }

    fn received(&mut self, _now: Tick, fis: &Fis) -> Reception {
        let Fis::RegisterH2d(command) = *fis else {
            return Reception::Refuse;
        };
        let (first, count) = Self::range(&command);
        let is_known = matches!(command.command, WRITE | READ) && first + count <= SIZE;
        if !command.is_command || !is_known {
            return Reception::Refuse;
        }
        self.forget();
        self.command = Some(command);
        self.advance();
        Reception::Accept
    }

    fn supply(&mut self, now: Tick, sent: u32) -> Gate {
        gate(&mut self.stream, now, sent)
    }

    fn fill(&mut self, first: u32, words: &mut [u32]) {
        let Some(command) = self.command else {
            return;
        };
        let from = Self::range(&command).0 + self.moved + usize::try_from(first).unwrap();
        words.copy_from_slice(&self.words[from..from + words.len()]);
    }

    fn describe(&mut self) -> Option<Counting> {
        None
    }

    fn begin(&mut self, _now: Tick) {
        self.coming.truncate(self.moved);
    }

    fn drain(&mut self, now: Tick, taken: u32) -> Gate {
        gate(&mut self.stream, now, taken)
    }

    fn take(&mut self, words: &[u32]) {
        self.coming.extend_from_slice(words);
    }

    fn take_described(&mut self, _dwords: u32, _words: Counting) {
        unreachable!("words are real here");
    }

    fn end(&mut self, _now: Tick, good: bool) -> Reception {
        let Some(command) = self.command.filter(|command| command.command == WRITE) else {
            return Reception::Refuse;
        };
        // It was asked for, and is as long as it was to be.
        let piece = PIECE.min(Self::range(&command).1 - self.moved);
        let is_right = self.outbox.is_none() && self.coming.len() == self.moved + piece;
        if !good || !is_right {
            self.respond(false);
            return Reception::Refuse;
        }
        self.moved += piece;
        self.advance();
        Reception::Accept
    }

    fn reset(&mut self, _now: Tick) {
        self.forget();
    }
}

/// Writes and reads that overlap, with the words that a read must give.
pub(crate) fn operations(stream: &mut Stream, count: u64) -> VecDeque<Operation> {
    let mut model = vec![0; SIZE];
    let mut next = |_| {
        let first = usize::try_from(stream.below(100)).unwrap();
        let range = first..first + 1 + usize::try_from(stream.below(150)).unwrap();
        let is_write = stream.chance(1, 2);
        if is_write {
            for word in &mut model[range.clone()] {
                *word = u32::try_from(stream.next_u64() >> 32).unwrap();
            }
        }
        Operation { is_write, first, words: model[range].to_vec() }
    };
    (0..count).map(&mut next).collect()
}

/// Whether all was done. The link need not be idle then: an X_RDY that a fault has made of a SYNC, with the
/// CONT of that SYNC behind it, keeps an end ready until somebody sends something else.
pub(crate) fn is_done(engine: &Engine<Client, Store>) -> bool {
    engine.host().operations.is_empty()
}

/// Whether what was done was done right.
pub(crate) fn is_sound(engine: &Engine<Client, Store>, expected: &[u32]) -> bool {
    engine.host().wrong == 0 && engine.device().words == expected
}

/// What the store holds after `operations`.
pub(crate) fn outcome(operations: &VecDeque<Operation>) -> Vec<u32> {
    let mut words = vec![0; SIZE];
    for operation in operations.iter().filter(|operation| operation.is_write) {
        let range = operation.first..operation.first + operation.words.len();
        words[range].copy_from_slice(&operation.words);
    }
    words
}
