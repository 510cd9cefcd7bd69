//! Patterns of names, as a shell has them.
//!
//! Layer: rank 7. Main type: [`Pattern`].

use crate::error::{Error, PathProblem};
use crate::names::unshown;

/// The characters that make a pattern of a path.
const SPECIAL: &[u8] = b"*?[]{}!\\";

/// A pattern of paths: `*` and `?` within a name, `**` over folders, `[a-z]`, `{a,b}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<u8>);

impl Pattern {
    /// The pattern in `text`, which has escapes as [`shown`](crate::names::shown) makes them; `None` for a path
    /// without any. An escaped character means itself.
    ///
    /// # Errors
    /// [`Error::Escape`], [`PathProblem::Pattern`].
    pub fn of(text: &[u8]) -> Result<Option<Self>, Error> {
        if !text.iter().any(|byte| b"*?[{".contains(byte)) {
            return Ok(None);
        }
        let mut pattern = if text.starts_with(b"/") { Vec::new() } else { b"/".to_vec() };
        let mut at = 0;
        while at < text.len() {
            if text[at] != b'\\' {
                pattern.push(text[at]);
                at += 1;
                continue;
            }
            let end = text[at + 1..].iter().position(|&byte| byte == b'\\');
            let length = (1..=end.map_or(text.len() - at, |end| end + 1))
                .find(|&length| unshown(&text[at..at + length]).is_ok())
                .ok_or(Error::Escape { at })?;
            for byte in unshown(&text[at..at + length]).map_err(|_| Error::Escape { at })? {
                if SPECIAL.contains(&byte) {
                    pattern.push(b'\\');
                }
                pattern.push(byte);
            }
            at += length;
        }
        match fast_glob::validate(&pattern) {
            Ok(()) => Ok(Some(Self(pattern))),
            // What follows says how the library escapes.
            Err(problem) => {
                let words = problem.to_string();
                let problem = words.split(';').next().unwrap_or_default().to_owned();
                Err(Error::Path(PathProblem::Pattern { problem }))
            }
        }
    }

    /// Whether a path is one of those that are meant.
    #[must_use]
    pub fn matches(&self, path: &[u8]) -> bool {
        fast_glob::glob_match(&self.0, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &[u8]) -> bool {
        Pattern::of(pattern.as_bytes()).unwrap().unwrap().matches(path)
    }

    #[test]
    fn patterns_match_as_in_a_shell_and_escapes_mean_themselves() {
        for (pattern, path) in [
            ("/etc/*.conf", &b"/etc/a.conf"[..]),
            ("etc/*.conf", b"/etc/a.conf"),
            ("/etc/**/*.conf", b"/etc/a/b/c.conf"),
            ("/etc/**/*.conf", b"/etc/c.conf"),
            ("/**/passw?", b"/a/passwd"),
            ("/[a-c]*", b"/b\xff\n"),
            ("/{bin,sbin}/*", b"/sbin/init"),
            (r"/\x2a*", b"/*a"),
            (r"/\u{1b}?", b"/\x1bx"),
            (r"/\xff?", b"/\xffx"),
            (r"/\u{5c}*", b"/\\x"),
        ] {
            assert!(matches(pattern, path), "{pattern}");
        }
        for (pattern, path) in [
            ("/etc/*.conf", &b"/etc/a/b.conf"[..]),
            ("/*", b"/a/b"),
            (r"/\x2a*", b"/ba"),
            ("/[!a]*", b"/ab"),
        ] {
            assert!(!matches(pattern, path), "{pattern}");
        }
        assert_eq!(Pattern::of(b"/etc/a").unwrap(), None);
        assert!(matches!(Pattern::of(b"/[a*"), Err(Error::Path(PathProblem::Pattern { .. }))));
        assert!(matches!(Pattern::of(b"/*\\q"), Err(Error::Escape { at: 2 })));
    }
}
