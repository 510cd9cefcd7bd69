//! Managed flash: the flash of a card or a drive with its translation layer, as part files describe it.
//!
//! Layer: rank 8. Main types: [`ManagedFlash`], plain data, so that a what-if is a clone with a changed
//! field, and [`Layer`], the translation layer built from it; function: [`ManagedFlash::read`]. In
//! reading order: `flash`, `choices` (the policies of the controller), `unused` (keys that another
//! key makes useless), `reliability`, [`layer`]. The capacity and the other properties that a host
//! sees are read by [`crate::card`] and [`crate::drive`].
//!
//! Source: the keys are those of docs/formats/part.md; what they mean is in docs/models/ftl.md.

mod choices;
mod flash;
pub mod layer;
pub mod limits;
mod reliability;
pub mod unused;
pub mod values;

pub use choices::Mapping;
pub use flash::Flash;
pub use layer::Layer;
pub use reliability::Life;

use crate::Failure;
use boardlab_document::quantity::Ratio;
use boardlab_document::{AlreadyReported, Read, Section, fields};
use boardlab_ftl::{
    Geometry, Policies, PowerSafety, ReadErrors, SharedCells, TimedMedium, Timing, UntimedMedium,
};
use boardlab_sd::free_link;
use boardlab_sim::{Bytes, Duration, OwnPolicy, Seed};

/// The flash and its translation layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedFlash {
    /// The flash.
    pub flash: Flash,
    /// The mapping of logical pages.
    pub mapping: Mapping,
    /// The size of a mapped page: a flash page or a part of one.
    pub page: Bytes,
    /// The share of all good and bad blocks that the host cannot address, including reserve, open
    /// blocks and cache.
    pub over_provisioning: Ratio,
    /// The policies of garbage collection, wear levelling and the SLC cache. Where the map is kept
    /// follows from `mapping`, whatever this field says.
    pub policies: Policies,
    /// The caller's policy of garbage collection, where the policies ask for one.
    pub own_collection: Option<OwnPolicy>,
    /// The endurance of blocks; `None` where blocks neither wear out nor are bad.
    pub life: Option<Life>,
    /// The bit errors of reads; `None` where there are none. Requires `life`.
    pub reads: Option<ReadErrors>,
    /// The power-cut safety; `None` where it is not modelled.
    pub power: Option<PowerSafety>,
}

impl ManagedFlash {
    /// Reads the sections of a part that are about its flash.
    pub fn read(section: &Section<'_>) -> Read<Self> {
        let flash = section.section("flash", Flash::read);
        let over_provisioning =
            section.key("over_provisioning").up_to(limits::OVER_PROVISIONING).required();
        let bits = flash.as_ref().map_or(1, |flash| flash.cell.bits());
        let mapping = section.section("mapping", |section| choices::mapping(section, bits));
        let policies = choices::policies(section, bits);
        let life = section.optional_section("endurance", Life::read);
        let reads = section.optional_section("reads", reliability::read_errors);
        let power = section.optional_section("power_loss", power);
        let (flash, (mapping, page)) = (flash?, mapping?);
        let (life, reads) = (life?, reads?);
        if life.is_none() && reads.is_some() {
            return Err(section.refuse(
                "reads",
                "is present without [endurance]",
                "both sections",
                "bit errors depend on wear: add [endurance], or omit [reads]",
            ));
        }
        let policies = policies?;
        Ok(Self {
            own_collection: choices::own_collection(section, &policies)?,
            page: page.unwrap_or(flash.page),
            flash,
            mapping,
            over_provisioning: over_provisioning?,
            policies,
            life,
            reads,
            power: power?,
        })
    }

    /// Refuses what is impossible with this capacity, as errors in `section`, from which this was read.
    ///
    /// # Errors
    /// The rule that is broken.
    pub fn check(&self, section: &Section<'_>, capacity: Bytes) -> Read<()> {
        if !self.flash.page.is_multiple_of(self.page) {
            let problem = format!("does not divide a flash page of {}", self.flash.page);
            let expected = "the size of a flash page, or a half, a quarter... of it";
            return Err(refuse_in(section, ["mapping", "page"], &problem, expected));
        }
        let Err(problem) = self.composes(capacity) else { return Ok(()) };
        let help = "compare it with a built-in part: boardlab list keys card-fio";
        let problem = format!("or another key cannot be: {problem}");
        Err(section.refuse("over_provisioning", &problem, "a part that can exist", help))
    }

    fn composes(&self, capacity: Bytes) -> Result<(), Failure> {
        let geometry = self.geometry(capacity)?;
        TimedMedium::new(&geometry, &self.timing())?;
        Layer::new(self, geometry, UntimedMedium::new(&geometry), Seed::new(0)).map(drop)
    }

    /// The number of mapped pages of a capacity.
    #[must_use]
    pub fn pages(&self, capacity: Bytes) -> u64 {
        capacity.div_ceil(self.page)
    }

    /// The number of superblocks that a capacity takes with this over-provisioning.
    #[must_use]
    pub fn blocks(&self, capacity: Bytes) -> u64 {
        let block = u64::from(self.flash.block_pages(self.page)).max(1);
        let data = self.pages(capacity).div_ceil(block);
        let addressed = 1_000_000 - self.over_provisioning.millionths().min(999_999);
        (data * 1_000_000).div_ceil(addressed)
    }

    /// The geometry of the part for the translation layer.
    ///
    /// # Errors
    /// The error of the layer.
    pub fn geometry(&self, capacity: Bytes) -> Result<Geometry, boardlab_ftl::Error> {
        let number = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let (blocks, pages) = (number(self.blocks(capacity)), number(self.pages(capacity)));
        let per_block = self.flash.block_pages(self.page);
        Geometry::new(blocks, per_block, self.page, pages)?.striped(self.flash.stripe(self.page))
    }

    /// All policies, with the location of the map.
    #[must_use]
    pub fn all_policies(&self) -> Policies {
        Policies { map: self.mapping.memory(), ..self.policies }
    }

    /// The timing of the flash. The link takes no time, because the device above models it.
    #[must_use]
    pub fn timing(&self) -> Timing {
        let flash = &self.flash;
        Timing {
            native: flash.native.clone(),
            slc: flash.slc.clone(),
            channel: flash.channel,
            link: free_link(),
            command: Duration::ZERO,
            slots: flash.slots,
            cache_program: flash.cache_program,
        }
    }
}

/// Reports a broken rule about a key of a section that has been read.
pub fn refuse_in(
    section: &Section<'_>,
    [inner, key]: [&str; 2],
    problem: &str,
    expected: &str,
) -> AlreadyReported {
    let help = format!("what the key means: boardlab explain {key}");
    let refused = section.section(inner, |inner| {
        inner.leave_rest();
        Ok(inner.refuse(key, problem, expected, &help))
    });
    refused.unwrap_or_else(|reported| reported)
}

fn power(section: Section<'_>) -> Read<PowerSafety> {
    fields!(section => PowerSafety {
        bits as "rows": u32 => within(1, 16),
        shared: SharedCells => one_of(SHARED),
    })
}

const SHARED: [(&str, SharedCells); 2] =
    [("padded", SharedCells::Padded), ("exposed", SharedCells::Exposed)];
