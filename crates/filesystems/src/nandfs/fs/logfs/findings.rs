//! Why the figures of LogFS differ from the print.
//!
//! Layer: rank 10. Function: [`explain`].

use crate::nandfs::findings::{Explanations, Told, joined, mib, per_byte, rate, structure};
use crate::nandfs::judgements::{Basis, Wish};
use crate::nandfs::run::measure::{PHASES, memory};
use boardlab_document::error::Error;
use boardlab_result::prose::real;

/// The texts about LogFS.
pub(super) fn explain(told: &Told<'_>) -> Result<Explanations, Error> {
    Ok(Explanations {
        mount: mount(told)?,
        listing: listing(told)?,
        throughput: throughput(told)?,
        ram: ram(told)?,
        metadata: metadata(told)?,
    })
}

/// The same on every flash.
fn mount(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, ports, .. } = *told;
    let (run, port) = (&column.mounting.mount, ports.board);
    Ok(format!(
        "The mount of LogFS ({} printed) reads two superblocks, the journal and a few blocks. Of the journal there are the headers of its segments \
         and one segment, and the blocks are of the segment file; one pass of garbage collection follows. Here that is {} page reads, {} \
         programs, {} erases and {}, in {}. It does not grow with the files or the flash, but by what that pass finds ({}): the shortest mount \
         of the four, as in the print. With {:.0} ns more for each byte of the bus it takes the printed time.",
        print.quote("table3.2", "mount", column.system)?,
        run.counts.reads,
        run.counts.programs,
        run.counts.erases,
        mib(run.counts.bytes),
        run.with(port),
        told.mounts_by_level(),
        per_byte(run, port, print.number("table3.2", "mount", column.system)?),
    ))
}

/// An inode is an object of 228 bytes.
fn listing(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, .. } = *told;
    let ls = column.mounting.ls;
    Ok(format!(
        "The ls of LogFS ({} printed) reads an entry and an inode of every file. They are 294 and 228 bytes, of which many share a page, so that \
         there are {} page reads for {} files. The time is that of the number of files, which is not published: {}. At this rate the printed time is \
         enough for about {:.0} files, so the flash held few large ones, as the ls of YAFFS2 says too.",
        print.quote("table3.2", "ls", column.system)?,
        ls.counts.reads,
        column.mounting.files,
        told.lists_by_file(),
        told.files_of_printed_ls()?,
    ))
}

/// Blocks of 4 KiB, and one object after another.
fn throughput(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, ports, .. } = *told;
    let Some(run) = column.throughput.first() else { return Ok(String::new()) };
    let zlib = told.reading("zlib").map(|one| &one.throughput);
    let mut ours = Vec::new();
    for (at, phase) in PHASES.iter().enumerate() {
        let name = phase.replace('_', " ");
        let packed = zlib.map_or_else(String::new, |other| {
            format!(", with compression {}", rate(other, at, ports))
        });
        ours.push(format!(
            "{name} {}{packed} ({} printed)",
            rate(run, at, ports),
            print.quote("table3.3", phase, column.system)?,
        ));
    }
    Ok(format!(
        "The rates of LogFS are those of the flash and its port unless files are compressed. Table 2.1 denies that and the text of the \
         publication says it: {}. Without compression every block of 4 KiB takes a little more than two pages of the bus, and the order of its \
         writes does not matter to the flash: the printed random write is slower than the sequential one, as that of a CPU is. Both columns of \
         compression are in the table of readings. The printed rates of reads are near those of YAFFS2 doubled, as for the same slow port with \
         less work for each page.",
        ours.join("; "),
    ))
}

/// Pools and pages.
fn ram(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, .. } = *told;
    let mounted = &column.mounting.mounted;
    let others = column.by_level.iter().chain(&column.by_file).chain([&column.mounting]);
    let most = others.map(|one| real(memory(&one.mounted))).fold(0.0, f64::max);
    Ok(format!(
        "The printed {} of RAM of LogFS are not structures that the mount builds, for LogFS builds hardly any. {:.0} KiB here are: {}. \
         The pages of the flash are those that the mount has read or that open segments hold; the kernel can give most of them back. Where the \
         collection of the mount finds a segment to empty they are more, up to {:.0} KiB in all; on a flash with little in it there are about \
         as many as printed. With those of what ls reads there are {:.0} KiB.",
        print.quote("table3.4", "ram", column.system)?,
        real(memory(mounted)) / 1_024.0,
        joined(mounted.iter().map(structure)),
        most / 1_024.0,
        real(memory(&column.mounting.listed)) / 1_024.0,
    ))
}

/// Where the space goes.
fn metadata(told: &Told<'_>) -> Result<String, Error> {
    let Told { print, column, .. } = *told;
    Ok(format!(
        "The printed {} of metadata of LogFS are those of a flash filled by few large files. Fixed are: {}. Every segment leaves an end that is too \
         short for the next block, up to 4,123 bytes of 131,072, which LogFS counts as used in advance; a block has a header of 28 bytes, and \
         512 blocks an indirect one. The rest is that of the files: {} (table3.5-files). Of the {} KiB of this run the unused ends of the last \
         blocks of files are a part.",
        print.quote("table3.5", "metadata", column.system)?,
        told.reserved(),
        told.metadata_by_size(),
        column.capacity.metadata().get() / 1_024,
    ))
}

/// On how many conditions the kernel stops, and how many power cuts and actions make it lose something:
/// `docs/models/logfs.md` lists them.
const STOPS: f64 = 13.0;
const LOSSES: f64 = 17.0;

/// The wishes of table 3.8 about LogFS.
pub(super) fn wishes(_basis: &Basis<'_>) -> Vec<Wish> {
    let wish = |id, title, figure| Wish { id, title, unit: "", figure, limit: 0.0, is_most: true };
    vec![
        wish(
            "logfs_aborts",
            "LogFS: handle the conditions on which it aborts. Those known of Linux' LogFS",
            STOPS,
        ),
        wish("logfs_testing", "LogFS: more testing. Losses known of Linux' LogFS", LOSSES),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of the tables in a section of the page.
    fn rows(section: &str) -> usize {
        let page = include_str!("../../../../../../docs/models/logfs.md");
        let from = page.find(section).expect("the section is there") + section.len();
        let text = &page[from..];
        let text = &text[..text.find("\n## ").unwrap_or(text.len())];
        let rows = text.lines().filter(|line| line.starts_with("| "));
        // The heads of tables are followed by a rule.
        rows.count() - text.matches("\n|--").count()
    }

    #[test]
    fn what_is_counted_is_listed_on_the_page() {
        assert_eq!(rows("## On which conditions the kernel stops") as f64, STOPS);
        assert_eq!(rows("## What the kernel loses") as f64, LOSSES);
    }
}
