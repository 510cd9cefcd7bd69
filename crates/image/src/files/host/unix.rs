//! What Unix says of files.
//!
//! Layer: rank 7. Metadata come from the standard library, so that programs such as fakeroot, which
//! stand between it and the kernel, are heard.

use super::Found;
use boardlab_vfs::{Device, Kind};
use rustix::fs::{OFlags, SeekFrom, lgetxattr, llistxattr, seek};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Bytes of the names of all attributes, and of a value, in Linux (`XATTR_LIST_MAX`).
const XATTR_MAX: usize = 65_536;

/// What is needed of `metadata`.
pub(in crate::files) fn found(metadata: &Metadata) -> Found {
    let kind = metadata.file_type();
    let number = metadata.rdev();
    let device = Device { major: rustix::fs::major(number), minor: rustix::fs::minor(number) };
    let kinds = [
        (kind.is_file(), Kind::File),
        (kind.is_dir(), Kind::Directory),
        (kind.is_symlink(), Kind::Symlink),
        (kind.is_fifo(), Kind::Fifo),
        (kind.is_socket(), Kind::Socket),
        (kind.is_char_device(), Kind::Character(device)),
        (kind.is_block_device(), Kind::Block(device)),
    ];
    let linked = metadata.nlink() > 1 && !kind.is_dir();
    Found {
        kind: kinds.into_iter().find_map(|(is, kind)| is.then_some(kind)),
        mode: metadata.mode() & 0o7777,
        owner: (metadata.uid(), metadata.gid()),
        modified: metadata.mtime(),
        identity: linked.then(|| (metadata.dev(), metadata.ino())),
    }
}

/// Opens a regular file; neither follows a link nor waits for a pipe.
pub(in crate::files) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file any more"));
    }
    Ok(file)
}

/// Reads all of `buffer`.
pub(in crate::files) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(buffer, at)
}

/// The first byte from `at` on that is not in a hole; `None` when there is none.
pub(in crate::files) fn next_data(file: &File, at: u64) -> Option<u64> {
    match seek(file, SeekFrom::Data(at)) {
        Ok(next) => Some(next),
        Err(Errno::NXIO) => None,
        // The filesystem does not know.
        Err(_) => Some(at),
    }
}

/// The extended attributes of a file.
pub(in crate::files) fn attributes(path: &Path) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut list = vec![0; XATTR_MAX];
    let length = match llistxattr(path, list.as_mut_slice()) {
        Err(Errno::NOTSUP) => 0,
        length => length?,
    };
    list.truncate(length);
    let names = list.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let mut attributes = Vec::new();
    for name in names {
        let mut value = vec![0; XATTR_MAX];
        match lgetxattr(path, name, value.as_mut_slice()) {
            Ok(length) => {
                value.truncate(length);
                attributes.push((name.to_vec(), value));
            }
            // It has just been removed.
            Err(Errno::NODATA) => {}
            Err(problem) => return Err(problem.into()),
        }
    }
    Ok(attributes)
}
