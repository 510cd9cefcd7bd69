//! Tables 4, 5 and 6 with the publication's step names, and the what-if table.

use super::run::write::WriteMeasurement;
use super::run::{Runs, WhatIfs};
use super::scenario::{Wait, wait_call};
use boardlab_nor::driver::Step;
use boardlab_result::prose::round;
use boardlab_result::{Cell, Row, Table, Value};
use boardlab_sim::{Bytes, Duration, Rate};

/// Steps by their published number; those that only our reading names are included.
const UBOOT: [(&str, Step); 6] = [
    ("U-1", Step::Call),
    ("U-2", Step::Check),
    ("U-3", Step::Split),
    ("U-4", Step::Command),
    ("U-5", Step::Fill),
    ("U-6", Step::Wait),
];
const LINUX: [(&str, Step); 8] = [
    ("L-1", Step::Call),
    ("L-3", Step::Copy),
    ("L-4", Step::Split),
    ("L-5", Step::Command),
    ("L-6", Step::Fill),
    ("L-7", Step::Wait),
    ("L-7-fixed", Step::WaitFixed),
    ("L-7-poll", Step::WaitPoll),
];

/// The id of the row that sums up a table.
pub(super) const TOTAL: &str = "total";

/// A table of `measured`, a row a step that happened, and the total.
pub(super) fn steps(id: &str, title: &str, measured: &WriteMeasurement) -> Table {
    let copied = measured.steps.of(Step::Copy).count() > 0;
    let names: &[(&str, Step)] = if copied { &LINUX } else { &UBOOT };
    let steps = names.iter().map(|&(name, step)| (name, step, measured.steps.of(step)));
    let steps = steps.filter(|(.., phase)| phase.count() > 0);
    let nanos =
        |span: Option<Duration>| span.map_or_else(Cell::none, |span| Cell::int(span.as_nanos()));
    let mut table = Table::new(id, title)
        .of(steps.map(|(name, step, phase)| (Row::new(name, step.title()), phase)))
        .column("mean_ns", "mean", |phase| nanos(phase.mean()))
        .column("min_ns", "min", |phase| nanos(phase.min()))
        .column("max_ns", "max", |phase| nanos(phase.max()))
        .column("count", "count", |phase| Cell::int(phase.count()))
        .column("total_ns", "total", |phase| Cell::int(phase.total().as_nanos()))
        .table();
    let total = Row::new(TOTAL, "write").cell("total_ns", Cell::int(measured.total.as_nanos()));
    table.rows.push(total);
    table
}

/// How much less time a write took than `before`.
pub(super) fn saving(before: Duration, after: Duration) -> Cell {
    let signed = |span: Duration| i64::try_from(span.as_nanos()).expect("shorter than 292 years");
    Cell::new(Value::Int(signed(before) - signed(after)))
}

/// Adds how much less time `improved` took than `before`.
pub(super) fn add_saving(
    table: &mut Table,
    before: &WriteMeasurement,
    improved: &WriteMeasurement,
) {
    let saving = saving(before.total, improved.total);
    table.rows.push(Row::new("saving", "less than table 5").cell("total_ns", saving));
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

/// What else could be done, each beside the write as Linux does it.
pub(super) fn what_ifs(runs: &Runs<'_>, what_if: &WhatIfs) -> Table {
    let scenario = runs.scenario;
    let (cycle, chips) = (scenario.fast_cycle, scenario.board.chips);
    let best = |measured: &WriteMeasurement| wait_call(measured.tuned_us);
    let in_turn = |measured: &WriteMeasurement, chips: usize| {
        format!("{}, {chips} chips in turn", best(measured))
    };
    let line = |id: &str, title: String, measured| (Row::new(id, title), measured);
    let WhatIfs { tuned_fast_bus, twice_the_chips: two, four_times_the_chips: four, .. } = what_if;
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
            format!("{}, bus cycles of {cycle}", best(tuned_fast_bus)),
            tuned_fast_bus,
        ),
        line("twice-the-chips", in_turn(two, 2 * chips), two),
        line("four-times-the-chips", in_turn(four, 4 * chips), four),
    ];
    let size = Bytes::of(&scenario.data);
    let rate = |total| Rate::new(size, total).map_or(0.0, Rate::bytes_per_second);
    Table::new("what-if", "What if: the same write on Linux")
        .of(all)
        .column("total_ns", "total", |one| Cell::int(one.total.as_nanos()))
        .column("saving_ns", "saving", |one| saving(runs.linux.total, one.total))
        .column("bytes_per_s", "rate", |one| Cell::real(rate(one.total).round()))
        .column("polls_count", "polls", |one| Cell::int(one.polls.program))
        .column("cpu_busy_ratio", "CPU busy", |one| Cell::real(round(one.busy(), 4)))
        .column("bus_cycles_count", "bus cycles", |one| Cell::int(one.cycles))
        .table()
}
