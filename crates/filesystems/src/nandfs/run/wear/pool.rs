//! Wear of the blocks of a flash over a whole life, from what was observed of a filesystem.
//!
//! Layer: rank 10. Main types: [`Pool`], [`Outcome`]. Blocks with data that lie still are cold; all others take the
//! erases, one after another by the rule of the filesystem, and now and then a cold one changes places with one of
//! them. Every block dies after the erases that the model of the part gives it. Nothing is written or read, so that a
//! life of 100,000 cycles takes a second. Model and limits: `docs/models/wear-levelling.md`.

use crate::nandfs::fs::{Levelling, Moves, Pick};
use boardlab_sim::Seed;
use boardlab_ubi::Tree;
use std::collections::{BTreeSet, VecDeque};

/// The most rated cycles that are gone through one by one; more are scaled to so many, thresholds with them.
pub(crate) const CYCLES_MAX: u32 = 10_000;

/// What a life depends on.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    pub levelling: Levelling,
    /// The difference of erase counters at which blocks change places, if that is the rule.
    pub threshold: u32,
    /// Thousandths of erases from one change of places to the next, if that is the rule.
    pub erases_per_move: Option<u64>,
    /// For each block how many erases it survives, and how many it had before.
    pub lives: Vec<u64>,
    pub before: Vec<u64>,
    /// The blocks that take the erases at first, and those of the journal.
    pub hot: Vec<u32>,
    pub journal: Vec<u32>,
    /// The share of all erases that those of the journal take.
    pub journal_share: f64,
    /// Blocks that hold the file while it is written anew.
    pub held: usize,
    /// How many blocks may die.
    pub spare: usize,
    /// The seed of the moves of data at rest.
    pub seed: Seed,
}

/// How long a life lasts, in erases for the file; those of moves by a threshold come on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Until the first block dies.
    pub first: u64,
    /// Until the filesystem cannot write any more.
    pub end: u64,
}

/// Free blocks in the order in which they are picked.
enum Free {
    InTurn(VecDeque<u32>),
    Median { tree: Tree<(u64, u32)>, apart: u64 },
}

impl Free {
    fn new(pick: Pick, threshold: u64) -> Self {
        match pick {
            Pick::InTurn => Self::InTurn(VecDeque::new()),
            Pick::Median => Self::Median { tree: Tree::new(), apart: threshold },
        }
    }

    fn add(&mut self, erases: u64, block: u32) {
        match self {
            Self::InTurn(all) => all.push_back(block),
            Self::Median { tree, .. } => tree.insert((erases, block)),
        }
    }

    fn pick(&mut self) -> Option<u32> {
        match self {
            Self::InTurn(all) => all.pop_front(),
            Self::Median { tree, apart } => {
                let ((least, _), (most, _)) = (tree.first()?, tree.last()?);
                // As `find_mean_wl_entry`: the root, unless the counters are too far apart.
                let key = match most - least < 2 * *apart {
                    true => tree.root()?,
                    false => below(tree, least + *apart)?,
                };
                tree.remove(key);
                Some(key.1)
            }
        }
    }

    /// Takes the most worn block for data that lie still, if it is so far above `least`.
    fn pick_most_worn(&mut self, least: u64) -> Option<u32> {
        let Self::Median { tree, apart } = self else { return None };
        let ((lowest, _), (most, _)) = (tree.first()?, tree.last()?);
        if most < least + *apart {
            return None;
        }
        let key = below(tree, lowest + 2 * *apart)?;
        tree.remove(key);
        Some(key.1)
    }
}

/// The most worn block below a limit; the least worn one if none is.
fn below(tree: &Tree<(u64, u32)>, limit: u64) -> Option<(u64, u32)> {
    tree.last_where(|(erases, _)| erases < limit).or_else(|| tree.first())
}

/// Blocks whose data lie still, in the order in which they are moved.
struct Cold {
    by_wear: bool,
    turns: u64,
    all: BTreeSet<(u64, u32)>,
}

impl Cold {
    fn add(&mut self, erases: u64, block: u32) {
        self.turns += 1;
        self.all.insert((if self.by_wear { erases } else { self.turns }, block));
    }

    fn take(&mut self) -> Option<u32> {
        self.all.pop_first().map(|(_, block)| block)
    }
}

/// A life as it goes on.
struct Simulation<'p> {
    pool: &'p Pool,
    threshold: u64,
    erases: Vec<u64>,
    total: u64,
    dead: usize,
    first: Option<u64>,
    free: Free,
    held: VecDeque<u32>,
    cold: Cold,
    journal: VecDeque<u32>,
}

impl Pool {
    /// Goes through a life.
    pub(crate) fn lasts(&self) -> Outcome {
        let threshold = u64::from(self.threshold.max(1));
        let Levelling { pick, moves } = self.levelling;
        let blocks = u32::try_from(self.lives.len()).expect("block numbers fit u32");
        let by_wear = matches!(moves, Moves::Apart | Moves::LeastWorn);
        let mut living = Simulation {
            pool: self,
            threshold,
            erases: self.before.clone(),
            total: 0,
            dead: 0,
            first: None,
            free: Free::new(pick, threshold),
            held: VecDeque::new(),
            cold: Cold { by_wear, turns: 0, all: BTreeSet::new() },
            journal: self.journal.iter().copied().collect(),
        };
        for (block, &erases) in (0..blocks).zip(&self.before) {
            if self.hot.contains(&block) {
                living.free.add(erases, block);
            } else if !self.journal.contains(&block) {
                living.cold.add(erases, block);
            }
        }
        living.live()
    }
}

impl Simulation<'_> {
    fn live(mut self) -> Outcome {
        let (mut of_journal, mut chance) = (0.0, self.pool.seed.stream("nandwear.moves"));
        while self.dead <= self.pool.spare {
            of_journal += self.pool.journal_share;
            let goes_on = if of_journal >= 1.0 && !self.journal.is_empty() {
                of_journal -= 1.0;
                self.erase_journal()
            } else {
                self.erase_free()
            };
            if !goes_on {
                break;
            }
            match self.pool.levelling.moves {
                Moves::Never => {}
                // A rule that chances to agree with the turns of the blocks would spare some for ever.
                Moves::Oldest | Moves::LeastWorn => {
                    if self.pool.erases_per_move.is_some_and(|each| chance.below(each) < 1_000) {
                        self.move_cold();
                    }
                }
                Moves::Apart => self.move_apart(),
            }
        }
        Outcome { first: self.first.unwrap_or(self.total), end: self.total }
    }

    fn erases(&mut self, block: u32) -> &mut u64 {
        &mut self.erases[usize::try_from(block).expect("usize holds u32")]
    }

    /// Erases a block; whether that succeeds.
    fn erase(&mut self, block: u32) -> bool {
        let at = usize::try_from(block).expect("usize holds u32");
        if self.erases[at] >= self.pool.lives[at] {
            self.dead += 1;
            self.first.get_or_insert(self.total);
            return false;
        }
        self.erases[at] += 1;
        true
    }

    /// Erases the next free block for the file; `false` if there is none.
    fn erase_free(&mut self) -> bool {
        while let Some(block) = self.free.pick() {
            if self.erase(block) {
                self.total += 1;
                self.held.push_back(block);
                if self.held.len() > self.pool.held {
                    let freed = self.held.pop_front().expect("not empty");
                    let erases = *self.erases(freed);
                    self.free.add(erases, freed);
                }
                return true;
            }
            if self.dead > self.pool.spare {
                return false;
            }
            // Garbage collection packs data that lie still, so that another block takes part.
            let packs = self.pool.levelling.moves == Moves::LeastWorn;
            if let Some(block) = packs.then(|| self.cold.take()).flatten() {
                let erases = *self.erases(block);
                self.free.add(erases, block);
            }
        }
        false
    }

    /// Erases the next block of the journal. Those that die are left out; the last one ends it all.
    fn erase_journal(&mut self) -> bool {
        while let Some(block) = self.journal.pop_front() {
            if self.erase(block) {
                self.total += 1;
                self.journal.push_back(block);
                self.move_journal();
                return true;
            }
        }
        false
    }

    /// Moves the journal when its blocks are more than twice the threshold above the least worn free one.
    fn move_journal(&mut self) {
        let Free::InTurn(free) = &mut self.free else { return };
        let erases = |block: &u32| self.erases[usize::try_from(*block).expect("usize holds u32")];
        let of_journal = self.journal.iter().map(erases).min();
        let of_free = free.iter().map(erases).min();
        let (Some(of_journal), Some(of_free)) = (of_journal, of_free) else { return };
        if of_journal <= of_free + 2 * self.threshold {
            return;
        }
        free.make_contiguous().sort_by_key(erases);
        let count = self.pool.journal.len().min(free.len());
        let least = free.drain(..count).collect();
        free.extend(std::mem::replace(&mut self.journal, least));
    }

    /// Moves data that lie still into the block that was written last; theirs becomes free.
    fn move_cold(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let Some(freed) = self.cold.take() else { return };
        let into = self.held.pop_back().expect("some are held");
        let erases = *self.erases(into);
        self.cold.add(erases, into);
        let erases = *self.erases(freed);
        self.free.add(erases, freed);
    }

    /// Moves data that lie still from the least worn block to a worn one if they are far apart.
    fn move_apart(&mut self) {
        let Some(&(least, _)) = self.cold.all.first() else { return };
        let Some(into) = self.free.pick_most_worn(least) else { return };
        let freed = self.cold.take().expect("there is a first");
        let erases = *self.erases(into);
        self.cold.add(erases, into);
        if self.erase(freed) {
            let erases = *self.erases(freed);
            self.free.add(erases, freed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: u32 = 100;
    const CYCLES: u64 = 500;

    /// A pool of equal blocks, of which so many are hot.
    fn pool(pick: Pick, moves: Moves, hot: u32) -> Pool {
        Pool {
            levelling: Levelling { pick, moves },
            threshold: 20,
            erases_per_move: Some(5_000),
            lives: vec![CYCLES; BLOCKS as usize],
            before: vec![0; BLOCKS as usize],
            hot: (0..hot).collect(),
            journal: Vec::new(),
            journal_share: 0.0,
            held: 2,
            spare: 0,
            seed: Seed::new(1),
        }
    }

    /// What all blocks, or so many of them, can take.
    fn share(lasted: u64, blocks: u32) -> f64 {
        lasted as f64 / (u64::from(blocks) * CYCLES) as f64
    }

    #[test]
    fn without_moves_the_hot_blocks_alone_wear() {
        let lasted = pool(Pick::InTurn, Moves::Never, 20).lasts();
        assert_eq!((lasted.first, lasted.end), (20 * CYCLES, 20 * CYCLES));
        let more = Pool { spare: 20, ..pool(Pick::InTurn, Moves::Never, 20) }.lasts();
        assert_eq!(more.end, 20 * CYCLES, "no block is left that could be worn");
    }

    #[test]
    fn moves_level_the_wear_of_all_blocks() {
        for (pick, moves) in [
            (Pick::InTurn, Moves::Oldest),
            (Pick::InTurn, Moves::LeastWorn),
            (Pick::Median, Moves::Apart),
        ] {
            let lasted = pool(pick, moves, 20).lasts();
            let reached = share(lasted.first, BLOCKS);
            assert!((0.75..=1.0).contains(&reached), "{moves:?}: {reached}");
        }
    }

    /// Where nothing lies still there is nothing to move, and no block may get lost.
    #[test]
    fn a_flash_without_data_at_rest_wears_evenly() {
        for moves in [Moves::Never, Moves::Oldest, Moves::LeastWorn] {
            let lasted = pool(Pick::InTurn, moves, BLOCKS).lasts();
            assert!(share(lasted.first, BLOCKS) > 0.99, "{moves:?}: {lasted:?}");
        }
    }

    #[test]
    fn a_threshold_above_the_cycles_levels_nothing() {
        let lasted = Pool { threshold: 1_000, ..pool(Pick::Median, Moves::Apart, 20) }.lasts();
        // Of the free blocks those of more than medium wear take turns: `find_mean_wl_entry`.
        let reached = share(lasted.first, 20);
        assert!((0.4..=1.0).contains(&reached), "{reached}");
    }

    #[test]
    fn a_journal_wears_its_own_blocks_until_it_is_moved() {
        let journal = |threshold| Pool {
            threshold,
            journal: vec![98, 99],
            journal_share: 0.5,
            ..pool(Pick::InTurn, Moves::Never, 20)
        };
        let fixed = journal(1_000).lasts();
        // Half of the erases are those of the file.
        assert!((share(fixed.first, 2) - 2.0).abs() < 0.02, "{fixed:?}");
        let moved = journal(10).lasts();
        assert!(share(moved.first, 22) > 0.8, "{moved:?}");
    }

    #[test]
    fn a_life_goes_on_from_the_wear_before() {
        let new = pool(Pick::InTurn, Moves::Never, 20);
        let worn = Pool { before: vec![100; BLOCKS as usize], ..new };
        assert_eq!(worn.lasts().first, 20 * (CYCLES - 100));
    }
}
