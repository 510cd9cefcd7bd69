//! How long blocks live, and which bits are wrong.
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
    /// How long the blocks live.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Life(section) {
        /// Erases that the maker promises for each block.
        pub rated: u32 => within(1, limits::ERASES),
        /// Erases that blocks really live for, at equal steps of probability.
        pub cycles: Vec<u32> => with(cycles),
        /// What an erase wears cells used with one bit, in thousandths of an ordinary erase.
        pub single_bit_wear: u32 = {
            let all = Ratio::from_millionths(1_000_000);
            section.key("single_bit_wear").up_to(all).required().map(|share| thousandths(&share))
        },
        /// Blocks that are bad from the factory.
        pub factory_bad: Ratio => up_to(limits::BAD),
        /// Programs that fail, in 10^-12: a block in which one does is retired.
        pub program_failures: u64 = {
            let chance = section.optional::<Chance>("program_failures");
            chance.map(|chance| chance.map_or(0, |chance| chance.atto() / 1_000_000))
        },
        /// What happens when too few are left.
        pub end_of_life: EndOfLife => one_of(ENDS),
    }
}

impl Life {
    /// The distribution of lives; `None` when the cycles are none, zero, or fall.
    #[must_use]
    pub fn endurance(&self) -> Option<Endurance> {
        Endurance::new(&self.cycles).ok()
    }
}

fn cycles(section: &Section<'_>, key: &str) -> Read<Vec<u32>> {
    let cycles = section.required::<Vec<u64>>(key)?;
    let fits = |&cycles: &u64| u32::try_from(cycles).ok().filter(|_| cycles <= limits::ERASES);
    let points: Option<Vec<u32>> = cycles.iter().map(fits).collect();
    points.filter(|points| Endurance::new(points).is_ok()).ok_or_else(|| {
        section.refuse(
            key,
            "is no distribution of lives",
            &format!("one number or more, none below the one before, from 1 to {}", limits::ERASES),
            "quantiles at equal steps of probability: [2400, 3000, 3900] lives between 2,400 and 3,900 erases, half of all blocks up to 3,000",
        )
    })
}

fn thousandths(share: &Ratio) -> u32 {
    u32::try_from(share.millionths() / 1_000).unwrap_or(u32::MAX)
}

/// The section `reads` of a part, with its rates of wrong bits.
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
