//! Tests about the code and the repository: what a reviewer would otherwise have to remember.
//!
//! Layer: beside all others; nothing depends on it. Each module holds one kind of rule as a function
//! from text to a list of [`Violation`]s, with its own good and bad samples; the files in `tests/`
//! apply the rules to this repository and print every violation with its file and line.
//!
//! - [`violation`], [`repository`], [`source`], [`markdown`]: what the rules stand on.
//! - [`ranks`]: which crate may use which. [`limits`]: sizes, nesting, headers, names.
//!   [`rules`]: what source may not do. [`figures`]: no published figure in code.
//! - [`sourced`]: every number of a part says where it comes from.
//! - [`links`], [`readme`], [`words`]: documentation.
//! - [`binary`], [`console`], [`catalogue`], [`schema`]: what the built command really does.

pub mod limits;
pub mod ranks;
pub mod repository;
pub mod source;
pub mod violation;

pub use repository::Repository;
pub use source::SourceFile;
pub use violation::{Violation, assert_none};
