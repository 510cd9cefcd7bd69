//! Jobs of fio, the flexible I/O tester, in virtual time.
//!
//! Layer: rank 6. In reading order:
//!
//! - [`problem`]: [`Diagnostic`], a problem and its place; [`Note`], a hint.
//! - [`grammar`]: sections, comments, includes, variables.
//! - [`reading`]: numbers with suffixes, times, triples, ranges.
//! - [`settings`]: [`Settings`], the typed settings of a job. [`options`]: every option of fio,
//!   once.
//! - [`job`]: [`parse`] a job file, [`parse_arguments`] a command line.
//! - [`on_device()`]: the jobs for fio itself, on a device.
//! - [`places`]: the sequence of blocks. [`data`]: the data of writes.
//! - [`engine`]: [`run`], which runs jobs on a block device. [`account`]: their statistics.
//! - [`output`]: terse, JSON and human text as fio's, and tables of our own.
//!
//! Source: `fio --cmdhelp`, `--showcmd` and runs of fio 3.33, and its HOWTO.
//! docs/formats/fio-jobs.md lists the differences from fio.
//!
//! ```
//! use boardlab_block::{Costs, Geometry, RamBlock};
//! use boardlab_sim::{Bytes, Clock, Duration};
//! use boardlab_workload::fio::{Direction, Host, EmptyEnvironment, parse, run};
//!
//! let text = b"[fill]\nfilename=/dev/x\ndirect=1\nrw=write\nbs=1m\nioengine=libaio\niodepth=4\n";
//! let jobs = parse("fill.fio", text, &EmptyEnvironment).unwrap();
//! let costs = Costs { write: Duration::from_millis(50), ..Costs::default() };
//! let mut card = RamBlock::new(Geometry::of_size(Bytes::mib(64))).with_costs(costs);
//! let run = run(&mut card, &mut Clock::new(), &jobs, &Host::default()).unwrap();
//! assert_eq!(run.reports[0].bandwidth(Direction::Write), 20 << 20);
//! ```

pub mod account;
pub mod data;
pub mod engine;
pub mod grammar;
pub mod job;
mod on_device;
pub mod options;
pub mod output;
pub mod places;
pub mod problem;
pub mod reading;
mod setters;
pub mod settings;
mod worker;

pub use engine::{Failure, Host, Misfit, Report, Run, check, run};
pub use grammar::{EmptyEnvironment, Environment};
pub use job::{Job, JobFile, parse, parse_arguments};
pub use on_device::on_device;
pub use problem::{Diagnostic, Diagnostics, Note, Place, Problem};
pub use settings::{Direction, Settings};
