//! Block traces: reading, adapting, replaying.
//!
//! Layer: rank 6. In reading order:
//!
//! - [`problem`]: [`Error`], what is wrong with a trace and where.
//! - `line`: lines and a cursor within one. `blkparse`, `msr`: the two formats.
//! - [`record`]: [`Record`], one request.
//! - [`reader`]: [`Reader`], requests one after the other.
//! - [`events`]: [`Events`], what became of requests.
//! - [`fit`]: [`Fit`], how requests that do not fit the device are handled.
//! - [`mod@replay`]: [`replay()`] on any block device.
//!
//! The formats are described in docs/formats/block-traces.md.
//!
//! ```
//! use boardlab_block::{Geometry, RamBlock};
//! use boardlab_sim::{Bytes, Clock};
//! use boardlab_workload::trace::{BeyondEnd, Format, Options, Pace, UnalignedPolicy, Reader, Reading, replay};
//!
//! let text = b"  8,0    3       11     0.009507758   697  D   W 2048 + 8 [fio]\n";
//! let reader = Reader::new(&text[..], "t.txt", Reading::of(Format::detect(text)));
//! let mut card = RamBlock::new(Geometry::of_size(Bytes::mib(64)));
//! let options = Options {
//!     pace: Pace::Recorded,
//!     beyond: BeyondEnd::Refuse,
//!     ragged: UnalignedPolicy::Refuse,
//!     data: 1,
//!     file: "t.txt".into(),
//! };
//! let done = replay(&mut card, &mut Clock::new(), reader, &options).unwrap();
//! assert_eq!(done.account.totals[1].bytes, 4_096);
//! ```

mod blkparse;
pub mod events;
pub mod fit;
mod line;
mod msr;
pub mod problem;
pub mod reader;
pub mod record;
pub mod replay;

pub use events::{Event, Events};
pub use fit::{BeyondEnd, Fit, FitCounts, UnalignedPolicy};
pub use line::LONGEST;
pub use problem::{Error, Problem};
pub use reader::{Action, Format, Order, Reader, Reading};
pub use record::{Disk, Kind, Record};
pub use replay::{Failure, Options, Pace, Replay, replay};
