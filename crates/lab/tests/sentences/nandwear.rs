//! Cases of wear, on a flash as small as the filesystems take.

use super::{Case, Sentence, check};

const SMALL: [&str; 4] =
    ["part.geometry.pages_per_block=16", "wear.chip=3 MiB", "wear.rest=16 KiB", "wear.file=32 KiB"];

const CASES: [Case; 2] = [
    Case {
        of: "run nand-wear",
        set: &[
            "systems=[\"yaffs2\", \"ubifs\"]",
            "wear.levels=[\"30 %\", \"45 %\"]",
            "wear.endurance=[400]",
            "wear.check_cycles=10",
            "wear.check_levels=[\"45 %\"]",
        ],
        findings: &[
            Sentence {
                about: "A part of 400 cycles, 45 % full, lasts",
                says: &["with yaffs2", "with ubifs", "32 KiB written every 60 s"],
                not: &["jffs2", "3000"],
            },
            Sentence {
                about: "as fast as the mean one",
                says: &["yaffs2", "data at rest are never moved", "counters are 4096 apart"],
                not: &["logfs"],
            },
            Sentence { about: "For each byte of the file", says: &["ubifs", "at 30 %"], not: &[] },
            Sentence {
                about: "that ran to their end lie at most",
                says: &["Parts of 10 cycles", "ubifs 45 % levelled as one of 400"],
                not: &["ubifs 30 %"],
            },
            Sentence {
                about: "takes no more writes",
                says: &[
                    "of 96, ubifs takes",
                    "For those ubifs keeps 1 block, and stops when one more dies",
                    "in all 2 parts that ran",
                ],
                not: &["jffs2"],
            },
        ],
        ..Case::EMPTY
    },
    Case {
        of: "run nand-wear",
        set: &[
            "systems=[\"logfs\"]",
            "wear.levels=[\"75 %\"]",
            "wear.endurance=[400]",
            "wear.check_cycles=0",
            "wear.check_levels=[\"75 %\"]",
        ],
        findings: &[
            Sentence {
                about: "A part of 400 cycles, 75 % full, lasts",
                says: &["with logfs"],
                not: &[", and 0.0 months with"],
            },
            Sentence {
                about: "Erases were not steady",
                says: &["logfs at 75 %", "all the same"],
                not: &["45 %"],
            },
        ],
        absent: &["Parts of", "With "],
        nowhere: &["wear-check"],
        ..Case::EMPTY
    },
];

#[test]
fn wear_says_what_was_run() {
    check(&["nandwear"], &SMALL, &CASES);
}
