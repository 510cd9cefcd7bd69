//! The requests of the kernel, handed to a server one after another.
//!
//! Layer: rank 9. Main type: [`Requests`].

use crate::server::{Found, Item, Rename, Server};
use boardlab_vfs::{
    Attributes, Device, Errno, FileSystem, Ino, Kind, NewInode, SetAttr, Timestamp,
};
use fuser::{
    AccessFlags, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenAccMode, OpenFlags, RenameFlags, ReplyAttr,
    ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// How long the kernel may believe what it was told of an image that nobody changes.
const LONG: Duration = Duration::from_secs(86_400);
/// The same where things change, as a filesystem may change what the kernel did not: blocks, times.
const SHORT: Duration = Duration::from_secs(1);
/// Bits of an open for synchronous writes: `O_DSYNC`, which `O_SYNC` has too.
const DSYNC: i32 = 0o10000;
/// The low twelve bits of a mode.
const MODE: u32 = 0o7777;
const XATTR_CREATE: i32 = 1;
const XATTR_REPLACE: i32 = 2;

/// A server for the kernel.
#[derive(Debug)]
pub(crate) struct Requests<F> {
    server: Arc<Mutex<Server<F>>>,
    /// How long the kernel may believe an answer.
    valid: Duration,
    has_xattrs: bool,
}

impl<F: FileSystem> Requests<F> {
    pub(crate) fn of(server: &Arc<Mutex<Server<F>>>) -> Self {
        let (read_only, has_xattrs) = {
            let server = server.lock().unwrap_or_else(PoisonError::into_inner);
            (server.is_read_only(), server.has_xattrs())
        };
        let valid = if read_only { LONG } else { SHORT };
        Self { server: Arc::clone(server), valid, has_xattrs }
    }

    fn server(&self) -> MutexGuard<'_, Server<F>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self, found: Result<Found, Errno>, reply: ReplyEntry) {
        match found {
            Ok(found) => {
                let attributes = shown(&found.attributes);
                reply.entry(&self.valid, &attributes, Generation(found.generation));
            }
            Err(error) => reply.error(number(error)),
        }
    }

    fn attributes(&self, found: Result<Attributes, Errno>, reply: ReplyAttr) {
        match found {
            Ok(found) => reply.attr(&self.valid, &shown(&found)),
            Err(error) => reply.error(number(error)),
        }
    }
}

fn number(error: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(i32::try_from(error.number()).unwrap_or(5))
}

fn done(result: Result<(), Errno>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(number(error)),
    }
}

fn opened(result: Result<u64, Errno>, flags: FopenFlags, reply: ReplyOpen) {
    match result {
        Ok(handle) => reply.opened(FileHandle(handle), flags),
        Err(error) => reply.error(number(error)),
    }
}

/// Answers with a value, its length, or that the place for it is too small.
fn value(result: Result<Vec<u8>, Errno>, size: u32, reply: ReplyXattr) {
    match result {
        Ok(value) => match u32::try_from(value.len()) {
            Ok(length) if size == 0 => reply.size(length),
            Ok(length) if length <= size => reply.data(&value),
            _ => reply.error(fuser::Errno::ERANGE),
        },
        Err(error) => reply.error(number(error)),
    }
}

/// The time in the form of the library; the nearest one that it has.
fn time(at: Timestamp) -> SystemTime {
    let whole = Duration::from_secs(at.seconds.unsigned_abs());
    let nanos = Duration::from_nanos(u64::from(at.nanos.min(999_999_999)));
    let seconds = if at.seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(whole)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(whole)
    };
    seconds.and_then(|seconds| seconds.checked_add(nanos)).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn timestamp(time: SystemTime) -> Timestamp {
    let seconds = |length: Duration| i64::try_from(length.as_secs()).unwrap_or(i64::MAX);
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => Timestamp { seconds: seconds(after), nanos: after.subsec_nanos() },
        Err(before) => {
            let before = before.duration();
            Timestamp::before_1970(seconds(before), before.subsec_nanos())
        }
    }
}

fn wanted(time: TimeOrNow) -> Timestamp {
    timestamp(match time {
        TimeOrNow::SpecificTime(time) => time,
        TimeOrNow::Now => SystemTime::now(),
    })
}

fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::File => FileType::RegularFile,
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Fifo => FileType::NamedPipe,
        Kind::Socket => FileType::Socket,
        Kind::Character(_) => FileType::CharDevice,
        Kind::Block(_) => FileType::BlockDevice,
    }
}

/// The type of an entry; the kernel asks again where it matters.
fn entry_type(item: &Item) -> FileType {
    match item.kind {
        1 => FileType::NamedPipe,
        2 => FileType::CharDevice,
        4 => FileType::Directory,
        6 => FileType::BlockDevice,
        10 => FileType::Symlink,
        12 => FileType::Socket,
        _ => FileType::RegularFile,
    }
}

/// The number of a device; 0 for all other kinds.
const fn device_number(kind: Kind) -> u32 {
    match kind {
        Kind::Character(device) | Kind::Block(device) => device.encoded(),
        _ => 0,
    }
}

fn shown(attributes: &Attributes) -> FileAttr {
    let modified = time(attributes.modified);
    FileAttr {
        ino: INodeNo(attributes.ino.0),
        size: attributes.size,
        blocks: attributes.size.div_ceil(512),
        atime: time(attributes.accessed),
        mtime: modified,
        ctime: time(attributes.changed),
        crtime: modified,
        kind: file_type(attributes.kind),
        perm: u16::try_from(attributes.mode & MODE).expect("twelve bits"),
        nlink: attributes.links,
        uid: attributes.uid,
        gid: attributes.gid,
        rdev: device_number(attributes.kind),
        blksize: 4_096,
        flags: 0,
    }
}

/// The inode that a request wants, or EINVAL for a kind that there is not.
fn new_inode(request: &Request, mode: u32, device: u32) -> Result<NewInode<'static>, Errno> {
    // mknod(2) takes a mode without a kind for that of a file.
    let mode = if mode & 0o170_000 == 0 { mode | Kind::File.mode_bits() } else { mode };
    let kind = Kind::of_mode(mode, Device::decoded(device));
    let kind = kind.filter(|kind| *kind != Kind::Symlink).ok_or(Errno::Inval)?;
    let (uid, gid) = (request.uid(), request.gid());
    Ok(NewInode { kind, mode: mode & MODE, uid, gid, target: &[] })
}

impl<F: FileSystem + Send + 'static> Filesystem for Requests<F> {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let wanted = [
            InitFlags::FUSE_DO_READDIRPLUS,
            InitFlags::FUSE_READDIRPLUS_AUTO,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_CACHE_SYMLINKS,
        ];
        for one in wanted {
            // A kernel without it asks more often.
            let _ = config.add_capabilities(one);
        }
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.server().lookup(parent.0, name.as_bytes());
        self.entry(found, reply);
    }

    fn forget(&self, _request: &Request, ino: INodeNo, _lookups: u64) {
        self.server().forget(ino.0);
    }

    fn getattr(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: Option<FileHandle>,
        reply: ReplyAttr,
    ) {
        let found = self.server().getattr(ino.0);
        self.attributes(found, reply);
    }

    fn setattr(
        &self,
        _request: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let (accessed, modified) = (atime.map(wanted), mtime.map(wanted));
        let change = SetAttr { mode, uid, gid, size, accessed, modified };
        let found = self.server().setattr(ino.0, &change);
        self.attributes(found, reply);
    }

    fn readlink(&self, _request: &Request, ino: INodeNo, reply: ReplyData) {
        match self.server().readlink(ino.0) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(number(error)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        device: u32,
        reply: ReplyEntry,
    ) {
        let found = new_inode(request, mode, device)
            .and_then(|new| self.server().create(parent.0, name.as_bytes(), &new));
        self.entry(found, reply);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        let found = new_inode(request, mode & MODE | Kind::Directory.mode_bits(), 0)
            .and_then(|new| self.server().create(parent.0, name.as_bytes(), &new));
        self.entry(found, reply);
    }

    fn unlink(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(self.server().unlink(parent.0, name.as_bytes()), reply);
    }

    fn rmdir(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(self.server().rmdir(parent.0, name.as_bytes()), reply);
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let (uid, gid) = (request.uid(), request.gid());
        let target = target.as_os_str().as_bytes();
        let new = NewInode { kind: Kind::Symlink, mode: 0o777, uid, gid, target };
        let found = self.server().create(parent.0, name.as_bytes(), &new);
        self.entry(found, reply);
    }

    fn rename(
        &self,
        _request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let keeps = flags == RenameFlags::RENAME_NOREPLACE;
        if !keeps && !flags.is_empty() {
            return reply.error(fuser::Errno::EINVAL);
        }
        let from = (parent.0, name.as_bytes());
        let to = (new_parent.0, new_name.as_bytes());
        done(self.server().rename(Rename { from, to, keeps }), reply);
    }

    fn link(
        &self,
        _request: &Request,
        ino: INodeNo,
        parent: INodeNo,
        name: &OsStr,
        reply: ReplyEntry,
    ) {
        let found = self.server().link(ino.0, parent.0, name.as_bytes());
        self.entry(found, reply);
    }

    fn open(&self, _request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let writes = flags.acc_mode() != OpenAccMode::O_RDONLY;
        let handle = self.server().open(ino.0, writes, flags.0 & DSYNC != 0);
        // Only this kernel changes the file.
        opened(handle, FopenFlags::FOPEN_KEEP_CACHE, reply);
    }

    fn read(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let read = self.server().read(handle.0, offset, size);
        match read {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(number(error)),
        }
    }

    fn write(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.server().write(handle.0, offset, data) {
            Ok(written) => reply.written(u32::try_from(written).expect("a request has 32 bits")),
            Err(error) => reply.error(number(error)),
        }
    }

    fn flush(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        _owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        done(self.server().flush(handle.0), reply);
    }

    fn release(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        done(self.server().release(handle.0), reply);
    }

    fn fsync(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        _data_only: bool,
        reply: ReplyEmpty,
    ) {
        done(self.server().fsync(handle.0), reply);
    }

    fn opendir(&self, _request: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let mut server = self.server();
        let flags = if server.is_read_only() {
            FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_CACHE_DIR
        } else {
            FopenFlags::empty()
        };
        opened(server.opendir(ino.0), flags, reply);
    }

    fn readdir(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let mut server = self.server();
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        match server.readdir(handle.0, from) {
            Ok(items) => {
                for (next, item) in (offset + 1..).zip(items) {
                    let name = OsStr::from_bytes(&item.name);
                    if reply.add(INodeNo(item.node), next, entry_type(item), name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(number(error)),
        }
    }

    fn readdirplus(
        &self,
        _request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let mut server = self.server();
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        // More than fit an answer of the kernel's size.
        let items: Vec<Item> = match server.readdir(handle.0, from) {
            Ok(items) => items.iter().take(1_024).cloned().collect(),
            Err(error) => return reply.error(number(error)),
        };
        for (next, item) in (offset + 1..).zip(&items) {
            let name = OsStr::from_bytes(&item.name);
            // Node 0: the kernel asks for what cannot be told here, and gets the error.
            let (node, attributes, generation) = match server.found_in(ino.0, &item.name, item.node)
            {
                Ok(found) => (found.node, shown(&found.attributes), found.generation),
                Err(_) => (0, unknown(item), 0),
            };
            let generation = Generation(generation);
            if reply.add(INodeNo(node), next, name, &self.valid, &attributes, generation) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        done(self.server().release(handle.0), reply);
    }

    fn fsyncdir(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _data_only: bool,
        reply: ReplyEmpty,
    ) {
        done(self.server().sync(), reply);
    }

    fn statfs(&self, _request: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        match self.server().statfs() {
            Ok(found) => {
                let size = found.block_size;
                let (free, available) = (found.free, found.available);
                reply.statfs(found.blocks, free, available, 0, 0, size, found.name_max, size);
            }
            Err(error) => reply.error(number(error)),
        }
    }

    fn setxattr(
        &self,
        _request: &Request,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        if !self.has_xattrs {
            return reply.error(fuser::Errno::ENOSYS);
        }
        let exists = match flags {
            0 => None,
            XATTR_CREATE => Some(false),
            XATTR_REPLACE => Some(true),
            _ => return reply.error(fuser::Errno::EINVAL),
        };
        done(self.server().setxattr(ino.0, name.as_bytes(), Some(value), exists), reply);
    }

    fn getxattr(
        &self,
        _request: &Request,
        ino: INodeNo,
        name: &OsStr,
        size: u32,
        reply: ReplyXattr,
    ) {
        // The kernel then asks no more, which it otherwise does before each write.
        if !self.has_xattrs {
            return reply.error(fuser::Errno::ENOSYS);
        }
        let found = self.server().getxattr(ino.0, name.as_bytes());
        value(found, size, reply);
    }

    fn listxattr(&self, _request: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        if !self.has_xattrs {
            return reply.error(fuser::Errno::ENOSYS);
        }
        let names = self.server().listxattr(ino.0);
        let list = names.map(|names| {
            names.into_iter().flat_map(|name| name.into_iter().chain([0])).collect::<Vec<u8>>()
        });
        value(list, size, reply);
    }

    fn removexattr(&self, _request: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        if !self.has_xattrs {
            return reply.error(fuser::Errno::ENOSYS);
        }
        done(self.server().setxattr(ino.0, name.as_bytes(), None, None), reply);
    }

    fn access(&self, _request: &Request, _ino: INodeNo, _mask: AccessFlags, reply: ReplyEmpty) {
        // Only asked without permissions: who mounted may do everything.
        reply.ok();
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let made = new_inode(request, mode & MODE | Kind::File.mode_bits(), 0).and_then(|new| {
            let sync = flags & DSYNC != 0;
            self.server().create_open(parent.0, name.as_bytes(), &new, sync)
        });
        match made {
            Ok((found, handle)) => {
                let attributes = shown(&found.attributes);
                let (generation, handle) = (Generation(found.generation), FileHandle(handle));
                let flags = FopenFlags::FOPEN_KEEP_CACHE;
                reply.created(&self.valid, &attributes, generation, handle, flags);
            }
            Err(error) => reply.error(number(error)),
        }
    }
}

/// The attributes of an entry that has none: the kernel takes only its type.
fn unknown(item: &Item) -> FileAttr {
    let epoch = Timestamp::default();
    let attributes = Attributes {
        ino: Ino(item.node),
        kind: Kind::File,
        mode: 0,
        links: 1,
        uid: 0,
        gid: 0,
        size: 0,
        accessed: epoch,
        modified: epoch,
        changed: epoch,
    };
    FileAttr { kind: entry_type(item), ..shown(&attributes) }
}
