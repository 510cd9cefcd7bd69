//! The experiments on cards, and those with fio on drives.
//!
//! Layer: rank 10. In reading order:
//!
//! - [`sdwear`]: the SD experiment, which is published.
//! - [`fio`]: jobs of fio on a card or a drive.
//! - [`life`]: the life of a card under jobs, traces or patterns.
//! - [`advise`]: which card to take, by its life and a fio job.
//! - `worn`: the sentence on a card that is worn out.
//!
//! The crate prints nothing.

pub mod advise;
pub mod fio;
pub mod life;
mod others;
mod planned;
pub mod sdwear;
mod worn;
