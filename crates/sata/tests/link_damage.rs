//! A faulty link under a protocol: it never hangs and never delivers wrong words.
//!
//! `BOARDLAB_FULL=1` runs 100,000 random cases.

use crate::link_rig;

use crate::link_store::{Client, Operation, Store, is_done, is_sound, operations, outcome};
use boardlab_sata::link::{Effect, Engine, Fault, Part, Place, Side, Wiring};
use boardlab_sata::wire::Primitive;
use boardlab_sata::{Speed, Tick};
use boardlab_sim::{Seed, Stream};
use std::collections::VecDeque;

/// More than any number of faults here can use up.
const LIMIT: u64 = 20_000_000;

fn pick<T: Copy>(stream: &mut Stream, from: &[T]) -> T {
    from[usize::try_from(stream.below(from.len() as u64)).unwrap()]
}

fn random_what(stream: &mut Stream) -> Effect {
    match stream.below(8) {
        0 | 1 => Effect::Flip(u8::try_from(stream.below(32)).unwrap()),
        2 | 3 => Effect::Primitive(pick(stream, &Primitive::ALL)),
        4 => Effect::Data(u32::try_from(stream.next_u64() >> 32).unwrap()),
        5 => pick(stream, &[Effect::Invalid, Effect::Lost]),
        6 => Effect::Type(pick(
            stream,
            &[0x27, 0x34, 0x39, 0x41, 0x46, 0x58, 0x5F, 0xA1, 0x00, 0xEE],
        )),
        _ => Effect::SyncEscape,
    }
}

fn random_place(stream: &mut Stream, effect: Effect, longest: u64) -> Place {
    let number = stream.below(14);
    match (effect, stream.below(3)) {
        (Effect::Type(_), _) => Place::Frame(number, Part::Sof),
        (_, 0) => {
            let word = Part::Dword(u32::try_from(stream.below(50)).unwrap());
            Place::Frame(number, pick(stream, &[Part::Sof, Part::Crc, Part::Eof, word]))
        }
        _ => Place::Tick(Tick(stream.below(longest))),
    }
}

fn random_wiring(stream: &mut Stream) -> Wiring {
    let mut draw = |bound: u64| u32::try_from(stream.below(bound)).unwrap();
    let (there, back, room) = (draw(21), draw(21), 2 + draw(30));
    let mut wiring = link_rig::wiring(there, back, room);
    for end in [&mut wiring.host, &mut wiring.device] {
        end.cont = draw(2) == 0;
        end.holda_after = 1 + draw(20);
        // Sometimes a core that forgets the way of its HOLD: its overflows must be found.
        end.fifo -= if draw(10) == 0 { draw(end.fifo.into()) } else { 0 };
    }
    wiring.speed = pick(stream, &Speed::ALL);
    wiring
}

/// One case; whether a fault made an attempt fail.
fn survive(case: u64) -> bool {
    let seed = Seed::new(case);
    let mut stream = seed.stream("link damage");
    let operations = operations(&mut stream, 6);
    let expected = outcome(&operations);
    let client = Client::new(operations, seed.stream("host's gates"));
    let store = Store::new(seed.stream("device's gates"));
    let wiring = random_wiring(&mut stream);
    let mut engine = Engine::new(wiring, client, store);
    let (count, longest) = pick(&mut stream, &[(1, 2_000), (3, 6_000), (8, 10_000), (30, 40_000)]);
    for _ in 0..count {
        let effect = random_what(&mut stream);
        let from = pick(&mut stream, &[Side::Host, Side::Device]);
        engine.inject(Fault { from, place: random_place(&mut stream, effect, longest), effect });
    }
    if stream.chance(1, 5) {
        cut_power(&mut engine, stream.below(8_000), stream.below(60_000));
    }
    engine.run(Tick(LIMIT));
    assert!(is_done(&engine), "seed {case}: it hangs");
    assert!(is_sound(&engine, &expected), "seed {case}: wrong words");
    engine.host().failures > 0
}

fn cut_power(engine: &mut Engine<Client, Store>, at: u64, gone_for: u64) {
    engine.run(Tick(at));
    engine.cut_device();
    engine.device_mut().forget();
    engine.run(engine.now().after(gone_for));
    engine.restore_device();
}

#[test]
fn random_faults_and_power_cuts_neither_hang_nor_corrupt() {
    let cases = if std::env::var_os("BOARDLAB_FULL").is_some() { 100_000 } else { 4_000 };
    let failed = (0..cases).filter(|&case| survive(case)).count();
    let share = failed * 100 / usize::try_from(cases).unwrap();
    assert!((30..100).contains(&share), "{share} % of the cases met a failure");
}

fn one_write_and_one_read() -> VecDeque<Operation> {
    let words: Vec<u32> = (0..60_u32).map(|at| at.wrapping_mul(0x9E37_79B9)).collect();
    let operation = |is_write| Operation { is_write, first: 7, words: words.clone() };
    VecDeque::from([operation(true), operation(false)])
}

#[test]
fn any_one_fault_at_any_tick_is_survived() {
    let engine = |cont: bool| {
        let mut wiring = link_rig::wiring(2, 3, 6);
        (wiring.host.cont, wiring.device.cont) = (cont, cont);
        let client = Client::new(one_write_and_one_read(), Seed::new(1).stream("host"));
        Engine::new(wiring, client, Store::new(Seed::new(2).stream("device")))
    };
    let expected = outcome(&one_write_and_one_read());
    let mut effects: Vec<_> = Primitive::ALL.into_iter().map(Effect::Primitive).collect();
    effects.extend([
        Effect::Flip(9),
        Effect::Data(0x27),
        Effect::Invalid,
        Effect::Lost,
        Effect::SyncEscape,
    ]);
    let mut failures = 0;
    for cont in [false, true] {
        let mut whole = engine(cont);
        link_rig::finish(&mut whole, LIMIT);
        let ticks = whole.now().0;
        for (at, from) in (0..ticks).flat_map(|at| [(at, Side::Host), (at, Side::Device)]) {
            for &effect in &effects {
                let mut engine = engine(cont);
                let fault = Fault { from, place: Place::Tick(Tick(at)), effect };
                engine.inject(fault);
                engine.run(Tick(LIMIT));
                assert!(is_done(&engine), "{fault:?} hangs");
                assert!(is_sound(&engine, &expected), "{fault:?} corrupts");
                failures += engine.host().failures;
            }
        }
    }
    assert!(failures > 1_000, "{failures}");
}
