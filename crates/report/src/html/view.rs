//! The contents of the page, as plain values for its template.
//!
//! Layer: inside `report::html`. Function: [`page`]; the structs are named after the parts of the
//! page. Everything here is text that the template escapes; the one exception is a chart's
//! specification, which is JSON made safe for a script element. Ids of the page are made of
//! indices (`run1-finding2`), so that no name of a result can break a link.

use super::points::{Budget, PlottedLayer, category, plotted};
use super::{json_in_script, timeline, trusted, vega};
use crate::headline::{self, headlines};
use crate::pairs::{self, Pair, pairs};
use crate::text;
use crate::{beside, format};
use boardlab_result::{
    Agreement, Cell, Chart, Difference, Origin, Parameter, Reproduction, RunResult, Table,
    Timeline, Unit, Value, Verdict,
};
use serde::Serialize;

/// The whole page.
#[derive(Serialize)]
pub(super) struct Page {
    title: String,
    subtitle: String,
    several: bool,
    headlines: Vec<HeadlineView>,
    /// How well each run agrees with its publication.
    agreements: Vec<AgreementView>,
    /// What the verdicts apply to.
    judged: &'static str,
    verdicts: Vec<Count>,
    runs: Vec<RunView>,
    charts: bool,
}

/// The agreement of a run with its publication.
#[derive(Serialize)]
struct AgreementView {
    anchor: String,
    title: String,
    /// What the publication asks.
    question: Option<String>,
    /// Our answer, and the anchor of the finding that has the evidence.
    answer: Option<(String, String)>,
    scenario: String,
    cells: usize,
    inputs: usize,
    not_built: usize,
    verdicts: Vec<Count>,
    median: Option<String>,
    ninetieth: Option<String>,
    /// The cell with the largest difference, and that.
    worst: Option<(String, String)>,
}

#[derive(Serialize)]
struct HeadlineView {
    scenario: String,
    table: String,
    anchor: String,
    /// The figure within its table.
    place: String,
    published: String,
    ours: String,
    error: Option<String>,
    badge: Option<Badge>,
}

/// A verdict as a word, a sign and a class of the style sheet.
#[derive(Serialize)]
struct Badge {
    class: &'static str,
    sign: &'static str,
    word: &'static str,
    /// The number of the explaining finding, and its anchor.
    finding: Option<(usize, String)>,
}

#[derive(Serialize)]
struct Count {
    badge: Badge,
    count: usize,
}

#[derive(Serialize)]
struct RunView {
    anchor: String,
    scenario: String,
    title: String,
    publication: Option<String>,
    findings: Vec<Anchored>,
    warnings: Vec<Sentence>,
    tables: Vec<TableView>,
    charts: Vec<ChartView>,
    parameters: Vec<ParameterView>,
    origins: String,
    attachments: Vec<AttachmentView>,
    facts: Vec<(&'static str, String)>,
}

#[derive(Serialize)]
struct Anchored {
    anchor: String,
    headline: Sentence,
    /// What stands behind the headline.
    evidence: Sentence,
    /// Whether there is any.
    folds: bool,
}

/// The pieces of a text with `code` in backquotes: whether a piece is code, and the piece.
type Sentence = Vec<(bool, String)>;

#[derive(Serialize)]
struct TableView {
    anchor: String,
    id: String,
    title: String,
    source: Option<String>,
    columns: Vec<ColumnView>,
    rows: Vec<RowView>,
    compared: bool,
    note: Option<String>,
}

#[derive(Serialize)]
struct ColumnView {
    title: String,
    numeric: bool,
}

#[derive(Serialize)]
struct RowView {
    id: String,
    title: String,
    total: bool,
    cells: Vec<CellView>,
}

#[derive(Serialize, Default)]
struct CellView {
    value: String,
    numeric: bool,
    published: Option<String>,
    difference: Option<String>,
    badge: Option<Badge>,
}

#[derive(Serialize)]
struct ChartView {
    anchor: String,
    id: String,
    title: String,
    caption: Sentence,
    thinned: Option<String>,
    /// The specification; `None` where there is nothing to draw.
    spec: Option<minijinja::Value>,
    values: Values,
}

/// The values of a chart as a table, for readers without images.
#[derive(Serialize)]
pub(super) struct Values {
    pub(super) headings: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
    pub(super) left_out: usize,
}

#[derive(Serialize)]
struct ParameterView {
    key: String,
    value: String,
    origin: String,
    source: String,
    marked: bool,
}

#[derive(Serialize)]
struct AttachmentView {
    name: String,
    title: String,
    text: String,
    lines: usize,
}

/// The page of `reproduction`.
pub(super) fn page(reproduction: &Reproduction) -> Page {
    let runs = &reproduction.results;
    let budget = Budget::of(&reproduction.results);
    let title = match runs.as_slice() {
        [run] => run.title.clone(),
        _ => "Published evaluations, done again".into(),
    };
    let mut versions: Vec<&str> = runs.iter().map(|run| run.version.as_str()).collect();
    versions.dedup();
    let scenarios: Vec<&str> = runs.iter().map(|run| run.scenario.as_str()).collect();
    Page {
        title,
        subtitle: format!("{} · boardlab {}", scenarios.join(", "), versions.join(", ")),
        several: runs.len() > 1,
        headlines: headline_views(reproduction),
        agreements: runs.iter().enumerate().filter_map(agreement_view).collect(),
        judged: judged(runs),
        verdicts: verdict_counts(runs),
        charts: runs.iter().any(|run| !run.charts.is_empty() || !run.timelines.is_empty()),
        runs: runs.iter().enumerate().map(|(index, run)| run_view(index, run, budget)).collect(),
    }
}

fn agreement_view((index, run): (usize, &RunResult)) -> Option<AgreementView> {
    let all = Agreement::of(run)?;
    let worst = |worst: Difference<'_>| {
        (headline::name(&worst), minus(&format::signed_percent(worst.share)))
    };
    let verdicts = verdict_counts(std::slice::from_ref(run));
    let answered = headline::answered(run);
    Some(AgreementView {
        anchor: format!("run{}", index + 1),
        title: run.title.clone(),
        question: answered.map(|(question, ..)| question.into()),
        answer: answered.map(|(_, at, answer)| (text::tied(answer), finding_anchor(index, at))),
        scenario: run.scenario.clone(),
        cells: all.cells,
        inputs: all.inputs,
        not_built: all.not_built,
        verdicts,
        median: all.median().map(headline::percent),
        ninetieth: all.ninetieth().map(headline::percent),
        worst: all.worst.map(worst),
    })
}

fn headline_views(reproduction: &Reproduction) -> Vec<HeadlineView> {
    let view = |headline: crate::headline::Headline<'_>| {
        let index = headline.run_index;
        let place = headline.run.tables.iter().position(|table| table.id == headline.table.id);
        HeadlineView {
            scenario: headline.run.scenario.clone(),
            table: headline.table.title.clone(),
            anchor: format!("run{}-table{}", index + 1, place.unwrap_or(0) + 1),
            place: headline.place().unwrap_or_else(|| headline.column.into()),
            published: headline.published,
            ours: headline.ours,
            error: headline.error.map(|error| minus(&error)),
            badge: headline.verdict.map(|verdict| badge(verdict, index, headline.finding)),
        }
    };
    headlines(reproduction).into_iter().map(view).collect()
}

/// What the verdicts apply to: published figures, or conditions that must hold.
fn judged(runs: &[RunResult]) -> &'static str {
    if runs.iter().flat_map(|run| &run.tables).any(Table::has_print) {
        "Cells with a published figure"
    } else {
        "Cells with a verdict"
    }
}

fn verdict_counts(runs: &[RunResult]) -> Vec<Count> {
    let counts = Verdict::ALL.into_iter().map(|verdict| {
        let count = runs.iter().map(|run| run.verdict_count(verdict)).sum();
        Count { badge: badge(verdict, 0, None), count }
    });
    counts.filter(|count| count.count > 0).collect()
}

fn badge(verdict: Verdict, run: usize, finding: Option<usize>) -> Badge {
    let (class, word) = match verdict {
        Verdict::Pass => ("pass", "pass"),
        Verdict::Input => ("input", "input"),
        Verdict::Close => ("close", "close"),
        Verdict::Differs => ("differs", "differs"),
        Verdict::Fail => ("fail", "fail"),
        Verdict::NotBuilt => ("absent", "not built"),
    };
    let finding = finding.map(|index| (index + 1, finding_anchor(run, index)));
    Badge { class, sign: verdict.sign(), word, finding }
}

fn finding_anchor(run: usize, finding: usize) -> String {
    format!("run{}-finding{}", run + 1, finding + 1)
}

fn run_view(index: usize, run: &RunResult, budget: Budget) -> RunView {
    let anchor = format!("run{}", index + 1);
    let findings = run.findings.iter().enumerate();
    let tables = run.tables.iter().enumerate();
    let charts = run.charts.iter().enumerate();
    let timelines = run.timelines.iter().enumerate();
    RunView {
        scenario: run.scenario.clone(),
        title: run.title.clone(),
        publication: run.publication.as_ref().map(ToString::to_string),
        findings: findings
            .map(|(at, text)| {
                let (headline, evidence) = boardlab_result::headline(text);
                let (anchor, folds) = (finding_anchor(index, at), !evidence.is_empty());
                let [headline, evidence] = [headline, evidence].map(sentence);
                Anchored { anchor, headline, evidence, folds }
            })
            .collect(),
        warnings: run.warnings.iter().map(|text| sentence(text)).collect(),
        tables: tables
            .map(|(at, table)| table_view(format!("{anchor}-table{}", at + 1), index, run, table))
            .collect(),
        charts: charts
            .map(|(at, chart)| chart_view(format!("{anchor}-chart{}", at + 1), run, chart, budget))
            .chain(
                timelines
                    .map(|(at, one)| timeline_view(format!("{anchor}-timeline{}", at + 1), one)),
            )
            .collect(),
        parameters: run.parameters.iter().map(parameter_view).collect(),
        origins: origins(&run.parameters),
        attachments: attachment_views(run),
        facts: facts(run),
        anchor,
    }
}

/// Text between two backquotes is code; an unpaired backquote is an ordinary character.
fn sentence(words: &str) -> Sentence {
    if !words.matches('`').count().is_multiple_of(2) {
        return vec![(false, text::tied(words))];
    }
    let piece = |(index, piece): (usize, &str)| match index % 2 {
        1 => (true, piece.into()),
        _ => (false, text::tied(piece)),
    };
    words.split('`').enumerate().map(piece).collect()
}

fn table_view(anchor: String, run_index: usize, run: &RunResult, table: &Table) -> TableView {
    if let Some(pairs) = pairs(run, table) {
        return pairs_view(anchor, table, &pairs);
    }
    let columns: Vec<ColumnView> = table
        .columns
        .iter()
        .map(|column| {
            let text = |cell: &Cell| matches!(cell.value, Value::Text(_));
            let cells = || table.rows.iter().filter_map(|row| row.cells.get(&column.id));
            ColumnView { title: column.title.clone(), numeric: !cells().any(text) }
        })
        .collect();
    let rows = table.rows.iter().map(|row| {
        let cell = |(column, view): (&boardlab_result::Column, &ColumnView)| {
            let cell = row.cells.get(&column.id);
            let unit = row.unit_in(&column.id);
            let explained = |at: &usize| *at < run.findings.len();
            let shown = cell.map(|cell| CellView {
                badge: cell.verdict.map(|v| badge(v, run_index, cell.finding.filter(explained))),
                ..cell_view(cell, unit)
            });
            CellView { numeric: view.numeric, ..shown.unwrap_or_default() }
        };
        RowView {
            id: row.id.clone(),
            title: if format::says_more(row) { row.title.clone() } else { String::new() },
            total: row.id == "total",
            cells: table.columns.iter().zip(&columns).map(cell).collect(),
        }
    });
    TableView {
        anchor,
        id: table.id.clone(),
        title: table.title.clone(),
        source: table.source.clone(),
        rows: rows.collect(),
        compared: table.has_print(),
        note: note(table),
        columns,
    }
}

/// A table of a comparison, one line a difference. Each line names its row, for screen readers.
fn pairs_view(anchor: String, table: &Table, pairs: &[Pair<'_>]) -> TableView {
    let numeric = |column: usize| column > 0;
    let headings = pairs::HEADINGS.iter().enumerate();
    let row = |pair: &Pair<'_>| {
        let cells = pair.cells.iter().enumerate();
        let cell = |(at, text): (usize, &String)| CellView {
            value: minus(text),
            numeric: numeric(at),
            ..CellView::default()
        };
        let titled = pair.first && format::says_more(pair.row);
        RowView {
            id: pair.row.id.clone(),
            title: if titled { pair.row.title.clone() } else { String::new() },
            total: false,
            cells: cells.map(cell).collect(),
        }
    };
    TableView {
        anchor,
        id: table.id.clone(),
        title: table.title.clone(),
        source: None,
        columns: headings
            .map(|(at, title)| ColumnView { title: (*title).into(), numeric: numeric(at) })
            .collect(),
        rows: pairs.iter().map(row).collect(),
        compared: false,
        note: None,
    }
}

fn cell_view(cell: &Cell, unit: Unit) -> CellView {
    let published = cell.published.as_ref().filter(|published| **published != Value::None);
    let shown = |value: &Value| cell.printed.clone().unwrap_or_else(|| format::figure(value, unit));
    CellView {
        value: match &cell.value {
            Value::None => String::new(),
            _ => minus(&beside::figure(cell, unit)),
        },
        published: published.map(shown),
        difference: published
            .filter(|published| **published != cell.value)
            .and_then(|published| format::difference(&cell.value, published))
            .map(|difference| minus(&difference)),
        ..CellView::default()
    }
}

/// Replaces the hyphen of a number by a minus sign, which is as wide as a plus.
fn minus(figure: &str) -> String {
    match figure.strip_prefix('-') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => format!("−{rest}"),
        _ => figure.into(),
    }
}

fn note(table: &Table) -> Option<String> {
    let (fitted, assumed) = (table.fitted_count, table.assumed_count);
    (fitted + assumed + table.compared_count > 0).then(|| {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let compared = match table.compared_count {
            0 => String::new(),
            count => format!(", for {count} compared cell{}", plural(count)),
        };
        format!("{fitted} parameter{} fitted, {assumed} assumed{compared}.", plural(fitted))
    })
}

fn chart_view(anchor: String, run: &RunResult, chart: &Chart, budget: Budget) -> ChartView {
    let layers = plotted(run, chart, budget);
    let thinned = layers.iter().find_map(|layer| {
        let from = layer.thinned_from?;
        let drawn = layer.points.len();
        Some(format!("Drawn with {drawn} points, each the mean of neighbours; measured: {from}."))
    });
    ChartView {
        anchor,
        id: file_name(&chart.id),
        title: chart.title.clone(),
        caption: sentence(&chart.caption),
        thinned,
        spec: (!layers.is_empty()).then(|| trusted(&json_in_script(&vega::spec(chart, &layers)))),
        values: values(chart, &layers, budget.rows()),
    }
}

fn timeline_view(anchor: String, timeline: &Timeline) -> ChartView {
    let (spans, left_out_of) = timeline::drawable(timeline);
    let thinned =
        left_out_of.map(|count| format!("The first {} of {count} spans are drawn.", spans.len()));
    let drawn = || trusted(&json_in_script(&timeline::spec(timeline, &spans)));
    ChartView {
        anchor,
        id: file_name(&timeline.id),
        title: timeline.title.clone(),
        caption: sentence(&format!("{}{}", timeline.caption, timeline::HINT)),
        thinned,
        spec: (!spans.is_empty()).then(drawn),
        values: timeline::values(timeline, &spans),
    }
}

/// The file name for a chart's id.
fn file_name(id: &str) -> String {
    let kept = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    id.chars().map(kept).collect()
}

/// One row for each position, at most `limit`, and one column for each layer.
fn values(chart: &Chart, layers: &[PlottedLayer], limit: usize) -> Values {
    let mut positions: Vec<f64> =
        layers.iter().flat_map(|layer| layer.points.iter().map(|point| point.0)).collect();
    positions.sort_by(f64::total_cmp);
    positions.dedup();
    let plain = |number: f64| minus(&format::number(number));
    let row = |x: &f64| {
        let name = category(chart, *x).map_or_else(|| plain(*x), str::to_owned);
        let of = |layer: &PlottedLayer| {
            let point = layer.points.iter().find(|point| point.0 == *x);
            point.map_or_else(String::new, |point| match layer.unit.as_str() {
                "ratio" => minus(&format::figure(&Value::Real(point.1), Unit::Ratio)),
                _ => plain(point.1),
            })
        };
        std::iter::once(name).chain(layers.iter().map(of)).collect()
    };
    let headings = layers.iter().map(|layer| layer.label.clone());
    Values {
        headings: std::iter::once(chart.x.label.clone()).chain(headings).collect(),
        rows: positions.iter().take(limit).map(row).collect(),
        left_out: positions.len().saturating_sub(limit),
    }
}

fn parameter_view(parameter: &Parameter) -> ParameterView {
    ParameterView {
        key: parameter.key.clone(),
        value: parameter.value.clone(),
        origin: parameter.origin.to_string(),
        source: parameter.source.clone(),
        marked: matches!(parameter.origin, Origin::Fitted | Origin::Assumed),
    }
}

/// `12 datasheet, 3 assumed, 1 fitted`.
fn origins(parameters: &[Parameter]) -> String {
    let count = |origin: Origin| parameters.iter().filter(|p| p.origin == origin).count();
    let counts = Origin::NAMES.iter().map(|(name, origin)| (*name, count(*origin)));
    let shown =
        counts.filter(|(_, count)| *count > 0).map(|(name, count)| format!("{count} {name}"));
    shown.collect::<Vec<_>>().join(", ")
}

fn attachment_views(run: &RunResult) -> Vec<AttachmentView> {
    let view = |attachment: &boardlab_result::Attachment| AttachmentView {
        name: file_name(&attachment.name),
        title: attachment.title.clone(),
        lines: attachment.text.lines().count(),
        text: attachment.text.clone(),
    };
    run.attachments.iter().map(view).collect()
}

fn facts(run: &RunResult) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Scenario", run.scenario.clone()), ("boardlab", run.version.clone())];
    if format::ran(run) {
        facts.push(("Seed", run.seed.to_string()));
    }
    if run.virtual_time_ns > 0 {
        facts.push(("Virtual time", format::nanoseconds(run.virtual_time_ns)));
    }
    if let Some(wall) = run.wall_time_ns {
        facts.push(("Wall time", format::nanoseconds(wall)));
    }
    facts.push(("JSON schema", run.schema.to_string()));
    facts
}
