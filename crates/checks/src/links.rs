//! Links inside the repository lead somewhere.

use crate::markdown::Document;
use crate::repository::Repository;
use crate::violation::Violation;

/// Checks the links of every Markdown file in `repository`.
#[must_use]
pub fn check_repository(repository: &Repository) -> Vec<Violation> {
    let read = |path: &str| repository.has(path).then(|| repository.read(path));
    let documents = repository.files_in("", "md");
    documents
        .flat_map(|path| check(path, &repository.read(path), &|p| repository.has(p), &read))
        .collect()
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
    fn a_link_out_of_the_repository_is_found() {
        assert_eq!(messages("README.md", "[a](../other/README.md)").len(), 1);
    }
}
