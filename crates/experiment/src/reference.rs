//! Published tables, kept as printed.
//!
//! Layer: rank 9. Main types: [`Reference`], one publication, and [`Print`], one figure: the text
//! as printed and the span of values that print like it. `253 us` stands for all from 252.5 to
//! 253.5 us: half a unit of the last printed digit either way. If the authors computed a figure from
//! rounded ones, `sum_of` and `product_of` name those, and the span is widened by the effect of their
//! rounding. `repeats` names a table above that prints the same figure, whose span then holds here too.
//! A span is never narrower than the print.
//!
//! ```toml
//! [publication]
//! title = "What"
//! translation = "What, in English"
//! authors = "Who"
//! publisher = "Where"
//! date = "2009"
//! cited_as = "nor.md"
//! [[table]]
//! id = "table5"
//! title = "Linux"
//! source = "nor.md, table 5"
//! [[table.row]]
//! id = "L-7"
//! [table.row.cells]
//! mean_ns = { printed = "253 us" }
//! count = { printed = "131072" }
//! total_ns = { printed = "33.3 s", product_of = ["mean_ns", "count"] }
//! spread_ns = { range = ["170 us", "226 us"], note = "a reader's remark" }
//! ```
//!
//! The unit of a column is the one that its key ends in, see [`Unit`]. If columns are named after
//! systems, the row states the unit (`unit = "bytes_per_s"`). If the print uses units with another
//! meaning than this program, the table states it: `units = { MB = "MiB" }`.

use crate::figure::{Figure, Meanings};
use boardlab_document::error::Error;
use boardlab_document::misfit::Misfit;
use boardlab_document::quantity::{Dimension, Ratio};
use boardlab_document::source::{Kind, Place, Source};
use boardlab_document::{
    Description, Document, Node, PlacedMisfit, Read, Section, Value as Readable, section,
};
use boardlab_parts::catalog;
use boardlab_result::{Publication, Row, Unit, Value};
use indexmap::IndexMap;
use std::collections::HashSet;
use std::sync::Arc;

/// The tables of one publication.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// What was published.
    pub publication: Publication,
    /// The tables in order.
    pub tables: Vec<ReferenceTable>,
}

section! {
    /// One published table.
    #[derive(Debug, Clone, PartialEq)]
    pub struct ReferenceTable(section) {
        /// Its published number, such as `table5`.
        pub id: String,
        /// Its heading.
        pub title: String,
        /// The document, and the place in it.
        pub source: String,
        /// The spread between measurements that the publication states: ours passes within it.
        pub spread: Option<Allowance> = section.optional_section("spread", Allowance::read),
        /// What is close, in place of 5 %.
        pub close: Option<Allowance> = section.optional_section("close", Allowance::read),
        /// What the print means by its units.
        units: Vec<(String, String)> =
            section.optional_section("units", meanings).map(Option::unwrap_or_default),
        /// Rows in order.
        pub rows: Vec<ReferenceRow> = section.sections("row", |row| {
            ReferenceRow::read(row, units.as_ref().map_or(&[], Vec::as_slice))
        }),
    }
    check(rows) {
        distinct(&section, "row", rows.iter().map(|row| row.id.as_str()))?;
    }
}

section! {
    /// How far ours may be from every figure of a table.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Allowance(section) {
        /// The share of the figure.
        pub within: Ratio => up_to(Ratio::WHOLE),
        /// What allows it.
        pub reason: String,
    }
}

impl Allowance {
    /// The share of the figure.
    pub(crate) fn share(&self) -> f64 {
        self.within.as_f64()
    }
}

section! {
    /// One published row.
    #[derive(Debug, Clone, PartialEq)]
    pub struct ReferenceRow(section, meanings: &Meanings) {
        /// Its published name, such as `L-7`.
        pub id: String,
        /// Its subject, for people; may be empty.
        pub title: String => or(String::new()),
        /// Unit of the columns whose key names none: `bytes_per_s`; may be empty.
        pub unit: &'static str => one_of(ROW_UNITS.map(|unit| (unit, unit))).or(""),
        /// Figures by column.
        pub cells: IndexMap<String, Print> = {
            let unit = unit.unwrap_or_default();
            section.section("cells", |cells| self::cells(cells, unit, meanings))
        },
    }
}

/// Units of rows, as the ends of a column's key.
const ROW_UNITS: [&str; 5] = ["ns", "bytes", "bytes_per_s", "count", "ratio"];

/// One published figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Print {
    /// The text as printed.
    pub text: String,
    /// The figure in the unit of its column; words for a spread and for text.
    pub published: Value,
    /// The values that agree with the print, both ends among them; `None` for words.
    pub span: Option<(f64, f64)>,
    /// A remark.
    pub note: Option<String>,
    /// The number that the cell holds, to compute with.
    figure: Option<Figure>,
    /// The rows whose figures in the same column it is the sum of.
    sum_of: Vec<Named>,
    /// The columns whose figures in the same row it is the product of.
    product_of: Vec<Named>,
    /// The table above that prints the same figure in the same row and column.
    repeats: Option<Named>,
}

impl Reference {
    /// The published tables called `name`.
    ///
    /// # Errors
    /// [`Error::UnknownName`], or the errors of the file.
    pub fn named(name: &str) -> Result<Self, Error> {
        Self::read(&catalog::find(Kind::Reference, name, None)?)
    }

    /// Reads the tables in `source`.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn read(source: &Arc<Source>) -> Result<Self, Error> {
        let reading = Document::parse(source)?.read(|top| {
            let publication = top.section("publication", publication);
            let tables = top.sections("table", ReferenceTable::read);
            top.finish()?;
            let (publication, tables) = (publication?, tables?);
            distinct(&top, "table", tables.iter().map(|table| table.id.as_str()))?;
            Ok(Self { publication, tables })
        })?;
        let mut reference = reading.value;
        for index in 0..reference.tables.len() {
            let (above, others) = reference.tables.split_at_mut(index);
            others[0].widen(above)?;
        }
        Ok(reference)
    }

    /// The table called `id`.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn table(&self, id: &str) -> Result<&ReferenceTable, Error> {
        let names = || self.tables.iter().map(|table| table.id.clone()).collect();
        self.tables.iter().find(|table| table.id == id).ok_or_else(|| unknown("table", id, names()))
    }
}

impl ReferenceTable {
    /// The place in the publication, with what its units mean and what the table allows beyond the print.
    pub(crate) fn source_and_allowances(&self) -> String {
        let meanings = self.units.iter().map(|(print, meant)| format!("; {print} means {meant}"));
        let meanings: String = meanings.collect();
        let told = |name: &str, allowance: &Option<Allowance>| {
            let told = |one: &Allowance| format!("; {name} within {}: {}", one.within, one.reason);
            allowance.as_ref().map(told).unwrap_or_default()
        };
        let (pass, close) = (told("pass", &self.spread), told("close", &self.close));
        format!("{}{meanings}{pass}{close}", self.source)
    }

    /// The figure in `row` and `column`.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn cell(&self, row: &str, column: &str) -> Result<&Print, Error> {
        let found = self.rows.iter().find(|candidate| candidate.id == row).ok_or_else(|| {
            unknown("row", row, self.rows.iter().map(|row| row.id.clone()).collect())
        })?;
        let names = || found.cells.keys().cloned().collect();
        found.cells.get(column).ok_or_else(|| unknown("column", column, names()))
    }

    /// Widens the spans of figures that were computed from rounded ones.
    fn widen(&mut self, above: &[Self]) -> Result<(), Error> {
        let mut widenings = Vec::new();
        for row in &self.rows {
            for (column, cell) in row.cells.iter().filter(|(_, cell)| cell.span.is_some()) {
                let repeated = repeated(above, row, column, cell)?;
                widenings.push(repeated.max(self.widening(row, column, cell)?));
            }
        }
        let cells = self.rows.iter_mut().flat_map(|row| row.cells.values_mut());
        let spans = cells.filter_map(|cell| cell.span.as_mut());
        for ((low, high), widening) in spans.zip(widenings) {
            *low -= widening;
            *high += widening;
        }
        Ok(())
    }

    /// The effect of rounding on `cell`, which was computed from rounded figures.
    fn widening(&self, row: &ReferenceRow, column: &str, cell: &Print) -> Result<f64, Error> {
        let mut widening = 0.0;
        for named in &cell.sum_of {
            let row = self.rows.iter().find(|candidate| candidate.id == named.name);
            let figure = row.and_then(|row| row.cells.get(column)).and_then(|cell| cell.figure);
            let has =
                |row: &&ReferenceRow| row.cells.get(column).is_some_and(|c| c.figure.is_some());
            let ids = || self.rows.iter().filter(has).map(|row| row.id.clone()).collect();
            let figure =
                figure.ok_or_else(|| unknown("row", &named.name, ids()).at(&named.place))?;
            widening += figure.rounding();
        }
        let (mut product, mut greatest) = (1.0, 1.0);
        for named in &cell.product_of {
            let figure = row.cells.get(&named.name).and_then(|cell| cell.figure);
            let has = |(_, cell): &(&String, &Print)| cell.figure.is_some();
            let ids = || row.cells.iter().filter(has).map(|(id, _)| id.clone()).collect();
            let figure =
                figure.ok_or_else(|| unknown("column", &named.name, ids()).at(&named.place))?;
            product *= figure.value;
            greatest *= figure.value + figure.rounding();
        }
        Ok(widening + greatest - product)
    }
}

/// How much wider the span of the figure that `cell` repeats is.
fn repeated(
    above: &[ReferenceTable],
    row: &ReferenceRow,
    column: &str,
    cell: &Print,
) -> Result<f64, Error> {
    let Some(named) = &cell.repeats else { return Ok(0.0) };
    let prints = above.iter().filter_map(|table| Some((table, table.cell(&row.id, column).ok()?)));
    let same: Vec<_> = prints.filter(|(_, print)| print.text == cell.text).collect();
    let found = same.iter().find(|(table, _)| table.id == named.name);
    let ids = || same.iter().map(|(table, _)| table.id.clone()).collect();
    let (_, print) = found.ok_or_else(|| {
        unknown("table above with this figure", &named.name, ids()).at(&named.place)
    })?;
    let high = |print: &Print| print.span.map_or(0.0, |(_, high)| high);
    Ok(high(print) - high(cell))
}

fn unknown(what: &'static str, found: &str, names: Vec<String>) -> Error {
    Error::UnknownName { place: None, what, found: found.into(), names }
}

/// Refuses two entries of the list `key` with one id.
fn distinct<'n>(section: &Section<'_>, key: &str, ids: impl Iterator<Item = &'n str>) -> Read<()> {
    let mut seen = HashSet::new();
    for id in ids {
        if !seen.insert(id) {
            let problem = format!("has two entries with the id `{id}`");
            let help = format!("give each {key} an id of its own");
            return Err(section.refuse(key, &problem, "ids that differ", &help));
        }
    }
    Ok(())
}

/// A name and where it is written.
#[derive(Debug, Clone, PartialEq)]
struct Named {
    name: String,
    place: Place,
}

impl Readable for Named {
    const NUMBER: bool = false;
    fn description() -> Description {
        Description::new("the id of a row, a column or a table", "\"mean_ns\"")
    }
    fn read(node: &Node) -> Result<Self, PlacedMisfit> {
        let name = String::read(node)?;
        Ok(Self { name, place: node.place().clone() })
    }
}

fn cells(section: Section<'_>, unit: &str, meanings: &Meanings) -> Read<IndexMap<String, Print>> {
    // Every column is read before the first error counts, so that all errors are shown.
    let each = section.keys().map(|column| {
        let cell = section.section(column, |cell| Print::read(&cell, (column, unit), meanings));
        (column, cell)
    });
    let each: Vec<_> = each.collect();
    section.finish()?;
    each.into_iter().map(|(column, cell)| Ok((column.to_owned(), cell?))).collect()
}

fn publication(section: Section<'_>) -> Read<Publication> {
    let [title, translation, authors, publisher, date, cited_as, question] =
        ["title", "translation", "authors", "publisher", "date", "cited_as", "question"]
            .map(|key| section.required::<String>(key));
    section.finish()?;
    Ok(Publication {
        title: title?,
        translation: translation?,
        authors: authors?,
        publisher: publisher?,
        date: date?,
        cited_as: cited_as?,
        question: question?,
    })
}

/// What the print means by its units.
fn meanings(section: Section<'_>) -> Read<Vec<(String, String)>> {
    let each = section.keys().map(|print| {
        let names = Dimension::ALL.iter().flat_map(|dimension| dimension.units());
        let names: Vec<_> = names.map(|(name, _)| (*name, *name)).collect();
        Ok((print.to_owned(), section.one_of(print, &names)?.to_owned()))
    });
    let each: Vec<_> = each.collect();
    section.finish()?;
    each.into_iter().collect()
}

impl Print {
    /// Reads the cell in a column of a row that has this unit.
    fn read(
        section: &Section<'_>,
        (column, of_row): (&str, &str),
        meanings: &Meanings,
    ) -> Read<Self> {
        let unit = Row::new("", "").of_unit(of_row).unit_in(column);
        let printed = section.optional::<String>("printed");
        let range = section.optional::<Vec<String>>("range");
        let sum_of = section.optional::<Vec<Named>>("sum_of");
        let product_of = section.optional::<Vec<Named>>("product_of");
        let repeats = section.optional::<Named>("repeats");
        let note = section.optional::<String>("note");
        if let (Ok(None), Ok(None)) = (&printed, &range) {
            // Both lack: the section itself says that one is due.
            let _ = section.required::<String>("printed");
        }
        section.finish()?;
        let (printed, range, note) = (printed?, range?, note?);
        let refused = |key: &str, misfit: &Misfit| {
            let expected = format!("a figure as printed, in the unit of `{column}`");
            let help = "write what is printed, with its unit: \"120 us\", \"2.5 MB/s\", \"12.5 %\"";
            section.refuse(key, &misfit.to_string(), &expected, help)
        };
        let (text, figure, published, span) = match (printed, range) {
            (printed, Some(range)) => {
                let spread = spread(&range, unit, meanings);
                let (text, span) = spread.map_err(|misfit| refused("range", &misfit))?;
                let text = printed.unwrap_or(text);
                (text.clone(), None, Value::Text(text), Some(span))
            }
            (Some(text), None) => {
                let figure = Figure::parse(&text, unit, meanings);
                let figure = figure.map_err(|misfit| refused("printed", &misfit))?;
                let published = figure.map_or_else(|| Value::Text(text.clone()), Figure::published);
                (text, figure, published, figure.map(Figure::span))
            }
            (None, None) => {
                let help = "write printed = \"FIGURE\" as the publication has it, or a range";
                return Err(section.refuse("printed", "lacks", "a figure", help));
            }
        };
        let (sum_of, product_of) = (sum_of?.unwrap_or_default(), product_of?.unwrap_or_default());
        Ok(Self { text, published, span, note, figure, sum_of, product_of, repeats: repeats? })
    }
}

/// A figure printed as a spread: its text, and the values that agree with it.
fn spread(
    range: &[String],
    unit: Unit,
    meanings: &Meanings,
) -> Result<(String, (f64, f64)), Misfit> {
    let [low, high] = range else { return Err(Misfit::Arguments("two figures")) };
    let figure = |text: &str| Figure::parse(text, unit, meanings)?.ok_or(Misfit::NotANumber);
    let text = format!("{low} to {high}");
    let (low, high) = (figure(low)?, figure(high)?);
    if low.value > high.value {
        return Err(Misfit::Order("LOW <= HIGH"));
    }
    Ok((text, (low.span().0, high.span().1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_reference_is_valid() {
        for file in catalog::all(Kind::Reference) {
            Reference::named(file.name).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
