//! LogFS images.
//!
//! Layer: rank 7. In reading order: [`survey`] finds the superblock and derives the flash from it, this file mounts
//! it, [`audit`] puts the damage into words, [`detail`] what the superblock says; [`deleted`] finds
//! what is left of deleted files, [`create`] makes new images.
//!
//! The state is that of the last commit, as a mount of Linux has it. Changes that the journal notes are in memory.

mod audit;
mod create;
mod deleted;
mod detail;
mod survey;

use super::recipe::known_spare;
use super::{
    DetectedFileSystem, Detector, FileSystemType, Hints, ImageFileSystem, MountedImage, Recipe,
    RecipeContent, refuse_as_of, refuse_volumes,
};
use crate::audit::Audit;
use crate::contents::Contents;
use crate::deleted::Remnants;
use crate::detection::Detection;
use crate::dump::Dump;
use crate::error::{Error, TruncatedPart};
use crate::files::{Compression, FlashFormat};
use crate::finding::Finding;
use crate::places::Places;
use crate::rebuild::{self, RebuildStep};
use crate::shape::Shape;
use crate::spare::Spare;
use audit::Opened;
use boardlab_codec::ByteOrder;
use boardlab_logfs::format::{Superblock, superblock};
use boardlab_logfs::mkfs::{Format, SEGMENT_SHIFT_MIN};
use boardlab_logfs::{Logfs, Options};
use boardlab_result::RunResult;
use boardlab_sim::{Bytes, Clock};
use std::ops::Range;

/// The entry in the list of filesystems.
pub(super) const TYPE: FileSystemType = FileSystemType {
    name: "LogFS",
    search: || Box::new(Search::default()),
    create: None,
    create_dump: Some(create::create),
};

/// Where the magic number lies in a superblock.
const MAGIC_AT: Bytes = Bytes::new(superblock::MAGIC_AT as u64);
/// The magic numbers that are remembered.
const PLACES: usize = 64;
/// Bytes of the file for each byte of flash that a superblock may claim, in a truncated file: one in so many.
const CLAIM: u64 = 8;

/// The places of magic numbers.
#[derive(Debug, Default)]
struct Search {
    places: Vec<Bytes>,
}

impl Detector for Search {
    fn magics(&self) -> &'static [&'static [u8]] {
        const NEW: [u8; 8] = superblock::MAGIC.to_be_bytes();
        &[&NEW]
    }

    fn look(&mut self, at: Bytes, _head: &[u8]) {
        if at >= MAGIC_AT && self.places.len() < PLACES {
            self.places.push(at - MAGIC_AT);
        }
    }

    fn has_enough(&self) -> bool {
        self.places.len() == PLACES
    }

    fn look_at_end(&mut self, at: Bytes, head: &[u8]) {
        self.look(at, head);
    }

    fn covers(&self, contents: &Contents) -> Option<Box<dyn DetectedFileSystem>> {
        let (_, image) = survey::recognise(contents, &[Bytes::ZERO], &[])?;
        let whole = image.at.is_zero() && image.needed() == contents.length();
        whole.then(|| Box::new(image) as _)
    }

    fn conclude(
        self: Box<Self>,
        contents: &Contents,
        other: &[Detection],
    ) -> Option<(Detection, Box<dyn DetectedFileSystem>)> {
        let (found, image) = survey::recognise(contents, &self.places, other)?;
        Some((found, Box::new(image)))
    }
}

/// A detected LogFS.
#[derive(Debug, Clone)]
struct Image {
    /// The offset of the flash in the file.
    at: Bytes,
    shape: Shape,
    superblock: Superblock,
}

impl Image {
    /// The erase blocks of the filesystem.
    fn blocks(&self) -> u64 {
        self.superblock.size.div_ceil(self.shape.block.get())
    }

    /// Bytes of the file that the filesystem takes.
    fn needed(&self) -> Bytes {
        self.at + self.shape.raw_block() * self.blocks()
    }

    /// The settings of such a filesystem, as far as the superblock says them and a new one can have them.
    fn format(&self) -> Format {
        let one = &self.superblock;
        let journal = one.journal.iter().filter(|&&segment| segment > 0).count();
        let journal = u8::try_from(journal).ok().filter(|&count| count > 1);
        Format {
            segment_shift: Some(one.segment_shift).filter(|&shift| shift >= SEGMENT_SHIFT_MIN),
            write_shift: Some(one.write_shift),
            journal_segments: journal.unwrap_or(Format::default().journal_segments),
            bad_segment_reserve: one.bad_segment_reserve,
            ..Format::default()
        }
    }

    /// The bytes that the file should have, when it is truncated.
    fn truncated(&self, contents: &Contents) -> Option<Bytes> {
        (contents.length() < self.needed()).then(|| self.needed())
    }

    /// The flash.
    fn dump(&self, contents: &Contents) -> Result<Dump, Error> {
        let spare = self.spare(contents);
        let dump = Dump::with_spare(contents.from(self.at), self.shape, spare)?;
        let believable = contents.length().get() * CLAIM / self.shape.block.get();
        let blocks = u32::try_from(self.blocks().min(believable.max(1))).unwrap_or(u32::MAX);
        dump.extended(blocks)
    }

    /// Refuses what the user says of the flash and the image contradicts.
    fn agrees(&self, hints: &Hints) -> Result<(), Error> {
        let found = self.shape;
        let expected = hints.shape_over(found)?;
        if let Some(expected) = hints.order.filter(|&order| order != ByteOrder::Big) {
            return Err(Error::WrongByteOrder { expected, found: ByteOrder::Big, at: self.at });
        }
        // The page of a file without OOB bytes is a guess, and an erase block may be a part of a segment.
        let page = found.oob.is_zero() || expected.page == found.page;
        let block = found.block.is_multiple_of(expected.block);
        if page && block && expected.oob == found.oob {
            return Ok(());
        }
        Err(Error::WrongShape { expected, found })
    }
}

impl DetectedFileSystem for Image {
    fn of_changed(&self, _contents: &Contents) -> Box<dyn DetectedFileSystem> {
        Box::new(self.clone())
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn spare(&self, contents: &Contents) -> Option<Spare> {
        Spare::detect_if_any(&contents.from(self.at), self.shape, Bytes::ZERO, None)
    }

    fn tell(
        &self,
        run: &mut RunResult,
        _contents: &Contents,
        _hints: &Hints,
        audit: Option<&Audit>,
    ) {
        run.tables.push(detail::filesystem(&self.superblock, audit));
        run.findings.extend(detail::without_spare(self.shape));
    }

    fn rebuild(&self, contents: &Contents) -> Vec<RebuildStep> {
        let (oob, note) = rebuild::spare(self.shape, self.spare(contents).as_ref());
        let (flash, blocks) = (rebuild::flash(self.shape), self.blocks());
        let line = format!(
            "boardlab image create DIR image.logfs --fs logfs {flash}{oob} --max-blocks {blocks}"
        );
        [RebuildStep::new("boardlab", line)].into_iter().chain(note).collect()
    }

    fn recipe(&self, contents: &Contents, hints: &Hints) -> Result<Recipe, Error> {
        self.agrees(hints)?;
        let blocks = u32::try_from(self.blocks()).unwrap_or(u32::MAX);
        let spare = known_spare(self.shape, self.spare(contents).as_ref())?;
        let (place, mut dump) = ((self.at, self.shape), self.dump(contents)?);
        let options = Options { read_only: true, ..Options::default() };
        let mut clock = Clock::new();
        let fs = Logfs::mount(&mut clock, self.dump(contents)?, options).ok();
        let is_compressed = fs.is_some_and(|mut fs| fs.is_compressed(&mut clock));
        let compression = if is_compressed { Compression::Zlib } else { Compression::None };
        let logfs = self.format();
        let recipe = Recipe::new(contents, place, &mut dump, spare, |format| {
            let (compression, logfs) = (Some(compression), logfs);
            // What lies behind it stays as it is.
            let mut bad_blocks = format.bad_blocks.clone();
            bad_blocks.retain(|&block| block < blocks);
            let format = FlashFormat { blocks, compression, logfs, bad_blocks, ..format };
            RecipeContent::Flash(create::create, format)
        });
        Ok(Recipe { blocks: blocks.into(), ..recipe })
    }

    fn mount(&self, contents: &Contents, hints: &Hints) -> Result<MountedImage, Error> {
        refuse_volumes(hints)?;
        if hints.commit.is_some() {
            let what = "LogFS, whose older commits lead to segments that were erased since";
            return Err(Error::NotFor { option: "--commit", what });
        }
        refuse_as_of(hints, "LogFS, whose objects have no sequence numbers")?;
        self.agrees(hints)?;
        let truncated = self.truncated(contents);
        if let (Some(needed), false) = (truncated, hints.partial) {
            let block = (contents.length() - self.at) / self.shape.raw_block();
            let cut = TruncatedPart::Block { shape: self.shape, block };
            return Err(Error::Truncated { length: contents.length(), needed, cut });
        }
        let (read_only, wall) = (hints.reads_only(), hints.wall());
        let options = Options { read_only, wall, ..Options::default() };
        let mut clock = Clock::new();
        let fs = Logfs::mount(&mut clock, self.dump(contents)?, options)
            .map_err(|problem| Error::Mount(problem.into()))?;
        Ok(MountedImage { fs: Box::new(Opened::new(fs)), clock, at: self.at, truncated })
    }
}

impl ImageFileSystem for Opened {
    fn dump(&self) -> &Dump {
        self.fs.device()
    }

    fn dump_mut(&mut self) -> &mut Dump {
        self.fs.device_mut()
    }

    fn copy(&self) -> Option<Box<dyn ImageFileSystem>> {
        Some(Box::new(self.clone()))
    }

    fn deleted(self: Box<Self>, clock: &mut Clock) -> Result<Remnants, Error> {
        deleted::remnants(*self, clock)
    }

    fn audit(&mut self, clock: &mut Clock) -> Result<Audit, Error> {
        audit::audit(self, clock)
    }

    fn findings(&mut self, _clock: &mut Clock, places: &Places) -> Vec<Finding> {
        audit::findings(self, places)
    }

    fn inodes_in(&self, range: Range<Bytes>) -> Vec<u32> {
        self.inodes_of(range.start.get()..range.end.get())
    }
}
