//! Agents without a protocol: they send scripted frames and record what they receive.

#![allow(dead_code, reason = "each test binary uses its part of the rig")]

use boardlab_sata::link::{End, Engine, Stop, Wiring};
use boardlab_sata::wire::fis::{DmaActivate, RegisterD2h, RegisterH2d};
use boardlab_sata::{Agent, Counting, Fis, Gate, Outcome, Outgoing, Reception, Speed, Tick};
use boardlab_sim::Stream;
use std::collections::VecDeque;

/// An end as real cores have it, with a FIFO of `room` dwords beyond what the other end may send late.
pub(crate) fn end(latency: u32, other: u32, room: u32) -> End {
    let headroom = End::LONGEST_HOLDA + latency + other;
    End {
        latency,
        holda_after: End::LONGEST_HOLDA,
        fifo: room + headroom,
        hold_from: room,
        hold_to: room / 2,
        cont: false,
    }
}

/// A link of two such ends.
pub(crate) fn wiring(host: u32, device: u32, room: u32) -> Wiring {
    Wiring { speed: Speed::Gen2, host: end(host, device, room), device: end(device, host, room) }
}

/// How fast dwords of a frame can be given or taken.
#[derive(Debug, Clone)]
pub(crate) enum Pace {
    /// All at once.
    Open,
    /// `dwords` in `ticks`, evenly, after a pause of so many ticks before dword `.0` of each frame.
    Rate { dwords: u64, ticks: u64, pause: (u32, u64) },
    /// Pieces of up to `.1` dwords after up to `.2` ticks.
    Random(Stream, u64, u64),
    /// Not after this dword.
    Never(u32),
}

impl Pace {
    /// Evenly, without a pause.
    pub(crate) fn rate(dwords: u64, ticks: u64) -> Self {
        Self::Rate { dwords, ticks, pause: (0, 0) }
    }

    fn gate(&mut self, start: Tick, now: Tick, passed: u32) -> Gate {
        match self {
            Self::Open => Gate::OPEN,
            Self::Rate { dwords, ticks, pause } => {
                let late = if passed >= pause.0 { pause.1 } else { 0 };
                let at = start.after((u64::from(passed) * *ticks).div_ceil(*dwords) + late);
                Gate { until: passed + 1, at }
            }
            Self::Random(stream, most, longest) => {
                let piece = 1 + u32::try_from(stream.below(*most)).unwrap();
                let open = stream.chance(1, 3);
                let wait = if open { 0 } else { stream.below(*longest + 1) };
                Gate { until: passed + piece, at: now.after(wait) }
            }
            Self::Never(dword) if passed < *dword => Gate { until: *dword, at: now },
            Self::Never(_) => Gate { until: u32::MAX, at: Tick::NEVER },
        }
    }
}

/// What happened to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// What was to be sent first is done.
    Sent(Outcome),
    /// A FIS came.
    Fis(Fis),
    /// A Data FIS begins.
    Begin,
    /// It has ended, with these words.
    Data(Vec<u32>, bool),
    /// The link came up again.
    Reset,
}

/// One thing to be sent, not before a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Post {
    pub(crate) what: Outgoing,
    pub(crate) words: Vec<u32>,
    pub(crate) from: Tick,
}

/// An agent that sends its posts in order, whatever becomes of them, and accepts all.
#[derive(Debug, Clone)]
pub(crate) struct Talker {
    pub(crate) posts: VecDeque<Post>,
    pub(crate) supply: Pace,
    pub(crate) drain: Pace,
    pub(crate) log: Vec<(Tick, Event)>,
    /// When gates were asked for, and after how many dwords.
    pub(crate) asked: Vec<(Tick, u32)>,
    /// Answers Data FISes by refusing them.
    pub(crate) refuses: bool,
    /// Gives up what hangs at this tick.
    pub(crate) patience: Tick,
    sending_from: Tick,
    receiving_from: Tick,
    coming: Vec<u32>,
}

impl Talker {
    pub(crate) fn new() -> Self {
        Self {
            posts: VecDeque::new(),
            supply: Pace::Open,
            drain: Pace::Open,
            log: Vec::new(),
            asked: Vec::new(),
            refuses: false,
            patience: Tick::NEVER,
            sending_from: Tick::ZERO,
            receiving_from: Tick::ZERO,
            coming: Vec::new(),
        }
    }

    pub(crate) fn fis(mut self, from: u64, fis: Fis) -> Self {
        let post = Post { what: Outgoing::Fis(fis), words: Vec::new(), from: Tick(from) };
        self.posts.push_back(post);
        self
    }

    pub(crate) fn data(mut self, from: u64, words: Vec<u32>) -> Self {
        let dwords = u32::try_from(words.len()).unwrap();
        self.posts.push_back(Post { what: Outgoing::Data(dwords), words, from: Tick(from) });
        self
    }

    pub(crate) fn supplies(mut self, pace: Pace) -> Self {
        self.supply = pace;
        self
    }

    pub(crate) fn drains(mut self, pace: Pace) -> Self {
        self.drain = pace;
        self
    }

    /// Its events without their ticks.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.log.iter().map(|(_, event)| event.clone()).collect()
    }

    /// The payloads that came and were good.
    pub(crate) fn payloads(&self) -> Vec<Vec<u32>> {
        let data = self.log.iter().filter_map(|(_, event)| match event {
            Event::Data(words, true) => Some(words.clone()),
            _ => None,
        });
        data.collect()
    }

    /// How what it sent was answered.
    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        let sent = self.log.iter().filter_map(|(_, event)| match event {
            Event::Sent(outcome) => Some(*outcome),
            _ => None,
        });
        sent.collect()
    }

    fn note(&mut self, now: Tick, event: Event) {
        assert!(self.log.last().is_none_or(|(last, _)| *last <= now), "time goes back");
        self.log.push((now, event));
    }
}

impl Agent for Talker {
    fn wake(&self) -> Tick {
        self.posts.front().map_or(Tick::NEVER, |post| post.from).min(self.patience)
    }

    fn next(&mut self, now: Tick) -> Option<Outgoing> {
        if self.patience <= now {
            self.patience = Tick::NEVER;
            return Some(Outgoing::Reset);
        }
        self.posts.front().filter(|post| post.from <= now).map(|post| post.what)
    }

    fn requests_reset(&self, now: Tick) -> bool {
        self.patience <= now
    }

    fn sent(&mut self, now: Tick, outcome: Outcome) {
        assert!(self.posts.pop_front().is_some(), "sent of nothing");
        self.note(now, Event::Sent(outcome));
    }

    fn received(&mut self, now: Tick, fis: &Fis) -> Reception {
        self.note(now, Event::Fis(*fis));
        Reception::Accept
    }

    fn supply(&mut self, now: Tick, sent: u32) -> Gate {
        self.asked.push((now, sent));
        if sent == 0 {
            self.sending_from = now;
        }
        self.supply.gate(self.sending_from, now, sent)
    }

    fn fill(&mut self, first: u32, words: &mut [u32]) {
        let first = usize::try_from(first).unwrap();
        words.copy_from_slice(&self.posts[0].words[first..first + words.len()]);
    }

    fn describe(&mut self) -> Option<Counting> {
        None
    }

    fn begin(&mut self, now: Tick) {
        self.coming.clear();
        self.receiving_from = now;
        self.note(now, Event::Begin);
    }

    fn drain(&mut self, now: Tick, taken: u32) -> Gate {
        self.asked.push((now, taken));
        assert_eq!(taken, u32::try_from(self.coming.len()).unwrap(), "asked too early");
        self.drain.gate(self.receiving_from, now, taken)
    }

    fn take(&mut self, words: &[u32]) {
        self.coming.extend_from_slice(words);
    }

    fn take_described(&mut self, dwords: u32, words: Counting) {
        let old = self.coming.len();
        self.coming.resize(old + usize::try_from(dwords).unwrap(), 0);
        words.fill(0, &mut self.coming[old..]);
    }

    fn end(&mut self, now: Tick, good: bool) -> Reception {
        let words = std::mem::take(&mut self.coming);
        self.note(now, Event::Data(words, good));
        if self.refuses { Reception::Refuse } else { Reception::Accept }
    }

    fn reset(&mut self, now: Tick) {
        self.coming.clear();
        self.note(now, Event::Reset);
    }
}

/// A command.
pub(crate) fn command() -> Fis {
    Fis::RegisterH2d(RegisterH2d { is_command: true, command: 0x25, ..RegisterH2d::default() })
}

/// Its end.
pub(crate) fn status() -> Fis {
    Fis::RegisterD2h(RegisterD2h { status: 0x50, ..RegisterD2h::default() })
}

/// DMA Activate.
pub(crate) fn activate() -> Fis {
    Fis::DmaActivate(DmaActivate::default())
}

/// Words drawn from `stream`.
pub(crate) fn random_words(stream: &mut Stream, count: usize) -> Vec<u32> {
    (0..count).map(|_| u32::try_from(stream.next_u64() >> 32).unwrap()).collect()
}

/// Runs `engine` until nothing is left; it must not take longer than `limit` ticks.
pub(crate) fn finish<H: Agent, D: Agent>(engine: &mut Engine<H, D>, limit: u64) {
    let stop = engine.run(engine.now().after(limit));
    assert_eq!(stop, Stop::Idle, "it goes on at tick {}", engine.now());
}
