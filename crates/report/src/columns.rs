//! Tables on a terminal, and the widths of their columns.
//!
//! Layer: rank 8, inside `report`. Main type: [`Grid`]; function: [`widths`]. A table that is too
//! wide wraps headings and words first, at spaces; then its columns move together. Words, such as
//! keys and paths, figures with their units and code in backquotes stay whole. Where they do not fit
//! side by side, a table with figures goes on below in further blocks of columns, and one of words
//! alone becomes a list of records. Only what alone is wider than the terminal is broken.

use crate::text;
use boardlab_result::foreign::shown;
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
};

/// A no-break space, at which a cell breaks only without other room; shown as a plain space.
pub(crate) const TIE: &str = "\u{a0}";

/// Rules above and below the header and at the end, none at the sides.
const STYLE: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// The columns from the beginning of one cell to that of the next, beside its content: first as long
/// as all fits, then where it is tight.
const GAPS: [usize; 2] = [3, 2];

/// The space before the fields of a record.
const INDENT: usize = 2;

/// The largest width that a column with a wrapped heading or verdict requests; columns of text
/// request more and share the rest.
const SMALL: usize = 12;

/// The width below which a column of text is hard to read.
const PROSE: usize = 20;

/// The width that a column requests, in columns of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Need {
    /// The length of its longest word, below which a word is broken; of texts alone at least [`PROSE`].
    least: usize,
    /// The length of its longest line; more width is useless.
    most: usize,
}

/// A grid of words and figures.
pub(crate) struct Grid {
    /// Headings, then rows.
    lines: Vec<Vec<String>>,
    /// Which columns are aligned to the right.
    right: Vec<bool>,
}

impl Grid {
    /// A grid without rows; the columns from `right` on are aligned to the right.
    pub(crate) fn new(headings: &[&str], right: usize) -> Self {
        Self {
            lines: vec![headings.iter().map(|heading| whole(heading)).collect()],
            right: (0..headings.len()).map(|index| index >= right).collect(),
        }
    }

    /// Aligns a column to the left: it holds words.
    pub(crate) fn align_left(&mut self, column: usize) {
        self.right[column] = false;
    }

    /// Adds a row, with a cell for each heading. Words may be foreign text, so they are escaped.
    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.lines.push(row.into_iter().map(|cell| whole(&cell)).collect());
    }

    /// The grid in lines of at most `limit` columns, without a newline at the end.
    pub(crate) fn text(self, limit: usize) -> String {
        let mut needs = needs(&self.lines);
        let is_prose = !self.right.contains(&true);
        for need in needs.iter_mut().skip(1).filter(|_| is_prose) {
            need.least = need.least.max(need.most.min(PROSE));
        }
        let all: Vec<usize> = (0..needs.len()).collect();
        let gap = GAPS.into_iter().find(|gap| fit(&needs, &all, room(limit, all.len(), *gap)));
        let text = match gap {
            Some(gap) => self.block(&needs, &all, limit, gap),
            None if is_prose => self.records(limit),
            None => self.blocks(&needs, limit).unwrap_or_else(|| self.records(limit)),
        };
        text.replace(TIE, " ")
    }

    /// Blocks of columns, each behind the names of the rows; `None` where a figure does not fit
    /// beside the names.
    fn blocks(&self, needs: &[Need], limit: usize) -> Option<String> {
        let gap = GAPS[1];
        let fits = |block: &[usize]| fit(needs, block, room(limit, block.len(), gap));
        let mut blocks: Vec<Vec<usize>> = Vec::new();
        for column in 1..needs.len() {
            let more = blocks.last().map(|block| [block, &[column][..]].concat());
            match more.filter(|more| fits(more)) {
                Some(more) => *blocks.last_mut()? = more,
                None => blocks.push(vec![0, column]),
            }
        }
        if !blocks.iter().all(|block| fits(block)) {
            return None;
        }
        let mut drawn = blocks.iter().map(|block| self.block(needs, block, limit, gap));
        let mut text = drawn.next()?;
        // The rule below a block is the one above the next.
        drawn.for_each(|block| text.push_str(&block[block.find('\n').unwrap_or(0)..]));
        Some(text)
    }

    /// The `columns` side by side in lines of at most `limit` columns, with `gap` between them.
    fn block(&self, needs: &[Need], columns: &[usize], limit: usize, gap: usize) -> String {
        let mut table = Table::new();
        table.load_style(STYLE);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        // A line below a row, such as its print, may have nothing in these columns.
        let there = |line: &&Vec<String>| {
            !line[0].starts_with(' ') || columns[1..].iter().any(|column| !line[*column].is_empty())
        };
        let lines = self.lines.iter().filter(there);
        let mut lines = lines.map(|line| columns.iter().map(|column| &line[*column]));
        table.set_header(lines.next().into_iter().flatten());
        lines.for_each(|line| {
            table.add_row(line);
        });
        let needs: Vec<Need> = columns.iter().map(|column| needs[*column]).collect();
        let right = columns.iter().map(|column| self.right[*column]);
        let widths = widths(&needs, room(limit, columns.len(), gap));
        shape(&mut table, widths.into_iter().zip(right), (1, gap - 2));
        table.trim_fmt()
    }

    /// One record a row: its name, and each cell behind its heading on lines of its own.
    fn records(&self, limit: usize) -> String {
        let Some((headings, rows)) = self.lines.split_first() else { return String::new() };
        let room = limit.saturating_sub(2 * (INDENT + 1));
        let longest = headings.iter().skip(1).map(|heading| text::width(heading)).max();
        let beside = room - longest.unwrap_or(0).min(room * 2 / 5);
        // Breaks between number and unit rather than within a number.
        let cell = |cell: &String| match text::longest_word(cell) > beside {
            true => cell.replace(TIE, " "),
            false => cell.clone(),
        };
        let fields = |row: &[String]| -> Vec<Vec<String>> {
            let both = headings.iter().zip(row).skip(1);
            let there = both.filter(|(_, words)| !words.is_empty());
            there.map(|(heading, words)| vec![heading.clone(), cell(words)]).collect()
        };
        let all: Vec<_> = rows.iter().flat_map(|row| fields(row)).collect();
        let widths = widths(&needs(&all), room);
        let rule = "─".repeat(limit);
        let mut lines = vec![rule.clone()];
        for row in rows {
            let name = text::wrap(&row[0], limit.saturating_sub(1));
            lines.extend(name.into_iter().map(|line| format!(" {line}")));
            let fields = fields(row);
            if !fields.is_empty() {
                let mut table = Table::new();
                table.load_style(TableStyle::new()).add_rows(fields);
                shape(&mut table, widths.iter().map(|width| (*width, false)), (INDENT + 1, 0));
                lines.push(table.trim_fmt());
            }
        }
        lines.push(rule);
        lines.join("\n")
    }
}

/// `cell` escaped, with ties in code in backquotes and between numbers and their units.
fn whole(cell: &str) -> String {
    let cell = shown(cell);
    let pieces: Vec<_> = cell.split('`').collect();
    let paired = pieces.len() % 2 == 1;
    let piece = |(index, piece): (usize, &&str)| match index % 2 == 1 && paired {
        true => piece.replace(' ', TIE),
        false => text::tied(piece),
    };
    pieces.iter().enumerate().map(piece).collect::<Vec<_>>().join("`")
}

/// Fixes the width and the alignment of each column, with `padding` before and behind it.
fn shape(
    table: &mut Table,
    columns: impl Iterator<Item = (usize, bool)>,
    (before, behind): (usize, usize),
) {
    let narrow = |width: usize| u16::try_from(width).unwrap_or(u16::MAX);
    for (column, (width, right)) in table.column_iter_mut().zip(columns) {
        column.set_padding((narrow(before), narrow(behind)));
        let width = Width::Fixed(narrow(width + before + behind));
        column.set_constraint(ColumnConstraint::Absolute(width));
        if right {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// The width for the content of `count` columns with `gap` between them.
fn room(limit: usize, count: usize, gap: usize) -> usize {
    limit.saturating_sub((gap * count).saturating_sub(1))
}

fn needs(lines: &[Vec<String>]) -> Vec<Need> {
    let count = lines.first().map_or(0, Vec::len);
    let mut needs = vec![Need { least: 1, most: 1 }; count];
    for line in lines {
        for (need, cell) in needs.iter_mut().zip(line) {
            for part in cell.lines() {
                // The lines below a row, such as its print, keep their indent.
                let indent = part.len() - part.trim_start_matches(' ').len();
                need.least = need.least.max(indent + text::longest_word(part));
                need.most = need.most.max(text::width(part));
            }
        }
    }
    needs
}

/// Whether the longest words of `columns` with `needs` fit into `room` side by side.
fn fit(needs: &[Need], columns: &[usize], room: usize) -> bool {
    columns.iter().map(|column| needs[*column].least).sum::<usize>() <= room
}

/// The widths of columns with `needs` that share `room`.
fn widths(needs: &[Need], room: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = needs.iter().map(|need| need.least).collect();
    let mut spare = room.saturating_sub(widths.iter().sum());
    let Some(first) = needs.first() else { return widths };
    widths[0] += spare.min(first.most.min(room * 2 / 5).saturating_sub(first.least));
    spare = room.saturating_sub(widths.iter().sum());
    // The smallest request first: a heading or a verdict cannot use half of its request.
    let asked = |index: usize| needs[index].most - needs[index].least;
    let mut small: Vec<usize> = (1..needs.len()).filter(|index| asked(*index) <= SMALL).collect();
    small.sort_by_key(|index| asked(*index));
    for index in small {
        let given = asked(index).min(spare);
        widths[index] += given;
        spare -= given;
    }
    // The narrowest one first: long texts side by side become equally wide.
    while let Some(narrowest) = (0..needs.len())
        .filter(|index| spare > 0 && widths[*index] < needs[*index].most)
        .min_by_key(|index| (*index == 0, widths[*index]))
    {
        widths[narrowest] += 1;
        spare -= 1;
    }
    shrink(&mut widths, room);
    widths
}

/// Takes from the widest column until all fit or none has more than one column left.
fn shrink(widths: &mut [usize], room: usize) {
    while widths.iter().sum::<usize>() > room {
        match widths.iter_mut().max() {
            Some(widest) if *widest > 1 => *widest -= 1,
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(needs: &[(usize, usize)], room: usize) -> Vec<usize> {
        let needs: Vec<Need> = needs.iter().map(|&(least, most)| Need { least, most }).collect();
        widths(&needs, room)
    }

    /// Headings, then rows, in at most `limit` columns.
    fn text(lines: &[&[&str]], right: usize, limit: usize) -> String {
        let mut grid = Grid::new(lines[0], right);
        for line in &lines[1..] {
            grid.push(line.iter().map(|cell| String::from(*cell)));
        }
        grid.text(limit)
    }

    #[test]
    fn names_of_rows_wrap_and_gaps_shrink_before_a_figure_breaks() {
        let text = |limit| text(&[&["", "whole write"], &["tuned wait", "36.37 s"]], 1, limit);
        assert!(text(60).contains(" tuned wait       36.37 s"), "{}", text(60));
        let narrow = text(17);
        assert!(narrow.contains(" tuned   36.37 s"), "{narrow}");
        assert!(text(15).contains(" tuned  36.37 s"), "{}", text(15));
    }

    #[test]
    fn figures_that_do_not_fit_go_on_below() {
        let lines: &[&[&str]] = &[
            &["", "mean", "total", "rate"],
            &["L-7-poll", "541.4 ns", "70.91 ms", "1.553 MB/s"],
            &["  print", "", "71 ms", ""],
        ];
        let expected = "\
─────────────────────────────
               mean     total
─────────────────────────────
 L-7-poll  541.4 ns  70.91 ms
   print                71 ms
─────────────────────────────
                 rate
─────────────────────
 L-7-poll  1.553 MB/s
─────────────────────";
        assert_eq!(text(lines, 1, 31), expected);
    }

    #[test]
    fn rows_of_words_that_do_not_fit_become_records() {
        let lines: &[&[&str]] = &[
            &["", "found", "what to do"],
            &["gcc", "/usr/bin/arm-none-eabi-gcc", ""],
            &["mkfs.jffs2", "", "Debian: `apt-get install mtd-utils`"],
        ];
        let expected = "\
────────────────────────────────────────────
 gcc
   found        /usr/bin/arm-none-eabi-gcc
 mkfs.jffs2
   what to do   Debian:
                `apt-get install mtd-utils`
────────────────────────────────────────────";
        assert_eq!(text(lines, 3, 44), expected);
    }

    #[test]
    fn columns_that_fit_are_as_wide_as_they_ask() {
        assert_eq!(of(&[(4, 20), (8, 8), (6, 12)], 60), [20, 8, 12]);
        assert_eq!(of(&[], 60), [0; 0]);
    }

    #[test]
    fn headings_wrap_before_the_names_of_rows_do() {
        assert_eq!(of(&[(14, 39), (8, 16), (7, 16), (7, 10)], 70), [28, 16, 16, 10]);
        assert_eq!(of(&[(14, 39), (8, 30), (7, 30), (7, 7)], 80), [32, 21, 20, 7]);
    }

    #[test]
    fn what_is_short_is_whole_before_longer_cells_grow() {
        assert_eq!(of(&[(9, 23), (15, 22), (8, 8), (7, 13), (8, 14)], 74), [23, 16, 8, 13, 14]);
    }

    #[test]
    fn no_word_is_broken_while_the_longest_words_fit() {
        assert_eq!(of(&[(14, 50), (8, 20), (10, 30)], 32), [14, 8, 10]);
    }

    #[test]
    fn words_that_do_not_fit_take_from_the_widest() {
        assert_eq!(of(&[(30, 50), (8, 20), (8, 8)], 30), [14, 8, 8]);
        assert_eq!(of(&[(9, 9), (9, 9)], 1), [1, 1]);
    }
}
