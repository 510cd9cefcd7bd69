//! The SSD: commands, buffer, and the translation layer below.
//!
//! In reading order:
//!
//! - [`ssd`]: [`Ssd`], the device end of a link. `command` decodes commands, `protocol` begins and
//!   completes them, `queue` holds the queued ones, `transfer` and `frame` transfer data.
//! - [`drive`]: [`Drive`], the parameters of a drive; [`Refusal`], why it refuses a request.
//! - [`storage`]: [`Storage`], the drive without its protocol: sectors in, flash operations and their
//!   times out. `write_path` and [`read_path`] are its two directions, `contents` and [`store`] its
//!   contents.

mod command;
mod contents;
pub mod drive;
mod frame;
mod protocol;
mod queue;
pub mod read_path;
pub mod ssd;
pub mod storage;
pub mod store;
mod transfer;
mod write_path;

pub use drive::{Drive, Refusal, WriteCache};
pub use read_path::{ReadOp, ReadySectors};
pub use ssd::{Ssd, Tally};
pub use storage::{Counts, Storage, Work};
pub use store::Data;
