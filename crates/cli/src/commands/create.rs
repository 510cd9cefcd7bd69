//! `boardlab image create`: a new image in a new file.
//!
//! Layer: rank 12.

use crate::args::{Create, NewImage, Options};
use crate::error::{Error, shown_path};
use crate::exit::Status;
use crate::file::NewFile;
use crate::output::Output;
use boardlab_image::fs::ALL;
use boardlab_image::make::report::report;
use boardlab_image::make::{self, FileOptions, Files, Made, MakeError, Placing};
use boardlab_report::Shown;
use boardlab_sim::{Bytes, Seed};
use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The latest time of files, for images that can be made again (reproducible-builds.org).
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// What the image is made of.
enum Input {
    Folder,
    Archive(File),
    Ini,
}

/// Makes the image and writes it.
pub(super) fn perform(
    create: &Create,
    output: &Output<'_>,
    options: &Options,
) -> Result<Status, Error> {
    let refused = |problem| Error::Make { path: create.input.clone(), problem };
    let input = input(create).map_err(refused)?;
    let target = NewFile::at(&create.output);
    let path = || create.output.clone();
    let target = target.map_err(|problem| Error::NewFile { path: path(), problem })?;
    if matches!(input, Input::Folder) && target.is_within(&create.input) {
        return Err(refused(MakeError::Within));
    }
    let made = make(create, input, options.seed).map_err(refused)?;
    let written = target.write(&made.bytes);
    written.map_err(|problem| Error::Incomplete { path: path(), problem })?;
    let told = report(&shown_path(&create.input), &shown_path(&create.output), &made);
    let shown = output.show(Shown::Run(&told.run))?;
    Ok(if told.whole { shown } else { Status::Failed })
}

/// Looks at the input, and opens an archive.
fn input(create: &Create) -> Result<Input, MakeError> {
    let path = &create.input;
    let unreadable = |problem| MakeError::Unreadable { path: path.clone(), problem };
    if create.tar && path.as_os_str() == "-" {
        // An archive is read in no order, so it is kept in a file without a name.
        let mut spool = tempfile::tempfile().map_err(unreadable)?;
        io::copy(&mut io::stdin().lock(), &mut spool).map_err(unreadable)?;
        return Ok(Input::Archive(spool));
    }
    let metadata = path.metadata().map_err(unreadable)?;
    if !metadata.is_dir() && !metadata.is_file() {
        return Err(MakeError::NoInput);
    }
    match (create.tar, metadata.is_dir()) {
        (true, true) => {
            let why = "the input is a folder";
            Err(MakeError::Useless { option: "--tar", why })
        }
        (true, false) => File::open(path).map(Input::Archive).map_err(unreadable),
        (false, true) => Ok(Input::Folder),
        (false, false) if is_archive(path) => {
            Err(MakeError::Missing { option: "--tar", why: "the input is a tar archive" })
        }
        (false, false) => Ok(Input::Ini),
    }
}

/// Whether a file begins as a tar archive does (`ustar` at byte 257).
fn is_archive(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(262).read_to_end(&mut head));
    read.is_ok() && head.ends_with(b"ustar")
}

fn make(create: &Create, input: Input, seed: Seed) -> Result<Made, MakeError> {
    // The command line has both.
    let flash = create.new.flash((Bytes::ZERO, Bytes::ZERO));
    let is_archive = matches!(input, Input::Archive(_));
    if create.metadata.is_some() && is_archive {
        let why = "an archive has owners, modes, times, devices and attributes itself";
        return Err(MakeError::Useless { option: "--metadata", why });
    }
    let files = match input {
        Input::Folder => Files::Folder(&create.input),
        Input::Archive(file) => Files::Archive(file),
        Input::Ini => {
            let metadata = create.metadata.is_some().then_some("--metadata");
            if let Some(option) = metadata.or_else(|| create.new.for_files()) {
                let why = "the .ini says what the volumes are";
                return Err(MakeError::Useless { option, why });
            }
            let made = make::of_ini(&create.input, &flash, seed)?;
            return make::place(made, &placing(&create.new)?);
        }
    };
    let options = FileOptions { metadata: create.metadata.clone(), ..of_files(&create.new)? };
    make::of_files(files, &flash, &options, (seed, ALL))
}

/// Where the blocks of a new image lie.
fn placing(new: &NewImage) -> Result<Placing, MakeError> {
    let bad_blocks = new.bad_blocks.as_deref().map(make::bad_blocks).transpose()?;
    Ok(Placing { pad: new.pad, bad_blocks: bad_blocks.unwrap_or_default() })
}

/// The options for the filesystem of a new image, none of which is without effect.
pub(super) fn of_files(new: &NewImage) -> Result<FileOptions, MakeError> {
    if let Some(option) = new.for_volume() {
        let why = "the filesystem lies on the flash itself, without UBI";
        return Err(MakeError::Useless { option, why });
    }
    if let Some(option) = new.for_flash() {
        let why = "UBIFS has no tags, and is little-endian everywhere: give --fs yaffs2 too";
        return Err(MakeError::Useless { option, why });
    }
    if let Some(option) = new.for_jffs2() {
        return Err(MakeError::Useless {
            option,
            why: "it is for JFFS2 only: give --fs jffs2 too",
        });
    }
    if let Some(option) = new.for_ubi() {
        return Err(MakeError::Useless { option, why: "a volume alone has no such thing" });
    }
    let latest = epoch(env::var_os(EPOCH).as_deref())?;
    new.files(latest, placing(new)?).ok_or(MakeError::Missing {
        option: "--max-blocks N",
        why: "the filesystem reserves room for its tables and its journal by it",
    })
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
