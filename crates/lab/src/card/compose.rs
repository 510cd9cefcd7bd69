//! A card on a slot: from part and host to a device that takes requests.
//!
//! Layer: rank 8. Main types: [`Layer`], whatever translation layer the part has, and [`Failure`];
//! function: [`compose`]. The flash is erased and empty; what is random about it, lives of blocks and
//! blocks that are bad from the factory, follows from the seed.

use super::board::{Host, Slot};
use super::part::{CardPart, Mapping};
use boardlab_ftl as ftl;
use boardlab_ftl::{
    Completion, Counters, Extent, LogBlocks, LogPolicies, Medium, Occupancy, Pace, PageMapped,
    Reliability, Timed, Timing, Translation, Untimed, Version, Wear,
};
use boardlab_sd as sd;
use boardlab_sd::{Card, Data, Kind, free_link};
use boardlab_sim::{Bytes, Duration, Instant, Seed};
use std::fmt;

/// Whatever translation layer a part has.
#[derive(Debug, Clone)]
pub enum Layer<M = Timed> {
    /// A map of pages.
    Pages(Box<PageMapped<M>>),
    /// A map of blocks with open units.
    Logs(Box<LogBlocks<M>>),
}

/// Why a card and a slot are no device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The board has nothing to put such a card into.
    NoSlot(Kind),
    /// Card and slot have no mode of the bus in common.
    NoMode(Kind),
    /// The card's face.
    Card(sd::Error),
    /// The layer behind it.
    Layer(ftl::Error),
    /// A layer that maps blocks, with something that only a map of pages has.
    PagesOnly(&'static str),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |kind: &Kind| match kind {
            Kind::Sd => "SD card",
            Kind::Emmc => "eMMC",
        };
        match self {
            Self::NoSlot(kind) => write!(f, "the board has no slot for an {}", name(kind)),
            Self::NoMode(kind) => {
                write!(f, "{} and slot have no mode of the bus in common", name(kind))
            }
            Self::Card(error) => error.fmt(f),
            Self::Layer(error) => error.fmt(f),
            Self::PagesOnly(what) => write!(f, "{what} needs a map of pages"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<sd::Error> for Failure {
    fn from(error: sd::Error) -> Self {
        Self::Card(error)
    }
}

impl From<ftl::Error> for Failure {
    fn from(error: ftl::Error) -> Self {
        Self::Layer(error)
    }
}

/// A card of `part` in the slot that `host` has for it.
///
/// # Errors
/// [`Failure`]: what does not fit together.
pub fn compose(
    part: &CardPart,
    host: &Host,
    data: Data,
    seed: Seed,
) -> Result<Card<Layer>, Failure> {
    let kind = part.face.kind;
    let slot = host.slot(kind).ok_or(Failure::NoSlot(kind))?;
    let card = in_slot(part, slot)?;
    let geometry = part.geometry()?;
    let medium = Timed::new(&geometry, &timing(part))?;
    let layer = Layer::new(part, medium, seed)?;
    Ok(Card::new(card, layer, geometry.stripe().program_pages(), data)?)
}

/// Whether the flash and what is chosen for it can be: everything of [`compose`] but the slot.
///
/// # Errors
/// [`Failure`].
pub fn check(part: &CardPart) -> Result<(), Failure> {
    let geometry = part.geometry()?;
    Timed::new(&geometry, &timing(part))?;
    Layer::new(part, Untimed::new(&geometry), Seed::new(0)).map(drop)
}

fn in_slot(part: &CardPart, slot: &Slot) -> Result<sd::Part, Failure> {
    let face = part.face.clone();
    Ok(sd::Part {
        wiring: slot.wiring(part).ok_or(Failure::NoMode(face.kind))?,
        host: sd::Host {
            request: slot.request,
            largest: slot.largest,
            announces: slot.counts_blocks && face.counts_blocks,
            asks_state: slot.asks_state,
        },
        rated: part.life.as_ref().map_or(0, |life| life.rated),
        face,
    })
}

fn timing(part: &CardPart) -> Timing {
    let flash = &part.flash;
    Timing {
        native: flash.native.clone(),
        single_bit: flash.single_bit.clone(),
        channel: flash.channel,
        link: free_link(),
        command: Duration::ZERO,
        slots: flash.slots,
        cache_program: flash.cache_program,
    }
}

impl<M: Medium> Layer<M> {
    /// The layer of `part` on an erased medium.
    ///
    /// # Errors
    /// What the layer refuses, and [`Failure::PagesOnly`].
    pub fn new(part: &CardPart, medium: M, seed: Seed) -> Result<Self, Failure> {
        let (geometry, policies) = (part.geometry()?, part.all_policies());
        if let Mapping::LogBlocks(logs) = part.mapping {
            if policies.cache.is_on() {
                return Err(Failure::PagesOnly("a cache of single-bit cells"));
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
        let mut layer = PageMapped::new(geometry, policies, medium, seed)?;
        if let Some(safety) = part.power {
            layer = layer.power_safe(safety)?;
        }
        if let Some(reliability) = reliability(part)? {
            layer = layer.with_reliability(&reliability, seed)?;
        }
        Ok(Self::Pages(Box::new(layer)))
    }

    /// The layer as one with a map of pages, to look into.
    #[must_use]
    pub fn pages_mapped(&self) -> Option<&PageMapped<M>> {
        match self {
            Self::Pages(layer) => Some(layer),
            Self::Logs(_) => None,
        }
    }

    /// The layer as one with open units, to look into.
    #[must_use]
    pub fn log_blocks(&self) -> Option<&LogBlocks<M>> {
        match self {
            Self::Pages(_) => None,
            Self::Logs(layer) => Some(layer),
        }
    }
}

fn reliability(part: &CardPart) -> Result<Option<Reliability>, ftl::Error> {
    let Some(life) = &part.life else { return Ok(None) };
    let bad = (life.factory_bad.millionths() << 16) / 1_000_000;
    Ok(Some(Reliability {
        endurance: ftl::Endurance::new(&life.cycles)?,
        single_bit_wear: life.single_bit_wear,
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
