//! The host on a real link: the same jobs over both engines, with every kind of damage to every frame.

use crate::drive;

use crate::drive::wiring;
use crate::toy::Toy;
use boardlab_sata::device::{Ssd, WriteCache};
use boardlab_sata::host::{
    Addressing, Build, Costs, Data, Direction, Failure, Host, Job, Limits, Pattern, Report,
    Settings, Transfer,
};
use boardlab_sata::link::{Effect, Engine, Fault, Part, Place, Side};
use boardlab_sata::wire::Primitive;
use boardlab_sata::wire::identify::Identify;
use boardlab_sata::{Agent, Speed, Stop, Tick, fast};
use boardlab_sim::Duration;

fn host() -> Host {
    let limits = Limits { timeout: Duration::from_millis(1), reissues: 3, resets: 2 };
    Host::new(Speed::Gen2, Settings { build: Build::Firmware, costs: Costs::default(), limits })
}

fn jobs(addressing: Addressing) -> [Job; 4] {
    let words: Vec<u32> = (0..33 * 128_u32).map(|n| n.wrapping_mul(0x9E37_79B9)).collect();
    let job = |direction, data: &Data| {
        let mut transfer = Transfer::looped(direction, 5, 17, 2).with_addressing(addressing);
        transfer.sectors = 33;
        Job::Transfer(transfer.with_data(data.clone()))
    };
    let data = Data::Words(words);
    [Job::Identify, job(Direction::Write, &data), job(Direction::Read, &data), Job::Flush]
}

fn run<D: Agent>(
    addressing: Addressing,
    faults: &[Fault],
    drive: D,
) -> (Vec<Report>, Engine<Host, D>) {
    let mut engine = Engine::new(wiring(), host(), drive);
    jobs(addressing).into_iter().for_each(|job| engine.host_mut().push(job));
    faults.iter().for_each(|&fault| engine.inject(fault));
    // A hundred times what the jobs take, resets and timeouts included.
    engine.run(Tick(40_000_000));
    assert!(
        engine.host().is_done(),
        "{addressing:?} {faults:?}: the host hangs: {:?}",
        engine.host()
    );
    let reports = engine.host_mut().take_reports();
    (reports, engine)
}

fn toy() -> Toy {
    Toy::new(1_000)
}

fn ssd() -> Ssd<drive::Layer> {
    let storage = drive::storage(12, WriteCache::Through);
    Ssd::new(Speed::Gen2, storage, Identify::new("SSD", 1, Speed::Gen2)).unwrap()
}

const ALL: [Addressing; 3] = [Addressing::Lba28, Addressing::Lba48, Addressing::Queued(2)];

#[test]
fn jobs_run_over_the_dword_engine() {
    for addressing in ALL {
        let (reports, engine) = run(addressing, &[], toy());
        for report in &reports {
            assert_eq!(report.outcome, Ok(()), "{addressing:?}");
            assert_eq!((report.reissues, report.resets, report.damaged), (0, 0, 0));
        }
        assert_eq!((reports.len(), reports[2].sectors), (4, 33));
        assert_eq!(engine.device().word(5 + 32, 127), (33 * 128 - 1_u32).wrapping_mul(0x9E37_79B9));
        assert_eq!(reports[2].mismatches, 0);
    }
}

/// What is done to frames.
const DAMAGES: [(Part, Effect); 12] = [
    (Part::Dword(0), Effect::Flip(3)),
    (Part::Dword(1), Effect::Flip(31)),
    (Part::Crc, Effect::Flip(0)),
    (Part::Sof, Effect::Lost),
    (Part::Sof, Effect::Type(0x27)),
    (Part::Sof, Effect::Type(0x99)),
    (Part::Eof, Effect::Lost),
    (Part::Eof, Effect::Primitive(Primitive::Sync)),
    (Part::Dword(0), Effect::Primitive(Primitive::Sync)),
    (Part::Dword(0), Effect::Primitive(Primitive::XRdy)),
    (Part::Crc, Effect::Invalid),
    (Part::Dword(0), Effect::SyncEscape),
];

/// Every one of them to every frame of the jobs.
fn all_faults<D: Agent>(addressing: Addressing, drive: D) -> impl Iterator<Item = Fault> {
    let (_, engine) = run(addressing, &[], drive);
    let frames = [Side::Host, Side::Device]
        .map(|from| (0..engine.counters(from).frames).map(move |number| (from, number)));
    frames.into_iter().flatten().flat_map(|(from, number)| {
        DAMAGES.map(|(part, effect)| Fault { from, place: Place::Frame(number, part), effect })
    })
}

/// Jobs over a link with one fault after the other; all succeed, and what was read is what was written.
fn survive<D: Agent>(drive: impl Fn() -> D) -> [u64; 3] {
    let mut seen = [0; 3];
    for addressing in ALL {
        for fault in all_faults(addressing, drive()) {
            let (reports, _) = run(addressing, &[fault], drive());
            for report in &reports {
                assert_eq!(report.outcome, Ok(()), "{addressing:?} {fault:?} {report:?}");
                seen[0] += report.reissues;
                seen[1] += report.errors;
                seen[2] += report.resets;
            }
        }
    }
    seen
}

#[test]
fn no_damage_to_a_frame_passes_as_data_or_hangs_the_host() {
    for [reissues, errors, resets] in [survive(toy), survive(ssd)] {
        assert!(reissues > 0 && errors > 0 && resets > 0, "{reissues} {errors} {resets}");
    }
}

#[test]
fn both_engines_give_the_same_reports() {
    for addressing in ALL {
        let (expected, slow) = run(addressing, &[], toy());
        let mut fast = fast::Engine::new(wiring(), host(), Toy::new(1_000));
        jobs(addressing).into_iter().for_each(|job| fast.host_mut().push(job));
        assert_eq!(fast.run(Tick::NEVER), Stop::Idle);
        assert_eq!(fast.host().reports(), expected, "{addressing:?}");
        assert_eq!(fast.device().sectors, slow.device().sectors);
    }
}

#[test]
fn patterns_are_the_same_words_on_the_link() {
    for pattern in [Pattern::Increment, Pattern::Decrement] {
        let mut engine = Engine::new(wiring(), host(), Toy::new(1_000));
        for direction in [Direction::Write, Direction::Read] {
            let transfer = Transfer::looped(direction, 9, 40, 3);
            engine.host_mut().push(Job::Transfer(transfer.with_data(Data::Pattern(pattern))));
        }
        engine.run(Tick::NEVER);
        assert!(engine.host().reports().iter().all(|report| report.outcome == Ok(())));
        assert_eq!(engine.device().word(100, 99), pattern.at(100).word(99));
    }
}

#[test]
fn a_drive_that_stays_without_power_fails_the_job() {
    let mut engine = Engine::new(wiring(), host(), ssd());
    engine.run(Tick(50_000));
    engine.cut_device();
    jobs(Addressing::Lba48).into_iter().for_each(|job| engine.host_mut().push(job));
    assert_eq!(engine.run(Tick::NEVER), Stop::Idle);
    let reports = engine.host_mut().take_reports();
    assert_eq!(reports.len(), 4);
    for report in &reports {
        let Err(Failure::Timeout { resets: 2, .. }) = report.outcome else { panic!("{report:?}") };
    }
    engine.restore_device();
    jobs(Addressing::Lba48).into_iter().for_each(|job| engine.host_mut().push(job));
    engine.run(Tick::NEVER);
    let reports = engine.host_mut().take_reports();
    assert!(reports.iter().all(|report| report.outcome == Ok(())), "{reports:?}");
}

#[test]
fn a_drive_that_loses_its_power_in_a_job_and_gets_it_back_finishes_the_job() {
    // The host bears two timeouts of 75,000 ticks.
    for away in [1, 60_000, 140_000] {
        let mut engine = Engine::new(wiring(), host(), ssd());
        jobs(Addressing::Queued(2)).into_iter().for_each(|job| engine.host_mut().push(job));
        engine.run(Tick(4_000));
        engine.cut_device();
        engine.device_mut().cut_power(Tick(4_000));
        engine.run(Tick(4_000 + away));
        engine.restore_device();
        engine.run(Tick::NEVER);
        let reports = engine.host_mut().take_reports();
        assert!(reports.iter().all(|report| report.outcome == Ok(())), "{away}: {reports:?}");
    }
}
