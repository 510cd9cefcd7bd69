//! What a filesystem says is wrong with it, in its own words.
//!
//! Layer: rank 7. Main types: [`Audit`] and [`Place`].

use boardlab_sim::Bytes;
use std::collections::BTreeMap;

/// What is damaged on a flash.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// Nodes that were verified.
    pub nodes: u64,
    /// How many of them are damaged.
    pub damaged: u64,
    /// Where something is wrong, in order.
    pub places: Vec<Place>,
    /// Places that are not among `places`.
    pub more: u64,
    /// What is lost, by inode.
    pub hurt: BTreeMap<u32, String>,
    /// Whether names or files may be missing of which nothing is known.
    pub unknown_loss: bool,
    /// Whether bits of a block's spare bytes flipped so that it looks bad while nodes are in it.
    pub doubtful_blocks: Vec<u32>,
    /// That blocks hold something else.
    pub foreign: Option<String>,
}

/// A place where something is wrong.
#[derive(Debug, Clone)]
pub struct Place {
    /// Where it begins on the flash.
    pub at: Bytes,
    /// What lies there.
    pub what: String,
    /// What follows from it.
    pub meaning: &'static str,
    /// Whether something is missing because of it, or may be.
    pub is_loss: bool,
    /// The inode that it is of; when nothing is certain, the one that its bytes speak of.
    pub ino: Option<u32>,
}
