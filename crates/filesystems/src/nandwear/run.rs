//! Runs all filesystems at all levels, and makes the result.
//!
//! Layer: rank 10. Functions: [`check`], [`run`]. Main type: [`Course`], a filesystem at a level.

pub(super) mod pool;
pub(super) mod rewriting;

use super::scenario::{Scenario, UNUSED, Wear};
use super::{charts, findings, tables};
use crate::nandfs::fs::{self, FileSystemType, System};
use crate::nandfs::run::stand::{NAND, Stand};
use crate::nandfs::scenario::errors::Errors;
use crate::nandfs::scenario::without_idle;
use boardlab_codec::crc32;
use boardlab_document::Reading;
use boardlab_document::quantity::Ratio;
use boardlab_experiment::crew::{Crew, Slot};
use boardlab_experiment::{Cause, Failure, Request};
use boardlab_media::Lifetime;
use boardlab_result::RunResult;
use boardlab_result::prose::float;
use boardlab_sim::{Bytes, Duration, Seed};
use pool::{CYCLES_MAX, Pool};
use rewriting::{End, Observation};
use std::sync::Arc;

/// What to try when a filesystem fails.
const HELP: &str = "a lower level or a larger flash may do: compare wear.levels with wear.chip";
/// A threshold that no erase counter of an observation reaches.
const UNREACHED: u32 = 1 << 28;
/// About what a run takes besides the flash.
const MEMORY: Bytes = Bytes::mib(24);

fn read(request: &Request<'_>, types: &[FileSystemType]) -> Result<Reading<Scenario>, Failure> {
    let mut reading = request.document.read(|section| Scenario::read(section, types))?;
    let Scenario { systems, measured, .. } = &reading.value;
    without_idle(&mut reading.parameters, (systems, measured));
    reading.parameters.retain(|one| !UNUSED.iter().any(|(key, _)| one.key.starts_with(key)));
    Ok(reading)
}

/// Checks `request`; a checksum of the sample of files that it names.
pub(super) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    let scenario = read(request, fs::ALL)?.value;
    Ok(scenario.wear.data.sample().map_or(0, |sample| crc32(0, &sample.bytes)))
}

/// Wears flashes out.
pub(super) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    let Reading { value: scenario, parameters } = read(request, fs::ALL)?;
    let courses = courses(request, &scenario)?;
    let mut run = request.blank("Wear of a NAND by filesystem and fill level", parameters);
    run.tables = tables::all(&courses, &scenario);
    findings::add(&mut run, &courses, &scenario);
    charts::draw(&mut run, &courses, &scenario.wear);
    run.virtual_time_ns = courses.iter().map(|one| one.spent.as_nanos()).sum();
    Ok(run)
}

/// A filesystem at a level.
#[derive(Debug)]
pub(super) struct Course {
    pub(super) system: &'static str,
    pub(super) level: Ratio,
    pub(super) seen: Observation,
    /// By the rated cycles.
    pub(super) lives: Vec<(u64, Life)>,
    /// Parts that ran to their end, with what was expected of them.
    pub(super) checks: Vec<Check>,
    pub(super) spent: Duration,
}

/// A life that was extrapolated, in writings of the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Life {
    /// Until the first block dies.
    pub(super) first: f64,
    /// Until the filesystem cannot write any more.
    pub(super) end: f64,
}

/// A part of few cycles that ran to its end.
#[derive(Debug)]
pub(super) struct Check {
    /// The rated cycles of the part whose levelling it has in proportion; `None` if levelling does not depend on them.
    pub(super) of: Option<u64>,
    pub(super) expected: Life,
    pub(super) ended: End,
}

/// A filesystem with what its runs will give.
struct Pieces<'s> {
    name: &'static str,
    system: &'s Arc<dyn System>,
    capacity: Slot<Bytes>,
    levels: Vec<AtLevel>,
}

struct AtLevel {
    level: Ratio,
    seen: Slot<Observation>,
    ends: Vec<(Option<u64>, Slot<End>)>,
}

/// What all runs and lives depend on.
struct Base<'s> {
    scenario: &'s Scenario,
    seed: Seed,
    errors: Errors,
}

fn courses(request: &Request<'_>, scenario: &Scenario) -> Result<Vec<Course>, Failure> {
    let base = Base { scenario, seed: request.seed, errors: Errors::default() };
    let measured = |(name, _): &&(&'static str, _)| scenario.measured.contains(name);
    let mut crew = Crew::default();
    let systems = scenario.systems.iter().filter(measured);
    let all: Vec<_> = systems.map(|(name, system)| base.begin((name, system), &mut crew)).collect();
    crew.perform(request)?;
    Ok(all.into_iter().flat_map(|pieces| base.courses(pieces)).collect())
}

impl Base<'_> {
    fn stand<'s>(&'s self, system: &'s dyn System) -> Stand<'s> {
        let Scenario { file, board, kernel, .. } = self.scenario;
        let (part, kernel, errors, port) = (&file.part, *kernel, &self.errors, board.port);
        Stand { part, board, kernel, errors, port, system, seed: self.seed, read_only: false }
    }

    /// Adds all runs of a filesystem to a crew, the longest first.
    fn begin<'w>(
        &'w self,
        (name, system): (&'static str, &'w Arc<dyn System>),
        crew: &mut Crew<'w>,
    ) -> Pieces<'w> {
        let wear = &self.scenario.wear;
        let memory = wear.chip + MEMORY;
        let levels = wear.levels.iter().map(|&level| {
            let told = move |error: Cause| Cause::from(format!("at {level}: {error}"));
            let checked = wear.check_cycles > 0 && wear.check_levels.contains(&level);
            let parts = if checked { scaled(system, wear) } else { Vec::new() };
            let ends = parts.into_iter().map(|(of, system)| {
                let run =
                    move || rewriting::to_the_end(self.stand(&*system), wear, level).map_err(told);
                (of, crew.add_large(name, HELP, memory, run))
            });
            let ends = ends.collect();
            let watched = unlevelled(system);
            let run = move || rewriting::observe(self.stand(&*watched), wear, level).map_err(told);
            AtLevel { level, ends, seen: crew.add_large(name, HELP, memory, run) }
        });
        let levels = levels.collect();
        let run = move || rewriting::capacity(self.stand(&**system), wear);
        Pieces { name, system, levels, capacity: crew.add_large(name, HELP, memory, run) }
    }
}

/// The filesystem without levelling by a threshold, which a life adds.
fn unlevelled(system: &Arc<dyn System>) -> Arc<dyn System> {
    let other = system.wear_threshold().and_then(|_| system.with_wear_threshold(UNREACHED));
    other.unwrap_or_else(|| Arc::clone(system))
}

/// The filesystem on parts of few cycles: as it is, or with its levelling in proportion to each rating.
fn scaled(system: &Arc<dyn System>, wear: &Wear) -> Vec<(Option<u64>, Arc<dyn System>)> {
    let Some(threshold) = system.wear_threshold() else {
        return vec![(None, Arc::clone(system))];
    };
    let each = wear.endurance.iter().filter_map(|&cycles| {
        let threshold = in_proportion(threshold, (cycles, wear.check_cycles));
        // No part of so few cycles can level as finely.
        let system = system.with_wear_threshold(threshold).filter(|_| threshold > 0)?;
        Some((Some(cycles), system))
    });
    each.collect()
}

/// A threshold of a part with so many rated cycles on one with others.
fn in_proportion(threshold: u32, (cycles, others): (u64, u32)) -> u32 {
    let scaled = u64::from(threshold) * u64::from(others);
    u32::try_from((scaled + cycles / 2) / cycles).unwrap_or(u32::MAX)
}

/// Lives from what was observed.
impl Base<'_> {
    fn courses(&self, pieces: Pieces<'_>) -> Vec<Course> {
        let Pieces { name, system, capacity, levels } = pieces;
        let (wear, capacity) = (&self.scenario.wear, capacity.take());
        let taken = levels.into_iter().map(|one| {
            let ends: Vec<_> = one.ends.into_iter().map(|(of, slot)| (of, slot.take())).collect();
            (one.level, one.seen.take(), ends)
        });
        let courses = taken.map(|(level, seen, ends)| {
            let life = |cycles, like: u64| self.life(&**system, &seen, capacity, (cycles, like));
            let lives = wear.endurance.iter().map(|&cycles| (cycles, life(cycles, cycles)));
            let lives = lives.collect();
            let checks = ends.into_iter().map(|(of, ended)| {
                let cycles = u64::from(wear.check_cycles);
                Check { of, expected: life(cycles, of.unwrap_or(cycles)), ended }
            });
            let checks: Vec<_> = checks.collect();
            let spent = checks.iter().map(|check| check.ended.spent);
            let spent = spent.fold(seen.spent, |sum, one| sum + one);
            Course { system: name, level, seen, lives, checks, spent }
        });
        courses.collect()
    }

    /// The life of a part with so many rated cycles, whose levelling is that of one with `like` in proportion.
    fn life(
        &self,
        system: &dyn System,
        seen: &Observation,
        capacity: Bytes,
        (cycles, like): (u64, u64),
    ) -> Life {
        let Scenario { wear, file, kernel, .. } = self.scenario;
        let gone_through = u32::try_from(cycles).unwrap_or(u32::MAX).min(CYCLES_MAX);
        let setup = Lifetime::new(self.seed.child(NAND), gone_through, 0, 0);
        let block = file.part.geometry.block_size();
        let blocks = 0..u32::try_from(wear.chip / block).expect("few blocks");
        // What is stored takes the same share of the capacity and of the blocks.
        let stored = (seen.rest + wear.file).get();
        let count = wear.chip / block;
        let room = capacity.get().saturating_sub(stored) * count / capacity.get().max(1);
        let spare = seen.reserve.map_or(room, |reserve| room.min(reserve.into()));
        let threshold = system.wear_threshold().unwrap_or_default();
        let lives: Vec<_> = blocks.map(|block| setup.life(block)).collect();
        // It goes on from what was observed while no block had died.
        let (before, written) = match cycles > u64::from(gone_through) {
            true => (vec![0; lives.len()], 0.0),
            false => seen.before_the_first_dies(&lives),
        };
        let pool = Pool {
            levelling: system.levelling(kernel.profile),
            threshold: in_proportion(threshold, (like, gone_through)),
            erases_per_move: seen.erases_per_move,
            lives,
            before,
            hot: seen.hot.clone(),
            journal: seen.journal.clone(),
            journal_share: seen.journal_share,
            held: usize::try_from(wear.file.div_ceil(block)).expect("a few"),
            spare: usize::try_from(spare).expect("few blocks"),
            seed: self.seed,
        };
        let lasted = pool.lasts();
        let scale = float(cycles) / f64::from(gone_through);
        let rewrites = |erases: u64| written + float(erases) * scale / seen.erases_per_rewrite;
        Life { first: rewrites(lasted.first), end: rewrites(lasted.end) }
    }
}
