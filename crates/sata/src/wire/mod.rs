//! What goes over the wire: dwords, primitives, frames and their contents.
//!
//! Layer: facts and bytes only; knows no time but that of a dword. In reading order: [`speed`],
//! [`counting`] (payload described without its bytes), [`fis`].

pub mod counting;
pub mod fis;
pub mod speed;

pub use counting::{Counting, Step};
pub use speed::{Speed, Tick};
