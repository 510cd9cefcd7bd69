//! The files of a tar archive.
//!
//! Layer: rank 7. Main function: [`Tree::of_archive`]. In reading order: this file puts entries into a tree;
//! `entry` reads them one by one; `pax`, their extended headers; `sparse`, the maps of files with holes;
//! [`problem`], why an archive is not one. `write` makes one of a tree.
//!
//! An archive is untrusted. Its paths become names in the tree, and are never opened. A name that is there twice
//! is the later one, as in a folder into which the archive is extracted.

mod entry;
mod pax;
pub mod problem;
mod sparse;
mod write;

use super::content::{Part, Source};
use super::error::MakeError;
use super::tree::{Gathered, Node, Taking, Tree};
use super::why::Why;
use boardlab_vfs::{Kind, Timestamp};
use entry::{Entries, Entry, What};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::rc::Rc;

/// The permission bits of a folder that the archive implies.
const FOLDER: u32 = 0o755;
/// The parent of what another entry has replaced.
const NOWHERE: usize = usize::MAX;

impl Tree {
    /// The files of the tar archive in `file`: of POSIX.1-1988 and -2001, and of GNU tar, with sparse files.
    ///
    /// # Errors
    /// [`MakeError::Archive`].
    pub fn of_archive(file: File, taking: &Taking) -> Result<Self, MakeError> {
        let archive = Rc::new(file);
        let mut reading = Reading {
            archive: Rc::clone(&archive),
            files: Gathered::default(),
            names: HashMap::new(),
            used: HashSet::new(),
            taking,
        };
        let mut entries = Entries::of(&archive)?;
        while let Some(entry) = entries.next()? {
            reading.add(entry);
        }
        reading.root(Timestamp::default());
        Ok(reading.files.arrange())
    }
}

struct Reading<'a> {
    archive: Rc<File>,
    files: Gathered,
    /// What has a name now, by its folder and its name.
    names: HashMap<(usize, Vec<u8>), usize>,
    /// The folders with something in them.
    used: HashSet<usize>,
    taking: &'a Taking,
}

impl Reading<'_> {
    fn add(&mut self, mut entry: Entry) {
        let modified = self.taking.time(entry.modified);
        self.root(modified);
        let said = std::mem::take(&mut entry.path);
        let path = [b"/", said.as_slice()].concat();
        let Some(names) = names_of(&said) else {
            let why =
                Why::Entry("its path leads out of the archive, or no file can have it".into());
            return self.files.leave_out(path, why);
        };
        for name in &entry.refused {
            let words = format!("its `{}` is not taken", crate::names::shown(name));
            self.files.leave_out(path.clone(), Why::Entry(words));
        }
        let Some((name, above)) = names.split_last() else {
            return self.describe_root(&entry);
        };
        let Some(parent) = self.folder(above, modified) else {
            return self.files.leave_out(path, Why::Folder);
        };
        match self.node(entry, parent, name) {
            Ok(node) => self.put(node),
            Err(why) => self.files.leave_out(path, why),
        }
    }

    /// Content of so many bytes, which has these parts in the archive.
    fn content(&self, size: u64, parts: Vec<Part>) -> Source {
        Source::Archive { archive: Rc::clone(&self.archive), size, parts }
    }

    /// What an entry is in the tree.
    fn node(&self, entry: Entry, parent: usize, name: &[u8]) -> Result<Node, Why> {
        let (mut same, mut source) = (None, self.content(0, Vec::new()));
        let kind = match entry.what {
            What::File { size, parts } => {
                source = self.content(size, parts);
                Kind::File
            }
            What::Kind(kind) => kind,
            What::Link => {
                let first = names_of(&entry.target).and_then(|names| self.find(&names));
                let first = first.filter(|first| self.files.nodes[*first].kind != Kind::Directory);
                let first = first.ok_or_else(|| {
                    let target = crate::names::shown(&entry.target);
                    Why::Entry(format!("a hard link to `{target}`, which is no file before it"))
                })?;
                same = Some(self.files.nodes[first].same.unwrap_or(first));
                self.files.nodes[first].kind
            }
            What::Other(letter) => {
                let letter = crate::names::shown(&[letter]);
                return Err(Why::Entry(format!("entries of type `{letter}` are not taken")));
            }
        };
        let (uid, gid) = self.taking.owner((entry.uid, entry.gid));
        let target =
            if kind == Kind::Symlink && same.is_none() { entry.target } else { Vec::new() };
        Ok(Node {
            source,
            path: self.files.path_of(parent, name),
            name: name.to_vec(),
            parent,
            same,
            kind,
            mode: self.taking.mode(kind, entry.mode),
            uid,
            gid,
            links: 1,
            modified: self.taking.time(entry.modified),
            target,
            attributes: entry.attributes,
        })
    }

    /// Gives a node its name; whatever had it before goes, unless that is a folder with something in it.
    fn put(&mut self, node: Node) {
        let key = (node.parent, node.name.clone());
        let before = self.names.get(&key).copied();
        if let Some(before) = before {
            let was_folder = self.files.nodes[before].kind == Kind::Directory;
            if was_folder && node.kind == Kind::Directory {
                self.files.nodes[before] = node;
                return;
            }
            if was_folder && self.used.contains(&before) {
                return self.files.leave_out(node.path, Why::Twice);
            }
            self.files.nodes[before].parent = NOWHERE;
        }
        self.used.insert(node.parent);
        self.names.insert(key, self.files.nodes.len());
        self.files.nodes.push(node);
    }

    /// The folder with these names, made if it is not there; `None` when it is something else.
    fn folder(&mut self, names: &[&[u8]], modified: Timestamp) -> Option<usize> {
        let mut reached = 0;
        for &name in names {
            let found = self.names.get(&(reached, name.to_vec())).copied();
            let Some(found) = found else {
                let next = self.files.nodes.len();
                self.put(self.implied(reached, name, modified));
                reached = next;
                continue;
            };
            if self.files.nodes[found].kind != Kind::Directory {
                return None;
            }
            reached = found;
        }
        Some(reached)
    }

    /// The file with these names.
    fn find(&self, names: &[&[u8]]) -> Option<usize> {
        let below = |reached, name: &&[u8]| self.names.get(&(reached, name.to_vec())).copied();
        names.iter().try_fold(0, below).filter(|found| *found > 0)
    }

    /// A folder that no entry describes.
    fn implied(&self, parent: usize, name: &[u8], modified: Timestamp) -> Node {
        Node {
            source: self.content(0, Vec::new()),
            path: self.files.path_of(parent, name),
            name: name.to_vec(),
            parent,
            same: None,
            kind: Kind::Directory,
            mode: FOLDER,
            uid: 0,
            gid: 0,
            links: 1,
            modified,
            target: Vec::new(),
            attributes: Vec::new(),
        }
    }

    /// The folder itself comes first.
    fn root(&mut self, modified: Timestamp) {
        if self.files.nodes.is_empty() {
            let root = self.implied(0, b"", modified);
            self.files.nodes.push(Node { path: b"/".to_vec(), ..root });
        }
    }

    /// Takes what an entry says of the folder itself.
    fn describe_root(&mut self, entry: &Entry) {
        if !matches!(entry.what, What::Kind(Kind::Directory)) {
            let why = Why::Entry("it has no name".into());
            return self.files.leave_out(b"/".to_vec(), why);
        }
        let (uid, gid) = self.taking.owner((entry.uid, entry.gid));
        let mode = self.taking.mode(Kind::Directory, entry.mode);
        let modified = self.taking.time(entry.modified);
        let attributes = entry.attributes.clone();
        let root = self.files.nodes[0].clone();
        self.files.nodes[0] = Node { mode, uid, gid, modified, attributes, ..root };
    }
}

/// The names of a path; `None` where it leads upward, or where a name has a zero in it.
fn names_of(path: &[u8]) -> Option<Vec<&[u8]>> {
    let names = path.split(|&byte| byte == b'/').filter(|name| !matches!(name, [] | [b'.']));
    names.map(|name| (name != b".." && !name.contains(&0)).then_some(name)).collect()
}
