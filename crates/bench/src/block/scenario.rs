//! The scenario: the latencies of a device, and steps.
//!
//! Layer: rank 10. Main types: [`Scenario`], [`Device`].

use crate::steps::{self, Names, Room, Step};
use boardlab_block::{Costs, Geometry, RamBlock};
use boardlab_document::section;
use boardlab_sim::{Bytes, Duration, Rate};

/// What can be done with a block device.
pub(super) const OPERATIONS: Names = &[
    ("block.read", READ),
    ("block.write", WRITE),
    ("block.discard", DISCARD),
    ("block.flush", FLUSH),
];
pub(super) const READ: &str = "block.read";
pub(super) const WRITE: &str = "block.write";
pub(super) const DISCARD: &str = "block.discard";
pub(super) const FLUSH: &str = "block.flush";

/// The longest request.
const REQUEST: Duration = Duration::from_secs(100);
/// A sector.
const SECTOR: Bytes = Bytes::new(512);

section! {
    /// A scenario of this bench, checked.
    #[derive(Debug, Clone)]
    pub(super) struct Scenario(section) {
        /// What it is about, in one line.
        pub title: String,
        /// The name of the experiment.
        pub experiment: String,
        /// The device.
        pub device: Device,
        /// What is done with it.
        pub steps as "step": Vec<Step> = section.sections("step", |step| Step::read(step, OPERATIONS)),
    }
    check(device, steps) {
        steps::fit(&section, steps, |_| device.room())?;
    }
}

section! {
    /// A device whose requests take constant times, several at once.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub(super) struct Device(section) {
        /// Its size.
        pub size: Bytes => within(Bytes::mib(1), Bytes::mib(16 << 20)),
        /// The latency of a read.
        pub read: Duration => up_to(REQUEST),
        /// The latency of a write.
        pub write: Duration => up_to(REQUEST),
        /// The latency of a discard.
        pub discard: Duration => up_to(REQUEST),
        /// The latency of a flush.
        pub flush: Duration => up_to(REQUEST),
        /// The rate at which data are moved besides; at once if it is missing.
        pub transfer: Option<Rate> => positive(),
        /// Requests that are executed at once.
        pub lanes: u32 => within(1, 4_096),
    }
    check(size) {
        if !size.is_multiple_of(SECTOR) {
            let expected = "a multiple of 512 B";
            return Err(section.refuse("size", "is no number of sectors", expected, "round it"));
        }
    }
}

impl Device {
    /// A new one.
    pub(super) fn build(&self) -> RamBlock {
        let costs = Costs {
            read: self.read,
            write: self.write,
            discard: self.discard,
            flush: self.flush,
            transfer: self.transfer,
            lanes: self.lanes,
        };
        let geometry = Geometry { depth: self.lanes, ..Geometry::of_size(self.size) };
        RamBlock::new(geometry).with_costs(costs).without_contents()
    }

    /// Where operations may be done.
    pub(super) fn room(&self) -> Room {
        Room { capacity: self.size, unit: SECTOR, size: SECTOR }
    }
}
