//! What `info` tells of a YAFFS: its flash, its blocks, its checkpoint, and what was guessed.
//!
//! Layer: rank 7. Main function: [`tell`].

use super::flash::ImageFlash;
use super::pages::Place;
use super::{Flash, create, past};
use crate::audit::Audit;
use crate::contents::Contents;
use crate::error::Error;
use crate::files::{FlashFormat, NewTags};
use crate::fs::recipe::known_spare;
use crate::fs::{Hints, Recipe, RecipeContent};
use crate::names::shown;
use crate::rebuild::{self, RebuildStep};
use crate::spare::Spare;
use crate::walk::Walk;
use boardlab_codec::ByteOrder;
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::Clock;
use boardlab_vfs::FileSystem;
use boardlab_yaffs2::block::State;
use boardlab_yaffs2::{Options, TagsPlace, Word, Yaffs};

/// The states of blocks in the table.
const STATES: [(State, &str); 6] = [
    (State::Full, "full"),
    (State::Allocating, "being written"),
    (State::Empty, "erased"),
    (State::Checkpoint, "checkpoint"),
    (State::Dead, "bad"),
    (State::NeedsScan, "not readable"),
];

/// Adds the tables and the doubts.
pub(super) fn tell(run: &mut RunResult, contents: &Contents, flash: &Flash, audit: Option<&Audit>) {
    let mounted = flash
        .open(contents)
        .and_then(|device| flash.mount(device, flash.options(&Hints::default())));
    let mut mounted = mounted.ok();
    run.tables.push(filesystem(flash, mounted.as_ref(), audit));
    if let Some(fs) = &mut mounted {
        run.tables.push(blocks(fs, contents, flash));
    }
    if let Some(audit) = audit {
        run.tables.extend(chunks(audit));
    }
    if let Some(needed) = flash.truncated(contents) {
        let (length, needed) = (contents.length().get(), needed.get());
        run.warnings.push(format!(
            "The file is truncated: it has {length} bytes of at least {needed}, so its last page is not whole."
        ));
    }
    if !flash.blocks.known {
        run.warnings.push(format!(
            "No sequence numbers give the size of erase blocks: {} is a guess. The files are the same with any.",
            flash.shape().block
        ));
    }
    let corrects = flash.spare(contents).is_some_and(|spare| spare.corrects());
    if !corrects {
        run.findings.push(
            "No ECC of the data is in the file that is known: wrong bits in files are neither corrected nor noticed."
                .into(),
        );
    }
}

/// The commands that make such a YAFFS of a folder.
pub(super) fn rebuild(flash: &Flash, found: Option<&Spare>) -> Vec<RebuildStep> {
    let (shape, place) = (flash.shape(), &flash.fit.pages.place);
    let big = if flash.fit.pages.order == ByteOrder::Big { " --big-endian" } else { "" };
    let line = |options: &str| {
        let flash = rebuild::flash(shape);
        RebuildStep::new(
            "boardlab",
            format!("boardlab image create DIR image.yaffs2 --fs yaffs2 {flash}{options}{big}"),
        )
    };
    let (oob, note) = rebuild::spare(shape, found);
    let free = found.map(|spare| spare.layout().free()).and_then(|free| free.first());
    let first = place.bytes().first();
    match place {
        Place::InBand if note.is_none() => vec![line(&format!("{oob} --tags in-band"))],
        Place::InBand => [line(" --tags in-band")].into_iter().chain(note).collect(),
        Place::Spare(bytes) if bytes.first() == Some(&0) => {
            let mut steps = vec![line(&format!(" --oob {} --tags start", shape.oob.get()))];
            if (shape.page.get(), shape.oob.get()) == (2_048, 64) && big.is_empty() {
                steps.push(RebuildStep::new("mkyaffs2image", "mkyaffs2image DIR image.yaffs2"));
            }
            steps
        }
        Place::Spare(_) if note.is_none() && free.map(|free| free.start) == first.copied() => {
            vec![line(&oob)]
        }
        // It has its own code, at its own place.
        Place::Yaffs1(..) if found.is_some_and(Spare::corrects) => {
            vec![line(&format!(" --oob {}", shape.oob.get()))]
        }
        _ => {
            let what = format!("no program is known that makes these pages: {place}");
            vec![RebuildStep::new("note", what)]
        }
    }
}

/// How such a YAFFS is made of its files.
pub(super) fn recipe(flash: &Flash, contents: &Contents) -> Result<Recipe, Error> {
    let (place, order) = (&flash.fit.pages.place, flash.fit.pages.order);
    let found = flash.spare(contents);
    let first = place.bytes().first().copied();
    let free = found.as_ref().and_then(|spare| Some(spare.layout().free().first()?.start));
    let tags = match place {
        Place::InBand => NewTags::InBand,
        Place::Spare(_) if first == Some(0) => NewTags::Start,
        Place::Spare(_) if free == first => NewTags::Free,
        Place::Yaffs1(..) if found.as_ref().is_some_and(Spare::corrects) => NewTags::Free,
        _ => return Err(Error::NoRecipe { why: format!("its tags lie {place}") }),
    };
    // These have no code of Linux, or one that goes without saying.
    let is_bare = tags == NewTags::Start || matches!(place, Place::Yaffs1(..));
    let spare = if is_bare { None } else { known_spare(flash.shape(), found.as_ref())? };
    let place = (flash.at, flash.shape());
    Ok(Recipe::new(contents, place, &mut flash.open(contents)?, spare, |format| {
        RecipeContent::Flash(create::create, FlashFormat { tags, order, ..format })
    }))
}

fn filesystem(flash: &Flash, fs: Option<&Yaffs<ImageFlash>>, audit: Option<&Audit>) -> Table {
    let pages = &flash.fit.pages;
    let protection = match (&pages.place, pages.place.tags_place()) {
        (Place::Yaffs1(..), _) => "12 bits of code",
        (_, TagsPlace::Oob { ecc: true }) => "1 bit in 16 B",
        _ => "none",
    };
    let id = if pages.place.is_yaffs2() { "yaffs2" } else { "yaffs1" };
    let range = fs.filter(|_| pages.place.is_yaffs2()).and_then(past::range);
    let number = |number: Option<u32>| number.map_or(Cell::none(), |it| Cell::int(it.into()));
    let count = |of: fn(&Audit) -> u64| audit.map_or(Cell::none(), |it| Cell::int(of(it)));
    Table::new("filesystem", "Filesystem")
        .of([(Row::new(id, ""), ())])
        .column("order", "byte order", |()| Cell::text(pages.order.to_string()))
        .column("tags", "tags", |()| Cell::text(pages.place.to_string()))
        .column("tags_correction", "their correction", |()| Cell::text(protection))
        .column("chunk_bytes", "chunk", |()| Cell::int(pages.chunk() as u64))
        .column("first_sequence", "oldest block", |()| number(range.map(|range| range.0)))
        .column("last_sequence", "newest block", |()| number(range.map(|range| range.1)))
        .column("checked_count", "chunks checked", |()| count(|audit| audit.nodes))
        .column("damaged_count", "of them damaged", |()| count(|audit| audit.damaged))
        .table()
}

fn blocks(fs: &mut Yaffs<ImageFlash>, contents: &Contents, flash: &Flash) -> Table {
    let mut table = Table::new("blocks", "Erase blocks by state")
        .column("block_count", "blocks")
        .column("detail", "more");
    for (state, name) in STATES {
        let count = fs.blocks().count(state);
        if count == 0 {
            continue;
        }
        let detail = match state {
            State::Checkpoint => checkpoint(fs, contents, flash),
            _ => String::new(),
        };
        let detail = if detail.is_empty() { Cell::none() } else { Cell::text(detail) };
        let row = Row::new(name, "").cell("block_count", Cell::int(count.into()));
        table.rows.push(row.cell("detail", detail));
    }
    table
}

/// Whether the checkpoint is right: it is compared with what a scan finds.
fn checkpoint(fs: &mut Yaffs<ImageFlash>, contents: &Contents, flash: &Flash) -> String {
    for (word, bits) in [(Word::Bits32, 32), (Word::Bits64, 64)] {
        let options = Options { read_checkpoint: true, word, ..flash.options(&Hints::default()) };
        let mounted = flash.open(contents).and_then(|device| flash.mount(device, options));
        let Some(mut other) = mounted.ok().filter(Yaffs::is_checkpointed) else { continue };
        let of = format!("of a machine of {bits} bits");
        return match first_difference(fs, &mut other) {
            None => format!("{of}: says what the chunks say"),
            Some(path) => format!("{of}: differs from the chunks, first in `{path}`"),
        };
    }
    "cannot be read: other version, or damaged; a mount scans all chunks".into()
}

/// The first path that two filesystems differ in.
fn first_difference(one: &mut Yaffs<ImageFlash>, other: &mut Yaffs<ImageFlash>) -> Option<String> {
    let (mut clocks, root) = ((Clock::new(), Clock::new()), one.root());
    let mut walks = (Walk::new(b"/", root), Walk::new(b"/", root));
    loop {
        match (walks.0.next(one, &mut clocks.0), walks.1.next(other, &mut clocks.1)) {
            (None, None) => return None,
            (Some(here), Some(there)) if here == there => {}
            (here, there) => return here.or(there).map(|item| shown(&item.path)),
        }
    }
}

/// The chunks in use by kind.
fn chunks(audit: &Audit) -> Option<Table> {
    let rows = audit.kinds.iter().map(|(kind, count)| (Row::new(*kind, ""), count));
    let table = Table::new("chunks", "Chunks in use")
        .of(rows)
        .column("chunk_count", "chunks", |count| Cell::int(count.nodes))
        .column("length_bytes", "bytes", |count| Cell::count(count.bytes))
        .column("damaged_count", "of them damaged", |count| Cell::int(count.damaged))
        .table();
    (!table.rows.is_empty()).then_some(table)
}
