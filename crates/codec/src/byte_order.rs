//! The byte order of multi-byte numbers on flash.
//!
//! Layer: rank 1. Main type: [`ByteOrder`].

use std::fmt;
use std::ops::Range;

/// The order of the bytes of a number: that of the CPU that wrote the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ByteOrder {
    /// The least significant byte first: ARM, x86.
    #[default]
    Little,
    /// The most significant byte first: PowerPC, most MIPS boards.
    Big,
}

impl ByteOrder {
    /// The opposite order.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Little => Self::Big,
            Self::Big => Self::Little,
        }
    }

    /// The number in two bytes.
    #[must_use]
    pub const fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    /// The number in four bytes.
    #[must_use]
    pub const fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    /// A number as two bytes.
    #[must_use]
    pub const fn bytes16(self, value: u16) -> [u8; 2] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    /// A number as four bytes.
    #[must_use]
    pub const fn bytes32(self, value: u32) -> [u8; 4] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    /// The number in the field `at` of `bytes`, which is two bytes wide and within them.
    ///
    /// # Panics
    /// When it is not.
    #[must_use]
    pub fn get16(self, bytes: &[u8], at: Range<usize>) -> u16 {
        self.u16(bytes[at].try_into().expect("the field is two bytes wide"))
    }

    /// The number in the field `at` of `bytes`, which is four bytes wide and within them.
    ///
    /// # Panics
    /// When it is not.
    #[must_use]
    pub fn get32(self, bytes: &[u8], at: Range<usize>) -> u32 {
        self.u32(bytes[at].try_into().expect("the field is four bytes wide"))
    }

    /// Puts a number into the field `at` of `bytes`, which is two bytes wide and within them.
    ///
    /// # Panics
    /// When it is not.
    pub fn put16(self, bytes: &mut [u8], at: Range<usize>, value: u16) {
        bytes[at].copy_from_slice(&self.bytes16(value));
    }

    /// Puts a number into the field `at` of `bytes`, which is four bytes wide and within them.
    ///
    /// # Panics
    /// When it is not.
    pub fn put32(self, bytes: &mut [u8], at: Range<usize>, value: u32) {
        bytes[at].copy_from_slice(&self.bytes32(value));
    }
}

impl fmt::Display for ByteOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Little => "little-endian",
            Self::Big => "big-endian",
        })
    }
}
