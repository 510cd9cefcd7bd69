//! The NOR experiment: who waits how long for a write, and what the best wait is.
//!
//! Layer: rank 10. It composes part, board, driver and workload, and puts the published figures
//! beside ours. In reading order: [`part`], [`board`], [`scenario`] (what is run), `simulate` (one
//! system), `tables`, `judge` (findings and verdicts), `charts`, `tune` and `erase` (the best
//! waits), `patch` (the recommended change to Linux).
//!
//! Publication: K. Ibe, S. Ochiai, Mitsubishi Electric; its figures are in `reference/nor.toml`.

pub mod scenario;

mod charts;
mod erase;
mod judge;
mod patch;
mod simulate;
mod tables;
mod tune;
mod unused;

pub(crate) use tune::tune;

use crate::experiment::{Failure, Progress, Request, VERSION};
use crate::finding::find;
use crate::in_order::in_order;
use crate::reference::Reference;
use crate::verdict::{self, is_of};
use boardlab_codec::crc::crc32;
use boardlab_document::Reading;
use boardlab_nor::Host;
use boardlab_nor::tuner::PollLoop;
use boardlab_parts::nor::board::BoardSpec;
use boardlab_result::prose::counted;
use boardlab_result::{Parameter, RunResult};
use boardlab_sim::Bytes;
use rayon::prelude::*;
use scenario::{Scenario, System, Wait, wait_call};
use simulate::{Measured, simulate};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What to try when a NOR device fails.
const HELP: &str = "the part is slower or faultier than its CFI times allow, or --set asks for what the \
                    driver cannot do: compare `part.timing` with `part.cfi`";

/// The runs of the published tables, and what findings and charts say of them.
struct Runs<'r> {
    scenario: &'r Scenario,
    /// Whether nothing of the built-in scenario was altered.
    as_published: bool,
    uboot: &'r Measured,
    linux: &'r Measured,
    improved: &'r Measured,
    /// As `improved`, with the driver's own gap between polls.
    own_gap: &'r Measured,
    host: &'r Host,
    /// Microseconds of `udelay` before the first poll.
    linux_us: u64,
    improved_us: u64,
    improved_gap_us: u64,
    /// From poll to poll, with the driver's own gap and with the scenario's.
    poll_period_us: f64,
    improved_period_us: f64,
}

/// The runs of the table of what-ifs.
struct WhatIfs {
    buffer_time: Measured,
    tuned: Measured,
    adaptive: Measured,
    fast_bus: Measured,
    tuned_fast_bus: Measured,
    twice_the_chips: Measured,
    four_times_the_chips: Measured,
}

fn read(request: &Request<'_>) -> Result<Reading<Scenario>, Failure> {
    let folder = request.document.source().folder();
    Ok(request.document.read(|section| scenario::read(&section, request.seed, folder))?)
}

/// Whether `request` can be run; a checksum of the file to write, where there is one.
pub(crate) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    let scenario = read(request)?.value;
    let file = request.document.get("workload.file");
    Ok(file.map_or(0, |_| crc32(0, &scenario.data)))
}

/// A run of `request` without content.
fn blank(request: &Request<'_>, title: &str, parameters: Vec<Parameter>) -> RunResult {
    let mut run = RunResult::new(request.scenario, title, request.seed.get(), VERSION);
    run.parameters = parameters;
    run
}

/// Tables 4, 5 and 6, the what-ifs, findings and charts.
pub(crate) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    let Reading { value: scenario, parameters } = read(request)?;
    let measured = measure(request, &scenario)?;
    let [uboot, linux, improved, own_gap] = &measured.published;
    let host = simulate::host(&scenario.board, request.seed);
    let period = |gap| PollLoop::toggle(&host, scenario.board.bus, gap).period;
    let runs = Runs {
        scenario: &scenario,
        as_published: request.is_as_published(),
        uboot,
        linux,
        improved,
        own_gap,
        host: &host,
        linux_us: first_wait(&scenario.linux, linux),
        improved_us: first_wait(&scenario.improved, improved),
        improved_gap_us: scenario.improved.poll_gap_us,
        poll_period_us: period(1),
        improved_period_us: period(scenario.improved.poll_gap_us),
    };
    let mut run = blank(request, "NOR flash writes: u-boot against Linux", parameters);
    assemble(&mut run, request, &runs, &measured.what_if)?;
    let all = measured.published.iter().chain(measured.what_if.all());
    run.virtual_time_ns = all.map(|measured| measured.virtual_time.as_nanos()).sum();
    let verified = format!(
        "Verified: each of the {} writes was read back, and its {} are what was written.",
        measured.published.len() + measured.what_if.all().len(),
        counted(scenario.data.len(), "byte"),
    );
    find(&mut run, verified);
    Ok(run)
}

/// Microseconds of `udelay` before the first poll: the scenario's, or what CFI gives.
fn first_wait(system: &System, measured: &Measured) -> u64 {
    match system.wait {
        Wait::Fixed(micros) => micros,
        Wait::WordTime => measured.probed.word_typical_us,
        Wait::BufferTime => measured.probed.program_typical_us(),
        _ => 0,
    }
}

struct All {
    published: [Measured; 4],
    what_if: WhatIfs,
}

/// Runs every system, on all cores.
fn measure(request: &Request<'_>, scenario: &Scenario) -> Result<All, Failure> {
    let board = &scenario.board;
    let seed = request.seed;
    let own_gap = System { poll_gap_us: 1, ..scenario.improved.clone() };
    let linux = |wait| System { wait, ..scenario.linux.clone() };
    let (buffer_time, tuned) = (linux(Wait::BufferTime), linux(Wait::Tuned));
    let adaptive = linux(Wait::Adaptive);
    let mut fast = board.clone();
    (fast.bus.read_cycle, fast.bus.write_cycle) = (scenario.fast_cycle, scenario.fast_cycle);
    let chips = |count: usize| BoardSpec { chips: board.chips * count, ..board.clone() };
    let (two, four) = (chips(2), chips(4));
    let systems = [
        (board, &scenario.uboot, "u-boot"),
        (board, &scenario.linux, "Linux"),
        (board, &scenario.improved, "Linux, improved"),
        (board, &own_gap, "Linux, improved, own poll gap"),
        (board, &buffer_time, "what if: buffer time"),
        (board, &tuned, "what if: tuned"),
        (board, &adaptive, "what if: adaptive"),
        (&fast, &scenario.linux, "what if: faster bus"),
        (&fast, &tuned, "what if: tuned and faster bus"),
        (&two, &tuned, "what if: twice the chips"),
        (&four, &tuned, "what if: four times the chips"),
    ];
    let done = AtomicUsize::new(0);
    let total = systems.len();
    let measured = in_order(systems.par_iter().map(|(board, system, step)| {
        let measured = simulate(scenario, board, system, seed);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        (request.progress)(Progress { step, done, total });
        measured
    }));
    let measured: [Measured; 11] =
        measured?.try_into().unwrap_or_else(|_| unreachable!("as many results as systems"));
    let [uboot, stock, improved, own_gap, rest @ ..] = measured;
    let [buffer_time, tuned, adaptive, fast_bus, tuned_fast_bus, twice, four_times] = rest;
    let what_if = WhatIfs {
        buffer_time,
        tuned,
        adaptive,
        fast_bus,
        tuned_fast_bus,
        twice_the_chips: twice,
        four_times_the_chips: four_times,
    };
    Ok(All { published: [uboot, stock, improved, own_gap], what_if })
}

impl WhatIfs {
    fn all(&self) -> [&Measured; 7] {
        [
            &self.buffer_time,
            &self.tuned,
            &self.adaptive,
            &self.fast_bus,
            &self.tuned_fast_bus,
            &self.twice_the_chips,
            &self.four_times_the_chips,
        ]
    }
}

/// Tables, findings, verdicts and charts of all that was measured.
fn assemble(
    run: &mut RunResult,
    request: &Request<'_>,
    runs: &Runs<'_>,
    what_if: &WhatIfs,
) -> Result<(), Failure> {
    let reference = Reference::named("nor")?;
    let mut improved = tables::steps("table6", "Linux, improved", runs.improved);
    tables::add_saving(&mut improved, runs.linux, runs.improved);
    let title = "Linux, improved, with the driver's own gap between polls";
    let mut own_gap = tables::steps("table6-own-gap", title, runs.own_gap);
    tables::add_saving(&mut own_gap, runs.linux, runs.own_gap);
    run.tables = vec![
        tables::steps("table4", "u-boot", runs.uboot),
        tables::steps("table5", "Linux", runs.linux),
        improved,
        own_gap,
        what_ifs(runs, what_if),
    ];
    if runs.as_published {
        let findings = judge::findings_on_print(run, &reference, runs)?;
        judge::judge(&mut run.tables, &reference, &findings)?;
    }
    request.warn_if_altered(run);
    judge::findings(run, runs, what_if);
    let tuned_us = what_if.tuned.tuned_us;
    charts::histogram(run, runs, tuned_us);
    let improved = if runs.as_published { "authors" } else { "improved" };
    let marks = [(tuned_us, "best"), (runs.improved_us, improved), (runs.linux_us, "Linux")];
    charts::time_against_wait(run, runs.scenario, runs.linux, &marks, request.seed);
    charts::steps(run, runs, &reference)?;
    name_parameters(run);
    run.count_provenance();
    Ok(())
}

/// What `linux` is in the words of its wait.
fn stock_title(runs: &Runs<'_>) -> String {
    let linux = &runs.scenario.linux;
    match linux.wait {
        Wait::WordTime if linux.poll_gap_us == 1 => {
            format!("as released: {}", wait_call(runs.linux_us))
        }
        _ => "as [linux] is set".into(),
    }
}

fn what_ifs(runs: &Runs<'_>, what_if: &WhatIfs) -> boardlab_result::Table {
    let scenario = runs.scenario;
    let (cycle, chips) = (scenario.fast_cycle, scenario.board.chips);
    let best = |measured: &Measured| wait_call(measured.tuned_us);
    let in_turn =
        |measured: &Measured, chips: usize| format!("{}, {chips} chips in turn", best(measured));
    let line = |id, title: String, measured| tables::WhatIf { id, title, measured };
    let typical = match scenario.part.write_buffer {
        Some(_) => "waits for the buffer time of CFI".into(),
        None => "waits for the word time of CFI, as the part has no buffer".into(),
    };
    let learns = format!("learns the wait, one bit a {}", scenario.program_unit());
    let all = [
        line("stock", stock_title(runs), runs.linux),
        line("buffer-time", typical, &what_if.buffer_time),
        line("tuned", format!("{}, then polls", best(&what_if.tuned)), &what_if.tuned),
        line("adaptive", learns, &what_if.adaptive),
        line("fast-bus", format!("as stock, bus cycles of {cycle}"), &what_if.fast_bus),
        line(
            "tuned-fast-bus",
            format!("{}, bus cycles of {cycle}", best(&what_if.tuned_fast_bus)),
            &what_if.tuned_fast_bus,
        ),
        line(
            "twice-the-chips",
            in_turn(&what_if.twice_the_chips, 2 * chips),
            &what_if.twice_the_chips,
        ),
        line(
            "four-times-the-chips",
            in_turn(&what_if.four_times_the_chips, 4 * chips),
            &what_if.four_times_the_chips,
        ),
    ];
    tables::what_if(Bytes::of(&scenario.data), runs.linux, &all)
}

/// Names the parameters that each table depends on.
fn name_parameters(run: &mut RunResult) {
    const SHARED: [&str; 5] =
        ["part.geometry", "part.timing.buffer", "board.bus", "board.cpu.time_base", "workload"];
    verdict::name_parameters(run, |table, key| {
        let own: &[&str] = match table {
            "table4" => &["uboot", "board.cpu.call", "board.cpu.split"],
            "table5" => &["linux", "board.cpu", "part.cfi.word_typical"],
            "table6" => &["improved", "linux", "board.cpu", "part.cfi.word_typical"],
            "table6-own-gap" => &["improved.wait", "linux", "board.cpu", "part.cfi.word_typical"],
            _ => &["linux", "tune", "what_if", "board.cpu", "part.cfi"],
        };
        (is_of(key, &SHARED) || is_of(key, own))
            && !key.ends_with("wake_latency")
            && !key.ends_with("context_switch")
    });
}
