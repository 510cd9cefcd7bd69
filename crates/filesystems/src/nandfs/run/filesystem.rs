//! A run of a filesystem on the scenario's board: fill, mount, ls, tiobench.
//!
//! Layer: rank 10. Main type: [`Lab`], the basis of all runs. A flash is filled once for all levels and
//! forked at each of them.
//!
//! Before any measurement the flash is mounted once, and the background work erases and marks all of
//! its blocks, as `flash_eraseall -j` and `ubiformat` leave them. `ls` lists every directory and reads
//! every inode, as `ls -lR` does, so it waits for whatever the mount left to do for any of them. Each
//! phase of tiobench begins with an empty page cache: otherwise the reads of a file that fits the memory
//! would never reach the flash.

use super::measure::{Capacity, Chip, ChipAttach, Counts, Mounting, Phase, Throughput, TimedWork};
use crate::nandfs::fs::{AttachBy, Mounted, OnFlash, System};
use crate::nandfs::scenario::errors::Errors;
use crate::nandfs::scenario::{Fill, Kernel, Scenario, Tiobench as Options};
use boardlab_document::quantity::Ratio;
use boardlab_experiment::Cause;
use boardlab_experiment::heap;
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

/// A filesystem below a page cache.
pub(super) type Cached = Mount<Box<dyn Mounted>>;

/// The files that fill a flash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files {
    pub(super) size: Bytes,
    pub(super) data: Data,
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
    /// A flash of the scenario with an empty filesystem, every block erased and marked.
    pub(super) fn fresh(&self) -> Result<Nand, Cause> {
        self.made(self.erased(Arc::new(self.scenario.file.part.clone()))?, &mut Clock::new())
    }

    /// An erased flash of `part`.
    fn erased(&self, part: Arc<Part>) -> Result<Nand, Cause> {
        Ok(attach(self.scenario, part, self.port, (self.seed, &self.scenario.errors))?)
    }

    /// `nand` with an empty filesystem, every block erased and marked.
    pub(super) fn made(&self, nand: Nand, clock: &mut Clock) -> Result<Nand, Cause> {
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
    pub(super) fn chip(&self, size: Bytes) -> Result<(Chip, Duration), Cause> {
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
        (level, Files { size, data }, files): (Ratio, &Files, u64),
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
            file: *size,
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
    pub(super) fn fill(
        &self,
        kind: &Files,
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
        let Fill { file: size, data, .. } = self.scenario.fill.clone();
        let mut all = self.fill(&Files { size, data }, &[level], nand, clock)?;
        all.pop().ok_or_else(|| Error::from(Errno::NoSpc).into())
    }

    /// Writes file number `file`, a hundred to a directory.
    fn write_file<F: FileSystem>(
        &self,
        mount: &mut Mount<F>,
        clock: &mut Clock,
        file: u64,
        Files { size, data }: &Files,
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
        data: &Data,
        nand: Nand,
        clock: &mut Clock,
    ) -> Result<Throughput, Cause> {
        let Options { block, size, random, threads, presize, .. } = self.scenario.tiobench;
        let job = Tiobench {
            threads,
            size,
            block,
            random_operations: random,
            data: data.clone(),
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
        let kind = Files { size, data: Data::Random };
        for file in 0.. {
            match self.write_file(&mut mount, clock, file, &kind) {
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

/// The fill level that the filesystem would report after a commit.
pub(super) fn used(mount: &mut Cached, clock: &mut Clock) -> Result<Ratio, Error> {
    let space = mount.statfs(clock)?;
    let uncounted = mount.fs().uncounted().get() / u64::from(space.block_size.max(1));
    let used = u128::from(space.blocks - space.free.min(space.blocks) + uncounted) * 1_000_000;
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
