//! Cases of advice on cards, which are small.

use super::{Case, Sentence, check};
use crate::card_advise::{card, write_cards};

/// A product without limits on a card called `small`.
const OF: &str = concat!("run ", card!("product"));
const BOTH: &str = concat!("compare=", card!("durable"));

const CASES: [Case; 4] = [
    Case {
        of: OF,
        set: &[
            concat!("compare=", card!("durable"), ", ", card!("mapped"), ", ", card!("tiny")),
            "product.life=20 years",
            "product.throughput=500 kB/s",
            "product.latency=20 ms",
            "product.room=32 MiB",
        ],
        findings: &[
            Sentence {
                about: "Take durable: it meets all 4 limits",
                says: &[
                    "life {card-advise durable life_years} years for a limit of 20 years",
                    "capacity 64 MiB where 32 MiB are due",
                    "writes {card-advise durable rate_bytes_per_s} where 0.50 are due",
                    "99 % of the writes in {card-advise durable latency_ns} of 20 ms",
                ],
                not: &["small", "more than"],
            },
            Sentence {
                about: "The other one does not meet all limits",
                says: &[
                    "small misses 1: life {card-advise small life_years} years for a limit of 20 years",
                ],
                not: &["durable", "MB/s"],
            },
            Sentence {
                about: "slowed on 2 cards",
                says: &["small: ", " of their time went into those with garbage collection"],
                not: &["mapped"],
            },
            Sentence {
                about: "No filesystem is compared",
                says: &["ext4, F2FS and FAT see the same block device", "product.places"],
                not: &["UBIFS"],
            },
            Sentence {
                about: "2 of 4 cards were left out",
                says: &[
                    "mapped: it maps whole blocks, of which no life is modelled",
                    "tiny: it holds 32 MiB, and the data are 38 MiB",
                ],
                not: &["durable", "small:"],
            },
        ],
        absent: &["would do as well"],
        ..Case::EMPTY
    },
    // No limit, and a horizon that no card reaches.
    Case {
        of: OF,
        set: &[
            "life.horizon=1 day",
            "product.unused=trimmed",
            "fio.job=[a]\nfilename=/dev/x\ndirect=1\nrw=write\nbs=1M\nsize=1M\n",
        ],
        findings: &[Sentence {
            about: "No limit was named",
            says: &["small lives longest: more than 1 day"],
            not: &["Take"],
        }],
        absent: &["The other one", "left out", "slowed on"],
        ..Case::EMPTY
    },
    // A card that meets no limit, and one that cannot take the writes of a day.
    Case {
        of: OF,
        set: &[
            BOTH,
            "product.writes=1 GB / 100 s",
            "part.flash.times.program=0.1 ms",
            "product.life=1 day",
            "product.throughput=400 MB/s",
        ],
        findings: &[
            Sentence {
                about: "No card meets every limit; small misses 2 of 2",
                says: &[
                    "The SD card: life 0.0",
                    " days for a limit of 1 day",
                    "MB/s where 400.00 are due",
                ],
                not: &["durable"],
            },
            Sentence {
                about: "1 of 2 cards was left out",
                says: &["durable: it cannot take 864 GB a day: their programs take ", "for 24.0"],
                not: &["small"],
            },
        ],
        absent: &["The other one"],
        ..Case::EMPTY
    },
    Case {
        of: OF,
        set: &[BOTH, "product.life=1 day"],
        findings: &[
            Sentence {
                about: "it meets the limit",
                says: &["Take durable", " years for a limit of 1 day"],
                not: &["MB/s"],
            },
            Sentence {
                about: "Every other one would do as well",
                says: &["small meets all: life "],
                not: &["misses"],
            },
        ],
        absent: &["No card meets"],
        ..Case::EMPTY
    },
];

#[test]
fn an_advice_on_cards_says_what_was_run() {
    write_cards();
    check(&["cards/advise"], &[], &CASES);
}
