//! The FIS engine compared with the dword engine: the same calls at the same ticks, the same bytes.
use crate::pair::{Call, Command, Common, Device, Flow, Host, Kind, random_wiring, skewed};
use boardlab_sata::link::{self, End, Item, Run, Stop, Wiring};
use boardlab_sata::wire::{Primitive, align};
use boardlab_sata::{Shares, Tick, fast};
use boardlab_sim::{Seed, Stream};

/// A case: what is wired, who stands at the ends.
struct Case {
    wiring: Wiring,
    host: Host,
    device: Device,
}

impl Case {
    /// A few commands of up to `2^bits` sectors.
    fn random(seed: u64, bits: u64) -> Self {
        let mut stream = Seed::new(seed).stream("agree");
        let wiring = random_wiring(&mut stream);
        let commands: Vec<Command> =
            (0..1 + stream.below(5)).map(|_| command(&mut stream, bits)).collect();
        let described = stream.chance(1, 2);
        let host = Host::new(&mut stream, described, &commands);
        let device = Device::new(&mut stream, described);
        Self { wiring, host, device }
    }

    fn by_fis(&self) -> (Host, Device) {
        let mut engine = fast::Engine::new(self.wiring, self.host.clone(), self.device.clone());
        assert_eq!(engine.run(Tick::NEVER), Stop::Idle);
        assert_eq!(engine.shares().total(), engine.now().0);
        engine.into_agents()
    }

    /// Runs both engines and asserts that they are alike.
    fn compare(&self, seed: u64) -> (Host, Device) {
        let (fast, slow) = (self.by_fis(), self.by_dword());
        assert_equal(seed, "host", &fast.0.common, &slow.0.common);
        assert_equal(seed, "device", &fast.1.common, &slow.1.common);
        fast
    }

    fn by_dword(&self) -> (Host, Device) {
        let mut engine = link::Engine::new(self.wiring, self.host.clone(), self.device.clone());
        assert_eq!(engine.run(Tick::NEVER), Stop::Idle);
        engine.into_agents()
    }
}

fn command(stream: &mut Stream, bits: u64) -> Command {
    let kinds = [Kind::Read, Kind::Read, Kind::Write, Kind::Write, Kind::PioIn, Kind::None];
    let kind = kinds[usize::try_from(stream.below(6)).unwrap()];
    Command { kind, sectors: u32::try_from(1 + skewed(stream, bits + 1)).unwrap() }
}

fn assert_equal(seed: u64, which: &str, fast: &Common, slow: &Common) {
    let differ = fast.log.iter().zip(&slow.log).position(|(fast, slow)| fast != slow);
    if let Some(at) = differ {
        let around = at.saturating_sub(6)..at + 3;
        let show = |log: &[(Tick, Call)]| format!("{:?}", log.get(around.clone()));
        panic!("seed {seed}, {which}, call {at}:\n{}\n{}", show(&fast.log), show(&slow.log));
    }
    assert_eq!(fast.log.len(), slow.log.len(), "seed {seed}, {which}");
    assert_eq!((fast.received, fast.digest), (slow.received, slow.digest), "seed {seed}, {which}");
}

#[test]
fn both_engines_tell_agents_the_same_at_the_same_ticks() {
    (0..1_000).for_each(|seed| drop(Case::random(seed, 6).compare(seed)));
}

#[test]
fn both_engines_agree_on_commands_up_to_the_largest() {
    let cases = if std::env::var_os("BOARDLAB_FULL").is_some() { 1_000 } else { 10 };
    (1_000..1_000 + cases).for_each(|seed| drop(Case::random(seed, 16).compare(seed)));
}

#[test]
fn both_engines_agree_where_hold_comes_and_goes_all_the_time() {
    for seed in 0..1_000 {
        let mut case = Case::random(seed, 4);
        let mut stream = Seed::new(seed).stream("tight");
        for end in [&mut case.wiring.host, &mut case.wiring.device] {
            let hold_from = 1 + u32::try_from(stream.below(6)).unwrap();
            let hold_to = u32::try_from(stream.below(hold_from.into())).unwrap();
            let fifo = end.fifo.max(hold_from + 300);
            *end = End { hold_from, hold_to, fifo, ..*end };
        }
        for common in [&mut case.host.common, &mut case.device.common] {
            let size = 1 + u32::try_from(stream.below(5)).unwrap();
            common.drains = Flow::Chunks(size, stream.below(12));
            common.supplies = Flow::Ragged(2 + size, 1 + stream.below(30));
        }
        case.compare(seed);
    }
}

#[test]
fn frames_that_a_fifo_has_no_room_for_are_refused_alike() {
    let mut refused = 0;
    for seed in 0..500 {
        let mut case = Case::random(seed, 5);
        let mut stream = Seed::new(seed).stream("room");
        for end in [&mut case.wiring.host, &mut case.wiring.device] {
            end.fifo -= u32::try_from(stream.below(u64::from(end.fifo))).unwrap();
        }
        let (host, device) = case.compare(seed);
        let log = host.common.log.iter().chain(&device.common.log);
        refused += log.filter(|(_, call)| *call == Call::End(false)).count();
    }
    assert!(refused > 100, "{refused}");
}

/// Slots of a run.
fn slots(run: &Run) -> u64 {
    align::slots_before(run.until) - align::slots_before(run.from)
}

/// Payload, framing and slots without payload between SOF and EOF, read from what a lane carried.
fn read_lane(runs: &[Run]) -> Shares {
    let mut shares = Shares::default();
    let frames = runs.split(|run| run.item == Item::Primitive(Primitive::Sof)).skip(1);
    for frame in frames {
        let eof = frame.iter().position(|run| run.item == Item::Primitive(Primitive::Eof)).unwrap();
        if frame[..eof].iter().all(|run| run.item != Item::Header) {
            continue;
        }
        let all: u64 = frame[..eof].iter().map(slots).sum();
        let data: u64 = frame[..eof].iter().filter(|run| run.item == Item::Data).map(slots).sum();
        shares.payload += data;
        shares.framing += 4;
        // Header and CRC.
        shares.hold += all - data - 2;
    }
    shares
}

/// Slots that a receiver took to empty its FIFO after EOF, give or take one a frame.
fn read_waits(sender: &[Run], receiver: &[Run], latency: u32) -> u64 {
    let is = |run: &&Run, primitive| run.item == Item::Primitive(primitive);
    let answers = receiver.iter().filter(|run| is(run, Primitive::ROk));
    let ends = sender.iter().filter(|run| is(run, Primitive::Eof));
    ends.zip(answers)
        .map(|(eof, answer)| {
            let came = eof.from.after(u64::from(latency) + 1);
            align::slots_before(answer.from) - align::slots_before(came)
        })
        .sum()
}

#[test]
fn shares_are_those_that_a_trace_of_the_dword_engine_shows() {
    for seed in 0..200 {
        let case = Case::random(seed, 4);
        let mut engine = fast::Engine::new(case.wiring, case.host.clone(), case.device.clone());
        engine.run(Tick::NEVER);
        let shares = engine.shares();
        let mut engine = link::Engine::new(case.wiring, case.host.clone(), case.device.clone());
        engine.record();
        engine.run(Tick::NEVER);
        let trace = engine.trace();
        let (host, device) = (read_lane(&trace.host), read_lane(&trace.device));
        assert_eq!(shares.payload, host.payload + device.payload, "seed {seed}");
        assert_eq!(shares.framing, host.framing + device.framing, "seed {seed}");
        let waits = read_waits(&trace.host, &trace.device, case.wiring.host.latency)
            + read_waits(&trace.device, &trace.host, case.wiring.device.latency);
        let hold = host.hold + device.hold + waits;
        assert!(shares.hold.abs_diff(hold) * 4 <= shares.framing, "seed {seed}: {hold} {shares:?}");
    }
}
