//! Jobs of fio, the flexible I/O tester, in virtual time.
//!
//! Layer: rank 6. In reading order:
//!
//! - [`problem`]: [`Diagnostic`], what is wrong and where; [`Note`], what to know.
//! - [`grammar`]: sections, comments, includes, variables.
//! - [`reading`]: numbers with suffixes, times, triples, ranges.
//! - [`settings`]: [`Settings`], what a job asks for. [`options`]: every option of fio, once.
//! - [`job`]: [`parse`] a job file, [`parse_arguments`] a command line.
//! - [`places`]: which block comes next. [`data`]: what writes carry.
//! - [`engine`]: [`run`] jobs on a block device. [`account`]: what they did.
//! - [`output`]: terse, JSON and human text as fio's, and tables of our own.
//!
//! Source: `fio --cmdhelp`, `--showcmd` and runs of fio 3.33, and its HOWTO. What differs from fio is in
//! docs/formats/fio-jobs.md.

pub mod account;
pub mod data;
pub mod engine;
pub mod grammar;
pub mod job;
pub mod options;
pub mod output;
pub mod places;
pub mod problem;
pub mod reading;
mod setters;
pub mod settings;
mod worker;

pub use engine::{Failure, Host, Report, Run, run};
pub use grammar::{Nothing, Surroundings};
pub use job::{Job, JobFile, parse, parse_arguments};
pub use problem::{Diagnostic, Diagnostics, Note, Place, Problem};
pub use settings::Settings;
