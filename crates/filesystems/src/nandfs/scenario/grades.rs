//! How the filesystems are graded, as tables 2.1 and 3.6 to 3.8 of the publication do: the section `[grades]`.
//!
//! Layer: rank 10. Main types: [`Grades`], [`Criterion`], [`WearGrades`].

use super::{fits_level, once};
use crate::nandfs::run::wear::Load;
use boardlab_document::misfit::Misfit;
use boardlab_document::quantity::Ratio;
use boardlab_document::{Description, Node, PlacedMisfit, Read, Section, Value, section};
use boardlab_nand::Part;
use boardlab_sim::{Bytes, Duration};
use boardlab_workload::data::Data;

section! {
    /// A figure is graded by how many times as bad as the best of its row it is.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Grades(section) {
        /// The most that is excellent.
        pub excellent: Ratio,
        /// The most that is good.
        pub good: Ratio,
        /// The most that is fair; more is poor.
        pub fair: Ratio,
        /// Kinds of products, with the criteria by which a filesystem is chosen for each.
        pub products: Vec<(String, Vec<Criterion>)> = section.section("products", products),
        /// How wear levelling is graded.
        pub wear: WearGrades,
        /// Bits that a code corrects in 512 bytes, beside which there has to be room in the spare area.
        pub spare_bits: u32 => within(1, 40),
    }
    check(excellent, good, fair) {
        let rising = Ratio::WHOLE <= *excellent && excellent <= good && good <= fair;
        if !rising {
            let problem = format!("is {excellent}, then {good}, then {fair}");
            let expected = "100 % or more, each at least the one before";
            let help = "100 % is as good as the best, 200 % half as good";
            return Err(section.refuse("excellent", &problem, expected, help));
        }
    }
}

section! {
    /// Wear levelling is graded by the share of all rated cycles that is used when the first block dies, while one file
    /// is written over and over.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct WearGrades(section) {
        /// The least size of the flash.
        pub chip: Bytes => within(CHIP[0], CHIP[1]),
        /// How full it is of files that are never touched.
        pub level: Ratio,
        /// Size of each of these.
        pub rest: Bytes,
        /// Size of the file.
        pub file: Bytes,
        /// Rated cycles of each block; wear is left out if zero.
        pub endurance: u64 => up_to(ENDURANCE),
        /// The least that is excellent.
        pub excellent: Ratio,
        /// The least that is good; less is weak.
        pub good: Ratio,
    }
    check(chip, level, rest, file, endurance, excellent, good) {
        if *endurance == 0 {
            for key in ["chip", "level", "rest", "file", "excellent", "good"] {
                section.idle(key, "with endurance = 0", "set grades.wear.endurance")?;
            }
        }
        fits_level(&section, "level", &[*level])?;
        let most = Bytes::new(chip.get() / SHARE);
        for (key, size) in [("rest", rest), ("file", file)] {
            if !(FILE..=most).contains(size) {
                let problem = "is too small or too large a file";
                let expected = format!("{FILE} to {most}, a sixteenth of `chip`");
                return Err(section.refuse(key, problem, &expected, "compare with `chip`"));
            }
        }
        if !(*good <= *excellent && *excellent <= Ratio::WHOLE) {
            let problem = "is less than `good`, or more than all cycles";
            let help = "100 % is a flash whose blocks all die at once";
            return Err(section.refuse("excellent", problem, &format!("{good} to 100 %"), help));
        }
    }
}

/// Sizes of a flash that is worn out, the fewest blocks of it, and the share of it that a file may take.
const CHIP: [Bytes; 2] = [Bytes::mib(4), Bytes::mib(256)];
const BLOCKS: u64 = 64;
const SHARE: u64 = 16;
/// The smallest file.
const FILE: Bytes = Bytes::kib(1);
/// The most rated cycles.
const ENDURANCE: u64 = 10_000_000;

impl WearGrades {
    /// What is written on a flash of so many blocks of a part.
    pub(crate) fn load(&self, part: &Part) -> Load {
        let block = part.geometry.block_size();
        let chip = block * self.chip.div_ceil(block).max(BLOCKS);
        // The worst case, and time enough for all work in the background.
        let (data, period) = (Data::Random, Duration::from_secs(60));
        Load { chip, rest: self.rest, file: self.file, data, period }
    }
}

fn products(section: Section<'_>) -> Read<Vec<(String, Vec<Criterion>)>> {
    // All are read before the first error counts.
    let read = |name: &str| {
        let criteria = section.required::<Vec<Criterion>>(name)?;
        let names: Vec<_> = criteria.iter().map(|one| one.name()).collect();
        once(&section, name, &names)?;
        Ok((name.to_owned(), criteria))
    };
    let all: Vec<_> = section.keys().map(read).collect();
    section.finish()?;
    all.into_iter().collect()
}

/// What filesystems are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Criterion {
    /// The time of a mount.
    Mount,
    /// The rates of tiobench.
    Throughput,
    /// The structures in RAM after a mount.
    Ram,
    /// The part of a full flash that holds no content of files.
    Flash,
}

impl Criterion {
    /// All, in the order of the publication.
    pub(crate) const ALL: [Self; 4] = [Self::Mount, Self::Throughput, Self::Ram, Self::Flash];

    /// As scenarios write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Mount => "mount",
            Self::Throughput => "throughput",
            Self::Ram => "ram",
            Self::Flash => "flash",
        }
    }
}

impl Value for Criterion {
    const NUMBER: bool = false;

    fn description() -> Description {
        let names = Self::ALL.map(Self::name);
        Description::new("mount, throughput, ram or flash", "\"mount\"").names(names)
    }

    fn read(node: &Node) -> Result<Self, PlacedMisfit> {
        let text = node.as_text().ok_or_else(|| PlacedMisfit::of_type(node))?;
        Self::ALL.into_iter().find(|one| one.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(|one| one.name().to_owned());
            PlacedMisfit::new(node, Misfit::UnknownName(names.into()))
        })
    }
}
