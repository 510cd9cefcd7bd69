//! Cases of advice, on a flash as small as the filesystems take.

use super::{Case, Sentence, check};

/// A NAND of few blocks.
macro_rules! small {
    ($($more:expr),* $(,)?) => {
        &[
            "part.geometry.blocks=128",
            "part.geometry.pages_per_block=16",
            "product.file=16 KiB",
            "product.levels=[\"50 %\"]",
            "product.chips=[\"8 MiB\"]",
            "product.kinds=[\"random\"]",
            $($more,)*
        ]
    };
}

/// One kind of compression for each filesystem.
const ONE: &str = "product.compressions=false";

const CASES: [Case; 5] = [
    Case {
        of: "run nand-advise",
        set: small![
            ONE,
            "systems=[\"yaffs2\", \"ubifs\"]",
            "product.pages=[\"512 B\"]",
            "product.cut_operations=60",
        ],
        findings: &[
            Sentence {
                about: "Take ubifs/LZO: it meets all 5 limits",
                says: &[
                    "mount {advise ubifs/LZO mount_ns} of 1 s",
                    "years where 5.0 are due",
                    "nothing lost at power cuts",
                ],
                not: &["yaffs2"],
            },
            Sentence {
                about: "The other one does not meet all limits",
                says: &["yaffs2/none misses 2: not in this kernel"],
                not: &["ubifs"],
            },
            Sentence {
                about: "of 4 changes would put another one first",
                says: &["pages of 512 B none, for no filesystem can be run there"],
                not: &[],
            },
            Sentence {
                about: "Power cuts took something",
                says: &[
                    "yaffs2/none {advise yaffs2/none lost_count} of",
                    "powercut nand-filesystems",
                ],
                not: &["ubifs"],
            },
            Sentence {
                about: "The kernel of the scenario lacks 1 filesystem",
                says: &["yaffs2 was never in Linux", "The product asks for one of the kernel"],
                not: &["logfs", "product.mainline"],
            },
            Sentence {
                about: "2 candidates cannot be run",
                says: &[
                    "yaffs2/none with pages of 512 B: pages have 512 bytes",
                    "the limit is 15360",
                ],
                not: &["50 % full"],
            },
        ],
        absent: &["The files"],
        nowhere: &["samples"],
        ..Case::EMPTY
    },
    // A part on whose pages JFFS2 cannot put its marks, and a limit that no one meets.
    Case {
        of: "run nand-advise",
        set: small![ONE, "part=mlc-4k", "product.power_cuts=false", "product.mainline=false"],
        findings: &[
            Sentence {
                about: "No filesystem meets every limit",
                says: &["misses 1 of 3", "where 5.0 are due"],
                not: &["power cuts", "kernel"],
            },
            Sentence {
                about: "stays first in every other case",
                says: &["Tried: 50 % full"],
                not: &["8 MiB"],
            },
            Sentence {
                about: "The kernel of the scenario lacks 2 filesystems",
                says: &[
                    "logfs was in Linux from 2.6.34 until before 4.10",
                    "product.mainline = true asks",
                ],
                not: &["ubifs"],
            },
            Sentence {
                about: "1 candidate cannot be run",
                says: &["jffs2/zlib: ", "already programmed"],
                not: &["ubifs"],
            },
        ],
        absent: &["Power cuts took"],
        nowhere: &["with a loss"],
        ..Case::EMPTY
    },
    // A NOR whose write buffer lies across two of those of UBIFS.
    Case {
        of: "run nor-advise",
        set: &[
            ONE,
            "part=m29ew",
            "part.geometry.region=[{ count = 128, size = \"16 KiB\" }]",
            "product.file=16 KiB",
            "product.write=16 KiB",
            "product.levels=[\"50 %\"]",
            "product.chips=[\"4 MiB\"]",
            "product.kinds=[\"random\"]",
        ],
        findings: &[Sentence {
            about: "A power cut can make ubifs unusable on this flash",
            says: &["at byte 128 of a block, so that a buffer of 1 KiB", "-O 960"],
            not: &["jffs2"],
        }],
        absent: &["cannot be run"],
        ..Case::EMPTY
    },
    // The user's own files.
    Case {
        of: "run nand-advise",
        set: small![
            ONE,
            "systems=[\"ubifs\"]",
            "product.data=sample:../../docs/formats",
            "product.file=tree",
            "product.power_cuts=false",
            "product.pages=[\"2 KiB\"]",
        ],
        findings: &[Sentence {
            about: "of the room",
            says: &["The files take", "and ubifs/LZO has room for"],
            not: &["do not fit"],
        }],
        absent: &["The kernel of the scenario lacks", "None of the"],
        elsewhere: &["Samples of your own files"],
        ..Case::EMPTY
    },
    Case {
        of: "run nand-advise",
        set: small![
            "systems=[\"yaffs2\"]",
            "part.geometry.pages_per_block=4",
            "product.data=sample:../../docs",
            "product.file=tree",
            "product.power_cuts=false",
            "product.pages=[\"2 KiB\"]",
            "product.chips=[\"1 MiB\"]",
            "product.levels=[\"75 %\"]",
        ],
        findings: &[Sentence {
            about: "The files do not fit",
            says: &["and yaffs2/none has room for"],
            not: &["of the room"],
        }],
        absent: &["None of the"],
        ..Case::EMPTY
    },
];

#[test]
fn an_advice_says_what_was_run() {
    check(&["filesystems/advise"], &[], &CASES);
}
