//! The result of one run.

use crate::chart::{Chart, Curve, Layer, Style};
use crate::origin::{Origin, Parameter};
use crate::table::{Table, Verdict};
use crate::timeline::Timeline;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The version of the JSON schema. It rises when a field changes its meaning or is removed.
pub const SCHEMA: u32 = 2;

/// The result of one run of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    /// Always [`SCHEMA`].
    pub schema: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// The title.
    pub title: String,
    /// The publication that the run repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publication: Option<Publication>,
    /// Seed of the run.
    pub seed: u64,
    /// Version of boardlab.
    pub version: String,
    /// The elapsed virtual time, summed over the systems of the scenario.
    pub virtual_time_ns: u64,
    /// The wall time, the only field that may differ between equal runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_time_ns: Option<u64>,
    /// Tables in order.
    pub tables: Vec<Table>,
    /// Curves, by id.
    pub series: Vec<Curve>,
    /// Charts over the curves.
    #[serde(default)]
    pub charts: Vec<Chart>,
    /// Timelines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timelines: Vec<Timeline>,
    /// All inputs.
    pub parameters: Vec<Parameter>,
    /// The findings of the run, in sentences; the first of each is its [`headline`].
    pub findings: Vec<String>,
    /// The index of the finding that answers the question of the publication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<usize>,
    /// The warnings, in sentences.
    pub warnings: Vec<String>,
    /// Texts for further use, such as a patch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

/// A publication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publication {
    /// The title as printed.
    pub title: String,
    /// The title in English, in our translation.
    pub translation: String,
    /// The authors.
    pub authors: String,
    /// Who published it.
    pub publisher: String,
    /// When, as far as it is printed.
    pub date: String,
    /// What sources of tables and parameters call it.
    pub cited_as: String,
    /// What it asks, in our words; empty in older results.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub question: String,
}

impl fmt::Display for Publication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, translation, authors, publisher, date, cited_as, question: _ } = self;
        write!(f, "{authors}: {title} ({translation}). {publisher}, {date}. Cited as {cited_as}.")
    }
}

/// The headline of a finding, its first sentence, and the evidence after it, which may be empty.
#[must_use]
pub fn headline(finding: &str) -> (&str, &str) {
    finding.find(". ").map_or((finding, ""), |end| (&finding[..=end], &finding[end + 2..]))
}

/// A text for further use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// File name without folders.
    pub name: String,
    /// Its purpose.
    pub title: String,
    /// The content.
    pub text: String,
}

impl Attachment {
    /// The longest name, in bytes.
    const NAME_MAX: usize = 128;

    /// One called `name`, which the user chose: what a plain file name has not becomes `_`, and of a long name the end
    /// stays.
    #[must_use]
    pub fn named(name: &str, title: String, text: String) -> Self {
        let is_foreign = |c: char| c.is_control() || matches!(c, '/' | '\\' | ':');
        let mut name = name.replace(is_foreign, "_");
        while name.len() > Self::NAME_MAX {
            name.remove(0);
        }
        if name.starts_with('.') {
            name.replace_range(..1, "_");
        }
        Self { name, title, text }
    }
}

/// The results of several runs, as `reproduce` and `report` show them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reproduction {
    /// Always [`SCHEMA`].
    pub schema: u32,
    /// The runs in order.
    pub results: Vec<RunResult>,
}

impl RunResult {
    /// A result without content.
    #[must_use]
    pub fn new(scenario: &str, title: &str, seed: u64, version: &str) -> Self {
        Self {
            schema: SCHEMA,
            scenario: scenario.into(),
            title: title.into(),
            publication: None,
            seed,
            version: version.into(),
            virtual_time_ns: 0,
            wall_time_ns: None,
            tables: Vec::new(),
            series: Vec::new(),
            charts: Vec::new(),
            timelines: Vec::new(),
            parameters: Vec::new(),
            findings: Vec::new(),
            answer: None,
            warnings: Vec::new(),
            attachments: Vec::new(),
        }
    }

    /// The figure of a cell, rounded to a whole number, as plans predict it; `None` where there is no such cell, or no
    /// number that a plan can have.
    #[must_use]
    pub fn figure(&self, table: &str, row: &str, column: &str) -> Option<u64> {
        let figure = self.table(table)?.cell(row, column)?.value.as_f64()?.round();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        (0.0..9e18).contains(&figure).then_some(figure as u64)
    }

    /// The table called `id`.
    #[must_use]
    pub fn table(&self, id: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.id == id)
    }

    /// The headline of the finding that answers the question of the publication, and its index.
    #[must_use]
    pub fn answer(&self) -> Option<(usize, &str)> {
        let index = self.answer?;
        self.findings.get(index).map(|finding| (index, headline(finding).0))
    }

    /// The curve called `id`.
    #[must_use]
    pub fn curve(&self, id: &str) -> Option<&Curve> {
        self.series.iter().find(|curve| curve.id == id)
    }

    /// Adds a curve, for layers of charts.
    pub fn draw(&mut self, id: impl Into<String>, unit: &str, points: &[(f64, f64)]) {
        let (x, y) = points.iter().copied().unzip();
        self.series.push(Curve { id: id.into(), unit: unit.into(), x, y });
    }

    /// Adds a curve and the layer of `chart` that shows it.
    pub fn plot(
        &mut self,
        chart: &mut Chart,
        (id, label): (impl Into<String>, impl Into<String>),
        unit: &str,
        style: Style,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) {
        let (id, points) = (id.into(), points.into_iter().collect::<Vec<_>>());
        self.draw(&id, unit, &points);
        chart.layers.push(Layer::new(label, id, style));
    }

    /// Adds `finding` and returns its index, for cells that it explains.
    pub fn find(&mut self, finding: impl Into<String>) -> usize {
        self.findings.push(finding.into());
        self.findings.len() - 1
    }

    /// Counts, for every table, its fitted and assumed parameters and its cells with a published
    /// figure.
    pub fn count_provenance(&mut self) {
        for table in &mut self.tables {
            let of = |origin: Origin| {
                let named = |parameter: &&Parameter| table.parameters.contains(&parameter.key);
                let used = self.parameters.iter().filter(named);
                used.filter(|parameter| parameter.origin == origin).count()
            };
            (table.fitted_count, table.assumed_count) = (of(Origin::Fitted), of(Origin::Assumed));
            table.compared_count =
                table.cells().filter(|(_, _, cell)| cell.published.is_some()).count();
        }
    }

    /// The number of cells with `verdict`.
    #[must_use]
    pub fn verdict_count(&self, verdict: Verdict) -> usize {
        let cells = self.tables.iter().flat_map(Table::cells);
        cells.filter(|(_, _, cell)| cell.verdict == Some(verdict)).count()
    }
}

impl Reproduction {
    /// The results of several runs.
    #[must_use]
    pub const fn new(results: Vec<RunResult>) -> Self {
        Self { schema: SCHEMA, results }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Cell, Row, Value};

    fn sample() -> RunResult {
        let mut run = RunResult::new("nor-write", "NOR", 1, "0.1.0");
        let mut table = Table::new("table5", "Linux").column("mean_ns", "mean");
        let mut cell = Cell::int(254_234);
        cell.published = Some(Value::Int(253_000));
        cell.verdict = Some(Verdict::Close);
        table.rows.push(Row::new("L-7", "wait").cell("mean_ns", cell));
        table.parameters.push("improved.poll_gap".into());
        run.tables.push(table);
        run.parameters.push(Parameter {
            key: "improved.poll_gap".into(),
            value: "11 us".into(),
            origin: Origin::Fitted,
            source: "fit".into(),
        });
        run
    }

    #[test]
    fn the_first_sentence_of_a_finding_is_its_headline() {
        assert_eq!(headline("It takes 1.5 s. That is long."), ("It takes 1.5 s.", "That is long."));
        assert_eq!(headline("It takes 1.5 s."), ("It takes 1.5 s.", ""));
    }

    #[test]
    fn a_figure_is_rounded_and_words_are_none() {
        let mut run = RunResult::new("x", "x", 1, "0");
        let row = Row::new("r", "").cell("a", Cell::real(1.5)).cell("b", Cell::text("words"));
        run.tables = vec![Table::new("t", "T").with_rows([row.cell("c", Cell::real(-1.0))])];
        assert_eq!(run.figure("t", "r", "a"), Some(2));
        for column in ["b", "c", "d"] {
            assert_eq!(run.figure("t", "r", column), None);
        }
        assert_eq!(run.figure("u", "r", "a"), None);
    }

    #[test]
    fn an_attachment_has_the_name_of_a_plain_file() {
        let named = |name: &str| Attachment::named(name, String::new(), String::new()).name;
        assert_eq!(named("a b_bw.1.log"), "a b_bw.1.log");
        assert_eq!(named("a:b\\c/d\n_bw.1.log"), "a_b_c_d__bw.1.log");
        assert_eq!(named("../x"), "_._x");
        let long = named(&("é".repeat(90) + ".bw.1.log"));
        assert!(long.len() <= 128 && long.ends_with("é.bw.1.log"), "{long}");
    }

    #[test]
    fn json_round_trips() {
        let run = sample();
        let json = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<RunResult>(&json).unwrap(), run);
        assert!(!json.contains("wall_time_ns"));
    }

    #[test]
    fn provenance_counts_what_the_table_names() {
        let mut run = sample();
        run.count_provenance();
        let table = run.table("table5").unwrap();
        assert_eq!((table.fitted_count, table.assumed_count, table.compared_count), (1, 0, 1));
        assert_eq!(run.verdict_count(Verdict::Close), 1);
    }
}
