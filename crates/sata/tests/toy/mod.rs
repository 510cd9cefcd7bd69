//! A drive of a few hundred lines that follows a script, and a link that takes little time, to test the
//! host without the models of either.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]

use boardlab_sata::host::Host;
use boardlab_sata::wire::fis::{
    DmaActivate, DmaSetup, Fis, PioSetup, RegisterD2h, RegisterH2d, SetDeviceBits,
};
use boardlab_sata::wire::identify::Identify;
use boardlab_sata::{Agent, Counting, Gate, Outcome, Outgoing, Reception, Speed, Tick};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub type Sector = [u32; 128];

/// The next frame that the drive sends.
#[derive(Debug, Clone)]
pub enum Step {
    Fis(Fis),
    Data(Vec<u32>),
}

/// A write whose data are being received.
#[derive(Debug, Clone)]
struct Incoming {
    lba: u64,
    words: Vec<u32>,
    total: usize,
    tag: Option<u8>,
    is_bad: bool,
}

/// A fault in place of the normal response to a command.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// No response.
    Silence,
    /// This status and error, at once.
    Error(u8, u8),
    /// All data, then this status and error.
    LateError(u8, u8),
    /// Success after half of the data.
    Half,
}

#[derive(Debug, Clone)]
pub struct Toy {
    pub sectors: BTreeMap<u64, Sector>,
    pub count: u64,
    pub has_48: bool,
    pub depth: Option<u8>,
    /// The commands received.
    pub commands: Vec<RegisterH2d>,
    /// The faults, by index of the command.
    pub faults: BTreeMap<usize, Fault>,
    /// The dwords of a Data FIS of IDENTIFY data.
    pub piece: usize,
    /// The bits of dword 20 of the IDENTIFY data that are sent inverted.
    pub flaw: u32,
    /// Queued commands complete in reverse order.
    pub reverses: bool,
    pub auto_activate: bool,
    pub resets: u32,
    pub is_dead: bool,
    /// A sector that can be neither read nor written.
    pub bad: Option<u64>,
    steps: VecDeque<Step>,
    incoming: Option<Incoming>,
    /// Queued commands that wait: tag, command, fault.
    queue: VecDeque<(u8, RegisterH2d, Option<Fault>)>,
    fill: Vec<u32>,
    halted: bool,
}

const GOOD: u8 = 0x50;

impl Toy {
    pub fn new(count: u64) -> Self {
        let mut toy = Self {
            sectors: BTreeMap::new(),
            count,
            has_48: true,
            depth: Some(32),
            commands: Vec::new(),
            faults: BTreeMap::new(),
            piece: 128,
            flaw: 0,
            reverses: false,
            auto_activate: false,
            resets: 0,
            is_dead: false,
            bad: None,
            steps: VecDeque::new(),
            incoming: None,
            queue: VecDeque::new(),
            fill: Vec::new(),
            halted: false,
        };
        toy.signature();
        toy
    }

    pub fn word(&self, lba: u64, dword: usize) -> u32 {
        self.sectors.get(&lba).map_or(0, |sector| sector[dword])
    }

    fn signature(&mut self) {
        let fis = RegisterD2h { status: GOOD, error: 1, lba: 1, count: 1, ..Default::default() };
        self.steps.push_back(Step::Fis(Fis::RegisterD2h(fis)));
    }

    fn end(&mut self, status: u8, error: u8, lba: u64) {
        let fis = RegisterD2h { interrupt: true, status, error, lba, ..Default::default() };
        self.steps.push_back(Step::Fis(Fis::RegisterD2h(fis)));
    }

    pub fn identify(&self) -> Identify {
        Identify {
            lba_48: self.has_48,
            queue_depth: self.depth,
            ..Identify::new("TOY", self.count, Speed::Gen2)
        }
    }

    fn command(&mut self, fis: &RegisterH2d) {
        let number = self.commands.len();
        self.commands.push(*fis);
        let fault = self.faults.remove(&number);
        match (fis.command, fault) {
            _ if self.halted => self.end(0x51, 0x04, 0),
            (0x60 | 0x61, fault) => self.enqueue(fis, fault),
            (_, Some(Fault::Silence)) => {}
            (_, Some(Fault::Error(status, error))) => self.end(status, error, fis.lba),
            (0xEC, _) => self.send_identity(),
            (0xC8 | 0x25, fault) => self.read(fis, fault),
            (0xCA | 0x35, fault) => self.write(fis, fault),
            (0xE7 | 0xEA | 0xEF, _) => self.end(GOOD, 0, 0),
            _ => self.end(0x51, 0x04, 0),
        }
    }

    fn enqueue(&mut self, fis: &RegisterH2d, fault: Option<Fault>) {
        self.end(GOOD, 0, 0);
        let tag = u8::try_from(fis.count >> 3).unwrap();
        self.queue.push_back((tag, *fis, fault));
    }

    fn send_identity(&mut self) {
        let mut dwords = self.identify().emit_payload().unwrap();
        dwords[20] ^= self.flaw;
        let fis = PioSetup {
            to_host: true,
            status: 0x58,
            ending_status: GOOD,
            transfer: 512,
            ..Default::default()
        };
        self.steps.push_back(Step::Fis(Fis::PioSetup(fis)));
        let pieces = dwords.chunks(self.piece).map(|piece| Step::Data(piece.to_vec()));
        self.steps.extend(pieces);
    }

    /// Returns the first sector and the number of sectors from the registers.
    fn range(fis: &RegisterH2d) -> (u64, u64) {
        let (count, largest) = match fis.command {
            0x60 | 0x61 => (fis.features, 65_536),
            0xC8 | 0xCA => (fis.count & 0xFF, 256),
            _ => (fis.count, 65_536),
        };
        let sectors = if count == 0 { largest } else { u64::from(count) };
        let lba = match fis.command {
            0xC8 | 0xCA => fis.lba | u64::from(fis.device & 0x0F) << 24,
            _ => fis.lba,
        };
        (lba, sectors)
    }

    fn hits_bad(&self, fis: &RegisterH2d) -> Option<u64> {
        let (lba, sectors) = Self::range(fis);
        self.bad.filter(|bad| (lba..lba + sectors).contains(bad))
    }

    fn read(&mut self, fis: &RegisterH2d, fault: Option<Fault>) {
        let (lba, sectors) = Self::range(fis);
        if let Some(bad) = self.hits_bad(fis) {
            return self.end(0x51, 0x40, bad);
        }
        if lba + sectors > self.count {
            return self.end(0x51, 0x10, self.count);
        }
        let half = matches!(fault, Some(Fault::Half));
        let sent = if half { sectors / 2 } else { sectors };
        let words: Vec<u32> = (lba..lba + sent)
            .flat_map(|lba| self.sectors.get(&lba).copied().unwrap_or([0; 128]))
            .collect();
        self.steps.extend(words.chunks(2_048).map(|piece| Step::Data(piece.to_vec())));
        match fault {
            Some(Fault::LateError(status, error)) => self.end(status, error, lba),
            _ => self.end(GOOD, 0, 0),
        }
    }

    fn write(&mut self, fis: &RegisterH2d, fault: Option<Fault>) {
        let (lba, sectors) = Self::range(fis);
        if let Some(bad) = self.hits_bad(fis) {
            return self.end(0x51, 0x40, bad);
        }
        if lba + sectors > self.count {
            return self.end(0x51, 0x10, self.count);
        }
        let total = usize::try_from(sectors).unwrap() * 128;
        let is_bad = matches!(fault, Some(Fault::LateError(..)));
        self.incoming = Some(Incoming { lba, words: Vec::new(), total, tag: None, is_bad });
        self.steps.push_back(Step::Fis(Fis::DmaActivate(DmaActivate::default())));
    }

    /// Begins the next queued command.
    fn dequeue(&mut self) {
        let next = if self.reverses { self.queue.pop_back() } else { self.queue.pop_front() };
        let Some((tag, fis, fault)) = next else { return };
        if matches!(fault, Some(Fault::Silence)) {
            return;
        }
        let bad = self.hits_bad(&fis).map(|_| Fault::Error(0x41, 0x40));
        if let Some(Fault::Error(status, error)) = fault.or(bad) {
            let bits = SetDeviceBits { interrupt: true, status, error, ..Default::default() };
            self.halted = true;
            return self.steps.push_back(Step::Fis(Fis::SetDeviceBits(bits)));
        }
        let (lba, sectors) = Self::range(&fis);
        let to_host = fis.command == 0x60;
        let setup = DmaSetup {
            to_host,
            auto_activate: self.auto_activate && !to_host,
            buffer: u64::from(tag),
            count: u32::try_from(sectors * 512).unwrap(),
            ..Default::default()
        };
        self.steps.push_back(Step::Fis(Fis::DmaSetup(setup)));
        if to_host {
            let end = self.steps.len();
            self.read(&fis, None);
            assert!(self.steps.len() > end);
            self.steps.pop_back();
            self.bits(tag);
        } else {
            let total = usize::try_from(sectors).unwrap() * 128;
            let words = Vec::new();
            self.incoming = Some(Incoming { lba, words, total, tag: Some(tag), is_bad: false });
            if !setup.auto_activate {
                self.steps.push_back(Step::Fis(Fis::DmaActivate(DmaActivate::default())));
            }
        }
    }

    fn bits(&mut self, tag: u8) {
        let active = 1 << tag;
        let bits = SetDeviceBits { interrupt: true, status: GOOD, active, ..Default::default() };
        self.steps.push_back(Step::Fis(Fis::SetDeviceBits(bits)));
    }

    fn arrived(&mut self) {
        let Some(incoming) = &self.incoming else { return };
        if incoming.words.len() < incoming.total {
            return self.steps.push_back(Step::Fis(Fis::DmaActivate(DmaActivate::default())));
        }
        let incoming = self.incoming.take().unwrap();
        if incoming.is_bad || incoming.words.len() > incoming.total {
            return self.end(0x51, 0x84, incoming.lba);
        }
        for (lba, sector) in (incoming.lba..).zip(incoming.words.chunks(128)) {
            self.sectors.insert(lba, sector.try_into().unwrap());
        }
        match incoming.tag {
            Some(tag) => self.bits(tag),
            None => self.end(GOOD, 0, 0),
        }
    }
}

impl Agent for Toy {
    fn wake(&self) -> Tick {
        let idle = self.steps.is_empty() && (self.queue.is_empty() || self.incoming.is_some());
        if self.is_dead || idle { Tick::NEVER } else { Tick::ZERO }
    }

    fn next(&mut self, _now: Tick) -> Option<Outgoing> {
        if self.is_dead {
            return None;
        }
        if self.steps.is_empty() && self.incoming.is_none() && !self.halted {
            self.dequeue();
        }
        match self.steps.front()? {
            Step::Fis(fis) => Some(Outgoing::Fis(*fis)),
            Step::Data(words) => {
                self.fill.clone_from(words);
                Some(Outgoing::Data(u32::try_from(words.len()).unwrap()))
            }
        }
    }

    fn sent(&mut self, _now: Tick, outcome: Outcome) {
        let step = self.steps.pop_front();
        if outcome != Outcome::Accepted && matches!(step, Some(Step::Data(_))) {
            self.steps.clear();
            self.end(0x51, 0x84, 0);
        }
    }

    fn received(&mut self, _now: Tick, fis: &Fis) -> Reception {
        let Fis::RegisterH2d(fis) = fis else { return Reception::Refuse };
        self.command(fis);
        Reception::Accept
    }

    fn supply(&mut self, _now: Tick, _sent: u32) -> Gate {
        Gate::OPEN
    }

    fn fill(&mut self, first: u32, words: &mut [u32]) {
        let first = usize::try_from(first).unwrap();
        words.copy_from_slice(&self.fill[first..first + words.len()]);
    }

    fn describe(&mut self) -> Option<Counting> {
        None
    }

    fn begin(&mut self, _now: Tick) {
        self.fill.clear();
    }

    fn drain(&mut self, _now: Tick, _taken: u32) -> Gate {
        Gate::OPEN
    }

    fn take(&mut self, words: &[u32]) {
        self.fill.extend(words);
    }

    fn take_described(&mut self, dwords: u32, words: Counting) {
        let start = self.fill.len();
        self.fill.resize(start + usize::try_from(dwords).unwrap(), 0);
        words.fill(0, &mut self.fill[start..]);
    }

    fn end(&mut self, _now: Tick, good: bool) -> Reception {
        let Some(incoming) = &mut self.incoming else { return Reception::Refuse };
        if !good {
            self.incoming = None;
            self.end(0x51, 0x84, 0);
            return Reception::Refuse;
        }
        incoming.words.append(&mut self.fill);
        self.arrived();
        Reception::Accept
    }

    fn reset(&mut self, _now: Tick) {
        self.resets += 1;
        self.steps.clear();
        self.queue.clear();
        self.incoming = None;
        self.halted = false;
        self.signature();
    }
}

/// A link that transmits one frame at a time, in 10 ticks plus one per dword.
#[derive(Debug)]
pub struct Bench {
    pub host: Host,
    pub drive: Toy,
    pub now: u64,
    pub frames: u64,
    /// The frames, by index, that arrive with a wrong CRC.
    pub damaged: BTreeSet<u64>,
}

impl Bench {
    pub fn new(host: Host, drive: Toy) -> Self {
        Self { host, drive, now: 0, frames: 0, damaged: BTreeSet::new() }
    }

    /// Runs until nothing more happens.
    pub fn run(&mut self) {
        for _ in 0..10_000_000 {
            let now = Tick(self.now);
            let requests_reset = self.host.requests_reset(now);
            if !requests_reset && let Some(out) = self.drive.next(now) {
                self.now += self.frame_ticks(out);
                let bad = self.damaged.remove(&self.frames);
                pass(&mut self.drive, &mut self.host, out, (Tick(self.now), bad));
            } else if let Some(out) = self.host.next(now) {
                self.now += self.frame_ticks(out);
                if out == Outgoing::Reset {
                    self.host.reset(Tick(self.now));
                    self.drive.reset(Tick(self.now));
                    continue;
                }
                let bad = self.damaged.remove(&self.frames);
                pass(&mut self.host, &mut self.drive, out, (Tick(self.now), bad));
            } else {
                match self.host.wake().min(self.drive.wake()) {
                    Tick::NEVER => return,
                    Tick(wake) => {
                        assert!(wake > self.now, "an agent wakes for nothing: {:?}", self.host);
                        self.now = wake;
                    }
                }
            }
        }
        panic!("the bench does not come to rest");
    }

    fn frame_ticks(&mut self, out: Outgoing) -> u64 {
        self.frames += 1;
        match out {
            Outgoing::Fis(fis) => 10 + u64::from(fis.dwords()),
            Outgoing::Data(dwords) => 11 + u64::from(dwords),
            Outgoing::Reset => 1_000,
        }
    }
}

fn pass(from: &mut impl Agent, to: &mut impl Agent, out: Outgoing, (now, bad): (Tick, bool)) {
    let reception = match out {
        Outgoing::Fis(_) if bad => Reception::Refuse,
        Outgoing::Fis(fis) => to.received(now, &fis),
        Outgoing::Data(dwords) => {
            to.begin(now);
            let mut words = vec![0; usize::try_from(dwords).unwrap()];
            from.fill(0, &mut words);
            match from.describe() {
                Some(counting) => {
                    let mut same = words.clone();
                    counting.fill(0, &mut same);
                    assert_eq!(words, same, "words and their description differ");
                    to.take_described(dwords, counting);
                }
                None => words.chunks(100).for_each(|some| to.take(some)),
            }
            to.end(now, !bad)
        }
        Outgoing::Reset => unreachable!("a reset is no frame"),
    };
    let refused = bad || reception == Reception::Refuse;
    from.sent(now, if refused { Outcome::Refused } else { Outcome::Accepted });
}
