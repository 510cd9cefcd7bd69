//! A run of a filesystem on the scenario's board: tiobench, and the mount of an empty flash.
//!
//! Layer: rank 10. Main type: [`Lab`], the basis of all runs. [`super::filling`] fills the flash.
//!
//! Before any measurement the flash is mounted once, and the background work erases and marks all of
//! its blocks, as `flash_eraseall -j` and `ubiformat` leave them. Each phase of tiobench begins with an
//! empty page cache: otherwise the reads of a file that fits the memory would never reach the flash.

use super::measure::{Chip, ChipAttach, Phase, Throughput, TimedWork, memory};
use super::stand::Stand;
use crate::nandfs::flash::{Counts, Flash, FlashPart, Wired};
use crate::nandfs::fs::{AttachBy, Mounted, System};
use crate::nandfs::scenario::{Scenario, Tiobench as Options};
use boardlab_experiment::Cause;
use boardlab_parts::nand::board::Port as PortCosts;
use boardlab_sim::{Bytes, Clock, Duration, Instant, Seed};
use boardlab_vfs::Mount;
use boardlab_workload::data::Data;
use boardlab_workload::tiobench::{self, Moment, Test, Tiobench};
use std::ops::Deref;

/// The runs of a scenario with one filesystem.
#[derive(Clone, Copy)]
pub(super) struct Lab<'a> {
    pub(super) scenario: &'a Scenario,
    /// What the port of the board costs.
    pub(super) port: PortCosts,
    stand: Stand<'a>,
}

impl<'a> Deref for Lab<'a> {
    type Target = Stand<'a>;
    fn deref(&self) -> &Stand<'a> {
        &self.stand
    }
}

/// What to try when a filesystem fails.
pub(super) const HELP: &str =
    "less data or a larger part may do: compare `fill` and `tiobench` with the part";

impl<'a> Lab<'a> {
    /// Those of `scenario`, on a port with these costs.
    pub(super) fn new(
        scenario: &'a Scenario,
        system: &'a dyn System,
        (seed, port): (Seed, PortCosts),
    ) -> Self {
        let Scenario { file, board, kernel, errors, .. } = scenario;
        let wired = Wired::Nand { part: &file.part, port, errors };
        let (machine, kernel) = (&board.machine, *kernel);
        let stand = Stand { wired, machine, kernel, system, seed, read_only: false };
        Self { scenario, port, stand }
    }

    /// Runs tiobench with one kind of data on an empty flash.
    pub(super) fn tiobench(
        &self,
        data: &Data,
        flash: Flash,
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
        let mut mount = self.mount(flash, clock, self.page_cache())?;
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
}

/// What an empty flash holds.
impl Stand<'_> {
    /// Mounts an empty filesystem on a flash of `size`, of the scenario's blocks; also returns the virtual time.
    pub(crate) fn chip(&self, size: Bytes) -> Result<(Chip, Duration), Cause> {
        let blocks = u32::try_from(size / self.wired.block_size())?;
        let part = self.wired.resized(blocks, self.wired.endurance());
        let mut clock = Clock::new();
        let attach = self.attaches(&part, &mut clock)?;
        let flash = self.made(self.attach(part)?, &mut clock)?;
        let begun = (clock.now(), Counts::of(&flash));
        let (mount, _) = self.mount_with_attach(flash, &mut clock, self.fill_cache())?;
        let mounted = (clock.now(), Counts::of(mount.fs().flash()));
        let memory = memory(&mount.fs().structures());
        let mount = TimedWork::between(begun, mounted);
        Ok((Chip { size, mount, memory, attach }, clock.now().since(Instant::ZERO)))
    }

    /// Attaches the volume manager of the filesystem, where it has one.
    fn attaches(&self, part: &FlashPart, clock: &mut Clock) -> Result<Option<ChipAttach>, Cause> {
        let mut attach = |by| {
            let flash = self.attach(part.clone())?;
            self.system.attach(&self.setting(), flash, by, clock)
        };
        let Some(scan) = attach(AttachBy::Scan)? else { return Ok(None) };
        Ok(Some(ChipAttach { scan, map: attach(AttachBy::Map)? }))
    }
}

/// Performs `work` with a fork of `fresh`; also returns its virtual time.
pub(crate) fn timed<T>(
    fresh: &Flash,
    work: impl FnOnce(Flash, &mut Clock) -> Result<T, Cause>,
) -> Result<(T, Duration), Cause> {
    let mut clock = Clock::new();
    let made = work(fresh.clone(), &mut clock)?;
    Ok((made, clock.now().since(Instant::ZERO)))
}
