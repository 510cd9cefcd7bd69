//! What a host reads in IDENTIFY data before it asks for sectors.
//!
//! Layer: between [`crate::wire`] and the checks of jobs. Main type: [`Drive`].

use crate::host::report::Refusal;

/// What a drive says of itself, as far as a host's commands depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Drive {
    /// Sectors that it has.
    pub sectors: u64,
    /// Whether it has 48-bit commands.
    pub extended: bool,
    /// How many queued commands it holds, if any.
    pub queue: Option<u32>,
}

impl Drive {
    /// From the 256 words of IDENTIFY data (ACS-2, 7.12).
    ///
    /// # Errors
    /// [`Refusal::Identity`] where the checksum is wrong or there are no sectors.
    pub fn from_words(words: &[u16; 256]) -> Result<Self, Refusal> {
        let has_checksum = words[255] & 0xFF == 0xA5;
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        if has_checksum && bytes.fold(0_u8, u8::wrapping_add) != 0 {
            return Err(Refusal::Identity("its checksum is wrong"));
        }
        let number = |range: std::ops::Range<usize>| {
            words[range].iter().rev().fold(0, |sum, &word| sum << 16 | u64::from(word))
        };
        // Bits 15 and 14 of word 83 are 01 where the words of features are valid.
        let extended = words[83] & 0xC400 == 0x4400;
        let sectors = if extended { number(100..104) } else { number(60..62) };
        if sectors == 0 {
            return Err(Refusal::Identity("it names no sectors"));
        }
        // Words 76 of 0000h and FFFFh say nothing.
        let queues = words[76] != 0xFFFF && words[76] & 0x100 != 0;
        let queue = queues.then(|| u32::from(words[75] & 0x1F) + 1);
        Ok(Self { sectors, extended, queue })
    }
}
