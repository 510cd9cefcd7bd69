//! Deleted files of which something is still on the flash.
//!
//! Layer: rank 7. In reading order: this file, with what a filesystem finds ([`Remnant`], [`FormerName`]);
//! `layers`, the content of a file as its newest pieces; `names`, where files were; `tree` with [`DeletedTree`],
//! all of them as a filesystem, so that they are listed and extracted as living files are.
//!
//! A log-structured filesystem erases nothing when a file is deleted. What it finds is untrusted as all of an image: names may
//! be anything, directories may contain themselves, and pieces may overlap.

mod layers;
mod names;
mod tree;

pub use layers::{Content, Layer, Piece};
pub use tree::DeletedTree;

use boardlab_result::prose::counted;
use boardlab_sim::Clock;
use boardlab_vfs::{Attributes, Error, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The number of ranges of a file that are named; more are counted.
const RANGES: usize = 4;

/// A name that a file has or had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerName {
    /// The directory.
    pub parent: u64,
    /// The name.
    pub name: Vec<u8>,
    /// Its age: higher than those of earlier names in the directory.
    pub version: u64,
    /// The inode; `None` where the name was removed.
    pub ino: Option<u64>,
    /// When it was written, where that is known.
    pub time: Option<i64>,
    /// Whether it leads to a directory.
    pub is_directory: bool,
    /// Whether the filesystem does not follow it for another reason than a later name.
    pub is_obsolete: bool,
}

/// What is left of an inode without a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remnant {
    /// The inode.
    pub ino: u64,
    /// Its last attributes.
    pub attributes: Attributes,
    /// The target of a symbolic link.
    pub target: Vec<u8>,
    /// Its extended attributes.
    pub xattrs: Xattrs,
    /// Its pieces, in any order.
    pub layers: Vec<Layer>,
    /// Whether the filesystem writes something for a hole, so that a hole differs from what is gone.
    pub has_holes: bool,
    /// What else is not known of it, in words.
    pub doubt: Option<&'static str>,
}

/// The most bytes of extended attributes that are kept: many files may name one value.
pub(crate) const XATTR_BYTES: usize = 64 << 20;

/// The extended attributes of a deleted file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Xattrs {
    /// Names and values, by their names.
    pub all: BTreeMap<Vec<u8>, Vec<u8>>,
    /// How many more it had, of which the name or the value is gone.
    pub gone: usize,
}

/// What a filesystem finds of deleted files.
#[derive(Debug)]
pub struct Remnants {
    /// The root directory.
    pub root: u64,
    /// Every name that is left, of living files too.
    pub names: Vec<FormerName>,
    /// The inodes that a name leads to.
    pub living: BTreeSet<u64>,
    /// The inodes that none leads to.
    pub inodes: Vec<Remnant>,
    /// Whether there is more than was kept.
    pub is_cut: bool,
    /// Reads the pieces.
    pub source: Box<dyn PieceSource>,
}

/// Reads pieces of deleted files.
pub trait PieceSource: fmt::Debug {
    /// The bytes of a piece, by [`Layer::index`].
    ///
    /// # Errors
    /// EIO.
    fn read(&mut self, clock: &mut Clock, index: usize) -> Result<Vec<u8>, Error>;
}

/// A deleted file.
#[derive(Debug, Clone)]
pub struct DeletedFile {
    /// The inode.
    pub ino: u64,
    /// Its last attributes; `None` where nothing but its name is left.
    pub attributes: Option<Attributes>,
    /// The target of a symbolic link.
    pub target: Vec<u8>,
    /// Its extended attributes.
    pub xattrs: Xattrs,
    /// When its name was removed, where that is known.
    pub deleted: Option<Timestamp>,
    /// Its content.
    pub content: Content,
    /// Whether a hole differs from what is gone.
    pub has_holes: bool,
    /// What else is not known of it, in words.
    pub doubt: Option<&'static str>,
}

impl DeletedFile {
    /// What is missing of it, in words; `None` where nothing is.
    #[must_use]
    pub fn loss(&self) -> Option<String> {
        if self.attributes.is_none() {
            return Some("nothing but its name is left".into());
        }
        let mut words: Vec<String> = self.doubt.iter().map(|&doubt| doubt.into()).collect();
        if !self.content.gone.is_empty() {
            let hole = if self.has_holes { "" } else { ", or a hole" };
            words.push(format!("{} are gone{hole}", ranges(&self.content.gone)));
        }
        if !self.content.older.is_empty() {
            words.push(format!(
                "{} are older: the newest there is damaged",
                ranges(&self.content.older)
            ));
        }
        match self.xattrs.gone {
            0 => {}
            1 => words.push("an extended attribute is gone".into()),
            gone => words.push(format!("{} are gone", counted(gone, "extended attribute"))),
        }
        (!words.is_empty()).then(|| words.join("; "))
    }
}

/// `bytes 0 to 4095, 8192 to 9000 and 3 more ranges`.
fn ranges(ranges: &[std::ops::Range<u64>]) -> String {
    let named: Vec<_> = ranges
        .iter()
        .take(RANGES)
        .map(|range| format!("{} to {}", range.start, range.end.saturating_sub(1)))
        .collect();
    let more = ranges.len().saturating_sub(RANGES);
    let more =
        if more > 0 { format!(" and {}", counted(more, "more range")) } else { String::new() };
    format!("bytes {}{more}", named.join(", "))
}
