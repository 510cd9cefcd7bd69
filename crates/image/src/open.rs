//! Mounts an image: finds the filesystem in it, and chooses the flash to read it as.
//!
//! Layer: rank 7. Main functions: [`open`]; [`prepare`], the layout of its pages; [`carve`] writes out a volume without reading what is in it.

use crate::contents::Contents;
use crate::controller::named;
use crate::detection::Confidence;
use crate::ecc::{EccMatch, Wanted, search};
use crate::error::{CodeError, Error};
use crate::fs::{ALL, DetectedFileSystem, FileSystemType, Hints, MountedImage, RawVolumeReport};
use crate::identify::identify_types;
use boardlab_sim::Bytes;
use std::io::Write;

/// Mounts the first filesystem in `contents`, for reading.
///
/// # Errors
/// [`Error::Empty`], [`Error::OtherContent`], and those of
/// [`DetectedFileSystem::mount`](crate::fs::System::mount).
pub fn open(contents: &Contents, hints: &Hints) -> Result<MountedImage, Error> {
    open_types(contents, hints, ALL)
}

/// As [`open`], with another list of filesystems.
///
/// # Errors
/// Those of [`open`].
pub fn open_types(
    contents: &Contents,
    hints: &Hints,
    types: &[FileSystemType],
) -> Result<MountedImage, Error> {
    let contents = &prepare(contents, hints)?;
    found(contents, types)?.mount(contents, hints)
}

/// The first filesystem in `contents`, which is to be changed.
///
/// # Errors
/// [`Error::Empty`], [`Error::OtherContent`]; [`Error::NotFor`] where a controller mixes data and code: what is
/// changed would have to be mixed again.
pub fn detect(contents: &Contents) -> Result<Box<dyn DetectedFileSystem>, Error> {
    if prepare(contents, &Hints::default())?.code().is_some_and(|code| code.map.is_mixed()) {
        let what = "pages in which a controller mixes data and code";
        return Err(Error::NotFor { option: "--rw", what });
    }
    found(contents, ALL)
}

/// The contents with the layout and the code of its pages, if `hints` name them, or if the pages have a layout that
/// mixes data and code, which no filesystem could be found in. All that takes contents and hints does this first.
///
/// # Errors
/// [`Error::Code`], [`Error::NotFor`].
pub fn prepare(contents: &Contents, hints: &Hints) -> Result<Contents, Error> {
    let is_named = hints.spare.is_some() || hints.ecc.is_some();
    if contents.code().is_some() {
        return Ok(contents.clone());
    }
    let [page, oob] = [hints.page, hints.oob].map(|size| size.map(Bytes::to_usize));
    if oob == Some(0) || page == Some(1) {
        return match is_named {
            true => Err(Error::NotFor { option: "--spare and --ecc", what: NO_SPARE }),
            false => Ok(contents.clone()),
        };
    }
    let wanted = Wanted { page, oob, mixed: !is_named, thorough: is_named, ..Wanted::default() };
    if !is_named {
        let mut found = search(contents, &wanted).matches;
        found.retain(|found| found.confidence() == Some(Confidence::Certain));
        return Ok(chosen(contents, &found).unwrap_or_else(|| contents.clone()));
    }
    let layout = hints.spare.as_deref().map(|name| {
        named(name).ok_or_else(|| Error::Code(CodeError::NoLayout { name: name.to_owned() }))
    });
    let wanted = Wanted { layout: layout.transpose()?, code: hints.ecc.clone(), ..wanted };
    let found = search(contents, &wanted);
    if !found.matches.is_empty() {
        return Ok(chosen(contents, &found.matches).expect("there is a match"));
    }
    let other = search(contents, &Wanted { layout: None, code: None, ..wanted });
    let options = [
        hints.spare.as_ref().map(|name| format!("--spare {name}")),
        hints.ecc.as_ref().map(|code| format!("--ecc {code}")),
    ];
    Err(Error::Code(CodeError::NoCode {
        wanted: options.into_iter().flatten().collect::<Vec<_>>().join(" "),
        why: found.silence(),
        found: other.best().map(|best| (best.code.options(), best.reason())),
    }))
}

/// The contents with the first code in whose pages a filesystem is found, else with the best one: where each step
/// has its code behind it, two pages look like one of twice the size.
fn chosen(contents: &Contents, matches: &[EccMatch]) -> Option<Contents> {
    let alike = |one: &&EccMatch| one.code.layout.name == matches[0].code.layout.name;
    let mut all: Vec<Contents> = Vec::new();
    all.extend(matches.iter().filter(alike).map(|one| contents.with_code(one.code.clone())));
    let has_pages = |contents: &Contents| {
        let Ok(found) = found(contents, ALL) else { return false };
        let (shape, code) = (found.shape(), contents.code());
        code.is_some_and(|code| code.map.page == shape.page.to_usize())
    };
    let best = if all.len() > 1 { all.iter().position(has_pages) } else { None };
    (!all.is_empty()).then(|| all.swap_remove(best.unwrap_or(0)))
}

/// Why a layout is of no use.
const NO_SPARE: &str = "a file without spare bytes";

/// Writes the bytes of the UBI volume that `hints` name to `file`, whatever is in it.
///
/// # Errors
/// [`Error::Empty`], [`Error::OtherContent`], and those of
/// [`DetectedFileSystem::carve`](crate::fs::DetectedFileSystem::carve).
pub fn carve(
    contents: &Contents,
    hints: &Hints,
    limit: Bytes,
    file: &mut dyn Write,
) -> Result<RawVolumeReport, Error> {
    let contents = &prepare(contents, hints)?;
    found(contents, ALL)?.carve(contents, hints, limit, file)
}

/// The first filesystem in `contents`.
pub(crate) fn found(
    contents: &Contents,
    types: &[FileSystemType],
) -> Result<Box<dyn DetectedFileSystem>, Error> {
    if contents.length().is_zero() {
        return Err(Error::Empty);
    }
    if let Some(found) = types.iter().find_map(|one| (one.search)().covers(contents)) {
        return Ok(found);
    }
    let mut identity = identify_types(contents, types);
    let found = identity.filesystem.take();
    found.ok_or_else(|| Error::OtherContent {
        found: Box::new(identity.main().clone()),
        expected: types.iter().map(|one| one.name).collect::<Vec<_>>().join(" or "),
    })
}
