//! How many files of each kind an image or an archive holds.
//!
//! Layer: rank 7. Main type: [`FileCounts`].

use boardlab_vfs::Kind;

/// What an image or an archive holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileCounts {
    /// Folders.
    pub directories: u64,
    /// Files, each counted once.
    pub files: u64,
    /// Further names of files.
    pub links: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Devices, pipes and sockets.
    pub special: u64,
    /// Bytes of content, holes included.
    pub content: u64,
}

impl FileCounts {
    /// Counts the first name of a file.
    pub(crate) const fn add(&mut self, kind: Kind) {
        match kind {
            Kind::Directory => self.directories += 1,
            Kind::File => self.files += 1,
            Kind::Symlink => self.symlinks += 1,
            Kind::Fifo | Kind::Socket | Kind::Character(_) | Kind::Block(_) => self.special += 1,
        }
    }
}
