//! The pages of `docs/` that explain keys, terms and tables, embedded in the program, and their tables.
//!
//! Layer: rank 11, inside `guide`. Main types: [`Page`] and [`Entry`], a row of a table with what stands
//! above it. The pages are for people; only the form of their tables is given: the first cell names things
//! in backticks, the last one says what they mean, and the paragraph above names the section, `[section]`.

use std::mem;

/// A page, embedded in the program.
#[derive(Debug)]
pub(super) struct Page {
    text: &'static str,
}

/// The keys of scenarios.
pub(super) const SCENARIO: Page =
    Page { text: include_str!("../../../../docs/formats/scenario.md") };
/// The keys of parts.
pub(super) const PART: Page = Page { text: include_str!("../../../../docs/formats/part.md") };
/// The keys of boards.
pub(super) const BOARD: Page = Page { text: include_str!("../../../../docs/formats/board.md") };
/// The tables of results.
pub(super) const TABLES: Page = Page { text: include_str!("../../../../docs/formats/tables.md") };
/// The model of NOR flash, for the wait policies.
pub(super) const NOR: Page = Page { text: include_str!("../../../../docs/models/nor.md") };
/// The terms.
pub(super) const GLOSSARY: Page = Page { text: include_str!("../../../../docs/glossary.md") };

/// Something that a page explains: a row of a table, or a paragraph about a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The heading above it, without its marks.
    pub(super) heading: &'static str,
    /// The sections that the paragraph above the table names, such as `board.bus` in `[board.bus]`.
    pub(super) sections: Vec<String>,
    /// The cells of the row; a single one for a paragraph.
    pub(super) cells: Vec<String>,
}

impl Page {
    /// All that the page explains, in its order.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let (mut entries, mut heading, mut above) = (Vec::new(), "", String::new());
        let (mut in_table, mut paragraph) = (false, String::new());
        for line in self.text.lines().chain([""]) {
            if line.starts_with("```") || line.is_empty() {
                let ended = mem::take(&mut paragraph);
                if !ended.is_empty() {
                    above = ended;
                    entries.extend(clauses(heading, &above));
                }
                in_table = false;
            } else if let Some(words) = line.strip_prefix('#') {
                (heading, above) = (words.trim_start_matches('#').trim(), String::new());
            } else if let Some(row) = line.strip_prefix('|') {
                if !paragraph.is_empty() {
                    above = mem::take(&mut paragraph);
                    entries.extend(clauses(heading, &above));
                }
                if in_table && !row.starts_with("---") {
                    let cells = cells(row);
                    entries.push(Entry { heading, sections: sections(&above), cells });
                }
                in_table = true;
            } else {
                let joint = if paragraph.is_empty() { "" } else { " " };
                paragraph = format!("{paragraph}{joint}{line}");
            }
        }
        entries
    }
}

/// The cells of a row, whose first mark is cut off.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim_end().trim_end_matches('|');
    row.split(" | ").map(|cell| cell.trim().into()).collect()
}

/// The names in backticks in `words`.
pub(super) fn quoted(words: &str) -> impl Iterator<Item = &str> {
    words.split('`').skip(1).step_by(2)
}

/// The sections that `words` name: `[bus]`, `[[geometry.region]]`.
fn sections(words: &str) -> Vec<String> {
    quoted(words).filter_map(section).map(String::from).collect()
}

/// The section that a quoted name stands for, if it is one.
pub(super) fn section(name: &str) -> Option<&str> {
    let inner = name.strip_prefix('[')?.strip_suffix(']')?;
    let inner = inner.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(inner);
    (!inner.contains([' ', '[', '"'])).then_some(inner)
}

/// What a paragraph says of each section that it names, up to the next one.
fn clauses(heading: &'static str, paragraph: &str) -> Vec<Entry> {
    let starts: Vec<_> = paragraph
        .match_indices("`[")
        .filter(|(at, _)| quoted(&paragraph[*at..]).next().and_then(section).is_some())
        // Within a sentence a section is only mentioned.
        .filter(|(at, _)| {
            let before = &paragraph[..*at];
            before.is_empty() || [". ", "; ", ", ", "and "].iter().any(|end| before.ends_with(end))
        })
        .map(|(at, _)| at)
        .chain([paragraph.len()])
        .collect();
    let clause = |range: &[usize]| {
        let words = paragraph[range[0]..range[1]].trim();
        let named = sections(words).into_iter().take(1).collect();
        Entry { heading, sections: named, cells: vec![words.into()] }
    };
    starts.windows(2).map(clause).collect()
}

/// `words` without the marks of Markdown: the text of links, and no emphasis.
pub(super) fn plain(words: &str) -> String {
    let (mut text, mut rest) = (String::new(), words);
    while let Some(open) = rest.find('[') {
        let link = rest[open..].find("](").and_then(|middle| {
            let end = rest[open + middle..].find(')')?;
            let inside = &rest[open + 1..open + middle];
            // `[section]` is no link.
            (!inside.contains('[')).then_some((inside, open + middle + end + 1))
        });
        match link {
            Some((inside, end)) => {
                text.push_str(&rest[..open]);
                text.push_str(inside);
                rest = &rest[end..];
            }
            None => {
                text.push_str(&rest[..=open]);
                rest = &rest[open + 1..];
            }
        }
    }
    text.push_str(rest);
    text.replace("**", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_knows_its_heading_and_the_sections_above_it() {
        let page = Page {
            text: "# A\n## Keys of `x`\n`[a]`, `[b.c]`: two.\n\n| key | value |\n|---|---|\n| `k`, `l` | m or n |\n",
        };
        let entries = page.entries();
        let row = entries.last().unwrap();
        assert_eq!((row.heading, row.sections.len()), ("Keys of `x`", 2));
        assert_eq!(row.cells, ["`k`, `l`", "m or n"]);
        assert_eq!(entries[0].cells, ["`[a]`,"]);
        assert_eq!(entries[1].cells, ["`[b.c]`: two."]);
    }

    #[test]
    fn links_lose_their_target_and_sections_stay() {
        assert_eq!(
            plain("see [the model](../m.md#x), `[bus]` [and](a) **b**"),
            "see the model, `[bus]` and b"
        );
    }
}
