//! A host that works with single FISes, on a link that takes one tick per dword. It sends one command
//! at a time, or a queue.
#![allow(dead_code, reason = "each test uses what it needs")]

use super::Layer;
use boardlab_ftl::Translation;
use boardlab_sata::device::Ssd;
use boardlab_sata::wire::fis::{DmaSetup, Fis, PioSetup, RegisterD2h, RegisterH2d, SetDeviceBits};
use boardlab_sata::{Agent, Counting, Outcome, Outgoing, Reception, Tick};

/// Payload of a write or a read.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    Pattern(Counting),
    Words(Vec<u32>),
}

/// The drive's responses to a command.
#[derive(Debug, Clone, Default)]
pub struct Responses {
    pub completions: Vec<RegisterD2h>,
    pub pio_setups: Vec<PioSetup>,
    pub dma_setups: Vec<DmaSetup>,
    pub device_bits: Vec<SetDeviceBits>,
    /// The payload of each Data FIS, and its dwords.
    pub data: Vec<(Payload, u32)>,
    /// DMA Activates.
    pub activations: u32,
    /// Data FISes of the host that were refused.
    pub refused: u32,
}

impl Responses {
    /// Returns all payload as words.
    pub fn words(&self) -> Vec<u32> {
        let mut all = Vec::new();
        for (payload, dwords) in &self.data {
            match payload {
                Payload::Pattern(words) => {
                    all.extend((0..u64::from(*dwords)).map(|at| words.word(at)));
                }
                Payload::Words(words) => all.extend(words),
            }
        }
        all
    }

    /// Returns status and error of the only completion.
    pub fn completion(&self) -> (u8, u8) {
        assert_eq!(self.completions.len(), 1, "one completion: {self:?}");
        (self.completions[0].status, self.completions[0].error)
    }
}

/// A drive and its host.
#[derive(Debug, Clone)]
pub struct Rig<T = Layer> {
    pub ssd: Ssd<T>,
    pub now: u64,
    /// The words to write next, by dword of the command.
    pub source: Counting,
    pub sent: u64,
    /// Words to write instead, which are no counting pattern.
    pub verbatim: Option<Vec<u32>>,
    /// The dwords of a Data FIS of the host.
    pub frame: u32,
    /// The Data FIS, counted over all, that arrives damaged.
    pub damaged: Option<u64>,
    /// The Data FIS, counted over all, that the host refuses.
    pub refuses: Option<u64>,
    pub frames: u64,
    /// The dwords still to be written in the current data phase.
    pub remaining: u64,
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
            remaining: 0,
        }
    }

    /// Receives FISes until the drive has nothing more to send.
    pub fn receive_all(&mut self) -> Responses {
        let mut responses = Responses::default();
        loop {
            let wake = self.ssd.wake();
            if wake == Tick::NEVER {
                return responses;
            }
            self.now = self.now.max(wake.0);
            match self.ssd.next(Tick(self.now)) {
                Some(Outgoing::Fis(fis)) => self.receive_fis(fis, &mut responses),
                Some(Outgoing::Data(dwords)) => self.receive_data(dwords, &mut responses),
                Some(Outgoing::Reset) => panic!("a drive does not reset the link"),
                None => assert!(self.ssd.wake().0 > self.now, "it wakes for nothing"),
            }
        }
    }

    fn receive_fis(&mut self, fis: Fis, responses: &mut Responses) {
        self.now += 10;
        self.ssd.sent(Tick(self.now), Outcome::Accepted);
        match fis {
            Fis::RegisterD2h(fis) => responses.completions.push(fis),
            Fis::PioSetup(fis) => responses.pio_setups.push(fis),
            Fis::SetDeviceBits(fis) => responses.device_bits.push(fis),
            Fis::DmaSetup(fis) => {
                responses.dma_setups.push(fis);
                if !fis.to_host {
                    (self.remaining, self.sent) = (u64::from(fis.count) / 4, 0);
                    if fis.auto_activate {
                        self.send_data(responses);
                    }
                }
            }
            Fis::DmaActivate(_) => {
                responses.activations += 1;
                self.send_data(responses);
            }
            fis => panic!("{fis} from a drive"),
        }
    }

    fn receive_data(&mut self, dwords: u32, responses: &mut Responses) {
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
        // In two parts, since an engine may ask for parts.
        let cut = words.len() / 3;
        let payload = match self.ssd.describe() {
            Some(pattern) => Payload::Pattern(pattern),
            None => {
                self.ssd.fill(0, &mut words[..cut]);
                self.ssd.fill(u32::try_from(cut).unwrap(), &mut words[cut..]);
                Payload::Words(words)
            }
        };
        responses.data.push((payload, dwords));
        let refused = self.refuses == Some(self.frames);
        self.frames += 1;
        let outcome = if refused { Outcome::Refused } else { Outcome::Accepted };
        self.ssd.sent(Tick(self.now), outcome);
    }

    fn send_data(&mut self, responses: &mut Responses) {
        let dwords = u64::from(self.frame).min(self.remaining);
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
        responses.refused += u32::from(!good || reception == Reception::Refuse);
        self.sent += dwords;
        self.remaining -= dwords;
    }

    /// Sends a command with `dwords` of data to write, and receives all responses.
    pub fn command(&mut self, fis: RegisterH2d, dwords: u64) -> Responses {
        (self.remaining, self.sent) = (dwords, 0);
        self.issue(fis);
        self.receive_all()
    }

    /// Sends a command without waiting.
    pub fn issue(&mut self, fis: RegisterH2d) {
        let fis = Fis::RegisterH2d(RegisterH2d { is_command: true, ..fis });
        assert_eq!(self.ssd.received(Tick(self.now), &fis), Reception::Accept);
    }

    pub fn control(&mut self, control: u8) -> Responses {
        let fis = RegisterH2d { control, ..RegisterH2d::default() };
        self.ssd.received(Tick(self.now), &Fis::RegisterH2d(fis));
        self.receive_all()
    }

    /// Sends READ DMA or WRITE DMA.
    pub fn lba28(&mut self, code: u8, lba: u64, count: u64) -> Responses {
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

    /// Sends READ DMA EXT or WRITE DMA EXT.
    pub fn lba48(&mut self, code: u8, lba: u64, count: u64) -> Responses {
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

    /// Sends a queued command without waiting.
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

    /// Sends a command without address and data.
    pub fn simple(&mut self, code: u8, features: u16, count: u16) -> Responses {
        self.command(RegisterH2d { command: code, features, count, ..RegisterH2d::default() }, 0)
    }
}
