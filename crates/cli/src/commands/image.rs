//! `boardlab image`: what is in a flash image.

use crate::args::{ImageAction, Options};
use crate::error::{Error, shown_path};
use crate::exit::Status;
use crate::output::Output;
use boardlab_image::tables::Told;
use boardlab_image::{
    Contents, Damage, Error as Problem, Hints, Kind, Opened, identify, open, tables,
};
use boardlab_report::Shown;
use std::path::{Path, PathBuf};

/// Does `action`.
pub(super) fn perform(action: &ImageAction, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let (file, made) = match action {
        ImageAction::Info { file } => (file, info(file)),
        ImageAction::Ls { file, path, flash } => (file, ls(file, path, &flash.into())),
        ImageAction::Extract { file, target, path, flash } => {
            match extract([file, target], path, &flash.into()) {
                // The image is not to blame.
                made @ Err(Problem::NotEmpty | Problem::Unwritable { .. }) => (target, made),
                made => (file, made),
            }
        }
    };
    let told = made.map_err(|problem| Error::Image { path: file.clone(), problem })?;
    let shown = output.show(Shown::Run(&told.run))?;
    Ok(if told.whole { shown } else { Status::Failed })
}

fn info(file: &Path) -> Result<Told, Problem> {
    let contents = Contents::open(file)?;
    let identity = identify(&contents);
    let looked_at = identity.of_kind(Kind::Jffs2).map(|_| {
        let hints = Hints { partial: true, ..Hints::default() };
        Damage::of(&mut open(&contents, &hints)?)
    });
    Ok(tables::info(&shown_path(file), &contents, &identity, looked_at.as_ref()))
}

fn ls(file: &Path, path: &str, hints: &Hints) -> Result<Told, Problem> {
    let mut image = open(&Contents::open(file)?, hints)?;
    let damage = Damage::of(&mut image)?;
    let Opened { fs, clock, .. } = &mut image;
    tables::listing(&shown_path(file), fs, clock, path.as_bytes(), &damage)
}

fn extract([file, target]: [&PathBuf; 2], path: &str, hints: &Hints) -> Result<Told, Problem> {
    let mut image = open(&Contents::open(file)?, hints)?;
    let damage = Damage::of(&mut image)?;
    let Opened { fs, clock, .. } = &mut image;
    let done = boardlab_image::extract(fs, clock, path.as_bytes(), target, &damage)?;
    Ok(tables::extracted(&shown_path(file), &shown_path(target), &done, &damage))
}
