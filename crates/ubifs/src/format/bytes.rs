//! Reading and writing little-endian fields one after another.
//!
//! Layer: rank 5, format. Main types: [`Reader`], over bytes whose length was checked, and [`Writer`].

use super::key::{KEY_SIZE, Key, NODE_KEY_SIZE};
use super::{HEADER_SIZE, Header, MAGIC, Malformed, NodeType};
use boardlab_ubi::LebIndex;

/// Takes fields from the bytes of a node that has at least all of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Begins behind the header of a node of this kind; `bytes` end where the header says that the
    /// node ends, or later.
    pub(super) fn of_node(
        bytes: &'a [u8],
        expected: NodeType,
        fixed: usize,
    ) -> Result<(Self, Header), Malformed> {
        let header = Header::parse(bytes)?;
        if header.node_type != expected {
            let found = header.node_type.number();
            return Err(Malformed::Type { found, expected: Some(expected) });
        }
        let needed = usize_of(header.len).max(fixed);
        let Some(node) = bytes.get(HEADER_SIZE..needed) else {
            return Err(Malformed::Short { found: bytes.len(), needed });
        };
        Ok((Self { rest: node }, header))
    }

    /// Begins at the first of `bytes`.
    pub(super) const fn at(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Everything that was not taken yet.
    pub(super) const fn rest(self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn skip(&mut self, count: usize) {
        self.rest = &self.rest[count..];
    }

    pub(super) fn array<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.rest.split_first_chunk().expect("the length was checked");
        self.rest = rest;
        *field
    }

    pub(super) fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub(super) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub(super) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    pub(super) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    pub(super) fn leb(&mut self) -> LebIndex {
        LebIndex(self.u32())
    }

    /// A key of 8 bytes.
    pub(super) fn key(&mut self) -> Key {
        let ino = self.u32();
        Key::from_words(ino, self.u32())
    }

    /// A key of 16 bytes, of which the first 8 count.
    pub(super) fn node_key(&mut self) -> Key {
        let key = self.key();
        self.skip(NODE_KEY_SIZE - KEY_SIZE);
        key
    }
}

/// Puts fields one after another.
#[derive(Debug)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Begins a node: magic number and kind, without sequence number, group and checksum.
    pub(super) fn of_node(kind: NodeType, size: usize) -> Self {
        let mut writer = Self { bytes: Vec::with_capacity(size) };
        writer.u32(MAGIC);
        writer.zeros(16);
        writer.u8(kind.number());
        writer.zeros(3);
        writer
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn zeros(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
    }

    pub(super) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(super) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    pub(super) fn key(&mut self, key: Key) {
        self.u32(key.ino());
        self.u32(key.word());
    }

    pub(super) fn node_key(&mut self, key: Key) {
        self.key(key);
        self.zeros(NODE_KEY_SIZE - KEY_SIZE);
    }

    /// Ends the node: fills in its length.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let length = u32_of(self.bytes.len());
        self.bytes[16..20].copy_from_slice(&length.to_le_bytes());
        self.bytes
    }
}

/// A number of bytes as an index.
pub(crate) fn usize_of(value: u32) -> usize {
    usize::try_from(value).expect("a u32 fits the address space")
}

/// The length of something that fits a LEB.
pub(crate) fn u32_of(value: usize) -> u32 {
    u32::try_from(value).expect("a node is shorter than 4 GiB")
}
