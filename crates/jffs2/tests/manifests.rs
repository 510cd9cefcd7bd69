//! Images that Linux and mkfs.jffs2 wrote, held against what Linux says is in them.
//!
//! `BOARDLAB_JFFS2_SAMPLES` names a folder of samples with manifests; without it only the small ones in
//! the tree are read.
use boardlab_jffs2::format::ByteOrder;
use boardlab_jffs2::{Jffs2, Options};
use boardlab_mtd::{
    BlockIndex, FlashKind, Geometry, Kind as Operation, Mtd, Oob, PageIndex, RamMtd, Stats,
};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{Attributes, FileSystem, Ino, Kind, PAGE_SIZE};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Bytes as a manifest has them.
fn escaped(bytes: &[u8], also: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        if (0x21..=0x7e).contains(&byte) && byte != b'\\' && !also.contains(&byte) {
            text.push(char::from(byte));
        } else {
            write!(text, "\\x{byte:02x}").unwrap();
        }
    }
    text
}

struct Lister<'a> {
    fs: &'a mut Jffs2<RamMtd>,
    clock: Clock,
    lines: Vec<(Vec<u8>, String)>,
}

impl Lister<'_> {
    fn walk(&mut self, path: &[u8], ino: Ino) {
        let attributes = self.fs.getattr(&mut self.clock, ino).unwrap();
        let line = self.line(path, ino, &attributes);
        self.lines.push((path.to_vec(), line));
        if attributes.kind != Kind::Directory {
            return;
        }
        for entry in self.fs.readdir(&mut self.clock, ino).unwrap() {
            let path =
                if path == b"." { entry.name.clone() } else { [path, b"/", &entry.name].concat() };
            self.walk(&path, entry.ino);
        }
    }

    fn line(&mut self, path: &[u8], ino: Ino, attributes: &Attributes) -> String {
        let none = || "-".to_string();
        let (kind, device) = match attributes.kind {
            Kind::File => ('f', none()),
            Kind::Directory => ('d', none()),
            Kind::Symlink => ('l', none()),
            Kind::Fifo => ('p', none()),
            Kind::Socket => ('s', none()),
            Kind::Character(device) => ('c', format!("{}:{}", device.major, device.minor)),
            Kind::Block(device) => ('b', format!("{}:{}", device.major, device.minor)),
        };
        let sized = matches!(attributes.kind, Kind::File | Kind::Symlink);
        let size = if sized { attributes.size.to_string() } else { none() };
        let target = match attributes.kind {
            Kind::Symlink => escaped(&self.fs.readlink(&mut self.clock, ino).unwrap(), b""),
            _ => none(),
        };
        let sum =
            if attributes.kind == Kind::File { self.sum(ino, attributes.size) } else { none() };
        format!(
            "{} {kind} {:04o} {} {} {} {size} {} {device} {target} {} {sum}",
            escaped(path, b""),
            attributes.mode,
            attributes.uid,
            attributes.gid,
            attributes.links,
            attributes.modified.seconds,
            self.xattrs(ino)
        )
    }

    fn xattrs(&mut self, ino: Ino) -> String {
        let mut names = self.fs.listxattr(&mut self.clock, ino).unwrap();
        names.sort();
        let pairs: Vec<String> = names
            .iter()
            .map(|name| {
                let value = self.fs.getxattr(&mut self.clock, ino, name).unwrap();
                let hex =
                    value.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
                format!("{}={hex}", escaped(name, b"=,"))
            })
            .collect();
        if pairs.is_empty() { "-".to_string() } else { pairs.join(",") }
    }

    fn sum(&mut self, ino: Ino, size: u64) -> String {
        let mut sum = u32::MAX;
        let mut page = vec![0; PAGE_SIZE];
        let unit = u64::try_from(PAGE_SIZE).unwrap();
        for number in 0..size.div_ceil(unit) {
            if let Err(error) = self.fs.read_page(&mut self.clock, ino, number, &mut page) {
                return error.errno().unwrap().symbol().to_string();
            }
            let length = usize::try_from((size - number * unit).min(unit)).unwrap();
            sum = boardlab_codec::crc32(sum, &page[..length]);
        }
        format!("{:08x}", !sum)
    }
}

fn manifest(fs: &mut Jffs2<RamMtd>) -> Vec<String> {
    let mut lister = Lister { fs, clock: Clock::new(), lines: Vec::new() };
    let root = lister.fs.root();
    lister.walk(b".", root);
    lister
        .lines
        .sort_by(|(first, _), (second, _)| (first != b".", first).cmp(&(second != b".", second)));
    lister.lines.into_iter().map(|(_, line)| line).collect()
}

/// Where software error correction leaves spare bytes free, by page size.
fn free_oob(page: usize) -> (usize, std::ops::Range<usize>) {
    match page {
        512 => (16, 8..16),
        2048 => (64, 2..40),
        _ => (128, 2..80),
    }
}

/// A dump with spare bytes as a flash.
fn from_dump(dump: &[u8], page: usize) -> RamMtd {
    let (spare, free) = free_oob(page);
    let pages_a_block = if page == 512 { 32 } else { 64 };
    let blocks = dump.len() / (page + spare) / pages_a_block;
    let bytes = |length: usize| Bytes::new(u64::try_from(length).unwrap());
    let geometry = Geometry {
        write_size: bytes(page),
        write_buffer: bytes(page),
        oob: Some(Oob { size: bytes(spare), available: bytes(free.len()) }),
        ..Geometry::uniform(
            FlashKind::Nand,
            u32::try_from(blocks).unwrap(),
            bytes(page * pages_a_block),
        )
    };
    let (mut flash, mut clock) = (RamMtd::new(geometry), Clock::new());
    for (number, piece) in (0..).zip(dump.chunks_exact(page + spare)) {
        let (data, oob) = piece.split_at(page);
        if piece.iter().any(|&byte| byte != 0xFF) {
            flash.program_oob(&mut clock, PageIndex(number), data, &oob[free.clone()]).unwrap();
        }
        if page != 512 && oob[0] != 0xFF && number % 64 == 0 {
            flash.mark_bad(&mut clock, BlockIndex(number / 64)).unwrap();
        }
    }
    flash
}

/// An image of mkfs.jffs2 as a flash: NAND when it has no cleanmarkers.
fn from_image(image: &[u8], block: usize, nand: bool) -> RamMtd {
    let bytes = |length: usize| Bytes::new(u64::try_from(length).unwrap());
    let count = u32::try_from(image.len().div_ceil(block).max(5)).unwrap();
    let mut flash = if nand {
        RamMtd::nand(count, u32::try_from(block / 2048).unwrap(), bytes(2048), bytes(64))
    } else {
        RamMtd::nor(count, bytes(block))
    };
    let mut padded = image.to_vec();
    padded.resize(image.len().next_multiple_of(2048), 0xFF);
    flash.program(&mut Clock::new(), Bytes::ZERO, &padded).unwrap();
    flash
}

fn mounted(flash: RamMtd) -> Jffs2<RamMtd> {
    let fs = Jffs2::mount(&mut Clock::new(), flash, Options::default()).unwrap();
    fs.check_tables().unwrap();
    fs
}

/// A line of a manifest without what a tree has only before mkfs.jffs2 took it: the folder that it lay
/// in, the times of directories, which are those of their newest entries afterwards, device numbers
/// of more than two bytes, and extended attributes unless it was told to take them.
fn as_mkfs_has_it(line: &str, xattrs: bool) -> String {
    let mut fields: Vec<&str> = line.split(' ').collect();
    match (fields[0], fields[1]) {
        (".", _) => return String::new(),
        (_, "d") => fields[7] = "",
        _ => {}
    }
    if !xattrs {
        fields[10] = "";
    }
    fields.join(" ").replace(" 300:70000 ", " 61:112 ")
}

/// What a manifest says is what is on the flash, checked before or not.
fn compare(name: &str, flash: &RamMtd, expected: &str, normal: impl Fn(&str) -> String) {
    for checked_first in [false, true] {
        let mut fs = mounted(flash.clone());
        if checked_first {
            fs.check_all(&mut Clock::new()).unwrap();
            assert!(!fs.is_unchecked(), "{name}");
            fs.check_tables().unwrap();
        }
        let found = manifest(&mut fs);
        fs.check_tables().unwrap();
        for (found, expected) in found.iter().zip(expected.lines()) {
            assert_eq!(normal(found), normal(expected), "{name}");
        }
        assert_eq!(found.len(), expected.lines().count(), "{name}");
    }
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    files.sort();
    files
}

fn samples() -> Option<PathBuf> {
    let folder = std::env::var_os("BOARDLAB_JFFS2_SAMPLES").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: needs BOARDLAB_JFFS2_SAMPLES, a folder of samples");
    }
    folder
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().to_string()
}

#[test]
fn the_images_in_the_tree_hold_what_their_manifest_says() {
    let manifest = include_str!("images/tree.manifest");
    let nor = from_image(include_bytes!("images/nor-little.img"), 8192, false);
    compare("nor-little", &nor, manifest, |line| as_mkfs_has_it(line, true));
    let nand = from_image(include_bytes!("images/nand-big-summary.img"), 8192, true);
    compare("nand-big-summary", &nand, manifest, |line| as_mkfs_has_it(line, true));
    let fs = mounted(nand);
    assert_eq!(fs.volume().byte_order(), ByteOrder::Big);
    assert!(fs.findings().summaries >= 2, "{:?}", fs.findings());
}

#[test]
fn what_is_read_at_mount_is_what_linux_reads() {
    // Erased NAND: the first page's and three more pages' spare bytes, the last page, the first 256
    // bytes of each block. Counted on Linux 6.1: 7 page reads a block.
    let flash = RamMtd::nand(128, 64, Bytes::new(2048), Bytes::new(64));
    let fs = Jffs2::mount(&mut Clock::new(), Stats::new(flash), Options::default()).unwrap();
    let count = |kind| fs.device().of(kind).count();
    assert_eq!((count(Operation::ReadOob), count(Operation::Read)), (128 * 5, 128 * 2));
    assert_eq!(fs.device().of(Operation::Read).bytes(), Bytes::new(128 * (2048 + 256)));
}

#[test]
fn dumps_of_a_kernel_hold_what_the_kernel_says() {
    let Some(folder) = samples() else { return };
    for path in ["kernel", "kills"].iter().flat_map(|name| files(&folder.join(name), "oob")) {
        let name = stem(&path);
        let page = name[1..name.find('-').unwrap()].parse().unwrap();
        let flash = from_dump(&std::fs::read(&path).unwrap(), page);
        let manifest = std::fs::read_to_string(path.with_extension("manifest")).unwrap();
        compare(&name, &flash, &manifest, str::to_string);
    }
}

#[test]
fn images_of_mkfs_hold_the_tree_that_they_were_made_of() {
    let Some(folder) = samples() else { return };
    for path in files(&folder.join("mkfs"), "img") {
        let name = stem(&path);
        let parts: Vec<&str> = name.split('-').collect();
        let block: usize = parts[2].trim_end_matches('k').parse().unwrap();
        let nand = parts[3] == "nand";
        let flash = from_image(&std::fs::read(&path).unwrap(), block * 1024, nand);
        let manifest = path.with_file_name(format!("{}.manifest", parts[0]));
        let manifest = std::fs::read_to_string(manifest).unwrap();
        let xattrs = ["nand", "nor", "none"].contains(&parts[3]);
        compare(&name, &flash, &manifest, |line| as_mkfs_has_it(line, xattrs));
    }
}
