//! What an operation leaves that did not finish: torn programs and interrupted erases.
//!
//! Layer: physics below the chip. Main types: [`ProgramTear`] and [`EraseTear`], the outcomes that
//! can be, each with its one line of physics; [`Fraction`], how far the operation had come.
//! Outcomes are deterministic: the bits come from a random stream of the caller.
//!
//! Source: the phases of an embedded erase (program all cells, verify, erase, verify) as AMD and
//! Spansion data sheets describe them. Assumed: the share of the first phase
//! ([`EraseTear::PREPROGRAM_SHARE`]), and that cells move independently of each other.
//!
//! Left out: cells stopped so near the read level that they read differently each time, and
//! over-erased cells that disturb their column.

use crate::array::{NorArray, SectorIndex};
use boardlab_sim::{Bytes, Duration, Stream};

/// A share of a whole, in 65,536ths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fraction(u32);

impl Fraction {
    /// The whole.
    pub const WHOLE: Self = Self(1 << 16);
    /// Half of it.
    pub const HALF: Self = Self(1 << 15);

    /// `part / whole`, rounded down; the whole when `part` is larger or `whole` is zero.
    #[must_use]
    pub fn of(part: Duration, whole: Duration) -> Self {
        if part >= whole {
            return Self::WHOLE;
        }
        let share = (u128::from(part.as_nanos()) << 16) / u128::from(whole.as_nanos());
        Self(u32::try_from(share).expect("less than the whole"))
    }

    /// True with this probability.
    pub fn chance(self, stream: &mut Stream) -> bool {
        self.bits(stream) & 1 == 1
    }

    /// 64 bits, each of which is one with this probability.
    fn bits(self, stream: &mut Stream) -> u64 {
        if self == Self::WHOLE {
            return u64::MAX;
        }
        // A bit is one when a random binary fraction is smaller than this one: from the last
        // binary digit to the first, a digit 1 adds half of what is not yet one, a 0 halves.
        (self.0.trailing_zeros().min(16)..16).fold(0, |bits, digit| {
            let half = stream.next_u64();
            if self.0 >> digit & 1 == 1 { bits | half } else { bits & half }
        })
    }
}

/// How far a program came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramTear {
    /// The pumps had not reached the program voltage: no cell moved.
    Untouched,
    /// Cells pass the verify level one by one: each pending bit has flipped with this chance.
    Partial(Fraction),
    /// Every cell had passed the verify level; only the report was lost.
    Complete,
}

impl ProgramTear {
    /// The outcome of a cut `elapsed` after the start of a program that would have taken `whole`.
    #[must_use]
    pub fn at(elapsed: Duration, whole: Duration) -> Self {
        if elapsed.is_zero() {
            Self::Untouched
        } else if elapsed >= whole {
            Self::Complete
        } else {
            Self::Partial(Fraction::of(elapsed, whole))
        }
    }

    /// Leaves the program of `data` at `offset` torn. Never sets a bit.
    ///
    /// # Panics
    /// When the range ends beyond the part.
    pub fn apply(self, array: &mut NorArray, offset: Bytes, data: &[u8], stream: &mut Stream) {
        match self {
            Self::Untouched => {}
            Self::Complete => array.program(offset, data),
            Self::Partial(fraction) => {
                let mut torn = data.to_vec();
                for chunk in torn.chunks_mut(8) {
                    let flipped = fraction.bits(stream).to_le_bytes();
                    let kept = flipped.map(|bits| !bits);
                    chunk.iter_mut().zip(kept).for_each(|(byte, kept)| *byte |= kept);
                }
                array.program(offset, &torn);
            }
        }
    }
}

/// How far the erase of a sector came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraseTear {
    /// No voltage was on the cells yet: nothing changed.
    Untouched,
    /// All cells are first programmed so that they erase evenly: ones have become zeros.
    Preprogram(Fraction),
    /// All cells were zero and the erase pulses lift them: each bit is one with this chance.
    Erase(Fraction),
    /// Every cell had passed the erase verify; only the report was lost.
    Complete,
}

impl EraseTear {
    /// Share of an erase that goes to its first phase: numerator and denominator. Assumed; data
    /// sheets give one time for both phases.
    pub const PREPROGRAM_SHARE: (u64, u64) = (1, 4);

    /// The outcome of a cut `elapsed` after the start of an erase that would have taken `whole`.
    #[must_use]
    pub fn at(elapsed: Duration, whole: Duration) -> Self {
        let (numerator, denominator) = Self::PREPROGRAM_SHARE;
        let first = whole / denominator * numerator;
        if elapsed.is_zero() {
            Self::Untouched
        } else if elapsed >= whole {
            Self::Complete
        } else if elapsed < first {
            Self::Preprogram(Fraction::of(elapsed, first))
        } else {
            Self::Erase(Fraction::of(elapsed - first, whole - first))
        }
    }

    /// Leaves the erase of `sector` interrupted; wear counts unless nothing happened.
    ///
    /// # Panics
    /// When there is no such sector.
    pub fn apply(self, array: &mut NorArray, sector: SectorIndex, stream: &mut Stream) {
        match self {
            Self::Untouched => {}
            Self::Complete => array.erase(sector),
            Self::Preprogram(fraction) => {
                mix(array.cells_mut(sector), |cells| cells & !fraction.bits(stream));
                array.count_erase(sector);
            }
            Self::Erase(fraction) => {
                mix(array.cells_mut(sector), |_| fraction.bits(stream));
                array.count_erase(sector);
            }
        }
    }
}

/// Changes cells 64 bits at a time.
fn mix(cells: &mut [u8], mut change: impl FnMut(u64) -> u64) {
    for chunk in cells.chunks_mut(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let changed = change(u64::from_le_bytes(word)).to_le_bytes();
        chunk.copy_from_slice(&changed[..chunk.len()]);
    }
}
