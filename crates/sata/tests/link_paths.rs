//! The dword engine's shortcuts compared with single steps: the same ticks, records and counts.
//!
//! `BOARDLAB_FULL=1` runs twenty times as many random cases.

use crate::link_rig;

use crate::link_rig::{Event, Pace, Talker, activate, command, end, random_words, status};
use boardlab_sata::link::{Effect, Engine, Fault, Part, Place, Side, Stop, Wiring};
use boardlab_sata::wire::Primitive;
use boardlab_sata::{Speed, Tick};
use boardlab_sim::{Seed, Stream};

type Link = Engine<Talker, Talker>;

/// What happened to an agent. Of a bad frame only the length: it may have filler in it whose CONT was lost,
/// and any filler is legal.
fn log(agent: &Talker) -> Vec<(Tick, Event)> {
    let without_filler = |(tick, event): &(Tick, Event)| match event {
        Event::Data(words, false) => (*tick, Event::Data(vec![0; words.len()], false)),
        event => (*tick, event.clone()),
    };
    agent.log.iter().map(without_filler).collect()
}

/// Both, in pieces that end anywhere.
fn compare(case: u64, engine: Link, stops: &[u64]) {
    let (mut quick, mut slow) = (engine.clone(), engine);
    slow.step_singly(true);
    quick.record();
    slow.record();
    for &stop in stops {
        assert_eq!(quick.run(Tick(stop)), slow.run(Tick(stop)), "seed {case}");
        assert_eq!(quick.now(), slow.now(), "seed {case}");
        for side in [Side::Host, Side::Device] {
            assert_eq!(quick.counters(side), slow.counters(side), "seed {case}, {side}");
            assert_eq!(quick.traffic(side), slow.traffic(side), "seed {case}, {side}");
        }
        assert!(log(quick.host()) == log(slow.host()), "seed {case}: the host met other things");
        assert!(log(quick.device()) == log(slow.device()), "seed {case}: the device did");
        assert!(quick.host().asked == slow.host().asked, "seed {case}: the host was asked");
        assert!(quick.device().asked == slow.device().asked, "seed {case}: the device was asked");
        assert!(quick.trace() == slow.trace(), "seed {case}: traces differ");
    }
}

fn random_link(stream: &mut Stream) -> Link {
    let mut draw = |bound: u64| u32::try_from(stream.below(bound)).unwrap();
    // Some with a long way and a small FIFO, where what is on its way counts most.
    let longest = if draw(3) == 0 { 400 } else { 41 };
    let (there, back) = (draw(longest), draw(longest));
    let room = 2 + if draw(3) == 0 { draw(8) } else { draw(130) };
    let mut host = end(there, back, room);
    let mut device = end(back, there, room);
    for end in [&mut host, &mut device] {
        end.holda_after = 1 + draw(20);
        // Often HOLD for a few ticks only.
        end.hold_to = if draw(2) == 0 { room - 1 } else { 1 + draw(room.into()) };
        end.cont = draw(2) == 0;
        // Now and then a FIFO that overflows.
        end.fifo -= if draw(8) == 0 { draw(end.fifo.into()) } else { 0 };
    }
    let speed = Speed::ALL[usize::try_from(draw(3)).unwrap()];
    let host_agent = random_talker(stream, command());
    let device_agent = random_talker(stream, status());
    Engine::new(Wiring { speed, host, device }, host_agent, device_agent)
}

fn random_talker(stream: &mut Stream, fis: boardlab_sata::Fis) -> Talker {
    let mut talker = Talker::new();
    for _ in 0..1 + stream.below(5) {
        let from = stream.below(20_000);
        talker = match stream.below(4) {
            0 => talker.fis(from, fis),
            1 => talker.fis(from, activate()),
            _ => {
                let count = 1 + stream.below(2_048);
                talker.data(from, random_words(stream, count.try_into().unwrap()))
            }
        };
    }
    talker.patience = if stream.chance(1, 4) { Tick(stream.below(25_000)) } else { Tick::NEVER };
    let (supply, drain) = (pace(stream), pace(stream));
    talker.supplies(supply).drains(drain)
}

fn pace(stream: &mut Stream) -> Pace {
    match stream.below(6) {
        0 | 1 => Pace::Open,
        // Full rate with many short stops.
        5 => Pace::Random(Seed::new(stream.next_u64()).stream("pace"), 60, 20),
        2 => {
            let ticks = 1 + stream.below(10);
            let pause = (u32::try_from(stream.below(2_000)).unwrap(), stream.below(9_000));
            Pace::Rate { dwords: 1 + stream.below(ticks), ticks, pause }
        }
        _ => Pace::Random(Seed::new(stream.next_u64()).stream("pace"), 900, 900),
    }
}

fn random_fault(stream: &mut Stream) -> Fault {
    let from = if stream.chance(1, 2) { Side::Host } else { Side::Device };
    let place = match stream.below(3) {
        0 => Place::Tick(Tick(stream.below(30_000))),
        _ => {
            let parts =
                [Part::Sof, Part::Crc, Part::Eof, Part::Dword(0), Part::Dword(5), Part::Dword(700)];
            Place::Frame(stream.below(4), parts[usize::try_from(stream.below(6)).unwrap()])
        }
    };
    let any = Primitive::ALL[usize::try_from(stream.below(18)).unwrap()];
    let effect = match stream.below(7) {
        0 => Effect::Flip(u8::try_from(stream.below(32)).unwrap()),
        1 => Effect::Primitive(any),
        2 => Effect::Data(7),
        3 => Effect::Invalid,
        4 => Effect::Lost,
        5 => Effect::Type(0x46),
        _ => Effect::SyncEscape,
    };
    Fault { from, place, effect }
}

fn cases() -> u64 {
    if std::env::var_os("BOARDLAB_FULL").is_some() { 6_000 } else { 300 }
}

#[test]
fn short_cuts_change_nothing() {
    for case in 0..cases() {
        let mut stream = Seed::new(case).stream("paths");
        let engine = random_link(&mut stream);
        let stops = [stream.below(1_000), 1_000 + stream.below(20_000), 300_000];
        compare(case, engine, &stops);
    }
}

#[test]
fn short_cuts_change_nothing_where_faults_strike() {
    for case in 0..cases() {
        let mut stream = Seed::new(case).stream("paths with faults");
        let mut engine = random_link(&mut stream);
        for _ in 0..1 + stream.below(6) {
            engine.inject(random_fault(&mut stream));
        }
        let stops = [stream.below(1_000), 1_000 + stream.below(20_000), 100_000];
        compare(case, engine, &stops);
    }
}

#[test]
fn a_long_wait_is_leapt_over() {
    // A hundred million times a hundred seconds: single steps would take years.
    let from = 750_000_000_000_000_000;
    let mut engine = Engine::new(
        link_rig::wiring(13, 12, 64),
        Talker::new().fis(from, command()),
        Talker::new(),
    );
    assert_eq!(engine.run(Tick::NEVER), Stop::Idle);
    let trip = 25;
    assert_eq!(engine.device().log[0].0, Tick(from + 1 + trip + 2 + 7 + 13));
}
