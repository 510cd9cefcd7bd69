//! What an inode is and carries: kind, mode, owner, times, size.
//!
//! Layer: rank 2. Main types: [`Ino`], [`Kind`], [`Attributes`], [`Change`], [`New`], [`Entry`].

use boardlab_sim::{Duration, Instant};

/// The number of an inode within its filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ino(pub u64);

/// What an inode is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    Character(Device),
    /// A block device.
    Block(Device),
}

/// The number of a device node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device {
    /// The driver: 12 bits in Linux.
    pub major: u32,
    /// The device of that driver: 20 bits in Linux.
    pub minor: u32,
}

impl Device {
    /// Whether Linux has such a number.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        self.major < 1 << 12 && self.minor < 1 << 20
    }
}

impl Kind {
    /// The file type bits of a mode (`S_IFMT`).
    #[must_use]
    pub const fn mode_bits(self) -> u32 {
        match self {
            Self::Fifo => 0o010_000,
            Self::Character(_) => 0o020_000,
            Self::Directory => 0o040_000,
            Self::Block(_) => 0o060_000,
            Self::File => 0o100_000,
            Self::Symlink => 0o120_000,
            Self::Socket => 0o140_000,
        }
    }

    /// The type byte of a directory entry (`DT_*`): the file type bits, shifted down.
    #[must_use]
    pub const fn dirent_type(self) -> u8 {
        match self {
            Self::Fifo => 1,
            Self::Character(_) => 2,
            Self::Directory => 4,
            Self::Block(_) => 6,
            Self::File => 8,
            Self::Symlink => 10,
            Self::Socket => 12,
        }
    }
}

/// A time as files carry it, since the beginning of 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    /// Whole seconds.
    pub seconds: i64,
    /// The rest, below 1,000,000,000; filesystems that keep seconds only drop it.
    pub nanos: u32,
}

impl Timestamp {
    /// A time of whole seconds.
    #[must_use]
    pub const fn seconds(seconds: i64) -> Self {
        Self { seconds, nanos: 0 }
    }
}

/// What the wall clock of the board shows: the calendar time at the beginning of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WallClock {
    /// Calendar time at virtual time zero, in seconds since 1970.
    pub start: i64,
}

impl WallClock {
    /// The calendar time at `now`.
    #[must_use]
    pub fn at(self, now: Instant) -> Timestamp {
        let passed: Duration = now.since(Instant::ZERO);
        let (seconds, nanos) =
            (passed.as_nanos() / 1_000_000_000, passed.as_nanos() % 1_000_000_000);
        let seconds = i64::try_from(seconds).expect("584 years of seconds fit i64");
        let nanos = u32::try_from(nanos).expect("below a second");
        Timestamp { seconds: self.start + seconds, nanos }
    }
}

/// What `stat` tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// The inode.
    pub ino: Ino,
    /// What it is.
    pub kind: Kind,
    /// Permission bits with set-user-ID, set-group-ID and sticky: the low twelve of a mode.
    pub mode: u32,
    /// Names that lead to it; of a directory 2 and one for each directory in it.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Bytes of a file, of a link's target; whatever the filesystem says of a directory.
    pub size: u64,
    /// Last access.
    pub accessed: Timestamp,
    /// Last change of the content.
    pub modified: Timestamp,
    /// Last change of the attributes.
    pub changed: Timestamp,
}

/// Attributes to be changed; `None` leaves one alone. `changed` becomes the present time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change {
    /// Permission bits.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// A file's size: cut off, or grown by a hole.
    pub size: Option<u64>,
    /// Last access.
    pub accessed: Option<Timestamp>,
    /// Last change of the content.
    pub modified: Option<Timestamp>,
}

/// An inode to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct New<'a> {
    /// What it shall be.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Where a symbolic link leads; empty for everything else.
    pub target: &'a [u8],
}

impl New<'static> {
    /// An inode of root's with these permission bits.
    #[must_use]
    pub const fn of(kind: Kind, mode: u32) -> Self {
        Self { kind, mode, uid: 0, gid: 0, target: &[] }
    }
}

/// An entry of a directory; `.` and `..` are not among them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name: any bytes but `/` and NUL, at most 255. From an untrusted image it may be anything.
    pub name: Vec<u8>,
    /// The inode that it leads to.
    pub ino: Ino,
    /// The type byte (`DT_*`), as [`Kind::dirent_type`].
    pub kind: u8,
}

/// What `statfs` tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// The unit of the sizes.
    pub block_size: u32,
    /// The size of the filesystem, in blocks.
    pub blocks: u64,
    /// Free blocks.
    pub free: u64,
    /// Blocks that a user without privileges could fill.
    pub available: u64,
    /// The longest name, in bytes.
    pub name_max: u32,
}
