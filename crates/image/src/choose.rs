//! Which flash an image is to be read as: what its nodes say, held against what the user says.
//!
//! Layer: rank 7. Main types: [`Hints`] and [`Choice`]; main function: [`choose`]. What the user says
//! and the nodes contradict is refused with what would fit: an image that is read with wrong pages or
//! blocks would show a part of its files and hide the rest.

use crate::contents::Contents;
use crate::dump::Dump;
use crate::error::{Cut, Error, Misfit};
use crate::identify::survey::LAYOUTS;
use crate::identify::{ByteOrder, Jffs2, Kind, Survey, Sweep, identify_swept};
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_sim::Bytes;

/// What the user says of an image; `None` to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// Data bytes of a page.
    pub page: Option<Bytes>,
    /// Spare bytes after each page in the file; zero for none.
    pub oob: Option<Bytes>,
    /// Data bytes of an erase block.
    pub block: Option<Bytes>,
    /// The byte order.
    pub order: Option<ByteOrder>,
    /// Read what there is when the file ends too early.
    pub partial: bool,
}

/// How an image is to be read.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The bytes from the beginning of the filesystem on.
    pub contents: Contents,
    /// The flash.
    pub shape: Shape,
    /// The byte order of the filesystem.
    pub order: ByteOrder,
    /// What the nodes say.
    pub jffs2: Jffs2,
    /// Where in the file the filesystem begins.
    pub at: Bytes,
    /// How long the file should be at least, when it is too short and that was allowed.
    pub truncated: Option<Bytes>,
}

impl Choice {
    /// The flash, with the error correction that its spare bytes show. Without spare bytes in the file
    /// it is NOR: JFFS2 on NAND keeps its cleanmarkers in spare bytes, and refuses one without any.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn dump(&self) -> Result<Dump, Error> {
        if self.shape.oob.is_zero() {
            return Dump::new(self.contents.clone(), Shape::nor(self.shape.block));
        }
        let spare = spare(&self.contents, self.shape, &self.jffs2);
        Dump::with_spare(self.contents.clone(), self.shape, spare)
    }
}

/// What the spare bytes of an image are for, where it has any.
#[must_use]
pub fn spare(contents: &Contents, shape: Shape, jffs2: &Jffs2) -> Option<Spare> {
    let marker = jffs2.marker.filter(|marker| marker + 8 <= shape.oob.to_usize());
    let detect = || Spare::detect(contents, shape, jffs2.first, marker);
    (!shape.oob.is_zero()).then(detect)
}

/// Says how the JFFS2 filesystem in `contents` is to be read.
///
/// # Errors
/// [`Error::Empty`], [`Error::OtherContent`], [`Error::WrongByteOrder`], [`Error::WrongPages`],
/// [`Error::WrongBlock`], [`Error::Unsound`], [`Error::Truncated`].
pub fn choose(contents: &Contents, hints: &Hints) -> Result<Choice, Error> {
    if contents.length().is_zero() {
        return Err(Error::Empty);
    }
    let sweep = Sweep::of(contents);
    let identity = identify_swept(contents, &sweep);
    let other = || Error::OtherContent { found: Box::new(identity.main().clone()) };
    let found = identity.of_kind(Kind::Jffs2).ok_or_else(other)?;
    let jffs2 = found.jffs2.clone().ok_or_else(other)?;
    let survey = Survey::of(contents, &sweep).ok_or_else(other)?;
    check_order(&jffs2, hints)?;
    let pages = pages(&survey, &jffs2, hints)?;
    let shape = block(&survey, &jffs2, pages, hints)?;
    let truncated = survey.truncated(shape);
    if let Some(needed) = truncated.filter(|_| !hints.partial) {
        let cut = if shape.oob.is_zero() { Cut::Node } else { Cut::Block(shape) };
        return Err(Error::Truncated { length: contents.length(), needed, cut });
    }
    let at = found.at;
    // Spare bytes of another number begin elsewhere.
    let jffs2 = Jffs2 { marker: survey.marker(shape), ..jffs2 };
    Ok(Choice { contents: contents.from(at), shape, order: jffs2.order, jffs2, at, truncated })
}

fn check_order(jffs2: &Jffs2, hints: &Hints) -> Result<(), Error> {
    match hints.order.filter(|order| *order != jffs2.order) {
        Some(expected) => {
            Err(Error::WrongByteOrder { expected, found: jffs2.order, at: jffs2.first })
        }
        None => Ok(()),
    }
}

/// Page and spare bytes: those of the user, unless more nodes are right with those found.
fn pages(survey: &Survey<'_>, jffs2: &Jffs2, hints: &Hints) -> Result<(Bytes, Bytes), Error> {
    let found = (jffs2.shape.page, jffs2.shape.oob);
    if hints.page.is_none() && hints.oob.is_none() {
        return Ok(found);
    }
    let given = given_pages(jffs2.shape, hints);
    let shape = |(page, oob)| Shape { page, oob, block: jffs2.shape.block };
    // The block is looked at later; here only page and spare bytes count.
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
            at: at.unwrap_or(jffs2.first),
        });
    }
    Ok(given)
}

/// What the user says, with what was found, or is usual, for the rest.
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

/// The flash with the erase block of the user, unless the nodes contradict.
fn block(
    survey: &Survey<'_>,
    jffs2: &Jffs2,
    (page, oob): (Bytes, Bytes),
    hints: &Hints,
) -> Result<Shape, Error> {
    let found = Shape { page, oob, block: jffs2.shape.block };
    let shape = Shape { block: hints.block.unwrap_or(found.block), ..found };
    shape.check().map_err(|problem| Error::Unsound { problem })?;
    let wrong = |because| Error::WrongBlock { expected: shape.block, found, because };
    if shape.block == found.block {
        return Ok(shape);
    }
    if let Some(at) = survey.crossing(shape) {
        return Err(wrong(Misfit::Crossed(at)));
    }
    if jffs2.block_known {
        return Err(wrong(Misfit::Marked));
    }
    Ok(shape)
}

#[cfg(test)]
mod tests;
