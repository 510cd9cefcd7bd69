//! A card under the writes of the SD experiment.

use super::{Bench, Elsewhere, Exception, Group, nothing};

pub(super) const GROUP: Group =
    Group { benches: BENCHES, exceptions: EXCEPTIONS, elsewhere: ELSEWHERE };

const BENCHES: &[Bench] = &[Bench {
    name: "sd-wear",
    scenario: "sd-wear",
    base: small_card!(
        "part",
        "part.endurance.pe_cycles=[10, 11, 13]",
        "part.slc_cache.blocks=6",
        "experiment1.job=--readwrite=write --ioengine=libaio --iodepth=4 --bs=1M --size=24M --filename=/dev/mmcblk0 \
         --runtime=1 --time_based --direct=1",
        "experiment1.iterations=4",
        "wear.volume=256 MiB",
        "wear.endurance=5",
        "wear.threshold=2",
        "wear.over_provisioning=[\"30 %\"]",
        "experiment2.job=--readwrite=write --ioengine=sync --filename=/dev/mmcblk0 --bs=1M --size=1M --loops=8 \
         --direct=1 --fsync_on_close=1",
        "experiment2.iterations=4",
        "experiment2.zeroed=1 MiB",
        "experiment2.probes=1",
    ),
    own: nothing,
    contexts: &[
        ("errors", &[READS]),
        ("power", &["part.power_loss={ rows = 2, shared = \"padded\" }"]),
        ("a write cache", &["part.controller.write_cache=4 MiB"]),
        ("kept", &["part.collection.emptied=kept", "part.collection.idle_blocks=4"]),
        ("a buffer", &["part.flash.slots=4"]),
        (
            "short runs",
            &[
                "part.slc_cache.admission=short-runs",
                "part.slc_cache.run_pages=8",
                "part.slc_cache.run_streams=2",
            ],
        ),
        ("a long experiment", &["experiment1.iterations=80"]),
    ],
}];

/// Errors that a patrol of two seconds meets: the experiment reads nothing.
const READS: &str = "part.reads={ codeword = \"1 KiB\", correctable = 40, refresh_at = 30, retries = [\"60 %\", \"40 %\"], patrol = \"2 s\", errors = { program = { pe_cycles = [0, 2, 20], rate = [\"2e-3\", \"4e-3\", \"6e-3\"] }, retention = { pe_cycles = [0, 20, 60], rate = [\"1e-4\", \"1e-3\", \"4e-3\"] }, retention_share = { hours = [0, 1, 1000], share = [\"0 %\", \"50 %\", \"100 %\"] }, disturb = { pe_cycles = [0, 20, 60], rate = [\"1e-9\", \"1e-8\", \"4e-8\"] } } }";

const ELSEWHERE: &[Elsewhere] = &[
    Elsewhere { bench: "sd-wear", keys: &["part.collection.idle_blocks"], context: "kept" },
    Elsewhere { bench: "sd-wear", keys: &["part.flash.cache_program"], context: "a buffer" },
    Elsewhere { bench: "sd-wear", keys: &["part.slc_cache.admission"], context: "short runs" },
    Elsewhere {
        bench: "sd-wear",
        keys: &["part.endurance.end_of_life"],
        context: "a long experiment",
    },
];

const EXCEPTIONS: &[Exception] = &[
    Exception { bench: "sd-wear", keys: &["part.title"], why: "what `boardlab list` shows" },
    Exception {
        bench: "sd-wear",
        keys: &["part.slc_cache.run_streams"],
        why: "the jobs write one run at a time, and one is always followed",
    },
    Exception {
        bench: "sd-wear",
        keys: &["part.allocation_unit"],
        why: "a limit: the capacity is of whole units; what a host reads of it, `boardlab run card-fio` shows",
    },
    Exception {
        bench: "sd-wear",
        keys: &["part.mapping.kind", "part.slc_cache.size"],
        why: "each controller sets its own, and some refuse the other choices: the keys are no choice of the card's",
    },
    Exception {
        bench: "sd-wear",
        keys: &["part.endurance.program_failures"],
        why: "refused as long as one of the controllers maps blocks, which know no failed programs",
    },
    Exception {
        bench: "sd-wear",
        keys: &[
            "part.reads.correctable",
            "part.reads.retries",
            "part.reads.errors.retention.",
            "part.reads.errors.retention_share.",
            "part.reads.errors.disturb.",
        ],
        why: "the experiment reads nothing: a patrol alone meets wrong bits, of data that are hours old",
    },
];
