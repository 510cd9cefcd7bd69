//! The files of a mounted filesystem.
//!
//! Layer: rank 7. Main function: [`Tree::of_mounted`].

use super::content::{Mounted, Source};
use super::tree::{Gathered, Node, Taking, Tree};
use super::why::Why;
use crate::walk::{Item, Problem, Walk};
use boardlab_sim::Clock;
use boardlab_vfs::{FileSystem, Ino, Kind};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

impl Tree {
    /// The files below `start`, which is a directory of `fs`, at most `names` of them. Also returns whether
    /// that was enough.
    #[must_use]
    pub fn of_mounted(
        fs: Box<dyn FileSystem>,
        clock: Clock,
        start: (&[u8], Ino),
        names: u64,
        taking: &Taking,
    ) -> (Self, bool) {
        let image = Rc::new(RefCell::new(Mounted { fs, clock }));
        let Mounted { fs, clock } = &mut *image.borrow_mut();
        let mut reading = Reading {
            image: Rc::clone(&image),
            files: Gathered::default(),
            folders: HashMap::new(),
            known: HashMap::new(),
            taking,
        };
        let mut walk = Walk::new(start.0, start.1);
        let (mut count, mut is_whole) = (0, true);
        while let Some(item) = walk.next(fs.as_mut(), clock) {
            if count == names {
                is_whole = false;
                break;
            }
            count += 1;
            let ino = item.ino;
            reading.add(fs.as_mut(), clock, item);
            // Drops the in-memory state of the inode; a failure does not matter.
            let _ = fs.evict_inode(clock, ino);
        }
        (reading.files.arrange(), is_whole)
    }

    /// The inode of a node of a mounted filesystem.
    #[must_use]
    pub(crate) fn inode(&self, node: usize) -> Option<Ino> {
        match self.nodes[node].source {
            Source::Image(_, ino) => Some(ino),
            _ => None,
        }
    }
}

struct Reading<'a> {
    image: Rc<RefCell<Mounted>>,
    files: Gathered,
    /// The nodes of directories.
    folders: HashMap<Ino, usize>,
    /// The first names of files.
    known: HashMap<Ino, usize>,
    taking: &'a Taking,
}

impl Reading<'_> {
    fn add(&mut self, fs: &mut dyn FileSystem, clock: &mut Clock, item: Item) {
        let Item { path, name_at, parent, ino, attributes, target, problem } = item;
        let parent = match parent {
            None => Some(0),
            Some(parent) => self.folders.get(&parent).copied(),
        };
        let is_named = problem != Some(Problem::Name);
        if let Some(problem) = problem {
            self.files.leave_out(path.clone(), Why::Problem(problem));
        }
        let Some(attributes) = attributes.filter(|_| is_named) else { return };
        let Some(parent) = parent else {
            return self.files.leave_out(path, Why::Folder);
        };
        let index = self.files.nodes.len();
        let kind = attributes.kind;
        if kind == Kind::Directory {
            self.folders.entry(ino).or_insert(index);
        }
        let same = (kind != Kind::Directory).then(|| self.known.get(&ino).copied()).flatten();
        if same.is_none() {
            self.known.insert(ino, index);
        }
        let mut extended = Vec::new();
        if same.is_none() {
            match fs.listxattr(clock, ino) {
                Ok(names) => {
                    for name in names {
                        match fs.getxattr(clock, ino, &name) {
                            Ok(value) => extended.push((name, value)),
                            Err(_) => {
                                let why = Why::Attribute { name, expected: "it cannot be read" };
                                self.files.leave_out(path.clone(), why);
                            }
                        }
                    }
                }
                Err(problem) => {
                    self.files.leave_out(path.clone(), Why::Problem(Problem::Damaged(problem)));
                }
            }
            extended.sort();
        }
        let (uid, gid) = self.taking.owner((attributes.uid, attributes.gid));
        // The folder itself has no name.
        let name = if index == 0 { Vec::new() } else { path[name_at..].to_vec() };
        let path = if index == 0 { b"/".to_vec() } else { self.files.path_of(parent, &name) };
        self.files.nodes.push(Node {
            source: Source::Image(Rc::clone(&self.image), ino),
            path,
            name,
            parent,
            same,
            kind,
            mode: self.taking.mode(kind, attributes.mode),
            uid,
            gid,
            links: 1,
            modified: self.taking.time(attributes.modified),
            target,
            attributes: extended,
        });
    }
}
