//! The runs whose keys are tried, each of a tenth of a second.
//!
//! `contexts` are there for keys that are read, or that matter, only with another choice elsewhere. The first context is
//! always the base alone.

use super::bench::Bench;

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

/// A card of 64 MiB in blocks of 1 MiB.
macro_rules! small_card {
    ($part:literal $(, $more:expr)* $(,)?) => {
        &[
            concat!($part, ".capacity=64 MiB"),
            concat!($part, ".spare=40 %"),
            concat!($part, ".flash.pages_per_block=32"),
            $($more),*
        ]
    };
}

const READS: &str = "part.reads={ codeword = \"1 KiB\", correctable = 40, refresh_at = 20, retries = [\"60 %\", \"40 %\"], patrol = \"10 days\", errors = { program = { erases = [0, 20, 60], rate = [\"1e-4\", \"1e-3\", \"4e-3\"] }, retention = { erases = [0, 20, 60], rate = [\"1e-4\", \"1e-3\", \"4e-3\"] }, retention_share = { hours = [0, 1, 1000], share = [\"0 %\", \"50 %\", \"100 %\"] }, disturb = { erases = [0, 20, 60], rate = [\"1e-9\", \"1e-8\", \"4e-8\"] } } }";

/// What controllers of cards choose: keys that are read, or matter, with one choice alone.
const CHOICES: &[(&str, &[&str])] = &[
    (
        "a map in flash",
        &["part.mapping.kind=demand-page", "part.mapping.cache=256 B", "part.mapping.segment=16"],
    ),
    ("a cache", &["part.single_bit_cache.size=fixed", "part.single_bit_cache.blocks=6"]),
    (
        "a cache of short runs",
        &[
            "part.single_bit_cache.size=fixed",
            "part.single_bit_cache.blocks=6",
            "part.single_bit_cache.admission=short-runs",
            "part.single_bit_cache.run_pages=8",
            "part.single_bit_cache.run_streams=2",
            "part.single_bit_cache.when_full=bypass",
        ],
    ),
    ("generations", &["part.collection.streams=generations", "part.collection.generations=3"]),
    ("windows", &["part.collection.policy=windowed-greedy", "part.collection.blocks=8"]),
    ("threshold", &["part.levelling.policy=threshold", "part.levelling.threshold=4"]),
    (
        "sw-leveler",
        &[
            "part.levelling.policy=sw-leveler",
            "part.levelling.threshold=4",
            "part.levelling.shift=1",
        ],
    ),
    ("errors", &[READS]),
    ("power", &["part.power_loss={ rows = 2, shared = \"padded\" }"]),
];

/// Jobs of fio on every kind of managed flash.
pub(crate) const BENCHES: &[Bench] = &[
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
                    "part.mapping.cells=single-bit",
                ],
            ),
            ("shared logs", &["part.mapping.kind=shared-logs", "part.mapping.logs=4"]),
            ("blocks", &["part.mapping.kind=blocks", "part.mapping.open_units=2"]),
            ("a write cache", &["part.controller.write_cache=64 KiB"]),
        ],
    },
    Bench {
        name: "card-fio, eMMC",
        scenario: "card-fio",
        base: &[
            "part=sandisk-inand-7232-16gb",
            "part.capacity=64 MiB",
            "part.spare=60 %",
            "part.flash.pages_per_block=32",
            "part.single_bit_cache.blocks=8",
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
            "part.spare=40 %",
            "part.flash.pages_per_block=16",
            "part.flash.channels=2",
            job!("/dev/sda", "48M"),
        ],
        own: nothing,
        contexts: &[
            CHOICES[0],
            CHOICES[7],
            ("housekeeping", &["part.housekeeping={ after = \"8 MiB\", pause = \"410 ms\" }"]),
        ],
    },
];

/// For benches of built-in files alone.
#[allow(clippy::unnecessary_wraps, reason = "one of several functions")]
const fn nothing() -> Option<Vec<String>> {
    Some(Vec::new())
}
