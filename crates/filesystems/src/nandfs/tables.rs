//! Tables 3.2 to 3.5 of the publication, each with the work of the flash for it.
//!
//! Layer: rank 10. Functions: [`mountings_and_counts`], [`throughputs`], [`ram`], [`structures`],
//! [`metadata`], [`fitted`].

use super::run::fit::{self, Fit, Observation};
use super::run::measure::{
    Attach, ChipAttach, Column, Mounting, PHASES, ReadingFigures, TimedWork, memory,
};
use boardlab_parts::nand::board::{BoardSpec, Port};
use boardlab_result::prose::round;
use boardlab_result::{Cell, Row, Table};
use boardlab_sim::{Bytes, Duration};
use boardlab_workload::data::Sample;

/// The ports with which times are told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    /// That of the board.
    pub(super) board: Port,
    /// The one fitted to published figures, where there is one.
    pub(super) fitted: Option<Port>,
}

impl Ports {
    /// The ports of a board.
    pub(super) const fn of(board: &BoardSpec) -> Self {
        Self { board: board.port, fitted: board.fitted }
    }

    /// What the times of the board's port stand for.
    pub(super) fn label(self) -> &'static str {
        if self.board == Port::default() { "data sheet" } else { "port of the board" }
    }

    /// The ports with what they are called: that of the board first.
    pub(super) fn labelled(self) -> Vec<(&'static str, Port)> {
        let fitted = self.fitted.map(|fitted| ("fitted port", fitted));
        [(self.label(), self.board)].into_iter().chain(fitted).collect()
    }

    fn title(self, what: &str) -> String {
        let port =
            if self.board == Port::default() { "part as in its data sheet" } else { self.label() };
        format!("{what}, {port}")
    }
}

fn time(span: Duration) -> Cell {
    Cell::int(span.as_nanos())
}

fn size(bytes: Bytes) -> Cell {
    Cell::int(bytes.get())
}

/// A row of a table with a column for each filesystem: its id, title, unit and cell.
pub(super) type SystemRow<'r> = (&'r str, &'r str, &'r str, &'r dyn Fn(&Column) -> Cell);

/// A table with a column for each filesystem.
pub(super) fn by_system(
    id: &str,
    title: &str,
    columns: &[Column],
    rows: &[SystemRow<'_>],
) -> Table {
    let empty = Table::new(id, title);
    let mut table = columns.iter().fold(empty, |table, one| table.column(one.system, one.system));
    for (id, title, unit, cell) in rows {
        let row = Row::new(*id, *title).of_unit(*unit);
        table.rows.push(columns.iter().fold(row, |row, one| row.cell(one.system, cell(one))));
    }
    table
}

/// `table` with its rows at the head of a report.
pub(crate) fn at_the_head(mut table: Table) -> Table {
    table.rows = table.rows.into_iter().map(Row::at_the_head).collect();
    table
}

/// Table 3.2, and the tables that explain it.
pub(super) fn mountings_and_counts(columns: &[Column], ports: Ports) -> Vec<Table> {
    let port = ports.board;
    let named = |runs: fn(&Column) -> &[Mounting], name: fn(&Mounting) -> String| {
        let each =
            columns.iter().flat_map(|one| runs(one).iter().map(move |run| (one.system, run)));
        each.map(|(system, run)| (format!("{system}/{}", name(run)), run.clone()))
            .collect::<Vec<_>>()
    };
    let files = named(|one| &one.by_file, |run| run.file.to_string());
    let levels = named(|one| &one.by_level, |run| run.level.to_string());
    let data = named(|one| &one.by_data, |run| run.data.clone());
    let level = columns.iter().find_map(|one| one.by_data.first());
    let level = level.map_or_else(String::new, |run| format!(", flash {} full", run.level));
    let by_data = format!("Mount and ls by data in the files{level}");
    let fitted = ports
        .fitted
        .map(|fitted| mount("table3.2-fitted", "Mount and ls, fitted port", columns, fitted));
    let first = mount("table3.2", &ports.title("Mount and ls"), columns, port);
    [at_the_head(first)]
        .into_iter()
        .chain(fitted)
        .chain([
            mount_counts(columns, ports),
            mountings("table3.2-files", "Mount and ls by size of the files", &files, port),
            mountings("table3.2-levels", "Mount and ls by fill level", &levels, port),
            mountings("table3.2-data", &by_data, &data, port),
            chips(columns, port),
        ])
        .chain(attaches(columns, port))
        .collect()
}

/// The mount of an empty filesystem by size of the flash.
fn chips(columns: &[Column], port: Port) -> Table {
    let rows = columns.iter().flat_map(|one| {
        one.by_chip.iter().map(|run| (Row::new(format!("{}/{}", one.system, run.size), ""), run))
    });
    Table::new("table3.2-chips", "Mount of an empty filesystem by size of the flash")
        .of(rows)
        .column("mount_ns", "mount", |run| time(run.mount.with(port)))
        .column("mount_reads_count", "page reads", |run| Cell::int(run.mount.counts.reads))
        .table()
}

/// The attach of a volume manager by size of the flash, where there is one.
fn attaches(columns: &[Column], port: Port) -> Option<Table> {
    let rows = columns.iter().flat_map(|one| {
        let each = one
            .by_chip
            .iter()
            .filter_map(|run| run.attach.as_ref().map(|attach| (run.size, attach)));
        each.map(|(size, attach)| (Row::new(format!("{}/{size}", one.system), ""), attach))
    });
    let with_map = |cell: fn(&Attach, Port) -> Cell| {
        move |run: &&ChipAttach| run.map.as_ref().map_or_else(Cell::none, |map| cell(map, port))
    };
    let table = Table::new("table3.2-attach", "Attach of UBI by size of the flash")
        .of(rows)
        .column("scan_ns", "attach by scan", |run| time(run.scan.run.with(port)))
        .column("scan_reads_count", "page reads", |run| Cell::int(run.scan.run.counts.reads))
        .column("map_ns", "attach by fastmap", with_map(|map, port| time(map.run.with(port))))
        .column("map_reads_count", "page reads", with_map(|map, _| Cell::int(map.run.counts.reads)))
        .column("memory_bytes", "RAM of UBI", |run| size(run.scan.memory))
        .table();
    (!table.rows.is_empty()).then_some(table)
}

/// Table 3.3 for each kind of data, and the counts for it. The first kind is that of the print.
pub(super) fn throughputs(columns: &[Column], ports: Ports) -> Vec<Table> {
    let kinds = columns.first().into_iter().flat_map(|one| &one.throughput);
    let mut all = Vec::new();
    for (index, data) in kinds.map(|run| &run.data).enumerate() {
        let title = ports.title(&format!("tiobench, data: {data}"));
        let id = match index {
            0 => "table3.3".into(),
            _ => format!("table3.3-{}", data.replace(':', "-")),
        };
        let table = throughput(&id, &title, (columns, index), ports.board);
        if index > 0 {
            all.push(table);
        } else {
            all.push(at_the_head(table));
            let title = format!("tiobench, data: {data}, fitted port");
            all.extend(
                ports
                    .fitted
                    .map(|fitted| throughput("table3.3-fitted", &title, (columns, index), fitted)),
            );
        }
    }
    all.push(throughput_counts(columns, ports));
    all
}

/// Table 3.2 with a port of the board.
fn mount(id: &str, title: &str, columns: &[Column], port: Port) -> Table {
    let ls = "waits for what the mount left to do";
    let rows: [SystemRow<'_>; 2] = [
        ("mount", "mount, with the attach of UBI", "ns", &|one| {
            time(one.mounting.mount.with(port))
        }),
        ("ls", ls, "ns", &|one| time(one.mounting.ls.with(port))),
    ];
    by_system(id, title, columns, &rows)
}

/// Table 3.3 of the kind of data with this index, with a port of the board.
fn throughput(id: &str, title: &str, (columns, data): (&[Column], usize), port: Port) -> Table {
    let rate = |at: usize| {
        move |one: &Column| Cell::real(one.throughput[data].phases[at].rate(port).round())
    };
    let (titles, rates) = (PHASES.map(|id| id.replace('_', " ")), [0, 1, 2, 3].map(rate));
    let row = |at: usize| -> SystemRow<'_> { (PHASES[at], &titles[at], "bytes_per_s", &rates[at]) };
    by_system(id, title, columns, &[0, 1, 2, 3].map(row))
}

/// A table of times with the work of the flash for each of `runs`.
fn counts<'c>(
    id: &str,
    title: &str,
    columns: &[Column],
    ports: Ports,
    runs: impl Iterator<Item = (String, &'c Column, &'c TimedWork)>,
) -> Table {
    let table = Table::new(id, title)
        .of(runs.map(|(id, column, run)| (Row::new(id, ""), (column, run))))
        .column("time_ns", ports.label(), |(_, run)| time(run.with(ports.board)));
    let table = match ports.fitted {
        Some(fitted) => table.column("fitted_ns", "fitted port", |(_, run)| time(run.with(fitted))),
        None => table,
    };
    let table = table
        .column("commands_count", "commands", |(_, run)| Cell::int(run.counts.commands))
        .column("moved_bytes", "bytes", |(_, run)| Cell::int(run.counts.bytes))
        .column("reads_count", "page reads", |(_, run)| Cell::int(run.counts.reads))
        .column("programs_count", "programs", |(_, run)| Cell::int(run.counts.programs))
        .column("erases_count", "erases", |(_, run)| Cell::int(run.counts.erases));
    let corrected = |(column, run): &(&Column, &TimedWork)| {
        column.errors.then(|| Cell::int(run.counts.corrected))
    };
    match columns.iter().any(|one| one.errors) {
        true => table.column("corrected_count", "corrected bits", corrected).table(),
        false => table.table(),
    }
}

/// The work of the flash for table 3.2.
fn mount_counts(columns: &[Column], ports: Ports) -> Table {
    let runs = columns.iter().flat_map(|one| {
        let Mounting { mount, ls, attach, .. } = &one.mounting;
        let all = [("attach", attach.as_ref()), ("mount", Some(mount)), ("ls", Some(ls))];
        all.into_iter()
            .filter_map(move |(id, run)| Some((format!("{}/{id}", one.system), one, run?)))
    });
    counts("table3.2-counts", "What the flash did for mount and ls", columns, ports, runs)
}

/// The work of the flash for table 3.3, for every kind of data.
fn throughput_counts(columns: &[Column], ports: Ports) -> Table {
    let runs = columns.iter().flat_map(|one| one.throughput.iter().map(move |run| (one, run)));
    let runs = runs.flat_map(|(column, run)| {
        let id = move |id: &&str| format!("{}/{}/{id}", column.system, run.data);
        PHASES.iter().zip(&run.phases).map(move |(phase, did)| (id(phase), column, &did.run))
    });
    counts("table3.3-counts", "What the flash did for tiobench", columns, ports, runs)
}

/// Mount and ls by the files and data that fill the flash.
fn mountings(id: &str, title: &str, runs: &[(String, Mounting)], port: Port) -> Table {
    Table::new(id, title)
        .of(runs.iter().map(|(id, run)| (Row::new(id, ""), run)))
        .column("files_count", "files", |run| Cell::int(run.files))
        .column("mount_ns", "mount", |run| time(run.mount.with(port)))
        .column("ls_ns", "ls", |run| time(run.ls.with(port)))
        .column("mount_reads_count", "page reads of mount", |run| Cell::int(run.mount.counts.reads))
        .column("ls_reads_count", "page reads of ls", |run| Cell::int(run.ls.counts.reads))
        .column("mounted_bytes", "RAM after mount", |run| size(memory(&run.mounted)))
        .column("listed_bytes", "RAM after ls", |run| size(memory(&run.listed)))
        .table()
}

/// Table 3.4: after the mount as printed, and after every inode was read.
pub(super) fn ram(columns: &[Column]) -> Table {
    let (mount, ls) = ("after the mount", "after ls has read every inode");
    let rows: [SystemRow<'_>; 2] = [
        ("ram", mount, "bytes", &|one| size(memory(&one.mounting.mounted))),
        ("ram_after_ls", ls, "bytes", &|one| size(memory(&one.mounting.listed))),
    ];
    by_system("table3.4", "RAM of the structures built at mount", columns, &rows)
}

/// The structures behind table 3.4.
pub(super) fn structures(columns: &[Column]) -> Table {
    let rows = columns.iter().flat_map(|column| {
        let Mounting { mounted, listed, .. } = &column.mounting;
        listed.iter().map(|one| {
            let before = mounted.iter().find(|other| other.name == one.name);
            let row = Row::new(format!("{}/{}", column.system, one.name), "");
            (row, (one, before.map_or(0, |before| before.count)))
        })
    });
    Table::new("table3.4-structures", "The structures in RAM")
        .of(rows)
        .column("each_bytes", "size of one", |(one, _)| size(one.size))
        .column("mounted_count", "after mount", |(_, mounted)| Cell::int(*mounted))
        .column("mounted_bytes", "memory", |(one, mounted)| size(one.size * *mounted))
        .column("listed_count", "after ls", |(one, _)| Cell::int(one.count))
        .column("listed_bytes", "memory", |(one, _)| size(one.total()))
        .table()
}

/// Table 3.5.
pub(super) fn metadata(columns: &[Column]) -> Table {
    let title = "Metadata in the data area, flash filled to capacity";
    let share = |one: &Column| Cell::real(round(one.capacity.share(), 5));
    let rows: [SystemRow<'_>; 2] = [
        ("metadata", "all but file content", "bytes", &|one| size(one.capacity.metadata())),
        ("share", "of the flash", "ratio", &share),
    ];
    by_system("table3.5", title, columns, &rows)
}

/// Table 3.5 by size of the files.
pub(super) fn metadata_by_size(columns: &[Column]) -> Table {
    let rows = columns.iter().flat_map(|column| {
        column.by_size.iter().map(|(file, capacity)| {
            let name = if *file == capacity.flash { "one file".into() } else { file.to_string() };
            (Row::new(format!("{}/{name}", column.system), ""), capacity)
        })
    });
    Table::new("table3.5-files", "Metadata by size of the files, flash filled to capacity")
        .of(rows)
        .column("metadata_bytes", "metadata", |one| size(one.metadata()))
        .column("share_ratio", "of the flash", |one| Cell::real(round(one.share(), 5)))
        .table()
}

/// All figures of the ways to run a filesystem that the publication leaves open.
pub(super) fn readings(columns: &[Column], ports: Ports) -> Option<Table> {
    let port = ports.board;
    let rows = columns.iter().flat_map(|one| one.readings.iter().map(move |run| (one.system, run)));
    let rows = rows.map(|(system, run)| (Row::new(format!("{system}/{}", run.name), ""), run));
    let rate = |at: usize| {
        move |run: &&ReadingFigures| Cell::real(run.throughput.phases[at].rate(port).round())
    };
    let table = Table::new("readings", ports.title("Ways to run a filesystem")).of(rows).column(
        "mount_ns",
        "mount",
        |run| time(run.mounting.mount.with(port)),
    );
    let mount = |fitted| move |run: &&ReadingFigures| time(run.mounting.mount.with(fitted));
    let table = match ports.fitted {
        Some(fitted) => table.column("mount_fitted_ns", "fitted port", mount(fitted)),
        None => table,
    };
    let table = table
        .column("mount_reads_count", "page reads", |run| Cell::int(run.mounting.mount.counts.reads))
        .column("ls_ns", "ls", |run| time(run.mounting.ls.with(port)))
        .column("sequential_write_bytes_per_s", "sequential write", rate(0))
        .column("random_write_bytes_per_s", "random write", rate(1))
        .column("sequential_read_bytes_per_s", "sequential read", rate(2))
        .column("random_read_bytes_per_s", "random read", rate(3))
        .column("mounted_bytes", "RAM", |run| size(memory(&run.mounting.mounted)))
        .column("metadata_bytes", "metadata", |run| size(run.capacity.metadata()))
        .table();
    (!table.rows.is_empty()).then_some(table)
}

/// What the samples of the user's own files are of; `None` without any.
pub(crate) fn samples(samples: &[&Sample]) -> Option<Table> {
    let rows = samples.iter().map(|sample| (Row::new(sample.name.as_str(), ""), *sample));
    let table = Table::new(
        "samples",
        "Samples of your own files; of a large folder, pieces at even distances",
    )
    .of(rows)
    .column("files_count", "files", |sample| Cell::int(sample.files.len() as u64))
    .column("total_bytes", "bytes", |sample| size(sample.total))
    .column("taken_bytes", "taken", |sample| size(Bytes::of(&sample.bytes)))
    .column("others_count", "links and devices, left out", |sample| Cell::int(sample.others as u64))
    .table();
    (!samples.is_empty()).then_some(table)
}

/// The observations, the fitted constants, and the residuals.
pub(super) fn fitted(
    names: &[String],
    all: &[Observation],
    fit: &Fit,
    (data_sheet, used): (Port, Port),
) -> Table {
    let mut table = Table::new("fit", "Two platform constants fitted to all time cells at once")
        .column("per_command_ns", "a command")
        .column("per_byte_ns", "a byte")
        .column("printed_ns", "print")
        .column("data_sheet_ns", "data sheet")
        .column("data_sheet_off_ratio", "off by")
        .column("fitted_ns", "fitted")
        .column("fitted_off_ratio", "off by");
    for (name, one) in names.iter().zip(all) {
        table.rows.push(
            Row::new(name, "")
                .cell("printed_ns", Cell::real(one.printed_ns.round()))
                .cell("data_sheet_ns", time(one.run.with(data_sheet)))
                .cell("data_sheet_off_ratio", Cell::real(round(fit::relative(one, data_sheet), 4)))
                .cell("fitted_ns", time(one.run.with(used)))
                .cell("fitted_off_ratio", Cell::real(round(fit::relative(one, used), 4))),
        );
    }
    let constants = |id: &str, title: &str, port: Port| {
        Row::new(id, title)
            .cell("per_command_ns", time(port.per_command))
            .cell("per_byte_ns", time(port.per_byte))
    };
    let rms = |port| Cell::real(round(fit::residual(all, port), 4));
    let left = "what is left of all";
    let row = constants("used", left, used);
    table.rows.push(
        row.cell("data_sheet_off_ratio", rms(data_sheet)).cell("fitted_off_ratio", rms(used)),
    );
    let row = constants("refitted", "fitted to this run", fit.port);
    table.rows.push(row.cell("fitted_off_ratio", Cell::real(round(fit.residual, 4))));
    table
}
