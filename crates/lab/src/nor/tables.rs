//! Tables 4, 5 and 6 with the publication's step names, and the what-if table.

use super::run::write::Measured;
use super::run::{Runs, WhatIfs};
use super::scenario::{Wait, wait_call};
use boardlab_nor::driver::Step;
use boardlab_result::prose::round;
use boardlab_result::{Cell, Row, Table};
use boardlab_sim::{Bytes, Phase, Rate};

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
pub(super) fn steps(id: &str, title: &str, measured: &Measured) -> Table {
    let mut table = Table::new(id, title)
        .column("mean_ns", "mean")
        .column("min_ns", "min")
        .column("max_ns", "max")
        .column("count", "count")
        .column("total_ns", "total");
    let copied = measured.steps.of(Step::Copy).count() > 0;
    let names: &[(&str, Step)] = if copied { &LINUX } else { &UBOOT };
    for &(name, step) in names {
        let phase = measured.steps.of(step);
        if phase.count() > 0 {
            table.rows.push(row(name, step.title(), phase));
        }
    }
    let total = Row::new(TOTAL, "write").cell("total_ns", Cell::int(measured.total.as_nanos()));
    table.rows.push(total);
    table
}

fn row(id: &str, title: &str, phase: &Phase) -> Row {
    let nanos = |span: Option<boardlab_sim::Duration>| {
        span.map_or_else(Cell::none, |span| Cell::int(span.as_nanos()))
    };
    Row::new(id, title)
        .cell("mean_ns", nanos(phase.mean()))
        .cell("min_ns", nanos(phase.min()))
        .cell("max_ns", nanos(phase.max()))
        .cell("count", Cell::int(phase.count()))
        .cell("total_ns", Cell::int(phase.total().as_nanos()))
}

/// Adds how much less time `improved` took than `before`.
pub(super) fn add_saving(table: &mut Table, before: &Measured, improved: &Measured) {
    let signed = |m: &Measured| i64::try_from(m.total.as_nanos()).expect("shorter than 292 years");
    let saving = Cell::new(boardlab_result::Value::Int(signed(before) - signed(improved)));
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
    let best = |measured: &Measured| wait_call(measured.tuned_us);
    let in_turn =
        |measured: &Measured, chips: usize| format!("{}, {chips} chips in turn", best(measured));
    let line = |id, title: String, measured| WhatIf { id, title, measured };
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
    what_if_table(Bytes::of(&scenario.data), runs.linux, &all)
}

/// One thing that could be done, and what came of it.
struct WhatIf<'a> {
    id: &'a str,
    title: String,
    measured: &'a Measured,
}

fn what_if_table(size: Bytes, stock: &Measured, all: &[WhatIf<'_>]) -> Table {
    let mut table = Table::new("what-if", "What if: the same write on Linux")
        .column("total_ns", "total")
        .column("saving_ns", "saving")
        .column("bytes_per_s", "rate")
        .column("polls_count", "polls")
        .column("cpu_busy_ratio", "CPU busy")
        .column("bus_cycles_count", "bus cycles");
    let signed = |m: &Measured| i64::try_from(m.total.as_nanos()).expect("shorter than 292 years");
    for WhatIf { id, title, measured } in all {
        let rate = Rate::new(size, measured.total).map_or(0.0, Rate::bytes_per_second);
        let saving = boardlab_result::Value::Int(signed(stock) - signed(measured));
        table.rows.push(
            Row::new(*id, title)
                .cell("total_ns", Cell::int(measured.total.as_nanos()))
                .cell("saving_ns", Cell::new(saving))
                .cell("bytes_per_s", Cell::real(rate.round()))
                .cell("polls_count", Cell::int(measured.polls.program))
                .cell("cpu_busy_ratio", Cell::real(round(measured.busy(), 4)))
                .cell("bus_cycles_count", Cell::int(measured.cycles)),
        );
    }
    table
}
