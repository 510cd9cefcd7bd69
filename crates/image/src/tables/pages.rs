//! Pages in another form as a typed result.
//!
//! Layer: rank 7. Function: [`rewritten`].

use super::{ImageReport, VERSION, place};
use crate::pages::{DumpPages, Rewritten};
use boardlab_result::prose::counted;
use boardlab_result::{Cell, Row, RunResult, Table};

/// Reports the pages of the image `name` that were written to `target`.
#[must_use]
pub fn rewritten(name: &str, target: &str, dump: &DumpPages, done: &Rewritten) -> ImageReport {
    let title = format!("Pages of {name} in {target}");
    let mut run = RunResult::new("image-convert", &title, 0, VERSION);
    let code = dump.spare.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    run.tables.push(
        Table::new("pages", "Pages")
            .of([(Row::new(target, ""), ())])
            .column("length_bytes", "length", |()| Cell::count(done.length))
            .column("page_count", "pages", |()| Cell::int(done.pages))
            .column("erased_count", "erased", |()| Cell::int(done.erased))
            .column("corrected_count", "corrected", |()| Cell::int(done.corrected))
            .column("bit_count", "flipped bits", |()| Cell::int(done.bits))
            .column("lost_count", "uncorrectable", |()| Cell::int(done.lost_count))
            .column("code", "found", |()| Cell::text(code.clone()))
            .table(),
    );
    if !done.lost.is_empty() {
        let raw = dump.shape.page + dump.shape.oob;
        let rows = (1_u32..)
            .zip(&done.lost)
            .map(|(number, page)| (Row::new(number.to_string(), ""), page));
        run.tables.push(
            Table::new("lost", "Pages that cannot be corrected, as they were")
                .of(rows)
                .column("block", "block", |page| Cell::int(**page / dump.shape.pages_per_block()))
                .column("page", "page", |page| Cell::int(**page % dump.shape.pages_per_block()))
                .column("at", "at", |page| Cell::text(place(dump.before + raw * **page)))
                .table(),
        );
    }
    if done.lost_count > done.lost.len() as u64 {
        run.warnings.push(format!("only {} of {} are listed", done.lost.len(), done.lost_count));
    }
    if done.cut > 0 {
        run.warnings.push(format!(
            "The new spare bytes have no room for all free bytes of {}: what lies behind is left out.",
            counted(done.cut, "page")
        ));
    }
    if done.rest > 0 {
        run.warnings.push(format!(
            "The last {} of the file are no whole page, and were neither corrected nor given another form.",
            counted(done.rest, "byte")
        ));
    }
    ImageReport { run, whole: done.is_whole() }
}
