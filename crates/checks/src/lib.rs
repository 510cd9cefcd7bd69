//! Tests about the code and the repository: what a reviewer would otherwise have to remember.
//!
//! Layer: beside all others; nothing depends on it. Each module holds one kind of rule as a function
//! from text to a list of [`Violation`]s, with its own good and bad samples; the files in `tests/`
//! apply the rules to this repository and print every violation with its file and line.
//!
//! - [`violation`], [`repository`], [`source`], [`markdown`]: what the rules stand on.
//! - [`ranks`]: which crate may use which. [`limits`]: sizes, nesting, headers, names.
//!   [`compiled`]: no test is left out. [`rules`]: what source may not do. [`figures`]: no published figure in code.
//! - [`sourced`]: every number of a part says where it comes from.
//! - [`links`], [`readme`], [`translations`], [`words`]: documentation. [`packed`]: what packages hold.
//! - [`browser`]: a headless browser, for the report.
//! - [`guest`], [`nandsim`], [`trees`], [`counts`], [`inspection`]: a real kernel, its flash, what it writes, asks
//!   and finds, to compare with.
//! - [`mutants`]: mistakes that a test must find.
//! - [`binary`], [`console`], [`catalogue`], [`schema`]: what the built command really does.

pub mod binary;
pub mod browser;
pub mod catalogue;
pub mod circles;
pub mod compiled;
pub mod console;
pub mod counts;
pub mod figures;
pub mod guest;
pub mod inspection;
pub mod limits;
pub mod links;
pub mod markdown;
pub mod mutants;
pub mod nandsim;
pub mod packed;
pub mod ranks;
pub mod readme;
pub mod repository;
pub mod rules;
pub mod schema;
pub mod source;
pub mod sourced;
pub mod translations;
pub mod trees;
pub mod violation;
pub mod words;

pub use repository::Repository;
pub use source::SourceFile;
pub use violation::{Violation, assert_none};
