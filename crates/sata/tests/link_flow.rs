//! Flow control: HOLD and HOLDA between a sender, a FIFO and an agent with varying speed.
//!
//! `BOARDLAB_FULL=1` runs twenty times as many random cases.

use crate::link_rig::{Pace, Talker, finish, random_words, wiring};
use boardlab_sata::link::{Engine, Item, Run, Side, Stop, Wiring};
use boardlab_sata::wire::Primitive::{Hold, Holda};
use boardlab_sata::{Outcome, Tick};
use boardlab_sim::{Seed, Stream};

/// Longer than any transfer here takes.
const LIMIT: u64 = 10_000_000;

fn words(count: u32) -> Vec<u32> {
    (0..count).map(|at| at.wrapping_mul(0x9E37_79B9) ^ 0x5A5A).collect()
}

/// A frame of `words` from the host, begun at tick `from`, which the device takes at `drain`.
fn write(wiring: Wiring, from: u64, words: Vec<u32>, drain: Pace) -> Engine<Talker, Talker> {
    let host = Talker::new().data(from, words);
    Engine::new(wiring, host, Talker::new().drains(drain))
}

/// The same run to its end: every word arrived, and there was room for each.
fn write_all(wiring: Wiring, from: u64, words: &[u32], drain: Pace) -> Engine<Talker, Talker> {
    let mut engine = write(wiring, from, words.to_vec(), drain);
    engine.record();
    finish(&mut engine, LIMIT);
    assert_eq!(engine.device().payloads(), [words], "{wiring:?}");
    assert_eq!(engine.host().outcomes(), [Outcome::Accepted]);
    assert_eq!(engine.counters(Side::Device).overflows, 0, "{wiring:?}");
    engine
}

fn runs_of(runs: &[Run], item: Item) -> usize {
    runs.iter().filter(|run| run.item == item).count()
}

/// Whether any run of `primitive` is going on at `tick`.
fn sends(runs: &[Run], primitive: boardlab_sata::wire::Primitive, tick: u64) -> bool {
    let item = Item::Primitive(primitive);
    runs.iter().any(|run| run.item == item && run.from.0 <= tick && tick < run.until.0)
}

#[test]
fn no_drain_rate_on_a_grid_overflows_the_fifo() {
    for (there, back, room) in [(0, 0, 2), (0, 0, 64), (13, 12, 2), (13, 12, 33), (40, 7, 128)] {
        for ticks in [1, 2, 3, 5, 7, 12] {
            for dwords in 1..=ticks {
                let from = dwords * 37 + ticks;
                write_all(wiring(there, back, room), from, &words(700), Pace::rate(dwords, ticks));
            }
        }
    }
}

#[test]
fn a_device_that_takes_nothing_for_a_while_loses_nothing() {
    for (there, back, room) in [(0, 0, 2), (13, 12, 64), (40, 40, 20)] {
        for after in [0, 1, 50, 300, 690, 699] {
            let drain = Pace::Rate { dwords: 1, ticks: 1, pause: (after, 3_000) };
            let engine = write_all(wiring(there, back, room), 0, &words(700), drain);
            let held = runs_of(&engine.trace().device, Item::Primitive(Hold));
            // At the end of a frame what is left may fit the FIFO.
            assert!(held == 1 || 700 - after <= room, "{held} times at {after}, room {room}");
        }
    }
}

#[test]
fn a_device_that_takes_nothing_any_more_holds_and_does_not_overflow() {
    for latency in [0, 1, 20, 40] {
        let wiring = wiring(latency, latency, 64);
        let mut engine = write(wiring, 0, words(2_048), Pace::Never(10));
        engine.record();
        assert_eq!(engine.run(Tick(1_000_000)), Stop::Limit);
        assert_eq!(engine.counters(Side::Device).overflows, 0);
        let trace = engine.trace();
        assert_eq!(trace.device.last().unwrap().item, Item::Primitive(Hold));
        assert_eq!(trace.host.last().unwrap().item, Item::Primitive(Holda));
        assert_eq!(engine.now(), Tick(1_000_000));
    }
}

#[test]
fn no_random_drain_overflows_the_fifo() {
    let cases = if std::env::var_os("BOARDLAB_FULL").is_some() { 40_000 } else { 2_000 };
    for case in 0..cases {
        let mut stream = Seed::new(case).stream("flow");
        let mut draw = |bound: u64| u32::try_from(stream.below(bound)).unwrap();
        let (there, back, room) = (draw(41), draw(41), 2 + draw(130));
        let mut wiring = wiring(there, back, room);
        wiring.device.hold_to = 1 + draw(room.into());
        wiring.host.holda_after = 1 + draw(20);
        (wiring.host.cont, wiring.device.cont) = (draw(2) == 0, draw(2) == 0);
        let (count, from) = (1 + draw(900), draw(256));
        let to_host = draw(2) == 0;
        let words = random_words(&mut stream, count.try_into().unwrap());
        let paces = [pace(&mut stream, 0), pace(&mut stream, 1)];
        transfer(case, wiring, (from.into(), to_host), &words, paces);
    }
}

fn pace(stream: &mut Stream, own: u64) -> Pace {
    match stream.below(4) {
        0 => Pace::Open,
        1 => {
            let ticks = 1 + stream.below(40);
            let pause = (u32::try_from(stream.below(900)).unwrap(), stream.below(2_000));
            Pace::Rate { dwords: 1 + stream.below(ticks), ticks, pause }
        }
        2 => Pace::Random(Seed::new(stream.next_u64() ^ own).stream("pace"), 4, 6),
        _ => Pace::Random(Seed::new(stream.next_u64() ^ own).stream("pace"), 200, 300),
    }
}

/// A frame either way: `way` is the tick from which on it is sent, and whether it goes to the host.
fn transfer(case: u64, wiring: Wiring, way: (u64, bool), words: &[u32], paces: [Pace; 2]) {
    let [supply, drain] = paces;
    let sender = Talker::new().data(way.0, words.to_vec()).supplies(supply);
    let receiver = Talker::new().drains(drain);
    let (host, device, side) = match way.1 {
        false => (sender, receiver, Side::Device),
        true => (receiver, sender, Side::Host),
    };
    let mut wiring = wiring;
    if way.1 {
        std::mem::swap(&mut wiring.host, &mut wiring.device);
    }
    let mut engine = Engine::new(wiring, host, device);
    assert_eq!(engine.run(Tick(LIMIT)), Stop::Idle, "seed {case}: {wiring:?}");
    assert_eq!(engine.counters(side).overflows, 0, "seed {case}: {wiring:?}");
    let receiver = if way.1 { engine.host() } else { engine.device() };
    assert_eq!(receiver.payloads(), [words], "seed {case}: {wiring:?}");
}

/// The most that the FIFO holds over all lengths of a frame and places of the ALIGNs, if nobody takes.
fn fullest(wiring: Wiring) -> (u32, u64) {
    let (mut fullest, mut overflows) = (0, 0);
    for count in wiring.device.hold_from..wiring.device.fifo + 5 {
        for from in (0..256).step_by(5) {
            let drain = Pace::Rate { dwords: 1, ticks: 1, pause: (0, 2_000) };
            let mut engine = write(wiring, from, words(count), drain);
            finish(&mut engine, LIMIT);
            let counters = engine.counters(Side::Device);
            fullest = fullest.max(counters.fullest);
            overflows += counters.overflows;
            assert_eq!(
                counters.refusals,
                u64::from(counters.overflows > 0),
                "an overflow is found"
            );
        }
    }
    (fullest, overflows)
}

#[test]
fn a_sender_that_takes_its_twenty_dwords_needs_all_of_the_headroom() {
    for (there, back) in [(0, 0), (4, 9), (13, 12)] {
        let mut wiring = wiring(there, back, 10);
        assert_eq!(wiring.device.fifo, 10 + wiring.device.headroom(&wiring.host));
        // The CRC is not kept, but until EOF comes it is in the register behind the FIFO.
        assert_eq!(fullest(wiring), (wiring.device.fifo + 1, 0));
        wiring.device.fifo -= 1;
        let (_, overflows) = fullest(wiring);
        assert!(overflows > 0, "a dword less and something is lost");
    }
}

#[test]
fn an_overflow_is_refused_and_never_passes_for_good() {
    let mut wiring = wiring(13, 12, 40);
    wiring.device.fifo = 45;
    let drain = Pace::Rate { dwords: 1, ticks: 1, pause: (0, 2_000) };
    let mut engine = write(wiring, 0, words(500), drain);
    finish(&mut engine, LIMIT);
    assert!(engine.counters(Side::Device).overflows > 0);
    assert_eq!(engine.host().outcomes(), [Outcome::Refused]);
    assert!(engine.device().payloads().is_empty());
}

#[test]
fn hold_is_kept_while_holda_is_received() {
    let wiring = wiring(6, 6, 32);
    let pause = (100, 5_000);
    let engine = write_all(wiring, 0, &words(600), Pace::Rate { dwords: 1, ticks: 1, pause });
    let trace = engine.trace();
    assert_eq!(runs_of(&trace.device, Item::Primitive(Hold)), 1, "one HOLD, not again and again");
    let hold = trace.device.iter().find(|run| run.item == Item::Primitive(Hold)).unwrap();
    let holda = trace.host.iter().find(|run| run.item == Item::Primitive(Holda)).unwrap();
    assert!(hold.ticks() > 4_000);
    // 20 dwords and the way, and no more than the pair of ALIGNs.
    let answer = holda.from.since(hold.from);
    assert!((6 + 20..=6 + 22).contains(&answer), "{answer}");
    // It ends when HOLD does, and not before.
    assert_eq!(holda.until.since(hold.until), 6 + 1);
}

#[test]
fn hold_hold_data_eof_without_cont_loses_nothing() {
    // The sender runs dry before its last dword for so many ticks. SOF and header take two.
    for dry in 1..6 {
        for cont in [false, true] {
            let mut wiring = wiring(5, 5, 64);
            wiring.host.cont = cont;
            let host = Talker::new().data(0, words(128)).supplies(Pace::Rate {
                dwords: 1,
                ticks: 1,
                pause: (127, 2 + dry),
            });
            let mut engine = Engine::new(wiring, host, Talker::new());
            engine.record();
            finish(&mut engine, LIMIT);
            assert_eq!(engine.device().payloads(), [words(128)], "dry for {dry}");
            let trace = engine.trace();
            let at = trace.host.iter().position(|run| run.item == Item::Primitive(Hold)).unwrap();
            // After CONT one more HOLD ends the filler.
            let ended = u64::from(cont && dry >= 3);
            assert_eq!(trace.host[at].ticks(), dry + ended);
            let items: Vec<_> = trace.host[at + 1..at + 4].iter().map(|run| run.item).collect();
            use boardlab_sata::wire::Primitive::Eof;
            assert_eq!(items, [Item::Data, Item::Crc, Item::Primitive(Eof)]);
            assert_eq!(trace.host[at + 1].ticks(), 1);
        }
    }
}

#[test]
fn hold_as_the_last_event_before_eof_is_harmless() {
    // HOLD is sent around the end of the frame, at every distance from it.
    let mut at_the_end = 0;
    for count in 60..130 {
        let drain = Pace::Rate { dwords: 1, ticks: 1, pause: (5, 600) };
        let engine = write_all(wiring(9, 8, 60), 0, &words(count), drain);
        let trace = engine.trace();
        let eof = trace
            .host
            .iter()
            .find(|run| run.item == Item::Primitive(boardlab_sata::wire::Primitive::Eof))
            .unwrap();
        // Seen by the sender in the tick of its CRC, its EOF, or after it.
        let seen = eof.from.0 - 8;
        at_the_end += usize::from((0..4).any(|late| sends(&trace.device, Hold, seen + late)));
    }
    assert!(at_the_end > 3, "{at_the_end} cases");
}

#[test]
fn both_ends_hold_at_once() {
    let mut both = 0;
    // The device takes nothing for long after dword 40, the host has nothing for a while after each
    // of the dwords that it can still send.
    for dry_at in 50..100 {
        for cont in [false, true] {
            let mut wiring = wiring(7, 11, 16);
            (wiring.host.cont, wiring.device.cont) = (cont, cont);
            let pause = (dry_at, u64::from(dry_at) * 4);
            let host = Talker::new().data(0, words(300)).supplies(Pace::Rate {
                dwords: 1,
                ticks: 1,
                pause,
            });
            let device = Talker::new().drains(Pace::Rate { dwords: 1, ticks: 1, pause: (40, 600) });
            let mut engine = Engine::new(wiring, host, device);
            engine.record();
            finish(&mut engine, LIMIT);
            assert_eq!(engine.device().payloads(), [words(300)], "dry at {dry_at}");
            assert_eq!(engine.counters(Side::Device).overflows, 0, "dry at {dry_at}");
            let trace = engine.trace();
            both += (0..engine.now().0)
                .filter(|&tick| sends(&trace.host, Hold, tick) && sends(&trace.device, Hold, tick))
                .count();
        }
    }
    assert!(both > 1_000, "{both} ticks");
}

#[test]
fn a_sender_without_data_keeps_hold_when_it_is_asked_to_hold() {
    let wiring = wiring(7, 11, 16);
    let host = Talker::new().data(0, words(300)).supplies(Pace::Rate {
        dwords: 1,
        ticks: 1,
        pause: (61, 2_000),
    });
    let device = Talker::new().drains(Pace::Rate { dwords: 1, ticks: 1, pause: (40, 600) });
    let mut engine = Engine::new(wiring, host, device);
    engine.record();
    finish(&mut engine, LIMIT);
    let trace = engine.trace();
    let hold = trace.host.iter().find(|run| run.item == Item::Primitive(Hold)).unwrap();
    // Through the device's HOLD and its end, until there are data.
    assert!(hold.ticks() > 1_900);
    assert!(sends(&trace.device, Hold, hold.from.0 + 100));
    assert_eq!(runs_of(&trace.host, Item::Primitive(Holda)), 0);
}

#[test]
fn a_sender_that_has_data_again_answers_a_hold_that_goes_on() {
    let wiring = wiring(7, 11, 16);
    let host = Talker::new().data(0, words(300)).supplies(Pace::Rate {
        dwords: 1,
        ticks: 1,
        pause: (61, 300),
    });
    let device = Talker::new().drains(Pace::Rate { dwords: 1, ticks: 1, pause: (40, 900) });
    let mut engine = Engine::new(wiring, host, device);
    engine.record();
    finish(&mut engine, LIMIT);
    assert_eq!(engine.device().payloads(), [words(300)]);
    let trace = engine.trace();
    let hold = trace.host.iter().position(|run| run.item == Item::Primitive(Hold)).unwrap();
    assert_eq!(trace.host[hold + 1].item, Item::Primitive(Holda), "no data in between");
}
