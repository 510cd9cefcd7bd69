//! IDENTIFY DEVICE data: the 256 words by which a drive identifies itself.
//!
//! Layer: format. Main types: [`IdentifyView`] over words, [`Identify`]. On the wire, two words make a
//! dword, the first one in its lower half. Words:
//!
//! ```text
//!  0        15: 0 of an ATA device         82 85    5: write cache, 6: look-ahead (85: enabled)
//!  1 3 6    obsolete geometry              83 86    10: 48-bit LBA, 12: FLUSH, 13: FLUSH EXT
//!  10-19    serial number                  88       UDMA modes
//!  23-26    firmware                       93       0 of native SATA
//!  27-46    model                          100-103  sectors, 48-bit LBA
//!  47       sectors of a DRQ block         106      12: logical sector over 512 B, 3:0: log2 of
//!  49       8: DMA, 9: LBA                              logical sectors in a physical one
//!  60-61    sectors, 28-bit LBA            117-118  words of a logical sector
//!  75       queue depth - 1                217      rotation
//!  76       1 2 3: Gen1 Gen2 Gen3, 8: NCQ  222      15:12: 1, a serial transport
//!  80       major versions                 255      A5h, and a byte that makes the sum of all 0
//! ```
//! Left out: security, SMART, streaming, and whatever else no model here has; those words are 0.
//!
//! Source: ATA8-ACS 7.16; for words 75 to 79, Serial ATA Revision 3, 13.2. Words that a drive may leave
//! empty are interpreted as in Linux 6.1 (`include/linux/ata.h`, `ata_id_*`).

mod text;
mod view;

pub use view::IdentifyView;

use crate::wire::Speed;
use crate::wire::error::Error;
use boardlab_sim::Bytes;
use std::fmt;
use view::{bit, word};

/// Words of the data.
pub const WORDS: usize = 256;
/// Dwords of the data: the payload of one Data FIS, which some drives split into several.
pub const DWORDS: usize = WORDS / 2;
/// The largest number of sectors with 28-bit LBA.
pub const SECTORS_28: u64 = (1 << 28) - 1;
/// The largest number of sectors with 48-bit LBA.
pub const SECTORS_48: u64 = 1 << 48;

/// The state of a feature that SET FEATURES turns on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Feature {
    /// The drive does not have it.
    #[default]
    Absent,
    /// The drive has it, turned off.
    Off,
    /// The drive has it, turned on.
    On,
}

/// The rotation rate of the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Rotation {
    /// The drive does not report it.
    NotReported,
    /// The medium does not rotate: flash.
    #[default]
    NonRotating,
    /// Revolutions per minute: 1,025 to 65,534.
    PerMinute(u16),
}

/// The identification of a drive.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identify {
    /// Serial number: up to 20 printable ASCII characters.
    pub serial: String,
    /// Firmware revision: up to 8 characters.
    pub firmware: String,
    /// Model: up to 40 characters.
    pub model: String,
    /// The number of logical sectors.
    pub sectors: u64,
    /// Whether it supports commands with 48-bit LBA.
    pub lba_48: bool,
    /// The fastest speed of its link.
    pub speed: Speed,
    /// The queue depth of NCQ, 1 to 32; `None` without NCQ.
    pub queue_depth: Option<u8>,
    /// Whether it supports DATA SET MANAGEMENT with TRIM, of one block of ranges; reads of trimmed
    /// sectors always return the same data.
    pub trims: bool,
    /// The largest number of sectors in a DRQ block of READ MULTIPLE and WRITE MULTIPLE.
    pub multiple: u8,
    /// The highest Ultra DMA mode, 0 to 6. It has no effect on a serial link.
    pub udma: u8,
    /// The write cache: writes may complete before their data are on the medium.
    pub write_cache: Feature,
    /// Look-ahead: the drive reads data ahead.
    pub look_ahead: Feature,
    /// Whether it supports FLUSH CACHE.
    pub flush: bool,
    /// Whether it supports FLUSH CACHE EXT.
    pub flush_ext: bool,
    /// Whether Linux takes it for a parallel ATA drive behind a bridge: word 93 is not 0.
    pub bridged: bool,
    /// The size of a logical sector: a multiple of 512 bytes.
    pub sector: Bytes,
    /// The number of logical sectors in a physical one, as an exponent of 2: up to 15.
    pub physical_exponent: u8,
    /// The rotation rate of its medium.
    pub rotation: Rotation,
}

impl Identify {
    /// Creates a solid-state drive with the common features of SATA drives: 48-bit LBA, both FLUSH
    /// commands, UDMA 6, write cache and look-ahead turned on; no NCQ.
    #[must_use]
    pub fn new(model: impl Into<String>, sectors: u64, speed: Speed) -> Self {
        Self {
            serial: String::new(),
            firmware: String::new(),
            model: model.into(),
            sectors,
            lba_48: true,
            speed,
            queue_depth: None,
            trims: false,
            multiple: 16,
            udma: 6,
            write_cache: Feature::On,
            look_ahead: Feature::On,
            flush: true,
            flush_ext: true,
            bridged: false,
            sector: crate::SECTOR,
            physical_exponent: 0,
            rotation: Rotation::NonRotating,
        }
    }

    /// Parses the dwords of a payload.
    ///
    /// # Errors
    /// [`Error::IdentifyLength`], and those of [`IdentifyView::new`] and [`IdentifyView::parse`].
    pub fn parse(payload: &[u32]) -> Result<Self, Error> {
        IdentifyView::new(&words(payload)?)?.parse()
    }

    /// The capacity of the drive.
    #[must_use]
    pub fn capacity(&self) -> Bytes {
        Bytes::new(self.sectors.saturating_mul(self.sector.get()))
    }

    /// Returns the words, with their checksum.
    ///
    /// # Errors
    /// [`Error::Identify`], [`Error::IdentifyText`], [`Error::IdentifyLong`] if a field violates its
    /// documentation.
    pub fn emit(&self) -> Result<[u16; WORDS], Error> {
        let mut words = [0; WORDS];
        text::put(&mut words, word::SERIAL, &self.serial)?;
        text::put(&mut words, word::FIRMWARE, &self.firmware)?;
        text::put(&mut words, word::MODEL, &self.model)?;
        self.put_capacity(&mut words)?;
        self.put_transfer(&mut words)?;
        self.put_features(&mut words);
        words[word::ROTATION] = self.rotation.word()?;
        words[word::INTEGRITY] = u16::from(bit::SIGNATURE);
        words[word::INTEGRITY] = u16::from_le_bytes([bit::SIGNATURE, view::checksum(&words)]);
        Ok(words)
    }

    /// Returns the words as the dwords of a payload.
    ///
    /// # Errors
    /// Those of [`Identify::emit`].
    pub fn emit_payload(&self) -> Result<[u32; DWORDS], Error> {
        let words = self.emit()?;
        let (pairs, _) = words.as_chunks::<2>();
        let mut payload = [0; DWORDS];
        for (dword, [low, high]) in payload.iter_mut().zip(pairs) {
            *dword = u32::from(*low) | u32::from(*high) << 16;
        }
        Ok(payload)
    }

    fn put_capacity(&self, words: &mut [u16; WORDS]) -> Result<(), Error> {
        let limit = if self.lba_48 { SECTORS_48 } else { SECTORS_28 };
        if !(1..=limit).contains(&self.sectors) {
            return Err(view::invalid_sectors(self.lba_48, self.sectors));
        }
        view::put(&mut words[word::SECTORS_28], self.sectors.min(SECTORS_28));
        if self.lba_48 {
            view::put(&mut words[word::SECTORS_48], self.sectors);
        }
        put_geometry(words, self.sectors);
        let size = self.sector.get();
        if size == 0 || !size.is_multiple_of(512) || size >> 33 != 0 {
            return Err(view::invalid_sector(size / 2));
        }
        if self.physical_exponent > 15 {
            let found = u64::from(self.physical_exponent);
            let expected = "an exponent of 2 of up to 15";
            return Err(Error::Identify { word: word::SECTOR, found, expected });
        }
        let mut bits = bit::FILLED | u16::from(self.physical_exponent);
        if self.physical_exponent > 0 {
            bits |= bit::MULTIPLE_SECTORS;
        }
        if self.sector != crate::SECTOR {
            bits |= bit::LONG_SECTOR;
            view::put(&mut words[word::SECTOR_WORDS], size / 2);
        }
        words[word::SECTOR] = bits;
        Ok(())
    }

    fn put_transfer(&self, words: &mut [u16; WORDS]) -> Result<(), Error> {
        words[word::MULTIPLE] = 0x8000 | u16::from(self.multiple);
        words[word::CAPABILITIES] = bit::LBA | bit::DMA;
        // Words 64 to 70 and 88 are valid: multiword DMA 0 to 2, PIO 3 and 4 in cycles of 120 ns.
        words[word::VALID] = 0x0006;
        words[word::MULTIWORD] = 0x0007;
        words[word::PIO] = 0x0003;
        words[word::CYCLES].fill(120);
        if self.udma > 6 {
            let (word, found) = (word::UDMA, u64::from(self.udma));
            return Err(Error::Identify { word, found, expected: "a mode of 0 to 6" });
        }
        words[word::UDMA] = ((2 << self.udma) - 1) | (0x0100 << self.udma);
        let speeds = match self.speed {
            Speed::Gen1 => bit::GEN_1,
            Speed::Gen2 => bit::GEN_1 | bit::GEN_2,
            Speed::Gen3 => bit::GEN_1 | bit::GEN_2 | bit::GEN_3,
        };
        words[word::SATA] = speeds;
        if let Some(depth) = self.queue_depth {
            if !(1..=32).contains(&depth) {
                let (word, found) = (word::QUEUE, u64::from(depth));
                return Err(Error::Identify { word, found, expected: "a depth of 1 to 32" });
            }
            words[word::QUEUE] = u16::from(depth - 1);
            words[word::SATA] |= bit::NCQ;
        }
        if self.trims {
            words[word::ADDITIONAL] = bit::DETERMINISTIC_TRIM;
            words[word::TRIM_BLOCKS] = 1;
            words[word::DATA_SET] = bit::TRIM;
        }
        words[word::RESET] = if self.bridged { bit::RESET_OF_DEVICE_0 } else { 0 };
        // A serial transport, with the revisions up to the first one that has the speed: 1.0a, 2.6,
        // 3.0.
        words[word::TRANSPORT] = match self.speed {
            Speed::Gen1 => 0x1003,
            Speed::Gen2 => 0x101F,
            Speed::Gen3 => 0x103F,
        };
        Ok(())
    }

    fn put_features(&self, words: &mut [u16; WORDS]) {
        // ATA/ATAPI-4 to ATA8-ACS.
        words[word::MAJOR] = 0x01F0;
        let features = [(self.write_cache, bit::WRITE_CACHE), (self.look_ahead, bit::LOOK_AHEAD)];
        for (set, on) in [(word::SUPPORTED, false), (word::ENABLED, true)] {
            words[set] = bit::POWER_MANAGEMENT;
            for (feature, bit) in features {
                let there = if on { feature == Feature::On } else { feature != Feature::Absent };
                words[set] |= if there { bit } else { 0 };
            }
            let commands = [
                (self.lba_48, bit::LBA_48),
                (self.flush, bit::FLUSH),
                (self.flush_ext, bit::FLUSH_EXT),
            ];
            for (_, bit) in commands.into_iter().filter(|(there, _)| *there) {
                words[set + 1] |= bit;
            }
        }
        words[word::SUPPORTED + 1] |= bit::FILLED;
        words[word::SUPPORTED + 2] = bit::FILLED;
        words[word::ENABLED + 2] = bit::FILLED;
    }
}

/// Sets the obsolete geometry: 16 heads, 63 sectors, and cylinders up to the limit of 16,383.
fn put_geometry(words: &mut [u16; WORDS], sectors: u64) {
    const TRACKS: u64 = 16 * 63;
    let cylinders = u16::try_from(sectors / TRACKS).unwrap_or(u16::MAX).min(16_383);
    for (at, value) in [(1, cylinders), (3, 16), (6, 63)] {
        words[at] = value;
    }
}

impl Rotation {
    fn word(self) -> Result<u16, Error> {
        match self {
            Self::NotReported => Ok(0),
            Self::NonRotating => Ok(1),
            Self::PerMinute(rpm @ 0x0401..=0xFFFE) => Ok(rpm),
            Self::PerMinute(rpm) => Err(view::invalid_rotation(rpm)),
        }
    }
}

/// Returns the words of a payload.
///
/// # Errors
/// [`Error::IdentifyLength`].
pub fn words(payload: &[u32]) -> Result<[u16; WORDS], Error> {
    if payload.len() != DWORDS {
        return Err(Error::IdentifyLength { found: payload.len() });
    }
    let mut words = [0; WORDS];
    let (pairs, _) = words.as_chunks_mut::<2>();
    for (pair, dword) in pairs.iter_mut().zip(payload) {
        let [a, b, c, d] = dword.to_le_bytes();
        *pair = [u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])];
    }
    Ok(words)
}

impl fmt::Display for Identify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reach = if self.lba_48 { 48 } else { 28 };
        write!(f, "{}, {} sectors of {}", self.model, self.sectors, self.sector)?;
        write!(f, ", {reach}-bit LBA, {}", self.speed)?;
        match self.queue_depth {
            Some(depth) => write!(f, ", NCQ of {depth}"),
            None => f.write_str(", no NCQ"),
        }
    }
}

#[cfg(test)]
mod tests;
