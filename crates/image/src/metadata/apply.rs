//! Gives the files of a folder the owners, modes, times, devices and attributes that metadata say.
//!
//! Layer: rank 7. Main function: [`apply`]; main type: [`Applied`], what became of the entries. The folder says which files there
//! are, and what is in them: a file that is missing in it is told, but for devices, pipes and sockets, which a user cannot make. A
//! time of the folder that is later stays, since the file was changed after it was extracted.

use super::read::{Placed, read};
use crate::files::content::Source;
use crate::files::devices::text_of;
use crate::files::problem::MetadataProblem;
use crate::files::tree::Node;
use crate::files::{LeftOut, MakeError, Taking, Tree, Why};
use boardlab_vfs::Kind;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The most bytes of metadata that are read: some millions of names.
const LENGTH_MAX: u64 = 1 << 30;

/// What became of the entries of metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Applied {
    /// Names of the folder that have what an entry says.
    pub applied: u64,
    /// Devices, pipes and sockets that were made.
    pub made: u64,
    /// Names of the folder that keep their time, which is later.
    pub newer: u64,
    /// Names of the folder that no entry has.
    pub unlisted: u64,
    /// Further names of a file in the metadata that are files of their own in the folder.
    pub separate: u64,
}

/// Applies the metadata in the file `path` to the files of a folder.
///
/// # Errors
/// [`MakeError::UnreadableTable`], [`MakeError::InFile`].
pub fn apply(tree: &mut Tree, path: &Path, taking: &Taking) -> Result<Applied, MakeError> {
    let bytes = bytes_of(path)
        .map_err(|problem| MakeError::UnreadableTable { path: path.into(), problem })?;
    let in_file = |((line, column), problem)| MakeError::InFile {
        path: path.into(),
        line,
        column,
        problem: Box::new(problem),
    };
    if bytes.len() as u64 > LENGTH_MAX {
        return Err(in_file(((1, 1), MetadataProblem::Large { most: LENGTH_MAX }.into())));
    }
    let entries = text_of(&bytes).and_then(read).map_err(in_file)?;
    let known = tree.nodes.iter().enumerate().map(|(index, node)| (node.path.clone(), index));
    let mut work = Applying {
        known: known.collect(),
        nodes: Vec::with_capacity(entries.len()),
        tree,
        entries: &entries,
        taking,
        done: Applied::default(),
    };
    for number in 0..entries.len() {
        let node = work.find(number);
        work.nodes.push(node);
    }
    work.dress();
    Ok(work.done)
}

/// The bytes of a file, one more than the limit at most.
fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LENGTH_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

struct Applying<'a> {
    tree: &'a mut Tree,
    entries: &'a [Placed],
    taking: &'a Taking,
    /// The nodes by their paths.
    known: HashMap<Vec<u8>, usize>,
    /// The nodes of the entries so far.
    nodes: Vec<Option<usize>>,
    done: Applied,
}

impl Applying<'_> {
    /// The node of an entry, made if that needs no file of the folder.
    fn find(&mut self, number: usize) -> Option<usize> {
        let Placed { entry, same, .. } = &self.entries[number];
        let (path, kind) = (entry.path(), entry.kind());
        let first = same.and_then(|first| self.nodes[first]);
        let Some(&index) = self.known.get(path) else {
            let is_special = !matches!(kind, Kind::File | Kind::Directory | Kind::Symlink);
            return if is_special {
                self.make(number, first)
            } else {
                self.miss(path, Why::Missing(kind))
            };
        };
        let found = self.tree.nodes[index].kind;
        if class(found) != class(kind) {
            return self.miss(path, Why::OtherKind { found, expected: kind });
        }
        if let Some(first) = first {
            self.join(index, first);
        }
        Some(index)
    }

    fn miss(&mut self, path: &[u8], why: Why) -> Option<usize> {
        self.tree.left_out.push(LeftOut { path: path.to_vec(), why });
        None
    }

    /// Makes a device, a pipe or a socket, or another name of one.
    fn make(&mut self, number: usize, first: Option<usize>) -> Option<usize> {
        let entry = &self.entries[number].entry;
        let (path, kind) = (entry.path(), entry.kind());
        let slash = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let folder = if slash == 0 { &b"/"[..] } else { &path[..slash] };
        let parent = self.known.get(folder).copied();
        let parent = parent.filter(|&parent| self.tree.nodes[parent].kind == Kind::Directory);
        let Some(parent) = parent.filter(|_| path != b"/") else {
            return self.miss(path, Why::Folder);
        };
        let index = self.tree.nodes.len();
        let (name, same) = (path[slash + 1..].to_vec(), None);
        self.tree.nodes.push(Node {
            source: Source::Host(PathBuf::new()),
            path: path.to_vec(),
            name,
            parent,
            same,
            kind,
            mode: 0,
            uid: 0,
            gid: 0,
            links: 1,
            modified: entry.modified(),
            target: Vec::new(),
            attributes: Vec::new(),
        });
        self.known.insert(path.to_vec(), index);
        self.done.made += 1;
        if let Some(first) = first {
            self.join(index, first);
        }
        Some(index)
    }

    /// Makes a name one of the file that another name has, where nothing of it is lost: the extraction makes two of a
    /// symbolic link.
    fn join(&mut self, index: usize, other: usize) {
        let nodes = &mut self.tree.nodes;
        let first = nodes[other].same.unwrap_or(other);
        if nodes[index].same.unwrap_or(index) == first {
            return;
        }
        let is_alike =
            nodes[index].kind != Kind::File && nodes[index].target == nodes[first].target;
        if !is_alike || nodes[index].links > 1 || index < first {
            self.done.separate += 1;
            return;
        }
        nodes[index].same = Some(first);
        nodes[first].links += 1;
    }

    /// Gives each file what the entry of its first name says, under all of its names.
    fn dress(&mut self) {
        let count = self.tree.nodes.len();
        let mut said: Vec<Option<usize>> = vec![None; count];
        for (number, node) in self.nodes.iter().enumerate() {
            let Some(node) = *node else { continue };
            said[node] = Some(number);
        }
        // The first name of a file that has an entry.
        let mut of_file: HashMap<usize, usize> = HashMap::new();
        for (index, number) in said.iter().enumerate() {
            let Some(number) = *number else { continue };
            of_file.entry(self.tree.nodes[index].same.unwrap_or(index)).or_insert(number);
        }
        for index in 0..count {
            let first = self.tree.nodes[index].same.unwrap_or(index);
            self.tree.nodes[index].links = self.tree.nodes[first].links;
            let Some(&number) = of_file.get(&first) else {
                self.done.unlisted += 1;
                continue;
            };
            self.change(index, number);
        }
        self.done.applied -= self.done.made;
    }

    fn change(&mut self, index: usize, number: usize) {
        let entry = &self.entries[number].entry;
        let node = &mut self.tree.nodes[index];
        node.kind = entry.kind();
        node.mode = self.taking.mode(node.kind, entry.mode());
        (node.uid, node.gid) = self.taking.owner((entry.uid, entry.gid));
        node.attributes = entry.attributes().to_vec();
        self.done.applied += 1;
        if node.modified.seconds > entry.modified().seconds {
            self.done.newer += 1;
        } else {
            node.modified = self.taking.time(entry.modified());
        }
    }
}

/// A kind without its number.
fn class(kind: Kind) -> std::mem::Discriminant<Kind> {
    std::mem::discriminant(&kind)
}
