//! An inode: kind, mode, owner, times, size.
//!
//! Layer: rank 2. Main types: [`Ino`], [`Kind`], [`Attributes`], [`SetAttr`], [`NewInode`], [`Entry`].

use boardlab_sim::{Duration, Instant};
use std::fmt;

/// Bytes of a name (`NAME_MAX` of Linux).
pub const NAME_MAX: usize = 255;

/// Bytes of the name of an extended attribute (`XATTR_NAME_MAX` of Linux).
pub const XATTR_NAME_MAX: usize = 255;

/// Whether a name may stand in a directory, whatever its length: it is neither empty nor `.` nor `..`, and has no
/// `/` and no NUL.
#[must_use]
pub fn is_plain_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.iter().any(|byte| matches!(byte, b'/' | 0))
}

/// The number of an inode within its filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ino(pub u64);

/// The kind of an inode.
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
    /// Whether Linux can represent the number.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        self.major < 1 << 12 && self.minor < 1 << 20
    }

    /// The number in four bytes, as Linux has it on disk and in messages (`new_encode_dev`,
    /// `include/linux/kdev_t.h`): the 8 lower bits of the minor, the major, the 12 upper bits of the minor.
    /// Bits that have no place there are dropped.
    #[must_use]
    pub const fn encoded(self) -> u32 {
        (self.minor & 0xFF) | (self.major & 0xFFF) << 8 | (self.minor & 0xF_FF00) << 12
    }

    /// The device with a number of four bytes (`new_decode_dev`).
    #[must_use]
    pub const fn decoded(number: u32) -> Self {
        Self { major: number >> 8 & 0xFFF, minor: number & 0xFF | number >> 12 & 0xF_FF00 }
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

    /// The kind of a mode (`st_mode`), of which a device node has the number `device`; `None` where it says no kind.
    #[must_use]
    pub const fn of_mode(mode: u32, device: Device) -> Option<Self> {
        Some(match mode & 0o170_000 {
            0o010_000 => Self::Fifo,
            0o020_000 => Self::Character(device),
            0o040_000 => Self::Directory,
            0o060_000 => Self::Block(device),
            0o100_000 => Self::File,
            0o120_000 => Self::Symlink,
            0o140_000 => Self::Socket,
            _ => return None,
        })
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

/// A timestamp of a file, since the beginning of 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    /// Whole seconds.
    pub seconds: i64,
    /// Nanoseconds below 1,000,000,000; filesystems that keep only seconds drop them.
    pub nanos: u32,
}

impl Timestamp {
    /// A timestamp of whole seconds.
    #[must_use]
    pub const fn seconds(seconds: i64) -> Self {
        Self { seconds, nanos: 0 }
    }

    /// The timestamp so many seconds and nanoseconds before 1970.
    #[must_use]
    pub const fn before_1970(seconds: i64, nanos: u32) -> Self {
        match nanos {
            0 => Self::seconds(-seconds),
            nanos => Self { seconds: -seconds - 1, nanos: 1_000_000_000 - nanos },
        }
    }
}

/// Seconds since 1970, with a fraction where there is one: `-1.25`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, seconds, nanos) = match (self.seconds, self.nanos) {
            (..0, 1..) => ("-", self.seconds.unsigned_abs() - 1, 1_000_000_000 - self.nanos),
            (..0, 0) => ("-", self.seconds.unsigned_abs(), 0),
            _ => ("", self.seconds.unsigned_abs(), self.nanos),
        };
        let text = format!("{sign}{seconds}.{nanos:09}");
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// The wall clock of the board: the calendar time at the beginning of the run.
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

/// The attributes that `stat` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// The inode.
    pub ino: Ino,
    /// What it is.
    pub kind: Kind,
    /// Permission bits with set-user-ID, set-group-ID and sticky: the low twelve of a mode.
    pub mode: u32,
    /// The link count: names of a file; of a directory 2, and one for each subdirectory, or 1 where the
    /// filesystem does not count them.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// The size of a file or of a link's target; for all others, whatever the filesystem says.
    pub size: u64,
    /// Last access.
    pub accessed: Timestamp,
    /// Last change of the content.
    pub modified: Timestamp,
    /// Last change of the attributes.
    pub changed: Timestamp,
}

/// The argument of `setattr` (`struct iattr`); `None` leaves an attribute alone. `changed` becomes
/// the present time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetAttr {
    /// Permission bits.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// The size of a file, which is truncated or extended by a hole.
    pub size: Option<u64>,
    /// Last access.
    pub accessed: Option<Timestamp>,
    /// Last change of the content.
    pub modified: Option<Timestamp>,
}

/// An inode to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInode<'a> {
    /// The kind.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// The target of a symbolic link; empty for all other kinds.
    pub target: &'a [u8],
}

impl NewInode<'static> {
    /// An inode owned by root with these permission bits.
    #[must_use]
    pub const fn of(kind: Kind, mode: u32) -> Self {
        Self { kind, mode, uid: 0, gid: 0, target: &[] }
    }
}

/// A directory entry; `.` and `..` are not listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name: 1 to 255 bytes without `/` and NUL. From an untrusted image it may be anything.
    pub name: Vec<u8>,
    /// The inode.
    pub ino: Ino,
    /// The type byte (`DT_*`), as [`Kind::dirent_type`].
    pub kind: u8,
}

/// The answer of `statfs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatFs {
    /// The unit of the sizes.
    pub block_size: u32,
    /// The size of the filesystem, in blocks.
    pub blocks: u64,
    /// Free blocks.
    pub free: u64,
    /// Blocks available to an unprivileged user.
    pub available: u64,
    /// The longest name, in bytes.
    pub name_max: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_of_four_bytes_go_both_ways() {
        let device = Device { major: 0xABC, minor: 0x1_2345 };
        assert_eq!(device.encoded(), 0x123A_BC45);
        assert_eq!(Device::decoded(0x123A_BC45), device);
    }

    #[test]
    fn the_kind_is_in_the_upper_bits_of_the_mode() {
        let device = Device { major: 5, minor: 1 };
        assert_eq!(Kind::of_mode(0o100_644, device), Some(Kind::File));
        assert_eq!(Kind::of_mode(0o020_600, device), Some(Kind::Character(device)));
        assert_eq!(Kind::of_mode(0o170_000, device), None);
        for bits in (0..16).map(|number| number << 12) {
            assert!(
                Kind::of_mode(bits | 0o7777, device).is_none_or(|kind| kind.mode_bits() == bits)
            );
        }
    }

    #[test]
    fn times_before_1970_count_downward_in_text_and_upward_in_nanoseconds() {
        for (time, text) in [
            (Timestamp::before_1970(1, 250_000_000), "-1.25"),
            (Timestamp::before_1970(0, 1), "-0.000000001"),
            (Timestamp::before_1970(60, 0), "-60"),
            (Timestamp { seconds: 60, nanos: 500_000_000 }, "60.5"),
            (Timestamp::default(), "0"),
        ] {
            assert_eq!(time.to_string(), text);
        }
        let time = Timestamp::before_1970(1, 250_000_000);
        assert_eq!((time.seconds, time.nanos), (-2, 750_000_000));
    }

    #[test]
    fn names_that_lead_elsewhere_are_not_plain() {
        for name in [&b""[..], b".", b"..", b"a/b", b"/", b"a\0"] {
            assert!(!is_plain_name(name), "{name:?}");
        }
        for name in [&b"..."[..], b"a", b"\xFF", b" ", &[b'a'; 300]] {
            assert!(is_plain_name(name), "{name:?}");
        }
    }
}
