//! Managed flash: the flash behind a card or a drive, and the translation layer over it, as part files describe them.
//!
//! Layer: rank 8. Main types: [`Managed`], plain data, so that a what-if is a clone with a field changed, and
//! [`Layer`], the translation layer made of it; function: [`Managed::read`]. In reading order: `flash`,
//! `choices` (what a controller chooses), `unused` (what of it a choice leaves without use), `reliability`, [`layer`]. What a host sees of a part, its capacity among
//! it, is read by [`crate::card`] and [`crate::drive`].
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
use boardlab_document::{Read, Reported, Section, fields};
use boardlab_ftl::{
    Geometry, Policies, PowerSafety, ReadErrors, SharedCells, Timed, Timing, Untimed,
};
use boardlab_sd::free_link;
use boardlab_sim::{Bytes, Duration, Seed};

/// Flash, and the translation layer over it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Managed {
    /// The flash.
    pub flash: Flash,
    /// How logical pages are found.
    pub mapping: Mapping,
    /// A page of the map: a flash page or a part of one.
    pub page: Bytes,
    /// Share of all good and bad blocks that the host cannot address: reserve, open blocks and cache included.
    pub spare: Ratio,
    /// What is chosen about collection, levelling and the cache; where the map is kept follows from
    /// `mapping`, whatever stands here.
    pub policies: Policies,
    /// How long blocks live; `None` where blocks neither die nor are bad.
    pub life: Option<Life>,
    /// Which bits are wrong; `None` where all are right. Never there without `life`.
    pub reads: Option<ReadErrors>,
    /// What is done so that power may be lost; `None` where nothing is, and nothing is modelled.
    pub power: Option<PowerSafety>,
}

impl Managed {
    /// Reads the sections of a part that are about its flash.
    pub fn read(section: &Section<'_>) -> Read<Self> {
        let flash = section.section("flash", Flash::read);
        let spare = section.key::<Ratio>("spare").up_to(limits::SPARE).required();
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
                "is there without [endurance]",
                "both sections",
                "wrong bits follow from wear: add [endurance], or leave [reads] out",
            ));
        }
        Ok(Self {
            page: page.unwrap_or(flash.page),
            flash,
            mapping,
            spare: spare?,
            policies: policies?,
            life,
            reads,
            power: power?,
        })
    }

    /// Refuses in `section`, which this was read from, what cannot be with this capacity.
    ///
    /// # Errors
    /// The rule that is broken.
    pub fn check(&self, section: &Section<'_>, capacity: Bytes) -> Read<()> {
        if !self.flash.page.is_multiple_of(self.page) {
            let problem = format!(
                "makes no whole number of mapped pages a flash page of {}",
                self.flash.page
            );
            let expected = "the size of a flash page, or a half, a quarter... of it";
            return Err(refuse_in(section, ["mapping", "page"], &problem, expected));
        }
        let Err(problem) = self.composes(capacity) else { return Ok(()) };
        let help =
            "see docs/formats/part.md, or compare it with a built-in part: boardlab list parts";
        let problem = format!("or another key cannot be: {problem}");
        Err(section.refuse("spare", &problem, "a part that can exist", help))
    }

    fn composes(&self, capacity: Bytes) -> Result<(), Failure> {
        let geometry = self.geometry(capacity)?;
        Timed::new(&geometry, &self.timing())?;
        Layer::new(self, geometry, Untimed::new(&geometry), Seed::new(0)).map(drop)
    }

    /// Pages of the map that a host sees of so many bytes.
    #[must_use]
    pub fn pages(&self, capacity: Bytes) -> u64 {
        capacity.div_ceil(self.page)
    }

    /// Superblocks of the flash: as many as leave `spare` beyond what the host sees.
    #[must_use]
    pub fn blocks(&self, capacity: Bytes) -> u64 {
        let block = u64::from(self.flash.block_pages(self.page)).max(1);
        let data = self.pages(capacity).div_ceil(block);
        let addressed = 1_000_000 - self.spare.millionths().min(999_999);
        (data * 1_000_000).div_ceil(addressed)
    }

    /// Shape of the part as the translation layer sees it.
    ///
    /// # Errors
    /// What the layer refuses.
    pub fn geometry(&self, capacity: Bytes) -> Result<Geometry, boardlab_ftl::Error> {
        let number = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let (blocks, pages) = (number(self.blocks(capacity)), number(self.pages(capacity)));
        let per_block = self.flash.block_pages(self.page);
        Geometry::new(blocks, per_block, self.page, pages)?.striped(self.flash.stripe(self.page))
    }

    /// All policies, with the place of the map.
    #[must_use]
    pub fn all_policies(&self) -> Policies {
        Policies { map: self.mapping.memory(), ..self.policies }
    }

    /// Times of the flash, behind a link that takes no time, because the device above models its own.
    #[must_use]
    pub fn timing(&self) -> Timing {
        let flash = &self.flash;
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
}

/// A broken rule about a key of a section that has been read.
pub fn refuse_in(
    section: &Section<'_>,
    [inner, key]: [&str; 2],
    problem: &str,
    expected: &str,
) -> Reported {
    let help = "see docs/formats/part.md";
    let refused = section.section(inner, |inner| {
        inner.leave_rest();
        Ok(inner.refuse(key, problem, expected, help))
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
