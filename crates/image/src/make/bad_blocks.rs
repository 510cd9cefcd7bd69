//! Lists of bad blocks: `3,17,40-42`, or `@FILE` with such lists.
//!
//! Layer: rank 7. Function: [`bad_blocks`].

use crate::files::MakeError;
use crate::files::devices::text_of;
use crate::files::problem::FileProblem;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The most bad blocks. A flash of 16,384 blocks may have 320 of them.
const BLOCKS_MAX: usize = 4_096;

/// The bad blocks that `text` lists, in order and each once. A file may have several lines, spaces for commas, and
/// comments after `#`.
///
/// # Errors
/// [`MakeError::Value`], [`MakeError::UnreadableTable`], [`MakeError::InFile`].
pub fn bad_blocks(text: &str) -> Result<Vec<u32>, MakeError> {
    let Some(file) = text.strip_prefix('@') else {
        return list(text).map_err(|(_, problem)| MakeError::Value {
            option: "--bad-blocks",
            found: format!("`{text}`"),
            expected: problem.help().trim_start_matches("expected ").into(),
        });
    };
    let path = Path::new(file);
    let unreadable = |problem| MakeError::UnreadableTable { path: path.into(), problem };
    let bytes = fs::read(path).map_err(unreadable)?;
    let in_file = |((line, column), problem)| MakeError::InFile {
        path: path.into(),
        line,
        column,
        problem: Box::new(problem),
    };
    list(text_of(&bytes).map_err(in_file)?).map_err(in_file)
}

fn list(text: &str) -> Result<Vec<u32>, ((usize, usize), FileProblem)> {
    let mut blocks = BTreeSet::new();
    let mut last = (1, 1);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or(line);
        let mut column = 1;
        for piece in line.split(|c: char| c == ',' || c.is_whitespace()) {
            let at = (number, column);
            column += piece.chars().count() + 1;
            if piece.is_empty() {
                continue;
            }
            last = at;
            let wrong = || (at, FileProblem::Block { found: piece.into() });
            let (from, to) = piece.split_once('-').unwrap_or((piece, piece));
            let (from, to): (u32, u32) = match (from.parse(), to.parse()) {
                (Ok(from), Ok(to)) if from <= to => (from, to),
                _ => return Err(wrong()),
            };
            // No more than are refused are collected.
            blocks.extend((from..=to).take(BLOCKS_MAX + 1));
            if blocks.len() > BLOCKS_MAX {
                return Err((at, FileProblem::TooMany { most: BLOCKS_MAX }));
            }
        }
    }
    if blocks.is_empty() {
        return Err((last, FileProblem::Block { found: String::new() }));
    }
    Ok(blocks.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges_are_listed_once_and_in_order() {
        let of = |text| list(text).unwrap();
        assert_eq!(of("40-42,3,17,41"), [3, 17, 40, 41, 42]);
        assert_eq!(of("# two\n5 6\n\n7,5 # and one\n"), [5, 6, 7]);
    }

    #[test]
    fn what_is_no_block_is_refused_with_its_place() {
        let of = |text| list(text).unwrap_err();
        let block = |found: &str| FileProblem::Block { found: found.into() };
        assert_eq!(of("3,\n4, x"), ((2, 4), block("x")));
        assert_eq!(of("1,5-4"), ((1, 3), block("5-4")));
        assert_eq!(of("-3"), ((1, 1), block("-3")));
        assert_eq!(of(" # none"), ((1, 1), block("")));
        let most = FileProblem::TooMany { most: BLOCKS_MAX };
        assert_eq!(of("7,0-4294967295"), ((1, 3), most.clone()));
        assert_eq!(of("0-4000\n5000-6000"), ((2, 1), most));
        assert_eq!(list("0-4095").unwrap().len(), 4_096);
        let problem = bad_blocks("1,x").unwrap_err();
        assert_eq!(problem.to_string(), "--bad-blocks `1,x` does not fit");
        assert_eq!(problem.help(), "expected numbers and ranges of blocks, such as 3,17,40-42");
    }
}
