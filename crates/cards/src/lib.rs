//! The experiments on cards, and on drives as far as fio runs on both.
//!
//! Layer: rank 10. In reading order:
//!
//! - [`sdwear`]: the SD experiment, which is published.
//! - [`fio`]: jobs of fio on a card or a drive.
//! - [`life`]: how long a card lives under such jobs, traces or patterns.
//!
//! Nothing here prints.

pub mod fio;
pub mod life;
pub mod sdwear;
