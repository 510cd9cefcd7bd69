//! A filesystem with its settings, and what it does with the product.
//!
//! Layer: rank 10. Main types: [`Candidate`]; [`Case`], the product or the product with one thing changed; [`Figures`] of
//! a candidate in a case.

use super::scenario::{Product, Scenario};
use crate::nandfs::fs::{Commands, FileSystemType, System};
use crate::nandfs::run::measure::{Chip, Mounting, memory};
use crate::nandfs::run::powercut::Survived;
use crate::nandfs::run::wear::Course;
use crate::nandfs::scenario::chosen;
use boardlab_document::quantity::Ratio;
use boardlab_media::NandGeometry;
use boardlab_nand::Part;
use boardlab_result::prose::{YEAR, float, real};
use boardlab_sim::{Bytes, Duration};
use boardlab_workload::data::Data;
use std::fmt;
use std::sync::Arc;

/// A filesystem with one kind of compression.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    /// The filesystem and its compression: `ubifs/LZO`.
    pub(super) name: String,
    /// The filesystem alone.
    pub(super) filesystem: &'static str,
    pub(super) system: Arc<dyn System>,
    pub(super) commands: Commands,
    pub(super) release: Release,
}

/// The kernels that a filesystem is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Release {
    merged: Option<[u8; 3]>,
    removed: Option<[u8; 3]>,
    /// Whether that of the scenario is one.
    pub(super) is_in_kernel: bool,
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |[a, b, c]: [u8; 3]| match c {
            0 => format!("{a}.{b}"),
            _ => format!("{a}.{b}.{c}"),
        };
        match (self.merged, self.removed) {
            (None, _) => f.pad("never in Linux"),
            (Some(since), None) => f.pad(&format!("in Linux since {}", told(since))),
            (Some(since), Some(until)) => {
                f.pad(&format!("in Linux from {} until before {}", told(since), told(until)))
            }
        }
    }
}

/// All that are compared.
pub(super) fn choices(scenario: &Scenario, types: &[FileSystemType]) -> Vec<Choice> {
    let Scenario { flash, kernel, product, systems, measured, .. } = scenario;
    let each = chosen(systems, measured).flat_map(|(filesystem, system)| {
        let all = system.compressions(kernel.profile).filter(|_| product.compressions);
        let all = all.map_or_else(|| vec![Arc::clone(system)], |(_, all)| all);
        all.into_iter().map(move |system| (filesystem, system))
    });
    let each = each.map(|(filesystem, system)| {
        let found = types.iter().find(|one| one.name == filesystem).expect("one of them");
        Choice {
            name: format!("{filesystem}/{}", system.compression()),
            filesystem,
            commands: system.commands(kernel.profile, flash.wired()),
            release: Release {
                merged: found.merged,
                removed: found.removed,
                is_in_kernel: found.is_in(kernel.profile.version()),
            },
            system,
        }
    });
    each.collect()
}

/// The product, or the product with one thing changed.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// What is changed; empty for the product itself.
    pub(super) name: String,
    /// The NAND with other pages, if that is the change.
    pub(super) part: Option<Part>,
    pub(super) data: Data,
    /// How full the flash is, the lowest first.
    pub(super) levels: Vec<Ratio>,
}

impl Case {
    /// Whether nothing is changed.
    pub(super) fn is_product(&self) -> bool {
        self.name.is_empty()
    }

    /// The product at all fill levels, and the cases that need runs of their own.
    pub(super) fn all(scenario: &Scenario) -> Vec<Self> {
        let Scenario { flash, product, .. } = scenario;
        let data = &product.data;
        let levels = product.all_levels();
        let mut all = vec![Self { name: String::new(), part: None, data: data.clone(), levels }];
        let one = vec![product.level];
        for kind in product.kinds.iter().filter(|kind| *kind != data) {
            let name = format!("data {kind}");
            all.push(Self { name, part: None, data: kind.clone(), levels: one.clone() });
        }
        let Some(part) = flash.wired().nand() else { return all };
        let pages = product.pages.iter().flatten().filter(|&&page| page != part.geometry.page);
        for &page in pages {
            let (name, part) = (format!("pages of {page}"), Some(with_pages(part, page)));
            all.push(Self { name, part, data: data.clone(), levels: one.clone() });
        }
        all
    }
}

/// A part as large, whose blocks have as many pages of another size, with as many spare bytes for each main byte.
fn with_pages(part: &Part, page: Bytes) -> Part {
    let NandGeometry { page: before, oob, blocks, pages_per_block } = part.geometry;
    let scaled = |count: u64| count * before.get() / page.get();
    let blocks = u32::try_from(scaled(blocks.into()).max(1)).unwrap_or(u32::MAX);
    let oob = Bytes::new(oob.get() * page.get() / before.get());
    let geometry = NandGeometry { page, oob, blocks, pages_per_block };
    Part { geometry, ..part.clone() }
}

/// What a candidate does in a case, at a fill level.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figures {
    pub(super) mount: Duration,
    pub(super) ls: Duration,
    /// RAM after the mount.
    pub(super) memory: Bytes,
    /// Years until the first write that fails.
    pub(super) years: f64,
    /// Bytes of files that the flash holds.
    pub(super) room: Bytes,
    /// Bytes a second of a file that is written in the product's pieces.
    pub(super) rate: f64,
    /// Power cuts after which something was lost, where they were tried.
    pub(super) lost: Option<u64>,
    pub(super) in_kernel: bool,
}

/// What the runs of a case gave.
#[derive(Debug)]
pub(super) struct Measured {
    /// By fill level.
    pub(super) mountings: Vec<Mounting>,
    /// By fill level; of the product's level at least, or of none where no limit needs it.
    pub(super) courses: Vec<Course>,
    /// Blocks of the part for each of the flash on which wear was observed.
    pub(super) blocks_of_part: f64,
    /// What the flash holds, and how fast a long file is written, unless no limit needs it.
    pub(super) room: Option<Bytes>,
    pub(super) rate: Option<f64>,
    pub(super) spent: Duration,
}

impl Measured {
    fn mounting(&self, level: Ratio) -> &Mounting {
        let found = self.mountings.iter().find(|one| one.level == level);
        found.expect("every level of a case is measured")
    }

    fn course(&self, level: Ratio) -> Option<&Course> {
        self.courses.iter().find(|one| one.level == level)
    }

    fn years(&self, level: Ratio, product: &Product) -> Option<f64> {
        let (_, life) = self.course(level)?.lives.first().expect("one rating");
        let period = product.writes.time_for(product.write).as_secs_f64();
        Some(life.end * self.blocks_of_part * period / YEAR)
    }
}

/// A candidate, and what it does in every case.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) choice: Choice,
    /// The product itself.
    pub(super) measured: Measured,
    /// The cases with runs of their own; with the reason where it cannot be run.
    pub(super) cases: Vec<(String, Result<Measured, String>)>,
    /// Empty, by size of the flash; that of the product among them.
    pub(super) chips: Vec<Chip>,
    pub(super) survived: Option<Survived>,
    pub(super) chips_spent: Duration,
}

impl Candidate {
    /// All virtual time.
    pub(super) fn spent(&self) -> Duration {
        let cases = self.cases.iter().filter_map(|(_, measured)| measured.as_ref().ok());
        let cases = cases.fold(Duration::ZERO, |sum, one| sum + one.spent);
        self.measured.spent + self.chips_spent + cases
    }

    pub(super) fn mountings(&self) -> &[Mounting] {
        &self.measured.mountings
    }

    /// From the begin of a writing until it is durable.
    pub(super) fn durable(&self, product: &Product) -> Duration {
        self.measured.course(product.level).expect("the product's level").seen.durable
    }

    /// Those of a case; where no limit needs a figure, it is that of the product.
    fn figures_of(&self, measured: &Measured, level: Ratio, product: &Product) -> Figures {
        let mounting = measured.mounting(level);
        Figures {
            mount: mounting.mount.time,
            ls: mounting.ls.time,
            memory: memory(&mounting.mounted),
            years: known(
                measured.years(level, product),
                self.measured.years(product.level, product),
            ),
            room: known(measured.room, self.measured.room),
            rate: known(measured.rate, self.measured.rate),
            lost: self.survived.as_ref().map(|one| one.lost),
            in_kernel: self.choice.release.is_in_kernel,
        }
    }

    /// Those of the product at a fill level.
    pub(super) fn figures(&self, level: Ratio, product: &Product) -> Figures {
        self.figures_of(&self.measured, level, product)
    }

    /// Those of a case with runs of its own, or why there are none.
    pub(super) fn figures_in(&self, case: &str, product: &Product) -> Result<Figures, &str> {
        let found = self.cases.iter().find(|(name, _)| name == case).expect("every case is run");
        let measured = found.1.as_ref().map_err(String::as_str)?;
        Ok(self.figures_of(measured, product.level, product))
    }

    /// Those of a flash of another size, estimated: an empty filesystem there, and what the files of the product add in
    /// proportion.
    pub(super) fn figures_of_chip(&self, size: Bytes, own: Bytes, product: &Product) -> Figures {
        let here = self.figures(product.level, product);
        let chip = |size| self.chips.iter().find(|one| one.size == size).expect("measured");
        let (other, empty) = (chip(size), chip(own));
        let times = real(size) / real(own);
        let grown = |there: f64, filled: f64, empty: f64| there + (filled - empty).max(0.0) * times;
        let time = |one: Duration| float(one.as_nanos());
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
        let whole = |value: f64| value.round() as u64;
        let mount = grown(time(other.mount.time), time(here.mount), time(empty.mount.time));
        let ram = grown(real(other.memory), real(here.memory), real(empty.memory));
        Figures {
            mount: Duration::from_nanos(whole(mount)),
            memory: Bytes::new(whole(ram)),
            years: here.years * times,
            room: Bytes::new(whole(real(here.room) * times)),
            ..here
        }
    }
}

/// A figure of a case, or that of the product, which has all.
fn known<T>(case: Option<T>, product: Option<T>) -> T {
    case.or(product).expect("everything is measured of the product")
}

/// The sizes of the flash that are mounted empty: those of the scenario, and the part's own.
pub(super) fn sizes(scenario: &Scenario) -> Vec<Bytes> {
    let mut all = scenario.product.chips().to_vec();
    all.push(scenario.flash.wired().size());
    all.sort_unstable();
    all.dedup();
    all
}
