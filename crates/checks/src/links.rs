//! Links inside the repository lead somewhere, and to every document.

use crate::markdown::Document;
use crate::repository::Repository;
use crate::violation::Violation;
use std::collections::BTreeSet;

/// Checks the links of every Markdown file in `repository`.
#[must_use]
pub fn check_repository(repository: &Repository) -> Vec<Violation> {
    let read = |path: &str| repository.has(path).then(|| repository.read(path));
    let documents = repository.files_in("", "md");
    documents
        .flat_map(|path| check(path, &repository.read(path), &|p| repository.has(p), &read))
        .collect()
}

/// The page that every reader sees first.
const FIRST_PAGE: &str = "README.md";
/// Folder of the documents.
const DOCUMENTS: &str = "docs";

/// Checks that a reader who begins at [`FIRST_PAGE`] and follows links finds every document.
#[must_use]
pub fn check_orphans(repository: &Repository) -> Vec<Violation> {
    let read = |path: &str| repository.has(path).then(|| repository.read(path));
    let reached = reachable(FIRST_PAGE, &read);
    let orphans = repository.files_in(DOCUMENTS, "md").filter(|path| !reached.contains(*path));
    let message = format!(
        "no path of links leads here from {FIRST_PAGE}: link it in {DOCUMENTS}/{FIRST_PAGE}"
    );
    orphans.map(|path| Violation::new(path, 1, message.as_str())).collect()
}

/// Every Markdown file to which links lead from the one at `start`, which is one of them. A link to a
/// folder leads to no file: a reader of a clone sees no page there.
fn reachable(start: &str, read: &dyn Fn(&str) -> Option<String>) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start.to_string()];
    while let Some(path) = open.pop() {
        let Some(text) = read(&path) else { continue };
        let links = Document::parse(&text).links;
        let inside = links.iter().filter(|link| !is_external(&link.target));
        let files = inside.filter_map(|link| {
            let file = link.target.split('#').next().unwrap_or_default();
            resolve(&path, &percent_decoded(file)).filter(|file| file.ends_with(".md"))
        });
        let new: Vec<String> = files.filter(|file| !reached.contains(file)).collect();
        open.extend(new);
        reached.insert(path);
    }
    reached
}

/// Checks the links in the document `text` at `path`; `exists` and `read` look into the repository.
#[must_use]
pub fn check(
    path: &str,
    text: &str,
    exists: &dyn Fn(&str) -> bool,
    read: &dyn Fn(&str) -> Option<String>,
) -> Vec<Violation> {
    let document = Document::parse(text);
    let mut violations = Vec::new();
    for link in &document.links {
        let target = link.target.as_str();
        if is_external(target) {
            continue;
        }
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let problem = match resolve(path, &percent_decoded(file)) {
            None => Some("leads out of the repository".to_string()),
            Some(file) if !exists(&file) => Some("leads to nothing in the repository".into()),
            Some(file) => missing_anchor(&file, anchor, path, &document, read),
        };
        if let Some(problem) = problem {
            violations.push(Violation::new(path, link.line, format!("`{target}` {problem}")));
        }
    }
    violations
}

/// Whether `target` leads to the network or to a program.
pub(crate) fn is_external(target: &str) -> bool {
    let scheme = target.split_once(':').map_or("", |(scheme, _)| scheme);
    target.starts_with("//") || (!scheme.is_empty() && scheme.chars().all(char::is_alphanumeric))
}

/// Only anchors in Markdown are looked at: `#L10` of a source file is a line on a web page.
fn missing_anchor(
    file: &str,
    anchor: &str,
    path: &str,
    document: &Document,
    read: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    if anchor.is_empty() || !file.ends_with(".md") {
        return None;
    }
    let targets = if file == path {
        document.targets()
    } else {
        Document::parse(&read(file).unwrap_or_default()).targets()
    };
    let anchor = percent_decoded(anchor);
    (!targets.contains(&anchor)).then(|| format!("names no heading of {file}"))
}

/// The path of `target` from the root, as seen from the document at `from`. Nothing when it leads out.
pub(crate) fn resolve(from: &str, target: &str) -> Option<String> {
    if target.is_empty() {
        return Some(from.into());
    }
    let mut parts: Vec<&str> = match target.starts_with('/') {
        true => Vec::new(),
        false => from.split('/').collect(),
    };
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// `%20` as a space, and so on; what is not such a code stays.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = (first == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::Scratch;

    const FILES: [&str; 4] = ["README.md", "docs/models/nor.md", "docs/a picture.png", "LICENSE"];

    fn messages(path: &str, text: &str) -> Vec<String> {
        let exists = |path: &str| {
            FILES.iter().any(|file| *file == path || file.starts_with(&format!("{path}/")))
        };
        let read = |path: &str| exists(path).then(|| "# The chip\n## Waits\n".to_string());
        check(path, text, &exists, &read).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_link_to_a_file_folder_or_heading_is_alive() {
        let good = "[a](docs/models/nor.md) [b](docs/models/) [c](docs/models/nor.md#waits) \
                    [d](#top) [e](https://example.org/x) [f](mailto:a@b) ![g](docs/a%20picture.png) \
                    [h](LICENSE#L5) [i](/docs/models/nor.md)\n# Top\n";
        assert_eq!(messages("README.md", good), [""; 0]);
        assert_eq!(messages("docs/models/nor.md", "[a](../../README.md) [b](nor.md)"), [""; 0]);
    }

    #[test]
    fn a_dead_link_is_found_with_its_line() {
        assert_eq!(
            messages("README.md", "text\n[a](docs/absent.md)\n"),
            ["README.md:2: `docs/absent.md` leads to nothing in the repository"]
        );
        assert_eq!(messages("README.md", "[a](docs/models/nor.md#absent)").len(), 1);
        assert_eq!(messages("README.md", "[a](#absent)\n# Present\n").len(), 1);
        assert_eq!(messages("README.md", "![a](docs/b.png)").len(), 1);
        assert_eq!(messages("docs/models/nor.md", "[a](docs/models/nor.md)").len(), 1);
    }

    #[test]
    fn a_page_that_no_path_of_links_reaches_is_found() {
        let scratch = Scratch::new();
        let write = |path: &str, text: &str| std::fs::write(scratch.path().join(path), text);
        std::fs::create_dir(scratch.path().join("docs")).unwrap();
        write("README.md", "[a](docs/a.md#top) [d](https://example.org/docs/d.md)").unwrap();
        write("docs/a.md", "[b](b.md) [home](../README.md)").unwrap();
        write("docs/b.md", "[a](a.md)").unwrap();
        assert_eq!(check_orphans(&Repository::at(scratch.path())), []);
        write("docs/c.md", "[a](a.md) [d](d.md)").unwrap();
        write("docs/d.md", "[c](c.md)").unwrap();
        let found = check_orphans(&Repository::at(scratch.path()));
        let message = "1: no path of links leads here from README.md: link it in docs/README.md";
        let expected = ["c", "d"].map(|page| format!("docs/{page}.md:{message}"));
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_link_out_of_the_repository_is_found() {
        assert_eq!(messages("README.md", "[a](../other/README.md)").len(), 1);
    }
}
