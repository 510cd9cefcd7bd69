//! JFFS2 images.
//!
//! Layer: rank 7. In reading order: [`nodes`] finds its nodes, [`survey`] derives the flash from them,
//! [`choose`] compares that with what the user specifies, [`audit`] puts the damage into words; [`deleted`] finds what is
//! left of deleted files, [`past`] older states; [`create`] makes a new one.

mod audit;
mod choose;
mod create;
mod deleted;
mod nodes;
mod past;
mod survey;

use super::recipe::known_spare;
use super::{
    DetectedFileSystem, FileSystemType, Hints, ImageFileSystem, MountedImage, Recipe,
    RecipeContent, refuse_guessed_block, refuse_volumes,
};
use crate::audit::Audit;
use crate::contents::Contents;
use crate::deleted::Remnants;
use crate::detection::{Confidence, Detection, Kind};
use crate::dump::Dump;
use crate::error::Error;
use crate::files::{Compression, FlashFormat, Jffs2Options};
use crate::rebuild::{self, RebuildStep, size};
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_codec::ByteOrder;
use boardlab_jffs2::format::inode::Compressor;
use boardlab_jffs2::usage::Usage;
use boardlab_jffs2::{Jffs2, Options, Profile};
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::{Bytes, Clock};
use choose::{choose, spare};
use nodes::Nodes;
use std::ops::Range;
use survey::{Cleanmarkers, Flash, Survey};

/// The entry in the list of filesystems.
pub(super) const TYPE: FileSystemType = FileSystemType {
    name: "JFFS2",
    search: || Box::new(Nodes::default()),
    create: None,
    create_dump: Some(create::create),
};

/// A detected JFFS2.
#[derive(Debug, Clone)]
struct Image {
    nodes: Nodes,
    /// What the nodes show.
    flash: Flash,
    /// The offset of the filesystem in the file.
    at: Bytes,
}

impl DetectedFileSystem for Image {
    fn of_changed(&self, _contents: &Contents) -> Box<dyn DetectedFileSystem> {
        Box::new(self.clone())
    }

    fn shape(&self) -> Shape {
        self.flash.shape
    }

    fn spare(&self, contents: &Contents) -> Option<Spare> {
        spare(contents, self.flash.shape, &self.flash)
    }

    fn tell(
        &self,
        run: &mut RunResult,
        contents: &Contents,
        _hints: &Hints,
        audit: Option<&Audit>,
    ) {
        run.tables.push(filesystem(&self.flash, audit));
        run.warnings.extend(warnings(&self.flash, contents.length()));
        run.findings.extend(without_spare(&self.flash));
    }

    fn rebuild(&self, contents: &Contents) -> Vec<RebuildStep> {
        rebuild(&self.flash, self.spare(contents).as_ref())
    }

    fn recipe(&self, contents: &Contents, hints: &Hints) -> Result<Recipe, Error> {
        let choice = choose(contents, self, hints)?;
        refuse_guessed_block(choice.flash.block_known, hints)?;
        let choice = choice.without_front();
        let Flash { order, cleanmarkers, .. } = choice.flash;
        let options = Options { byte_order: Some(order), read_only: true, ..Options::default() };
        let mut clock = Clock::new();
        let usage = Jffs2::mount(&mut clock, choice.dump()?, options).ok();
        let usage = usage.and_then(|mut fs| fs.usage(&mut clock).ok()).unwrap_or_default();
        let found = spare(&choice.contents, choice.shape, &choice.flash);
        let jffs2 = Jffs2Options {
            cleanmarkers: cleanmarkers != Cleanmarkers::None,
            summary: usage.summaries > 0,
        };
        let compression = compression(&usage);
        let spare = known_spare(choice.shape, found.as_ref())?;
        let (place, mut dump) = ((choice.at, choice.shape), choice.dump()?);
        Ok(Recipe::new(contents, place, &mut dump, spare, |format| {
            RecipeContent::Flash(
                create::create,
                FlashFormat { order, jffs2, compression, ..format },
            )
        }))
    }

    fn mount(&self, contents: &Contents, hints: &Hints) -> Result<MountedImage, Error> {
        refuse_volumes(hints)?;
        if hints.commit.is_some() {
            return Err(Error::NotFor { option: "--commit", what: "JFFS2, which has no commits" });
        }
        let mut choice = choose(contents, self, hints)?;
        // Data that Linux reads twice are read once here: a malicious image would otherwise take hours.
        let profile = Profile { rereads_empty: false, ..Profile::LINUX_6_1 };
        let byte_order = Some(choice.flash.order);
        let (read_only, wall) = (hints.reads_only(), hints.wall());
        if !read_only {
            refuse_guessed_block(choice.flash.block_known, hints)?;
            choice = choice.without_front();
        }
        let options = Options { byte_order, profile, read_only, wall, ..Options::default() };
        let mut clock = Clock::new();
        let fs = Jffs2::mount(&mut clock, choice.dump()?, options.clone())
            .map_err(|problem| Error::Mount(problem.into()))?;
        if let Some(wanted) = hints.as_of {
            let fs = Box::new(past::mount(fs, options, wanted)?);
            return Ok(MountedImage { fs, clock, at: choice.at, truncated: choice.truncated });
        }
        Ok(MountedImage { fs: Box::new(fs), clock, at: choice.at, truncated: choice.truncated })
    }
}

impl ImageFileSystem for Jffs2<Dump> {
    fn dump(&self) -> &Dump {
        self.device()
    }

    fn dump_mut(&mut self) -> &mut Dump {
        self.device_mut()
    }

    fn audit(&mut self, clock: &mut Clock) -> Result<Audit, Error> {
        audit::audit(self, clock)
    }

    fn deleted(self: Box<Self>, clock: &mut Clock) -> Result<Remnants, Error> {
        deleted::remnants(*self, clock)
    }

    fn inodes_in(&self, range: Range<Bytes>) -> Vec<u32> {
        Self::inodes_in(self, range)
    }
}

/// The compression with which such nodes are written; `None` where they do not show it.
fn compression(usage: &Usage) -> Option<Compression> {
    let has = |one: Compressor| usage.compressors.contains_key(&one);
    match (has(Compressor::Lzo), has(Compressor::Zlib), has(Compressor::Rtime)) {
        (true, true, _) => Some(Compression::FavorLzo),
        (true, false, _) => Some(Compression::Lzo),
        (false, true, true) => Some(Compression::Priority),
        (false, true, false) => Some(Compression::Zlib),
        (false, false, true) => Some(Compression::Rtime),
        (false, false, false) => has(Compressor::None).then_some(Compression::None),
    }
}

/// What the nodes tell, as far as they are not within some `other` content.
fn recognise(nodes: Nodes, contents: &Contents, other: &[Detection]) -> Option<(Detection, Image)> {
    let flash = Survey::of(contents, &nodes)?.conclude();
    let right = flash.checked - flash.damaged;
    let confidence = match (right, nodes.headers.len(), flash.cleanmarkers) {
        (1.., _, _) => Confidence::Certain,
        (0, 1.., _) | (0, 0, Cleanmarkers::Oob) => Confidence::Likely,
        _ => return None,
    };
    if other.iter().any(|one| one.covers(flash.first)) {
        return None;
    }
    // Erased blocks before it belong to it; other content does not.
    let behind = other.iter().any(|one| one.at < flash.first);
    let at = match flash.origin {
        Bytes::ZERO if behind => start_of_block(flash.shape, flash.first),
        origin => origin,
    };
    let mut found = Detection::new(Kind::FileSystem(TYPE.name), at, confidence);
    found.detail = flash.order.to_string();
    if let Some(node) = nodes.headers.first() {
        found = found.because(node.at, format!("first node, {}, checksum right", node.order));
    }
    if !flash.origin.is_zero() {
        let before = flash.origin.get();
        found =
            found.because(Bytes::ZERO, format!("{before} bytes of something else in front of it"));
    }
    if flash.checked > 0 {
        let counts = format!("{right} of {} nodes right", flash.checked);
        let pages = match flash.shape.oob.get() {
            0 => "without spare bytes".to_owned(),
            oob => format!("with {oob} spare bytes after every {}", flash.shape.page),
        };
        found = found.because(flash.first, format!("{counts} {pages}"));
    }
    found = blocks_because(found, &flash);
    if let Some(needed) = flash.truncated {
        let what = format!("the file ends here; {} bytes would be whole", needed.get());
        found = found.because(contents.length(), what);
    }
    found.shape = Some(flash.shape);
    Some((found, Image { nodes, flash, at }))
}

fn blocks_because(found: Detection, flash: &Flash) -> Detection {
    let block = flash.shape.block;
    let by = match (flash.block_known, flash.cleanmarkers) {
        (true, Cleanmarkers::Data) => "by cleanmarkers or summaries",
        (true, Cleanmarkers::Oob) => "by cleanmarkers in the spare bytes, or summaries",
        (true, Cleanmarkers::None) => "by summaries",
        (false, _) => "the smallest that no node crosses",
    };
    found.because(flash.first, format!("erase blocks of {block}: {by}"))
}

/// The offset of the erase block that the byte at `at` is in.
fn start_of_block(shape: Shape, at: Bytes) -> Bytes {
    shape.raw_block() * (at / shape.raw_block())
}

/// For a mounted filesystem all nodes are verified, after correction; else a sample of them.
fn filesystem(flash: &Flash, audit: Option<&Audit>) -> Table {
    let sample = (flash.checked as u64, flash.damaged as u64);
    let (checked, damaged) = audit.map_or(sample, |it| (it.nodes, it.damaged));
    let cleanmarkers = match flash.cleanmarkers {
        Cleanmarkers::Data => "in the data",
        Cleanmarkers::Oob => "in the spare bytes",
        Cleanmarkers::None => "none",
    };
    Table::new("filesystem", "Filesystem")
        .of([(Row::new("jffs2", ""), ())])
        .column("order", "byte order", |()| Cell::text(flash.order.to_string()))
        .column("cleanmarkers", "cleanmarkers", |()| Cell::text(cleanmarkers))
        .column("checked_count", "nodes checked", |()| Cell::int(checked))
        .column("damaged_count", "of them damaged", |()| Cell::int(damaged))
        .table()
}

fn warnings(flash: &Flash, length: Bytes) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(needed) = flash.truncated {
        let (length, needed) = (length.get(), needed.get());
        warnings
            .push(format!("The file is truncated: it has {length} bytes of at least {needed}."));
    }
    if !flash.block_known {
        warnings.push(format!(
            "No cleanmarker or summary gives the size of erase blocks: {} is the smallest size that no node crosses.",
            flash.shape.block
        ));
    }
    warnings
}

/// The command that makes such a JFFS2 of a folder. Its nodes do not say how it compresses files to come.
fn rebuild(flash: &Flash, spare: Option<&Spare>) -> Vec<RebuildStep> {
    let order = if flash.order == ByteOrder::Little { "--little-endian" } else { "--big-endian" };
    let block = size(flash.shape.block);
    let markers = if flash.cleanmarkers == Cleanmarkers::Data { "" } else { " --no-cleanmarkers" };
    let line = format!(
        "mkfs.jffs2 --root=DIR --output=image.jffs2 --eraseblock={block} {order}{markers} --pad"
    );
    let mut steps = vec![RebuildStep::new("mkfs.jffs2", line)];
    if !flash.shape.oob.is_zero() {
        let found = spare.map_or_else(String::new, ToString::to_string);
        let note = format!(
            "the {} spare bytes a page are not made; nandwrite makes those of the board, which are now: {found}",
            flash.shape.oob.get()
        );
        steps.push(RebuildStep::new("note", note));
    }
    // Without spare bytes it lies on a NOR, as far as anybody can tell.
    let pages = match flash.shape.oob.is_zero() {
        true => format!("--page 1 --block {block}"),
        false => rebuild::flash(flash.shape),
    };
    let (oob, note) = rebuild::spare(flash.shape, spare);
    if note.is_none() {
        let order = if flash.order == ByteOrder::Little { "" } else { " --big-endian" };
        let markers =
            if flash.cleanmarkers == Cleanmarkers::None { " --no-cleanmarkers" } else { "" };
        let line = format!(
            "boardlab image create DIR image.jffs2 --fs jffs2 {pages}{oob}{order}{markers}"
        );
        steps.push(RebuildStep::new("boardlab", line));
    }
    steps
}

/// The warning for a file without OOB bytes in which nothing indicates NOR.
fn without_spare(flash: &Flash) -> Option<String> {
    // JFFS2 writes cleanmarkers into the data on NOR only.
    let open = flash.shape.oob.is_zero() && flash.cleanmarkers != Cleanmarkers::Data;
    let text = "The file has no OOB bytes, so it is read as NOR. If it is of NAND, its files are the same, but bit errors \
                cannot be corrected and bad blocks cannot be recognised. `nanddump --oob --bb=dumpbad` dumps the OOB bytes.";
    open.then(|| text.into())
}

#[cfg(test)]
pub(crate) mod tests;
