//! Words that have no place in a file of the repository: paths of the machine that somebody used.

use crate::violation::Violation;

/// First folders of absolute paths that exist on one machine only.
const PRIVATE: [&str; 5] = ["home", "root", "work", "tmp/bash", "tmp/target"];

/// Finds private absolute paths in `text`.
#[must_use]
pub fn check(path: &str, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for word in PRIVATE {
            if holds(line, word) {
                let message = format!("`/{word}` is a path of one machine: use a relative path");
                violations.push(Violation::new(path, index + 1, message));
            }
        }
    }
    violations
}

/// Whether an absolute path that begins with `/word` stands in `line`. A longer path or an address that
/// merely contains the word does not count.
fn holds(line: &str, word: &str) -> bool {
    let pattern = format!("/{word}");
    line.match_indices(&pattern).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + pattern.len()..].chars().next();
        let begins = before.is_none_or(|c| !(c.is_alphanumeric() || "/._-~}*".contains(c)));
        let ends = word.contains('/') || after == Some('/');
        begins && ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path that this file itself does not hold.
    fn private(word: &str) -> String {
        format!("/{word}/a.txt")
    }

    #[test]
    fn a_private_path_is_found_with_its_line() {
        for word in ["home", "root", "work"] {
            let text = format!("fine\nsee `{}`\n", private(word));
            let found = check("docs/a.md", &text);
            assert_eq!(found.len(), 1, "{word}");
            assert_eq!(found[0].line, 2);
        }
        assert_eq!(check("a.sh", &format!("CARGO_TARGET_DIR=/tmp/{}-a", "target")).len(), 1);
    }

    #[test]
    fn other_paths_and_addresses_are_free() {
        let text =
            "https://example.org/home/a crates/work/a $HOME/root/a /homepage /tmp/report a/work/";
        assert_eq!(check("docs/a.md", text), []);
    }
}
