//! `boardlab image create`: a new image in a new file.
//!
//! Layer: rank 12.

use crate::args::{Create, Options};
use crate::error::{Error, shown_path};
use crate::exit::Status;
use crate::file::NewFile;
use crate::output::Output;
use boardlab_image::make::report::report;
use boardlab_image::make::{self, Made, MakeError};
use boardlab_report::Shown;
use boardlab_sim::Seed;
use std::env;
use std::ffi::OsStr;
use std::path::Path;

/// The latest time of files, for images that can be made again (reproducible-builds.org).
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// Makes the image and writes it.
pub(super) fn perform(
    create: &Create,
    output: &Output<'_>,
    options: &Options,
) -> Result<Status, Error> {
    let refused = |problem| Error::Make { path: create.input.clone(), problem };
    let is_folder = kind_of(&create.input).map_err(refused)?;
    let target = NewFile::at(&create.output);
    let path = || create.output.clone();
    let target = target.map_err(|problem| Error::NewFile { path: path(), problem })?;
    if is_folder && target.is_within(&create.input) {
        return Err(refused(MakeError::Within));
    }
    let made = make(create, is_folder, options.seed).map_err(refused)?;
    let written = target.write(&made.bytes);
    written.map_err(|problem| Error::Incomplete { path: path(), problem })?;
    let told = report(&shown_path(&create.input), &shown_path(&create.output), &made);
    let shown = output.show(Shown::Run(&told.run))?;
    Ok(if told.whole { shown } else { Status::Failed })
}

/// Whether the input is a folder; else it is a file.
fn kind_of(input: &Path) -> Result<bool, MakeError> {
    let metadata = input.metadata();
    let metadata =
        metadata.map_err(|problem| MakeError::Unreadable { path: input.into(), problem })?;
    if !metadata.is_dir() && !metadata.is_file() {
        return Err(MakeError::NoInput);
    }
    Ok(metadata.is_dir())
}

fn make(create: &Create, is_folder: bool, seed: Seed) -> Result<Made, MakeError> {
    let flash = create.flash();
    if !is_folder {
        if let Some(option) = create.for_folder() {
            let why = "the .ini says what the volumes are";
            return Err(MakeError::Useless { option, why });
        }
        return make::of_ini(&create.input, &flash, seed);
    }
    if let Some(option) = create.for_volume() {
        let why = "the filesystem lies on the flash itself, without UBI";
        return Err(MakeError::Useless { option, why });
    }
    if let Some(option) = create.for_flash() {
        let why = "UBIFS has no tags, and is little-endian everywhere: give --fs yaffs2 too";
        return Err(MakeError::Useless { option, why });
    }
    if let Some(option) = create.for_ubi() {
        return Err(MakeError::Useless { option, why: "a volume alone has no such thing" });
    }
    let latest = epoch(env::var_os(EPOCH).as_deref())?;
    let folder = create.folder(latest).ok_or(MakeError::Missing {
        option: "--max-blocks N",
        why: "the filesystem reserves room for its tables and its journal by it",
    })?;
    make::of_folder(&create.input, &flash, &folder, seed)
}

/// The latest time of files, if it is set.
fn epoch(value: Option<&OsStr>) -> Result<Option<i64>, MakeError> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    let seconds = value.to_str().and_then(|text| text.parse().ok());
    seconds.map(Some).ok_or_else(|| MakeError::Value {
        option: EPOCH,
        found: format!("`{}`", value.display()),
        expected: "seconds since 1970 in the environment, such as 1700000000".into(),
    })
}
