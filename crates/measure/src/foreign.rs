//! What other programs measured, as results: fio, `iostat -x`, blktrace, mtd-utils' `flash_speed`.
//!
//! Layer: rank 8. Main types: [`Form`], what a file is; [`Foreign`], what was read; [`Problem`]. Functions:
//! [`form_of`], [`read`]. In reading order: [`fio`], `iostat`, `trace`, `flash_speed`. Such files are untrusted, and
//! seldom of one version: columns and fields are found by their names, what is absent stays empty, and what is left
//! out is told. docs/formats/foreign-measurements.md describes what is read of each.

pub mod fio;
mod flash_speed;
mod iostat;
mod trace;

use crate::plan::Flaw;
use boardlab_result::RunResult;
use boardlab_result::foreign::shown_at_most;
use std::fmt;
use std::io::{self, BufRead, Read as _};

/// The most bytes of a file that is held in memory; traces are not.
const TEXT_MAX: u64 = 64 << 20;
/// The bytes of a file by which its form is known.
pub const HEAD: usize = 8 << 10;
/// The number of characters of a text that an error repeats.
const TEXT_SHOWN: usize = 60;

/// The program that wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// fio with `--output-format=json` or `json+`.
    Fio,
    /// `iostat -x`, as text or with `-o JSON`.
    Iostat,
    /// `blkparse`, of a trace of blktrace.
    Blkparse,
    /// blktrace itself.
    Blktrace,
    /// `flash_speed` of mtd-utils, or the kernel's module `mtd_speedtest`.
    FlashSpeed,
}

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreign {
    /// Its figures.
    pub run: RunResult,
    /// Whether what was measured is whole.
    pub is_whole: bool,
}

/// Why a file is not read.
#[derive(Debug)]
pub enum Problem {
    /// The system cannot.
    System(io::Error),
    /// The file is too large: the limit in bytes.
    TooLarge(u64),
    /// It is not what it seemed to be.
    Flaw(Flaw),
}

impl Form {
    /// The program, for sentences.
    #[must_use]
    pub const fn program(self) -> &'static str {
        match self {
            Self::Fio => "fio",
            Self::Iostat => "iostat",
            Self::Blkparse => "blkparse",
            Self::Blktrace => "blktrace",
            Self::FlashSpeed => "flash_speed",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => error.fmt(f),
            Self::TooLarge(limit) => write!(f, "it has more than {} MiB", limit >> 20),
            Self::Flaw(flaw) => flaw.fmt(f),
        }
    }
}

impl std::error::Error for Problem {}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// What a file with this beginning is; `None`: not of another program, as far as is known.
#[must_use]
pub fn form_of(head: &[u8]) -> Option<Form> {
    if trace::is_binary(head) {
        return Some(Form::Blktrace);
    }
    let text = String::from_utf8_lossy(&head[..head.len().min(HEAD)]);
    if text.contains("\"boardlab_measurement\"") {
        return None;
    }
    let forms = [
        (Form::Fio, fio::is_one(&text)),
        (Form::Iostat, iostat::is_one(&text)),
        (Form::FlashSpeed, flash_speed::is_one(&text)),
        (Form::Blkparse, trace::is_one(&text)),
    ];
    forms.into_iter().find_map(|(form, is_one)| is_one.then_some(form))
}

/// Reads a file of this form, which messages call `name`.
///
/// # Errors
/// [`Problem`].
pub fn read(form: Form, name: &str, mut file: impl BufRead) -> Result<Foreign, Problem> {
    match form {
        Form::Fio => Ok(fio::Report::read(&text(&mut file)?)?.foreign(name)),
        Form::Iostat => iostat::read(name, &text(&mut file)?),
        Form::FlashSpeed => Ok(flash_speed::read(name, &text(&mut file)?)),
        Form::Blkparse => trace::read(name, file),
        Form::Blktrace => {
            let expected = "text: blkparse -i NAME, without `.blktrace.0`, makes it";
            Err(flaw(1, 1, "a binary trace of blktrace", expected))
        }
    }
}

/// All of a file; what is not UTF-8 is replaced.
fn text(file: &mut impl BufRead) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    file.take(TEXT_MAX + 1).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()).is_ok_and(|length| length > TEXT_MAX) {
        true => Err(Problem::TooLarge(TEXT_MAX)),
        false => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

fn flaw(line: usize, column: usize, found: &str, expected: &str) -> Problem {
    let found = shown_at_most(found, TEXT_SHOWN);
    Problem::Flaw(Flaw { line, column, found, expected: expected.into() })
}

/// The problem that JSON after so many lines is none.
fn no_json(error: &serde_json::Error, lines: usize, expected: &str) -> Problem {
    let found = if error.is_eof() { "the end of the file" } else { "no JSON" };
    flaw(lines + error.line(), error.column().max(1), found, expected)
}

/// A result of what `program` measured, which is in the file called `name`.
fn blank(program: &str, name: &str) -> RunResult {
    let title = format!("Measured by {program}: {}", shown_at_most(name, TEXT_SHOWN));
    RunResult::new("measurement", &title, 0, env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests;
