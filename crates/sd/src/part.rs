//! The properties of a card as the host sees them, and of the host.
//!
//! Layer: rank 4, plain data. Main types: [`Part`], [`Host`], [`Shape`]. Everything comes from a
//! part file; nothing here has a default. [`Part::check`] is called once, so that the card can rely
//! on it. The cells and the translation layer behind it are in `ftl`.

use crate::bus::{Bus, Gaps, Kind, Mode, Width};
use crate::error::Error;
use crate::register::{AllocationUnit, Cid, Classes, EraseTime, HealthFormat};
use boardlab_sim::{Bytes, Duration, Hertz};

/// What CMD38 does to blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Discard {
    /// The card does not support it.
    None,
    /// The card unmaps whole pages; what is read afterwards is undefined.
    Discard,
    /// Erases every block.
    Erase,
}

/// The bus as wired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wiring {
    /// Mode.
    pub mode: Mode,
    /// Data lines.
    pub width: Width,
    /// Clock, where it is lower than the mode's.
    pub clock: Option<Hertz>,
    /// Clocks between commands and blocks.
    pub gaps: Gaps,
}

/// The behaviour of the host's driver around a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// The time from one request to the next: interrupt, completion, set-up of the transfer.
    pub request: Duration,
    /// Largest transfer of one command; larger requests are split.
    pub largest: Bytes,
    /// Whether CMD23 announces the length of a transfer; otherwise CMD12 ends it.
    pub announces: bool,
    /// Whether CMD13 asks for the state after each write.
    pub asks_state: bool,
}

/// What a host sees of a card, in any slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Face {
    /// Which protocol.
    pub kind: Kind,
    /// What the host can address.
    pub capacity: Bytes,
    /// The unit of the card's speed guarantees.
    pub allocation_unit: AllocationUnit,
    /// Whether the card supports CMD23.
    pub counts_blocks: bool,
    /// From a command to its first effect inside the card: the controller's own time.
    pub command: Duration,
    /// The size of the volatile write cache; `None` where each write is durable when it ends.
    pub cache: Option<Bytes>,
    /// The idle time of the host before the cache is written to flash.
    pub write_back_after: Duration,
    /// What CMD38 does.
    pub discard: Discard,
    /// Whether an erased block reads as ones; otherwise it reads as zeros.
    pub erased_ones: bool,
    /// The CID.
    pub cid: Cid,
    /// Speed classes.
    pub classes: Classes,
    /// The erase time that the card reports.
    pub erase: EraseTime,
    /// The format of its health report; `None` without one.
    pub health: Option<HealthFormat>,
}

/// A card in a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What the host sees of it.
    pub face: Face,
    /// The bus.
    pub wiring: Wiring,
    /// The host's driver.
    pub host: Host,
    /// The P/E cycles that a block is rated for.
    pub rated: u32,
}

/// What the card needs of the translation layer: the size of a mapped page, and the number of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a mapped page.
    pub page: Bytes,
    /// Mapped pages that the layer offers.
    pub pages: u32,
}

impl Part {
    /// Checks that all numbers fit together, and returns the bus.
    ///
    /// # Errors
    /// [`Error::Capacity`] when the capacity is not a multiple of the allocation unit or does not
    /// match the pages, [`Error::Bus`], [`Error::Page`], [`Error::Limit`].
    pub fn check(&self, shape: Shape) -> Result<Bus, Error> {
        let unit = self.face.allocation_unit.size();
        if self.face.capacity.is_zero() || !self.face.capacity.is_multiple_of(unit) {
            return Err(Error::Capacity { found: self.face.capacity, unit });
        }
        let whole = !shape.page.is_zero() && shape.page.is_multiple_of(crate::BLOCK);
        if !whole || shape.page > crate::cache::LARGEST_PAGE {
            return Err(Error::Page { found: shape.page });
        }
        let needed = self.face.capacity.div_ceil(shape.page);
        if u64::from(shape.pages) != needed {
            return Err(Error::Pages { found: shape.pages, needed, page: shape.page });
        }
        if self.host.largest < crate::BLOCK {
            let what = "the host's largest transfer";
            return Err(Error::Limit { what, found: self.host.largest, least: crate::BLOCK });
        }
        if let Some(cache) = self.face.cache.filter(|cache| *cache < shape.page) {
            return Err(Error::Limit { what: "the write cache", found: cache, least: shape.page });
        }
        let Wiring { mode, width, clock, gaps } = self.wiring;
        Bus::new(self.face.kind, mode, width, clock, gaps).ok_or(Error::Bus {
            kind: self.face.kind,
            mode,
            width,
            clock,
        })
    }
}
