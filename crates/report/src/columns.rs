//! Tables on a terminal, and the widths of their columns.
//!
//! Layer: rank 8, inside `report`. Main type: [`Grid`]; function: [`widths`]. A table that is too
//! wide wraps headings and words first, at spaces; figures stay whole, and the first column, which
//! names the rows, keeps up to two fifths of the table. Words are broken only where the longest
//! ones do not fit side by side. Left out: hiding columns.

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

/// The number of spaces around the content of a column.
const PADDING: usize = 2;

/// The largest width that a column with a wrapped heading or verdict requests; columns of text
/// request more and share the rest.
const SMALL: usize = 12;

/// The width of the names of rows below which their words are not broken.
const NAME_MIN: usize = 10;

/// The width between two columns.
const SEPARATOR: usize = 1;

/// The width that a column requests, in columns of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Need {
    /// The length of its longest word; below it a word is broken.
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
            lines: vec![headings.iter().map(|heading| shown(heading).into_owned()).collect()],
            right: (0..headings.len()).map(|index| index >= right).collect(),
        }
    }

    /// Aligns a column to the left: it holds words.
    pub(crate) fn align_left(&mut self, column: usize) {
        self.right[column] = false;
    }

    /// Adds a row, with a cell for each heading. Words may be foreign text, so they are escaped.
    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.lines.push(row.into_iter().map(|cell| shown(&cell).into_owned()).collect());
    }

    /// The grid in lines of at most `limit` columns, without a newline at the end.
    pub(crate) fn text(mut self, limit: usize) -> String {
        let count = self.right.len();
        let around = PADDING * count + SEPARATOR * count.saturating_sub(1);
        let room = limit.saturating_sub(around);
        let mut needs = needs(&self.lines);
        if !fit(&needs, room) && self.has_figures() {
            // The names of rows break before figures do.
            needs[0].least = needs[0].least.min(NAME_MIN);
            if !fit(&needs, room) {
                // Too narrow for whole figures: breaks between number and unit rather than within a number.
                for cell in self.lines.iter_mut().flatten() {
                    *cell = cell.replace(TIE, " ");
                }
                needs = self::needs(&self.lines);
            }
        }
        self.drawn(&widths(&needs, room)).trim_fmt().replace(TIE, " ")
    }

    /// Whether there are numbers with units.
    fn has_figures(&self) -> bool {
        self.lines.iter().flatten().any(|cell| cell.contains(TIE))
    }

    fn drawn(&self, widths: &[usize]) -> Table {
        let mut table = Table::new();
        table.load_style(STYLE);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        let mut lines = self.lines.iter();
        table.set_header(lines.next().cloned().unwrap_or_default());
        table.add_rows(lines);
        for (index, column) in table.column_iter_mut().enumerate() {
            let width = u16::try_from(widths[index] + PADDING).unwrap_or(u16::MAX);
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
            if self.right[index] {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }
}

fn needs(lines: &[Vec<String>]) -> Vec<Need> {
    let count = lines.first().map_or(0, Vec::len);
    let mut needs = vec![Need { least: 1, most: 1 }; count];
    for line in lines {
        for (need, cell) in needs.iter_mut().zip(line) {
            for part in cell.lines() {
                need.least = need.least.max(text::longest_word(part));
                need.most = need.most.max(text::width(part));
            }
        }
    }
    needs
}

/// Whether the longest words of columns with `needs` fit into `room` side by side.
fn fit(needs: &[Need], room: usize) -> bool {
    needs.iter().map(|need| need.least).sum::<usize>() <= room
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
    let mut others: Vec<usize> = (1..needs.len()).collect();
    others.sort_by_key(|index| asked(*index));
    for (at, index) in others.iter().enumerate() {
        let share = spare / (others.len() - at);
        let asked = asked(*index);
        let given = if asked <= spare.min(SMALL) { asked } else { asked.min(share) };
        widths[*index] += given;
        spare -= given;
    }
    // Distributes the rest, from the first column on.
    for (width, need) in widths.iter_mut().zip(needs) {
        let given = need.most.saturating_sub(*width).min(spare);
        *width += given;
        spare -= given;
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

    #[test]
    fn a_figure_breaks_only_where_whole_ones_do_not_fit() {
        let text = |limit| {
            let mut grid = Grid::new(&["", "whole write"], 1);
            grid.push(["tuned wait".into(), format!("36.37{TIE}s")]);
            grid.text(limit)
        };
        assert!(text(60).contains(" tuned wait       36.37 s"), "{}", text(60));
        let narrow = text(17);
        assert!(narrow.contains(" tuned   36.37 s"), "{narrow}");
        let narrowest = text(15);
        assert!(narrowest.contains("36.37\n") && !narrowest.contains('\u{a0}'), "{narrowest}");
    }

    #[test]
    fn names_of_rows_break_before_figures_and_not_before_words() {
        let text = |cell: &str, limit| {
            let mut grid = Grid::new(&["", "value", "meaning"], 1);
            grid.push([
                "uboot.poll_gap_first".into(),
                cell.into(),
                "a-long-word-of-26-letters-".into(),
            ]);
            grid.text(limit)
        };
        let figures = text(&format!("11,205,597{TIE}KB"), 60);
        assert!(figures.contains("11,205,597 KB") && !figures.contains("uboot.poll_gap_first"));
        assert!(
            text("a longer sentence", 60).contains("uboot.poll_gap_first"),
            "{}",
            text("a longer sentence", 60)
        );
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
