//! What a real kernel's JFFS2, UBI and UBIFS ask of a NAND chip: workloads, and the counts that were measured.
//!
//! Layer: beside all others. Main types: [`Case`], [`ALL`], [`Counts`], [`Wear`]. A case is a workload on one flash;
//! its text is carried out by `oracles/counts/measure.sh` in the guest and, through the same text, by our
//! filesystem on our chip. What the guest counted stands in `oracles/counts/NAME.txt`.

mod space;
mod wear;

pub use wear::Wear;

use crate::nandsim::{self, EVALUATION, Flash};
use boardlab_sim::{Seed, Stream};
use std::fmt::Write;

/// A workload on a flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// Its name, and that of its record.
    pub name: &'static str,
    /// The flash.
    pub flash: Flash,
    /// How much of the flash is used, from its beginning.
    pub mebibytes: usize,
    /// What is on the flash.
    pub filesystem: Filesystem,
    /// The mount option `compr`.
    pub compression: &'static str,
    /// What is done.
    pub workload: Workload,
    /// The seed of what is drawn in it.
    pub seed: u64,
}

/// What is on the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filesystem {
    /// JFFS2 on the bare flash.
    Jffs2,
    /// UBIFS in a UBI volume that takes all space.
    Ubifs,
    /// UBI, with the volumes that the workload makes.
    Ubi,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// An empty filesystem is mounted.
    Empty,
    /// One file of so many MiB of a kind of content is written in pieces of 32 KiB.
    Write(u64, &'static str),
    /// So many files of 0 to 20,000 bytes in 30 folders.
    Files(u64),
    /// So many files of 1 MiB of a kind of content.
    Fill(u64, &'static str),
    /// The phases of tiobench with 4 files of so many MiB together, so many random accesses, in units of
    /// 32 KiB, with a kind of content.
    Tiobench(u64, u64, &'static str),
    /// Ten files of 1 MB are rewritten in random places, one in 60 times deleted and written anew, until
    /// space has been collected many times over.
    Collect,
    /// One file of so many MiB of a kind of content is written, overwritten from its beginning and in random
    /// pieces, cut to half of its size and deleted, with a sync after each.
    Rewrite(u64, &'static str),
    /// Volumes are made until two thirds of the flash are reserved.
    Volumes,
    /// Files of all kinds come and go until the flash is full and emptied again, and what `statfs` says
    /// is noted in between.
    Space,
    /// Files of 64 KiB that do not compress are written until there is no space, and so many more are
    /// tried.
    Full(u64),
    /// So many files of 64 KiB are at rest, and one of 256 KiB is written anew so many times.
    Wear(u64, u64),
}

const fn case(
    name: &'static str,
    flash: Flash,
    mebibytes: usize,
    compression: &'static str,
    workload: Workload,
) -> Case {
    Case { name, flash, mebibytes, filesystem: Filesystem::Jffs2, compression, workload, seed: 1 }
}

const fn ubifs(
    name: &'static str,
    flash: Flash,
    mebibytes: usize,
    compression: &'static str,
    workload: Workload,
) -> Case {
    Case { name, flash, mebibytes, filesystem: Filesystem::Ubifs, compression, workload, seed: 1 }
}

const fn ubi(name: &'static str, flash: Flash, mebibytes: usize, workload: Workload) -> Case {
    let filesystem = Filesystem::Ubi;
    Case { name, flash, mebibytes, filesystem, compression: "none", workload, seed: 1 }
}

/// UBIFS with LZO on the flash of 16 MiB with pages of 2,048 bytes, from another seed.
const fn seeded(name: &'static str, seed: u64, workload: Workload) -> Case {
    Case { seed, ..ubifs(name, MIDDLE, 16, "lzo", workload) }
}

/// JFFS2 without compression on pages of 2,048 bytes. The seed is that of the choices of our garbage
/// collection; for the kernel's it stands for another run.
const fn worn(name: &'static str, seed: u64, mebibytes: usize, workload: Workload) -> Case {
    Case { seed, ..case(name, MIDDLE, mebibytes, "none", workload) }
}

/// UBIFS without compression, worn. For the kernel's, the seed stands for another run; ours draws nothing.
const fn worn_ubifs(name: &'static str, seed: u64) -> Case {
    Case { seed, ..ubifs(name, MIDDLE, 16, "none", Workload::Wear(112, 1000)) }
}

/// Pages of 512 bytes.
const SMALL: Flash = nandsim::ALL[0];
/// Pages of 2048 bytes.
const MIDDLE: Flash = nandsim::ALL[1];
/// Pages of 4096 bytes.
const LARGE: Flash = nandsim::ALL[2];

/// All cases.
pub const ALL: [Case; 93] = [
    case("empty", EVALUATION, 256, "zlib", Workload::Empty),
    case("empty-512", SMALL, 16, "zlib", Workload::Empty),
    case("empty-2048", MIDDLE, 16, "zlib", Workload::Empty),
    case("empty-4096", LARGE, 16, "zlib", Workload::Empty),
    case("write-zero", EVALUATION, 256, "zlib", Workload::Write(16, "zero")),
    case("write-random", EVALUATION, 256, "zlib", Workload::Write(16, "random")),
    case("write-text", EVALUATION, 256, "zlib", Workload::Write(16, "text")),
    case("write-half", EVALUATION, 256, "zlib", Workload::Write(16, "percent:50")),
    case("write-half-512", SMALL, 16, "zlib", Workload::Write(4, "percent:50")),
    case("write-half-2048", MIDDLE, 16, "zlib", Workload::Write(4, "percent:50")),
    case("write-half-4096", LARGE, 16, "zlib", Workload::Write(4, "percent:50")),
    case("write-lzo-2048", MIDDLE, 16, "lzo", Workload::Write(4, "percent:50")),
    case("files", EVALUATION, 256, "zlib", Workload::Files(3000)),
    case("files-512", SMALL, 16, "zlib", Workload::Files(600)),
    case("files-2048", MIDDLE, 16, "zlib", Workload::Files(600)),
    case("files-4096", LARGE, 16, "zlib", Workload::Files(600)),
    case("fill-random", EVALUATION, 256, "zlib", Workload::Fill(192, "random")),
    case("fill-half", EVALUATION, 256, "zlib", Workload::Fill(192, "percent:50")),
    case("tiobench-zero", EVALUATION, 256, "zlib", Workload::Tiobench(32, 1000, "zero")),
    case("tiobench-random", EVALUATION, 256, "zlib", Workload::Tiobench(32, 1000, "random")),
    case("tiobench-2048", MIDDLE, 16, "zlib", Workload::Tiobench(4, 200, "random")),
    case("collect-512", SMALL, 16, "zlib", Workload::Collect),
    case("collect-2048", MIDDLE, 16, "zlib", Workload::Collect),
    case("collect-4096", LARGE, 16, "zlib", Workload::Collect),
    ubi("ubi-empty", EVALUATION, 256, Workload::Empty),
    ubi("ubi-empty-512", SMALL, 16, Workload::Empty),
    ubi("ubi-empty-2048", MIDDLE, 16, Workload::Empty),
    ubi("ubi-empty-4096", LARGE, 16, Workload::Empty),
    ubi("ubi-volumes-512", SMALL, 16, Workload::Volumes),
    ubi("ubi-volumes-2048", MIDDLE, 16, Workload::Volumes),
    ubi("ubi-volumes-4096", LARGE, 16, Workload::Volumes),
    ubifs("ubifs-empty", EVALUATION, 256, "lzo", Workload::Empty),
    ubifs("ubifs-empty-512", SMALL, 16, "lzo", Workload::Empty),
    ubifs("ubifs-empty-2048", MIDDLE, 16, "lzo", Workload::Empty),
    ubifs("ubifs-empty-4096", LARGE, 16, "lzo", Workload::Empty),
    ubifs("ubifs-write-zero", EVALUATION, 256, "lzo", Workload::Write(16, "zero")),
    ubifs("ubifs-write-random", EVALUATION, 256, "lzo", Workload::Write(16, "random")),
    ubifs("ubifs-write-text", EVALUATION, 256, "lzo", Workload::Write(16, "text")),
    ubifs("ubifs-write-half", EVALUATION, 256, "lzo", Workload::Write(16, "percent:50")),
    ubifs("ubifs-write-half-512", SMALL, 16, "lzo", Workload::Write(4, "percent:50")),
    ubifs("ubifs-write-half-2048", MIDDLE, 16, "lzo", Workload::Write(4, "percent:50")),
    ubifs("ubifs-write-half-4096", LARGE, 16, "lzo", Workload::Write(4, "percent:50")),
    ubifs("ubifs-write-none-2048", MIDDLE, 16, "none", Workload::Write(4, "text")),
    ubifs("ubifs-write-zlib-2048", MIDDLE, 16, "zlib", Workload::Write(4, "text")),
    ubifs("ubifs-write-zstd-2048", MIDDLE, 16, "zstd", Workload::Write(4, "text")),
    ubifs("ubifs-rewrite-text", EVALUATION, 256, "lzo", Workload::Rewrite(16, "text")),
    ubifs("ubifs-rewrite-512", SMALL, 16, "lzo", Workload::Rewrite(2, "percent:50")),
    ubifs("ubifs-rewrite-2048", MIDDLE, 16, "lzo", Workload::Rewrite(2, "percent:50")),
    ubifs("ubifs-rewrite-4096", LARGE, 16, "lzo", Workload::Rewrite(2, "percent:50")),
    ubifs("ubifs-files", EVALUATION, 256, "lzo", Workload::Files(3000)),
    ubifs("ubifs-files-512", SMALL, 16, "lzo", Workload::Files(600)),
    ubifs("ubifs-files-2048", MIDDLE, 16, "lzo", Workload::Files(600)),
    ubifs("ubifs-files-4096", LARGE, 16, "lzo", Workload::Files(600)),
    ubifs("ubifs-fill-random", EVALUATION, 256, "lzo", Workload::Fill(192, "random")),
    ubifs("ubifs-fill-half", EVALUATION, 256, "lzo", Workload::Fill(96, "percent:50")),
    ubifs("ubifs-tiobench-random", EVALUATION, 256, "lzo", Workload::Tiobench(32, 1000, "random")),
    ubifs("ubifs-tiobench-2048", MIDDLE, 16, "lzo", Workload::Tiobench(4, 200, "random")),
    ubifs("ubifs-collect-512", SMALL, 16, "lzo", Workload::Collect),
    ubifs("ubifs-collect-2048", MIDDLE, 16, "lzo", Workload::Collect),
    ubifs("ubifs-tiobench-512", SMALL, 16, "lzo", Workload::Tiobench(4, 200, "random")),
    ubifs("ubifs-tiobench-4096", LARGE, 16, "lzo", Workload::Tiobench(4, 200, "random")),
    ubifs("ubifs-collect-4096", LARGE, 16, "lzo", Workload::Collect),
    seeded("ubifs-files-2048-seed2", 2, Workload::Files(600)),
    seeded("ubifs-files-2048-seed3", 3, Workload::Files(600)),
    seeded("ubifs-files-2048-seed4", 4, Workload::Files(600)),
    seeded("ubifs-rewrite-2048-seed2", 2, Workload::Rewrite(2, "percent:50")),
    seeded("ubifs-rewrite-2048-seed3", 3, Workload::Rewrite(2, "percent:50")),
    seeded("ubifs-rewrite-2048-seed4", 4, Workload::Rewrite(2, "percent:50")),
    seeded("ubifs-tiobench-2048-seed2", 2, Workload::Tiobench(4, 200, "random")),
    seeded("ubifs-tiobench-2048-seed3", 3, Workload::Tiobench(4, 200, "random")),
    seeded("ubifs-tiobench-2048-seed4", 4, Workload::Tiobench(4, 200, "random")),
    seeded("ubifs-collect-2048-seed2", 2, Workload::Collect),
    seeded("ubifs-collect-2048-seed3", 3, Workload::Collect),
    seeded("ubifs-collect-2048-seed4", 4, Workload::Collect),
    ubifs("ubifs-space-512", SMALL, 16, "lzo", Workload::Space),
    ubifs("ubifs-space-2048", MIDDLE, 16, "lzo", Workload::Space),
    ubifs("ubifs-space-4096", LARGE, 16, "lzo", Workload::Space),
    ubifs("ubifs-space-none-2048", MIDDLE, 16, "none", Workload::Space),
    ubifs("ubifs-space-zlib-2048", MIDDLE, 16, "zlib", Workload::Space),
    ubifs("ubifs-space-small-2048", MIDDLE, 6, "lzo", Workload::Space),
    ubifs("ubifs-full", EVALUATION, 256, "lzo", Workload::Full(20)),
    ubifs("ubifs-full-512", SMALL, 16, "lzo", Workload::Full(20)),
    ubifs("ubifs-full-2048", MIDDLE, 16, "lzo", Workload::Full(20)),
    ubifs("ubifs-full-4096", LARGE, 16, "lzo", Workload::Full(20)),
    worn("wear-2048", 1, 8, Workload::Wear(64, 1200)),
    worn("wear-2048-seed2", 2, 8, Workload::Wear(64, 1200)),
    worn("wear-2048-seed3", 3, 8, Workload::Wear(64, 1200)),
    worn("wear-roomy-2048", 1, 16, Workload::Wear(128, 1200)),
    worn("wear-roomy-2048-seed2", 2, 16, Workload::Wear(128, 1200)),
    worn("wear-roomy-2048-seed3", 3, 16, Workload::Wear(128, 1200)),
    worn_ubifs("ubifs-wear-2048", 1),
    worn_ubifs("ubifs-wear-2048-seed2", 2),
    worn_ubifs("ubifs-wear-2048-seed3", 3),
];

/// A unit of tiobench, and of a large write.
const UNIT: u64 = 32_768;

impl Case {
    /// The workload's text: operations with lines between them that begin with `@`, as
    /// `oracles/counts/measure.sh` explains them.
    #[must_use]
    pub fn text(&self) -> String {
        let text = String::from("# Carried out by measure.sh.\n");
        match (self.filesystem, self.workload) {
            (Filesystem::Jffs2, Workload::Empty) => {
                text + "@mount-read-only\n@count mount\n@check\n@count check\n@unmount\n@count unmount\n"
            }
            (Filesystem::Ubifs, Workload::Space | Workload::Full(_)) => {
                text + "@attach\n@mount\n" + &self.body()
            }
            (Filesystem::Jffs2, Workload::Tiobench(..) | Workload::Wear(..)) => {
                text + JFFS2_BEGINS + &self.body()
            }
            (Filesystem::Jffs2, _) => text + JFFS2_BEGINS + &self.body() + JFFS2_AGAIN,
            (Filesystem::Ubifs, Workload::Wear(..)) => text + UBIFS_BEGINS + &self.body(),
            (Filesystem::Ubi, _) => {
                text + "@attach\n@count attach\n"
                    + &self.body()
                    + "@detach\n@count detach\n@attach\n@count attach-again\n"
            }
            (Filesystem::Ubifs, _) => text + UBIFS_BEGINS + &self.body() + UBIFS_AGAIN,
        }
    }

    /// What happens between the first mount and the last unmount.
    fn body(&self) -> String {
        let mut stream = Seed::new(self.seed).stream("counts");
        match self.workload {
            Workload::Empty => String::new(),
            Workload::Write(size, content) => write(size, content),
            Workload::Files(count) => files(count, &mut stream),
            Workload::Fill(count, content) => fill(count, content),
            Workload::Tiobench(size, accesses, content) => {
                tiobench(size, accesses, content, &mut stream)
            }
            Workload::Collect => collect(&mut stream),
            Workload::Rewrite(size, content) => rewrite(size, content, &mut stream),
            Workload::Volumes => volumes(self.mebibytes),
            Workload::Space => space::states(&mut stream),
            Workload::Full(more) => space::full(self.mebibytes, more),
            Workload::Wear(rest, times) => {
                let pause = if self.filesystem == Filesystem::Ubifs { 20 } else { 0 };
                wear::rewritten(rest, times, pause)
            }
        }
    }

    /// The job that measures this case in the guest, with `measure.sh` and the text in the share.
    #[must_use]
    pub fn job(&self) -> String {
        let Self { name, flash, filesystem, compression, .. } = self;
        let filesystem = format!("{filesystem:?}").to_lowercase();
        let blocks = flash.blocks_of(self.mebibytes);
        format!(
            "sh /h/measure.sh /h/{name}.workload {} {blocks} {compression} {filesystem} >/tmp/counts || {{ cat /tmp/counts; exit 1; }}\n\
             cp /tmp/counts /h/{name}.counts\n",
            flash.id_bytes
        )
    }
}

/// The mount of an empty JFFS2.
const JFFS2_BEGINS: &str = "@mount\n@settle\n@count begin\n";

/// What each filled JFFS2 goes through afterwards.
const JFFS2_AGAIN: &str = "@unmount\n@count unmount\n@mount-read-only\n@count mount\n@check\n@count check\n\
    @list\n@count list\n@drop\n@read\n@count read\n@unmount\n@count unmount-again\n\
    @mount\n@list\n@settle\n@count mount-and-list\n";

/// The attach of UBI with one volume and the mount of the empty UBIFS in it.
const UBIFS_BEGINS: &str = "@attach\n@count attach\n@mount\n@count mount\n";

/// What each UBIFS goes through afterwards.
const UBIFS_AGAIN: &str = "@unmount\n@count unmount\n@detach\n@attach\n@count attach-again\n\
    @mount-read-only\n@count mount-read-only\n@list\n@count list\n@drop\n@read\n@count read\n\
    @unmount\n@count unmount-again\n@mount\n@count mount-again\n@unmount\n@count unmount-unchanged\n";

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a string takes everything");
    text.push('\n');
}

fn write(size: u64, content: &str) -> String {
    let bytes = size << 20;
    format!("file f 0644\nwrite f 0 {bytes} {content} 1 {UNIT}\n@count write\nsync\n@count sync\n")
}

fn files(count: u64, stream: &mut Stream) -> String {
    let mut text = String::new();
    for folder in 0..30 {
        line(&mut text, format_args!("mkdir d{folder:02} 0755"));
    }
    for number in 0..count {
        let path = format!("d{:02}/file-{number:04}", number % 30);
        line(&mut text, format_args!("file {path} 0644"));
        let size = [0, 100, 1000, 3000, 6000, 9000, 20_000][index(stream.below(7))];
        let content = ["text", "percent:50", "random"][index(stream.below(3))];
        if size > 0 {
            line(&mut text, format_args!("write {path} 0 {size} {content} {number} {UNIT}"));
        }
    }
    text + "sync\n@count write\n"
}

fn fill(count: u64, content: &str) -> String {
    let mut text = String::new();
    for number in 0..count {
        line(&mut text, format_args!("file f{number:03} 0644"));
        line(&mut text, format_args!("write f{number:03} 0 {} {content} {number} {UNIT}", 1 << 20));
    }
    text + "sync\n@count write\n"
}

fn tiobench(size: u64, accesses: u64, content: &str, stream: &mut Stream) -> String {
    let part = (size << 20) / 4;
    let in_order: Vec<_> =
        (0..part / UNIT).flat_map(|unit| (0..4).map(move |file| (file, unit * UNIT))).collect();
    let mut random = || -> Vec<_> {
        (0..accesses).map(|_| (stream.below(4), stream.below(part / UNIT) * UNIT)).collect()
    };
    let mut text = String::new();
    for file in 0..4 {
        line(&mut text, format_args!("file t{file} 0600\ntruncate t{file} {part}"));
    }
    text += "@count create\n";
    for (name, accesses) in [("sequential", in_order.clone()), ("random", random())] {
        for (number, (file, offset)) in accesses.into_iter().enumerate() {
            line(
                &mut text,
                format_args!("write t{file} {offset} {UNIT} {content} {number} {UNIT}"),
            );
        }
        line(
            &mut text,
            format_args!("fsync t0\nfsync t1\nfsync t2\nfsync t3\n@count {name}-write\n@drop"),
        );
    }
    for (name, accesses) in [("sequential", in_order), ("random", random())] {
        for (file, offset) in accesses {
            line(&mut text, format_args!("read t{file} {offset} {UNIT} {UNIT}"));
        }
        line(&mut text, format_args!("@count {name}-read\n@drop"));
    }
    text
}

fn collect(stream: &mut Stream) -> String {
    let mut text = String::new();
    let content = "percent:50";
    for file in 0..10 {
        line(
            &mut text,
            format_args!("file g{file} 0644\nwrite g{file} 0 1000000 {content} {file} {UNIT}"),
        );
    }
    text += "sync\n@count fill\n";
    for round in 1..5 {
        for number in 0..300 {
            let (file, offset) = (stream.below(10), stream.below(900_000));
            let (size, seed) = (1000 + stream.below(59_000), round * 1000 + number);
            line(&mut text, format_args!("write g{file} {offset} {size} {content} {seed} {UNIT}"));
            if number % 60 == 59 {
                line(
                    &mut text,
                    format_args!(
                        "unlink g{file}\nfile g{file} 0644\nwrite g{file} 0 1000000 {content} {seed} {UNIT}"
                    ),
                );
            }
        }
    }
    text + "sync\n@count rewrite\n"
}

fn rewrite(size: u64, content: &str, stream: &mut Stream) -> String {
    let bytes = size << 20;
    let mut text = String::from("file r 0644\n");
    for (seed, interval) in [(1, "write"), (2, "overwrite")] {
        line(&mut text, format_args!("write r 0 {bytes} {content} {seed} {UNIT}"));
        line(&mut text, format_args!("@count {interval}-in-memory\nsync\n@count {interval}"));
    }
    text += "@drop\n@count drop\n";
    for seed in 0..100 {
        let (offset, count) = (stream.below(bytes - 10_000), 1 + stream.below(10_000));
        line(&mut text, format_args!("write r {offset} {count} {content} {seed} {UNIT}"));
    }
    text += "@count pieces-in-memory\nsync\n@count pieces\n";
    line(&mut text, format_args!("truncate r {}\n@count truncate-in-memory", bytes / 2 + 100));
    text + "sync\n@count truncate\nunlink r\n@count delete-in-memory\nsync\n@count delete\n"
}

fn volumes(mebibytes: usize) -> String {
    let mut text = String::new();
    for number in 0..8 {
        let kind = ["dynamic", "static"][number % 2];
        let bytes = (mebibytes << 20) / 12;
        line(&mut text, format_args!("@make {number} {kind} {bytes}"));
    }
    text + "@count make\n"
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("a small number")
}

/// What the chip did in an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Which interval.
    pub interval: String,
    /// Times that a page went into the chip's register.
    pub page_reads: u64,
    /// Times that a page was programmed.
    pub page_programs: u64,
    /// Blocks erased.
    pub block_erases: u64,
    /// Data bytes that came out of the chip.
    pub bytes_out: u64,
    /// Data bytes that went into it.
    pub bytes_in: u64,
}

impl Counts {
    /// Reads a line that `count end` printed after the interval's name.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (interval, fields) = line.split_once(' ')?;
        let value = |name: &str| {
            let mut fields = fields.split(' ').filter_map(|field| field.split_once('='));
            fields.find(|(key, _)| *key == name)?.1.parse().ok()
        };
        Some(Self {
            interval: interval.to_owned(),
            page_reads: value("page_reads")?,
            page_programs: value("page_programs")?,
            block_erases: value("block_erases")?,
            bytes_out: value("bytes_out")?,
            bytes_in: value("bytes_in")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_counts_is_read_and_another_line_is_not() {
        let line = "mount page_reads=7 column_changes=1 page_programs=2 block_erases=3 operations=9 \
                    commands=1 addresses=2 bytes_out=40 bytes_in=50";
        let counts = Counts::parse(line).unwrap();
        assert_eq!((counts.interval.as_str(), counts.page_reads), ("mount", 7));
        assert_eq!((counts.bytes_out, counts.bytes_in, counts.block_erases), (40, 50, 3));
        assert_eq!(Counts::parse("# a comment"), None);
        assert_eq!(Counts::parse("mount page_reads=x"), None);
    }

    #[test]
    fn a_case_has_a_name_of_its_own_and_the_same_text_always() {
        for (number, case) in ALL.iter().enumerate() {
            assert!(ALL[..number].iter().all(|other| other.name != case.name), "{}", case.name);
            assert_eq!(case.text(), case.text());
            let noted = ["@count ", "@state ", "@stored "];
            let notes = |line: &str| noted.iter().any(|begin| line.starts_with(begin));
            assert!(case.text().lines().any(notes), "{}", case.name);
        }
    }
}
