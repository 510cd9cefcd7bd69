//! The outcomes of interrupted operations on NAND: torn programs and interrupted erases.
//!
//! Layer: physics below the chip. A program is torn as in NOR ([`ProgramTear`]), within one page. An
//! erase has its own outcomes, [`NandEraseTear`], since NAND is not programmed to zeros before it is
//! erased. Outcomes are deterministic: the bits come from a random stream of the caller.
//!
//! Source: the measurements after power cuts of Tseng, Grupp, Swanson, "Understanding the impact of
//! power loss on flash memory" (DAC 2011): partial programs and erases, pages that read correctly at
//! first and fail later, and blocks that look erased and are not. Assumed: cells change independently
//! of each other, and the fractions of time below.

use crate::nand::{NandArray, Row, Violation};
use crate::torn::{Fraction, ProgramTear};
use boardlab_sim::{Duration, Instant, Stream};

impl ProgramTear {
    /// Applies the torn program of `data` to a page from `column` on. Never sets a bit. Returns the
    /// rule that the program violated, if any.
    ///
    /// # Panics
    /// When there is no such page or the range ends beyond its spare bytes.
    pub fn apply_to_page(
        self,
        array: &mut NandArray,
        now: Instant,
        (row, column): (Row, usize),
        data: &[u8],
        stream: &mut Stream,
    ) -> Option<Violation> {
        match self {
            Self::Untouched => None,
            Self::Complete => array.program(now, row, column, data),
            Self::Partial(fraction) => {
                let mut torn = data.to_vec();
                for chunk in torn.chunks_mut(8) {
                    let kept = (!fraction.bits(stream)).to_le_bytes();
                    chunk.iter_mut().zip(kept).for_each(|(byte, kept)| *byte |= kept);
                }
                array.program(now, row, column, &torn)
            }
        }
    }
}

/// The progress of an interrupted erase of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NandEraseTear {
    /// The erase voltage was not applied yet: nothing changed.
    Untouched,
    /// Charge is leaving the cells: each zero bit has become one with this probability. Until the next
    /// erase, weak cells lose what is programmed.
    Partial(Fraction),
    /// Every cell reads one, but not all have passed the erase verify level: until the next erase, weak
    /// cells lose what is programmed.
    Weak,
    /// Every cell has passed the erase verify; only the report was lost.
    Complete,
}

impl NandEraseTear {
    /// The fraction of an erase after which every cell reads one: numerator and denominator. Assumed.
    pub const WEAK_SHARE: (u64, u64) = (3, 4);

    /// The outcome of a cut `elapsed` after the start of an erase that would have taken `whole`.
    #[must_use]
    pub fn at(elapsed: Duration, whole: Duration) -> Self {
        let (numerator, denominator) = Self::WEAK_SHARE;
        let rising = whole / denominator * numerator;
        if elapsed.is_zero() {
            Self::Untouched
        } else if elapsed >= whole {
            Self::Complete
        } else if elapsed >= rising {
            Self::Weak
        } else {
            Self::Partial(Fraction::of(elapsed, rising))
        }
    }

    /// Applies the interrupted erase to `block`; it counts as wear unless nothing changed.
    ///
    /// # Panics
    /// When there is no such block.
    pub fn apply(self, array: &mut NandArray, block: u32, stream: &mut Stream) {
        match self {
            Self::Untouched => {}
            Self::Complete => array.erase(block),
            Self::Partial(fraction) => {
                array.change_block(block, |page| {
                    for chunk in page.chunks_mut(8) {
                        let risen = fraction.bits(stream).to_le_bytes();
                        chunk.iter_mut().zip(risen).for_each(|(byte, risen)| *byte |= risen);
                    }
                });
                array.weaken(block, stream.next_u64());
            }
            Self::Weak => {
                let erases = array.erase_count(block);
                array.erase(block);
                array.wear(block, erases);
                array.weaken(block, stream.next_u64());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{CellKind, NandGeometry, ProgramRules};
    use boardlab_sim::{Bytes, Seed};

    const ROW: Row = Row { block: 1, page: 2 };

    fn array() -> NandArray {
        let geometry = NandGeometry {
            blocks: 3,
            pages_per_block: 4,
            page: Bytes::new(2_048),
            oob: Bytes::new(64),
        };
        let mut array = NandArray::new(geometry, ProgramRules::of(CellKind::Slc, 4));
        for block in 0..3 {
            array.load(Row { block, ..ROW }, &[0x5A; 2_112]);
        }
        array
    }

    fn stream() -> Stream {
        Seed::new(5).stream("torn")
    }

    fn page(array: &NandArray, row: Row) -> Vec<u8> {
        let mut bytes = vec![0; 2_112];
        array.peek(row, 0, &mut bytes);
        bytes
    }

    fn ones(bytes: &[u8]) -> u32 {
        bytes.iter().map(|byte| byte.count_ones()).sum()
    }

    #[test]
    fn a_torn_program_clears_some_pending_bits_and_sets_none() {
        for elapsed in 0..=10 {
            let mut torn = array();
            let nanos = Duration::from_nanos;
            let tear = ProgramTear::at(nanos(elapsed), nanos(10));
            let place = (ROW, 0);
            tear.apply_to_page(&mut torn, Instant::ZERO, place, &[0x18; 2_112], &mut stream());
            let bytes = page(&torn, ROW);
            assert!(bytes.iter().all(|byte| byte & !0x5A == 0), "no bit is set");
            assert!(bytes.iter().all(|byte| byte & 0x18 == 0x18), "and none that the data hold");
            let cleared = u64::from(2_112 * 4 - ones(&bytes));
            let expected = 2_112 * 2 * elapsed / 10;
            assert!(cleared.abs_diff(expected) < 300, "{cleared}, not {expected}");
            assert_eq!(torn.program_count(1), u64::from(elapsed > 0));
            assert_eq!(page(&torn, Row { block: 0, ..ROW }), [0x5A; 2_112], "neighbours");
        }
    }

    #[test]
    fn an_interrupted_erase_lifts_zeros_and_clears_no_bit() {
        let whole = Duration::from_nanos(400);
        for (elapsed, expected) in [(0, 50), (150, 75), (299, 100), (300, 100), (399, 100)] {
            let mut torn = array();
            let tear = NandEraseTear::at(Duration::from_nanos(elapsed), whole);
            tear.apply(&mut torn, 1, &mut stream());
            let bytes = page(&torn, ROW);
            assert!(bytes.iter().all(|byte| byte & 0x5A == 0x5A), "no bit is cleared");
            let share = ones(&bytes) * 100 / (2_112 * 8);
            assert!(share.abs_diff(expected) <= 1, "{share} % ones after {elapsed}");
            assert_eq!(torn.erase_count(1), u32::from(elapsed > 0));
            assert_eq!(torn.is_erased(1), elapsed >= 300);
        }
    }

    #[test]
    fn a_weak_block_looks_erased_but_does_not_hold_all_that_is_programmed() {
        for tear in [NandEraseTear::Weak, NandEraseTear::Partial(Fraction::HALF)] {
            let mut torn = array();
            tear.apply(&mut torn, 1, &mut stream());
            let row = Row { block: 1, page: 3 };
            torn.program(Instant::ZERO, row, 0, &[0; 2_112]);
            let lost = ones(&page(&torn, row));
            assert!((20..130).contains(&lost), "{lost} of 16,896 bits, about 1 in 256");
            torn.erase(1);
            torn.program(Instant::ZERO, row, 0, &[0; 2_112]);
            assert_eq!(ones(&page(&torn, row)), 0, "a whole erase mends it");
        }
    }

    #[test]
    fn the_same_stream_leaves_the_same_bits() {
        let torn = |seed| {
            let mut array = array();
            let mut stream = Seed::new(seed).stream("torn");
            NandEraseTear::Partial(Fraction::HALF).apply(&mut array, 1, &mut stream);
            array
        };
        assert_eq!(torn(1).first_difference(&torn(1)), None);
        assert_eq!(torn(1).first_difference(&torn(2)), Some(ROW));
    }
}
