//! The output of results: standard output in the form of `--format`, and the folder of `--out`.
//!
//! Layer: rank 12. Main type: [`Output`]. The files are written first, so that a reader that stops
//! early, such as `head`, loses only text. Their paths are printed last, below the text.

use crate::args::{Color, Form, Options};
use crate::closed;
use crate::error::Error;
use crate::exit::Status;
use crate::folder::{self, Folder, Holds};
use crate::pager;
use crate::terminal::{self, Escaping};
use boardlab_report::{Format, Shown, render};
use boardlab_result::RunResult;
use boardlab_result::foreign::harmless;
use std::env;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The width where standard output is not a terminal.
const WIDTH: usize = 100;
/// The largest width: longer lines of text are hard to read.
const WIDTH_MAX: usize = 160;

/// The output of results.
pub(crate) struct Output<'a> {
    options: &'a Options,
    folder: Option<Folder>,
    full: bool,
}

impl<'a> Output<'a> {
    /// The output of results by the user's options. Without `--out` they are written into the
    /// folder `otherwise`, if it is given. Standard output and the folder are checked now, because
    /// the run may be long.
    pub(crate) fn open(options: &'a Options, otherwise: Option<&str>) -> Result<Self, Error> {
        expect_stdout()?;
        let output = Self::in_folder(options, otherwise, Holds::Result)?;
        output.folder.as_ref().map_or(Ok(()), Folder::takes_results)?;
        Ok(output)
    }

    /// The same, in `full` or in brief.
    pub(crate) const fn in_full(mut self, full: bool) -> Self {
        self.full = full;
        self
    }

    /// The output of single files, which are printed if there is no folder.
    pub(crate) fn of_files(options: &'a Options) -> Result<Self, Error> {
        let output = Self::in_folder(options, None, Holds::Files)?;
        if output.folder.is_none() {
            expect_stdout()?;
        }
        Ok(output)
    }

    fn in_folder(
        options: &'a Options,
        otherwise: Option<&str>,
        holds: Holds,
    ) -> Result<Self, Error> {
        let path = options.out.as_deref().or(otherwise.map(Path::new));
        let folder = path.map(|path| Folder::at(path, options.quiet, holds)).transpose()?;
        Ok(Self { options, folder, full: true })
    }

    /// As [`Output::show`], but tables go to standard error, because standard output belongs to a
    /// guest; with --quiet they are not printed.
    pub(crate) fn show_beside(&self, shown: Shown<'_>) -> Result<Status, Error> {
        if !matches!(self.options.form(), Form::Table) {
            return self.show(shown);
        }
        let stderr = io::stderr();
        let options =
            self.render_options(terminal_size::terminal_size_of(&stderr), stderr.is_terminal());
        let saved = self.save(shown, &options);
        if !self.options.quiet {
            let text = render(shown, Format::Table, &options);
            terminal::tell_in_colours(text.trim_end(), options.color);
        }
        self.tell(&saved?);
        Ok(Status::of(folder::results(shown)))
    }

    /// Writes and prints `shown`; its verdicts decide the status. It is printed even if it cannot
    /// be written.
    pub(crate) fn show(&self, shown: Shown<'_>) -> Result<Status, Error> {
        let stdout = io::stdout();
        let options =
            self.render_options(terminal_size::terminal_size_of(&stdout), stdout.is_terminal());
        let saved = self.save(shown, &options);
        let format = self.options.form().of_result();
        let text = match format {
            Ok(format) => Ok(render(shown, format, &options)),
            Err(name) => attached(folder::results(shown), name),
        };
        let for_people = matches!(self.options.form(), Form::Table | Form::Fio);
        let escaped = for_people || stdout.is_terminal();
        let colour = options.color && format == Ok(Format::Table);
        let printed = text.and_then(|text| match escaped {
            true => self.print_for_people(&harmless(&text, colour)),
            false => print(text.as_bytes()),
        });
        let saved = saved.map(|written| self.tell(&written));
        Error::all([saved, printed]).map(|()| Status::of(folder::results(shown)))
    }

    /// Prints `text`, through the pager if it is taller than the terminal.
    fn print_for_people(&self, text: &str) -> Result<(), Error> {
        let stdout = io::stdout();
        let rows = terminal_size::terminal_size_of(&stdout).map_or(0, |(_, height)| height.0);
        let wanted = stdout.is_terminal() && !self.options.quiet && !self.options.no_pager;
        if !wanted || !pager::is_taller(text, rows) {
            return print(text.as_bytes());
        }
        let Some(pager) = pager::command(self.options.pager.as_deref()) else {
            return print(text.as_bytes());
        };
        if pager::show(text, &pager) {
            return Ok(());
        }
        self.say(&format!("the pager `{pager}` failed; --no-pager does without one"));
        print(text.as_bytes())
    }

    /// Writes `shown` into the folder, if there is one. Returns the files.
    fn save(
        &self,
        shown: Shown<'_>,
        options: &boardlab_report::Options,
    ) -> Result<Vec<PathBuf>, Error> {
        let saved = self.folder.as_ref().map(|folder| folder.save(shown, options));
        saved.transpose().map(Option::unwrap_or_default)
    }

    fn tell(&self, written: &[PathBuf]) {
        if let Some(folder) = &self.folder {
            folder.tell(written);
        }
    }

    /// Writes `content` into the folder as `name`, or prints it where there is no folder.
    pub(crate) fn file(&self, name: &str, content: &[u8]) -> Result<Status, Error> {
        match &self.folder {
            Some(folder) => folder.tell(&[folder.write(name, content)?]),
            None => print(content)?,
        }
        Ok(Status::Done)
    }

    /// Prints `words` on standard error, unless `--quiet` is set.
    pub(crate) fn say(&self, words: &str) {
        if !self.options.quiet {
            terminal::tell(words);
        }
    }

    /// The files that every result has, if there is a folder.
    pub(crate) fn own(&self) -> Vec<PathBuf> {
        self.folder.iter().flat_map(Folder::own).collect()
    }

    /// Whether there is a folder.
    pub(crate) const fn has_folder(&self) -> bool {
        self.folder.is_some()
    }

    fn render_options(
        &self,
        size: Option<(terminal_size::Width, terminal_size::Height)>,
        on_terminal: bool,
    ) -> boardlab_report::Options {
        boardlab_report::Options {
            width: within(size),
            color: colored(self.options.color(), on_terminal),
            wall_time: !self.options.no_wall_time,
            full: self.full,
            notes: !self.options.quiet,
        }
    }
}

/// Refuses a format of fio before a run without output of fio.
pub(crate) const fn expect_fio(options: &Options, is_printed: bool) -> Result<(), Error> {
    if !is_printed && options.form().of_result().is_err() {
        return Err(Error::NoOutputOfFio);
    }
    Ok(())
}

/// The attachments called `name`, one after the other.
fn attached(results: &[RunResult], name: &'static str) -> Result<String, Error> {
    let all = results.iter().flat_map(|run| &run.attachments);
    let texts: Vec<_> = all.filter(|one| one.name == name).map(|one| one.text.as_str()).collect();
    if texts.is_empty() { Err(Error::NoOutputOfFio) } else { Ok(texts.concat()) }
}

/// Whether to use colours on a stream, which may be a terminal. `NO_COLOR` applies when it is set
/// and not empty (no-color.org).
pub(crate) fn colored(color: Color, on_terminal: bool) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => on_terminal && env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()),
    }
}

/// Checks that standard output is open.
pub(crate) fn expect_stdout() -> Result<(), Error> {
    if closed::stdout() { Err(Error::StdoutClosed) } else { Ok(()) }
}

/// The width of standard output.
pub(crate) fn width() -> usize {
    within(terminal_size::terminal_size_of(io::stdout()))
}

/// The width for text on a terminal of this size, or where there is none.
fn within(size: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    size.map_or(WIDTH, |(width, _)| usize::from(width.0).min(WIDTH_MAX))
}

/// Standard output for the content of a file, as it is. A terminal, which it could command, gets it with escapes.
pub(crate) fn content() -> Box<dyn Write> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        return Box::new(Escaping::new(stdout.lock()));
    }
    Box::new(BufWriter::new(stdout.lock()))
}

/// Standard output for bytes that no terminal can show.
///
/// # Errors
/// When it is a terminal.
pub(crate) fn bytes() -> io::Result<BufWriter<io::StdoutLock<'static>>> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        return Err(io::Error::other("standard output is a terminal: name a file, or use a pipe"));
    }
    Ok(BufWriter::new(stdout.lock()))
}

/// Prints `text`.
pub(crate) fn print(text: &[u8]) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    finished(stdout.write_all(text).and_then(|()| stdout.flush())).map(|_| ())
}

/// The status of printing. A closed pipe is not an error.
pub(crate) fn finished(printed: io::Result<()>) -> Result<Status, Error> {
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Stdout(error)),
        _ => Ok(Status::Done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_of_colours_wins_over_the_terminal() {
        for terminal in [false, true] {
            assert!(colored(Color::Always, terminal));
            assert!(!colored(Color::Never, terminal));
        }
        assert!(!colored(Color::Auto, false));
    }
}
