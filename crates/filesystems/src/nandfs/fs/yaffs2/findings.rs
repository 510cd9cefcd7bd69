//! Why the figures of YAFFS2 differ from the print.
//!
//! Layer: rank 10. Function: [`explain`].

use crate::nandfs::findings::{Explanations, Told, joined, mib, per_byte, rate, structure};
use crate::nandfs::judgements::{Basis, Wish};
use crate::nandfs::run::measure::{PHASES, TimedWork, memory};
use boardlab_document::error::Error;
use boardlab_nand::Profile;
use boardlab_nand::ecc::Code;
use boardlab_result::prose::{float, real};
use boardlab_yaffs2::format::tags::PROTECTED;

/// The texts about YAFFS2.
pub(super) fn explain(told: &Told<'_>) -> Result<Explanations, Error> {
    Ok(Explanations {
        mount: mount(told)?,
        listing: listing(told)?,
        throughput: throughput(told)?,
        ram: ram(told)?,
        metadata: metadata(told)?,
    })
}

/// A checkpoint takes little, a scan much.
fn mount(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, ports, .. } = *told;
    let (run, port) = (&column.mounting.mount, ports.board);
    let other = |name: &str| {
        let found = told.reading(name).map(|one| &one.mounting.mount);
        found.map_or_else(String::new, |run| {
            format!("{} with {} page reads", run.with(port), run.counts.reads)
        })
    };
    Ok(format!(
        "The mount of YAFFS2 ({} printed) reads a checkpoint, for a scan took many times as long in 2008. It takes {} here. It makes {} page reads, most \
         of them of spare bytes in search of the blocks of the checkpoint, {} in all. A scan of the tags of every page takes {}; the block \
         summaries of 2010 bring it to {} (readings). The time grows with the fill level: {}. What is left of the print is the port: with \
         {:.0} ns more for each byte of the bus this mount takes the printed time.",
        print.quote("table3.2", "mount", column.system)?,
        run.with(port),
        run.counts.reads,
        mib(run.counts.bytes),
        other("scan"),
        other("scan-summaries"),
        told.mounts_by_level(),
        per_byte(run, port, print.number("table3.2", "mount", column.system)?),
    ))
}

/// A checkpoint has no attributes: the header of every file is read.
fn listing(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, .. } = *told;
    let ls = column.mounting.ls;
    Ok(format!(
        "The ls of YAFFS2 ({} printed) reads the header of every file, a page each. A checkpoint has neither names nor attributes, so there \
         are {} page reads here. The time is that of the number of files, which is not published: {}. At this rate the printed time is \
         enough for about {:.0} files, so the flash held few large ones. Files of that size also bring the RAM near the print (table3.4).",
        print.quote("table3.2", "ls", column.system)?,
        ls.counts.reads,
        told.lists_by_file(),
        told.files_of_printed_ls()?,
    ))
}

/// The only rates of the print that no compression hides.
fn throughput(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, ports, .. } = *told;
    let (Some(run), port) = (column.throughput.first(), ports.board) else {
        return Ok(String::new());
    };
    let verified = told.reading("verify-after-write").map(|one| &one.throughput);
    let needs = |phase: usize, run: &TimedWork| -> Result<f64, Error> {
        let rate = print.number("table3.3", PHASES[phase], column.system)?;
        Ok(per_byte(run, port, real(column.throughput[0].phases[phase].moved) / rate * 1e9))
    };
    let mut ours = Vec::new();
    for (at, phase) in PHASES.iter().enumerate() {
        let name = phase.replace('_', " ");
        let verified = match verified.filter(|_| at < 2) {
            Some(other) => format!(
                "; with a verify after each write {} and {:.0} ns",
                rate(other, at, ports),
                needs(at, &other.phases[at].run)?,
            ),
            None => String::new(),
        };
        ours.push(format!(
            "{name} {} (printed: {}, for which each byte of the bus would have to take {:.0} ns more{verified})",
            rate(run, at, ports),
            print.quote("table3.3", phase, column.system)?,
            needs(at, &run.phases[at].run)?,
        ));
    }
    Ok(format!(
        "The rates of YAFFS2 are those of the flash and its port, for nothing is compressed and every page goes through the bus. Zeros and \
         random data take the same time, and a data sheet's bus is many times faster than the print: {}. One slow bus would explain all of \
         them, above all with the verify after write that kernels had until 3.5, and the mount too; but the mounts of JFFS2 and UBIFS move \
         several MiB in the printed time, which that bus could not. So no constant that all filesystems share meets all of them.",
        ours.join("; "),
    ))
}

/// Objects and tnodes.
fn ram(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, .. } = *told;
    let mounted = &column.mounting.mounted;
    let by_file = column.by_file.iter().map(|one| {
        format!("{:.0} KiB with files of {}", real(memory(&one.mounted)) / 1_024.0, one.file)
    });
    let by_file: Vec<_> = by_file.collect();
    Ok(format!(
        "The printed {} of RAM of YAFFS2 are those of few large files. Every file takes an object and tnodes of its own: {}. With the files \
         of table3.2 these are the largest: {}. The tnodes alone point to every page in use, so even one file would need most of the \
         print. What ls reads adds nothing, for names and attributes have their place in the objects.",
        print.quote("table3.4", "ram", column.system)?,
        by_file.join(", "),
        joined(mounted.iter().take(4).map(structure)),
    ))
}

/// Where the space goes.
fn metadata(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, .. } = *told;
    Ok(format!(
        "The printed {} of metadata of YAFFS2 are those of a flash filled by one file or a few. Each file takes a page for its header, and \
         an unused end of its last page: {} (table3.5-files). Of the {} KiB of this run, fixed are: {}. The tags of pages are in the spare \
         bytes, which the figure leaves out.",
        print.quote("table3.5", "metadata", column.system)?,
        told.metadata_by_size(),
        column.capacity.metadata().get() / 1_024,
        told.reserved(),
    ))
}

/// The wishes of table 3.8 about YAFFS2.
pub(super) fn wishes(basis: &Basis<'_>) -> Vec<Wish> {
    let code = Code::Bch { step: 512, bits: basis.grades.spare_bits };
    let profile = Profile::with(basis.part, code, false);
    let free = profile.map_or(0, |profile| profile.layout.free_bytes());
    let life = basis.used.map(|used| Wish {
        id: "yaffs2_life",
        title: "YAFFS2: better flash life. Rated cycles that are used when the first block dies",
        unit: "ratio",
        figure: used,
        limit: basis.grades.wear.good.as_f64(),
        is_most: false,
    });
    let spare = Wish {
        id: "yaffs2_spare",
        title: "YAFFS2: no tags in the spare area where there is no room. Spare bytes that the code leaves",
        unit: "bytes",
        figure: float(u64::try_from(free).unwrap_or(u64::MAX)),
        limit: float(PROTECTED as u64),
        is_most: false,
    };
    life.into_iter().chain([spare]).collect()
}
