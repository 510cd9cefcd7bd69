//! Deleted files as a filesystem that can be read, each where it was.
//!
//! Layer: rank 7. Main type: [`DeletedTree`]. A file whose name or directory is not known is in `lost+found`, as
//! `#INODE`. Of two files with one path the one that was deleted last has it, and the other one gets its inode
//! appended. Folders that are not deleted, but have deleted files in them, are there without their attributes.

use super::names::Names;
use super::{Content, DeletedFile, PieceSource, Remnant, Remnants, Xattrs};
use boardlab_sim::Clock;
use boardlab_vfs::{
    Attributes, Caching, Entry, Errno, Error, FileExtent, FileSystem, Ino, Kind, NAME_MAX,
    NewInode, PAGE_SIZE, SetAttr, StatFs, Timestamp,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::ops::{ControlFlow, Range};

/// The folder of files whose place is not known.
const LOST: &[u8] = b"lost+found";

/// A name in the tree.
#[derive(Debug, Default)]
struct Node {
    /// The deleted file; `None` for a folder that only leads to one.
    file: Option<usize>,
    inside: BTreeMap<Vec<u8>, usize>,
}

/// Deleted files as a filesystem.
#[derive(Debug)]
pub struct DeletedTree {
    /// The root first.
    nodes: Vec<Node>,
    files: Vec<DeletedFile>,
    source: Box<dyn PieceSource>,
    is_cut: bool,
}

/// Nothing of an inode is left but its name.
#[derive(Debug)]
struct NothingLeft;

impl fmt::Display for NothingLeft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing but its name is left")
    }
}

impl std::error::Error for NothingLeft {}

/// A tree that is being built.
struct Building<'a> {
    root: u64,
    names: Names<'a>,
    /// Files that are no directories.
    others: BTreeSet<u64>,
    nodes: Vec<Node>,
    /// The folder of files whose place is not known.
    lost: Option<usize>,
    /// The nodes of inodes.
    of: HashMap<u64, usize>,
}

impl Building<'_> {
    /// The folder of files whose place is not known.
    fn lost(&mut self) -> usize {
        if let Some(lost) = self.lost {
            return lost;
        }
        let lost = self.add(0, LOST, b"unknown");
        self.lost = Some(lost);
        lost
    }

    /// Adds a name to a folder; where it is taken, with `more` appended.
    fn add(&mut self, parent: usize, name: &[u8], more: &[u8]) -> usize {
        let index = self.nodes.len();
        let mut free = name.to_vec();
        let mut round = 0_usize;
        while self.nodes[parent].inside.contains_key(&free) {
            round += 1;
            let mut mark = [b"#", more].concat();
            if round > 1 {
                mark.extend(format!(".{round}").bytes());
            }
            let kept = name.len().min(NAME_MAX.saturating_sub(mark.len()));
            free = [&name[..kept], &mark].concat();
        }
        self.nodes[parent].inside.insert(free, index);
        self.nodes.push(Node::default());
        index
    }

    /// The node of an inode, with the folders that lead to it.
    fn node(&mut self, ino: u64) -> usize {
        let (mut chain, mut above, mut on_the_way) = (Vec::new(), ino, BTreeSet::new());
        let mut parent = loop {
            if above == self.root {
                break 0;
            }
            if let Some(&known) = self.of.get(&above) {
                break known;
            }
            let name = self.names.last(above).map(|name| (name.parent, name.name.clone()));
            let is_new = on_the_way.insert(above);
            match name.filter(|(parent, _)| is_new && !self.others.contains(parent)) {
                Some((parent, name)) => {
                    chain.push((above, name));
                    above = parent;
                }
                None => {
                    // A directory within itself has its name already.
                    if is_new {
                        let known = self.names.last(above).map(|name| name.name.clone());
                        let numbered = || format!("#{above}").into_bytes();
                        chain.push((above, known.unwrap_or_else(numbered)));
                    }
                    break self.lost();
                }
            }
        };
        for (ino, name) in chain.into_iter().rev() {
            parent = self.add(parent, &name, ino.to_string().as_bytes());
            self.of.insert(ino, parent);
        }
        parent
    }
}

impl DeletedTree {
    /// The tree of what a filesystem found.
    #[must_use]
    pub fn of(found: Remnants) -> Self {
        let Remnants { root, names: all, living, inodes, is_cut, source } = found;
        let names = Names::of(&all, &living);
        let mut remnants: HashMap<u64, Remnant> = HashMap::new();
        remnants.extend(inodes.into_iter().map(|one| (one.ino, one)));
        // The last one that was deleted keeps its name where another one had it too.
        let mut order: Vec<u64> = remnants.keys().copied().chain(names.inodes()).collect();
        order.retain(|ino| !living.contains(ino) && *ino != root);
        let age = |ino: u64| (names.removed(ino), names.last(ino).map(|name| name.version), ino);
        order.sort_by_cached_key(|&ino| std::cmp::Reverse(age(ino)));
        order.dedup();
        let is_directory = |ino: u64| match remnants.get(&ino) {
            Some(remnant) => remnant.attributes.kind == Kind::Directory,
            None => names.last(ino).is_none_or(|name| name.is_directory),
        };
        let others = order.iter().copied().filter(|&ino| !is_directory(ino)).collect();
        let nodes = vec![Node::default()];
        let mut building = Building { root, names, others, nodes, lost: None, of: HashMap::new() };
        let mut files = Vec::with_capacity(order.len());
        for ino in order {
            let node = building.node(ino);
            building.nodes[node].file = Some(files.len());
            let deleted = building.names.removed(ino).map(Timestamp::seconds);
            files.push(deleted_file(ino, remnants.remove(&ino), deleted));
        }
        Self { nodes: building.nodes, files, source, is_cut }
    }

    /// Whether there is more than was kept.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The deleted file of an inode of the tree; `None` for a folder that only leads to one.
    #[must_use]
    pub fn file(&self, ino: Ino) -> Option<&DeletedFile> {
        self.node(ino).ok()?.file.map(|file| &self.files[file])
    }

    /// What is missing of each inode of the tree, in words.
    pub fn losses(&self) -> impl Iterator<Item = (Ino, String)> + '_ {
        let files = (1..).zip(&self.nodes).filter_map(|(ino, node)| Some((ino, node.file?)));
        files.filter_map(|(ino, file)| Some((Ino(ino), self.files[file].loss()?)))
    }

    fn node(&self, ino: Ino) -> Result<&Node, Error> {
        let index = ino.0.checked_sub(1).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.nodes.get(index)).ok_or(Error::Refused(Errno::Stale))
    }
}

fn deleted_file(ino: u64, remnant: Option<Remnant>, deleted: Option<Timestamp>) -> DeletedFile {
    let Some(remnant) = remnant else {
        return DeletedFile {
            ino,
            attributes: None,
            target: Vec::new(),
            xattrs: Xattrs::default(),
            deleted,
            content: Content::default(),
            has_holes: true,
            doubt: None,
        };
    };
    let Remnant { attributes, target, xattrs, layers, has_holes, doubt, .. } = remnant;
    let content = match attributes.kind {
        Kind::File => Content::of(layers, attributes.size),
        _ => Content::default(),
    };
    let attributes = Some(attributes);
    DeletedFile { ino, attributes, target, xattrs, deleted, content, has_holes, doubt }
}

/// The inode of a node.
fn number(index: usize) -> Ino {
    Ino(index as u64 + 1)
}

const READ_ONLY: Error = Error::Refused(Errno::RoFs);

impl FileSystem for DeletedTree {
    fn caching(&self) -> Caching {
        Caching::WriteThrough
    }

    fn root(&self) -> Ino {
        Ino(1)
    }

    fn lookup(&mut self, _clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<Ino, Error> {
        let found = self.node(dir)?.inside.get(name).copied();
        found.map(number).ok_or(Error::Refused(Errno::NoEnt))
    }

    fn getattr(&mut self, _clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
        let node = self.node(ino)?;
        let found = match node.file.map(|file| self.files[file].attributes) {
            Some(Some(found)) => found,
            Some(None) if node.inside.is_empty() => return Err(Error::damaged(NothingLeft)),
            _ => Attributes {
                ino,
                kind: Kind::Directory,
                mode: 0o755,
                links: 1,
                uid: 0,
                gid: 0,
                size: 0,
                accessed: Timestamp::default(),
                modified: Timestamp::default(),
                changed: Timestamp::default(),
            },
        };
        Ok(Attributes { ino, links: 1, ..found })
    }

    fn readdir(&mut self, _clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error> {
        let inside = self.node(dir)?.inside.iter();
        let kind = |node: usize| {
            let node = &self.nodes[node];
            let found = node.file.and_then(|file| self.files[file].attributes);
            found.map_or(Kind::Directory, |found| found.kind).dirent_type()
        };
        let entry = |(name, &node): (&Vec<u8>, &usize)| Entry {
            name: name.clone(),
            ino: number(node),
            kind: kind(node),
        };
        Ok(inside.map(entry).collect())
    }

    fn readlink(&mut self, _clock: &mut Clock, ino: Ino) -> Result<Vec<u8>, Error> {
        let file = self.file(ino).ok_or(Error::Refused(Errno::Inval))?;
        Ok(file.target.clone())
    }

    fn read_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        buffer.fill(0);
        let start = page.saturating_mul(PAGE_SIZE as u64);
        let end = start.saturating_add(buffer.len() as u64);
        let mut problem = None;
        self.read_extents(clock, ino, &mut |extent| {
            let FileExtent { offset, length, bytes } = extent;
            let (from, to) = (offset.max(start), offset.saturating_add(length).min(end));
            match bytes {
                Ok(bytes) if from < to => {
                    let within =
                        |at: u64, base: u64| usize::try_from(at - base).unwrap_or(usize::MAX);
                    buffer[within(from, start)..within(to, start)]
                        .copy_from_slice(&bytes[within(from, offset)..within(to, offset)]);
                }
                Err(error) if from < to => problem = Some(error),
                _ => {}
            }
            ControlFlow::Continue(())
        })?;
        problem.map_or(Ok(()), Err)
    }

    fn read_extents(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        take: &mut dyn FnMut(FileExtent<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let Some(file) = self.node(ino)?.file else { return Err(Error::Refused(Errno::IsDir)) };
        let pieces = &self.files[file].content.pieces;
        for same in pieces.chunk_by(|one, other| one.index == other.index) {
            let read = self.source.read(clock, same[0].index);
            for piece in same {
                let (offset, length) = (piece.range.start, piece.range.end - piece.range.start);
                let within = |at: u64| usize::try_from(at - piece.base).ok();
                let bytes = match &read {
                    Ok(bytes) => within(piece.range.start)
                        .zip(within(piece.range.end))
                        .and_then(|(from, to)| bytes.get(from..to))
                        .ok_or(Error::Refused(Errno::Io)),
                    Err(error) => Err(error.clone()),
                };
                if take(FileExtent { offset, length, bytes }).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn setattr(&mut self, _: &mut Clock, _: Ino, _: &SetAttr) -> Result<(), Error> {
        Err(READ_ONLY)
    }

    fn create(&mut self, _: &mut Clock, _: Ino, _: &[u8], _: &NewInode<'_>) -> Result<Ino, Error> {
        Err(READ_ONLY)
    }

    fn link(&mut self, _: &mut Clock, _: Ino, _: Ino, _: &[u8]) -> Result<(), Error> {
        Err(READ_ONLY)
    }

    fn unlink(&mut self, _: &mut Clock, _: Ino, _: &[u8]) -> Result<(), Error> {
        Err(READ_ONLY)
    }

    fn rmdir(&mut self, _: &mut Clock, _: Ino, _: &[u8]) -> Result<(), Error> {
        Err(READ_ONLY)
    }

    fn rename(&mut self, _: &mut Clock, _: Ino, _: &[u8], _: Ino, _: &[u8]) -> Result<(), Error> {
        Err(READ_ONLY)
    }

    fn write_page(
        &mut self,
        _: &mut Clock,
        _: Ino,
        _: u64,
        _: &[u8],
        _: Range<usize>,
    ) -> Result<(), Error> {
        Err(READ_ONLY)
    }

    fn setxattr(&mut self, _: &mut Clock, _: Ino, _: &[u8], _: Option<&[u8]>) -> Result<(), Error> {
        Err(READ_ONLY)
    }

    fn listxattr(&mut self, _clock: &mut Clock, ino: Ino) -> Result<Vec<Vec<u8>>, Error> {
        let file = self.file(ino);
        Ok(file.map_or_else(Vec::new, |file| file.xattrs.all.keys().cloned().collect()))
    }

    fn getxattr(&mut self, _clock: &mut Clock, ino: Ino, name: &[u8]) -> Result<Vec<u8>, Error> {
        let value = self.file(ino).and_then(|file| file.xattrs.all.get(name));
        value.cloned().ok_or(Error::Refused(Errno::NoData))
    }

    fn statfs(&mut self, _clock: &mut Clock) -> Result<StatFs, Error> {
        Err(Error::Refused(Errno::OpNotSupp))
    }

    fn sync(&mut self, _clock: &mut Clock) -> Result<(), Error> {
        Ok(())
    }

    fn fsync(&mut self, _clock: &mut Clock, _ino: Ino) -> Result<(), Error> {
        Ok(())
    }

    fn evict_inode(&mut self, _clock: &mut Clock, _ino: Ino) -> Result<(), Error> {
        Ok(())
    }

    fn background(&mut self, _clock: &mut Clock) -> Result<bool, Error> {
        Ok(false)
    }

    fn unmount(&mut self, _clock: &mut Clock) -> Result<(), Error> {
        Ok(())
    }
}
