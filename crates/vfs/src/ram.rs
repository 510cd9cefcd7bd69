//! The memory that a filesystem's structures would use in a 32-bit kernel.
//!
//! Layer: rank 2. Main type: [`Structure`]. A filesystem counts its structures and multiplies by
//! the size of the kernel's, whose source it names. The memory of this program does not matter.

use boardlab_sim::Bytes;

/// Structures of one kind in RAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Structure {
    /// The kernel's name: `struct jffs2_inode_cache`.
    pub name: &'static str,
    /// The size of one on a 32-bit kernel, as the allocator rounds it.
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
