//! What is done with the files of an image as a whole: archives, conversions, differences.
//!
//! Layer: rank 12.

use super::{pages, unwritable};
use crate::args::{Convert, Diff};
use crate::commands::create::of_files;
use crate::error::{Error, shown_path};
use crate::file::NewFile;
use crate::output;
use boardlab_image::convert::{convert, report};
use boardlab_image::files::{Taking, Tree};
use boardlab_image::gather::Gathered;
use boardlab_image::inspect::{self, gathered, within};
use boardlab_image::make::MakeError;
use boardlab_image::repair::repair;
use boardlab_image::tables::{self, ImageReport};
use boardlab_image::{Contents, Error as Problem, Hints};
use boardlab_sim::{Bytes, Seed};
use std::ffi::OsStr;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes an archive of what `of` gathers below `path` to a new file, or to standard output.
pub(super) fn archive(
    [file, target]: [&Path; 2],
    path: &OsStr,
    of: impl FnOnce(&[u8]) -> Result<Gathered, Problem>,
    limit: u64,
) -> Result<ImageReport, Problem> {
    let path = within(path)?;
    let is_stdout = target.as_os_str() == "-";
    let place = (!is_stdout).then(|| NewFile::at(target)).transpose().map_err(unwritable)?;
    let mut from = of(&path)?;
    let done = match place {
        None => {
            let mut output = output::bytes().map_err(unwritable)?;
            let done = from.tree.archive(&mut output, limit);
            done.and_then(|done| output.flush().map(|()| done)).map_err(unwritable)?
        }
        Some(place) => {
            let mut part = place.begin().map_err(unwritable)?;
            let mut output = BufWriter::new(part.file());
            let done = from.tree.archive(&mut output, limit);
            let done = done.and_then(|done| output.flush().map(|()| done)).map_err(unwritable)?;
            drop(output);
            place.finish(part).map_err(unwritable)?;
            done
        }
    };
    Ok(tables::archived(&shown_path(file), &shown_path(target), &from, &done))
}

/// The new file at `path`, checked before the work.
pub(super) fn place_of(path: &Path) -> Result<(NewFile, PathBuf), Error> {
    let place = NewFile::at(path);
    let place = place.map_err(|problem| Error::NewFile { path: path.to_owned(), problem })?;
    Ok((place, path.to_owned()))
}

/// Writes the metadata of the files of an image to a new file.
pub(super) fn metadata(
    file: &Path,
    tree: &Tree,
    (place, target): &(NewFile, PathBuf),
) -> Result<(), Error> {
    let text = boardlab_image::metadata::metadata(&shown_path(file), tree);
    let written = place.write(text.as_bytes());
    written.map_err(|problem| Error::Incomplete { path: target.clone(), problem })
}

/// Makes another image of an image.
pub(super) fn convert_image(asked: &Convert, seed: Seed) -> Result<ImageReport, Error> {
    let refused = |problem| Error::Make { path: asked.file.clone(), problem };
    let path = || asked.output.clone();
    let missing = |option, why| refused(MakeError::Missing { option, why });
    if asked.correct || asked.strip || asked.protect {
        return pages::rewritten(asked);
    }
    if asked.new.fs().is_none() {
        return Err(missing("--fs NAME", "the filesystem of the new image is not guessed"));
    }
    let options = of_files(&asked.new).map_err(refused)?;
    let target = NewFile::at(&asked.output);
    let target = target.map_err(|problem| Error::NewFile { path: path(), problem })?;
    let hints = Hints::from(&asked.from);
    let from = gathered(&asked.file, b"/", &hints, asked.from.max_names, &options.taking);
    let (mut from, shape) =
        from.map_err(|problem| Error::Image { path: asked.file.clone(), problem })?;
    // A volume alone has logical erase blocks, which say nothing of the flash.
    if asked.new.block.is_none() && !shape.block.get().is_power_of_two() {
        return Err(missing("--block SIZE", "the first image is a volume, without its flash"));
    }
    let flash = asked.new.flash((shape.page, shape.block));
    let done = convert(&mut from, &flash, &options, seed).map_err(refused)?;
    let written = target.write(&done.made.bytes);
    written.map_err(|problem| Error::Incomplete { path: path(), problem })?;
    Ok(report::report(&shown_path(&asked.file), &shown_path(&asked.output), &from, &done))
}

/// Checks an image, and makes a new one of it if anything is wrong.
pub(super) fn repaired(
    [file, target]: [&Path; 2],
    hints: &Hints,
    seed: Seed,
) -> Result<ImageReport, Error> {
    let (place, target) = place_of(target)?;
    let contents = Contents::open(file).map(Contents::kept);
    let contents = contents.map_err(|problem| Error::Image { path: file.to_owned(), problem })?;
    let done = repair(&contents, hints, seed);
    let done = done.map_err(|problem| match problem {
        MakeError::Flash(problem) => Error::Image { path: file.to_owned(), problem },
        problem => Error::Make { path: file.to_owned(), problem },
    })?;
    if let Some(new) = &done.new {
        let written = place.write(&new.bytes);
        written.map_err(|problem| Error::Incomplete { path: target.clone(), problem })?;
    }
    Ok(boardlab_image::repair::report::report(&shown_path(file), &shown_path(&target), done))
}

/// Compares two images.
pub(super) fn differences(asked: &Diff) -> Result<ImageReport, Error> {
    let done = inspect::diff(
        [&asked.a, &asked.b],
        &asked.path,
        &Hints::from(&asked.state),
        asked.max_names,
    );
    done.map_err(|(path, problem)| Error::Image { path, problem })
}

/// Writes the content of a file to standard output. Returns what cannot be read.
pub(super) fn cat(
    file: &Path,
    path: &OsStr,
    hints: &Hints,
    limit: Bytes,
) -> Result<Vec<String>, Problem> {
    let path = within(path)?;
    let (from, _) = gathered(file, &path, hints, 1, &Taking::default())?;
    let mut output = output::content();
    let lost = boardlab_image::cat::cat(&from.tree, &path, limit.get(), &mut output)?;
    output.flush().map_err(|problem| Problem::Unwritable { problem })?;
    let before = from.tree.left_out.iter().map(|one| one.why.to_string());
    Ok(before.chain(lost.iter().map(ToString::to_string)).collect())
}
