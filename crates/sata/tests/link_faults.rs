//! Single faults of a link: the effect of each on a frame, and the recovery of both ends.

use crate::link_rig::{Event, Pace, Talker, activate, command, finish, status, wiring};
use boardlab_sata::link::{
    Counters, Effect, Engine, Fault, Item, Part, Place, RESET, RETRIES, Side, State, Stop, Wiring,
};
use boardlab_sata::wire::Primitive;
use boardlab_sata::wire::fis::{Bist, DmaSetup, Kind, PioSetup, SetDeviceBits};
use boardlab_sata::{Fis, LARGEST_DATA, Outcome, Tick};

type Link = Engine<Talker, Talker>;

fn link() -> Wiring {
    wiring(6, 9, 40)
}

fn words(count: u32) -> Vec<u32> {
    (0..count).map(|at| at.wrapping_mul(0x9E37_79B9) ^ 0xA5).collect()
}

/// The host sends `fis` over a link with `faults`.
fn send(fis: Fis, faults: &[Fault]) -> Link {
    run(Talker::new().fis(0, fis), faults)
}

fn run(host: Talker, faults: &[Fault]) -> Link {
    let mut engine = Engine::new(link(), host, Talker::new());
    engine.record();
    faults.iter().for_each(|&fault| engine.inject(fault));
    finish(&mut engine, 100_000);
    engine
}

/// A fault at a part of the host's frame `number`.
fn at(number: u64, part: Part, effect: Effect) -> Fault {
    Fault { from: Side::Host, place: Place::Frame(number, part), effect }
}

fn every_fis() -> [Fis; 7] {
    [
        command(),
        status(),
        activate(),
        Fis::DmaSetup(DmaSetup { buffer: 5, count: 4_096, ..DmaSetup::default() }),
        Fis::Bist(Bist { pattern: 0x10, data: [1, 2], ..Bist::default() }),
        Fis::PioSetup(PioSetup { transfer: 512, ..PioSetup::default() }),
        Fis::SetDeviceBits(SetDeviceBits { active: 3, ..SetDeviceBits::default() }),
    ]
}

fn refused(engine: &Link) -> u64 {
    engine.counters(Side::Device).refusals
}

#[test]
fn a_fis_with_a_bad_crc_is_refused_and_sent_again() {
    for fis in every_fis() {
        let words = (0..fis.dwords()).map(Part::Dword);
        for part in words.chain([Part::Crc]) {
            for bit in [0, 7, 31] {
                let engine = send(fis, &[at(0, part, Effect::Flip(bit))]);
                assert_eq!(engine.device().events(), [Event::Fis(fis)], "{part:?}");
                assert_eq!(engine.host().outcomes(), [Outcome::Accepted]);
                assert_eq!((refused(&engine), engine.counters(Side::Host).retries), (1, 1));
            }
        }
    }
}

#[test]
fn a_data_fis_with_a_bad_crc_is_refused_and_not_sent_again() {
    for part in [Part::Dword(1), Part::Dword(70), Part::Dword(100), Part::Crc] {
        let host = Talker::new().data(0, words(100));
        let engine = run(host, &[at(0, part, Effect::Flip(3))]);
        assert_eq!(engine.host().outcomes(), [Outcome::Refused]);
        assert_eq!(engine.counters(Side::Host), &Counters { frames: 1, ..Counters::default() });
        assert_eq!(engine.device().log.len(), 2, "it began and was bad");
        assert!(matches!(&engine.device().log[1].1, Event::Data(_, false)));
    }
}

#[test]
fn retries_have_an_end() {
    let damage = |times: u8| -> Link {
        let numbers = 0..u64::from(times);
        let faults: Vec<_> = numbers.map(|n| at(n, Part::Crc, Effect::Flip(0))).collect();
        send(command(), &faults)
    };
    let engine = damage(RETRIES);
    assert_eq!(engine.host().outcomes(), [Outcome::Accepted]);
    let engine = damage(RETRIES + 1);
    assert_eq!(engine.host().outcomes(), [Outcome::Refused]);
    assert_eq!(engine.counters(Side::Host).frames, u64::from(RETRIES) + 1);
    assert!(engine.device().log.is_empty());
}

#[test]
fn a_lost_sof_ends_in_an_escape() {
    let lost = at(0, Part::Sof, Effect::Lost);
    let engine = run(Talker::new().data(0, words(50)), &[lost]);
    assert_eq!(engine.host().outcomes(), [Outcome::Escaped]);
    assert!(engine.device().log.is_empty(), "no frame has begun");
    // What may be sent again is.
    let engine = send(command(), &[lost]);
    assert_eq!(engine.host().outcomes(), [Outcome::Accepted]);
    assert_eq!(engine.device().events(), [Event::Fis(command())]);
}

#[test]
fn a_lost_eof_is_noticed_at_wtrm() {
    let engine = run(Talker::new().data(0, words(50)), &[at(0, Part::Eof, Effect::Lost)]);
    assert_eq!(engine.host().outcomes(), [Outcome::Refused]);
    assert!(engine.device().payloads().is_empty());
    let engine = send(command(), &[at(0, Part::Eof, Effect::Lost)]);
    assert_eq!(engine.device().events(), [Event::Fis(command())], "once, from the retry");
}

#[test]
fn a_lost_dword_is_noticed_by_the_crc() {
    for part in [Part::Dword(0), Part::Dword(20), Part::Dword(50), Part::Crc] {
        let engine = run(Talker::new().data(0, words(50)), &[at(0, part, Effect::Lost)]);
        assert_eq!(engine.host().outcomes(), [Outcome::Refused], "{part:?}");
        assert!(engine.device().payloads().is_empty());
    }
}

#[test]
fn sync_in_mid_frame_gives_the_frame_up() {
    let sync = Effect::Primitive(Primitive::Sync);
    for part in [Part::Dword(0), Part::Dword(20), Part::Crc, Part::Eof] {
        let engine = run(Talker::new().data(0, words(50)), &[at(0, part, sync)]);
        // The receiver falls idle, and its SYNC tells the sender.
        assert_eq!(engine.host().outcomes(), [Outcome::Escaped], "{part:?}");
        assert!(engine.device().payloads().is_empty());
    }
}

#[test]
fn either_end_can_escape() {
    for from in [Side::Host, Side::Device] {
        let fault = Fault { from, place: Place::Tick(Tick(60)), effect: Effect::SyncEscape };
        let engine = run(Talker::new().data(0, words(200)), &[fault]);
        assert_eq!(engine.host().outcomes(), [Outcome::Escaped], "{from}");
        assert!(matches!(engine.device().log.last().unwrap().1, Event::Data(_, false)));
        assert_eq!(
            (engine.state(Side::Host), engine.state(Side::Device)),
            (State::Idle, State::Idle)
        );
    }
}

#[test]
fn an_unknown_fis_is_refused_although_its_crc_is_right() {
    let known = Kind::ALL.map(Kind::code);
    for code in (0..=255).filter(|code| !known.contains(code)) {
        let faults = [0, 1, 2, 3].map(|number| at(number, Part::Sof, Effect::Type(code)));
        let engine = send(command(), &faults);
        assert_eq!(engine.host().outcomes(), [Outcome::Refused], "{code:02x}h");
        assert!(engine.device().log.is_empty());
    }
}

#[test]
fn a_fis_of_a_wrong_length_is_refused() {
    for (fis, code) in [(command(), 0x39), (activate(), 0x27), (status(), 0x41)] {
        let faults = [0, 1, 2, 3].map(|number| at(number, Part::Sof, Effect::Type(code)));
        let engine = send(fis, &faults);
        assert_eq!(engine.host().outcomes(), [Outcome::Refused]);
        assert!(engine.device().log.is_empty());
    }
}

#[test]
fn a_frame_that_is_too_long_is_asked_to_end_and_refused() {
    let engine = run(Talker::new().data(0, words(LARGEST_DATA + 500)), &[]);
    assert_eq!(engine.host().outcomes(), [Outcome::Refused]);
    assert!(engine.device().payloads().is_empty());
    let trace = engine.trace();
    let asked =
        trace.device.iter().find(|run| run.item == Item::Primitive(Primitive::Dmat)).unwrap();
    let crc = trace.host.iter().find(|run| run.item == Item::Crc).unwrap();
    assert_eq!(crc.from, asked.from.after(u64::from(link().device.latency) + 1));
    // The longest that is allowed is.
    let engine = run(Talker::new().data(0, words(LARGEST_DATA)), &[]);
    assert_eq!(engine.device().payloads(), [words(LARGEST_DATA)]);
}

#[test]
fn dmat_ends_a_data_fis_early_and_its_sender_knows() {
    let effect = Effect::Primitive(Primitive::Dmat);
    let fault = Fault { from: Side::Device, place: Place::Tick(Tick(80)), effect };
    let engine = run(Talker::new().data(0, words(200)), &[fault]);
    assert_eq!(engine.host().outcomes(), [Outcome::Escaped]);
    let came = engine.device().payloads();
    // The frame is sound, and shorter than it was to be.
    assert_eq!(came[0], words(200)[..came[0].len()]);
    assert!(came[0].len() < 100);
}

#[test]
fn wrong_primitives_do_no_harm() {
    for wrong in Primitive::ALL {
        for part in [Part::Sof, Part::Dword(2), Part::Crc, Part::Eof] {
            let engine = send(command(), &[at(0, part, Effect::Primitive(wrong))]);
            assert_eq!(engine.host().outcomes(), [Outcome::Accepted], "{wrong} at {part:?}");
            assert_eq!(engine.device().events(), [Event::Fis(command())]);
        }
    }
}

#[test]
fn a_host_yields_to_a_device() {
    for later in 0..30 {
        let host = Talker::new().fis(100, command());
        let device = Talker::new().fis(100 + later, status());
        let mut engine = Engine::new(link(), host, device);
        finish(&mut engine, 10_000);
        assert_eq!(engine.host().outcomes(), [Outcome::Accepted]);
        assert_eq!(engine.device().outcomes(), [Outcome::Accepted]);
        let (host, device) = (engine.host().events(), engine.device().events());
        // X_RDY of the host takes six ticks; until then the device may begin.
        let yields = later <= 6;
        assert_eq!(
            engine.counters(Side::Host).collisions,
            u64::from(yields),
            "{later} ticks later"
        );
        assert_eq!(host[0] == Event::Fis(status()), yields);
        assert_eq!(device[0] == Event::Fis(command()), !yields);
    }
}

#[test]
fn a_frame_that_hangs_is_given_up_by_a_reset() {
    let mut host = Talker::new().data(0, words(500));
    host.patience = Tick(50_000);
    let device = Talker::new().drains(Pace::Never(30)).fis(40, status());
    let mut engine = Engine::new(link(), host, device);
    engine.run(Tick(60_000));
    assert_eq!(engine.resets(), 1);
    // Its wake has long passed, because it sends: so it is asked with the next pair of ALIGNs.
    let up = (50_000 | 255) + link().speed.ticks_in(RESET);
    engine.device_mut().drain = Pace::Open;
    finish(&mut engine, 100_000);
    let (host, device) = (&engine.host().log, &engine.device().log);
    assert_eq!(host[0], (Tick(up), Event::Reset));
    assert_eq!(device[..2], [(Tick(25), Event::Begin), (Tick(up), Event::Reset)]);
    // Nothing was said of the frame that hung; both send what they had, the device first.
    assert_eq!(engine.host().events()[1..], [Event::Fis(status()), Event::Sent(Outcome::Accepted)]);
    assert_eq!(engine.device().payloads(), [words(500)]);
}

#[test]
fn a_device_without_power_is_silent_until_it_has_it_again() {
    let mut engine = Engine::new(link(), Talker::new().data(0, words(500)), Talker::new());
    engine.record();
    assert_eq!(engine.run(Tick(100)), Stop::Limit);
    engine.cut_device();
    assert_eq!(engine.run(Tick(1_000_000)), Stop::Limit);
    assert_eq!(engine.trace().device.last().unwrap().item, Item::Nothing);
    assert_eq!((engine.host().log.len(), engine.device().log.len()), (0, 1));
    engine.restore_device();
    finish(&mut engine, 100_000);
    let up = Tick(1_000_000).after(link().speed.ticks_in(RESET));
    assert_eq!(engine.host().log[0], (up, Event::Reset));
    assert_eq!(engine.device().log[1], (up, Event::Reset));
    assert_eq!(engine.device().payloads(), [words(500)]);
}

#[test]
fn an_agent_that_refuses_a_frame_makes_it_refused() {
    let mut device = Talker::new();
    device.refuses = true;
    let mut engine = Engine::new(link(), Talker::new().data(0, words(10)), device);
    finish(&mut engine, 10_000);
    assert_eq!(engine.host().outcomes(), [Outcome::Refused]);
    assert_eq!(engine.counters(Side::Device).refusals, 1);
}

#[test]
fn filler_whose_cont_was_lost_does_not_shut_a_free_end_off() {
    // The device says SYNC, SYNC, CONT, and filler from then on.
    for (tick, effect) in
        [(2, Effect::Lost), (50, Effect::Primitive(Primitive::XRdy)), (2, Effect::Data(5))]
    {
        let mut wiring = link();
        wiring.device.cont = true;
        let mut engine = Engine::new(wiring, Talker::new().fis(100, command()), Talker::new());
        engine.inject(Fault { from: Side::Device, place: Place::Tick(Tick(tick)), effect });
        finish(&mut engine, 10_000);
        // As without the fault: X_RDY a tick later, two ways and their answer, SOF, seven dwords, a way.
        let received = 100 + 1 + 15 + 2 + 7 + 6;
        assert_eq!(engine.device().log, [(Tick(received), Event::Fis(command()))], "{effect:?}");
        assert_eq!(engine.resets(), 0);
    }
}

#[test]
fn what_was_to_be_sent_again_is_forgotten_with_the_link() {
    let mut engine = Engine::new(link(), Talker::new().fis(0, command()), Talker::new());
    engine.inject(at(0, Part::Crc, Effect::Flip(1)));
    while engine.counters(Side::Host).retries == 0 {
        engine.run(engine.now().after(1));
    }
    engine.cut_device();
    engine.host_mut().posts.clear();
    engine.restore_device();
    finish(&mut engine, 100_000);
    assert_eq!(engine.device().events(), [Event::Reset]);
    assert_eq!(engine.host().events(), [Event::Reset]);
}
