//! Snapshots: a machine's state as bytes.
//!
//! Layer: rank 4. Implements [`Machine::snapshot`] and [`Machine::restore`]. A snapshot holds all
//! state except the engine: core, caches with their contents, devices, memory, card, pending input
//! and output. A restored machine continues exactly as the saved one would have, with the same trace
//! hash. The bytes, little-endian:
//!
//! ```text
//!  0  "BLRVEB" 0D 0A   magic number; a transfer in text mode damages it
//!  8  u32              version
//! 12  u32              CRC-32 of the body
//! 16  u64              length of the body
//! 24  body             postcard of `Body`; memory and card as the pages that are not zero
//! ```
//!
//! Source of the body's encoding: the postcard wire format, version 1. The version is incremented
//! whenever the layout of a saved type changes. A snapshot is not an archive format: only the version
//! that wrote it can read it.

use boardlab_arm926::Processor;
use boardlab_sim::Bytes;
use serde::{Deserialize, Serialize};

use crate::board::Board;
use crate::card::{BLOCK, Card, Medium, TRANSFER_BLOCKS};
use crate::error::Error;
use crate::machine::Machine;
use crate::semihosting::Semihosting;

const MAGIC: [u8; 8] = *b"BLRVEB\r\n";
const HEADER: usize = 24;
/// The version of the snapshot format.
pub(crate) const VERSION: u32 = 3;
/// The largest card that is restored, in blocks: 32 GiB. A snapshot is untrusted input.
const CARD_LIMIT: u64 = 64 << 20;

/// The body of a snapshot to write, borrowed from a machine.
#[derive(Serialize)]
struct Body<'a> {
    processor: &'a Processor<Board>,
    semihosting: &'a Semihosting,
    card: Option<Vec<Chunk>>,
}

/// The body of a snapshot that was read.
#[derive(Deserialize)]
struct RestoredBody {
    processor: Processor<Board>,
    semihosting: Semihosting,
    card: Option<Vec<Chunk>>,
}

/// Consecutive blocks of a card that are not all zero.
#[derive(Serialize, Deserialize)]
struct Chunk {
    first: u64,
    bytes: Vec<u8>,
}

impl Machine {
    /// Saves the machine, except its engine.
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotOfDevice`] if the card's medium is a device.
    pub fn snapshot(&self) -> Result<Vec<u8>, Error> {
        let card = self.processor.bus.card().map(chunks_of).transpose()?;
        let Self { processor, semihosting, .. } = self;
        let body = postcard::to_stdvec(&Body { processor, semihosting, card })
            .map_err(|error| reason(&error.to_string()))?;
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        bytes.extend_from_slice(&Bytes::of(&body).get().to_le_bytes());
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }

    /// Restores a machine from a snapshot; the reference interpreter runs it.
    ///
    /// # Errors
    ///
    /// [`Error`] if the snapshot is truncated, damaged, invalid or of another version.
    pub fn restore(bytes: &[u8]) -> Result<Self, Error> {
        let body = body(bytes)?;
        let restored: RestoredBody =
            postcard::from_bytes(body).map_err(|error| reason(&error.to_string()))?;
        let RestoredBody { mut processor, semihosting, card: chunks } = restored;
        match (processor.bus.card_mut(), chunks) {
            (Some(card), Some(chunks)) => {
                let medium = medium(card, &chunks)?;
                card.put_medium(medium);
            }
            (None, None) => {}
            _ => return Err(reason("a card without contents, or contents without a card")),
        }
        Ok(Self::from_parts(processor, semihosting))
    }
}

/// Checks the header and returns the body.
fn body(bytes: &[u8]) -> Result<&[u8], Error> {
    let header = bytes.get(..HEADER);
    if bytes.get(..MAGIC.len()) != Some(&MAGIC) {
        return Err(Error::NotSnapshot);
    }
    let short = || Error::SnapshotLength {
        expected: u64::try_from(HEADER).unwrap_or_default(),
        found: Bytes::of(bytes).get(),
    };
    let header = header.ok_or_else(short)?;
    let word = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let (found, expected) = (word(8), VERSION);
    if found != expected {
        return Err(Error::SnapshotVersion { found, expected });
    }
    let body = &bytes[HEADER..];
    let length = u64::from(word(16)) | u64::from(word(20)) << 32;
    if Bytes::of(body).get() != length {
        return Err(Error::SnapshotLength { expected: length, found: Bytes::of(body).get() });
    }
    let (expected, found) = (word(12), crc32fast::hash(body));
    if found != expected {
        return Err(Error::SnapshotCrc { expected, found });
    }
    Ok(body)
}

/// The contents of a card, without blocks that are zero.
fn chunks_of(card: &Card) -> Result<Vec<Chunk>, Error> {
    let step = u64::try_from(TRANSFER_BLOCKS).unwrap_or(1);
    let mut chunks = Vec::new();
    let mut first = 0;
    while first < card.blocks() {
        let count = usize::try_from((card.blocks() - first).min(step)).unwrap_or(TRANSFER_BLOCKS);
        let mut bytes = vec![0; count * BLOCK];
        card.contents(first, &mut bytes).ok_or(Error::SnapshotOfDevice)?;
        if bytes.iter().any(|&byte| byte != 0) {
            chunks.push(Chunk { first, bytes });
        }
        first += step;
    }
    Ok(chunks)
}

/// A medium in memory for `card` with the contents of a snapshot.
fn medium(card: &Card, chunks: &[Chunk]) -> Result<Medium, Error> {
    if card.blocks() > CARD_LIMIT {
        return Err(reason("a card larger than 32 GiB"));
    }
    let size = Bytes::new(card.blocks() * Bytes::of(&[0; BLOCK]).get());
    let mut medium = Medium::empty(size)?;
    // A block may have been written at any instant before the snapshot, so all are written at instant
    // 0.
    for chunk in chunks {
        let written = medium.write(boardlab_sim::Instant::ZERO, chunk.first, &chunk.bytes);
        written.ok_or_else(|| reason("blocks beyond the end of the card"))?;
    }
    Ok(medium)
}

fn reason(text: &str) -> Error {
    Error::SnapshotContents { reason: text.to_owned() }
}
