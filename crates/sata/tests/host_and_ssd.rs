//! The host and the SSD together, over both engines: builds, patterns, address boundaries, mismatches.

use crate::drive;

use crate::drive::{Layer, micros, wiring};
use Direction::{Read, Write};
use boardlab_ftl::{CellTimes, Geometry, PageMapped, Policies, Stripe, TimedMedium, Timing};
use boardlab_sata::device::{Drive, Ssd, Storage, WriteCache};
use boardlab_sata::host::{
    Addressing, Build, Costs, Data, Direction, Failure, Host, Job, Limits, Mismatch, Pattern,
    Refusal, Report, SectorRange, Settings, Transfer,
};
use boardlab_sata::link::Wiring;
use boardlab_sata::wire::identify::Identify;
use boardlab_sata::{Agent, Speed, Stop, Tick, fast, link};
use boardlab_sim::{Bytes, Duration, Seed};

type Drives = Ssd<Layer>;

/// The common operations of both engines.
trait Engine {
    fn new(wiring: Wiring, host: Host, ssd: Drives) -> Self;
    fn run(&mut self) -> Stop;
    fn host(&mut self) -> &mut Host;
    fn ssd(&self) -> &Drives;
}

macro_rules! engine {
    ($engine:ty) => {
        impl Engine for $engine {
            fn new(wiring: Wiring, host: Host, ssd: Drives) -> Self {
                <$engine>::new(wiring, host, ssd)
            }
            fn run(&mut self) -> Stop {
                self.run(Tick::NEVER)
            }
            fn host(&mut self) -> &mut Host {
                self.host_mut()
            }
            fn ssd(&self) -> &Drives {
                self.device()
            }
        }
    };
}

engine!(link::Engine<Host, Drives>);
engine!(fast::Engine<Host, Drives>);

type Dwords = link::Engine<Host, Drives>;
type Fises = fast::Engine<Host, Drives>;

fn costs() -> Costs {
    Costs {
        setup: micros(30),
        start: micros(1),
        poll: micros(2),
        update_read: micros(3),
        update_write: micros(16),
    }
}

fn host(build: Build) -> Host {
    let limits = Limits { timeout: Duration::from_secs(1), ..Limits::default() };
    Host::new(Speed::Gen2, Settings { build, costs: costs(), limits })
}

fn ssd(drive: Drive, layer: Layer) -> Drives {
    let storage = Storage::new(drive, layer, true).unwrap();
    Ssd::new(Speed::Gen2, storage, Identify::new("SSD", 1, Speed::Gen2)).unwrap()
}

/// A drive of 40 superblocks, 28,480 sectors.
fn small() -> Drives {
    let drive = drive::drive(drive::sectors(40), WriteCache::Through);
    ssd(drive, drive::layer(40, Policies::default()))
}

/// Returns drives of `sectors` sectors with pages of 64 KiB, fast enough to be written completely.
fn large(sectors: u64, lba48: bool) -> Drives {
    let stripe = Stripe { channels: 4, dies: 1, planes: 1, units: 1 };
    let pages = u32::try_from(sectors.div_ceil(128)).unwrap();
    let geometry = Geometry::new(pages / 2_048 + 64, 2_048, Bytes::kib(64), pages).unwrap();
    let geometry = geometry.striped(stripe).unwrap();
    let cells = CellTimes::uniform(micros(20), micros(500), micros(2_000));
    let timing = Timing { native: cells.clone(), slc: cells, ..drive::timing() };
    let medium = TimedMedium::new(&geometry, &timing).unwrap();
    let layer = PageMapped::new(geometry, Policies::default(), medium, Seed::new(1)).unwrap();
    let window = Bytes::kib(256);
    ssd(
        Drive { stripe, lba48, read_buffer: window, ..drive::drive(sectors, WriteCache::Through) },
        layer,
    )
}

fn run<E: Engine>(build: Build, ssd: Drives, jobs: &[Job]) -> (Vec<Report>, E) {
    let mut engine = E::new(wiring(), host(build), ssd);
    jobs.iter().for_each(|job| engine.host().push(job.clone()));
    assert_eq!(engine.run(), Stop::Idle);
    assert!(engine.host().is_done());
    (engine.host().take_reports(), engine)
}

fn job(direction: Direction, first: u64, each: u32, loops: u64) -> Transfer {
    Transfer::looped(direction, first, each, loops)
}

#[test]
fn builds_patterns_and_commands_agree_over_both_engines() {
    let all =
        [Addressing::Lba28, Addressing::Lba48, Addressing::LinuxChoice, Addressing::Queued(8)];
    for build in [Build::Single, Build::Firmware, Build::Sequencer] {
        for pattern in [Pattern::Increment, Pattern::Decrement] {
            for addressing in all {
                if build == Build::Single && matches!(addressing, Addressing::Queued(_)) {
                    continue;
                }
                let make = |way| {
                    let transfer = job(way, 100, 77, 6).with_addressing(addressing);
                    Job::Transfer(transfer.with_data(Data::Pattern(pattern)))
                };
                let jobs = [Job::Identify, make(Write), make(Read), Job::Flush];
                let (reports, _) = run::<Fises>(build, small(), &jobs);
                for report in &reports {
                    assert_eq!(report.outcome, Ok(()), "{build:?} {addressing:?}");
                }
                assert_eq!((reports[2].sectors, reports[2].commands), (462, 6));
                let (slow, _) = run::<Dwords>(build, small(), &jobs);
                assert_eq!(slow, reports, "{build:?} {pattern:?} {addressing:?}");
            }
        }
    }
}

#[test]
fn a_wrong_word_is_found_by_both_engines() {
    let words = |flip: u32| -> Vec<u32> {
        let mut words: Vec<u32> = (0..128).map(|at| 150 * 128 + at).collect();
        words[77] ^= flip;
        words
    };
    let spoil = |flip| Job::Transfer(job(Write, 150, 1, 1).with_data(Data::Words(words(flip))));
    let opposite = job(Write, 200, 2, 1).with_data(Data::Pattern(Pattern::Decrement));
    let jobs = [
        Job::Transfer(job(Write, 100, 64, 4)),
        spoil(0),
        Job::Transfer(job(Read, 100, 64, 4)),
        spoil(1 << 9),
        Job::Transfer(opposite),
        Job::Transfer(job(Read, 100, 64, 4)),
    ];
    let (reports, _) = run::<Fises>(Build::Sequencer, small(), &jobs);
    assert!(reports[..5].iter().all(|report| report.outcome == Ok(())), "{reports:?}");
    let expected = 150 * 128 + 77;
    let mismatch = Mismatch { lba: 150, dword: 77, found: expected ^ 1 << 9, expected };
    assert_eq!(reports[5].outcome, Err(Failure::Mismatch(mismatch)));
    assert_eq!(reports[5].mismatches, 1 + 256);
    let (slow, _) = run::<Dwords>(Build::Sequencer, small(), &jobs);
    assert_eq!(slow, reports);
}

#[test]
fn the_end_of_the_drive_is_reached_and_not_passed() {
    let end = drive::sectors(40);
    let last = job(Write, end - 5, 5, 1);
    let beyond = job(Write, end - 5, 6, 1);
    let jobs = [last.clone(), beyond.clone()].map(Job::Transfer);
    let (reports, _) = run::<Dwords>(Build::Sequencer, small(), &jobs);
    assert_eq!(reports[0].outcome, Ok(()));
    let Err(Failure::Drive(taskfile)) = reports[1].outcome else { panic!("{reports:?}") };
    assert_eq!((taskfile.status, taskfile.error, taskfile.lba), (0x51, 0x14, end));
    let jobs = [Job::Identify, Job::Transfer(last), Job::Transfer(beyond)];
    let (reports, engine) = run::<Dwords>(Build::Sequencer, small(), &jobs);
    assert_eq!(reports[1].outcome, Ok(()));
    let refusal = Refusal::BeyondDrive(SectorRange { first: end - 5, sectors: 6, limit: end });
    assert_eq!(reports[2].outcome, Err(Failure::Refused(refusal)));
    assert_eq!(engine.ssd().tally().commands, 2, "it was not asked");
}

#[test]
fn a_failed_sector_is_reported_with_all_its_address_bits() {
    let drive = large(20_000_000, true);
    for addressing in [Addressing::Lba28, Addressing::Lba48] {
        let beyond = job(Read, 19_999_900, 256, 1).with_addressing(addressing);
        let (reports, _) = run::<Fises>(Build::Firmware, drive.clone(), &[Job::Transfer(beyond)]);
        let Err(Failure::Drive(taskfile)) = reports[0].outcome else { panic!("{reports:?}") };
        assert_eq!((taskfile.error, taskfile.lba), (0x14, 20_000_000), "{addressing:?}");
    }
}

#[test]
fn sectors_on_both_sides_of_the_28_bit_limit_are_distinct() {
    let edge = 1 << 28;
    let make =
        |way, addressing| Job::Transfer(job(way, edge - 600, 200, 6).with_addressing(addressing));
    let low = job(Write, 0, 200, 6).with_data(Data::Pattern(Pattern::Decrement));
    let jobs = [
        Job::Identify,
        make(Write, Addressing::LinuxChoice),
        // The sector that an address truncated to 28 bits would reach.
        Job::Transfer(low),
        make(Read, Addressing::Lba48),
        make(Read, Addressing::LinuxChoice),
        make(Read, Addressing::Queued(4)),
    ];
    let (reports, _) = run::<Fises>(Build::Sequencer, large(edge + 1_000, true), &jobs);
    for report in &reports {
        assert_eq!(report.outcome, Ok(()));
    }
}

#[test]
fn a_whole_drive_is_swept_in_short_commands() {
    let sectors = 62_586_880;
    let sweep = |way| job(way, 0, 256, 244_480).with_addressing(Addressing::Lba28);
    let jobs = [Job::Identify, Job::Transfer(sweep(Write)), Job::Transfer(sweep(Read))];
    let (reports, engine) = run::<Fises>(Build::Firmware, large(sectors, false), &jobs);
    for report in &reports[1..] {
        assert_eq!(report.outcome, Ok(()));
        assert_eq!((report.commands, report.sectors), (244_480, sectors));
        assert_eq!(report.bytes().get(), 32_044_482_560);
    }
    assert_eq!(engine.ssd().storage().counts().written, sectors);
    assert_eq!(engine.ssd().tally().failed, 0);
}

#[test]
fn long_commands_are_refused_by_a_drive_that_has_none() {
    let jobs = [
        Job::Transfer(job(Write, 0, 1, 1)),
        Job::Identify,
        Job::Transfer(job(Write, 0, 1, 1)),
        Job::Flush,
    ];
    let (reports, engine) = run::<Dwords>(Build::Sequencer, large(10_000, false), &jobs);
    let Err(Failure::Drive(taskfile)) = reports[0].outcome else { panic!("{reports:?}") };
    assert_eq!((taskfile.command, taskfile.error), (0x35, 0x04));
    let refusal = Refusal::Unsupported("48-bit commands");
    assert_eq!(reports[2].outcome, Err(Failure::Refused(refusal)));
    assert_eq!(reports[3].outcome, Ok(()), "FLUSH CACHE with 28 bits");
    assert_eq!(engine.device().wake(), Tick::NEVER);
}
