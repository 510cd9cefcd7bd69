//! Flash physics: cells, wear, bit errors, torn programs and interrupted erases.
//!
//! Layer: rank 1, uses `sim` only. It knows no commands and no bus: a chip model determines which
//! cells are programmed or erased, and the progress of an interrupted operation. In reading order:
//!
//! - [`mod@array`]: [`NorArray`], the cells of a NOR part with sectors of any size, and their wear.
//! - [`torn`]: [`ProgramTear`] and [`EraseTear`], the outcomes of interrupted operations.
//! - [`nand`]: [`NandArray`], the pages of a NAND part with their OOB bytes, and their wear.
//! - [`errors`]: [`BitErrors`], the bit errors of reads, and [`Lifetime`], which blocks fail.
//! - [`nand_torn`]: [`NandEraseTear`], and torn programs of a page.
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
//! Left out: bit errors of NOR, and slower operations of worn cells.

pub mod array;
pub mod errors;
pub mod nand;
mod nand_memory;
pub mod nand_torn;
pub mod torn;

pub use array::{Layout, NorArray, SectorIndex};
pub use errors::{BitErrors, Curve, ErrorRates, Lifetime};
pub use nand::{CellKind, NandArray, NandGeometry, ProgramRules, Row, Stress, Violation};
pub use nand_torn::NandEraseTear;
pub use torn::{EraseTear, Fraction, ProgramTear};
