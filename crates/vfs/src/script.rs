//! Random operations on a filesystem, for model tests and power-cut explorations.
//!
//! Layer: rank 2. Main types: [`Action`], one operation; [`Mix`], the frequency of each. An action
//! is self-contained (paths, and bytes derived from a number), so a run is replayed from its seed,
//! and the same action can run on two filesystems whose [`Answer`]s must be equal.
//!
//! Paths are drawn from a small pool, so that most actions find something: directories `d0`, `d1`,
//! ... nested up to [`Mix::depth`], with [`Mix::names`] names in each. The steady state is
//! therefore a tree of bounded size whose files change again and again.

use crate::error::{Errno, Error};
use crate::filesystem::FileSystem;
use crate::mount::Mount;
use crate::node::{Device, Kind, Timestamp};
use boardlab_sim::{Clock, Seed, Stream};

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Creates an empty file.
    Create {
        /// Where.
        path: String,
        /// Permission bits.
        mode: u32,
    },
    /// Creates a directory.
    Mkdir {
        /// Where.
        path: String,
    },
    /// Creates a symbolic link.
    Symlink {
        /// The target.
        target: String,
        /// Where it is.
        path: String,
    },
    /// Creates a device node, a named pipe or a socket.
    Mknod {
        /// Where.
        path: String,
        /// What.
        kind: Kind,
    },
    /// Creates a hard link.
    Link {
        /// The first.
        existing: String,
        /// The second.
        path: String,
    },
    /// Removes a name.
    Unlink {
        /// Which.
        path: String,
    },
    /// Removes a directory.
    Rmdir {
        /// Which.
        path: String,
    },
    /// Renames.
    Rename {
        /// From here.
        from: String,
        /// To there.
        to: String,
    },
    /// Writes bytes of [`content`] to a file.
    Write {
        /// Which file.
        path: String,
        /// The offset; `None` appends.
        offset: Option<u64>,
        /// How many bytes.
        length: usize,
        /// The number from which the bytes are derived.
        tag: u64,
    },
    /// Truncates a file, or extends it by a hole.
    Truncate {
        /// Which file.
        path: String,
        /// To this size.
        size: u64,
    },
    /// Changes permission bits.
    Chmod {
        /// Of what.
        path: String,
        /// To these.
        mode: u32,
    },
    /// Changes owner and group, and sets the times to the same number of seconds.
    Chown {
        /// Of what.
        path: String,
        /// To this number, both.
        id: u32,
    },
    /// Sets an extended attribute to the bytes of [`content`], or removes it.
    Xattr {
        /// Of what.
        path: String,
        /// Which.
        name: String,
        /// The length, and the number from which the bytes are derived.
        value: Option<(usize, u64)>,
    },
    /// Reads a range of a file.
    Read {
        /// Which file.
        path: String,
        /// From where on.
        offset: u64,
        /// How many bytes.
        length: usize,
    },
    /// Lists a directory.
    List {
        /// Which.
        path: String,
    },
    /// Makes a file or a directory durable (fsync).
    Fsync {
        /// Which.
        path: String,
    },
    /// Makes everything durable (sync).
    Sync,
    /// Empties the caches.
    DropCaches,
}

/// The observable result of an action, to be compared between two filesystems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Success without data.
    Done,
    /// The bytes read.
    Bytes(Vec<u8>),
    /// The names of a directory, sorted.
    Names(Vec<Vec<u8>>),
    /// How many bytes were written.
    Written(usize),
}

/// The bytes derived from `tag`: a third each is random, of a short period, and text-like with some
/// randomness, so that every path of a compressing filesystem is taken.
#[must_use]
pub fn content(length: usize, tag: u64) -> Vec<u8> {
    let mut stream = Seed::new(tag).stream("vfs.script.content");
    let mut bytes = vec![0; length];
    stream.fill(&mut bytes);
    match stream.below(3) {
        0 => {}
        1 => {
            let period = usize::try_from(stream.below(40) + 1).expect("at most 40");
            (period..length).for_each(|at| bytes[at] = bytes[at - period]);
        }
        _ => {
            let letters = b"etaoin shrdlu\n.,";
            bytes.iter_mut().for_each(|byte| *byte = letters[usize::from(*byte >> 4)]);
        }
    }
    bytes
}

impl Action {
    /// Runs the action. A write opens the file, writes and closes; so does a read, and an fsync.
    ///
    /// # Errors
    /// Those of the operation of [`Mount`].
    pub fn apply<F: FileSystem>(
        &self,
        mount: &mut Mount<F>,
        clock: &mut Clock,
    ) -> Result<Answer, Error> {
        match self {
            Self::Create { path, mode } => {
                mount.create(clock, path, *mode).and_then(|fd| mount.close(clock, fd))?;
            }
            Self::Mkdir { path } => mount.mkdir(clock, path, 0o755)?,
            Self::Symlink { target, path } => mount.symlink(clock, target, path)?,
            Self::Mknod { path, kind } => mount.mknod(clock, path, *kind, 0o600)?,
            Self::Link { existing, path } => mount.link(clock, existing, path)?,
            Self::Unlink { path } => mount.unlink(clock, path)?,
            Self::Rmdir { path } => mount.rmdir(clock, path)?,
            Self::Rename { from, to } => mount.rename(clock, from, to)?,
            Self::Truncate { path, size } => mount.truncate(clock, path, *size)?,
            Self::Chmod { path, mode } => mount.chmod(clock, path, *mode)?,
            Self::Chown { path, id } => {
                mount.chown(clock, path, *id, *id)?;
                let time = Timestamp::seconds(i64::from(*id));
                mount.utimes(clock, path, time, time)?;
            }
            Self::Xattr { path, name, value } => match value {
                Some((length, tag)) => {
                    mount.setxattr(clock, path, name, &content(*length, *tag))?;
                }
                None => mount.removexattr(clock, path, name)?,
            },
            Self::Sync => mount.sync(clock)?,
            Self::DropCaches => mount.drop_caches(clock)?,
            Self::List { path } => {
                let entries = mount.readdir(clock, path)?;
                let mut names: Vec<_> = entries.into_iter().map(|entry| entry.name).collect();
                names.sort_unstable();
                return Ok(Answer::Names(names));
            }
            Self::Write { .. } | Self::Read { .. } | Self::Fsync { .. } => {
                return self.apply_opened(mount, clock);
            }
        }
        Ok(Answer::Done)
    }

    /// Runs an action on an open file, which is closed whatever the result.
    fn apply_opened<F: FileSystem>(
        &self,
        mount: &mut Mount<F>,
        clock: &mut Clock,
    ) -> Result<Answer, Error> {
        let (Self::Write { path, .. } | Self::Read { path, .. } | Self::Fsync { path }) = self
        else {
            return Err(Errno::Inval.into());
        };
        let fd = mount.open(clock, path)?;
        let answer = match self {
            Self::Write { offset, length, tag, .. } => {
                let end = mount.fstat(clock, fd)?.size;
                let data = content(*length, *tag);
                mount.write(clock, fd, offset.unwrap_or(end), &data).map(Answer::Written)
            }
            Self::Read { offset, length, .. } => {
                let mut buffer = vec![0; *length];
                mount.read(clock, fd, *offset, &mut buffer).map(|count| {
                    buffer.truncate(count);
                    Answer::Bytes(buffer)
                })
            }
            _ => mount.fsync(clock, fd).map(|()| Answer::Done),
        };
        if answer.as_ref().is_err_and(|error| error.errno().is_none()) {
            return answer;
        }
        mount.close(clock, fd)?;
        answer
    }
}

/// The frequency of each kind of action, and the sizes involved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mix {
    /// Names in each directory that are not directories.
    pub names: u64,
    /// Directories in each directory.
    pub dirs: u64,
    /// How deep directories are nested.
    pub depth: u64,
    /// The most bytes of a file.
    pub size: u64,
    /// The most bytes of a write.
    pub write: u64,
    /// The most bytes of the value of an extended attribute; 0 where there are none.
    pub xattr: u64,
    /// How many of 1,000 actions are an fsync.
    pub fsync: u64,
    /// How many of 1,000 actions are a sync.
    pub sync: u64,
}

impl Default for Mix {
    /// At most 7 directories with 8 names each, and files of at most 40,000 bytes.
    fn default() -> Self {
        Self {
            names: 8,
            dirs: 2,
            depth: 2,
            size: 40_000,
            write: 9_000,
            xattr: 300,
            fsync: 20,
            sync: 5,
        }
    }
}

impl Mix {
    /// Draws the next action.
    #[must_use]
    pub fn draw(&self, stream: &mut Stream) -> Action {
        let chosen = stream.below(1_000);
        if chosen < self.fsync {
            return Action::Fsync { path: self.path(stream) };
        }
        if chosen < self.fsync + self.sync {
            return Action::Sync;
        }
        match stream.below(100) {
            0..30 => self.write(stream),
            30..42 => self.read(stream),
            42..64 => self.entry(stream),
            64..82 => self.removal(stream),
            82..92 => self.attribute(stream),
            92..99 => {
                let size = stream.below(self.size + 1);
                Action::Truncate { path: self.path(stream), size }
            }
            _ if stream.chance(1, 4) => Action::DropCaches,
            _ => Action::List { path: self.dir(stream) },
        }
    }

    /// A directory, the root as `/`.
    fn dir(&self, stream: &mut Stream) -> String {
        let depth = stream.below(self.depth + 1);
        if depth == 0 { "/".to_owned() } else { self.dir_at(stream, depth) }
    }

    fn dir_below_root(&self, stream: &mut Stream) -> String {
        let depth = stream.below(self.depth.max(1)) + 1;
        self.dir_at(stream, depth)
    }

    fn dir_at(&self, stream: &mut Stream, depth: u64) -> String {
        (0..depth).map(|_| format!("/d{}", stream.below(self.dirs.max(1)))).collect()
    }

    /// A path that is usually not a directory. Names have lengths from 2 to 61 bytes.
    fn path(&self, stream: &mut Stream) -> String {
        let dir = self.dir(stream);
        if stream.chance(1, 20) {
            return dir;
        }
        let number = stream.below(self.names.max(1));
        let tail = "x".repeat(usize::try_from(number * number * 3 % 60).expect("below 60"));
        format!("{}/f{number}{tail}", dir.trim_end_matches('/'))
    }

    fn write(&self, stream: &mut Stream) -> Action {
        let length = usize::try_from(stream.below(self.write) + 1).unwrap_or(1);
        let room = (self.size + 1).saturating_sub(length as u64).max(1);
        let offset = match stream.below(5) {
            0 => Some(0),
            1 => Some(stream.below(room) / 4_096 * 4_096),
            2 => None,
            _ => Some(stream.below(room)),
        };
        Action::Write { path: self.path(stream), offset, length, tag: stream.next_u64() }
    }

    fn read(&self, stream: &mut Stream) -> Action {
        let length = usize::try_from(stream.below(self.write) + 1).unwrap_or(1);
        Action::Read { path: self.path(stream), offset: stream.below(self.size + 1), length }
    }

    /// Draws an action that creates something.
    fn entry(&self, stream: &mut Stream) -> Action {
        let path = self.path(stream);
        match stream.below(10) {
            0..7 => Action::Create { path, mode: [0o644, 0o600, 0o4755][third(stream)] },
            7 => Action::Mkdir { path: self.dir_below_root(stream) },
            8 => Action::Link { existing: self.path(stream), path },
            _ if stream.chance(2, 3) => Action::Symlink { target: self.path(stream), path },
            _ => Action::Mknod { path, kind: special(stream) },
        }
    }

    /// Draws an action that removes or moves something.
    fn removal(&self, stream: &mut Stream) -> Action {
        match stream.below(10) {
            0..6 => Action::Unlink { path: self.path(stream) },
            6 => Action::Rmdir { path: self.dir_below_root(stream) },
            7 => {
                let from = self.dir_below_root(stream);
                Action::Rename { from, to: self.dir_below_root(stream) }
            }
            _ => Action::Rename { from: self.path(stream), to: self.path(stream) },
        }
    }

    fn attribute(&self, stream: &mut Stream) -> Action {
        let path = self.path(stream);
        let small = |stream: &mut Stream, bound| u32::try_from(stream.below(bound)).unwrap_or(0);
        match stream.below(4) {
            0 => Action::Chmod { path, mode: small(stream, 0o1000) },
            1 => Action::Chown { path, id: small(stream, 65_536) },
            _ if self.xattr == 0 => Action::Chmod { path, mode: small(stream, 0o1000) },
            _ => {
                let name = ["user.colour", "user.a", "trusted.t"][third(stream)].to_owned();
                let length = usize::try_from(stream.below(self.xattr)).unwrap_or(0);
                let value = stream.chance(3, 4).then(|| (length, stream.next_u64()));
                Action::Xattr { path, name, value }
            }
        }
    }
}

/// An index of three things.
fn third(stream: &mut Stream) -> usize {
    usize::try_from(stream.below(3)).expect("below 3")
}

fn special(stream: &mut Stream) -> Kind {
    match stream.below(4) {
        0 => Kind::Fifo,
        1 => Kind::Socket,
        2 => Kind::Character(Device { major: 4, minor: 64 }),
        _ => Kind::Block(Device { major: 5, minor: 300 }),
    }
}
