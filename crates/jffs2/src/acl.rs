//! Access lists, which JFFS2 stores in another form than programs see.
//!
//! Layer: rank 5. Functions: [`stored`], the form on flash; [`seen`], that of programs.
//!
//! ```text
//!  programs  version 2 (32 bits) | tag (16), permissions (16), ID (32) | ...     little-endian
//!  JFFS2     version 1 (32 bits) | tag (16), permissions (16) [, ID (32)] | ...  the ID of a user or group alone
//! ```
//! Source: Linux 6.1, `fs/jffs2/acl.c`, `include/uapi/linux/posix_acl_xattr.h`.

use crate::format::ByteOrder;

/// Tags of entries with the ID of a user or a group.
const NAMED: [u16; 2] = [0x02, 0x08];
/// Those of the owner, its group, the mask and all others.
const UNNAMED: [u16; 4] = [0x01, 0x04, 0x10, 0x20];
/// The ID of entries without one.
const NO_ID: u32 = u32::MAX;

/// A list as JFFS2 stores it, of one as programs see it; `None` when it is none.
pub(crate) fn stored(seen: &[u8], order: ByteOrder) -> Option<Vec<u8>> {
    let entries = seen.strip_prefix(&[2, 0, 0, 0])?;
    if entries.len() % 8 != 0 {
        return None;
    }
    let mut stored = order.bytes32(1).to_vec();
    for entry in entries.chunks_exact(8) {
        let little = ByteOrder::Little;
        let (tag, permissions) = (little.get16(entry, 0..2), little.get16(entry, 2..4));
        if !NAMED.contains(&tag) && !UNNAMED.contains(&tag) {
            return None;
        }
        stored.extend(order.bytes16(tag));
        stored.extend(order.bytes16(permissions));
        if NAMED.contains(&tag) {
            stored.extend(order.bytes32(little.get32(entry, 4..8)));
        }
    }
    Some(stored)
}

/// A list as programs see it, of one as JFFS2 stores it; `None` when it is none.
pub(crate) fn seen(stored: &[u8], order: ByteOrder) -> Option<Vec<u8>> {
    let (version, mut rest) = stored.split_at_checked(4)?;
    if order.get32(version, 0..4) != 1 {
        return None;
    }
    let little = ByteOrder::Little;
    let mut seen = little.bytes32(2).to_vec();
    while !rest.is_empty() {
        let (fixed, behind) = rest.split_at_checked(4)?;
        let (tag, permissions) = (order.get16(fixed, 0..2), order.get16(fixed, 2..4));
        rest = behind;
        let id = if NAMED.contains(&tag) {
            let (id, behind) = rest.split_at_checked(4)?;
            rest = behind;
            order.get32(id, 0..4)
        } else if UNNAMED.contains(&tag) {
            NO_ID
        } else {
            return None;
        };
        seen.extend(little.bytes16(tag));
        seen.extend(little.bytes16(permissions));
        seen.extend(little.bytes32(id));
    }
    Some(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: [u8; 44] = [
        2, 0, 0, 0, // version
        1, 0, 6, 0, 255, 255, 255, 255, // owner rw
        2, 0, 4, 0, 0xE8, 3, 0, 0, // user 1000 r
        4, 0, 4, 0, 255, 255, 255, 255, // group r
        16, 0, 6, 0, 255, 255, 255, 255, // mask rw
        32, 0, 0, 0, 255, 255, 255, 255, // others
    ];

    #[test]
    fn a_list_has_the_form_of_jffs2_and_comes_back() {
        let big = [
            0, 0, 0, 1, 0, 1, 0, 6, 0, 2, 0, 4, 0, 0, 3, 0xE8, 0, 4, 0, 4, 0, 16, 0, 6, 0, 32, 0, 0,
        ];
        assert_eq!(stored(&SEEN, ByteOrder::Big).unwrap(), big);
        for order in [ByteOrder::Little, ByteOrder::Big] {
            assert_eq!(seen(&stored(&SEEN, order).unwrap(), order).unwrap(), SEEN);
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert_eq!(stored(&SEEN[..43], ByteOrder::Big), None);
        assert_eq!(stored(&[1, 0, 0, 0], ByteOrder::Big), None);
        assert_eq!(stored(&[2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0], ByteOrder::Big), None);
        let list = stored(&SEEN, ByteOrder::Little).unwrap();
        // A list may end behind each of its entries.
        let whole = (0..=list.len()).filter(|end| seen(&list[..*end], ByteOrder::Little).is_some());
        assert_eq!(whole.collect::<Vec<_>>(), [4, 8, 16, 20, 24, 28]);
        assert_eq!(seen(&[1, 0, 0, 0, 3, 0, 0, 0], ByteOrder::Little), None);
        assert_eq!(seen(&list, ByteOrder::Big), None);
    }
}
