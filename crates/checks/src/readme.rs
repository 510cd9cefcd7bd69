//! The shape of the first page, in both languages.

use crate::markdown::{Block, Document};
use crate::violation::Violation;

/// The line by which the first command stands.
pub const FIRST_COMMAND_LINE: usize = 25;

/// Checks that the first command to type stands near the top.
#[must_use]
pub fn check_first_command(path: &str, text: &str) -> Vec<Violation> {
    let document = Document::parse(text);
    let commands = console(&document).flat_map(|block| {
        let numbered = block.lines.iter().enumerate();
        numbered.filter(|(_, line)| line.starts_with("$ ")).map(|(index, _)| block.line + index)
    });
    match commands.min() {
        Some(line) if line <= FIRST_COMMAND_LINE => Vec::new(),
        Some(line) => {
            let message = format!("the first command stands behind line {FIRST_COMMAND_LINE}");
            vec![Violation::new(path, line, message)]
        }
        None => vec![Violation::new(path, 1, "no command to type in a ```console block")],
    }
}

/// Checks that the translation at `path` has the headings and the commands of the `original`.
#[must_use]
pub fn check_translation(path: &str, text: &str, original: &str) -> Vec<Violation> {
    let (ours, theirs) = (Document::parse(text), Document::parse(original));
    let mut violations = Vec::new();
    let levels = |document: &Document| -> Vec<usize> {
        document.headings.iter().map(|heading| heading.level).collect()
    };
    let (here, there) = (levels(&ours), levels(&theirs));
    if here != there {
        let same = here.iter().zip(&there).take_while(|(a, b)| a == b).count();
        let line = ours.headings.get(same).map_or(text.lines().count(), |heading| heading.line);
        let message = format!(
            "{} headings where the original has {}: they part here",
            here.len(),
            there.len()
        );
        violations.push(Violation::new(path, line, message));
    }
    let (here, there): (Vec<_>, Vec<_>) = (console(&ours).collect(), console(&theirs).collect());
    for (index, block) in here.iter().enumerate() {
        let same = there.get(index).is_some_and(|original| original.lines == block.lines);
        if !same {
            let message = "this console block is not the one of the original";
            violations.push(Violation::new(path, block.line, message));
        }
    }
    if here.len() < there.len() {
        let message = format!("{} console blocks of {}", here.len(), there.len());
        violations.push(Violation::new(path, text.lines().count(), message));
    }
    violations
}

fn console(document: &Document) -> impl Iterator<Item = &Block> {
    document.blocks.iter().filter(|block| block.language == "console")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_command_stands_near_the_top() {
        let page =
            |lines: usize| format!("{}```console\n$ make run\n```\n", "text\n".repeat(lines));
        assert_eq!(check_first_command("README.md", &page(FIRST_COMMAND_LINE - 2)), []);
        let found = check_first_command("README.md", &page(FIRST_COMMAND_LINE - 1));
        assert_eq!(found[0].line, FIRST_COMMAND_LINE + 1);
        assert_eq!(check_first_command("README.md", "```sh\n$ make run\n```\n").len(), 1);
    }

    #[test]
    fn a_translation_has_the_same_headings_and_commands() {
        let original = "# A\n```console\n$ make run\n```\n## B\n```console\n$ make test\n```\n";
        let good = "# あ\n```console\n$ make run\n```\n## い\n```console\n$ make test\n```\n";
        assert_eq!(check_translation("README.ja.md", good, original), []);
        let found = |text: &str| check_translation("README.ja.md", text, original).len();
        assert_eq!(found(&good.replace("## い", "い")), 1);
        assert_eq!(found(&good.replace("## い", "# い")), 1);
        assert_eq!(found(&good.replace("make test", "make check")), 1);
        assert_eq!(found("# あ\n```console\n$ make run\n```\n## い\n"), 1);
        assert_eq!(found(&format!("{good}```console\n$ ls\n```\n")), 1);
    }
}
