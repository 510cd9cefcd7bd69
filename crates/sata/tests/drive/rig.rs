//! A host at the level of FISes, on a link that takes a tick a dword: one command at a time, or a queue.
#![allow(dead_code, reason = "each test uses what it needs")]

use super::Layer;
use boardlab_ftl::Translation;
use boardlab_sata::device::Ssd;
use boardlab_sata::wire::fis::{DmaSetup, Fis, PioSetup, RegisterD2h, RegisterH2d, SetDeviceBits};
use boardlab_sata::{Agent, Counting, Outcome, Outgoing, Reception, Tick};

/// Payload to be written, or that was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    Told(Counting),
    Words(Vec<u32>),
}

/// What came during a command.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub ends: Vec<RegisterD2h>,
    pub setups: Vec<PioSetup>,
    pub phases: Vec<DmaSetup>,
    pub bits: Vec<SetDeviceBits>,
    /// Payload of each Data FIS, and its dwords.
    pub data: Vec<(Payload, u32)>,
    /// DMA Activates.
    pub activations: u32,
    /// Data FISes of the host that were refused.
    pub refused: u32,
}

impl Seen {
    /// All payload, word by word.
    pub fn words(&self) -> Vec<u32> {
        let mut all = Vec::new();
        for (payload, dwords) in &self.data {
            match payload {
                Payload::Told(words) => {
                    all.extend((0..u64::from(*dwords)).map(|at| words.word(at)));
                }
                Payload::Words(words) => all.extend(words),
            }
        }
        all
    }

    /// Status and error of the only end.
    pub fn end(&self) -> (u8, u8) {
        assert_eq!(self.ends.len(), 1, "one end: {self:?}");
        (self.ends[0].status, self.ends[0].error)
    }
}

/// A drive and its host.
#[derive(Debug, Clone)]
pub struct Rig<T = Layer> {
    pub ssd: Ssd<T>,
    pub now: u64,
    /// Words to be written next, by dword of the command.
    pub source: Counting,
    pub sent: u64,
    /// Words that are not described.
    pub verbatim: Option<Vec<u32>>,
    /// Dwords of a Data FIS of the host.
    pub frame: u32,
    /// Number of the Data FIS, counted over all, that arrives damaged.
    pub damaged: Option<u64>,
    /// Number of the Data FIS to the host that it refuses.
    pub refuses: Option<u64>,
    pub frames: u64,
    /// Dwords that are still to be written in the data phase under way.
    pub left: u64,
}

impl<T: Translation> Rig<T> {
    pub fn new(ssd: Ssd<T>) -> Self {
        let source = Counting { first: 0, step: boardlab_sata::wire::Step::Up };
        Self {
            ssd,
            now: 0,
            source,
            sent: 0,
            verbatim: None,
            frame: 2_048,
            damaged: None,
            refuses: None,
            frames: 0,
            left: 0,
        }
    }

    /// Everything that the drive says until it has no more to say.
    pub fn listen(&mut self) -> Seen {
        let mut seen = Seen::default();
        loop {
            let wake = self.ssd.wake();
            if wake == Tick::NEVER {
                return seen;
            }
            self.now = self.now.max(wake.0);
            match self.ssd.next(Tick(self.now)) {
                Some(Outgoing::Fis(fis)) => self.hear(fis, &mut seen),
                Some(Outgoing::Data(dwords)) => self.hear_data(dwords, &mut seen),
                Some(Outgoing::Reset) => panic!("a drive does not reset the link"),
                None => assert!(self.ssd.wake().0 > self.now, "it wakes for nothing"),
            }
        }
    }

    fn hear(&mut self, fis: Fis, seen: &mut Seen) {
        self.now += 10;
        self.ssd.sent(Tick(self.now), Outcome::Accepted);
        match fis {
            Fis::RegisterD2h(fis) => seen.ends.push(fis),
            Fis::PioSetup(fis) => seen.setups.push(fis),
            Fis::SetDeviceBits(fis) => seen.bits.push(fis),
            Fis::DmaSetup(fis) => {
                seen.phases.push(fis);
                if !fis.to_host {
                    (self.left, self.sent) = (u64::from(fis.count) / 4, 0);
                    if fis.auto_activate {
                        self.send_data(seen);
                    }
                }
            }
            Fis::DmaActivate(_) => {
                seen.activations += 1;
                self.send_data(seen);
            }
            fis => panic!("{fis} from a drive"),
        }
    }

    fn hear_data(&mut self, dwords: u32, seen: &mut Seen) {
        let mut sent = 0;
        while sent < dwords {
            let gate = self.ssd.supply(Tick(self.now), sent);
            assert!(
                gate.until > sent && gate.at != Tick::NEVER,
                "{gate:?} after {sent} of {dwords}"
            );
            self.now = self.now.max(gate.at.0);
            let until = gate.until.min(dwords);
            self.now += u64::from(until - sent);
            sent = until;
        }
        let mut words = vec![0; usize::try_from(dwords).unwrap()];
        // In two parts, as an engine may ask.
        let cut = words.len() / 3;
        let payload = match self.ssd.describe() {
            Some(told) => Payload::Told(told),
            None => {
                self.ssd.fill(0, &mut words[..cut]);
                self.ssd.fill(u32::try_from(cut).unwrap(), &mut words[cut..]);
                Payload::Words(words)
            }
        };
        seen.data.push((payload, dwords));
        let refused = self.refuses == Some(self.frames);
        self.frames += 1;
        let outcome = if refused { Outcome::Refused } else { Outcome::Accepted };
        self.ssd.sent(Tick(self.now), outcome);
    }

    fn send_data(&mut self, seen: &mut Seen) {
        let dwords = u64::from(self.frame).min(self.left);
        let count = u32::try_from(dwords).unwrap();
        self.ssd.begin(Tick(self.now));
        let gate = self.ssd.drain(Tick(self.now), 0);
        self.now = self.now.max(gate.at.0) + dwords;
        match &self.verbatim {
            None => self.ssd.take_described(count, self.source.from(self.sent)),
            Some(words) => {
                let first = usize::try_from(self.sent).unwrap();
                let words = &words[first..first + usize::try_from(dwords).unwrap()];
                words.chunks(300).for_each(|some| self.ssd.take(some));
            }
        }
        let good = self.damaged != Some(self.frames);
        self.frames += 1;
        let reception = self.ssd.end(Tick(self.now), good);
        seen.refused += u32::from(!good || reception == Reception::Refuse);
        self.sent += dwords;
        self.left -= dwords;
    }

    /// One command, and all that the drive says to it; `dwords` are written.
    pub fn command(&mut self, fis: RegisterH2d, dwords: u64) -> Seen {
        (self.left, self.sent) = (dwords, 0);
        self.issue(fis);
        self.listen()
    }

    /// Sends a command and does not wait.
    pub fn issue(&mut self, fis: RegisterH2d) {
        let fis = Fis::RegisterH2d(RegisterH2d { is_command: true, ..fis });
        assert_eq!(self.ssd.received(Tick(self.now), &fis), Reception::Accept);
    }

    pub fn control(&mut self, control: u8) -> Seen {
        let fis = RegisterH2d { control, ..RegisterH2d::default() };
        self.ssd.received(Tick(self.now), &Fis::RegisterH2d(fis));
        self.listen()
    }

    /// READ or WRITE DMA of 28 bits.
    pub fn short(&mut self, code: u8, lba: u64, count: u64) -> Seen {
        let device = 0xE0 | u8::try_from(lba >> 24).unwrap();
        let fis = RegisterH2d {
            command: code,
            lba: lba & 0xFF_FFFF,
            device,
            count: u16::try_from(count % 256).unwrap(),
            ..RegisterH2d::default()
        };
        self.command(fis, if code == 0xCA { count * 128 } else { 0 })
    }

    /// READ or WRITE DMA EXT.
    pub fn long(&mut self, code: u8, lba: u64, count: u64) -> Seen {
        let count16 = u16::try_from(count % 65_536).unwrap();
        let fis = RegisterH2d {
            command: code,
            lba,
            device: 0x40,
            count: count16,
            ..RegisterH2d::default()
        };
        self.command(fis, if code == 0x35 { count * 128 } else { 0 })
    }

    /// A queued command, not waited for.
    pub fn queue(&mut self, code: u8, tag: u8, lba: u64, count: u64) {
        let features = u16::try_from(count % 65_536).unwrap();
        let (device, count) = (0x40, u16::from(tag) << 3);
        self.issue(RegisterH2d {
            command: code,
            lba,
            device,
            features,
            count,
            ..RegisterH2d::default()
        });
    }

    /// A command without address and data.
    pub fn simple(&mut self, code: u8, features: u16, count: u16) -> Seen {
        self.command(RegisterH2d { command: code, features, count, ..RegisterH2d::default() }, 0)
    }
}
