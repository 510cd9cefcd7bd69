//! The choice of a card.

use super::{Bench, CHOICES, Elsewhere, Exception, Group, READS, nothing};

pub(super) const GROUP: Group =
    Group { benches: BENCHES, exceptions: EXCEPTIONS, elsewhere: ELSEWHERE };

const BENCHES: &[Bench] = &[Bench {
    name: "card-advise",
    scenario: "card-advise",
    base: small_card!(
        "part",
        "compare=none",
        "part.endurance.pe_cycles=[40, 50]",
        "part.endurance.rated=50",
        "product.room=32 MiB",
        "life.cards=2",
        "fio.job=\"[global]\\nfilename=/dev/mmcblk0\\ndirect=1\\nioengine=libaio\\nsize=32M\\n[small]\\nrw=randrw\\nbs=4k\\n[large]\\nstonewall\\nrw=rw\\nbs=1m\\n[trim]\\nstonewall\\nrw=randtrim\\nbs=64k\\nio_size=1M\\n[again]\\nstonewall\\nstartdelay=2\\nrw=randwrite\\nbs=64k\\n\"",
    ),
    own: nothing,
    contexts: &[
        ("in order", &["product.places=sequential"]),
        (
            "a short horizon",
            &["life.horizon=1 day", "product.life=12 h", "product.writes=20 MB/day"],
        ),
        ("old data", &[READS, "product.writes=20 MB/day", "product.shelf=10 days"]),
        ("a write cache", &["part.controller.write_cache=64 KiB"]),
        ("a slow channel", &["part.flash.channel=10 MB/s", "part.flash.slots=4"]),
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
    Elsewhere { bench: "card-advise", keys: &["life.horizon"], context: "a short horizon" },
    Elsewhere { bench: "card-advise", keys: &["part.endurance.rated"], context: "old data" },
    Elsewhere {
        bench: "card-advise",
        keys: &["part.slc_cache.admission"],
        context: "a cache of short runs",
    },
];

const EXCEPTIONS: &[Exception] = &[
    Exception {
        bench: "",
        keys: &["part.title"],
        why: "says what the part is, for `boardlab list`",
    },
    Exception {
        bench: "",
        keys: &["part.mapping.kind"],
        why: "a life is computed for maps of pages alone; the context with a map in flash has the other one",
    },
    Exception {
        bench: "",
        keys: &["part.slc_cache.fold_after", "part.slc_cache.run_streams"],
        why: "neither the life nor the short job comes to a choice by it (card-fio)",
    },
    Exception {
        bench: "",
        keys: &["part.endurance.program_failures"],
        why: "a card whose programs fail by chance has no life to compute: it is refused",
    },
    Exception {
        bench: "",
        keys: &["part.endurance.end_of_life"],
        why: "a life ends with it, and no block of the short job comes to its end",
    },
    Exception {
        bench: "",
        keys: &["fio.file", "compare"],
        why: "names files and cards of the user's choice (crates/lab/tests/card_advise.rs)",
    },
];
