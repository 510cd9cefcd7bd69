//! Wrong scenarios, parts and boards of the NAND experiment.

use crate::case::Case;

const FILE: &str = "nand.toml";
const PART: &str = "nand-part.toml";
const BOARD: &str = "nand-board.toml";
const RUN: &[&str] = &["run", FILE];

/// One wrong value.
pub(crate) const CASES: &[Case] = &[
    Case::line(
        "NAND part of another kind",
        [PART, "kind", "kind = \"nor\""],
        "\"nor\"",
        &["`part.kind`: `nor` is not known", "boardlab list parts nand"],
    )
    .with(RUN),
    Case::line(
        "unknown kernel",
        [FILE, "profile", "profile = \"linux-2.4\""],
        "\"linux-2.4\"",
        &["`kernel.profile`: `linux-2.4` is not known here", "linux-2.6, linux-6.1"],
    )
    .with(RUN),
    Case::line(
        "flash fuller than it can be",
        [FILE, "level ", "level = \"99 %\""],
        "\"99 %\"",
        &["`fill.level`: `99 %` is fuller than a filesystem lets a flash be", "at most 93 %"],
    )
    .with(RUN),
    Case::line(
        "one of several levels too full",
        [FILE, "levels", "levels = [\"0 %\", \"100 %\"]"],
        "[",
        &["`compare.levels`", "is fuller than a filesystem lets a flash be"],
    )
    .with(RUN),
    Case::line(
        "files of a few bytes",
        [FILE, "file ", "file = \"16 B\""],
        "\"16 B\"",
        &["`fill.file`: `16 B` is not from 1 KiB to"],
    )
    .with(RUN),
    Case::line(
        "unknown kind of data",
        [FILE, "data = { value = \"random\"", "data = \"randm\""],
        "\"randm\"",
        &["`fill.data`: `randm` is not known here", "did you mean `random`?"],
    )
    .with(RUN),
    Case::line(
        "more than everything compresses away",
        [
            FILE,
            "data = [\"zero\", \"percent:50\", \"random\"]",
            "data = [\"zero\", \"percent:101\"]",
        ],
        "\"percent:101\"",
        &["`tiobench.data`: `percent:101` is not known here", "expected a list, each entry zero"],
    )
    .with(RUN),
    Case::line(
        "share of the data that is no number",
        [FILE, "data = [\"zero\", \"percent:50\", \"random\"]", "data = [\"percent:half\"]"],
        "\"percent:half\"",
        &["`tiobench.data`: `percent:half` is not known here", "percent:N with N from 0 to 100"],
    )
    .with(RUN),
    Case::line(
        "sample of a folder that is not there",
        [FILE, "data = [\"zero\", \"percent:50\", \"random\"]", "data = [\"sample:no/such\"]"],
        "[\"sample:no/such\"]",
        &["`tiobench.data`", "cannot be read: no/such: no such file or directory"],
    )
    .with(RUN),
    Case::line(
        "sample of nothing",
        [FILE, "data = [\"zero\", \"percent:50\", \"random\"]", "data = [\"sample:/dev/null\"]"],
        "[\"sample:/dev/null\"]",
        &[
            "`tiobench.data`",
            "has files of 0 bytes in all, fewer than 4 KiB",
            "sample: and a folder with files",
        ],
    )
    .with(RUN),
    Case::line(
        "no kind of data",
        [FILE, "data = [\"zero\", \"percent:50\", \"random\"]", "data = []"],
        "[]",
        &["`tiobench.data`", "is empty"],
    )
    .with(RUN),
    Case::line(
        "file of part of a block",
        [FILE, "size", "size = \"33 KiB\""],
        "\"33 KiB\"",
        &["`tiobench.size`: `33 KiB` is not two or more blocks of 32 KiB"],
    )
    .with(RUN),
    Case::line(
        "threads whose files do not fit",
        [FILE, "threads", "threads = 8"],
        "8",
        &["`tiobench.threads`: `8` times `size` do not fit the flash of 256 MiB"],
    )
    .with(RUN),
    Case::line(
        "grades in the wrong order",
        [FILE, "excellent", "excellent = \"500 %\""],
        "\"500 %\"",
        &[
            "`grades.excellent`: `500 %` is 500 %, then 400 %, then 600 %",
            "expected 100 % or more, each at least the one before",
        ],
    )
    .with(RUN),
    Case::line(
        "criterion that is not known",
        [FILE, "steady_throughput", "steady_throughput = [\"speed\"]"],
        "\"speed\"",
        &["`grades.products.steady_throughput`: `speed` is not known here", "throughput"],
    )
    .with(RUN),
    Case::line(
        "product without criteria",
        [FILE, "steady_throughput", "steady_throughput = []"],
        "[]",
        &["`grades.products.steady_throughput`", "is empty"],
    )
    .with(RUN),
    Case::line(
        "filesystem that is not known",
        [FILE, "brownout_one_in", "systems = [\"jffs2\", \"f2fs\"]"],
        "[\"jffs2\", \"f2fs\"]",
        &["`powercut.systems`", "is not there", "some of jffs2, yaffs2"],
    )
    .with(RUN),
    Case::line(
        "flash of three blocks",
        [FILE, "blocks", "blocks = 3"],
        "3",
        &["`powercut.blocks`: `3` is not from 8 to 4096"],
    )
    .with(&["powercut", FILE]),
    Case::line(
        "identity that is no byte",
        [
            PART,
            "identity",
            "identity = { value = [0x20, 0x1DA], origin = \"assumed\", source = \"x\" }",
        ],
        "[",
        &["`part.identity`", "holds more than bytes"],
    )
    .with(RUN),
    Case::line(
        "page of no power of two",
        [PART, "page ", "page = { value = \"2000 B\", origin = \"assumed\", source = \"x\" }"],
        "",
        &["a page is a power of two from 512 B to 32 KiB"],
    )
    .at("nand-part.toml:")
    .with(RUN),
    Case::line(
        "erase longer than its maximum",
        [
            PART,
            "erase_max",
            "erase_max = { value = \"1 us\", origin = \"assumed\", source = \"x\" }",
        ],
        "",
        &["erase may take", "longer than its maximum of 1 us"],
    )
    .at("nand-part.toml:")
    .with(RUN),
    Case::line(
        "bus cycle of a second",
        [
            PART,
            "read_cycle",
            "read_cycle = { value = \"1 s\", origin = \"assumed\", source = \"x\" }",
        ],
        "\"1 s\"",
        &["`part.timing.read_cycle`: `1 s` is not from 0 ns to 100 us"],
    )
    .with(RUN),
    Case::line(
        "kernel that takes all memory",
        [BOARD, "kernel", "kernel = { value = \"256 MiB\", origin = \"assumed\", source = \"x\" }"],
        "\"256 MiB\"",
        &["`board.memory.kernel`: `256 MiB` leaves nothing of the memory of 256 MiB"],
    )
    .with(RUN),
    Case::no_section(
        "work without a cost",
        [BOARD, "[cpu.work.crc]"],
        "nand-board.toml:",
        &["missing key `crc` in `board.cpu.work`"],
    )
    .with(RUN),
    Case::arguments(
        "costs beside a core",
        &["run", FILE, "--set", "board=at91sam9260", "--set", "board.cpu.work.crc.each=1"],
        &["`board.cpu.work`", "stands beside `core`, from which all costs follow"],
    ),
    Case::arguments(
        "core with an impossible cache",
        &["run", FILE, "--set", "board=at91sam9260", "--set", "board.cpu.core.cache=1B"],
        &["`board.cpu.core.cache`: `1B` is not from 1 KiB to 64 MiB"],
    ),
    Case::arguments(
        "filesystem that is not there",
        &["run", FILE, "--set", "systems=[\"ext4\"]"],
        &["`systems`", "names no filesystem, or one that is not there", "yaffs2, logfs"],
    ),
    Case::arguments(
        "board without a way to a NAND",
        &["run", FILE, "--set", "board=powerpc-800"],
        &["`board`: `powerpc-800` describes no port to a NAND flash"],
    ),
    Case::arguments(
        "NAND scenario with a NOR part",
        &["run", FILE, "--set", "part=nor-evaluation"],
        &["`part`: `nor-evaluation` is of kind nor", "k9f1g08u0a, ", "boardlab list parts nand"],
    ),
    Case::arguments(
        "NOR scenario with a NAND part",
        &["run", "scenario.toml", "--set", "part=nand-part.toml"],
        &["`part.kind`: `nand` is not known here", "boardlab list parts nor"],
    ),
    Case::arguments(
        "power cut of what is not cut",
        &["powercut", "nor-write"],
        &["`powercut` has no meaning for `nor-write`", "boardlab list scenarios"],
    ),
];
