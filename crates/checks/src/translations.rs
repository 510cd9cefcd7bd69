//! Translations: `X.ja.md` says in Japanese what `X.md` says.
//!
//! A program sees headings, commands and links, and holds those of the two pages equal. What the
//! sentences say, a reader compares. Anchors are left out: they are made of the headings' words.

use crate::links;
use crate::markdown::{Block, Document};
use crate::repository::Repository;
use crate::violation::Violation;

/// Ending of the files in Japanese.
const ENDING: &str = ".ja.md";

/// One language's file of a pair.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Path from the root of the repository.
    pub path: &'a str,
    /// The whole text.
    pub text: &'a str,
}

/// The path of the page that `path` translates; nothing when it is no translation.
#[must_use]
pub fn original_of(path: &str) -> Option<String> {
    path.strip_suffix(ENDING).map(|stem| format!("{stem}.md"))
}

/// Checks every `X.ja.md` of `repository` against its `X.md`.
#[must_use]
pub fn check_repository(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for path in repository.files_in("", "md") {
        let Some(original) = original_of(path) else { continue };
        if !repository.has(&original) {
            violations.push(Violation::new(path, 1, format!("translates {original}: absent")));
            continue;
        }
        let (ours, theirs) = (repository.read(path), repository.read(&original));
        let translation = Page { path, text: &ours };
        let original = Page { path: &original, text: &theirs };
        violations.extend(check(translation, original, &|path| repository.has(path)));
    }
    violations
}

/// Checks that `translation` has the headings, commands and links of `original`, that each page links to
/// the other, and that the translation links to translations; `exists` looks into the repository.
#[must_use]
pub fn check(
    translation: Page<'_>,
    original: Page<'_>,
    exists: &dyn Fn(&str) -> bool,
) -> Vec<Violation> {
    let (ours, theirs) = (Document::parse(translation.text), Document::parse(original.text));
    let mut violations = Vec::new();
    violations.extend(check_headings(translation, &ours, &theirs));
    violations.extend(check_commands(translation, original, &ours, &theirs));
    violations.extend(check_links(translation, original, &ours, &theirs));
    violations.extend(check_language(translation, &ours, original.path, exists));
    for (from, document, to) in
        [(translation, &ours, original.path), (original, &theirs, translation.path)]
    {
        let leads = |target: &str| links::resolve(from.path, target).as_deref() == Some(to);
        if !document.links.iter().any(|link| leads(&link.target)) {
            let message = format!("has no link to {to}, the same page in the other language");
            violations.push(Violation::new(from.path, 1, message));
        }
    }
    violations
}

fn check_headings(page: Page<'_>, ours: &Document, theirs: &Document) -> Option<Violation> {
    let levels = |document: &Document| -> Vec<usize> {
        document.headings.iter().map(|heading| heading.level).collect()
    };
    let (here, there) = (levels(ours), levels(theirs));
    let same = here.iter().zip(&there).take_while(|(a, b)| a == b).count();
    let line = ours.headings.get(same).map_or(page.text.lines().count(), |heading| heading.line);
    let (here_count, there_count) = (here.len(), there.len());
    let message =
        format!("{here_count} headings where the original has {there_count}: they part here");
    (here != there).then(|| Violation::new(page.path, line, message))
}

fn check_commands(
    translation: Page<'_>,
    original: Page<'_>,
    ours: &Document,
    theirs: &Document,
) -> Vec<Violation> {
    let (here, there): (Vec<_>, Vec<_>) = (console(ours).collect(), console(theirs).collect());
    let mut violations = Vec::new();
    for (index, block) in here.iter().enumerate() {
        let wanted = there.get(index).map_or(&[][..], |original| &original.lines);
        if block.lines != wanted {
            let same = block.lines.iter().zip(wanted).take_while(|(a, b)| a == b).count();
            let message =
                format!("this console block is not the one of {}: it parts here", original.path);
            violations.push(Violation::new(translation.path, block.line + same, message));
        }
    }
    let missing = there.iter().skip(here.len());
    let message = format!("{} lacks this console block", translation.path);
    violations
        .extend(missing.map(|block| Violation::new(original.path, block.line, message.clone())));
    violations
}

/// Links are compared without regard to order, which the grammar of a language decides.
fn check_links(
    translation: Page<'_>,
    original: Page<'_>,
    ours: &Document,
    theirs: &Document,
) -> Vec<Violation> {
    let mut left: Vec<_> = theirs.links.iter().map(|link| (place(&link.target), link)).collect();
    let mut violations = Vec::new();
    for link in &ours.links {
        let target = place(&link.target);
        match left.iter().position(|(other, _)| *other == target) {
            Some(index) => {
                left.remove(index);
            }
            None => {
                let message = format!("{} has no such link to `{target}`", original.path);
                violations.push(Violation::new(translation.path, link.line, message));
            }
        }
    }
    violations.extend(left.into_iter().map(|(target, link)| {
        let message = format!("{} lacks this link to `{target}`", translation.path);
        Violation::new(original.path, link.line, message)
    }));
    violations
}

/// Finds links of the translation to a page in English that there is in Japanese too.
fn check_language(
    translation: Page<'_>,
    document: &Document,
    original: &str,
    exists: &dyn Fn(&str) -> bool,
) -> Vec<Violation> {
    let better = |target: &str| {
        let file = target.split('#').next().unwrap_or_default();
        let path = links::resolve(translation.path, file).filter(|path| path != original)?;
        let stem = path.strip_suffix(".md").filter(|_| original_of(&path).is_none())?;
        let japanese = format!("{stem}{ENDING}");
        exists(&japanese).then_some(japanese)
    };
    let found = document.links.iter().filter_map(|link| {
        let message = format!("`{}`: link to {}", link.target, better(&link.target)?);
        Some(Violation::new(translation.path, link.line, message))
    });
    found.collect()
}

/// Where `target` leads, whatever the language: without anchor, and in English.
fn place(target: &str) -> String {
    let file = target.split('#').next().unwrap_or_default();
    original_of(file).unwrap_or_else(|| file.into())
}

fn console(document: &Document) -> impl Iterator<Item = &Block> {
    document.blocks.iter().filter(|block| block.language == "console")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGLISH: &str = "# A\n[ja](a.ja.md)\n[b](b.md#top), [c](c.md)\n```console\n$ make run\nx\n```\n\
                           ## B\n```console\n$ make test\n```\n";
    const JAPANESE: &str = "# あ\n[en](a.md)\n[c](c.md)、[b](b.ja.md#い)\n```console\n$ make run\nx\n```\n\
                            ## い\n```console\n$ make test\n```\n";

    /// What is wrong with `japanese` beside `english`, where `docs/b.md` is translated as well.
    fn messages(japanese: &str, english: &str) -> Vec<String> {
        let translation = Page { path: "docs/a.ja.md", text: japanese };
        let original = Page { path: "docs/a.md", text: english };
        let found = check(translation, original, &|path| path == "docs/b.ja.md");
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_translation_with_the_same_headings_commands_and_links_passes() {
        assert_eq!(messages(JAPANESE, ENGLISH), [""; 0]);
    }

    #[test]
    fn a_missing_heading_or_one_of_another_level_is_found() {
        let expected = "docs/a.ja.md:8: 2 headings where the original has 2: they part here";
        assert_eq!(messages(&JAPANESE.replace("## い", "# い"), ENGLISH), [expected]);
        let expected = "docs/a.ja.md:11: 1 headings where the original has 2: they part here";
        assert_eq!(messages(&JAPANESE.replace("## い", "い"), ENGLISH), [expected]);
    }

    #[test]
    fn a_changed_console_block_is_found_at_the_line_that_changed() {
        let expected =
            "docs/a.ja.md:6: this console block is not the one of docs/a.md: it parts here";
        assert_eq!(messages(&JAPANESE.replace("\nx\n", "\ny\n"), ENGLISH), [expected]);
        let more = format!("{JAPANESE}```console\n$ ls\n```\n");
        assert_eq!(messages(&more, ENGLISH).len(), 1);
        let less = JAPANESE.replace("```console\n$ make test\n```\n", "");
        let expected = "docs/a.md:10: docs/a.ja.md lacks this console block";
        assert_eq!(messages(&less, ENGLISH), [expected]);
    }

    #[test]
    fn a_link_that_one_of_the_pages_lacks_is_found() {
        let expected = "docs/a.md:3: docs/a.ja.md lacks this link to `c.md`";
        assert_eq!(messages(&JAPANESE.replace("[c](c.md)", "c"), ENGLISH), [expected]);
        let expected = "docs/a.ja.md:3: docs/a.md has no such link to `c.md`";
        assert_eq!(messages(JAPANESE, &ENGLISH.replace("[c](c.md)", "c")), [expected]);
    }

    #[test]
    fn a_translation_links_to_translations() {
        let expected = "docs/a.ja.md:3: `b.md#top`: link to docs/b.ja.md";
        assert_eq!(messages(&JAPANESE.replace("b.ja.md#い", "b.md#top"), ENGLISH), [expected]);
    }

    #[test]
    fn the_pages_of_a_pair_link_to_each_other() {
        let lonely = (JAPANESE.replace("[en](a.md)", ""), ENGLISH.replace("[ja](a.ja.md)", ""));
        let expected = [
            "docs/a.ja.md:1: has no link to docs/a.md, the same page in the other language",
            "docs/a.md:1: has no link to docs/a.ja.md, the same page in the other language",
        ];
        assert_eq!(messages(&lonely.0, &lonely.1), expected);
    }
}
