//! The one typed result of a run: what every experiment returns and every renderer shows.
//!
//! Layer: rank 1; knows no simulator. In reading order:
//!
//! - [`run`]: [`RunResult`], the whole of one run, and [`Reproduction`], several of them.
//! - [`table`]: [`Table`], [`Row`], [`Cell`] and the [`Verdict`] on a cell with a published figure.
//! - [`chart`]: [`Chart`], a picture described by its data, not by its drawing; [`Curve`].
//! - [`timeline`]: [`Timeline`], who did what when.
//! - [`origin`]: [`Parameter`] and [`Origin`], where each input came from.
//! - [`foreign`]: text from outside, made safe to show; [`csv`]: safe to put into a spreadsheet.
//!
//! The serde form of these types *is* the versioned JSON (`schema` 1): a saved result can be read
//! back and rendered again. Keys end in their unit (`_ns`, `_bytes`, `_bytes_per_s`, `_count`,
//! `_ratio`), see [`Unit`].
//!
//! ```
//! use boardlab_result::{Cell, Row, Table};
//!
//! let mut table = Table::new("table5", "Linux").column("mean_ns", "mean");
//! table.rows.push(Row::new("L-7", "wait").cell("mean_ns", Cell::int(254_234)));
//! assert_eq!(table.cell("L-7", "mean_ns").unwrap().value.as_f64(), Some(254_234.0));
//! ```

pub mod chart;
pub mod csv;
pub mod foreign;
pub mod origin;
pub mod prose;
pub mod run;
pub mod table;
pub mod timeline;

pub use chart::{Axis, Chart, Curve, Layer, Mark, Side, Style};
pub use origin::{Origin, Parameter};
pub use run::{Attachment, Reproduction, RunResult, SCHEMA};
pub use table::{Cell, Column, Row, Table, Tabulated, Unit, Value, Verdict};
pub use timeline::{Activity, Span, Timeline};
