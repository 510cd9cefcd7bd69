//! Everything that is measured, as pieces of work that run side by side.
//!
//! Layer: rank 10. Main type: [`Measured`]; function: [`all`]. Each piece begins at a system that was booted once for its way of switching and saved at
//! the prompt, so no piece knows of another one.

use super::guest::Guest;
use super::latency::{self, Latency, Load};
use super::programs::{self, Disk, Memory, Starts};
use super::qemu;
use super::scenario::{Exec, Scenario};
use super::sections;
use super::spent::Spent;
use super::switches::{self, AtOnce, How, Point, Quantum};
use super::{Cause, HELP, HELP_QEMU, card};
use crate::experiment::{Failure, Progress, Request};
use crate::in_order::in_order;
use boardlab_computer::masked::Stretch;
use boardlab_computer::symbols::Symbols;
use boardlab_realview::{Program, Settings};
use boardlab_sim::{Bytes, Seed};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A process above the 32 MB of a slot.
const LARGE: &str = "bench large 40 &";

/// How the system switches from one address space to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By translation tables: caches and TLB are flushed at a stretch.
    Tables,
    /// The same, with most of the data cache cleaned before, while interrupts are on.
    Ahead,
    /// By the process number of FCSE.
    Fcse,
    /// As FCSE, with the kernel's path locked in TLB and caches.
    Locked,
}

impl Way {
    /// All, in the order of tables.
    pub(super) const ALL: [Self; 4] = [Self::Tables, Self::Ahead, Self::Fcse, Self::Locked];

    /// Its name in ids.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Tables => "tables",
            Self::Ahead => "ahead",
            Self::Fcse => "fcse",
            Self::Locked => "locked",
        }
    }

    /// Its name for people.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Tables => "without FCSE",
            Self::Ahead => "without FCSE, cleaned ahead",
            Self::Fcse => "FCSE",
            Self::Locked => "FCSE, locked down",
        }
    }

    /// Options of the kernel.
    pub(super) const fn options(self) -> &'static str {
        match self {
            Self::Tables => "fcse=0 ahead=0",
            Self::Ahead => "fcse=0",
            Self::Fcse | Self::Locked => "fcse=1",
        }
    }
}

/// What is measured of each way.
#[derive(Debug, Clone)]
pub(super) struct OfWay {
    pub(super) way: Way,
    pub(super) at_once: AtOnce,
    /// Rings by chg and by pipes.
    pub(super) rings: [Vec<Point>; 2],
    /// Idle and loaded.
    pub(super) latency: [Latency; 2],
    pub(super) sections: Vec<Stretch>,
    pub(super) null_call: Spent,
    /// The switches of table 1, of the two ways that it compares.
    pub(super) quanta: Vec<Quantum>,
}

/// All of it.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) ways: Vec<OfWay>,
    /// Interrupts off with FCSE while a process lives that is too large for a slot.
    pub(super) beside_large: Vec<Stretch>,
    pub(super) memory: Memory,
    /// From the RAM disk, and from a card; as many of each.
    pub(super) started: [Vec<Starts>; 2],
    pub(super) qemu: Result<Vec<qemu::Ran>, qemu::Absent>,
    pub(super) symbols: Symbols,
}

/// A piece of work; the longest come first, so that no core is left with one in the end.
#[derive(Debug, Clone, Copy)]
enum Job {
    Latency(Way, Load),
    Sections(Way),
    SectionsBesideLarge,
    Rings(Way, How),
    Quanta(Way),
    AtOnce(Way),
    NullCall(Way),
    Memory,
    Started(Disk),
    Qemu,
}

/// What came of it.
enum Done {
    Latency(Latency),
    Sections(Vec<Stretch>),
    SectionsBesideLarge(Vec<Stretch>),
    Rings(Vec<Point>),
    Quanta(Vec<Quantum>),
    AtOnce(AtOnce),
    NullCall(Spent),
    Memory(Memory),
    Started(Vec<Starts>),
    Qemu(Result<Vec<qemu::Ran>, qemu::Absent>),
}

impl Job {
    fn all() -> Vec<Self> {
        let each = |job: fn(Way) -> Self| Way::ALL.map(job);
        let mut jobs = vec![Self::Qemu];
        jobs.extend(each(|way| Self::Latency(way, Load::Loaded)));
        jobs.extend(each(|way| Self::Latency(way, Load::Idle)));
        jobs.extend(each(Self::Sections));
        jobs.push(Self::SectionsBesideLarge);
        jobs.extend(Disk::ALL.map(Self::Started));
        jobs.extend(each(|way| Self::Rings(way, How::Pipe)));
        jobs.extend(each(|way| Self::Rings(way, How::Chg)));
        jobs.extend([Self::Quanta(Way::Tables), Self::Quanta(Way::Fcse)]);
        jobs.extend(each(Self::AtOnce));
        jobs.extend(each(Self::NullCall));
        jobs.push(Self::Memory);
        jobs
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Latency(..) => "latency",
            Self::Sections(_) | Self::SectionsBesideLarge => "interrupts off",
            Self::Rings(..) => "rings",
            Self::Quanta(_) => "table 1",
            Self::AtOnce(_) => "switches at once",
            Self::NullCall(_) => "null call",
            Self::Memory => "memory",
            Self::Started(_) => "exec",
            Self::Qemu => "QEMU",
        }
    }

    fn perform(self, scenario: &Scenario, systems: &Systems) -> Result<Done, Cause> {
        let of = |way: Way| systems.saved[systems.index(way)].as_slice();
        Ok(match self {
            Self::Latency(way, load) => {
                Done::Latency(latency::measure(of(way), &scenario.real_time, load)?)
            }
            Self::Sections(way) => {
                Done::Sections(sections::measure(of(way), scenario.watched, &[latency::LOAD])?)
            }
            Self::SectionsBesideLarge => {
                let load = [LARGE, latency::LOAD];
                Done::SectionsBesideLarge(sections::measure(
                    of(Way::Fcse),
                    scenario.watched,
                    &load,
                )?)
            }
            Self::Rings(way, how) => Done::Rings(switches::rings(of(way), &scenario.ring, how)?),
            Self::Quanta(way) => Done::Quanta(switches::quanta(of(way), &scenario.published)?),
            Self::AtOnce(way) => Done::AtOnce(switches::at_once(of(way), &scenario.published)?),
            Self::NullCall(way) => Done::NullCall(programs::null_call(of(way))?),
            Self::Memory => Done::Memory(programs::memory(of(Way::Fcse), systems.disk())?),
            Self::Started(disk) => {
                Done::Started(systems.started(disk, &scenario.exec, of(Way::Fcse))?)
            }
            Self::Qemu => Done::Qemu(qemu::run(scenario)?),
        })
    }
}

/// The booted systems.
struct Systems<'k> {
    kernel: &'k Program,
    settings: &'k Settings,
    symbols: Symbols,
    seed: Seed,
    /// By [`Way`].
    saved: Vec<Vec<u8>>,
}

impl Systems<'_> {
    fn index(&self, way: Way) -> usize {
        Way::ALL.iter().position(|one| *one == way).unwrap_or_default().min(self.saved.len() - 1)
    }

    /// Where the RAM disk begins, and its size, as the kernel's file has it.
    fn disk_place(&self) -> Option<(u32, u32)> {
        let mut all = self.kernel.symbols.all().iter();
        let disk = all.find(|symbol| symbol.name == "ramdisk")?;
        Some((disk.address, disk.size))
    }

    fn disk(&self) -> u64 {
        self.disk_place().map_or(0, |(_, size)| size.into())
    }

    /// The contents of the RAM disk, as the kernel's file has them.
    fn disk_image(&self) -> Option<Vec<u8>> {
        let (begin, size) = self.disk_place()?;
        self.kernel.segments.iter().find_map(|segment| {
            let from = usize::try_from(begin.checked_sub(segment.address)?).ok()?;
            let size = usize::try_from(size).ok()?;
            segment.contents.get(from..from.checked_add(size)?).map(<[u8]>::to_vec)
        })
    }

    /// Starts programs from the RAM disk, or from a card with the same contents.
    fn started(&self, disk: Disk, exec: &Exec, saved: &[u8]) -> Result<Vec<Starts>, Cause> {
        let mut guest = match disk {
            Disk::Memory => Guest::restored(saved)?,
            Disk::Card => {
                let image = self.disk_image().ok_or("the kernel has no RAM disk")?;
                let card = card::with(&image, exec, self.seed)?;
                let options = format!("{} disk=card", Way::Fcse.options());
                Guest::boot(self.kernel, self.settings, &options, Some(card))?
            }
        };
        let starts = |size: &Bytes| programs::starts(&mut guest, exec.times, *size);
        exec.sizes.iter().map(starts).collect()
    }
}

/// A system of each way at its prompt.
fn boot<'k>(kernel: &'k Program, settings: &'k Settings, seed: Seed) -> Result<Systems<'k>, Cause> {
    let symbols = Symbols::of_program(&kernel.symbols);
    let saved = in_order(Way::ALL.par_iter().map(|way| {
        let mut guest = Guest::boot(kernel, settings, way.options(), None)?;
        if *way == Way::Locked {
            guest.run("bench set lockdown 1")?;
        }
        guest.saved()
    }))?;
    Ok(Systems { kernel, settings, symbols, seed, saved })
}

/// Measures everything, on all cores.
pub(super) fn all(
    request: &Request<'_>,
    scenario: &Scenario,
    kernel: &Program,
) -> Result<Measured, Failure> {
    let failed = |system: &str, error: Cause, help| {
        let system = format!("{}: {system}", scenario.path.display());
        Failure::Run { system, error, help }
    };
    let systems = boot(kernel, &scenario.computer.settings, request.seed);
    let systems = systems.map_err(|error| failed("boot", error, HELP))?;
    let jobs = Job::all();
    let (finished, total) = (AtomicUsize::new(0), jobs.len());
    let done = in_order(jobs.par_iter().with_max_len(1).map(|job| {
        let help = if matches!(job, Job::Qemu) { HELP_QEMU } else { HELP };
        let done = job.perform(scenario, &systems);
        let done = done.map_err(|error| failed(job.name(), error, help))?;
        let now = finished.fetch_add(1, Ordering::Relaxed) + 1;
        (request.progress)(Progress { step: job.name(), done: now, total });
        Ok::<_, Failure>(done)
    }))?;
    Ok(Sorted::of(&jobs, done).measured(systems.symbols))
}

/// What came of all pieces, by kind; those of ways in the order of [`Way::ALL`].
#[derive(Default)]
struct Sorted {
    latency: Vec<(Way, Load, Latency)>,
    sections: Vec<Vec<Stretch>>,
    beside_large: Vec<Stretch>,
    rings: Vec<(How, Vec<Point>)>,
    quanta: Vec<(Way, Vec<Quantum>)>,
    at_once: Vec<AtOnce>,
    null_call: Vec<Spent>,
    memory: Option<Memory>,
    started: Vec<Vec<Starts>>,
    qemu: Option<Result<Vec<qemu::Ran>, qemu::Absent>>,
}

impl Sorted {
    fn of(jobs: &[Job], done: Vec<Done>) -> Self {
        let mut sorted = Self::default();
        for (job, done) in jobs.iter().zip(done) {
            match (job, done) {
                (Job::Latency(way, load), Done::Latency(one)) => {
                    sorted.latency.push((*way, *load, one));
                }
                (Job::Rings(_, how), Done::Rings(one)) => sorted.rings.push((*how, one)),
                (_, Done::Sections(one)) => sorted.sections.push(one),
                (_, Done::SectionsBesideLarge(one)) => sorted.beside_large = one,
                (Job::Quanta(way), Done::Quanta(one)) => sorted.quanta.push((*way, one)),
                (_, Done::AtOnce(one)) => sorted.at_once.push(one),
                (_, Done::NullCall(one)) => sorted.null_call.push(one),
                (_, Done::Memory(one)) => sorted.memory = Some(one),
                (_, Done::Started(one)) => sorted.started.push(one),
                (_, Done::Qemu(one)) => sorted.qemu = Some(one),
                (_, Done::Latency(_) | Done::Rings(_) | Done::Quanta(_)) => {
                    unreachable!("a job does its own work")
                }
            }
        }
        sorted
    }

    fn measured(self, symbols: Symbols) -> Measured {
        let Self { latency, mut sections, rings, quanta, mut at_once, .. } = self;
        let (mut null_call, started) = (self.null_call, self.started);
        let ring = |how: How| -> Vec<Vec<Point>> {
            rings.iter().filter(|one| one.0 == how).map(|one| one.1.clone()).collect()
        };
        let (chg, pipe) = (ring(How::Chg), ring(How::Pipe));
        let of = |way: Way, load: Load| {
            let found = latency.iter().find(|one| (one.0, one.1) == (way, load));
            found.expect("measured with every load").2
        };
        let way = |(index, way): (usize, Way)| OfWay {
            way,
            at_once: at_once.remove(0),
            rings: [chg[index].clone(), pipe[index].clone()],
            latency: [of(way, Load::Idle), of(way, Load::Loaded)],
            sections: sections.remove(0),
            null_call: null_call.remove(0),
            quanta: quanta
                .iter()
                .filter(|one| one.0 == way)
                .flat_map(|one| one.1.clone())
                .collect(),
        };
        let ways = Way::ALL.into_iter().enumerate().map(way).collect();
        Measured {
            ways,
            beside_large: self.beside_large,
            memory: self.memory.expect("a job of its own"),
            started: started.try_into().expect("a job for each disk"),
            qemu: self.qemu.expect("a job of its own"),
            symbols,
        }
    }
}

impl Measured {
    /// What was measured of a way.
    pub(super) fn of(&self, way: Way) -> &OfWay {
        self.ways.iter().find(|one| one.way == way).expect("every way is measured")
    }
}
