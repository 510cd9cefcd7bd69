//! Why the figures of JFFS2 differ from the print.
//!
//! Layer: rank 10. Function: [`explain`].

use crate::nandfs::findings::{Explanations, Told, mib, rate};
use crate::nandfs::run::measure::{Column, Mounting, PHASES, Phase, Throughput, memory};
use crate::nandfs::tables::Ports;
use boardlab_document::error::Error;
use boardlab_experiment::reference::Reference;
use boardlab_parts::nand::board::Port;
use boardlab_result::prose::{MIB, float, real};
use boardlab_sim::Bytes;

/// The texts about JFFS2.
pub(super) fn explain(told: &Told<'_>) -> Result<Explanations, Error> {
    let Told { print, column, ports, .. } = *told;
    let ram = print.number("table3.4", "ram", column.system)?;
    let full = print.number("table3.5", "metadata", column.system)?;
    Ok(Explanations {
        mount: data(print, (column, ram), ports)?,
        listing: listing(told)?,
        throughput: zeros(print, column, ports)?,
        ram: readings(print, column, ram)?,
        metadata: metadata(print, column, full)?,
    })
}

/// The seconds of a mount of `run`, and the bytes of RAM after it.
fn size(run: &Mounting, port: Port) -> (f64, f64) {
    (run.mount.with(port).as_secs_f64(), real(memory(&run.mounted)))
}

/// The effect of the data in the files on mount and RAM; `printed` is the RAM of the print.
fn data(
    print: &Reference,
    (column, printed): (&Column, f64),
    ports: Ports,
) -> Result<String, Error> {
    let told = |one: &Mounting| {
        let (mounted, listed) = (memory(&one.mounted).get(), memory(&one.listed).get());
        format!(
            "{}: {} files, mount {}, ls {}, RAM {} and after ls {}",
            one.data,
            one.files,
            one.mount.with(ports.board),
            one.ls.with(ports.board),
            mib(mounted),
            mib(listed),
        )
    };
    let each: Vec<_> = column.by_data.iter().map(told).collect();
    let sizes = || column.by_data.iter().map(|one| size(one, ports.board));
    let more = sizes().max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or_default();
    let less = sizes().min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or_default();
    let per_byte = (more.0 - less.0) / (more.1 - less.1);
    let (seconds, bytes) = size(&column.mounting, ports.board);
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

fn listing(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, observations, ports } = *told;
    let port = ports.board;
    let ls = column.mounting.ls;
    let printed =
        observations.iter().find(|one| one.run == ls).map_or(f64::NAN, |one| one.printed_ns);
    let seconds = printed / 1e9;
    let moved = float(ls.counts.bytes) / ls.with(port).as_secs_f64() * seconds / MIB;
    Ok(format!(
        "In the printed {} of ls this bus moves {moved:.0} MiB, but here ls reads {}. After a mount JFFS2 checks every inode, and for that \
         it reads every node with its data, {} pages here. How long ls waits depends on files that the publication does not describe: at \
         the same fill level it takes {}. Either the bus was faster, or ls did not wait for all files. Compressible data make it take \
         longer still (table3.2-data).",
        print.quote("table3.2", "ls", column.system)?,
        mib(ls.counts.bytes),
        ls.counts.reads,
        told.lists_by_file(),
    ))
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
