//! One broken rule at one place, and the assertion that there is none.

use std::fmt;

/// A broken rule at one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// File relative to the root of the repository.
    pub path: String,
    /// Line, counted from 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl Violation {
    /// A violation at `line` of `path`.
    #[must_use]
    pub fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Fails with all of `violations`, sorted by place.
///
/// # Panics
/// When there is at least one.
pub fn assert_none(mut violations: Vec<Violation>) {
    violations.sort();
    violations.dedup();
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} violations:\n{}", lines.len(), lines.join("\n"));
}

/// The line, counted from 1, of the byte `offset` in `text`.
#[must_use]
pub fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    1 + before.filter(|&&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_counted_from_one() {
        assert_eq!(line_of("a\nb\n", 0), 1);
        assert_eq!(line_of("a\nb\n", 2), 2);
    }

    #[test]
    fn no_violation_passes() {
        assert_none(Vec::new());
    }

    #[test]
    #[should_panic(expected = "2 violations:\na.rs:3: first\nb.rs:1: second")]
    fn all_violations_are_shown_in_order() {
        assert_none(vec![Violation::new("b.rs", 1, "second"), Violation::new("a.rs", 3, "first")]);
    }
}
