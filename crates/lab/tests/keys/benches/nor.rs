//! Writes to NOR flash: u-boot against Linux.

use super::{Bench, Elsewhere, Exception, Group, nothing};

pub(super) const GROUP: Group =
    Group { benches: BENCHES, exceptions: EXCEPTIONS, elsewhere: ELSEWHERE };

/// Slow reads make few polls, and short erases few more.
const BENCHES: &[Bench] = &[
    Bench {
        name: "nor-write",
        scenario: "nor-write",
        base: &[
            "workload.bytes=16484 B",
            "workload.pattern=random",
            "part.geometry.region.0.count=8",
            "part.geometry.write_buffer=256 B",
            "part.features.status_register=true",
            "part.timing.buffer_program=triangular(100 us, 110 us, 120 us)",
            "part.timing.sector_erase=triangular(9 ms, 10 ms, 12 ms)",
            "board.bus.read_cycle=10 us",
            "improved.wait=60 us",
        ],
        own: nothing,
        contexts: &[
            ("timer ticks", &["improved.wait=2 ms"]),
            (
                "slow programs",
                &[
                    "part.timing.buffer_program=2200 us",
                    "part.timing.buffer_program_max=4 ms",
                    "part.cfi.buffer_typical=8",
                    "part.cfi.buffer_max=2",
                    "board.bus.read_cycle=50 us",
                ],
            ),
        ],
    },
    Bench {
        name: "nor-write, without a buffer",
        scenario: "nor-write",
        base: &[
            "part=sst-8mib-bottom",
            "part.timing.buffer_program=100 us",
            "part.timing.buffer_program_max=200 us",
            "workload.bytes=1 KiB",
            "workload.pattern=random",
            "part.timing.sector_erase=triangular(2 ms, 2500 us, 3 ms)",
            "part.geometry.region=[{ count = 8, size = \"64 KiB\" }]",
            "part.identity.device_2=1",
            "part.identity.device_3=1",
            "part.features.status_register=true",
            "board.bus.read_cycle=1 us",
            "improved.wait=2 us",
        ],
        own: nothing,
        contexts: &[
            ("timer ticks", &["improved.wait=2 ms"]),
            (
                "slow programs",
                &[
                    "workload.bytes=64 B",
                    "part.timing.word_program=2200 us",
                    "part.timing.word_program_max=4 ms",
                    "part.cfi.word_typical=8",
                    "part.cfi.word_max=2",
                    "board.bus.read_cycle=50 us",
                ],
            ),
        ],
    },
];

const ELSEWHERE: &[Elsewhere] = &[
    Elsewhere { bench: "nor-write", keys: &["board.cpu.jiffies"], context: "timer ticks" },
    Elsewhere { bench: "nor-write", keys: &["part.cfi.buffer_max"], context: "slow programs" },
    Elsewhere {
        bench: "nor-write, without a buffer",
        keys: &["board.cpu.jiffies"],
        context: "timer ticks",
    },
    Elsewhere {
        bench: "nor-write, without a buffer",
        keys: &["part.cfi.word_max"],
        context: "slow programs",
    },
];

const EXCEPTIONS: &[Exception] = &[
    Exception {
        bench: "",
        keys: &["part.kind", "part.title"],
        why: "says what the part is, for `boardlab list`; another kind is another file",
    },
    Exception {
        bench: "",
        keys: &["part.geometry.region.0.size"],
        why: "sizes say what fits the part, and data that do not fit are refused; a sector's erase takes as long as timing says",
    },
    Exception {
        bench: "",
        keys: &["workload.pattern"],
        why: "no driver and no chip is faster with some data than with others: they are what is read back and compared",
    },
];
