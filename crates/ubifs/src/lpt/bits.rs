//! Bit fields of the LEB properties tree: packed end to end, the lowest bit first.
//!
//! Layer: rank 5. Main types: [`BitWriter`], [`BitReader`]. Source: Linux 6.1, `fs/ubifs/lpt.c`,
//! `pack_bits`, `ubifs_unpack_bits`.

/// Appends bit fields to bytes.
#[derive(Debug)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits used of the last byte; 0 when it is full.
    used: u32,
}

impl BitWriter {
    /// Begins behind `bytes`.
    pub(super) const fn after(bytes: Vec<u8>) -> Self {
        Self { bytes, used: 0 }
    }

    /// Appends the lowest `width` bits of `value`, which has no others.
    pub(super) fn put(&mut self, value: u32, width: u32) {
        assert!(
            width <= 32 && u64::from(value) >> width == 0,
            "BitWriter: {value} in {width} bits"
        );
        let (mut value, mut left) = (u64::from(value), width);
        while left > 0 {
            if self.used == 0 {
                self.bytes.push(0);
            }
            let taken = left.min(8 - self.used);
            let low = u8::try_from(value & ((1 << taken) - 1)).expect("at most eight bits");
            *self.bytes.last_mut().expect("a byte was pushed") |= low << self.used;
            self.used = (self.used + taken) % 8;
            value >>= taken;
            left -= taken;
        }
    }

    /// The bytes.
    pub(super) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads bit fields; beyond the end they are zero.
#[derive(Debug)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    /// The next bit.
    at: usize,
}

impl<'a> BitReader<'a> {
    /// Begins at the first byte.
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next `width` bits, at most 32.
    pub(super) fn get(&mut self, width: u32) -> u32 {
        let (mut value, mut got) = (0_u32, 0);
        while got < width {
            let byte = self.bytes.get(self.at / 8).copied().unwrap_or(0);
            let within = u32::try_from(self.at % 8).expect("less than eight");
            let taken = (width - got).min(8 - within);
            let bits = (u32::from(byte) >> within) & ((1 << taken) - 1);
            value |= bits << got;
            got += taken;
            self.at += usize::try_from(taken).expect("at most eight");
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_packed_from_the_lowest_bit_on() {
        let mut writer = BitWriter::after(vec![0xAA]);
        writer.put(0b101, 3);
        writer.put(0x1FF, 9);
        writer.put(0, 2);
        writer.put(3, 2);
        assert_eq!(writer.finish(), [0xAA, 0xFD, 0b1100_1111]);
    }

    #[test]
    fn what_was_packed_is_read_again_at_every_width() {
        let fields: Vec<(u32, u32)> =
            (1..=32).map(|width| (0x9E37_79B9_u32 >> (32 - width), width)).collect();
        let mut writer = BitWriter::after(Vec::new());
        fields.iter().for_each(|&(value, width)| writer.put(value, width));
        let bytes = writer.finish();
        let mut reader = BitReader::new(&bytes);
        for (value, width) in fields {
            assert_eq!(reader.get(width), value, "{width} bits");
        }
        assert_eq!(reader.get(32), 0);
    }
}
