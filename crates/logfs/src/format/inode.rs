//! An inode on flash.
//!
//! Layer: rank 5, format. Main type: [`DiskInode`].
//!
//! ```text
//!   0      2        3   4       8     12    16      24      32      40      44           48     56     64      200
//!  | mode | height | 0 | flags | uid | gid | ctime | mtime | atime | links | generation | used | size | 17 pointers |
//! ```
//! Journal entries name its words of eight bytes: 0 (mode, height, flags), 6 (used bytes), 7 (size), and 8
//! to 24 (pointers). Source: `struct logfs_disk_inode`.

use super::bytes::{Reader, Writer};
use super::{INODE_POINTERS, Malformed};

/// Bytes of an inode.
pub const SIZE: usize = 200;
/// The word with mode, height and flags.
pub const WORD_MODE: u16 = 0;
/// The word with the used bytes.
pub const WORD_USED: u16 = 6;
/// The word with the size.
pub const WORD_SIZE: u16 = 7;
/// The word with the first pointer.
pub const WORD_POINTERS: u16 = 8;

/// Its data are compressed, and so are those of what is created in it.
pub const FLAG_COMPRESSED: u32 = 4;

/// An inode.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiskInode {
    /// Type and permissions (`S_IF*`).
    pub mode: u16,
    /// Levels of indirect blocks.
    pub height: u8,
    /// Flags: [`FLAG_COMPRESSED`].
    pub flags: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last change of the attributes, in ns since 1970.
    pub changed: u64,
    /// Last change of the content.
    pub modified: u64,
    /// Last access.
    pub accessed: u64,
    /// Names.
    pub links: u32,
    /// Tells two inodes of the same number apart.
    pub generation: u32,
    /// Bytes of its objects with their headers.
    pub used: u64,
    /// Its size; of a directory, the end of the last entry.
    pub size: u64,
    /// Pointers; of a device node, the first is the number of the device.
    pub pointers: [u64; INODE_POINTERS],
}

impl DiskInode {
    /// The inode in the first 200 of `bytes`.
    ///
    /// # Errors
    /// [`Malformed::Short`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Reader::new(bytes, SIZE)?;
        let (mode, height) = (fields.u16(), fields.u8());
        fields.skip(1);
        Ok(Self {
            mode,
            height,
            flags: fields.u32(),
            uid: fields.u32(),
            gid: fields.u32(),
            changed: fields.u64(),
            modified: fields.u64(),
            accessed: fields.u64(),
            links: fields.u32(),
            generation: fields.u32(),
            used: fields.u64(),
            size: fields.u64(),
            pointers: std::array::from_fn(|_| fields.u64()),
        })
    }

    /// The inode as it lies on flash.
    #[must_use]
    pub fn emit(&self) -> [u8; SIZE] {
        let mut fields = Writer::<SIZE>::new();
        fields.u16(self.mode).u8(self.height).u8(0).u32(self.flags).u32(self.uid).u32(self.gid);
        fields.u64(self.changed).u64(self.modified).u64(self.accessed);
        fields.u32(self.links).u32(self.generation).u64(self.used).u64(self.size);
        self.pointers.iter().for_each(|&pointer| {
            fields.u64(pointer);
        });
        fields.done()
    }

    /// A word that journal entries can name.
    #[must_use]
    pub fn word(&self, number: u16) -> Option<u64> {
        match number {
            WORD_MODE => {
                let (mode, height) = (u64::from(self.mode), u64::from(self.height));
                Some(mode << 48 | height << 40 | u64::from(self.flags))
            }
            WORD_USED => Some(self.used),
            WORD_SIZE => Some(self.size),
            _ => {
                let pointer = number.checked_sub(WORD_POINTERS)?;
                self.pointers.get(usize::from(pointer)).copied()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inode_is_read_and_written_and_its_words_are_where_journal_entries_expect_them() {
        let inode = DiskInode {
            mode: 0o100_644,
            height: 2,
            flags: FLAG_COMPRESSED,
            uid: 1_000,
            gid: 1_001,
            changed: 3,
            modified: 4,
            accessed: 5,
            links: 2,
            generation: 7,
            used: 4_124,
            size: 5_000,
            pointers: std::array::from_fn(|at| 0x2_0000 + at as u64),
        };
        let bytes = inode.emit();
        assert_eq!(DiskInode::parse(&bytes).as_ref(), Ok(&inode));
        for number in [WORD_MODE, WORD_USED, WORD_SIZE, WORD_POINTERS, WORD_POINTERS + 16] {
            let at = usize::from(number) * 8;
            let word = u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
            assert_eq!(inode.word(number), Some(word), "word {number}");
        }
        assert_eq!((inode.word(5), inode.word(25)), (None, None));
        assert!(DiskInode::parse(&bytes[..199]).is_err());
    }
}
