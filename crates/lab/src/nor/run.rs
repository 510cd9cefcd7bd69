//! The systems of the tables and of the what-ifs, side by side, and the result that is made of them.
//!
//! Layer: rank 11. Main types: [`Runs`], [`WhatIfs`]; functions: [`check`], [`run`].

pub(super) mod erase;
pub(super) mod patch;
pub(super) mod tune;
pub(super) mod write;

use super::scenario::{self, Scenario, System, Wait};
use super::{charts, findings, tables, verdicts};
use boardlab_codec::crc::crc32;
use boardlab_document::Reading;
use boardlab_experiment::crew::{Crew, Slot};
use boardlab_experiment::finding::find;
use boardlab_experiment::reference::Reference;
use boardlab_experiment::verdict::is_of;
use boardlab_experiment::{Failure, Request};
use boardlab_nor::Host;
use boardlab_nor::tuner::PollLoop;
use boardlab_parts::nor::board::{BoardSpec, OF_KERNEL};
use boardlab_result::RunResult;
use boardlab_result::prose::counted;
use write::{WriteMeasurement, simulate};

/// What to try when a NOR device fails.
const HELP: &str = "the part is slower or faultier than its CFI times allow, or --set asks for what the \
                    driver cannot do: compare `part.timing` with `part.cfi`";

/// The runs of the published tables, and what findings and charts say of them.
pub(super) struct Runs<'r> {
    pub(super) scenario: &'r Scenario,
    /// Whether nothing of the built-in scenario was altered.
    pub(super) as_published: bool,
    pub(super) uboot: &'r WriteMeasurement,
    pub(super) linux: &'r WriteMeasurement,
    pub(super) improved: &'r WriteMeasurement,
    /// As `improved`, with the driver's own gap between polls.
    pub(super) own_gap: &'r WriteMeasurement,
    pub(super) host: &'r Host,
    /// Microseconds of `udelay` before the first poll.
    pub(super) linux_us: u64,
    pub(super) improved_us: u64,
    pub(super) improved_gap_us: u64,
    /// From poll to poll, with the driver's own gap and with the scenario's.
    pub(super) poll_period_us: f64,
    pub(super) improved_period_us: f64,
}

/// The runs of the table of what-ifs.
pub(super) struct WhatIfs {
    pub(super) buffer_time: WriteMeasurement,
    pub(super) tuned: WriteMeasurement,
    pub(super) adaptive: WriteMeasurement,
    pub(super) fast_bus: WriteMeasurement,
    pub(super) tuned_fast_bus: WriteMeasurement,
    pub(super) twice_the_chips: WriteMeasurement,
    pub(super) four_times_the_chips: WriteMeasurement,
}

pub(super) fn read(request: &Request<'_>) -> Result<Reading<Scenario>, Failure> {
    let mut reading = request.document.read(|section| scenario::read(&section, request.seed))?;
    reading.parameters.retain(|one| !is_of(&one.key, &OF_KERNEL));
    Ok(reading)
}

/// Whether `request` can be run; a checksum of the file to write, where there is one.
pub(super) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    let scenario = read(request)?.value;
    let file = request.document.get("workload.file");
    Ok(file.map_or(0, |_| crc32(0, &scenario.data)))
}

/// Tables 4, 5 and 6, the what-ifs, findings and charts.
pub(super) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    let Reading { value: scenario, parameters } = read(request)?;
    let measured = measure(request, &scenario)?;
    let [uboot, linux, improved, own_gap] = &measured.published;
    let host = write::host(&scenario.board, request.seed);
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
    let mut run = request.blank("NOR flash writes: u-boot against Linux", parameters);
    assemble(&mut run, request, &runs, &measured.what_if)?;
    run.virtual_time_ns = measured.virtual_time_ns;
    let verified = format!(
        "Each of the {} writes was read back and returned its {} unchanged.",
        measured.writes,
        counted(scenario.data.len(), "byte"),
    );
    find(&mut run, verified);
    Ok(run)
}

/// Microseconds of `udelay` before the first poll: the scenario's, or what CFI gives.
fn first_wait(system: &System, measured: &WriteMeasurement) -> u64 {
    match system.wait {
        Wait::Fixed(micros) => micros,
        Wait::WordTime => measured.cfi_info.word_typical_us,
        Wait::BufferTime => measured.cfi_info.program_typical_us(),
        _ => 0,
    }
}

struct All {
    published: [WriteMeasurement; 4],
    what_if: WhatIfs,
    /// Writes of both.
    writes: usize,
    virtual_time_ns: u64,
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
    let mut crew = Crew::default();
    let mut add = |board, system, step: &str| {
        crew.add(step, HELP, move || Ok(simulate(scenario, board, system, seed)?))
    };
    let published = [
        add(board, &scenario.uboot, "u-boot"),
        add(board, &scenario.linux, "Linux"),
        add(board, &scenario.improved, "Linux, improved"),
        add(board, &own_gap, "Linux, improved, own poll gap"),
    ];
    let what_ifs = [
        add(board, &buffer_time, "what if: buffer time"),
        add(board, &tuned, "what if: tuned"),
        add(board, &adaptive, "what if: adaptive"),
        add(&fast, &scenario.linux, "what if: faster bus"),
        add(&fast, &tuned, "what if: tuned and faster bus"),
        add(&two, &tuned, "what if: twice the chips"),
        add(&four, &tuned, "what if: four times the chips"),
    ];
    crew.perform(request)?;
    let (published, what_ifs) = (published.map(Slot::take), what_ifs.map(Slot::take));
    let writes = published.iter().chain(&what_ifs);
    let (writes, times) = (writes.clone().count(), writes.map(|one| one.virtual_time.as_nanos()));
    let virtual_time_ns = times.sum();
    let [buffer_time, tuned, adaptive, fast_bus, tuned_fast_bus, two, four] = what_ifs;
    let what_if = WhatIfs {
        buffer_time,
        tuned,
        adaptive,
        fast_bus,
        tuned_fast_bus,
        twice_the_chips: two,
        four_times_the_chips: four,
    };
    Ok(All { published, what_if, writes, virtual_time_ns })
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
        tables::what_ifs(runs, what_if),
    ];
    if runs.as_published {
        let explaining = findings::on_the_print(run, &reference, runs)?;
        verdicts::verdicts(&mut run.tables, &reference, &explaining)?;
    }
    request.warn_if_altered(run);
    findings::all(run, runs, what_if);
    let tuned_us = what_if.tuned.tuned_us;
    charts::histogram(run, runs, tuned_us);
    let improved = if runs.as_published { "authors" } else { "improved" };
    let marks = [(tuned_us, "best"), (runs.improved_us, improved), (runs.linux_us, "Linux")];
    charts::time_against_wait(run, runs.scenario, runs.linux, &marks, request.seed);
    charts::steps(run, runs, &reference)?;
    verdicts::name_parameters(run);
    Ok(())
}
