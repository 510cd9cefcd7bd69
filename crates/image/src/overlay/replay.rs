//! Reads an overlay.
//!
//! Layer: rank 7. Function: [`replay`]. Overlays are as untrusted as images.
//!
//! A log ends where a record is not whole. That is what a kill or a power cut leaves, unless it was on the disk
//! before: then something has damaged it, and no later change may be forgotten because of that.

use super::format::{HEADER_SIZE, Header, Identity, RECORD_SIZE, Record};
use crate::contents::Contents;
use crate::dump::Change;
use crate::patches::Patches;
use crate::shape::Shape;
use boardlab_sim::Bytes;
use std::fmt;
use std::io;

/// Bytes of blocks in memory for each byte of the files, so that no overlay takes much memory.
const CLAIM: u64 = 64;
/// The bytes that any overlay may take.
const CLAIM_MIN: u64 = 64 << 20;
/// Bytes that are searched at once for records behind one that is not whole.
const PIECE: usize = 1 << 20;

/// Why an overlay cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum OverlayError {
    /// The operating system cannot read it, or the dump.
    Unreadable(io::Error),
    /// It is not there.
    Missing,
    /// It is something else.
    Other(&'static str),
    /// It is of another dump.
    OfAnother {
        /// The dump that it is of.
        expected: Identity,
        /// The dump beside it.
        found: Identity,
    },
    /// The dump is mounted as another flash.
    OfAnotherFlash {
        /// The flash that it is of, and where it begins in the file.
        expected: (Shape, Bytes),
        /// The one that is mounted.
        found: (Shape, Bytes),
    },
    /// A record was on the disk, and is damaged.
    Damaged {
        /// Its offset in the overlay.
        at: Bytes,
    },
    /// Its blocks take more memory than the files make believable.
    TooMuch {
        /// The offset of the record.
        at: Bytes,
    },
}

impl OverlayError {
    /// A hint what to try.
    #[must_use]
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "make it readable, or move it away to mount the dump alone",
            Self::Missing => "changes come from `boardlab image mount --rw`",
            Self::Other(_) => "move it away; a mount with --rw begins a new one",
            Self::OfAnother { .. } => {
                "put back the dump that it was made with, or move the overlay away"
            }
            Self::OfAnotherFlash { .. } => {
                "leave out --page, --oob and --block, or give those of the overlay"
            }
            Self::Damaged { .. } | Self::TooMuch { .. } => {
                "put back a copy of the overlay, or move it away and lose its changes"
            }
        }
    }
}

impl fmt::Display for OverlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Self::Missing => f.write_str("is not there, so there is nothing to apply"),
            Self::Other(what) => write!(f, "is {what}"),
            Self::OfAnother { expected, found } => write!(
                f,
                "is of a dump of {} bytes with the SHA-256 {}, and this one has {} bytes and {}",
                expected.length.get(),
                short(&expected.sha256),
                found.length.get(),
                short(&found.sha256)
            ),
            Self::OfAnotherFlash { expected, found } => write!(
                f,
                "is of a flash with {} at {:#x}, and this one has {} at {:#x}",
                expected.0,
                expected.1.get(),
                found.0,
                found.1.get()
            ),
            Self::Damaged { at } => write!(
                f,
                "is damaged: the record at {:#x} is wrong, though it was on the disk before later ones",
                at.get()
            ),
            Self::TooMuch { at } => {
                write!(f, "claims more blocks than it can have, at {:#x}", at.get())
            }
        }
    }
}

impl std::error::Error for OverlayError {}

/// The beginning of a checksum.
fn short(sum: &[u8; 32]) -> String {
    let digits: String = sum[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    digits + "..."
}

/// What an overlay says.
#[derive(Debug)]
pub struct Replayed {
    /// The dump with the changes.
    pub contents: Contents,
    /// The changed blocks.
    pub patches: Patches,
    /// The dump and the flash.
    pub header: Header,
    /// The bytes of whole records, header included.
    pub length: Bytes,
    /// The bytes behind them that were cut off.
    pub torn: Bytes,
    /// The number of the last record.
    pub sequence: u64,
    /// Whether all of it is in the dump already: a new image took the place of the old one.
    pub spent: bool,
}

/// Reads `overlay`, which belongs to `dump`.
///
/// # Errors
/// [`OverlayError`].
pub fn replay(
    dump: &Contents,
    identity: Identity,
    overlay: &Contents,
) -> Result<Replayed, OverlayError> {
    let header = Header::parse(&overlay.window(Bytes::ZERO, HEADER_SIZE));
    let header = header.map_err(OverlayError::Other)?;
    let mut reading = Reading { overlay, header, applied: None, sequence: 0 };
    let most = dump.length().get().max(overlay.length().get()).saturating_mul(CLAIM).max(CLAIM_MIN);
    let mut patches = Patches::new(header.at, header.shape.raw_block());
    let mut at = Bytes::new(HEADER_SIZE as u64);
    let mut data = Vec::new();
    while let Some((length, record)) = reading.next(at, &mut data)? {
        match record {
            Record::Change(change) => {
                apply(&mut patches, change, dump).map_err(OverlayError::Unreadable)?;
                if patches.bytes() > most {
                    return Err(OverlayError::TooMuch { at });
                }
            }
            Record::Synced => {}
            Record::Applied(image) => reading.applied = Some(image),
        }
        at += length;
    }
    if reading.is_synced_behind(at)? {
        return Err(OverlayError::Damaged { at });
    }
    let spent = reading.applied == Some(identity);
    if header.dump != identity && !spent {
        return Err(OverlayError::OfAnother { expected: header.dump, found: identity });
    }
    let torn = overlay.length() - at;
    let sequence = reading.sequence;
    let contents = if spent { dump.clone() } else { dump.patched(patches.clone()) };
    Ok(Replayed { contents, patches, header, length: at, torn, sequence, spent })
}

/// Makes a change of a flash whose other blocks are in `dump`.
fn apply(patches: &mut Patches, change: Change<'_>, dump: &Contents) -> io::Result<()> {
    match change {
        Change::Erase { block } => patches.erase(block.0),
        Change::Replace { block, data } => patches.replace(block.0, data),
        Change::Program { at, data } => {
            patches.program(at, data, |offset, buffer| dump.read(offset, buffer).map(drop))?;
        }
    }
    Ok(())
}

struct Reading<'a> {
    overlay: &'a Contents,
    header: Header,
    applied: Option<Identity>,
    /// The number of the last record.
    sequence: u64,
}

impl Reading<'_> {
    /// The record at `at` and its length; `None` where there is no whole one.
    fn next<'b>(
        &mut self,
        at: Bytes,
        data: &'b mut Vec<u8>,
    ) -> Result<Option<(Bytes, Record<'b>)>, OverlayError> {
        let mut head = [0; RECORD_SIZE];
        if self.read(at, &mut head)? < RECORD_SIZE || Record::sequence(&head) != self.sequence + 1 {
            return Ok(None);
        }
        let Some(length) = Record::length(&head, &self.header) else { return Ok(None) };
        let start = at + Bytes::new(RECORD_SIZE as u64);
        let left = self.overlay.length() - start;
        if left < Bytes::new(length as u64) {
            return Ok(None);
        }
        data.resize(length, 0);
        if self.read(start, data)? < length || !Record::is_right(&head, data) {
            return Ok(None);
        }
        self.sequence += 1;
        let whole = Bytes::new((RECORD_SIZE + length) as u64);
        Ok(Record::parse(&head, data).map(|record| (whole, record)))
    }

    fn read(&self, at: Bytes, buffer: &mut [u8]) -> Result<usize, OverlayError> {
        self.overlay.read(at, buffer).map_err(OverlayError::Unreadable)
    }

    /// Whether a record behind `at` says that what is before it was on the disk.
    fn is_synced_behind(&self, at: Bytes) -> Result<bool, OverlayError> {
        let mut start = at;
        let mut buffer = vec![0; PIECE + RECORD_SIZE];
        while start < self.overlay.length() {
            let read = self.read(start, &mut buffer)?;
            let found = buffer[..read].windows(RECORD_SIZE).any(|head| {
                let head: &[u8; RECORD_SIZE] = head.try_into().expect("a window of that size");
                Record::length(head, &self.header) == Some(0)
                    && Record::sequence(head) > self.sequence + 1
                    && Record::parse(head, &[]) == Some(Record::Synced)
                    && Record::is_right(head, &[])
            });
            if found {
                return Ok(true);
            }
            start += Bytes::new(PIECE as u64);
        }
        Ok(false)
    }
}
