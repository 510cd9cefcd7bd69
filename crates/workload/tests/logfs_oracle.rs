//! LogFS held against an old kernel: what that did to a flash, operation by operation, and what it found in images of
//! ours. `oracles/logfs` explains the records.
//!
//! `BOARDLAB_LOGFS_IMAGES` names a folder for the images and what must be found in them, for a kernel to read.

use boardlab_codec::crc32;
use boardlab_logfs::mkfs::Format;
use boardlab_logfs::{Logfs, Options};
use boardlab_mtd::{BlockIndex, Error, Geometry, Mtd, RamMtd, ReadResult};
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_vfs::{Host, Mount, WallClock};
use boardlab_workload::tree::{self, Shape, manifest};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const BASIC: &str = include_str!("../../../oracles/logfs/jobs/basic.job");
const COLLECT: &str = include_str!("../../../oracles/logfs/jobs/collect.job");
const COUNTS: &str = include_str!("../../../oracles/logfs/counts.txt");
const IMAGES: &str = include_str!("../../../oracles/logfs/images.txt");
/// The clock of the kernel.
const NOW: i64 = 1_577_836_800;
/// Files that are read at the end, where they exist.
const READ: [&str; 5] = ["/big", "/d/e/b", "/sparse", "/hot", "/base"];

/// A flash that lists its operations, page by page.
#[derive(Debug, Clone)]
struct Listed {
    device: RamMtd,
    list: String,
    counts: [u64; 3],
}

impl Listed {
    fn pages(&mut self, kind: usize, offset: Bytes, length: usize) {
        let page = self.device.geometry().write_size;
        let end = offset + Bytes::new(length as u64);
        let mut number = offset / page;
        while page * number < end {
            self.note(kind, number);
            number += 1;
        }
    }

    fn note(&mut self, kind: usize, number: u64) {
        self.counts[kind] += 1;
        writeln!(self.list, "{} {number}", ["R", "P", "E"][kind]).unwrap();
    }

    /// What was done since the last time: counts, and the CRC of the list.
    fn take(&mut self) -> ([u64; 3], u32) {
        let sum = crc32(0, self.list.as_bytes());
        self.list.clear();
        (std::mem::take(&mut self.counts), sum)
    }
}

impl Mtd for Listed {
    fn geometry(&self) -> &Geometry {
        self.device.geometry()
    }

    fn read(&mut self, clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult {
        self.pages(0, offset, buffer.len());
        self.device.read(clock, offset, buffer)
    }

    fn program(&mut self, clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error> {
        self.pages(1, offset, data.len());
        self.device.program(clock, offset, data)
    }

    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        self.note(2, block.0.into());
        self.device.erase(clock, block)
    }
}

fn nand(page: u64, block: u64, blocks: u32) -> RamMtd {
    let pages = u32::try_from(block / page).unwrap();
    RamMtd::nand(blocks, pages, Bytes::new(page), Bytes::new(page / 32))
}

fn options(faithful: bool) -> Options {
    let wall = WallClock { start: NOW };
    Options { faithful, cache: Bytes::mib(512), wall, ..Options::default() }
}

fn mounted(clock: &mut Clock, device: Listed, faithful: bool) -> Mount<Logfs<Listed>> {
    let fs =
        Logfs::mount(clock, device, options(faithful)).unwrap_or_else(|error| panic!("{error}"));
    let cache = boardlab_vfs::Options::with_cache(Bytes::mib(1_024));
    Mount::with_host(fs, Host::free(), cache)
}

/// A record of `counts.txt`: its first line, and the others as fields.
fn records() -> Vec<(Vec<&'static str>, Vec<Vec<&'static str>>)> {
    let records = COUNTS.split("@ ").skip(1);
    let fields = |line: &'static str| line.split_whitespace().collect::<Vec<_>>();
    records
        .map(|record| {
            let mut lines = record.lines().map(fields);
            (lines.next().unwrap(), lines.collect())
        })
        .collect()
}

/// Runs a job as the kernel did, and returns the lines of its record.
fn run(head: &[&str], faithful: bool) -> Vec<String> {
    let &[job, setting, page, block, blocks] = head else { panic!("{head:?}") };
    let number = |text: &str| text.parse::<u64>().unwrap();
    let device = nand(number(page), number(block), u32::try_from(number(blocks)).unwrap());
    let mut device = Listed { device, list: String::new(), counts: [0; 3] };
    let mut clock = Clock::new();
    let format = Format { compress: setting == "zlib", ..Format::default() };
    format.make(&mut clock, &mut device).unwrap_or_else(|error| panic!("{error}"));
    let mut lines = vec![format!("mkfs {:08x}", crc32(0, &device.device.image()))];
    device.take();
    let mut mount = mounted(&mut clock, device, faithful);
    let mut told = |name: &str, device: &mut Listed| {
        let ([reads, programs, erases], sum) = device.take();
        lines.push(format!("{name} {reads} {programs} {erases} {sum:08x}"));
    };
    told("mount", mount.fs_mut().device_mut());
    let job = if job == "basic" { BASIC } else { COLLECT };
    for part in job.split("note ").skip(1) {
        let (name, operations) = part.split_once('\n').unwrap();
        let operations = tree::parse(operations).unwrap();
        tree::run(&mut mount, &mut clock, &operations, &mut |_| {}).unwrap();
        mount.sync(&mut clock).unwrap();
        told(name, mount.fs_mut().device_mut());
    }
    mount.unmount(&mut clock).unwrap();
    let mut device = mount.into_fs().into_device();
    told("umount", &mut device);
    let end = crc32(0, &device.device.image());
    let mut mount = mounted(&mut clock, device, faithful);
    told("mount2", mount.fs_mut().device_mut());
    tree::list(&mut mount, &mut clock).unwrap();
    told("list2", mount.fs_mut().device_mut());
    for path in READ {
        let Ok(fd) = mount.open(&mut clock, path) else { continue };
        let mut content = vec![0; 8 << 20];
        mount.read(&mut clock, fd, 0, &mut content).unwrap();
        mount.close(&mut clock, fd).unwrap();
    }
    told("read2", mount.fs_mut().device_mut());
    let text = comparable(&manifest(&mut mount, &mut clock).unwrap());
    lines.push(format!("manifest {} {:08x}", text.lines().count(), crc32(0, text.as_bytes())));
    lines.push(format!("end {end:08x}"));
    let mut fs = mount.into_fs();
    assert_eq!(fs.audit(&mut clock).unwrap().faults, []);
    lines
}

/// A manifest without its times, which the kernel changes as it writes blocks, and without the sizes of links, which are
/// 4,096 there.
fn comparable(manifest: &str) -> String {
    let line = |line: &str| {
        let mut fields: Vec<&str> = line.split(' ').collect();
        fields[7] = "-";
        if fields[1] == "l" {
            fields[6] = "-";
        }
        fields.join(" ") + "\n"
    };
    manifest.lines().map(line).collect()
}

fn numbers(fields: &[&str]) -> Vec<u64> {
    fields[1..4].iter().map(|field| field.parse().unwrap()).collect()
}

/// Compares a run with its record; returns the lines that differ and what they differ in.
fn differences(head: &[&str], record: &[Vec<&str>], faithful: bool) -> Vec<String> {
    let ours = run(head, faithful);
    let theirs: Vec<String> = record.iter().map(|fields| fields.join(" ")).collect();
    let names = |lines: &[String]| -> Vec<String> {
        lines.iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&ours), names(&theirs));
    let pairs = ours.into_iter().zip(theirs).filter(|(ours, theirs)| ours != theirs);
    pairs.map(|(ours, theirs)| format!("{ours} instead of {theirs}")).collect()
}

#[test]
fn a_faithful_mount_does_what_the_kernel_does_operation_by_operation() {
    let mut compared = 0;
    for (head, record) in records().iter().filter(|(head, _)| head[0] == "basic") {
        let found = differences(head, record, true);
        // The flash differs in times, and behind the end of write buffers.
        let wrong: Vec<_> = found.iter().filter(|line| !line.starts_with("end ")).collect();
        assert!(wrong.is_empty(), "{head:?}: {wrong:#?}");
        compared += record.len();
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn repairs_change_no_counts() {
    for (head, record) in records().iter().filter(|(head, _)| head[0] == "basic") {
        for line in run(head, false).iter().zip(record) {
            let (ours, theirs): (Vec<&str>, _) = (line.0.split(' ').collect(), line.1);
            if theirs.len() == 5 {
                assert_eq!(numbers(&ours), numbers(theirs), "{head:?} {}", theirs[0]);
            }
        }
    }
}

/// Programs within 5 %, reads within 20 %, and nearly all of it equal operation by operation.
#[test]
fn garbage_collection_does_what_that_of_the_kernel_does() {
    for (head, record) in records().iter().filter(|(head, _)| head[0] == "collect") {
        let ours = run(head, true);
        let mut equal = 0;
        let mut sums = [[0; 3]; 2];
        for (ours, theirs) in ours.iter().zip(record).filter(|(_, theirs)| theirs.len() == 5) {
            let fields: Vec<&str> = ours.split(' ').collect();
            assert_eq!(fields[0], theirs[0]);
            equal += usize::from(fields == *theirs);
            for (at, both) in numbers(&fields).into_iter().zip(numbers(theirs)).enumerate() {
                sums[0][at] += both.0;
                sums[1][at] += both.1;
            }
        }
        let [[reads, programs, erases], [their_reads, their_programs, their_erases]] = sums;
        let within =
            |ours: u64, theirs: u64, percent: u64| ours.abs_diff(theirs) * 100 <= theirs * percent;
        assert!(within(programs, their_programs, 1), "{programs} {their_programs}");
        assert!(within(reads, their_reads, 1), "{reads} {their_reads}");
        assert_eq!(erases, their_erases, "{head:?}");
        assert!(equal * 4 > record.len() * 3, "{equal} of {}", record.len());
        let last = record.iter().find(|fields| fields[0] == "manifest").unwrap().join(" ");
        assert!(ours.contains(&last), "{last}");
    }
}

/// The trees: a shape, a seed, and the blocks of 128 KiB of its flash.
fn trees() -> Vec<(Shape, u64, u32)> {
    let shapes = Shape::ALL.into_iter().filter(|&shape| shape != Shape::Xattrs);
    let mut all = Vec::new();
    for shape in shapes {
        let blocks = match shape {
            Shape::Small | Shape::Rootfs => 512,
            Shape::Wide => 256,
            _ => 160,
        };
        let seeds = match shape {
            Shape::Edited | Shape::Holes => 1..=4,
            Shape::Small | Shape::Rootfs => 1..=1,
            Shape::Deep | Shape::Names => 1..=3,
            _ => 1..=2,
        };
        all.extend(seeds.map(|seed| (shape, seed, blocks)));
    }
    all
}

/// An image of a tree, the data of its pages, and what must be in it.
fn image(shape: Shape, seed: u64, page: u64, compress: bool, blocks: u32) -> (Vec<u8>, String) {
    let block = page * 64;
    let blocks = blocks * 131_072 / u32::try_from(block).unwrap();
    let mut device = nand(page, block, blocks);
    let mut clock = Clock::new();
    let format = Format { compress, ..Format::default() };
    format.make(&mut clock, &mut device).unwrap_or_else(|error| panic!("{error}"));
    let fs =
        Logfs::mount(&mut clock, device, options(false)).unwrap_or_else(|error| panic!("{error}"));
    let mut mount = Mount::new(fs);
    let lines = shape.lines(Seed::new(seed));
    tree::run(&mut mount, &mut clock, &lines, &mut |_| {})
        .unwrap_or_else(|error| panic!("{error}"));
    mount.unmount(&mut clock).unwrap();
    let mut fs = Logfs::mount(&mut clock, mount.into_fs().into_device(), options(false)).unwrap();
    assert_eq!(fs.audit(&mut clock).unwrap().faults, []);
    let mut mount = Mount::new(fs);
    let text = manifest(&mut mount, &mut clock).unwrap();
    mount.unmount(&mut clock).unwrap();
    (mount.into_fs().into_device().image(), text)
}

/// What `oracles/logfs/read.py`, which was written from the specification alone, finds in an image without contradiction.
fn read_by_python(image: &[u8]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("logfs.bin");
    std::fs::write(&path, image).unwrap();
    let read = |action: &str| {
        let mut python = Command::new("python3");
        let done = python.arg(root.join("oracles/logfs/read.py")).arg(action).arg(&path).output();
        let done = done.expect("python3 is there");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert!(done.status.success(), "{} {}", text(done.stdout), text(done.stderr));
        text(done.stdout)
    };
    assert_eq!(read("check"), "");
    read("manifest")
}

#[test]
fn a_kernel_and_an_independent_reader_find_in_images_of_ours_what_is_in_them() {
    let folder = std::env::var_os("BOARDLAB_LOGFS_IMAGES").map(PathBuf::from);
    let full = folder.is_some() || std::env::var_os("BOARDLAB_FULL").is_some();
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (number, (shape, seed, blocks)) in trees().into_iter().enumerate() {
        for (at, (page, compress)) in
            [(2_048, false), (2_048, true), (4_096, false), (4_096, true)].into_iter().enumerate()
        {
            // A sample: the smaller trees, each in one of the four ways.
            if !full && (number % 4 != at || blocks > 160) {
                continue;
            }
            let (image, text) = image(shape, seed, page, compress, blocks);
            let packed = if compress { "zlib" } else { "plain" };
            let (image_sum, text_sum) = (crc32(0, &image), crc32(0, comparable(&text).as_bytes()));
            let blocks = image.len() as u64 / (page * 64);
            let line = format!(
                "{} {seed} {page} {packed} {blocks} {image_sum:08x} {text_sum:08x}",
                shape.name()
            );
            if let Some(folder) = &folder {
                let name = format!("{}-{seed}-{page}-{packed}-{blocks}", shape.name());
                std::fs::write(folder.join(format!("{name}.bin")), &image).unwrap();
                std::fs::write(folder.join(format!("{name}.ours")), comparable(&text)).unwrap();
                continue;
            }
            compared += 1;
            assert_eq!(comparable(&read_by_python(&image)), comparable(&text), "{line}");
            // The kernel stopped on one of them, for a reason of its own.
            let image_alone = format!("{} -", line.rsplit_once(' ').unwrap().0);
            if !IMAGES.lines().any(|known| known == line || known == image_alone) {
                wrong.push(line);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(folder.is_some() || compared > 15, "{compared}");
}
