//! The model of a card: in full, or scaled so that a whole life takes a second.
//!
//! Layer: rank 10. Main types: [`Model`], [`Scale`]; functions: [`lacks`], [`Model::full`],
//! [`Model::scaled`]. A scaled card has the same blocks, spare, policies and lives of blocks, with two
//! things changed:
//!
//! ```text
//!   pages   a block has `of` pages instead of `per`: one stands for per / of neighbouring ones
//!   step    one erase stands for `step` erases: blocks live for 1 / step as many
//! ```
//!
//! The places and the order in which blocks wear out stay the same. The number of erases for a page of
//! the host does not, because it depends on the pages of a block: it is measured on both cards and
//! corrected (`pace`). A step is used only if it does not distort what it scales. Blocks with cold data
//! lag by a number of erases, which a step would multiply: it is one unless the load is even. No count
//! of erases (a levelling threshold) may exceed a hundredth of a life. With modelled read errors, which
//! cause refreshes by the clock, the step is one too.
//!
//! Left out: padding at flushes (a power-safe layer has only its larger reserve), the time of requests,
//! and the write cache of the card's controller, except for sequential requests.

use boardlab_ftl::{
    EndOfLife, Endurance, Error, Geometry, Levelling, MapMemory, PageMapped, Policies, ReadErrors,
    Reliability, UntimedMedium,
};
use boardlab_parts::card::part::CardPart;
use boardlab_parts::managed::Mapping;
use boardlab_sim::{Bytes, Duration, OwnPolicy, Seed};

/// Pages of a block of a scaled card: a multiple of two, three and four bits a cell.
const PAGES: u32 = 24;
/// The approximate endurance of the shortest-lived block of a scaled card.
const ERASES: u32 = 500;
/// The additional reserve of a power-safe layer, in blocks.
const POWER_SAFE: u32 = 3;

/// The real pages and erases that those of the simulated card stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scale {
    /// Pages of a real block,
    pub per: u32,
    /// and of a simulated one.
    pub of: u32,
    /// Real erases that a simulated one stands for.
    pub step: u32,
}

impl Scale {
    /// Whether nothing is scaled.
    pub(crate) const fn is_full(self) -> bool {
        self.per == self.of && self.step == 1
    }

    /// Real pages that a simulated one stands for.
    pub(crate) fn pages(self) -> f64 {
        f64::from(self.per) / f64::from(self.of)
    }
}

/// The model of a card.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    /// Its scale.
    pub scale: Scale,
    /// The simulated flash.
    pub geometry: Geometry,
    /// The policies of its translation layer.
    pub policies: Policies,
    /// The caller's policy of garbage collection, where the policies ask for one.
    pub own_collection: Option<OwnPolicy>,
    /// The endurance of its blocks, in simulated erases.
    pub reliability: Reliability,
    /// The rated endurance of a block, in real erases.
    pub rated: u32,
    /// The capacity for the host.
    pub capacity: Bytes,
    /// Whether neighbouring small requests are joined before they are programmed.
    pub joins: bool,
}

/// Why the life of a part cannot be computed.
pub(crate) fn lacks(part: &CardPart) -> Option<&'static str> {
    if matches!(part.managed.mapping, Mapping::LogBlocks(_)) {
        return Some("maps whole blocks, of which no life is modelled");
    }
    part.managed.life.is_none().then_some("has no section [endurance]: its blocks never die")
}

impl Model {
    /// The card with every page and every erase.
    pub(crate) fn full(part: &CardPart, powered: Duration) -> Result<Self, Error> {
        let geometry = part.geometry()?;
        let per = geometry.pages_per_block();
        Self::new(part, Scale { per, of: per, step: 1 }, powered)
    }

    /// The card scaled, for a load that is `even` over what it uses or not.
    pub(crate) fn scaled(part: &CardPart, powered: Duration, even: bool) -> Result<Self, Error> {
        let geometry = part.geometry()?;
        let per = geometry.pages_per_block();
        let step = if even { step(part) } else { 1 };
        Self::new(part, Scale { per, of: per.min(PAGES), step }, powered)
    }

    fn new(part: &CardPart, scale: Scale, powered: Duration) -> Result<Self, Error> {
        let whole = part.geometry()?;
        let pages = u64::from(whole.logical_pages()) * u64::from(scale.of);
        let pages = u32::try_from(pages.div_ceil(scale.per.into())).unwrap_or(u32::MAX);
        let geometry = match scale.per == scale.of {
            true => whole,
            false => Geometry::new(whole.blocks(), scale.of, whole.page(), pages)?,
        };
        let mut policies = part.managed.all_policies();
        if part.managed.power.is_some() {
            policies.reserve += POWER_SAFE;
        }
        if let MapMemory::Cached { cache, segment } = policies.map {
            let least = Bytes::new(8 * u64::from(segment));
            let scaled = Bytes::new(cache.get() * u64::from(scale.of) / u64::from(scale.per));
            policies.map = MapMemory::Cached { cache: scaled.max(least), segment };
        }
        let life = part.managed.life.as_ref();
        let cycles = life.iter().flat_map(|life| &life.pe_cycles);
        let cycles: Vec<u32> = cycles.map(|cycles| (cycles / scale.step).max(1)).collect();
        let bad = life.map_or(0, |life| (life.factory_bad.millionths() << 16) / 1_000_000);
        let reliability = Reliability {
            endurance: Endurance::new(&cycles)?,
            slc_wear: life.map_or(1_000, |life| life.slc_wear),
            factory_bad: u32::try_from(bad).unwrap_or(u32::MAX),
            program_failures: 0,
            end_of_life: EndOfLife::ReadOnly,
            reads: part.managed.reads.as_ref().map(|reads| powered_patrol(reads, powered)),
        };
        let (rated, capacity) = (life.map_or(0, |life| life.rated), part.face.capacity);
        let joins = part.face.cache.is_some();
        let own_collection = part.managed.own_collection.clone();
        Ok(Self { scale, geometry, policies, own_collection, reliability, rated, capacity, joins })
    }

    /// The least number of good blocks with which the card is not read-only.
    pub(crate) fn needed(&self) -> u32 {
        self.policies.blocks_needed(self.policies.logical_blocks(&self.geometry))
    }

    /// A new card with the blocks of `seed`.
    pub(crate) fn card(&self, seed: Seed) -> Result<PageMapped<UntimedMedium>, Error> {
        let medium = UntimedMedium::new(&self.geometry);
        let layer = PageMapped::new(self.geometry, self.policies, medium, seed)?
            .with_own_collection(self.own_collection.as_ref());
        layer.with_reliability(&self.reliability, seed)
    }

    /// A card for measurements: with `blocks` blocks, all alike, that never die.
    pub(crate) fn with_blocks(
        &self,
        blocks: u32,
        seed: Seed,
    ) -> Result<PageMapped<UntimedMedium>, Error> {
        let (pages, page) = (self.geometry.pages_per_block(), self.geometry.page());
        let geometry = Geometry::new(blocks, pages, page, self.geometry.logical_pages())?;
        let geometry = geometry.striped(self.geometry.stripe())?;
        let layer = PageMapped::new(geometry, self.policies, UntimedMedium::new(&geometry), seed)?
            .with_own_collection(self.own_collection.as_ref());
        let reliability = Reliability {
            endurance: Endurance::new(&[u32::MAX])?,
            factory_bad: 0,
            end_of_life: EndOfLife::Ignored,
            reads: None,
            ..self.reliability.clone()
        };
        layer.with_reliability(&reliability, seed)
    }

    /// The approximate programs of a card's whole life: the cost of its simulation.
    pub(crate) fn programs(&self) -> u64 {
        let stream = &mut Seed::new(0).stream("life.cost");
        let cycles = self.reliability.endurance.draw(stream);
        u64::from(self.geometry.pages()) * u64::from(cycles)
    }
}

/// The read errors with a slower patrol, which works only with power.
fn powered_patrol(reads: &ReadErrors, powered: Duration) -> ReadErrors {
    let day = u128::from(crate::life::scenario::DAY.as_nanos());
    let slowed = u128::from(reads.patrol.as_nanos()) * day / u128::from(powered.as_nanos().max(1));
    let patrol = Duration::from_nanos(u64::try_from(slowed).unwrap_or(u64::MAX));
    ReadErrors { patrol, ..reads.clone() }
}

/// Erases that one erase of a scaled card stands for.
fn step(part: &CardPart) -> u32 {
    let Some(life) = part.managed.life.as_ref().filter(|_| part.managed.reads.is_none()) else {
        return 1;
    };
    let shortest = life.pe_cycles.first().copied().unwrap_or(1);
    let counts = match part.managed.policies.levelling {
        Levelling::None | Levelling::Dynamic => 0,
        Levelling::Threshold(erases)
        | Levelling::DualPool(erases)
        | Levelling::RandomSwap(erases) => erases,
        Levelling::SwLeveler { threshold, .. } => threshold,
    };
    let most = (shortest / 100).checked_div(counts).map_or(u32::MAX, |more| more + 1);
    (shortest / ERASES).min(most).max(1)
}
