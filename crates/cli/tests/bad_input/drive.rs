//! Wrong SATA drives and hosts, and what they are asked for and cannot do.

use crate::case::Case;

const FILE: &str = "sata.toml";
const PART: &str = "drive-part.toml";
const PART28: &str = "drive28-part.toml";
const BOARD: &str = "sata-board.toml";
const RUN: &[&str] = &["run", "sata.toml"];

/// One wrong value, or one too many.
pub(crate) const CASES: &[Case] = &[
    Case::no_section(
        "drive file without IDENTIFY data",
        [PART, "[identity]"],
        "drive-part.toml:1:1",
        &["missing key `identity` in `drives.intel-x25-e`", "[drives.intel-x25-e.identity]"],
    )
    .with(RUN),
    Case::line(
        "IDENTIFY data without a model",
        [PART, "model", "modell = \"SSD\""],
        "modell",
        &["unknown key `modell` in `drives.intel-x25-e.identity`", "did you mean `model`?"],
    )
    .with(RUN),
    Case::line(
        "model that is longer than its field",
        [PART, "model", "model = \"0123456789012345678901234567890123456789X\""],
        "\"0123",
        &["`drives.intel-x25-e.identity.model`", "does not fit into IDENTIFY data", "at most 40"],
    )
    .with(RUN),
    Case::line(
        "firmware that no word of IDENTIFY data can say",
        [PART, "firmware", "firmware = \"déjà\""],
        "\"d",
        &["`drives.intel-x25-e.identity.firmware`", "does not fit into IDENTIFY data", "ASCII"],
    )
    .with(RUN),
    Case::line(
        "more sectors than 28 bits address",
        [PART28, "sectors", "sectors = { value = 268435456, origin = \"assumed\", source = \"a test\" }"],
        "268435456",
        &["`drives.transcend.sectors`: `268435456` are more than 28-bit commands can address", "at most 268435455"],
    )
    .with(RUN),
    Case::line(
        "drive without sectors",
        [PART, "sectors", "sectors = { value = 0, origin = \"assumed\", source = \"a test\" }"],
        "0",
        &["`drives.intel-x25-e.sectors`: `0` is not from 1 to"],
    )
    .with(RUN),
    Case::line(
        "loops beyond the end of the drive",
        [PART, "sectors", "sectors = { value = 33554431, origin = \"assumed\", source = \"a test\" }"],
        "",
        &["`continuous`: the value ends with sector 33554432, beyond the 33554431 sectors of the drive intel-x25-e"],
    )
    .at("sata.toml:15:1")
    .with(RUN),
    Case::line(
        "first sector beyond the drive",
        [FILE, "first", "first = 62500000"],
        "",
        &["ends with sector 96054432, beyond the 62500000 sectors of the drive intel-x25-e"],
    )
    .at("sata.toml:15:1")
    .with(RUN),
    Case::line(
        "command of more sectors than 16 bits count",
        [FILE, "sectors", "sectors = 65537"],
        "65537",
        &["`continuous.sectors`: `65537` is not from 1 to 65536"],
    )
    .with(RUN),
    Case::line(
        "28-bit command of more than 256 sectors",
        [FILE, "sectors = { value = 256", "sectors = 257"],
        "257",
        &["`sweep.sectors`: `257` is not from 1 to 256"],
    )
    .with(RUN),
    Case::arguments(
        "sweep of more than the drive",
        &["run", "sata-ssd", "--set", "sweep.part=62586881"],
        &["asks for 62586881 sectors of the 62586880 of the drive transcend"],
    )
    .at("scenarios/sata-ssd.toml:23:1"),
    Case::line(
        "loops for a drive that knows only 28 bits",
        [PART, "lba48", "lba48 = { value = false, origin = \"assumed\", source = \"a test\" }"],
        "",
        &["asks the drive intel-x25-e for 48-bit commands, which it has not"],
    )
    .at("sata.toml:15:1")
    .with(RUN),
    Case::line(
        "loops that do not rise",
        [FILE, "loops", "loops = [1, 4, 2]"],
        "[",
        &["`continuous.loops`", "is no list of runs, each longer than the last"],
    )
    .with(RUN),
    Case::line(
        "FIFO that overflows",
        [BOARD, "hold_from", "hold_from = { value = 500, origin = \"assumed\", source = \"a test\" }"],
        "",
        &["the FIFO of the host leaves 12 dwords above hold_from, and 43 can come"],
    )
    .at("sata-board.toml:1:1")
    .with(RUN),
    Case::line(
        "HOLD that never ends",
        [BOARD, "hold_to", "hold_to = { value = 448, origin = \"assumed\", source = \"a test\" }"],
        "448",
        &["`board.sata_host.hold_to`: `448` is not below the level at which HOLD begins"],
    )
    .with(RUN),
    Case::line(
        "speed of a link that there is none of",
        [BOARD, "speed", "speed = { value = \"12 Gb/s\", origin = \"assumed\", source = \"a test\" }"],
        "\"12 Gb/s\"",
        &["`board.sata_host.speed`: `12 Gb/s` is not known here", "6 Gb/s"],
    )
    .with(RUN),
    Case::arguments(
        "board without a host for SATA",
        &["run", "sata-ssd", "--set", "board=raspberry-pi-4"],
        &["describes no host for a SATA drive", "use --set board=ml505"],
    )
    .at("--set:1:7"),
    Case::arguments(
        "card on the board of a built-in scenario for drives",
        &["run", "drive-fio", "--set", "part=kioxia-16gb"],
        &["`board`: `linux-ahci` describes no slot for a card", "use --set board=raspberry-pi-4"],
    )
    .at("--set:1:6"),
    Case::arguments(
        "card in the place of a drive",
        &["run", "sata-ssd", "--set", "drives.intel-x25-e=kioxia-16gb"],
        &["`drives.intel-x25-e`: `kioxia-16gb` is of kind sd", "a part of kind sata"],
    )
    .at("--set:1:20"),
    Case::arguments(
        "drive that is no built-in one",
        &["run", "sata-ssd", "--set", "drives.buffalo=buffalo-shd"],
        &["unknown part `buffalo-shd`", "did you mean `buffalo-shd-nsum30g`?"],
    )
    .at("--set:1:16"),
    Case::line(
        "buffer that holds no group of pages",
        [PART, "read_buffer", "read_buffer = { value = \"2 KiB\", origin = \"assumed\", source = \"a test\" }"],
        "\"2 KiB\"",
        &["`drives.intel-x25-e.controller.read_buffer`: `2 KiB` does not hold"],
    )
    .with(RUN),
    Case::line(
        "queue deeper than there are tags",
        [PART, "queue", "queue = { value = 33, origin = \"assumed\", source = \"a test\" }"],
        "33",
        &["`drives.intel-x25-e.commands.queue`: `33` is not from 1 to 32"],
    )
    .with(RUN),
    Case::line(
        "write cache without its size",
        [PART, "write_cache", "write_cache = { value = \"back\", origin = \"assumed\", source = \"a test\" }"],
        "",
        &["missing key `write_cache_size` in `drives.intel-x25-e.controller`"],
    )
    .at("drive-part.toml:26:1")
    .with(RUN),
];
