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
use boardlab_image::fs::refuse_volumes;
use boardlab_image::tables::{ImageReport, Selection};
use boardlab_image::{
    Beside, Contents, Damage, Error as Problem, Hints, Limits, MountedImage, check, identify,
    names, open, prepare, tables,
};
use boardlab_report::Shown;
use boardlab_sim::Bytes;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

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
        ImageAction::Check { file, flash, repair: None } => (file, check(file, &flash.into())),
        ImageAction::Create(create) => {
            return crate::commands::create::perform(create, &output, options);
        }
        ImageAction::Convert(asked) => {
            let told = trees::convert_image(asked, options.seed)?;
            return show_unless(asked.output.as_os_str() == "-", &output, &told);
        }
        ImageAction::Diff(asked) => return show(&output, &trees::differences(asked)?),
        ImageAction::Cat(asked) => return cat(asked),
        ImageAction::Stat(Stat { file, paths, state }) => (file, stat(file, paths, &state.into())),
        ImageAction::Info { file, volume, blocks, pages } => {
            let volume = volume.clone();
            let hints = Hints { partial: true, volume, ..pages.into() };
            (file, info(file, &hints, *blocks))
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
        trees::archive([file, target], path, &hints, limits)
    } else if asked.raw {
        carve([file, target], &hints, asked.max_size)
    } else if asked.deleted {
        deleted::extract([file, target], path, &hints, limits)
    } else {
        let beside = metadata.as_deref().map(trees::place_of).transpose()?;
        let with_modes = beside.is_some();
        let done = extract([file, target], path, &hints, limits, with_modes);
        if let (Ok(_), Some(place)) = (&done, beside) {
            trees::metadata(file, path, &hints, limits, &place)?;
        }
        done
    };
    made.map_err(|problem| {
        let is_of_target = matches!(
            problem,
            Problem::NotEmpty
                | Problem::Exists
                | Problem::Unfinished
                | Problem::TargetIsALink
                | Problem::Unwritable { .. }
        );
        let path = match (is_of_target, asked.deleted) {
            (true, true) => deleted::folder(target),
            (true, false) => target.clone(),
            (false, _) => file.clone(),
        };
        Error::Image { path, problem }
    })
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

fn stat(file: &Path, paths: &[OsString], hints: &Hints) -> Result<ImageReport, Problem> {
    let paths: Result<Vec<_>, _> = paths.iter().map(|path| within(path)).collect();
    let paths = paths?;
    let mut image = open(&Contents::open(file)?, hints)?;
    let damage = Damage::of(&mut image)?;
    let MountedImage { fs, clock, .. } = &mut image;
    tables::stat(&shown_path(file), (fs.as_mut(), clock), &paths, &damage)
}

fn info(file: &Path, hints: &Hints, blocks: bool) -> Result<ImageReport, Problem> {
    let contents = prepare(&Contents::open(file)?.kept(), hints)?;
    let identity = identify(&contents);
    let looked_at = match &identity.filesystem {
        Some(system) if system.is_mountable(hints)? => {
            Some(system.mount(&contents, hints).and_then(|mut image| Damage::of(&mut image)))
        }
        Some(_) => None,
        None => {
            refuse_volumes(hints)?;
            None
        }
    };
    let name = shown_path(file);
    let mut told = tables::info(&name, &contents, &identity, hints, looked_at.as_ref());
    if hints.volume.is_none() {
        tables::look(&mut told.run, &contents, &identity, hints, blocks);
    }
    Ok(told)
}

fn check(file: &Path, hints: &Hints) -> Result<ImageReport, Problem> {
    let findings = check::check(&Contents::open(file)?.kept(), hints)?;
    Ok(check::report(&shown_path(file), &findings))
}

fn ls(asked: &Ls) -> Result<ImageReport, Problem> {
    let Ls { file, path, state, deleted, max_names } = asked;
    let (hints, text) = (Hints::from(state), path.as_encoded_bytes());
    let limits = Limits { names: *max_names, ..Limits::default() };
    within(path)?;
    if *deleted {
        return deleted::list(file, text, &hints, limits);
    }
    let mut image = open(&Contents::open(file)?.kept(), &hints)?;
    let damage = Damage::of(&mut image)?;
    let MountedImage { fs, clock, .. } = &mut image;
    let what = Selection::of(text, fs, clock)?;
    tables::listing(&shown_path(file), fs, clock, what, &damage, limits)
}

fn extract(
    [file, target]: [&PathBuf; 2],
    path: &OsStr,
    hints: &Hints,
    limits: Limits,
    with_modes: bool,
) -> Result<ImageReport, Problem> {
    let path = within(path)?;
    let mut image = open(&Contents::open(file)?.kept(), hints)?;
    let beside = Beside { is_readable: with_modes, ..Beside::of(&mut image)? };
    let MountedImage { fs, clock, .. } = &mut image;
    let done = boardlab_image::extract(fs, clock, &path, target, beside, limits)?;
    Ok(tables::extracted(&shown_path(file), &shown_path(target), &done))
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

/// A path within the image, written as `ls` shows it.
fn within(path: &OsStr) -> Result<Vec<u8>, Problem> {
    names::unshown(path.as_encoded_bytes()).map_err(|at| Problem::Escape { at })
}
