//! The files of a folder of this machine.
//!
//! Layer: rank 7. Main function: [`Tree::of`].

use super::content::Source;
use super::error::MakeError;
use super::host::{self, Found};
use super::tree::{Gathered, Node, Taking, Tree};
use super::why::Why;
use boardlab_vfs::{Kind, Timestamp};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

impl Tree {
    /// The files in `folder`.
    ///
    /// # Errors
    /// [`MakeError::Unreadable`] for the folder itself.
    pub fn of(folder: &Path, taking: &Taking) -> Result<Self, MakeError> {
        let unreadable = |problem| MakeError::Unreadable { path: folder.into(), problem };
        let metadata = fs::metadata(folder).map_err(unreadable)?;
        fs::read_dir(folder).map_err(unreadable)?;
        let mut reading = Reading {
            files: Gathered::default(),
            folders: Vec::new(),
            known: BTreeMap::new(),
            taking,
        };
        reading.add(folder.to_path_buf(), (Vec::new(), 0), &host::found(&metadata));
        let mut next = 0;
        while let Some((folder, index)) = reading.folders.get(next).cloned() {
            reading.list(&folder, index);
            next += 1;
        }
        Ok(reading.files.arrange())
    }
}

struct Reading<'a> {
    files: Gathered,
    /// The folders so far, with their nodes.
    folders: Vec<(PathBuf, usize)>,
    /// The first names of files with several.
    known: BTreeMap<(u64, u64), usize>,
    taking: &'a Taking,
}

impl Reading<'_> {
    /// Adds what is in a folder.
    fn list(&mut self, folder: &Path, parent: usize) {
        let listed = fs::read_dir(folder).and_then(|names| {
            let names = names.map(|entry| entry.map(|entry| entry.file_name()));
            names.collect::<io::Result<Vec<_>>>()
        });
        let mut names = match listed {
            Ok(names) => names,
            Err(problem) => {
                let path = self.files.nodes[parent].path.clone();
                return self.files.leave_out(path, Why::Unreadable(problem));
            }
        };
        names.sort_by(|one, next| one.as_encoded_bytes().cmp(next.as_encoded_bytes()));
        for name in names {
            let path = folder.join(&name);
            let name = name.as_encoded_bytes().to_vec();
            match fs::symlink_metadata(&path) {
                Ok(metadata) => self.add(path, (name, parent), &host::found(&metadata)),
                Err(problem) => {
                    let path = self.files.path_of(parent, &name);
                    self.files.leave_out(path, Why::Unreadable(problem));
                }
            }
        }
    }

    fn add(&mut self, host: PathBuf, (name, parent): (Vec<u8>, usize), found: &Found) {
        let path = self.files.path_of(parent, &name);
        let same = found.identity.and_then(|identity| self.known.get(&identity).copied());
        let Some(kind) = found.kind else {
            return self.files.leave_out(path, Why::Kind);
        };
        let (target, attributes) = match read_beside(&host, kind, same.is_some()) {
            Ok(read) => read,
            Err(problem) => return self.files.leave_out(path, Why::Unreadable(problem)),
        };
        let index = self.files.nodes.len();
        if let (Some(identity), None) = (found.identity, same) {
            self.known.insert(identity, index);
        }
        if kind == Kind::Directory {
            self.folders.push((host.clone(), index));
        }
        let (uid, gid) = self.taking.owner(found.owner);
        let modified = self.taking.time(Timestamp::seconds(found.modified));
        let mode = self.taking.mode(kind, found.mode);
        let (source, links) = (Source::Host(host), 1);
        self.files.nodes.push(Node {
            source,
            path,
            name,
            parent,
            same,
            kind,
            mode,
            uid,
            gid,
            links,
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
