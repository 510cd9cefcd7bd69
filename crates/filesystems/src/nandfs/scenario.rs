//! The scenario of the NAND experiment: the flash, what fills it, and what runs on it.
//!
//! Layer: rank 10. Main types: [`Scenario`] and its sections.

pub(crate) mod data;
pub(crate) mod errors;
pub(super) mod grades;
pub(crate) mod unused;

use super::fs::{FileSystemType, Missing, System};
use boardlab_document::quantity::Ratio;
use boardlab_document::{Read, Section, section};
use boardlab_nand::Part;
use boardlab_parts::nand::board::{self, BoardSpec};
use boardlab_parts::nand::part::{self, PartFile};
use boardlab_result::Parameter;
use boardlab_sim::Bytes;
use boardlab_workload::data::{Data, Sample};
use errors::Errors;
use grades::Grades;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The size of the flash while its part cannot be read.
const FLASH: Bytes = Bytes::mib(65_536);
/// The smallest file to fill a flash with.
const FILE: Bytes = Bytes::kib(1);
/// The highest fill level: the filesystem keeps the rest for itself.
const FILL: Ratio = Ratio::from_millionths(930_000);
/// The number of blocks of a flash whose attach is compared.
const CHIPS: RangeInclusive<u64> = 32..=1 << 20;
/// The most operations to run and cut.
const CUTS: u64 = 1_000_000_000;
/// The largest share of a small flash that files may take.
const LIVE: Ratio = Ratio::from_millionths(500_000);

/// Filesystems with their settings, by the names of their columns.
pub(crate) type Systems = Vec<(&'static str, Arc<dyn System>)>;

section! {
    /// A scenario of the NAND experiment, checked.
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
        /// Wear and errors of the part.
        pub errors: Errors = {
            let rates = file.as_ref().ok().and_then(|file| file.errors.clone());
            let errors = section.optional_section("errors", |errors| Errors::read(errors, rates));
            errors.map(Option::unwrap_or_default)
        },
        /// How the flash is filled.
        pub fill: Fill = section.section("fill", |fill| Fill::read(fill, room(&file))),
        /// The variations of it to compare.
        pub compare: Compare =
            section.section("compare", |compare| Compare::read(compare, room(&file))),
        /// Throughput.
        pub tiobench: Tiobench =
            section.section("tiobench", |tiobench| Tiobench::read(tiobench, room(&file))),
        /// The filesystems, by the names of their columns.
        pub systems: Systems = systems(&section, types),
        /// The names of those that get columns.
        pub measured as "systems": Vec<&'static str> =
            named(&section, types, (|| types.iter().map(|one| one.name).collect(), "all without this key")),
        /// How the figures are graded; without the section they are not.
        pub grades: Option<Grades> = section.optional_section("grades", Grades::read),
        /// What `boardlab powercut` cuts.
        pub powercut: PowerCut = section.section("powercut", |powercut| {
            PowerCut::read(powercut, types, measured.as_deref().unwrap_or_default())
        }),
    }
    check(file, kernel, errors, fill, compare, tiobench, systems, measured, powercut) {
        fits(&section, &file.part, kernel.profile)?;
        let used = used(measured, powercut);
        fits_kernel(&section, (systems, &used), *kernel)?;
        fits_chips(&section, ("compare", &compare.chips), file.part.geometry.block_size())?;
        told_apart(&section, fill, compare, tiobench)?;
        let why = "here: erase counters never get so far apart";
        section.idle("ubifs.wl_threshold", why, "boardlab run nand-wear uses it")?;
        unused::refuse(&section, &file.part, (kernel.profile, systems, &used), errors)?;
    }
}

/// Refuses samples of different files that output would call the same.
fn told_apart(
    section: &Section<'_>,
    fill: &Fill,
    compare: &Compare,
    tiobench: &Tiobench,
) -> Read<()> {
    let mut seen: Vec<&Sample> = Vec::new();
    for (key, sample) in samples(fill, compare, tiobench) {
        if seen.iter().any(|other| other.name == sample.name && *other != sample) {
            let problem = format!("has a second sample that rows would call `{}`", sample.name);
            let help = "name a link to one of the folders, with a name of its own";
            return Err(section.refuse(key, &problem, "samples whose last names differ", help));
        }
        seen.push(sample);
    }
    Ok(())
}

/// The samples of the user's own files, with the keys that name them.
fn samples<'s>(
    fill: &'s Fill,
    compare: &'s Compare,
    tiobench: &'s Tiobench,
) -> impl Iterator<Item = (&'static str, &'s Sample)> {
    let keys = [
        ("fill.data", std::slice::from_ref(&fill.data)),
        ("compare.data", &compare.data),
        ("tiobench.data", &tiobench.data),
    ];
    let of = |(key, kinds): (_, &'s [Data])| {
        kinds.iter().filter_map(Data::sample).map(move |sample| (key, sample))
    };
    keys.into_iter().flat_map(of)
}

fn room(file: &Read<PartFile>) -> Bytes {
    file.as_ref().map_or(FLASH, |file| file.part.size())
}

/// The sections of the filesystems, all of which are read before the first error counts.
pub(crate) fn systems(section: &Section<'_>, types: &[FileSystemType]) -> Read<Systems> {
    let read = |one: &FileSystemType| (one.name, section.section(one.name, one.read));
    let all: Vec<_> = types.iter().map(read).collect();
    all.into_iter().map(|(name, system)| Ok((name, system?))).collect()
}

/// The filesystems that the key `systems` of a section names; those of `default` without it.
pub(crate) fn named(
    section: &Section<'_>,
    types: &[FileSystemType],
    (default, without): (impl FnOnce() -> Vec<&'static str>, &str),
) -> Read<Vec<&'static str>> {
    const KEY: &str = "systems";
    let known = || types.iter().map(|one| one.name);
    let Some(named) = section.optional::<Vec<String>>(KEY)? else { return Ok(default()) };
    once(section, KEY, &named)?;
    if named.is_empty() || !named.iter().all(|name| known().any(|one| one == name)) {
        let problem = "names no filesystem, or one that is not there";
        let expected = format!("some of {}", known().collect::<Vec<_>>().join(", "));
        return Err(section.refuse(KEY, problem, &expected, without));
    }
    Ok(known().filter(|one| named.iter().any(|name| name == one)).collect())
}

/// The filesystems that some command uses: those with columns, and those of power cuts.
fn used(measured: &[&'static str], powercut: &PowerCut) -> Vec<&'static str> {
    [measured, &powercut.systems].concat()
}

/// A kernel, as far as flash and filesystems differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// 2.6.20 to 2.6.26: every read moves a whole page.
    Linux26,
    /// 6.1: a read moves the sub-pages that it needs.
    Linux61,
}

impl Kernel {
    /// The last version that it stands for.
    pub(crate) const fn version(self) -> [u8; 3] {
        match self {
            Self::Linux26 => [2, 6, 28],
            Self::Linux61 => [6, 1, 0],
        }
    }
}

/// Kernels as scenarios write them.
const KERNELS: [(&str, Kernel); 2] =
    [("linux-2.6", Kernel::Linux26), ("linux-6.1", Kernel::Linux61)];

section! {
    /// The kernel.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct KernelSettings(section) {
        /// Which one.
        pub profile: Kernel = section.one_of("profile", &KERNELS),
        /// Whether the driver reads back and compares what it programs.
        pub verify_write: bool,
    }
    check(profile, verify_write) {
        if *verify_write && *profile == Kernel::Linux61 {
            let problem = "asks the driver to read back what it programs, as Linux could until 3.5";
            let help = "--set kernel.profile=linux-2.6";
            return Err(section.refuse("verify_write", problem, "false with linux-6.1", help));
        }
    }
}

section! {
    /// How the flash is filled.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Fill(section, room: Bytes) {
        /// How full it gets.
        pub level: Ratio,
        /// Size of each file.
        pub file: Bytes => within(FILE, room),
        /// Their data.
        pub data: Data = data::one(&section, "data"),
    }
    check(level) {
        fits_level(&section, "level", &[*level])?;
    }
}

section! {
    /// Variations of how `[fill]` fills the flash.
    #[derive(Debug, Clone)]
    pub(crate) struct Compare(section, room: Bytes) {
        /// Sizes of files.
        pub files: Vec<Bytes>,
        /// Fill levels.
        pub levels: Vec<Ratio>,
        /// Kinds of data.
        pub data: Vec<Data> => with(data::several),
        /// How full the flash gets with each kind.
        pub data_level: Ratio,
        /// Sizes of the flash.
        pub chips: Vec<Bytes>,
        /// Whether other ways to run each filesystem are measured too.
        pub readings: bool => or(true),
    }
    check(files, levels, data_level, chips) {
        once(&section, "files", files)?;
        once(&section, "levels", levels)?;
        once(&section, "chips", chips)?;
        fits_level(&section, "levels", levels)?;
        fits_level(&section, "data_level", &[*data_level])?;
        if !files.iter().all(|file| (FILE..=room).contains(file)) {
            let expected = format!("sizes from {FILE} to {room}");
            let help = "smaller files would be millions";
            return Err(section.refuse("files", "has a size that cannot be", &expected, help));
        }
    }
}

section! {
    /// What tiobench does.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Tiobench(section, room: Bytes) {
        /// Bytes of one operation.
        pub block: Bytes => within(Bytes::new(512), Bytes::mib(16)),
        /// Size of the file of each thread.
        pub size: Bytes => within(Bytes::new(512), room),
        /// Random operations of each thread.
        pub random: u64 => within(1, 1_000_000),
        /// Threads, each with a file of its own.
        pub threads: u32 => within(1, 64),
        /// Whether a file gets its full size, as a hole, before it is written.
        pub presize: bool,
        /// Kinds of data, each a run of its own.
        pub data: Vec<Data> => with(data::several),
    }
    check(block, size, threads) {
        if *size < *block * 2 || !size.is_multiple_of(*block) {
            let problem = format!("is not two or more blocks of {block}");
            let help = "tiobench moves whole blocks: compare `size` with `block`";
            return Err(section.refuse("size", &problem, "whole blocks, two or more", help));
        }
        if *size * u64::from(*threads) > room {
            let problem = format!("times `size` do not fit the flash of {room}");
            let help = "take fewer threads, or smaller files";
            return Err(section.refuse("threads", &problem, "files that fit", help));
        }
    }
}

section! {
    /// What `boardlab powercut` runs and cuts.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct PowerCut(section, types: &[FileSystemType], measured: &[&'static str]) {
        /// The filesystems, one after another.
        pub systems: Vec<&'static str> = named(
            &section,
            types,
            (|| measured.to_vec(), "those of the top level without this key"),
        ),
        /// Erase blocks of the flash.
        pub blocks: u32 => within(8, 4_096),
        /// Pages of each.
        pub pages_per_block: u32 => within(8, 256),
        /// Main bytes of a page.
        pub page: Bytes => within(Bytes::new(512), Bytes::kib(4)),
        /// OOB bytes of a page.
        pub oob: Bytes => within(Bytes::new(16), Bytes::new(256)),
        /// The share of the flash that files take.
        pub live: Ratio,
        /// Operations that change the flash.
        pub operations: u64 => within(1, CUTS),
        /// Every operation below this number is cut.
        pub exhaustive: u64 => up_to(CUTS),
        /// Of the others one in this many is cut; none if zero.
        pub one_in: u64 => up_to(CUTS),
        /// One recovery in this many is cut itself; none if zero.
        pub second_one_in: u64 => up_to(CUTS),
        /// Of the operations of such a recovery one in this many is cut.
        pub second_operation_one_in: u64 => within(1, CUTS),
        /// The run continues from a cut in one action of this many; never if zero.
        pub life_one_in: u64 => up_to(CUTS).or(30),
        /// A brownout interrupts one erase in this many, which still reports success; none if zero.
        pub brownout_one_in: u64 => up_to(CUTS).or(0),
    }
    check(live) {
        if *live > LIVE {
            let problem = "leaves no room for garbage collection";
            let help = "a smaller share of a larger flash";
            return Err(section.refuse("live", problem, &format!("at most {LIVE}"), help));
        }
    }
}

impl Scenario {
    /// The samples of the user's own files, each once.
    pub(super) fn samples(&self) -> Vec<&Sample> {
        let all = samples(&self.fill, &self.compare, &self.tiobench);
        let mut all: Vec<_> = all.map(|(_, sample)| sample).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The names of the filesystems that some command uses.
    pub(super) fn used(&self) -> Vec<&'static str> {
        used(&self.measured, &self.powercut)
    }
}

/// Those that are named.
pub(crate) fn chosen<'s>(
    systems: &'s Systems,
    names: &'s [&'s str],
) -> impl Iterator<Item = (&'static str, &'s Arc<dyn System>)> {
    let named = systems.iter().filter(|(name, _)| names.contains(name));
    named.map(|(name, system)| (*name, system))
}

/// The one with this name; a scenario has all.
pub(crate) fn system<'s>(systems: &'s Systems, name: &str) -> &'s Arc<dyn System> {
    let found = systems.iter().find(|(other, _)| *other == name);
    found.map(|(_, system)| system).expect("a scenario has all filesystems")
}

/// Drops parameters that nothing uses: those of filesystems, and those whose keys begin as `keys` do.
pub(crate) fn without_idle<'k>(
    parameters: &mut Vec<Parameter>,
    (systems, used): (&Systems, &[&str]),
    keys: impl IntoIterator<Item = &'k str>,
) {
    let idle = systems.iter().filter(|(name, _)| !used.contains(name));
    let mut idle: Vec<_> = idle.map(|(name, _)| format!("{name}.")).collect();
    idle.extend(keys.into_iter().map(String::from));
    parameters.retain(|one| !idle.iter().any(|section| one.key.starts_with(section)));
}

/// Refuses a part that the kernel's driver or the filesystem cannot use.
pub(crate) fn fits(section: &Section<'_>, part: &Part, kernel: Kernel) -> Read<()> {
    has_driver(section, part, kernel)?;
    if part.programs_per_page < 2 {
        let problem = "lets a page be programmed once only, as MLC does";
        let expected = "a part whose pages may be programmed twice";
        let help = "JFFS2 marks an erased block in the spare bytes of a page that it fills later";
        return Err(section.refuse("part", problem, expected, help));
    }
    Ok(())
}

/// Refuses a part that the kernel has no driver for.
pub(crate) fn has_driver(section: &Section<'_>, part: &Part, kernel: Kernel) -> Read<()> {
    if kernel == Kernel::Linux26 && part.on_die_ecc.is_some() {
        let problem = "has no driver for a chip that corrects by itself";
        let expected = "a kernel with drivers/mtd/nand/spi";
        let help = "--set kernel.profile=linux-6.1";
        return Err(section.refuse("kernel", problem, expected, help));
    }
    Ok(())
}

/// Refuses settings of a filesystem that the kernel does not have.
pub(crate) fn fits_kernel(
    section: &Section<'_>,
    (systems, used): (&Systems, &[&str]),
    kernel: KernelSettings,
) -> Read<()> {
    for (name, system) in chosen(systems, used) {
        if let Some(Missing { problem, expected, help }) = system.missing(kernel) {
            return Err(section.refuse(name, problem, expected, help));
        }
    }
    Ok(())
}

/// Refuses sizes of the flash that are too few or too many blocks.
pub(crate) fn fits_chips(
    section: &Section<'_>,
    (key, chips): (&str, &[Bytes]),
    block: Bytes,
) -> Read<()> {
    if chips.iter().all(|chip| CHIPS.contains(&(*chip / block))) {
        return Ok(());
    }
    let expected = format!("sizes from {} to {}", block * *CHIPS.start(), block * *CHIPS.end());
    let problem = "has a size in `chips` that is too few blocks of the part, or too many";
    Err(section.refuse(key, problem, &expected, "compare with the size of the part's blocks"))
}

/// Refuses a fill level that leaves no room for what a filesystem keeps for itself.
pub(crate) fn fits_level(section: &Section<'_>, key: &str, levels: &[Ratio]) -> Read<()> {
    if levels.iter().all(|level| *level <= FILL) {
        return Ok(());
    }
    let problem = "is fuller than a filesystem lets a flash be";
    let help = "table 3.5 fills the flash to the end";
    Err(section.refuse(key, problem, &format!("at most {FILL}"), help))
}

/// Refuses a list with a repeated entry: each is a row, and the names of rows differ.
pub(crate) fn once<T: PartialEq>(section: &Section<'_>, key: &str, list: &[T]) -> Read<()> {
    let repeated = list.iter().enumerate().any(|(at, one)| list[..at].contains(one));
    if repeated {
        let (problem, help) = ("names a thing twice", "each is one row of a table");
        return Err(section.refuse(key, problem, "each once", help));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nandfs::fs;
    use boardlab_media::{CellKind, ErrorRates};
    use boardlab_parts::catalog;

    #[test]
    fn samples_of_one_name_are_told_apart_where_the_second_stands() {
        let folder = std::env::temp_dir().join(format!("boardlab-samples-{}", std::process::id()));
        let path = |name: &str| format!("sample:{}", folder.join(name).display());
        for (name, byte) in [("a/own", 1), ("b/own", 2)] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
            std::fs::write(folder.join(name).join("file"), [byte; 5_000]).unwrap();
        }
        let compare = format!("compare.data=[\"{}\"]", path("a/own"));
        let of = |key: &str, list: String| scenario(&[&compare, &format!("{key}={list}")]);
        let same = of("tiobench.data", format!("[\"zero\", \"{}\"]", path("a/own"))).unwrap();
        assert_eq!(same.samples().len(), 1);
        let other = of("tiobench.data", format!("[\"zero\", \"{}\"]", path("b/own")));
        let both = of("compare.data", format!("[\"{}\", \"{}\"]", path("a/own"), path("b/own")));
        let twice = of("compare.data", format!("[\"{}\", \"{}\"]", path("a/own"), path("a/own")));
        std::fs::remove_dir_all(&folder).unwrap();
        for (refused, says) in [
            (other, "`tiobench.data`"),
            (both, "a second sample that rows would call `own`"),
            (twice, "names a thing twice"),
        ] {
            let error = refused.map(|_| ()).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        assert!(scenario(&["fill.data=sample:"]).is_err_and(|error| error.contains("not known")));
    }

    /// The scenario with values set, or the error.
    fn scenario(set: &[&str]) -> Result<Scenario, String> {
        let document =
            catalog::compose("nand-filesystems", set).map_err(|error| error.to_string())?;
        let reading = document.read(|section| Scenario::read(section, fs::ALL));
        reading.map(|reading| reading.value).map_err(|error| error.to_string())
    }

    #[test]
    fn errors_are_off_unless_a_scenario_switches_them_on() {
        let off = scenario(&[]).unwrap().errors;
        assert_eq!((off.rates, off.pe_cycles), (None, 0));
        let on =
            scenario(&["errors.bits=true", "errors.pe_cycles=5000", "part=k9f1g08u0a"]).unwrap();
        assert_eq!(on.errors.rates, Some(ErrorRates::typical(CellKind::Slc)));
        assert_eq!(on.errors.pe_cycles, 5_000);
    }

    #[test]
    fn rates_that_fall_or_are_no_probabilities_are_refused() {
        for (set, said) in [
            ("part.errors.program.pe_cycles=[0, 10, 5, 20]", "not a line that rises"),
            ("part.errors.program.pe_cycles=[0, 10]", "not a line that rises"),
            ("part.errors.disturb.rate=[\"2\"]", "rate"),
            ("part.errors.disturb.rate=[0.5]", "a probability"),
            ("errors.factory_bad=90 %", "at most 50 %"),
        ] {
            let error = scenario(&[set]).unwrap_err();
            assert!(error.contains(said), "{set}: {error}");
        }
    }
}
