//! The block device: the interface of cards and drives.
//!
//! Layer: rank 2; uses `sim` only. In reading order:
//!
//! - [`geometry`]: [`Geometry`], [`Lba`], [`Extent`], [`Discard`], [`Cache`]: sizes, guarantees,
//!   bounds.
//! - [`request`]: [`Request`] with [`Payload`] and [`Target`], [`Completion`] with [`Cause`].
//! - [`error`]: [`Error`], the errors of a device.
//! - [`device`]: the trait [`BlockDevice`], which filesystems and workloads use.
//! - [`queue`]: [`Queue`], a queue of bounded depth without an event list.
//! - [`contents`]: [`Contents`], the contents of blocks in compact form.
//! - [`ram`]: [`RamBlock`], a device without physics; a clone of it is cheap.
//! - [`layered`]: [`Layered`] and [`Layer`], the composition of middleware and device.
//! - [`stats`], [`tracer`], [`power_cut`], [`fault`]: middleware. They stack in any order.
//!
//! A request is submitted at an instant of virtual time and returns immediately with the instants
//! at which it was accepted, started and ended; several can be in flight.
//!
//! ```
//! use boardlab_block::{BlockDevice, Extent, Geometry, Kind, Payload, RamBlock, Request, Stats};
//! use boardlab_block::{Costs, Target};
//! use boardlab_sim::{Bytes, Clock, Duration, Instant};
//!
//! // Two lanes and a queue of four: the third request waits for the first.
//! let geometry = Geometry { depth: 4, ..Geometry::of_size(Bytes::mib(64)) };
//! let write = Duration::from_micros(100);
//! let costs = Costs { write, lanes: 2, ..Costs::default() };
//! let mut device = Stats::over(RamBlock::new(geometry).with_costs(costs));
//! let extent = Extent::new(0, 2_048);
//! let mut last = Instant::ZERO;
//! for _ in 0..3 {
//!     let data = Payload::Repeated(0xFF); // a mebibyte that is described, not stored
//!     let request = Request::Write { extent, data, durable: false };
//!     last = device.submit(Instant::ZERO, request).unwrap().ended;
//! }
//! assert_eq!(last, Instant::from_nanos(200_000));
//! assert_eq!(device.layer().of(Kind::Write).bytes(), Bytes::mib(3));
//!
//! // Or one after the other, with real bytes and the clock of the run.
//! let mut clock = Clock::new();
//! clock.advance_to(last);
//! let mut found = [0; 512];
//! device.read(&mut clock, Extent::new(7, 1), &mut found).unwrap();
//! assert_eq!(found, [0xFF; 512]);
//! ```

pub mod contents;
pub mod device;
pub mod error;
pub mod extent;
pub mod fault;
pub mod geometry;
pub mod layered;
pub mod power_cut;
pub mod queue;
pub mod ram;
pub mod request;
pub mod stats;
pub mod tracer;

pub use boardlab_sim::Trigger;
pub use contents::Contents;
pub use device::BlockDevice;
pub use error::Error;
pub use extent::{Extent, Lba};
pub use fault::{Fault, FaultInjector, Rule};
pub use geometry::{Cache, Discard, DiscardedContent, Geometry};
pub use layered::{Layer, Layered};
pub use power_cut::{PowerCut, TearOutcome};
pub use queue::Queue;
pub use ram::{Costs, RamBlock};
pub use request::{Cause, Completion, Kind, Noise, Payload, Request, Target};
pub use stats::{CauseTotals, Stats, Totals};
pub use tracer::{Event, Tracer};
