//! The charts of a sweep: each figure of the table against the first key.
//!
//! Layer: rank 10. Function: [`charts`]. Every combination of the other keys is a line while a reader
//! can tell the lines apart, otherwise all are points. The first key is a scale if all its values are
//! numbers of one unit, otherwise its values are categories.

use crate::plan::Plan;
use boardlab_result::prose::{GIB, KIB, MIB};
use boardlab_result::{Axis, Chart, RunResult, Style, Table, Unit};
use indexmap::IndexMap;

/// The most lines of a chart.
const LINES_MAX: usize = 8;

/// Adds a chart and its curves for every figure of `chosen`.
pub(super) fn charts(run: &mut RunResult, plan: &Plan<'_>, table: &Table, chosen: &[String]) {
    let Some(first) = plan.grid.axes.first() else { return };
    let values = first.written();
    let positions = Positions::of(&values);
    for name in chosen {
        let (divisor, unit) = scale(table, name);
        let lines = lines(plan, table, name, &positions, divisor);
        if lines.values().map(Vec::len).sum::<usize>() < 2 {
            continue;
        }
        let (x, categories) = match &positions {
            Positions::Scale { unit, .. } if unit.is_empty() => (first.key.clone(), Vec::new()),
            Positions::Scale { unit, .. } => (format!("{} ({unit})", first.key), Vec::new()),
            Positions::Names => (first.key.clone(), values.clone()),
        };
        let y = if unit.is_empty() { name.clone() } else { format!("{name} ({unit})") };
        let caption = match lines.len() {
            1 => "All points of the grid.".into(),
            count if count <= LINES_MAX => "One line for every value of the other keys.".into(),
            count => format!("Points: {count} combinations of the other keys."),
        };
        let title = format!("{name} against {}", first.key);
        let axes = [Axis::fitting(x), Axis::fitting(y)];
        let mut chart = Chart::new(name.replace('/', "-"), title, caption, axes);
        chart.categories = categories;
        draw(run, &mut chart, name, lines, unit);
        run.charts.push(chart);
    }
}

/// The positions of the values of the first key.
enum Positions {
    /// At their numbers, all of one unit.
    Scale { numbers: Vec<f64>, unit: String },
    /// Side by side.
    Names,
}

impl Positions {
    fn of(values: &[String]) -> Self {
        let parted: Option<Vec<_>> = values.iter().map(|value| number(value)).collect();
        match parted {
            Some(parted) if parted.iter().all(|(_, unit)| *unit == parted[0].1) => Self::Scale {
                unit: parted[0].1.to_owned(),
                numbers: parted.into_iter().map(|(number, _)| number).collect(),
            },
            _ => Self::Names,
        }
    }

    fn at(&self, index: usize) -> f64 {
        match self {
            Self::Scale { numbers, .. } => numbers[index],
            Self::Names => u32::try_from(index).map_or(f64::MAX, f64::from),
        }
    }
}

/// The number that `value` begins with, and the unit behind it.
fn number(value: &str) -> Option<(f64, &str)> {
    let end = value.find(|c: char| !c.is_ascii_digit() && !".-".contains(c));
    let (number, unit) = value.split_at(end.unwrap_or(value.len()));
    let unit = unit.trim();
    // `2^20`, `1/3` and `3 blocks of 4` are no quantities.
    let plain =
        unit.chars().all(|c| c.is_alphabetic() || "%/".contains(c)) && !unit.starts_with('/');
    let number: f64 = number.parse().ok()?;
    (plain && number.is_finite()).then_some((number, unit))
}

/// The scale of a column, chosen by its largest figure: the divisor, and the unit on the axis.
fn scale(table: &Table, name: &str) -> (f64, &'static str) {
    let figures = table.rows.iter().filter_map(|row| row.cells.get(name)?.value.as_f64());
    let largest = figures.fold(0.0, |largest: f64, figure| largest.max(figure.abs()));
    let units: &[(f64, &'static str)] = match Unit::of_key(name) {
        Unit::Nanoseconds => &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")],
        Unit::Bytes => &[(GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1.0, "B")],
        Unit::BytesPerSecond => &[(MIB, "MiB/s"), (KIB, "KiB/s"), (1.0, "B/s")],
        Unit::Ratio | Unit::Deviation => &[(0.01, "%")],
        Unit::Count | Unit::Plain => &[(1.0, "")],
    };
    let fits = units.iter().find(|(divisor, _)| largest >= *divisor).or(units.last());
    fits.copied().unwrap_or((1.0, ""))
}

type Lines = IndexMap<String, Vec<(f64, f64)>>;

/// The points of each line by the values of the other keys, in the order of the first key's values.
fn lines(plan: &Plan<'_>, table: &Table, name: &str, positions: &Positions, divisor: f64) -> Lines {
    let mut lines = Lines::new();
    for (point, row) in table.rows.iter().enumerate() {
        let Some(figure) = row.cells.get(name).and_then(|cell| cell.value.as_f64()) else {
            continue;
        };
        let label = plan.grid.label_of_rest(point);
        let first = plan.grid.at(point).first().map_or(0.0, |index| positions.at(*index));
        lines.entry(label).or_default().push((first, figure / divisor));
    }
    for line in lines.values_mut() {
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    lines
}

/// Adds the curves to `chart`, all in one when there are too many to tell apart.
fn draw(run: &mut RunResult, chart: &mut Chart, name: &str, lines: Lines, unit: &str) {
    if lines.len() > LINES_MAX {
        let all: Vec<_> = lines.into_values().flatten().collect();
        run.plot(chart, (name, "points"), unit, Style::Points, all);
        return;
    }
    for (label, points) in lines {
        let style = if points.len() > 1 { Style::Line } else { Style::Points };
        match label.as_str() {
            "" => run.plot(chart, (name, name), unit, style, points),
            _ => run.plot(chart, (format!("{name} {label}"), label), unit, style, points),
        }
    }
}
