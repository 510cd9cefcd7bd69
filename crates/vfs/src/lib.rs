//! The filesystem trait, and what a kernel puts above it.
//!
//! Layer: rank 2; uses `sim` only. In reading order:
//!
//! - [`error`]: [`Error`] and [`Errno`]; [`node`]: inodes, their attributes and entries.
//! - [`filesystem`]: the trait [`FileSystem`]; [`memory`]: [`MemoryFs`], the reference.
//! - [`mount`]: [`Mount`], the paths, open files and caches above a filesystem; [`cache`]: the page
//!   cache and its settings.
//! - [`host`]: [`Host`], the cost of the CPU; [`ram`]: [`Structure`], the memory that a kernel
//!   would use.
//! - [`survey`](mod@survey): lists a whole tree, and compares two; [`script`]: [`Action`] and
//!   [`Mix`], random operations for model tests and power cuts.

pub mod cache;
pub mod error;
pub mod filesystem;
pub mod host;
pub mod lru;
pub mod memory;
pub mod mount;
pub mod node;
pub mod ram;
pub mod script;
pub mod survey;

pub use cache::{CacheCounts, Options, WriteBack};
pub use error::{Errno, Error};
pub use filesystem::{
    Caching, Contradiction, FileExtent, FileSystem, PAGE_SIZE, PageWrite, Truncation,
};
pub use host::{Cost, Host, Work};
pub use lru::LruMap;
pub use memory::MemoryFs;
pub use mount::{ByInode, Fd, Mount, OpenFlags, Place};
pub use node::{
    Attributes, Device, Entry, Ino, Kind, NAME_MAX, NewInode, SetAttr, StatFs, Timestamp,
    WallClock, XATTR_NAME_MAX, is_plain_name,
};
pub use ram::Structure;
pub use script::{Action, Answer, Mix};
pub use survey::{Difference, TreeEntry, compare, survey};
