//! Wear of a NAND under filesystems.

use super::{Bench, Elsewhere, Exception, Group, nothing};

pub(super) const GROUP: Group =
    Group { benches: BENCHES, exceptions: EXCEPTIONS, elsewhere: ELSEWHERE };

/// About as few blocks as all four filesystems take.
const BENCHES: &[Bench] = &[Bench {
    name: "nand-wear",
    scenario: "nand-wear",
    base: &[
        "part.geometry.pages_per_block=16",
        "part.onfi={ revision = 2, features = 0, optional_commands = 0, timing_modes = 1, manufacturer = \"A\", model = \"B\" }",
        "wear.chip=3 MiB",
        "wear.rest=16 KiB",
        "wear.file=32 KiB",
        "wear.data=percent:50",
        "wear.levels=[\"30 %\", \"45 %\"]",
        "wear.endurance=[300]",
        "wear.check_cycles=10",
        "wear.check_levels=[\"45 %\"]",
    ],
    own: nothing,
    contexts: &[
        ("Linux 6.1", &["kernel.profile=linux-6.1"]),
        ("whole pages", &["ubifs.sub_pages=false"]),
        ("derived costs", &["board=at91sam9260"]),
        ("several bits", &["kernel.profile=linux-6.1", "part.ecc.bits=4"]),
    ],
}];

const ELSEWHERE: &[Elsewhere] =
    &[Elsewhere { bench: "nand-wear", keys: &["kernel.verify_write"], context: "whole pages" }];

const EXCEPTIONS: &[Exception] = &[Exception {
    bench: "nand-wear",
    keys: &["board.cpu.work"],
    why: "a section, which a board with [cpu.core] must not have",
}];
