//! Pages of an image in another form, from a file or standard input, into a file or standard output.
//!
//! Layer: rank 12.

use crate::args::Convert;
use crate::error::{Error, shown_path};
use crate::file::NewFile;
use crate::output;
use boardlab_image::files::{MakeError, linux_spare};
use boardlab_image::pages::{Rewriting, pages_of, rewrite};
use boardlab_image::tables::{self, ImageReport};
use boardlab_image::{Contents, Error as Problem, Hints, Shape};
use boardlab_sim::Bytes;
use std::io::{self, BufWriter, Read, Write};

/// Writes the pages.
pub(super) fn rewritten(asked: &Convert) -> Result<ImageReport, Error> {
    let refused = |problem| Error::Make { path: asked.file.clone(), problem };
    let wrong = |problem| Error::Image { path: asked.file.clone(), problem };
    let useless = asked.new.for_pages(asked.protect).or_else(|| asked.from.for_files());
    if let Some(option) = useless {
        let why = "no filesystem is read or made: --protect takes --oob and --ecc alone";
        return Err(refused(MakeError::Useless { option, why }));
    }
    let is_stdout = asked.output.as_os_str() == "-";
    let unwritable = |problem| Error::NewFile { path: asked.output.clone(), problem };
    let place = (!is_stdout).then(|| NewFile::at(&asked.output)).transpose().map_err(unwritable)?;
    let contents = if asked.file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|problem| wrong(Problem::Unreadable { problem }))?;
        Contents::of(bytes)
    } else {
        Contents::open(&asked.file).map_err(wrong)?
    };
    if contents.length().is_zero() {
        return Err(wrong(Problem::Empty));
    }
    let dump = pages_of(&contents, &Hints::from(&asked.from)).map_err(wrong)?;
    let how = match (asked.correct, asked.protect) {
        (true, _) => Rewriting::Correct,
        (_, true) => {
            let shape = Shape { oob: asked.new.oob().unwrap_or(Bytes::ZERO), ..dump.shape };
            let spare = linux_spare(shape, asked.new.ecc()).map_err(refused)?;
            Rewriting::Protect(Box::new(spare))
        }
        _ => Rewriting::Strip,
    };
    let done = match place {
        None => {
            let unwritable = |problem| wrong(Problem::Unwritable { problem });
            rewrite(&dump, &how, &mut output::bytes().map_err(unwritable)?).map_err(wrong)?
        }
        Some(place) => {
            let incomplete = |problem| Error::Incomplete { path: asked.output.clone(), problem };
            let mut part = place.begin().map_err(incomplete)?;
            let mut output = BufWriter::new(part.file());
            let done = rewrite(&dump, &how, &mut output).map_err(|problem| match problem {
                Problem::Unwritable { problem } => incomplete(problem),
                problem => wrong(problem),
            })?;
            output.flush().map_err(incomplete)?;
            drop(output);
            place.finish(part).map_err(incomplete)?;
            done
        }
    };
    Ok(tables::rewritten(&shown_path(&asked.file), &shown_path(&asked.output), &dump, &done))
}
