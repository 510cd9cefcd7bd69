//! Findings about the print, and why the runs differ from it.
//!
//! Layer: rank 10. Main types: [`Told`], what a filesystem explains; [`Explanations`], its texts.
//! Functions: [`observations`], [`all`]. What the publication leaves open explains most differences: the
//! files that fill the flash, the port of the flash, the data that tiobench wrote, the time at which RAM
//! was counted. Each finding shows it with figures of the same run.

use super::fs::FileSystemType;
use super::run::fit::{self, Fit, Observation};
use super::run::measure::{Column, Mounting, PHASES, ReadingFigures, Throughput, TimedWork};
use super::tables::Ports;
use boardlab_document::error::Error;
use boardlab_experiment::finding::on_print;
use boardlab_experiment::reference::Reference;
use boardlab_parts::nand::board::Port;
use boardlab_result::RunResult;
use boardlab_result::prose::{MIB, float, real};
use boardlab_vfs::Structure;

/// The print and the figures of a filesystem.
pub(super) struct Told<'t> {
    pub(super) print: &'t Reference,
    pub(super) column: &'t Column,
    /// The printed times of all filesystems.
    pub(super) observations: &'t [Observation],
    pub(super) ports: Ports,
}

/// What the texts of several filesystems say in the same words.
impl Told<'_> {
    /// Another way to run the filesystem.
    pub(super) fn reading(&self, name: &str) -> Option<&ReadingFigures> {
        self.column.readings.iter().find(|one| one.name == name)
    }

    /// The mount at each fill level.
    pub(super) fn mounts_by_level(&self) -> String {
        let told =
            |one: &Mounting| format!("{} at {}", one.mount.with(self.ports.board), one.level);
        joined(self.column.by_level.iter().map(told))
    }

    /// ls with each size of files.
    pub(super) fn lists_by_file(&self) -> String {
        joined(self.column.by_file.iter().map(|one| {
            format!("{} with {} files of {}", one.ls.with(self.ports.board), one.files, one.file)
        }))
    }

    /// The number of files for which the printed time of ls is enough.
    pub(super) fn files_of_printed_ls(&self) -> Result<f64, Error> {
        let run = &self.column.mounting;
        let printed = self.print.number("table3.2", "ls", self.column.system)?;
        Ok(printed / run.ls.with(self.ports.board).as_secs_f64() / 1e9 * float(run.files))
    }

    /// The metadata of a full flash with each size of files.
    pub(super) fn metadata_by_size(&self) -> String {
        let flash = self.column.capacity.flash;
        joined(self.column.by_size.iter().map(|(file, full)| {
            let whole = full.metadata().get() / 1_024;
            match *file == flash {
                true => format!("{whole} KiB with one"),
                false => format!("{whole} KiB with files of {file}"),
            }
        }))
    }

    /// What of a full flash is kept back, whatever the files are.
    pub(super) fn reserved(&self) -> String {
        let all = self.column.capacity.reserved.iter();
        joined(all.map(|(name, size)| format!("{name} {} KiB", size.get() / 1_024)))
    }
}

/// Texts with commas between them.
pub(super) fn joined(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(", ")
}

/// A structure in RAM.
pub(super) fn structure(one: &Structure) -> String {
    format!("{} of {} ({:.0} KiB)", one.count, one.name, real(one.total()) / 1_024.0)
}

/// The nanoseconds a byte of the bus with which a run takes the printed time.
pub(super) fn per_byte(run: &TimedWork, port: Port, printed_ns: f64) -> f64 {
    (printed_ns - float(run.with(port).as_nanos())) / float(run.counts.bytes)
}

/// Why the figures of a filesystem differ from the print.
pub(super) struct Explanations {
    pub(super) mount: String,
    pub(super) listing: String,
    pub(super) throughput: String,
    pub(super) ram: String,
    pub(super) metadata: String,
}

/// Indices of the findings that explain the cells of a filesystem.
pub(super) struct Explaining {
    pub(super) system: &'static str,
    pub(super) mount: usize,
    pub(super) listing: usize,
    pub(super) throughput: usize,
    pub(super) ram: usize,
    pub(super) metadata: usize,
}

/// The time cells of `columns` as they were printed, with their names.
pub(super) fn observations(
    columns: &[Column],
    reference: &Reference,
) -> Result<(Vec<String>, Vec<Observation>), Error> {
    let (mut names, mut all) = (Vec::new(), Vec::new());
    for column in columns {
        let system = column.system;
        for (row, run) in [("mount", column.mounting.mount), ("ls", column.mounting.ls)] {
            let printed_ns = reference.number("table3.2", row, system)?;
            names.push(format!("{system}/{row}"));
            all.push(Observation { printed_ns, run });
        }
        let first = column.throughput.first().into_iter();
        for (row, phase) in first.flat_map(|run| PHASES.iter().zip(run.phases)) {
            let rate = reference.number("table3.3", row, system)?;
            let printed_ns = real(phase.moved) / rate * 1e9;
            names.push(format!("{system}/{row}"));
            all.push(Observation { printed_ns, run: phase.run });
        }
    }
    Ok((names, all))
}

/// Adds the findings about the print; those of the first filesystem about its mount answer the run.
pub(super) fn all(
    run: &mut RunResult,
    (types, columns, reference): (&[FileSystemType], &[Column], &Reference),
    (observations, fit, used): (&[Observation], &Fit, Port),
    ports: Ports,
) -> Result<Vec<Explaining>, Error> {
    let mut explaining = Vec::new();
    for column in columns {
        let named = types.iter().find(|one| one.name == column.system);
        let explain = named.expect("every column is one of them").explain;
        let told = Told { print: reference, column, observations, ports };
        let Explanations { mount, listing, throughput, ram, metadata } = explain(&told)?;
        explaining.push(Explaining {
            system: column.system,
            mount: on_print(run, mount),
            listing: on_print(run, listing),
            throughput: on_print(run, throughput),
            ram: on_print(run, ram),
            metadata: on_print(run, metadata),
        });
    }
    run.answer = explaining.first().map(|one| one.mount);
    on_print(run, port((reference, columns), observations, (ports.board, used))?);
    on_print(run, units(reference)?);
    if fit.port != used {
        run.warnings.push(format!(
            "The fitted constants of the board ({} a command, {} a byte) differ from the fit to this run ({} and {}): see table fit.",
            used.per_command, used.per_byte, fit.port.per_command, fit.port.per_byte,
        ));
    }
    Ok(explaining)
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A count of bytes in MiB.
pub(super) fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", float(bytes) / MIB)
}

fn port(
    (print, columns): (&Reference, &[Column]),
    all: &[Observation],
    (data_sheet, fitted): (Port, Port),
) -> Result<String, Error> {
    let told = |one: &Column| -> Result<String, Error> {
        let mount = one.mounting.mount;
        Ok(format!(
            "the mount of {} takes {} (printed: {}) for {} commands, {} page reads and {}",
            one.system,
            mount.with(data_sheet),
            print.quote("table3.2", "mount", one.system)?,
            mount.counts.commands,
            mount.counts.reads,
            mib(mount.counts.bytes),
        ))
    };
    let each = columns.iter().map(told).collect::<Result<Vec<_>, _>>()?;
    Ok(format!(
        "The printed times do not determine the unpublished port of the flash. Two constants of the board were fitted once to all {} time \
         cells of all filesystems together: {} a command and {} a byte, which leave a residual of {} (the data sheet alone: {}). The rows \
         disagree: a port slow enough for the mounts would make the runs of ls, which take too long already, longer still. Rows with the \
         fitted port are inputs that prove nothing. With the part's own bus cycles alone and the files of this run \
         {}; those counts do not depend on the platform.",
        all.len(),
        fitted.per_command,
        fitted.per_byte,
        percent(fit::residual(all, fitted)),
        percent(fit::residual(all, data_sheet)),
        each.join(", "),
    ))
}

/// The rate of a phase with the part as in its data sheet.
pub(super) fn rate(run: &Throughput, phase: usize, ports: Ports) -> String {
    format!("{:.3} MiB/s", run.phases[phase].rate(ports.board) / MIB)
}

fn units(print: &Reference) -> Result<String, Error> {
    Ok(format!(
        "MB/s of the print are MiB/s, because tiobench divides by 2^20. Its KB are KiB, because {} are {} of the flash.",
        print.quote("table3.5", "metadata", "jffs2")?,
        print.quote("table3.5", "share", "jffs2")?,
    ))
}
