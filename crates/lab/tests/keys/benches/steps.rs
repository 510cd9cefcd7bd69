//! Steps of plans on modelled devices.

use super::{Bench, Exception, Group, nothing};

pub(super) const GROUP: Group = Group { benches: BENCHES, exceptions: EXCEPTIONS, elsewhere: &[] };

const BENCHES: &[Bench] = &[
    Bench {
        name: "nand-steps",
        scenario: "nand-steps",
        base: &[
            "part.timing.read=triangular(20 us, 25 us, 30 us)",
            "step.3.size=512 B",
            "part.onfi={ revision = 2, features = 0, optional_commands = 0, timing_modes = 1, manufacturer = \"A\", model = \"B\" }",
        ],
        own: nothing,
        contexts: &[("another kernel", &["driver.profile=linux-2.6"])],
    },
    Bench {
        name: "block-steps",
        scenario: "block-steps",
        base: &["step.1.operation=block.discard"],
        own: nothing,
        contexts: &[],
    },
];

const EXCEPTIONS: &[Exception] = &[
    Exception {
        bench: "nand-steps",
        keys: &["part.timing.program_max", "part.timing.erase_max"],
        why: "the longest that the part may take, with which its times are compared",
    },
    Exception {
        bench: "nand-steps",
        keys: &["step.*.seed", "step.*.order", "step.*.offset"],
        why: "where the pages are that all take as long",
    },
    Exception {
        bench: "block-steps",
        keys: &["step.*.seed", "step.*.order", "step.*.offset", "device.size"],
        why: "where the sectors are that all take as long",
    },
];
