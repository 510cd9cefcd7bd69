//! Our JFFS2 and NAND against a real kernel: Linux 6.1 with nandsim, in the guest of `oracles/`.
//!
//! - [`reads`]: what the kernel wrote is read here. - [`writes`]: what was written here is read by the kernel.
//! - [`counts`]: what the kernel asks of the chip, against what ours asks.
//! - [`counts_ubi`]: the same of UBI and UBIFS. - [`stack`]: our NAND with our UBI and UBIFS.
//! - [`wear`]: how often each block is erased. - [`space_ubifs`]: what UBIFS says about its space.
//! - [`weaknesses`]: what the kernel does wrong, and ours on purpose otherwise.
//! - [`codes`]: error correction across the border.
//! - [`nor`]: the same without spare bytes and write buffer.
//! - [`inspections`]: what the kernel's own checks of UBI and UBIFS find.
//! - [`writes_ubifs`]: what our UBIFS wrote is read and checked by the kernel. - [`made`]: so is an image of a folder.
//! - [`created`]: JFFS2 of a folder too, also around bad blocks.
//! - [`mounted`]: images that `image mount --rw` has changed. - [`posix`]: what a mount promises.
//! - [`volume_tables`]: the kernel attaches what our UBI left whose power failed.
//! - [`cuts`]: what a kernel left whose power failed. - [`images`]: images of mkfs.jffs2 and sumtool.
//!
//! In `make test` a sample runs, drawn from a seed; with `BOARDLAB_FULL` set everything does.
#![allow(clippy::unwrap_used, reason = "tests")]

mod codes;
mod counts;
mod counts_ubi;
mod created;
mod cuts;
mod flash;
mod images;
mod inspections;
mod made;
mod mounted;
mod nor;
mod posix;
mod reads;
mod space_ubifs;
mod stack;
mod table_cuts;
mod volume_tables;
mod weaknesses;
mod wear;
mod writes;
mod writes_ubifs;

use boardlab_checks::nandsim::{self, Flash};
use boardlab_checks::trees::{self, Tree};
use boardlab_sim::Seed;

/// The mount options of the kernel's compressors; without one it takes the first of LZO, zlib and rtime that
/// makes the data smaller.
const COMPRESSIONS: [&str; 4] = ["compr=none", "compr=lzo", "compr=zlib", "rw"];

/// A tree on a flash with a compression.
#[derive(Debug, Clone)]
struct Case {
    name: String,
    tree: Tree,
    flash: Flash,
    compression: &'static str,
}

fn full() -> bool {
    std::env::var_os("BOARDLAB_FULL").is_some()
}

/// Who writes what the other reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Kernel,
    Ours,
}

/// Every tree on every flash with every compression, a flash after the other. In the sample each tree once, on the
/// flash, with the compression and by the writer that are drawn.
fn cases(writer: Writer) -> Vec<Case> {
    let seed = Seed::new(1);
    let mut stream = seed.stream("trees");
    let mut cases = Vec::new();
    for tree in trees::all(seed) {
        let here = nandsim::ALL[index(stream.below(3))];
        let drawn = stream.below(4);
        let by = [Writer::Kernel, Writer::Ours][index(stream.below(2))];
        for flash in nandsim::ALL {
            for (number, compression) in (0..).zip(COMPRESSIONS) {
                if full() || flash == here && number == drawn && by == writer {
                    let name = format!("{}-{}-{number}", tree.name, flash.page);
                    cases.push(Case { name, tree: tree.clone(), flash, compression });
                }
            }
        }
    }
    cases.sort_by_key(|case| case.flash.page);
    cases
}

/// In the guest: each case by its line, on its flash.
fn on_their_flash<'c>(cases: &'c [Case], line: impl Fn(&'c Case) -> String) -> String {
    let mut job = String::new();
    for group in cases.chunk_by(|one, next| one.flash == next.flash) {
        let lines: Vec<_> = group.iter().map(&line).collect();
        job += &format!("{}\n{}\nrmmod nandsim\n", group[0].flash.load(&[8, 16]), lines.join("\n"));
    }
    job
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

/// The partition of a case: nandsim is loaded with one of 8 and one of 16 MiB.
fn device(mebibytes: usize) -> &'static str {
    if mebibytes <= 8 { "mtd0" } else { "mtd1" }
}

/// The first lines in which two manifests differ; nothing if they are equal.
fn difference(kernel: &str, ours: &str) -> Option<String> {
    if kernel == ours {
        return None;
    }
    let (mut kernel_lines, mut our_lines) = (kernel.lines(), ours.lines());
    loop {
        match (kernel_lines.next(), our_lines.next()) {
            (None, None) => return Some("only in line ends".into()),
            (a, b) if a == b => {}
            (a, b) => {
                let show = |line: Option<&str>| line.map_or("nothing".into(), shorten);
                return Some(format!("kernel: {}\n  ours: {}", show(a), show(b)));
            }
        }
    }
}

fn shorten(line: &str) -> String {
    let short: String = line.chars().take(300).collect();
    if short.len() < line.len() { short + "..." } else { short }
}

/// Fails with all differences at once, each with its case.
fn assert_none(differences: &[String]) {
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}
