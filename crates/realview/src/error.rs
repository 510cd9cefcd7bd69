//! What of a board, a program or a snapshot cannot be.
//!
//! Layer: rank 4. Main type: [`Error`]. What a running guest does wrong is not an error but an
//! [`crate::Outcome`].

use std::fmt;

use boardlab_sim::Bytes;

/// What is wrong, where, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An amount of SDRAM that the board cannot have.
    Memory {
        /// What was asked for.
        asked: Bytes,
    },
    /// Not an ELF file: another beginning.
    NotElf {
        /// The first bytes.
        found: [u8; 4],
    },
    /// A size that no card has: none, beyond 2 TiB, or one that its CSD register cannot tell.
    CardSize {
        /// The size.
        size: Bytes,
    },
    /// A device under a card that has other blocks than 512 bytes.
    CardBlock {
        /// Those.
        found: Bytes,
    },
    /// A card whose medium is a device: what it holds cannot be saved.
    SnapshotOfDevice,
    /// Not a snapshot: another beginning.
    NotSnapshot,
    /// A snapshot of another version.
    SnapshotVersion {
        /// Its version.
        found: u32,
        /// The one that is read.
        expected: u32,
    },
    /// A snapshot of another length than it says.
    SnapshotLength {
        /// What it says.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// A snapshot whose bytes were changed.
    SnapshotCrc {
        /// The CRC-32 that it tells.
        expected: u32,
        /// That of what it holds.
        found: u32,
    },
    /// A snapshot whose contents cannot be.
    SnapshotContents {
        /// What of it.
        reason: String,
    },
    /// An ELF file of another word size.
    ElfClass {
        /// EI_CLASS; 1 is expected.
        found: u8,
    },
    /// An ELF file of another byte order.
    ElfByteOrder {
        /// EI_DATA; 1 is expected.
        found: u8,
    },
    /// An ELF file for another processor.
    ElfMachine {
        /// e_machine; 40 is expected.
        found: u16,
    },
    /// An ELF file that is no program: an object file or a shared library.
    ElfKind {
        /// e_type; 2 is expected.
        found: u16,
    },
    /// An ELF file whose tables cannot be read.
    ElfTable {
        /// Which.
        table: &'static str,
        /// What the reader says.
        reason: String,
    },
    /// A program without anything to load.
    ElfEmpty,
    /// A segment whose contents are not in the file.
    SegmentBeyondFile {
        /// Its number in the program headers.
        segment: usize,
        /// Where its contents start in the file.
        offset: u32,
        /// How long they are.
        length: u32,
        /// The size of the file.
        file: usize,
    },
    /// A segment whose contents are longer than its memory.
    SegmentTooFull {
        /// Its number in the program headers.
        segment: usize,
        /// Bytes in the file.
        contents: u32,
        /// Bytes in memory.
        memory: u32,
    },
    /// A segment that does not fit the SDRAM.
    SegmentBeyondMemory {
        /// Its number in the program headers.
        segment: usize,
        /// Its physical address.
        at: u32,
        /// Its bytes in memory.
        length: u32,
        /// The SDRAM's size.
        memory: u32,
    },
    /// Two segments at the same place.
    SegmentsOverlap {
        /// The numbers in the program headers.
        segments: [usize; 2],
        /// The first address that both have.
        at: u32,
    },
    /// An entry that is not in the SDRAM.
    EntryBeyondMemory {
        /// The entry.
        entry: u32,
        /// The SDRAM's size.
        memory: u32,
    },
    /// An image that does not fit the SDRAM.
    ImageBeyondMemory {
        /// Where it was to be put.
        at: u32,
        /// Its bytes.
        length: usize,
        /// The SDRAM's size.
        memory: u32,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { asked } => write!(
                f,
                "{asked} of SDRAM: the board takes a power of two from 1 to 256 MiB; 128 MiB is usual"
            ),
            Self::CardSize { size } => write!(
                f,
                "a card of {size}: expected whole multiples of 512 KiB, up to 2 TiB, or a power of two"
            ),
            Self::CardBlock { found } => {
                write!(f, "a card on blocks of {found}: expected blocks of 512 bytes")
            }
            Self::ElfEmpty => write!(f, "the ELF file has no segment to load"),
            Self::ImageBeyondMemory { at, length, memory } => write!(
                f,
                "an image of {length} bytes at {at:#010x} does not fit {} MiB of SDRAM",
                memory >> 20
            ),
            _ => self.fmt_snapshot(f),
        }
    }
}

impl Error {
    fn fmt_snapshot(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SnapshotOfDevice => {
                write!(f, "the card's medium is a device, which a snapshot cannot hold")
            }
            Self::NotSnapshot => write!(f, "not a snapshot: it does not begin with its magic"),
            Self::SnapshotVersion { found, expected } => write!(
                f,
                "a snapshot of version {found}: expected {expected}; make it anew with this version"
            ),
            Self::SnapshotLength { expected, found } => {
                write!(f, "a snapshot of {found} bytes that says {expected}: is the file cut off?")
            }
            Self::SnapshotCrc { expected, found } => {
                write!(f, "a damaged snapshot: its CRC is {found:08x}, and it says {expected:08x}")
            }
            Self::SnapshotContents { reason } => write!(f, "a snapshot that cannot be: {reason}"),
            _ => self.fmt_elf(f),
        }
    }

    fn fmt_elf(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotElf { found } => {
                write!(f, "not an ELF file: it begins with {found:02x?}, not with 7f 45 4c 46")
            }
            Self::ElfClass { found } => {
                write!(f, "an ELF file of class {found}: expected class 1, 32 bits")
            }
            Self::ElfByteOrder { found } => {
                write!(f, "an ELF file of byte order {found}: expected 1, little-endian")
            }
            Self::ElfMachine { found } => {
                write!(f, "an ELF file for machine {found}: expected 40, ARM")
            }
            Self::ElfKind { found } => write!(
                f,
                "an ELF file of type {found}: expected 2, a program; link it to fixed addresses"
            ),
            Self::ElfTable { table, reason } => write!(f, "the ELF file's {table}: {reason}"),
            _ => self.fmt_segment(f),
        }
    }

    fn fmt_segment(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SegmentBeyondFile { segment, offset, length, file } => write!(
                f,
                "segment {segment}: {length} bytes from {offset:#x} of the file, which has {file}: \
                 is the file cut off?"
            ),
            Self::SegmentTooFull { segment, contents, memory } => write!(
                f,
                "segment {segment}: {contents} bytes in the file for {memory} bytes of memory"
            ),
            Self::SegmentBeyondMemory { segment, at, length, memory } => write!(
                f,
                "segment {segment}: {length} bytes at {at:#010x} do not fit {} MiB of SDRAM",
                memory >> 20
            ),
            Self::SegmentsOverlap { segments: [one, other], at } => {
                write!(f, "segments {one} and {other} overlap at {at:#010x}")
            }
            Self::EntryBeyondMemory { entry, memory } => {
                write!(f, "the entry {entry:#010x} is not in the {} MiB of SDRAM", memory >> 20)
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
