//! The filesystem trait, and what a kernel puts above it.
//!
//! Layer: rank 2; uses `sim` only. In reading order:
//!
//! - [`error`]: [`Error`] and [`Errno`]; [`node`]: inodes, their attributes and entries.
//! - [`filesystem`]: the trait [`FileSystem`]; [`memory`]: [`MemoryFs`], the reference.
//! - [`mount`]: [`Mount`], paths, open files and the caches above a filesystem; [`cache`]: how the page
//!   cache is set up.
//! - [`host`]: [`Host`], what the CPU costs; [`ram`]: [`Structure`], what a kernel would hold in RAM.
//! - [`survey`](mod@survey): the whole tree, and the difference of two; [`script`]: [`Action`] and
//!   [`Mix`], random operations for model tests and power cuts.

pub mod cache;
pub mod error;
pub mod filesystem;
pub mod host;
pub mod memory;
pub mod mount;
pub mod node;
pub mod ram;
pub mod script;
pub mod survey;

pub use cache::{CacheCounts, Options, WriteBack};
pub use error::{Errno, Error};
pub use filesystem::{Caching, Contradiction, FileSystem, PAGE_SIZE, Piece};
pub use host::{Cost, Host, Work};
pub use memory::MemoryFs;
pub use mount::{Fd, Mount};
pub use node::{Attributes, Change, Device, Entry, Ino, Kind, New, Space, Timestamp, WallClock};
pub use ram::Structure;
pub use script::{Action, Answer, Mix};
pub use survey::{Difference, Found, compare, survey};
