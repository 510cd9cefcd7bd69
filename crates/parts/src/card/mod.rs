//! SD cards and eMMC devices as part files describe them: reading one, reading its host, and building the two.
//!
//! Layer: rank 8. In reading order:
//!
//! - [`part`]: [`part::CardPart`], everything that a part file says of a card, as plain data.
//! - [`board`]: [`board::Host`], the slot of a board and what its driver does around each command.
//! - [`mod@compose`]: [`fn@compose::compose`], a card on that slot, erased and empty.
//! - `unused`: what no run uses of a part or a board.
//! - [`health`]: what the card then tells of itself, as tables.
//!
//! Source: the keys are those of docs/formats/part.md; what they mean is in docs/models/sd-card.md. Left out:
//! SPI mode, UHS-II and SD Express.

pub mod board;
pub mod compose;
pub mod health;
mod limits;
pub mod part;
pub mod unused;
mod values;

pub use health::{health_table, register_table};
