//! The memory technology device (MTD): the interface of every raw flash.
//!
//! Layer: rank 2; uses `sim` only. In reading order:
//!
//! - [`geometry`]: [`Geometry`], [`BlockIndex`], [`PageIndex`]: sizes, erase blocks, bounds checks.
//! - [`error`]: [`Error`], the errors of a device, and [`TearOutcome`], the results of power cuts.
//! - [`device`]: the trait [`Mtd`], which filesystems and workloads use; [`RawPages`] is for tools
//!   that copy NAND pages with all their OOB bytes.
//! - [`erased`]: [`is_erased`], for all that look for unused flash.
//! - [`ram`]: [`RamMtd`], a flash without physics; a clone of it is cheap.
//! - [`operation`]: [`Operation`] and its [`Kind`], the operations as middleware sees them.
//! - [`tear`]: [`Change`] and [`Tear`], interrupted operations.
//! - [`tracer`], [`stats`], [`power_cut`], [`fault`]: middleware. Each is itself an [`Mtd`] around
//!   an [`Mtd`], so they stack in any order around any device.
//!
//! ```
//! use boardlab_mtd::{Error, Kind, Mtd, PowerCut, RamMtd, Stats, TearOutcome};
//! use boardlab_sim::{Bytes, Clock, Seed};
//!
//! let mut clock = Clock::new();
//! let flash = RamMtd::nor(4, Bytes::kib(64));
//! let mut device = PowerCut::new(Stats::new(flash), Seed::new(1));
//! device.cut_at_operation(1, TearOutcome::NotBegun);
//!
//! device.program(&mut clock, Bytes::ZERO, b"first").unwrap();
//! let second = device.program(&mut clock, Bytes::new(8), b"second");
//! assert!(matches!(second, Err(Error::PowerCut { .. })));
//!
//! let mut after = device.into_inner(); // the power is back
//! let mut found = [0; 14];
//! after.read(&mut clock, Bytes::ZERO, &mut found).unwrap();
//! assert_eq!(&found, b"first\xff\xff\xff\xff\xff\xff\xff\xff\xff");
//! assert_eq!(after.of(Kind::Program).count(), 1);
//! ```

pub mod device;
pub mod erased;
pub mod error;
pub mod fault;
pub mod geometry;
pub mod index;
pub mod operation;
pub mod power_cut;
pub mod ram;
pub mod stats;
pub mod tear;
pub mod tracer;

pub use boardlab_sim::Trigger;
pub use device::{Mtd, RawPages, ReadHealth, ReadResult};
pub use erased::{is_erased, zero_bits};
pub use error::{Error, TearOutcome};
pub use fault::{Fault, FaultInjector, Rule};
pub use geometry::{EraseRegion, FlashKind, Geometry, Oob};
pub use index::{BlockIndex, PageIndex};
pub use operation::{Kind, Operation, Place};
pub use power_cut::PowerCut;
pub use ram::{Costs, RamMtd};
pub use stats::{Stats, Totals, Wear};
pub use tear::{Change, Tear};
pub use tracer::{Event, Outcome, Tracer};
