//! The reports of `iostat -x`, as text or as JSON.
//!
//! Layer: rank 8. Function: [`read`]. Source: sysstat 12.6 and its manual page, and outputs of older versions in public
//! reports. Columns are found by their names; sizes are in kB, MB or sectors, as these say. The first of several
//! reports counts since the start of the system, unless iostat ran with `-y`, which the output does not tell: it is left
//! out. Rates are means over the reports, which are of equal length; waits are means over the requests.

use super::{Foreign, Problem, TEXT_SHOWN, blank, flaw};
use boardlab_result::foreign::shown_at_most;
use boardlab_result::prose::counted;
use boardlab_result::{Axis, Cell, Chart, Row, RunResult, Style, Table};
use indexmap::IndexMap;
use serde_json::Value;

/// The number of lines or charts that are told or drawn.
const LISTED: usize = 10;

/// The kinds of requests: the letter of their columns, and their names.
const KINDS: [(&str, &str); 4] = [("r", "read"), ("w", "write"), ("d", "discard"), ("f", "flush")];

/// The figures of a device in one report, by the name of their column.
type Sample = IndexMap<String, f64>;

/// The samples of each device, in the order of the reports, each with the number of its report.
#[derive(Debug, Default)]
struct Reports {
    count: u64,
    samples: IndexMap<String, Vec<(u64, Sample)>>,
    warnings: Vec<String>,
    is_cut: bool,
}

/// The samples that count.
#[derive(Debug)]
struct Devices(IndexMap<String, Vec<Sample>>);

/// Whether a file that begins so is of iostat.
pub(super) fn is_one(head: &str) -> bool {
    head.contains("\"sysstat\"") || head.lines().any(|line| columns(line).is_some())
}

/// The names of the columns in a head line.
fn columns(line: &str) -> Option<Vec<&str>> {
    let mut words = line.split_whitespace();
    words.next().filter(|word| matches!(*word, "Device" | "Device:"))?;
    let columns: Vec<_> = words.collect();
    columns.iter().any(|column| column.ends_with("/s") || *column == "tps").then_some(columns)
}

pub(super) fn read(name: &str, text: &str) -> Result<Foreign, Problem> {
    let reports = if text.trim_start().starts_with('{') { of_json(text)? } else { of_text(text)? };
    Ok(reports.foreign(name))
}

/// A number, also with the comma of some languages.
fn number(text: &str) -> Option<f64> {
    let number: f64 = text.replace(',', ".").parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// Whether these columns are of `-x`.
fn expect_extended<'c>(
    mut columns: impl Iterator<Item = &'c str>,
    line: usize,
) -> Result<(), Problem> {
    match columns.any(|column| column.contains("await")) {
        true => Ok(()),
        false => Err(flaw(line, 1, "columns without waits", "those of iostat -x")),
    }
}

fn of_text(text: &str) -> Result<Reports, Problem> {
    let (mut reports, mut head) = (Reports::default(), None::<Vec<&str>>);
    for (line, at) in text.lines().zip(1..) {
        if let Some(columns) = columns(line) {
            expect_extended(columns.iter().copied(), at)?;
            reports.count += 1;
            head = Some(columns);
            continue;
        }
        let Some(columns) = head.as_ref().filter(|_| !line.trim().is_empty()) else {
            head = None;
            continue;
        };
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let figures: Vec<_> = words.map_while(number).collect();
        if figures.len() != columns.len() {
            reports.is_cut = true;
            reports.warnings.push(format!(
                "Line {at} has {} where there are {} columns, and is left out: {}",
                counted(u64::try_from(figures.len()).unwrap_or(u64::MAX), "figure"),
                columns.len(),
                shown_at_most(line.trim(), TEXT_SHOWN)
            ));
            continue;
        }
        let sample = columns.iter().map(ToString::to_string).zip(figures).collect();
        reports.add(name, sample);
    }
    Ok(reports)
}

fn of_json(text: &str) -> Result<Reports, Problem> {
    let json: Value = serde_json::from_str(text).map_err(|error| {
        let found = if error.is_eof() { "the end of the file" } else { "no JSON" };
        flaw(error.line(), error.column().max(1), found, "the whole output of iostat -x -o JSON")
    })?;
    let mut reports = Reports::default();
    let hosts = json["sysstat"]["hosts"].as_array();
    for report in
        hosts.into_iter().flatten().filter_map(|host| host["statistics"].as_array()).flatten()
    {
        reports.count += 1;
        for disk in report["disk"].as_array().into_iter().flatten() {
            let fields = disk.as_object().into_iter().flatten();
            let sample: Sample = fields
                .filter_map(|(name, value)| {
                    let name = if name == "util" { "%util" } else { name };
                    Some((name.to_owned(), value.as_f64().filter(|figure| *figure >= 0.0)?))
                })
                .collect();
            expect_extended(sample.keys().map(String::as_str), 1)?;
            reports.add(disk["disk_device"].as_str().unwrap_or("disk"), sample);
        }
    }
    Ok(reports)
}

/// Bytes a second of a kind of requests.
fn rate(sample: &Sample, kind: &str) -> Option<f64> {
    let units = [("kB/s", 1_024.0), ("MB/s", 1_048_576.0), ("sec/s", 512.0)];
    let known = |(unit, bytes): (&str, f64)| Some(sample.get(&format!("{kind}{unit}"))? * bytes);
    units.into_iter().find_map(known)
}

/// The mean of figures, none of which need be there.
#[allow(clippy::cast_precision_loss, reason = "a number of reports")]
fn mean(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let figures: Vec<_> = figures.collect();
    (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
}

fn most(figures: impl Iterator<Item = f64>) -> Option<f64> {
    figures.max_by(f64::total_cmp)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn whole(figure: Option<f64>) -> Cell {
    figure.map_or_else(Cell::none, |figure| Cell::count(figure.round() as u64))
}

fn real(figure: Option<f64>) -> Cell {
    figure.map_or_else(Cell::none, Cell::real)
}

/// Milliseconds as whole nanoseconds.
fn nanoseconds(figure: Option<f64>) -> Cell {
    whole(figure.map(|milliseconds| milliseconds * 1e6))
}

impl Reports {
    fn add(&mut self, name: &str, sample: Sample) {
        let samples = self.samples.entry(shown_at_most(name, TEXT_SHOWN)).or_default();
        samples.push((self.count, sample));
    }

    fn foreign(self, name: &str) -> Foreign {
        let mut run = blank("iostat", name);
        let is_whole = !self.is_cut && !self.samples.is_empty();
        match self.count {
            0 => {}
            1 => run.warnings.push(
                "The only report counts since the start of the system, unless iostat ran with -y: iostat -x 1 10 \
                 reports each second."
                    .into(),
            ),
            _ => run.warnings.push(
                "The first report counts since the start of the system, unless iostat ran with -y. It is left out."
                    .into(),
            ),
        }
        run.warnings.extend(self.warnings.iter().take(LISTED).cloned());
        if self.warnings.len() > LISTED {
            run.warnings.push(format!("{} more lines are left out.", self.warnings.len() - LISTED));
        }
        let counts = |number: u64| number > 1 || self.count == 1;
        let samples = self.samples.into_iter().map(|(device, samples)| {
            let samples = samples.into_iter().filter(|(number, _)| counts(*number));
            (device, samples.map(|(_, sample)| sample).collect())
        });
        let devices = Devices(samples.collect());
        run.tables.extend([devices.requests(), devices.load()]);
        let known = u64::try_from(devices.0.len()).unwrap_or(u64::MAX);
        run.findings.push(format!(
            "{} of {}.",
            counted(self.count, "report"),
            counted(known, "device")
        ));
        for device in devices.0.keys().take(LISTED) {
            devices.draw(&mut run, device);
        }
        Foreign { run, is_whole }
    }
}

impl Devices {
    /// A row for each kind of requests that a device had.
    fn requests(&self) -> Table {
        let mut rows = Vec::new();
        for (device, samples) in &self.0 {
            for (letter, kind) in KINDS {
                let column = |name: &str| {
                    let name = format!("{letter}{name}");
                    samples.iter().filter_map(move |sample| sample.get(&name).copied())
                };
                if column("/s").any(|rate| rate > 0.0) {
                    let waits = column("/s").zip(column("_await"));
                    let (mut requests, mut waited) = (0.0, 0.0);
                    for (rate, wait) in waits.clone() {
                        (requests, waited) = (requests + rate, waited + rate * wait);
                    }
                    let bytes = samples.iter().filter_map(|sample| rate(sample, letter));
                    let figures = [
                        mean(column("/s")),
                        mean(bytes.clone()),
                        most(bytes),
                        (requests > 0.0).then(|| waited / requests),
                        most(column("_await")),
                        mean(column("rqm/s")),
                    ];
                    rows.push((Row::new(format!("{device}.{kind}"), ""), figures));
                }
            }
        }
        Table::new("requests", "Requests of the devices")
            .of(rows)
            .column("requests_per_s", "requests/s", |figures| real(figures[0]))
            .column("bytes_per_s", "rate", |figures| whole(figures[1]))
            .column("most_bytes_per_s", "highest", |figures| whole(figures[2]))
            .column("mean_ns", "mean wait", |figures| nanoseconds(figures[3]))
            .column("longest_mean_ns", "longest", |figures| nanoseconds(figures[4]))
            .column("merged_per_s", "merged/s", |figures| real(figures[5]))
            .table()
    }

    /// A row for each device.
    fn load(&self) -> Table {
        let rows = self.0.iter().map(|(device, samples)| {
            let column = |names: [&'static str; 2]| {
                samples
                    .iter()
                    .filter_map(move |one| names.iter().find_map(|name| one.get(*name)).copied())
            };
            let queue = || column(["aqu-sz", "avgqu-sz"]);
            let used = || column(["%util", "util"]).map(|percent| percent / 100.0);
            let count = u64::try_from(samples.len()).unwrap_or(u64::MAX);
            let figures = [mean(queue()), most(queue()), mean(used()), most(used())];
            (Row::new(device.as_str(), ""), (count, figures))
        });
        Table::new("devices", "Load of the devices")
            .of(rows)
            .column("reports_count", "reports", |(count, _)| Cell::count(*count))
            .column("queue", "mean queue", |(_, figures)| real(figures[0]))
            .column("longest_queue", "longest", |(_, figures)| real(figures[1]))
            .column("busy_ratio", "busy", |(_, figures)| real(figures[2]))
            .column("most_busy_ratio", "busiest", |(_, figures)| real(figures[3]))
            .table()
    }

    /// The rates of a device over the reports.
    #[allow(clippy::cast_precision_loss, reason = "a number of reports")]
    fn draw(&self, run: &mut RunResult, device: &str) {
        let samples = &self.0[device];
        let id = format!("throughput-{device}");
        let axes = [Axis::fitting("report"), Axis::from_zero("throughput (MB/s)")];
        let caption = "The rate of each report.";
        let mut chart = Chart::new(&id, format!("Throughput of {device}"), caption, axes);
        for (letter, kind) in KINDS {
            let rates: Vec<_> = samples.iter().map(|sample| rate(sample, letter)).collect();
            if samples.len() > 1 && rates.iter().flatten().any(|rate| *rate > 0.0) {
                let points = rates.iter().enumerate();
                let points =
                    points.filter_map(|(at, rate)| Some(((at + 1) as f64, (*rate)? / 1e6)));
                let names = (format!("{id}-{kind}"), kind);
                run.plot(&mut chart, names, "mb_per_s", Style::Line, points);
            }
        }
        if !chart.layers.is_empty() {
            run.charts.push(chart);
        }
    }
}
