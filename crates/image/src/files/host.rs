//! What this machine says of its files.
//!
//! Layer: rank 7. Main type: [`Found`]; `unix`, and `portable` elsewhere, read it and the content.

#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(super) use portable::{attributes, found, next_data, open, read_at};
#[cfg(unix)]
pub(super) use unix::{attributes, found, next_data, open, read_at};

use boardlab_vfs::Kind;

/// What the operating system says of a file.
pub(super) struct Found {
    pub(super) kind: Option<Kind>,
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
    /// The seconds of the last change.
    pub(super) modified: i64,
    /// What all names of a file have in common; `None` where it has one name.
    pub(super) identity: Option<(u64, u64)>,
}
