//! Findings about the print, and why the runs differ from it.
//!
//! Layer: rank 10. Functions: [`observations`], [`all`]. What the publication leaves open explains most
//! differences: the files that fill the flash, the port of the flash, the data that tiobench wrote, the
//! time at which RAM was counted. Each finding shows it with figures of the same run.

use super::run::fit::{self, Fit, Observation};
use super::run::measure::{Column, Mounting, PHASES, Phase, Throughput, memory};
use super::tables::Ports;
use boardlab_document::error::Error;
use boardlab_experiment::finding::on_print;
use boardlab_experiment::reference::Reference;
use boardlab_parts::nand::board::Port;
use boardlab_result::RunResult;
use boardlab_result::prose::{MIB, float, real};
use boardlab_sim::Bytes;

/// Indices of the findings that explain the cells of a filesystem.
pub(super) struct Explaining {
    pub(super) system: &'static str,
    pub(super) data: usize,
    pub(super) listing: usize,
    pub(super) zeros: usize,
    pub(super) readings: usize,
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

/// Adds the findings about the print.
pub(super) fn all(
    run: &mut RunResult,
    (columns, reference): (&[Column], &Reference),
    (observations, fit): (&[Observation], &Fit),
    ports: Ports,
) -> Result<Vec<Explaining>, Error> {
    let mut explaining = Vec::new();
    for column in columns {
        let ram = reference.number("table3.4", "ram", column.system)?;
        let data = on_print(run, data(reference, (column, ram), ports)?);
        run.answer = Some(data);
        let listing = on_print(run, listing(reference, (column, observations), ports)?);
        let zeros = on_print(run, zeros(reference, column, ports)?);
        let readings = on_print(run, readings(reference, column, ram)?);
        let full = reference.number("table3.5", "metadata", column.system)?;
        let metadata = on_print(run, metadata(reference, column, full)?);
        let system = column.system;
        on_print(run, port(reference, column, observations, ports)?);
        explaining.push(Explaining { system, data, listing, zeros, readings, metadata });
    }
    on_print(run, units(reference)?);
    if fit.port != ports[1] {
        run.warnings.push(format!(
            "The fitted constants of the board ({} a command, {} a byte) differ from the fit to this run ({} and {}): see table fit.",
            ports[1].per_command, ports[1].per_byte, fit.port.per_command, fit.port.per_byte,
        ));
    }
    Ok(explaining)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A count of bytes in MiB.
fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", float(bytes) / MIB)
}

fn port(
    print: &Reference,
    column: &Column,
    all: &[Observation],
    [data_sheet, fitted]: Ports,
) -> Result<String, Error> {
    let Mounting { mount, .. } = &column.mounting;
    Ok(format!(
        "Fitting the unpublished port of the flash lowers the residual only from {} to {}. A port slow enough for the mount would make ls, \
         which takes too long already, longer still. So the figures do not determine the port, and rows with the fitted one are inputs \
         that prove nothing. With the part's own bus cycles alone and the files of this run the mount takes {} (printed: {}) for {} \
         commands, {} page reads and {}; those counts do not depend on the platform. Two constants of the board were fitted once to all {} \
         time cells together: {} a command and {} a byte.",
        percent(fit::residual(all, data_sheet)),
        percent(fit::residual(all, fitted)),
        mount.with(data_sheet),
        print.quote("table3.2", "mount", column.system)?,
        mount.counts.commands,
        mount.counts.reads,
        mib(mount.counts.bytes),
        all.len(),
        fitted.per_command,
        fitted.per_byte,
    ))
}

/// The seconds of a mount of `run`, and the bytes of RAM after it.
fn size(run: &Mounting, port: Port) -> (f64, f64) {
    (run.mount.with(port).as_secs_f64(), real(memory(&run.mounted)))
}

/// The effect of the data in the files on mount and RAM; `printed` is the RAM of the print.
fn data(
    print: &Reference,
    (column, printed): (&Column, f64),
    [data_sheet, _]: Ports,
) -> Result<String, Error> {
    let told = |one: &Mounting| {
        let (mounted, listed) = (memory(&one.mounted).get(), memory(&one.listed).get());
        format!(
            "{}: {} files, mount {}, ls {}, RAM {} and after ls {}",
            one.data,
            one.files,
            one.mount.with(data_sheet),
            one.ls.with(data_sheet),
            mib(mounted),
            mib(listed),
        )
    };
    let each: Vec<_> = column.by_data.iter().map(told).collect();
    let sizes = || column.by_data.iter().map(|one| size(one, data_sheet));
    let more = sizes().max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or_default();
    let less = sizes().min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or_default();
    let per_byte = (more.0 - less.0) / (more.1 - less.1);
    let (seconds, bytes) = size(&column.mounting, data_sheet);
    let level = column.by_data.first().map_or_else(String::new, |one| one.level.to_string());
    Ok(format!(
        "The contents of the files, which are not published, move the mount time most: from {:.2} s to {:.2} s. JFFS2 writes at most a \
         page of 4 KiB as one node. At the same fill level the flash therefore holds more nodes the better the data compress, and each \
         node costs time and RAM. With the flash {level} full: {}. From the least RAM to the most the mount grows by {:.2} s for each MiB. \
         Files with enough nodes to fill the printed {} of RAM would thus mount in about {:.1} s (printed: {}; {seconds:.1} s with the \
         files of table3.2).",
        less.0,
        more.0,
        each.join("; "),
        per_byte * MIB,
        print.quote("table3.4", "ram", column.system)?,
        seconds + (printed - bytes) * per_byte,
        print.quote("table3.2", "mount", column.system)?,
    ))
}

fn listing(
    print: &Reference,
    (column, observations): (&Column, &[Observation]),
    [data_sheet, _]: Ports,
) -> Result<String, Error> {
    let told = |one: &Mounting| {
        format!("{} with {} files of {}", one.ls.with(data_sheet), one.files, one.file)
    };
    let each: Vec<_> = column.by_file.iter().map(told).collect();
    let ls = column.mounting.ls;
    let printed =
        observations.iter().find(|one| one.run == ls).map_or(f64::NAN, |one| one.printed_ns);
    let seconds = printed / 1e9;
    let moved = float(ls.counts.bytes) / ls.with(data_sheet).as_secs_f64() * seconds / MIB;
    Ok(format!(
        "In the printed {} of ls this bus moves {moved:.0} MiB, but here ls reads {}. After a mount JFFS2 checks every inode, and for that \
         it reads every node with its data, {} pages here. How long ls waits depends on files that the publication does not describe: at \
         the same fill level it takes {}. Either the bus was faster, or ls did not wait for all files. Compressible data make it take \
         longer still (table3.2-data).",
        print.quote("table3.2", "ls", column.system)?,
        mib(ls.counts.bytes),
        ls.counts.reads,
        each.join(", "),
    ))
}

fn rate(run: &Throughput, phase: usize, ports: Ports) -> String {
    format!("{:.3} MiB/s", run.phases[phase].rate(ports[0]) / MIB)
}

fn zeros(print: &Reference, column: &Column, ports: Ports) -> Result<String, Error> {
    let printed = print.quote("table3.3", PHASES[0], column.system)?;
    let told = |run: &Throughput| {
        let Phase { moved, run: timed } = run.phases[0];
        format!(
            "{}: {} programs for {moved}, {} ({} read back)",
            run.data,
            timed.counts.programs,
            rate(run, 0, ports),
            rate(run, 2, ports),
        )
    };
    let each: Vec<_> = column.throughput.iter().map(told).collect();
    Ok(format!(
        "The printed {printed} of tiobench measures the CPU, above all deflate, and says little of the \
         flash. tiobench fills its buffer only on request, so it writes zeros, which compress to nearly \
         nothing. Sequential writes here: {}. The cycles of the CPU are assumed, not measured.",
        each.join("; "),
    ))
}

fn readings(print: &Reference, column: &Column, printed: f64) -> Result<String, Error> {
    let run = &column.mounting;
    // The structure of which each node has one.
    let nodes = run.mounted.iter().max_by_key(|one| one.total());
    let (name, size, count) = nodes.map_or(("", 1, 0), |one| (one.name, one.size.get(), one.count));
    let (rest, size) = (float(memory(&run.mounted).get() - size * count), float(size));
    Ok(format!(
        "The printed {} of RAM can be the state after the mount (here {}) or after ls (here {}). The former would need {:.0} of {name} \
         where there are {count}: that many small nodes come from data that compress well. The latter follows from ls reading every inode, \
         and with files of {} it is {}. The files decide; table3.2-files and table3.2-data show both readings with other files.",
        print.quote("table3.4", "ram", column.system)?,
        mib(memory(&run.mounted).get()),
        mib(memory(&run.listed).get()),
        ((printed - rest) / size).max(0.0),
        column.by_file.last().map_or_else(String::new, |one| one.file.to_string()),
        column.by_file.last().map_or_else(String::new, |one| mib(memory(&one.listed).get())),
    ))
}

fn metadata(print: &Reference, column: &Column, printed: f64) -> Result<String, Error> {
    let capacity = &column.capacity;
    let kib = |size: Bytes| size.get() / 1_024;
    Ok(format!(
        "A full flash of {} holds {} KiB of metadata (printed: {}; ours is {:+.1} % off). It holds {} KiB of \
         incompressible file content besides. Metadata is the header of every node, the summary and the \
         unused end of every block, and the blocks that garbage collection keeps free.",
        capacity.flash,
        kib(capacity.metadata()),
        print.quote("table3.5", "metadata", column.system)?,
        (real(capacity.metadata()) / printed - 1.0) * 100.0,
        kib(capacity.stored),
    ))
}

fn units(print: &Reference) -> Result<String, Error> {
    Ok(format!(
        "MB/s of the print are MiB/s, because tiobench divides by 2^20. Its KB are KiB, because {} are {} of the flash.",
        print.quote("table3.5", "metadata", "jffs2")?,
        print.quote("table3.5", "share", "jffs2")?,
    ))
}
