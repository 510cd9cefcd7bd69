//! The object header: what a chunk with number 0 begins with.
//!
//! Layer: rank 5, format. Main type: [`ObjectHeader`].
//!
//! ```text
//!    0 type        268 mode    284 mtime       300 target, 160 bytes       488 shadowed, in-band
//!    4 parent      272 uid     288 ctime       460 device number           492 shrink, in-band
//!    8 unused, 2   276 gid     292 size, low   464 ctime, 8 bytes          496 size, high
//!   10 name, 256   280 atime   296 link to     472 atime, 8; 480 mtime, 8  504 shadows   508 shrink
//! ```
//! What does not apply to a type is FFh. The times of eight bytes are newer than the format: where they are
//! FFh, those of four bytes count.
//!
//! Source: `struct yaffs_obj_hdr` in `core/yaffs_guts.h`, `yaffs_update_oh` in `core/yaffs_guts.c`.

use super::{ALIAS_MAX, ByteOrder, NAME_MAX, ObjectType, until_nul};
use std::ops::Range;

/// Bytes of a header.
pub const SIZE: usize = 512;

mod field {
    use std::ops::Range;
    pub(super) const TYPE: Range<usize> = 0..4;
    pub(super) const PARENT: Range<usize> = 4..8;
    pub(super) const NAME: Range<usize> = 10..266;
    pub(super) const MODE: Range<usize> = NAME.end + 2..272;
    pub(super) const UID: Range<usize> = 272..276;
    pub(super) const GID: Range<usize> = 276..280;
    pub(super) const ATIME: Range<usize> = 280..284;
    pub(super) const MTIME: Range<usize> = 284..288;
    pub(super) const CTIME: Range<usize> = 288..292;
    pub(super) const SIZE_LOW: Range<usize> = 292..296;
    pub(super) const EQUIVALENT: Range<usize> = 296..300;
    pub(super) const ALIAS: Range<usize> = 300..460;
    pub(super) const RDEV: Range<usize> = 460..464;
    pub(super) const CTIME_LONG: Range<usize> = 464..472;
    pub(super) const ATIME_LONG: Range<usize> = 472..480;
    pub(super) const MTIME_LONG: Range<usize> = 480..488;
    pub(super) const IN_BAND_SHADOWED: Range<usize> = 488..492;
    pub(super) const IN_BAND_SHRINK: Range<usize> = 492..496;
    pub(super) const SIZE_HIGH: Range<usize> = 496..500;
    pub(super) const SHADOWS: Range<usize> = 504..508;
    pub(super) const SHRINK: Range<usize> = 508..512;
}

/// What a header says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectHeader {
    /// The number of the type: see [`ObjectHeader::kind`].
    pub kind: u32,
    /// The directory.
    pub parent: u32,
    /// The name, empty where there is none.
    pub name: Vec<u8>,
    /// File type and permission bits, as `st_mode`.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// Last access, change of the content and of the attributes, in seconds since 1970.
    pub times: Times,
    /// The size of a file; `None` for all others.
    pub size: Option<u64>,
    /// The object that a hard link leads to; `None` for all others.
    pub equivalent: Option<u32>,
    /// The target of a symbolic link; `None` for all others.
    pub alias: Option<Vec<u8>>,
    /// The number of a device, as `st_rdev`.
    pub rdev: u32,
    /// The object whose place this one takes; 0 for none.
    pub shadows: u32,
    /// Whether everything beyond the size is void that was written before.
    pub shrink: bool,
}

/// The times of an object, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// Last access.
    pub accessed: i64,
    /// Last change of the content.
    pub modified: i64,
    /// Last change of the attributes.
    pub changed: i64,
}

impl ObjectHeader {
    /// What the object is.
    #[must_use]
    pub const fn kind(&self) -> ObjectType {
        ObjectType::of(self.kind)
    }

    /// The header in the first [`SIZE`] of `bytes`, which may say anything. With tags in band it names what
    /// it shadows elsewhere.
    ///
    /// # Panics
    /// When there are fewer.
    #[must_use]
    pub fn parse(bytes: &[u8], order: ByteOrder, in_band: bool) -> Self {
        let get = |range: Range<usize>| order.get32(bytes, range);
        let (shadows, shrink) = if in_band {
            (field::IN_BAND_SHADOWED, field::IN_BAND_SHRINK)
        } else {
            (field::SHADOWS, field::SHRINK)
        };
        let time = |short, long: Range<usize>| time(bytes, order, short, long);
        let kind = get(field::TYPE);
        let of = ObjectType::of(kind);
        let size_high = match get(field::SIZE_HIGH) {
            u32::MAX => 0,
            high => u64::from(high) << 32,
        };
        Self {
            kind,
            parent: get(field::PARENT),
            name: until_nul(&bytes[field::NAME][..NAME_MAX]).to_vec(),
            mode: get(field::MODE),
            uid: get(field::UID),
            gid: get(field::GID),
            times: Times {
                accessed: time(field::ATIME, field::ATIME_LONG),
                modified: time(field::MTIME, field::MTIME_LONG),
                changed: time(field::CTIME, field::CTIME_LONG),
            },
            size: (of == ObjectType::File).then(|| size_high | u64::from(get(field::SIZE_LOW))),
            equivalent: (of == ObjectType::HardLink).then(|| get(field::EQUIVALENT)),
            alias: (of == ObjectType::Symlink)
                .then(|| until_nul(&bytes[field::ALIAS][..ALIAS_MAX]).to_vec()),
            rdev: get(field::RDEV),
            shadows: get(shadows),
            shrink: get(shrink) != 0,
        }
    }

    /// Writes the header into the first [`SIZE`] of `bytes`.
    ///
    /// # Panics
    /// When there are fewer, or when name or target are longer than allowed.
    pub fn emit(&self, bytes: &mut [u8], order: ByteOrder, long_times: bool) {
        bytes[..SIZE].fill(0xFF);
        let mut put = |range: Range<usize>, value: u32| order.put32(bytes, range, value);
        put(field::TYPE, self.kind);
        put(field::PARENT, self.parent);
        put(field::MODE, self.mode);
        put(field::UID, self.uid);
        put(field::GID, self.gid);
        put(field::RDEV, self.rdev);
        put(field::SHADOWS, self.shadows);
        put(field::IN_BAND_SHADOWED, self.shadows);
        put(field::SHRINK, u32::from(self.shrink));
        if let Some(equivalent) = self.equivalent {
            put(field::EQUIVALENT, equivalent);
        }
        for (short, long, time) in [
            (field::ATIME, field::ATIME_LONG, self.times.accessed),
            (field::MTIME, field::MTIME_LONG, self.times.modified),
            (field::CTIME, field::CTIME_LONG, self.times.changed),
        ] {
            let [low, high] = words(time);
            put(short, low);
            if long_times {
                put(long.start..long.start + 4, low);
                put(long.start + 4..long.end, high);
            }
        }
        if let Some(size) = self.size {
            put_size(bytes, order, size);
        }
        put_text(&mut bytes[field::NAME], &self.name);
        if let Some(alias) = &self.alias {
            put_text(&mut bytes[field::ALIAS], alias);
        }
    }
}

/// Changes the size of a file in a header; the rest stays.
pub(crate) fn put_size(bytes: &mut [u8], order: ByteOrder, size: u64) {
    let low = u32::try_from(size & u64::from(u32::MAX)).expect("masked");
    order.put32(bytes, field::SIZE_LOW, low);
    order.put32(bytes, field::SIZE_HIGH, u32::try_from(size >> 32).expect("32 bits"));
}

/// Takes back that the header shrinks a file or shadows an object; the rest stays.
pub(crate) fn clear_marks(bytes: &mut [u8], order: ByteOrder) {
    for mark in [field::SHRINK, field::SHADOWS, field::IN_BAND_SHADOWED] {
        order.put32(bytes, mark, 0);
    }
}

fn put_text(field: &mut [u8], text: &[u8]) {
    assert!(text.len() < field.len(), "a text of {} bytes in {}", text.len(), field.len());
    field.fill(0);
    field[..text.len()].copy_from_slice(text);
}

/// A time, by its eight bytes if they are there.
fn time(bytes: &[u8], order: ByteOrder, short: Range<usize>, long: Range<usize>) -> i64 {
    let low = order.get32(bytes, long.start..long.start + 4);
    let high = order.get32(bytes, long.start + 4..long.end);
    if high == u32::MAX {
        return i64::from(order.get32(bytes, short));
    }
    (u64::from(high) << 32 | u64::from(low)).cast_signed()
}

/// The low and the high half of a time.
fn words(time: i64) -> [u32; 2] {
    let bits = time.cast_unsigned();
    [bits & u64::from(u32::MAX), bits >> 32].map(|half| u32::try_from(half).expect("32 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> ObjectHeader {
        ObjectHeader {
            kind: 1,
            parent: 257,
            name: b"a file".to_vec(),
            mode: 0o100_644,
            uid: 1,
            gid: 2,
            times: Times { accessed: 10, modified: 1 << 33, changed: 30 },
            size: Some(5 << 32 | 7),
            ..ObjectHeader::default()
        }
    }

    #[test]
    fn headers_come_back_as_they_were_written() {
        let link = ObjectHeader {
            kind: 2,
            size: None,
            alias: Some(b"../target".to_vec()),
            shadows: 300,
            shrink: true,
            ..file()
        };
        let hard = ObjectHeader { kind: 4, size: None, equivalent: Some(258), ..file() };
        for header in [file(), link, hard] {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let mut bytes = [0; SIZE];
                header.emit(&mut bytes, order, true);
                assert_eq!(ObjectHeader::parse(&bytes, order, false), header);
            }
        }
    }

    #[test]
    fn short_times_and_sizes_of_four_bytes_are_read() {
        let mut bytes = [0; SIZE];
        file().emit(&mut bytes, ByteOrder::Little, false);
        bytes[496..500].fill(0xFF);
        let found = ObjectHeader::parse(&bytes, ByteOrder::Little, false);
        assert_eq!(found.size, Some(7));
        assert_eq!((found.times.accessed, found.times.modified), (10, 0));
        assert_eq!(bytes[..14], [1, 0, 0, 0, 1, 1, 0, 0, 0xFF, 0xFF, b'a', b' ', b'f', b'i']);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic() {
        let found = ObjectHeader::parse(&[0xFF; SIZE], ByteOrder::Little, true);
        assert_eq!((found.name.len(), found.kind()), (NAME_MAX, ObjectType::Unknown));
    }
}
