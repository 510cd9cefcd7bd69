//! The scenario of the NAND experiment: which flash is filled with what, and what is run on it.
//!
//! Layer: rank 10. Main types: [`Scenario`] and its sections; function: [`read`].

pub mod errors;
mod limits;
mod unused;

use super::fs::{self, FileSystemType, Setting, System};
use boardlab_document::misfit::Misfit;
use boardlab_document::quantity::Ratio;
use boardlab_document::{Description, Misplaced, Node, Read, Section, Value, section};
use boardlab_nand::Part;
use boardlab_parts::nand::board::{self, BoardSpec};
use boardlab_parts::nand::part;
use boardlab_sim::{Bytes, Seed};
use boardlab_workload::data::Data;
use errors::Errors;
use std::sync::Arc;

/// A scenario of the NAND experiment, checked.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The part.
    pub part: Arc<Part>,
    /// The board.
    pub board: BoardSpec,
    /// Wear and errors of the part.
    pub errors: Errors,
    /// The kernel that driver and filesystems belong to.
    pub kernel: Kernel,
    /// How the flash is filled.
    pub fill: Fill,
    /// Sizes of files that are compared.
    pub files: Vec<Bytes>,
    /// Fill levels that are compared.
    pub levels: Vec<Ratio>,
    /// Kinds of data in the files that are compared.
    pub kinds: Kinds,
    /// Throughput.
    pub tiobench: Tiobench,
    /// The filesystems, by the names of their columns.
    pub(super) systems: Vec<(&'static str, Arc<dyn System>)>,
    /// What `boardlab powercut` cuts.
    pub powercut: PowerCut,
}

/// A kernel, as far as flash and filesystems differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// 2.6.20 to 2.6.26: every read moves a whole page.
    Linux26,
    /// 6.1: a read moves the sub-pages that it needs.
    Linux61,
}

/// Kernels as scenarios write them.
pub const KERNELS: [(&str, Kernel); 2] =
    [("linux-2.6", Kernel::Linux26), ("linux-6.1", Kernel::Linux61)];

section! {
    /// How the flash is filled.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Fill(section, room: Bytes) {
        /// How full it gets.
        pub level: Ratio,
        /// Size of each file.
        pub file: Bytes => within(limits::FILE, room),
        /// What is in them.
        pub data: Data = section.required::<Named>("data").map(|Named(data)| data),
    }
    check(level) {
        fits_level(&section, "level", &[*level])?;
    }
}

/// Kinds of data in the files that fill the flash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kinds {
    /// The kinds.
    pub data: Vec<Data>,
    /// How full the flash gets with each.
    pub level: Ratio,
}

section! {
    /// What tiobench does.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Tiobench(section, room: Bytes) {
        /// Bytes of one operation.
        pub block: Bytes => within(Bytes::new(512), Bytes::mib(16)),
        /// Size of the file of each thread.
        pub size: Bytes => within(Bytes::new(512), room),
        /// Random operations of each thread.
        pub random: u64 => within(1, 1_000_000),
        /// Threads, each with a file of its own.
        pub threads: u32 => within(1, 64),
        /// Whether a file is made full size, as a hole, before it is written.
        pub presize: bool,
        /// Kinds of data, each a run of its own.
        pub data: Vec<Data> => with(kinds),
    }
    check(block, size, threads, data) {
        once(&section, "data", data)?;
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
    pub struct PowerCut(section, systems: &[(&'static str, &'static str)]) {
        /// The filesystem.
        pub system: &'static str = section.one_of("system", systems),
        /// Erase blocks of the flash.
        pub blocks: u32 => within(8, 4_096),
        /// Pages of each.
        pub pages_per_block: u32 => within(8, 256),
        /// Main bytes of a page.
        pub page: Bytes => within(Bytes::new(512), Bytes::kib(4)),
        /// Spare bytes of a page.
        pub oob: Bytes => within(Bytes::new(16), Bytes::new(256)),
        /// The part of the flash that files take.
        pub live: Ratio,
        /// Operations that change the flash.
        pub operations: u64 => within(1, limits::CUTS),
        /// Every operation below this number is cut,
        pub exhaustive: u64 => up_to(limits::CUTS),
        /// and of the others one in so many; none when zero.
        pub one_in: u64 => up_to(limits::CUTS),
        /// One recovery in so many is cut itself; none when zero.
        pub second_one_in: u64 => up_to(limits::CUTS),
        /// Of the operations of such a recovery one in so many.
        pub second_operation_one_in: u64 => within(1, limits::CUTS),
        /// The run goes on from a cut in one action of so many; never when zero.
        pub life_one_in: u64 => up_to(limits::CUTS).or(30),
        /// One erase in so many is broken off by a brownout and says that it is done; none when zero.
        pub brownout_one_in: u64 => up_to(limits::CUTS).or(10),
    }
    check(live) {
        if *live > limits::LIVE {
            let (problem, most) = ("leaves no room for garbage collection", limits::LIVE);
            let help = "a smaller share of a larger flash";
            return Err(section.refuse("live", problem, &format!("at most {most}"), help));
        }
    }
}

/// [`Data`] as it is written in a scenario.
struct Named(Data);

impl Value for Named {
    const NUMBER: bool = false;

    fn description() -> Description {
        let expected = "zero, random, text, runs, or percent:N with N from 0 to 100";
        Description::new(expected, "\"percent:50\"")
    }

    fn read(node: &Node) -> Result<Self, Misplaced> {
        let text = node.as_text().ok_or_else(|| Misplaced::of_type(node))?;
        text.parse().map(Self).map_err(|_| {
            let names = ["zero", "random", "text", "runs", "percent:50"].map(String::from).into();
            Misplaced::new(node, Misfit::UnknownName { names })
        })
    }
}

/// The kinds of data that a section lists.
fn kinds(section: &Section<'_>, key: &str) -> Read<Vec<Data>> {
    let named = section.required::<Vec<Named>>(key)?;
    Ok(named.into_iter().map(|Named(data)| data).collect())
}

impl Scenario {
    /// What its filesystems are mounted with.
    pub(super) fn setting(&self, seed: Seed) -> Setting {
        Setting { kernel: self.kernel, host: self.board.host(), seed }
    }
}

/// Reads a whole scenario, its part and board mounted in place of their names.
///
/// # Errors
/// Whatever is missing, unknown, of the wrong kind or cannot be.
pub fn read(section: &Section<'_>) -> Read<Scenario> {
    read_types(section, fs::ALL)
}

/// The same with other filesystems than those that are built.
pub(super) fn read_types(section: &Section<'_>, types: &[FileSystemType]) -> Read<Scenario> {
    let title = section.required::<String>("title");
    let experiment = section.required::<String>("experiment");
    let part = section.section("part", part::read);
    let board = section.section("board", board::read);
    let kernel = section.section("kernel", KernelSection::read).map(|kernel| kernel.profile);
    let room = part.as_ref().map_or(limits::FLASH, |file| file.part.size());
    let rates = part.as_ref().ok().and_then(|file| file.errors.clone());
    let errors = section.optional_section("errors", |errors| errors::read(&errors, rates));
    let fill = section.section("fill", |fill| Fill::read(fill, room));
    let compare = section.section("compare", |compare| Compare::read(compare, room));
    let tiobench = section.section("tiobench", |tiobench| Tiobench::read(tiobench, room));
    let systems: Vec<_> =
        types.iter().map(|one| (one.name, section.section(one.name, one.read))).collect();
    let names: Vec<_> = types.iter().map(|one| (one.name, one.name)).collect();
    let powercut = section.section("powercut", |powercut| PowerCut::read(powercut, &names));
    section.finish()?;
    let systems: Read<Vec<_>> =
        systems.into_iter().map(|(name, system)| Ok((name, system?))).collect();
    let (part, kernel, _, _) = (part?, kernel?, title?, experiment?);
    fits(section, &part.part, kernel)?;
    let Compare { files, levels, data, data_level } = compare?;
    let scenario = Scenario {
        part: Arc::new(part.part),
        errors: errors?.unwrap_or_default(),
        board: board?,
        kernel,
        fill: fill?,
        files,
        levels,
        kinds: Kinds { data, level: data_level },
        tiobench: tiobench?,
        systems: systems?,
        powercut: powercut?,
    };
    unused::refuse(section, &scenario)?;
    Ok(scenario)
}

/// Refuses a part that the kernel's driver or the filesystem cannot have.
fn fits(section: &Section<'_>, part: &Part, kernel: Kernel) -> Read<()> {
    if kernel == Kernel::Linux26 && part.on_die_ecc.is_some() {
        return Err(section.refuse(
            "kernel",
            "has no driver for a chip that corrects by itself",
            "a kernel with drivers/mtd/nand/spi",
            "--set kernel.profile=linux-6.1",
        ));
    }
    if part.programs_per_page < 2 {
        return Err(section.refuse(
            "part",
            "lets a page be programmed once only, as MLC does",
            "a part whose pages may be programmed twice",
            "JFFS2 marks an erased block in the spare bytes of a page that it fills later",
        ));
    }
    Ok(())
}

/// Refuses a fill level that leaves no room for what a filesystem keeps for itself.
fn fits_level(section: &Section<'_>, key: &str, levels: &[Ratio]) -> Read<()> {
    if levels.iter().all(|level| *level <= limits::FILL) {
        return Ok(());
    }
    Err(section.refuse(
        key,
        "is fuller than a filesystem lets a flash be",
        &format!("at most {}", limits::FILL),
        "table 3.5 fills the flash to the end",
    ))
}

section! {
    /// The section `kernel`.
    struct KernelSection {
        /// Which it is.
        profile: Kernel => one_of(KERNELS),
    }
}

section! {
    /// What is compared with the flash as `[fill]` fills it.
    struct Compare(section, room: Bytes) {
        /// Sizes of files.
        files: Vec<Bytes>,
        /// Fill levels.
        levels: Vec<Ratio>,
        /// Kinds of data,
        data: Vec<Data> => with(kinds),
        /// and how full the flash gets with each.
        data_level: Ratio,
    }
    check(files, levels, data, data_level) {
        once(&section, "files", files)?;
        once(&section, "levels", levels)?;
        once(&section, "data", data)?;
        fits_level(&section, "levels", levels)?;
        fits_level(&section, "data_level", &[*data_level])?;
        if !files.iter().all(|file| (limits::FILE..=room).contains(file)) {
            let expected = format!("sizes from {} to {room}", limits::FILE);
            let help = "smaller files would be millions";
            return Err(section.refuse("files", "has a size that cannot be", &expected, help));
        }
    }
}

/// Refuses a list that names a thing twice: each is a row, and a row's name is its own.
fn once<T: PartialEq>(section: &Section<'_>, key: &str, list: &[T]) -> Read<()> {
    let repeated = list.iter().enumerate().any(|(at, one)| list[..at].contains(one));
    if repeated {
        let (problem, help) = ("names a thing twice", "each is one row of a table");
        return Err(section.refuse(key, problem, "each once", help));
    }
    Ok(())
}
