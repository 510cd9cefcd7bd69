//! Chooses the flash that an image is read as, from its nodes and from what the user specifies.
//!
//! Layer: rank 7. Main type: [`Choice`]; main function: [`choose`]. When the user and the nodes
//! disagree, the image is refused, with what would fit: an image read with wrong pages or blocks
//! would show some of its files and hide the rest.

use super::survey::{Flash, Survey};
use super::{Image, start_of_block};
use crate::contents::Contents;
use crate::dump::Dump;
use crate::error::{Error, Misfit, TruncatedPart};
use crate::fs::Hints;
use crate::shape::{LAYOUTS, Shape};
use crate::spare::Spare;
use boardlab_sim::Bytes;

/// How an image is to be read.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    /// The bytes of the file from the filesystem on.
    pub(super) contents: Contents,
    /// The flash.
    pub(super) shape: Shape,
    /// What the nodes show.
    pub(super) flash: Flash,
    /// The offset of the filesystem in the file.
    pub(super) at: Bytes,
    /// The minimum length of the file, when it is truncated and that was allowed.
    pub(super) truncated: Option<Bytes>,
}

impl Choice {
    /// For writing: from the block with the first node on, if there is anything before it but erased and zero bytes. That
    /// may be something else, such as a boot loader, and JFFS2 would erase it.
    pub(super) fn without_front(mut self) -> Self {
        const STEP: usize = 256 << 10;
        let first = self.flash.first - self.at.min(self.flash.first);
        let end = start_of_block(self.shape, first);
        let mut windows = (0..end.get()).step_by(STEP).map(Bytes::new);
        let holds_something = windows.any(|at| {
            let bytes = self.contents.window(at, (end - at).to_usize().min(STEP));
            bytes.iter().any(|byte| !matches!(byte, 0 | 0xFF))
        });
        if holds_something {
            self.contents = self.contents.from(end);
            self.at += end;
        }
        self
    }

    /// The flash, with the error correction that its OOB bytes show. Without OOB bytes in the file it
    /// is a NOR: JFFS2 on NAND keeps its cleanmarkers in the OOB area, and refuses a NAND without one.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub(super) fn dump(&self) -> Result<Dump, Error> {
        if self.shape.oob.is_zero() {
            return Dump::new(self.contents.clone(), Shape::nor(self.shape.block));
        }
        let spare = spare(&self.contents, self.shape, &self.flash);
        Dump::with_spare(self.contents.clone(), self.shape, spare)
    }
}

/// The use of the OOB bytes of an image, where it has any.
#[must_use]
pub(super) fn spare(contents: &Contents, shape: Shape, flash: &Flash) -> Option<Spare> {
    let marker = flash.marker.filter(|marker| marker + 8 <= shape.oob.to_usize());
    Spare::detect_if_any(contents, shape, flash.first, marker)
}

/// Determines how to read the filesystem that was found in `contents`.
///
/// # Errors
/// [`Error::WrongByteOrder`], [`Error::WrongPages`], [`Error::WrongBlock`], [`Error::Unsound`],
/// [`Error::Truncated`].
pub(super) fn choose(contents: &Contents, image: &Image, hints: &Hints) -> Result<Choice, Error> {
    let Image { nodes, flash, at } = image;
    let mut at = *at;
    let survey = Survey::with(contents, nodes, flash.order).with_blocks_from(flash.origin);
    check_order(flash, hints)?;
    let (page, oob) = pages(&survey, flash, hints)?;
    let shape = block(&survey, flash, page, oob, hints)?;
    if flash.origin.is_zero() && !at.is_zero() {
        // Behind other content, from the block with the first node on.
        at = start_of_block(shape, flash.first);
    }
    let truncated = survey.truncated(shape);
    if let Some(needed) = truncated.filter(|_| !hints.partial) {
        let length = contents.length();
        let block = (length - at) / shape.raw_block();
        let within = TruncatedPart::Block { shape, block };
        let cut = if shape.oob.is_zero() { TruncatedPart::Node } else { within };
        return Err(Error::Truncated { length, needed, cut });
    }
    // With another OOB size the OOB bytes begin elsewhere.
    let flash = Flash { marker: survey.marker(shape), ..flash.clone() };
    Ok(Choice { contents: contents.from(at), shape, flash, at, truncated })
}

fn check_order(flash: &Flash, hints: &Hints) -> Result<(), Error> {
    let found = flash.order;
    match hints.order.filter(|order| *order != found) {
        Some(expected) => Err(Error::WrongByteOrder { expected, found, at: flash.first }),
        None => Ok(()),
    }
}

/// Page and OOB size: those of the user, unless more nodes are valid with the detected ones.
fn pages(survey: &Survey<'_>, flash: &Flash, hints: &Hints) -> Result<(Bytes, Bytes), Error> {
    let found = (flash.shape.page, flash.shape.oob);
    if hints.page.is_none() && hints.oob.is_none() {
        return Ok(found);
    }
    let given = given_pages(flash.shape, hints);
    let shape = |(page, oob)| Shape { page, oob, block: flash.shape.block };
    // The block size is checked later; here only page and OOB size matter.
    Shape { block: given.0 * (Bytes::mib(1) / given.0.max(Bytes::new(1))), ..shape(given) }
        .check()
        .map_err(|problem| Error::Unsound { problem })?;
    let (ours, theirs) = (survey.fit(found.0, found.1), survey.fit(given.0, given.1));
    if theirs.right < ours.right {
        let at = survey.first_difference(shape(found), shape(given));
        return Err(Error::WrongPages {
            expected: (shape(given), theirs.right),
            found: (shape(found), ours.right),
            checked: ours.right + ours.wrong,
            at: at.unwrap_or(flash.first),
        });
    }
    Ok(given)
}

/// What the user specifies, completed by what was detected or is common.
fn given_pages(found: Shape, hints: &Hints) -> (Bytes, Bytes) {
    match (hints.page, hints.oob) {
        (Some(page), Some(oob)) => (page, oob),
        (Some(page), None) if page == Bytes::new(1) => (page, Bytes::ZERO),
        (Some(page), None) => (page, found.oob),
        (None, Some(oob)) if found.is_nand() || oob.is_zero() => (found.page, oob),
        (None, Some(oob)) => {
            let usual = LAYOUTS.iter().find(|(_, usual)| *usual == oob.get());
            (Bytes::new(usual.map_or(2_048, |(page, _)| *page)), oob)
        }
        (None, None) => (found.page, found.oob),
    }
}

/// The flash with the erase block size of the user, unless the nodes contradict it.
fn block(
    survey: &Survey<'_>,
    flash: &Flash,
    page: Bytes,
    oob: Bytes,
    hints: &Hints,
) -> Result<Shape, Error> {
    let found = Shape { page, oob, block: flash.shape.block };
    let shape = Shape { block: hints.block.unwrap_or(found.block), ..found };
    shape.check().map_err(|problem| Error::Unsound { problem })?;
    let wrong = |because| Error::WrongBlock { expected: shape.block, found, because };
    if shape.block == found.block {
        return Ok(shape);
    }
    if let Some(at) = survey.crossing(shape) {
        return Err(wrong(Misfit::Crossed(at)));
    }
    if flash.block_known {
        return Err(wrong(Misfit::Marked));
    }
    Ok(shape)
}

#[cfg(test)]
mod tests;
