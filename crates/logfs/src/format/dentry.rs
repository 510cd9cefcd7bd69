//! A directory entry, and where in a directory it lies.
//!
//! Layer: rank 5, format. Main type: [`Dentry`]. A directory is a file with an entry in a block. The hash of
//! the name gives 20 blocks, of which the first free one is taken.
//!
//! ```text
//!   0       8        10     11        266
//!  | inode | length | type | name, 0 |
//! ```
//! Source: `struct logfs_disk_dentry`; `hash_32` and `hash_index` in `fs/logfs/dir.c`.

use super::bytes::{Reader, Writer};
use super::{Malformed, span};

/// Bytes of an entry.
pub const SIZE: usize = 266;
/// Bytes of the longest name.
pub const NAME_MAX: usize = 255;
/// Blocks in which the entry of a name may lie.
pub const ROUNDS: u32 = 20;

/// A directory entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dentry {
    /// The inode.
    pub ino: u64,
    /// The type byte: bits 12 to 15 of the mode.
    pub kind: u8,
    /// The name; in a damaged image it may be anything.
    pub name: Vec<u8>,
}

impl Dentry {
    /// The entry in the first 266 of `bytes`.
    ///
    /// # Errors
    /// [`Malformed`], also for a name of no bytes or of more than 255.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Reader::new(bytes, SIZE)?;
        let (ino, length, kind) = (fields.u64(), fields.u16(), fields.u8());
        let count = usize::from(length);
        if !(1..=NAME_MAX).contains(&count) {
            return Err(Malformed::Field { name: "namelen", value: u64::from(length) });
        }
        Ok(Self { ino, kind, name: fields.rest()[..count].to_vec() })
    }

    /// The entry as it lies on flash.
    ///
    /// # Panics
    /// When the name is too long.
    #[must_use]
    pub fn emit(&self) -> [u8; SIZE] {
        let length = u16::try_from(self.name.len()).expect("names have at most 255 bytes");
        let mut fields = Writer::<SIZE>::new();
        fields.u64(self.ino).u16(length).u8(self.kind).put(&self.name);
        fields.done()
    }
}

/// The hash of a name. The bytes are signed, as on x86, and on ARM since Linux 6.2 unified it; the kernels
/// with LogFS took what the CPU has, so that an ARM kernel does not find such names of an x86 kernel.
#[must_use]
pub fn hash(name: &[u8], signed: bool) -> u32 {
    name.iter().fold(0, |hash: u32, &byte| {
        let byte =
            if signed { i32::from(byte.cast_signed()).cast_unsigned() } else { u32::from(byte) };
        hash.wrapping_mul(293).wrapping_add(byte)
    })
}

/// The block of a round, of [`ROUNDS`], in which the entry of a name with this hash may lie.
#[must_use]
pub fn position(hash: u32, round: u32) -> u64 {
    const DIRECT: u64 = super::DIRECT as u64;
    let (one, two, three) = (span(1), span(2), span(3));
    let hash = u64::from(hash);
    match round {
        0 => hash % DIRECT,
        1 => DIRECT + hash % (one - DIRECT),
        2 => one + hash % (two - one),
        3 => two + hash % (three - two),
        _ => three + 16 * (hash % (((1 << 31) - three) / 16)) + u64::from(round) - 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_and_written() {
        let entry = Dentry { ino: 17, kind: 8, name: b"hello".to_vec() };
        let bytes = entry.emit();
        assert_eq!(bytes[..16], *b"\0\0\0\0\0\0\0\x11\0\x05\x08hello");
        assert_eq!(Dentry::parse(&bytes), Ok(entry));
        assert!(Dentry::parse(&[0; SIZE]).is_err() && Dentry::parse(&bytes[..265]).is_err());
    }

    /// By hand: 'a' = 97; 'ab' = 97 * 293 + 98 = 28,519; 0xE9 is -23 signed.
    #[test]
    fn names_have_the_positions_of_their_hashes() {
        assert_eq!((hash(b"a", true), hash(b"ab", true)), (97, 28_519));
        assert_eq!((hash(b"\xE9", true), hash(b"\xE9", false)), (0xFFFF_FFE9, 233));
        let at = |round| position(28_519, round);
        assert_eq!((at(0), at(1), at(2)), (28_519 % 16, 16 + 28_519 % 496, 512 + 28_519));
        assert_eq!(at(3), 262_144 + 28_519);
        assert_eq!(at(4), 134_217_728 + 16 * 28_519);
        assert_eq!(at(19), at(4) + 15);
    }
}
