//! The errors of codecs.
//!
//! Layer: rank 1. [`Error`] is the only error type of the crate. Incompressible data are not an
//! error: compressors return `None`.

use std::fmt;

/// Why a codec failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// More bit errors than the code can correct.
    Uncorrectable,
    /// There is no BCH code with these parameters.
    NoSuchCode {
        /// Order of the Galois field.
        order: u32,
        /// Bits to correct in a step.
        strength: u32,
        /// Data bytes of a step.
        step: usize,
    },
    /// The compressed stream ends before its data do.
    Truncated {
        /// Length of the stream in bytes.
        length: usize,
    },
    /// The decompressed data do not fit into the output.
    OutputFull {
        /// The size of the output in bytes.
        room: usize,
    },
    /// The compressed stream violates its format.
    Corrupt {
        /// Length of the stream in bytes.
        length: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uncorrectable => f.write_str("more bit errors than the code can correct"),
            Self::NoSuchCode { order, strength, step } => write!(
                f,
                "no BCH code of order {order} corrects {strength} bits in {step} bytes; \
                 orders are 5 to 15, and data and code have to fit in 2^{order} - 1 bits"
            ),
            Self::Truncated { length } => {
                write!(f, "compressed stream of {length} bytes ends before its data do")
            }
            Self::OutputFull { room } => {
                write!(f, "compressed stream holds more than the expected {room} bytes")
            }
            Self::Corrupt { length } => {
                write!(f, "compressed stream of {length} bytes breaks its format")
            }
        }
    }
}

impl std::error::Error for Error {}
