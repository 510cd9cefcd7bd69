//! Performs a list of operations on a mounted filesystem.
//!
//! Layer: rank 6, part of [`tree`](crate::tree). Main types: [`run`], [`Event`]. The calls and
//! their order are those of `oracles/guest-files.c` in a real kernel.

use super::field::escaped;
use super::operation::{Line, Operation};
use crate::data::DataSource;
use crate::error::Error;
use crate::source::Source;
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{Errno, Error as FsError, Fd, FileSystem, Mount, Timestamp};

/// An event to be reported during a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An operation that may fail has failed.
    Failed {
        /// Its line.
        line: usize,
        /// The error.
        errno: Errno,
    },
    /// The text of [`Operation::Say`].
    Said(Vec<u8>),
}

/// Performs `lines` in order. `hear` receives each event immediately.
///
/// # Errors
/// [`Error::File`] of the first operation that fails and must not, and of a power cut in any.
pub fn run<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
    lines: &[(usize, Line)],
    hear: &mut dyn FnMut(Event),
) -> Result<(), Error> {
    for (number, line) in lines {
        let Err(cause) = apply(mount, clock, &line.operation, hear) else { continue };
        match cause.errno() {
            Some(errno) if line.may_fail => hear(Event::Failed { line: *number, errno }),
            _ => {
                let operation = line.operation.to_string();
                return Err(Error::Operation { line: *number, operation, cause });
            }
        }
    }
    Ok(())
}

/// An absolute path for a path of the list.
fn rooted(path: &[u8]) -> Vec<u8> {
    if path == b"." { b"/".to_vec() } else { [b"/", path].concat() }
}

fn apply<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
    operation: &Operation,
    hear: &mut dyn FnMut(Event),
) -> Result<(), FsError> {
    match operation {
        Operation::Mkdir { path, mode } => mount.mkdir(clock, rooted(path), *mode),
        Operation::File { path, mode } => {
            let fd = mount.create(clock, rooted(path), *mode)?;
            mount.close(clock, fd)
        }
        Operation::Link { old, new } => mount.link(clock, rooted(old), rooted(new)),
        Operation::Symlink { target, path } => mount.symlink(clock, target, rooted(path)),
        Operation::Mknod { path, kind, mode } => mount.mknod(clock, rooted(path), *kind, *mode),
        Operation::Rename { old, new } => mount.rename(clock, rooted(old), rooted(new)),
        Operation::Unlink { path } => mount.unlink(clock, rooted(path)),
        Operation::Rmdir { path } => mount.rmdir(clock, rooted(path)),
        Operation::Sync => mount.sync(clock),
        Operation::Pause { time } => mount.idle(clock, clock.now().saturating_add(*time)),
        Operation::Say { text } => {
            hear(Event::Said(text.clone()));
            Ok(())
        }
        Operation::Truncate { path, size } => mount.truncate(clock, rooted(path), *size),
        Operation::Write { path, .. }
        | Operation::Read { path, .. }
        | Operation::Fsync { path } => {
            let fd = mount.open(clock, rooted(path))?;
            let done = apply_opened(mount, clock, operation, fd);
            if done.as_ref().is_err_and(|error| error.errno().is_none()) {
                return done;
            }
            mount.close(clock, fd)?;
            done
        }
        _ => change(mount, clock, operation),
    }
}

/// Operations on attributes.
fn change<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
    operation: &Operation,
) -> Result<(), FsError> {
    match operation {
        Operation::Chmod { path, mode } => mount.chmod(clock, rooted(path), *mode),
        Operation::Chown { path, uid, gid } => mount.chown(clock, rooted(path), *uid, *gid),
        Operation::Mtime { path, seconds } => {
            let time = Timestamp::seconds(*seconds);
            mount.utimes(clock, rooted(path), time, time)
        }
        Operation::SetXattr { path, name, value } => {
            mount.setxattr(clock, rooted(path), name, value)
        }
        Operation::RemoveXattr { path, name } => mount.removexattr(clock, rooted(path), name),
        _ => Err(Errno::Inval.into()),
    }
}

/// Operations on an open file.
fn apply_opened<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
    operation: &Operation,
    fd: Fd,
) -> Result<(), FsError> {
    match *operation {
        Operation::Write { offset, size, data: (ref data, seed), chunk, .. } => {
            let mut write = SequentialWrite { source: data.source(seed), offset, size, chunk };
            write.run(mount, clock, fd)
        }
        Operation::Read { offset, size, chunk, .. } => {
            let mut buffer = vec![0; Bytes::new(chunk.min(size)).to_usize()];
            let mut done = 0;
            while done < size {
                let part = Bytes::new(chunk.min(size - done)).to_usize();
                let count = mount.read(clock, fd, offset + done, &mut buffer[..part])?;
                if count == 0 {
                    break;
                }
                done += chunk.min(size - done);
            }
            Ok(())
        }
        _ => mount.fsync(clock, fd),
    }
}

/// A sequential write of generated data.
struct SequentialWrite {
    source: DataSource,
    /// Where the next write call begins.
    offset: u64,
    /// The total number of bytes.
    size: u64,
    /// Bytes of one write call.
    chunk: u64,
}

impl SequentialWrite {
    /// Writes chunk by chunk. A short write is continued until the filesystem refuses.
    fn run<F: FileSystem>(
        &mut self,
        mount: &mut Mount<F>,
        clock: &mut Clock,
        fd: Fd,
    ) -> Result<(), FsError> {
        let mut buffer = vec![0; Bytes::new(self.chunk.min(self.size)).to_usize()];
        let mut left = self.size;
        while left > 0 {
            let part = self.chunk.min(left);
            let piece = &mut buffer[..Bytes::new(part).to_usize()];
            self.source.fill(piece);
            let mut rest = &*piece;
            while !rest.is_empty() {
                let written = mount.write(clock, fd, self.offset, rest)?;
                rest = &rest[written..];
                self.offset += Bytes::of(&piece[..written]).get();
            }
            left -= part;
        }
        Ok(())
    }
}

impl std::fmt::Display for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed { line, errno } => write!(f, "failed {line} {}", errno.symbol()),
            Self::Said(text) => f.write_str(&escaped(text)),
        }
    }
}
