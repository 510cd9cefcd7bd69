//! The formats of the wire: dwords, primitives, frames and their contents.
//!
//! Layer: facts and bytes only; the only time is that of a dword. In reading order:
//!
//! - [`speed`]: line rates and ticks; [`align`]: the ticks that remain for dwords.
//! - [`primitive`]: the primitives; [`cont`]: their repetition.
//! - [`crc`], [`scrambler`], and [`frame`], which applies both to a FIS.
//! - [`fis`]: the frame information structures; [`counting`]: payload described without its bytes;
//!   [`identify`]: IDENTIFY DEVICE data. [`error`]: what is invalid in any of them.

pub mod align;
pub mod cont;
pub mod counting;
pub mod crc;
pub mod error;
pub mod fis;
pub mod frame;
pub mod identify;
pub mod primitive;
pub mod scrambler;
pub mod speed;

pub use cont::Dword;
pub use counting::{Counting, Step};
pub use crc::Crc;
pub use identify::Identify;
pub use primitive::Primitive;
pub use scrambler::Scrambler;
pub use speed::{Speed, Tick};
