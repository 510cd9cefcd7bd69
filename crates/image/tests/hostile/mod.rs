//! Names that no host takes, deep directories, holes and many names: each is told, and none takes long.

use crate::forged_jffs2::{BLOCK, DIRECTORY, FILE, ORDER, dirent, image, inode};
use boardlab_image::names::shown;
use boardlab_image::tables::{self, ImageReport};
use boardlab_image::{Contents, Damage, Hints, Limits, extract, open};
use boardlab_jffs2::format::Dirent;
use boardlab_jffs2::{Jffs2, Options};
use boardlab_mtd::stats::Stats;
use boardlab_mtd::{Kind as Operation, Mtd, RamMtd};
use boardlab_result::Value;
use boardlab_sim::{Bytes, Clock};
use std::path::{Path, PathBuf};

/// The names and nodes of one file: their product is what may take long.
const MANY: u32 = 5_000;

/// A folder of this test, which goes with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("boardlab-hostile-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn both(image: Vec<u8>, target: &Path) -> [ImageReport; 2] {
    let mut opened = open(&Contents::of(image), &Hints::default()).unwrap();
    let damage = Damage::of(&mut opened).unwrap();
    let (fs, clock) = (&mut opened.fs, &mut opened.clock);
    let limits = Limits::default();
    let listed = tables::listing("x", fs, clock, b"/", &damage, limits).unwrap();
    let done = extract(fs, clock, b"/", target, damage, limits).unwrap();
    [listed, tables::extracted("x", "out", &done)]
}

fn why(told: &ImageReport, path: &str) -> Option<String> {
    let rows = &told.run.table("skipped")?.rows;
    let rows: Vec<_> = rows.iter().filter(|row| row.id == path).collect();
    let Value::Text(words) = &rows.first()?.cells["why"].value else { return None };
    Some(words.clone())
}

#[test]
fn every_hostile_name_is_listed_and_written_or_told() {
    let long = [vec![b'n'; 254], vec![b'm'; 255]];
    let good: [&[u8]; 10] = [
        b"new\nline",
        b"\xff\xfe",
        b"esc\x1b[2J",
        b"space ",
        b"back\\slash",
        b"-rf",
        b"Case",
        b"case",
        &long[0],
        &long[1],
    ];
    let bad: [&[u8]; 6] = [b"/", b".", b"..", b"", b"a/b", b"/etc/passwd"];
    let names: Vec<_> = good.iter().chain(&bad).copied().collect();
    let nodes = (2..).zip(&names).flat_map(|(ino, name)| {
        let content = inode((ino, 1), FILE.0, (0, 4), b"text");
        [content, dirent(1, ino, FILE.1, name)]
    });
    let scratch = Scratch::new("names");
    let [listed, written] = both(image(nodes), &scratch.0);
    for name in &names {
        let path = shown(&[b"/", *name].concat());
        assert!(listed.run.table("files").unwrap().row(&path).is_some(), "{path}");
        let reason = why(&written, &path).filter(|reason| !reason.starts_with("its owner"));
        assert_eq!(reason.is_some(), bad.contains(name), "{path}: {reason:?}");
    }
    assert_eq!(std::fs::read_dir(&scratch.0).unwrap().count(), good.len());
    assert!(listed.whole && !written.whole);
    assert!(listed.run.table("files").unwrap().row("/new\\u{a}line").is_some());
    assert!(listed.run.table("files").unwrap().row("/\\xff\\xfe").is_some());
}

#[test]
fn directories_too_deep_are_told_with_how_much_is_in_them() {
    let name = [b'd'; 200];
    let chain = (2..32).flat_map(|ino: u32| {
        [inode((ino, 1), DIRECTORY.0, (0, 0), b""), dirent(ino - 1, ino, DIRECTORY.1, &name)]
    });
    let scratch = Scratch::new("deep");
    let [listed, written] = both(image(chain), &scratch.0);
    assert!(!listed.whole && !written.whole);
    let rows = &listed.run.table("files").unwrap().rows;
    let last = format!("{:?}", rows.last().unwrap().cells["detail"]);
    assert!(last.contains("too deep to be entered, with 9 names"), "{last}");
    assert_eq!(rows.len(), 22);
}

#[test]
fn a_hole_of_four_gigabytes_takes_no_time_and_no_space() {
    let hole = u32::MAX - 5_000;
    let nodes = (2..12).flat_map(|ino: u32| {
        let content = inode((ino, 2), FILE.0, (hole, 4), b"last");
        let name = format!("hole{ino}");
        let hole = inode((ino, 1), FILE.0, (0, hole), b"");
        [hole, content, dirent(1, ino, FILE.1, name.as_bytes())]
    });
    let scratch = Scratch::new("holes");
    let start = std::time::Instant::now();
    let [listed, written] = both(image(nodes), &scratch.0);
    // Page by page it takes 30 seconds.
    assert!(start.elapsed() < std::time::Duration::from_secs(15), "{:?}", start.elapsed());
    assert!(listed.whole && written.whole, "{:?}", written.run);
    let found = std::fs::metadata(scratch.0.join("hole2")).unwrap();
    assert_eq!(found.len(), u64::from(hole) + 4);
    #[cfg(unix)]
    assert!(std::os::unix::fs::MetadataExt::blocks(&found) < 64);
}

#[test]
fn names_times_nodes_is_not_what_a_file_costs() {
    let nodes = (1..=MANY).map(|at| inode((2, at), FILE.0, (8 * (at - 1), 8), b"abcdefgh"));
    let names = (1..=MANY).map(|at| {
        let name = format!("{at:05}");
        let dirent =
            Dirent { parent: 1, version: at, ino: 2, mctime: 0, kind: 8, name: name.as_bytes() };
        let mut bytes = vec![0xFF; 48];
        dirent.emit(&mut bytes, ORDER);
        bytes
    });
    let bytes = image(nodes.chain(names));
    let size = bytes.len() as u64;
    let blocks = u32::try_from(bytes.len() / BLOCK).unwrap();
    let mut flash = RamMtd::nor(blocks, Bytes::of(&[0; BLOCK]));
    let mut clock = Clock::new();
    flash.program(&mut clock, Bytes::ZERO, &bytes).unwrap();
    let options = Options { read_only: true, ..Options::default() };
    let mut fs = Jffs2::mount(&mut clock, Stats::new(flash), options).unwrap();
    fs.audit(&mut clock, |_, _| false).unwrap();
    let nothing = Damage::default();
    let limits = Limits::default();
    let listed = tables::listing("x", &mut fs, &mut clock, b"/", &nothing, limits).unwrap();
    assert_eq!(listed.run.table("files").unwrap().rows.len(), MANY as usize + 1);
    let scratch = Scratch::new("links");
    let done = extract(&mut fs, &mut clock, b"/", &scratch.0, nothing, limits).unwrap();
    assert_eq!((done.files, done.links), (1, u64::from(MANY) - 1));
    let read = fs.device().of(Operation::Read).bytes().get();
    assert!(read < 20 * size, "{read} bytes of {size}");
}
