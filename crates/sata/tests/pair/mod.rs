//! A host and a device for tests: random commands, gates of every shape, and a log of all calls, so
//! that two engines can be compared call by call.
#![allow(dead_code, reason = "each test binary uses a part")]

use boardlab_sata::link::{End, Wiring};
use boardlab_sata::wire::Step;
use boardlab_sata::wire::fis::{
    DmaActivate, Fis, PioSetup, RegisterD2h, RegisterH2d, SetDeviceBits,
};
use boardlab_sata::{
    Agent, Counting, Gate, LARGEST_DATA, Outcome, Outgoing, Reception, SECTOR_DWORDS, Speed, Tick,
};
use boardlab_sim::{Stream, mix};
use std::collections::VecDeque;

/// A call to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Sent(Outcome),
    Fis(u8),
    Begin,
    Supply(u32),
    Drain(u32),
    End(bool),
    Reset,
}

/// How an agent gives or takes data.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Flow {
    Open,
    /// All at once, so many ticks after it is asked.
    Late(u64),
    /// So many dwords in so many ticks, evenly, counted from the beginning of a frame.
    Even(u64, u64),
    /// So many dwords, so many ticks after the ones before; up to 200 ticks are made up for.
    Chunks(u32, u64),
    /// Chunks and waits at random, below these.
    Ragged(u32, u64),
}

impl Flow {
    pub(crate) fn random(stream: &mut Stream) -> Self {
        match stream.below(8) {
            0 | 1 => Self::Open,
            2 | 3 => Self::Late(skewed(stream, 15)),
            4 => {
                let size = chunk(stream);
                Self::Chunks(size, stream.below(u64::from(size) * 8 + 50))
            }
            // A little faster or slower than the link.
            5 => {
                let size = 100 + chunk(stream);
                Self::Chunks(size, u64::from(size) * (90 + stream.below(30)) / 100)
            }
            6 => Self::Ragged(100 + chunk(stream), 1 + stream.below(3_000)),
            _ => match stream.chance(1, 2) {
                true => Self::Ragged(1 + chunk(stream), 1 + stream.below(40)),
                false => {
                    let ticks = 1 + stream.below(100);
                    Self::Even(1 + stream.below(ticks), ticks)
                }
            },
        }
    }

    fn gate(self, now: Tick, passed: u32, [start, last]: [Tick; 2], stream: &mut Stream) -> Gate {
        match self {
            Self::Even(dwords, ticks) => {
                let at = start.after((u64::from(passed) * ticks).div_ceil(dwords));
                Gate { until: passed + 1, at }
            }
            Self::Open => Gate::OPEN,
            Self::Late(ticks) if passed == 0 => Gate { until: LARGEST_DATA, at: now.after(ticks) },
            Self::Late(_) => Gate::OPEN,
            Self::Chunks(size, ticks) => Gate {
                until: passed + size,
                at: last.after(ticks).max(Tick(now.0.saturating_sub(200))),
            },
            Self::Ragged(size, ticks) => {
                let until = passed + 1 + u32::try_from(stream.below(size.into())).unwrap();
                Gate { until, at: now.after(stream.below(ticks)) }
            }
        }
    }
}

/// Below 2^`bits`, small numbers as often as large ones.
pub(crate) fn skewed(stream: &mut Stream, bits: u64) -> u64 {
    let bits = stream.below(bits);
    stream.below(1 << bits)
}

fn chunk(stream: &mut Stream) -> u32 {
    u32::try_from(1 + skewed(stream, 12)).unwrap()
}

/// The kinds of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    PioIn,
    None,
}

/// A command of `sectors`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Command {
    pub(crate) kind: Kind,
    pub(crate) sectors: u32,
}

impl Command {
    fn fis(self) -> Fis {
        let command = match self.kind {
            Kind::Read => 0x25,
            Kind::Write => 0x35,
            Kind::PioIn => 0x24,
            Kind::None => 0xE7,
        };
        let count = u16::try_from(self.sectors & 0xFFFF).unwrap();
        Fis::RegisterH2d(RegisterH2d { is_command: true, command, count, ..RegisterH2d::default() })
    }

    fn of(fis: &RegisterH2d) -> Self {
        let kind = match fis.command {
            0x25 => Kind::Read,
            0x35 => Kind::Write,
            0x24 => Kind::PioIn,
            _ => Kind::None,
        };
        let sectors = if fis.count == 0 { 65_536 } else { u32::from(fis.count) };
        Self { kind, sectors }
    }
}

/// What both ends have in common: data, gates, the log.
#[derive(Debug, Clone)]
pub(crate) struct Common {
    pub(crate) log: Vec<(Tick, Call)>,
    /// Gates that were asked for are logged too; engines may differ in them where it changes nothing.
    pub(crate) supplies: Flow,
    pub(crate) drains: Flow,
    stream: Stream,
    /// Ticks from what happened last to what it sends next, below this.
    pause: u64,
    described: bool,
    /// Payload dwords of all frames so far that were sent, and of the one that is.
    sent: u64,
    sending: u32,
    /// When the frame began, and when its last gate opened.
    frame: [Tick; 2],
    /// A digest of all that was received.
    pub(crate) digest: u64,
    pub(crate) received: u64,
    /// What is to be sent, and from when on.
    queue: VecDeque<Outgoing>,
    ready: Tick,
}

impl Common {
    fn new(stream: &mut Stream, described: bool) -> Self {
        Self {
            log: Vec::new(),
            supplies: Flow::random(stream),
            drains: Flow::random(stream),
            pause: 1 + skewed(stream, 14),
            described,
            sent: 0,
            sending: 0,
            frame: [Tick::ZERO; 2],
            digest: 0,
            received: 0,
            queue: VecDeque::new(),
            ready: Tick::ZERO,
            stream: boardlab_sim::Seed::new(stream.next_u64()).stream("end"),
        }
    }

    /// Waits at random up to `pause` ticks before it sends something.
    pub(crate) const fn wait(&mut self, pause: u64) {
        self.pause = pause;
    }

    fn note(&mut self, now: Tick, call: Call) {
        assert!(self.log.last().is_none_or(|&(at, _)| at <= now), "time goes back: {call:?}");
        self.log.push((now, call));
        if !matches!(call, Call::Supply(_) | Call::Drain(_)) {
            self.ready = now.after(self.stream.below(self.pause));
        }
    }

    fn wake(&self) -> Tick {
        if self.queue.is_empty() { Tick::NEVER } else { self.ready }
    }

    fn next(&mut self, now: Tick) -> Option<Outgoing> {
        assert!(self.wake() <= now, "asked too early");
        let next = self.queue.front().copied();
        if let Some(Outgoing::Data(dwords)) = next {
            self.sending = dwords;
        }
        next
    }

    fn sent(&mut self, now: Tick, outcome: Outcome) -> Outgoing {
        self.note(now, Call::Sent(outcome));
        let outgoing = self.queue.pop_front().expect("something was sent");
        if let Outgoing::Data(dwords) = outgoing {
            self.sent += u64::from(dwords);
        }
        outgoing
    }

    fn supply(&mut self, now: Tick, sent: u32) -> Gate {
        self.note(now, Call::Supply(sent));
        self.gate(self.supplies, now, sent)
    }

    fn drain(&mut self, now: Tick, taken: u32) -> Gate {
        self.note(now, Call::Drain(taken));
        self.gate(self.drains, now, taken)
    }

    fn gate(&mut self, flow: Flow, now: Tick, passed: u32) -> Gate {
        if passed == 0 {
            self.frame = [now; 2];
        }
        let gate = flow.gate(now, passed, self.frame, &mut self.stream);
        self.frame[1] = gate.at.max(now);
        gate
    }

    fn fill(&self, first: u32, words: &mut [u32]) {
        let first = self.sent + u64::from(first);
        for (at, word) in (first..).zip(words) {
            *word = if self.described { pattern().word(at) } else { random_word(at) };
        }
    }

    fn take(&mut self, words: &[u32]) {
        for &word in words {
            self.digest = mix(self.digest ^ u64::from(word));
        }
        self.received += words.len() as u64;
    }

    fn take_described(&mut self, dwords: u32, words: Counting) {
        for at in 0..u64::from(dwords) {
            self.digest = mix(self.digest ^ u64::from(words.word(at)));
        }
        self.received += u64::from(dwords);
    }

    fn describe(&self) -> Option<Counting> {
        self.described.then(|| pattern().from(self.sent))
    }
}

fn pattern() -> Counting {
    Counting { first: 0x1234_5678, step: Step::Down }
}

#[allow(clippy::cast_possible_truncation, reason = "a hash of 32 bits")]
fn random_word(at: u64) -> u32 {
    mix(at) as u32
}

/// The host: one command after the other.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) common: Common,
    pub(crate) commands: VecDeque<Command>,
    left: u32,
}

/// The device.
#[derive(Debug, Clone)]
pub(crate) struct Device {
    pub(crate) common: Common,
    /// Dwords of a write that are to come.
    left: u32,
    /// The largest Data FIS that it sends.
    largest: u32,
}

fn frames(dwords: u32, largest: u32) -> impl Iterator<Item = Outgoing> {
    let count = dwords.div_ceil(largest);
    (0..count).map(move |at| Outgoing::Data((dwords - at * largest).min(largest)))
}

impl Host {
    pub(crate) fn new(stream: &mut Stream, described: bool, commands: &[Command]) -> Self {
        let common = Common::new(stream, described);
        let mut host = Self { common, commands: commands.iter().copied().collect(), left: 0 };
        host.issue();
        host
    }

    fn issue(&mut self) {
        if let Some(command) = self.commands.pop_front() {
            self.left = command.sectors * SECTOR_DWORDS;
            self.common.queue.push_back(Outgoing::Fis(command.fis()));
        }
    }
}

impl Device {
    pub(crate) fn new(stream: &mut Stream, described: bool) -> Self {
        let common = Common::new(stream, described);
        let largest = match stream.below(4) {
            0 => 1 + u32::try_from(stream.below(u64::from(LARGEST_DATA))).unwrap(),
            _ => LARGEST_DATA,
        };
        let mut device = Self { common, left: 0, largest };
        device.common.queue.push_back(Outgoing::Fis(Fis::RegisterD2h(RegisterD2h::default())));
        device
    }

    fn accept(&mut self, command: Command) {
        let queue = &mut self.common.queue;
        let dwords = command.sectors * SECTOR_DWORDS;
        match command.kind {
            Kind::Read => queue.extend(frames(dwords, self.largest)),
            Kind::PioIn => {
                let setup = PioSetup { to_host: true, transfer: 512, ..PioSetup::default() };
                for _ in 0..command.sectors {
                    queue.push_back(Outgoing::Fis(Fis::PioSetup(setup)));
                    queue.push_back(Outgoing::Data(SECTOR_DWORDS));
                }
            }
            Kind::Write => {
                self.left = dwords;
                queue.push_back(Outgoing::Fis(Fis::DmaActivate(DmaActivate::default())));
                return;
            }
            Kind::None => {
                // Something that nobody waits for, so that frames collide.
                let bits = SetDeviceBits { active: 1, ..SetDeviceBits::default() };
                queue.push_back(Outgoing::Fis(Fis::SetDeviceBits(bits)));
            }
        }
        self.finish();
    }

    fn finish(&mut self) {
        let end = RegisterD2h { status: 0x50, interrupt: true, ..RegisterD2h::default() };
        self.common.queue.push_back(Outgoing::Fis(Fis::RegisterD2h(end)));
    }
}

fn code(fis: &Fis) -> u8 {
    match fis {
        Fis::RegisterH2d(_) => 0x27,
        Fis::RegisterD2h(_) => 0x34,
        Fis::DmaActivate(_) => 0x39,
        Fis::DmaSetup(_) => 0x41,
        Fis::Bist(_) => 0x58,
        Fis::PioSetup(_) => 0x5F,
        Fis::SetDeviceBits(_) => 0xA1,
    }
}

macro_rules! shared {
    () => {
        fn wake(&self) -> Tick {
            self.common.wake()
        }
        fn next(&mut self, now: Tick) -> Option<Outgoing> {
            self.common.next(now)
        }
        fn supply(&mut self, now: Tick, sent: u32) -> Gate {
            self.common.supply(now, sent)
        }
        fn fill(&mut self, first: u32, words: &mut [u32]) {
            self.common.fill(first, words);
        }
        fn describe(&mut self) -> Option<Counting> {
            self.common.describe()
        }
        fn begin(&mut self, now: Tick) {
            self.common.note(now, Call::Begin);
        }
        fn drain(&mut self, now: Tick, taken: u32) -> Gate {
            self.common.drain(now, taken)
        }
        fn take(&mut self, words: &[u32]) {
            self.common.take(words);
        }
        fn take_described(&mut self, dwords: u32, words: Counting) {
            self.common.take_described(dwords, words);
        }
        fn reset(&mut self, now: Tick) {
            self.common.note(now, Call::Reset);
        }
    };
}

impl Agent for Host {
    shared!();

    fn sent(&mut self, now: Tick, outcome: Outcome) {
        self.common.sent(now, outcome);
    }

    fn received(&mut self, now: Tick, fis: &Fis) -> Reception {
        self.common.note(now, Call::Fis(code(fis)));
        match fis {
            Fis::DmaActivate(_) => {
                let dwords = self.left.min(LARGEST_DATA);
                self.left -= dwords;
                self.common.queue.push_back(Outgoing::Data(dwords));
            }
            // The signature has no interrupt.
            Fis::RegisterD2h(end) if end.interrupt => self.issue(),
            _ => {}
        }
        Reception::Accept
    }

    fn end(&mut self, now: Tick, good: bool) -> Reception {
        self.common.note(now, Call::End(good));
        Reception::Accept
    }
}

impl Agent for Device {
    shared!();

    fn sent(&mut self, now: Tick, outcome: Outcome) {
        self.common.sent(now, outcome);
    }

    fn received(&mut self, now: Tick, fis: &Fis) -> Reception {
        self.common.note(now, Call::Fis(code(fis)));
        if let Fis::RegisterH2d(register) = fis {
            self.accept(Command::of(register));
        }
        Reception::Accept
    }

    fn end(&mut self, now: Tick, good: bool) -> Reception {
        self.common.note(now, Call::End(good));
        self.left -= self.left.min(LARGEST_DATA);
        if self.left == 0 {
            self.finish();
        } else {
            let activate = Fis::DmaActivate(DmaActivate::default());
            self.common.queue.push_back(Outgoing::Fis(activate));
        }
        Reception::Accept
    }
}

/// A link of random latencies and FIFOs, the FIFOs large enough.
pub(crate) fn random_wiring(stream: &mut Stream) -> Wiring {
    let mut latency = || u32::try_from(skewed(stream, 8)).unwrap();
    let (host, device) = (latency(), latency());
    let mut end = |latency: u32, other: u32| {
        let hold_from = u32::try_from(1 + skewed(stream, 11)).unwrap();
        End {
            latency,
            fifo: hold_from + 40 + latency + other,
            hold_from,
            hold_to: u32::try_from(stream.below(u64::from(hold_from))).unwrap(),
            holda_after: 1 + u32::try_from(stream.below(20)).unwrap(),
            cont: stream.chance(1, 2),
        }
    };
    let (host, device) = (end(host, device), end(device, host));
    let speed = Speed::ALL[usize::try_from(stream.below(3)).unwrap()];
    Wiring { speed, host, device }
}

/// Both ends without waits, at a latency of `latency` dwords each way.
pub(crate) fn plain_wiring(speed: Speed, latency: u32) -> Wiring {
    let end = End { latency, holda_after: 8, fifo: 256, hold_from: 128, hold_to: 64, cont: true };
    Wiring { speed, host: end, device: end }
}

/// A host and a device that answer at once.
pub(crate) fn prompt(commands: &[Command]) -> (Host, Device) {
    let mut stream = boardlab_sim::Seed::new(1).stream("prompt");
    let mut host = Host::new(&mut stream, true, commands);
    let mut device = Device::new(&mut stream, true);
    device.largest = LARGEST_DATA;
    for common in [&mut host.common, &mut device.common] {
        (common.supplies, common.drains, common.pause) = (Flow::Open, Flow::Open, 1);
    }
    (host, device)
}
