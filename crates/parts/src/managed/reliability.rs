//! How long blocks live, and which bits are wrong.
//!
//! Layer: rank 8. Main type: [`Life`]; functions: [`life`] and [`read_errors`].

use super::limits;
use super::values::count;
use crate::nand::error_rates::{self, Chance};
use boardlab_document::quantity::Ratio;
use boardlab_document::{Read, Section};
use boardlab_ftl::{EndOfLife, Endurance, ReadErrors};
use boardlab_sim::{Bytes, Duration};

/// How long the blocks live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    /// Erases that the maker promises for each block.
    pub rated: u32,
    /// Erases that blocks really live for, at equal steps of probability.
    pub cycles: Vec<u32>,
    /// What an erase wears cells used with one bit, in thousandths of an ordinary erase.
    pub single_bit_wear: u32,
    /// Blocks that are bad from the factory.
    pub factory_bad: Ratio,
    /// Programs that fail, in 10^-12: a block in which one does is retired.
    pub program_failures: u64,
    /// What happens when too few are left.
    pub end_of_life: EndOfLife,
}

impl Life {
    /// The distribution of lives; `None` when the cycles are none, zero, or fall.
    #[must_use]
    pub fn endurance(&self) -> Option<Endurance> {
        Endurance::new(&self.cycles).ok()
    }
}

/// The section `endurance` of a part.
pub(super) fn life(section: Section<'_>) -> Read<Life> {
    let rated = count(&section, "rated", 1, limits::ERASES);
    let cycles = cycles(&section);
    let single_bit_wear = share(&section, "single_bit_wear", Ratio::from_millionths(1_000_000));
    let factory_bad = share(&section, "factory_bad", limits::BAD);
    let failures = section.optional::<Chance>("program_failures");
    let ends = [("read-only", EndOfLife::ReadOnly), ("ignored", EndOfLife::Ignored)];
    let end_of_life = section.one_of("end_of_life", &ends);
    section.finish()?;
    let thousandths = single_bit_wear?.millionths() / 1_000;
    Ok(Life {
        rated: rated?,
        cycles: cycles?,
        single_bit_wear: u32::try_from(thousandths).expect("at most a thousand"),
        factory_bad: factory_bad?,
        program_failures: failures?.map_or(0, |chance| chance.atto() / 1_000_000),
        end_of_life: end_of_life?,
    })
}

fn cycles(section: &Section<'_>) -> Read<Vec<u32>> {
    let cycles = section.required::<Vec<u64>>("cycles")?;
    let fits = |&cycles: &u64| u32::try_from(cycles).ok().filter(|_| cycles <= limits::ERASES);
    let points: Option<Vec<u32>> = cycles.iter().map(fits).collect();
    points.filter(|points| Endurance::new(points).is_ok()).ok_or_else(|| {
        section.refuse(
            "cycles",
            "is no distribution of lives",
            &format!("one number or more, none below the one before, from 1 to {}", limits::ERASES),
            "quantiles at equal steps of probability: [2400, 3000, 3900] lives between 2,400 and 3,900 erases, half of all blocks up to 3,000",
        )
    })
}

fn share(section: &Section<'_>, key: &str, most: Ratio) -> Read<Ratio> {
    section.key::<Ratio>(key).within(Ratio::default(), most).required()
}

/// The section `reads` of a part, with its rates of wrong bits.
pub(super) fn read_errors(section: Section<'_>) -> Read<ReadErrors> {
    let codeword = section.key::<Bytes>("codeword").within(Bytes::new(64), limits::PAGE).required();
    let (correctable, refresh_at) =
        (count(&section, "correctable", 1, 65_535), count(&section, "refresh_at", 1, 65_535));
    let retries = section.required::<Vec<Ratio>>("retries");
    let patrol = section.key::<Duration>("patrol").within(Duration::ZERO, limits::PATROL);
    let patrol = patrol.required();
    let rates = section.section("errors", error_rates::rates);
    section.finish()?;
    let thousandths = |share: &Ratio| u32::try_from(share.millionths() / 1_000).unwrap_or(u32::MAX);
    Ok(ReadErrors {
        rates: rates?,
        codeword: codeword?,
        correctable: correctable?,
        retries: retries?.iter().map(thousandths).collect(),
        refresh_at: refresh_at?,
        patrol: patrol?,
    })
}
