//! The folder of `--out`: what is written there, and under which names.
//!
//! Layer: rank 9. Main type: [`Folder`]. Files of other names that are in the folder stay. The
//! names of attachments may come from a saved result and are untrusted: only plain file names are
//! taken, so that nothing is written outside of the folder or hidden in it.

use crate::error::{Error, shown_path};
use boardlab_report::{Format, Options, Shown, csv, html, render};
use boardlab_result::{Reproduction, RunResult};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::slice;

/// The files that every result gives.
const OWN: [&str; 4] = [RESULT, "cells.csv", "series.csv", "index.html"];

/// The file that `report` and `compare` read back.
pub(crate) const RESULT: &str = "result.json";

/// A folder to write to.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Whether to say nothing about what was written.
    quiet: bool,
}

impl Folder {
    /// The folder at `path`, which need not exist yet. Asked before a run, so that a wrong path
    /// does not cost one.
    pub(crate) fn at(path: &Path, quiet: bool) -> Result<Self, Error> {
        let existing = path.ancestors().find(|ancestor| ancestor.exists());
        match existing {
            Some(ancestor) if !ancestor.is_dir() => {
                Err(Error::NotAFolder { path: ancestor.into() })
            }
            _ => Ok(Self { path: path.into(), quiet }),
        }
    }

    /// Writes `shown` in all forms, and the attachments. Returns the files, the report last.
    pub(crate) fn save(&self, shown: Shown<'_>, options: &Options) -> Result<Vec<PathBuf>, Error> {
        let results = results(shown);
        let attachments = attachments(results)?;
        let mut written = vec![
            self.write(OWN[0], render(shown, Format::Json, options).as_bytes())?,
            self.write(OWN[1], render(shown, Format::Csv, options).as_bytes())?,
            self.write(OWN[2], csv::series(results).as_bytes())?,
        ];
        for (name, text) in attachments {
            written.push(self.write(&name, text.as_bytes())?);
        }
        let page = match shown {
            Shown::Run(run) => html::render(&Reproduction::new(vec![run.clone()]), options),
            Shown::Reproduction(all) => html::render(all, options),
        };
        written.push(self.write(OWN[3], page.map_err(Error::Page)?.as_bytes())?);
        Ok(written)
    }

    /// Writes one file: as a whole, or not at all, whenever the process is killed.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, Error> {
        let refused = |path: &Path| {
            let path = path.to_path_buf();
            move |problem| Error::Unwritable { path, problem }
        };
        fs::create_dir_all(&self.path).map_err(refused(&self.path))?;
        let path = self.path.join(name);
        let part = self.path.join(format!(".{name}.part"));
        let written = File::create(&part)
            .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&part, &path));
        if let Err(error) = written {
            // What is left of the first attempt is of no use; that it stays is no second error.
            let _ = fs::remove_file(&part);
            return Err(refused(&path)(error));
        }
        Ok(path)
    }

    /// Tells the user what was written.
    pub(crate) fn tell(&self, written: &[PathBuf]) {
        let mut stderr = io::stderr().lock();
        for path in written.iter().filter(|_| !self.quiet) {
            // Nobody is left to tell when standard error is closed.
            let _ = writeln!(stderr, "wrote {}", shown_path(path));
        }
    }
}

/// The single results of `shown`.
pub(crate) fn results(shown: Shown<'_>) -> &[RunResult] {
    match shown {
        Shown::Run(run) => slice::from_ref(run),
        Shown::Reproduction(all) => &all.results,
    }
}

/// Whether `name` is that of a plain file that is none of ours.
pub(crate) fn is_plain(name: &str) -> bool {
    let own = OWN.iter().any(|own| own.eq_ignore_ascii_case(name));
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
        for name in hostile.iter().chain(&OWN).chain(&["Index.HTML"]) {
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
}
