//! Archives and differences as typed results.
//!
//! Layer: rank 7. Functions: [`archived`], [`differences`].

use super::{ImageReport, VERSION, damage, ended_at, not_taken};
use crate::diff::{Change, ChangedBlocks};
use crate::files::FileCounts;
use crate::gather::Gathered;
use crate::names::shown;
use boardlab_result::{Cell, Row, RunResult, Table, TableWithItems};
use boardlab_sim::Bytes;
use std::collections::BTreeMap;

/// The row limit of the table of changes.
const ROWS: usize = 10_000;

/// Reports the archive `target` of the image `name`.
#[must_use]
pub fn archived(name: &str, target: &str, from: &Gathered, done: &FileCounts) -> ImageReport {
    let mut run =
        RunResult::new("image-extract", &format!("Files of {name} in {target}"), 0, VERSION);
    let written = Table::new("written", "Written").of([(Row::new("written", ""), *done)]);
    run.tables.push(file_counts(written, "devices and pipes").table());
    tell_source(&mut run, from);
    not_taken(&mut run, "the archive", &from.tree.left_out);
    ImageReport { run, whole: from.is_whole() }
}

/// A table of counts, with a word for those of special files.
pub(crate) fn file_counts(
    table: TableWithItems<FileCounts>,
    special: &str,
) -> TableWithItems<FileCounts> {
    table
        .column("directory_count", "directories", |counts| Cell::int(counts.directories))
        .column("file_count", "files", |counts| Cell::int(counts.files))
        .column("link_count", "hard links", |counts| Cell::int(counts.links))
        .column("symlink_count", "symbolic links", |counts| Cell::int(counts.symlinks))
        .column("special_count", special, |counts| Cell::int(counts.special))
        .column("content_bytes", "content", |counts| Cell::count(counts.content))
}

/// What is wrong with the image that the files come from.
pub(crate) fn tell_source(run: &mut RunResult, from: &Gathered) {
    run.warnings.extend(from.ended_at.map(ended_at));
    damage::tell(run, &from.damage, &from.paths);
}

/// Reports what differs between the images `names`: files, and erase blocks of so many bytes.
#[must_use]
pub fn differences(
    names: [&str; 2],
    images: [&Gathered; 2],
    found: &[Change],
    (blocks, block): (&[ChangedBlocks], Bytes),
) -> ImageReport {
    let title = format!("What differs between {} and {}", names[0], names[1]);
    let mut run = RunResult::new("image-diff", &title, 0, VERSION);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for change in found {
        *counts.entry(change.what.class()).or_default() += 1;
    }
    let counts = counts.into_iter().map(|(class, count)| (Row::new(class, ""), count));
    let mut kinds = Table::new("kinds", "Differences of files, by kind")
        .of(counts)
        .column("change_count", "differences", |count| Cell::int(*count))
        .table();
    if found.is_empty() {
        kinds.rows.push(Row::new("none", "").cell("change_count", Cell::int(0)));
    }
    run.tables.push(kinds);
    if !found.is_empty() {
        run.tables.push(changes(&mut run.warnings, found));
    }
    if !blocks.is_empty() {
        run.tables.push(changed_blocks(&mut run.warnings, blocks, block));
    }
    for (name, image) in names.iter().zip(images) {
        if !image.is_whole() {
            run.warnings.push(format!(
                "{name} is damaged or not whole: `boardlab image check` lists every fault."
            ));
        }
    }
    let whole = found.is_empty() && blocks.is_empty() && images.iter().all(|one| one.is_whole());
    ImageReport { run, whole }
}

/// A table of differences.
pub(crate) fn changes(warnings: &mut Vec<String>, found: &[Change]) -> Table {
    if found.len() > ROWS {
        warnings.push(format!("only {ROWS} of {} differences are listed", found.len()));
    }
    let rows = (1_u32..).zip(found.iter().take(ROWS));
    let rows = rows.map(|(number, one)| (Row::new(number.to_string(), shown(&one.path)), one));
    Table::new("changes", "Differences of files")
        .of(rows)
        .column("kind", "what", |change| Cell::text(change.what.class()))
        .column("detail", "how", |change| Cell::text(change.what.to_string()))
        .table()
}

fn changed_blocks(warnings: &mut Vec<String>, blocks: &[ChangedBlocks], block: Bytes) -> Table {
    if blocks.len() > ROWS {
        warnings.push(format!("only {ROWS} of {} runs of blocks are listed", blocks.len()));
    }
    let rows = blocks.iter().take(ROWS).map(|run| {
        let last = run.first + run.count - 1;
        let name = match run.count {
            1 => run.first.to_string(),
            _ => format!("{} to {last}", run.first),
        };
        (Row::new(name, ""), run)
    });
    let title = format!("Erase blocks that differ, of {block} in the file");
    Table::new("blocks", &title)
        .of(rows)
        .column("at", "at", |run| Cell::text(super::place(block * run.first)))
        .column("block_count", "blocks", |run| Cell::int(run.count))
        .column("differing_bytes", "bytes that differ", |run| Cell::count(run.bytes))
        .table()
}
