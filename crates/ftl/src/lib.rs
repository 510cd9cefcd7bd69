//! Flash translation layers: mapping, garbage collection, wear levelling.
//!
//! Layer: rank 3, uses `sim` and `media`. It consists of one mechanism, small policies, and a
//! medium that provides time or contents. In reading order:
//!
//! - [`geometry`]: [`Geometry`], superblocks of mapped pages laid over dies and planes.
//! - [`cause`] and [`counters`]: the cause of each operation, and the conservation laws between the
//!   counts.
//! - [`medium`]: the trait [`Medium`], the flash as the mechanism uses it; [`UntimedMedium`] only counts.
//! - [`contents`]: [`Contents`], a medium that keeps the contents of pages and can lose power.
//! - [`timed`]: [`TimedMedium`], a medium with timing: link, channels, dies, buffer.
//! - [`mod@free`] and [`pool`]: the blocks, their wear and valid pages, and lists of them.
//! - [`policy`]: victim selection, wear levelling, write streams, cache admission.
//! - [`page_map::policies`]: [`Policies`], all of these for one part, and its over-provisioning.
//! - [`flash`]: [`Flash`], the base of every layer: medium, tables, blocks and counts.
//! - [`page_map`]: [`PageMapped`], the mechanism with a page map.
//! - [`log_block`]: [`LogBlocks`], block mapping with log blocks (BAST, FAST).
//! - [`page_map::slc_cache`]: [`Cache`], an SLC cache.
//! - [`page_map::demand_map`]: [`MapMemory`], a demand-paged map (DFTL): in flash, with a bounded
//!   cache.
//! - [`reliability`]: [`Reliability`], worn-out blocks, failed programs, read errors, refresh.
//! - [`page_map::power`]: [`PowerSafety`], the measures that make power cuts safe.
//! - [`page_map::recovery`]: [`PageMappedAfterCut`], the map rebuilt from the contents of the
//!   flash.
//! - [`translation`]: the trait [`Translation`], the interface to devices.
//!
//! ```
//! use boardlab_ftl::{Extent, Geometry, PageMapped, Policies, Translation, UntimedMedium};
//! use boardlab_sim::{Bytes, Instant, Seed};
//!
//! // 1,024 blocks of 64 pages, 10 % of them spare.
//! let part = Geometry::new(1_024, 64, Bytes::kib(4), 58_982)?;
//! let medium = UntimedMedium::new(&part);
//! let mut ftl = PageMapped::new(part, Policies::default(), medium, Seed::new(1))?;
//! let mut pages = Seed::new(1).stream("host");
//! for _ in 0..500_000 {
//!     let page = u32::try_from(pages.below(58_982)).expect("a page");
//!     ftl.write(Instant::ZERO, Extent::new(page, 1))?;
//! }
//! assert!(ftl.counters().amplification_millionths() > 3_000_000);
//! # Ok::<(), boardlab_ftl::Error>(())
//! ```
//!
//! The key decision: time is not simulated with an event heap. Each resource of the part stores
//! until when it is busy, and an operation begins when all the resources that it needs are free.
//! That is exact for resources served in order of arrival, and allows tens of millions of page
//! programs per second.

pub mod cause;
pub mod contents;
pub mod counters;
pub mod error;
mod failures;
pub mod flash;
pub mod free;
mod frontier;
pub mod geometry;
pub mod log_block;
pub mod medium;
mod order;
pub mod page_map;
pub mod policy;
pub mod pool;
pub mod reliability;
mod table;
pub mod timed;
pub mod translation;

pub use cause::{ByCause, Cause};
pub use contents::{Contents, PageState};
pub use counters::Counters;
pub use error::Error;
pub use flash::Flash;
pub use geometry::{Geometry, Page, PageRun, Spare, Stripe};
pub use log_block::policies::{LogCells, LogPolicies, Logs};
pub use log_block::recovery::LogBlocksAfterCut;
pub use log_block::{LogBlocks, Merges};
pub use medium::{Busy, CellMode, Label, Medium, Stamp, UntimedMedium, Version};
pub use page_map::PageMapped;
pub use page_map::demand_map::{DemandMap, MapMemory};
pub use page_map::policies::{EmptyBlocks, LevellingTime, Policies};
pub use page_map::power::{PowerSafety, SharedCells};
pub use page_map::recovery::PageMappedAfterCut;
pub use page_map::slc_cache::{Cache, CacheSize, Folding, WhenFull};
pub use policy::admission::Admission;
pub use policy::collection::Collection;
pub use policy::levelling::Levelling;
pub use policy::streams::Streams;
pub use pool::Pool;
pub use reliability::{EndOfLife, Endurance, Health, ReadErrors, Reliability};
pub use timed::{CellTimes, TimedMedium, Timing};
pub use translation::{
    Completion, Event, Events, Extent, Occupancy, Pace, Translation, Wear, WearSummary,
};
