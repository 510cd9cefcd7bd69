//! Big-endian fields one after another.
//!
//! Layer: rank 5, format. Main types: [`Reader`], over bytes whose length was checked, and [`Writer`].

use super::Malformed;

/// Takes fields from bytes that have at least all of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Begins at the first of `bytes`, of which at least `needed` are there.
    pub(super) const fn new(bytes: &'a [u8], needed: usize) -> Result<Self, Malformed> {
        if bytes.len() < needed {
            return Err(Malformed::Short { found: bytes.len(), needed });
        }
        Ok(Self { rest: bytes })
    }

    pub(super) fn skip(&mut self, count: usize) {
        self.rest = &self.rest[count..];
    }

    pub(super) const fn rest(self) -> &'a [u8] {
        self.rest
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.rest.split_first_chunk().expect("the length was checked");
        self.rest = rest;
        *field
    }

    pub(super) fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub(super) fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.array())
    }

    pub(super) fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.array())
    }

    pub(super) fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.array())
    }
}

/// Fills a structure of fixed size; what is not written stays zero.
#[derive(Debug)]
pub(super) struct Writer<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Writer<N> {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; N], at: 0 }
    }

    pub(super) fn put(&mut self, field: &[u8]) -> &mut Self {
        self.bytes[self.at..self.at + field.len()].copy_from_slice(field);
        self.at += field.len();
        self
    }

    pub(super) const fn skip(&mut self, count: usize) -> &mut Self {
        self.at += count;
        self
    }

    pub(super) fn u8(&mut self, field: u8) -> &mut Self {
        self.put(&[field])
    }

    pub(super) fn u16(&mut self, field: u16) -> &mut Self {
        self.put(&field.to_be_bytes())
    }

    pub(super) fn u32(&mut self, field: u32) -> &mut Self {
        self.put(&field.to_be_bytes())
    }

    pub(super) fn u64(&mut self, field: u64) -> &mut Self {
        self.put(&field.to_be_bytes())
    }

    pub(super) const fn done(&self) -> [u8; N] {
        self.bytes
    }
}
