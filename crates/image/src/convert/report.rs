//! What was made of an image, as the typed result that every renderer shows.
//!
//! Layer: rank 7. Function: [`report`].

use super::Converted;
use crate::gather::Gathered;
use crate::make::report::tell;
use crate::tables::{ImageReport, changes, not_taken, tell_source};
use boardlab_result::{Cell, Row, RunResult, Table};

/// Reports the image `target` that was made of the image `name`.
#[must_use]
pub fn report(name: &str, target: &str, from: &Gathered, done: &Converted) -> ImageReport {
    let title = format!("What was made of the files of {name}");
    let mut run = RunResult::new("image-convert", &title, 0, env!("CARGO_PKG_VERSION"));
    tell(&mut run, target, &done.made);
    tell_source(&mut run, from);
    let names = from.tree.nodes.len() - 1;
    run.tables.push(
        Table::new("comparison", "The new image, read again and compared")
            .of([(Row::new("files", ""), ())])
            .column("name_count", "names", |()| Cell::int(names as u64))
            .column("change_count", "differences", |()| Cell::int(done.changes.len() as u64))
            .table(),
    );
    if !done.changes.is_empty() {
        let table = changes(&mut run.warnings, &done.changes);
        run.tables.push(table);
    }
    not_taken(&mut run, "the image", &done.made.left_out);
    let whole = done.changes.is_empty() && done.made.left_out.is_empty() && from.is_whole();
    ImageReport { run, whole }
}
