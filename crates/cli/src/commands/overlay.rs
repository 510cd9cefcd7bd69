//! The overlay beside an image: opened, begun and applied.
//!
//! Layer: rank 12. Main type: [`Beside`], an image with its overlay, both locked; [`apply`] is
//! `boardlab image apply`.

use crate::args::Apply;
use crate::error::{Error, shown_path};
use crate::exit::Status;
use crate::file::{self, NewFile, Part, Target};
use crate::output::Output;
use crate::terminal;
use boardlab_document::lock::{self, LockError};
use boardlab_image::check::{check_detected, report};
use boardlab_image::finding::{Finding, Severity};
use boardlab_image::fs::DetectedFileSystem;
use boardlab_image::overlay::{Header, Identity, Log, OverlayError, Replayed, replay};
use boardlab_image::{Contents, Error as Problem, Hints, MountedImage, detect, prepare};
use boardlab_report::Shown;
use boardlab_sim::Bytes;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// What an overlay is called besides its image.
const SUFFIX: &str = ".overlay";
/// Bytes that are copied at once.
const PIECE: usize = 1 << 20;

/// An image that this process alone changes, with its overlay.
#[derive(Debug)]
pub(super) struct Beside {
    /// The image, with symbolic links resolved.
    pub(super) image: PathBuf,
    /// The overlay, whether there is one or not.
    pub(super) path: PathBuf,
    /// The image alone.
    pub(super) dump: Contents,
    /// The filesystem of the image.
    system: Box<dyn DetectedFileSystem>,
    identity: Identity,
    /// The overlay that is there.
    found: Option<(File, Replayed)>,
    /// Holds the lock.
    _image: File,
}

/// The path of an image, without a symbolic link at its end: the overlay lies beside the image itself.
pub(super) fn image_at(path: &Path) -> io::Result<PathBuf> {
    if fs::symlink_metadata(path)?.is_symlink() { fs::canonicalize(path) } else { Ok(path.into()) }
}

/// The path of the overlay of an image.
pub(super) fn path_beside(image: &Path) -> PathBuf {
    let mut name = OsString::from(image.as_os_str());
    name.push(SUFFIX);
    name.into()
}

impl Beside {
    /// Opens an image and its overlay, and locks both. An overlay whose changes are in the image already is
    /// removed.
    pub(super) fn open(image: &Path) -> Result<Self, Error> {
        let of_image = |problem| Error::Image { path: image.into(), problem };
        let unreadable = |problem| of_image(Problem::Unreadable { problem });
        let image = image_at(image).map_err(unreadable)?;
        // It is a file: opening a pipe would wait for a writer.
        let dump = Contents::open(&image).map_err(of_image)?;
        let held = File::open(&image).map_err(unreadable)?;
        locked(&held, &image)?;
        if !file::is_at(&held, &image) {
            // Another process has just put a new image in its place.
            return Self::open(&image);
        }
        let path = path_beside(&image);
        let system = detect(&dump).map_err(of_image)?;
        let identity = Identity::of(&dump).map_err(unreadable)?;
        let mut beside = Self { image, path, dump, system, identity, found: None, _image: held };
        beside.find()?;
        Ok(beside)
    }

    fn find(&mut self) -> Result<(), Error> {
        let of_overlay = |problem| Error::Overlay { path: self.path.clone(), problem };
        let unreadable = |error| of_overlay(OverlayError::Unreadable(error));
        let kind = match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            metadata => metadata.map_err(unreadable)?,
        };
        if !kind.is_file() {
            return Err(of_overlay(OverlayError::Other("no regular file")));
        }
        let file = File::options().read(true).write(true).open(&self.path).map_err(unreadable)?;
        locked(&file, &self.path)?;
        let contents = file.try_clone().and_then(Contents::of_file).map_err(unreadable)?;
        let replayed = replay(&self.dump, self.identity, &contents).map_err(of_overlay)?;
        let shown = shown_path(&self.path);
        if replayed.spent {
            fs::remove_file(&self.path).map_err(|problem| self.unwritable(problem))?;
            terminal::tell(&format!(
                "note: the changes in {shown} are in the image already; it is removed"
            ));
            return Ok(());
        }
        if !replayed.torn.is_zero() {
            let torn = replayed.torn.get();
            terminal::tell(&format!(
                "note: the last {torn} bytes of {shown} were not whole: what was not synced before is lost"
            ));
        }
        self.found = Some((file, replayed));
        Ok(())
    }

    fn unwritable(&self, problem: io::Error) -> Error {
        Error::Incomplete { path: self.path.clone(), problem }
    }

    /// The image with its changes.
    pub(super) fn contents(&self) -> Contents {
        self.found.as_ref().map_or_else(|| self.dump.clone(), |(_, found)| found.contents.clone())
    }

    /// Mounts the image with its changes.
    pub(super) fn mounted(&self, hints: &Hints) -> Result<MountedImage, Problem> {
        let contents = prepare(&self.contents(), hints)?;
        match &self.found {
            None => self.system.mount(&contents, hints),
            Some(_) => self.system.of_changed(&contents).mount(&contents, hints),
        }
    }

    /// How many blocks the overlay changes; `None` when there is none.
    pub(super) fn changed(&self) -> Option<usize> {
        self.found.as_ref().map(|(_, found)| found.patches.len())
    }

    /// Begins a new overlay in place of the one that is there, with its changes and with those of `mounted`.
    pub(super) fn begin(&mut self, mounted: &MountedImage) -> Result<Log, Error> {
        let header = Header::of(self.identity, mounted.at, mounted.fs.dump());
        let before = self.found.as_ref().map(|(_, found)| found);
        if let Some(found) = before
            && (found.header.shape, found.header.at) != (header.shape, header.at)
        {
            let problem = OverlayError::OfAnotherFlash {
                expected: (found.header.shape, found.header.at),
                found: (header.shape, header.at),
            };
            return Err(Error::Overlay { path: self.path.clone(), problem });
        }
        let patches = before.map(|found| &found.patches);
        let begun = (|| {
            let target = Target::at(&self.path)?;
            let mut part = target.begin()?;
            // The lock is that of the open file, which the copy shares.
            let file = part.file().try_clone()?;
            let log = Log::begin(file, &header, mounted.fs.dump(), patches)?;
            target.finish(part)?;
            Ok(log)
        })();
        let log = begun.map_err(|problem| self.unwritable(problem))?;
        self.found = None;
        Ok(log)
    }
}

fn locked(file: &File, path: &Path) -> Result<(), Error> {
    match lock::exclusive(file) {
        Err(LockError::Held(holder)) => Err(Error::ImageInUse { path: path.into(), holder }),
        Err(refused) if refused.is_unsupported() => {
            let shown = shown_path(path);
            terminal::tell(&format!(
                "note: {shown} is on a filesystem without locks; mount it only once"
            ));
            Ok(())
        }
        Err(LockError::System(problem)) => {
            let problem = Problem::Unreadable { problem };
            Err(Error::Image { path: path.into(), problem })
        }
        Ok(()) => Ok(()),
    }
}

/// Puts the changes of an image into a new one.
pub(super) fn apply(asked: &Apply, output: &Output<'_>) -> Result<Status, Error> {
    let mut beside = Beside::open(&asked.file)?;
    match beside.apply(asked.output.as_deref())? {
        Applied::Nothing => {
            let problem = OverlayError::Missing;
            Err(Error::Overlay { path: beside.path, problem })
        }
        Applied::Refused(findings) => {
            let shown = output
                .show(Shown::Run(&report(&shown_path(&asked.file), &findings).run))
                .map(|_| Status::Failed)?;
            terminal::tell(&refusal(&beside));
            Ok(shown)
        }
        Applied::Done(findings, changed) => {
            let name = asked.output.as_deref().unwrap_or(&asked.file);
            let told = report(&shown_path(name), &findings);
            terminal::tell(&format!("{} changed blocks are in {}", changed, shown_path(name)));
            let shown = output.show(Shown::Run(&told.run))?;
            Ok(if told.whole { shown } else { Status::Failed })
        }
    }
}

/// What is told when a new image has errors.
fn refusal(beside: &Beside) -> String {
    format!(
        "error: the new image has errors that {} does not have: nothing was changed, and {} is kept",
        shown_path(&beside.image),
        shown_path(&beside.path)
    )
}

/// Applies the overlay of an image after a mount of it.
pub(super) fn apply_after_mount(image: &Path) -> Result<Status, Error> {
    let mut beside = Beside::open(image)?;
    match beside.apply(None)? {
        Applied::Nothing => Ok(Status::Done),
        Applied::Refused(_) => {
            terminal::tell(&refusal(&beside));
            Ok(Status::Failed)
        }
        Applied::Done(_, changed) => {
            let image = shown_path(&beside.image);
            terminal::tell(&format!("{changed} changed blocks are in {image}"));
            Ok(Status::Done)
        }
    }
}

/// What came of it.
enum Applied {
    /// There is no overlay.
    Nothing,
    /// The new image has errors: the findings of its check.
    Refused(Vec<Finding>),
    /// The findings of the check of the new image, and how many blocks changed.
    Done(Vec<Finding>, usize),
}

impl Beside {
    /// Writes the image with its changes into `new`, or else in place of the old one.
    fn apply(&mut self, new: Option<&Path>) -> Result<Applied, Error> {
        let Some((overlay, found)) = self.found.take() else { return Ok(Applied::Nothing) };
        let hints = &of_flash(&found.header);
        let changed = found.patches.len();
        let path = new.unwrap_or(&self.image).to_path_buf();
        let of_new = |problem| match new {
            Some(path) => Error::NewFile { path: path.into(), problem },
            None => Error::Incomplete { path: self.image.clone(), problem },
        };
        let place = Place::at(new, &self.image).map_err(of_new)?;
        let mut part = place.begin().map_err(of_new)?;
        let incomplete = |problem| Error::Incomplete { path: path.clone(), problem };
        copy(&found.contents, part.file()).map_err(incomplete)?;
        part.flush().map_err(incomplete)?;
        let written = part.file().try_clone().and_then(Contents::of_file).map_err(incomplete)?;
        let of_image = |problem| Error::Image { path: self.image.clone(), problem };
        let changed_system = self.system.of_changed(&written);
        let findings = check_detected(&*changed_system, &written, hints).map_err(of_image)?;
        // An old image that cannot even be checked has no errors to compare with.
        let before = check_detected(&*self.system, &self.dump, hints).unwrap_or_default();
        if findings.iter().any(|finding| is_new(finding, &before)) {
            return Ok(Applied::Refused(findings));
        }
        if new.is_none() {
            let identity = Identity::of(&written).map_err(incomplete)?;
            let log = Log::go_on(overlay, found.length, found.sequence);
            let noted = log.and_then(|mut log| {
                log.applied(identity)?;
                Ok(log)
            });
            // Its lock holds until the overlay is gone.
            let _log = noted.map_err(|problem| self.unwritable(problem))?;
            place.finish(part).map_err(incomplete)?;
            fs::remove_file(&self.path).map_err(|problem| self.unwritable(problem))?;
            let folder = self.path.parent().unwrap_or(Path::new("."));
            file::sync(folder).map_err(incomplete)?;
        } else {
            place.finish(part).map_err(incomplete)?;
        }
        Ok(Applied::Done(findings, changed))
    }
}

/// The flash that was mounted, which nothing in the image may show.
fn of_flash(header: &Header) -> Hints {
    let shape = header.shape;
    let [page, oob] = [shape.page, shape.oob].map(|size| shape.is_nand().then_some(size));
    Hints { page, oob, block: Some(shape.block), ..Hints::default() }
}

/// Whether a finding is an error that was not there before, wherever it was.
fn is_new(finding: &Finding, before: &[Finding]) -> bool {
    let is_same = |other: &Finding| {
        (other.severity, &other.what, &other.found)
            == (finding.severity, &finding.what, &finding.found)
    };
    finding.severity == Severity::Error && !before.iter().any(is_same)
}

/// Where the new image goes.
enum Place {
    New(NewFile),
    Old(Target),
}

impl Place {
    fn at(new: Option<&Path>, image: &Path) -> io::Result<Self> {
        Ok(match new {
            Some(path) => Self::New(NewFile::at(path)?),
            None => Self::Old(Target::at(image)?),
        })
    }

    fn begin(&self) -> io::Result<Part> {
        match self {
            Self::New(file) => file.begin(),
            Self::Old(target) => target.begin(),
        }
    }

    fn finish(&self, part: Part) -> io::Result<()> {
        match self {
            Self::New(file) => file.finish(part),
            Self::Old(target) => target.finish(part),
        }
    }
}

fn copy(contents: &Contents, file: &mut File) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    let mut at = Bytes::ZERO;
    while at < contents.length() {
        let read = contents.read(at, &mut buffer)?;
        file.write_all(&buffer[..read])?;
        at += Bytes::new(read as u64);
    }
    Ok(())
}
