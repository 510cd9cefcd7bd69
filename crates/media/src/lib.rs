//! Flash physics: cells, wear, torn programs and interrupted erases.
//!
//! Layer: rank 1, uses `sim` only. It knows no commands, no bus and no time: a chip model says
//! what happens to which cells and how far it got. In reading order:
//!
//! - [`mod@array`]: [`NorArray`], the cells of a NOR part with sectors of any size, and their wear.
//! - [`torn`]: [`ProgramTear`] and [`EraseTear`], what an operation leaves that did not finish.
//!
//! ```
//! use boardlab_media::{Layout, NorArray};
//! use boardlab_sim::Bytes;
//!
//! let layout = Layout::new(&[(127, Bytes::kib(64)), (8, Bytes::kib(8))]).expect("sizes are sound");
//! let mut array = NorArray::new(layout);
//! array.program(Bytes::ZERO, &[0x55]);
//! array.program(Bytes::ZERO, &[0xA5]);
//! assert_eq!(array.byte(Bytes::ZERO), 0x05); // a program only clears bits
//! ```
//!
//! Left out: retention, read disturb and the slow-down of worn cells. NAND joins with its chip.

pub mod array;
pub mod torn;

pub use array::{Layout, NorArray, SectorIndex};
pub use torn::{EraseTear, Fraction, ProgramTear};
