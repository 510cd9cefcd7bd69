//! The figures of a run: its time, and the work of the flash.
//!
//! Layer: rank 10. Main types: [`TimedWork`], and [`Column`], all figures of one filesystem.
//! The [`Counts`] do not depend on the platform: they are the requests of a filesystem to the flash. So
//! every time is shown with them, and the time with another port of the board follows from them:
//! `boardlab run` with that port gives the same (`crates/lab/tests/nandfs.rs` checks it), but for some
//! nanoseconds with LogFS: the length of its compressed journal depends on the times of files.

use crate::nandfs::flash::Counts;
use boardlab_document::quantity::Ratio;
use boardlab_parts::nand::board::Port;
use boardlab_result::prose::real;
use boardlab_sim::{Bytes, Duration, Instant, Rate};
use boardlab_vfs::Structure;
use boardlab_workload::tiobench::Test;

/// The time of a part of a run, and the work of the flash in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TimedWork {
    /// The time from its start to its end.
    pub time: Duration,
    /// The work of the flash.
    pub counts: Counts,
}

/// A time, and the work of the flash until then.
pub(crate) type Mark = (Instant, Counts);

impl TimedWork {
    /// From one mark to a later one.
    pub(crate) fn between(start: Mark, end: Mark) -> Self {
        Self { time: end.0.since(start.0), counts: end.1 - start.1 }
    }

    /// The time if the port adds `port` to every command and byte.
    pub(crate) fn with(&self, port: Port) -> Duration {
        self.time + port.per_command * self.counts.commands + port.per_byte * self.counts.bytes
    }
}

/// The attach of a volume manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attach {
    /// Its time and the work of the flash.
    pub run: TimedWork,
    /// The structures in RAM after it.
    pub memory: Bytes,
}

/// A flash of one size with an empty filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chip {
    /// Main bytes of the flash.
    pub size: Bytes,
    /// The mount, with the attach of a volume manager below.
    pub mount: TimedWork,
    /// RAM after it.
    pub memory: Bytes,
    /// The attaches of a volume manager, where there is one.
    pub attach: Option<ChipAttach>,
}

/// The attaches of a volume manager on a flash of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChipAttach {
    /// By the headers of all blocks.
    pub scan: Attach,
    /// By a map of them on the flash.
    pub map: Option<Attach>,
}

/// A mount and the `ls` that follows it, on a flash that was filled before.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mounting {
    /// The fill level of the flash.
    pub level: Ratio,
    /// Size of each file.
    pub file: Bytes,
    /// The kind of data in them, as scenarios write it.
    pub data: String,
    /// The number of files.
    pub files: u64,
    /// The mount, with the attach of a volume manager below.
    pub mount: TimedWork,
    /// That attach.
    pub attach: Option<TimedWork>,
    /// `ls` of everything, right after the mount.
    pub ls: TimedWork,
    /// The structures in RAM after the mount.
    pub mounted: Vec<Structure>,
    /// The structures in RAM after `ls`, which reads every inode.
    pub listed: Vec<Structure>,
}

/// The phases of tiobench, as rows of table 3.3.
pub(crate) const PHASES: [&str; 4] =
    [Test::Write.name(), Test::RandomWrite.name(), Test::Read.name(), Test::RandomRead.name()];

/// One phase of tiobench.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Phase {
    /// Bytes moved by the program.
    pub moved: Bytes,
    /// Its time and the work of the flash.
    pub run: TimedWork,
}

impl Phase {
    /// Bytes a second with the port `port`.
    pub(crate) fn rate(&self, port: Port) -> f64 {
        Rate::new(self.moved, self.run.with(port)).map_or(0.0, Rate::bytes_per_second)
    }
}

/// A run of tiobench with one kind of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Throughput {
    /// The kind of data, as scenarios write it.
    pub data: String,
    /// Its phases in the order of [`PHASES`].
    pub phases: [Phase; 4],
}

/// The flash filled with one file after another, until there is no space left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Capacity {
    /// Main bytes of the flash, without bad blocks.
    pub flash: Bytes,
    /// Bytes of all files; they do not compress.
    pub stored: Bytes,
    /// Parts of the flash that never hold content of files.
    pub reserved: Vec<(&'static str, Bytes)>,
}

impl Capacity {
    /// What the flash holds besides the content of files.
    pub(crate) fn metadata(&self) -> Bytes {
        self.flash - self.stored
    }

    /// Its share of the flash.
    pub(crate) fn share(&self) -> f64 {
        real(self.metadata()) / real(self.flash)
    }
}

/// The figures of a filesystem that runs in another way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReadingFigures {
    /// The name of the reading.
    pub name: &'static str,
    /// At the scenario's fill level with its files.
    pub mounting: Mounting,
    /// tiobench with the first kind of data.
    pub throughput: Throughput,
    /// The flash filled to the end.
    pub capacity: Capacity,
}

/// All figures of one filesystem: a column of the published tables.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    /// Its id: `jffs2`.
    pub system: &'static str,
    /// Whether the flash has bit errors.
    pub errors: bool,
    /// At the scenario's fill level with its file size.
    pub mounting: Mounting,
    /// The same with other sizes of files, that size among them.
    pub by_file: Vec<Mounting>,
    /// The same at other levels, that level among them.
    pub by_level: Vec<Mounting>,
    /// The same with other data in files of that size, at a level of its own.
    pub by_data: Vec<Mounting>,
    /// The mount of an empty filesystem by size of the flash.
    pub by_chip: Vec<Chip>,
    /// tiobench, by kind of data.
    pub throughput: Vec<Throughput>,
    /// The flash filled to the end.
    pub capacity: Capacity,
    /// The same by size of the files: those compared, and the flash itself.
    pub by_size: Vec<(Bytes, Capacity)>,
    /// Other ways to run it.
    pub readings: Vec<ReadingFigures>,
    /// All virtual time of these runs.
    pub virtual_time: Duration,
}

/// The memory of all `structures`.
pub(crate) fn memory(structures: &[Structure]) -> Bytes {
    structures.iter().map(Structure::total).fold(Bytes::ZERO, |sum, one| sum + one)
}
