//! Workloads that measure the speed of a storage device.
//!
//! Layer: rank 6; uses only the device traits, so a workload runs the same on a model, on memory
//! and on real flash. In reading order:
//!
//! - [`source`]: [`Source`] and [`Pattern`], where the bytes to write come from.
//! - [`data`]: [`Data`], the content of files by kind: zeros, text, half compressible...
//! - [`mtd_debug`]: erase, write, read, verify and info of a raw flash, as mtd-utils does them.
//! - [`mtd_info`]: [`Info`], the output of `mtd_debug info`.
//! - [`tiobench`]: sequential and random writes and reads, as tiobench does them.
//! - [`tree`]: file trees from lists of operations, their manifests, their scan.
//! - [`fill`](mod@fill): filling a filesystem to a level, and churning.
//! - [`fio`]: job files of fio, on block devices.
//! - [`trace`]: block traces of `blkparse` and of MSR Cambridge, on block devices.
//! - [`powercut`]: power cuts at every operation, and what survives them.
//! - [`error`]: [`Error`], why a workload failed.
//!
//! ```
//! use boardlab_mtd::RamMtd;
//! use boardlab_sim::{Bytes, Clock};
//! use boardlab_workload::{Job, Pattern, mtd_debug};
//!
//! let (mut flash, mut clock) = (RamMtd::nor(16, Bytes::kib(64)), Clock::new());
//! let job = Job::new(Bytes::ZERO, Bytes::new(100_000)).chunk(Bytes::kib(4));
//! let written = mtd_debug::write(&mut flash, &mut clock, &job, &mut Pattern::Zeros.source())?;
//! assert_eq!(written.write.operations, 25);
//! mtd_debug::verify(&mut flash, &mut clock, &job, &mut Pattern::Zeros.source())?;
//! # Ok::<(), boardlab_workload::Error>(())
//! ```

pub mod data;
pub mod error;
pub mod fill;
pub mod fio;
pub mod mtd_debug;
pub mod mtd_info;
pub mod powercut;
pub mod source;
pub mod tiobench;
pub mod trace;
pub mod tree;

pub use data::{Data, DataSource};
pub use error::{Error, Step};
pub use mtd_debug::{Job, Report, WriteReport};
pub use mtd_info::Info;
pub use source::{Pattern, PatternSource, Source};
