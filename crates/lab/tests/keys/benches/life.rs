//! Lives of cards under every kind of load.

use super::{Bench, CHOICES, Elsewhere, Exception, Group, READS};

pub(super) const GROUP: Group =
    Group { benches: BENCHES, exceptions: EXCEPTIONS, elsewhere: ELSEWHERE };

/// Where the trace stands that a life can be under.
const TRACE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/keys-trace.txt");

const BENCHES: &[Bench] = &[Bench {
    name: "sd-life",
    scenario: "sd-life",
    base: small_card!(
        "part",
        "part.endurance.pe_cycles=[40, 50]",
        "part.endurance.rated=50",
        "life.cards=2",
        "what_if.cards=1",
        "what_if.over_provisioning=50 %",
        // As much as the card does in some seconds, so that times matter.
        "fio.job=\"[global]\\nfilename=/dev/mmcblk0\\ndirect=1\\nioengine=libaio\\nsize=32M\\ntime_based=1\\nruntime=1\\n[small]\\nrw=randrw\\nbs=4k\\n[large]\\nstonewall\\nrw=rw\\nbs=1m\\n[trim]\\nstonewall\\nrw=randtrim\\nbs=64k\\n[again]\\nstonewall\\nrw=randwrite\\nbs=64k\\n\"",
    ),
    own: with_a_trace,
    contexts: &[
        ("hot and cold", &["pattern.places=hot-cold"]),
        ("Zipf", &["pattern.places=zipf"]),
        ("jobs of fio", &["workload.kind=fio", "workload.runs_a_day=20000"]),
        (
            "jobs of fio on a cache",
            &["workload.kind=fio", "part.slc_cache.size=fixed", "part.slc_cache.blocks=6"],
        ),
        (
            "jobs of fio on a slow channel",
            &["workload.kind=fio", "part.flash.channel=10 MB/s", "part.flash.slots=4"],
        ),
        (
            "a trace",
            &[
                "workload.kind=trace",
                "trace.order=clamp",
                "trace.beyond=clamp",
                "trace.ragged=widen",
            ],
        ),
        ("in order", &["pattern.places=sequential"]),
        ("a day", &["life.horizon=1 day", "pattern.bytes_a_day=20 MB"]),
        ("many reads", &[READS, "workload.reads_a_day=2000 GB"]),
        CHOICES[0],
        CHOICES[1],
        CHOICES[2],
        CHOICES[3],
        CHOICES[4],
        CHOICES[5],
        CHOICES[6],
        CHOICES[7],
        CHOICES[8],
    ],
}];

const ELSEWHERE: &[Elsewhere] = &[
    Elsewhere {
        bench: "sd-life",
        keys: &["part.flash.cache_program"],
        context: "jobs of fio on a slow channel",
    },
    Elsewhere { bench: "sd-life", keys: &["life.horizon"], context: "a day" },
    Elsewhere { bench: "sd-life", keys: &["part.collection.emptied"], context: "in order" },
    Elsewhere {
        bench: "sd-life",
        keys: &["part.slc_cache.admission"],
        context: "a cache of short runs",
    },
    Elsewhere {
        bench: "sd-life",
        keys: &["part.flash.slc.read", "part.flash.slc.program", "part.flash.slc.erase"],
        context: "jobs of fio on a cache",
    },
    Elsewhere {
        bench: "sd-life",
        keys: &["part.reads.errors.disturb.rate", "part.reads.errors.disturb.pe_cycles"],
        context: "many reads",
    },
];

const EXCEPTIONS: &[Exception] = &[
    Exception {
        bench: "",
        keys: &["part.kind"],
        why: "says what the part is; a life is that of its flash, in a card as in an eMMC",
    },
    Exception {
        bench: "",
        keys: &["part.mapping.kind"],
        why: "a life is computed for maps of pages alone; the context with a map in flash has the other one",
    },
    Exception {
        bench: "",
        keys: &["part.slc_cache.fold_after"],
        why: "a life rests for hours at a time: folding after a second or after a minute comes to the same",
    },
    Exception {
        bench: "",
        keys: &["part.slc_cache.run_streams"],
        why: "a pattern writes one stream; jobs on a card try more (card-fio)",
    },
    Exception {
        bench: "",
        keys: &["part.endurance.program_failures"],
        why: "a card whose programs fail by chance has no life to compute: it is refused",
    },
    Exception {
        bench: "",
        keys: &["part.power_loss."],
        why: "a life counts the larger reserve of a card that survives power cuts, nothing else (docs/models/life.md)",
    },
    Exception {
        bench: "",
        keys: &["fio.file", "trace.file", "what_if.parts"],
        why: "names files and cards of the user's choice (crates/lab/tests/life.rs)",
    },
    Exception {
        bench: "",
        keys: &["trace.ragged"],
        why: "blkparse counts in blocks; only a CSV can have pieces of one (crates/workload/tests)",
    },
];

/// Writes a trace as blkparse prints it: requests of 64 KiB all over a small card and a little beyond, not quite in order.
fn with_a_trace() -> Option<Vec<String>> {
    let line = |at: u64| {
        let (second, sector) = (at ^ 1, at * 37 % 1_100 * 128);
        format!("  8,0    0 {at:8} {second:5}.000000000   697  D   W {sector} + 128 [fio]\n")
    };
    let text: String = (0..512).map(line).collect();
    // Several tests may write it at once, all the same.
    if std::fs::read_to_string(TRACE).ok().as_ref() != Some(&text) {
        std::fs::write(TRACE, &text).unwrap();
    }
    Some(vec![format!("trace.file=\"{TRACE}\"")])
}
