//! Operations on names that a power cut can interrupt.
//!
//! Layer: rank 5. Main types: [`Transaction`], [`Pending`]. Source: Linux 3.12, `struct logfs_transaction`.

/// What to note in the journal when an inode is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transaction {
    /// This inode has one name less than it says, or none yet.
    Victim(u64),
    /// It has as many as it says.
    NoVictim,
    /// An entry of a directory must be removed, and then perhaps an inode.
    Rename {
        /// The directory.
        dir: u64,
        /// The block of the entry.
        pos: u64,
        /// The inode that had the new name; 0 for none.
        victim: u64,
    },
    /// The entry is removed.
    Renamed,
}

/// What the next mount has to finish (`s_victim_ino`, `s_rename_dir`, `s_rename_pos`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pending {
    /// An inode that loses a name; 0 for none.
    pub victim: u64,
    /// The directory of an entry to be removed; 0 for none.
    pub rename_dir: u64,
    /// The block of that entry.
    pub rename_pos: u64,
}
