//! SATA drives: their part files, their boards, and a drive composed of both.
//!
//! Layer: rank 8. In reading order:
//!
//! - [`part`]: [`part::DrivePart`], the contents of a part file as plain data.
//! - [`board`]: [`board::SataHost`], the host's end of the link and the cost of its sequencers.
//! - [`driver`]: [`driver::Ahci`], a controller with a queue and its driver.
//! - [`housekeeping`]: a state of a drive in which it pauses once.
//! - [`mod@compose`]: [`fn@compose::compose`], a drive on that host with its link.
//! - [`fn@identify_table`]: the IDENTIFY data of the drive.
//! - `unused`: keys that a choice leaves without use.
//!
//! Source: the keys are those of docs/formats/part.md and board.md; what they mean is in docs/models/sata-ssd.md,
//! sata-link.md and sata-host.md.

pub mod board;
pub mod compose;
pub mod driver;
pub mod housekeeping;
mod identity;
mod limits;
pub mod part;
pub mod unused;

pub use board::SataHost;
pub use compose::compose;
pub use identity::identify_table;
pub use part::DrivePart;
