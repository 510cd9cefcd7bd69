//! SD cards and eMMC devices: their part files, their boards, and a card composed of both.
//!
//! Layer: rank 8. In reading order:
//!
//! - [`part`]: [`part::CardPart`], the contents of a part file as plain data.
//! - [`board`]: [`board::Host`], the slots of a board and the cost of its driver for each command.
//! - [`mod@compose`]: [`fn@compose::compose`], a card in that slot, erased and empty.
//! - `unused`: keys of a part or a board that no run uses.
//! - [`health`]: the registers and the health report of the card, as tables.
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

pub use health::{health_table, register_table, worn_out};
