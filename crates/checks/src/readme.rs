//! The shape of the first page, and the figures that stand on it twice.

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

/// A row of the table of evaluations, and the command on the same page that prints its figures. Tests of
/// `lab` hold the other rows against the results.
const PRINTED_ROW: (&str, &str) = ("FCSE", "$ boardlab reproduce fcse");
/// Words behind the counts of a row, in the order of its columns; the tests that run the commands see
/// that a run prints them.
const VERDICTS: [&str; 3] = ["pass", "close", "differs"];

/// Checks that the row of the evaluation whose command stands on the page shows what the command prints.
#[must_use]
pub fn check_evaluations(path: &str, text: &str) -> Vec<Violation> {
    let (name, command) = PRINTED_ROW;
    let begin = format!("| [{name}](");
    let row = text.lines().enumerate().find(|(_, line)| line.starts_with(&begin));
    let Some((index, row)) = row else {
        return vec![Violation::new(
            path,
            1,
            format!("no row `{begin}` in the table of evaluations"),
        )];
    };
    let document = Document::parse(text);
    let block = console(&document).find(|block| block.lines.iter().any(|line| line == command));
    let printed = block.map(|block| block.lines.join(" ")).unwrap_or_default();
    let expected = headline(row);
    if expected.as_ref().is_some_and(|expected| printed.contains(expected)) {
        return Vec::new();
    }
    let expected = expected.unwrap_or_else(|| "nine columns".into());
    let message = format!("the block of `{command}` does not show this row: `{expected}`");
    vec![Violation::new(path, index + 1, message)]
}

/// The line above the tables of an evaluation, from its row in the README. Verdicts that no cell has are
/// left out. Nothing when the row has other columns.
fn headline(row: &str) -> Option<String> {
    let columns: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
    let [_, cells, inputs, pass, close, differs, median, ninetieth, worst] = columns[..] else {
        return None;
    };
    let (share, cell) = worst.split_once(": ")?;
    let counts = [pass, close, differs].into_iter().zip(VERDICTS);
    let counts = counts.filter(|(count, _)| *count != "0");
    let counts: String = counts.map(|(count, verdict)| format!(", {count} {verdict}")).collect();
    Some(format!(
        "{cells} cells compared, {inputs} of them input{counts}; difference: median {median}, \
         90th percentile {ninetieth}, largest {share} ({cell})"
    ))
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
    fn the_row_of_an_evaluation_shows_what_its_command_prints() {
        let page = |cells: &str, close: &str| {
            let row = format!(
                "| [FCSE](a.md) | {cells} | 1 | 0 | {close} | 0 | 0.9 % | 1.0 % | +0.9 %: t, r, c |"
            );
            let printed = "2 cells compared, 1 of them input, 1 close; difference: median 0.9 %, 90th\n\
                           percentile 1.0 %, largest +0.9 % (t, r, c)";
            format!("{row}\n```console\n$ boardlab reproduce fcse\n{printed}\n...\n```\n")
        };
        let found = |text: &str| check_evaluations("README.md", text).len();
        assert_eq!(found(&page("2", "1")), 0);
        assert_eq!(found(&page("3", "1")), 1);
        assert_eq!(found(&page("2", "0")), 1);
        assert_eq!(found(&page("2", "1").replace("largest +0.9", "largest +0.8")), 1);
        assert_eq!(found(&page("2", "1").replace("[FCSE]", "[NOR]")), 1);
        assert_eq!(found(&page("2", "1").replace("reproduce fcse", "reproduce nor")), 1);
    }
}
