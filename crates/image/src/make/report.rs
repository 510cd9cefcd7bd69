//! What was made, as the typed result that every renderer shows.
//!
//! Layer: rank 7. Function: [`report`].

use super::{Made, MadeVolume};
use crate::files::NewFileSystem;
use crate::names::shown;
use crate::tables::ImageReport;
use boardlab_result::prose::counted;
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::Bytes;
use boardlab_ubi::VolumeKind;

/// The row limit of the table of what is left out.
const ROWS: usize = 10_000;

/// Tells what was made of `input` in the file `output`.
#[must_use]
pub fn report(input: &str, output: &str, made: &Made) -> ImageReport {
    let title = format!("What was made of {input}");
    let mut run = RunResult::new("image-create", &title, 0, env!("CARGO_PKG_VERSION"));
    run.tables.push(image(output, made));
    if !made.volumes.is_empty() {
        run.tables.push(volumes(&made.volumes, made));
    }
    if let Some(filesystem) = &made.filesystem {
        run.tables.push(files(filesystem));
        if let (true, true) = (filesystem.volume_lebs > filesystem.leb_count, made.layout.is_none())
        {
            run.warnings.push(format!(
                "A volume for it needs {} at least: its journal is that of --max-blocks.",
                counted(filesystem.volume_lebs, "logical erase block"),
            ));
        }
    }
    left_out(&mut run, made);
    ImageReport { run, whole: made.left_out.is_empty() }
}

fn image(output: &str, made: &Made) -> Table {
    let page = made.shape.page;
    let row = Row::new(output, "")
        .cell("length_bytes", Cell::count(Bytes::of(&made.bytes).get()))
        .cell("block_count", Cell::int(Bytes::of(&made.bytes).div_ceil(made.shape.raw_block())))
        .cell("block_bytes", Cell::int(made.shape.block.get()))
        .cell("page_bytes", if page.get() > 1 { Cell::int(page.get()) } else { Cell::none() })
        .cell("oob_bytes", Cell::int(made.shape.oob.get()));
    let block = if made.layout.is_some() { "erase block" } else { "logical erase block" };
    let mut table = Table::new("image", "Image")
        .column("length_bytes", "length")
        .column("block_count", "blocks")
        .column("block_bytes", block)
        .column("page_bytes", "page")
        .column("oob_bytes", "spare bytes a page");
    table.rows.push(row);
    table
}

fn volumes(volumes: &[MadeVolume], made: &Made) -> Table {
    let mut table = Table::new("volumes", "Volumes")
        .column("id", "number")
        .column("kind", "type")
        .column("size_bytes", "size")
        .column("leb_count", "LEBs")
        .column("data_bytes", "data")
        .column("detail", "more");
    let leb_size = made.layout.as_ref().map_or(1, |layout| layout.leb_size);
    for volume in volumes {
        let new = &volume.new;
        let usable = u64::from(leb_size - leb_size % new.alignment);
        let source = volume.source.as_ref().map(|path| format!("of {}", path.display()));
        let grows = volume.autoresize.then(|| "takes all free blocks".to_owned());
        let detail: Vec<String> = source.into_iter().chain(grows).collect();
        let kind = if new.kind == VolumeKind::Static { "static" } else { "dynamic" };
        let row = Row::new(shown(new.name.as_bytes()), "")
            .cell("id", Cell::int(new.id.unwrap_or(0).into()))
            .cell("kind", Cell::text(kind))
            .cell("size_bytes", Cell::int(new.size.get()))
            .cell("leb_count", Cell::int(new.size.get().div_ceil(usable)))
            .cell("data_bytes", Cell::int(volume.data))
            .cell("detail", Cell::text(detail.join("; ")));
        table.rows.push(row);
    }
    table
}

fn files(filesystem: &NewFileSystem) -> Table {
    let row = Row::new("ubifs", "")
        .cell("leb_count", Cell::int(filesystem.leb_count.into()))
        .cell("directory_count", Cell::int(filesystem.directories))
        .cell("file_count", Cell::int(filesystem.files))
        .cell("link_count", Cell::int(filesystem.links))
        .cell("symlink_count", Cell::int(filesystem.symlinks))
        .cell("special_count", Cell::int(filesystem.special))
        .cell("content_bytes", Cell::count(filesystem.content));
    let mut table = Table::new("filesystem", "Filesystem")
        .column("leb_count", "LEBs")
        .column("directory_count", "directories")
        .column("file_count", "files")
        .column("link_count", "hard links")
        .column("symlink_count", "symbolic links")
        .column("special_count", "devices, pipes, sockets")
        .column("content_bytes", "content");
    table.rows.push(row);
    table
}

fn left_out(run: &mut RunResult, made: &Made) {
    let count = made.left_out.len();
    if count == 0 {
        return;
    }
    run.warnings.push(format!("left out of the image: {count}, see the last table"));
    if count > ROWS {
        run.warnings.push(format!("only {ROWS} of {count} things left out are listed"));
    }
    let mut table = Table::new("skipped", "Left out").column("why", "why");
    for (number, one) in (1..).zip(made.left_out.iter().take(ROWS)) {
        let row = Row::new(number.to_string(), shown(&one.path));
        table.rows.push(row.cell("why", Cell::text(shown(one.why.to_string().as_bytes()))));
    }
    run.tables.push(table);
}
