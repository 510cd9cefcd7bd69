//! Random faults of the link and power cuts: the host always finishes, and wrong data never pass
//! unnoticed.
//!
//! A run is a handful of jobs over the dword engine, with faults on the wire and possibly a power cut.
//! The reports of the host determine the possible contents of each sector: the new data after a
//! success, the old or the new ones after a failure or a power cut, only flushed data before a cut. A
//! failing run prints its seed. To replay it, set `FIRST_SEED` to it and `SEEDS` to 1, and run `cargo
//! test -p boardlab-sata --test sata errors`. With `BOARDLAB_FULL` a hundred thousand seeds run.

use crate::drive;

use crate::toy::Toy;
use boardlab_sata::device::{Ssd, Storage, WriteCache};
use boardlab_sata::host::{
    Addressing, Build, Costs, Data, Direction, Failure, Host, Job, Limits, Report, Settings,
    Transfer,
};
use boardlab_sata::link::{Effect, End, Engine, Fault, Part, Place, Side, Wiring};
use boardlab_sata::wire::Primitive;
use boardlab_sata::wire::identify::Identify;
use boardlab_sata::{Agent, Speed, Tick};
use boardlab_sim::{Bytes, Duration, Seed, Stream};
use std::collections::BTreeSet;

const FIRST_SEED: u64 = 0;
const SEEDS: u64 = 400;
const ALL_SEEDS: u64 = 100_000;
/// The sectors that the jobs write.
const SECTORS: u64 = 96;
/// Every run must end by this tick: sixteen jobs may each wait for three timeouts of 10 ms.
const LIMIT: Tick = Tick(75_000 * 10 * 3 * 16 * 2);

fn wiring(stream: &mut Stream) -> Wiring {
    let mut end = || End {
        latency: 1 + u32::try_from(stream.below(30)).unwrap(),
        holda_after: 1 + u32::try_from(stream.below(20)).unwrap(),
        fifo: 160,
        hold_from: 64,
        hold_to: 32,
        cont: stream.chance(1, 2),
    };
    Wiring { speed: Speed::Gen2, host: end(), device: end() }
}

fn host() -> Host {
    let limits = Limits { timeout: Duration::from_millis(10), reissues: 3, resets: 2 };
    Host::new(Speed::Gen2, Settings { build: Build::Sequencer, costs: Costs::default(), limits })
}

/// Returns a word of a sector in a version.
fn word(lba: u64, dword: u64, version: u32) -> u32 {
    let place = u32::try_from(lba * 128 + dword).unwrap();
    if version == 0 { 0 } else { version << 16 ^ place }
}

fn addressing(stream: &mut Stream) -> Addressing {
    match stream.below(4) {
        0 => Addressing::Lba28,
        1 => Addressing::Lba48,
        2 => Addressing::Queued(1),
        _ => Addressing::Queued(1 + u32::try_from(stream.below(8)).unwrap()),
    }
}

fn transfer(stream: &mut Stream, direction: Direction) -> Transfer {
    let first = stream.below(SECTORS);
    let sectors = 1 + stream.below((SECTORS - first).min(40));
    let each = 1 + u32::try_from(stream.below(24)).unwrap();
    let mut transfer = Transfer::looped(direction, first, each, 1);
    transfer.sectors = sectors;
    transfer.with_addressing(addressing(stream)).with_data(Data::Captured)
}

fn jobs(stream: &mut Stream) -> Vec<Job> {
    let count = 3 + u32::try_from(stream.below(5)).unwrap();
    (1..=count)
        .map(|version| match stream.below(10) {
            0 => Job::Identify,
            1 => Job::Flush,
            2..=4 => Job::Transfer(transfer(stream, Direction::Read)),
            _ => {
                let mut write = transfer(stream, Direction::Write);
                let lbas = write.first..write.first + write.sectors;
                let words = lbas.flat_map(|lba| (0..128).map(move |at| word(lba, at, version)));
                write.data = Data::Words(words.collect());
                Job::Transfer(write)
            }
        })
        .collect()
}

fn fault(stream: &mut Stream) -> Fault {
    let from = if stream.chance(1, 2) { Side::Host } else { Side::Device };
    let primitives = Primitive::ALL;
    let primitive = primitives[usize::try_from(stream.below(18)).unwrap()];
    let number = u32::try_from(stream.below(1 << 32)).unwrap();
    let byte = number.to_le_bytes()[0];
    let part = match stream.below(6) {
        0 => Part::Sof,
        1 => Part::Crc,
        2 => Part::Eof,
        3 => Part::Dword(0),
        _ => Part::Dword(u32::try_from(stream.below(500)).unwrap()),
    };
    let place = if stream.chance(2, 3) {
        Place::Frame(stream.below(40), part)
    } else {
        Place::Tick(Tick(stream.below(60_000)))
    };
    let effect = match stream.below(8) {
        0 | 1 => Effect::Flip(byte % 32),
        2 => Effect::Primitive(primitive),
        3 => Effect::Data(number),
        4 => Effect::Invalid,
        5 => Effect::Lost,
        6 => Effect::Type(byte),
        _ => Effect::SyncEscape,
    };
    Fault { from, place, effect }
}

/// A drive whose power can be cut.
trait Drive: Agent {
    /// Whether a power cut can lose the data of completed commands.
    fn is_volatile(&self) -> bool;
    fn cut(&mut self, at: Tick);
}

impl Drive for Toy {
    fn is_volatile(&self) -> bool {
        false
    }

    fn cut(&mut self, _at: Tick) {}
}

impl Drive for Ssd<drive::Layer> {
    fn is_volatile(&self) -> bool {
        matches!(self.storage().drive().write_cache, WriteCache::Back(_))
    }

    fn cut(&mut self, at: Tick) {
        self.cut_power(at);
    }
}

/// The possible versions of a sector: those read now, and those after a power cut.
#[derive(Debug, Clone)]
struct Sector {
    now: BTreeSet<u32>,
    survives: BTreeSet<u32>,
}

/// The possible versions of all sectors.
struct Model {
    sectors: Vec<Sector>,
    is_volatile: bool,
    cut: Option<Tick>,
}

impl Model {
    fn new(is_volatile: bool) -> Self {
        let zeros = BTreeSet::from([0]);
        let sector = Sector { now: zeros.clone(), survives: zeros };
        Self { sectors: vec![sector; usize::try_from(SECTORS).unwrap()], is_volatile, cut: None }
    }

    fn sectors_of(&mut self, transfer: &Transfer) -> &mut [Sector] {
        let at = |lba| usize::try_from(lba).unwrap();
        &mut self.sectors[at(transfer.first)..at(transfer.first + transfer.sectors)]
    }

    /// Applies the effect of job number `version` according to its report.
    fn apply(&mut self, job: &Job, version: u32, report: &Report) {
        let mut was_cut = false;
        if self.cut.is_some_and(|cut| report.end >= cut) {
            self.cut = None;
            was_cut = true;
            for sector in &mut self.sectors {
                sector.now.extend(&sector.survives);
                sector.survives = sector.now.clone();
            }
        }
        let good = report.outcome == Ok(());
        let is_volatile = self.is_volatile;
        match job {
            Job::Transfer(transfer) if transfer.direction == Direction::Write => {
                for Sector { now, survives } in self.sectors_of(transfer) {
                    if good && !(is_volatile && was_cut) {
                        now.clear();
                    }
                    if good && !is_volatile {
                        survives.clear();
                    }
                    now.insert(version);
                    survives.insert(version);
                }
            }
            Job::Transfer(transfer) if good => self.check(transfer, &report.data),
            Job::Flush if good => {
                self.sectors.iter_mut().for_each(|sector| sector.survives = sector.now.clone());
            }
            _ => {}
        }
    }

    fn check(&mut self, transfer: &Transfer, data: &[u32]) {
        let lbas = transfer.first..;
        for ((lba, sector), words) in lbas.zip(self.sectors_of(transfer)).zip(data.chunks(128)) {
            let is = |version: &&u32| {
                (0..).zip(words).all(|(at, &found)| found == word(lba, at, **version))
            };
            assert!(
                sector.now.iter().any(|version| is(&version)),
                "sector {lba} begins with {:X?} and may hold versions {:?}",
                &words[..4],
                sector.now
            );
        }
    }
}

/// Counts over all runs.
#[derive(Debug, Default)]
struct Totals {
    reissues: u64,
    resets: u64,
    errors: u64,
    unexpected: u64,
    cuts: u64,
    good: u64,
    drive_errors: u64,
    link_failures: u64,
    timeouts: u64,
}

impl Totals {
    fn add(&mut self, report: &Report) {
        self.reissues += report.reissues;
        self.resets += report.resets;
        self.errors += report.errors;
        self.unexpected += report.unexpected;
        match &report.outcome {
            Ok(()) => self.good += 1,
            Err(Failure::Drive(_)) => self.drive_errors += 1,
            Err(Failure::Link { .. }) => self.link_failures += 1,
            Err(Failure::Timeout { .. }) => self.timeouts += 1,
            Err(other) => panic!("{other}"),
        }
        assert_eq!(report.mismatches, 0, "nothing was to be compared");
    }
}

/// Executes one run.
fn run<D: Drive>(stream: &mut Stream, drive: D, totals: &mut Totals) {
    let jobs = jobs(stream);
    let mut model = Model::new(drive.is_volatile());
    let mut engine = Engine::new(wiring(stream), host(), drive);
    jobs.iter().for_each(|job| engine.host_mut().push(job.clone()));
    let faults = if stream.chance(1, 10) { 60 } else { stream.below(6) };
    (0..faults).for_each(|_| engine.inject(fault(stream)));
    if stream.chance(1, 3) {
        engine.run(Tick(stream.below(100_000)));
        let cut = engine.now();
        model.cut = Some(cut);
        engine.cut_device();
        engine.device_mut().cut(cut);
        engine.run(cut.after(stream.below(10_000)));
        engine.restore_device();
        totals.cuts += 1;
    }
    engine.run(LIMIT);
    assert!(engine.host().is_done(), "the host hangs: {:?}", engine.host());
    let reports = engine.host_mut().take_reports();
    assert_eq!(reports.len(), jobs.len());
    for ((version, job), report) in (1..).zip(&jobs).zip(&reports) {
        totals.add(report);
        model.apply(job, version, report);
    }
    // A power cut after the last job counts as well.
    let mut idle = Report { end: Tick::NEVER, ..reports[0].clone() };
    idle.outcome = Ok(());
    model.apply(&Job::Identify, 0, &idle);
    let all = Transfer::looped(Direction::Read, 0, 32, SECTORS / 32).with_data(Data::Captured);
    // Remaining faults may occur here, each once.
    let found = (0..8).find_map(|_| {
        engine.host_mut().push(Job::Transfer(all.clone()));
        engine.run(engine.now().after(LIMIT.0));
        assert!(engine.host().is_done(), "the host hangs at the end: {:?}", engine.host());
        engine.host_mut().take_reports().pop().filter(|report| report.outcome == Ok(()))
    });
    let found = found.expect("the drive can be read in the end");
    model.check(&all, &found.data);
}

fn seeds() -> std::ops::Range<u64> {
    let full = std::env::var_os("BOARDLAB_FULL").is_some();
    FIRST_SEED..FIRST_SEED + if full { ALL_SEEDS } else { SEEDS }
}

fn all_runs<D: Drive>(name: &str, drive: impl Fn(&mut Stream) -> D) -> Totals {
    let mut totals = Totals::default();
    for seed in seeds() {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut stream = Seed::new(seed).stream(name);
            let drive = drive(&mut stream);
            run(&mut stream, drive, &mut totals);
        }));
        assert!(result.is_ok(), "replay with FIRST_SEED = {seed}, SEEDS = 1");
    }
    totals
}

/// Returns a drive with random parameters.
fn ssd(stream: &mut Stream) -> Ssd<drive::Layer> {
    const BLOCKS: u32 = 12;
    let size = Bytes::kib(4 << stream.below(5));
    let write_cache = match stream.below(3) {
        0 => WriteCache::Through,
        1 => WriteCache::Back(size),
        _ => WriteCache::Protected(size),
    };
    let drive = boardlab_sata::device::Drive {
        look_ahead: stream.chance(1, 2),
        activates_early: stream.chance(1, 2),
        frame: 128 * (1 + u32::try_from(stream.below(16)).unwrap()),
        identify_frame: 128 >> stream.below(3),
        idle_after: drive::micros(100 << stream.below(8)),
        ..drive::drive(drive::sectors(BLOCKS), write_cache)
    };
    let layer = drive::layer(BLOCKS, boardlab_ftl::Policies::default());
    let storage = Storage::new(drive, layer, true).unwrap();
    Ssd::new(Speed::Gen2, storage, Identify::new("SSD", 1, Speed::Gen2)).unwrap()
}

#[test]
fn faults_never_hang_the_host_or_pass_wrong_data() {
    let totals = all_runs("faults", ssd);
    check(&totals);
}

#[test]
fn faults_never_hang_the_host_or_pass_wrong_data_with_a_toy_drive() {
    check(&all_runs("faults of a toy", |_| Toy::new(1_000)));
}

/// Checks that every kind of event occurred.
fn check(totals: &Totals) {
    let Totals { reissues, resets, errors, unexpected, cuts, good, link_failures, .. } = *totals;
    for count in [reissues, resets, errors, unexpected, cuts, good, link_failures] {
        assert!(count > 0, "{totals:?}");
    }
}
