//! Wear of a NAND under filesystems.

use super::{Bench, Elsewhere, Exception, Group, nothing};

pub(super) const GROUP: Group =
    Group { benches: BENCHES, exceptions: EXCEPTIONS, elsewhere: ELSEWHERE };

/// About as few blocks as the filesystems take.
macro_rules! small {
    ($($more:expr),* $(,)?) => {
        &[
            $($more,)*
            "part.geometry.pages_per_block=16",
            "part.onfi={ revision = 2, features = 0, optional_commands = 0, timing_modes = 1, manufacturer = \"A\", model = \"B\" }",
            "wear.chip=2 MiB",
            "wear.rest=16 KiB",
            "wear.file=64 KiB",
            "wear.levels=[\"45 %\"]",
            "wear.endurance=[300]",
            "wear.check_cycles=10",
            "wear.check_levels=[\"45 %\"]",
        ]
    };
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "nand-wear",
        scenario: "nand-wear",
        base: small!("systems=[\"yaffs2\", \"ubifs\"]", "wear.data=percent:50"),
        own: nothing,
        contexts: &[
            ("Linux 6.1", &["kernel.profile=linux-6.1"]),
            ("whole pages", &["ubifs.sub_pages=false"]),
        ],
    },
    Bench {
        name: "nand-wear, JFFS2",
        scenario: "nand-wear",
        // What compresses takes three times as long.
        base: small!("systems=[\"jffs2\"]", "wear.data=random"),
        own: nothing,
        contexts: &[("Linux 6.1", &["kernel.profile=linux-6.1"])],
    },
    Bench {
        name: "nand-wear, LogFS",
        scenario: "nand-wear",
        base: small!("systems=[\"logfs\"]", "wear.data=percent:50", "board=at91sam9260"),
        own: nothing,
        contexts: &[],
    },
];

const ELSEWHERE: &[Elsewhere] =
    &[Elsewhere { bench: "nand-wear", keys: &["kernel.verify_write"], context: "whole pages" }];

const EXCEPTIONS: &[Exception] = &[
    Exception {
        bench: "nand-wear",
        keys: &["board.cpu.work", "board.cpu.core."],
        why: "sections of which a board has one alone",
    },
    Exception {
        bench: "nand-wear",
        keys: &["part.on_die_ecc."],
        why: "a chip that corrects by itself, which the part is not",
    },
    Exception {
        bench: "nand-wear",
        keys: &["wear.levels", "wear.check_levels"],
        why: "each is refused without the other",
    },
];
