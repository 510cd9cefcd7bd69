//! The bytes of an overlay: a header, and records one after another.
//!
//! Layer: rank 7. Main types: [`Header`], [`Record`]. All numbers are little-endian.

use crate::contents::Contents;
use crate::dump::{Change, Dump};
use crate::shape::Shape;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::Bytes;
use sha2::{Digest, Sha256};
use std::io;

/// The beginning of each overlay.
const MAGIC: [u8; 8] = *b"BLovrlay";
/// The version of the format.
const VERSION: u32 = 1;
/// Bytes of a header.
pub const HEADER_SIZE: usize = 104;
/// Bytes of a record without its data.
pub(super) const RECORD_SIZE: usize = 28;
/// The bytes of a file that are summed at once.
const PIECE: usize = 1 << 20;

/// The length and the SHA-256 of a file, which tell it from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Bytes of the file.
    pub length: Bytes,
    /// Their SHA-256.
    pub sha256: [u8; 32],
}

impl Identity {
    /// Reads all of `contents`.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn of(contents: &Contents) -> io::Result<Self> {
        let mut sum = Sha256::new();
        let (mut at, mut buffer) = (Bytes::ZERO, vec![0; PIECE]);
        while at < contents.length() {
            let read = contents.read(at, &mut buffer)?;
            sum.update(&buffer[..read]);
            at += Bytes::new(read as u64);
        }
        Ok(Self { length: contents.length(), sha256: sum.finalize().into() })
    }

    fn bytes(&self) -> [u8; 40] {
        let mut bytes = [0; 40];
        bytes[..8].copy_from_slice(&self.length.get().to_le_bytes());
        bytes[8..].copy_from_slice(&self.sha256);
        bytes
    }

    fn parse(bytes: &[u8; 40]) -> Self {
        let mut sha256 = [0; 32];
        sha256.copy_from_slice(&bytes[8..]);
        Self { length: Bytes::new(number(&bytes[..8])), sha256 }
    }
}

/// The dump that an overlay belongs to, and the flash in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The dump.
    pub dump: Identity,
    /// Where the flash begins in the file.
    pub at: Bytes,
    /// The shape of the flash.
    pub shape: Shape,
    /// Its erase blocks: those in the file, and erased ones beyond its end.
    pub blocks: u32,
}

impl Header {
    /// The header for a flash that begins at `at` of the dump.
    #[must_use]
    pub fn of(identity: Identity, at: Bytes, flash: &Dump) -> Self {
        let blocks = flash.geometry().block_count();
        Self { dump: identity, at, shape: flash.shape(), blocks }
    }

    pub(super) fn emit(&self) -> [u8; HEADER_SIZE] {
        let mut bytes = [0; HEADER_SIZE];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..56].copy_from_slice(&self.dump.bytes());
        let Shape { page, oob, block } = self.shape;
        for (place, number) in bytes[56..88].chunks_exact_mut(8).zip([self.at, page, oob, block]) {
            place.copy_from_slice(&number.get().to_le_bytes());
        }
        bytes[88..92].copy_from_slice(&self.blocks.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..HEADER_SIZE - 4]);
        bytes[HEADER_SIZE - 4..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The header in these bytes, or what they are instead.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        if bytes.len() < HEADER_SIZE {
            return Err("shorter than a header");
        }
        if bytes[..8] != MAGIC {
            return Err("no overlay: its first bytes are others");
        }
        if number(&bytes[8..12]) != u64::from(VERSION) {
            return Err("an overlay of another version");
        }
        if number(&bytes[HEADER_SIZE - 4..HEADER_SIZE])
            != u64::from(crc32fast::hash(&bytes[..HEADER_SIZE - 4]))
        {
            return Err("a header whose checksum is wrong");
        }
        let mut identity = [0; 40];
        identity.copy_from_slice(&bytes[16..56]);
        let at = |place: usize| Bytes::new(number(&bytes[place..place + 8]));
        let shape = Shape { page: at(64), oob: at(72), block: at(80) };
        let blocks = u32::try_from(number(&bytes[88..92])).expect("four bytes");
        let is_sound = shape.check().is_ok() && at(56).get() <= i64::MAX.unsigned_abs();
        if !is_sound {
            return Err("a header of a flash that cannot be");
        }
        Ok(Self { dump: Identity::parse(&identity), at: at(56), shape, blocks })
    }
}

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    /// A change of the flash.
    Change(Change<'a>),
    /// All before it was on the disk when it was written.
    Synced,
    /// All before it is in a new image, which is to take the place of the dump.
    Applied(Identity),
}

const ERASE: u32 = 1;
const PROGRAM: u32 = 2;
const REPLACE: u32 = 3;
const SYNCED: u32 = 4;
const APPLIED: u32 = 5;

impl Record<'_> {
    /// Appends the record with this number to `bytes`.
    pub(super) fn emit(&self, sequence: u64, bytes: &mut Vec<u8>) {
        let applied;
        let (kind, place, data): (u32, u64, &[u8]) = match self {
            Self::Change(Change::Erase { block }) => (ERASE, block.0.into(), &[]),
            Self::Change(Change::Program { at, data }) => (PROGRAM, at.get(), data),
            Self::Change(Change::Replace { block, data }) => (REPLACE, block.0.into(), data),
            Self::Synced => (SYNCED, 0, &[]),
            Self::Applied(identity) => {
                applied = identity.bytes();
                (APPLIED, 0, &applied)
            }
        };
        let start = bytes.len();
        let length = u32::try_from(data.len()).expect("data of a record are at most a block");
        bytes.extend(kind.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(sequence.to_le_bytes());
        bytes.extend(place.to_le_bytes());
        let mut sum = crc32fast::Hasher::new();
        sum.update(&bytes[start..]);
        sum.update(data);
        bytes.extend(sum.finalize().to_le_bytes());
        bytes.extend(data);
    }

    /// The bytes of the data of the record that begins so, if one can.
    pub(super) fn length(head: &[u8; RECORD_SIZE], header: &Header) -> Option<usize> {
        let (kind, length, place) =
            (number(&head[..4]), number(&head[4..8]), number(&head[16..24]));
        let raw = header.shape.raw_block();
        let possible = match u32::try_from(kind).ok()? {
            ERASE => length == 0 && place < header.blocks.into(),
            PROGRAM => {
                let (block, within) = (place / raw.get(), place % raw.get());
                length > 0 && block < header.blocks.into() && within + length <= raw.get()
            }
            REPLACE => length <= raw.get() && place < header.blocks.into(),
            SYNCED => length == 0 && place == 0,
            APPLIED => length == 40 && place == 0,
            _ => false,
        };
        usize::try_from(length).ok().filter(|_| possible)
    }

    /// The number of the record that begins so.
    pub(super) fn sequence(head: &[u8; RECORD_SIZE]) -> u64 {
        number(&head[8..16])
    }

    /// Whether the checksum is that of the record.
    pub(super) fn is_right(head: &[u8; RECORD_SIZE], data: &[u8]) -> bool {
        let mut sum = crc32fast::Hasher::new();
        sum.update(&head[..24]);
        sum.update(data);
        u64::from(sum.finalize()) == number(&head[24..])
    }
}

impl<'a> Record<'a> {
    /// The record of a possible [`Record::length`] with this data.
    pub(super) fn parse(head: &[u8; RECORD_SIZE], data: &'a [u8]) -> Option<Self> {
        let place = number(&head[16..24]);
        let block = || u32::try_from(place).ok().map(BlockIndex);
        Some(match u32::try_from(number(&head[..4])).ok()? {
            ERASE => Self::Change(Change::Erase { block: block()? }),
            PROGRAM => Self::Change(Change::Program { at: Bytes::new(place), data }),
            REPLACE => Self::Change(Change::Replace { block: block()?, data }),
            SYNCED => Self::Synced,
            APPLIED => Self::Applied(Identity::parse(data.try_into().ok()?)),
            _ => return None,
        })
    }
}

/// A little-endian number of up to eight bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}
