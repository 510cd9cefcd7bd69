//! Why a part and a board are no device.
//!
//! Layer: rank 8. Main type: [`Failure`], of everything that composes devices.

use boardlab_ftl as ftl;
use boardlab_sata as sata;
use boardlab_sd as sd;
use std::fmt;

/// Why a part and a board are no device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The board has no slot for such a card.
    NoSlot(sd::Kind),
    /// Card and slot have no bus mode in common.
    NoMode(sd::Kind),
    /// A FIFO overflows: after HOLD was sent more comes than it has room for.
    Headroom {
        /// The end of the link that the FIFO is in.
        end: &'static str,
        /// Room that is left, in dwords.
        left: u32,
        /// Room that is needed, in dwords.
        needed: u32,
    },
    /// The protocol of a card.
    Card(sd::Error),
    /// The protocol of a drive.
    Drive(sata::Error),
    /// The translation layer.
    Layer(ftl::Error),
    /// A layer that maps blocks, with something that only a map of pages has.
    PagesOnly(&'static str),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |kind: &sd::Kind| match kind {
            sd::Kind::Sd => "SD card",
            sd::Kind::Emmc => "eMMC",
        };
        match self {
            Self::NoSlot(kind) => write!(f, "the board has no slot for an {}", name(kind)),
            Self::NoMode(kind) => {
                write!(f, "{} and slot have no bus mode in common", name(kind))
            }
            Self::Headroom { end, left, needed } => write!(
                f,
                "the FIFO of the {end} leaves {left} dwords above hold_from, and {needed} can come: 20 and the \
                 latencies of both ends"
            ),
            Self::Card(error) => error.fmt(f),
            Self::Drive(error) => error.fmt(f),
            Self::Layer(error) => error.fmt(f),
            Self::PagesOnly(what) => write!(f, "{what} needs a page map"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<sd::Error> for Failure {
    fn from(error: sd::Error) -> Self {
        Self::Card(error)
    }
}

impl From<sata::Error> for Failure {
    fn from(error: sata::Error) -> Self {
        Self::Drive(error)
    }
}

impl From<ftl::Error> for Failure {
    fn from(error: ftl::Error) -> Self {
        Self::Layer(error)
    }
}
