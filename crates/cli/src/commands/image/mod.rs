//! `boardlab image`: the contents of a flash image.

mod deleted;
mod pages;
mod trees;

use crate::args::{Cat, Extract, ImageAction, Ls, Options, Stat};
use crate::error::{Error, shown_path};
use crate::exit::Status;
use crate::file::NewFile;
use crate::output::Output;
use crate::terminal;
use boardlab_image::files::{Taking, Tree};
use boardlab_image::gather::Gathered;
use boardlab_image::inspect::{self, within};
use boardlab_image::tables::ImageReport;
use boardlab_image::walk::resolve;
use boardlab_image::{Contents, Error as Problem, Hints, Limits, MountedImage, open, tables};
use boardlab_report::Shown;
use boardlab_sim::Bytes;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Does `action`.
pub(super) fn perform(action: &ImageAction, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let (file, made) = match action {
        ImageAction::Apply(asked) => return super::overlay::apply(asked, &output),
        ImageAction::Mount(asked) => return super::mount::perform(asked),
        ImageAction::Check { file, flash, repair: Some(target) } => {
            let told = trees::repaired([file, target], &flash.into(), options.seed)?;
            return show(&output, &told);
        }
        ImageAction::Check { file, flash, repair: None } => {
            (file, inspect::check(file, &flash.into()))
        }
        ImageAction::Create(create) => {
            return crate::commands::create::perform(create, &output, options);
        }
        ImageAction::Convert(asked) => {
            let told = trees::convert_image(asked, options.seed)?;
            return show_unless(asked.output.as_os_str() == "-", &output, &told);
        }
        ImageAction::Diff(asked) => return show(&output, &trees::differences(asked)?),
        ImageAction::Cat(asked) => return cat(asked),
        ImageAction::Stat(Stat { file, paths, state }) => {
            (file, inspect::stat(file, paths, &state.into()))
        }
        ImageAction::Info { file, volume, blocks, pages } => {
            let volume = volume.clone();
            let hints = Hints { partial: true, volume, ..pages.into() };
            (file, inspect::info(file, &hints, *blocks))
        }
        ImageAction::Ls(asked) => (&asked.file, ls(asked)),
        ImageAction::Extract(asked) => {
            let told = write_out(asked)?;
            return show_unless(asked.tar && asked.target.as_os_str() == "-", &output, &told);
        }
    };
    let told = made.map_err(|problem| Error::Image { path: file.clone(), problem })?;
    show(&output, &told)
}

/// Writes files of an image out, in one of four ways.
fn write_out(asked: &Extract) -> Result<ImageReport, Error> {
    let Extract { file, target, path, state, metadata, .. } = asked;
    let limits = Limits { names: asked.max_names, content: asked.max_size };
    let hints = Hints::from(state);
    let made = if asked.tar {
        let of = |path: &[u8]| whole_or_deleted(asked, path, &hints);
        trees::archive([file, target], path, of, limits.content.get())
    } else if asked.raw {
        carve([file, target], &hints, asked.max_size)
    } else {
        let beside = metadata.as_deref().map(trees::place_of).transpose()?;
        let with_modes = beside.is_some();
        let done = if asked.deleted {
            deleted::extract([file, target], path, &hints, limits, with_modes)
        } else {
            inspect::extract([file, target], path, &hints, limits, with_modes)
        };
        if let (Ok(_), Some(place)) = (&done, beside) {
            let tree = within(path).and_then(|path| tree_of(asked, &path, &hints));
            let tree = tree.map_err(|problem| Error::Image { path: file.clone(), problem })?;
            trees::metadata(file, &tree, &place)?;
        }
        done
    };
    made.map_err(|problem| {
        let path = match (problem.is_of_target(), asked.deleted) {
            (true, true) => deleted::folder(target),
            (true, false) => target.clone(),
            (false, _) => file.clone(),
        };
        Error::Image { path, problem }
    })
}

/// The files below `path`, or those that are deleted, with what is damaged.
fn whole_or_deleted(asked: &Extract, path: &[u8], hints: &Hints) -> Result<Gathered, Problem> {
    if asked.deleted {
        return deleted::gathered(&asked.file, path, hints, asked.max_names);
    }
    Ok(inspect::gathered(&asked.file, path, hints, asked.max_names, &Taking::default())?.0)
}

/// As [`whole_or_deleted`], where the extraction has told what is damaged.
fn tree_of(asked: &Extract, path: &[u8], hints: &Hints) -> Result<Tree, Problem> {
    if asked.deleted {
        return Ok(whole_or_deleted(asked, path, hints)?.tree);
    }
    let MountedImage { mut fs, mut clock, .. } = open(&Contents::open(&asked.file)?, hints)?;
    let (path, start) = resolve(fs.as_mut(), &mut clock, path)?;
    Ok(Tree::of_mounted(fs, clock, (&path, start), asked.max_names, &Taking::default()).0)
}

/// Shows a result, beside standard output where that has something else.
fn show_unless(is_beside: bool, output: &Output<'_>, told: &ImageReport) -> Result<Status, Error> {
    if !is_beside {
        return show(output, told);
    }
    let shown = output.show_beside(Shown::Run(&told.run))?;
    Ok(if told.whole { shown } else { Status::Failed })
}

fn show(output: &Output<'_>, told: &ImageReport) -> Result<Status, Error> {
    let shown = output.show(Shown::Run(&told.run))?;
    Ok(if told.whole { shown } else { Status::Failed })
}

/// Writes the content of a file; what cannot be read is told on standard error.
fn cat(asked: &Cat) -> Result<Status, Error> {
    let Cat { file, path, max_size, state } = asked;
    match trees::cat(file, path, &state.into(), *max_size) {
        Ok(lost) if lost.is_empty() => Ok(Status::Done),
        Ok(lost) => {
            for one in lost {
                terminal::tell(&format!("warning: {one}"));
            }
            Ok(Status::Failed)
        }
        // Who reads it wants no more.
        Err(Problem::Unwritable { problem }) if problem.kind() == ErrorKind::BrokenPipe => {
            Ok(Status::Done)
        }
        Err(problem) => Err(Error::Image { path: file.clone(), problem }),
    }
}

fn ls(asked: &Ls) -> Result<ImageReport, Problem> {
    let Ls { file, path, state, deleted, max_names } = asked;
    let hints = Hints::from(state);
    let limits = Limits { names: *max_names, ..Limits::default() };
    if *deleted {
        within(path)?;
        return deleted::list(file, path.as_encoded_bytes(), &hints, limits);
    }
    inspect::ls(file, path, &hints, limits)
}

/// Writes the bytes of a volume to a new file: all of them, or none.
fn carve(
    [file, target]: [&PathBuf; 2],
    hints: &Hints,
    limit: Bytes,
) -> Result<ImageReport, Problem> {
    let contents = Contents::open(file)?;
    let place = NewFile::at(target).map_err(unwritable)?;
    let mut part = place.begin().map_err(unwritable)?;
    let done = boardlab_image::carve(&contents, hints, limit, part.file())?;
    place.finish(part).map_err(unwritable)?;
    Ok(tables::carved(&shown_path(file), &shown_path(target), &done))
}

/// Why a new file is not written.
fn unwritable(problem: io::Error) -> Problem {
    match problem.kind() {
        ErrorKind::AlreadyExists => Problem::Exists,
        _ => Problem::Unwritable { problem },
    }
}
