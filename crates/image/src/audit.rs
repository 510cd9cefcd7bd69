//! The damage that a filesystem reports about itself.
//!
//! Layer: rank 7. Main types: [`Audit`] and [`Place`].

use boardlab_sim::Bytes;
use std::collections::BTreeMap;

/// Zero bits in a byte of a bad-block mark that may be bits that flipped: what retires a block writes zeros.
pub(crate) const FLIPPED: u32 = 2;

/// The damage on a flash.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// Nodes that were verified.
    pub nodes: u64,
    /// How many of the nodes are damaged.
    pub damaged: u64,
    /// The damaged places, in order.
    pub places: Vec<Place>,
    /// Places that are not among `places`.
    pub more: u64,
    /// The losses, by inode.
    pub inode_damage: BTreeMap<u32, String>,
    /// Whether unknown names or files may be missing.
    pub unknown_loss: bool,
    /// Blocks with nodes that look bad, probably because bits of their OOB area flipped.
    pub doubtful_blocks: Vec<u32>,
    /// A note about blocks with foreign content.
    pub foreign: Option<String>,
    /// The verified nodes by their kind, where the filesystem tells them apart.
    pub kinds: BTreeMap<&'static str, KindCount>,
}

/// The nodes of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KindCount {
    /// How many there are.
    pub nodes: u64,
    /// Their bytes on the flash.
    pub bytes: u64,
    /// How many are damaged.
    pub damaged: u64,
}

/// A damaged place.
#[derive(Debug, Clone)]
pub struct Place {
    /// The offset on the flash; `None` when it is on none, as of a LEB that no block holds.
    pub at: Option<Bytes>,
    /// What is damaged.
    pub what: String,
    /// The consequence.
    pub meaning: &'static str,
    /// Whether something is, or may be, missing because of it.
    pub is_loss: bool,
    /// The inode concerned; when uncertain, the one that its bytes suggest.
    pub ino: Option<u32>,
}
