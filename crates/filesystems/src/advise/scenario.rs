//! The scenario of an advice: the flash, the board, and the product with its limits.
//!
//! Layer: rank 10. Main types: [`Scenario`], [`Product`].

use super::flash::ProductFlash;
use crate::nandfs::flash::Wired;
use crate::nandfs::fs::FileSystemType;
use crate::nandfs::run::stand::{Files, Sizes};
use crate::nandfs::run::wear::Load;
use crate::nandfs::scenario::errors::SOUND;
use crate::nandfs::scenario::{
    Kernel, KernelSettings, Systems, chosen, data, fits_chips, fits_kernel, fits_level, has_driver,
    named, once, systems, unused,
};
use boardlab_document::quantity::Ratio;
use boardlab_document::{Description, Node, PlacedMisfit, Read, Section, Value, section};
use boardlab_mtd::FlashKind;
use boardlab_parts::nor;
use boardlab_result::prose::real;
use boardlab_sim::{Bytes, Duration, Rate, Seed};
use boardlab_workload::data::Data;
use std::ops::RangeInclusive;

/// The smallest file, and the largest that is rewritten.
const FILE: RangeInclusive<Bytes> = Bytes::kib(1)..=Bytes::mib(1);
/// Seconds from one writing to the next.
const PERIOD: RangeInclusive<f64> = 1e-6..=366.0 * 86_400.0;
/// The most operations whose power cuts are tried.
const CUTS: u64 = 1_000_000;
/// How many are, unless the scenario says.
const CUT: u64 = 300;
/// The flash on which wear is observed: as large as the part, or so large.
const WORN: Bytes = Bytes::mib(16);
/// The fewest blocks of it.
const BLOCKS: u64 = 64;
/// A file of a tree that is larger than this share of the flash is written as several.
const LARGE: u64 = 64;
/// Sizes of a page.
const PAGES: RangeInclusive<Bytes> = Bytes::new(512)..=Bytes::kib(16);
/// What stands for the sizes of the files of a tree.
const TREE: &str = "tree";

section! {
    /// A scenario of an advice, checked.
    #[derive(Debug, Clone)]
    pub(crate) struct Scenario(section, types: &[FileSystemType]) {
        /// What it is about, in one line.
        pub title: String,
        /// The name of the experiment.
        pub experiment: String,
        /// The part, and the board.
        pub flash: ProductFlash = ProductFlash::read(&section),
        /// The kernel that driver and filesystems belong to.
        pub kernel: KernelSettings => section(KernelSettings::read),
        /// What the flash is for.
        pub product: Product,
        /// The filesystems, by the names of their columns.
        pub systems: Systems = systems(&section, types),
        /// The names of those that are compared.
        pub measured as "systems": Vec<&'static str> =
            named(&section, types, (|| types.iter().map(|one| one.name).collect(), "all without this key")),
    }
    check(flash, kernel, product, systems, measured) {
        fits_flash(&section, (flash, product), kernel.profile)?;
        takes(&section, flash.wired().kind(), (systems, measured))?;
        fits_kernel(&section, (systems, measured), *kernel)?;
        let kinds = chosen_compressions((systems, measured), kernel.profile);
        if kinds.is_empty() {
            let why = "here: none of these filesystems has another kind";
            section.idle("product.compressions", why, "compare `systems`")?;
        }
        for key in kinds.iter().filter(|_| product.compressions) {
            let why = "with product.compressions = true: each kind is a candidate";
            section.idle(key, why, "set product.compressions=false")?;
        }
        refuse_unused(&section, flash, (*kernel, systems, measured))?;
    }
}

/// Refuses a part that the kernel has no driver for, and sizes of the flash that it cannot have.
fn fits_flash(
    section: &Section<'_>,
    (flash, product): (&ProductFlash, &Product),
    kernel: Kernel,
) -> Read<()> {
    let block = flash.wired().block_size();
    fits_chips(section, ("product", product.chips()), block)?;
    match flash {
        ProductFlash::Nand(file, _) => has_driver(section, &file.part, kernel),
        ProductFlash::Nor(..)
            if product.chips().iter().all(|one| (*one / block).is_power_of_two()) =>
        {
            Ok(())
        }
        ProductFlash::Nor(..) => {
            let problem = "has a size in `chips` that no NOR has";
            let expected = "powers of two, in sectors of the part";
            Err(section.refuse("product", problem, expected, "compare the part"))
        }
    }
}

/// Refuses filesystems that are not for such a flash.
fn takes(
    section: &Section<'_>,
    kind: FlashKind,
    (systems, measured): (&Systems, &[&'static str]),
) -> Read<()> {
    let Some((name, _)) = chosen(systems, measured).find(|(_, system)| !system.takes(kind)) else {
        return Ok(());
    };
    let fitting = systems.iter().filter(|(_, system)| system.takes(kind));
    let fitting: Vec<_> = fitting.map(|(name, _)| *name).collect();
    let problem = format!("has {name}, which is for NAND");
    let expected = format!("some of {}", fitting.join(", "));
    let help = "boardlab advise nor-advise compares those that are for NOR";
    Err(section.refuse(
        if section.has("systems") { "systems" } else { "part" },
        &problem,
        &expected,
        help,
    ))
}

/// Refuses in `--set` what no run uses.
fn refuse_unused(
    section: &Section<'_>,
    flash: &ProductFlash,
    (kernel, systems, measured): (KernelSettings, &Systems, &[&'static str]),
) -> Read<()> {
    for (key, why) in flash.unused() {
        section.idle(key, why, "leave it out")?;
    }
    let used = (kernel.profile, systems, measured);
    match flash {
        ProductFlash::Nand(file, _) => unused::refuse(section, &file.part, used, &SOUND),
        ProductFlash::Nor(part, _) => {
            nor::unused::refuse(section, part)?;
            if kernel.profile == Kernel::Linux26 {
                let help = "set kernel.profile=linux-6.1";
                let why = "with this driver";
                section.idle("part.features.status_register", why, help)?;
            }
            unused::of_systems(section, used)
        }
    }
}

/// The keys that choose a compression, of filesystems that have more than one.
pub(super) fn chosen_compressions(
    (systems, measured): (&Systems, &[&str]),
    kernel: Kernel,
) -> Vec<String> {
    let named = chosen(systems, measured);
    let keys = named.filter_map(|(name, system)| {
        let (key, _) = system.compressions(kernel)?;
        Some(format!("{name}.{key}"))
    });
    keys.collect()
}

/// The size of each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileSize {
    /// The same for all.
    Each(Bytes),
    /// Those of the files that the data are a sample of.
    Tree,
}

impl Value for FileSize {
    const NUMBER: bool = true;

    fn description() -> Description {
        Description::new("a size, or tree with data = \"sample:PATH\"", "\"64 KiB\"").names([TREE])
    }

    fn read(node: &Node) -> Result<Self, PlacedMisfit> {
        match node.as_text() {
            Some(TREE) => Ok(Self::Tree),
            _ => Bytes::read(node).map(Self::Each),
        }
    }
}

section! {
    /// A product: what it stores and writes, and its limits. A limit that is left out is none.
    #[derive(Debug, Clone)]
    pub(crate) struct Product(section) {
        /// How full the flash is.
        pub level: Ratio,
        /// Size of each file.
        pub file: FileSize,
        /// Their data.
        pub data: Data = data::one(&section, "data"),
        /// What is written a day.
        pub writes: Rate,
        /// Bytes of one writing.
        pub write: Bytes => within(*FILE.start(), *FILE.end()),
        /// The longest that a mount may take.
        pub boot: Option<Duration>,
        /// The most RAM after the mount.
        pub ram: Option<Bytes>,
        /// How long the flash has to last.
        pub life: Option<Duration>,
        /// The least room for files.
        pub room: Option<Bytes>,
        /// The least rate at which a file is written.
        pub throughput: Option<Rate>,
        /// Whether the filesystem has to be in the kernel as it is released.
        pub mainline: bool,
        /// Whether a power cut may take nothing that was synced.
        pub power_cuts: bool,
        /// Operations of the flash whose power is cut, if it may not; [`CUT`] without it.
        pub cut_operations: Option<u64> => within(1, CUTS),
        /// Whether every kind of compression is a candidate, and not the one of the filesystem's section alone.
        pub compressions: bool,
        /// What may change the order: other fill levels,
        pub levels: Option<Vec<Ratio>>,
        /// other sizes of the flash,
        pub chips: Option<Vec<Bytes>>,
        /// other sizes of its pages,
        pub pages: Option<Vec<Bytes>>,
        /// and other data.
        pub kinds: Vec<Data> = match section.has("kinds") {
            true => data::several(&section, "kinds"),
            false => Ok(Vec::new()),
        },
    }
    check(level, file, data, writes, write, power_cuts, levels, chips, pages) {
        if *file == FileSize::Tree && data.sample().is_none() {
            let problem = format!("asks for the files of a tree, and the data are `{data}`");
            let help = "name a folder: --set product.data=sample:PATH, or a size";
            return Err(section.refuse("file", &problem, "a size, or data = \"sample:PATH\"", help));
        }
        if let FileSize::Each(size) = file
            && !FILE.contains(size)
        {
            let expected = format!("{} to {}, or tree", FILE.start(), FILE.end());
            return Err(section.refuse("file", "is too small or too large", &expected, "compare `file`"));
        }
        // As a number: of the slowest rates a time would not fit.
        if !PERIOD.contains(&(real(*write) / writes.bytes_per_second())) {
            let problem = format!("writes {write} more than a million times a second, or not once a year");
            return Err(section.refuse("writes", &problem, "a rate like \"200 MB/day\"", "compare `write`"));
        }
        once(&section, "chips", chips.as_deref().unwrap_or_default())?;
        fits_level(&section, "level", &[*level])?;
        let levels = levels.as_deref().unwrap_or_default();
        fits_level(&section, "levels", levels)?;
        once(&section, "levels", levels)?;
        fits_pages(&section, pages.as_deref().unwrap_or_default())?;
        if !*power_cuts {
            section.idle("cut_operations", "with power_cuts = false", "set product.power_cuts=true")?;
        }
    }
}

/// Refuses sizes of a page that no NAND has.
fn fits_pages(section: &Section<'_>, pages: &[Bytes]) -> Read<()> {
    once(section, "pages", pages)?;
    if pages.iter().all(|page| page.get().is_power_of_two() && PAGES.contains(page)) {
        return Ok(());
    }
    let expected = format!("powers of two from {} to {}", PAGES.start(), PAGES.end());
    Err(section.refuse("pages", "has a size that no NAND has", &expected, "compare the part"))
}

impl Product {
    /// The levels at which mounts are measured, that of the product among them.
    pub(super) fn all_levels(&self) -> Vec<Ratio> {
        let mut all = self.levels.clone().unwrap_or_default();
        all.push(self.level);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Operations of the flash whose power is cut, if it may lose nothing.
    pub(super) fn cut(&self) -> Option<u64> {
        self.power_cuts.then(|| self.cut_operations.unwrap_or(CUT))
    }

    /// The sizes of the flash.
    pub(super) fn chips(&self) -> &[Bytes] {
        self.chips.as_deref().unwrap_or_default()
    }

    /// The files on a flash of so many bytes, with these data.
    pub(super) fn files(&self, flash: Bytes, data: &Data, seed: Seed) -> Files {
        let size = match (self.file, self.data.sample()) {
            (FileSize::Each(size), _) => Sizes::Each(size),
            (FileSize::Tree, Some(sample)) => {
                let most = Bytes::new(flash.get() / LARGE).max(*FILE.start());
                Sizes::of_tree(&sample.files, most, seed)
            }
            (FileSize::Tree, None) => unreachable!("the check refuses it"),
        };
        Files { size, data: data.clone() }
    }

    /// What is written, on a flash that is large enough to observe its wear.
    pub(super) fn load(&self, wired: Wired<'_>, kind: &Files) -> Load {
        let block = wired.block_size();
        let blocks = (WORN / block).max(BLOCKS).min(u64::from(wired.blocks()));
        let rest = kind.size.mean().max(*FILE.start());
        let (file, data) = (self.write, kind.data.clone());
        Load { chip: block * blocks, rest, file, data, period: self.writes.time_for(self.write) }
    }
}
