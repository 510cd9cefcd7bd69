//! Why the figures of UBIFS differ from the print.
//!
//! Layer: rank 10. Function: [`explain`].

use crate::nandfs::findings::{Explanations, Told, joined, mib, percent, rate, structure};
use crate::nandfs::judgements::{Basis, Wish};
use crate::nandfs::run::measure::{Chip, ChipAttach, Column, PHASES, Phase, Throughput, memory};
use boardlab_document::error::Error;
use boardlab_parts::nand::board::Port;
use boardlab_result::prose::{float, real};
use boardlab_vfs::Structure;

/// The texts about UBIFS.
pub(super) fn explain(told: &Told<'_>) -> Result<Explanations, Error> {
    Ok(Explanations {
        mount: mount(told)?,
        listing: listing(told)?,
        throughput: throughput(told)?,
        ram: ram(told)?,
        metadata: metadata(told)?,
    })
}

/// The attach is most of the mount.
fn mount(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, ports, .. } = *told;
    let run = &column.mounting;
    let port = ports.board;
    let attach = run.attach.unwrap_or_default();
    let after = run.mount.counts - attach.counts;
    let (whole, scan) = (run.mount.with(port).as_secs_f64(), attach.with(port).as_secs_f64());
    Ok(format!(
        "The mount of UBIFS ({} printed) begins with the attach of UBI, which is most of it. The attach reads the headers of \
         every block, {} page reads and {}, {} of the {:.3} s. The mount itself then reads {} pages. The attach depends on the number of \
         blocks and not on the files, so the whole grows little with the fill level: {}. The publication does not say whether its time has the attach in it; without it this \
         run would take {:.3} s, a small part of the print, so the row has it.{}",
        print.quote("table3.2", "mount", column.system)?,
        attach.counts.reads,
        mib(attach.counts.bytes),
        percent(scan / whole),
        whole,
        after.reads,
        told.mounts_by_level(),
        whole - scan,
        largest(column, port),
    ))
}

/// The attach of the largest flash that was compared.
fn largest(column: &Column, port: Port) -> String {
    let largest = column.by_chip.iter().max_by_key(|one| one.size);
    let Some(&Chip { size, attach: Some(ChipAttach { scan, map }), .. }) = largest else {
        return String::new();
    };
    let map = map.map_or_else(String::new, |map| {
        format!(", and {} by a fastmap, which kernels since 3.7 can keep", map.run.with(port))
    });
    format!(
        " A flash of {size} takes {} by scan{map}; UBI holds {} in RAM for it (table3.2-attach).",
        scan.run.with(port),
        mib(scan.memory.get()),
    )
}

/// What ls reads.
fn listing(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, .. } = *told;
    let ls = column.mounting.ls;
    Ok(format!(
        "ls of UBIFS ({} printed) waits for nothing that the mount left. It reads each directory entry and each inode by the index, {} page \
         reads here, so its time is that of the number of files, which is not published: {}. At this rate the printed time is enough for \
         about {:.0} files. Either the flash held few large ones, or the printed ls did not ask for the inodes, as ls without -l and -R does \
         not.",
        print.quote("table3.2", "ls", column.system)?,
        ls.counts.reads,
        told.lists_by_file(),
        told.files_of_printed_ls()?,
    ))
}

/// Writes go to the page cache, and zeros compress to nothing.
fn throughput(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, ports, .. } = *told;
    let told = |run: &Throughput| {
        let Phase { moved, run: timed } = run.phases[0];
        format!(
            "{}: {} programs for {moved}, {} (random {}, read back {}, random {})",
            run.data,
            timed.counts.programs,
            rate(run, 0, ports),
            rate(run, 1, ports),
            rate(run, 2, ports),
            rate(run, 3, ports),
        )
    };
    let each: Vec<_> = column.throughput.iter().map(told).collect();
    Ok(format!(
        "With the zeros that tiobench writes, the rates of UBIFS are those of the CPU. Write-back gathers the pages, LZO leaves next to \
         nothing of them, and the flash programs little. The printed {} is for sequential writes and {} for reads; here: {}. The print has UBIFS faster than JFFS2 at \
         writing, as here, but slower at reading: no data of table3.3 and no port do that, since UBIFS reads fewer pages than JFFS2 for the \
         same files (table3.3-counts) and LZO is faster than zlib. So that UBIFS, of before its release, spent CPU time that the one \
         mirrored here does not. The cycles of the CPU are assumed, not measured.",
        print.quote("table3.3", PHASES[0], column.system)?,
        print.quote("table3.3", PHASES[2], column.system)?,
        each.join("; "),
    ))
}

/// The largest structures.
fn ram(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, .. } = *told;
    let run = &column.mounting;
    let mut largest: Vec<&Structure> = run.mounted.iter().collect();
    largest.sort_by_key(|one| std::cmp::Reverse(one.total()));
    let [mounted, listed] = [&run.mounted, &run.listed].map(|all| memory(all).get());
    Ok(format!(
        "The printed {} of RAM of UBIFS and UBI stand beside {:.0} KiB after the mount and {:.0} KiB after ls here. The largest: {}. The \
         buffers of whole LEBs and the tables of UBI do not depend on the files; what the index takes grows with what was read since the \
         mount, and the publication does not say what it had read when RAM was counted.",
        print.quote("table3.4", "ram", column.system)?,
        float(mounted) / 1_024.0,
        float(listed) / 1_024.0,
        joined(largest.into_iter().take(4).map(structure)),
    ))
}

/// Where the space goes.
fn metadata(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, .. } = *told;
    let capacity = &column.capacity;
    let printed = print.number("table3.5", "metadata", column.system)?;
    let fixed: u64 = capacity.reserved.iter().map(|(_, size)| size.get()).sum();
    let whole = capacity.metadata().get();
    Ok(format!(
        "A full flash of {} holds {} KiB of metadata of UBIFS and UBI (printed: {}; ours is {:+.1} % off). Of these are fixed: {}. The other \
         {} KiB are the index, the headers of nodes, the unused ends of LEBs, the LEBs that stay free for garbage collection, deletions, \
         the index and the journal.",
        capacity.flash,
        whole / 1_024,
        print.quote("table3.5", "metadata", column.system)?,
        (float(whole) / printed - 1.0) * 100.0,
        told.reserved(),
        whole.saturating_sub(fixed) / 1_024,
    ))
}

/// The wish of table 3.8 about UBI. Its RAM grows with the flash; the limit is what would be poor in table 3.6.
pub(super) fn wishes(basis: &Basis<'_>) -> Vec<Wish> {
    let attached = basis.column.by_chip.iter().filter_map(|one| Some((one.size, one.attach?)));
    let Some((_, attach)) = attached.max_by_key(|(size, _)| *size) else { return Vec::new() };
    let wish = Wish {
        id: "ubifs_memory",
        title: "UBIFS: keep the management data of UBI on flash. RAM of UBI on the largest flash compared",
        unit: "bytes",
        figure: real(attach.scan.memory),
        limit: (basis.grades.fair.as_f64() * real(basis.least_memory)).round(),
        is_most: true,
    };
    vec![wish]
}
