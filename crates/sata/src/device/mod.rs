//! The SSD: commands, buffer, and the translation layer below.
//!
//! In reading order:
//!
//! - [`ssd`]: [`Ssd`], the device end of a link. `command` decodes, `protocol` begins and ends commands, `queue` knows
//!   the queued ones, `transfer` and `frame` move data.
//! - [`drive`]: [`Drive`], what a drive is, as plain data; [`Refusal`], why it does not do something.
//! - [`storage`]: [`Storage`], the drive without its protocol: sectors in, flash operations out, and when. Its two
//!   ways are `incoming` and [`outgoing`], what it holds `contents` and [`store`].

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
