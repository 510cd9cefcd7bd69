//! The files of an image: in a mount of the kernel where this machine has FUSE, or by the same requests without one.

use crate::bench::{Scratch, spawn};
use boardlab_fuse::{NoStore, Rename, Server, Store};
use boardlab_image::fs::ImageFileSystem;
use boardlab_image::overlay::{Header, Identity, Log, State, replay};
use boardlab_image::{Contents, Hints, detect};
use boardlab_sim::Instant;
use boardlab_vfs::{Attributes, Kind, Mount, NewInode, SetAttr, WallClock};
use rustix::fs::XattrFlags;
use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An error number, or success.
pub(crate) type Tried<T> = Result<T, i32>;

/// Operations on files by path, without following symbolic links.
pub(crate) trait Files {
    fn write(&mut self, path: &str, offset: u64, data: &[u8]) -> Tried<()>;
    fn read(&mut self, path: &str) -> Tried<Vec<u8>>;
    fn truncate(&mut self, path: &str, size: u64) -> Tried<()>;
    fn mkdir(&mut self, path: &str) -> Tried<()>;
    fn rmdir(&mut self, path: &str) -> Tried<()>;
    fn unlink(&mut self, path: &str) -> Tried<()>;
    fn rename(&mut self, from: &str, to: &str) -> Tried<()>;
    fn link(&mut self, existing: &str, path: &str) -> Tried<()>;
    fn symlink(&mut self, target: &str, path: &str) -> Tried<()>;
    fn chmod(&mut self, path: &str, mode: u32) -> Tried<()>;
    fn fsync(&mut self, path: &str) -> Tried<()>;
    /// Sets an extended attribute.
    fn attribute(&mut self, path: &str, value: &[u8]) -> Tried<()>;
    fn attribute_of(&mut self, path: &str) -> Tried<Vec<u8>>;
    /// What a path is: kind and permissions, links of a file, and content or target.
    fn look(&mut self, path: &str) -> Tried<Look>;
    fn names(&mut self, path: &str) -> Tried<Vec<String>>;
}

/// What is told of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) mode: u32,
    pub(crate) links: u32,
    pub(crate) content: Vec<u8>,
    pub(crate) modified: i64,
}

/// Everything below a folder; times are left out.
pub(crate) fn all(files: &mut dyn Files, path: &str) -> BTreeMap<String, Look> {
    let mut found = BTreeMap::new();
    let mut open = vec![path.to_owned()];
    while let Some(dir) = open.pop() {
        for name in files.names(&dir).unwrap() {
            let path = format!("{}/{name}", dir.trim_end_matches('/'));
            let look = files.look(&path).unwrap();
            if look.mode & 0o170_000 == 0o040_000 {
                open.push(path.clone());
            }
            found.insert(path, Look { modified: 0, ..look });
        }
    }
    found
}

const ATTRIBUTE: &str = "user.boardlab";

/// A folder of this machine.
#[derive(Debug)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    fn at(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }
}

fn tried<T>(result: io::Result<T>) -> Tried<T> {
    result.map_err(|error| error.raw_os_error().unwrap_or(5))
}

/// Flags of an open that follows no link.
const NO_LINK: i32 = 0o400_000;

impl Files for Folder {
    fn write(&mut self, path: &str, offset: u64, data: &[u8]) -> Tried<()> {
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(false).mode(0o644);
        let file = tried(file.custom_flags(NO_LINK).open(self.at(path)))?;
        tried(file.write_all_at(data, offset))
    }

    fn read(&mut self, path: &str) -> Tried<Vec<u8>> {
        tried(fs::read(self.at(path)))
    }

    fn truncate(&mut self, path: &str, size: u64) -> Tried<()> {
        let mut options = File::options();
        let file = tried(options.write(true).custom_flags(NO_LINK).open(self.at(path)))?;
        tried(file.set_len(size))
    }

    fn mkdir(&mut self, path: &str) -> Tried<()> {
        tried(fs::create_dir(self.at(path)))
    }

    fn rmdir(&mut self, path: &str) -> Tried<()> {
        tried(fs::remove_dir(self.at(path)))
    }

    fn unlink(&mut self, path: &str) -> Tried<()> {
        tried(fs::remove_file(self.at(path)))
    }

    fn rename(&mut self, from: &str, to: &str) -> Tried<()> {
        tried(fs::rename(self.at(from), self.at(to)))
    }

    fn link(&mut self, existing: &str, path: &str) -> Tried<()> {
        tried(fs::hard_link(self.at(existing), self.at(path)))
    }

    fn symlink(&mut self, target: &str, path: &str) -> Tried<()> {
        tried(symlink(target, self.at(path)))
    }

    fn chmod(&mut self, path: &str, mode: u32) -> Tried<()> {
        tried(fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)))
    }

    fn fsync(&mut self, path: &str) -> Tried<()> {
        tried(File::open(self.at(path)).and_then(|file| file.sync_all()))
    }

    fn attribute(&mut self, path: &str, value: &[u8]) -> Tried<()> {
        let set = rustix::fs::lsetxattr(self.at(path), ATTRIBUTE, value, XattrFlags::empty());
        set.map_err(rustix::io::Errno::raw_os_error)
    }

    fn attribute_of(&mut self, path: &str) -> Tried<Vec<u8>> {
        let mut value = vec![0; 4_096];
        let read = rustix::fs::lgetxattr(self.at(path), ATTRIBUTE, value.as_mut_slice());
        value.truncate(read.map_err(rustix::io::Errno::raw_os_error)?);
        Ok(value)
    }

    fn look(&mut self, path: &str) -> Tried<Look> {
        let found = tried(fs::symlink_metadata(self.at(path)))?;
        let content = match found.mode() & 0o170_000 {
            0o100_000 => tried(fs::read(self.at(path)))?,
            0o120_000 => tried(fs::read_link(self.at(path)))?.into_os_string().into_encoded_bytes(),
            _ => Vec::new(),
        };
        let links = if found.is_file() { u32::try_from(found.nlink()).unwrap() } else { 0 };
        Ok(Look { mode: found.mode(), links, content, modified: found.mtime() })
    }

    fn names(&mut self, path: &str) -> Tried<Vec<String>> {
        let entries = tried(fs::read_dir(self.at(path)))?;
        entries.map(|entry| Ok(tried(entry)?.file_name().into_string().unwrap())).collect()
    }
}

/// The same by requests.
pub(crate) struct Requests(pub(crate) Server<Box<dyn ImageFileSystem>>);

impl Requests {
    fn node(&mut self, path: &str) -> Tried<(u64, Attributes)> {
        let mut node = 1;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            node = number(self.0.lookup(node, name.as_bytes()))?.node;
        }
        Ok((node, number(self.0.getattr(node))?))
    }

    fn place<'p>(&mut self, path: &'p str) -> Tried<(u64, &'p [u8])> {
        let (dir, name) = path.rsplit_once('/').unwrap();
        Ok((self.node(dir)?.0, name.as_bytes()))
    }

    fn file(&mut self, path: &str) -> Tried<u64> {
        let (node, attributes) = self.node(path)?;
        match attributes.kind {
            Kind::Directory => Err(21),
            Kind::Symlink => Err(40),
            _ => Ok(node),
        }
    }

    fn create(&mut self, path: &str, kind: Kind, mode: u32, target: &[u8]) -> Tried<u64> {
        let (dir, name) = self.place(path)?;
        let new = NewInode { kind, mode, uid: 0, gid: 0, target };
        Ok(number(self.0.create(dir, name, &new))?.node)
    }

    fn opened<T>(
        &mut self,
        node: u64,
        work: impl FnOnce(&mut Server<Box<dyn ImageFileSystem>>, u64) -> Tried<T>,
    ) -> Tried<T> {
        let handle = number(self.0.open(node, !self.0.is_read_only(), false))?;
        let done = work(&mut self.0, handle);
        number(self.0.release(handle))?;
        done
    }
}

fn number<T>(result: Result<T, boardlab_vfs::Errno>) -> Tried<T> {
    result.map_err(|error| i32::try_from(error.number()).unwrap())
}

impl Files for Requests {
    fn write(&mut self, path: &str, offset: u64, data: &[u8]) -> Tried<()> {
        let node = match self.file(path) {
            Err(2) => self.create(path, Kind::File, 0o644, &[])?,
            found => found?,
        };
        self.opened(node, |server, handle| {
            let written = number(server.write(handle, offset, data))?;
            if written == data.len() { Ok(()) } else { Err(28) }
        })
    }

    fn read(&mut self, path: &str) -> Tried<Vec<u8>> {
        let node = self.file(path)?;
        let size = usize::try_from(number(self.0.getattr(node))?.size).unwrap();
        self.opened(node, |server, handle| number(server.read(handle, 0, size)))
    }

    fn truncate(&mut self, path: &str, size: u64) -> Tried<()> {
        let node = self.file(path)?;
        let change = SetAttr { size: Some(size), ..SetAttr::default() };
        number(self.0.setattr(node, &change)).map(drop)
    }

    fn mkdir(&mut self, path: &str) -> Tried<()> {
        self.create(path, Kind::Directory, 0o755, &[]).map(drop)
    }

    fn rmdir(&mut self, path: &str) -> Tried<()> {
        let (dir, name) = self.place(path)?;
        number(self.0.rmdir(dir, name))
    }

    fn unlink(&mut self, path: &str) -> Tried<()> {
        let (dir, name) = self.place(path)?;
        number(self.0.unlink(dir, name))
    }

    fn rename(&mut self, from: &str, to: &str) -> Tried<()> {
        let (from, to) = (self.place(from)?, self.place(to)?);
        number(self.0.rename(Rename { from, to, keeps: false }))
    }

    fn link(&mut self, existing: &str, path: &str) -> Tried<()> {
        let (node, _) = self.node(existing)?;
        let (dir, name) = self.place(path)?;
        number(self.0.link(node, dir, name)).map(drop)
    }

    fn symlink(&mut self, target: &str, path: &str) -> Tried<()> {
        self.create(path, Kind::Symlink, 0o777, target.as_bytes()).map(drop)
    }

    fn chmod(&mut self, path: &str, mode: u32) -> Tried<()> {
        let (node, _) = self.node(path)?;
        let change = SetAttr { mode: Some(mode), ..SetAttr::default() };
        number(self.0.setattr(node, &change)).map(drop)
    }

    fn fsync(&mut self, path: &str) -> Tried<()> {
        let (node, attributes) = self.node(path)?;
        if attributes.kind == Kind::Directory {
            return number(self.0.sync());
        }
        self.opened(node, |server, handle| number(server.fsync(handle)))
    }

    fn attribute(&mut self, path: &str, value: &[u8]) -> Tried<()> {
        let (node, _) = self.node(path)?;
        number(self.0.setxattr(node, ATTRIBUTE.as_bytes(), Some(value), None))
    }

    fn attribute_of(&mut self, path: &str) -> Tried<Vec<u8>> {
        let (node, _) = self.node(path)?;
        number(self.0.getxattr(node, ATTRIBUTE.as_bytes()))
    }

    fn look(&mut self, path: &str) -> Tried<Look> {
        let (node, attributes) = self.node(path)?;
        let content = match attributes.kind {
            Kind::File => self.read(path)?,
            Kind::Symlink => number(self.0.readlink(node))?,
            _ => Vec::new(),
        };
        let links = if attributes.kind == Kind::File { attributes.links } else { 0 };
        let mode = attributes.mode | attributes.kind.mode_bits();
        Ok(Look { mode, links, content, modified: attributes.modified.seconds })
    }

    fn names(&mut self, path: &str) -> Tried<Vec<String>> {
        let (node, _) = self.node(path)?;
        let handle = number(self.0.opendir(node))?;
        let items = number(self.0.readdir(handle, 0))?;
        let names =
            items.iter().map(|item| String::from_utf8(item.name.clone()).unwrap()).collect();
        number(self.0.release(handle))?;
        Ok(names)
    }
}

/// The variable of the environment that is set where mounts must work: none is replaced by requests there.
pub(crate) const MUST_MOUNT: &str = "BOARDLAB_MUST_MOUNT";

/// Whether this machine can mount.
pub(crate) fn is_usable() -> bool {
    let can = || boardlab_fuse::mount::probe().is_ok() && mounts();
    env::var_os(MUST_MOUNT).is_some() || rustix::process::geteuid().is_root() && can()
}

/// Whether mount(2) is allowed: in a container it may not be, though the device is there.
fn mounts() -> bool {
    static MOUNTS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *MOUNTS.get_or_init(|| {
        let scratch = Scratch::new();
        let dir = scratch.path().join("m");
        fs::create_dir(&dir).unwrap();
        let image = scratch.path().join("i");
        fs::write(&image, include_bytes!("../../../image/tests/data/board.jffs2")).unwrap();
        let arguments = ["image", "mount", "i", "m"];
        let mut child = spawn(scratch.path(), &arguments);
        let mounted = is_mounted(&mut child).is_ok();
        if mounted {
            unmount(&dir, false);
        }
        child.wait().unwrap();
        mounted
    })
}

/// Reads what a mount tells until it is there, or what it told instead.
fn is_mounted(child: &mut Child) -> Result<(), Vec<String>> {
    let mut told = Vec::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.starts_with("mounted at ") {
            return Ok(());
        }
        told.push(line);
    }
    Err(told)
}

fn unmount(dir: &Path, detach: bool) {
    let mut command = Command::new("umount");
    if detach {
        command.arg("-l");
    }
    command.arg(dir);
    // A process that another test starts has open files of this one for a moment.
    for _ in 0..200 {
        if command.stderr(Stdio::null()).status().unwrap().success() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{} stays mounted", dir.display());
}

/// A mounted image.
pub(crate) enum Mounted {
    Kernel { child: Child, dir: PathBuf },
    Requests(Box<Requests>),
}

impl Mounted {
    /// Mounts `name` in the folder of `scratch`.
    pub(crate) fn of(scratch: &Scratch, name: &str, writable: bool) -> Self {
        if !is_usable() {
            return by_requests(&scratch.path().join(name), writable);
        }
        let dir = scratch.path().join("m");
        fs::create_dir_all(&dir).unwrap();
        let mut arguments = vec!["image", "mount", name, "m"];
        if writable {
            arguments.push("--rw");
        }
        let mut child = spawn(scratch.path(), &arguments);
        is_mounted(&mut child).unwrap_or_else(|told| panic!("{told:#?}"));
        Self::Kernel { child, dir }
    }

    pub(crate) fn files(&mut self) -> Box<dyn Files + '_> {
        match self {
            Self::Kernel { dir, .. } => Box::new(Folder(dir.clone())),
            Self::Requests(requests) => Box::new(Borrowed(requests)),
        }
    }

    /// Unmounts it; the exit status.
    pub(crate) fn end(self) -> i32 {
        match self {
            Self::Kernel { mut child, dir, .. } => {
                unmount(&dir, false);
                child.wait().unwrap().code().unwrap()
            }
            Self::Requests(mut requests) => i32::from(requests.0.finish().is_err()),
        }
    }

    /// Kills it.
    pub(crate) fn kill(self) {
        if let Self::Kernel { mut child, dir, .. } = self {
            child.kill().unwrap();
            child.wait().unwrap();
            unmount(&dir, true);
        }
    }
}

/// Requests that somebody else owns.
struct Borrowed<'a>(&'a mut Requests);

macro_rules! pass {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {
        impl Files for Borrowed<'_> {
            $(fn $name(&mut self, $($argument: $kind),*) -> Tried<$answer> {
                self.0.$name($($argument),*)
            })*
        }
    };
}

pass! {
    write(path: &str, offset: u64, data: &[u8]) -> ();
    read(path: &str) -> Vec<u8>;
    truncate(path: &str, size: u64) -> ();
    mkdir(path: &str) -> ();
    rmdir(path: &str) -> ();
    unlink(path: &str) -> ();
    rename(from: &str, to: &str) -> ();
    link(existing: &str, path: &str) -> ();
    symlink(target: &str, path: &str) -> ();
    chmod(path: &str, mode: u32) -> ();
    fsync(path: &str) -> ();
    attribute(path: &str, value: &[u8]) -> ();
    attribute_of(path: &str) -> Vec<u8>;
    look(path: &str) -> Look;
    names(path: &str) -> Vec<String>;
}

/// A log below a server.
#[derive(Debug)]
struct Below(State);

impl Store for Below {
    fn sync(&mut self) -> io::Result<()> {
        self.0.with(Log::sync)
    }

    fn failure(&self) -> Option<String> {
        self.0.failure()
    }
}

/// What the command does, without a kernel.
fn by_requests(image: &Path, writable: bool) -> Mounted {
    let dump = Contents::open(image).unwrap();
    let mut system = detect(&dump).unwrap();
    let beside = PathBuf::from(format!("{}.overlay", image.display()));
    let identity = Identity::of(&dump).unwrap();
    let before = match Contents::open(&beside) {
        Ok(overlay) if writable => Some(replay(&dump, identity, &overlay).unwrap()),
        _ => None,
    };
    let contents = before.as_ref().map_or(&dump, |before| &before.contents);
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let wall = WallClock { start: i64::try_from(since.as_secs()).unwrap() };
    let hints = Hints { write: writable.then_some(wall), ..Hints::default() };
    if before.is_some() {
        system = system.of_changed(contents);
    }
    let mut mounted = system.mount(contents, &hints).unwrap();
    let mut store: Box<dyn Store> = Box::new(NoStore);
    if writable {
        let header = Header::of(identity, mounted.at, mounted.fs.dump());
        let new = beside.with_extension("new");
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(true).open(&new).unwrap();
        let patches = before.as_ref().map(|before| &before.patches);
        let log = State::new(Log::begin(file, &header, mounted.fs.dump(), patches).unwrap());
        fs::rename(&new, &beside).unwrap();
        mounted.fs.dump_mut().set_journal(Box::new(log.clone()));
        store = Box::new(Below(log));
    }
    let mount = Mount::new(mounted.fs);
    let now = Box::new(|| Instant::ZERO);
    let server = Server::new(mount, mounted.clock, now, store, !writable);
    Mounted::Requests(Box::new(Requests(server)))
}
