//! The files that packages hold are there, and packed documents lead to one another.
//!
//! Main function: [`check_repository`]. Left out: links into folders with source, which packages lack.

use crate::links::{is_external, resolve};
use crate::markdown::Document;
use crate::repository::Repository;
use crate::violation::Violation;

/// The list of the files, which `setup/dist.sh` reads.
pub const LIST: &str = "setup/package/files.txt";

/// Checks the list of `repository` and the documents on it.
#[must_use]
pub fn check_repository(repository: &Repository) -> Vec<Violation> {
    let list = repository.read(LIST);
    let mut violations = check_list(&list, &|path| repository.has(path));
    for path in repository.files_in("", "md").filter(|path| is_packed(&list, path)) {
        let is_file = |path: &str| repository.files().iter().any(|file| file == path);
        violations.extend(check_document(path, &repository.read(path), &list, &is_file));
    }
    violations
}

/// The files and folders on `list`, with their lines.
fn entries(list: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = list.lines().enumerate().map(|(index, line)| (index + 1, line));
    numbered.filter(|(_, line)| !line.starts_with('#'))
}

fn is_packed(list: &str, path: &str) -> bool {
    entries(list).any(|(_, entry)| {
        path.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn check_list(list: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Violation> {
    let absent = entries(list).filter(|(_, entry)| entry.is_empty() || !exists(entry));
    absent.map(|(line, entry)| Violation::new(LIST, line, format!("`{entry}` is absent"))).collect()
}

/// A link to a file at the top of the repository or in `docs` has to be packed too.
fn check_document(
    path: &str,
    text: &str,
    list: &str,
    is_file: &dyn Fn(&str) -> bool,
) -> Vec<Violation> {
    let document = Document::parse(text);
    let mut violations = Vec::new();
    for link in document.links.iter().filter(|link| !is_external(&link.target)) {
        let file = link.target.split('#').next().unwrap_or_default();
        let Some(target) = resolve(path, file) else { continue };
        let is_document = !target.contains('/') || target.starts_with("docs/");
        if is_document && is_file(&target) && !is_packed(list, &target) {
            let message = format!("`{target}` is in no package; {LIST} lists what is");
            violations.push(Violation::new(path, link.line, message));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# what is packed\nREADME.md\ndocs\n";

    fn messages(path: &str, text: &str) -> Vec<String> {
        let is_file = |path: &str| path != "boards";
        check_document(path, text, GOOD, &is_file).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_listed_file_that_is_absent_is_found() {
        let exists = |path: &str| ["README.md", "docs"].contains(&path);
        assert_eq!(check_list(GOOD, &exists), []);
        let found = check_list("README.md\nNEWS\n", &exists);
        assert_eq!(found[0].to_string(), "setup/package/files.txt:2: `NEWS` is absent");
        assert_eq!(check_list("README.md\n\n", &exists).len(), 1);
    }

    #[test]
    fn a_link_to_a_document_in_no_package_is_found() {
        let good =
            "[a](docs/a.md#b) [b](crates/x/src/lib.rs) [c](https://example.org/NEWS) [d](boards)";
        assert_eq!(messages("README.md", good), [""; 0]);
        assert_eq!(messages("docs/a.md", "[a](../README.md) [b](b.md)"), [""; 0]);
        let found = messages("docs/a.md", "text\n[a](../NEWS)\n");
        assert!(found[0].starts_with("docs/a.md:2: `NEWS` is in no package"), "{found:?}");
        assert_eq!(messages("README.md", "[a](docs-old)").len(), 1);
    }
}
