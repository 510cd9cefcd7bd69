//! Results on a terminal: tables, findings and warnings, fitted to its width.
//!
//! Layer: rank 8, inside `report`. Functions: [`run`] and [`reproduction`]; both return text, only
//! the program prints. Below each row with published figures is a row `print` with the figure as
//! printed and the verdict. Colour only repeats the text. Saved results are untrusted input, so
//! [`shown`] escapes all texts before their width is measured. A histogram becomes a line of
//! blocks. Left out: other charts.

use crate::columns::{Grid, TIE};
use crate::headline::{self, Headline, headlines};
use crate::pairs::{self, Pair, pairs};
use crate::{Options, beside, format, text};
use boardlab_result::foreign::shown;
use boardlab_result::prose::counted;
use boardlab_result::{
    Cell, Chart, Reproduction, Row, RunResult, Style, Table, Unit, Value, Verdict,
    headline as headline_of,
};
use std::fmt::Write as _;

/// The smallest width; a narrower terminal is treated as this wide.
const WIDTH_MIN: usize = 60;

/// Blocks in the line of a histogram, at most.
const SPARKLINE_MAX: usize = 32;

/// One run: tables, charts in a line, findings, warnings and attachments.
#[must_use]
pub fn run(run: &RunResult, options: &Options) -> String {
    let mut page = Page { text: String::new(), options };
    page.show(run, true);
    page.text
}

/// Several runs, after their headlines. Unless `options` ask for all, a run with published figures is shown in brief: the
/// tables with them, and the headlines of its findings.
#[must_use]
pub fn reproduction(reproduction: &Reproduction, options: &Options) -> String {
    let mut page = Page { text: String::new(), options };
    page.summary(&headlines(reproduction));
    for result in &reproduction.results {
        if !page.text.is_empty() {
            page.text.push('\n');
        }
        page.show(result, options.full || !result.tables.iter().any(Table::has_print));
    }
    page.text
}

/// The text so far.
struct Page<'a> {
    text: String,
    options: &'a Options,
}

impl Page<'_> {
    fn width(&self) -> usize {
        self.options.width.max(WIDTH_MIN)
    }

    fn opening(&mut self, run: &RunResult) {
        self.heading(&format!("{} – {}", run.scenario, run.title));
        if let Some(publication) = &run.publication {
            self.paragraph("", &publication.to_string());
        }
        if let Some(line) = provenance(run, self.options.wall_time) {
            self.paragraph("", &line);
        }
        if let Some(line) = headline::agreement(run) {
            self.paragraph("", &line);
        }
        if let Some((question, index, answer)) = headline::answered(run) {
            self.paragraph("Question  ", question);
            self.paragraph("Answer    ", &format!("{answer} [{}]", index + 1));
        }
    }

    /// A run in `full`, or in brief.
    fn show(&mut self, run: &RunResult, full: bool) {
        self.opening(run);
        for table in run.tables.iter().filter(|table| full || table.has_print()) {
            self.text.push('\n');
            match pairs(run, table) {
                Some(pairs) => self.pairs(table, &pairs),
                None => self.table(run, table),
            }
        }
        if full {
            self.sparklines(run);
            self.numbered("Findings", &run.findings);
        } else {
            let headlines = run.findings.iter().map(|finding| headline_of(finding).0.to_owned());
            self.numbered("Findings", &headlines.collect::<Vec<_>>());
        }
        self.numbered("Warnings", &run.warnings);
        for attachment in &run.attachments {
            let lines = counted(attachment.text.lines().count(), "line");
            let words = format!("{} ({lines}): {}", attachment.name, attachment.title);
            self.text.push('\n');
            self.paragraph("Attached  ", &words);
        }
        if !full && self.options.notes {
            let others = run.tables.iter().filter(|table| !table.has_print()).count();
            let words = format!(
                "Left out: {} without published figures, distributions, and the evidence of the findings. --full prints them, \
                 and --out DIR writes them.",
                counted(others, "table"),
            );
            self.text.push('\n');
            self.paragraph("", &words);
        }
    }

    fn summary(&mut self, headlines: &[Headline<'_>]) {
        if headlines.is_empty() {
            return;
        }
        self.heading(headline::heading(headlines));
        for of_run in headlines.chunk_by(|one, other| one.run_index == other.run_index) {
            let scenario = &of_run[0].run.scenario;
            let mut grid = Grid::new(&[scenario, "print", "ours", "error", "verdict"], 1);
            for headline in of_run {
                let place = headline.place().unwrap_or_else(|| headline.table.title.clone());
                grid.push([
                    format!("{}  {place}", headline.table.id),
                    tied(&headline.published),
                    tied(&headline.ours),
                    headline.error.as_deref().map(tied).unwrap_or_default(),
                    headline.verdict.map(|v| verdict(v, headline.finding)).unwrap_or_default(),
                ]);
            }
            grid.align_left(4);
            if of_run[0].run_index != headlines[0].run_index {
                self.text.push('\n');
            }
            self.grid(grid);
        }
    }

    /// A table of a comparison, one line a difference.
    fn pairs(&mut self, table: &Table, pairs: &[Pair<'_>]) {
        self.heading(&format!("{} – {}", table.id, table.title));
        let headings: Vec<&str> = std::iter::once("").chain(pairs::HEADINGS).collect();
        let mut grid = Grid::new(&headings, 2);
        for pair in pairs {
            let name = if pair.first { label(pair.row) } else { String::new() };
            let [quantity, figures @ ..] = &pair.cells;
            let figures = figures.iter().map(|figure| figure.replace(' ', TIE));
            grid.push([name, quantity.clone()].into_iter().chain(figures));
        }
        self.grid(grid);
    }

    fn table(&mut self, run: &RunResult, table: &Table) {
        let source = table.source.as_ref().map(|s| format!(" ({s})")).unwrap_or_default();
        self.heading(&format!("{} – {}{source}", kind(run, table), table.title));
        let headings: Vec<&str> =
            std::iter::once("").chain(table.columns.iter().map(|c| c.title.as_str())).collect();
        let mut grid = Grid::new(&headings, 1);
        for (index, column) in table.columns.iter().enumerate() {
            let words = |row: &Row| {
                row.cells.get(&column.id).is_some_and(|cell| matches!(cell.value, Value::Text(_)))
            };
            if table.rows.iter().any(words) {
                grid.align_left(index + 1);
            }
        }
        for row in &table.rows {
            grid.push(ours(table, row));
            if row.cells.values().any(|cell| cell.published.is_some() || cell.verdict.is_some()) {
                grid.push(print(table, row));
            }
        }
        self.grid(grid);
        if let Some(line) = origins(table) {
            self.paragraph("", &line);
        }
    }

    fn grid(&mut self, grid: Grid) {
        let mut lines = grid.text(self.width());
        if self.options.color {
            for verdict in Verdict::ALL {
                let word = word(verdict);
                lines = lines.replace(&word, &painted(&word, colour(verdict)));
            }
        }
        self.text.push_str(&lines);
        self.text.push('\n');
    }

    fn sparklines(&mut self, run: &RunResult) {
        let mut first = true;
        for chart in &run.charts {
            let Some((line, range)) = histogram(run, chart) else { continue };
            if std::mem::take(&mut first) {
                self.text.push('\n');
            }
            self.paragraph("", &chart.title);
            self.paragraph(&format!("  {line}  "), &range);
        }
    }

    fn numbered(&mut self, heading: &str, sentences: &[String]) {
        if sentences.is_empty() {
            return;
        }
        self.text.push('\n');
        self.heading(heading);
        for (index, sentence) in sentences.iter().enumerate() {
            self.paragraph(&format!("{:>3}. ", index + 1), sentence);
        }
    }

    fn heading(&mut self, words: &str) {
        for line in text::wrap(&sentence(words), self.width()) {
            let line = if self.options.color { painted(&line, "1") } else { line };
            let _ = writeln!(self.text, "{line}");
        }
    }

    /// `words` wrapped behind `lead`, with later lines indented to the same column.
    fn paragraph(&mut self, lead: &str, words: &str) {
        let indent = text::width(lead);
        for (index, line) in text::wrap(&sentence(words), self.width() - indent).iter().enumerate()
        {
            let start = if index == 0 { lead.to_owned() } else { " ".repeat(indent) };
            let _ = writeln!(self.text, "{start}{line}");
        }
    }
}

/// `words` as [`shown`], with newlines replaced by spaces.
fn sentence(words: &str) -> String {
    shown(&words.replace(['\n', '\t'], " ")).into_owned()
}

/// Seed, version and times; `None` for a result that is not that of a run, such as a list.
fn provenance(run: &RunResult, wall_time: bool) -> Option<String> {
    if !format::ran(run) {
        return None;
    }
    let mut line = format!("seed {}, version {}", run.seed, run.version);
    if run.virtual_time_ns > 0 {
        let _ = write!(line, ", virtual time {}", format::nanoseconds(run.virtual_time_ns));
    }
    if let Some(wall) = run.wall_time_ns.filter(|_| wall_time) {
        let _ = write!(line, ", wall time {}", format::nanoseconds(wall));
    }
    Some(line)
}

/// The id of `table`; in an answer, such as one of several terms, without the count that keeps ids apart.
fn kind<'t>(run: &RunResult, table: &'t Table) -> &'t str {
    let counted = table.id.rsplit_once('-').filter(|(_, count)| count.parse::<usize>().is_ok());
    match counted {
        Some((kind, _)) if !format::ran(run) && run.table(kind).is_some() => kind,
        _ => &table.id,
    }
}

/// The name of a row.
fn label(row: &Row) -> String {
    if format::says_more(row) { format!("{}  {}", row.id, row.title) } else { row.id.clone() }
}

/// The cells of one row of ours. A figure does not break between number and unit.
fn ours(table: &Table, row: &Row) -> Vec<String> {
    let cell = |column: &str| {
        let Some(cell) = row.cells.get(column) else { return String::new() };
        match &cell.value {
            Value::None => String::new(),
            Value::Text(words) => words.clone(),
            _ => beside::figure(cell, row.unit_in(column)).replace(' ', TIE),
        }
    };
    let cells = table.columns.iter().map(|column| cell(&column.id));
    std::iter::once(label(row)).chain(cells).collect()
}

/// The published figures of one row, each with its verdict.
fn print(table: &Table, row: &Row) -> Vec<String> {
    let cell =
        |column: &str| row.cells.get(column).map(|cell| published(cell, row.unit_in(column)));
    let cells = table.columns.iter().map(|column| cell(&column.id).unwrap_or_default());
    let has_print = row.cells.values().any(|cell| cell.published.is_some());
    let label = if has_print { "  print" } else { "  verdict" };
    std::iter::once(label.to_owned()).chain(cells).collect()
}

fn published(cell: &Cell, unit: Unit) -> String {
    let figure = cell.published.as_ref().map(|value| {
        let shown = || format::figure(value, unit);
        let printed = cell.printed.clone().unwrap_or_else(shown);
        if matches!(value, Value::Text(_)) { printed } else { printed.replace(' ', TIE) }
    });
    let verdict = cell.verdict.map(|v| verdict(v, cell.finding));
    [figure, verdict].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// A figure that does not break between number and unit; words break.
fn tied(figure: &str) -> String {
    let is_figure =
        figure.starts_with(|first: char| first.is_ascii_digit() || "+-".contains(first));
    if is_figure { figure.replace(' ', TIE) } else { figure.into() }
}

/// A verdict with its sign.
fn word(verdict: Verdict) -> String {
    format!("{} {}", verdict.sign(), verdict.to_string().replace('_', " "))
}

/// Select Graphic Rendition (ECMA-48) of a verdict.
const fn colour(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "32",
        Verdict::Input | Verdict::NotBuilt => "2",
        Verdict::Close => "36",
        Verdict::Differs => "33",
        Verdict::Fail => "1;31",
    }
}

fn verdict(verdict: Verdict, finding: Option<usize>) -> String {
    let finding = finding.map(|index| format!(" [{}]", index + 1)).unwrap_or_default();
    format!("{}{finding}", word(verdict).replace(' ', TIE))
}

fn painted(text: &str, code: &str) -> String {
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// The counts of fitted and assumed parameters of a table; `None` for a table without comparisons
/// and assumptions.
fn origins(table: &Table) -> Option<String> {
    let (fitted, assumed) = (table.fitted_count, table.assumed_count);
    (fitted + assumed + table.compared_count > 0).then(|| {
        let parameters = plural(fitted, "parameter");
        let compared = match table.compared_count {
            0 => String::new(),
            count => format!(", for {count} compared {}", plural(count, "cell")),
        };
        format!("{fitted} {parameters} fitted, {assumed} assumed{compared}")
    })
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { noun.into() } else { format!("{noun}s") }
}

/// A histogram as a line of blocks and its range; `None` for other charts.
fn histogram(run: &RunResult, chart: &Chart) -> Option<(String, String)> {
    if !chart.categories.is_empty() {
        return None;
    }
    let layer = chart.layers.iter().find(|layer| layer.style == Style::Bars)?;
    let curve = run.curve(&layer.curve)?;
    let (first, last) = (curve.x.first()?, curve.x.last()?);
    let line = text::sparkline(&curve.y, SPARKLINE_MAX);
    let range = [first, last].map(|x| format::number(*x)).join(" to ");
    Some((line, format!("{range}, {}", chart.x.label)))
}
