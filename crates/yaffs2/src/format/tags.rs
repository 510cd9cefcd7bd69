//! Packed tags 2: what a chunk is, in its spare bytes or at the end of its data.
//!
//! Layer: rank 5, format. Main types: [`Tags`], [`Extra`], [`TagsEcc`].
//!
//! ```text
//!  0          4           8          12        16          17..20   20             24
//!  | sequence | object    | chunk    | bytes   | columns   |        | lines        | lines'
//! ```
//! The first 16 bytes are the tags, the other 12 their code, where the driver protects them. A chunk with
//! number 0 is the header of its object. The header of anything but a file of 2 GiB and more has extra
//! information in its tags, so that a scan need not read the header itself:
//!
//! ```text
//!  object: type << 28 | number      chunk: 8000_0000 | shrink 4000_0000 | shadows 2000_0000 | parent
//!  bytes:  the size of a file, or the object that a hard link leads to
//! ```
//! The code is a parity of each bit of the position of a byte, of each bit of the position within it, and of
//! their complements: it corrects one bit of 128.
//!
//! Source: `core/yaffs_packedtags2.c`, `core/yaffs_ecc.c`.

use super::{ByteOrder, ObjectType, to_u32};

/// Bytes of the tags.
pub const SIZE: usize = 16;
/// Bytes of the tags and their code.
pub const PROTECTED: usize = 28;

const EXTRA: u32 = 0x8000_0000;
const SHRINK: u32 = 0x4000_0000;
const SHADOWS: u32 = 0x2000_0000;
const FLAGS: u32 = 0xF000_0000;
const TYPE_SHIFT: u32 = 28;

/// What a chunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tags {
    /// The sequence number of its block: later blocks have higher ones. Zero on YAFFS1.
    pub sequence: u32,
    /// Its object.
    pub object: u32,
    /// The number of the chunk in its file, from 1; 0 for an object header.
    pub chunk: u32,
    /// Valid bytes of data.
    pub bytes: u32,
    /// What the tags of an object header say about the object.
    pub extra: Option<Extra>,
    /// Two bits that tell which of two copies is newer, on YAFFS1.
    pub serial: u8,
    /// Whether the chunk was deleted, on YAFFS1.
    pub deleted: bool,
}

/// What the tags of an object header say about the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extra {
    /// The number of its type: see [`Extra::kind`].
    pub kind: u8,
    /// The directory.
    pub parent: u32,
    /// Whether everything beyond the size is void that was written before.
    pub shrink: bool,
    /// Whether the object takes the place of another.
    pub shadows: bool,
    /// The size of a file.
    pub size: u64,
    /// The object that a hard link leads to.
    pub equivalent: u32,
}

impl Extra {
    /// What the object is.
    #[must_use]
    pub fn kind(&self) -> ObjectType {
        ObjectType::of(u32::from(self.kind))
    }

    fn is(&self, kind: ObjectType) -> bool {
        self.kind() == kind
    }

    /// Whether it fits into the tags: sizes of files from 2 GiB do not.
    fn fits(&self) -> bool {
        !self.is(ObjectType::File) || self.size >> 31 == 0
    }
}

impl Tags {
    /// The tags as they lie on flash.
    #[must_use]
    pub fn emit(&self, order: ByteOrder) -> [u8; SIZE] {
        let mut fields = [self.sequence, self.object, self.chunk, self.bytes];
        if let Some(extra) = self.extra.filter(|extra| self.chunk == 0 && extra.fits()) {
            fields[1] = self.object & !FLAGS | u32::from(extra.kind) << TYPE_SHIFT;
            fields[2] = EXTRA | extra.parent;
            fields[2] |= if extra.shrink { SHRINK } else { 0 };
            fields[2] |= if extra.shadows { SHADOWS } else { 0 };
            fields[3] = if extra.is(ObjectType::HardLink) {
                extra.equivalent
            } else if extra.is(ObjectType::File) {
                u32::try_from(extra.size).expect("below 2 GiB")
            } else {
                0
            };
        }
        let mut bytes = [0; SIZE];
        for (at, field) in fields.into_iter().enumerate() {
            order.put32(&mut bytes, at * 4..at * 4 + 4, field);
        }
        bytes
    }

    /// The tags in the first 16 of `bytes`; `None` on a chunk that was not programmed.
    ///
    /// # Panics
    /// When there are fewer.
    #[must_use]
    pub fn parse(bytes: &[u8], order: ByteOrder) -> Option<Self> {
        let field = |at: usize| order.get32(bytes, at * 4..at * 4 + 4);
        let (sequence, object, chunk, count) = (field(0), field(1), field(2), field(3));
        if sequence == u32::MAX {
            return None;
        }
        let plain = Self { sequence, object, chunk, bytes: count, ..Self::default() };
        if chunk & EXTRA == 0 {
            return Some(plain);
        }
        let kind = u8::try_from(object >> TYPE_SHIFT).expect("four bits");
        let mut extra = Extra {
            kind,
            parent: chunk & !FLAGS,
            shrink: chunk & SHRINK != 0,
            shadows: chunk & SHADOWS != 0,
            ..Extra::default()
        };
        if extra.is(ObjectType::HardLink) {
            extra.equivalent = count;
        } else {
            extra.size = u64::from(count);
        }
        Some(Self { object: object & !FLAGS, chunk: 0, bytes: 0, extra: Some(extra), ..plain })
    }
}

/// The code over the tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagsEcc {
    columns: u8,
    lines: u32,
    lines_complement: u32,
}

/// What a check of the code found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// No error.
    Right,
    /// One wrong bit, now corrected.
    Corrected,
    /// More wrong bits than can be corrected.
    Wrong,
}

/// The tags as spare bytes: [`PROTECTED`] with their code, [`SIZE`] without.
#[must_use]
pub fn emit(tags: &Tags, order: ByteOrder, protected: bool) -> Vec<u8> {
    let packed = tags.emit(order);
    let mut spare = Vec::with_capacity(PROTECTED);
    spare.extend(packed);
    if protected {
        spare.extend(TagsEcc::of(&packed).emit(order));
    }
    spare
}

/// The tags in spare bytes, corrected by their code if there is one behind them; `None` on a chunk that was not
/// programmed.
///
/// # Panics
/// When there are neither [`SIZE`] nor [`PROTECTED`].
#[must_use]
pub fn parse(spare: &[u8], order: ByteOrder) -> (Option<Tags>, Checked) {
    let (packed, code) = spare.split_at(SIZE);
    let mut packed: [u8; SIZE] = packed.try_into().expect("split there");
    let mut checked = Checked::Right;
    if !code.is_empty() && packed[..4] != [0xFF; 4] {
        checked = TagsEcc::parse(code, order).correct(&mut packed);
    }
    (Tags::parse(&packed, order), checked)
}

impl TagsEcc {
    /// The code of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let (mut columns, mut lines, mut lines_complement) = (0, 0, 0);
        for (position, &byte) in (0_u32..).zip(bytes) {
            columns ^= column_parity(byte);
            if byte.count_ones() % 2 == 1 {
                lines ^= position;
                lines_complement ^= !position;
            }
        }
        Self { columns, lines, lines_complement }
    }

    /// The code in the 12 bytes behind the tags. YAFFS leaves it in the order of the machine, even where it turns
    /// the tags around: the order counts in which the first word can be one.
    ///
    /// # Panics
    /// When there are fewer.
    #[must_use]
    pub fn parse(bytes: &[u8], order: ByteOrder) -> Self {
        let (mut lines, mut lines_complement) =
            (order.get32(bytes, 4..8), order.get32(bytes, 8..12));
        let can_be = |lines: u32| lines < to_u32(SIZE);
        if !can_be(lines) && can_be(lines.swap_bytes()) {
            (lines, lines_complement) = (lines.swap_bytes(), lines_complement.swap_bytes());
        }
        Self { columns: bytes[0], lines, lines_complement }
    }

    /// The code as it lies on flash.
    #[must_use]
    pub fn emit(&self, order: ByteOrder) -> [u8; PROTECTED - SIZE] {
        let mut bytes = [0; PROTECTED - SIZE];
        bytes[0] = self.columns;
        order.put32(&mut bytes, 4..8, self.lines);
        order.put32(&mut bytes, 8..12, self.lines_complement);
        bytes
    }

    /// Checks `bytes` by this code, and corrects one bit.
    pub fn correct(&self, bytes: &mut [u8]) -> Checked {
        let found = Self::of(bytes);
        let columns = self.columns ^ found.columns;
        let lines = self.lines ^ found.lines;
        let complement = self.lines_complement ^ found.lines_complement;
        if (columns, lines, complement) == (0, 0, 0) {
            return Checked::Right;
        }
        if lines == !complement && (columns ^ columns >> 1) & 0x15 == 0x15 {
            let bit = columns >> 3 & 4 | columns >> 2 & 2 | columns >> 1 & 1;
            let hit = usize::try_from(lines).ok().and_then(|line| bytes.get_mut(line));
            return hit.map_or(Checked::Wrong, |byte| {
                *byte ^= 1 << bit;
                Checked::Corrected
            });
        }
        let wrong = columns.count_ones() + lines.count_ones() + complement.count_ones();
        if wrong == 1 { Checked::Corrected } else { Checked::Wrong }
    }
}

/// Of a byte the parities of the bits at the positions with bit 0, 1 and 2 clear and set, from the lowest
/// bit on.
fn column_parity(byte: u8) -> u8 {
    const SET: [u8; 3] = [0xAA, 0xCC, 0xF0];
    let odd = |mask: u8| u8::from((byte & mask).count_ones() % 2 == 1);
    SET.iter().enumerate().fold(0, |columns, (bit, &mask)| {
        columns | odd(!mask) << (2 * bit) | odd(mask) << (2 * bit + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LITTLE: ByteOrder = ByteOrder::Little;

    fn header() -> Tags {
        let extra = Extra { kind: 1, parent: 1, size: 5_000, ..Extra::default() };
        Tags { sequence: 0x1001, object: 257, extra: Some(extra), ..Tags::default() }
    }

    #[test]
    fn a_data_chunk_and_a_header_have_their_known_bytes() {
        let data = Tags { sequence: 0x1002, object: 258, chunk: 3, bytes: 904, ..Tags::default() };
        let expected = [2, 0x10, 0, 0, 2, 1, 0, 0, 3, 0, 0, 0, 0x88, 3, 0, 0];
        assert_eq!(data.emit(LITTLE), expected);
        let expected = [1, 0x10, 0, 0, 1, 1, 0, 0x10, 1, 0, 0, 0x80, 0x88, 0x13, 0, 0];
        assert_eq!(header().emit(LITTLE), expected);
        let big = [0, 0, 0x10, 1, 0x10, 0, 1, 1, 0x80, 0, 0, 1, 0, 0, 0x13, 0x88];
        assert_eq!(header().emit(ByteOrder::Big), big);
        for tags in [data, header()] {
            for order in [LITTLE, ByteOrder::Big] {
                assert_eq!(Tags::parse(&tags.emit(order), order), Some(tags));
            }
        }
        assert_eq!(Tags::parse(&[0xFF; 16], LITTLE), None);
    }

    #[test]
    fn a_file_of_two_gib_has_no_extra_information() {
        let extra = Extra { kind: 1, parent: 1, size: 1 << 31, ..Extra::default() };
        let tags = Tags { extra: Some(extra), ..header() };
        let found = Tags::parse(&tags.emit(LITTLE), LITTLE).unwrap();
        assert_eq!(found, Tags { extra: None, ..tags });
        let link = Extra { kind: 4, parent: 1, equivalent: 300, ..Extra::default() };
        let link = Tags { extra: Some(link), ..header() };
        assert_eq!(Tags::parse(&link.emit(LITTLE), LITTLE), Some(link));
    }

    #[test]
    fn every_single_bit_is_corrected_and_every_pair_is_told() {
        let right = header().emit(LITTLE);
        let code = TagsEcc::of(&right);
        assert_eq!(TagsEcc::parse(&code.emit(LITTLE), LITTLE), code);
        for bit in 0..128 {
            let mut bytes = right;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(code.correct(&mut bytes), Checked::Corrected);
            assert_eq!(bytes, right);
            for other in 0..bit {
                bytes = right;
                bytes[bit / 8] ^= 1 << (bit % 8);
                bytes[other / 8] ^= 1 << (other % 8);
                assert_eq!(code.correct(&mut bytes), Checked::Wrong, "{bit} {other}");
            }
        }
        let damaged = TagsEcc { columns: code.columns ^ 4, ..code };
        assert_eq!(damaged.correct(&mut right.clone()), Checked::Corrected);
        assert_eq!(code.correct(&mut right.clone()), Checked::Right);
    }

    #[test]
    fn the_code_is_read_in_either_order() {
        let code = TagsEcc { columns: 5, lines: 14, lines_complement: !14 };
        for (written, read) in [(LITTLE, ByteOrder::Big), (ByteOrder::Big, LITTLE)] {
            assert_eq!(TagsEcc::parse(&code.emit(written), read), code);
        }
    }
}
