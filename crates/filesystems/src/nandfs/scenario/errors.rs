//! What is wrong with the flash of a run: the section of a scenario that switches it on.
//!
//! Layer: rank 10. Main type: [`Errors`]; function: [`read`]. Left out: errors under power cuts, whose losses would not be told
//! from those of the cut.

use boardlab_document::quantity::Ratio;
use boardlab_document::{Read, Section};
use boardlab_media::ErrorRates;
use boardlab_nand::chip::{Die, Setup};
use boardlab_sim::Seed;

/// Erases that a flash may have behind it.
const ERASES: u64 = 10_000_000;
/// Blocks that may be bad: half of them.
const BAD: Ratio = Ratio::from_millionths(500_000);

/// What a scenario asks for of wear and errors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Errors {
    /// Rates of wrong bits; none when off.
    pub rates: Option<ErrorRates>,
    /// P/E cycles of every block before the run.
    pub pe_cycles: u32,
    /// Blocks that are bad from the factory.
    pub factory_bad: Ratio,
}

/// The section `errors` of a scenario, with the rates of its part.
///
/// # Errors
/// Whatever is missing, unknown or of the wrong kind, and errors of a part that has no rates.
pub fn read(section: &Section<'_>, rates: Option<ErrorRates>) -> Read<Errors> {
    let bits = section.required::<bool>("bits");
    let pe_cycles = section.key::<u64>("pe_cycles").up_to(ERASES).or(0).required();
    let factory_bad = section.key::<Ratio>("factory_bad").or(Ratio::default()).required();
    section.finish()?;
    let (bits, pe_cycles, factory_bad) = (bits?, pe_cycles?, factory_bad?);
    if bits && rates.is_none() {
        return Err(section.refuse(
            "bits",
            "asks for errors of a part that says nothing of them",
            "a part with the section [errors]",
            "copy the section of a built-in part with the same cells, its origin `assumed`",
        ));
    }
    if factory_bad > BAD {
        return Err(section.refuse(
            "factory_bad",
            "leaves too little of the flash",
            &format!("at most {BAD}"),
            "data sheets allow about 2 %",
        ));
    }
    let pe_cycles = u32::try_from(pe_cycles).expect("within u32");
    Ok(Errors { rates: rates.filter(|_| bits), pe_cycles, factory_bad })
}

impl Errors {
    /// What a die is made with.
    pub(crate) fn setup(&self, seed: Seed) -> Setup {
        let bad = (self.factory_bad.millionths() << 16) / 1_000_000;
        Setup {
            errors: self.rates.clone(),
            factory_bad: u32::try_from(bad).expect("at most half of 65,536"),
            ..Setup::perfect(seed)
        }
    }

    /// Lets every block of `die` have been erased before the run.
    pub(crate) fn wear(&self, die: &mut Die) {
        for block in 0..die.part().geometry.blocks {
            die.array_mut().wear(block, self.pe_cycles);
        }
    }
}
