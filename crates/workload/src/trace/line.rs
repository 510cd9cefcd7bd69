//! Lines of a trace, and a cursor within one.
//!
//! Layer: rank 6, below both formats. Main types: [`Lines`], [`Cursor`], [`LineError`]. One line is
//! held at a time, of at most [`LONGEST`] bytes, so that a trace of any size takes no memory.

use super::problem::{Error, Problem};
use crate::fio::Place;
use std::io::{BufRead, Read as _};

/// The length limit of a line.
pub const LONGEST: usize = 4_096;

/// An error in a line, with its byte position, from 1.
#[derive(Debug)]
pub(super) struct LineError {
    pub(super) column: usize,
    pub(super) problem: Problem,
}

impl LineError {
    /// It in a file, in the line `number`; of a text without a line in the first.
    pub(super) fn in_line(self, file: &str, number: u64) -> Error {
        let line = usize::try_from(number.max(1)).unwrap_or(usize::MAX);
        let place = Place { file: file.to_owned(), line, column: self.column };
        Error { place, problem: self.problem }
    }
}

/// The lines of a text.
#[derive(Debug)]
pub(super) struct Lines<R> {
    text: R,
    line: Vec<u8>,
    /// Of the present line, from 1.
    pub(super) number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(text: R) -> Self {
        Self { text, line: Vec::with_capacity(256), number: 0 }
    }

    /// The next line without its end; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, LineError> {
        self.line.clear();
        let most = u64::try_from(LONGEST).expect("a few KiB") + 2;
        let got = self.text.by_ref().take(most).read_until(b'\n', &mut self.line);
        if !matches!(got, Ok(0)) {
            self.number += 1;
        }
        let slip = |problem| LineError { column: 1, problem };
        match got {
            Err(error) => {
                return Err(slip(Problem::Unreadable { reason: error.to_string() }));
            }
            Ok(0) => return Ok(None),
            Ok(_) => {}
        }
        for end in [b'\n', b'\r'] {
            if self.line.last() == Some(&end) {
                self.line.pop();
            }
        }
        if self.line.len() > LONGEST {
            return Err(LineError {
                column: LONGEST + 1,
                ..slip(Problem::LongLine { most: LONGEST })
            });
        }
        Ok(Some(&self.line))
    }
}

/// A position within a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    /// The rest of the line.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.line[self.at..]
    }

    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        while self.rest().first().is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// Bytes up to the next one of `ends`, or to the end of the line.
    #[inline]
    pub(super) fn until(&mut self, ends: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.rest();
        let length = rest.iter().position(|&byte| ends(byte)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// The next word, without leading blanks; empty at the end of the line.
    #[inline]
    pub(super) fn word(&mut self) -> &'a [u8] {
        self.skip_blanks();
        self.until(|byte| byte.is_ascii_whitespace())
    }

    /// Skips `byte`, if it is next.
    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let there = self.rest().first() == Some(&byte);
        self.at += usize::from(there);
        there
    }

    /// Parses a decimal number: its value, and its number of digits.
    #[inline]
    pub(super) fn number(&mut self, what: &'static str) -> Result<(u64, usize), LineError> {
        let start = *self;
        let digits = self.until(|byte| !byte.is_ascii_digit());
        if digits.is_empty() {
            return Err(start.expected(what));
        }
        let mut value = 0_u64;
        for digit in digits {
            let next = value.checked_mul(10).and_then(|v| v.checked_add(u64::from(digit - b'0')));
            value = next.ok_or_else(|| start.too_large(what, digits))?;
        }
        Ok((value, digits.len()))
    }

    /// The error for an unexpected text here.
    #[cold]
    pub(super) fn expected(&self, expected: &'static str) -> LineError {
        let mut here = *self;
        here.skip_blanks();
        let column = here.at + 1;
        let found = shown(here.until(|byte| byte.is_ascii_whitespace()));
        LineError { column, problem: Problem::Syntax { expected, found } }
    }

    /// The error for a number that is too large.
    #[cold]
    pub(super) fn too_large(&self, what: &'static str, digits: &[u8]) -> LineError {
        LineError { column: self.at + 1, problem: Problem::TooLarge { what, found: shown(digits) } }
    }
}

/// The bytes as text for a message: the first few, anything that is not printable replaced.
pub(super) fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 32;
    let some = &bytes[..bytes.len().min(MOST)];
    let mut text: String = some
        .iter()
        .map(|&byte| if byte.is_ascii_graphic() || byte == b' ' { char::from(byte) } else { '?' })
        .collect();
    if bytes.len() > MOST {
        text.push_str("...");
    }
    text
}
