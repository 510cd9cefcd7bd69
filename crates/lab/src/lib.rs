//! Scenarios, parts and boards: the only place that composes a system.
//!
//! Layer: rank 8, on top of all models. In reading order:
//!
//! - [`source`]: [`source::Source`], a text with its name, and [`source::Place`], a stretch of it.
//! - [`error`] and [`misfit`]: what can be wrong with a file, drawn with line and caret;
//!   [`nearest`]: the name that was probably meant.
//! - [`quantity`]: `256 us`, `128 KiB`, `4 MiB / 11 ms`, exactly.
//! - [`document`]: TOML as a tree with places, `--set` overrides, and [`document::Section`]: typed
//!   access that reports every unknown key and every number without unit or source.
//! - [`distribution`]: `triangular(170 us, 203 us, 224 us)` as a quantile table.
//! - [`catalog`]: the built-in files, and how a name or a path becomes a document.
//! - [`figure`] and [`mod@reference`]: published tables as printed; [`verdict`]: ours beside them.
//! - [`managed`]: managed flash from part files: the flash and the translation layer over it.
//! - [`card`]: SD cards and eMMC devices from part files.
//! - [`drive`]: SATA drives from part files, and the hosts of boards for them.
//! - [`nor`]: the NOR experiment; [`nandfs`]: the NAND experiment; [`sdwear`]: the SD experiment; [`sata`]: the SATA experiment; [`fcse`]: the context-switch experiment; [`fio`]: fio jobs on a card; [`life`]: how long a card lives; [`registry`]: every experiment, and what the command line calls.
//! - [`mod@sweep`]: any of them at every point of a grid.
//! - [`lock`]: who may write a file, and who does.
//!
//! A scenario is read like this; every error names file, line, column, what is due and what was
//! probably meant:
//!
//! ```
//! use boardlab_lab::document::{Document, Override, Read, Section, Sourced};
//! use boardlab_lab::source::{Kind, Source};
//! use boardlab_sim::Duration;
//!
//! struct Wait {
//!     fixed: Sourced<Duration>,
//! }
//!
//! fn read(top: Section<'_>) -> Read<Wait> {
//!     let wait = top.section("wait", |section| {
//!         let fixed = section.key("fixed").positive().sourced();
//!         section.finish()?;
//!         Ok(Wait { fixed: fixed? })
//!     });
//!     top.finish()?;
//!     wait
//! }
//!
//! let source = Source::new(Kind::Scenario, "wait.toml", "[wait]\nfixed = \"256 us\"\n");
//! let mut document = Document::parse(&source)?;
//! document.set(&[Override::parse("wait.fixed=170us")?])?;
//! let wait = document.read(read)?;
//! assert_eq!(wait.value.fixed.value, Duration::from_micros(170));
//! assert_eq!(wait.parameters[0].source, "--set");
//! assert!(document.is_overridden());
//!
//! let bare = Source::new(Kind::Scenario, "wait.toml", "[wait]\nfixed = 256\n");
//! let error = Document::parse(&bare)?.read(read).err().expect("a number without unit");
//! assert!(error.to_string().contains("--> wait.toml:2:9"));
//! assert!(error.to_string().contains("`wait.fixed`: `256` has no unit"));
//! # Ok::<(), boardlab_lab::error::Error>(())
//! ```
//!
//! Nothing here prints.

pub mod source;

pub mod error;
pub mod misfit;
pub mod nearest;

pub mod quantity;

pub mod document;

pub mod distribution;

pub mod catalog;

pub mod figure;
pub mod reference;
pub mod verdict;

pub mod managed;

pub mod card;
mod data_file;
pub mod drive;
mod in_order;
mod limits;

pub mod lock;

pub mod fcse;
pub mod fio;
pub mod life;
pub mod nandfs;
pub mod nor;
pub mod os;
pub mod registry;
pub mod sata;
pub mod sdwear;

#[cfg(test)]
mod sentences;
pub mod sweep;
mod told;
