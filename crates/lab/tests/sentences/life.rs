//! Cases of lives, on a small card and few of them.

use super::{Case, Sentence, check};

const SMALL: [&str; 3] =
    ["part.capacity=64 MiB", "part.flash.pages_per_block=24", "part.endurance.rated=100"];

const CASES: [Case; 4] = [
    Case {
        of: "life sd-life",
        set: &[
            "part.endurance.pe_cycles=[90, 100, 120]",
            "life.cards=1",
            "pattern.places=hot-cold",
            "what_if.over_provisioning=50 %",
        ],
        findings: &[
            Sentence {
                about: "its end of life after",
                says: &[
                    "The card reaches its end of life after {life end years_50} years",
                    "1 card",
                ],
                not: &["Half of", "95 %", "1 cards"],
            },
            Sentence {
                about: "its rated P/E cycles alone",
                says: &[
                    "would last {factors ideal years} years",
                    "lives for {factors retention years} years, ",
                ],
                not: &[],
            },
            Sentence {
                about: "Every program and every erase",
                says: &["was simulated"],
                not: &["extrapolated"],
            },
            Sentence {
                about: "The best alternative",
                says: &["50 % spare instead of ", "% longer"],
                not: &["% shorter", "14 %"],
            },
            Sentence {
                about: "The worst alternative",
                says: &["% shorter: no wear levelling"],
                not: &["% longer"],
            },
        ],
        ..Case::EMPTY
    },
    Case {
        of: "life sd-life",
        set: &[
            "part=swissbit-s46u-8gb",
            "part.over_provisioning=20 %",
            "part.endurance.pe_cycles=[90, 100, 120]",
            "life.cards=2",
            "life.horizon=1 days",
            "pattern.bytes_a_day=1 MB",
            "what_if.cards=0",
        ],
        findings: &[
            Sentence {
                about: "Half of the cards",
                says: &["more than 0.00274 years", "(2 cards)"],
                not: &[],
            },
            Sentence {
                about: "horizon",
                says: &["No card loses data up to the horizon, and none stops"],
                not: &["before it takes no more writes"],
            },
        ],
        absent: &["rated P/E cycles", "best alternative", "worst alternative", "outlives"],
        elsewhere: &["not reached its end of life at the horizon"],
        nowhere: &[],
    },
    Case {
        of: "life sd-life",
        set: &[
            "part.endurance.pe_cycles=[250]",
            "part.over_provisioning=60 %",
            "pattern.places=sequential",
            "pattern.request=1 MiB",
            "life.cards=2",
            "what_if.cards=0",
            "life.method=scaled",
        ],
        findings: &[
            Sentence {
                about: "The health register of the median card",
                says: &[
                    "after {health life_0b years} years",
                    "The card reaches its end after {life end years_50} years",
                ],
                not: &["more than"],
            },
            Sentence {
                about: "The card outlives",
                says: &[
                    "mean life of blocks against the rating (150 % more)",
                    "blocks beyond the capacity",
                ],
                not: &["wear is not even"],
            },
            Sentence {
                about: "Lives were extrapolated",
                says: &["an erase for "],
                not: &["Every program"],
            },
        ],
        ..Case::EMPTY
    },
    Case {
        of: "life sd-life",
        set: &[
            "part=swissbit-s46u-8gb",
            "part.over_provisioning=20 %",
            "part.endurance.pe_cycles=[90, 100, 120]",
            "part.reads.errors.program.pe_cycles=[0, 40, 60, 80000]",
            "part.reads.errors.program.rate=[\"0\", \"0\", \"5e-2\", \"5e-2\"]",
            "life.cards=3",
            "what_if.cards=0",
        ],
        findings: &[Sentence {
            about: "data by uncorrectable errors",
            says: &["of 3 cards lose"],
            not: &["10 cards"],
        }],
        ..Case::EMPTY
    },
];

#[test]
fn life_says_what_was_run() {
    check(&["life"], &SMALL, &CASES);
}
