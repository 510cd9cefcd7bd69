//! Wear: what a filesystem does to the blocks of a flash in the long run, and how long these live.
//!
//! Layer: rank 10. Main types: [`Base`], which adds the runs to a crew, and [`Course`], a filesystem at a fill level.
//! `rewriting` are the runs on the model, and `pool` goes through the lives of parts that no run could wear out.

mod pool;
mod rewriting;

use super::stand::Stand;
use crate::nandfs::flash::{NAND, Wired};
use crate::nandfs::fs::System;
use crate::nandfs::scenario::KernelSettings;
use boardlab_document::quantity::Ratio;
use boardlab_experiment::Cause;
use boardlab_experiment::crew::{Crew, Slot};
use boardlab_media::Lifetime;
use boardlab_parts::machine::Machine;
use boardlab_result::prose::float;
use boardlab_sim::{Bytes, Duration, Seed};
use boardlab_workload::data::Data;
use pool::{CYCLES_MAX, Pool};
pub(crate) use rewriting::{End, Mounts, Observation};
use std::sync::Arc;

/// What to try when a filesystem fails.
const HELP: &str = "a lower fill level or a larger flash may do, among the keys of wear";
/// A threshold that no erase counter of an observation reaches.
const UNREACHED: u32 = 1 << 28;
/// About what a run takes besides the flash.
const MEMORY: Bytes = Bytes::mib(24);

/// A filesystem at a level.
#[derive(Debug)]
pub(crate) struct Course {
    pub(crate) system: &'static str,
    pub(crate) level: Ratio,
    pub(crate) seen: Observation,
    /// By the rated cycles.
    pub(crate) lives: Vec<(u64, Life)>,
    /// Parts that ran to their end, with what was expected of them.
    pub(crate) checks: Vec<Check>,
    pub(crate) spent: Duration,
}

/// A life that was extrapolated, in writings of the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Life {
    /// Until the first block dies.
    pub(crate) first: f64,
    /// Until the filesystem cannot write any more.
    pub(crate) end: f64,
}

/// A part of few cycles that ran to its end.
#[derive(Debug)]
pub(crate) struct Check {
    /// The rated cycles of the part whose levelling it has in proportion; `None` if levelling does not depend on them.
    pub(crate) of: Option<u64>,
    pub(crate) expected: Life,
    pub(crate) ended: End,
}

/// A filesystem with what its runs will give.
pub(crate) struct Pieces<'s> {
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
pub(crate) struct Base<'s> {
    pub(crate) wired: Wired<'s>,
    pub(crate) machine: &'s Machine,
    pub(crate) kernel: KernelSettings,
    pub(crate) load: Load,
    /// How full the flash is of data at rest.
    pub(crate) levels: &'s [Ratio],
    /// Rated cycles of the parts whose lives are extrapolated.
    pub(crate) endurance: &'s [u64],
    /// Rated cycles of parts that run to their end, and how full these are; none do if either is nothing.
    pub(crate) check_cycles: u32,
    pub(crate) check_levels: &'s [Ratio],
    pub(crate) seed: Seed,
}

/// One file that is written over and over beside files at rest.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    /// The size of the flash, in blocks of the part.
    pub(crate) chip: Bytes,
    /// Size of each file at rest.
    pub(crate) rest: Bytes,
    /// Size of the file that is written over and over.
    pub(crate) file: Bytes,
    /// Data of all files.
    pub(crate) data: Data,
    /// From one writing to the next.
    pub(crate) period: Duration,
}

impl Base<'_> {
    fn stand<'s>(&'s self, system: &'s dyn System) -> Stand<'s> {
        let Self { wired, machine, kernel, seed, .. } = *self;
        Stand { wired, machine, kernel, system, seed, read_only: false }
    }

    /// Adds all runs of filesystems to a crew.
    pub(crate) fn begin<'w>(
        &'w self,
        systems: impl Iterator<Item = (&'static str, &'w Arc<dyn System>)>,
        crew: &mut Crew<'w>,
    ) -> Vec<Pieces<'w>> {
        systems.map(|system| self.begin_one(system, crew)).collect()
    }

    /// Adds those of one, the longest first.
    fn begin_one<'w>(
        &'w self,
        (name, system): (&'static str, &'w Arc<dyn System>),
        crew: &mut Crew<'w>,
    ) -> Pieces<'w> {
        let load = &self.load;
        let memory = load.chip + MEMORY;
        let levels = self.levels.iter().map(|&level| {
            let told = move |error: Cause| Cause::from(format!("at {level}: {error}"));
            let checked = self.check_cycles > 0 && self.check_levels.contains(&level);
            let parts = if checked { self.scaled(system) } else { Vec::new() };
            let ends = parts.into_iter().map(|(of, system)| {
                let run = move || {
                    let stand = self.stand(&*system);
                    rewriting::to_the_end(stand, load, (level, self.check_cycles)).map_err(told)
                };
                (of, crew.add_large(name, HELP, memory, run))
            });
            let ends = ends.collect();
            let watched = unlevelled(system);
            let run = move || rewriting::observe(self.stand(&*watched), load, level).map_err(told);
            AtLevel { level, ends, seen: crew.add_large(name, HELP, memory, run) }
        });
        let levels = levels.collect();
        let run = move || rewriting::capacity(self.stand(&**system), load);
        Pieces { name, system, levels, capacity: crew.add_large(name, HELP, memory, run) }
    }

    /// The filesystem on parts of few cycles: as it is, or with its levelling in proportion to each rating.
    fn scaled(&self, system: &Arc<dyn System>) -> Vec<(Option<u64>, Arc<dyn System>)> {
        let Some(threshold) = system.wear_threshold() else {
            return vec![(None, Arc::clone(system))];
        };
        let each = self.endurance.iter().filter_map(|&cycles| {
            let threshold = in_proportion(threshold, (cycles, self.check_cycles));
            // No part of so few cycles can level as finely.
            let system = system.with_wear_threshold(threshold).filter(|_| threshold > 0)?;
            Some((Some(cycles), system))
        });
        each.collect()
    }
}

/// The filesystem without levelling by a threshold, which a life adds.
fn unlevelled(system: &Arc<dyn System>) -> Arc<dyn System> {
    let other = system.wear_threshold().and_then(|_| system.with_wear_threshold(UNREACHED));
    other.unwrap_or_else(|| Arc::clone(system))
}

/// A threshold of a part with so many rated cycles on one with others.
fn in_proportion(threshold: u32, (cycles, others): (u64, u32)) -> u32 {
    let scaled = u64::from(threshold) * u64::from(others);
    u32::try_from((scaled + cycles / 2) / cycles).unwrap_or(u32::MAX)
}

/// Lives from what was observed.
impl Base<'_> {
    /// What the runs gave, once the crew has performed.
    pub(crate) fn courses(&self, all: Vec<Pieces<'_>>) -> Vec<Course> {
        all.into_iter().flat_map(|pieces| self.courses_of(pieces)).collect()
    }

    fn courses_of(&self, pieces: Pieces<'_>) -> Vec<Course> {
        let Pieces { name, system, capacity, levels } = pieces;
        let capacity = capacity.take();
        let taken = levels.into_iter().map(|one| {
            let ends: Vec<_> = one.ends.into_iter().map(|(of, slot)| (of, slot.take())).collect();
            (one.level, one.seen.take(), ends)
        });
        taken.map(|taken| self.course((name, &**system), capacity, taken)).collect()
    }

    /// A filesystem at a level, from what was observed and from the parts that ran to their end.
    fn course(
        &self,
        (name, system): (&'static str, &dyn System),
        capacity: Bytes,
        (level, seen, ends): (Ratio, Observation, Vec<(Option<u64>, End)>),
    ) -> Course {
        let life = |cycles, like: u64| self.life(system, &seen, capacity, (cycles, like));
        let lives = self.endurance.iter().map(|&cycles| (cycles, life(cycles, cycles)));
        let lives = lives.collect();
        let checks = ends.into_iter().map(|(of, ended)| {
            let cycles = u64::from(self.check_cycles);
            Check { of, expected: life(cycles, of.unwrap_or(cycles)), ended }
        });
        let checks: Vec<_> = checks.collect();
        let spent = checks.iter().map(|check| check.ended.spent);
        let spent = spent.fold(seen.spent, |sum, one| sum + one);
        Course { system: name, level, seen, lives, checks, spent }
    }

    /// A filesystem at every level in one go, without parts that run to their end.
    ///
    /// # Errors
    /// Those of the filesystem, with the level.
    pub(crate) fn courses_in_turn(
        &self,
        (name, system): (&'static str, &Arc<dyn System>),
    ) -> Result<Vec<Course>, Cause> {
        let capacity = rewriting::capacity(self.stand(&**system), &self.load)?;
        let watched = unlevelled(system);
        let each = self.levels.iter().map(|&level| {
            let seen = rewriting::observe(self.stand(&*watched), &self.load, level);
            let seen = seen.map_err(|error| format!("at {level}: {error}"))?;
            Ok(self.course((name, &**system), capacity, (level, seen, Vec::new())))
        });
        each.collect()
    }

    /// The life of a part with so many rated cycles, whose levelling is that of one with `like` in proportion.
    fn life(
        &self,
        system: &dyn System,
        seen: &Observation,
        capacity: Bytes,
        (cycles, like): (u64, u64),
    ) -> Life {
        let Self { wired, kernel, load, .. } = self;
        let gone_through = u32::try_from(cycles).unwrap_or(u32::MAX).min(CYCLES_MAX);
        let setup = Lifetime::new(self.seed.child(NAND), gone_through, 0, 0);
        let block = wired.block_size();
        let blocks = 0..u32::try_from(load.chip / block).expect("few blocks");
        // What is stored takes the same share of the capacity and of the blocks.
        let stored = (seen.rest + load.file).get();
        let count = load.chip / block;
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
            held: usize::try_from(load.file.div_ceil(block)).expect("a few"),
            spare: usize::try_from(spare).expect("few blocks"),
            seed: self.seed,
        };
        let lasted = pool.lasts();
        let scale = float(cycles) / f64::from(gone_through);
        let rewrites = |erases: u64| written + float(erases) * scale / seen.erases_per_rewrite;
        Life { first: rewrites(lasted.first), end: rewrites(lasted.end) }
    }
}
