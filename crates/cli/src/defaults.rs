//! The user's defaults: a file of values that hold where an option is left out.
//!
//! Layer: rank 12. Main type: [`Defaults`]; functions: [`read`], [`file`]. Left out on purpose: `--seed`, `--format` and
//! everything else that changes figures or their form, so that a command computes the same on every machine.

use crate::args::{Cli, Color, Command, THREADS_MAX, thread_count};
use crate::error::Error;
use boardlab_document::problems::Read;
use boardlab_document::reader::Section;
use boardlab_document::source::{Kind, Source};
use boardlab_document::{Document, error};
use boardlab_experiment::Failure;
use std::env;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// The variable that names another file; empty for none.
const VARIABLE: &str = "BOARDLAB_CONFIG";

/// What holds where an option is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Defaults {
    /// When to use colours, as `--color`.
    color: Option<Color>,
    /// The pager, a command of the shell; `none` for no pager.
    pager: Option<String>,
    /// Whether to print everything, as `--full`.
    full: bool,
    /// Whether to print results only, as `--quiet`.
    quiet: bool,
    /// Threads of a sweep, as `--threads`.
    threads: Option<NonZeroUsize>,
}

impl Defaults {
    fn of(top: &Section<'_>) -> Read<Self> {
        let colors = [("auto", Color::Auto), ("always", Color::Always), ("never", Color::Never)];
        let threads = top.key::<u64>("threads").within(1, THREADS_MAX).optional()?;
        let defaults = Self {
            color: top.optional_one_of("color", &colors)?,
            pager: top.optional("pager")?,
            full: top.key("full").or(false).required()?,
            quiet: top.key("quiet").or(false).required()?,
            threads: threads.and_then(thread_count),
        };
        top.finish()?;
        Ok(defaults)
    }

    /// Puts these values in place of the options that `cli` leaves out.
    pub(crate) fn apply(self, cli: &mut Cli) {
        let options = &mut cli.options;
        options.color = options.color.or(self.color);
        options.quiet |= self.quiet && !options.no_quiet;
        options.pager = self.pager;
        match &mut cli.command {
            Some(Command::Reproduce { extent, .. } | Command::Report { extent, .. }) => {
                extent.full |= self.full && !extent.no_full;
            }
            Some(Command::Sweep(sweep)) => sweep.threads = sweep.threads.or(self.threads),
            _ => {}
        }
    }
}

/// The file of defaults, and whether the user named it; `None` where the user wants none or has no home.
///
/// Source: XDG Base Directory Specification 0.8.
pub(crate) fn file() -> Option<(PathBuf, bool)> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    match env::var_os(VARIABLE) {
        Some(path) => Some((path.into(), true)).filter(|(path, _)| *path != Path::new("")),
        None => folder(set("XDG_CONFIG_HOME"), set("HOME"))
            .map(|folder| (folder.join("boardlab/config.toml"), false)),
    }
}

/// The folder of the user's configurations. A relative path counts for none, as the specification has it.
fn folder(configurations: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let configurations = configurations.map(PathBuf::from).filter(|path| path.is_absolute());
    configurations.or_else(|| home.map(|home| PathBuf::from(home).join(".config")))
}

/// The user's defaults; none where there is no file.
///
/// # Errors
/// When the file cannot be read, has an unknown key or a wrong value, or is missing although the user names it.
pub(crate) fn read() -> Result<Defaults, Error> {
    let Some((path, named)) = file() else { return Ok(Defaults::default()) };
    if !named && !path.exists() {
        return Ok(Defaults::default());
    }
    let read = || -> Result<_, error::Error> {
        let document = Document::parse(&Source::from_file(Kind::Defaults, &path)?)?;
        Ok(document.read(|top| Defaults::of(&top))?.value)
    };
    read().map_err(|problem| Failure::from(problem).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Defaults, String> {
        let document = Document::parse(&Source::new(Kind::Defaults, "config.toml", text));
        let read = document.and_then(|document| document.read(|top| Defaults::of(&top)));
        read.map(|reading| reading.value).map_err(|error| error.render(false))
    }

    #[test]
    fn every_key_is_read() {
        let text =
            "color = \"never\"\npager = \"less -S\"\nfull = true\nquiet = true\nthreads = 3\n";
        let expected = Defaults {
            color: Some(Color::Never),
            pager: Some("less -S".into()),
            full: true,
            quiet: true,
            threads: NonZeroUsize::new(3),
        };
        assert_eq!(of(text).unwrap(), expected);
        assert_eq!(of("").unwrap(), Defaults::default());
    }

    #[test]
    fn the_page_shows_every_key() {
        let page = include_str!("../../../docs/tasks/find-your-way.md");
        let shown =
            page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let defaults = of(shown).unwrap();
        assert!(defaults.color.is_some() && defaults.pager.is_some() && defaults.full);
        assert!(defaults.threads.is_some() && shown.contains("quiet = "));
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_place() {
        for (text, place, says) in [
            ("colour = \"never\"", "config.toml:1:1", "color"),
            ("\ncolor = \"blue\"", "config.toml:2:9", "always"),
            ("threads = 0", "config.toml:1:11", "1024"),
            ("full = 1", "config.toml:1:8", "true"),
            ("seed = 2", "config.toml:1:1", "seed"),
            ("pager = ", "config.toml:1:", "config.toml"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(place) && error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn a_relative_folder_of_configurations_counts_for_none() {
        let folder = |configurations: &str| folder(Some(configurations.into()), Some("/h".into()));
        assert_eq!(folder("/c").unwrap(), Path::new("/c"));
        assert_eq!(folder("c").unwrap(), Path::new("/h/.config"));
    }
}
