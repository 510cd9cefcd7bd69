//! The runs of one filesystem on the scenario's board: fill, mount, ls, tiobench.
//!
//! Layer: rank 10. Main type: [`Lab`], the basis of all runs. A flash is filled once for all levels and
//! forked at each of them.
//!
//! Before any measurement the flash is mounted once, and the background work erases and marks all of
//! its blocks, as `flash_eraseall -j` and `ubiformat` leave them. `ls` lists every directory and reads
//! every inode, as `ls -lR` does, so it waits for whatever the mount left to do for any of them. Each
//! phase of tiobench begins with an empty page cache: otherwise the reads of a file that fits the memory
//! would never reach the flash.

use super::measure::{
    Capacity, Chip, ChipAttach, Column, Counts, Mounting, Phase, Throughput, TimedWork,
};
use crate::nandfs::fs::{AttachBy, Mounted, OnFlash, System};
use crate::nandfs::scenario::errors::Errors;
use crate::nandfs::scenario::{Fill, Kernel, Scenario, Tiobench as Options};
use boardlab_document::quantity::Ratio;
use boardlab_experiment::crew::{Crew, Slot};
use boardlab_experiment::heap;
use boardlab_experiment::{Cause, Failure, Request};
use boardlab_media::NandGeometry;
use boardlab_nand::chip::Die;
use boardlab_nand::driver::ProfileError;
use boardlab_nand::{Nand, Part, Port, PortTiming, Profile};
use boardlab_parts::nand::board::Port as PortCosts;
use boardlab_sim::{Bytes, Clock, Duration, Instant, Seed};
use boardlab_vfs::{Errno, Error, FileSystem, Mount, Options as CacheOptions};
use boardlab_workload::data::Data;
use boardlab_workload::tiobench::{self, Moment, Test, Tiobench};
use boardlab_workload::{Source, tree};
use std::sync::Arc;

/// A new flash of `part` behind the driver of the scenario's kernel, on a port with these costs.
pub(crate) fn attach(
    scenario: &Scenario,
    part: Arc<Part>,
    costs: PortCosts,
    (seed, errors): (Seed, &Errors),
) -> Result<Nand, ProfileError> {
    let profile = match scenario.kernel.profile {
        Kernel::Linux26 => Profile::linux_2_6(&part)?,
        Kernel::Linux61 => Profile::linux_6_1(&part)?,
    };
    let profile = Profile { verify_write: scenario.kernel.verify_write, ..profile };
    let setup = errors.setup(seed.child("nand"));
    let mut die = Die::new(part, &setup).map_err(ProfileError::Part)?;
    errors.wear(&mut die);
    let timing = PortTiming {
        per_command: costs.per_command,
        per_byte: costs.per_byte,
        ..PortTiming::default()
    };
    let port = Port::new(die, timing).map_err(ProfileError::Part)?;
    Nand::attach(port, profile, &mut Clock::new())
}

/// Measures all filesystems, on a flash behind a port with the costs `port`.
pub(crate) fn columns(
    request: &Request<'_>,
    scenario: &Scenario,
    port: PortCosts,
) -> Result<Vec<Column>, Failure> {
    let column = |(name, system): &(&'static str, Arc<dyn System>)| {
        let lab = Lab { scenario, seed: request.seed, port, system: &**system };
        let mut column = lab.column(name, request)?;
        lab.add_readings(&mut column, request)?;
        Ok(column)
    };
    let measured = |(name, _): &&(&'static str, _)| scenario.measured.contains(name);
    scenario.systems.iter().filter(measured).map(column).collect()
}

/// A filesystem below a page cache.
pub(super) type Cached = Mount<Box<dyn Mounted>>;

/// The files that fill a flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Files {
    size: Bytes,
    data: Data,
}

/// The basis of all runs.
#[derive(Clone, Copy)]
pub(super) struct Lab<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) seed: Seed,
    pub(super) port: PortCosts,
    pub(super) system: &'a dyn System,
}

/// What to try when a filesystem fails.
pub(super) const HELP: &str =
    "less data or a larger part may do: compare `fill` and `tiobench` with the part";
/// Bytes of one write when the flash is filled.
const CHUNK: usize = 32 << 10;
/// The largest page cache while the flash is filled.
const FILL_CACHE: Bytes = Bytes::mib(1);
/// Files of one directory.
const DIRECTORY: u64 = 100;
/// The most background steps; more never end.
const BACKGROUND_MAX: u32 = 10_000_000;

impl Lab<'_> {
    /// Performs all runs of one filesystem on all cores. Those that fill the flash come first: the pool halves the
    /// list, so that two cores seldom hold two full flashes.
    fn column(&self, system: &'static str, request: &Request<'_>) -> Result<Column, Failure> {
        let Scenario { fill, compare, tiobench, .. } = self.scenario;
        let fresh = &self.fresh().map_err(|error| Failure::run(system, error, HELP))?;
        let mut crew = Crew::default();
        let capacity = crew.add(system, HELP, || {
            timed(fresh, |nand, clock| self.capacity(fill.file, nand, clock))
        });
        let fills = self.fills().into_iter().map(|(files, levels)| {
            let fill = move |nand, clock: &mut Clock| self.fill(files, &levels, nand, clock);
            crew.add(system, HELP, move || timed(fresh, fill))
        });
        let fills: Vec<_> = fills.collect();
        let throughput = tiobench.data.iter().rev().map(|&data| {
            let run = move |nand, clock: &mut Clock| self.tiobench(data, nand, clock);
            crew.add(system, HELP, move || timed(fresh, run))
        });
        let throughput: Vec<_> = throughput.collect();
        let chips = compare.chips.iter().rev();
        let chips = chips.map(|&chip| crew.add(system, HELP, move || self.chip(chip)));
        let chips: Vec<_> = chips.collect();
        crew.perform(request)?;
        let (capacity, mut virtual_time) = capacity.take();
        let mut by_chip = Vec::new();
        for (made, spent) in chips.into_iter().rev().map(Slot::take) {
            by_chip.push(made);
            virtual_time += spent;
        }
        let (mut mountings, mut runs) = (Vec::new(), Vec::new());
        for (made, spent) in fills.into_iter().map(Slot::take) {
            mountings.extend(made);
            virtual_time += spent;
        }
        for (made, spent) in throughput.into_iter().rev().map(Slot::take) {
            runs.push(made);
            virtual_time += spent;
        }
        let find = |file: Bytes, data: Data, level: Ratio| {
            let (data, mut all) = (data.to_string(), mountings.iter());
            let found = all
                .find(|one: &&Mounting| (one.file, one.level) == (file, level) && one.data == data);
            found.expect("every file, kind of data and level has its work").clone()
        };
        Ok(Column {
            system,
            errors: self.scenario.errors.rates.is_some(),
            mounting: find(fill.file, fill.data, fill.level),
            by_file: compare.files.iter().map(|&file| find(file, fill.data, fill.level)).collect(),
            by_level: compare.levels.iter().map(|&one| find(fill.file, fill.data, one)).collect(),
            by_data: compare
                .data
                .iter()
                .map(|&one| find(fill.file, one, compare.data_level))
                .collect(),
            by_chip,
            throughput: runs,
            capacity,
            by_size: Vec::new(),
            readings: Vec::new(),
            virtual_time,
        })
    }

    /// Files of one size and kind, with the levels at which mount and ls are measured; the highest levels first.
    fn fills(&self) -> Vec<(Files, Vec<Ratio>)> {
        let Scenario { fill: Fill { level, file: size, data }, ref compare, .. } = *self.scenario;
        let mut all = vec![level];
        all.extend(&compare.levels);
        all.sort_unstable();
        all.dedup();
        let sizes = compare.files.iter().filter(|file| **file != size);
        let sizes = sizes.map(|size| (Files { size: *size, data }, vec![level]));
        // Not on the way to another level: each stop there writes a few nodes.
        let other = compare.data_level;
        let apart = compare.data.iter().filter(|kind| **kind != data || !all.contains(&other));
        let apart = apart.map(|data| (Files { size, data: *data }, vec![other]));
        let (apart, sizes): (Vec<_>, Vec<_>) = (apart.collect(), sizes.collect());
        [vec![(Files { size, data }, all)], sizes, apart].concat()
    }

    /// A flash of the scenario with an empty filesystem, every block erased and marked.
    pub(super) fn fresh(&self) -> Result<Nand, Cause> {
        self.made(self.erased(Arc::new(self.scenario.file.part.clone()))?, &mut Clock::new())
    }

    /// An erased flash of `part`.
    fn erased(&self, part: Arc<Part>) -> Result<Nand, Cause> {
        Ok(attach(self.scenario, part, self.port, (self.seed, &self.scenario.errors))?)
    }

    /// `nand` with an empty filesystem, every block erased and marked.
    fn made(&self, nand: Nand, clock: &mut Clock) -> Result<Nand, Cause> {
        let setting = self.scenario.setting(self.seed);
        let OnFlash { mut fs, .. } = self.system.mount(&setting, nand, clock)?;
        for _ in 0..BACKGROUND_MAX {
            if !fs.background(clock)? {
                break;
            }
        }
        fs.unmount(clock)?;
        fs.into_flash(clock)
    }

    /// Mounts an empty filesystem on a flash of `size`, of the scenario's blocks; also returns the virtual time.
    fn chip(&self, size: Bytes) -> Result<(Chip, Duration), Cause> {
        let geometry = self.scenario.file.part.geometry;
        let blocks = u32::try_from(size / geometry.block_size())?;
        let geometry = NandGeometry { blocks, ..geometry };
        let part = Arc::new(Part { geometry, ..self.scenario.file.part.clone() });
        let mut clock = Clock::new();
        let attach = self.attaches(&part, &mut clock)?;
        let nand = self.made(self.erased(part)?, &mut clock)?;
        let begun = (clock.now(), Counts::of(&nand));
        let (mount, _) = self.mount_with_attach(nand, &mut clock, self.fill_cache())?;
        let mounted = (clock.now(), Counts::of(mount.fs().flash()));
        drop(mount);
        heap::trim();
        let mount = TimedWork::between(begun, mounted);
        Ok((Chip { size, mount, attach }, clock.now().since(Instant::ZERO)))
    }

    /// Attaches the volume manager of the filesystem, where it has one.
    fn attaches(&self, part: &Arc<Part>, clock: &mut Clock) -> Result<Option<ChipAttach>, Cause> {
        let mut attach = |by| {
            let nand = self.erased(Arc::clone(part))?;
            self.system.attach(&self.scenario.setting(self.seed), nand, by, clock)
        };
        let Some(scan) = attach(AttachBy::Scan)? else { return Ok(None) };
        Ok(Some(ChipAttach { scan, map: attach(AttachBy::Map)? }))
    }

    /// The page cache of the board.
    pub(super) fn page_cache(&self) -> Bytes {
        self.scenario.board.page_cache()
    }

    /// The page cache while the flash is filled: files that are written and never read again need none, and a whole
    /// one holds as much of this machine's memory as the flash itself.
    pub(super) fn fill_cache(&self) -> Bytes {
        self.page_cache().min(FILL_CACHE)
    }

    pub(super) fn mount(
        &self,
        nand: Nand,
        clock: &mut Clock,
        cache: Bytes,
    ) -> Result<Mount<Box<dyn Mounted>>, Cause> {
        Ok(self.mount_with_attach(nand, clock, cache)?.0)
    }

    /// Mounts; also returns what the attach of a volume manager below took.
    pub(super) fn mount_with_attach(
        &self,
        nand: Nand,
        clock: &mut Clock,
        cache: Bytes,
    ) -> Result<(Cached, Option<TimedWork>), Cause> {
        let setting = self.scenario.setting(self.seed);
        let OnFlash { fs, attach } = self.system.mount(&setting, nand, clock)?;
        // Linux reads nothing ahead on MTD, and UBIFS switches it off.
        let cache = CacheOptions { readahead: 1, ..CacheOptions::with_cache(cache) };
        Ok((Mount::with_host(fs, self.scenario.board.host(), cache), attach))
    }

    /// Mounts and lists a fork of a filled flash.
    fn mounting(
        &self,
        (level, Files { size, data }, files): (Ratio, Files, u64),
        nand: Nand,
    ) -> Result<Mounting, Cause> {
        let mut clock = Clock::new();
        let begun = (clock.now(), Counts::of(&nand));
        let cache = self.page_cache();
        let (mut mount, attach) = self.mount_with_attach(nand, &mut clock, cache)?;
        let mounted = (clock.now(), Counts::of(mount.fs().flash()));
        let structures = mount.fs().structures();
        tree::list(&mut mount, &mut clock)?;
        let listed = (clock.now(), Counts::of(mount.fs().flash()));
        Ok(Mounting {
            level,
            file: size,
            data: data.to_string(),
            files,
            attach,
            mount: TimedWork::between(begun, mounted),
            ls: TimedWork::between(mounted, listed),
            mounted: structures,
            listed: mount.fs().structures(),
        })
    }

    /// Fills a flash with files of a `kind`, level by level, and mounts a fork of it at each.
    fn fill(
        &self,
        kind: Files,
        levels: &[Ratio],
        mut nand: Nand,
        clock: &mut Clock,
    ) -> Result<Vec<Mounting>, Cause> {
        let (mut files, mut all) = (0, Vec::new());
        for level in levels {
            let mut mount = self.mount(nand, clock, self.fill_cache())?;
            while used(&mut mount, clock)? < *level {
                self.write_file(&mut mount, clock, files, kind)?;
                files += 1;
            }
            nand = unmount(mount, clock)?;
            all.push(self.mounting((*level, kind, files), nand.clone())?);
        }
        Ok(all)
    }

    /// Fills a flash to a level as the scenario says, and mounts it.
    pub(super) fn mounted_at(
        &self,
        level: Ratio,
        nand: Nand,
        clock: &mut Clock,
    ) -> Result<Mounting, Cause> {
        let Fill { file: size, data, .. } = self.scenario.fill;
        let mut all = self.fill(Files { size, data }, &[level], nand, clock)?;
        all.pop().ok_or_else(|| Error::from(Errno::NoSpc).into())
    }

    /// Writes file number `file`, a hundred to a directory.
    fn write_file<F: FileSystem>(
        &self,
        mount: &mut Mount<F>,
        clock: &mut Clock,
        file: u64,
        Files { size, data }: Files,
    ) -> Result<u64, Error> {
        let dir = format!("/d{:04}", file / DIRECTORY);
        if file.is_multiple_of(DIRECTORY) {
            mount.mkdir(clock, &dir, 0o755)?;
        }
        let fd = mount.create(clock, format!("{dir}/f{file:07}"), 0o644)?;
        let seed = self.seed.child(&format!("file.{file}"));
        let mut source = data.source(seed.get());
        let (mut chunk, mut offset) = (vec![0; CHUNK], 0);
        while offset < size.get() {
            let left = Bytes::new(size.get() - offset).to_usize().min(CHUNK);
            source.fill(&mut chunk[..left]);
            let written = match mount.write(clock, fd, offset, &chunk[..left]) {
                Err(error) if error.errno() == Some(Errno::NoSpc) && offset > 0 => 0,
                written => written?,
            };
            offset += u64::try_from(written).expect("a length fits u64");
            if written < left {
                break;
            }
        }
        mount.close(clock, fd)?;
        Ok(offset)
    }

    /// Runs tiobench with one kind of data on an empty flash.
    pub(super) fn tiobench(
        &self,
        data: Data,
        nand: Nand,
        clock: &mut Clock,
    ) -> Result<Throughput, Cause> {
        let Options { block, size, random, threads, presize, .. } = self.scenario.tiobench;
        let job = Tiobench {
            threads,
            size,
            block,
            random_operations: random,
            data,
            seed: self.seed.child("tiobench"),
            presize,
            drop_caches: true,
            verify: true,
            ..Tiobench::default()
        };
        let mut mount = self.mount(nand, clock, self.page_cache())?;
        let mut marks = Vec::new();
        let mut observe =
            |_: Test, _: Moment, mount: &mut Mount<Box<dyn Mounted>>, clock: &mut Clock| {
                marks.push((clock.now(), Counts::of(mount.fs().flash())));
            };
        let results = tiobench::run(&mut mount, clock, &job, &mut observe)?;
        let runs = marks.chunks_exact(2).map(|pair| TimedWork::between(pair[0], pair[1]));
        let each = results.measured.iter().zip(runs);
        let each = each.map(|(measured, run)| Phase { moved: measured.bytes, run });
        let phases: Vec<Phase> = each.collect();
        let phases =
            phases.try_into().unwrap_or_else(|_| unreachable!("all four tests were asked"));
        Ok(Throughput { data: data.to_string(), phases })
    }

    /// Fills a flash with files of one size, of data that do not compress, until there is no space left.
    pub(super) fn capacity(
        &self,
        size: Bytes,
        nand: Nand,
        clock: &mut Clock,
    ) -> Result<Capacity, Cause> {
        let flash = nand.port.part().size();
        let mut mount = self.mount(nand, clock, self.fill_cache())?;
        let mut stored = Bytes::ZERO;
        for file in 0.. {
            let kind = Files { size, data: Data::Random };
            match self.write_file(&mut mount, clock, file, kind) {
                Ok(written) => stored += Bytes::new(written),
                Err(error) if error.errno() == Some(Errno::NoSpc) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let reserved = mount.fs().reserved();
        Ok(Capacity { flash, stored, reserved })
    }
}

/// Performs `work` with a fork of `fresh`; also returns its virtual time.
pub(super) fn timed<T>(
    fresh: &Nand,
    work: impl FnOnce(Nand, &mut Clock) -> Result<T, Cause>,
) -> Result<(T, Duration), Cause> {
    let mut clock = Clock::new();
    let made = work(fresh.clone(), &mut clock)?;
    // The fork is gone, and the next one may be filled on another thread.
    heap::trim();
    Ok((made, clock.now().since(Instant::ZERO)))
}

/// The fill level that the filesystem reports.
pub(super) fn used<F: FileSystem>(mount: &mut Mount<F>, clock: &mut Clock) -> Result<Ratio, Error> {
    let space = mount.statfs(clock)?;
    let used = u128::from(space.blocks - space.free.min(space.blocks)) * 1_000_000;
    let share = used / u128::from(space.blocks.max(1));
    Ok(Ratio::from_millionths(u64::try_from(share).unwrap_or(u64::MAX)))
}

/// Unmounts, and returns the flash.
pub(super) fn unmount(
    mut mount: Mount<Box<dyn Mounted>>,
    clock: &mut Clock,
) -> Result<Nand, Cause> {
    mount.unmount(clock)?;
    mount.into_fs().into_flash(clock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nandfs::fs;
    use boardlab_parts::catalog;

    /// Everything of a small part, with a port that costs `port`.
    fn measured(port: PortCosts) -> Vec<Column> {
        measured_with(port, &[])
    }

    /// The same with further values set.
    fn measured_with(port: PortCosts, more: &[&str]) -> Vec<Column> {
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
        };
        columns(&request, &scenario, port).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_slower_port_takes_as_much_longer_as_the_counts_say() {
        let port = PortCosts {
            per_command: Duration::from_micros(37),
            per_byte: Duration::from_nanos(13),
        };
        let (without, with) = (measured(PortCosts::default()), measured(port));
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
        let port = PortCosts::default();
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
            let port = PortCosts::default();
            let lab = Lab { scenario: &scenario, seed: Seed::new(1), port, system: &**system };
            let nand = lab.fresh().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(nand.port.die().array().erase_count(63), erases);
            assert_eq!(nand.port.die().errors().is_some(), wrong);
        }
    }
}
