//! A card in a slot: composes part and host into a block device.
//!
//! Layer: rank 8. Functions: [`compose`], [`in_slot`]. The flash is erased and empty; what is random about it, lives of
//! blocks and blocks that are bad from the factory, follows from the seed.

use super::board::{Host, Slot};
use super::part::CardPart;
use crate::Failure;
use crate::managed::Layer;
use boardlab_ftl::TimedMedium;
use boardlab_sd as sd;
use boardlab_sd::{Card, Data};
use boardlab_sim::Seed;

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
    let medium = TimedMedium::new(&geometry, &part.managed.timing())?;
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
