//! The scenario of the wear experiment: the flash, the data at rest, and the file that is written over and over.
//!
//! Layer: rank 10. Main types: [`Scenario`], [`Wear`].

use crate::nandfs::fs::FileSystemType;
use crate::nandfs::run::wear::Load;
use crate::nandfs::scenario::errors::SOUND;
use crate::nandfs::scenario::{
    KernelSettings, Systems, data, fits, fits_kernel, fits_level, named, once, systems, unused,
};
use boardlab_document::quantity::Ratio;
use boardlab_document::{Read, Section, section};
use boardlab_nand::Part;
use boardlab_parts::nand::board::{self, BoardSpec};
use boardlab_parts::nand::part::{self, PartFile};
use boardlab_sim::{Bytes, Duration};
use boardlab_workload::data::Data;
use std::ops::RangeInclusive;

/// Blocks of the flash.
const BLOCKS: RangeInclusive<u64> = 64..=4_096;
/// Rated cycles that are extrapolated to, and those of parts that run to their end.
const ENDURANCE: RangeInclusive<u64> = 10..=10_000_000;
const CHECKED: RangeInclusive<u64> = 10..=1_000;
/// The smallest files, and the share of the flash that the file may take.
const FILE: Bytes = Bytes::kib(1);
const SHARE: u64 = 16;
/// From one writing to the next.
const PERIOD: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(86_400);

/// Keys that no run uses, with the reason.
pub(super) const UNUSED: [(&str, &str); 8] = [
    ("board.memory", "here: nothing that a cache of pages holds is read again"),
    ("board.nand_port.fitted", "here: the times are those of board.nand_port alone"),
    ("ubifs.bulk_read", "here: no file is read back in time"),
    ("part.geometry.blocks", "here: wear.chip says how many there are"),
    ("part.limits.endurance", "here: wear.endurance and wear.check_cycles say how many cycles"),
    ("part.limits.bad_blocks", "here: no block is bad at first"),
    ("part.limits.bad_marks", "here: no block is bad at first"),
    ("part.errors", "here: bits do not go wrong, blocks die"),
];

section! {
    /// A scenario of the wear experiment, checked.
    #[derive(Debug, Clone)]
    pub(crate) struct Scenario(section, types: &[FileSystemType]) {
        /// What it is about, in one line.
        pub title: String,
        /// The name of the experiment.
        pub experiment: String,
        /// The part.
        pub file as "part": PartFile => section(part::read),
        /// The board.
        pub board: BoardSpec => section(board::read),
        /// The kernel that driver and filesystems belong to.
        pub kernel: KernelSettings => section(KernelSettings::read),
        /// What is written.
        pub wear: Wear,
        /// The filesystems, by the names of their columns.
        pub systems: Systems = systems(&section, types),
        /// The names of those that are run.
        pub measured as "systems": Vec<&'static str> =
            named(&section, types, (|| types.iter().map(|one| one.name).collect(), "all without this key")),
    }
    check(file, kernel, wear, systems, measured) {
        fits(&section, &file.part, kernel.profile)?;
        fits_kernel(&section, (systems, measured), *kernel)?;
        wear.fits(&section, &file.part)?;
        for (key, why) in UNUSED {
            section.idle(key, why, "leave it out")?;
        }
        unused::refuse(&section, &file.part, (kernel.profile, systems, measured), &SOUND)?;
    }
}

section! {
    /// What is written.
    #[derive(Debug, Clone)]
    pub(crate) struct Wear(section) {
        /// The size of the flash, in blocks of the part.
        pub chip: Bytes,
        /// How full it is of data at rest.
        pub levels: Vec<Ratio>,
        /// Size of each file at rest.
        pub rest: Bytes,
        /// Size of the file that is written over and over.
        pub file: Bytes,
        /// Data of all files.
        pub data: Data = data::one(&section, "data"),
        /// From one writing to the next.
        pub period: Duration => within(*PERIOD.start(), *PERIOD.end()),
        /// Rated cycles of parts that lives are extrapolated to.
        pub endurance: Vec<u64>,
        /// Rated cycles of parts that run to their end; none do if zero.
        pub check_cycles: u32 => up_to(*CHECKED.end()),
        /// How full these are.
        pub check_levels: Vec<Ratio>,
    }
    check(levels, endurance, check_cycles, check_levels) {
        if *check_cycles > 0 && u64::from(*check_cycles) < *CHECKED.start() {
            let expected = format!("{} to {}, or 0 for no such part", CHECKED.start(), CHECKED.end());
            let help = "with fewer the wear before the run counts as much as that of the run";
            return Err(section.refuse("check_cycles", "is too few", &expected, help));
        }
        for (key, list) in [("levels", levels), ("check_levels", check_levels)] {
            once(&section, key, list)?;
            fits_level(&section, key, list)?;
        }
        once(&section, "endurance", endurance)?;
        if !endurance.iter().all(|one| ENDURANCE.contains(one)) {
            let expected = format!("each from {} to {}", ENDURANCE.start(), ENDURANCE.end());
            return Err(section.refuse("endurance", "cannot be", &expected, "rated cycles of a data sheet"));
        }
        if !check_levels.iter().all(|level| levels.contains(level)) {
            let problem = "has a level that `levels` has not";
            return Err(section.refuse("check_levels", problem, "some of `levels`", "add it there"));
        }
    }
}

impl Wear {
    /// What is written, for the runs.
    pub(super) fn load(&self) -> Load {
        let Self { chip, rest, file, data, period, .. } = self.clone();
        Load { chip, rest, file, data, period }
    }

    /// Refuses what does not fit the part.
    fn fits(&self, section: &Section<'_>, part: &Part) -> Read<()> {
        let block = part.geometry.block_size();
        if self.chip != block * (self.chip / block) || !BLOCKS.contains(&(self.chip / block)) {
            let [low, high] = [block * *BLOCKS.start(), block * *BLOCKS.end()];
            let expected = format!("{low} to {high}, in blocks of {block}");
            let help = "compare with part.geometry";
            return Err(section.refuse(
                "wear.chip",
                "is not whole blocks, or too few or many",
                &expected,
                help,
            ));
        }
        let most = Bytes::new(self.chip.get() / SHARE);
        for (key, size) in [("wear.rest", self.rest), ("wear.file", self.file)] {
            if !(FILE..=most).contains(&size) {
                let expected = format!("{FILE} to {most}, a sixteenth of wear.chip");
                return Err(section.refuse(
                    key,
                    "is too small or too large a file",
                    &expected,
                    "compare with wear.chip",
                ));
            }
        }
        Ok(())
    }
}
