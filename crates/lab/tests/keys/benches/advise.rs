//! The choice of a filesystem.

use super::{Bench, Elsewhere, Exception, Group, nothing};

pub(super) const GROUP: Group =
    Group { benches: BENCHES, exceptions: EXCEPTIONS, elsewhere: ELSEWHERE };

/// A flash of few blocks, without other cases.
macro_rules! small {
    ($($more:expr),* $(,)?) => {
        &[
            $($more,)*
            "part.geometry.blocks=64",
            "part.geometry.pages_per_block=16",
            "part.onfi={ revision = 2, features = 0, optional_commands = 0, timing_modes = 1, manufacturer = \"A\", model = \"B\" }",
            "product.level=45 %",
            "product.file=16 KiB",
            "product.write=16 KiB",
            "product.levels=[\"30 %\"]",
            "product.chips=[\"4 MiB\"]",
            "product.pages=[\"2 KiB\"]",
            "product.kinds=[\"percent:50\"]",
            "product.room=1 MiB",
            "product.throughput=1 MB/s",
            "product.cut_operations=400",
            "product.compressions=false",
        ]
    };
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "nor-advise",
        scenario: "nand-advise",
        base: &[
            "part=m29ew",
            "board=powerpc-800-linux",
            "systems=[\"jffs2\", \"ubifs\"]",
            "part.geometry.region=[{ count = 64, size = \"16 KiB\" }]",
            "product.level=45 %",
            "product.file=16 KiB",
            "product.write=16 KiB",
            "product.levels=[\"30 %\"]",
            "product.chips=[\"2 MiB\"]",
            "product.kinds=[\"percent:50\"]",
            "product.room=256 KiB",
            "product.throughput=1 MB/s",
            "product.cut_operations=200",
            "product.compressions=false",
        ],
        own: nothing,
        contexts: &[("Linux 3.4", &["kernel.profile=linux-2.6"])],
    },
    Bench {
        name: "nand-advise, YAFFS2 and UBIFS",
        scenario: "nand-advise",
        base: small!(
            "systems=[\"yaffs2\", \"ubifs\"]",
            "kernel.profile=linux-2.6",
            "yaffs2.summary=false",
        ),
        own: nothing,
        contexts: &[
            ("Linux 6.1", &["kernel.profile=linux-6.1"]),
            ("whole pages", &["ubifs.sub_pages=false"]),
        ],
    },
    Bench {
        name: "nand-advise, JFFS2",
        scenario: "nand-advise",
        base: small!("systems=[\"jffs2\"]"),
        own: nothing,
        contexts: &[],
    },
    Bench {
        name: "nand-advise, LogFS",
        scenario: "nand-advise",
        base: small!("systems=[\"logfs\"]", "part.geometry.blocks=96", "board=at91sam9260"),
        own: nothing,
        contexts: &[],
    },
];

const ELSEWHERE: &[Elsewhere] = &[];

const EXCEPTIONS: &[Exception] = &[
    Exception {
        bench: "",
        keys: &["part.kind", "part.title"],
        why: "says what the part is, for `boardlab list`; another kind is another file",
    },
    Exception {
        bench: "",
        keys: &["part.timing.program_max", "part.timing.erase_max"],
        why: "the longest that the part may take, with which its times are compared; what fails takes it",
    },
    Exception {
        bench: "",
        keys: &["board.memory."],
        why: "the page cache, which holds all of so small a flash",
    },
    Exception {
        bench: "",
        keys: &["part.on_die_ecc."],
        why: "a chip that corrects by itself, which the part is not",
    },
    Exception {
        bench: "",
        keys: &["board.cpu.work"],
        why: "a section, which a board with [cpu.core] must not have",
    },
    Exception {
        bench: "nand-advise, YAFFS2 and UBIFS",
        keys: &["board.cpu.core."],
        why: "a section, which a board with [cpu.work] must not have",
    },
    Exception {
        bench: "nand-advise, JFFS2",
        keys: &["board.cpu.core."],
        why: "a section, which a board with [cpu.work] must not have",
    },
    Exception {
        bench: "nand-advise, JFFS2",
        keys: &["part.cell"],
        why: "UBI alone asks for it: on one bit a cell it uses sub-pages",
    },
    Exception {
        bench: "nand-advise, LogFS",
        keys: &["part.cell"],
        why: "UBI alone asks for it: on one bit a cell it uses sub-pages",
    },
    Exception {
        bench: "nor-advise",
        keys: &["kernel.verify_write"],
        why: "Linux 6.1 has no verify, and nothing is read back on a NOR",
    },
    Exception {
        bench: "nor-advise",
        keys: &["part.width"],
        why: "the other wiring has other buffers: parts/nor/s29gl01gp-x8.toml",
    },
    Exception {
        bench: "nand-advise, JFFS2",
        keys: &["kernel.verify_write"],
        why: "Linux 6.1 has no verify; the bench of YAFFS2 has an older kernel",
    },
    Exception {
        bench: "nand-advise, LogFS",
        keys: &["kernel.verify_write", "board.nand_port.fitted."],
        why: "Linux 6.1 has no verify, and this board no fitted port",
    },
    Exception {
        bench: "nand-advise, JFFS2",
        keys: &["board.cpu.work.rtime_decompress."],
        why: "zlib takes all that compresses here",
    },
    Exception {
        bench: "nand-advise, YAFFS2 and UBIFS",
        keys: &["board.cpu.work.lzo_decompress."],
        why: "UBIFS moves nodes as they are; JFFS2 decompresses what it moves",
    },
];
