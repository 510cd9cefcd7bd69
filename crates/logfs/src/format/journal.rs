//! The entries of the journal.
//!
//! Layer: rank 5, format. Main types: [`EntryHeader`], [`EntryKind`], and one type for each entry. A commit
//! lists the offsets of all entries that belong to it, and only what the last commit lists is valid.
//!
//! ```text
//!   0     4        6          8      10            11      16
//!  | crc | length | unpacked | kind | compression | HEADR | data ... | 0 to a multiple of 16
//! ```
//! The CRC covers the header from byte 4 on and the data as stored. Source: `struct logfs_journal_header`.

use super::bytes::{Reader, Writer};
use super::{
    BlockId, COMPRESSION_ZLIB, INODE_POINTERS, JOURNAL_SEGMENTS, Malformed, check_crc, crc,
};

/// Bytes of the header, and what entries are aligned to.
pub const HEADER: usize = 16;
/// The same as a number of bytes on flash.
pub const HEADER_BYTES: u32 = 16;
/// Bytes of an anchor.
pub const ANCHOR: usize = 32 + 8 * INODE_POINTERS;
/// Bytes of a dynamic superblock.
pub const DYNAMIC: usize = 64;
/// Bytes of an area before its write buffer.
pub const AREA: usize = 10;
/// Bytes of an alias.
pub const ALIAS: usize = 32;
/// Bytes of the erase counts.
pub const ERASE_COUNTS: usize = 4 * JOURNAL_SEGMENTS;
/// The most entries of a commit.
pub const ENTRIES_MAX: usize = 256;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// The list of the entries that are valid.
    Commit,
    /// What of the superblock changes.
    Dynamic,
    /// The inode of the inode file.
    Anchor,
    /// The erase counts of the segments of the journal.
    EraseCounts,
    /// Words of blocks that differ from those on flash.
    Aliases,
    /// A segment that is being written.
    Area,
}

impl EntryKind {
    const fn of(number: u16) -> Option<Self> {
        match number {
            2 => Some(Self::Commit),
            3 => Some(Self::Dynamic),
            4 => Some(Self::Anchor),
            5 => Some(Self::EraseCounts),
            0xD => Some(Self::Aliases),
            0xE => Some(Self::Area),
            _ => None,
        }
    }

    const fn number(self) -> u16 {
        match self {
            Self::Commit => 2,
            Self::Dynamic => 3,
            Self::Anchor => 4,
            Self::EraseCounts => 5,
            Self::Aliases => 0xD,
            Self::Area => 0xE,
        }
    }
}

/// The header of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryHeader {
    /// The CRC on flash.
    crc: u32,
    /// Bytes of the data as stored.
    pub length: u16,
    /// Bytes of the data when they are not compressed.
    pub unpacked: u16,
    /// What it is.
    pub kind: EntryKind,
    /// Whether the data are a zlib stream.
    pub compressed: bool,
}

impl EntryHeader {
    /// The header at the beginning of `bytes`; its CRC is not checked, since that needs the data.
    ///
    /// # Errors
    /// [`Malformed`] for a kind or a compression that LogFS does not know.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Reader::new(bytes, HEADER)?;
        let sum = fields.u32();
        let (length, unpacked, number) = (fields.u16(), fields.u16(), fields.u16());
        let compression = fields.u8();
        let kind = EntryKind::of(number)
            .ok_or(Malformed::Field { name: "h_type", value: u64::from(number) })?;
        if compression > COMPRESSION_ZLIB {
            return Err(Malformed::Field { name: "h_compr", value: u64::from(compression) });
        }
        let compressed = compression == COMPRESSION_ZLIB;
        Ok(Self { crc: sum, length, unpacked, kind, compressed })
    }

    /// Checks the CRC of header and data, which `entry` begins with.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn check(&self, entry: &[u8]) -> Result<(), Malformed> {
        let needed = HEADER + usize::from(self.length);
        let Some(covered) = entry.get(4..needed) else {
            return Err(Malformed::Short { found: entry.len(), needed });
        };
        check_crc(self.crc, covered)
    }

    /// Bytes on flash with the header, up to the next entry.
    #[must_use]
    pub fn stored(&self) -> u32 {
        HEADER_BYTES + u32::from(self.length).next_multiple_of(HEADER_BYTES)
    }
}

/// The end of the header as the kernel writes it.
pub const BY_KERNEL: [u8; 5] = *b"HEADR";
/// The end of the header as `mklogfs` writes it.
pub const BY_MKLOGFS: [u8; 5] = *b"headr";

/// An entry as it lies on flash: header, `data` as stored, and zeros up to a multiple of 16. `end` are the last bytes
/// of the header, which nobody reads.
///
/// # Panics
/// When there are more than 65,535 bytes.
#[must_use]
pub fn emit(kind: EntryKind, unpacked: Option<usize>, data: &[u8], end: [u8; 5]) -> Vec<u8> {
    let (compressed, unpacked) = (unpacked.is_some(), unpacked.unwrap_or(data.len()));
    let short = |length: usize| u16::try_from(length).expect("entries are shorter than 64 KiB");
    let mut fields = Writer::<HEADER>::new();
    fields.skip(4).u16(short(data.len())).u16(short(unpacked)).u16(kind.number());
    fields.u8(u8::from(compressed)).put(&end);
    let mut entry = [&fields.done()[..], data].concat();
    let sum = crc(&entry[4..]);
    entry[..4].copy_from_slice(&sum.to_be_bytes());
    entry.resize(entry.len().next_multiple_of(HEADER), 0);
    entry
}

/// The inode of the inode file (`struct logfs_je_anchor`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Anchor {
    /// Its size.
    pub size: u64,
    /// The last inode that was created.
    pub last_ino: u64,
    /// Bytes of its objects with their headers.
    pub used: u64,
    /// Levels of indirect blocks.
    pub height: u8,
    /// Pointers.
    pub pointers: [u64; INODE_POINTERS],
}

impl Anchor {
    /// The anchor in `bytes`.
    ///
    /// # Errors
    /// [`Malformed::Short`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Reader::new(bytes, ANCHOR)?;
        let (size, last_ino, used, height) =
            (fields.u64(), fields.u64(), fields.u64(), fields.u8());
        fields.skip(7);
        Ok(Self { size, last_ino, used, height, pointers: std::array::from_fn(|_| fields.u64()) })
    }

    /// The anchor as it lies on flash.
    #[must_use]
    pub fn emit(&self) -> [u8; ANCHOR] {
        let mut fields = Writer::<ANCHOR>::new();
        fields.u64(self.size).u64(self.last_ino).u64(self.used).u8(self.height).skip(7);
        self.pointers.iter().for_each(|&pointer| {
            fields.u64(pointer);
        });
        fields.done()
    }
}

/// What of the superblock changes (`struct logfs_je_dynsb`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dynamic {
    /// How often any segment was erased.
    pub gec: u64,
    /// The last segment that the search for garbage looked at.
    pub sweeper: u64,
    /// The directory of an entry that a rename has to remove; 0 for none.
    pub rename_dir: u64,
    /// The block of that entry.
    pub rename_pos: u64,
    /// An inode that loses a name which it has not any more, or does not have yet; 0 for none.
    pub victim: u64,
    /// Bytes of all valid objects with their headers.
    pub used: u64,
    /// The generation of new inodes.
    pub generation: u32,
}

impl Dynamic {
    /// The entry in `bytes`.
    ///
    /// # Errors
    /// [`Malformed::Short`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Reader::new(bytes, DYNAMIC)?;
        let [gec, sweeper, rename_dir, rename_pos, victim, _, used] =
            std::array::from_fn(|_| fields.u64());
        let generation = fields.u32();
        Ok(Self { gec, sweeper, rename_dir, rename_pos, victim, used, generation })
    }

    /// The entry as it lies on flash.
    #[must_use]
    pub fn emit(&self) -> [u8; DYNAMIC] {
        let mut fields = Writer::<DYNAMIC>::new();
        fields.u64(self.gec).u64(self.sweeper).u64(self.rename_dir).u64(self.rename_pos);
        fields.u64(self.victim).u64(0).u64(self.used).u32(self.generation);
        fields.done()
    }
}

/// A segment that is being written; what does not fill a write unit yet follows it (`struct logfs_je_area`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AreaEntry {
    /// The segment.
    pub segment: u32,
    /// Bytes in it, with those that are only in the entry.
    pub used: u32,
    /// The level of its objects.
    pub level: u8,
    /// The expected age of the data: 0.
    pub age: u8,
}

impl AreaEntry {
    /// The entry at the beginning of `bytes`, and the write buffer behind it.
    ///
    /// # Errors
    /// [`Malformed`] for a level that does not exist.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let mut fields = Reader::new(bytes, AREA)?;
        let (segment, used) = (fields.u32(), fields.u32());
        let (level, age) = (fields.u8(), fields.u8());
        if usize::from(level) >= super::AREAS {
            return Err(Malformed::Field { name: "gc_level", value: u64::from(level) });
        }
        Ok((Self { segment, used, level, age }, fields.rest()))
    }

    /// The entry as it lies on flash, before its write buffer.
    #[must_use]
    pub fn emit(&self) -> [u8; AREA] {
        let mut fields = Writer::<AREA>::new();
        fields.u32(self.segment).u32(self.used).u8(self.level).u8(self.age);
        fields.done()
    }
}

/// A word of a block that differs from the one on flash (`struct logfs_obj_alias`): a pointer of an indirect
/// block, a word of an inode, or an entry of the segment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alias {
    /// The block.
    pub block: BlockId,
    /// The number of the word in it.
    pub word: u16,
    /// Its value.
    pub value: u64,
}

impl Alias {
    /// The alias in `bytes`.
    ///
    /// # Errors
    /// [`Malformed`] for a level or a word that does not exist.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Reader::new(bytes, ALIAS)?;
        let (ino, bix, value, level) = (fields.u64(), fields.u64(), fields.u64(), fields.u8());
        fields.skip(5);
        let word = fields.u16();
        if level >= super::FILE_LEVELS {
            return Err(Malformed::Field { name: "level", value: u64::from(level) });
        }
        if usize::from(word) >= super::POINTERS {
            return Err(Malformed::Field { name: "child_no", value: u64::from(word) });
        }
        Ok(Self { block: BlockId::leading_to(ino, level, bix), word, value })
    }

    /// The alias as it lies on flash.
    #[must_use]
    pub fn emit(&self) -> [u8; ALIAS] {
        let mut fields = Writer::<ALIAS>::new();
        fields.u64(self.block.ino).u64(self.block.bix()).u64(self.value).u8(self.block.level);
        fields.skip(5).u16(self.word);
        fields.done()
    }
}

/// The content of an entry of aliases.
#[must_use]
pub fn emit_aliases(aliases: &[Alias]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(aliases.len() * ALIAS);
    aliases.iter().for_each(|alias| bytes.extend_from_slice(&alias.emit()));
    bytes
}

/// The erase counts of the segments of the journal in `bytes`; what is missing is 0.
#[must_use]
pub fn parse_erase_counts(bytes: &[u8]) -> [u32; JOURNAL_SEGMENTS] {
    let mut words =
        bytes.chunks_exact(4).map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
    std::array::from_fn(|_| words.next().unwrap_or(0))
}

/// The erase counts as they lie on flash.
#[must_use]
pub fn emit_erase_counts(counts: &[u32; JOURNAL_SEGMENTS]) -> [u8; ERASE_COUNTS] {
    let mut fields = Writer::<ERASE_COUNTS>::new();
    counts.iter().for_each(|&count| {
        fields.u32(count);
    });
    fields.done()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_a_header_and_ends_at_a_multiple_of_16() {
        let bytes = emit(EntryKind::Dynamic, None, &[1, 2, 3, 4, 5], BY_KERNEL);
        assert_eq!(bytes.len(), 32);
        assert_eq!(bytes[4..21], *b"\0\x05\0\x05\0\x03\0HEADR\x01\x02\x03\x04\x05");
        let header = EntryHeader::parse(&bytes).unwrap();
        assert_eq!((header.length, header.unpacked, header.compressed), (5, 5, false));
        assert_eq!((header.kind, header.stored()), (EntryKind::Dynamic, 32));
        for at in 0..21 {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let found = EntryHeader::parse(&changed).and_then(|header| header.check(&changed));
            assert!(found.is_err(), "byte {at}");
        }
    }

    #[test]
    fn entries_are_read_as_they_were_written() {
        let pointers = std::array::from_fn(|at| at as u64 * 4_124);
        let anchor = Anchor { size: 1, last_ino: 2, used: 3, height: 4, pointers };
        assert_eq!(Anchor::parse(&anchor.emit()), Ok(anchor));
        let (gec, sweeper, rename_dir, rename_pos) = (1, 2, 3, 4);
        let dynamic =
            Dynamic { gec, sweeper, rename_dir, rename_pos, victim: 5, used: 6, generation: 7 };
        assert_eq!(Dynamic::parse(&dynamic.emit()), Ok(dynamic));
        let area = AreaEntry { segment: 5, used: 4_148, level: 6, age: 0 };
        let bytes = [&area.emit()[..], &[9; 3]].concat();
        assert_eq!(AreaEntry::parse(&bytes), Ok((area, &[9; 3][..])));
        let block = BlockId { ino: 20, level: 1, index: 0 };
        let alias = Alias { block, word: 17, value: 0x8000_0000_0002_0018 };
        assert_eq!(alias.emit()[8..16], 16_u64.to_be_bytes());
        assert_eq!(Alias::parse(&alias.emit()), Ok(alias));
        let counts = std::array::from_fn(|at| u32::try_from(at).unwrap());
        assert_eq!(parse_erase_counts(&emit_erase_counts(&counts)), counts);
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        let area = AreaEntry { segment: 5, used: 0, level: 12, age: 0 };
        assert!(AreaEntry::parse(&area.emit()).is_err());
        let block = BlockId { ino: 20, level: 6, index: 0 };
        assert!(Alias::parse(&Alias { block, word: 0, value: 0 }.emit()).is_err());
        let block = BlockId { ino: 20, level: 1, index: 0 };
        assert!(Alias::parse(&Alias { block, word: 512, value: 0 }.emit()).is_err());
    }
}
