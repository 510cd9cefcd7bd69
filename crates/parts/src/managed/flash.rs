//! Managed flash: cells, geometry, times, and how wide the way to it is.
//!
//! Layer: rank 8. Main type: [`Flash`]; function: [`read`].

use super::limits;
use super::values::{Times, count};
use boardlab_document::{Read, Section};
use boardlab_ftl::{CellTimes, Stripe};
use boardlab_media::CellKind;
use boardlab_sim::{Bytes, Duration, Rate};

const CELLS: [(&str, CellKind); 4] = [
    ("slc", CellKind::Slc),
    ("mlc", CellKind::Mlc),
    ("tlc", CellKind::Tlc),
    ("qlc", CellKind::Qlc),
];

/// The flash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flash {
    /// Bits of a cell as it is ordinarily used.
    pub cell: CellKind,
    /// Channels, each a bus of its own.
    pub channels: u32,
    /// Dies on each channel.
    pub dies: u32,
    /// Planes of a die, programmed and erased together.
    pub planes: u32,
    /// A page of one plane.
    pub page: Bytes,
    /// Pages of an erase block of one plane, with all bits of a cell in use.
    pub pages_per_block: u32,
    /// Cells as they are ordinarily used.
    pub native: CellTimes,
    /// The same cells used with one bit.
    pub single_bit: CellTimes,
    /// Each channel.
    pub channel: Rate,
    /// Groups of pages, each what one die programs at once, that the buffer holds; zero when a transfer waits for
    /// the program before it.
    pub slots: u32,
    /// Whether a page register takes the next page while the cells are programmed.
    pub cache_program: bool,
}

impl Flash {
    /// Pages of the map in one superblock, for mapped pages of `page`.
    #[must_use]
    pub fn block_pages(&self, page: Bytes) -> u32 {
        let row = u64::from(self.stripe(page).row_pages());
        u32::try_from(u64::from(self.pages_per_block) * row).unwrap_or(u32::MAX)
    }

    /// How mapped pages of `page` lie over channels, dies and planes.
    #[must_use]
    pub fn stripe(&self, page: Bytes) -> Stripe {
        let units = u32::try_from(self.page / page).unwrap_or(u32::MAX);
        let Self { channels, dies, planes, .. } = *self;
        Stripe { channels, dies, planes, units }
    }
}

/// The section `flash` of a part.
pub(super) fn read(section: Section<'_>) -> Read<Flash> {
    let cell = section.one_of("cell", &CELLS);
    let counts = ["channels", "dies", "planes"].map(|key| count(&section, key, 1, limits::DIES));
    let page = section.key::<Bytes>("page").within(Bytes::new(512), limits::PAGE).required();
    let pages_per_block = count(&section, "pages_per_block", 1, limits::PAGES);
    let channel = section.required::<Rate>("channel");
    let slots = count(&section, "slots", 0, limits::SLOTS);
    let cache_program = section.required::<bool>("cache_program");
    let native = section.section("times", cell_times);
    let single_bit = section.optional_section("single_bit", cell_times);
    section.finish()?;
    let [channels, dies, planes] = counts;
    let native = native?;
    Ok(Flash {
        cell: cell?,
        channels: channels?,
        dies: dies?,
        planes: planes?,
        page: page?,
        pages_per_block: pages_per_block?,
        // Without times of its own nothing uses it: the part's reader sees to that.
        single_bit: single_bit?.unwrap_or_else(|| native.clone()),
        native,
        channel: channel?,
        slots: slots?,
        cache_program: cache_program?,
    })
}

fn cell_times(section: Section<'_>) -> Read<CellTimes> {
    let read = Times::of(&section, "read", limits::READ);
    let program = Times::of(&section, "program", limits::PROGRAM);
    let erase =
        section.key::<Duration>("erase").within(Duration::from_nanos(1), limits::ERASE).required();
    section.finish()?;
    Ok(CellTimes { read: read?, program: program?, erase: erase? })
}
