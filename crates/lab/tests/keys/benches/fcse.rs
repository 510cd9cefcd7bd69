//! The system that comes with boardlab in the context-switch experiment.

use super::{Bench, Exception, Group, nothing};

pub(super) const GROUP: Group = Group { benches: BENCHES, exceptions: EXCEPTIONS, elsewhere: &[] };

const BENCHES: &[Bench] = &[Bench {
    name: "context-switch",
    scenario: "context-switch",
    base: &[
        "published.switches=2",
        "published.phases=[\"0 ms\"]",
        "published.tick=5 ms",
        "ring.processes=[2]",
        "ring.working_sets=[\"8 KiB\"]",
        "ring.laps=2",
        "real_time.samples=20",
        "interrupts_off.watched=1 ms",
        "exec.times=1",
        "exec.sizes=[\"8 KiB\"]",
        "qemu.command=no-such-program-here",
    ],
    own: nothing,
    contexts: &[],
}];

const EXCEPTIONS: &[Exception] = &[
    Exception {
        bench: "context-switch",
        keys: &["kernel"],
        why: "another kernel is the user's (crates/lab/tests/fcse.rs runs one)",
    },
    Exception {
        bench: "context-switch",
        keys: &["exec.slot.modes"],
        why: "the clock of the slot is below that of every mode",
    },
    Exception {
        bench: "context-switch",
        keys: &["exec.card.title", "exec.card.kind"],
        why: "what the card is called; the slot takes SD cards alone",
    },
    Exception {
        bench: "context-switch",
        keys: &[
            "exec.card.slc_cache.",
            "exec.card.flash.slc.",
            "exec.card.power_loss.",
            "exec.card.mapping.kind",
        ],
        why: "the card has no such section; cards that have read it with the same code",
    },
    Exception {
        bench: "context-switch",
        keys: &["exec.card.mapping.cache", "exec.card.mapping.segment"],
        why: "the map of a disk of a few megabytes is in the smallest cache after the first program",
    },
];
