//! A card in a slot: composes part and host into a block device.
//!
//! Layer: rank 8. Main type: [`Failure`]; functions: [`compose`], [`in_slot`]. The flash is erased
//! and empty; its random properties, the endurance of each block and the factory bad blocks, follow
//! from the seed.

use super::board::{Host, Slot};
use super::part::CardPart;
use crate::managed::{self, Layer};
use boardlab_ftl as ftl;
use boardlab_ftl::Timed;
use boardlab_sd as sd;
use boardlab_sd::{Card, Data, Kind};
use boardlab_sim::Seed;
use std::fmt;

/// Why a card and a slot do not make a device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The board has no slot for such a card.
    NoSlot(Kind),
    /// Card and slot have no bus mode in common.
    NoMode(Kind),
    /// The properties of the card are invalid.
    Card(sd::Error),
    /// The translation layer is invalid.
    Layer(managed::Failure),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |kind: &Kind| match kind {
            Kind::Sd => "SD card",
            Kind::Emmc => "eMMC",
        };
        match self {
            Self::NoSlot(kind) => write!(f, "the board has no slot for an {}", name(kind)),
            Self::NoMode(kind) => {
                write!(f, "{} and slot have no bus mode in common", name(kind))
            }
            Self::Card(error) => error.fmt(f),
            Self::Layer(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<sd::Error> for Failure {
    fn from(error: sd::Error) -> Self {
        Self::Card(error)
    }
}

impl From<ftl::Error> for Failure {
    fn from(error: ftl::Error) -> Self {
        Self::Layer(error.into())
    }
}

impl From<managed::Failure> for Failure {
    fn from(error: managed::Failure) -> Self {
        Self::Layer(error)
    }
}

/// A card of `part` in the slot that `host` has for it.
///
/// # Errors
/// [`Failure`]: what does not fit together.
pub fn compose(
    part: &CardPart,
    host: &Host,
    data: Data,
    seed: Seed,
) -> Result<Card<Layer>, Failure> {
    let kind = part.face.kind;
    in_slot(part, host.slot(kind).ok_or(Failure::NoSlot(kind))?, data, seed)
}

/// A card of `part` in `slot`.
///
/// # Errors
/// [`Failure`]: what does not fit together.
pub fn in_slot(
    part: &CardPart,
    slot: &Slot,
    data: Data,
    seed: Seed,
) -> Result<Card<Layer>, Failure> {
    let card = wired(part, slot)?;
    let geometry = part.geometry()?;
    let medium = Timed::new(&geometry, &part.managed.timing())?;
    let layer = Layer::new(&part.managed, geometry, medium, seed)?;
    Ok(Card::new(card, layer, geometry.stripe().program_pages(), data)?)
}

fn wired(part: &CardPart, slot: &Slot) -> Result<sd::Part, Failure> {
    let face = part.face.clone();
    Ok(sd::Part {
        wiring: slot.wiring(part).ok_or(Failure::NoMode(face.kind))?,
        host: sd::Host {
            request: slot.request,
            largest: slot.largest,
            announces: slot.counts_blocks && face.counts_blocks,
            asks_state: slot.asks_state,
        },
        rated: part.managed.life.as_ref().map_or(0, |life| life.rated),
        face,
    })
}
