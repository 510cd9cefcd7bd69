//! The scenario of the NAND experiment: which flash is filled with what, and what is run on it.
//!
//! Layer: rank 11. Main types: [`Scenario`] and its sections; function: [`read`].

pub mod errors;
mod limits;
mod unused;

use super::fs::{self, FileSystemType, Setting, System};
use boardlab_document::misfit::Misfit;
use boardlab_document::quantity::Ratio;
use boardlab_document::{Misplaced, Node, Read, Section, Value};
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

/// How the flash is filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fill {
    /// How full it gets.
    pub level: Ratio,
    /// Size of each file.
    pub file: Bytes,
    /// What is in them.
    pub data: Data,
}

/// Kinds of data in the files that fill the flash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kinds {
    /// The kinds.
    pub data: Vec<Data>,
    /// How full the flash gets with each.
    pub level: Ratio,
}

/// What tiobench does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiobench {
    /// Bytes of one operation.
    pub block: Bytes,
    /// Size of the file of each thread.
    pub size: Bytes,
    /// Random operations of each thread.
    pub random: u64,
    /// Threads, each with a file of its own.
    pub threads: u32,
    /// Whether a file is made full size, as a hole, before it is written.
    pub presize: bool,
    /// Kinds of data, each a run of its own.
    pub data: Vec<Data>,
}

/// How many actions a life of the run has, where a scenario does not say.
const LIFE_ONE_IN: u64 = 30;
/// Of how many erases one is broken off by a brownout, where a scenario does not say.
const BROWNOUT_ONE_IN: u64 = 10;

/// What `boardlab powercut` runs and cuts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerCut {
    /// The filesystem.
    pub system: &'static str,
    /// Erase blocks of the flash.
    pub blocks: u32,
    /// Pages of each.
    pub pages_per_block: u32,
    /// Main bytes of a page.
    pub page: Bytes,
    /// Spare bytes of a page.
    pub oob: Bytes,
    /// The part of the flash that files take.
    pub live: Ratio,
    /// Operations that change the flash.
    pub operations: u64,
    /// Every operation below this number is cut,
    pub exhaustive: u64,
    /// and of the others one in so many; none when zero.
    pub one_in: u64,
    /// One recovery in so many is cut itself; none when zero.
    pub second_one_in: u64,
    /// Of the operations of such a recovery one in so many.
    pub second_operation_one_in: u64,
    /// The run goes on from a cut in one action of so many; never when zero.
    pub life_one_in: u64,
    /// One erase in so many is broken off by a brownout and says that it is done; none when zero.
    pub brownout_one_in: u64,
}

/// [`Data`] as it is written in a scenario.
struct Named(Data);

impl Value for Named {
    const NUMBER: bool = false;

    fn expected() -> String {
        "zero, random, text, runs, or percent:N with N from 0 to 100".into()
    }

    fn example() -> String {
        "\"percent:50\"".into()
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
fn kinds(section: &Section<'_>) -> Read<Vec<Data>> {
    let named = section.required::<Vec<Named>>("data")?;
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
    let kernel = section.section("kernel", |kernel| {
        let profile = kernel.one_of("profile", &KERNELS);
        kernel.finish()?;
        profile
    });
    let room = part.as_ref().map_or(limits::FLASH, |file| file.part.size());
    let rates = part.as_ref().ok().and_then(|file| file.errors.clone());
    let errors = section.optional_section("errors", |errors| errors::read(&errors, rates));
    let fill = section.section("fill", |fill| self::fill(&fill, room));
    let compare = section.section("compare", |compare| self::compare(&compare, room));
    let tiobench = section.section("tiobench", |tiobench| self::tiobench(&tiobench, room));
    let systems: Vec<_> =
        types.iter().map(|one| (one.name, section.section(one.name, one.read))).collect();
    let powercut = section.section("powercut", |powercut| self::powercut(&powercut, types));
    section.finish()?;
    let systems: Read<Vec<_>> =
        systems.into_iter().map(|(name, system)| Ok((name, system?))).collect();
    let (part, kernel, _, _) = (part?, kernel?, title?, experiment?);
    fits(section, &part.part, kernel)?;
    let Compare { files, levels, kinds } = compare?;
    let scenario = Scenario {
        part: Arc::new(part.part),
        errors: errors?.unwrap_or_default(),
        board: board?,
        kernel,
        fill: fill?,
        files,
        levels,
        kinds,
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

/// A fill level that leaves room for what a filesystem keeps for itself.
fn level_fits(level: Ratio) -> bool {
    level <= limits::FILL
}

fn fill(section: &Section<'_>, room: Bytes) -> Read<Fill> {
    let level = section.required::<Ratio>("level");
    let file = section.key::<Bytes>("file").within(limits::FILE, room).required();
    let data = section.required::<Named>("data").map(|Named(data)| data);
    section.finish()?;
    let level = level?;
    if !level_fits(level) {
        return Err(too_full(section, "level"));
    }
    Ok(Fill { level, file: file?, data: data? })
}

fn too_full(section: &Section<'_>, key: &str) -> boardlab_document::Reported {
    section.refuse(
        key,
        "is fuller than a filesystem lets a flash be",
        &format!("at most {}", limits::FILL),
        "table 3.5 fills the flash to the end",
    )
}

/// What is compared with the flash as `[fill]` fills it.
struct Compare {
    files: Vec<Bytes>,
    levels: Vec<Ratio>,
    kinds: Kinds,
}

fn compare(section: &Section<'_>, room: Bytes) -> Read<Compare> {
    let files = section.required::<Vec<Bytes>>("files");
    let levels = section.required::<Vec<Ratio>>("levels");
    let data = kinds(section);
    let data_level = section.required::<Ratio>("data_level");
    section.finish()?;
    let (files, levels, data, level) = (files?, levels?, data?, data_level?);
    once(section, "files", &files)?;
    once(section, "levels", &levels)?;
    once(section, "data", &data)?;
    if !levels.iter().all(|level| level_fits(*level)) {
        return Err(too_full(section, "levels"));
    }
    if !level_fits(level) {
        return Err(too_full(section, "data_level"));
    }
    if !files.iter().all(|file| (limits::FILE..=room).contains(file)) {
        return Err(section.refuse(
            "files",
            "has a size that cannot be",
            &format!("sizes from {} to {room}", limits::FILE),
            "smaller files would be millions",
        ));
    }
    Ok(Compare { files, levels, kinds: Kinds { data, level } })
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

fn tiobench(section: &Section<'_>, room: Bytes) -> Read<Tiobench> {
    let block = section.key::<Bytes>("block").within(Bytes::new(512), Bytes::mib(16)).required();
    let size = section.key::<Bytes>("size").within(Bytes::new(512), room).required();
    let random = section.key::<u64>("random").within(1, 1_000_000).required();
    let threads = section.key::<u64>("threads").within(1, 64).required();
    let presize = section.required::<bool>("presize");
    let data = kinds(section);
    section.finish()?;
    let (block, size, threads, data) = (block?, size?, threads?, data?);
    once(section, "data", &data)?;
    if size < block * 2 || !size.get().is_multiple_of(block.get()) {
        return Err(section.refuse(
            "size",
            &format!("is not two or more blocks of {block}"),
            "whole blocks, two or more",
            "tiobench moves whole blocks: compare `size` with `block`",
        ));
    }
    if size * threads > room {
        return Err(section.refuse(
            "threads",
            &format!("times `size` do not fit the flash of {room}"),
            "files that fit",
            "take fewer threads, or smaller files",
        ));
    }
    let threads = u32::try_from(threads).expect("within 64");
    let (random, presize) = (random?, presize?);
    Ok(Tiobench { block, size, random, threads, presize, data })
}

fn powercut(section: &Section<'_>, types: &[FileSystemType]) -> Read<PowerCut> {
    let count = |key, low: u32, high: u32| {
        let count = section.key::<u64>(key).within(u64::from(low), u64::from(high)).required()?;
        Ok(u32::try_from(count).expect("within u32"))
    };
    let names: Vec<_> = types.iter().map(|one| (one.name, one.name)).collect();
    let system = section.one_of("system", &names);
    let (blocks, pages) = (count("blocks", 8, 4_096), count("pages_per_block", 8, 256));
    let size = |key, low, high| section.key::<Bytes>(key).within(low, high).required();
    let page = size("page", Bytes::new(512), Bytes::kib(4));
    let oob = size("oob", Bytes::new(16), Bytes::new(256));
    let live = section.required::<Ratio>("live");
    let number = |key, low| section.key::<u64>(key).within(low, limits::CUTS).required();
    let (operations, exhaustive) = (number("operations", 1), number("exhaustive", 0));
    let one_in = number("one_in", 0);
    let second = number("second_one_in", 0);
    let second_operation = number("second_operation_one_in", 1);
    let seldom = |key| section.key::<u64>(key).within(0, limits::CUTS).optional();
    let (life, brownout) = (seldom("life_one_in"), seldom("brownout_one_in"));
    section.finish()?;
    let live = live?;
    if live > limits::LIVE {
        return Err(section.refuse(
            "live",
            "leaves no room for garbage collection",
            &format!("at most {}", limits::LIVE),
            "a smaller share of a larger flash",
        ));
    }
    Ok(PowerCut {
        system: system?,
        blocks: blocks?,
        pages_per_block: pages?,
        page: page?,
        oob: oob?,
        live,
        operations: operations?,
        exhaustive: exhaustive?,
        one_in: one_in?,
        second_one_in: second?,
        second_operation_one_in: second_operation?,
        life_one_in: life?.unwrap_or(LIFE_ONE_IN),
        brownout_one_in: brownout?.unwrap_or(BROWNOUT_ONE_IN),
    })
}
