//! The JSON of fio.
//!
//! Layer: rank 8. Main type: [`Report`]. Source: runs of fio 3.33 with `--output-format=json` and `json+`, and its
//! HOWTO. Files of fio 2 have other units, and are read too. What fio writes before the JSON, such as warnings, is
//! repeated; of several reports (`--status-interval`) the last one counts.

use super::{Foreign, Problem, TEXT_SHOWN, blank, flaw, no_json};
use crate::reading::Reading;
use crate::result;
use crate::result::predictions::{self, Prediction};
use boardlab_result::foreign::shown_at_most;
use boardlab_result::prose::counted;
use boardlab_result::{Row, RunResult, Table};
use boardlab_workload::fio::Direction;
use boardlab_workload::fio::output::chart;
use boardlab_workload::fio::output::table::{Figures, table};
use serde_json::{Deserializer, Value as Json};

/// The lines of fio's own words that are repeated.
const WORDS_MAX: usize = 10;

/// What fio reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// `fio-3.33`.
    version: String,
    /// Every direction of every job that made any request.
    pub figures: Vec<Figures>,
    /// Percentiles with latencies in milliseconds, for each of them.
    curves: Vec<Vec<(f64, f64)>>,
    /// What is to be told.
    warnings: Vec<String>,
    /// Whether all jobs ended without an error.
    pub is_whole: bool,
}

/// Whether a file that begins so is fio's JSON.
pub(super) fn is_one(head: &str) -> bool {
    head.contains("\"fio version\"")
}

impl Report {
    /// Reads the JSON.
    ///
    /// # Errors
    /// [`Problem::Flaw`].
    pub fn read(text: &str) -> Result<Self, Problem> {
        let (words, json, lines) = apart(text);
        let mut reports = Deserializer::from_str(json).into_iter::<Json>();
        let (mut last, mut count) = (None, 0);
        while let Some(report) = reports.next() {
            let report = report.map_err(|error| no_json(&error, lines, "a whole report of fio"))?;
            (last, count) = (Some(report), count + 1);
            // Words behind it are fio's, too.
            if !json[reports.byte_offset()..].trim_start().starts_with('{') {
                break;
            }
        }
        let end = json[reports.byte_offset()..].trim();
        let words: Vec<&str> = words.lines().chain(end.lines()).map(str::trim).collect();
        let report = last.filter(|report| report.get("jobs").is_some_and(Json::is_array));
        let report = report.ok_or_else(|| flaw(lines + 1, 1, "no list of jobs", "that of fio"))?;
        let mut report = Self::of(&report);
        if count > 1 {
            report.warnings.push(format!("The file has {count} reports; the last one is shown."));
        }
        let words: Vec<_> = words.into_iter().filter(|line| !line.is_empty()).collect();
        let shown = words.iter().take(WORDS_MAX).map(|line| format!("fio: {}", shown(line)));
        report.warnings.extend(shown);
        if words.len() > WORDS_MAX {
            report.warnings.push(format!("fio says {} more lines.", words.len() - WORDS_MAX));
        }
        Ok(report)
    }

    fn of(report: &Json) -> Self {
        let version = report["fio version"].as_str().unwrap_or("fio").to_owned();
        let (figures, curves, warnings) = (Vec::new(), Vec::new(), Vec::new());
        let mut all = Self { version, figures, curves, warnings, is_whole: true };
        for (number, job) in report["jobs"].as_array().into_iter().flatten().enumerate() {
            all.add(number, job);
        }
        if all.figures.is_empty() {
            all.warnings.push("fio reports no request.".into());
            all.is_whole = false;
        }
        all
    }

    fn add(&mut self, number: usize, job: &Json) {
        let name = shown(job["jobname"].as_str().unwrap_or("job"));
        let error = job["error"].as_i64().unwrap_or_default();
        if error != 0 {
            let reason = i32::try_from(error).map(std::io::Error::from_raw_os_error);
            let reason =
                reason.map_or_else(|_| format!("error {error}"), |known| known.to_string());
            self.warnings.push(format!("The job {name}.{number} failed: {reason}."));
            self.is_whole = false;
        }
        let before = self.figures.len();
        for direction in Direction::ALL {
            let one = &job[direction.name()];
            let requests = whole(&one["total_ios"]);
            if requests == 0 {
                continue;
            }
            let latency = Latency::of(one);
            self.figures.push(Figures {
                name: Figures::name(&name, number, direction),
                requests,
                bytes: bytes(one),
                bandwidth: bandwidth(one),
                rate: one["iops"].as_f64().unwrap_or_default(),
                mean_ns: latency.mean_ns,
                median_ns: latency.percentile_ns(50.0),
                percentile99_ns: latency.percentile_ns(99.0),
                max_ns: latency.max_ns,
                flushes: whole(&job["sync"]["total_ios"]),
                elapsed_ns: whole(&one["runtime"]).saturating_mul(1_000_000),
            });
            self.curves.push(latency.curve());
        }
        if self.figures.len() > before || error != 0 {
            return;
        }
        if whole(&job["mixed"]["total_ios"]) > 0 {
            self.warnings.push(format!(
                "The job {name}.{number} has reads and writes in one (unified_rw_reporting) and is left out."
            ));
            self.is_whole = false;
        } else {
            self.warnings.push(format!("fio reports no request of the job {name}.{number}."));
        }
    }

    /// It as a result, from the file called `name`.
    #[must_use]
    pub fn foreign(&self, name: &str) -> Foreign {
        let mut run = blank(&shown(&self.version), name);
        run.tables.push(table("fio", "Jobs", &self.figures));
        let all = self.figures.iter().map(|one| one.requests).fold(0, u64::saturating_add);
        run.findings.push(format!(
            "{} in {} of jobs.",
            counted(all, "request"),
            counted(self.figures.len(), "direction")
        ));
        self.draw(&mut run);
        run.warnings.extend(self.warnings.iter().cloned());
        Foreign { run, is_whole: self.is_whole }
    }

    /// What was measured on `device` beside what was predicted: a run with a table `fio` of the same rows. `board` is
    /// what the agent told of the machine.
    #[must_use]
    pub fn beside(&self, predicted: &RunResult, device: &str, board: &Reading) -> RunResult {
        let title = format!("{} on {}", shown(&self.version), shown(device));
        let mut run =
            RunResult::new(&predicted.scenario, &title, predicted.seed, &predicted.version);
        let model = predicted.table("fio");
        let mut predictions = Vec::new();
        for figures in &self.figures {
            for (metric, column, measured) in [
                ("mean_ns", "mean_ns", figures.mean_ns),
                ("p50_ns", "median_ns", figures.median_ns),
                ("p99_ns", "percentile99_ns", figures.percentile99_ns),
                ("bytes_per_s", "bandwidth_bytes_per_s", Some(figures.bandwidth)),
            ] {
                let Some(figure) = predicted.figure("fio", &figures.name, column) else { continue };
                predictions.push(Prediction::of(&figures.name, metric, figure, measured));
            }
        }
        run.tables.extend(predictions::table(&predictions));
        run.tables.push(table("fio", "Jobs as measured", &self.figures));
        let predicted_table = model.cloned().map(|table| Table {
            id: "fio-predicted".into(),
            title: "Jobs as predicted".into(),
            ..table
        });
        run.tables.extend(predicted_table);
        run.findings.extend(result::agreement(&predictions));
        result::charts::scatters(&mut run, &predictions);
        self.draw(&mut run);
        run.parameters.extend(predicted.parameters.iter().cloned());
        run.parameters.extend(result::parameters(board));
        run.warnings.extend(self.warnings.iter().cloned());
        run.warnings.extend(predictions::warnings(&predictions));
        run.warnings.extend(unpredicted(model, &self.figures));
        run
    }

    /// Draws the latencies by percentile.
    fn draw(&self, run: &mut RunResult) {
        let caption = "The completion latency that so many percent of the requests did not exceed, as fio counted them.";
        let curves = self.figures.iter().zip(&self.curves).enumerate();
        let curves = curves.map(|(number, (figures, curve))| {
            (format!("latency-measured-{number}"), figures.name.clone(), curve.clone())
        });
        let names = ("latency-measured", "Measured latency by percentile", caption);
        chart::latencies(run, names, curves);
    }
}

/// Rows that only one of both has.
fn unpredicted(model: Option<&Table>, figures: &[Figures]) -> Vec<String> {
    let rows = model.map_or(&[][..], |table| &table.rows);
    let is_measured = |row: &Row| figures.iter().any(|one| one.name == row.id);
    let is_predicted = |one: &Figures| rows.iter().any(|row| row.id == one.name);
    let missing = rows.iter().filter(|row| !is_measured(row));
    let missing =
        missing.map(|row| format!("`{}` was predicted, and fio reports nothing of it.", row.id));
    let further = figures.iter().filter(|one| !is_predicted(one));
    let further = further.map(|one| format!("`{}` was measured, and not predicted.", one.name));
    missing.chain(further).take(WORDS_MAX).collect()
}

/// Words before the JSON, the JSON, and the number of lines before it.
fn apart(text: &str) -> (&str, &str, usize) {
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_start().starts_with('{') {
            return (&text[..at], &text[at..], number);
        }
        at += line.len();
    }
    ("", text, 0)
}

fn shown(text: &str) -> String {
    shown_at_most(text, TEXT_SHOWN * 4)
}

/// A whole number; of one with a fraction what is before it, and 0 of anything else.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn whole(value: &Json) -> u64 {
    value.as_u64().or_else(|| value.as_f64().map(|number| number as u64)).unwrap_or_default()
}

/// Moved bytes; fio 2 has KiB, under the same name.
fn bytes(one: &Json) -> u64 {
    match one.get("io_kbytes") {
        Some(_) => whole(&one["io_bytes"]),
        None => whole(&one["io_bytes"]).saturating_mul(1_024),
    }
}

fn bandwidth(one: &Json) -> u64 {
    match one.get("bw_bytes") {
        Some(bytes) => whole(bytes),
        None => whole(&one["bw"]).saturating_mul(1_024),
    }
}

/// The completion latency of a direction.
struct Latency {
    /// Both are unknown where a job takes no time of its requests (`gtod_reduce`, `disable_clat`).
    mean_ns: Option<u64>,
    max_ns: Option<u64>,
    /// Percentiles with nanoseconds, ascending.
    percentiles: Vec<(f64, u64)>,
}

impl Latency {
    fn of(one: &Json) -> Self {
        // Of fio 2 in microseconds; percentiles of the whole latency where a job asks for those alone.
        let (completion, factor) = match one.get("clat_ns") {
            Some(latency) => (latency, 1),
            None => (&one["clat"], 1_000),
        };
        let listed = [completion, &one["lat_ns"]].map(|latency| latency["percentile"].as_object());
        let listed = listed.into_iter().flatten().next();
        let percentile = |(percent, latency): (&String, &Json)| {
            let percent = percent.parse().ok().filter(|percent| (0.0..=100.0).contains(percent))?;
            Some((percent, whole(latency).saturating_mul(factor)))
        };
        let mut percentiles: Vec<(f64, u64)> =
            listed.into_iter().flatten().filter_map(percentile).collect();
        percentiles.sort_by(|one, other| one.0.total_cmp(&other.0));
        let nanoseconds = |field: &str| {
            let latency = completion[field].as_f64().unwrap_or_default();
            #[allow(clippy::cast_precision_loss, reason = "one or a thousand")]
            let latency = (latency * factor as f64).round();
            Some(whole(&Json::from(latency))).filter(|latency| *latency > 0)
        };
        Self { mean_ns: nanoseconds("mean"), max_ns: nanoseconds("max"), percentiles }
    }

    fn percentile_ns(&self, percent: f64) -> Option<u64> {
        let known = self.percentiles.iter().find(|(one, _)| (one - percent).abs() < 1e-6);
        known.map(|(_, latency)| *latency)
    }

    #[allow(clippy::cast_precision_loss, reason = "for display")]
    fn curve(&self) -> Vec<(f64, f64)> {
        let below = self.percentiles.iter().filter(|(percent, _)| *percent < 100.0);
        below.map(|(percent, latency)| (*percent, *latency as f64 / 1e6)).collect()
    }
}
