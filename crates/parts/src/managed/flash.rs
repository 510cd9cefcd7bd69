//! Managed flash: cells, geometry, timing and channels.
//!
//! Layer: rank 8. Main type: [`Flash`].

use super::limits;
use super::values::Times;
use crate::nand::part::CELLS;
use boardlab_document::{Read, Section, fields, section};
use boardlab_ftl::{CellTimes, Stripe};
use boardlab_media::CellKind;
use boardlab_sim::{Bytes, Duration, Rate};

section! {
    /// The flash.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Flash(section) {
        /// The cell type in native mode.
        pub cell: CellKind => one_of(CELLS),
        /// The number of channels, each a bus of its own.
        pub channels: u32 => within(1, limits::DIES),
        /// Dies on each channel.
        pub dies: u32 => within(1, limits::DIES),
        /// Planes of a die, programmed and erased together.
        pub planes: u32 => within(1, limits::DIES),
        /// A page of one plane.
        pub page: Bytes => within(Bytes::new(512), limits::PAGE),
        /// Pages of an erase block of one plane in native mode.
        pub pages_per_block: u32 => within(1, limits::PAGES),
        /// The rate of each channel.
        pub channel: Rate,
        /// Groups of pages, each what one die programs at once, that the buffer holds; zero when a transfer waits for
        /// the program before it.
        pub slots: u32 => up_to(limits::SLOTS),
        /// Whether a page register takes the next page while the cells are programmed.
        pub cache_program: bool,
        /// The array times in native mode.
        pub native as "times": CellTimes => section(cell_times),
        /// The array times in SLC mode; by default those of native mode.
        pub slc: CellTimes = {
            let slc = section.optional_section("slc", cell_times);
            slc.and_then(|times| times.map_or_else(|| native.clone(), Ok))
        },
    }
}

impl Flash {
    /// The number of mapped pages of size `page` in one superblock.
    #[must_use]
    pub fn block_pages(&self, page: Bytes) -> u32 {
        let row = u64::from(self.stripe(page).row_pages());
        u32::try_from(u64::from(self.pages_per_block) * row).unwrap_or(u32::MAX)
    }

    /// How mapped pages of size `page` are striped over channels, dies and planes.
    #[must_use]
    pub fn stripe(&self, page: Bytes) -> Stripe {
        let units = u32::try_from(self.page / page).unwrap_or(u32::MAX);
        let Self { channels, dies, planes, .. } = *self;
        Stripe { channels, dies, planes, units }
    }
}

fn cell_times(section: Section<'_>) -> Read<CellTimes> {
    fields!(section => CellTimes {
        read: Vec<Duration> => with(Times::of, limits::READ),
        program: Vec<Duration> => with(Times::of, limits::PROGRAM),
        erase: Duration => within(Duration::from_nanos(1), limits::ERASE),
    })
}
