//! An image of the files of another one: another filesystem, geometry, OOB layout or ECC.
//!
//! Layer: rank 7. Main function: [`convert`]; [`report`](mod@report), what was made as a result. What was made is opened again, and every name, attribute and byte is
//! compared with the first image. So a fault of the writer, or of the reader, does not stay unseen.

pub mod report;

use crate::contents::Contents;
use crate::diff::{Change, What, diff};
use crate::files::{LeftOut, Taking, Tree};
use crate::fs::{ALL, Hints};
use crate::gather::{Gathered, gather};
use crate::make::{self, FileOptions, Files, Flash, Made, MakeError};
use crate::open::open;
use boardlab_sim::{Bytes, Seed};
use std::collections::BTreeSet;

/// An image that was made of another one.
#[derive(Debug)]
pub struct Converted {
    /// The new image.
    pub made: Made,
    /// What differs from the first image, besides what is left out.
    pub changes: Vec<Change>,
}

/// Makes an image of the files in `from`.
///
/// # Errors
/// Any but [`MakeError::Ini`] and [`MakeError::Unreadable`]; [`MakeError::Unread`] when what was made cannot be
/// opened.
pub fn convert(
    from: &mut Gathered,
    flash: &Flash,
    options: &FileOptions,
    seed: Seed,
) -> Result<Converted, MakeError> {
    let made = make::of_files(Files::Tree(&mut from.tree), flash, options, (seed, ALL))?;
    let page = made.shape.page;
    let hints = Hints {
        page: (page > Bytes::new(1)).then_some(page),
        oob: Some(made.shape.oob),
        block: made.layout.is_some().then_some(made.shape.block),
        ..Hints::default()
    };
    let again = open(&Contents::of(made.bytes.clone()), &hints)
        .and_then(|image| gather(image, b"/", u64::MAX, &Taking::default()));
    let again = again.map_err(|problem| MakeError::Unread(Box::new(problem)))?;
    let implied = made.filesystem.as_ref().map_or(&[][..], |made| made.implied);
    let changes = changes((&from.tree, &made.left_out), &again.tree, implied);
    Ok(Converted { made, changes })
}

/// What differs between files and those of a new filesystem, besides what was `left_out` of it, and what is in every
/// one of its kind.
pub(crate) fn changes(
    (from, left_out): (&Tree, &[LeftOut]),
    new: &Tree,
    implied: &[&[u8]],
) -> Vec<Change> {
    let left_out: BTreeSet<&[u8]> = left_out.iter().map(|one| one.path.as_slice()).collect();
    let mut changes = diff(from, new);
    changes.retain(|change| {
        let is_told = matches!(change.what, What::Removed(_) | What::Unread(_));
        let is_implied = matches!(change.what, What::Added(_));
        !(is_told && left_out.contains(change.path.as_slice())
            || is_implied && implied.contains(&change.path.as_slice()))
    });
    changes
}
