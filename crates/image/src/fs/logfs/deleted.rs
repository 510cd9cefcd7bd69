//! Deleted files of LogFS.
//!
//! Layer: rank 7. Main function: [`remnants`]; `tree` finds which blocks a file had last. The unlink writes the inode without
//! a name, with its size and all pointers, and only then is it cut off; that inode is the one that counts:
//!
//! ```text
//!  inode 20   named   named   no name: 30,000 bytes, 17 pointers   no name: 0 bytes, no pointers
//! ```
//! Without that inode nothing says what is a hole, and how long the file was: the last block is its end.

mod tree;

use super::audit::Opened;
use crate::deleted::{FormerName, Layer, PieceSource, Remnant, Remnants, Xattrs};
use crate::dump::Dump;
use crate::error::Error;
use boardlab_logfs::Logfs;
use boardlab_logfs::format::{BLOCK, BlockId, ROOT};
use boardlab_logfs::remains::{RemainingBlock, RemainingInode, RemainingName, Remains};
use boardlab_sim::Clock;
use boardlab_vfs::{Attributes, Ino, Kind, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tree::Holes;

/// Bytes of a block.
const BYTES: u64 = BLOCK as u64;

/// The blocks, with the flash that they are on.
#[derive(Debug)]
struct Source {
    fs: Logfs<Dump>,
    blocks: Vec<RemainingBlock>,
}

impl Source {
    fn layer(&self, index: usize) -> Layer {
        let block = &self.blocks[index];
        let (version, is_good, is_hole) = (block.version, block.is_good, false);
        Layer { version, range: range(block.id.index, 1), is_good, is_hole, index }
    }
}

impl PieceSource for Source {
    fn read(&mut self, clock: &mut Clock, index: usize) -> Result<Vec<u8>, boardlab_vfs::Error> {
        Ok(self.fs.read_remaining(clock, &self.blocks[index])?)
    }
}

/// Finds what is left of deleted files.
pub(super) fn remnants(opened: Opened, clock: &mut Clock) -> Result<Remnants, Error> {
    let mut fs = opened.fs;
    let found = fs.remains(clock).map_err(|problem| Error::Audit { problem: problem.into() })?;
    let Remains { names, inodes, mut blocks, is_cut } = found;
    let children: BTreeSet<u64> = names.iter().map(|name| name.ino).collect();
    let is_living = |ino: &u64| fs.is_named(clock, *ino);
    let living = children.into_iter().filter(is_living).chain([ROOT]).collect();
    blocks.sort_by_key(|block| (block.id, block.version));
    let states = states(inodes);
    let gone: BTreeSet<u64> =
        states.keys().copied().chain(blocks.iter().map(|block| block.id.ino)).collect();
    let mut source = Source { fs, blocks };
    let all = former_names(names, &states);
    let mut inodes = Vec::new();
    for ino in gone {
        inodes.extend(remnant(&mut source, clock, ino, states.get(&ino)));
    }
    let (root, source) = (ROOT, Box::new(source));
    Ok(Remnants { root, names: all, living, inodes, is_cut, source })
}

/// The last state of an inode.
#[derive(Debug)]
struct State {
    inode: RemainingInode,
    /// Whether it is the one that was written with the removal of the last name: it has the size and the pointers of then.
    is_exact: bool,
    /// When the last name was removed, if an inode says it.
    removed: Option<Timestamp>,
}

/// The state of each inode with which it was deleted: the first without a name behind the last with one; else the last with
/// a name, else the first without.
fn states(mut inodes: Vec<RemainingInode>) -> BTreeMap<u64, State> {
    inodes.sort_by_key(|inode| (inode.ino, inode.version));
    let mut states = BTreeMap::new();
    for same in inodes.chunk_by(|one, other| one.ino == other.ino) {
        let named = same.iter().rposition(|inode| inode.disk.links > 0);
        let behind = named.map_or(0, |named| named + 1);
        let without = same.get(behind);
        // Without one behind it, the last with a name is the last of all.
        let inode = without.unwrap_or(&same[same.len() - 1]).clone();
        let removed = without.and_then(|one| Some(one.attributes()?.changed));
        let is_exact = named.is_some() && without.is_some();
        states.insert(inode.ino, State { inode, is_exact, removed });
    }
    states
}

/// All names, and for the last one of each deleted inode that it was removed.
fn former_names(names: Vec<RemainingName>, states: &BTreeMap<u64, State>) -> Vec<FormerName> {
    let mut last: BTreeMap<u64, usize> = BTreeMap::new();
    for (number, name) in names.iter().enumerate() {
        let known = last.entry(name.ino).or_insert(number);
        if names[*known].version <= name.version {
            *known = number;
        }
    }
    let removal = |(ino, number): (&u64, &usize)| {
        let (name, removed) = (&names[*number], states.get(ino)?.removed?);
        Some(FormerName {
            parent: name.parent,
            name: name.name.clone(),
            // An object has more than a byte, so this is no other one's.
            version: name.version + 1,
            ino: None,
            time: Some(removed.seconds),
            is_directory: false,
            is_obsolete: false,
        })
    };
    let removals: Vec<FormerName> = last.iter().filter_map(removal).collect();
    let former = |name: RemainingName| FormerName {
        parent: name.parent,
        name: name.name,
        version: name.version,
        ino: Some(name.ino),
        time: None,
        is_directory: name.kind == Kind::Directory.dirent_type(),
        is_obsolete: !name.is_current,
    };
    names.into_iter().map(former).chain(removals).collect()
}

/// What is left of an inode.
fn remnant(
    source: &mut Source,
    clock: &mut Clock,
    ino: u64,
    state: Option<&State>,
) -> Option<Remnant> {
    let first = BlockId { ino, level: 0, index: 0 };
    let start = source.blocks.partition_point(|block| block.id < first);
    let count =
        source.blocks[start..].partition_point(|block| block.id.ino == ino && block.id.level == 0);
    let data = start..start + count;
    let mut layers: Vec<Layer> = data.clone().map(|index| source.layer(index)).collect();
    let end = layers.iter().map(|layer| layer.range.end).max().unwrap_or(0);
    let Some(State { inode, is_exact, .. }) = state else {
        // Only blocks are left, so what it was is not known.
        let attributes = unknown(ino, end);
        return (end > 0).then(|| Remnant {
            ino,
            attributes,
            target: Vec::new(),
            xattrs: Xattrs::default(),
            layers,
            has_holes: false,
            doubt: Some("its inode is gone, and with it mode, owner, times and size"),
        });
    };
    let mut attributes = Attributes { links: 1, ..inode.attributes()? };
    let mut has_holes = false;
    let mut doubt = None;
    let mut target = Vec::new();
    match attributes.kind {
        Kind::File if *is_exact => {
            let (last, holes) = tree::last(source, clock, inode, data);
            (layers, has_holes) = (last, holes == Holes::Known);
            let is_filled = holes == Holes::Filled;
            doubt = is_filled.then_some("what was cut off may be in the place of holes");
        }
        Kind::File => {
            attributes.size = attributes.size.max(end);
            doubt = Some("its last inode is gone: size and holes may be others");
        }
        Kind::Symlink => {
            let newest = data.rev().find(|&index| source.blocks[index].is_good);
            target = newest.and_then(|index| source.read(clock, index).ok()).unwrap_or_default();
            let length = target.iter().position(|&byte| byte == 0).unwrap_or(target.len());
            target.truncate(length);
            attributes.size = target.len() as u64;
        }
        _ => {}
    }
    let xattrs = Xattrs::default();
    Some(Remnant { ino, attributes, target, xattrs, layers, has_holes, doubt })
}

/// The attributes of a file of which only blocks are left.
fn unknown(ino: u64, size: u64) -> Attributes {
    let never = Timestamp::default();
    Attributes {
        ino: Ino(ino),
        kind: Kind::File,
        mode: 0o600,
        links: 1,
        uid: 0,
        gid: 0,
        size,
        accessed: never,
        modified: never,
        changed: never,
    }
}

/// The bytes of so many blocks of data from one on.
fn range(first: u64, blocks: u64) -> Range<u64> {
    let start = first.saturating_mul(BYTES);
    start..start.saturating_add(blocks.saturating_mul(BYTES))
}
