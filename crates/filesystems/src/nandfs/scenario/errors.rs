//! Wear and errors of the flash of a run: the section of a scenario that switches them on.
//!
//! Layer: rank 10. Main type: [`Errors`]. Left out: errors under power cuts, whose losses could not be
//! told from those of the cut.

use boardlab_document::quantity::Ratio;
use boardlab_document::{Read, Section, section};
use boardlab_media::ErrorRates;
use boardlab_nand::chip::{Die, Setup};
use boardlab_sim::Seed;

/// The most P/E cycles before a run.
const ERASES: u64 = 10_000_000;
/// The largest share of bad blocks.
const BAD: Ratio = Ratio::from_millionths(500_000);

section! {
    /// What a scenario asks for of wear and errors.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub(crate) struct Errors(section, of_part: Option<ErrorRates>) {
        /// Bit error rates, those of the part; none when off.
        pub rates: Option<ErrorRates> = section.required::<bool>("bits") => |section, bits| {
            bit_error_rates(section, bits, of_part)
        },
        /// P/E cycles of every block before the run.
        pub pe_cycles: u32 => up_to(ERASES).or(0),
        /// The share of blocks that are bad from the factory.
        pub factory_bad: Ratio => or(Ratio::default()),
    }
    check(factory_bad) {
        if *factory_bad > BAD {
            let (problem, help) = ("leaves too little of the flash", "data sheets allow about 2 %");
            return Err(section.refuse("factory_bad", problem, &format!("at most {BAD}"), help));
        }
    }
}

/// A flash without errors and without wear.
pub(crate) static SOUND: Errors =
    Errors { rates: None, pe_cycles: 0, factory_bad: Ratio::from_millionths(0) };

fn bit_error_rates(
    section: &Section<'_>,
    bits: bool,
    of_part: Option<ErrorRates>,
) -> Read<Option<ErrorRates>> {
    if bits && of_part.is_none() {
        let problem = "asks for errors of a part that says nothing of them";
        let help = "copy the section of a built-in part with the same cells, its origin `assumed`";
        return Err(section.refuse("bits", problem, "a part with the section [errors]", help));
    }
    Ok(of_part.filter(|_| bits))
}

impl Errors {
    /// The setup of a die.
    pub(crate) fn setup(&self, seed: Seed) -> Setup {
        let bad = (self.factory_bad.millionths() << 16) / 1_000_000;
        Setup {
            errors: self.rates.clone(),
            factory_bad: u32::try_from(bad).expect("at most half of 65,536"),
            ..Setup::perfect(seed)
        }
    }

    /// Gives every block of `die` its P/E cycles before the run.
    pub(crate) fn wear(&self, die: &mut Die) {
        for block in 0..die.part().geometry.blocks {
            die.array_mut().wear(block, self.pe_cycles);
        }
    }
}
