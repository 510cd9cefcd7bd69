//! The errors of this crate: invalid settings, programs, cards and snapshots.
//!
//! Layer: rank 4. Main type: [`Error`]. A failure of a running guest is not an error but an
//! [`crate::Outcome`].

use std::fmt;

use boardlab_sim::Bytes;

/// An invalid input: where it is, what was found and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A size of SDRAM that the board does not support.
    Memory {
        /// The size in the settings.
        asked: Bytes,
    },
    /// Not an ELF file: a different magic number.
    NotElf {
        /// The first bytes.
        found: [u8; 4],
    },
    /// An invalid size of a card: zero, beyond 2 TiB, or not representable in the CSD register.
    CardSize {
        /// The size.
        size: Bytes,
    },
    /// A block device for a card whose blocks are not 512 bytes.
    CardBlock {
        /// The device's block size.
        found: Bytes,
    },
    /// A snapshot of a card whose medium is a device: its contents cannot be saved.
    SnapshotOfDevice,
    /// Not a snapshot: a different magic number.
    NotSnapshot,
    /// A snapshot of another version.
    SnapshotVersion {
        /// The snapshot's version.
        found: u32,
        /// The supported version.
        expected: u32,
    },
    /// A snapshot whose length differs from its header.
    SnapshotLength {
        /// The length in the header.
        expected: u64,
        /// The actual length.
        found: u64,
    },
    /// A snapshot whose CRC-32 differs from its header.
    SnapshotCrc {
        /// The CRC-32 in the header.
        expected: u32,
        /// The CRC-32 of the body.
        found: u32,
    },
    /// A snapshot with invalid contents.
    SnapshotContents {
        /// The reason.
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
    /// An ELF file that is not an executable, such as an object file or a shared library.
    ElfKind {
        /// e_type; 2 is expected.
        found: u16,
    },
    /// An ELF file with an unreadable table.
    ElfTable {
        /// The table.
        table: &'static str,
        /// The message of the ELF reader.
        reason: String,
    },
    /// A program without a loadable segment.
    ElfEmpty,
    /// A segment whose contents lie beyond the end of the file, or whose bytes are shared with other
    /// segments.
    SegmentBeyondFile {
        /// The segment's number in the program headers.
        segment: usize,
        /// The offset of its contents in the file.
        offset: u32,
        /// The length of its contents.
        length: u32,
        /// The size of the file.
        file: usize,
    },
    /// A segment whose size in the file exceeds its size in memory.
    SegmentTooFull {
        /// The segment's number in the program headers.
        segment: usize,
        /// Bytes in the file.
        contents: u32,
        /// Bytes in memory.
        memory: u32,
    },
    /// A segment that does not fit into the SDRAM.
    SegmentBeyondMemory {
        /// The segment's number in the program headers.
        segment: usize,
        /// Its physical address.
        at: u32,
        /// Its size in memory.
        length: u32,
        /// The SDRAM's size.
        memory: u32,
    },
    /// Two overlapping segments.
    SegmentsOverlap {
        /// The segments' numbers in the program headers.
        segments: [usize; 2],
        /// The first address in both.
        at: u32,
    },
    /// An entry point outside the SDRAM.
    EntryBeyondMemory {
        /// The entry point.
        entry: u32,
        /// The SDRAM's size.
        memory: u32,
    },
    /// An image that does not fit into the SDRAM.
    ImageBeyondMemory {
        /// The address to load it at.
        at: u32,
        /// Its size in bytes.
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
                "{asked} of SDRAM: expected a power of two from 1 to 256 MiB; 128 MiB is the default"
            ),
            Self::CardSize { size } => write!(
                f,
                "a card of {size}: expected a power of two, or a multiple of 512 KiB up to 2 TiB"
            ),
            Self::CardBlock { found } => {
                write!(f, "a card on a device with blocks of {found}: expected 512 bytes")
            }
            Self::ElfEmpty => write!(f, "the ELF file has no segment to load"),
            Self::ImageBeyondMemory { at, length, memory } => write!(
                f,
                "an image of {length} bytes at {at:#010x} does not fit into {} MiB of SDRAM",
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
                write!(f, "the card's medium is a device, whose contents a snapshot cannot save")
            }
            Self::NotSnapshot => write!(f, "not a snapshot: it has a different magic number"),
            Self::SnapshotVersion { found, expected } => write!(
                f,
                "a snapshot of version {found}: expected {expected}; create it again with this version"
            ),
            Self::SnapshotLength { expected, found } => {
                write!(
                    f,
                    "a snapshot of {found} bytes: expected {expected}; is the file truncated?"
                )
            }
            Self::SnapshotCrc { expected, found } => {
                write!(f, "a damaged snapshot: its CRC is {found:08x}, expected {expected:08x}")
            }
            Self::SnapshotContents { reason } => write!(f, "an invalid snapshot: {reason}"),
            _ => self.fmt_elf(f),
        }
    }

    fn fmt_elf(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotElf { found } => {
                write!(f, "not an ELF file: it begins with {found:02x?}, expected 7f 45 4c 46")
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
                "an ELF file of type {found}: expected 2, an executable; link it to fixed addresses"
            ),
            Self::ElfTable { table, reason } => write!(f, "the ELF file's {table}: {reason}"),
            _ => self.fmt_segment(f),
        }
    }

    fn fmt_segment(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SegmentBeyondFile { segment, offset, length, file } => write!(
                f,
                "segment {segment}: {length} bytes at offset {offset:#x} of a file of {file} bytes: \
                 is the file truncated?"
            ),
            Self::SegmentTooFull { segment, contents, memory } => write!(
                f,
                "segment {segment}: {contents} bytes in the file exceed its {memory} bytes of memory"
            ),
            Self::SegmentBeyondMemory { segment, at, length, memory } => write!(
                f,
                "segment {segment}: {length} bytes at {at:#010x} do not fit into {} MiB of SDRAM",
                memory >> 20
            ),
            Self::SegmentsOverlap { segments: [one, other], at } => {
                write!(f, "segments {one} and {other} overlap at {at:#010x}")
            }
            Self::EntryBeyondMemory { entry, memory } => {
                write!(
                    f,
                    "the entry point {entry:#010x} is not in the {} MiB of SDRAM",
                    memory >> 20
                )
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
