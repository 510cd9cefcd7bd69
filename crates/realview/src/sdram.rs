//! The SDRAM, which starts at address 0.
//!
//! Layer: rank 4. Main type: [`Sdram`]. A snapshot saves only pages that are not zero, so its size
//! follows from what the guest wrote. Left out: banks, rows and refresh; every access has the same
//! wait states ([`crate::Timing`]).

use boardlab_arm926::Width;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The unit in which memory is saved.
const PAGE: usize = 4096;
/// The size of the address range that the board decodes for SDRAM.
pub(crate) const LARGEST: u32 = 256 << 20;

/// The SDRAM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sdram {
    bytes: Vec<u8>,
}

/// The SDRAM's form in a snapshot.
#[derive(Serialize, Deserialize)]
struct SparseMemory<'a> {
    size: u32,
    /// Number and contents of the pages that are not zero, in order.
    #[serde(borrow)]
    pages: Vec<(u32, &'a [u8])>,
}

impl Sdram {
    /// An SDRAM of `size` bytes, all zero.
    pub(crate) fn new(size: u32) -> Self {
        Self { bytes: vec![0; usize::try_from(size).unwrap_or_default()] }
    }

    pub(crate) fn size(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(LARGEST)
    }

    /// `length` bytes at `at`; `None` if the range is not in memory.
    #[inline]
    pub(crate) fn get(&self, at: u32, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(at).ok()?;
        self.bytes.get(start..start.checked_add(length)?)
    }

    /// The 32 bytes at `at`; `None` if they are not in memory.
    #[inline]
    pub(crate) fn line(&self, at: u32) -> Option<&[u8; 32]> {
        self.bytes.get(usize::try_from(at).ok()?..)?.first_chunk()
    }

    /// `length` bytes at `at`, to be changed; `None` if the range is not in memory.
    #[inline]
    pub(crate) fn get_mut(&mut self, at: u32, length: usize) -> Option<&mut [u8]> {
        let start = usize::try_from(at).ok()?;
        self.bytes.get_mut(start..start.checked_add(length)?)
    }

    /// Reads at an aligned address.
    #[inline]
    pub(crate) fn read(&self, at: u32, width: Width) -> Option<u32> {
        match width {
            Width::Byte => self.get(at, 1).map(|part| u32::from(part[0])),
            Width::Half => self.get(at, 2).map(|part| u32::from(part[0]) | u32::from(part[1]) << 8),
            Width::Word => {
                let part = self.get(at, 4)?;
                Some(u32::from_le_bytes([part[0], part[1], part[2], part[3]]))
            }
        }
    }

    /// Writes at an aligned address; `None` if there is no memory.
    #[inline]
    pub(crate) fn write(&mut self, at: u32, width: Width, value: u32) -> Option<()> {
        let bytes = value.to_le_bytes();
        match width {
            Width::Byte => self.get_mut(at, 1)?.copy_from_slice(&bytes[..1]),
            Width::Half => self.get_mut(at, 2)?.copy_from_slice(&bytes[..2]),
            Width::Word => self.get_mut(at, 4)?.copy_from_slice(&bytes),
        }
        Some(())
    }
}

impl Serialize for Sdram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pages = (0..).zip(self.bytes.chunks(PAGE));
        let pages = pages.filter(|(_, page)| **page != [0; PAGE][..page.len()]);
        SparseMemory { size: self.size(), pages: pages.collect() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Sdram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let saved = SparseMemory::deserialize(deserializer)?;
        if saved.size > LARGEST {
            return Err(D::Error::custom("more SDRAM than the board decodes"));
        }
        let mut memory = Self::new(saved.size);
        for (number, contents) in saved.pages {
            let start = usize::try_from(number).ok().and_then(|number| number.checked_mul(PAGE));
            let place =
                start.and_then(|start| memory.bytes.get_mut(start..)?.get_mut(..contents.len()));
            let place = place.ok_or_else(|| D::Error::custom("a page beyond the SDRAM"))?;
            place.copy_from_slice(contents);
        }
        Ok(memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_as_large_as_what_was_written() {
        let mut memory = Sdram::new(128 << 20);
        memory.write(0x20, Width::Word, 0x1234_5678).unwrap();
        memory.write(0x7FF_FFFF, Width::Byte, 0x9A).unwrap();
        let saved = postcard::to_stdvec(&memory).unwrap();
        assert!(saved.len() < 3 * PAGE, "{}", saved.len());
        let back: Sdram = postcard::from_bytes(&saved).unwrap();
        assert!(back == memory);
    }

    #[test]
    fn pages_beyond_the_memory_and_absurd_sizes_are_refused() {
        let pages = vec![(1_u32, &[1_u8; PAGE][..])];
        let saved = postcard::to_stdvec(&SparseMemory { size: 4096, pages }).unwrap();
        assert!(postcard::from_bytes::<Sdram>(&saved).is_err());
        let saved =
            postcard::to_stdvec(&SparseMemory { size: u32::MAX, pages: Vec::new() }).unwrap();
        assert!(postcard::from_bytes::<Sdram>(&saved).is_err());
    }

    #[test]
    fn accesses_across_the_end_are_refused() {
        let mut memory = Sdram::new(4096);
        assert_eq!(memory.read(4092, Width::Word), Some(0));
        assert_eq!(memory.read(4096, Width::Byte), None);
        assert_eq!(memory.write(u32::MAX, Width::Byte, 0), None);
        assert!(memory.get(4080, 32).is_none());
    }
}
