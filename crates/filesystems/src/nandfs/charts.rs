//! The charts of the NAND experiment.
//!
//! Layer: rank 10. Functions: [`mount`], [`throughput`], [`sizes`], [`levels`].

use super::run::measure::{Column, Mounting, PHASES, memory};
use super::tables::Ports;
use boardlab_document::error::Error;
use boardlab_experiment::reference::{Reference, ReferenceTable};
use boardlab_result::prose::{KIB, MIB, float, real, round};
use boardlab_result::{Axis, Chart, RunResult, Style};
use boardlab_sim::{Bytes, Duration};
use boardlab_vfs::Structure;

fn seconds(span: Duration) -> f64 {
    round(span.as_secs_f64(), 4)
}

/// The print, if the scenario is the published one.
pub(super) struct Print<'r>(pub(super) Option<&'r Reference>);

impl Print<'_> {
    /// The figures of a row by system; none if the scenario is another one.
    ///
    /// # Errors
    /// When the reference lacks table or row.
    fn row(&self, table: &str, row: &str) -> Result<Vec<(String, f64)>, Error> {
        let Some(reference) = self.0 else { return Ok(Vec::new()) };
        let table: &ReferenceTable = reference.table(table)?;
        let row = table.rows.iter().find(|candidate| candidate.id == row);
        let cells = row.into_iter().flat_map(|row| &row.cells);
        Ok(cells
            .filter_map(|(system, cell)| Some((system.clone(), cell.published.as_f64()?)))
            .collect())
    }
}

/// Draws mount and ls stacked: ours with both ports, and every filesystem as printed.
pub(super) fn mount(
    run: &mut RunResult,
    columns: &[Column],
    ports: Ports,
    print: &Print<'_>,
) -> Result<(), Error> {
    let mut bars = Vec::new();
    for (label, port) in ports.labelled() {
        bars.extend(columns.iter().map(|Column { system, mounting, .. }| {
            let [mount, ls] = [mounting.mount, mounting.ls].map(|run| seconds(run.with(port)));
            (format!("{system}, {label}"), mount, ls)
        }));
    }
    let printed = print.row("table3.2", "mount")?.into_iter().zip(print.row("table3.2", "ls")?);
    bars.extend(
        printed.map(|((name, mount), (_, ls))| (format!("{name}, print"), mount / 1e9, ls / 1e9)),
    );
    let caption = "What a user waits for after a start: the mount, then the first ls.";
    let axes = [Axis::fitting("filesystem"), Axis::from_zero("time (s)")];
    let mut chart = Chart::new("mount-and-ls", "Mount and ls", caption, axes);
    let mounts = bars.iter().enumerate().map(|(at, (_, mount, _))| (float(at), *mount));
    run.plot(&mut chart, ("mount", "mount"), "s", Style::Stacked, mounts);
    let lists = bars.iter().enumerate().map(|(at, (_, _, ls))| (float(at), *ls));
    run.plot(&mut chart, ("ls", "ls"), "s", Style::Stacked, lists);
    chart.categories = bars.into_iter().map(|(category, ..)| category).collect();
    run.charts.push(chart);
    Ok(())
}

/// Draws throughput by kind of data.
pub(super) fn throughput(
    run: &mut RunResult,
    columns: &[Column],
    ports: Ports,
    print: &Print<'_>,
) -> Result<(), Error> {
    let caption = "tiobench writes zeros unless it is told otherwise, and zeros compress to nearly \
                   nothing; other data tell what a product would see. percent:N is N percent random, the \
                   rest zero.";
    let axes = [Axis::fitting("test"), Axis::from_zero("throughput (MiB/s)")];
    let mut chart = Chart::new("throughput", "Throughput by kind of data", caption, axes);
    for phase in PHASES {
        let phase = phase.replace('_', " ");
        chart.categories.extend(columns.iter().map(|one| format!("{}: {phase}", one.system)));
    }
    let each = || PHASES.iter().enumerate().flat_map(|at| columns.iter().map(move |one| (at, one)));
    let kinds = columns.first().into_iter().flat_map(|one| &one.throughput);
    for (data, name) in kinds.map(|run| &run.data).enumerate() {
        let rate = |((at, _), one): ((usize, _), &Column)| {
            round(one.throughput[data].phases[at].rate(ports.board) / MIB, 3)
        };
        let points = each().enumerate().map(|(x, bar)| (float(x), rate(bar)));
        run.plot(&mut chart, (format!("throughput_{name}"), name), "MiB/s", Style::Bars, points);
    }
    let mut printed = Vec::new();
    for (x, ((_, phase), column)) in each().enumerate() {
        let row = print.row("table3.3", phase)?;
        let theirs = row.into_iter().find(|(system, _)| system == column.system);
        printed.extend(theirs.map(|(_, rate)| (float(x), rate / MIB)));
    }
    if !printed.is_empty() {
        run.plot(&mut chart, ("throughput_printed", "print"), "MiB/s", Style::Bars, printed);
    }
    run.charts.push(chart);
    Ok(())
}

/// A chart of bars: ours, and every filesystem as printed.
struct Bars<'t> {
    id: &'t str,
    title: &'t str,
    caption: &'t str,
    axis: &'t str,
    ours: Vec<(String, Bytes)>,
    printed: (&'t str, &'t str),
}

impl Bars<'_> {
    fn draw(self, run: &mut RunResult, print: &Print<'_>) -> Result<(), Error> {
        let axes = [Axis::fitting("filesystem"), Axis::from_zero(self.axis)];
        let mut chart = Chart::new(self.id, self.title, self.caption, axes);
        let ours = self.ours.into_iter().map(|(name, size)| (name, real(size))).collect();
        let printed = print.row(self.printed.0, self.printed.1)?.into_iter();
        let printed = printed.map(|(name, bytes)| (format!("{name}, print"), bytes)).collect();
        let bars: [(_, _, Vec<(String, f64)>); 2] = [
            ("ours", self.id.to_owned(), ours),
            ("print", format!("{}_printed", self.id), printed),
        ];
        for (name, id, bars) in bars {
            let mut points = Vec::new();
            for (category, bytes) in bars {
                points.push((float(chart.categories.len()), round(bytes / KIB, 1)));
                chart.categories.push(category);
            }
            if !points.is_empty() {
                // One bar a category, so stacked is in its middle.
                run.plot(&mut chart, (id, name), "KiB", Style::Stacked, points);
            }
        }
        run.charts.push(chart);
        Ok(())
    }
}

/// Draws bars of RAM and of metadata.
pub(super) fn sizes(
    run: &mut RunResult,
    columns: &[Column],
    print: &Print<'_>,
) -> Result<(), Error> {
    let reading = |when: &str, of: fn(&Mounting) -> &[Structure]| {
        let each = columns.iter();
        each.map(|one| (format!("{}, {when}", one.system), memory(of(&one.mounting))))
            .collect::<Vec<_>>()
    };
    let ram = Bars {
        id: "ram",
        title: "RAM",
        caption: "Structures of the kernel, their sizes on 32 bits times our counts.",
        axis: "memory (KiB)",
        ours: [reading("after mount", |one| &one.mounted), reading("after ls", |one| &one.listed)]
            .concat(),
        printed: ("table3.4", "ram"),
    };
    ram.draw(run, print)?;
    let metadata = |one: &Column| (one.system.to_owned(), one.capacity.metadata());
    let metadata = Bars {
        id: "metadata",
        title: "Metadata",
        caption: "What a flash filled to its capacity holds beside the content of files.",
        axis: "metadata (KiB)",
        ours: columns.iter().map(metadata).collect(),
        printed: ("table3.5", "metadata"),
    };
    metadata.draw(run, print)
}

/// Draws the mount time against the fill level.
pub(super) fn levels(run: &mut RunResult, columns: &[Column], ports: Ports) {
    let percent = |one: &Mounting| one.level.as_f64() * 100.0;
    let caption =
        "From the call of mount to its return. table3.2-levels has the pages read for it.";
    let axes = [Axis::from_zero("fill level (%)"), Axis::from_zero("time (s)")];
    let title = "Mount time against fill level";
    let mut chart = Chart::new("mount-by-level", title, caption, axes);
    for Column { system, by_level, .. } in columns {
        let styles = [("", Style::Line), ("_fitted", Style::Dashed)];
        for ((label, port), (end, style)) in ports.labelled().into_iter().zip(styles) {
            let points = by_level.iter().map(|one| (percent(one), seconds(one.mount.with(port))));
            let names = (format!("mount_by_level_{system}{end}"), format!("{system}, {label}"));
            run.plot(&mut chart, names, "s", style, points);
            if let Some(layer) = chart.layers.last_mut() {
                layer.like = Some(format!("{system}, {}", ports.label()));
            }
        }
    }
    run.charts.push(chart);
}
