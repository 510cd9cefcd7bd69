//! What a repair did, as the typed result that every renderer shows.
//!
//! Layer: rank 7. Function: [`report`].

use super::{Part, Repaired};
use crate::check;
use crate::diff::Change;
use crate::files::LeftOut;
use crate::finding::{Finding, Severity};
use crate::names::shown;
use crate::tables::{ImageReport, changes, not_taken};
use boardlab_result::{Cell, Row, Table};
use boardlab_sim::Bytes;

/// Reports the check of the image `name`, and the new image `target` that was made of it.
#[must_use]
pub fn report(name: &str, target: &str, done: Repaired) -> ImageReport {
    let ImageReport { mut run, .. } = check::report(name, &done.before);
    let whole = done.is_whole();
    run.title = format!("Repair of {name}");
    let Some(new) = done.new else {
        let corrected = if done.before.is_empty() {
            ""
        } else {
            "; `image convert --correct` rewrites pages with flipped bits"
        };
        run.findings
            .push(format!("Nothing is to be repaired, and no file was written{corrected}."));
        return ImageReport { run, whole: true };
    };
    let count = |severity| {
        let found = new.after.iter().filter(|one| one.severity == severity).count();
        Cell::int(found as u64)
    };
    run.tables.push(
        Table::new("image", "The new image, checked")
            .of([(Row::new(target, ""), ())])
            .column("length_bytes", "length", |()| Cell::count(Bytes::of(&new.bytes).get()))
            .column("error_count", "errors", |()| count(Severity::Error))
            .column("warning_count", "warnings", |()| count(Severity::Warning))
            .column("note_count", "notes", |()| count(Severity::Note))
            .table(),
    );
    run.tables.push(parts(&new.parts));
    let wrong: Vec<Finding> =
        new.after.iter().filter(|one| one.severity == Severity::Error).cloned().collect();
    if !wrong.is_empty() {
        let mut table = check::table(&wrong);
        (table.id, table.title) = ("remaining".into(), "What is still wrong".into());
        run.tables.push(table);
    }
    let is_alone = new.parts.len() == 1;
    let (mut differ, mut left_out) = (Vec::new(), Vec::new());
    for Part { volume, damage, changes, left_out: lost, .. } in new.parts {
        run.warnings.extend(damage);
        let place = |path: Vec<u8>| match volume.as_ref().filter(|_| !is_alone) {
            Some(volume) => [volume.as_bytes(), b":", &path].concat(),
            None => path,
        };
        differ.extend(changes.into_iter().map(|one| Change { path: place(one.path), ..one }));
        left_out.extend(lost.into_iter().map(|one| LeftOut { path: place(one.path), ..one }));
    }
    if !differ.is_empty() {
        let table = changes(&mut run.warnings, &differ);
        run.tables.push(table);
    }
    not_taken(&mut run, "the new image, or not whole in it", &left_out);
    ImageReport { run, whole }
}

fn parts(parts: &[Part]) -> Table {
    let rows = parts.iter().map(|part| {
        let name = part.volume.as_ref().map(|volume| shown(volume.as_bytes()));
        (Row::new(name.unwrap_or_else(|| "files".into()), ""), part)
    });
    let names = |part: &Part| part.names.map_or(Cell::none(), Cell::int);
    Table::new("parts", "What it was made of")
        .of(rows)
        .column("how", "how", |part| {
            Cell::text(if part.names.is_some() { "made anew of its files" } else { "its bytes" })
        })
        .column("name_count", "names", |part| names(part))
        .column("skipped_count", "not whole", |part| Cell::int(part.left_out.len() as u64))
        .column("change_count", "differences", |part| Cell::int(part.changes.len() as u64))
        .table()
}
