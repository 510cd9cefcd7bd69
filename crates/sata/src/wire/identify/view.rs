//! The fields of IDENTIFY DEVICE data, and how they are read.
//!
//! Layer: format. Main type: [`IdentifyView`].

use super::{Feature, Identify, Rotation, SECTORS_28, SECTORS_48, WORDS, text};
use crate::wire::Speed;
use crate::wire::error::Error;
use boardlab_sim::Bytes;

pub(super) mod word {
    use std::ops::Range;
    pub(in super::super) const CONFIGURATION: usize = 0;
    pub(in super::super) const SERIAL: Range<usize> = 10..20;
    pub(in super::super) const FIRMWARE: Range<usize> = 23..27;
    pub(in super::super) const MODEL: Range<usize> = 27..47;
    pub(in super::super) const MULTIPLE: usize = 47;
    pub(in super::super) const CAPABILITIES: usize = 49;
    pub(in super::super) const VALID: usize = 53;
    pub(in super::super) const SECTORS_28: Range<usize> = 60..62;
    pub(in super::super) const MULTIWORD: usize = 63;
    pub(in super::super) const PIO: usize = 64;
    pub(in super::super) const CYCLES: Range<usize> = 65..69;
    pub(in super::super) const ADDITIONAL: usize = 69;
    pub(in super::super) const QUEUE: usize = 75;
    pub(in super::super) const SATA: usize = 76;
    pub(in super::super) const MAJOR: usize = 80;
    /// Words 82 to 84.
    pub(in super::super) const SUPPORTED: usize = 82;
    /// Words 85 to 87.
    pub(in super::super) const ENABLED: usize = 85;
    pub(in super::super) const UDMA: usize = 88;
    pub(in super::super) const RESET: usize = 93;
    pub(in super::super) const SECTORS_48: Range<usize> = 100..104;
    pub(in super::super) const TRIM_BLOCKS: usize = 105;
    pub(in super::super) const SECTOR: usize = 106;
    pub(in super::super) const SECTOR_WORDS: Range<usize> = 117..119;
    pub(in super::super) const DATA_SET: usize = 169;
    pub(in super::super) const ROTATION: usize = 217;
    pub(in super::super) const TRANSPORT: usize = 222;
    pub(in super::super) const INTEGRITY: usize = 255;
}

pub(super) mod bit {
    /// Words 83, 84, 87 and 106: this bit set and bit 15 clear mark the word as valid.
    pub(in super::super) const FILLED: u16 = 0x4000;
    /// Word 0: not an ATA device.
    pub(in super::super) const NOT_ATA: u16 = 0x8000;
    /// Word 69: reads of trimmed sectors always return the same data. Bit 5, that they return zeros,
    /// would be wrong for partly trimmed pages.
    pub(in super::super) const DETERMINISTIC_TRIM: u16 = 0x4000;
    /// Word 169.
    pub(in super::super) const TRIM: u16 = 0x0001;
    pub(in super::super) const DMA: u16 = 0x0100;
    pub(in super::super) const LBA: u16 = 0x0200;
    pub(in super::super) const GEN_1: u16 = 0x0002;
    pub(in super::super) const GEN_2: u16 = 0x0004;
    pub(in super::super) const GEN_3: u16 = 0x0008;
    pub(in super::super) const NCQ: u16 = 0x0100;
    pub(in super::super) const POWER_MANAGEMENT: u16 = 0x0008;
    pub(in super::super) const WRITE_CACHE: u16 = 0x0020;
    pub(in super::super) const LOOK_AHEAD: u16 = 0x0040;
    pub(in super::super) const LBA_48: u16 = 0x0400;
    pub(in super::super) const FLUSH: u16 = 0x1000;
    pub(in super::super) const FLUSH_EXT: u16 = 0x2000;
    pub(in super::super) const LONG_SECTOR: u16 = 0x1000;
    pub(in super::super) const MULTIPLE_SECTORS: u16 = 0x2000;
    /// Word 93: valid, device 0 selected by its jumper, CBLID above its threshold.
    pub(in super::super) const RESET_OF_DEVICE_0: u16 = 0x6001;
    /// The lower byte of word 255 if the upper one is a checksum.
    pub(in super::super) const SIGNATURE: u8 = 0xA5;
}

/// Words that hold IDENTIFY DEVICE data.
#[derive(Debug, Clone, Copy)]
pub struct IdentifyView<'a>(&'a [u16; WORDS]);

impl<'a> IdentifyView<'a> {
    /// Views `words` if they come from an ATA device with LBA, and their checksum, if there is one, is
    /// right.
    ///
    /// # Errors
    /// [`Error::IdentifyChecksum`], [`Error::Identify`].
    pub fn new(words: &'a [u16; WORDS]) -> Result<Self, Error> {
        let [signature, found] = words[word::INTEGRITY].to_le_bytes();
        let expected = checksum(words);
        if signature == bit::SIGNATURE && found != expected {
            return Err(Error::IdentifyChecksum { expected, found });
        }
        let view = Self(words);
        let is_ata = words[word::CONFIGURATION] & bit::NOT_ATA == 0;
        view.expect(word::CONFIGURATION, is_ata, "bit 15 clear, an ATA device")?;
        let has_lba = words[word::CAPABILITIES] & bit::LBA != 0;
        view.expect(word::CAPABILITIES, has_lba, "bit 9 set, LBA")?;
        Ok(view)
    }

    /// Views `words` whatever they are.
    #[must_use]
    pub const fn new_unchecked(words: &'a [u16; WORDS]) -> Self {
        Self(words)
    }

    fn expect(self, word: usize, good: bool, expected: &'static str) -> Result<(), Error> {
        let found = u64::from(self.0[word]);
        if good { Ok(()) } else { Err(Error::Identify { word, found, expected }) }
    }

    /// The sectors in reach of commands with 28-bit LBA.
    #[must_use]
    pub fn sectors_28(&self) -> u64 {
        number(&self.0[word::SECTORS_28])
    }

    /// The sectors in reach of commands with 48-bit LBA.
    #[must_use]
    pub fn sectors_48(&self) -> u64 {
        number(&self.0[word::SECTORS_48])
    }

    /// Whether the drive supports 48-bit LBA, and reports the number of sectors.
    #[must_use]
    pub fn lba_48(&self) -> bool {
        self.has_command(bit::LBA_48) && self.sectors_48() != 0
    }

    /// Whether word 83 is valid and contains `command`.
    fn has_command(self, command: u16) -> bool {
        is_filled(self.0[word::SUPPORTED + 1]) && self.0[word::SUPPORTED + 1] & command != 0
    }

    /// The state of a feature by words 82 and 85.
    fn feature(self, feature: u16) -> Feature {
        let there = is_filled(self.0[word::SUPPORTED + 1]);
        if !there || self.0[word::SUPPORTED] & feature == 0 {
            return Feature::Absent;
        }
        let on = is_filled(self.0[word::ENABLED + 2]) && self.0[word::ENABLED] & feature != 0;
        if on { Feature::On } else { Feature::Off }
    }

    /// Word 76, or 0 if it is not valid.
    fn sata(self) -> u16 {
        Some(self.0[word::SATA]).filter(|&bits| bits != u16::MAX).unwrap_or(0)
    }

    /// The fastest speed of the link; without word 76, the first generation.
    #[must_use]
    pub fn speed(&self) -> Speed {
        match self.sata() {
            bits if bits & bit::GEN_3 != 0 => Speed::Gen3,
            bits if bits & bit::GEN_2 != 0 => Speed::Gen2,
            _ => Speed::Gen1,
        }
    }

    /// The queue depth of NCQ, 1 to 32; `None` without NCQ.
    #[must_use]
    pub fn queue_depth(&self) -> Option<u8> {
        let depth = (self.0[word::QUEUE] & 0x1F).to_le_bytes()[0] + 1;
        (self.sata() & bit::NCQ != 0).then_some(depth)
    }

    /// Whether the drive supports DATA SET MANAGEMENT with TRIM.
    #[must_use]
    pub const fn trims(&self) -> bool {
        self.0[word::DATA_SET] & bit::TRIM != 0
    }

    /// The highest Ultra DMA mode, 0 to 6; 0 if there is none.
    fn udma(self) -> u8 {
        let modes = self.0[word::UDMA] & 0x7F;
        (0..=6).rev().find(|mode| modes >> mode & 1 == 1).unwrap_or(0)
    }

    /// Word 106, or 0 if it is not valid.
    fn sector_bits(self) -> u16 {
        Some(self.0[word::SECTOR]).filter(|&bits| is_filled(bits)).unwrap_or(0)
    }

    /// The size of a logical sector.
    ///
    /// # Errors
    /// [`Error::Identify`] if it is not a multiple of 512 bytes.
    pub fn sector(&self) -> Result<Bytes, Error> {
        if self.sector_bits() & bit::LONG_SECTOR == 0 {
            return Ok(crate::SECTOR);
        }
        let words = number(&self.0[word::SECTOR_WORDS]);
        if words == 0 || !words.is_multiple_of(256) {
            return Err(invalid_sector(words));
        }
        Ok(Bytes::new(words * 2))
    }

    fn physical_exponent(self) -> u8 {
        let bits = self.sector_bits();
        if bits & bit::MULTIPLE_SECTORS == 0 { 0 } else { (bits & 0x0F).to_le_bytes()[0] }
    }

    fn sectors(self) -> Result<u64, Error> {
        let long = self.lba_48();
        let (found, limit) =
            if long { (self.sectors_48(), SECTORS_48) } else { (self.sectors_28(), SECTORS_28) };
        let good = (1..=limit).contains(&found);
        if good { Ok(found) } else { Err(invalid_sectors(long, found)) }
    }

    fn rotation(self) -> Result<Rotation, Error> {
        match self.0[word::ROTATION] {
            0 => Ok(Rotation::NotReported),
            1 => Ok(Rotation::NonRotating),
            rpm @ 0x0401..=0xFFFE => Ok(Rotation::PerMinute(rpm)),
            other => Err(invalid_rotation(other)),
        }
    }

    /// Parses the fields that the models here use.
    ///
    /// # Errors
    /// [`Error::Identify`], [`Error::IdentifyText`].
    pub fn parse(&self) -> Result<Identify, Error> {
        Ok(Identify {
            serial: text::get(self.0, word::SERIAL)?,
            firmware: text::get(self.0, word::FIRMWARE)?,
            model: text::get(self.0, word::MODEL)?,
            sectors: self.sectors()?,
            lba_48: self.lba_48(),
            speed: self.speed(),
            queue_depth: self.queue_depth(),
            trims: self.trims(),
            multiple: self.0[word::MULTIPLE].to_le_bytes()[0],
            udma: self.udma(),
            write_cache: self.feature(bit::WRITE_CACHE),
            look_ahead: self.feature(bit::LOOK_AHEAD),
            flush: self.has_command(bit::FLUSH),
            flush_ext: self.has_command(bit::FLUSH_EXT),
            bridged: self.0[word::RESET] != 0,
            sector: self.sector()?,
            physical_exponent: self.physical_exponent(),
            rotation: self.rotation()?,
        })
    }
}

const fn is_filled(word: u16) -> bool {
    word & 0xC000 == bit::FILLED
}

/// The number in two or four words, the least significant one first.
fn number(words: &[u16]) -> u64 {
    words.iter().rev().fold(0, |number, &word| number << 16 | u64::from(word))
}

/// Stores `number` in words, the least significant one first.
pub(super) fn put(words: &mut [u16], number: u64) {
    let bytes = number.to_le_bytes();
    let (pairs, _) = bytes.as_chunks::<2>();
    words.iter_mut().zip(pairs).for_each(|(word, pair)| *word = u16::from_le_bytes(*pair));
}

/// The byte that makes the sum of all bytes 0 modulo 256.
pub(super) fn checksum(words: &[u16; WORDS]) -> u8 {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes()).take(2 * WORDS - 1);
    bytes.fold(0_u8, u8::wrapping_sub)
}

pub(super) const fn invalid_sectors(long: bool, found: u64) -> Error {
    if long {
        let expected = "1 to 2^48 sectors";
        return Error::Identify { word: word::SECTORS_48.start, found, expected };
    }
    let expected = "1 to 2^28 - 1 sectors";
    Error::Identify { word: word::SECTORS_28.start, found, expected }
}

pub(super) const fn invalid_sector(words: u64) -> Error {
    let expected = "a multiple of 256, the words of a logical sector";
    Error::Identify { word: word::SECTOR_WORDS.start, found: words, expected }
}

pub(super) fn invalid_rotation(found: u16) -> Error {
    let expected = "0, 1, or 1025 to 65534 rpm";
    Error::Identify { word: word::ROTATION, found: u64::from(found), expected }
}
