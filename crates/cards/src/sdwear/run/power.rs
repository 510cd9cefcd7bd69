//! Which volume could tell dynamic from static wear levelling: the second experiment without time, until a block
//! passes the limit.
//!
//! Layer: rank 10. Main types: [`Asked`], [`Told`]; function: [`run`]. The power of an experiment is what it could have
//! found. With dynamic levelling alone the rewrites wear the spare blocks only, and the experiment would have
//! to go on until one of them passes the limit; then the same volume is written with static levelling. By
//! then more than the limit times all blocks is never needed: some block must have passed it.

use super::wear::{host_bytes, layer, levelled, most_worn};
use crate::sdwear::scenario::Scenario;
use boardlab_document::quantity::Ratio;
use boardlab_experiment::Cause;
use boardlab_ftl::{Error, Extent, Levelling, Translation, Untimed};
use boardlab_parts::managed::Layer;
use boardlab_parts::managed::Mapping;
use boardlab_sim::{Bytes, Instant, Seed};

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Share of the blocks beyond what the host sees.
    pub(crate) spare: Ratio,
    /// How wear is levelled.
    pub(crate) levelling: Levelling,
    /// Stop here at the latest.
    pub(crate) until: Option<Bytes>,
}

/// The answer.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) spare: Ratio,
    pub(crate) levelling: Levelling,
    /// Erases of the most worn block when the published number of iterations was done.
    pub(crate) published: (Bytes, u32),
    /// When a block passed the limit.
    pub(crate) passed: Option<Bytes>,
    /// Written in the end, and erases of the most worn block then.
    pub(crate) end: (Bytes, u32),
    /// Bytes written, and erases of the most worn block.
    pub(crate) curve: Vec<(Bytes, u32)>,
    /// Bytes of the blocks beyond what the host sees.
    pub(crate) spare_bytes: Bytes,
}

/// Writes on until the limit is passed, or until enough was written.
pub(crate) fn run(scenario: &Scenario, asked: Asked, seed: Seed) -> Result<Told, Cause> {
    let mut part = levelled(&scenario.part, asked.levelling, false);
    (part.managed.over_provisioning, part.managed.mapping, part.managed.life) =
        (asked.spare, Mapping::Page, None);
    part.managed.policies.cache = boardlab_ftl::Cache {
        bits: part.managed.policies.cache.bits,
        ..boardlab_ftl::Cache::default()
    };
    let mut layer = layer(&part, seed)?;
    let all = layer.pages();
    layer.write(Instant::ZERO, Extent::new(0, all))?;
    let filled = host_bytes(&layer, &part);
    let geometry = part.geometry()?;
    let block = part.managed.page * u64::from(geometry.pages_per_block());
    let spare_blocks = geometry.blocks() - geometry.logical_blocks();
    let most = block * u64::from(geometry.blocks()) * u64::from(scenario.wear.endurance);
    let until = asked.until.unwrap_or(Bytes::new(u64::MAX));
    let mut told = Told {
        spare: asked.spare,
        levelling: asked.levelling,
        published: (Bytes::ZERO, 0),
        passed: None,
        end: (Bytes::ZERO, 0),
        curve: Vec::new(),
        spare_bytes: block * u64::from(spare_blocks),
    };
    for iteration in 1.. {
        rewrite(scenario, &mut layer, part.managed.page)?;
        let written = host_bytes(&layer, &part) - filled;
        let worn = most_worn(&layer);
        told.curve.push((written, worn));
        told.end = (written, worn);
        if iteration == scenario.full.iterations {
            told.published = (written, worn);
        }
        if told.passed.is_none() && worn > scenario.wear.endurance {
            told.passed = Some(written);
        }
        let enough =
            told.passed.is_some() && asked.until.is_none() || written >= until || written >= most;
        if enough && iteration >= scenario.full.iterations {
            break;
        }
    }
    Ok(told)
}

/// One iteration: the beginning is zeroed and then written as often as the job says.
fn rewrite(scenario: &Scenario, layer: &mut Layer<Untimed>, page: Bytes) -> Result<(), Error> {
    let job = &scenario.full.job.jobs[0].settings;
    let all = layer.pages();
    let capacity = scenario.part.face.capacity;
    let size = job.area.size.map_or(capacity, |size| Bytes::new(size.of(capacity.get())));
    let mut write = |bytes: Bytes| {
        let pages = u32::try_from(bytes.min(capacity).div_ceil(page)).unwrap_or(u32::MAX);
        layer.write(Instant::ZERO, Extent::new(0, pages.min(all))).map(drop)
    };
    write(scenario.zeroed)?;
    (0..job.loops).try_for_each(|_| write(size))
}
