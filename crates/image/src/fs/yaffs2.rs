//! YAFFS images: dumps of a flash, and what `mkyaffs2image` and its relatives write.
//!
//! Layer: rank 7. In reading order: [`headers`] finds object headers, [`survey`] derives the pages and the place
//! of the tags from them, [`pages`] is what it finds; [`blocks`] derives the erase blocks. [`flash`] is what YAFFS
//! is mounted on; [`past`] its older states, [`deleted`] its deleted files. [`audit`], [`check`] and [`detail`] put
//! damage, contradictions and everything else into words.
//!
//! A mount always scans, and leaves the checkpoint alone: nothing of a checkpoint is believed that no page
//! shows. `info` compares both.

mod audit;
mod blocks;
mod check;
mod create;
mod deleted;
mod detail;
mod flash;
mod headers;
mod pages;
mod past;
mod survey;

use super::{
    DetectedFileSystem, FileSystemType, Hints, ImageFileSystem, MountedImage, Recipe,
    refuse_guessed_block, refuse_volumes,
};
use crate::audit::Audit;
use crate::contents::Contents;
use crate::deleted::Remnants;
use crate::detection::{Confidence, Detection, Kind};
use crate::dump::Dump;
use crate::error::{Error, Misfit, TruncatedPart};
use crate::finding::Finding;
use crate::places::Places;
use crate::rebuild::RebuildStep;
use crate::shape::Shape;
use crate::spare::Spare;
use blocks::Blocks;
use boardlab_codec::ByteOrder;
use boardlab_result::RunResult;
use boardlab_sim::{Bytes, Clock};
use boardlab_yaffs2::{Options, Yaffs};
use flash::ImageFlash;
use headers::Headers;
use pages::{Pages, Verdict};
use std::ops::Range;
use survey::{Fit, Survey};

/// The entry in the list of filesystems.
pub(super) const TYPE: FileSystemType = FileSystemType {
    name: "YAFFS2",
    search: || Box::new(Headers::default()),
    create: None,
    create_dump: Some(create::create),
};
/// The name of the older format.
const YAFFS1: &str = "YAFFS1";
/// Pages that show whether a file has nothing else.
const SAMPLES: u64 = 256;
/// The fewest blocks that YAFFS mounts when it keeps none for garbage collection.
const BLOCKS_MIN: u32 = 4;

/// A detected YAFFS.
#[derive(Debug, Clone)]
struct Image {
    /// Offsets of object headers in the file, and their byte order.
    headers: Vec<Bytes>,
    order: ByteOrder,
    /// Its flash; `None` when the tags are not in the file.
    flash: Option<Flash>,
    /// Data bytes of a page, as far as they are known.
    page: Bytes,
}

/// The flash of a YAFFS.
#[derive(Debug, Clone)]
struct Flash {
    fit: Fit,
    blocks: Blocks,
    /// The offset of the filesystem in the file.
    at: Bytes,
}

impl Flash {
    fn of(contents: &Contents, fit: Fit) -> Self {
        let blocks = Blocks::of(contents, &fit);
        let at = fit.phase + fit.pages.raw() * blocks.skipped;
        Self { fit, blocks, at }
    }

    fn shape(&self) -> Shape {
        let Pages { page, oob, .. } = self.fit.pages;
        Shape::nand(page, oob, page * self.blocks.pages)
    }

    /// The use of the spare bytes, where there are any.
    fn spare(&self, contents: &Contents) -> Option<Spare> {
        let shape = self.shape();
        let known = self.fit.first - self.at.min(self.fit.first);
        let contents = contents.from(self.at);
        (!shape.oob.is_zero())
            .then(|| Spare::detect_beside(&contents, shape, known, &self.fit.pages.place.taken()))
    }

    /// The flash as YAFFS sees it.
    fn open(&self, contents: &Contents) -> Result<ImageFlash, Error> {
        let spare = self.spare(contents);
        let codes = spare.as_ref().filter(|spare| spare.corrects());
        let linux_order = codes.is_some_and(|spare| !spare.has_smart_media_order());
        let code_bytes = codes.map_or(&[][..], |spare| spare.layout().ecc());
        let is_code = |at: usize| code_bytes.iter().any(|range| range.contains(&at));
        let mark = self.blocks.mark.clone().filter(|mark| !mark.clone().any(is_code));
        let dump = Dump::with_spare(contents.from(self.at), self.shape(), spare)?;
        let dump = dump.extended(BLOCKS_MIN)?;
        let mut flash = ImageFlash::new(dump, self.fit.pages.clone(), mark, linux_order);
        flash.blocks_known = self.blocks.known;
        Ok(flash)
    }

    fn options(&self, hints: &Hints) -> Options {
        let read_only = hints.reads_only();
        let reserved_blocks = if read_only { 0 } else { Options::default().reserved_blocks };
        Options {
            tags: self.fit.pages.place.tags_place(),
            byte_order: self.fit.pages.order,
            read_only,
            wall: hints.wall(),
            reserved_blocks,
            // Who changes an image wants to find it so.
            repaired: !read_only,
            read_checkpoint: false,
            write_checkpoint: false,
            empty_lost_and_found: false,
            ..Options::default()
        }
    }

    fn mount(&self, flash: ImageFlash, options: Options) -> Result<Yaffs<ImageFlash>, Error> {
        Yaffs::mount(&mut Clock::new(), flash, options)
            .map_err(|problem| Error::Mount(problem.into()))
    }

    /// The bytes that the file should have, when its last page is not whole.
    fn truncated(&self, contents: &Contents) -> Option<Bytes> {
        let raw = self.fit.pages.raw();
        let length = contents.length() - self.at;
        (!length.is_multiple_of(raw)).then(|| self.at + raw * length.div_ceil(raw))
    }

    /// Whether the file begins with a page of it, and pages from all over the file, if they are programmed,
    /// have tags that fit them.
    fn covers(&self, contents: &Contents) -> bool {
        let pages = &self.fit.pages;
        let raw = pages.raw();
        let count = contents.length() / raw;
        let distance = count.div_ceil(SAMPLES).max(1);
        let verdict = |number: u64| pages.judge(&contents.window(raw * number, raw.to_usize()));
        let begins = self.at.is_zero() && matches!(verdict(0), Verdict::Right { .. });
        begins
            && contents.length().is_multiple_of(raw)
            && (0..SAMPLES)
                .map(|sample| sample * distance)
                .take_while(|number| *number < count)
                .all(|number| verdict(number) != Verdict::Wrong)
    }

    const fn name(&self) -> &'static str {
        if self.fit.pages.place.is_yaffs2() { TYPE.name } else { YAFFS1 }
    }
}

impl Image {
    /// Whether the file has nothing else.
    fn covers(&self, contents: &Contents) -> bool {
        self.flash.as_ref().is_some_and(|flash| flash.covers(contents))
    }

    /// The flash that `hints` mean.
    fn choose(&self, contents: &Contents, hints: &Hints) -> Result<Flash, Error> {
        let flash = self.with_pages(contents, hints)?;
        let found = flash.shape();
        if let Some(expected) = hints.order.filter(|order| *order != self.order) {
            let (found, at) = (self.order, flash.fit.first);
            return Err(Error::WrongByteOrder { expected, found, at });
        }
        let Some(block) = hints.block.filter(|block| *block != found.block) else {
            return Ok(flash);
        };
        let wanted = Shape { block, ..found };
        wanted.check().map_err(|problem| Error::Unsound { problem })?;
        if flash.blocks.known {
            return Err(Error::WrongBlock { expected: block, found, because: Misfit::Sequence });
        }
        let blocks = Blocks { pages: wanted.pages_per_block(), skipped: 0, ..flash.blocks };
        Ok(Flash { blocks, ..flash })
    }

    /// The flash with the page and OOB size of the user, unless the tags contradict them.
    fn with_pages(&self, contents: &Contents, hints: &Hints) -> Result<Flash, Error> {
        let none = || Error::NoTags { page: self.page, at: self.headers[0] };
        let found = self.flash.as_ref();
        let same = |flash: &&Flash| {
            let Pages { page, oob, .. } = flash.fit.pages;
            hints.page.is_none_or(|hint| hint == page) && hints.oob.is_none_or(|hint| hint == oob)
        };
        if hints.page.is_none() && hints.oob.is_none() || found.is_some_and(|it| same(&it)) {
            return found.cloned().ok_or_else(none);
        }
        let (page, oob) = (hints.page.unwrap_or(self.page), hints.oob.unwrap_or(Bytes::ZERO));
        let wanted = Shape::nand(page, oob, page * (Bytes::mib(1) / page.max(Bytes::new(1))));
        wanted.check().map_err(|problem| Error::Unsound { problem })?;
        let survey = Survey { contents, headers: &self.headers, order: self.order };
        let fit = survey.best(hints.page, hints.oob);
        match (fit, found) {
            (Some(fit), Some(found)) if fit.right * 2 >= found.fit.right => {
                Ok(Flash::of(contents, fit))
            }
            (Some(fit), None) => Ok(Flash::of(contents, fit)),
            (_, Some(found)) => {
                let found = found.shape();
                let page = hints.page.unwrap_or(found.page);
                let oob = hints.oob.unwrap_or(found.oob);
                let expected = Shape { page, oob, block: found.block };
                Err(Error::WrongShape { expected, found })
            }
            (None, None) => Err(none()),
        }
    }
}

impl DetectedFileSystem for Image {
    fn of_changed(&self, _contents: &Contents) -> Box<dyn DetectedFileSystem> {
        Box::new(self.clone())
    }

    fn shape(&self) -> Shape {
        let bare = || Shape::nand(self.page, Bytes::ZERO, self.page * 64);
        self.flash.as_ref().map_or_else(bare, Flash::shape)
    }

    fn spare(&self, contents: &Contents) -> Option<Spare> {
        self.flash.as_ref()?.spare(contents)
    }

    fn tell(
        &self,
        run: &mut RunResult,
        contents: &Contents,
        _hints: &Hints,
        audit: Option<&Audit>,
    ) {
        if let Some(flash) = &self.flash {
            detail::tell(run, contents, flash, audit);
        }
    }

    fn rebuild(&self, contents: &Contents) -> Vec<RebuildStep> {
        let flash = self.flash.as_ref();
        flash.map_or_else(Vec::new, |flash| detail::rebuild(flash, flash.spare(contents).as_ref()))
    }

    fn recipe(&self, contents: &Contents, hints: &Hints) -> Result<Recipe, Error> {
        let flash = self.choose(contents, hints)?;
        refuse_guessed_block(flash.blocks.known, hints)?;
        detail::recipe(&flash, contents)
    }

    fn mount(&self, contents: &Contents, hints: &Hints) -> Result<MountedImage, Error> {
        refuse_volumes(hints)?;
        if hints.commit.is_some() {
            return Err(Error::NotFor { option: "--commit", what: "YAFFS: give --as-of" });
        }
        let flash = self.choose(contents, hints)?;
        let truncated = flash.truncated(contents);
        if let (Some(needed), false) = (truncated, hints.partial) {
            let length = contents.length();
            let block = (length - flash.at) / flash.shape().raw_block();
            let cut = TruncatedPart::Page { shape: flash.shape(), block };
            return Err(Error::Truncated { length, needed, cut });
        }
        if !hints.reads_only() {
            refuse_guessed_block(flash.blocks.known, hints)?;
        }
        let mut fs = flash.mount(flash.open(contents)?, flash.options(hints))?;
        if let Some(sequence) = hints.as_of {
            fs = past::mount(&flash, fs, sequence)?;
        }
        let clock = Clock::new();
        Ok(MountedImage { fs: Box::new(fs), clock, at: flash.at, truncated })
    }
}

impl ImageFileSystem for Yaffs<ImageFlash> {
    fn dump(&self) -> &Dump {
        self.device().dump()
    }

    fn dump_mut(&mut self) -> &mut Dump {
        self.device_mut().dump_mut()
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

    fn findings(&mut self, clock: &mut Clock, places: &Places) -> Vec<Finding> {
        check::findings(self, clock, places)
    }

    fn inodes_in(&self, range: Range<Bytes>) -> Vec<u32> {
        let page = self.device().pages.page;
        let holders = &self.device().holders;
        let first =
            holders.partition_point(|(number, _)| page * (u64::from(*number) + 1) <= range.start);
        let touched = holders[first..].iter();
        let touched = touched.take_while(|(number, _)| page * u64::from(*number) < range.end);
        let mut inodes: Vec<u32> = touched.map(|(_, object)| *object).collect();
        inodes.sort_unstable();
        inodes.dedup();
        inodes
    }
}

/// What the headers tell, as far as they are not within some `other` content.
fn recognise(
    headers: &Headers,
    contents: &Contents,
    other: &[Detection],
) -> Option<(Detection, Image)> {
    let (headers, order) = headers.sound(contents)?;
    let survey = Survey { contents, headers: &headers, order };
    let Some(fit) = survey.best(None, None) else {
        return without_tags(&survey, other);
    };
    if is_within(fit.first, other) {
        return None;
    }
    let mut flash = Flash::of(contents, fit);
    let raw_block = flash.shape().raw_block();
    // Erased blocks before it belong to it; other content does not, unless it is in a file.
    let is_beside = |one: &&Detection| {
        let Fit { phase, ref pages, .. } = flash.fit;
        let page = contents.window(one.at, pages.raw().to_usize());
        let is_page = one.at >= phase && (one.at - phase).is_multiple_of(pages.raw());
        !(is_page && matches!(pages.judge(&page), Verdict::Right { .. }))
    };
    if other.iter().filter(is_beside).any(|one| one.at < flash.fit.first) {
        flash.at += raw_block * ((flash.fit.first - flash.at.min(flash.fit.first)) / raw_block);
    }
    let Fit { right, wrong, by_code, first, ref pages, .. } = flash.fit;
    let confidence = if right > 1 { Confidence::Certain } else { Confidence::Likely };
    let mut found = Detection::new(Kind::FileSystem(flash.name()), flash.at, confidence);
    found.detail = pages.order.to_string();
    let name = pages::object_header(&contents.window(first, 512), order, false);
    let name = name.map_or(String::new(), |header| crate::names::shown(&header.name));
    // The root has no name.
    let name = if name.is_empty() { "/" } else { &name };
    found = found.because(first, format!("object header of `{name}`"));
    let by = if by_code > 0 { format!(", {by_code} by their code") } else { String::new() };
    let counts =
        format!("the tags of {right} of {} pages fit them{by}: {}", right + wrong, pages.place);
    found = found.because(first, counts);
    let block = flash.shape().block;
    let by = if flash.blocks.known { "by the sequence numbers" } else { "a guess" };
    found = found.because(flash.at, format!("erase blocks of {block}: {by}"));
    found.shape = Some(flash.shape());
    let page = flash.fit.pages.page;
    Some((found, Image { headers, order, flash: Some(flash), page }))
}

/// Object headers alone, in a file without spare bytes.
fn without_tags(survey: &Survey<'_>, other: &[Detection]) -> Option<(Detection, Image)> {
    let page = survey.bare_page()?;
    let (headers, order) = (survey.headers.to_vec(), survey.order);
    let first = headers[0];
    if is_within(first, other) || !first.is_multiple_of(page) {
        return None;
    }
    let mut found = Detection::new(Kind::FileSystem(TYPE.name), first, Confidence::Likely);
    found.detail = format!("pages of {page}, without the tags");
    let what = format!("{} object headers at multiples of {page}", headers.len());
    found = found.because(first, what);
    Some((found, Image { headers, order, flash: None, page }))
}

fn is_within(at: Bytes, other: &[Detection]) -> bool {
    // UBI has no size before it is attached.
    let is_ubi = |one: &Detection| one.size.is_none() && one.kind == Kind::Ubi && one.at <= at;
    let is_certain = |one: &Detection| one.confidence == Confidence::Certain;
    other.iter().any(|one| one.covers(at) || (is_ubi(one) && is_certain(one)))
}
