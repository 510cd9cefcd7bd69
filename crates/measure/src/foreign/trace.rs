//! Traces of blktrace, as `blkparse` prints them: how long the device took for each request.
//!
//! Layer: rank 8. Function: [`read`]. A request takes from D, its issue to the driver, to C, its completion; what it
//! waited before, in a queue of the kernel, is not in it. A request that completes in parts is complete with the last
//! one. The trace is read as a stream; what is held are the requests outstanding and histograms.

use super::{Foreign, Problem, blank, flaw};
use crate::reading::latency::{Counter, Latencies};
use boardlab_result::prose::counted;
use boardlab_result::{Axis, Cell, Chart, Row, RunResult, Style, Table};
use boardlab_workload::trace::events::{Event, Events};
use boardlab_workload::trace::{self, Action, Disk, Format, Kind};
use indexmap::IndexMap;
use std::collections::HashMap;
use std::io::BufRead;

/// The number of a trace of blktrace, in its first four bytes: a magic of three bytes and a version.
const MAGIC: u32 = 0x6561_7400;
/// The most requests outstanding: a trace with more lacks the completions.
const OUTSTANDING_MAX: usize = 1 << 20;
/// Percentiles of a curve for each nine.
const POINTS: u16 = 1_000;

/// Whether it is the file of blktrace itself.
pub(super) fn is_binary(head: &[u8]) -> bool {
    let Some(first) = head.first_chunk::<4>() else { return false };
    [u32::from_le_bytes(*first), u32::from_be_bytes(*first)]
        .into_iter()
        .any(|number| number & !0xFF == MAGIC)
}

/// Whether a file that begins so is of blkparse: an event in its first lines.
pub(super) fn is_one(head: &str) -> bool {
    let is_event = |line: &str| {
        let mut words = line.split_whitespace();
        let disk =
            words.next().is_some_and(|word| matches!(Disk::parse(word), Some(Disk::Device(..))));
        let mut numbers = words.by_ref().take(2);
        disk && numbers.all(|word| word.parse::<u64>().is_ok())
            && words.next().is_some_and(|word| word.contains('.') && word.parse::<f64>().is_ok())
    };
    Format::detect(head.as_bytes()) == Format::Blkparse && head.lines().take(20).any(is_event)
}

/// A request outstanding.
struct Outstanding {
    issued_ns: u64,
    /// Bytes that have not completed.
    left: u64,
    bytes: u64,
}

/// What was counted of a kind of requests on a disk.
#[derive(Default)]
struct Count {
    requests: u64,
    bytes: u64,
    latencies: Counter,
    /// The first issue and the last completion.
    span: Option<(u64, u64)>,
}

#[derive(Default)]
struct Trace {
    outstanding: HashMap<(Disk, Kind, u64), Outstanding>,
    counts: IndexMap<(Disk, &'static str), Count>,
    deepest: usize,
    /// Requests that were issued twice, and completions of which no issue is known.
    again: u64,
    unissued: u64,
}

pub(super) fn read(name: &str, text: impl BufRead) -> Result<Foreign, Problem> {
    let mut trace = Trace::default();
    let mut cut = None;
    for event in Events::new(text, name, &[Action::Issued, Action::Completed]) {
        match event {
            Ok(event) => trace.take(event),
            // What was read before counts.
            Err(error) if !trace.counts.is_empty() => {
                cut = Some(error);
                break;
            }
            Err(error) => {
                let (line, column) = (error.place.line, error.place.column);
                return Err(match error.problem {
                    trace::Problem::Syntax { expected, found } => {
                        flaw(line, column, &format!("`{found}`"), expected)
                    }
                    problem => flaw(line, column, &problem.to_string(), "a line of blkparse"),
                });
            }
        }
        if trace.outstanding.len() > OUTSTANDING_MAX {
            return Err(flaw(1, 1, "a million issues without completions", "the action C as well"));
        }
    }
    let mut foreign = trace.foreign(name);
    if let Some(error) = cut {
        foreign
            .run
            .warnings
            .push(format!("The trace was read to line {} alone: {error}.", error.place.line));
        foreign.is_whole = false;
    }
    Ok(foreign)
}

impl Trace {
    fn take(&mut self, event: Event) {
        let Event { action, disk, at_ns, kind, offset, length } = event;
        let key = (disk, kind, offset.get());
        if action == Action::Issued {
            let bytes = length.get();
            let request = Outstanding { issued_ns: at_ns, left: bytes, bytes };
            self.again += u64::from(self.outstanding.insert(key, request).is_some());
            self.deepest = self.deepest.max(self.outstanding.len());
            return;
        }
        let Some(mut request) = self.outstanding.remove(&key) else {
            self.unissued += 1;
            return;
        };
        let (disk, kind, offset) = key;
        request.left = request.left.saturating_sub(length.get());
        if request.left > 0 && length.get() > 0 {
            self.outstanding.insert((disk, kind, offset.saturating_add(length.get())), request);
            return;
        }
        let count = self.counts.entry((disk, kind.name())).or_default();
        count.requests += 1;
        count.bytes = count.bytes.saturating_add(request.bytes);
        count.latencies.record(at_ns.saturating_sub(request.issued_ns));
        let (first, last) = count.span.unwrap_or((request.issued_ns, at_ns));
        count.span = Some((first.min(request.issued_ns), last.max(at_ns)));
    }

    fn foreign(mut self, name: &str) -> Foreign {
        let mut run = blank("blktrace", name);
        let order = |kind: &str| Kind::ALL.iter().position(|one| one.name() == kind);
        self.counts.sort_by(|(one, kind), _, (other, their), _| {
            one.to_string().cmp(&other.to_string()).then(order(kind).cmp(&order(their)))
        });
        run.tables.push(self.table());
        let all = self.counts.values().map(|count| count.requests).sum::<u64>();
        let deepest = self.deepest;
        run.findings.push(format!(
            "{} completed; at most {deepest} outstanding at once.",
            counted(all, "request")
        ));
        self.draw(&mut run);
        let left = u64::try_from(self.outstanding.len()).unwrap_or(u64::MAX);
        let lacking = [
            (self.unissued, "completed, but the trace has no issue"),
            (left, "issued, but not completed in the trace"),
            (self.again, "issued again before the completion"),
        ];
        for (count, what) in lacking.into_iter().filter(|(count, _)| *count > 0) {
            run.warnings.push(format!("Left out: {} {what}.", counted(count, "request")));
        }
        Foreign { run, is_whole: all > 0 }
    }

    fn table(&self) -> Table {
        let rows = self.counts.iter().filter_map(|((disk, kind), count)| {
            let latencies = count.latencies.latencies()?;
            Some((Row::new(format!("{disk}.{kind}"), ""), (count, latencies)))
        });
        let latency = |figure: fn(&Latencies) -> u64| {
            move |(_, latencies): &(&Count, Latencies)| Cell::count(figure(latencies))
        };
        Table::new("requests", "Requests, from issue to completion")
            .of(rows)
            .column("requests_count", "count", |(count, _)| Cell::count(count.requests))
            .column("moved_bytes", "moved", |(count, _)| Cell::count(count.bytes))
            .column("request_bytes", "mean size", |(count, _)| {
                count.bytes.checked_div(count.requests).map_or_else(Cell::none, Cell::count)
            })
            .column("bytes_per_s", "rate", |(count, _)| {
                rate(count).map_or_else(Cell::none, Cell::count)
            })
            .column("mean_ns", "mean", |(count, latencies)| {
                latencies.sum_ns.checked_div(count.requests).map_or_else(Cell::none, Cell::count)
            })
            .column("p50_ns", "50 %", latency(|all| all.quantile_ns(500)))
            .column("p99_ns", "99 %", latency(|all| all.quantile_ns(990)))
            .column("p999_ns", "99.9 %", latency(|all| all.quantile_ns(999)))
            .column("max_ns", "longest", latency(|all| all.max_ns))
            .table()
    }

    /// Draws the latencies by percentile.
    #[allow(clippy::cast_precision_loss, reason = "for display")]
    fn draw(&self, run: &mut RunResult) {
        let caption = "The time from issue to completion that so many percent of the requests did not exceed.";
        let axes = [Axis::of_percentiles("requests"), Axis::from_zero("latency (ms)")];
        let mut chart = Chart::new("latency", "Latency by percentile", caption, axes);
        chart.y.log2 = true;
        for ((disk, kind), count) in &self.counts {
            let Some(latencies) = count.latencies.latencies() else { continue };
            let shares = (0..POINTS).step_by(5).chain(990..POINTS);
            let seen = shares
                .filter(|share| u64::from(POINTS - share) * count.requests >= u64::from(POINTS));
            let points = seen
                .map(|share| (f64::from(share) / 10.0, latencies.quantile_ns(share) as f64 / 1e6));
            let names = (format!("latency-{disk}-{kind}"), format!("{disk} {kind}"));
            run.plot(&mut chart, names, "ms", Style::Line, points.collect::<Vec<_>>());
        }
        if !chart.layers.is_empty() {
            run.charts.push(chart);
        }
    }
}

/// Bytes a second from the first issue to the last completion.
fn rate(count: &Count) -> Option<u64> {
    let (first, last) = count.span?;
    let time = u128::from(last.saturating_sub(first));
    let bytes = u128::from(count.bytes).checked_mul(1_000_000_000)?;
    u64::try_from(bytes.checked_div(time)?).ok().filter(|_| count.bytes > 0)
}
