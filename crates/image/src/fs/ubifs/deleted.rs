//! Deleted files of UBIFS.
//!
//! Layer: rank 7. Main function: [`remnants`]. The last inode that was written with a link has the attributes: a
//! deletion writes it without one, and may write its size as 0. Holes have no nodes, so they look like what is
//! gone; those that a truncation left are known as long as its node is there.

use super::lebs::ImageLebs;
use crate::deleted::{FormerName, Layer, PieceSource, Remnant, Remnants, Xattrs};
use crate::error::Error;
use boardlab_sim::Clock;
use boardlab_ubifs::Ubifs;
use boardlab_ubifs::format::ROOT_INO;
use boardlab_ubifs::remains::{RemainingBlock, RemainingInode, RemainingName};
use boardlab_vfs::{Attributes, Ino, Kind};
use std::collections::{BTreeMap, BTreeSet};

/// The blocks, with the volume that they are on.
#[derive(Debug)]
struct Source {
    fs: Ubifs<ImageLebs>,
    blocks: Vec<RemainingBlock>,
}

impl PieceSource for Source {
    fn read(&mut self, clock: &mut Clock, index: usize) -> Result<Vec<u8>, boardlab_vfs::Error> {
        Ok(self.fs.read_remaining(clock, &self.blocks[index])?)
    }
}

/// Finds what is left of deleted files.
pub(super) fn remnants(mut fs: Ubifs<ImageLebs>, clock: &mut Clock) -> Result<Remnants, Error> {
    let found = fs.remains(clock).map_err(|problem| Error::Audit { problem: problem.into() })?;
    let named: BTreeSet<u32> = found.names.iter().map(|name| name.ino).collect();
    let named = named.into_iter().filter(|&ino| ino > 0 && fs.is_named(clock, ino));
    let living = named.map(u64::from).collect();
    let mut layers: BTreeMap<u32, Vec<Layer>> = BTreeMap::new();
    for (index, block) in found.blocks.iter().enumerate() {
        let (version, range, is_hole) = (block.sqnum, block.range.clone(), block.at.is_none());
        let layer = Layer { version, range, is_good: true, is_hole, index };
        layers.entry(block.ino).or_default().push(layer);
    }
    let mut xattrs = xattrs(found.xattrs, found.values);
    let inodes = newest(found.inodes).into_iter().filter_map(|(ino, inode)| {
        let layers = layers.remove(&ino).unwrap_or_default();
        let mut xattrs = xattrs.remove(&ino).unwrap_or_default();
        // The inode counts them. One that was added later is none too many.
        let count = usize::try_from(inode.node.xattr_cnt).unwrap_or(usize::MAX);
        xattrs.gone = count.saturating_sub(xattrs.all.len());
        remnant(ino, inode, layers).map(|remnant| Remnant { xattrs, ..remnant })
    });
    Ok(Remnants {
        root: ROOT_INO.into(),
        names: found.names.into_iter().map(former_name).collect(),
        living,
        inodes: inodes.collect(),
        is_cut: found.is_cut,
        source: Box::new(Source { fs, blocks: found.blocks }),
    })
}

/// The newest node of each inode, if there is one the newest with a link.
fn newest(all: Vec<RemainingInode>) -> BTreeMap<u32, RemainingInode> {
    let mut newest: BTreeMap<u32, RemainingInode> = BTreeMap::new();
    let age = |inode: &RemainingInode| (inode.node.nlink > 0, inode.sqnum);
    for inode in all {
        let ino = inode.node.key.ino();
        // The root has no name, and a number below its own means no inode.
        if ino > ROOT_INO && newest.get(&ino).is_none_or(|known| age(known) <= age(&inode)) {
            newest.insert(ino, inode);
        }
    }
    newest
}

/// The extended attributes of each inode: the newest entry of each name, unless it says that it was removed, and the
/// value that its inode had last. The deletion of the file writes that inode without a link, and no entry.
fn xattrs(mut entries: Vec<RemainingName>, values: Vec<RemainingInode>) -> BTreeMap<u32, Xattrs> {
    let values = newest(values);
    entries.sort_by_key(|entry| entry.sqnum);
    let mut last: BTreeMap<(u32, Vec<u8>), u32> = BTreeMap::new();
    last.extend(entries.into_iter().map(|entry| ((entry.parent, entry.name), entry.ino)));
    let mut xattrs: BTreeMap<u32, Xattrs> = BTreeMap::new();
    for ((host, name), ino) in last {
        // That of the deletion has no value.
        let value = values.get(&ino).filter(|value| ino > 0 && value.node.nlink > 0);
        if let Some(value) = value {
            xattrs.entry(host).or_default().all.insert(name, value.node.data.clone());
        }
    }
    xattrs
}

fn former_name(name: RemainingName) -> FormerName {
    FormerName {
        parent: name.parent.into(),
        name: name.name,
        version: name.sqnum,
        ino: (name.ino > 0).then(|| name.ino.into()),
        time: name.time.map(|time| time.seconds),
        is_directory: name.is_directory,
        is_obsolete: false,
    }
}

fn remnant(ino: u32, inode: RemainingInode, layers: Vec<Layer>) -> Option<Remnant> {
    let node = inode.node;
    let kind = node.kind()?;
    let is_link = kind == Kind::Symlink;
    Some(Remnant {
        ino: ino.into(),
        attributes: Attributes {
            ino: Ino(ino.into()),
            kind,
            mode: node.mode & 0o7777,
            links: 1,
            uid: node.uid,
            gid: node.gid,
            size: if is_link { node.data.len() as u64 } else { node.size },
            accessed: node.accessed,
            modified: node.modified,
            changed: node.changed,
        },
        target: if is_link { node.data } else { Vec::new() },
        xattrs: Xattrs::default(),
        layers,
        has_holes: false,
        doubt: None,
    })
}
