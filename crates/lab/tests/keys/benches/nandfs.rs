//! Filesystems on NAND flash.

use super::{Bench, Elsewhere, Exception, Group, nothing};

pub(super) const GROUP: Group =
    Group { benches: BENCHES, exceptions: EXCEPTIONS, elsewhere: ELSEWHERE };

/// A flash of few blocks, few files, and a run of few operations for the power to be cut in.
macro_rules! small {
    ($($more:expr),* $(,)?) => {
        &[
            $($more,)*
            "part.geometry.blocks=72",
            "part.geometry.pages_per_block=16",
            "part.onfi={ revision = 2, features = 0, optional_commands = 0, timing_modes = 1, manufacturer = \"A\", model = \"B\" }",
            "board.memory.ram=32832 KiB",
            "fill.file=16 KiB",
            "compare.files=[\"16 KiB\", \"32 KiB\"]",
            "compare.levels=[\"0 %\", \"75 %\"]",
            "compare.data=[\"zero\", \"random\"]",
            "compare.chips=[\"16 MiB\"]",
            "tiobench.size=512 KiB",
            "tiobench.random=80",
            "tiobench.data=[\"zero\", \"text\", \"random\"]",
            "grades.wear.endurance=0",
            "powercut.systems=[\"jffs2\"]",
            "powercut.blocks=16",
            "powercut.page=512 B",
            "powercut.oob=16 B",
            "powercut.live=30 %",
            "powercut.operations=200",
            "powercut.exhaustive=20",
            "powercut.one_in=5",
            "powercut.second_one_in=5",
            "powercut.brownout_one_in=2",
        ]
    };
}

/// Flash with wrong bits that can be corrected.
const WRONG_BITS: (&str, &[&str]) = (
    "wrong bits",
    &[
        "errors.bits=true",
        "errors.factory_bad=2 %",
        "part.errors.program={ pe_cycles = [0, 10], rate = [\"1e-6\", \"2e-6\"] }",
        "part.errors.retention={ pe_cycles = [0, 10], rate = [\"1e-6\", \"2e-6\"] }",
        "part.errors.retention_share={ hours = [0, 1], share = [\"50 %\", \"50000 %\"] }",
        "part.errors.disturb={ pe_cycles = [0, 10], rate = [\"1e-8\", \"2e-8\"] }",
    ],
);
/// Flash of which a block comes to its end: UBI keeps one to replace it, and is read-only after more.
const WORN: (&str, &[&str]) = ("worn", &["part.limits.endurance=250", "errors.pe_cycles=250"]);

const BENCHES: &[Bench] = &[
    Bench {
        name: "nand-filesystems, parallel",
        scenario: "nand-filesystems",
        base: small!(),
        own: nothing,
        contexts: &[
            WRONG_BITS,
            WORN,
            ("Linux 6.1", &["kernel.profile=linux-6.1"]),
            ("whole pages", &["ubifs.sub_pages=false"]),
            DERIVED,
            ("graded wear", &["grades.wear.endurance=300", "grades.wear.chip=6 MiB"]),
            (
                "several bits",
                &[
                    "kernel.profile=linux-6.1",
                    "part.ecc.bits=4",
                    "powercut.page=2 KiB",
                    "powercut.oob=64 B",
                ],
            ),
        ],
    },
    Bench {
        name: "nand-filesystems, serial",
        scenario: "nand-filesystems",
        base: small!("part=w25n01gv", "kernel.profile=linux-6.1"),
        own: nothing,
        contexts: &[WRONG_BITS, WORN, DERIVED],
    },
];

const ELSEWHERE: &[Elsewhere] = &[
    Elsewhere {
        bench: "nand-filesystems, parallel",
        keys: &["part.limits.bad_marks"],
        context: "worn",
    },
    Elsewhere {
        bench: "nand-filesystems, parallel",
        keys: &["kernel.verify_write"],
        context: "whole pages",
    },
    Elsewhere { bench: "nand-filesystems, parallel", keys: WEAR, context: "worn" },
    Elsewhere { bench: "nand-filesystems, serial", keys: WEAR, context: "worn" },
    Elsewhere {
        bench: "nand-filesystems, parallel",
        keys: &["errors.bits"],
        context: "wrong bits",
    },
    Elsewhere { bench: "nand-filesystems, serial", keys: &["errors.bits"], context: "wrong bits" },
];

/// A board whose costs follow from its core.
const DERIVED: (&str, &[&str]) = ("derived costs", &["board=at91sam9260"]);

/// What matters when blocks fail.
const WEAR: &[&str] = &["part.timing.erase_max", "part.limits.endurance", "errors.pe_cycles"];

const EXCEPTIONS: &[Exception] = &[
    Exception {
        bench: "",
        keys: &["part.kind", "part.title"],
        why: "says what the part is, for `boardlab list`; another kind is another file",
    },
    Exception {
        bench: "",
        keys: &["board.cpu.work.rtime_decompress."],
        why: "rtime takes what zlib cannot make smaller, ends of a few bytes, and no run reads such an end back",
    },
    Exception {
        bench: "nand-filesystems",
        keys: &["board.cpu.work"],
        why: "a section, which a board with [cpu.core] must not have",
    },
    Exception {
        bench: "",
        keys: &["part.timing.program_max"],
        why: "the longest that the part may take, with which its times are compared; a program that fails takes it",
    },
    Exception {
        bench: "nand-filesystems, parallel",
        keys: &["part.on_die_ecc."],
        why: "a chip that corrects by itself is not for Linux 2.6; the serial part is one",
    },
    Exception {
        bench: "nand-filesystems, serial",
        keys: &["part.interface", "kernel.profile"],
        why: "the part has the times of a serial bus alone, and Linux 2.6 has no driver for it",
    },
    Exception {
        bench: "nand-filesystems, serial",
        keys: &["kernel.verify_write", "yaffs2.bypass_aligned"],
        why: "Linux 6.1 has no verify, and without room in the spare bytes the tags are in the pages, by the cache",
    },
];
