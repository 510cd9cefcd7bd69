//! What was made, as the typed result that every renderer shows.
//!
//! Layer: rank 7. Functions: [`report`], and `tell` for what is more than that.

use super::{Made, MadeVolume};
use crate::files::NewFileSystem;
use crate::metadata::Applied;
use crate::names::shown;
use crate::tables::trees::file_counts;
use crate::tables::{ImageReport, not_taken};
use boardlab_result::prose::counted;
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::Bytes;

/// Tells what was made of `input` in the file `output`.
#[must_use]
pub fn report(input: &str, output: &str, made: &Made) -> ImageReport {
    let title = format!("What was made of {input}");
    let mut run = RunResult::new("image-create", &title, 0, env!("CARGO_PKG_VERSION"));
    tell(&mut run, output, made);
    not_taken(&mut run, "the image", &made.left_out);
    ImageReport { run, whole: made.left_out.is_empty() }
}

/// Adds what was made, but not what is left out.
pub(crate) fn tell(run: &mut RunResult, output: &str, made: &Made) {
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
    if let Some(applied) = &made.metadata {
        run.tables.push(metadata(*applied));
        if applied.separate > 0 {
            run.warnings.push(format!(
                "{} of the metadata are files of their own in the folder: a program that wrote a new file has parted them.",
                counted(applied.separate, "hard link")
            ));
        }
    }
    if !made.beyond.is_empty() {
        run.warnings.push(format!(
            "{} of --bad-blocks lie behind the end of the image, which they do not change.",
            made.beyond.len()
        ));
    }
}

fn image(output: &str, made: &Made) -> Table {
    let page = made.shape.page;
    let on_flash = made.filesystem.as_ref().is_some_and(|one| one.on_flash);
    let is_whole = made.layout.is_some() || on_flash;
    let block = if is_whole { "erase block" } else { "logical erase block" };
    let bad_blocks = made.bad_blocks.len() as u64;
    let table = Table::new("image", "Image")
        .of([(Row::new(output, ""), ())])
        .column("length_bytes", "length", |()| Cell::count(Bytes::of(&made.bytes).get()))
        .column("block_count", "blocks", |()| {
            Cell::int(Bytes::of(&made.bytes).div_ceil(made.shape.raw_block()))
        })
        .column("block_bytes", block, |()| Cell::int(made.shape.block.get()))
        .column("page_bytes", "page", |()| {
            if page.get() > 1 { Cell::int(page.get()) } else { Cell::none() }
        })
        .column("oob_bytes", "spare bytes a page", |()| Cell::int(made.shape.oob.get()));
    if bad_blocks == 0 {
        return table.table();
    }
    table.column("bad_block_count", "bad blocks", |()| Cell::int(bad_blocks)).table()
}

fn volumes(volumes: &[MadeVolume], made: &Made) -> Table {
    let leb_size = made.layout.as_ref().map_or(1, |layout| layout.leb_size);
    let lebs = |volume: &&MadeVolume| {
        let usable = u64::from(leb_size - leb_size % volume.new.alignment);
        Cell::int(volume.new.size.get().div_ceil(usable))
    };
    let detail = |volume: &&MadeVolume| {
        let source = volume.source.as_ref().map(|path| format!("of {}", path.display()));
        let grows = volume.autoresize.then(|| "takes all free blocks".to_owned());
        Cell::text(source.into_iter().chain(grows).collect::<Vec<_>>().join("; "))
    };
    Table::new("volumes", "Volumes")
        .of(volumes.iter().map(|one| (Row::new(shown(one.new.name.as_bytes()), ""), one)))
        .column("id", "number", |volume| Cell::int(volume.new.id.unwrap_or(0).into()))
        .column("kind", "type", |volume| Cell::text(volume.new.kind.to_string()))
        .column("size_bytes", "size", |volume| Cell::int(volume.new.size.get()))
        .column("leb_count", "LEBs", lebs)
        .column("data_bytes", "data", |volume| Cell::int(volume.data))
        .column("detail", "more", detail)
        .table()
}

fn metadata(applied: Applied) -> Table {
    Table::new("metadata", "Names and the metadata")
        .of([(Row::new("names", ""), applied)])
        .column("applied_count", "with what they say", |one| Cell::int(one.applied))
        .column("newer_count", "of them changed since", |one| Cell::int(one.newer))
        .column("made_count", "devices, pipes, sockets made", |one| Cell::int(one.made))
        .column("unlisted_count", "in the folder alone", |one| Cell::int(one.unlisted))
        .table()
}

fn files(filesystem: &NewFileSystem) -> Table {
    let on_flash = filesystem.on_flash;
    let (id, blocks) = if on_flash { ("block_count", "blocks") } else { ("leb_count", "LEBs") };
    let table = Table::new("filesystem", "Filesystem")
        .of([(Row::new(filesystem.name, ""), filesystem.files)])
        .column(id, blocks, |_| Cell::int(filesystem.leb_count.into()));
    file_counts(table, "devices, pipes, sockets").table()
}
