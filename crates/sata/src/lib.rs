//! SATA: byte formats, the two ends of a link, a host, and an SSD over a translation layer.
//!
//! Layer: rank 4. In reading order:
//!
//! - [`wire`]: [`Speed`], [`Tick`] (the time of a dword), primitives, CRC, scrambler, FISes, IDENTIFY data.
//!   [`Error`] says which input or parameter is invalid.
//! - [`agent`]: [`Agent`], the protocol above a link end: a host's sequencer or a device's command layer.
//!   Both engines below run the same agents.
//! - [`link`]: the dword engine: link and transport of both ends, dword by dword, with faults.
//! - [`fast`]: the FIS engine, which computes the same times in one step per FIS.
//! - [`arithmetic`]: link rates in closed form. [`shares`]: [`Shares`], the division of a link's time.
//! - [`device`]: the SSD: commands, buffer, translation layer. [`host`]: the builds of a host.
//! - [`disk`]: the same drive on its link as a block device.
//!
//! ```
//! use boardlab_ftl::{CellTimes, Geometry, PageMapped, Policies, Stripe, TimedMedium, Timing};
//! use boardlab_sata::device::{Drive, Ssd, Storage, WriteCache};
//! use boardlab_sata::host::{Build, Direction, Host, Job, Settings, Transfer};
//! use boardlab_sata::link::{End, Wiring};
//! use boardlab_sata::wire::identify::Identify;
//! use boardlab_sata::{Speed, Tick, fast};
//! use boardlab_sim::{Bytes, Duration, Rate, Seed};
//!
//! let micros = Duration::from_micros;
//! let rate = |bytes| Rate::new(Bytes::new(bytes), micros(1)).expect("neither is zero");
//! // Flash: eight dies on four channels of 200 MB/s, a buffer of 64 groups, 100,000 pages of 4 KiB.
//! let stripe = Stripe { channels: 4, dies: 2, planes: 2, units: 1 };
//! let geometry = Geometry::new(128, 1_024, Bytes::kib(4), 100_000)?.striped(stripe)?;
//! let cells = CellTimes::uniform(micros(25), micros(200), micros(1_500));
//! let timing = Timing {
//!     native: cells.clone(),
//!     slc: cells,
//!     channel: rate(200),
//!     link: rate(1 << 40),
//!     command: Duration::ZERO,
//!     slots: 64,
//!     cache_program: false,
//! };
//! let medium = TimedMedium::new(&geometry, &timing)?;
//! let layer = PageMapped::new(geometry, Policies::default(), medium, Seed::new(1))?;
//! // The drive, with that flash behind it.
//! let drive = Drive {
//!     sectors: 800_000,
//!     lba48: true,
//!     queue: Some(32),
//!     trims: true,
//!     command: micros(5),
//!     stripe,
//!     read_buffer: Bytes::kib(256),
//!     look_ahead: true,
//!     write_cache: WriteCache::Through,
//!     idle_after: Duration::from_millis(100),
//!     activates_early: true,
//!     frame: 2_048,
//!     identify_frame: 128,
//! };
//! let ssd = Ssd::new(
//!     Speed::Gen2,
//!     Storage::new(drive, layer, true)?,
//!     Identify::new("EXAMPLE SSD", drive.sectors, Speed::Gen2),
//! )?;
//! let end =
//!     End { latency: 12, holda_after: 10, fifo: 128, hold_from: 64, hold_to: 32, cont: true };
//! let wiring = Wiring { speed: Speed::Gen2, host: end, device: end };
//! let host = Host::new(Speed::Gen2, Settings::without_costs(Build::Sequencer));
//! let mut engine = fast::Engine::new(wiring, host, ssd);
//! // Four commands of 32 MiB in each direction, with a pattern that the host verifies.
//! for direction in [Direction::Write, Direction::Read] {
//!     engine.host_mut().push(Job::Transfer(Transfer::looped(direction, 0, 65_536, 4)));
//! }
//! engine.run(Tick::NEVER);
//! for report in engine.host().reports() {
//!     assert_eq!(report.outcome, Ok(()));
//!     let rate = report.bytes().get() / report.time(Speed::Gen2).as_micros();
//!     assert!((200..297).contains(&rate), "{rate} MB/s");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The key decision: an end of the link is an [`Agent`] that says when it can proceed, and does not know which
//! engine drives it. So behaviour verified dword by dword for a thousand frames is computed frame by frame for
//! millions.

pub mod agent;
pub mod arithmetic;
pub mod device;
pub mod disk;
pub mod fast;
pub mod host;
pub mod link;
pub mod shares;
pub mod wire;

pub use agent::{Agent, Gate, Outcome, Outgoing, Reception};
pub use link::Stop;
pub use shares::Shares;
pub use wire::error::Error;
pub use wire::fis::Fis;
pub use wire::{Counting, Speed, Tick};

use boardlab_sim::Bytes;

/// The size of a sector: the unit of addresses and counts of commands.
pub const SECTOR: Bytes = Bytes::new(512);
/// The dwords of a sector.
pub const SECTOR_DWORDS: u32 = 128;
/// The maximum payload of a Data FIS in dwords: 8 KiB.
pub const LARGEST_DATA: u32 = 2_048;
