//! The reports of `iostat -x`, as text or as JSON.
//!
//! Layer: rank 8. Function: [`read`]. Source: sysstat 12.6 and its manual page, and outputs of older versions in public
//! reports. Columns are found by their names; sizes are in kB, MB or sectors, as these say. The first of several
//! reports counts since the start of the system, unless iostat ran with `-y`, which the output does not tell: it is left
//! out. Rates are means over the reports, which are of equal length; waits are means over the requests. A device that a
//! report leaves out was idle (`-z`).

use super::{Foreign, Problem, TEXT_SHOWN, blank, flaw, no_json};
use boardlab_result::foreign::shown_at_most;
use boardlab_result::prose::counted;
use boardlab_result::{Axis, Cell, Chart, Row, RunResult, Style, Table};
use indexmap::IndexMap;
use serde_json::Value;
use std::collections::BTreeMap;

/// The number of lines or charts that are told or drawn.
const LISTED: usize = 10;

/// The largest figure: their sums and products are finite.
const FIGURE_MAX: f64 = 1e18;

/// A kind of requests.
struct Kind {
    name: &'static str,
    /// What its columns begin with.
    letter: &'static str,
    /// The columns with requests a second, and with their wait.
    requests: &'static str,
    wait: &'static str,
}

/// With `-s` all kinds are one.
const KINDS: [Kind; 5] = [
    Kind { name: "read", letter: "r", requests: "r/s", wait: "r_await" },
    Kind { name: "write", letter: "w", requests: "w/s", wait: "w_await" },
    Kind { name: "discard", letter: "d", requests: "d/s", wait: "d_await" },
    Kind { name: "flush", letter: "f", requests: "f/s", wait: "f_await" },
    Kind { name: "all", letter: "", requests: "tps", wait: "await" },
];

/// The figures of a device in one report, by the name of their column.
type Sample = IndexMap<String, f64>;

/// The samples of each device by the number of their report.
#[derive(Debug, Default)]
struct Reports {
    count: u64,
    samples: IndexMap<String, BTreeMap<u64, Sample>>,
    warnings: Vec<String>,
    is_cut: bool,
}

/// The samples that count, by the number of their report among those that do.
#[derive(Debug)]
struct Devices {
    reports: u64,
    samples: IndexMap<String, BTreeMap<u64, Sample>>,
}

/// Whether a file that begins so is of iostat.
pub(super) fn is_one(head: &str) -> bool {
    let is_head = |line| columns(line).is_some() || is_pretty(line);
    head.contains("\"sysstat\"") || head.lines().any(is_head)
}

/// Whether it is a head line of `--pretty`, and so of `-h`, with the device behind the columns.
fn is_pretty(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next_back() == Some("Device") && words.any(is_rate)
}

fn is_rate(column: &str) -> bool {
    column.ends_with("/s") || column == "tps"
}

/// The names of the columns in a head line.
fn columns(line: &str) -> Option<Vec<&str>> {
    let mut words = line.split_whitespace();
    words.next().filter(|word| matches!(*word, "Device" | "Device:"))?;
    let columns: Vec<_> = words.collect();
    columns.iter().copied().any(is_rate).then_some(columns)
}

pub(super) fn read(name: &str, text: &str) -> Result<Foreign, Problem> {
    let reports = if text.trim_start().starts_with('{') { of_json(text)? } else { of_text(text)? };
    Ok(reports.foreign(name))
}

/// A number, also with the comma of some languages.
fn number(text: &str) -> Option<f64> {
    text.replace(',', ".").parse().ok().filter(is_figure)
}

fn is_figure(number: &f64) -> bool {
    (0.0..=FIGURE_MAX).contains(number)
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
        if is_pretty(line) {
            return Err(flaw(at, 1, "figures for people", "iostat -x without -h and --pretty"));
        }
        if let Some(columns) = columns(line) {
            if reports.count > 0 && text.ends_with(line) {
                reports.is_cut = true;
                break;
            }
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
                counted(figures.len(), "figure"),
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
    let json: Value = serde_json::from_str(text)
        .map_err(|error| no_json(&error, 0, "the whole output of iostat -x -o JSON"))?;
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
                    Some((name.to_owned(), value.as_f64().filter(is_figure)?))
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
        samples.insert(self.count, sample);
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
        let left_out = u64::from(self.count > 1);
        let samples = self.samples.into_iter().map(|(device, samples)| {
            let counted = |(number, sample): (u64, Sample)| {
                Some((number.checked_sub(left_out)?, sample)).filter(|(number, _)| *number > 0)
            };
            (device, samples.into_iter().filter_map(counted).collect())
        });
        let devices = Devices { reports: self.count - left_out, samples: samples.collect() };
        run.tables.extend([devices.requests(), devices.load()]);
        run.findings.push(format!(
            "{} of {}.",
            counted(self.count, "report"),
            counted(devices.samples.len(), "device")
        ));
        for device in devices.samples.keys().take(LISTED) {
            devices.draw(&mut run, device);
        }
        Foreign { run, is_whole }
    }
}

impl Devices {
    /// The mean of figures over all reports; those that are not there are of an idle device.
    #[allow(clippy::cast_precision_loss, reason = "a number of reports")]
    fn mean(&self, figures: impl Iterator<Item = f64>) -> Option<f64> {
        let mut figures = figures.peekable();
        figures.peek()?;
        Some(figures.sum::<f64>() / self.reports as f64)
    }

    /// A row for each kind of requests that a device had.
    fn requests(&self) -> Table {
        let mut rows = Vec::new();
        for (device, samples) in &self.samples {
            for kind in &KINDS {
                if let Some(figures) = self.figures(samples, kind) {
                    rows.push((Row::new(format!("{device}.{}", kind.name), ""), figures));
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

    /// Of the requests of a kind, if there were any: their number a second, the mean and the highest rate, the mean
    /// and the longest wait, and how many a second were merged.
    fn figures(&self, samples: &BTreeMap<u64, Sample>, kind: &Kind) -> Option<[Option<f64>; 6]> {
        let column = |name| samples.values().filter_map(move |one| one.get(name).copied());
        column(kind.requests).find(|rate| *rate > 0.0)?;
        let waits =
            samples.values().filter_map(|one| one.get(kind.requests).zip(one.get(kind.wait)));
        let (mut requests, mut waited) = (0.0, 0.0);
        for (rate, wait) in waits {
            (requests, waited) = (requests + rate, waited + rate * wait);
        }
        let rates = || samples.values().filter_map(|one| rate(one, kind.letter));
        let merged = format!("{}rqm/s", kind.letter);
        Some([
            self.mean(column(kind.requests)),
            self.mean(rates()),
            most(rates()),
            (requests > 0.0).then(|| waited / requests),
            most(column(kind.wait)),
            self.mean(column(&merged)),
        ])
    }

    /// A row for each device.
    fn load(&self) -> Table {
        let rows = self.samples.iter().map(|(device, samples)| {
            let column = |names: [&'static str; 2]| {
                samples
                    .values()
                    .filter_map(move |one| names.iter().find_map(|name| one.get(*name)).copied())
            };
            let queue = || column(["aqu-sz", "avgqu-sz"]);
            let used = || column(["%util", "util"]).map(|percent| percent / 100.0);
            let count = u64::try_from(samples.len()).unwrap_or(u64::MAX);
            let figures = [self.mean(queue()), most(queue()), self.mean(used()), most(used())];
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

    /// The rates, with 0 in the first and the last report of each gap between them.
    fn with_idle_ends(&self, rates: impl Iterator<Item = (u64, f64)>) -> Vec<(u64, f64)> {
        let (mut all, mut next) = (Vec::new(), 1);
        for (at, rate) in rates.chain([(self.reports + 1, 0.0)]) {
            if at > next {
                all.push((next, 0.0));
            }
            if at > next + 1 {
                all.push((at - 1, 0.0));
            }
            all.push((at, rate));
            next = at + 1;
        }
        all.pop();
        all
    }

    /// The rates of a device over the reports.
    #[allow(clippy::cast_precision_loss, reason = "a number of reports")]
    fn draw(&self, run: &mut RunResult, device: &str) {
        let samples = &self.samples[device];
        let id = format!("throughput-{device}");
        let axes = [Axis::fitting("report"), Axis::from_zero("throughput (MB/s)")];
        let caption = "The rate of each report.";
        let mut chart = Chart::new(&id, format!("Throughput of {device}"), caption, axes);
        for Kind { name, letter, .. } in &KINDS {
            let rates = samples.iter().filter_map(|(at, one)| Some((*at, rate(one, letter)?)));
            if self.reports > 1 && rates.clone().any(|(_, rate)| rate > 0.0) {
                let points = self.with_idle_ends(rates).into_iter();
                let points = points.map(|(at, rate)| (at as f64, rate / 1e6));
                let names = (format!("{id}-{name}"), *name);
                run.plot(&mut chart, names, "mb_per_s", Style::Line, points);
            }
        }
        if !chart.layers.is_empty() {
            run.charts.push(chart);
        }
    }
}
