//! What goes over the wire: dwords, primitives, frames and their contents.
//!
//! Layer: facts and bytes only; knows no time but that of a dword. In reading order:
//!
//! - [`speed`]: line rates and ticks; [`align`]: which ticks are left for dwords.
//! - [`primitive`]: what the link layers say; [`cont`]: how they say it for long.
//! - [`crc`], [`scrambler`], and [`frame`], which puts them around a FIS.
//! - [`fis`]: the frame information structures; [`counting`]: payload described without its bytes;
//!   [`identify`]: what a drive says it is.

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
