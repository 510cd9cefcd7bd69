//! The extended attribute: a name and its value, which any number of inodes may share.
//!
//! Layer: rank 5, format. Main types: [`XattrView`] over bytes, [`Xattr`], [`XattrPrefix`].
//!
//! ```text
//!  0       12    16        20       21         22           24         28         32
//!  | header | xid | version | prefix | name len | value len  | data crc | node crc | name 00 value
//! ```
//! The node checksum covers the first 28 bytes, the data checksum name, NUL and value.
//!
//! Source: Linux 6.1, `struct jffs2_raw_xattr`.

use super::header::{Header, NodeType};
use super::{ByteOrder, Malformed, checked, crc, length_of, pad, to_usize};
use std::fmt;

/// Bytes before the name.
pub const SIZE: u32 = 32;
/// Bytes that the node checksum covers.
const COVERED: usize = 28;

mod field {
    use std::ops::Range;
    pub(super) const XID: Range<usize> = 12..16;
    pub(super) const VERSION: Range<usize> = 16..20;
    pub(super) const PREFIX: usize = 20;
    pub(super) const NAME_LENGTH: usize = 21;
    pub(super) const VALUE_LENGTH: Range<usize> = 22..24;
    pub(super) const DATA_CRC: Range<usize> = 24..28;
    pub(super) const NODE_CRC: Range<usize> = 28..32;
    pub(super) const NAME: usize = 32;
}

/// The namespace of an attribute, which is a number on flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum XattrPrefix {
    /// `user.`
    User,
    /// `security.`
    Security,
    /// `system.posix_acl_access`, with an empty name.
    AclAccess,
    /// `system.posix_acl_default`, with an empty name.
    AclDefault,
    /// `trusted.`
    Trusted,
    /// A number that this version does not know.
    Unknown(u8),
}

impl XattrPrefix {
    /// Those that have a name.
    pub const ALL: [Self; 5] =
        [Self::User, Self::Security, Self::AclAccess, Self::AclDefault, Self::Trusted];

    /// The number on flash.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::User => 1,
            Self::Security => 2,
            Self::AclAccess => 3,
            Self::AclDefault => 4,
            Self::Trusted => 5,
            Self::Unknown(number) => number,
        }
    }

    /// The namespace of a number on flash.
    #[must_use]
    pub const fn of(number: u8) -> Self {
        match number {
            1 => Self::User,
            2 => Self::Security,
            3 => Self::AclAccess,
            4 => Self::AclDefault,
            5 => Self::Trusted,
            other => Self::Unknown(other),
        }
    }

    /// What stands before the name for a program; empty for a namespace that is not known.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::User => "user.",
            Self::Security => "security.",
            Self::AclAccess => "system.posix_acl_access",
            Self::AclDefault => "system.posix_acl_default",
            Self::Trusted => "trusted.",
            Self::Unknown(_) => "",
        }
    }

    /// Splits a name as programs write it into namespace and the rest.
    #[must_use]
    pub fn split(name: &[u8]) -> Option<(Self, &[u8])> {
        let whole = |prefix: Self| matches!(prefix, Self::AclAccess | Self::AclDefault);
        Self::ALL.into_iter().find_map(|prefix| {
            let rest = name.strip_prefix(prefix.text().as_bytes())?;
            (whole(prefix) == rest.is_empty()).then_some((prefix, rest))
        })
    }
}

impl fmt::Display for XattrPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(number) => f.pad(&format!("unknown ({number})")),
            known => f.pad(known.text()),
        }
    }
}

/// An extended attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Xattr<'a> {
    /// Its number; references name it.
    pub xid: u32,
    /// Its age: of two nodes of one number the one with the higher version counts.
    pub version: u32,
    /// The namespace.
    pub prefix: XattrPrefix,
    /// The name after the namespace.
    pub name: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

/// Bytes that are an attribute node: long enough, with the right node checksum. Name and value may not
/// be among them.
#[derive(Debug, Clone, Copy)]
pub struct XattrView<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> XattrView<'a> {
    /// `bytes` from the header on.
    ///
    /// # Errors
    /// [`Malformed::Short`], [`Malformed::NodeCrc`].
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Result<Self, Malformed> {
        checked(bytes, order, SIZE, COVERED, field::NODE_CRC)?;
        Ok(Self { bytes, order })
    }

    /// The number of the attribute.
    #[must_use]
    pub fn xid(&self) -> u32 {
        self.order.get32(self.bytes, field::XID)
    }

    /// The version.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.order.get32(self.bytes, field::VERSION)
    }

    /// The namespace.
    #[must_use]
    pub const fn prefix(&self) -> XattrPrefix {
        XattrPrefix::of(self.bytes[field::PREFIX])
    }

    /// The total length that the header says.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.order.get32(self.bytes, 4..8)
    }

    /// Bytes of name, NUL and value.
    #[must_use]
    pub fn data_length(&self) -> u32 {
        let value = self.order.get16(self.bytes, field::VALUE_LENGTH);
        u32::from(self.bytes[field::NAME_LENGTH]) + 1 + u32::from(value)
    }

    /// Whether the total length in the header is that of the fields, the name and the value.
    ///
    /// # Errors
    /// [`Malformed::Length`].
    pub fn check_lengths(&self) -> Result<(), Malformed> {
        let (total, needed) = (self.length(), SIZE + self.data_length());
        if u64::from(total).next_multiple_of(4) == u64::from(needed).next_multiple_of(4) {
            return Ok(());
        }
        Err(Malformed::Length { total, needed: u64::from(needed) })
    }

    /// All fields, name and value.
    ///
    /// # Errors
    /// [`Malformed::Short`] when they are not whole, [`Malformed::DataCrc`], [`Malformed::Value`] when
    /// no NUL ends the name.
    pub fn parse(&self) -> Result<Xattr<'a>, Malformed> {
        let needed = SIZE + self.data_length();
        let Some(data) = self.bytes.get(field::NAME..to_usize(needed)) else {
            return Err(Malformed::Short { expected: needed, found: length_of(self.bytes) });
        };
        let (expected, found) = (self.order.get32(self.bytes, field::DATA_CRC), crc(0, data));
        if expected != found {
            return Err(Malformed::DataCrc { expected, found });
        }
        let (name, rest) = data.split_at(usize::from(self.bytes[field::NAME_LENGTH]));
        let (end, value) = (rest[0], &rest[1..]);
        if end != 0 {
            return Err(Malformed::Value { field: "end of the name", found: u32::from(end) });
        }
        let (xid, version, prefix) = (self.xid(), self.version(), self.prefix());
        Ok(Xattr { xid, version, prefix, name, value })
    }
}

impl Xattr<'_> {
    /// Bytes of the node: unlike those of other nodes a multiple of four.
    ///
    /// # Panics
    /// When name or value are longer than their fields can say: 255 and 65,535 bytes.
    #[must_use]
    pub fn length(&self) -> u32 {
        pad(SIZE + self.data_length())
    }

    fn data_length(&self) -> u32 {
        u32::from(self.name_length()) + 1 + u32::from(self.value_length())
    }

    fn name_length(&self) -> u8 {
        u8::try_from(self.name.len()).expect("Xattr: a name of more than 255 bytes")
    }

    fn value_length(&self) -> u16 {
        u16::try_from(self.value.len()).expect("Xattr: a value of more than 65,535 bytes")
    }

    /// The header of this node.
    #[must_use]
    pub fn header(&self) -> Header {
        Header::new(NodeType::Xattr, self.length())
    }

    /// Writes the node to the first [`Xattr::length`] of `bytes`.
    ///
    /// # Panics
    /// When there are fewer, or name or value are too long.
    pub fn emit(&self, bytes: &mut [u8], order: ByteOrder) {
        self.header().emit(bytes, order);
        order.put32(bytes, field::XID, self.xid);
        order.put32(bytes, field::VERSION, self.version);
        bytes[field::PREFIX] = self.prefix.number();
        bytes[field::NAME_LENGTH] = self.name_length();
        order.put16(bytes, field::VALUE_LENGTH, self.value_length());
        bytes[field::NAME..to_usize(self.length())].fill(0xFF);
        let data = &mut bytes[field::NAME..to_usize(SIZE + self.data_length())];
        let (name, rest) = data.split_at_mut(self.name.len());
        name.copy_from_slice(self.name);
        rest[0] = 0;
        rest[1..].copy_from_slice(self.value);
        let sum = crc(0, data);
        order.put32(bytes, field::DATA_CRC, sum);
        let sum = crc(0, &bytes[..COVERED]);
        order.put32(bytes, field::NODE_CRC, sum);
    }
}

impl fmt::Display for Xattr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, length) = (self.name.escape_ascii(), self.value.len());
        let (xid, version, prefix) = (self.xid, self.version, self.prefix);
        write!(f, "attribute {xid} version {version}: {prefix}{name}, a value of {length} bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute() -> Xattr<'static> {
        Xattr { xid: 3, version: 1, prefix: XattrPrefix::User, name: b"hue", value: b"red" }
    }

    #[test]
    fn an_attribute_has_its_fields_where_linux_has_them() {
        let mut bytes = [0xEE; 40];
        attribute().emit(&mut bytes, ByteOrder::Little);
        assert_eq!(bytes[..8], [0x85, 0x19, 0x08, 0xe0, 40, 0, 0, 0]);
        assert_eq!(bytes[12..24], [3, 0, 0, 0, 1, 0, 0, 0, 1, 3, 3, 0]);
        assert_eq!(&bytes[32..], b"hue\0red\xff");
    }

    #[test]
    fn an_attribute_is_read_back_in_both_orders() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let mut bytes = [0; 40];
            attribute().emit(&mut bytes, order);
            let view = XattrView::new(&bytes, order).unwrap();
            assert_eq!(view.parse(), Ok(attribute()));
            assert_eq!(view.check_lengths(), Ok(()));
        }
    }

    #[test]
    fn a_wrong_bit_in_the_value_or_a_missing_end_of_the_name_is_noticed() {
        let mut bytes = [0; 40];
        attribute().emit(&mut bytes, ByteOrder::Little);
        bytes[37] ^= 4;
        let view = XattrView::new(&bytes, ByteOrder::Little).unwrap();
        assert!(matches!(view.parse(), Err(Malformed::DataCrc { .. })));
        assert!(XattrView::new(&bytes[..31], ByteOrder::Little).is_err());
    }

    #[test]
    fn names_split_into_namespace_and_rest() {
        assert_eq!(XattrPrefix::split(b"user.hue"), Some((XattrPrefix::User, &b"hue"[..])));
        let acl = b"system.posix_acl_default";
        assert_eq!(XattrPrefix::split(acl), Some((XattrPrefix::AclDefault, &b""[..])));
        assert_eq!(XattrPrefix::split(b"user."), None);
        assert_eq!(XattrPrefix::split(b"system.other"), None);
    }
}
