//! The wear for a page of the host, measured on the card in full and scaled: the correction of the
//! scaled card.
//!
//! Layer: rank 10. Main types: [`Pace`], [`Level`]; function: [`measure`]. At several numbers of good
//! blocks, from all of them to hardly more than the card needs, both are brought into steady state
//! under the load, and the wear for a page written by the host is measured. Their ratio, a line between
//! these points, says for how many pages of the host each page of the scaled card really stands.

use super::model::Model;
use super::places::{Op, Places, Work};
use boardlab_experiment::crew::in_order;
use boardlab_ftl::{Error, PageMapped, Translation, UntimedMedium};
use boardlab_result::prose::float;
use boardlab_sim::{Instant, Seed};
use rayon::prelude::*;

/// Shares of the spare at which wear is measured, in thousandths.
const LEVELS: [u32; 5] = [1_000, 600, 300, 100, 0];
/// The card is written through so many times, in programs, before measuring, in each window, and in
/// windows.
const WARM: u64 = 10;
const WINDOW: u64 = 4;
const WINDOWS: u32 = 8;
/// Two windows that agree so well are enough.
const AGREE: f64 = 0.003;

/// Wear at one number of good blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Level {
    /// Good blocks.
    pub blocks: u32,
    /// Pages of worn blocks for each page of the host, on the card in full: what was programmed, where
    /// blocks are filled and cells cost a whole cycle.
    pub full: f64,
    /// The same on the scaled card, in its own pages and erases.
    pub scaled: f64,
}

/// How a scaled card keeps pace with the real one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pace {
    /// From many blocks to few.
    pub levels: Vec<Level>,
}

impl Pace {
    /// Of a card that is simulated in full.
    pub(crate) const fn full() -> Self {
        Self { levels: Vec::new() }
    }

    /// Pages of the host for each that the scaled card was given for it, with so many good blocks.
    pub(crate) fn at(&self, blocks: u32) -> f64 {
        let ratio = |level: &Level| level.scaled / level.full;
        let above = self.levels.iter().take_while(|level| level.blocks > blocks).count();
        match (above.checked_sub(1).map(|at| &self.levels[at]), self.levels.get(above)) {
            (None, None) => 1.0,
            (Some(one), None) | (None, Some(one)) => ratio(one),
            (Some(more), Some(less)) => {
                let share = f64::from(blocks - less.blocks) / f64::from(more.blocks - less.blocks);
                ratio(less) + (ratio(more) - ratio(less)) * share
            }
        }
    }
}

/// Measures both cards.
pub(crate) fn measure(
    full: &Model,
    scaled: &Model,
    work: &Work,
    seed: Seed,
) -> Result<Pace, Error> {
    let (needed, blocks) = (full.needed().max(scaled.needed()), full.geometry.blocks());
    let spare = blocks.saturating_sub(needed);
    let mut counts: Vec<u32> = LEVELS.iter().map(|share| needed + spare * share / 1_000).collect();
    counts.dedup();
    let each = |&blocks: &u32| {
        let one = |model: &Model| wear(model, work, blocks, seed);
        let (full, scaled) = rayon::join(|| one(full), || one(scaled));
        Ok(Level { blocks, full: full?, scaled: scaled? })
    };
    Ok(Pace { levels: in_order(counts.par_iter().map(each))? })
}

/// Pages of worn blocks for each page of the host, in steady state.
fn wear(model: &Model, work: &Work, blocks: u32, seed: Seed) -> Result<f64, Error> {
    let mut layer = model.with_blocks(blocks, seed)?;
    let mut places = Places::new(work, model, seed);
    let first = places.prepared(work.days.stale, model.geometry.logical_pages());
    layer.write(Instant::ZERO, first)?;
    let pages = u64::from(layer.flash().geometry().pages());
    let block = f64::from(layer.flash().geometry().pages_per_block());
    advance(&mut layer, &mut places, WARM * pages)?;
    let (mut before, mut last) = (f64::INFINITY, 0.0);
    for _ in 0..WINDOWS {
        let (worn, written) = (total(&layer), layer.counters().written);
        advance(&mut layer, &mut places, WINDOW * pages)?;
        let host = float(layer.counters().written - written).max(1.0);
        last = float(total(&layer) - worn) / 1_000.0 / host * block;
        if (last / before - 1.0).abs() < AGREE {
            return Ok(f64::midpoint(last, before));
        }
        before = last;
    }
    Ok(f64::midpoint(last, before))
}

/// Thousandths of cycles of all blocks.
fn total(layer: &PageMapped<UntimedMedium>) -> u64 {
    let Some(health) = layer.flash().health() else { return 0 };
    (0..layer.flash().geometry().blocks()).map(|block| health.worn(block)).sum()
}

/// Runs the load until so many more pages were programmed.
fn advance(
    layer: &mut PageMapped<UntimedMedium>,
    places: &mut Places,
    programs: u64,
) -> Result<(), Error> {
    let end = layer.counters().programs.total() + programs;
    while layer.counters().programs.total() < end {
        batch(layer, places, Instant::ZERO, layer.flash().geometry().pages_per_block())?;
        layer.idle(Instant::ZERO, Instant::ZERO);
    }
    Ok(())
}

/// Writes about so many pages of the load, single ones with a look ahead.
pub(crate) fn batch(
    layer: &mut PageMapped<UntimedMedium>,
    places: &mut Places,
    at: Instant,
    pages: u32,
) -> Result<(), Error> {
    const MOST: usize = 64;
    let mut singles = [0; MOST];
    let (mut held, mut written) = (0, 0);
    while written < pages {
        match places.take() {
            Op::Write(extent) if extent.count == 1 && held < MOST => {
                singles[held] = extent.first;
                held += 1;
                written += 1;
            }
            op => {
                layer.write_each(at, &singles[..held])?;
                held = 0;
                match op {
                    Op::Write(extent) => {
                        layer.write(at, extent)?;
                        written += extent.count;
                    }
                    Op::Trim(extent) => {
                        layer.trim(at, extent)?;
                        written += 1;
                    }
                }
            }
        }
    }
    layer.write_each(at, &singles[..held]).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_levels_the_pace_is_on_the_line() {
        let level = |blocks, full, scaled| Level { blocks, full, scaled };
        let pace = Pace { levels: vec![level(200, 2.0, 1.0), level(100, 4.0, 1.0)] };
        assert!((pace.at(300) - 0.5).abs() < 1e-12);
        assert!((pace.at(150) - 0.375).abs() < 1e-12);
        assert!((pace.at(100) - 0.25).abs() < 1e-12);
        assert!((pace.at(1) - 0.25).abs() < 1e-12);
        assert!((Pace::full().at(5) - 1.0).abs() < 1e-12);
    }
}
