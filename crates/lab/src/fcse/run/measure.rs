//! Everything that is measured, as pieces of work that run side by side.
//!
//! Layer: rank 11. Main type: [`Measurements`]; function: [`all`]. Each piece begins at a system that was booted once for its way of switching and saved at
//! the prompt, so no piece knows of another one.

use super::guest::Guest;
use super::latency::{self, Latency, Load};
use super::programs::{self, Disk, Memory, Starts};
use super::qemu;
use super::sections;
use super::spent::Costs;
use super::switches::{self, AtOnce, How, Point, Quantum};
use super::{HELP, HELP_QEMU, card};
use crate::fcse::scenario::{Exec, Scenario};
use boardlab_computer::masked::Stretch;
use boardlab_computer::symbols::Symbols;
use boardlab_experiment::crew::{Crew, Slot, in_order};
use boardlab_experiment::{Cause, Failure, Request};
use boardlab_realview::{Program, Settings};
use boardlab_sim::{Bytes, Seed};
use rayon::prelude::*;

/// A process above the 32 MB of a slot.
const LARGE: &str = "bench large 40 &";

/// How the system switches from one address space to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
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
    pub(crate) const ALL: [Self; 4] = [Self::Tables, Self::Ahead, Self::Fcse, Self::Locked];

    /// Its name in ids, its name for people, and the options of the kernel.
    const fn words(self) -> [&'static str; 3] {
        match self {
            Self::Tables => ["tables", "without FCSE", "fcse=0 ahead=0"],
            Self::Ahead => ["ahead", "without FCSE, cleaned ahead", "fcse=0"],
            Self::Fcse => ["fcse", "FCSE", "fcse=1"],
            Self::Locked => ["locked", "FCSE, locked down", "fcse=1"],
        }
    }

    /// Its name in ids.
    pub(crate) const fn id(self) -> &'static str {
        self.words()[0]
    }

    /// Its name for people.
    pub(crate) const fn title(self) -> &'static str {
        self.words()[1]
    }

    /// Options of the kernel.
    pub(crate) const fn options(self) -> &'static str {
        self.words()[2]
    }
}

/// What is measured of each way.
#[derive(Debug, Clone)]
pub(crate) struct OfWay {
    pub(crate) way: Way,
    pub(crate) at_once: AtOnce,
    /// Rings by chg and by pipes.
    pub(crate) rings: [Vec<Point>; 2],
    /// Idle and loaded.
    pub(crate) latency: [Latency; 2],
    pub(crate) sections: Vec<Stretch>,
    pub(crate) null_call: Costs,
    /// The switches of table 1, of the two ways that it compares.
    pub(crate) quanta: Vec<Quantum>,
}

/// All of it.
#[derive(Debug)]
pub(crate) struct Measurements {
    pub(crate) ways: Vec<OfWay>,
    /// Interrupts off with FCSE while a process lives that is too large for a slot.
    pub(crate) beside_large: Vec<Stretch>,
    pub(crate) memory: Memory,
    /// From the RAM disk, and from a card; as many of each.
    pub(crate) started: [Vec<Starts>; 2],
    pub(crate) qemu: Result<Vec<qemu::QemuSwitches>, qemu::Absent>,
    pub(crate) symbols: Symbols,
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
    /// The system of `way` at its prompt.
    fn of(&self, way: Way) -> &[u8] {
        let index = Way::ALL.iter().position(|one| *one == way).unwrap_or_default();
        &self.saved[index.min(self.saved.len() - 1)]
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
    fn started(&self, disk: Disk, exec: &Exec) -> Result<Vec<Starts>, Cause> {
        let mut guest = match disk {
            Disk::Memory => Guest::restored(self.of(Way::Fcse))?,
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

/// Measures everything, on all cores; what takes longest comes first.
pub(crate) fn all(request: &Request<'_>, scenario: &Scenario) -> Result<Measurements, Failure> {
    let of_kernel = |failure| match (failure, &scenario.path) {
        (Failure::Run { system, error, help }, Some(path)) => {
            let system = format!("{}: {system}", path.display());
            Failure::Run { system, error, help }
        }
        (failure, _) => failure,
    };
    let systems = boot(&scenario.kernel, &scenario.computer.settings, request.seed)
        .map_err(|error| of_kernel(Failure::run("boot", error, HELP)))?;
    let mut crew = Crew::default();
    let slots = Slots::added(&mut crew, scenario, &systems);
    crew.perform(request).map_err(of_kernel)?;
    Ok(slots.measured(systems.symbols))
}

/// A slot for each way, in the order of [`Way::ALL`].
type EachWay<T> = [Slot<T>; Way::ALL.len()];

/// What comes of all pieces of work.
struct Slots {
    qemu: Slot<Result<Vec<qemu::QemuSwitches>, qemu::Absent>>,
    /// Loaded and idle.
    latency: [EachWay<Latency>; 2],
    sections: EachWay<Vec<Stretch>>,
    beside_large: Slot<Vec<Stretch>>,
    started: [Slot<Vec<Starts>>; 2],
    /// By pipes and by chg.
    rings: [EachWay<Vec<Point>>; 2],
    quanta: [(Way, Slot<Vec<Quantum>>); 2],
    at_once: EachWay<AtOnce>,
    null_call: EachWay<Costs>,
    memory: Slot<Memory>,
}

impl Slots {
    /// Adds all work to `crew`; what takes longest comes first.
    fn added<'w>(crew: &mut Crew<'w>, scenario: &'w Scenario, systems: &'w Systems<'_>) -> Self {
        let Scenario { real_time, watched, ring, published, exec, .. } = scenario;
        let (of, loads) = (move |way| systems.of(way), [Load::Loaded, Load::Idle]);
        Self {
            // It waits in real time.
            qemu: crew.add_beside("QEMU", HELP_QEMU, move || qemu::run(scenario)),
            latency: loads.map(|load| {
                let measure = move |way| latency::measure(of(way), real_time, load);
                Way::ALL.map(|way| crew.add("latency", HELP, move || measure(way)))
            }),
            sections: Way::ALL.map(|way| {
                let measure = move || sections::measure(of(way), *watched, &[latency::LOAD]);
                crew.add("interrupts off", HELP, measure)
            }),
            beside_large: crew.add("interrupts off", HELP, move || {
                sections::measure(of(Way::Fcse), *watched, &[LARGE, latency::LOAD])
            }),
            started: Disk::ALL
                .map(|disk| crew.add("exec", HELP, move || systems.started(disk, exec))),
            rings: [How::Pipe, How::Chg].map(|how| {
                let measure = move |way| switches::rings(of(way), ring, how);
                Way::ALL.map(|way| crew.add("rings", HELP, move || measure(way)))
            }),
            quanta: [Way::Tables, Way::Fcse].map(|way| {
                let measure = move || switches::quanta(of(way), published);
                (way, crew.add("table 1", HELP, measure))
            }),
            at_once: Way::ALL.map(|way| {
                let measure = move || switches::at_once(of(way), published);
                crew.add("switches at once", HELP, measure)
            }),
            null_call: Way::ALL
                .map(|way| crew.add("null call", HELP, move || programs::null_call(of(way)))),
            memory: crew
                .add("memory", HELP, move || programs::memory(of(Way::Fcse), systems.disk())),
        }
    }

    fn measured(self, symbols: Symbols) -> Measurements {
        fn next<T>(slots: &mut impl Iterator<Item = Slot<T>>) -> T {
            slots.next().expect("a slot for each way").take()
        }
        let [mut loaded, mut idle] = self.latency.map(IntoIterator::into_iter);
        let [mut pipe, mut chg] = self.rings.map(IntoIterator::into_iter);
        let (mut sections, mut at_once) = (self.sections.into_iter(), self.at_once.into_iter());
        let mut null_call = self.null_call.into_iter();
        let quanta = self.quanta.map(|(way, slot)| (way, slot.take()));
        let ways = Way::ALL.map(|way| OfWay {
            way,
            at_once: next(&mut at_once),
            rings: [next(&mut chg), next(&mut pipe)],
            latency: [next(&mut idle), next(&mut loaded)],
            sections: next(&mut sections),
            null_call: next(&mut null_call),
            quanta: quanta
                .iter()
                .filter(|one| one.0 == way)
                .flat_map(|one| one.1.clone())
                .collect(),
        });
        Measurements {
            ways: ways.into(),
            beside_large: self.beside_large.take(),
            memory: self.memory.take(),
            started: self.started.map(Slot::take),
            qemu: self.qemu.take(),
            symbols,
        }
    }
}
impl Measurements {
    /// What was measured of a way.
    pub(crate) fn of(&self, way: Way) -> &OfWay {
        self.ways.iter().find(|one| one.way == way).expect("every way is measured")
    }
}
