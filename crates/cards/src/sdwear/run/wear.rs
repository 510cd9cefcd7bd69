//! The published volume of experiment 1 on the same flash, with different wear levelling.
//!
//! Layer: rank 10. Main types: [`Variant`], [`VariantWear`]; functions: [`variants`], [`run`]. Which blocks
//! wear does not depend on the time of any operation. So the translation layer works on a medium that
//! only counts, begins with an erased card, and gets the requests of the job in order. A block passes
//! the limit in the iteration after which its erases exceed it.
//!
//! Left out: retention errors, and reads of the host.

use super::measure::WearFigures;
use crate::sdwear::scenario::Scenario;
use boardlab_experiment::Cause;
use boardlab_ftl::{
    Counters, EmptyBlocks, EndOfLife, Extent, Levelling, LevellingTime, Translation, UntimedMedium,
    Wear,
};
use boardlab_parts::card::part::CardPart;
use boardlab_parts::managed::Layer;
use boardlab_sim::{Bytes, Instant, Seed};

/// Snapshots of the blocks that a run keeps.
const SNAPSHOTS: u64 = 12;

/// A card with a kind of wear levelling and of end of life.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    /// Its row.
    pub(crate) id: &'static str,
    /// What it is.
    pub(crate) title: String,
    /// The card.
    pub(crate) part: CardPart,
}

/// The wear of a variant after the published volume.
#[derive(Debug, Clone)]
pub(crate) struct VariantWear {
    pub(crate) id: &'static str,
    pub(crate) title: String,
    /// Bytes that the host wrote.
    pub(crate) written: Bytes,
    /// Completed iterations.
    pub(crate) iterations: u64,
    /// When a block passed the limit: the iteration, and the bytes written by then.
    pub(crate) passed: Option<(u64, Bytes)>,
    /// When the card became read-only.
    pub(crate) died: Option<(u64, Bytes)>,
    pub(crate) counters: Counters,
    pub(crate) wear: Wear,
    pub(crate) figures: WearFigures,
    /// Bytes written, and the erases of each block at that point.
    pub(crate) snapshots: Vec<(Bytes, Vec<u32>)>,
}

/// `part` with this levelling, done in the foreground, and with blocks that die or do not.
pub(crate) fn levelled(part: &CardPart, levelling: Levelling, dies: bool) -> CardPart {
    let mut part = part.clone();
    (part.managed.policies.levelling, part.managed.policies.levelling_time) =
        (levelling, LevellingTime::Foreground);
    if let Some(life) = &mut part.managed.life {
        life.end_of_life = if dies { EndOfLife::ReadOnly } else { EndOfLife::Ignored };
    }
    part
}

/// The variants to compare: no levelling, dynamic, static, and dynamic where blocks without valid pages
/// wait for garbage collection; with blocks that die and blocks that do not.
pub(crate) fn variants(scenario: &Scenario) -> Vec<Variant> {
    let (part, threshold) = (&scenario.part, scenario.wear.threshold);
    let kept = |dies| {
        let mut part = levelled(part, Levelling::Dynamic, dies);
        part.managed.policies.emptied = EmptyBlocks::Kept;
        part
    };
    let of = |levelling, dies| levelled(part, levelling, dies);
    let one = |id, title: String, part| Variant { id, title, part };
    let fixed = Levelling::Threshold(threshold);
    vec![
        one("none", "no levelling, blocks do not die".into(), of(Levelling::None, false)),
        one("none-dies", "no levelling, blocks die".into(), of(Levelling::None, true)),
        one("dynamic", "dynamic, blocks die".into(), of(Levelling::Dynamic, true)),
        one("static", format!("static from a spread of {threshold}, blocks die"), of(fixed, true)),
        one("kept", "dynamic, emptied blocks wait for collection".into(), kept(false)),
        one("kept-dies", "the same, blocks die".into(), kept(true)),
    ]
}

/// Writes the published volume to a card of `variant`, with the sequential requests of the job.
pub(crate) fn run(
    scenario: &Scenario,
    variant: &Variant,
    seed: Seed,
) -> Result<VariantWear, Cause> {
    let (part, spec, job) = (&variant.part, &scenario.wear, &scenario.free);
    let capacity = part.face.capacity;
    let bytes = Bytes::new(job.job.jobs[0].settings.largest_block());
    let in_area = (job.size(capacity).min(capacity) / bytes).max(1);
    let mut layer = layer(part, seed)?;
    let (all, pages) = (layer.pages(), pages(bytes, part));
    let extent = |request: u64| {
        let first = request % in_area * u64::from(pages);
        let first = u32::try_from(first).unwrap_or(u32::MAX).min(all - 1);
        Extent::new(first, pages.min(all - first))
    };
    let (requests, iterations) = (spec.volume.div_ceil(bytes), job.iterations);
    let done = |iteration: u64| {
        let share = u128::from(requests) * u128::from(iteration) / u128::from(iterations);
        u64::try_from(share).unwrap_or(u64::MAX)
    };
    let (mut passed, mut died, mut snapshots, mut finished) = (None, None, Vec::new(), 0);
    for iteration in 1..=iterations {
        let mut requests = 0..done(iteration) - done(iteration - 1);
        let outcome =
            requests.try_for_each(|one| layer.write(Instant::ZERO, extent(one)).map(drop));
        let written = host_bytes(&layer, part);
        if passed.is_none() && most_worn(&layer) > spec.endurance {
            passed = Some((iteration, written));
        }
        if outcome.is_err() {
            died = Some((iteration, written));
            break;
        }
        finished = iteration;
        if iteration * SNAPSHOTS / iterations > (iteration - 1) * SNAPSHOTS / iterations {
            snapshots.push((written, layer.wear().erases));
        }
    }
    let wear = layer.wear();
    Ok(VariantWear {
        id: variant.id,
        title: variant.title.clone(),
        written: host_bytes(&layer, part),
        iterations: finished,
        passed,
        died,
        counters: *layer.counters(),
        figures: WearFigures::of(&wear),
        wear,
        snapshots,
    })
}

/// The erased translation layer of `part` on a medium that only counts.
pub(crate) fn layer(part: &CardPart, seed: Seed) -> Result<Layer<UntimedMedium>, Cause> {
    let geometry = part.geometry()?;
    Ok(Layer::new(&part.managed, geometry, UntimedMedium::new(&geometry), seed)?)
}

/// The pages of `part` that `bytes` take.
pub(crate) fn pages(bytes: Bytes, part: &CardPart) -> u32 {
    u32::try_from(bytes.div_ceil(part.managed.page)).unwrap_or(u32::MAX)
}

/// Bytes that the host wrote.
pub(crate) fn host_bytes(layer: &Layer<UntimedMedium>, part: &CardPart) -> Bytes {
    part.managed.page * layer.counters().written
}

/// Erases of the most worn block.
pub(crate) fn most_worn(layer: &Layer<UntimedMedium>) -> u32 {
    layer.wear().erases.iter().copied().max().unwrap_or(0)
}
