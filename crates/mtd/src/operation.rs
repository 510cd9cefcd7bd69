//! The operations of a device as middleware sees them: kind, place and length.
//!
//! Layer: rank 2. Main types: [`Operation`], [`Kind`], [`Place`].

use crate::geometry::Geometry;
use crate::index::{BlockIndex, PageIndex};
use boardlab_sim::Bytes;
use std::fmt;
use std::ops::Range;

/// A method of [`Mtd`](crate::Mtd) that accesses the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// [`Mtd::read`](crate::Mtd::read).
    Read,
    /// [`Mtd::program`](crate::Mtd::program).
    Program,
    /// [`Mtd::erase`](crate::Mtd::erase).
    Erase,
    /// [`Mtd::read_oob`](crate::Mtd::read_oob).
    ReadOob,
    /// [`Mtd::program_oob`](crate::Mtd::program_oob).
    ProgramOob,
    /// [`Mtd::is_bad`](crate::Mtd::is_bad).
    IsBad,
    /// [`Mtd::mark_bad`](crate::Mtd::mark_bad).
    MarkBad,
}

impl Kind {
    /// All kinds, in the order of their discriminants.
    pub const ALL: [Self; 7] = [
        Self::Read,
        Self::Program,
        Self::Erase,
        Self::ReadOob,
        Self::ProgramOob,
        Self::IsBad,
        Self::MarkBad,
    ];

    /// The name in listings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Program => "program",
            Self::Erase => "erase",
            Self::ReadOob => "read_oob",
            Self::ProgramOob => "program_oob",
            Self::IsBad => "is_bad",
            Self::MarkBad => "mark_bad",
        }
    }

    /// Whether the operation changes the medium, so that a power cut can tear it.
    #[must_use]
    pub const fn changes_medium(self) -> bool {
        matches!(self, Self::Program | Self::Erase | Self::ProgramOob | Self::MarkBad)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The place on the device, in the unit of the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// A byte offset.
    Offset(Bytes),
    /// An erase block.
    Block(BlockIndex),
    /// A page.
    Page(PageIndex),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match self {
            Self::Offset(offset) => format!("{:#010x}", offset.get()),
            Self::Block(block) => format!("block {block}"),
            Self::Page(page) => format!("page {page}"),
        })
    }
}

/// An operation on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operation {
    /// The method.
    pub kind: Kind,
    /// The place, which may be beyond the device.
    pub place: Place,
    /// Bytes read or programmed, including OOB bytes; zero if no data are transferred.
    pub length: Bytes,
}

impl Operation {
    /// An operation on the bytes of `buffer` from `offset` on.
    #[must_use]
    pub const fn bytes(kind: Kind, offset: Bytes, buffer: &[u8]) -> Self {
        Self { kind, place: Place::Offset(offset), length: Bytes::of(buffer) }
    }

    /// An operation on an erase block.
    #[must_use]
    pub const fn block(kind: Kind, block: BlockIndex) -> Self {
        Self { kind, place: Place::Block(block), length: Bytes::ZERO }
    }

    /// An operation that transfers `length` bytes of a page and its OOB area.
    #[must_use]
    pub const fn page(kind: Kind, page: PageIndex, length: Bytes) -> Self {
        Self { kind, place: Place::Page(page), length }
    }

    /// The main bytes that the operation affects: the requested range, the whole block or the whole
    /// page. `None` if they are beyond the device.
    #[must_use]
    pub fn range(&self, geometry: &Geometry) -> Option<Range<Bytes>> {
        match self.place {
            Place::Offset(offset) => geometry.range(offset, self.length).ok(),
            Place::Block(block) => geometry.block_range(block).ok(),
            Place::Page(page) => geometry.page_range(page).ok(),
        }
    }
}

/// Implements the methods of [`crate::Mtd`] for a layer that wraps every operation in the same way:
/// each calls the layer's method `$around` with the clock, the [`Operation`] and a closure that
/// performs it on the device below.
macro_rules! around_every_operation {
    ($around:ident) => {
        fn geometry(&self) -> &Geometry {
            self.device.geometry()
        }

        fn read(&mut self, clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult {
            let operation = Operation::bytes(Kind::Read, offset, buffer);
            self.$around(clock, operation, |device, clock| device.read(clock, offset, buffer))
        }

        fn program(&mut self, clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error> {
            let operation = Operation::bytes(Kind::Program, offset, data);
            self.$around(clock, operation, |device, clock| device.program(clock, offset, data))
        }

        fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
            let operation = Operation::block(Kind::Erase, block);
            self.$around(clock, operation, |device, clock| device.erase(clock, block))
        }

        fn read_page(
            &mut self,
            clock: &mut Clock,
            page: PageIndex,
            data: &mut [u8],
            oob: &mut [u8],
        ) -> ReadResult {
            let start = self.device.geometry().page_range(page)?.start;
            let operation = Operation::bytes(Kind::Read, start, data);
            self.$around(clock, operation, |device, clock| device.read_page(clock, page, data, oob))
        }

        fn read_oob(
            &mut self,
            clock: &mut Clock,
            page: PageIndex,
            buffer: &mut [u8],
        ) -> ReadResult {
            let operation = Operation::page(Kind::ReadOob, page, Bytes::of(buffer));
            self.$around(clock, operation, |device, clock| device.read_oob(clock, page, buffer))
        }

        fn program_oob(
            &mut self,
            clock: &mut Clock,
            page: PageIndex,
            data: &[u8],
            oob: &[u8],
        ) -> Result<(), Error> {
            let length = Bytes::of(data) + Bytes::of(oob);
            let operation = Operation::page(Kind::ProgramOob, page, length);
            self.$around(clock, operation, |device, clock| {
                device.program_oob(clock, page, data, oob)
            })
        }

        fn is_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<bool, Error> {
            let operation = Operation::block(Kind::IsBad, block);
            self.$around(clock, operation, |device, clock| device.is_bad(clock, block))
        }

        fn mark_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
            let operation = Operation::block(Kind::MarkBad, block);
            self.$around(clock, operation, |device, clock| device.mark_bad(clock, block))
        }
    };
}

/// The methods of a layer that give the device below; `$direct` says what operations on it directly are not.
macro_rules! device_below {
    ($device:ident, $direct:literal) => {
        /// The device below.
        #[must_use]
        pub const fn device(&self) -> &$device {
            &self.device
        }

        #[doc = concat!("The device below; direct operations on it are not ", $direct, ".")]
        pub const fn device_mut(&mut self) -> &mut $device {
            &mut self.device
        }

        /// Returns the device below.
        #[must_use]
        pub fn into_inner(self) -> $device {
            self.device
        }
    };
}

pub(crate) use {around_every_operation, device_below};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::FlashKind;

    #[test]
    fn kinds_are_listed_in_the_order_of_their_discriminant() {
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
        }
    }

    #[test]
    fn an_operation_beyond_the_device_concerns_no_bytes() {
        let geometry = Geometry::uniform(FlashKind::Nor, 2, Bytes::new(16));
        let erase = |block| Operation::block(Kind::Erase, BlockIndex(block)).range(&geometry);
        assert_eq!(erase(1), Some(Bytes::new(16)..Bytes::new(32)));
        assert_eq!(erase(2), None);
        let read = Operation::bytes(Kind::Read, Bytes::new(u64::MAX), &[0; 2]);
        assert_eq!(read.range(&geometry), None);
    }
}
