//! The translation layer of a managed flash.
//!
//! Layer: rank 8. Main type: [`Layer`]. The flash is erased and empty; what is random about it,
//! lives of blocks and blocks that are bad from the factory, follows from the seed.

use super::{ManagedFlash, Mapping};
use crate::Failure;
use boardlab_ftl as ftl;
use boardlab_ftl::{
    Completion, Counters, Extent, Geometry, LogBlocks, LogPolicies, Medium, Occupancy, Pace,
    PageMapped, Reliability, TimedMedium, Translation, Version, Wear,
};
use boardlab_sim::{Bytes, Instant, Seed};

/// The translation layer of a part.
#[derive(Debug, Clone)]
pub enum Layer<M = TimedMedium> {
    /// A page map.
    Pages(Box<PageMapped<M>>),
    /// A block map with log blocks.
    Logs(Box<LogBlocks<M>>),
}

impl<M: Medium> Layer<M> {
    /// The layer of `part` on an erased medium of this geometry.
    ///
    /// # Errors
    /// What the layer refuses, and [`Failure::PagesOnly`].
    pub fn new(
        part: &ManagedFlash,
        geometry: Geometry,
        medium: M,
        seed: Seed,
    ) -> Result<Self, Failure> {
        let policies = part.all_policies();
        if let Mapping::LogBlocks(logs) = part.mapping {
            if policies.cache.is_on() {
                return Err(Failure::PagesOnly("an SLC cache"));
            }
            let (levelling, levelling_time) = (policies.levelling, policies.levelling_time);
            let logs = LogPolicies { levelling, levelling_time, ..logs };
            let mut layer = LogBlocks::new(geometry, logs, medium, seed)?;
            if let Some(safety) = part.power {
                layer = layer.power_safe(safety);
            }
            if let Some(reliability) = reliability(part)? {
                layer = layer.with_reliability(&reliability, seed)?;
            }
            return Ok(Self::Logs(Box::new(layer)));
        }
        let mut layer = PageMapped::new(geometry, policies, medium, seed)?
            .with_own_collection(part.own_collection.as_ref());
        if let Some(safety) = part.power {
            layer = layer.power_safe(safety)?;
        }
        if let Some(reliability) = reliability(part)? {
            layer = layer.with_reliability(&reliability, seed)?;
        }
        Ok(Self::Pages(Box::new(layer)))
    }
}

fn reliability(part: &ManagedFlash) -> Result<Option<Reliability>, ftl::Error> {
    let Some(life) = &part.life else { return Ok(None) };
    let bad = (life.factory_bad.millionths() << 16) / 1_000_000;
    Ok(Some(Reliability {
        endurance: ftl::Endurance::new(&life.pe_cycles)?,
        slc_wear: life.slc_wear,
        factory_bad: u32::try_from(bad).unwrap_or(u32::MAX),
        program_failures: life.program_failures,
        end_of_life: life.end_of_life,
        reads: part.reads.clone(),
    }))
}

macro_rules! either {
    ($layer:expr, $each:ident => $call:expr) => {
        match $layer {
            Layer::Pages($each) => $call,
            Layer::Logs($each) => $call,
        }
    };
}

impl<M: Medium> Translation for Layer<M> {
    fn pages(&self) -> u32 {
        either!(self, layer => layer.pages())
    }

    fn page_size(&self) -> Bytes {
        either!(self, layer => layer.page_size())
    }

    #[inline]
    fn write(&mut self, at: Instant, extent: Extent) -> Result<Completion, ftl::Error> {
        either!(self, layer => layer.write(at, extent))
    }

    #[inline]
    fn write_paced(
        &mut self,
        at: Instant,
        extent: Extent,
        pace: Pace,
    ) -> Result<Completion, ftl::Error> {
        either!(self, layer => layer.write_paced(at, extent, pace))
    }

    fn write_each(&mut self, at: Instant, pages: &[u32]) -> Result<Completion, ftl::Error> {
        either!(self, layer => layer.write_each(at, pages))
    }

    fn read(
        &mut self,
        at: Instant,
        extent: Extent,
        versions: &mut [Version],
    ) -> Result<Completion, ftl::Error> {
        either!(self, layer => layer.read(at, extent, versions))
    }

    fn trim(&mut self, at: Instant, extent: Extent) -> Result<Completion, ftl::Error> {
        either!(self, layer => layer.trim(at, extent))
    }

    fn flush(&mut self, at: Instant) -> Completion {
        either!(self, layer => layer.flush(at))
    }

    fn idle(&mut self, from: Instant, until: Instant) -> Instant {
        either!(self, layer => layer.idle(from, until))
    }

    fn counters(&self) -> &Counters {
        either!(self, layer => layer.counters())
    }

    fn wear(&self) -> Wear {
        either!(self, layer => layer.wear())
    }

    fn occupancy(&self) -> Occupancy {
        either!(self, layer => layer.occupancy())
    }

    fn busy(&self) -> ftl::Busy {
        either!(self, layer => layer.busy())
    }
}
