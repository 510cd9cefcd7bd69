//! SATA drives as part files describe them: reading one, reading the host, and building the two.
//!
//! Layer: rank 8. In reading order:
//!
//! - [`part`]: [`part::DrivePart`], everything that a part file says of a drive, as plain data.
//! - [`board`]: [`board::SataHost`], the end of a board and what its sequencers cost.
//! - [`driver`]: [`driver::Ahci`], a controller with a queue and its driver.
//! - [`housekeeping`]: a named state of a drive, in which it pauses once.
//! - [`mod@compose`]: [`fn@compose::compose`], a drive on that host with its link.
//! - [`fn@identify_table`]: what the drive then says of itself.
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
