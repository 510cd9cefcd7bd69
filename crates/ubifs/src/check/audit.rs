//! The audit of a damaged filesystem: every node of the index is read, and every wrong one reported.
//!
//! Layer: rank 5. Main function: [`Ubifs::audit`]. The checks of the kernel stop at the first fault;
//! this one is for images of which as much as possible is to be known.

use crate::error::Problem;
use crate::format::index::Branch;
use crate::format::key::{Key, KeyType};
use crate::{Error, LebIndex, Lebs, Ubifs, Volume};
use boardlab_sim::Clock;

/// A node that the index refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf {
    /// Its LEB.
    pub leb: LebIndex,
    /// Its offset there.
    pub offs: u32,
    /// Its length.
    pub len: u32,
    /// The inode that it belongs to; of an entry the directory.
    pub ino: u32,
    /// What it is; `None` when the key is illegal.
    pub kind: Option<KeyType>,
    /// The block of a data node.
    pub block: u32,
}

/// A part of an older index that does not stand any more: all keys from one on, and below another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Where the indexing node was.
    pub leb: LebIndex,
    /// Its offset there.
    pub offs: u32,
    /// The first key.
    pub first: Key,
    /// The key where the index goes on.
    pub end: Key,
    /// What is there.
    pub error: Error,
}

impl From<Branch> for Leaf {
    fn from(branch: Branch) -> Self {
        let Branch { lnum: leb, offs, len, key } = branch;
        Self { leb, offs, len, ino: key.ino(), kind: key.kind(), block: key.low() }
    }
}

/// What an audit has found.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// Every node, in the order of the index.
    pub leaves: Vec<Leaf>,
    /// The damaged ones, each with what is wrong.
    pub damaged: Vec<(Leaf, Error)>,
    /// Why the index cannot be read to its end: what it refers to from there on is unknown.
    pub index: Option<Error>,
    /// Of an older commit, the parts of the index that do not stand any more.
    pub gaps: Vec<Gap>,
    /// What counts, sizes and links contradict, when all nodes are right.
    pub contradiction: Option<Error>,
}

impl<L: Lebs> Ubifs<L> {
    /// Reads every node of the index and reports all damage. Mount with
    /// [`Options::check_data_crc`](crate::Options), else wrong checksums of data are not noticed.
    ///
    /// # Errors
    /// None: whatever the volume returns is damage of the node that was read.
    pub fn audit(&mut self, clock: &mut Clock) -> Audit {
        let volume = &mut self.volume;
        if let Some(past) = &volume.past {
            let mut audit = past.audit();
            if audit.damaged.is_empty() && audit.gaps.is_empty() {
                audit.contradiction = volume.check_filesystem(clock).err();
            }
            return audit;
        }
        let (mut audit, mut statements) = (Audit::default(), Vec::new());
        let mut leaf = |volume: &mut Volume<L>, clock: &mut Clock, branch: Branch| {
            let leaf = Leaf::from(branch);
            // Branches of a forged index can lead to the same nodes over and over.
            if !volume.layout.takes_leaves(audit.leaves.len()) {
                return Err(Error::at(leaf.leb, leaf.offs, Problem::Index));
            }
            audit.leaves.push(leaf);
            match volume.read_statement(clock, branch) {
                Ok(statement) => statements.push((branch.key, statement)),
                Err(error) => audit.damaged.push((leaf, error)),
            }
            Ok(())
        };
        audit.index = volume.walk_index(clock, &mut leaf, &mut |_| {}).err();
        if audit.index.is_none() && audit.damaged.is_empty() {
            audit.contradiction = volume.check_statements(clock, &statements).err();
        }
        audit
    }
}
