//! Both engines with agents that send at the same time, refuse frames, hang and reset the link.
use crate::pair::{random_wiring, skewed};
use boardlab_sata::link::{self, Stop, Wiring};
use boardlab_sata::wire::fis::SetDeviceBits;
use boardlab_sata::{Agent, Counting, Fis, Gate, Outcome, Outgoing, Reception, Tick, fast};
use boardlab_sim::{Seed, Stream};
use std::collections::VecDeque;

/// A call to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Next(bool),
    Sent(Outcome),
    Received(u32, Reception),
    Begin,
    Supply(u32),
    Drain(u32),
    End(bool),
    Reset,
}

/// An agent that sends its frames after pauses, regardless of the other end.
#[derive(Debug, Clone)]
struct Chatter {
    stream: Stream,
    script: VecDeque<Outgoing>,
    pause: u64,
    ready: Tick,
    /// Per cent of FISes refused, and of gates that never open.
    refuses: u64,
    hangs: u64,
    /// The time after the last event at which it resets the link; hosts only.
    patience: Option<u64>,
    deadline: Tick,
    log: Vec<(Tick, Call)>,
    digest: u64,
}

impl Chatter {
    fn new(stream: &mut Stream, patience: Option<u64>, hangs: u64) -> Self {
        let length = 1 + stream.below(12);
        let script = (0..length).map(|at| something(stream, at)).collect();
        Self {
            script,
            pause: 1 + skewed(stream, 11),
            ready: Tick(skewed(stream, 10)),
            refuses: stream.below(3) * 15,
            hangs,
            patience,
            deadline: Tick::NEVER,
            log: Vec::new(),
            digest: 0,
            stream: Seed::new(stream.next_u64()).stream("chatter"),
        }
    }

    fn note(&mut self, now: Tick, call: Call) {
        assert!(self.log.last().is_none_or(|&(at, _)| at <= now), "time goes back: {call:?}");
        self.log.push((now, call));
    }

    fn pause(&mut self, now: Tick) {
        self.ready = now.after(self.stream.below(self.pause));
        self.deadline = Tick::NEVER;
    }

    fn gate(&mut self, now: Tick, passed: u32) -> Gate {
        if self.stream.below(100) < self.hangs {
            return Gate { until: passed + 1, at: Tick::NEVER };
        }
        let until = passed + 1 + u32::try_from(skewed(&mut self.stream, 12)).unwrap();
        Gate { until, at: now.after(skewed(&mut self.stream, 9)) }
    }
}

fn something(stream: &mut Stream, at: u64) -> Outgoing {
    let active = u32::try_from(at).unwrap();
    match stream.below(3) {
        0 => Outgoing::Data(1 + u32::try_from(stream.below(2_048)).unwrap()),
        _ => {
            Outgoing::Fis(Fis::SetDeviceBits(SetDeviceBits { active, ..SetDeviceBits::default() }))
        }
    }
}

impl Agent for Chatter {
    fn wake(&self) -> Tick {
        if self.script.is_empty() { self.deadline } else { self.ready.min(self.deadline) }
    }
    fn next(&mut self, now: Tick) -> Option<Outgoing> {
        if self.requests_reset(now) {
            self.note(now, Call::Next(true));
            return Some(Outgoing::Reset);
        }
        let next = self.script.front().copied().filter(|_| self.ready <= now);
        self.note(now, Call::Next(next.is_some()));
        next
    }
    fn requests_reset(&self, now: Tick) -> bool {
        self.deadline <= now
    }
    fn sent(&mut self, now: Tick, outcome: Outcome) {
        self.note(now, Call::Sent(outcome));
        self.script.pop_front();
        self.pause(now);
    }
    fn received(&mut self, now: Tick, fis: &Fis) -> Reception {
        let Fis::SetDeviceBits(bits) = fis else { panic!("never sent: {fis}") };
        let refused = self.stream.below(100) < self.refuses;
        let reception = if refused { Reception::Refuse } else { Reception::Accept };
        self.note(now, Call::Received(bits.active, reception));
        self.pause(now);
        reception
    }
    fn supply(&mut self, now: Tick, sent: u32) -> Gate {
        self.note(now, Call::Supply(sent));
        self.deadline = self.patience.map_or(Tick::NEVER, |ticks| now.after(ticks));
        self.gate(now, sent)
    }
    fn fill(&mut self, first: u32, words: &mut [u32]) {
        (first..).zip(words).for_each(|(at, word)| *word = at.wrapping_mul(0x9E37_79B9));
    }
    fn describe(&mut self) -> Option<Counting> {
        None
    }
    fn begin(&mut self, now: Tick) {
        self.note(now, Call::Begin);
        self.deadline = self.patience.map_or(Tick::NEVER, |ticks| now.after(ticks));
    }
    fn drain(&mut self, now: Tick, taken: u32) -> Gate {
        self.note(now, Call::Drain(taken));
        self.gate(now, taken)
    }
    fn take(&mut self, words: &[u32]) {
        let add = |digest, &word| boardlab_sim::mix(digest ^ u64::from(word));
        self.digest = words.iter().fold(self.digest, add);
    }
    fn take_described(&mut self, _dwords: u32, _words: Counting) {
        panic!("nothing is described");
    }
    fn end(&mut self, now: Tick, good: bool) -> Reception {
        self.note(now, Call::End(good));
        self.pause(now);
        let refused = self.stream.below(100) < self.refuses;
        if refused { Reception::Refuse } else { Reception::Accept }
    }
    fn reset(&mut self, now: Tick) {
        self.note(now, Call::Reset);
        self.script.pop_front();
        self.pause(now);
    }
}

struct Case {
    wiring: Wiring,
    host: Chatter,
    device: Chatter,
}

impl Case {
    fn compare(&self, seed: u64) -> Vec<(Tick, Call)> {
        let mut fast = fast::Engine::new(self.wiring, self.host.clone(), self.device.clone());
        assert_eq!(fast.run(Tick::NEVER), Stop::Idle, "seed {seed}");
        assert_eq!(fast.shares().total(), fast.now().0, "seed {seed}");
        let mut slow = link::Engine::new(self.wiring, self.host.clone(), self.device.clone());
        assert_eq!(slow.run(Tick::NEVER), Stop::Idle, "seed {seed}");
        let (fast, slow) = (fast.into_agents(), slow.into_agents());
        for (fast, slow) in [(&fast.1, &slow.1), (&fast.0, &slow.0)] {
            let differ = fast.log.iter().zip(&slow.log).position(|(fast, slow)| fast != slow);
            if let Some(at) = differ {
                let around = at.saturating_sub(6)..(at + 3).min(fast.log.len()).min(slow.log.len());
                let show = |log: &[(Tick, Call)]| format!("{:?}", &log[around.clone()]);
                panic!("seed {seed}, call {at}:\n{}\n{}", show(&fast.log), show(&slow.log));
            }
            assert_eq!((fast.log.len(), fast.digest), (slow.log.len(), slow.digest), "seed {seed}");
        }
        fast.0.log
    }
}

#[test]
fn frames_that_collide_or_are_refused_end_alike_in_both_engines() {
    let mut refused = 0;
    for seed in 0..2_000 {
        let mut stream = Seed::new(seed).stream("chatter");
        let wiring = random_wiring(&mut stream);
        let host = Chatter::new(&mut stream, None, 0);
        let device = Chatter::new(&mut stream, None, 0);
        let log = Case { wiring, host, device }.compare(seed);
        refused += log.iter().filter(|(_, call)| *call == Call::Sent(Outcome::Refused)).count();
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn frames_that_hang_are_aborted_alike_by_both_engines() {
    let mut resets = 0;
    for seed in 0..1_000 {
        let mut stream = Seed::new(seed).stream("hang");
        let wiring = random_wiring(&mut stream);
        let patience = 100 + skewed(&mut stream, 16);
        let host = Chatter::new(&mut stream, Some(patience), 5);
        let device = Chatter::new(&mut stream, None, 5);
        let log = Case { wiring, host, device }.compare(seed);
        resets += log.iter().filter(|(_, call)| *call == Call::Reset).count();
    }
    assert!(resets > 100, "{resets}");
}

/// An agent whose wake is always in the past, and which sends nothing before it has received something.
#[derive(Debug, Clone)]
struct Reactive(Chatter);

impl Agent for Reactive {
    fn wake(&self) -> Tick {
        Tick::ZERO
    }
    fn next(&mut self, now: Tick) -> Option<Outgoing> {
        if self.0.log.is_empty() { None } else { self.0.next(now) }
    }
    fn sent(&mut self, now: Tick, outcome: Outcome) {
        self.0.sent(now, outcome);
    }
    fn received(&mut self, now: Tick, fis: &Fis) -> Reception {
        self.0.received(now, fis)
    }
    fn supply(&mut self, now: Tick, sent: u32) -> Gate {
        self.0.supply(now, sent)
    }
    fn fill(&mut self, first: u32, words: &mut [u32]) {
        self.0.fill(first, words);
    }
    fn describe(&mut self) -> Option<Counting> {
        None
    }
    fn begin(&mut self, now: Tick) {
        self.0.begin(now);
    }
    fn drain(&mut self, now: Tick, taken: u32) -> Gate {
        self.0.drain(now, taken)
    }
    fn take(&mut self, words: &[u32]) {
        self.0.take(words);
    }
    fn take_described(&mut self, dwords: u32, words: Counting) {
        self.0.take_described(dwords, words);
    }
    fn end(&mut self, now: Tick, good: bool) -> Reception {
        self.0.end(now, good)
    }
    fn reset(&mut self, now: Tick) {
        self.0.reset(now);
    }
}

#[test]
fn an_agent_with_nothing_to_send_at_its_wake_is_polled_again_after_it_has_received_something() {
    let mut stream = Seed::new(1).stream("shy");
    let wiring = random_wiring(&mut stream);
    let mut shy = Chatter::new(&mut stream, None, 0);
    (shy.refuses, shy.pause) = (0, 1);
    let mut other = shy.clone();
    other.ready = Tick(5_000);
    let mut engine = fast::Engine::new(wiring, Reactive(shy.clone()), other);
    assert_eq!(engine.run(Tick(2_000)), Stop::Limit);
    assert_eq!(engine.run(Tick::NEVER), Stop::Idle);
    let (host, device) = engine.into_agents();
    assert!(host.0.script.is_empty() && device.script.is_empty());
    let heard = |call: &&(Tick, Call)| matches!(call.1, Call::Received(..) | Call::End(_));
    assert_eq!(host.0.log.iter().filter(heard).count(), shy.script.len());
    assert_eq!(device.log.iter().filter(heard).count(), shy.script.len());
}
