//! How much memory a filesystem's structures would take in a 32-bit kernel.
//!
//! Layer: rank 2. Main type: [`Structure`]. A filesystem counts its own structures and multiplies by
//! the size of the kernel's, whose source it names; our own memory has nothing to do with it.

use boardlab_sim::Bytes;

/// Structures of one kind that are held in RAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Structure {
    /// The kernel's name: `struct jffs2_inode_cache`.
    pub name: &'static str,
    /// The size of one on a 32-bit kernel, as its allocator hands it out.
    pub size: Bytes,
    /// How many there are.
    pub count: u64,
}

impl Structure {
    /// The memory of all of them.
    #[must_use]
    pub fn total(&self) -> Bytes {
        self.size * self.count
    }
}
