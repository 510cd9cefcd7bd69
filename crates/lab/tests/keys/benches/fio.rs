//! Jobs of fio on every kind of managed flash.

use super::{Bench, CHOICES, Exception, Group, READS, nothing};

pub(super) const GROUP: Group = Group { benches: BENCHES, exceptions: EXCEPTIONS, elsewhere: &[] };

/// A job for cards and drives that writes in order, over and over at random, trims, reads and waits.
macro_rules! job {
    ($device:literal, $size:literal) => {
        concat!(
            "fio.job=\"[global]\\nfilename=",
            $device,
            "\\ndirect=1\\nioengine=libaio\\n",
            "[write]\\nrw=write\\nbs=1M\\niodepth=4\\nsize=",
            $size,
            "\\n",
            "[random]\\nstonewall\\nrw=randwrite\\nbs=4k\\niodepth=8\\nsize=",
            $size,
            "\\n",
            "[trim]\\nstonewall\\nrw=randtrim\\nbs=64k\\nsize=",
            $size,
            "\\nio_size=1M\\n",
            "[mixed]\\nstonewall\\nstartdelay=2\\nrw=randrw\\nbs=4k\\niodepth=8\\nsize=",
            $size,
            "\\nio_size=2M\\n",
            "[read]\\nstonewall\\nrw=read\\nbs=64k\\niodepth=4\\nsize=",
            $size,
            "\\n\""
        )
    };
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "card-fio, SD card",
        scenario: "card-fio",
        base: small_card!("part", job!("/dev/mmcblk0", "24M")),
        own: nothing,
        contexts: &[
            CHOICES[0],
            CHOICES[1],
            CHOICES[2],
            CHOICES[3],
            CHOICES[4],
            CHOICES[5],
            CHOICES[6],
            CHOICES[7],
            CHOICES[8],
            (
                "logs",
                &[
                    "part.mapping.kind=log-blocks",
                    "part.mapping.open_units=2",
                    "part.mapping.cells=slc",
                ],
            ),
            ("shared logs", &["part.mapping.kind=shared-logs", "part.mapping.logs=4"]),
            ("blocks", &["part.mapping.kind=blocks", "part.mapping.open_units=2"]),
            ("a write cache", &["part.controller.write_cache=64 KiB"]),
            ("blocks that may die", &["part.collection.reserve=4"]),
        ],
    },
    Bench {
        name: "card-fio, eMMC",
        scenario: "card-fio",
        base: &[
            "part=sandisk-inand-7232-16gb",
            "part.capacity=64 MiB",
            "part.over_provisioning=60 %",
            "part.flash.pages_per_block=32",
            "part.slc_cache.blocks=8",
            job!("/dev/mmcblk0", "24M"),
        ],
        own: nothing,
        contexts: &[CHOICES[0], CHOICES[7]],
    },
    Bench {
        name: "drive-fio",
        scenario: "drive-fio",
        base: &[
            "part.sectors=262144",
            "part.over_provisioning=40 %",
            "part.flash.pages_per_block=16",
            "part.flash.channels=2",
            job!("/dev/sda", "48M"),
        ],
        own: nothing,
        contexts: &[
            CHOICES[0],
            (
                "errors",
                &[
                    "part.endurance={ rated = 3000, pe_cycles = [3000], slc_wear = \"10 %\", factory_bad = \"2 %\", end_of_life = \"ignored\" }",
                    READS,
                ],
            ),
            ("housekeeping", &["part.housekeeping={ after = \"8 MiB\", pause = \"410 ms\" }"]),
        ],
    },
];

const EXCEPTIONS: &[Exception] = &[
    Exception {
        bench: "",
        keys: &["fio.file", "fio.variables."],
        why: "a job file is the user's (crates/lab/tests/fio_bench.rs runs one); a variable shows where a job names it",
    },
    Exception {
        bench: "",
        keys: &["part.reads."],
        why: "bits go wrong over months and thousands of erases; the job takes a second (crates/lab/tests/life.rs)",
    },
    Exception {
        bench: "",
        keys: &["part.endurance.pe_cycles", "part.endurance.end_of_life"],
        why: "no block of the short run comes to its end (crates/lab/tests/life.rs)",
    },
    Exception {
        bench: "",
        keys: &["part.collection.policy", "part.collection.idle_blocks"],
        why: "the short run collects few blocks, and policies choose the same (crates/ftl/tests)",
    },
    Exception {
        bench: "card-fio",
        keys: &["part.slc_cache.fold_after"],
        why: "the jobs leave the card alone for two seconds or not at all: nothing waits longer or shorter",
    },
    Exception {
        bench: "card-fio",
        keys: &["part.levelling.threshold", "part.levelling.shift", "part.levelling.when"],
        why: "the short run wears all blocks alike (crates/ftl/tests)",
    },
    Exception {
        bench: "card-fio, SD card",
        keys: &[
            "part.flash.cache_program",
            "part.collection.blocks",
            "part.slc_cache.admission",
            "part.slc_cache.run_streams",
            "part.mapping.logs",
        ],
        why: "changes something in one of the contexts alone: with a map in flash, many blocks, long or many runs, scarce logs",
    },
    Exception {
        bench: "card-fio, eMMC",
        keys: &[
            "part.flash.times.erase",
            "part.endurance.slc_wear",
            "part.mapping.kind",
            "part.slc_cache.admission",
            "part.power_loss.",
        ],
        why: "the part has a cache that the short run does not wear; other maps and power loss do not go with that cache",
    },
    Exception {
        bench: "drive-fio",
        keys: &["part.kind"],
        why: "names what the part is: another kind is another file",
    },
    Exception {
        bench: "drive-fio",
        keys: &[
            "part.flash.slc.",
            "part.slc_cache.",
            "part.endurance.",
            "part.power_loss.",
            "part.mapping.kind",
        ],
        why: "the drive has no such section; cards, which have, read it with the same code",
    },
    Exception {
        bench: "drive-fio",
        keys: &[
            "part.over_provisioning",
            "part.collection.streams",
            "part.collection.reserve",
            "part.levelling.policy",
        ],
        why: "the jobs write less than the drive has free: nothing is collected, levelled or done at rest",
    },
];
