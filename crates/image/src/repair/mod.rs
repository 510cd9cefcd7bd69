//! The repair of an image: a new one like it, of everything that can be read.
//!
//! Layer: rank 7. Main function: [`repair`]; [`report`](mod@report), what was done as a result. Nothing is mended in
//! place: a filesystem is made anew of its files, for the same flash, and what lies beside it in the file stays. So
//! what a check cannot trust is not built upon. In UBI the volumes in which nothing is wrong keep their bytes, and all
//! blocks have the mean of the erase counters. The new image is checked, and compared file by file with what can be read of the old one.

pub mod report;

use crate::check::{check, check_detected};
use crate::contents::Contents;
use crate::convert::changes;
use crate::diff::Change;
use crate::error::Error;
use crate::files::{LeftOut, MakeError, Movable, NewFileSystem, Taking, Tree, VolumeFormat};
use crate::finding::{Finding, Severity};
use crate::fs::{ALL, Create, DetectedFileSystem, Hints, Recipe, RecipeContent, RecipeVolume};
use crate::gather::{Gathered, gather};
use crate::make::{Made, Pad, Placing, place, with_pages};
use crate::names::shown;
use crate::open::{found, prepare};
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_sim::{Bytes, Seed};
use boardlab_ubi::create::{self, Content};
use std::collections::BTreeSet;

/// The most bytes of a volume.
const VOLUME_MAX: Bytes = Bytes::mib(16 << 10);

/// What a repair did.
#[derive(Debug)]
pub struct Repaired {
    /// What was found before.
    pub before: Vec<Finding>,
    /// The new image; `None` where nothing is to be repaired.
    pub new: Option<NewImage>,
}

/// The new image.
#[derive(Debug)]
pub struct NewImage {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// The filesystem, or the volumes.
    pub parts: Vec<Part>,
    /// What is found in the new image.
    pub after: Vec<Finding>,
}

/// A filesystem that was made again, or a volume that kept its bytes.
#[derive(Debug)]
pub struct Part {
    /// The name of its volume; `None` without UBI.
    pub volume: Option<String>,
    /// Names of files; `None` where bytes were kept.
    pub names: Option<u64>,
    /// What is not in it, or not whole.
    pub left_out: Vec<LeftOut>,
    /// What differs from the files that were read, besides.
    pub changes: Vec<Change>,
    /// What else is damaged, in sentences with the name of the volume.
    pub damage: Vec<String>,
}

impl Repaired {
    /// Whether nothing was lost, and nothing is wrong any more.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.new.as_ref().is_none_or(|new| {
            let is_error = |one: &Finding| one.severity == Severity::Error;
            new.parts.iter().all(Part::is_whole) && !new.after.iter().any(is_error)
        })
    }
}

impl Part {
    fn is_whole(&self) -> bool {
        self.left_out.is_empty() && self.changes.is_empty() && self.damage.is_empty()
    }
}

/// Checks an image, and makes a new one of it if anything is wrong.
///
/// # Errors
/// [`MakeError`]: with the [`Error`] of the image where that is the reason.
pub fn repair(contents: &Contents, hints: &Hints, seed: Seed) -> Result<Repaired, MakeError> {
    let hints = &Hints { partial: true, ..hints.clone() };
    let contents = &prepare(contents, hints)?;
    let system = found(contents, ALL)?;
    let before = check_detected(&*system, contents, hints)?;
    if before.iter().all(|one| one.severity == Severity::Note) {
        return Ok(Repaired { before, new: None });
    }
    let recipe = system.recipe(contents, hints)?;
    let hurt = before.iter().filter(|one| one.severity != Severity::Note);
    let hurt = hurt.filter_map(|one| one.place.volume.clone()).collect();
    let mut work = Work { system: &*system, contents, hints, seed, hurt, parts: Vec::new() };
    let image = work.image(&recipe)?;
    let bytes = in_file(contents, &recipe, &image)?;
    let Work { parts, .. } = work;
    let new = Contents::of(bytes.clone());
    let after = check(&new, hints).map_err(|problem| MakeError::Unread(Box::new(problem)))?;
    let parts = compared(parts, &new, hints)?;
    Ok(Repaired { before, new: Some(NewImage { bytes, parts, after }) })
}

struct Work<'a> {
    system: &'a dyn DetectedFileSystem,
    contents: &'a Contents,
    hints: &'a Hints,
    seed: Seed,
    /// The volumes in which something is wrong.
    hurt: BTreeSet<String>,
    parts: Vec<(Part, Option<Files>)>,
}

/// The files of a part.
struct Files {
    tree: Tree,
    /// The paths that any new filesystem of the kind has.
    implied: &'static [&'static [u8]],
}

impl Work<'_> {
    fn image(&mut self, recipe: &Recipe) -> Result<Vec<u8>, MakeError> {
        let Recipe { shape, blocks, ref bad_blocks, ref spare, .. } = *recipe;
        let placing = Placing { pad: Some(Pad::Blocks(blocks)), bad_blocks: bad_blocks.clone() };
        match &recipe.content {
            RecipeContent::Volume(make, format) => {
                let from = self.files(None)?;
                self.volume(from, None, (*make, format))
            }
            RecipeContent::Flash(make, format) => {
                let mut from = self.files(None)?;
                let mut made = make(&mut from.tree, format)?;
                let bytes = std::mem::take(&mut made.bytes);
                self.keep(None, from, &made);
                // Its blocks lie around the bad ones already.
                let is_fixed = matches!(made.movable, Movable::Fixed(_));
                let placing = if is_fixed { Placing::default() } else { placing };
                let mark = spare.as_ref().map(Spare::mark);
                let made = Made { shape, mark, filesystem: Some(made), ..Made::of(bytes) };
                Ok(place(made, &placing)?.bytes)
            }
            RecipeContent::Ubi(format, volumes) => {
                let data: Result<Vec<_>, _> = volumes.iter().map(|one| self.bytes(one)).collect();
                let data = data?;
                let content = |(one, data): (&RecipeVolume, _)| Content {
                    volume: one.new.clone(),
                    autoresize: one.autoresize,
                    data,
                };
                let data = data.iter().map(Vec::as_slice);
                let contents: Vec<Content<'_>> = volumes.iter().zip(data).map(content).collect();
                let bytes = create::create(format, &contents)?;
                let made = Made {
                    shape: Shape { oob: Bytes::ZERO, ..shape },
                    layout: Some(create::layout(format)?),
                    ..Made::of(bytes)
                };
                let made = match spare {
                    Some(spare) => with_pages(made, shape, spare.clone())?,
                    None => made,
                };
                let needed = Bytes::of(&made.bytes).div_ceil(shape.raw_block());
                let pad = Some(Pad::Blocks(blocks.max(needed + bad_blocks.len() as u64)));
                Ok(place(made, &Placing { pad, ..placing })?.bytes)
            }
        }
    }

    /// The bytes of a volume: a new filesystem, or those that it has.
    fn bytes(&mut self, volume: &RecipeVolume) -> Result<Vec<u8>, MakeError> {
        let name = &volume.new.name;
        let mut damage: Vec<String> = volume.damage.iter().cloned().collect();
        let shown_name = shown(name.as_bytes());
        let is_hurt = self.hurt.contains(&shown_name);
        if let Some((make, format)) = volume.filesystem.as_ref().filter(|_| is_hurt) {
            match self.files(Some(name)) {
                Ok(from) => return self.volume(from, Some(name), (*make, format)),
                Err(problem) => damage.push(format!(
                    "Volume {shown_name}: the UBIFS cannot be read, so that its bytes stay as they are: {problem}."
                )),
            }
        }
        let (mut bytes, hints) = (Vec::new(), self.of_volume(Some(name)));
        let done = self.system.carve(self.contents, &hints, VOLUME_MAX, &mut bytes)?;
        let told = done.damage.iter();
        damage.extend(told.map(|one| {
            format!("Volume {shown_name}: {one}; what can be read of it has a new checksum.")
        }));
        let (left_out, changes) = (Vec::new(), Vec::new());
        let volume = Some(name.clone());
        self.parts.push((Part { volume, names: None, left_out, changes, damage }, None));
        Ok(bytes)
    }

    /// A new filesystem for a volume.
    fn volume(
        &mut self,
        mut from: Gathered,
        name: Option<&str>,
        (make, format): (Create, &VolumeFormat),
    ) -> Result<Vec<u8>, MakeError> {
        let mut made = make(&mut from.tree, &VolumeFormat { seed: self.seed, ..*format })?;
        let bytes = std::mem::take(&mut made.bytes);
        self.keep(name, from, &made);
        Ok(bytes)
    }

    fn of_volume(&self, name: Option<&str>) -> Hints {
        Hints { volume: name.map(ToOwned::to_owned), ..self.hints.clone() }
    }

    /// The files of the image, or of a volume.
    fn files(&self, volume: Option<&str>) -> Result<Gathered, Error> {
        let image = self.system.mount(self.contents, &self.of_volume(volume))?;
        gather(image, b"/", u64::MAX, &Taking::default())
    }

    /// Notes what was made of files.
    fn keep(&mut self, volume: Option<&str>, from: Gathered, made: &NewFileSystem) {
        let may_miss = from.damage.may_miss_names();
        let who = volume.map_or_else(String::new, |name| format!(" in {}", shown(name.as_bytes())));
        let told = may_miss.then(|| {
            format!("Names may be missing{who}: what leads to them is damaged or cut off.")
        });
        let Gathered { mut tree, .. } = from;
        let part = Part {
            volume: volume.map(ToOwned::to_owned),
            names: Some(tree.nodes.len() as u64 - 1),
            left_out: std::mem::take(&mut tree.left_out),
            changes: Vec::new(),
            damage: told.into_iter().collect(),
        };
        self.parts.push((part, Some(Files { tree, implied: made.implied })));
    }
}

/// Compares the files of every part with those of the new image.
fn compared(
    parts: Vec<(Part, Option<Files>)>,
    new: &Contents,
    hints: &Hints,
) -> Result<Vec<Part>, MakeError> {
    let mut done = Vec::new();
    let new = &prepare(new, hints)?;
    let system = found(new, ALL)?;
    for (mut part, files) in parts {
        if let Some(Files { tree, implied }) = files {
            let hints = Hints { volume: part.volume.clone(), ..hints.clone() };
            let again = system
                .mount(new, &hints)
                .and_then(|image| gather(image, b"/", u64::MAX, &Taking::default()));
            let again = again.map_err(|problem| MakeError::Unread(Box::new(problem)))?;
            part.changes = changes((&tree, &part.left_out), &again.tree, implied);
        }
        done.push(part);
    }
    Ok(done)
}

/// The file with the new image in the place of the old one.
fn in_file(contents: &Contents, recipe: &Recipe, image: &[u8]) -> Result<Vec<u8>, MakeError> {
    let raw = recipe.shape.raw_block();
    let (length, end) = (contents.length(), recipe.at + raw * recipe.blocks);
    let may_grow = recipe.may_grow && end >= length;
    if Bytes::of(image) > raw * recipe.blocks && !may_grow {
        let (needed, room) = (Bytes::of(image).div_ceil(raw), recipe.blocks);
        let words = format!("it takes {needed} erase blocks, and the first image has {room}");
        return Err(MakeError::Unfit(words));
    }
    let stored = contents.stored();
    let whole = end.max(length).max(recipe.at + Bytes::of(image));
    let mut bytes = vec![0xFF; whole.to_usize()];
    // What lies before it and behind it.
    for range in [Bytes::ZERO..recipe.at, end.min(length)..length] {
        let read =
            stored.read(range.start, &mut bytes[range.start.to_usize()..range.end.to_usize()]);
        read.map_err(|problem| Error::Unreadable { problem })?;
    }
    let place = &mut bytes[recipe.at.to_usize()..][..image.len()];
    match contents.code().filter(|code| code.map.is_mixed()) {
        // Such a controller stores data and code of a page in turn.
        Some(code) => {
            let raw = code.map.page + code.map.oob;
            let pages = place.chunks_mut(raw).zip(image.chunks(raw));
            pages.for_each(|(stored, page)| stored.copy_from_slice(&code.map.store(page)));
        }
        None => place.copy_from_slice(image),
    }
    Ok(bytes)
}
