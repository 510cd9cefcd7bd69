//! The folder of `--out`: its files and their names.
//!
//! Layer: rank 12. Main type: [`Folder`]. One process writes into a folder at a time: it holds a
//! lock on the folder itself from before the run to its end. The files of a result are written as a
//! set: first all of them under temporary names, then the [manifest](crate::manifest) is renamed,
//! then the files. So a kill at any instant leaves the old files, or the new ones, or a folder
//! whose manifest shows what is missing.
//!
//! Other files in the folder are kept, except those of the former result: files that its manifest
//! names and that have not changed since are removed with it. The names of attachments may come
//! from a saved result and are untrusted: only plain file names are accepted, so that nothing is
//! written outside of the folder or hidden in it.

use crate::error::{Error, shown_path};
use crate::file::{self, Part};
use crate::manifest::{self, Entry, Manifest};
use crate::{saved, terminal};
use boardlab_document::lock::{self, LockError};
use boardlab_report::{Format, Options, Shown, csv, html, render};
use boardlab_result::{Reproduction, RunResult};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::slice;

/// The files that every result has.
const OWN: [&str; 4] = [RESULT, "cells.csv", "series.csv", "index.html"];

/// The file that `report` and `compare` read back.
pub(crate) const RESULT: &str = "result.json";

/// A folder to write to.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Whether to say nothing about what was written.
    quiet: bool,
    /// The folders that this process created, which are removed if they stay empty.
    made: Vec<PathBuf>,
    /// The folder, locked.
    #[allow(dead_code, reason = "a lock is held, not used")]
    lock: Option<File>,
}

/// What a process writes into a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// A result, whose files are one set.
    Result,
    /// Files that are independent of each other.
    Files,
}

/// The name and the content of a file.
type Named = (String, Vec<u8>);

impl Folder {
    /// The folder at `path`, created if missing, locked, and checked for writing. Called before a
    /// run, so that a wrong path does not waste one. Processes that write single files instead of a
    /// result share the folder.
    pub(crate) fn at(path: &Path, quiet: bool, holds: Holds) -> Result<Self, Error> {
        let existing = path.ancestors().find(|ancestor| ancestor.exists());
        if let Some(ancestor) = existing.filter(|ancestor| !ancestor.is_dir()) {
            return Err(Error::NotAFolder { path: ancestor.into() });
        }
        let refused = |problem| Error::Unwritable { path: path.into(), problem };
        let mut folder = Self { path: path.into(), quiet, made: Vec::new(), lock: None };
        // Between the two, a process whose run failed may remove the folder that it created.
        while !folder.lock.as_ref().is_some_and(|lock| file::is_at(lock, path)) {
            folder.make().map_err(refused)?;
            folder.enter(holds)?;
            if folder.lock.is_none() {
                break;
            }
        }
        file::clear(path);
        Part::probe(path).map_err(refused)?;
        Ok(folder)
    }

    /// Creates the folder and its missing parents.
    fn make(&mut self) -> io::Result<()> {
        let lacking: Vec<_> = self.path.ancestors().take_while(|path| !path.exists()).collect();
        for path in lacking.into_iter().rev().filter(|path| !path.as_os_str().is_empty()) {
            match fs::create_dir(path) {
                Ok(()) => self.made.push(path.into()),
                // Another process created it first.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Locks the folder. If another process holds the lock, it uses the folders that this one created.
    fn enter(&mut self, holds: Holds) -> Result<(), Error> {
        let locked = lock(&self.path, holds);
        if let Err(Error::FolderInUse { .. }) = locked {
            self.made.clear();
        }
        self.lock = locked?;
        Ok(())
    }

    /// The paths of the files that every result has.
    pub(crate) fn own(&self) -> impl Iterator<Item = PathBuf> {
        OWN.iter().chain([&manifest::NAME]).map(|name| self.path.join(name))
    }

    /// Checks that the files that every result has can be written: nothing else has one of their names.
    pub(crate) fn takes_results(&self) -> Result<(), Error> {
        self.free(OWN.iter().chain([&manifest::NAME]).copied())
            .map_err(|(path, problem)| Error::Unwritable { path, problem })
    }

    /// Checks that no folder, pipe or device has one of `names`.
    fn free<'n>(&self, names: impl Iterator<Item = &'n str>) -> Result<(), (PathBuf, io::Error)> {
        for name in names {
            let path = self.path.join(name);
            // A symbolic link is replaced, whatever its target: nothing is written outside of the
            // folder.
            let is_link = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
            if !is_link && let Err(problem) = file::is_there(&path) {
                return Err((path, problem));
            }
        }
        Ok(())
    }

    /// Writes `shown` in all forms, and the attachments. Returns the files, the report last. A report that would be
    /// too large is an error once all others are written.
    pub(crate) fn save(&self, shown: Shown<'_>, options: &Options) -> Result<Vec<PathBuf>, Error> {
        let results = results(shown);
        let attachments = attachments(results)?;
        let page = match shown {
            Shown::Run(run) => html::render(&Reproduction::new(vec![run.clone()]), options),
            Shown::Reproduction(all) => html::render(all, options),
        };
        let mut files: Vec<Named> = vec![
            (OWN[0].into(), render(shown, Format::Json, options).into()),
            (OWN[1].into(), render(shown, Format::Csv, options).into()),
            (OWN[2].into(), csv::series(results).into()),
        ];
        files.extend(attachments.into_iter().map(|(name, text)| (name, text.into())));
        let too_large = match page {
            Ok(page) => {
                files.push((OWN[3].into(), page.into()));
                None
            }
            Err(problem @ boardlab_report::Error::TooLarge { .. }) => Some(problem),
            Err(problem) => return Err(Error::Page(problem)),
        };
        let written = self.write_all(&files)?;
        too_large.map_or(Ok(written), |problem| Err(Error::Page(problem)))
    }

    /// Writes `files` as one set.
    fn write_all(&self, files: &[Named]) -> Result<Vec<PathBuf>, Error> {
        let failed = |path, problem| Error::Incomplete { path, problem };
        let here = |problem| failed(self.path.clone(), problem);
        let entries = files.iter().map(|(name, content)| Entry::of(name, content)).collect();
        let manifest = Manifest::of(entries);
        let list: Named = (manifest::NAME.into(), manifest.text().into());
        let names = files.iter().chain([&list]).map(|(name, _)| name.as_str());
        self.free(names).map_err(|(path, problem)| failed(path, problem))?;
        let mut parts = Vec::new();
        for (name, content) in [&list].into_iter().chain(files) {
            let path = self.path.join(name);
            match self.part(content) {
                Ok(part) => parts.push((part, path)),
                Err(problem) => return Err(failed(path, problem)),
            }
        }
        self.forget_others(&manifest);
        let mut written = Vec::new();
        for (part, path) in parts {
            part.put(&path).map_err(|problem| failed(path.clone(), problem))?;
            if written.is_empty() {
                // The manifest is durable before the files that it names.
                file::sync(&self.path).map_err(here)?;
            }
            written.push(path);
        }
        file::sync(&self.path).map_err(here)?;
        Ok(written)
    }

    /// Removes unchanged files that the existing manifest names and `manifest` does not.
    fn forget_others(&self, manifest: &Manifest) {
        let before = saved::read_bytes(&self.path.join(manifest::NAME)).ok();
        let Some(before) = before.and_then(|text| Manifest::parse(&text).ok()) else { return };
        let names: HashSet<_> = manifest.files.iter().map(|file| &file.name).collect();
        for file in before.files.iter().filter(|file| !names.contains(&file.name)) {
            if file.read(&self.path).is_ok() {
                // A file that cannot be removed is in no manifest, like a file of the user.
                let _ = fs::remove_file(self.path.join(&file.name));
            }
        }
    }

    fn part(&self, content: &[u8]) -> io::Result<Part> {
        let mut part = Part::create(&self.path)?;
        part.file().write_all(content)?;
        part.flush()?;
        Ok(part)
    }

    /// Writes one file that belongs to no result, and to no manifest.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, Error> {
        let path = self.path.join(name);
        let written = self.free([name].into_iter()).map_err(|(_, problem)| problem);
        let written = written
            .and_then(|()| self.part(content))
            .and_then(|part| part.put(&path))
            .and_then(|()| file::sync(&self.path));
        match written {
            Ok(()) => Ok(path),
            Err(problem) => Err(Error::Incomplete { path, problem }),
        }
    }

    /// Reports the written files to the user.
    pub(crate) fn tell(&self, written: &[PathBuf]) {
        for path in written.iter().filter(|_| !self.quiet) {
            terminal::tell(&format!("wrote {}", shown_path(path)));
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Another process that shares the folder may not have written into it yet.
        if self.lock.as_ref().is_some_and(|lock| lock::exclusive(lock).is_err()) {
            return;
        }
        for made in self.made.iter().rev() {
            // Only an empty folder is removed.
            let _ = fs::remove_dir(made);
        }
    }
}

/// Locks the folder at `path`; `None` if the filesystem has no locks.
fn lock(path: &Path, holds: Holds) -> Result<Option<File>, Error> {
    let refused = |problem| Error::Unwritable { path: path.into(), problem };
    let folder = File::open(path).map_err(refused)?;
    let locked = match holds {
        Holds::Result => lock::exclusive(&folder),
        Holds::Files => lock::shared(&folder),
    };
    match locked {
        Ok(()) => Ok(Some(folder)),
        // Then the user must run one process at a time; the manifest shows if not.
        Err(refused) if refused.is_unsupported() => Ok(None),
        Err(LockError::Held(holder)) => Err(Error::FolderInUse { path: path.into(), holder }),
        Err(LockError::System(problem)) => Err(refused(problem)),
    }
}

/// The single results of `shown`.
pub(crate) fn results(shown: Shown<'_>) -> &[RunResult] {
    match shown {
        Shown::Run(run) => slice::from_ref(run),
        Shown::Reproduction(all) => &all.results,
    }
}

/// Whether `name` is one that a result writes: its own files and attachments.
pub(crate) fn is_ours(name: &str) -> bool {
    OWN.contains(&name) || is_plain(name)
}

/// Whether `name` is a plain file name other than those of a result.
pub(crate) fn is_plain(name: &str) -> bool {
    let mut own = OWN.iter().chain([&manifest::NAME]);
    let own = own.any(|own| own.eq_ignore_ascii_case(name));
    // A colon names a drive or a stream on Windows.
    let foreign = |c: char| c.is_control() || matches!(c, '/' | '\\' | ':');
    !own && !name.is_empty()
        && name.len() <= 128
        && !name.starts_with('.')
        && !name.contains(foreign)
}

/// All attachments with the names they are written under. Of two different ones with one name, the
/// later is written as `N-NAME`, where N counts the results from 1.
fn attachments(results: &[RunResult]) -> Result<Vec<(String, &str)>, Error> {
    let mut files: Vec<(String, &str)> = Vec::new();
    for (index, result) in results.iter().enumerate() {
        for attachment in &result.attachments {
            let name = &attachment.name;
            if !is_plain(name) {
                return Err(Error::AttachmentName { path: None, name: name.clone() });
            }
            let names = [name.clone(), format!("{}-{name}", index + 1)];
            let file = free(&files, names, &attachment.text);
            let file = file.ok_or_else(|| Error::AttachmentTwice { name: name.clone() })?;
            files.extend(file);
        }
    }
    Ok(files)
}

/// The file to add to `files` for `text`, under the first of `names` that is not taken; nothing to
/// add when it is there already; `None` when all names are taken.
fn free<'t>(
    files: &[(String, &str)],
    names: [String; 2],
    text: &'t str,
) -> Option<Option<(String, &'t str)>> {
    let taken = |name: &String| files.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
    for name in names {
        match taken(&name) {
            None => return Some(Some((name, text))),
            Some((_, other)) if *other == text => return Some(None),
            Some(_) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_result::Attachment;
    use std::process;

    fn with(names: &[(&str, &str)]) -> RunResult {
        let mut run = RunResult::new("x", "x", 1, "0");
        let attachment = |(name, text): &(&str, &str)| Attachment {
            name: (*name).into(),
            title: String::new(),
            text: (*text).into(),
        };
        run.attachments = names.iter().map(attachment).collect();
        run
    }

    #[test]
    fn only_plain_file_names_are_taken() {
        for name in ["wait.patch", "linux-3.4 wait.patch", "..patch"] {
            assert_eq!(is_plain(name), !name.starts_with('.'), "{name}");
        }
        let long = "x".repeat(129);
        let hostile =
            ["", ".", "..", "../x", "/etc/x", "a/b", "a\\b", "C:x", ".bashrc", "a\nb", &long];
        for name in hostile.iter().chain(&OWN).chain(&["Index.HTML", manifest::NAME]) {
            assert!(!is_plain(name), "{name}");
            assert!(matches!(
                attachments(&[with(&[(name, "")])]),
                Err(Error::AttachmentName { .. })
            ));
        }
    }

    #[test]
    fn equal_attachments_are_one_file_and_different_ones_two() {
        let runs = [with(&[("a", "1")]), with(&[("a", "1")]), with(&[("A", "2")])];
        let files = attachments(&runs).unwrap();
        assert_eq!(files, [("a".to_owned(), "1"), ("3-A".to_owned(), "2")]);
        let clash = [with(&[("a", "1"), ("a", "2"), ("a", "3")])];
        assert!(matches!(attachments(&clash), Err(Error::AttachmentTwice { .. })));
    }

    #[test]
    fn a_report_that_is_too_large_leaves_the_other_files_whole() {
        let path = std::env::temp_dir().join(format!("boardlab-large-{}", process::id()));
        let large = "x".repeat(html::SIZE_MAX);
        for text in ["small", &large, "small"] {
            let folder = Folder::at(&path, true, Holds::Result).unwrap();
            let mut run = with(&[("points.csv", "1")]);
            run.warnings = vec![text.into()];
            let saved = folder.save(Shown::Run(&run), &Options::default());
            let json = fs::read_to_string(path.join(RESULT)).unwrap();
            assert!(json.contains(text) && path.join("points.csv").exists());
            // An older report is not that of this result.
            assert_eq!(path.join(OWN[3]).exists(), text != large);
            match saved {
                Ok(_) => assert_ne!(text, large),
                Err(problem) => {
                    let told = problem.render(false);
                    assert!(text == large && told.contains("all other files"), "{told}");
                }
            }
        }
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_folder_that_another_process_uses_stays_even_empty() {
        let scratch = std::env::temp_dir().join(format!("boardlab-folder-{}", process::id()));
        let path = scratch.join("a/b");
        for (theirs, ours) in [
            (Holds::Files, Holds::Files),
            (Holds::Result, Holds::Result),
            (Holds::Files, Holds::Result),
        ] {
            let mut made = Folder { path: path.clone(), quiet: true, made: Vec::new(), lock: None };
            made.make().unwrap();
            let other = Folder::at(&path, true, theirs).unwrap();
            assert_eq!(made.enter(ours).is_ok(), ours == Holds::Files);
            drop(made);
            other.write("x", b"x").unwrap();
            drop(other);
            fs::remove_dir_all(&scratch).unwrap();
        }
        drop(Folder::at(&path, true, Holds::Result).unwrap());
        assert!(!scratch.exists(), "nobody uses it");
    }
}
