//! Wear of a NAND under filesystems.

use super::{Bench, Elsewhere, Exception, Group, nothing};

pub(super) const GROUP: Group =
    Group { benches: BENCHES, exceptions: EXCEPTIONS, elsewhere: ELSEWHERE };

/// A flash of few blocks that is filled to a level.
macro_rules! small {
    (($chip:literal, $level:literal), $($more:expr),* $(,)?) => {
        &[
            $($more,)*
            concat!("wear.chip=", $chip),
            concat!("wear.levels=[\"", $level, "\"]"),
            concat!("wear.check_levels=[\"", $level, "\"]"),
            "part.geometry.pages_per_block=16",
            "part.onfi={ revision = 2, features = 0, optional_commands = 0, timing_modes = 1, manufacturer = \"A\", model = \"B\" }",
            "wear.rest=16 KiB",
            "wear.file=64 KiB",
            "wear.endurance=[300]",
            "wear.check_cycles=10",
        ]
    };
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "nand-wear, YAFFS2 and UBIFS",
        scenario: "nand-wear",
        base: small!(("2 MiB", "45 %"), "systems=[\"yaffs2\", \"ubifs\"]", "wear.data=percent:50",),
        own: nothing,
        contexts: &[
            ("Linux 6.1", &["kernel.profile=linux-6.1"]),
            ("whole pages", &["ubifs.sub_pages=false"]),
        ],
    },
    Bench {
        name: "nand-wear, JFFS2",
        scenario: "nand-wear",
        // What compresses takes three times as long.
        base: small!(("2 MiB", "45 %"), "systems=[\"jffs2\"]", "wear.data=random"),
        own: nothing,
        contexts: &[("Linux 6.1", &["kernel.profile=linux-6.1"])],
    },
    Bench {
        name: "nand-wear, LogFS",
        scenario: "nand-wear",
        // It keeps a fourth of so small a flash for itself.
        base: small!(
            ("3 MiB", "55 %"),
            "systems=[\"logfs\"]",
            "wear.data=percent:50",
            "board=at91sam9260",
        ),
        own: nothing,
        contexts: &[],
    },
];

const ELSEWHERE: &[Elsewhere] = &[Elsewhere {
    bench: "nand-wear, YAFFS2 and UBIFS",
    keys: &["kernel.verify_write"],
    context: "whole pages",
}];

const EXCEPTIONS: &[Exception] = &[
    Exception {
        bench: "",
        keys: &["part.kind", "part.title"],
        why: "says what the part is, for `boardlab list`; another kind is another file",
    },
    Exception {
        bench: "",
        keys: &["part.timing.program_max"],
        why: "the longest that the part may take, with which its times are compared; a program that fails takes it",
    },
    Exception {
        bench: "nand-wear, JFFS2",
        keys: &["part.timing.erase_max"],
        why: "an erase that fails takes it, and of a part at its end no time is told",
    },
    Exception {
        bench: "nand-wear, JFFS2",
        keys: &["part.cell"],
        why: "UBI alone asks for it: on one bit a cell it uses sub-pages",
    },
    Exception {
        bench: "nand-wear, LogFS",
        keys: &["part.cell"],
        why: "UBI alone asks for it: on one bit a cell it uses sub-pages",
    },
    Exception {
        bench: "nand-wear, JFFS2",
        keys: &[
            "board.cpu.work.inflate.",
            "board.cpu.work.lzo_decompress.",
            "board.cpu.work.rtime_decompress.",
        ],
        why: "data that do not compress; of others garbage collection reads what it moves",
    },
    Exception {
        bench: "nand-wear, YAFFS2 and UBIFS",
        keys: &["board.cpu.work.lzo_decompress."],
        why: "UBIFS moves nodes as they are; JFFS2 decompresses what it moves",
    },
    Exception {
        bench: "nand-wear, YAFFS2 and UBIFS",
        keys: &["yaffs2.caches"],
        why: "the file is written in whole pages, which do not go through the caches",
    },
    Exception {
        bench: "nand-wear, LogFS",
        keys: &["board.nand_port.fitted."],
        why: "no run uses it, as the others show, and this board has none of which a value could be made",
    },
    Exception {
        bench: "",
        keys: &["board.cpu.work"],
        why: "a section, which a board with [cpu.core] must not have",
    },
    Exception {
        bench: "nand-wear, YAFFS2 and UBIFS",
        keys: &["board.cpu.core."],
        why: "a section, which a board with [cpu.work] must not have",
    },
    Exception {
        bench: "nand-wear, JFFS2",
        keys: &["board.cpu.core."],
        why: "a section, which a board with [cpu.work] must not have",
    },
    Exception {
        bench: "",
        keys: &["part.on_die_ecc."],
        why: "a chip that corrects by itself, which the part is not",
    },
    Exception {
        bench: "",
        keys: &["wear.levels", "wear.check_levels"],
        why: "each is refused without the other",
    },
];
