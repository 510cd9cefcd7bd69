//! The typed result of a run, which every experiment returns and every renderer shows.
//!
//! Layer: rank 1; independent of the simulators. In reading order:
//!
//! - [`run`]: [`RunResult`], the result of one run, and [`Reproduction`], those of several; [`agreement`]: the [`Agreement`]
//!   of a run with its publication.
//! - [`table`]: [`Table`], [`Row`], [`Cell`] and the [`Verdict`] on a cell with a published figure.
//! - [`chart`]: [`Chart`], described by its data, not by its drawing; [`Curve`].
//! - [`timeline`]: [`Timeline`], spans of time in lanes.
//! - [`origin`]: [`Parameter`] and [`Origin`], the sources of all inputs.
//! - [`foreign`]: untrusted text, made safe to display; [`csv`]: made safe for a spreadsheet.
//!
//! The serde form of these types *is* the versioned JSON (`schema` 2): a saved result can be read
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

pub mod agreement;
pub mod chart;
pub mod csv;
pub mod foreign;
pub mod origin;
pub mod prose;
pub mod run;
pub mod table;
pub mod timeline;

pub use agreement::{Agreement, Difference};
pub use chart::{Axis, Chart, Curve, Layer, Mark, Side, Style};
pub use origin::{Origin, Parameter};
pub use run::{Attachment, Publication, Reproduction, RunResult, SCHEMA, headline};
pub use table::{CLOSE, Cell, Column, Row, Table, TableWithItems, Unit, Value, Verdict};
pub use timeline::{Activity, Span, Timeline};
