//! Drives on the host of the SATA experiment.

use super::{Bench, Elsewhere, Exception, Group, nothing};

pub(super) const GROUP: Group =
    Group { benches: BENCHES, exceptions: EXCEPTIONS, elsewhere: ELSEWHERE };

/// The same for every drive of the scenario.
macro_rules! all_drives {
    ($($set:expr),* $(,)?) => {
        &[
            $(concat!("drives.intel-x25-e.", $set),)*
            $(concat!("drives.g-monster-v2.", $set),)*
            $(concat!("drives.transcend.", $set),)*
            $(concat!("drives.buffalo.", $set),)*
            $(concat!("drives.example.", $set),)*
        ]
    };
}

const BENCHES: &[Bench] = &[Bench {
    name: "sata-ssd",
    scenario: "sata-ssd",
    base: &[
        "continuous.sectors=2048",
        "continuous.loops=[1, 2]",
        "sweep.part=16384",
        "what_if.volume=2 MiB",
        "what_if.commands=[256, 2048]",
        "what_if.queue=[8]",
        "drives.intel-x25-e.sectors=131072",
        "drives.g-monster-v2.sectors=131072",
        "drives.transcend.sectors=65536",
        "drives.buffalo.sectors=65536",
        "drives.example.sectors=131072",
        "drives.intel-x25-e.over_provisioning=40 %",
        "drives.intel-x25-e.flash.channels=2",
        "drives.intel-x25-e.flash.pages_per_block=32",
        "drives.g-monster-v2.over_provisioning=40 %",
        "drives.g-monster-v2.flash.channels=2",
        "drives.g-monster-v2.flash.pages_per_block=32",
        "drives.transcend.over_provisioning=40 %",
        "drives.transcend.flash.channels=2",
        "drives.transcend.flash.pages_per_block=16",
        "drives.buffalo.over_provisioning=40 %",
        "drives.buffalo.flash.channels=2",
        "drives.buffalo.flash.pages_per_block=16",
        "drives.example.over_provisioning=40 %",
        "drives.example.flash.channels=2",
        "drives.example.flash.pages_per_block=32",
    ],
    own: nothing,
    contexts: &[
        (
            "a used drive",
            all_drives![
                "mapping={ kind = \"page\" }",
                "collection.emptied=kept",
                "collection.idle_blocks=8",
                "controller.write_cache=back",
                "controller.write_cache_size=1 MiB",
                "housekeeping={ after = \"1 MiB\", pause = \"410 ms\" }",
                "endurance={ rated = 3000, pe_cycles = [3000], slc_wear = \"10 %\", factory_bad = \"2 %\", program_failures = \"1e-6\", end_of_life = \"ignored\" }",
                "reads={ codeword = \"1 KiB\", correctable = 40, refresh_at = 30, retries = [\"60 %\", \"40 %\"], patrol = \"1 h\", errors = { program = { pe_cycles = [0, 20, 60], rate = [\"2e-3\", \"3e-3\", \"4e-3\"] }, retention = { pe_cycles = [0, 20, 60], rate = [\"1e-4\", \"1e-3\", \"4e-3\"] }, retention_share = { hours = [0, 1, 1000], share = [\"0 %\", \"50 %\", \"100 %\"] }, disturb = { pe_cycles = [0, 20, 60], rate = [\"1e-5\", \"1e-5\", \"4e-5\"] } } }",
            ],
        ),
        (
            "an SLC cache",
            all_drives![
                "mapping={ kind = \"page\" }",
                "over_provisioning=60 %",
                "power_loss={ rows = 2, shared = \"padded\" }",
                "flash.slc={ read = \"20 us\", program = \"100 us\", erase = \"1 ms\" }",
                "slc_cache={ size = \"fixed\", blocks = 4, when_full = \"fold\", fold_when_idle = true }",
            ],
        ),
    ],
}];

const ELSEWHERE: &[Elsewhere] = &[Elsewhere {
    bench: "sata-ssd",
    keys: &["drives.g-monster-v2.housekeeping.after"],
    context: "a used drive",
}];

const EXCEPTIONS: &[Exception] = &[
    Exception {
        bench: "sata-ssd",
        keys: &["board.sata_host.fifo", "board.sata_host.hold_from", "drives.*.link.fifo"],
        why: "limits: above HOLD a FIFO has room for what is on the way, or the board is refused; its size is no time",
    },
    Exception {
        bench: "sata-ssd",
        keys: &["drives.*.kind", "drives.*.mapping.kind"],
        why: "another kind is another file, and another map has other keys",
    },
    Exception {
        bench: "sata-ssd",
        keys: &["drives.example.title"],
        why: "what `boardlab list` shows",
    },
    Exception {
        bench: "sata-ssd",
        keys: &["drives.intel-x25-e.commands.lba48", "drives.g-monster-v2.commands.lba48"],
        why: "their commands are of 48 bits: a drive without them is refused",
    },
    Exception {
        bench: "sata-ssd",
        keys: &[
            "drives.example.collection.emptied",
            "drives.intel-x25-e|g-monster-v2|transcend|buffalo.collection.streams",
            "drives.intel-x25-e|g-monster-v2|transcend|buffalo.levelling.policy",
            "drives.intel-x25-e|transcend|buffalo|example.mapping.chain",
            "drives.*.mapping.logs",
            "drives.intel-x25-e|g-monster-v2|transcend|buffalo.mapping.page",
            "drives.*.power_loss.",
            "drives.*.slc_cache.admission",
            "drives.*.slc_cache.folding",
        ],
        why: "runs write whole blocks in order, all of them alike: whatever is chosen, the same blocks are emptied in turn (crates/ftl/tests)",
    },
    Exception {
        bench: "sata-ssd",
        keys: &[
            "drives.*.controller.read_buffer",
            "drives.intel-x25-e|g-monster-v2|transcend|buffalo.controller.write_cache_size",
            "drives.transcend|buffalo.controller.activates_early",
            "drives.intel-x25-e|transcend|buffalo|example.link.hold_from",
            "drives.intel-x25-e|transcend|buffalo|example.link.hold_to",
            "drives.example.flash.cache_program",
            "drives.example.flash.slots",
            "drives.example.flash.times.erase",
        ],
        why: "where the flash sets the pace, what is buffered before it changes no rate (crates/lab/tests/sata.rs, crates/sata/tests)",
    },
    Exception {
        bench: "sata-ssd",
        keys: &["drives.example.controller.look_ahead"],
        why: "its commands are at random places: none begins where the one before ended",
    },
    Exception {
        bench: "sata-ssd",
        keys: &[
            "drives.g-monster-v2|transcend|buffalo.controller.idle_after",
            "drives.*.slc_cache.fold_after",
        ],
        why: "a drive rests for a minute between runs: shorter times change nothing, nor any where it has nothing to do at rest",
    },
    Exception {
        bench: "sata-ssd",
        keys: &[
            "drives.*.endurance.pe_cycles",
            "drives.*.endurance.end_of_life",
            "drives.*.endurance.program_failures",
        ],
        why: "the experiment writes a drive a dozen times, and its blocks live for thousands (crates/lab/tests/life.rs)",
    },
    Exception {
        bench: "sata-ssd",
        keys: &[
            "drives.*.reads.patrol",
            "drives.*.reads.refresh_at",
            "drives.*.reads.errors.disturb.pe_cycles",
            "drives.*.reads.errors.retention.",
            "drives.*.reads.errors.retention_share.",
        ],
        why: "data are minutes old and read once; blocks were erased a few times (crates/lab/tests/life.rs)",
    },
];
