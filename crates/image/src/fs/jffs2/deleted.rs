//! Deleted files of JFFS2.
//!
//! Layer: rank 7. Main function: [`remnants`]. JFFS2 writes a node for a hole too, so what no node holds is gone.

use crate::deleted::{FormerName, Layer, PieceSource, Remnant, Remnants, XATTR_BYTES, Xattrs};
use crate::dump::Dump;
use crate::error::Error;
use boardlab_jffs2::Jffs2;
use boardlab_jffs2::format::Xref;
use boardlab_jffs2::format::inode::Compressor;
use boardlab_jffs2::index::ROOT;
use boardlab_jffs2::inode::device_of;
use boardlab_jffs2::remains::{RemainingName, RemainingNode, RemainingXattr};
use boardlab_sim::Clock;
use boardlab_vfs::{Attributes, Device, Ino, Kind, Timestamp};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Bytes of the longest target of a symbolic link that is read.
const TARGET_MAX: u32 = 4_095;

/// The nodes, with the flash that they are on.
#[derive(Debug)]
struct Source {
    fs: Jffs2<Dump>,
    nodes: Vec<RemainingNode>,
}

impl PieceSource for Source {
    fn read(&mut self, clock: &mut Clock, index: usize) -> Result<Vec<u8>, boardlab_vfs::Error> {
        Ok(self.fs.read_remaining(clock, &self.nodes[index])?)
    }
}

/// Finds what is left of deleted files.
pub(super) fn remnants(mut fs: Jffs2<Dump>, clock: &mut Clock) -> Result<Remnants, Error> {
    let found = fs.remains(clock).map_err(|problem| Error::Audit { problem: problem.into() })?;
    let inodes = found.names.iter().map(|name| name.ino);
    let living: BTreeSet<u64> =
        inodes.filter(|&ino| ino > 0 && fs.is_named(ino)).map(u64::from).collect();
    let mut nodes = found.nodes;
    nodes.sort_by_key(|node| (node.fields.ino, node.fields.version, node.good, node.at));
    let mut source = Source { fs, nodes };
    let mut references = found.references;
    references
        .retain(|one| source.nodes.binary_search_by_key(&one.ino, |node| node.fields.ino).is_ok());
    let mut is_cut = found.is_cut;
    let mut xattrs = xattrs(&mut source.fs, clock, (references, &found.xattrs), &mut is_cut);
    let mut inodes = Vec::new();
    let mut start = 0;
    while let Some(first) = source.nodes.get(start) {
        let ino = first.fields.ino;
        let count = source.nodes[start..].partition_point(|node| node.fields.ino == ino);
        let remnant = remnant(&mut source, clock, start, start + count);
        let xattrs = xattrs.remove(&ino).unwrap_or_default();
        inodes.extend(remnant.map(|remnant| Remnant { xattrs, ..remnant }));
        start += count;
    }
    let names = found.names.into_iter().map(former_name).collect();
    let root = ROOT.into();
    Ok(Remnants { root, names, living, inodes, is_cut, source: Box::new(source) })
}

fn former_name(name: RemainingName) -> FormerName {
    FormerName {
        parent: name.parent.into(),
        name: name.name,
        version: name.version.into(),
        ino: (name.ino > 0).then(|| name.ino.into()),
        time: Some(name.mctime.into()),
        is_directory: name.kind == Kind::Directory.dirent_type(),
        is_obsolete: !name.accurate,
    }
}

/// The extended attributes of each inode. Of several references of an inode to one attribute the newest counts, and
/// of several attributes of one name that of the newest reference. Beyond [`XATTR_BYTES`] they are cut off.
fn xattrs(
    fs: &mut Jffs2<Dump>,
    clock: &mut Clock,
    (mut references, found): (Vec<Xref>, &[RemainingXattr]),
    is_cut: &mut bool,
) -> BTreeMap<u32, Xattrs> {
    let mut nodes: HashMap<u32, Vec<&RemainingXattr>> = HashMap::new();
    for one in found {
        nodes.entry(one.xid).or_default().push(one);
    }
    nodes.values_mut().for_each(|same| same.sort_by_key(|one| Reverse(one.version)));
    // A collection of the reference of a deleted inode marks it, and keeps its number.
    references.sort_by_key(|one| (one.ino, one.xid, Reverse(one.sequence), one.removed));
    references.dedup_by_key(|one| (one.ino, one.xid));
    references.retain(|one| !one.removed);
    references.sort_by_key(|one| one.sequence);
    let mut xattrs: BTreeMap<u32, Xattrs> = BTreeMap::new();
    let mut values = HashMap::new();
    let mut left = XATTR_BYTES;
    for Xref { ino, xid, .. } in references {
        let value = values.entry(xid).or_insert_with(|| {
            let mut same = nodes.get(&xid).into_iter().flatten();
            same.find_map(|one| fs.read_remaining_xattr(clock, one).ok().flatten())
        });
        let xattrs = xattrs.entry(ino).or_default();
        let Some((name, value)) = value else {
            xattrs.gone += 1;
            continue;
        };
        match left.checked_sub(name.len() + value.len()) {
            Some(rest) => {
                left = rest;
                xattrs.all.insert(name.clone(), value.clone());
            }
            None => (xattrs.gone, *is_cut) = (xattrs.gone + 1, true),
        }
    }
    xattrs
}

/// The inode with the nodes from `start` to `end`, which are in the order of their versions.
fn remnant(source: &mut Source, clock: &mut Clock, start: usize, end: usize) -> Option<Remnant> {
    let newest = source.nodes[start..end].last()?.fields;
    // Number 0 is that of no inode, and 1 the root.
    if newest.ino <= ROOT {
        return None;
    }
    let mut data = Vec::new();
    let has_data = |node: &&RemainingNode| node.good && node.fields.dsize > 0;
    let with_data = source.nodes[start..end].iter().rev().find(has_data).copied();
    let is_file = newest.mode & 0o170_000 == Kind::File.mode_bits();
    if let Some(node) = with_data.filter(|node| !is_file && node.fields.dsize <= TARGET_MAX) {
        data = source.fs.read_remaining(clock, &node).unwrap_or_default();
    }
    let device = device_of(source.fs.order(), &data).unwrap_or(Device { major: 0, minor: 0 });
    let kind = Kind::of_mode(newest.mode, device).unwrap_or(Kind::File);
    let layers =
        (start..end).zip(&source.nodes[start..end]).filter(|(_, node)| node.fields.dsize > 0);
    let layer = |(index, node): (usize, &RemainingNode)| {
        let first = u64::from(node.fields.offset);
        let is_hole = node.fields.compressor == Compressor::Zero;
        let range = first..first + u64::from(node.fields.dsize);
        let version = node.fields.version.into();
        Layer { version, range, is_good: node.good, is_hole, index }
    };
    let time = |seconds: u32| Timestamp::seconds(seconds.into());
    Some(Remnant {
        ino: newest.ino.into(),
        attributes: Attributes {
            ino: Ino(newest.ino.into()),
            kind,
            mode: newest.mode & 0o7777,
            links: 1,
            uid: newest.uid.into(),
            gid: newest.gid.into(),
            size: if kind == Kind::Symlink { data.len() as u64 } else { newest.isize.into() },
            accessed: time(newest.atime),
            modified: time(newest.mtime),
            changed: time(newest.ctime),
        },
        layers: layers.map(layer).collect(),
        xattrs: Xattrs::default(),
        has_holes: true,
        doubt: None,
        target: if kind == Kind::Symlink { data } else { Vec::new() },
    })
}
