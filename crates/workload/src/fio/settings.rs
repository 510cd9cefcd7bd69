//! The typed settings of a job, with fio's defaults.
//!
//! Layer: rank 6. Main types: [`Settings`] and its groups. Arrays of three are for reads, writes
//! and trims, in this order, as everywhere in fio.

use crate::fio::reading::{Amount, Units};
use boardlab_sim::Duration;

/// Reads, writes or trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims: discards.
    Trim,
}

impl Direction {
    /// All, in the order of fio's reports.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Trim];

    /// The number in logs.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Read => 0,
            Self::Write => 1,
            Self::Trim => 2,
        }
    }

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
        }
    }
}

/// `rw`: the directions and the order of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Which of reads, writes and trims.
    pub directions: [bool; 3],
    /// Whether the blocks come in random order.
    pub random: bool,
    /// Whether each write follows a trim of the same blocks.
    pub trim_first: bool,
    /// `rw=randread:8`: the number of requests for each random place; `rw=read:4k`: the bytes of
    /// the hole after each request, or of the step back.
    pub modifier: i64,
    /// The name in job files.
    pub name: &'static str,
}

/// The words of `rw`, with their directions (reads, writes, trims), random or not, trims first or not.
pub const ACCESSES: [(&str, [bool; 3], bool, bool); 11] = [
    ("read", [true, false, false], false, false),
    ("write", [false, true, false], false, false),
    ("trim", [false, false, true], false, false),
    ("randread", [true, false, false], true, false),
    ("randwrite", [false, true, false], true, false),
    ("randtrim", [false, false, true], true, false),
    ("rw", [true, true, false], false, false),
    ("readwrite", [true, true, false], false, false),
    ("randrw", [true, true, false], true, false),
    ("trimwrite", [false, true, true], false, true),
    ("randtrimwrite", [false, true, true], true, true),
];

/// Sizes of blocks of one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocks {
    /// Always this.
    Fixed(u64),
    /// Any multiple of the smallest, up to the largest.
    Range(u64, u64),
    /// Sizes with percentages that add up to 100.
    Split(Vec<(u64, u64)>),
}

impl Blocks {
    /// The smallest.
    #[must_use]
    pub fn minimum(&self) -> u64 {
        match self {
            Self::Fixed(size) | Self::Range(size, _) => *size,
            Self::Split(entries) => entries.iter().map(|&(size, _)| size).min().unwrap_or(0),
        }
    }

    /// The largest.
    #[must_use]
    pub fn maximum(&self) -> u64 {
        match self {
            Self::Fixed(size) | Self::Range(_, size) => *size,
            Self::Split(entries) => entries.iter().map(|&(size, _)| size).max().unwrap_or(0),
        }
    }
}

/// How random places are distributed over the area.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// Each equally likely.
    Uniform,
    /// Zipf's law with this theta.
    Zipf(f64),
    /// Pareto's law with this power.
    Pareto(f64),
    /// Normal with this deviation, in percent of the area.
    Normal(f64),
    /// Percent of the requests, and percent of the area or, when absolute, bytes.
    Zoned {
        /// Share of requests and size of the zone.
        zones: Vec<(u64, u64)>,
        /// Whether the size is in bytes.
        absolute: bool,
    },
}

/// `sync`: how each write is synchronised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// Nothing more.
    #[default]
    None,
    /// `O_SYNC`.
    Sync,
    /// `O_DSYNC`.
    DataSync,
}

/// The part of the device that a job uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Area {
    /// `size`.
    pub size: Option<Amount>,
    /// `io_size`.
    pub io_size: Option<Amount>,
    /// `filesize`, smallest and largest.
    pub filesize: Option<(u64, u64)>,
    /// `offset`.
    pub offset: Option<Amount>,
    /// `offset_increment`.
    pub increment: Option<Amount>,
    /// `offset_align`.
    pub offset_align: u64,
    /// `number_ios`; 0 for no limit.
    pub number_ios: u64,
    /// `fill_device`.
    pub fill_device: bool,
    /// `zonemode=strided`.
    pub strided: bool,
    /// `zonesize`.
    pub zone_size: u64,
    /// `zonerange`.
    pub zone_range: u64,
    /// `zoneskip`.
    pub zone_skip: u64,
    /// `filename`, in order; empty when fio would make up names.
    pub filenames: Vec<String>,
    /// `filename_format`: how names are made up.
    pub format: String,
    /// `nrfiles`.
    pub files: u64,
    /// `openfiles`; 0 for all.
    pub open_files: u64,
    /// `file_service_type`: `random`, `roundrobin`, `sequential`.
    pub service: Service,
}

/// Which file the next request goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Service {
    /// Any.
    Random,
    /// One after the other.
    #[default]
    RoundRobin,
    /// The next one when one is done.
    Sequential,
}

/// The timing of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timing {
    /// `runtime`.
    pub runtime: Option<Duration>,
    /// `time_based`.
    pub time_based: bool,
    /// `ramp_time`.
    pub ramp: Duration,
    /// `startdelay`, shortest and longest.
    pub start_delay: (Duration, Duration),
    /// `thinktime`.
    pub think: Duration,
    /// `thinktime_blocks`.
    pub think_blocks: u64,
    /// `thinktime_blocks_type=issue`.
    pub think_on_issue: bool,
    /// `rate`, bytes a second; 0 for no limit.
    pub rate: [u64; 3],
    /// `rate_iops`; 0 for no limit.
    pub rate_iops: [u64; 3],
    /// `rate_process=poisson`.
    pub poisson: bool,
    /// `rate_ignore_thinktime`.
    pub rate_ignores_think: bool,
}

/// How requests reach the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// `ioengine`.
    pub engine: Engine,
    /// `iodepth`.
    pub depth: u64,
    /// `iodepth_batch_complete_min`.
    pub complete_min: u64,
    /// `iodepth_batch_complete_max`; 0 for all that are done.
    pub complete_max: u64,
    /// `iodepth_low`; 0 for the depth.
    pub low: u64,
    /// `direct`.
    pub direct: bool,
    /// `sync`.
    pub sync: SyncMode,
    /// `fsync`.
    pub fsync: u64,
    /// `fdatasync`.
    pub fdatasync: u64,
    /// `end_fsync`.
    pub end_fsync: bool,
    /// `fsync_on_close`.
    pub fsync_on_close: bool,
}

/// How an engine uses a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Engine {
    /// Its name.
    pub name: &'static str,
    /// Whether several requests can be under way.
    pub queues: bool,
    /// Whether requests reach no device at all.
    pub null: bool,
}

/// The engines that a block device in simulation can stand below.
pub const ENGINES: [Engine; 11] = [
    engine("psync", false),
    engine("sync", false),
    engine("vsync", false),
    engine("pvsync", false),
    engine("pvsync2", false),
    engine("mmap", false),
    engine("mtd", false),
    engine("libaio", true),
    engine("io_uring", true),
    engine("posixaio", true),
    Engine { name: "null", queues: true, null: true },
];

const fn engine(name: &'static str, queues: bool) -> Engine {
    Engine { name, queues, null: false }
}

/// What is random, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Randomness {
    /// `randseed`.
    pub seed: Option<u64>,
    /// `randrepeat` or `allrandrepeat`.
    pub repeat: bool,
    /// `norandommap`.
    pub no_map: bool,
    /// `random_distribution`.
    pub distribution: [Distribution; 3],
    /// `percentage_random`.
    pub share: [u64; 3],
    /// `rwmixread`.
    pub mix_read: u64,
    /// `rw_sequencer=identical`.
    pub identical: bool,
}

/// What is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// `zero_buffers`.
    pub zero: bool,
    /// `refill_buffers`.
    pub refill: bool,
    /// `scramble_buffers`.
    pub scramble: bool,
    /// `buffer_pattern`.
    pub pattern: Vec<u8>,
    /// `buffer_compress_percentage`.
    pub compress: Option<u64>,
    /// `dedupe_percentage`.
    pub dedupe: u64,
}

/// What is recorded and shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Reporting {
    /// `group_reporting`.
    pub group: bool,
    /// `percentile_list`.
    pub percentiles: Vec<f64>,
    /// `clat_percentiles`.
    pub clat_percentiles: bool,
    /// `lat_percentiles`.
    pub lat_percentiles: bool,
    /// `write_bw_log`, `write_lat_log`, `write_iops_log`: names.
    pub logs: [Option<String>; 3],
    /// `log_avg_msec`.
    pub log_average: Duration,
    /// `log_max_value`.
    pub log_maximum: bool,
    /// `log_offset`.
    pub log_offset: bool,
    /// `bwavgtime`.
    pub bandwidth_window: Duration,
    /// `iopsavgtime`.
    pub iops_window: Duration,
}

/// All of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// What suffixes mean.
    pub units: Units,
    /// `description`.
    pub description: Option<String>,
    /// `name`, when it differs from the section's.
    pub name: Option<String>,
    /// `rw`.
    pub access: Access,
    /// `bs`, `bsrange`, `bssplit`.
    pub blocks: [Blocks; 3],
    /// `blockalign`; 0 for the smallest block.
    pub align: [u64; 3],
    /// `bs_unaligned`.
    pub unaligned: bool,
    /// Where.
    pub area: Area,
    /// When.
    pub timing: Timing,
    /// How.
    pub submission: Submission,
    /// What is random.
    pub randomness: Randomness,
    /// What is written.
    pub contents: Contents,
    /// What is shown.
    pub reporting: Reporting,
    /// `loops`.
    pub loops: u64,
    /// `numjobs`.
    pub copies: u64,
    /// `stonewall`.
    pub stonewall: bool,
    /// `new_group`.
    pub new_group: bool,
    /// `wait_for`.
    pub wait_for: Option<String>,
}

impl Settings {
    /// The smallest block of any direction.
    #[must_use]
    pub fn smallest_block(&self) -> u64 {
        self.blocks.iter().map(Blocks::minimum).min().unwrap_or(1).max(1)
    }

    /// The largest block of any direction.
    #[must_use]
    pub fn largest_block(&self) -> u64 {
        self.blocks.iter().map(Blocks::maximum).max().unwrap_or(1).max(1)
    }
}

/// fio's default percentiles.
pub const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

/// fio's default of `filename_format`.
const NAME_FORMAT: &str = "$jobname.$jobnum.$filenum";

impl Default for Settings {
    /// fio 3.33's defaults (`fio --cmdhelp`).
    fn default() -> Self {
        let half_second = Duration::from_millis(500);
        Self {
            units: Units::default(),
            description: None,
            name: None,
            access: Access {
                directions: [true, false, false],
                random: false,
                trim_first: false,
                modifier: 0,
                name: "read",
            },
            blocks: [const { Blocks::Fixed(4_096) }; 3],
            align: [0; 3],
            unaligned: false,
            area: Area { files: 1, format: NAME_FORMAT.to_owned(), ..Area::default() },
            timing: Timing { think_blocks: 1, ..Timing::default() },
            submission: Submission {
                engine: ENGINES[0],
                depth: 1,
                complete_min: 1,
                complete_max: 0,
                low: 0,
                direct: false,
                sync: SyncMode::None,
                fsync: 0,
                fdatasync: 0,
                end_fsync: false,
                fsync_on_close: false,
            },
            randomness: Randomness {
                seed: None,
                repeat: true,
                no_map: false,
                distribution: [const { Distribution::Uniform }; 3],
                share: [100; 3],
                mix_read: 50,
                identical: false,
            },
            contents: Contents {
                zero: false,
                refill: false,
                scramble: true,
                pattern: Vec::new(),
                compress: None,
                dedupe: 0,
            },
            reporting: Reporting {
                group: false,
                percentiles: PERCENTILES.to_vec(),
                clat_percentiles: true,
                lat_percentiles: false,
                logs: [const { None }; 3],
                log_average: Duration::ZERO,
                log_maximum: false,
                log_offset: false,
                bandwidth_window: half_second,
                iops_window: half_second,
            },
            loops: 1,
            copies: 1,
            stonewall: false,
            new_group: false,
            wait_for: None,
        }
    }
}
