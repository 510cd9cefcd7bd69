//! The dword engine: frames, their ticks, hand-over of the link.

use crate::link_rig::{Event, Pace, Talker, command, finish, status, wiring};
use boardlab_sata::link::{Engine, Item, Run, Side, Stop, Wiring};
use boardlab_sata::wire::{Primitive, align};
use boardlab_sata::{LARGEST_DATA, Outcome, Speed, Tick};

#[test]
fn a_fis_takes_three_round_trips() {
    for (there, back) in [(0, 0), (3, 5), (13, 12)] {
        let mut engine =
            Engine::new(wiring(there, back, 64), Talker::new().fis(0, command()), Talker::new());
        engine.record();
        finish(&mut engine, 10_000);
        let trip = u64::from(there + back);
        // Asked at tick 0. X_RDY, R_RDY, then SOF, five dwords, CRC and EOF.
        let sof = 1 + trip + 2;
        let eof = sof + 7;
        assert_eq!(engine.device().log, [(Tick(eof + u64::from(there)), Event::Fis(command()))]);
        // R_OK a tick later.
        let answered = eof + trip + 1;
        assert_eq!(engine.host().log, [(Tick(answered), Event::Sent(Outcome::Accepted))]);
        // SYNC both ways: with it the link is free again.
        assert_eq!(engine.now(), Tick(answered + 1 + trip + 1 + 1));
        let host: Vec<_> = engine.trace().host.iter().map(|run| (run.from.0, run.item)).collect();
        use Primitive::{Eof, Sof, Sync, Wtrm, XRdy};
        assert_eq!(
            host,
            [
                (0, Item::Primitive(Sync)),
                (1, Item::Primitive(XRdy)),
                (sof, Item::Primitive(Sof)),
                (sof + 1, Item::Fis(command())),
                (sof + 6, Item::Crc),
                (eof, Item::Primitive(Eof)),
                (eof + 1, Item::Primitive(Wtrm)),
                (answered + 1, Item::Primitive(Sync)),
            ]
        );
    }
}

fn words(count: u32) -> Vec<u32> {
    (0..count).map(|at| at.wrapping_mul(0x9E37_79B9)).collect()
}

/// A device that sends `frames` Data FISes of the largest size one after the other.
fn reads(wiring: Wiring, frames: usize) -> Engine<Talker, Talker> {
    let device = (0..frames).fold(Talker::new(), |device, _| device.data(0, words(LARGEST_DATA)));
    Engine::new(wiring, Talker::new(), device)
}

#[test]
fn two_of_each_256_dwords_are_aligns_whatever_goes_on() {
    for cont in [false, true] {
        let mut wiring = wiring(13, 12, 64);
        (wiring.host.cont, wiring.device.cont) = (cont, cont);
        let mut engine = reads(wiring, 100);
        // Data, HOLD and waiting: the host takes half of what could come.
        engine.host_mut().drain = Pace::rate(1, 2);
        assert_eq!(engine.run(Tick(256 * 1_000)), Stop::Limit);
        for side in [Side::Host, Side::Device] {
            let traffic = engine.traffic(side);
            let others = traffic.primitives + traffic.fillers + traffic.data;
            assert_eq!((traffic.aligns, others), (2 * 1_000, 254 * 1_000), "{side}");
            assert_eq!(traffic.fillers > 0, cont);
        }
    }
}

#[test]
fn aligns_do_not_count_in_the_twenty_dwords_of_hold() {
    for from in 0..256 {
        let host = Talker::new().data(from, words(200));
        let device = Talker::new().drains(Pace::Rate { dwords: 1, ticks: 1, pause: (0, 900) });
        let wiring = wiring(3, 4, 50);
        let mut engine = Engine::new(wiring, host, device);
        engine.record();
        finish(&mut engine, 10_000);
        let trace = engine.trace();
        let first = |runs: &[Run], primitive| {
            runs.iter().find(|run| run.item == Item::Primitive(primitive)).unwrap().from
        };
        let heard = first(&trace.device, Primitive::Hold).after(wiring.device.latency.into());
        let answered = first(&trace.host, Primitive::Holda);
        // From the dword after the one in which HOLD came: nineteen more of data, then HOLDA.
        let dwords = align::slots_before(answered) - align::slots_before(heard.after(1));
        assert_eq!(dwords, 19, "begun at {from}");
    }
}

#[test]
fn a_speed_doubles_the_rate_and_changes_no_tick() {
    let run = |speed| {
        let mut engine = reads(Wiring { speed, ..wiring(13, 12, 64) }, 20);
        finish(&mut engine, 1_000_000);
        (engine.now(), speed.time_of(engine.now().0 * 3))
    };
    let [slow, middle, fast] = Speed::ALL.map(run);
    assert_eq!((slow.0, middle.0), (middle.0, fast.0));
    // Three ticks are whole nanoseconds at every speed.
    assert_eq!(slow.1, middle.1 * 2);
    assert_eq!(middle.1, fast.1 * 2);
}

#[test]
fn frames_follow_one_another_after_three_round_trips() {
    for (there, back) in [(0, 0), (4, 9), (13, 12), (40, 40)] {
        let mut engine = reads(wiring(there, back, 64), 30);
        finish(&mut engine, 1_000_000);
        let ends = engine.host().log.iter().filter(|(_, event)| matches!(event, Event::Data(..)));
        let slots: Vec<_> = ends.map(|(tick, _)| align::slots_before(*tick)).collect();
        assert_eq!(slots.len(), 30);
        // SOF, header, payload, CRC, EOF, and six ways of one dword each, answered a tick later.
        let dwords = u64::from(2_048 + 4 + 3 * (there + back)) + 5;
        let mean = (slots[29] - slots[0]) / 29;
        // ALIGNs that go while nothing but latency passes cost no dword.
        assert!((dwords - 3..=dwords).contains(&mean), "{mean} against {dwords}");
    }
}

#[test]
fn cont_changes_no_tick_without_hold() {
    let run = |cont| {
        let mut wiring = wiring(13, 12, 64);
        (wiring.host.cont, wiring.device.cont) = (cont, cont);
        let mut engine = reads(wiring, 10);
        engine.record();
        finish(&mut engine, 1_000_000);
        (engine.trace(), engine.host().log.clone(), engine.traffic(Side::Host).fillers > 0)
    };
    let (with, without) = (run(true), run(false));
    assert!(with.0 == without.0 && with.1 == without.1);
    assert!(with.2 && !without.2);
}

#[test]
fn a_trace_has_no_gap_and_tells_a_whole_command() {
    let host = Talker::new().fis(0, command()).data(0, words(60));
    let mut engine = Engine::new(wiring(5, 5, 64), host, Talker::new().fis(900, status()));
    engine.record();
    finish(&mut engine, 10_000);
    let trace = engine.trace();
    for runs in [&trace.host, &trace.device] {
        assert_eq!((runs[0].from, runs.last().unwrap().until), (Tick::ZERO, engine.now()));
        assert!(runs.windows(2).all(|pair| pair[0].until == pair[1].from));
        assert!(runs.windows(2).all(|pair| pair[0].item != pair[1].item));
    }
    let items = |runs: &[Run]| runs.iter().map(|run| run.item.to_string()).collect::<Vec<_>>();
    let frame = ["X_RDY", "SOF", "Data", "payload", "CRC", "EOF", "WTRM", "SYNC"];
    assert_eq!(items(&trace.host)[8..16], frame);
    let device = items(&trace.device);
    let status = status().to_string();
    let last = ["X_RDY", "SOF", &status, "CRC", "EOF", "WTRM", "SYNC"];
    assert_eq!(device[device.len() - 7..], last);
}
