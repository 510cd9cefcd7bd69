//! Compares the state of a recovered filesystem with the permitted states.
//!
//! Layer: rank 6. Main types: [`Loss`], one violation, and the function `check`. A name must refer to
//! one of its targets since the last sync. Each byte of a file must be one of its values since then,
//! and everything else (size, owner, attributes, target) one of the values since then. A fact that did
//! not change since it was made durable has only one value, so nothing durable may be missing. The size
//! of a file may lie between those since then, as a write of several pages extends it in steps.

use super::shadow::{Body, Id, Object, Page, ROOT, Shadow, owner};
use boardlab_sim::Clock;
use boardlab_vfs::{
    Attributes, Contradiction, Entry, Errno, Error, FileSystem, Ino, Kind, PAGE_SIZE,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A violation after a power cut.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Loss {
    /// The filesystem did not mount; with its error.
    DoesNotMount(String),
    /// An operation that must succeed failed.
    Fails {
        /// Which.
        what: &'static str,
        /// On what.
        path: String,
        /// How.
        error: Error,
    },
    /// A durable name is gone.
    NameLost(String),
    /// A name that never existed, or that was durably removed.
    NameForeign(String),
    /// A kind of inode that the name never referred to.
    KindForeign(String),
    /// A byte of a file never had this value since it was durable.
    ContentForeign {
        /// Of which file.
        path: String,
        /// At which offset.
        offset: u64,
    },
    /// A size that the file never had.
    SizeForeign {
        /// Of which file.
        path: String,
        /// What it is.
        found: u64,
    },
    /// A mode or owner that the inode never had.
    OwnerForeign(String),
    /// The target of a symbolic link is wrong.
    TargetForeign(String),
    /// An extended attribute that was lost or never set.
    XattrForeign {
        /// Of which inode.
        path: String,
        /// Which.
        name: String,
    },
    /// The link count is not the number of names.
    LinksWrong {
        /// Of which inode.
        path: String,
        /// The link count.
        found: u32,
        /// Names that lead to it.
        names: u32,
    },
    /// The background work has no end.
    Endless,
    /// The in-memory tables of the filesystem are inconsistent.
    Tables(Contradiction),
}

impl Loss {
    /// What was lost, in a word or two: several kinds of violations have one.
    #[must_use]
    pub const fn what(&self) -> &'static str {
        match self {
            Self::DoesNotMount(_) => "everything",
            Self::Fails { .. } | Self::Tables(_) | Self::Endless => "use",
            Self::NameLost(_) | Self::NameForeign(_) | Self::KindForeign(_) => "names",
            Self::ContentForeign { .. } | Self::SizeForeign { .. } => "content",
            Self::OwnerForeign(_)
            | Self::TargetForeign(_)
            | Self::XattrForeign { .. }
            | Self::LinksWrong { .. } => "attributes",
        }
    }

    /// All that [`Self::what`] can be, the worst first.
    pub const WHAT: [&'static str; 5] = ["everything", "use", "names", "content", "attributes"];
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DoesNotMount(error) => write!(f, "does not mount: {error}"),
            Self::Fails { what, path, error } => write!(f, "{what} of {path}: {error}"),
            Self::NameLost(path) => write!(f, "{path} is lost, although it was durable"),
            Self::NameForeign(path) => write!(f, "{path} is there, although it should not be"),
            Self::KindForeign(path) => write!(f, "{path} is of another kind"),
            Self::ContentForeign { path, offset } => {
                write!(f, "{path} holds at offset {offset} a byte that never was there")
            }
            Self::SizeForeign { path, found } => {
                write!(f, "{path} has {found} bytes, a size that it never had")
            }
            Self::OwnerForeign(path) => write!(f, "{path} has a mode or owner that it never had"),
            Self::TargetForeign(path) => write!(f, "the link {path} leads elsewhere"),
            Self::XattrForeign { path, name } => {
                write!(f, "{path} has a value of {name} that it never had, or lost it")
            }
            Self::LinksWrong { path, found, names } => {
                write!(f, "{path} has a link count of {found} and {names} names")
            }
            Self::Endless => f.write_str("the background work has no end"),
            Self::Tables(contradiction) => contradiction.fmt(f),
        }
    }
}

/// An inode that was found, and the objects that it can be.
#[derive(Debug, Clone)]
struct InodeCandidates {
    /// The objects that it can be, by all of its names so far.
    may_be: Vec<Id>,
    names: u32,
    links: u32,
    /// One of its names.
    path: String,
}

/// A check in progress.
pub(super) struct Check<'a> {
    fs: &'a mut dyn FileSystem,
    clock: &'a mut Clock,
    shadow: &'a Shadow,
    /// Directories already checked: one may have two names after a cut in its rename.
    walked: BTreeMap<Ino, Id>,
    /// Inodes other than directories.
    found: BTreeMap<Ino, InodeCandidates>,
}

/// Checks the whole tree, and the tables in memory.
pub(super) fn check(
    fs: &mut dyn FileSystem,
    clock: &mut Clock,
    shadow: &Shadow,
) -> Result<(), Loss> {
    fs.check_tables().map_err(Loss::Tables)?;
    let root = fs.root();
    let (walked, found) = (BTreeMap::new(), BTreeMap::new());
    let mut check = Check { fs, clock, shadow, walked, found };
    check.directory(ROOT, root, "")?;
    for InodeCandidates { names, links, path, .. } in check.found.into_values() {
        if names != links {
            return Err(Loss::LinksWrong { path, found: links, names });
        }
    }
    fs.check_tables().map_err(Loss::Tables)
}

fn join(path: &str, name: &[u8]) -> String {
    format!("{path}/{}", String::from_utf8_lossy(name))
}

impl Check<'_> {
    /// Runs an operation that must succeed.
    fn must<T>(
        &mut self,
        what: &'static str,
        path: &str,
        run: impl FnOnce(&mut dyn FileSystem, &mut Clock) -> Result<T, Error>,
    ) -> Result<T, Loss> {
        run(self.fs, self.clock).map_err(|error| Loss::Fails { what, path: path.into(), error })
    }

    fn directory(&mut self, dir: Id, ino: Ino, path: &str) -> Result<(), Loss> {
        let entries = self.must("readdir", path, |fs, clock| fs.readdir(clock, ino))?;
        let here: BTreeSet<&[u8]> = entries.iter().map(|entry| entry.name.as_slice()).collect();
        if here.len() != entries.len() {
            return Err(Loss::NameForeign(format!("{path}/ (one name twice)")));
        }
        for ((_, name), history) in
            self.shadow.names.range((dir, Vec::new())..(Id(dir.0 + 1), Vec::new()))
        {
            if !here.contains(name.as_slice()) && !history.values().contains(&None) {
                return Err(Loss::NameLost(join(path, name)));
            }
        }
        for entry in &entries {
            self.entry(dir, ino, entry, &join(path, &entry.name))?;
        }
        Ok(())
    }

    /// Checks one name: it must refer to one of its permitted targets.
    fn entry(&mut self, dir: Id, parent: Ino, entry: &Entry, path: &str) -> Result<(), Loss> {
        let ino = self.must("lookup", path, |fs, clock| fs.lookup(clock, parent, &entry.name))?;
        let attributes = self.must("stat", path, |fs, clock| fs.getattr(clock, ino))?;
        let history = self.shadow.names.get(&(dir, entry.name.clone()));
        let candidates: Vec<Id> =
            history.map_or(&[][..], |history| history.values()).iter().flatten().copied().collect();
        if candidates.is_empty() {
            return Err(Loss::NameForeign(path.into()));
        }
        if let Some(found) = self.found.get_mut(&ino) {
            found.names += 1;
            found.may_be.retain(|id| candidates.contains(id));
            let some = !found.may_be.is_empty();
            return if some { Ok(()) } else { Err(Loss::NameForeign(path.into())) };
        }
        if let Some(id) = self.walked.get(&ino) {
            let same = candidates.contains(id);
            return if same { Ok(()) } else { Err(Loss::NameForeign(path.into())) };
        }
        if attributes.kind == Kind::Directory {
            return self.any_directory(&candidates, ino, &attributes, path);
        }
        let (mut may_be, mut last) = (Vec::new(), Loss::NameForeign(path.into()));
        for id in candidates {
            match self.object(id, ino, &attributes, path) {
                Ok(()) => may_be.push(id),
                Err(loss) => last = loss,
            }
        }
        if may_be.is_empty() {
            return Err(last);
        }
        let found =
            InodeCandidates { may_be, names: 1, links: attributes.links, path: path.into() };
        self.found.insert(ino, found);
        Ok(())
    }

    /// Finds the first candidate that matches the directory and everything below it.
    fn any_directory(
        &mut self,
        candidates: &[Id],
        ino: Ino,
        attributes: &Attributes,
        path: &str,
    ) -> Result<(), Loss> {
        let mut last = Loss::NameForeign(path.into());
        for &id in candidates {
            let before = (self.walked.clone(), self.found.clone());
            match self.object(id, ino, attributes, path) {
                Ok(()) => {
                    self.walked.insert(ino, id);
                    return Ok(());
                }
                Err(loss) => {
                    last = loss;
                    (self.walked, self.found) = before;
                }
            }
        }
        Err(last)
    }

    fn object(&mut self, id: Id, ino: Ino, found: &Attributes, path: &str) -> Result<(), Loss> {
        let object = &self.shadow.objects[&id];
        let kind = match object.body {
            Body::File => Kind::File,
            Body::Directory => Kind::Directory,
            Body::Symlink(_) => Kind::Symlink,
        };
        if found.kind != kind {
            return Err(Loss::KindForeign(path.into()));
        }
        if !object.owner.values().contains(&owner(found)) {
            return Err(Loss::OwnerForeign(path.into()));
        }
        self.xattrs(object, ino, path)?;
        match &object.body {
            Body::File => self.content(object, ino, found.size, path),
            Body::Directory => self.directory(id, ino, path),
            Body::Symlink(target) => {
                let there = self.must("readlink", path, |fs, clock| fs.readlink(clock, ino))?;
                if there == *target { Ok(()) } else { Err(Loss::TargetForeign(path.into())) }
            }
        }
    }

    fn xattrs(&mut self, object: &Object, ino: Ino, path: &str) -> Result<(), Loss> {
        if object.xattrs.is_empty() {
            return Ok(());
        }
        for (name, history) in &object.xattrs {
            let value = match self.fs.getxattr(self.clock, ino, name) {
                Ok(value) => Some(value),
                Err(Error::Refused(Errno::NoData)) => None,
                Err(error) => return Err(Loss::Fails { what: "xattr", path: path.into(), error }),
            };
            if !history.values().contains(&value) {
                let name = String::from_utf8_lossy(name).into_owned();
                return Err(Loss::XattrForeign { path: path.into(), name });
            }
        }
        Ok(())
    }

    fn content(&mut self, object: &Object, ino: Ino, size: u64, path: &str) -> Result<(), Loss> {
        let sizes = object.size.values();
        let (least, most) = (sizes.iter().min(), sizes.iter().max());
        if Some(&size) < least || Some(&size) > most {
            return Err(Loss::SizeForeign { path: path.into(), found: size });
        }
        let page_size = u64::try_from(PAGE_SIZE).expect("a page is small");
        let zeros = [None];
        let mut buffer = vec![0; PAGE_SIZE];
        for page in 0..size.div_ceil(page_size) {
            self.must("read", path, |fs, clock| fs.read_page(clock, ino, page, &mut buffer))?;
            let held = usize::try_from((size - page * page_size).min(page_size));
            let held = held.expect("within a page");
            let values = object.pages.get(&page).map_or(&zeros[..], |history| history.values());
            let wrong = foreign(&buffer[..held], values);
            let wrong = wrong
                .or_else(|| buffer[held..].iter().position(|&byte| byte != 0).map(|at| held + at));
            if let Some(at) = wrong {
                let offset = page * page_size + u64::try_from(at).expect("within a page");
                return Err(Loss::ContentForeign { path: path.into(), offset });
            }
        }
        Ok(())
    }
}

/// The first byte that matches none of the values.
fn foreign(found: &[u8], values: &[Page]) -> Option<usize> {
    let whole = |value: &Page| match value {
        Some(page) => page[..found.len()] == *found,
        None => found.iter().all(|&byte| byte == 0),
    };
    if values.iter().any(whole) {
        return None;
    }
    let byte = |value: &Page, at: usize| value.as_ref().map_or(0, |page| page[at]);
    (0..found.len()).find(|&at| values.iter().all(|value| byte(value, at) != found[at]))
}
