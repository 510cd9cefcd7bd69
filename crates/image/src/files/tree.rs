//! The files that become an image: of a folder, of a mounted image, of an archive.
//!
//! Layer: rank 7. Main types: [`Tree`], [`Node`]. The order is that of the names, folder by folder, so that
//! the same files give the same image, wherever they come from. Whatever cannot be taken is kept as
//! [`LeftOut`].

use super::content::{Content, Source};
use super::why::{LeftOut, Why};
use boardlab_vfs::{Kind, NAME_MAX, Timestamp};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// Files with their names.
#[derive(Debug, Default)]
pub struct Tree {
    /// The folder itself first; a folder before what is in it.
    pub nodes: Vec<Node>,
    /// What cannot be taken.
    pub left_out: Vec<LeftOut>,
}

/// A name in the folder.
#[derive(Debug, Clone)]
pub struct Node {
    /// Where it comes from.
    pub(crate) source: Source,
    /// Its path in the image.
    pub path: Vec<u8>,
    /// Its name; empty for the folder itself.
    pub name: Vec<u8>,
    /// The folder that it is in, among [`Tree::nodes`].
    pub parent: usize,
    /// An earlier name of the same file.
    pub same: Option<usize>,
    /// What it is.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Names within the folder.
    pub links: u32,
    /// The last change of the content.
    pub modified: Timestamp,
    /// The target of a symbolic link.
    pub target: Vec<u8>,
    /// Extended attributes in the order of their names.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// How files are taken.
#[derive(Debug, Clone, Copy, Default)]
pub struct Taking {
    /// Whether all of them belong to root.
    pub squash: bool,
    /// Whether nobody but their owner may write to them.
    pub squash_modes: bool,
    /// The latest time that any of them has, in seconds since 1970.
    pub latest: Option<i64>,
}

impl Taking {
    /// The owner and group that a file gets.
    pub(crate) const fn owner(&self, found: (u32, u32)) -> (u32, u32) {
        if self.squash { (0, 0) } else { found }
    }

    /// The permission bits that a file gets.
    pub(crate) const fn mode(&self, kind: Kind, found: u32) -> u32 {
        let is_squashed = self.squash_modes && !matches!(kind, Kind::Symlink);
        if is_squashed { found & !0o022 } else { found }
    }

    /// The time that a file gets.
    pub(crate) fn time(&self, found: Timestamp) -> Timestamp {
        self.latest.map_or(found, |latest| found.min(Timestamp::seconds(latest)))
    }
}

impl Tree {
    /// The content of a file.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn content(&self, node: usize) -> Result<Content, Why> {
        Content::open(&self.nodes[node].source)
    }

    /// All nodes, each folder before what lies in it, and all of that before the next name.
    pub(crate) fn depth_first(&self) -> Vec<usize> {
        let mut inside = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().skip(1).rev() {
            inside[node.parent].push(index);
        }
        let (mut order, mut ahead) = (Vec::new(), Vec::new());
        ahead.extend((!self.nodes.is_empty()).then_some(0));
        while let Some(index) = ahead.pop() {
            order.push(index);
            ahead.append(&mut inside[index]);
        }
        order
    }

    /// Notes what is missing of a node.
    pub(crate) fn leave_out(&mut self, node: usize, why: Why) {
        self.left_out.push(LeftOut { path: self.nodes[node].path.clone(), why });
    }
}

/// Files that are being gathered, in any order in which a folder comes before what is in it.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) nodes: Vec<Node>,
    pub(super) left_out: Vec<LeftOut>,
}

impl Gathered {
    /// The path of `name` in a folder.
    pub(super) fn path_of(&self, parent: usize, name: &[u8]) -> Vec<u8> {
        let above = self.nodes.get(parent).map_or(&b""[..], |parent| &parent.path);
        let above = above.strip_suffix(b"/").unwrap_or(above);
        [above, b"/", name].concat()
    }

    /// Notes that something is missing.
    pub(super) fn leave_out(&mut self, path: Vec<u8>, why: Why) {
        self.left_out.push(LeftOut { path, why });
    }

    /// The tree: folder by folder, each in the order of its names.
    pub(super) fn arrange(mut self) -> Tree {
        let mut inside: HashMap<usize, BTreeMap<Vec<u8>, usize>> = HashMap::new();
        for index in 1..self.nodes.len() {
            let Node { parent, ref name, .. } = self.nodes[index];
            let why = match inside.entry(parent).or_default().entry(name.clone()) {
                _ if name.len() > NAME_MAX => Some(Why::Long(name.len())),
                Entry::Occupied(_) => Some(Why::Twice),
                Entry::Vacant(place) => {
                    place.insert(index);
                    None
                }
            };
            if let Some(why) = why {
                self.leave_out(self.nodes[index].path.clone(), why);
            }
        }
        let mut tree = Tree { left_out: self.left_out, ..Tree::default() };
        // The place of the first name of each file, by the name that was gathered first.
        let mut first: HashMap<usize, usize> = HashMap::new();
        let mut order = vec![(0, 0)];
        let mut next = 0;
        while let Some(&(gathered, parent)) = order.get(next).filter(|_| !self.nodes.is_empty()) {
            let file = self.nodes[gathered].same.unwrap_or(gathered);
            let same = first.get(&file).copied();
            let Node { ref path, ref name, .. } = self.nodes[gathered];
            let own = Node {
                parent,
                same,
                links: 1,
                path: path.clone(),
                name: name.clone(),
                ..self.nodes[file].clone()
            };
            match same {
                Some(first) => tree.nodes[first].links += 1,
                None => drop(first.insert(file, next)),
            }
            tree.nodes.push(own);
            let names = inside.remove(&gathered).into_iter().flatten();
            order.extend(names.map(|(_, below)| (below, next)));
            next += 1;
        }
        for index in 0..tree.nodes.len() {
            let first = tree.nodes[index].same.unwrap_or(index);
            tree.nodes[index].links = tree.nodes[first].links;
        }
        tree
    }
}
