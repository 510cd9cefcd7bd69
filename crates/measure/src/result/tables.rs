//! The tables of a measurement: steps, values, wear, board.
//!
//! Layer: rank 8. Function: [`of`].

use crate::reading::latency::Latencies;
use crate::reading::{Reading, State, StepReading, Told, Wear};
use boardlab_result::{Cell, Row, Table, Unit};

/// The tables that have rows.
pub(super) fn of(reading: &Reading) -> Vec<Table> {
    let tables = [steps(reading), values(reading), wear(reading), board(reading)];
    tables.into_iter().flatten().collect()
}

fn number(figure: Option<u64>) -> Cell {
    figure.map_or_else(Cell::none, Cell::count)
}

fn steps(reading: &Reading) -> Option<Table> {
    let rows = reading.steps.iter().map(|step| (Row::new(step.name.as_str(), ""), step));
    let latency = |step: &StepReading, figure: fn(&Latencies) -> u64| {
        number(step.latencies.as_ref().map(figure))
    };
    Table::new("steps", "Steps")
        .of(rows)
        .column("operation", "operation", |step| {
            let planned = step.planned.as_ref();
            planned.map_or_else(Cell::none, |planned| Cell::text(planned.operation().name))
        })
        .column("state", "state", |step| {
            Cell::text(match step.state {
                State::Done => "done",
                State::Stopped => "stopped",
                State::Failed(_) => "failed",
            })
        })
        .column("operations_count", "operations", |step| Cell::count(step.operations))
        .column("bytes", "bytes", |step| Cell::count(step.bytes))
        .column("elapsed_ns", "elapsed", |step| Cell::count(step.elapsed_ns))
        .column("mean_ns", "mean", |step| number(step.mean_ns()))
        .column("p50_ns", "50 %", |step| latency(step, |all| all.quantile_ns(500)))
        .column("p99_ns", "99 %", |step| latency(step, |all| all.quantile_ns(990)))
        .column("p999_ns", "99.9 %", |step| latency(step, |all| all.quantile_ns(999)))
        .column("max_ns", "longest", |step| latency(step, |all| all.max_ns))
        .column("bytes_per_s", "rate", |step| number(step.bytes_per_s()))
        .unless_empty()
}

/// What steps tell besides, and the state of the board at their end.
fn values(reading: &Reading) -> Option<Table> {
    let mut table = Table::new("values", "What steps tell besides").column("value", "value");
    for step in &reading.steps {
        let row = |name: &str| Row::new(format!("{}.{name}", step.name), "");
        for (name, value) in &step.values {
            let unit = Unit::of_key(name).name();
            table.rows.push(row(name).of_unit(unit).cell("value", told(value)));
        }
        if let Some(khz) = step.cpu_khz {
            table.rows.push(row("cpu_khz").cell("value", Cell::count(khz)));
        }
        if let Some(temperature) = step.temperature_mc {
            let cell = Cell::new(boardlab_result::Value::Int(temperature));
            table.rows.push(row("temperature_mc").cell("value", cell));
        }
    }
    Some(table).filter(|table| !table.rows.is_empty())
}

fn told(value: &Told) -> Cell {
    match value {
        Told::Number(number) => Cell::count(*number),
        Told::Text(text) => Cell::text(text.as_str()),
    }
}

fn wear(reading: &Reading) -> Option<Table> {
    let wear = reading.head.iter().flat_map(|head| &head.wear);
    let rows = wear.map(|one| (Row::new(one.target.as_str(), ""), one));
    Table::new("wear", "What the plan wears")
        .of(rows)
        .column("cycles_count", "cycles", |one| Cell::count(one.cycles))
        .column("endurance_count", "of", |one| number(one.endurance))
        .column("used_ratio", "share", |one| share(one).map_or_else(Cell::none, Cell::real))
        .unless_empty()
}

#[allow(clippy::cast_precision_loss, reason = "a share for display")]
fn share(wear: &Wear) -> Option<f64> {
    let endurance = wear.endurance.filter(|cycles| *cycles > 0)?;
    Some(wear.cycles as f64 / endurance as f64)
}

fn board(reading: &Reading) -> Option<Table> {
    let head = reading.head.as_ref()?;
    let row = |id: String, unit: &str, cell| Row::new(id, "").of_unit(unit).cell("value", cell);
    let mut table = Table::new("board", "Board and clock").column("value", "value");
    table.rows.push(row("agent".into(), "", Cell::text(head.agent.as_str())));
    table.rows.push(row("plan_crc32".into(), "", Cell::text(head.plan_crc32.as_str())));
    for (group, fields) in [("board", &head.board), ("clock", &head.clock)] {
        for (key, value) in fields {
            let unit = Unit::of_key(key).name();
            table.rows.push(row(format!("{group}.{key}"), unit, told(value)));
        }
    }
    Some(table)
}
