//! The outcomes of interrupted operations: torn programs and interrupted erases.
//!
//! Layer: physics below the chip. Main types: [`ProgramTear`] and [`EraseTear`], the possible outcomes,
//! each with one line of physics; [`Fraction`], the progress of the operation. Outcomes are
//! deterministic: the bits come from a random stream of the caller.
//!
//! Source: the phases of an embedded erase (program all cells, verify, erase, verify) in data sheets of
//! AMD and Spansion. Assumed: the duration of the first phase ([`EraseTear::PREPROGRAM_SHARE`]), and
//! that cells change independently of each other.
//!
//! Left out: cells stopped so near the read level that they read differently each time, and
//! over-erased cells that disturb their column.

use crate::array::{NorArray, SectorIndex};
use boardlab_sim::{Bytes, Duration, Stream};

/// A fraction, in 65,536ths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fraction(u32);

impl Fraction {
    /// One.
    pub const WHOLE: Self = Self(1 << 16);
    /// One half.
    pub const HALF: Self = Self(1 << 15);

    /// `part / whole`, rounded down; one if `part` is larger or `whole` is zero.
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
    pub(crate) fn bits(self, stream: &mut Stream) -> u64 {
        if self == Self::WHOLE {
            return u64::MAX;
        }
        // A bit is one if a random binary fraction is smaller than this one. From the last binary digit
        // to the first, a digit 1 sets each zero bit, and a digit 0 clears each one bit, with
        // probability 1/2.
        (self.0.trailing_zeros().min(16)..16).fold(0, |bits, digit| {
            let half = stream.next_u64();
            if self.0 >> digit & 1 == 1 { bits | half } else { bits & half }
        })
    }
}

/// The progress of an interrupted program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramTear {
    /// The charge pump had not reached the program voltage: nothing changed.
    Untouched,
    /// Cells pass the verify level one by one: each pending bit is programmed with this probability.
    Partial(Fraction),
    /// Every cell has passed the verify level; only the report was lost.
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

    /// Applies the torn program of `data` at `offset`. Never sets a bit.
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

/// The progress of an interrupted erase of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraseTear {
    /// No voltage was applied yet: nothing changed.
    Untouched,
    /// The pre-program, after which cells erase evenly: each one bit has become zero with this
    /// probability.
    Preprogram(Fraction),
    /// The erase pulses after the pre-program: each bit is one with this probability.
    Erase(Fraction),
    /// Every cell has passed the erase verify; only the report was lost.
    Complete,
}

impl EraseTear {
    /// The fraction of an erase that the pre-program takes: numerator and denominator. Assumed; data
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

    /// Applies the interrupted erase to `sector`; it counts as wear unless nothing changed.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Layout;
    use boardlab_sim::Seed;

    const SIZE: Bytes = Bytes::kib(8);
    const SECTOR: SectorIndex = SectorIndex::new(1);

    fn array() -> NorArray {
        let mut array = NorArray::new(Layout::new(&[(4, SIZE)]).unwrap());
        for sector in 0..4 {
            array.load(SIZE * sector, &vec![0x5A; SIZE.to_usize()]);
        }
        array
    }

    fn stream() -> Stream {
        Seed::new(5).stream("torn")
    }

    fn ones(array: &NorArray, sector: u64) -> u32 {
        let mut bytes = vec![0; SIZE.to_usize()];
        array.read(SIZE * sector, &mut bytes);
        bytes.iter().map(|byte| byte.count_ones()).sum()
    }

    #[test]
    fn bits_are_one_with_the_probability_of_the_fraction() {
        let mut stream = stream();
        for (part, expected) in [(0, 0), (1, 64), (250, 16_000), (500, 32_000), (999, 63_936)] {
            let share = Fraction::of(Duration::from_nanos(part), Duration::from_nanos(1_000));
            let count: u32 = (0..1_000).map(|_| share.bits(&mut stream).count_ones()).sum();
            assert!(count.abs_diff(expected) < 600, "{count} of 64,000 for {part} in 1,000");
        }
        assert_eq!(Fraction::WHOLE.bits(&mut stream), u64::MAX);
        let none = Fraction::of(Duration::ZERO, Duration::from_nanos(1));
        assert_eq!(none.bits(&mut stream), 0);
    }

    #[test]
    fn a_fraction_is_rounded_down_and_never_more_than_the_whole() {
        let nanos = Duration::from_nanos;
        assert_eq!(Fraction::of(nanos(1), nanos(2)), Fraction::HALF);
        assert_eq!(Fraction::of(nanos(3), nanos(2)), Fraction::WHOLE);
        assert_eq!(Fraction::of(nanos(0), nanos(0)), Fraction::WHOLE);
        assert!(Fraction::of(nanos(u64::MAX - 1), nanos(u64::MAX)) < Fraction::WHOLE);
    }

    #[test]
    fn a_torn_program_clears_some_pending_bits_and_sets_none() {
        for elapsed in 0..=10 {
            let mut torn = array();
            let nanos = Duration::from_nanos;
            let data = [0x18; 1_024];
            ProgramTear::at(nanos(elapsed), nanos(10)).apply(&mut torn, SIZE, &data, &mut stream());
            for offset in 0..1_024 {
                let byte = torn.byte(SIZE + Bytes::new(offset));
                assert_eq!(byte & !0x5A, 0, "no bit is set");
                assert_eq!(byte & 0x18, 0x18, "and none cleared that the data holds");
            }
            let cleared = u64::from(8_192 * 4 - ones(&torn, 1));
            assert!(cleared.abs_diff(2_048 * elapsed / 10) < 150, "{cleared} after {elapsed}");
            assert_eq!(torn.program_count(SECTOR), u64::from(elapsed > 0));
        }
    }

    #[test]
    fn an_interrupted_erase_goes_down_to_zeros_and_up_to_ones() {
        let whole = Duration::from_nanos(400);
        let shares = [(0, 50), (50, 25), (99, 1), (100, 0), (250, 50), (399, 100), (400, 100)];
        for (elapsed, expected) in shares {
            let mut torn = array();
            let tear = EraseTear::at(Duration::from_nanos(elapsed), whole);
            tear.apply(&mut torn, SECTOR, &mut stream());
            let share = ones(&torn, 1) * 100 / 65_536;
            assert!(share.abs_diff(expected) <= 1, "{share} % ones after {elapsed} of 400");
            assert_eq!(torn.is_erased(SECTOR), elapsed == 400);
            assert_eq!(torn.erase_count(SECTOR), u32::from(elapsed > 0));
            assert_eq!([0, 2, 3].map(|sector| ones(&torn, sector)), [32_768; 3], "neighbours");
            torn.erase(SECTOR);
            assert!(torn.is_erased(SECTOR), "a second erase mends it");
        }
    }

    #[test]
    fn the_first_phase_of_an_erase_sets_no_bit() {
        let mut torn = array();
        EraseTear::Preprogram(Fraction::HALF).apply(&mut torn, SECTOR, &mut stream());
        let mut bytes = vec![0; SIZE.to_usize()];
        torn.read(SIZE, &mut bytes);
        assert!(bytes.iter().all(|byte| byte & !0x5A == 0));
    }

    #[test]
    fn the_same_stream_leaves_the_same_bits() {
        let torn = |seed| {
            let mut array = array();
            let mut stream = Seed::new(seed).stream("torn");
            EraseTear::Erase(Fraction::HALF).apply(&mut array, SECTOR, &mut stream);
            array
        };
        assert_eq!(torn(1).first_difference(&torn(1)), None);
        assert!(torn(1).first_difference(&torn(2)).is_some());
    }
}
