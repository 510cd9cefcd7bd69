//! What was found out about an image as the typed result that every renderer shows.
//!
//! Layer: rank 7. Function: [`info`]. Names from images are untrusted: bytes that are
//! not UTF-8, control characters and the backslash are shown as escapes, so that two names never look
//! the same and none moves the cursor.

use crate::choose::spare;
use crate::contents::Contents;
use crate::identify::{Cleanmarkers, Found, Identity, Jffs2};
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::Bytes;
use std::fmt::Write;

/// The version that results carry.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What is in the file called `name`, as [`identify`](crate::identify()) says.
#[must_use]
pub fn info(name: &str, contents: &Contents, identity: &Identity) -> RunResult {
    let title = format!("What is in {name}");
    let mut run = RunResult::new("image-info", &title, 0, VERSION);
    run.tables.push(found(identity));
    let jffs2 = identity.found.iter().find_map(|found| found.jffs2.as_ref());
    if let Some(jffs2) = jffs2 {
        run.tables.push(flash(contents, jffs2));
        run.tables.push(filesystem(jffs2));
        run.warnings.extend(warnings(jffs2, identity.length));
    }
    run.tables.push(evidence(identity));
    run
}

fn found(identity: &Identity) -> Table {
    let mut table = Table::new("contents", "Contents")
        .column("at", "at")
        .column("kind", "what it is")
        .column("length_bytes", "length")
        .column("confidence", "sure?")
        .column("detail", "more");
    for (number, found) in (1..).zip(&identity.found) {
        let length = match found.size {
            Some(size) => Cell::int(size.get().min(i64::MAX.unsigned_abs())),
            None => Cell::int(left(identity, number, found).get()),
        };
        let row = Row::new(number.to_string(), "")
            .cell("at", Cell::text(place(found.at)))
            .cell("kind", Cell::text(found.kind.to_string()))
            .cell("length_bytes", length)
            .cell("confidence", Cell::text(found.confidence.to_string()))
            .cell("detail", Cell::text(found.detail.clone()));
        table.rows.push(row);
    }
    table
}

/// What does not say its length goes on to the next content.
fn left(identity: &Identity, next: usize, found: &Found) -> Bytes {
    let end = identity.found.get(next).map_or(identity.length, |next| next.at);
    end - found.at.min(end)
}

fn flash(contents: &Contents, jffs2: &Jffs2) -> Table {
    let shape = jffs2.shape;
    let correction = spare(contents, shape, jffs2).map(|spare| Cell::text(spare.to_string()));
    let page = if shape.is_nand() { Cell::int(shape.page.get()) } else { Cell::none() };
    let blocks = contents.length().div_ceil(shape.raw_block());
    let row = Row::new("flash", "")
        .cell("page_bytes", page)
        .cell("oob_bytes", Cell::int(shape.oob.get()))
        .cell("block_bytes", Cell::int(shape.block.get()))
        .cell("block_count", Cell::int(blocks))
        .cell("correction", correction.unwrap_or(Cell::none()));
    let mut table = Table::new("flash", "Flash")
        .column("page_bytes", "page")
        .column("oob_bytes", "spare bytes a page")
        .column("block_bytes", "erase block")
        .column("block_count", "blocks")
        .column("correction", "error correction");
    table.rows.push(row);
    table
}

fn filesystem(jffs2: &Jffs2) -> Table {
    let cleanmarkers = match jffs2.cleanmarkers {
        Cleanmarkers::Data => "in the data",
        Cleanmarkers::Oob => "in the spare bytes",
        Cleanmarkers::None => "none",
    };
    let row = Row::new("jffs2", "")
        .cell("order", Cell::text(jffs2.order.to_string()))
        .cell("cleanmarkers", Cell::text(cleanmarkers))
        .cell("checked_count", Cell::int(jffs2.checked as u64))
        .cell("damaged_count", Cell::int(jffs2.damaged as u64));
    let mut table = Table::new("filesystem", "Filesystem")
        .column("order", "byte order")
        .column("cleanmarkers", "cleanmarkers")
        .column("checked_count", "nodes checked")
        .column("damaged_count", "of them damaged");
    table.rows.push(row);
    table
}

fn warnings(jffs2: &Jffs2, length: Bytes) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(needed) = jffs2.truncated {
        let (length, needed) = (length.get(), needed.get());
        warnings.push(format!("the file is truncated: {length} bytes of at least {needed}"));
    }
    if !jffs2.block_known {
        warnings.push(format!(
            "no cleanmarker or summary says how long erase blocks are: {} is the smallest size that \
             no node crosses",
            jffs2.shape.block
        ));
    }
    warnings
}

fn evidence(identity: &Identity) -> Table {
    let mut table = Table::new("evidence", "Evidence")
        .column("at", "at")
        .column("content", "content")
        .column("what", "what is there");
    for (content, found) in (1..).zip(&identity.found) {
        for evidence in &found.evidence {
            let row = Row::new((table.rows.len() + 1).to_string(), "")
                .cell("at", Cell::text(place(evidence.at)))
                .cell("content", Cell::int(content))
                .cell("what", Cell::text(evidence.what.clone()));
            table.rows.push(row);
        }
    }
    table
}

/// A place in a file.
fn place(at: Bytes) -> String {
    format!("{:#x}", at.get())
}

/// A name or a path as text that nothing can be hidden in.
#[must_use]
pub fn shown(name: &[u8]) -> String {
    let mut shown = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() || character == '\\' || turns(character) {
                shown.extend(character.escape_unicode());
            } else {
                shown.push(character);
            }
        }
        for byte in chunk.invalid() {
            write!(shown, "\\x{byte:02x}").expect("a String takes all text");
        }
    }
    shown
}

/// Marks that turn the direction of text (UAX #9, 2).
const fn turns(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::identify;
    use crate::identify::tests::Writer;
    use crate::shape::Shape;
    use boardlab_jffs2::format::ByteOrder;
    use boardlab_result::Value;

    #[test]
    fn flash_and_filesystem_become_tables() {
        let shape = Shape::nand(Bytes::kib(2), Bytes::new(64), Bytes::kib(128));
        let mut writer = Writer::new(ByteOrder::Big, shape);
        writer.inodes(300);
        let file = writer.file();
        let run = info("x.bin", &file, &identify(&file));
        let cell = |table, row, column| {
            let cell: &Cell = run.table(table).and_then(|table| table.cell(row, column)).unwrap();
            cell.value.clone()
        };
        assert_eq!(cell("filesystem", "jffs2", "order"), Value::Text("big-endian".into()));
        assert_eq!(cell("filesystem", "jffs2", "damaged_count"), Value::Int(0));
        assert_eq!(cell("flash", "flash", "page_bytes"), Value::Int(2_048));
        assert_eq!(cell("flash", "flash", "oob_bytes"), Value::Int(64));
        assert_eq!(run.warnings, [""; 0]);
        assert!(run.table("evidence").unwrap().rows.len() >= 3);
    }

    #[test]
    fn doubts_become_warnings_and_other_content_has_no_flash() {
        let mut writer = Writer::new(ByteOrder::Little, Shape::nor(Bytes::kib(64)));
        writer.marks = false;
        writer.inodes(100);
        writer.data.truncate(writer.data.len() - 9);
        let file = Contents::of(writer.data);
        let run = info("x.bin", &file, &identify(&file));
        assert!(run.warnings[0].starts_with("the file is truncated: "), "{:?}", run.warnings);
        assert!(run.warnings[1].contains("64 KiB is the smallest size"), "{:?}", run.warnings);
        let file = Contents::of(b"ANDROID!".repeat(8));
        let run = info("x.bin", &file, &identify(&file));
        assert!(run.table("flash").is_none());
        let kind = run.table("contents").unwrap().cell("1", "kind").unwrap().value.clone();
        assert_eq!(kind, Value::Text("Android boot image".into()));
    }

    #[test]
    fn names_hide_nothing() {
        assert_eq!(shown("größe 書".as_bytes()), "größe 書");
        assert_eq!(shown(b"a\x1b[2J\\\xff\n"), "a\\u{1b}[2J\\u{5c}\\xff\\u{a}");
        assert_eq!(shown("\u{202e}exe".as_bytes()), "\\u{202e}exe");
    }
}
