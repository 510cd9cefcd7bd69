//! What was found of a file by looking: code and layout, pieces, blocks, and how to make it again.
//!
//! Layer: rank 7. Main function: [`look`].

use super::place;
use crate::block_map::{BlockMap, BlockRun, block_map};
use crate::contents::Contents;
use crate::detection::{Confidence, Kind};
use crate::ecc::{EccMatch, Search, Wanted, search};
use crate::fs::Hints;
use crate::identify::Identity;
use crate::partitions::{FlashData, Partition, Partitions, partitions};
use crate::rebuild::RebuildStep;
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_result::chart::{Axis, Chart, Style};
use boardlab_result::prose::float;
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::Bytes;

/// The matches that are listed.
const MATCHES: usize = 4;
/// The most blocks of a row of the picture, and its most rows.
const COLUMNS: usize = 64;
const ROWS: usize = 64;
/// The pages of an erase block where nothing says how many.
const PAGES: u64 = 64;

/// Adds to `run`, which is about a whole file, what [`info`](super::info) does not tell: the code and the layout of
/// its OOB bytes, its pieces, and the commands that would make it again. `blocks` adds a map of its blocks, with a
/// picture. `contents` are those of [`prepare`](crate::prepare).
pub fn look(
    run: &mut RunResult,
    contents: &Contents,
    identity: &Identity,
    hints: &Hints,
    blocks: bool,
) {
    let shape = identity.filesystem.as_ref().map(|system| system.shape());
    let found = codes(contents, shape, hints);
    run.tables.extend(found.as_ref().and_then(|found| ecc(found, shape)));
    let best = found.as_ref().and_then(Search::best);
    let spare = match &identity.filesystem {
        Some(system) => system.spare(contents),
        None => best.and_then(|best| Spare::of_controller(best.code.clone())),
    };
    let shape = shape.or_else(|| best.map(of_match));
    let start = identity.filesystem.as_ref().map_or(Bytes::ZERO, |_| identity.main().at);
    let mut flash = FlashData::of(contents, start, shape, spare);
    pieces(run, &partitions(&mut flash, &identity.found), flash.has_oob());
    if blocks {
        tell_blocks(run, &block_map(contents, shape));
    }
    if let Some(system) = &identity.filesystem {
        run.tables.extend(rebuild(&system.rebuild(contents)));
    }
}

/// The flash of pages with a code. How many pages an erase block has is unknown.
fn of_match(found: &EccMatch) -> Shape {
    let [page, oob] = [found.code.map.page, found.code.map.oob].map(|size| Bytes::new(size as u64));
    Shape::nand(page, oob, page * PAGES)
}

/// The codes of a file with OOB bytes, or of one that nothing is known of.
fn codes(contents: &Contents, shape: Option<Shape>, hints: &Hints) -> Option<Search> {
    if shape.is_some_and(|shape| shape.oob.is_zero()) || hints.oob == Some(Bytes::ZERO) {
        return None;
    }
    let size =
        |hint: Option<Bytes>, of: fn(Shape) -> Bytes| hint.or(shape.map(of)).map(Bytes::to_usize);
    let page = size(hints.page, |shape| shape.page);
    let oob = size(hints.oob, |shape| shape.oob);
    let thorough = page.is_some() && oob.is_some();
    let wanted = Wanted { page, oob, thorough, ..Wanted::default() };
    Some(search(&contents.stored(), &wanted))
}

/// The table of the codes; `None` for a file that seems to have no OOB bytes.
fn ecc(found: &Search, shape: Option<Shape>) -> Option<Table> {
    let table = Table::new("ecc", "Error correction, found by looking");
    if found.matches.is_empty() {
        // That a file of a length by chance has no code is no news.
        shape?;
        let row = Row::new("1", "").cell("reason", Cell::text(found.silence()));
        return Some(table.column("reason", "why").with_rows([row]));
    }
    let rows = (1..).zip(found.matches.iter().take(MATCHES));
    let rows = rows.map(|(number, one)| (Row::new(number.to_string(), ""), one));
    let count = |number: usize| Cell::int(number as u64);
    let confidence = |one: &EccMatch| {
        let words = one.confidence().as_ref().map_or_else(String::new, Confidence::to_string);
        Cell::text(words)
    };
    let table = table
        .of(rows)
        .column("layout", "layout", |one| Cell::text(one.code.layout.name))
        .column("code", "code", |one| Cell::text(one.code.code().described()))
        .column("page_bytes", "page", |one| count(one.code.map.page))
        .column("oob_bytes", "spare bytes a page", |one| count(one.code.map.oob))
        .column("confidence", "sure?", |one| confidence(one))
        .column("reason", "why", |one| Cell::text(one.reason()))
        .column("option", "options that say it", |one| Cell::text(one.code.options()))
        .table();
    Some(table)
}

/// The tables of the pieces, unless there is but one, which the contents show already.
fn pieces(run: &mut RunResult, found: &Partitions, has_oob: bool) {
    let is_other = |one: &&Partition| !matches!(one.found.kind, Kind::Erased | Kind::Zeros);
    if found.all.iter().filter(is_other).count() > 1 || !found.variables.is_empty() {
        run.tables.push(table_of(&found.all, has_oob));
    }
    if !found.variables.is_empty() {
        let mut table = Table::new("environment", "Variables of U-Boot").column("value", "value");
        for (name, value) in &found.variables {
            table.rows.push(Row::new(name.clone(), "").cell("value", Cell::text(value.clone())));
        }
        run.tables.push(table);
    }
    if !found.named.is_empty() {
        let rows = found.named.iter().map(|one| (Row::new(one.0.clone(), ""), one));
        let table = Table::new("mtdparts", "Partitions by mtdparts")
            .of(rows)
            .column("at", "at", |(_, at, _)| Cell::text(place(*at)))
            .column("size_bytes", "size", |(_, _, size)| Cell::count(size.get()))
            .table();
        run.tables.push(table);
    }
    if found.more {
        run.warnings.push(format!("Only the first {} pieces are listed.", found.all.len()));
    }
}

fn table_of(all: &[Partition], has_oob: bool) -> Table {
    let rows = (1..).zip(all).map(|(number, one)| (Row::new(format!("{number}"), ""), one));
    let text = |words: &str| if words.is_empty() { Cell::none() } else { Cell::text(words) };
    let reason = |one: &&Partition| {
        let reasons: Vec<_> = one.found.evidence.iter().map(|it| it.what.as_str()).collect();
        Cell::text(reasons.join("; "))
    };
    let mut table =
        Table::new("partitions", "Pieces of the flash")
            .of(rows)
            .column("at", "at", |one| Cell::text(place(one.in_file)));
    if has_oob {
        table =
            table.column("data_at", "without spare bytes", |one| Cell::text(place(one.found.at)));
    }
    table
        .column("size_bytes", "size", |one| {
            one.found.size.map_or(Cell::none(), |it| Cell::count(it.get()))
        })
        .column("kind", "what it is", |one| Cell::text(one.found.kind.to_string()))
        .column("name", "name", |one| text(one.name.as_deref().unwrap_or_default()))
        .column("detail", "more", |one| text(&one.found.detail))
        .column("confidence", "sure?", |one| Cell::text(one.found.confidence.to_string()))
        .column("reason", "why", reason)
        .table()
}

/// The table of runs of blocks, and a picture of all of them.
fn tell_blocks(run: &mut RunResult, map: &BlockMap) {
    let rows = map.runs();
    let rows = rows.iter().map(|one| (Row::new(place(map.size * one.first), ""), one));
    let real =
        |of: fn(&BlockRun) -> f64| move |one: &&BlockRun| Cell::real((of(one) * 1e4).round() / 1e4);
    let table = Table::new("block_map", "Blocks of one kind, by their place")
        .of(rows)
        .column("block_count", "blocks", |one| Cell::int(one.count))
        .column("length_bytes", "length", |one| Cell::count((map.size * one.count).get()))
        .column("kind", "kind", |one| Cell::text(one.mean.kind.words()))
        .column("entropy_bits", "entropy (bits a byte)", real(|one| one.mean.entropy))
        .column("erased_ratio", "erased pages", real(|one| one.mean.erased))
        .table();
    run.tables.push(table);
    // About as many rows as columns, so that a small flash is no line.
    let columns = (8..COLUMNS).find(|columns| columns * columns >= map.blocks.len());
    let columns = columns.unwrap_or(COLUMNS);
    let each = map.blocks.len().div_ceil(columns * ROWS).max(1);
    let caption = format!(
        "Bits a byte of each {}, {columns} a row, in the order of the file: compressed data have nearly 8, erased flash none.",
        map.size * (each as u64)
    );
    let axes = [Axis::fitting("block of the row"), Axis::from_zero("entropy (bits a byte)")];
    let mut chart = Chart::new("block-map", "Entropy of each block", caption, axes);
    chart.categories = (0..columns).map(|column| column.to_string()).collect();
    for (row, blocks) in map.blocks.chunks(columns * each).enumerate() {
        let mean = |blocks: &[crate::block_map::Block]| {
            let sum: f64 = blocks.iter().map(|block| block.entropy).sum();
            (sum / float(blocks.len()) * 100.0).round() / 100.0
        };
        let points = blocks.chunks(each).enumerate().map(|(at, blocks)| (float(at), mean(blocks)));
        let at = place(map.size * ((row * columns * each) as u64));
        run.plot(&mut chart, (format!("block_map_{row}"), at), "count", Style::Heat, points);
    }
    run.charts.push(chart);
}

/// The commands that would make it again.
fn rebuild(steps: &[RebuildStep]) -> Option<Table> {
    let rows = (1..).zip(steps);
    let rows = rows.map(|(number, step): (u32, _)| (Row::new(number.to_string(), ""), step));
    Table::new("rebuild", "How to make such an image of a folder DIR")
        .of(rows)
        .column("with", "with", |step| Cell::text(step.with))
        .column("line", "line", |step| Cell::text(step.line.clone()))
        .unless_empty()
}
