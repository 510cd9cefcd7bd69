//! The SSD: commands, buffer, and the translation layer below.
//!
//! In reading order:
//!
//! - [`drive`]: [`Drive`], what a drive is, as plain data; [`Refusal`], why it does not do something.
//! - [`storage`]: [`Storage`], the drive without its protocol: sectors in, flash operations out, and when. Its two
//!   ways are `incoming` and [`outgoing`], what it holds `contents` and [`store`].

mod contents;
pub mod drive;
mod incoming;
pub mod outgoing;
pub mod storage;
pub mod store;

pub use drive::{Drive, Refusal, WriteCache};
pub use outgoing::{Reading, Ready};
pub use storage::{Counts, Storage, Work};
pub use store::Data;
