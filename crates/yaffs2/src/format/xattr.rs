//! Extended attributes: records behind the object header, up to the end of its chunk.
//!
//! Layer: rank 5, format. [`get`], [`list`], [`set`] and [`remove`] on the bytes behind a header.
//!
//! ```text
//!  0        4
//!  | length | name, NUL | value        the next record, or a length that is not positive
//! ```
//! The length counts itself. All attributes of an object fit behind its header, or they do not exist.
//!
//! Source: `core/yaffs_nameval.c`.

use super::{ByteOrder, to_u32, to_usize, until_nul};
use std::ops::Range;

/// Why an attribute cannot be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom;

/// The places of the records, in order. A record that would reach the end does not count, as in YAFFS.
fn records(area: &[u8], order: ByteOrder) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let length = order.get32(area.get(at..at + 4)?, 0..4);
        let end = at.checked_add(to_usize(length))?;
        let sound = length.cast_signed() > 4 && end < area.len();
        sound.then(|| std::mem::replace(&mut at, end)..end)
    })
}

fn parts(record: &[u8]) -> (&[u8], &[u8]) {
    let name = until_nul(&record[4..]);
    let value = record.get(4 + name.len() + 1..).unwrap_or(&[]);
    (name, value)
}

fn find(area: &[u8], order: ByteOrder, name: &[u8]) -> Option<Range<usize>> {
    records(area, order).find(|place| parts(&area[place.clone()]).0 == name)
}

fn used(area: &[u8], order: ByteOrder) -> usize {
    records(area, order).last().map_or(0, |last| last.end)
}

/// The value of an attribute.
#[must_use]
pub fn get<'a>(area: &'a [u8], order: ByteOrder, name: &[u8]) -> Option<&'a [u8]> {
    find(area, order, name).map(|place| parts(&area[place]).1)
}

/// The names of all attributes.
#[must_use]
pub fn list(area: &[u8], order: ByteOrder) -> Vec<&[u8]> {
    records(area, order).map(|place| parts(&area[place]).0).collect()
}

/// Sets an attribute, or changes its value.
///
/// # Errors
/// [`NoRoom`], and nothing is changed.
pub fn set(area: &mut [u8], order: ByteOrder, name: &[u8], value: &[u8]) -> Result<(), NoRoom> {
    let length = 4 + name.len() + 1 + value.len();
    let before = find(area, order, name).map_or(0, |place| place.len());
    // A record that ends where the chunk does would not be found again.
    if used(area, order) - before + length >= area.len() {
        return Err(NoRoom);
    }
    remove(area, order, name);
    let at = used(area, order);
    let record = &mut area[at..at + length];
    order.put32(record, 0..4, to_u32(length));
    record[4..4 + name.len()].copy_from_slice(name);
    record[4 + name.len()] = 0;
    record[5 + name.len()..].copy_from_slice(value);
    // The sources pad the name to the length of the record, which reaches this far.
    let end = area.len().min(at + length + 4);
    area[at + length..end].fill(0);
    Ok(())
}

/// Removes an attribute; returns whether there was one.
pub fn remove(area: &mut [u8], order: ByteOrder, name: &[u8]) -> bool {
    let Some(place) = find(area, order, name) else { return false };
    let length = place.len();
    area.copy_within(place.end.., place.start);
    let end = area.len() - length;
    area[end..].fill(0);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: ByteOrder = ByteOrder::Little;

    #[test]
    fn attributes_are_set_changed_listed_and_removed() {
        let mut area = [0xFF; 64];
        assert_eq!(list(&area, ORDER), Vec::<&[u8]>::new());
        set(&mut area, ORDER, b"user.a", b"one").unwrap();
        set(&mut area, ORDER, b"user.b", b"").unwrap();
        set(&mut area, ORDER, b"user.a", b"three").unwrap();
        assert_eq!(list(&area, ORDER), [b"user.b", b"user.a"]);
        assert_eq!(get(&area, ORDER, b"user.a"), Some(&b"three"[..]));
        assert_eq!(get(&area, ORDER, b"user.b"), Some(&b""[..]));
        assert_eq!(area[..12], *b"\x0B\0\0\0user.b\0\x10");
        assert_eq!(set(&mut area, ORDER, b"user.c", &[0; 50]), Err(NoRoom));
        assert!(remove(&mut area, ORDER, b"user.b"));
        assert!(!remove(&mut area, ORDER, b"user.b"));
        assert_eq!(list(&area, ORDER), [b"user.a"]);
    }

    #[test]
    fn forged_lengths_end_the_list() {
        for length in [0_u32, 3, 4, 64, 65, u32::MAX, i32::MAX.cast_unsigned()] {
            let mut area = [b'x'; 64];
            area[..4].copy_from_slice(&length.to_le_bytes());
            assert!(list(&area, ORDER).is_empty(), "{length}");
        }
    }
}
