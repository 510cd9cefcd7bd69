//! The files of a folder of this machine, for an image.
//!
//! Layer: rank 7. Main types: [`Tree`], [`Node`]; [`Content`] reads a file block by block. The order is
//! that of the names, folder by folder, so that the same files give the same image. Whatever cannot be
//! taken is kept as [`LeftOut`].

#[cfg(unix)]
#[path = "host.rs"]
mod host;
#[cfg(not(unix))]
#[path = "portable.rs"]
mod host;

use super::error::{MakeError, reason};
use boardlab_vfs::{Kind, Timestamp};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Bytes of a block of content.
pub(crate) const BLOCK: usize = 4_096;

/// The files of a folder.
#[derive(Debug, Default)]
pub struct Tree {
    /// The folder itself first; a folder before what is in it.
    pub nodes: Vec<Node>,
    /// What cannot be taken.
    pub left_out: Vec<LeftOut>,
}

/// A name in the folder.
#[derive(Debug)]
pub struct Node {
    /// Its path on this machine.
    pub host: PathBuf,
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
    /// The last change of the content, in whole seconds.
    pub modified: Timestamp,
    /// The target of a symbolic link.
    pub target: Vec<u8>,
    /// Extended attributes in the order of their names.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Something that is not in the image.
#[derive(Debug)]
pub struct LeftOut {
    /// Its path in the image.
    pub path: Vec<u8>,
    /// Why.
    pub why: Why,
}

/// Why something is not in the image.
#[derive(Debug)]
pub enum Why {
    /// The operating system cannot read it.
    Unreadable(io::Error),
    /// The file ended before its size, or cannot be read from here on: zeros are in their place.
    Content {
        /// The first byte that is missing.
        at: u64,
        /// What the operating system says, if it says anything.
        problem: Option<io::Error>,
    },
    /// The filesystem has no place for such a large file.
    Size(u64),
    /// The filesystem has no such device number.
    Device {
        /// The driver.
        major: u32,
        /// Its device.
        minor: u32,
    },
    /// The filesystem has no place for this extended attribute.
    Attribute(Vec<u8>),
    /// There is no more room for this extended attribute in the page of the header.
    NoRoom(Vec<u8>),
    /// The filesystem has no place for such a long target of a symbolic link.
    Target(usize),
    /// The kind of the file is unknown.
    Kind,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(problem) => write!(f, "cannot be read: {}", reason(problem)),
            Self::Content { at, problem: Some(problem) } => {
                write!(f, "the content from byte {at} on: {}", reason(problem))
            }
            Self::Content { at, problem: None } => {
                write!(f, "the content from byte {at} on: the file became shorter meanwhile")
            }
            Self::Size(size) => write!(f, "{size} bytes are more than a file can have"),
            Self::Device { major, minor } => write!(f, "no device can be {major}:{minor}"),
            Self::Attribute(name) => write!(
                f,
                "the extended attribute `{}`: UBIFS has user., trusted. and security., up to 4,096 bytes",
                crate::names::shown(name)
            ),
            Self::NoRoom(name) => write!(
                f,
                "the extended attribute `{}`: all of them must fit into a page, behind 512 bytes",
                crate::names::shown(name)
            ),
            Self::Target(length) => {
                write!(f, "its target of {length} bytes: YAFFS has room for 159")
            }
            Self::Kind => f.write_str("its kind is unknown"),
        }
    }
}

/// How files are taken.
#[derive(Debug, Clone, Copy, Default)]
pub struct Taking {
    /// Whether all of them belong to root.
    pub squash: bool,
    /// The latest time that any of them has, in seconds since 1970.
    pub latest: Option<i64>,
}

/// What the operating system says of a file.
pub(super) struct Found {
    kind: Option<Kind>,
    mode: u32,
    owner: (u32, u32),
    /// The seconds of the last change.
    modified: i64,
    /// What all names of a file have in common; `None` where it has one name.
    identity: Option<(u64, u64)>,
}

impl Tree {
    /// The files in `folder`.
    ///
    /// # Errors
    /// [`MakeError::Unreadable`] for the folder itself.
    pub fn of(folder: &Path, taking: &Taking) -> Result<Self, MakeError> {
        let unreadable = |problem| MakeError::Unreadable { path: folder.into(), problem };
        let metadata = fs::metadata(folder).map_err(unreadable)?;
        fs::read_dir(folder).map_err(unreadable)?;
        let mut tree = Self::default();
        let mut known = BTreeMap::new();
        let place = (folder.to_path_buf(), Vec::new(), 0);
        tree.add(place, &host::found(&metadata), &mut known, taking);
        let mut next = 0;
        while next < tree.nodes.len() {
            if tree.nodes[next].kind == Kind::Directory {
                tree.list(next, &mut known, taking);
            }
            next += 1;
        }
        for index in 0..tree.nodes.len() {
            let first = tree.nodes[index].same.unwrap_or(index);
            tree.nodes[index].links = tree.nodes[first].links;
        }
        Ok(tree)
    }

    /// Adds what is in a folder.
    fn list(&mut self, parent: usize, known: &mut BTreeMap<(u64, u64), usize>, taking: &Taking) {
        let host = self.nodes[parent].host.clone();
        let listed = fs::read_dir(&host).and_then(|names| {
            let names = names.map(|entry| entry.map(|entry| entry.file_name()));
            names.collect::<io::Result<Vec<_>>>()
        });
        let mut names = match listed {
            Ok(names) => names,
            Err(problem) => return self.leave_out(parent, Why::Unreadable(problem)),
        };
        names.sort_by(|one, next| one.as_encoded_bytes().cmp(next.as_encoded_bytes()));
        for name in names {
            let path = host.join(&name);
            let name = name.as_encoded_bytes().to_vec();
            match fs::symlink_metadata(&path) {
                Ok(metadata) => {
                    self.add((path, name, parent), &host::found(&metadata), known, taking);
                }
                Err(problem) => {
                    let path = self.path_of(parent, &name);
                    self.left_out.push(LeftOut { path, why: Why::Unreadable(problem) });
                }
            }
        }
    }

    /// Notes what is missing of a node.
    pub(crate) fn leave_out(&mut self, node: usize, why: Why) {
        self.left_out.push(LeftOut { path: self.nodes[node].path.clone(), why });
    }

    fn path_of(&self, parent: usize, name: &[u8]) -> Vec<u8> {
        let above = self.nodes.get(parent).map_or(&b""[..], |parent| &parent.path);
        let above = above.strip_suffix(b"/").unwrap_or(above);
        [above, b"/", name].concat()
    }

    fn add(
        &mut self,
        (host, name, parent): (PathBuf, Vec<u8>, usize),
        found: &Found,
        known: &mut BTreeMap<(u64, u64), usize>,
        taking: &Taking,
    ) {
        let path = self.path_of(parent, &name);
        let index = self.nodes.len();
        let same = found.identity.and_then(|identity| known.get(&identity).copied());
        if let Some(first) = same {
            self.nodes[first].links += 1;
        }
        let Some(kind) = found.kind else {
            return self.left_out.push(LeftOut { path, why: Why::Kind });
        };
        let (target, attributes) = match read_beside(&host, kind, same.is_some()) {
            Ok(read) => read,
            Err(problem) => {
                return self.left_out.push(LeftOut { path, why: Why::Unreadable(problem) });
            }
        };
        if let (Some(identity), None) = (found.identity, same) {
            known.insert(identity, index);
        }
        let seconds = taking.latest.map_or(found.modified, |latest| latest.min(found.modified));
        let (uid, gid) = if taking.squash { (0, 0) } else { found.owner };
        let modified = Timestamp::seconds(seconds);
        let mode = found.mode;
        self.nodes.push(Node {
            host,
            path,
            name,
            parent,
            same,
            kind,
            mode,
            uid,
            gid,
            links: 1,
            modified,
            target,
            attributes,
        });
    }
}

/// The target and the attributes of a file. What cannot be read later is refused now.
#[allow(clippy::type_complexity, reason = "one caller")]
fn read_beside(
    path: &Path,
    kind: Kind,
    is_known: bool,
) -> io::Result<(Vec<u8>, Vec<(Vec<u8>, Vec<u8>)>)> {
    if is_known {
        return Ok((Vec::new(), Vec::new()));
    }
    let target = match kind {
        Kind::Symlink => fs::read_link(path)?.into_os_string().into_encoded_bytes(),
        _ => Vec::new(),
    };
    if kind == Kind::File {
        host::open(path)?;
    }
    let mut attributes = host::attributes(path)?;
    attributes.sort();
    Ok((target, attributes))
}

/// The content of a file, block by block.
#[derive(Debug)]
pub(crate) struct Content {
    file: File,
    /// Its size when it was opened.
    pub(crate) size: u64,
    at: u64,
    buffer: Vec<u8>,
}

impl Content {
    /// Opens a file.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = host::open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { file, size, at: 0, buffer: vec![0; BLOCK] })
    }

    /// The next block that is not only zeros, with its number; `None` at the end.
    ///
    /// # Errors
    /// [`Why::Content`]; nothing follows.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u8])>, Why> {
        while self.at < self.size {
            let (at, left) = (self.at, self.size - self.at);
            let length = usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK));
            let read = host::read_at(&self.file, &mut self.buffer[..length], at);
            if let Some(problem) = read.as_ref().err().map(io::Error::kind) {
                let missing = problem == io::ErrorKind::UnexpectedEof;
                self.at = self.size;
                return Err(Why::Content { at, problem: read.err().filter(|_| !missing) });
            }
            let number = at / BLOCK as u64;
            self.at += BLOCK as u64;
            if self.buffer[..length].iter().any(|&byte| byte != 0) {
                return Ok(Some((number, &self.buffer[..length])));
            }
            let next = host::next_data(&self.file, self.at).unwrap_or(self.size);
            self.at = self.at.max(next / BLOCK as u64 * BLOCK as u64);
        }
        Ok(None)
    }
}
