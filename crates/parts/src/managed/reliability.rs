//! The endurance of blocks, and bit errors.
//!
//! Layer: rank 8. Main type: [`Life`]; function: [`read_errors`].

use super::limits;
use crate::nand::error_rates::{self, Chance};
use boardlab_document::quantity::Ratio;
use boardlab_document::{Read, Section, fields, section};
use boardlab_ftl::{EndOfLife, Endurance, ReadErrors};
use boardlab_media::ErrorRates;
use boardlab_sim::{Bytes, Duration};

const ENDS: [(&str, EndOfLife); 2] =
    [("read-only", EndOfLife::ReadOnly), ("ignored", EndOfLife::Ignored)];

section! {
    /// The endurance of blocks and the end of life.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Life(section) {
        /// The P/E cycles that the manufacturer specifies.
        pub rated: u32 => within(1, limits::ERASES),
        /// The P/E cycles that blocks survive, at equal steps of probability.
        pub pe_cycles: Vec<u32> => with(pe_cycles),
        /// Wear of an erase in SLC mode, in thousandths of an ordinary erase.
        pub slc_wear: u32 = {
            let all = Ratio::WHOLE;
            section.key("slc_wear").up_to(all).required().map(|share| thousandths(&share))
        },
        /// The share of factory bad blocks.
        pub factory_bad: Ratio => up_to(limits::BAD),
        /// The probability that a program fails, in 10^-12; the block is then retired.
        pub program_failures: u64 = {
            let chance = section.optional::<Chance>("program_failures");
            chance.map(|chance| chance.map_or(0, |chance| chance.atto() / 1_000_000))
        },
        /// What happens when too few good blocks are left.
        pub end_of_life: EndOfLife => one_of(ENDS),
    }
}

impl Life {
    /// The distribution of endurance; `None` when `pe_cycles` is empty, contains zero, or falls.
    #[must_use]
    pub fn endurance(&self) -> Option<Endurance> {
        Endurance::new(&self.pe_cycles).ok()
    }
}

fn pe_cycles(section: &Section<'_>, key: &str) -> Read<Vec<u32>> {
    let cycles = section.required::<Vec<u64>>(key)?;
    let fits = |&cycles: &u64| u32::try_from(cycles).ok().filter(|_| cycles <= limits::ERASES);
    let points: Option<Vec<u32>> = cycles.iter().map(fits).collect();
    points.filter(|points| Endurance::new(points).is_ok()).ok_or_else(|| {
        section.refuse(
            key,
            "is not a distribution of endurance",
            &format!("one number or more, none below the one before, from 1 to {}", limits::ERASES),
            "quantiles at equal steps of probability: with [2400, 3000, 3900] blocks survive 2,400 to 3,900 erases, half of them up to 3,000",
        )
    })
}

fn thousandths(share: &Ratio) -> u32 {
    u32::try_from(share.millionths() / 1_000).unwrap_or(u32::MAX)
}

/// Reads the section `reads` of a part, with its bit error rates.
pub(super) fn read_errors(section: Section<'_>) -> Read<ReadErrors> {
    fields!(section => ReadErrors {
        codeword: Bytes => within(Bytes::new(64), limits::PAGE),
        correctable: u32 => within(1, 65_535),
        refresh_at: u32 => within(1, 65_535),
        retries: Vec<u32> = {
            let shares = section.required::<Vec<Ratio>>("retries");
            shares.map(|shares| shares.iter().map(thousandths).collect())
        },
        patrol: Duration => up_to(limits::PATROL),
        rates as "errors": ErrorRates => section(error_rates::rates),
    })
}
