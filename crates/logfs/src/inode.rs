//! Inodes in memory.
//!
//! Layer: rank 5. Main types: [`Inode`], [`Numbers`]. Source: Linux 3.12, `struct logfs_inode`.

use crate::format::DiskInode;
use crate::format::inode::FLAG_COMPRESSED;
use boardlab_vfs::{Device, Kind, Timestamp};

/// Permission bits.
pub(crate) const PERMISSIONS: u16 = 0o7777;

/// An inode in memory.
#[derive(Debug, Clone)]
pub(crate) struct Inode {
    /// What is or will be on flash.
    pub disk: DiskInode,
    /// Whether it must be written: more than its aliases changed.
    pub dirty: bool,
    /// Whether something above knows it.
    pub held: bool,
    /// Whether its size is not on the flash, nor among the aliases.
    pub grown: bool,
}

impl Inode {
    pub(crate) const fn new(disk: DiskInode) -> Self {
        Self { disk, dirty: false, held: false, grown: false }
    }

    const fn format(&self) -> u16 {
        self.disk.mode & !PERMISSIONS
    }

    pub(crate) const fn is_directory(&self) -> bool {
        self.format() == 0o040_000
    }

    pub(crate) const fn is_file(&self) -> bool {
        self.format() == 0o100_000
    }

    pub(crate) const fn is_symlink(&self) -> bool {
        self.format() == 0o120_000
    }

    pub(crate) const fn is_compressed(&self) -> bool {
        self.disk.flags & FLAG_COMPRESSED > 0
    }

    /// Whether it has blocks: it is no device, pipe or socket.
    pub(crate) const fn has_content(&self) -> bool {
        self.is_file() || self.is_directory() || self.is_symlink()
    }

    /// Its type in directory entries; 0 for one that Linux does not know.
    pub(crate) fn dirent_type(&self) -> u8 {
        self.kind().map_or(0, Kind::dirent_type)
    }

    /// What it is; `None` for a type that Linux does not know.
    pub(crate) fn kind(&self) -> Option<Kind> {
        Kind::of_mode(self.disk.mode.into(), device_of(self.disk.pointers[0]))
    }
}

/// The device in a number of 12 and 20 bits, as the kernel has it in memory.
pub(crate) fn device_of(number: u64) -> Device {
    let number = u32::try_from(number & 0xFFFF_FFFF).expect("32 bits");
    Device { major: number >> 20, minor: number & 0xF_FFFF }
}

/// The number of a device.
pub(crate) const fn number_of(kind: Kind) -> u64 {
    match kind {
        Kind::Character(device) | Kind::Block(device) => {
            (device.major as u64) << 20 | device.minor as u64 & 0xF_FFFF
        }
        _ => 0,
    }
}

/// A time in nanoseconds since 1970; times before are 1970.
pub(crate) fn nanoseconds(time: Timestamp) -> u64 {
    let seconds = u64::try_from(time.seconds).unwrap_or_default();
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::from(time.nanos))
}

/// The time.
pub(crate) fn timestamp(nanoseconds: u64) -> Timestamp {
    let seconds = i64::try_from(nanoseconds / 1_000_000_000).expect("below 2^34");
    let nanos = u32::try_from(nanoseconds % 1_000_000_000).expect("below a second");
    Timestamp { seconds, nanos }
}

/// The numbers of new inodes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Numbers {
    /// The last one.
    pub last: u64,
    /// New inodes before the numbers begin anew.
    pub until_wrap: i64,
    /// The generation of new inodes.
    pub generation: u32,
}
