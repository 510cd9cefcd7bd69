//! What the agent can do: operations, their keys, and what holds where a key is left out.
//!
//! Layer: rank 8. Main types: [`Operation`], [`Key`], [`Kind`]; the table is [`OPERATIONS`]. It is written
//! from `docs/formats/measurement-plan.md`; the agent has its own, and a test compares the two.

/// The largest number of a plan: 2^63 - 1.
pub const NUMBER_MAX: u64 = i64::MAX.unsigned_abs();
/// The largest `size`.
const SIZE_MAX: u64 = 1 << 30;
/// The largest `limit_ms`, which is nanoseconds in 63 bits.
const LIMIT_MAX: u64 = NUMBER_MAX / 1_000_000;
/// The most operations that can be outstanding.
const DEPTH_MAX: u64 = 1_024;
/// Filesystems of which the agent knows how a read-only mount writes nothing, not even the replay of a
/// journal.
pub(super) const QUIET_READ_ONLY: [&str; 19] = [
    "btrfs", "cramfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "iso9660", "jffs2",
    "msdos", "nilfs2", "romfs", "squashfs", "tmpfs", "ubifs", "udf", "vfat", "xfs",
];
/// The operation that writes or not by its options.
pub(super) const MOUNT: &str = "fs.mount";

/// One operation of the agent.
#[derive(Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its name, such as `mtd.program`.
    pub name: &'static str,
    /// Whether it writes to its target; `fs.mount` does or not by its options and type.
    pub writes: bool,
    /// Its keys, in groups that operations share.
    groups: &'static [&'static [Key]],
}

/// One key of an operation.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// The value where it is left out, as written; `None`: it is needed.
    pub fallback: Option<&'static str>,
}

/// The values of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Number {
        /// The smallest one.
        least: u64,
        /// The largest one.
        most: u64,
    },
    /// 0 or 1.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// An absolute path.
    Path,
    /// Any text.
    Text,
}

impl Operation {
    /// The keys.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.groups.iter().copied().flatten()
    }

    /// The key called `name`.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|key| key.name == name)
    }
}

impl Key {
    /// Whether its values are numbers or flags.
    #[must_use]
    pub const fn is_number(&self) -> bool {
        matches!(self.kind, Kind::Number { .. } | Kind::Flag)
    }
}

/// The operation called `name`.
#[must_use]
pub fn named(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.name == name)
}

const fn number(name: &'static str, fallback: &'static str, least: u64, most: u64) -> Key {
    Key { name, kind: Kind::Number { least, most }, fallback: Some(fallback) }
}

const fn flag(name: &'static str) -> Key {
    Key { name, kind: Kind::Flag, fallback: Some("0") }
}

const fn word(name: &'static str, words: &'static [&'static str], fallback: &'static str) -> Key {
    Key { name, kind: Kind::Word(words), fallback: Some(fallback) }
}

const fn needed(name: &'static str, kind: Kind) -> Key {
    Key { name, kind, fallback: None }
}

const fn operation(
    name: &'static str,
    writes: bool,
    groups: &'static [&'static [Key]],
) -> Operation {
    Operation { name, writes, groups }
}

const DEVICE: &[Key] = &[needed("device", Kind::Path)];
const PATH: &[Key] = &[needed("path", Kind::Path)];
/// Of every operation that is repeated.
const REPEATED: &[Key] = &[number("limit_ms", "0", 0, LIMIT_MAX), flag("each")];
const PLACES: &[Key] = &[number("count", "0", 0, NUMBER_MAX)];
/// How often a flush is repeated: nobody wants as many as there are sectors.
const FLUSHES: &[Key] = &[number("count", "100", 0, NUMBER_MAX)];
const RANGE: &[Key] = &[
    number("offset", "0", 0, NUMBER_MAX),
    number("length", "0", 0, NUMBER_MAX),
    number("size", "0", 0, SIZE_MAX),
    word("order", &["sequential", "reverse", "random"], "sequential"),
    number("seed", "1", 0, NUMBER_MAX),
    word("data", &["random", "zero", "ff"], "random"),
];
const VERIFY: &[Key] = &[flag("verify")];
const BLOCK: &[Key] = &[
    Key { name: "direct", kind: Kind::Flag, fallback: Some("1") },
    number("depth", "1", 1, DEPTH_MAX),
    word("engine", &["sync", "threads", "aio"], "sync"),
];
const SYNC: &[Key] = &[word("sync", &["none", "each", "end"], "none")];
const MODE: &[Key] = &[needed("mode", Kind::Word(&["on", "off"]))];
const ONCE: &[Key] = &[number("count", "1", 1, NUMBER_MAX)];
const QUEUED: &[Key] = &[number("depth", "32", 1, 32)];
const HEALTH: &[Key] = &[number("argument", "0", 0, 0xFFFF_FFFF)];
const TYPE: &[Key] =
    &[needed("type", Kind::Text), Key { name: "options", kind: Kind::Text, fallback: Some("ro") }];
const TIOBENCH: &[Key] = &[
    needed(
        "phase",
        Kind::Word(&["sequential_write", "random_write", "sequential_read", "random_read"]),
    ),
    number("threads", "1", 1, 64),
    number("operations", "1000", 1, NUMBER_MAX),
    number("length", "0", 0, NUMBER_MAX),
    number("size", "4096", 1, SIZE_MAX),
    number("seed", "1", 0, NUMBER_MAX),
    word("data", &["zero", "random", "ff"], "zero"),
    flag("presize"),
];
const FILES: &[Key] = &[number("count", "100", 1, 1_000_000), number("size", "4096", 0, SIZE_MAX)];
const MEMORY: &[Key] =
    &[number("size", "1048576", 1, SIZE_MAX), number("count", "100", 1, NUMBER_MAX)];
const TIMER: &[Key] = &[number("count", "100000", 1, NUMBER_MAX)];
const SLEEP: &[Key] =
    &[number("count", "1000", 1, NUMBER_MAX), number("time_ns", "1000000", 0, NUMBER_MAX)];
const RING: &[Key] =
    &[number("count", "100000", 1, NUMBER_MAX), number("processes", "2", 2, 1_024)];

/// Every operation.
pub static OPERATIONS: &[Operation] = &[
    operation("mtd.info", false, &[DEVICE]),
    operation("mtd.read", false, &[DEVICE, RANGE, PLACES, REPEATED, VERIFY]),
    operation("mtd.program", true, &[DEVICE, RANGE, PLACES, REPEATED]),
    operation("mtd.erase", true, &[DEVICE, RANGE, PLACES, REPEATED]),
    operation("mtd.read_oob", false, &[DEVICE, RANGE, PLACES, REPEATED]),
    operation("mtd.write_oob", true, &[DEVICE, RANGE, PLACES, REPEATED]),
    operation("block.info", false, &[DEVICE]),
    operation("block.read", false, &[DEVICE, RANGE, PLACES, REPEATED, BLOCK, VERIFY]),
    operation("block.write", true, &[DEVICE, RANGE, PLACES, REPEATED, BLOCK, SYNC]),
    operation("block.flush", true, &[DEVICE, RANGE, FLUSHES, REPEATED]),
    operation("block.discard", true, &[DEVICE, RANGE, PLACES, REPEATED]),
    operation("block.cache", true, &[DEVICE, MODE]),
    operation("ata.identify", false, &[DEVICE, ONCE, REPEATED]),
    operation("ata.smart", false, &[DEVICE, ONCE, REPEATED]),
    operation("ata.read", false, &[DEVICE, RANGE, PLACES, REPEATED]),
    operation("ata.write", true, &[DEVICE, RANGE, PLACES, REPEATED]),
    operation("ata.ncq_read", false, &[DEVICE, RANGE, PLACES, REPEATED, QUEUED]),
    operation("ata.ncq_write", true, &[DEVICE, RANGE, PLACES, REPEATED, QUEUED]),
    operation("ata.flush", true, &[DEVICE, ONCE, REPEATED]),
    operation("scsi.inquiry", false, &[DEVICE, ONCE, REPEATED]),
    operation("scsi.read", false, &[DEVICE, RANGE, PLACES, REPEATED]),
    operation("scsi.write", true, &[DEVICE, RANGE, PLACES, REPEATED]),
    operation("scsi.flush", true, &[DEVICE, ONCE, REPEATED]),
    operation("mmc.registers", false, &[DEVICE]),
    operation("mmc.health", false, &[DEVICE, HEALTH, REPEATED]),
    operation(MOUNT, true, &[DEVICE, PATH, TYPE]),
    operation("fs.unmount", false, &[PATH]),
    operation("fs.list", false, &[PATH, REPEATED]),
    operation("fs.drop_caches", false, &[]),
    operation("fs.tiobench", true, &[PATH, TIOBENCH, REPEATED]),
    operation("fs.fsync", true, &[PATH, FILES, REPEATED]),
    operation("fs.create", true, &[PATH, FILES, REPEATED]),
    operation("fs.stat", false, &[PATH, FILES, REPEATED]),
    operation("fs.read", false, &[PATH, FILES, REPEATED]),
    operation("fs.remove", true, &[PATH, FILES, REPEATED]),
    operation("cpu.copy", false, &[MEMORY, REPEATED]),
    operation("cpu.crc", false, &[MEMORY, REPEATED]),
    operation("cpu.timer", false, &[TIMER, REPEATED]),
    operation("cpu.sleep", false, &[SLEEP, REPEATED]),
    operation("cpu.pipe", false, &[RING, REPEATED]),
    operation("cpu.futex", false, &[RING, REPEATED]),
];
