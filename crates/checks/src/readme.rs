//! The shape of the first page.

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
}
