//! The volume that could tell dynamic from static wear levelling: experiment 2 without time, until a
//! block passes the limit.
//!
//! Layer: rank 10. Main type: [`WearCurve`]; function: [`run`]. The power of an experiment is what it
//! could have found. With dynamic levelling alone the rewrites wear the spare blocks only, and the
//! experiment would have to go on until one of them passes the limit; then the same volume is written
//! with static levelling. More than the limit times all blocks is never needed: by then some block must
//! have passed it.

use super::wear::{host_bytes, layer, levelled, most_worn, pages};
use crate::sdwear::scenario::Scenario;
use boardlab_document::quantity::Ratio;
use boardlab_experiment::Cause;
use boardlab_ftl::{Cache, Extent, Levelling, Translation};
use boardlab_parts::managed::Mapping;
use boardlab_sim::{Bytes, Instant, Seed};

/// The most worn block as experiment 2 goes on.
#[derive(Debug, Clone)]
pub(crate) struct WearCurve {
    /// The over-provisioning, as a share of the blocks.
    pub(crate) spare: Ratio,
    /// The wear levelling.
    pub(crate) levelling: Levelling,
    /// Bytes of the blocks beyond what the host sees.
    pub(crate) spare_bytes: Bytes,
    /// After each iteration the bytes written, and the erases of the most worn block.
    pub(crate) points: Vec<(Bytes, u32)>,
    /// The point after the published number of iterations.
    pub(crate) published: (Bytes, u32),
    /// The last point.
    pub(crate) end: (Bytes, u32),
    /// The bytes written when a block passed the limit.
    pub(crate) passed: Option<Bytes>,
}

/// Rewrites the card until a block passes the limit; with `until`, for that volume.
pub(crate) fn run(
    scenario: &Scenario,
    spare: Ratio,
    levelling: Levelling,
    until: Option<Bytes>,
    seed: Seed,
) -> Result<WearCurve, Cause> {
    let mut part = levelled(&scenario.part, levelling, false);
    (part.managed.over_provisioning, part.managed.mapping, part.managed.life) =
        (spare, Mapping::Page, None);
    let bits = part.managed.policies.cache.bits;
    part.managed.policies.cache = Cache { bits, ..Cache::default() };
    let mut layer = layer(&part, seed)?;
    let all = layer.pages();
    layer.write(Instant::ZERO, Extent::new(0, all))?;
    let filled = host_bytes(&layer, &part);
    let geometry = part.geometry()?;
    let block = part.managed.page * u64::from(geometry.pages_per_block());
    let spare_blocks = geometry.blocks() - geometry.logical_blocks();
    let most = block * u64::from(geometry.blocks()) * u64::from(scenario.wear.endurance);
    let stop = until.map_or(most, |until| until.min(most));
    let (mut published, mut passed, mut points) = ((Bytes::ZERO, 0), None, Vec::new());
    let (job, capacity) = (&scenario.full.rewrites, scenario.part.face.capacity);
    let loops = usize::try_from(job.job.jobs[0].settings.loops).unwrap_or(usize::MAX);
    for iteration in 1.. {
        // The beginning is zeroed, and then written as often as the job says.
        let writes = std::iter::repeat_n(job.size(capacity), loops);
        for bytes in [scenario.full.zeroed].into_iter().chain(writes) {
            let pages = pages(bytes.min(capacity), &part).min(all);
            layer.write(Instant::ZERO, Extent::new(0, pages))?;
        }
        let (written, worn) = (host_bytes(&layer, &part) - filled, most_worn(&layer));
        points.push((written, worn));
        if iteration == job.iterations {
            published = (written, worn);
        }
        if passed.is_none() && worn > scenario.wear.endurance {
            passed = Some(written);
        }
        let is_enough = passed.is_some() && until.is_none() || written >= stop;
        if is_enough && iteration >= job.iterations {
            break;
        }
    }
    let end = points.last().copied().unwrap_or_default();
    let spare_bytes = block * u64::from(spare_blocks);
    Ok(WearCurve { spare, levelling, spare_bytes, points, published, end, passed })
}
