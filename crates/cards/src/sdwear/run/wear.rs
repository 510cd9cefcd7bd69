//! The same bytes with other wear levelling: the published volume of experiment 1 on the same flash.
//!
//! Layer: rank 10. Main types: [`Variant`], [`Worn`]; functions: [`variants`], [`run`]. Where blocks wear does not
//! depend on how long anything takes, so the translation layer works on a medium that only counts, from an erased
//! card on, and gets the requests of the job in order. A block passes the limit in the iteration after which its
//! erases are found to be more.
//!
//! Left out: data that fade, and what the host would have read.

use super::measure::WearFigures;
use crate::sdwear::scenario::Scenario;
use boardlab_experiment::Cause;
use boardlab_ftl::{
    Counters, EmptyBlocks, EndOfLife, Error, Extent, Levelling, LevellingTime, Translation,
    Untimed, Wear,
};
use boardlab_parts::card::part::CardPart;
use boardlab_parts::managed::Layer;
use boardlab_result::prose::float;
use boardlab_sim::{Bytes, Instant, Seed};

/// States of the blocks that are kept of a run.
const SNAPSHOTS: u64 = 12;

/// A way to level wear, and what happens at the end of life.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    /// Its row.
    pub(crate) id: &'static str,
    /// What it is.
    pub(crate) title: String,
    /// The card.
    pub(crate) part: CardPart,
}

/// What came of it.
#[derive(Debug, Clone)]
pub(crate) struct Worn {
    pub(crate) id: &'static str,
    pub(crate) title: String,
    /// What the host wrote.
    pub(crate) written: Bytes,
    /// Iterations that were finished.
    pub(crate) iterations: u64,
    /// When a block passed the limit: iteration, and bytes until then.
    pub(crate) passed: Option<(u64, Bytes)>,
    /// When the card took no more data.
    pub(crate) died: Option<(u64, Bytes)>,
    pub(crate) counters: Counters,
    pub(crate) wear: Wear,
    pub(crate) figures: WearFigures,
    /// Bytes written, and erases of each block then.
    pub(crate) snapshots: Vec<(Bytes, Vec<u32>)>,
}

impl Worn {
    /// Programs for each page of the host.
    pub(crate) fn amplification(&self) -> f64 {
        float(self.counters.amplification_millionths()) / 1e6
    }
}

/// The part with this levelling in the way, and blocks that die or do not.
pub(crate) fn levelled(part: &CardPart, levelling: Levelling, dies: bool) -> CardPart {
    let mut part = part.clone();
    (part.managed.policies.levelling, part.managed.policies.levelling_time) =
        (levelling, LevellingTime::Foreground);
    if let Some(life) = &mut part.managed.life {
        life.end_of_life = if dies { EndOfLife::ReadOnly } else { EndOfLife::Ignored };
    }
    part
}

/// The variants of the first comparison: without levelling, dynamic, static, and dynamic where blocks without
/// valid pages wait for garbage collection; blocks that die and blocks that do not.
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

/// What is asked of a layer, in requests of so many pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pattern {
    /// Pages of a request.
    pub(crate) pages: u32,
    /// Requests from the beginning of the area to its end.
    pub(crate) around: u64,
}

impl Pattern {
    /// The sequential job of `bytes` a request on a card of `part`, in an area of at most `size`.
    pub(crate) fn of(part: &CardPart, bytes: Bytes, size: Bytes) -> Self {
        let pages = u32::try_from(bytes.div_ceil(part.managed.page)).unwrap_or(u32::MAX);
        let area = size.min(part.face.capacity);
        Self { pages, around: (area / bytes).max(1) }
    }

    /// Request number `index` of an iteration.
    fn extent(self, index: u64, all: u32) -> Extent {
        let first = index % self.around * u64::from(self.pages);
        let first = u32::try_from(first).unwrap_or(u32::MAX).min(all - 1);
        Extent::new(first, self.pages.min(all - first))
    }
}

/// Writes the published volume to a card of `variant`.
pub(crate) fn run(scenario: &Scenario, variant: &Variant, seed: Seed) -> Result<Worn, Cause> {
    let (part, spec) = (&variant.part, &scenario.wear);
    let job = &scenario.free.job.jobs[0].settings;
    let bytes = Bytes::new(job.largest_block());
    let size = job
        .area
        .size
        .map_or(part.face.capacity, |size| Bytes::new(size.of(part.face.capacity.get())));
    let pattern = Pattern::of(part, bytes, size);
    let mut layer = layer(part, seed)?;
    let (requests, iterations) = (spec.volume.div_ceil(bytes), scenario.free.iterations);
    let done = |iteration: u64| {
        let share = u128::from(requests) * u128::from(iteration) / u128::from(iterations);
        u64::try_from(share).unwrap_or(u64::MAX)
    };
    let (mut passed, mut died, mut snapshots, mut finished) = (None, None, Vec::new(), 0);
    for iteration in 1..=iterations {
        let mine = done(iteration) - done(iteration - 1);
        let answer = requests_of(&mut layer, pattern, mine);
        let written = host_bytes(&layer, part);
        if passed.is_none() && most_worn(&layer) > spec.endurance {
            passed = Some((iteration, written));
        }
        if answer.is_err() {
            died = Some((iteration, written));
            break;
        }
        finished = iteration;
        if iteration * SNAPSHOTS / iterations > (iteration - 1) * SNAPSHOTS / iterations {
            snapshots.push((written, layer.wear().erases));
        }
    }
    let wear = layer.wear();
    Ok(Worn {
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

/// An erased layer of `part` on a medium that only counts.
pub(crate) fn layer(part: &CardPart, seed: Seed) -> Result<Layer<Untimed>, Cause> {
    let geometry = part.geometry()?;
    Ok(Layer::new(&part.managed, geometry, Untimed::new(&geometry), seed)?)
}

fn requests_of(layer: &mut Layer<Untimed>, pattern: Pattern, count: u64) -> Result<(), Error> {
    let all = layer.pages();
    for index in 0..count {
        layer.write(Instant::ZERO, pattern.extent(index, all))?;
    }
    Ok(())
}

/// Bytes that the host wrote.
pub(crate) fn host_bytes(layer: &Layer<Untimed>, part: &CardPart) -> Bytes {
    part.managed.page * layer.counters().written
}

/// Erases of the most worn block.
pub(crate) fn most_worn(layer: &Layer<Untimed>) -> u32 {
    layer.wear().erases.iter().copied().max().unwrap_or(0)
}
