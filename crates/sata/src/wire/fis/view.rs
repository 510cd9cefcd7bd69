//! A FIS in its dwords: what the views of all types have in common.
//!
//! Layer: format. Main types: [`View`], and [`Format`], which gives the kind and the reserved bits of a
//! type of FIS. The methods that read the fields of a type are in its own file.

use super::Kind;
use crate::wire::error::Error;
use std::marker::PhantomData;

/// The format of a type of FIS.
pub trait Format {
    /// The type.
    const KIND: Kind;
    /// The reserved bits of the first dwords; all other dwords have none.
    const RESERVED: &'static [u32];
}

/// Dwords that hold a FIS of type `F`.
#[derive(Debug)]
pub struct View<'a, F> {
    pub(super) words: &'a [u32],
    format: PhantomData<F>,
}

impl<F> Clone for View<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for View<'_, F> {}

impl<'a, F: Format> View<'a, F> {
    /// Views `words`, which exclude the CRC, if their type and length are right.
    ///
    /// # Errors
    /// [`Error::ShortFrame`], [`Error::UnknownFis`], [`Error::WrongFis`], [`Error::FisLength`].
    pub fn new(words: &'a [u32]) -> Result<Self, Error> {
        let view = Self::new_unchecked(words);
        let first = *words.first().ok_or(Error::ShortFrame { found: 0 })?;
        let (expected, found) = (F::KIND, Kind::of(first)?);
        if found != expected {
            return Err(Error::WrongFis { expected, found });
        }
        let lengths = expected.lengths();
        if lengths.contains(&words.len()) {
            return Ok(view);
        }
        Err(Error::FisLength { fis: expected, expected: *lengths.end(), found: words.len() })
    }

    /// Views `words` whatever they are.
    ///
    /// Reading a field panics if its dword is missing.
    #[must_use]
    pub const fn new_unchecked(words: &'a [u32]) -> Self {
        Self { words, format: PhantomData }
    }

    /// Checks that all reserved bits are zero.
    ///
    /// # Errors
    /// [`Error::Reserved`], for the first dword with such a bit.
    pub fn check_reserved(&self) -> Result<(), Error> {
        let set = self.words.iter().zip(F::RESERVED).map(|(word, mask)| word & mask);
        let found = set.enumerate().find(|&(_, bits)| bits != 0);
        found.map_or(Ok(()), |(dword, bits)| Err(Error::Reserved { fis: F::KIND, dword, bits }))
    }
}
