//! Fields of a FIS: ranges of bits in a dword.
//!
//! Layer: format; the files beside this one define their layouts by these. Main type: [`Field`].

/// A range of bits in a dword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    dword: usize,
    low: u32,
    mask: u32,
}

/// The field of bits `low` to `low + width - 1` of dword `dword`.
pub(super) const fn bits(dword: usize, low: u32, width: u32) -> Field {
    Field { dword, low, mask: u32::MAX >> (32 - width) }
}

impl Field {
    #[inline]
    pub(super) const fn get(self, words: &[u32]) -> u32 {
        (words[self.dword] >> self.low) & self.mask
    }

    #[inline]
    pub(super) const fn flag(self, words: &[u32]) -> bool {
        self.get(words) != 0
    }

    /// The lowest byte of the field.
    #[inline]
    pub(super) fn byte(self, words: &[u32]) -> u8 {
        self.get(words).to_le_bytes()[0]
    }

    /// The lower half of the field.
    #[inline]
    pub(super) fn half(self, words: &[u32]) -> u16 {
        let [low, high, ..] = self.get(words).to_le_bytes();
        u16::from_le_bytes([low, high])
    }

    /// Sets the field, which must be zero. Bits of `value` beyond the width are dropped.
    #[inline]
    pub(super) fn put(self, words: &mut [u32], value: impl Into<u32>) {
        words[self.dword] |= (value.into() & self.mask) << self.low;
    }
}

/// The LBA of 48 bits in two fields of 24.
#[inline]
pub(super) fn lba(words: &[u32], low: Field, high: Field) -> u64 {
    u64::from(low.get(words)) | u64::from(high.get(words)) << 24
}

/// Sets both fields of an LBA.
///
/// # Panics
/// If it needs more than 48 bits.
#[inline]
pub(super) fn put_lba(words: &mut [u32], low: Field, high: Field, lba: u64) {
    let upper = u32::try_from(lba >> 24).ok().filter(|upper| upper >> 24 == 0);
    let [a, b, c, ..] = lba.to_le_bytes();
    low.put(words, u32::from_le_bytes([a, b, c, 0]));
    high.put(words, upper.expect("put_lba: an LBA of more than 48 bits"));
}
