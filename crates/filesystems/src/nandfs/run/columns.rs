//! All runs of all filesystems, on all cores.
//!
//! Layer: rank 10. Function: [`columns`]. All runs are independent of each other, so they are one crew; those that
//! fill the flash take the most memory, and come first.

use super::filesystem::{HELP, Lab, timed};
use super::filling::{Filled, Fillings};
use super::measure::{Chip, Column, Mounting, Throughput};
use super::readings::Different;
use super::stand::{Files, Sizes};
use crate::nandfs::flash::Flash;
use crate::nandfs::scenario::{Fill, Scenario, chosen};
use boardlab_document::quantity::Ratio;
use boardlab_experiment::crew::{Crew, Slot};
use boardlab_experiment::{Failure, Request};
use boardlab_parts::nand::board::Port;
use boardlab_sim::{Bytes, Clock, Duration};
use boardlab_workload::data::Data;

/// Measures all filesystems, on a flash behind a port with the costs `port`. The crew performs what it has besides.
pub(crate) fn columns(
    request: &Request<'_>,
    scenario: &Scenario,
    port: Port,
    crew: Crew<'_>,
) -> Result<Vec<Column>, Failure> {
    let mut labs = Vec::new();
    for (name, system) in chosen(&scenario.systems, &scenario.measured) {
        let lab = Lab::new(scenario, &**system, (request.seed, port));
        let fresh = lab.fresh().map_err(|error| Failure::run(name, error, HELP))?;
        labs.push((name, lab, fresh));
    }
    // One that may also borrow what is made here.
    let mut crew = crew;
    let all: Vec<_> =
        labs.iter().map(|(name, lab, fresh)| Runs::begin(name, (lab, fresh), &mut crew)).collect();
    crew.perform(request)?;
    Ok(all.into_iter().map(|runs| runs.column(scenario)).collect())
}

/// What a run gives, and its virtual time.
type Made<T> = Slot<(T, Duration)>;

/// All runs of a filesystem.
struct Runs {
    system: &'static str,
    fills: Vec<(Files, Made<Filled>)>,
    throughput: Vec<Made<Throughput>>,
    chips: Vec<Made<Chip>>,
    readings: Vec<Made<Different>>,
}

impl Runs {
    /// Adds them to a crew; each begins with a fork of `fresh`.
    fn begin<'w>(
        system: &'static str,
        (lab, fresh): (&'w Lab<'w>, &'w Flash),
        crew: &mut Crew<'w>,
    ) -> Self {
        let Scenario { compare, tiobench, kernel, .. } = lab.scenario;
        let fills = fills(lab.scenario).0.into_iter().map(|filling| {
            let files = filling.files.clone();
            let memory = memory(lab.wired.size(), filling.highest(), files.size.mean());
            let run = move |flash, clock: &mut Clock| lab.fill(&filling, flash, clock);
            (files, crew.add_large(system, HELP, memory, move || timed(fresh, run)))
        });
        let fills = fills.collect();
        let memory = memory_of_tiobench(lab.scenario);
        let throughput = tiobench.data.iter().map(|data| {
            let run = move |flash, clock: &mut Clock| lab.tiobench(data, flash, clock);
            crew.add_large(system, HELP, memory, move || timed(fresh, run))
        });
        let throughput = throughput.collect();
        let chips = compare.chips.iter().map(|&chip| {
            // A mount of nothing: what it holds of each block, and the marks in the spare bytes.
            let memory = Bytes::new(chip.get() / 90);
            crew.add_large(system, HELP, memory, move || lab.chip(chip))
        });
        let chips = chips.collect();
        let readings = compare.readings.then(|| lab.system.readings(kernel.profile));
        let readings = readings.into_iter().flatten().map(|reading| {
            let memory = lab.memory(&reading);
            crew.add_large(system, HELP, memory, move || lab.reading(&reading))
        });
        let readings = readings.collect();
        Self { system, fills, throughput, chips, readings }
    }

    /// The figures of the runs, which have ended.
    fn column(self, scenario: &Scenario) -> Column {
        let Scenario { fill, compare, .. } = scenario;
        let mut virtual_time = Duration::ZERO;
        let mut take = Taking(&mut virtual_time);
        let fills = self.fills.into_iter();
        let fills: Vec<_> = fills.map(|(files, slot)| (files, take.one(slot))).collect();
        let filled = |file: Bytes, data: &Data| {
            let found = fills.iter().find(|(files, _)| *files == each(file, data));
            &found.expect("every size and kind of data has its work").1
        };
        let find = |file: Bytes, data: &Data, level: Ratio| -> Mounting {
            let found = filled(file, data).mountings.iter().find(|one| one.level == level);
            found.expect("every level has its work").clone()
        };
        let holds = |file: Bytes| {
            let capacity = filled(file, &Data::Random).capacity.clone();
            capacity.expect("every size of files has its work")
        };
        let levels = compare.levels.iter();
        let kinds = compare.data.iter();
        let mut column = Column {
            system: self.system,
            errors: scenario.errors.rates.is_some(),
            mounting: find(fill.file, &fill.data, fill.level),
            by_file: compare.files.iter().map(|&file| find(file, &fill.data, fill.level)).collect(),
            by_level: levels.map(|&level| find(fill.file, &fill.data, level)).collect(),
            by_data: kinds.map(|kind| find(fill.file, kind, compare.data_level)).collect(),
            by_chip: take.all(self.chips),
            throughput: take.all(self.throughput),
            capacity: holds(fill.file),
            by_size: by_size(scenario).map(|size| (size, holds(size))).collect(),
            readings: Vec::new(),
            virtual_time: Duration::ZERO,
        };
        let readings = take.all(self.readings).into_iter();
        column.readings = readings.map(|reading| reading.beside(&column)).collect();
        Column { virtual_time, ..column }
    }
}

/// Takes what runs made, and adds their times up.
struct Taking<'t>(&'t mut Duration);

impl Taking<'_> {
    fn one<T>(&mut self, slot: Made<T>) -> T {
        let (made, spent) = slot.take();
        *self.0 += spent;
        made
    }

    fn all<T>(&mut self, slots: Vec<Made<T>>) -> Vec<T> {
        slots.into_iter().map(|slot| self.one(slot)).collect()
    }
}

/// The sizes of files whose metadata are compared, the last a file that fills the flash.
fn by_size(scenario: &Scenario) -> impl Iterator<Item = Bytes> + '_ {
    let flash = scenario.file.part.size();
    scenario.compare.files.iter().copied().filter(move |size| *size != flash).chain([flash])
}

/// Files of one size.
fn each(size: Bytes, data: &Data) -> Files {
    Files { size: Sizes::Each(size), data: data.clone() }
}

/// How the flash is filled in all.
fn fills(scenario: &Scenario) -> Fillings {
    let Scenario { fill: Fill { level, file, data }, compare, .. } = scenario;
    let mut all = own_fills(scenario);
    by_size(scenario).for_each(|size| all.until_full(each(size, &Data::Random)));
    compare.files.iter().for_each(|size| all.at(each(*size, data), *level));
    compare.levels.iter().for_each(|other| all.at(each(*file, data), *other));
    compare.data.iter().for_each(|kind| all.at(each(*file, kind), compare.data_level));
    all
}

/// How it is filled without what is compared: to the level of the scenario, and with what does not compress to the end.
pub(super) fn own_fills(scenario: &Scenario) -> Fillings {
    let Fill { level, file, data } = &scenario.fill;
    let mut own = Fillings::default();
    own.at(each(*file, data), *level);
    own.until_full(each(*file, &Data::Random));
    own
}

/// About what tiobench takes: its files may be written anew until the flash is full, and the page cache holds them as
/// well.
pub(super) fn memory_of_tiobench(scenario: &Scenario) -> Bytes {
    scenario.tiobench.size * u64::from(scenario.tiobench.threads) * 3
}

/// About what a run takes that fills a flash with files of one size: the flash, and what the filesystem and the caches
/// hold of each file.
pub(crate) fn memory(flash: Bytes, level: Ratio, file: Bytes) -> Bytes {
    const EACH: Bytes = Bytes::kib(2);
    let content = level.of(flash);
    content + Bytes::new(flash.get() / 16) + EACH * (content.get() / file.get().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nandfs::fs;
    use boardlab_experiment::NEVER;
    use boardlab_parts::catalog;
    use boardlab_sim::Seed;

    /// Everything of a small part, with a port that costs `port`.
    fn measured(port: Port) -> Vec<Column> {
        measured_with(port, &[])
    }

    /// The same with further values set.
    fn measured_with(port: Port, more: &[&str]) -> Vec<Column> {
        let set = [
            "part.geometry.blocks=64",
            "fill.file=16 KiB",
            "compare.files=[\"16 KiB\"]",
            "compare.levels=[\"75 %\"]",
            "compare.data=[\"text\"]",
            "compare.chips=[\"16 MiB\"]",
            "tiobench.size=1 MiB",
            "tiobench.random=20",
            "tiobench.data=[\"zero\", \"random\"]",
        ];
        let set = [&set, more].concat();
        let document = catalog::compose("nand-filesystems", &set).expect("built in");
        let scenario =
            document.read(|section| Scenario::read(section, fs::ALL)).expect("built in").value;
        let request = Request {
            document: &document,
            scenario: "nand-filesystems",
            seed: Seed::new(1),
            progress: &|_| (),
            stop: &NEVER,
        };
        columns(&request, &scenario, port, Crew::default())
            .unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_slower_port_takes_as_much_longer_as_the_counts_say() {
        let port =
            Port { per_command: Duration::from_micros(37), per_byte: Duration::from_nanos(13) };
        let (without, with) = (measured(Port::default()), measured(port));
        let times = |column: &Column| {
            let Column { mounting, throughput, .. } = column;
            let phases = throughput.iter().flat_map(|run| run.phases.map(|phase| phase.run));
            [mounting.mount, mounting.ls].into_iter().chain(phases).collect::<Vec<_>>()
        };
        // LogFS compresses its journal, and the times of files are in it: the checksum of an entry is a byte's work
        // longer or shorter.
        let off = |system: &str| Duration::from_nanos(if system == "logfs" { 1_000 } else { 0 });
        for (one, other) in without.iter().zip(&with) {
            for (without, with) in times(one).into_iter().zip(times(other)) {
                let (system, expected) = (one.system, without.with(port));
                assert_eq!(without.counts, with.counts, "{system}");
                let difference = expected.max(with.time) - expected.min(with.time);
                assert!(difference <= off(system), "{system}: {expected} instead of {}", with.time);
            }
        }
    }

    #[test]
    fn switched_on_errors_are_corrected_and_never_reach_a_file() {
        let worn = ["errors.bits=true", "errors.pe_cycles=60000", "errors.factory_bad=5 %"];
        let port = Port::default();
        let (sound, worn) = (measured(port), measured_with(port, &worn));
        let [jffs2, yaffs2, logfs, ubifs] =
            [0, 1, 2, 3].map(|at| [&worn, &sound].map(|all| all[at].capacity.stored));
        assert!(jffs2[0] < jffs2[1], "bad blocks take room");
        assert!(yaffs2[0] < yaffs2[1], "bad blocks take room");
        assert!(logfs[0] <= logfs[1], "LogFS keeps segments for them from the start");
        assert!(ubifs[0] <= ubifs[1], "UBI keeps blocks for them from the start");
    }

    #[test]
    fn a_flash_has_the_wear_and_the_errors_that_the_scenario_asks_for() {
        for (set, erases, wrong) in
            [(&[][..], 1, false), (&["errors.bits=true", "errors.pe_cycles=5000"], 5_001, true)]
        {
            let small = ["part.geometry.blocks=64", "tiobench.size=1 MiB"];
            let set = [&small[..], set].concat();
            let document = catalog::compose("nand-filesystems", &set).expect("built in");
            let scenario =
                document.read(|section| Scenario::read(section, fs::ALL)).expect("right").value;
            let (_, system) = &scenario.systems[0];
            let port = Port::default();
            let lab = Lab::new(&scenario, &**system, (Seed::new(1), port));
            let flash = lab.fresh().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(flash.erase_counts()[63], erases);
            let Flash::Nand(nand) = flash else { panic!("no NAND") };
            assert_eq!(nand.port.die().errors().is_some(), wrong);
        }
    }
}
