//! Which pages share open blocks: the separation of hot from cold data.
//!
//! Layer: policy. Main type: [`Streams`]. Each stream fills a block of its own, so pages that die at the
//! same time lie together. Sources: own stream for copies, Dayan, Bonnet, "Garbage collection
//! techniques for flash-resident page-mapping FTLs" (2015) and the measurements in this project's
//! table of anchors; generations, Chiang, Lee, Chang, "Using data clustering to improve cleaning
//! performance for flash memory" (DAC: pages are promoted on update and demoted on cleaning, 1999).
//!
//! Left out: hints of the host (multi-stream writes, placement identifiers).

use crate::error::Error;

/// How pages are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Streams {
    /// Everything into one open block.
    Single,
    /// What garbage collection copies goes into a block of its own.
    #[default]
    CopiesApart,
    /// So many streams from hot to cold. A copy goes one stream colder than the block it comes from; a
    /// write of the host one stream hotter than the block that held the page before, the first write
    /// into the hottest.
    Generations(u8),
}

impl Streams {
    /// Most streams.
    pub const MOST: u8 = 8;

    /// How many there are.
    #[must_use]
    pub const fn count(self) -> u8 {
        match self {
            Self::Single => 1,
            Self::CopiesApart => 2,
            Self::Generations(count) => count,
        }
    }

    /// The same, when the number makes sense.
    ///
    /// # Errors
    /// [`Error::Policy`] for fewer than two or more than eight generations.
    pub fn checked(self) -> Result<Self, Error> {
        let count = self.count();
        match self {
            Self::Generations(_) if !(2..=Self::MOST).contains(&count) => Err(Error::Policy {
                what: "streams of data",
                found: count.into(),
                least: 2,
                most: Self::MOST.into(),
            }),
            _ => Ok(self),
        }
    }

    /// The stream of a page that is copied out of a block of stream `from`.
    #[must_use]
    #[inline]
    pub const fn of_copy(self, from: u8) -> u8 {
        match self {
            Self::Single => 0,
            Self::CopiesApart => 1,
            Self::Generations(count) if from + 1 < count => from + 1,
            Self::Generations(count) => count - 1,
        }
    }

    /// The stream of a page that the host writes, whose last version lies in a block of stream `old`.
    #[must_use]
    #[inline]
    pub const fn of_host(self, old: u8) -> u8 {
        match self {
            Self::Single | Self::CopiesApart => 0,
            Self::Generations(_) => old.saturating_sub(1),
        }
    }

    /// Whether the stream of a write depends on where the page lay.
    #[must_use]
    pub const fn looks_back(self) -> bool {
        matches!(self, Self::Generations(_))
    }
}
