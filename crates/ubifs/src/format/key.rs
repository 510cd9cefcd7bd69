//! Keys of the index: what a leaf node is about.
//!
//! Layer: rank 5. Main types: [`Key`], [`KeyType`]. A key is 8 bytes in memory and in the index, and 16
//! in nodes, the rest zeros. Source: Linux 6.1, `fs/ubifs/key.h`.

use std::fmt;

/// Bits of the hash or of the block number.
pub const HASH_BITS: u32 = 29;
/// The mask of the hash or of the block number.
pub const HASH_MASK: u32 = (1 << HASH_BITS) - 1;
/// Bytes of a key in the index.
pub const KEY_SIZE: usize = 8;
/// Bytes of a key in a leaf node.
pub const NODE_KEY_SIZE: usize = 16;

/// The kind of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum KeyType {
    /// An inode.
    Inode = 0,
    /// A block of content.
    Data = 1,
    /// A directory entry.
    Dirent = 2,
    /// An extended attribute.
    Xattr = 3,
    /// A truncation: in the journal only.
    Truncation = 4,
}

/// A key, in the order of the index: inode number, kind, block number or hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u64);

impl Key {
    /// Below every key.
    pub const LOWEST: Self = Self(0);
    /// Above every key.
    pub const HIGHEST: Self = Self(u64::MAX);

    const fn new(ino: u32, kind: KeyType, low: u32) -> Self {
        let word = ((kind as u64) << HASH_BITS) | (low & HASH_MASK) as u64;
        Self(((ino as u64) << 32) | word)
    }

    /// The key of an inode node.
    #[must_use]
    pub const fn inode(ino: u32) -> Self {
        Self::new(ino, KeyType::Inode, 0)
    }

    /// The key of a data node.
    #[must_use]
    pub const fn data(ino: u32, block: u32) -> Self {
        Self::new(ino, KeyType::Data, block)
    }

    /// The key of a directory entry whose name has this hash.
    #[must_use]
    pub const fn dirent(dir: u32, hash: u32) -> Self {
        Self::new(dir, KeyType::Dirent, hash)
    }

    /// The key of an extended attribute whose name has this hash.
    #[must_use]
    pub const fn xattr(host: u32, hash: u32) -> Self {
        Self::new(host, KeyType::Xattr, hash)
    }

    /// The key of a truncation node, for the replay.
    #[must_use]
    pub const fn truncation(ino: u32) -> Self {
        Self::new(ino, KeyType::Truncation, 0)
    }

    /// The lowest key of an inode (`lowest_ino_key`).
    #[must_use]
    pub const fn lowest_of(ino: u32) -> Self {
        Self((ino as u64) << 32)
    }

    /// The highest key of an inode (`highest_ino_key`).
    #[must_use]
    pub const fn highest_of(ino: u32) -> Self {
        Self(((ino as u64) << 32) | 0xFFFF_FFFF)
    }

    /// The key with these two words.
    #[must_use]
    pub const fn from_words(ino: u32, word: u32) -> Self {
        Self(((ino as u64) << 32) | word as u64)
    }

    /// The key at the beginning of `bytes`, as it is on flash.
    ///
    /// # Panics
    /// When there are fewer than [`KEY_SIZE`] bytes.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        super::bytes::Reader::at(bytes).key()
    }

    /// The inode number.
    #[must_use]
    pub fn ino(self) -> u32 {
        u32::try_from(self.0 >> 32).expect("half of the bits")
    }

    /// The second word: kind, and block number or hash.
    #[must_use]
    pub fn word(self) -> u32 {
        u32::try_from(self.0 & 0xFFFF_FFFF).expect("half of the bits")
    }

    /// The kind; `None` if the bits are of no kind.
    #[must_use]
    pub fn kind(self) -> Option<KeyType> {
        match self.word() >> HASH_BITS {
            0 => Some(KeyType::Inode),
            1 => Some(KeyType::Data),
            2 => Some(KeyType::Dirent),
            3 => Some(KeyType::Xattr),
            4 => Some(KeyType::Truncation),
            _ => None,
        }
    }

    /// The block number of a data key, or the hash of the name of an entry.
    #[must_use]
    pub fn low(self) -> u32 {
        self.word() & HASH_MASK
    }

    /// Whether names must be compared besides keys: entries of directories and attributes.
    #[must_use]
    pub fn is_hashed(self) -> bool {
        matches!(self.kind(), Some(KeyType::Dirent | KeyType::Xattr))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Some(kind) => write!(f, "({}, {kind:?}, {:#x})", self.ino(), self.low()),
            None => write!(f, "({}, {:#010x})", self.ino(), self.word()),
        }
    }
}

/// The hash of a name (`key_r5_hash`).
#[must_use]
pub fn r5(name: &[u8]) -> u32 {
    let step = |hash: u32, &byte: &u8| {
        // The kernel's characters are signed.
        let byte = i32::from(byte.cast_signed()).cast_unsigned();
        let shifted = byte.cast_signed() >> 4;
        hash.wrapping_add(byte << 4).wrapping_add(shifted.cast_unsigned()).wrapping_mul(11)
    };
    let hash = name.iter().fold(0, step) & HASH_MASK;
    above_reserved(hash)
}

/// The hash of a name for tests: its first four bytes (`key_test_hash`).
#[must_use]
pub fn test_hash(name: &[u8]) -> u32 {
    let mut word = [0; 4];
    let length = name.len().min(4);
    word[..length].copy_from_slice(&name[..length]);
    above_reserved(u32::from_le_bytes(word) & HASH_MASK)
}

/// The hashes 0 to 2 are reserved: `readdir` uses their numbers for ".", ".." and the end.
const fn above_reserved(hash: u32) -> u32 {
    if hash <= 2 { hash + 3 } else { hash }
}
