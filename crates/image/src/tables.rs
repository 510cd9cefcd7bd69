//! The information about an image as the typed result that every renderer shows.
//!
//! Layer: rank 7. Functions: [`info`], [`listing`], [`deleted`](fn@deleted), [`extracted`] and [`carved`]; [`archived`] and
//! [`differences`] of trees of files; [`stat`](fn@stat). Names from images are untrusted, and are shown escaped.

mod damage;
mod deleted;
mod pages;
mod stat;
pub(crate) mod trees;

pub use deleted::deleted;
pub use pages::rewritten;
pub use stat::stat;
pub use trees::{archived, differences};
pub(crate) use trees::{changes, tell_source};
mod look;

pub use look::look;

use crate::contents::Contents;
use crate::damage::{Damage, Paths};
use crate::date::date;
use crate::detection::Detection;
use crate::error::{Error, PathProblem, RawDamage};
use crate::extract::{ExtractionReport, Limits, MARK, SkippedItem};
use crate::files::LeftOut;
use crate::fs::{DetectedFileSystem, Hints, RawVolumeReport};
use crate::identify::Identity;
use crate::names::{shown, unshown};
use crate::pattern::Pattern;
use crate::walk::{Item, Problem, Walk, resolve};
use boardlab_result::prose::counted;
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{Attributes, FileSystem, Kind};
use std::collections::BTreeMap;

/// The version that results carry.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A result, and whether everything requested is intact.
#[derive(Debug)]
pub struct ImageReport {
    /// The result.
    pub run: RunResult,
    /// Whether nothing is missing, older or damaged.
    pub whole: bool,
}

/// The contents of the file `name`, as [`identify`](crate::identify()) found them; `looked_at` is
/// the damage of its filesystem, where that can be mounted.
#[must_use]
pub fn info(
    name: &str,
    contents: &Contents,
    identity: &Identity,
    hints: &Hints,
    looked_at: Option<&Result<Damage, Error>>,
) -> ImageReport {
    let volume = hints.volume.as_ref().map(|volume| shown(volume.as_bytes()));
    let whole_file = volume.is_none();
    let title = match volume {
        Some(volume) => format!("What is in volume {volume} of {name}"),
        None => format!("What is in {name}"),
    };
    let mut run = RunResult::new("image-info", &title, 0, VERSION);
    if whole_file {
        run.tables.push(found(identity));
    }
    if let Some(system) = &identity.filesystem {
        if whole_file {
            run.tables.push(flash(contents, &**system));
        }
        let damage = looked_at.and_then(|found| found.as_ref().ok());
        system.tell(&mut run, contents, hints, damage.map(|found| &found.audit));
    }
    let besides = identity.filesystem.as_ref().map(|system| system.damage(hints));
    let besides = besides.unwrap_or_default();
    let whole = besides.is_empty();
    run.warnings.extend(besides);
    let whole = whole
        & match looked_at {
            Some(Ok(found)) => {
                damage::tell(&mut run, found, &Paths::new());
                found.is_whole()
            }
            Some(Err(problem)) => {
                run.warnings.push(format!("The image cannot be mounted: {problem}"));
                false
            }
            None => true,
        };
    if whole_file {
        run.tables.push(evidence(identity));
    }
    ImageReport { run, whole }
}

/// Reports what was written of a UBI volume of the image `name` to the file `target`.
#[must_use]
pub fn carved(name: &str, target: &str, done: &RawVolumeReport) -> ImageReport {
    let title = format!("Volume {} of {name} in {target}", done.name);
    let mut run = RunResult::new("image-extract", &title, 0, VERSION);
    let checksums = match (done.is_static, done.damage.len()) {
        (false, _) => "none in a dynamic volume".to_owned(),
        (true, 0) => format!("right in {}", counted(done.verified, "LEB")),
        (true, damaged) => format!("right in {}, not in {damaged}", done.verified),
    };
    run.tables.push(
        Table::new("volume", "Written")
            .of([(Row::new(done.name.clone(), ""), ())])
            .column("content", "content", |()| Cell::text(done.content.clone()))
            .column("size_bytes", "size", |()| Cell::count(done.length.get()))
            .column("leb_count", "LEBs", |()| Cell::int(done.lebs.0))
            .column("unmapped_count", "not mapped", |()| Cell::int(done.lebs.1))
            .column("checksums", "checksums", |()| Cell::text(checksums.as_str()))
            .table(),
    );
    if !done.damage.is_empty() {
        let rows = (1..).zip(&done.damage);
        let rows = rows.map(|(number, damage)| (Row::new(number.to_string(), ""), damage));
        let table = Table::new("damage", "Damage").of(rows);
        let what = |damage: &&RawDamage| Cell::text(damage.to_string());
        run.tables.push(table.column("what", "what is damaged", what).table());
    }
    ImageReport { run, whole: done.damage.is_empty() }
}

fn found(identity: &Identity) -> Table {
    let rows = (1..).zip(&identity.found).map(|one| (Row::new(one.0.to_string(), ""), one));
    let length = |&(number, found): &(usize, &Detection)| match found.size {
        Some(size) => Cell::count(size.get()),
        None => Cell::int(left(identity, number, found).get()),
    };
    Table::new("contents", "Contents")
        .of(rows)
        .column("at", "at", |(_, found)| Cell::text(place(found.at)))
        .column("kind", "what it is", |(_, found)| Cell::text(found.kind.to_string()))
        .column("length_bytes", "length", length)
        .column("confidence", "sure?", |(_, found)| Cell::text(found.confidence.to_string()))
        .column("detail", "more", |(_, found)| Cell::text(found.detail.clone()))
        .table()
}

/// Content without a stated length extends to the next content.
fn left(identity: &Identity, next: usize, found: &Detection) -> Bytes {
    let end = identity.found.get(next).map_or(identity.length, |next| next.at);
    end - found.at.min(end)
}

fn flash(contents: &Contents, system: &dyn DetectedFileSystem) -> Table {
    let shape = system.shape();
    let spare = system.spare(contents);
    let spare = spare.map_or(Cell::none(), |spare| Cell::text(spare.to_string()));
    let page = if shape.is_nand() { Cell::int(shape.page.get()) } else { Cell::none() };
    let blocks = contents.length().div_ceil(shape.raw_block());
    Table::new("flash", "Flash")
        .of([(Row::new("flash", ""), ())])
        .column("page_bytes", "page", |()| page.clone())
        .column("oob_bytes", "spare bytes a page", |()| Cell::int(shape.oob.get()))
        .column("block_bytes", "erase block", |()| Cell::int(shape.block.get()))
        .column("block_count", "blocks", |()| Cell::int(blocks))
        .column("correction", "error correction", |()| spare.clone())
        .table()
}

fn evidence(identity: &Identity) -> Table {
    let all = (1..).zip(&identity.found);
    let all = all.flat_map(|(content, found)| found.evidence.iter().map(move |it| (content, it)));
    let rows = (1..).zip(all).map(|(number, one)| (Row::new(number.to_string(), ""), one));
    Table::new("evidence", "Evidence")
        .of(rows)
        .column("at", "at", |(_, evidence)| Cell::text(place(evidence.at)))
        .column("content", "content", |(content, _)| Cell::int(*content))
        .column("what", "what is there", |(_, evidence)| Cell::text(evidence.what.clone()))
        .table()
}

/// The row limit of the table of skipped items.
const ROWS: usize = 200_000;

/// What is listed.
#[derive(Debug, Clone)]
pub enum Selection {
    /// Every name below a path.
    Below(Vec<u8>),
    /// The names that match a pattern.
    Matching(Pattern),
}

impl Selection {
    /// What `text` means, with escapes as names are shown: the path, where it is in `fs`; else a pattern, if it is
    /// one.
    ///
    /// # Errors
    /// [`Error::Escape`], [`PathProblem::Pattern`].
    pub fn of(text: &[u8], fs: &mut dyn FileSystem, clock: &mut Clock) -> Result<Self, Error> {
        let path = unshown(text).map_err(|at| Error::Escape { at });
        let is_there = path.as_ref().is_ok_and(|path| resolve(fs, clock, path).is_ok());
        match Pattern::of(text)? {
            Some(pattern) if !is_there => Ok(Self::Matching(pattern)),
            _ => path.map(Self::Below),
        }
    }
}

impl From<&[u8; 1]> for Selection {
    fn from(path: &[u8; 1]) -> Self {
        Self::Below(path.to_vec())
    }
}

/// Lists the names in the image `name`, which is mounted as `fs`; `damage` is the damage of the image.
///
/// # Errors
/// When the path does not exist, or nothing matches.
pub fn listing(
    name: &str,
    fs: &mut dyn FileSystem,
    clock: &mut Clock,
    what: impl Into<Selection>,
    damage: &Damage,
    limits: Limits,
) -> Result<ImageReport, Error> {
    let (path, pattern) = match what.into() {
        Selection::Below(path) => (path, None),
        Selection::Matching(pattern) => (b"/".to_vec(), Some(pattern)),
    };
    let (path, start) = resolve(fs, clock, &path)?;
    let mut run = RunResult::new("image-ls", &format!("Files in {name}"), 0, VERSION);
    let mut table = Table::new("files", "Files, with times in UTC")
        .column("mode", "mode")
        .column("link_count", "links")
        .column("uid", "uid")
        .column("gid", "gid")
        .column("size_bytes", "size")
        .column("modified", "modified")
        .column("detail", "more");
    let (mut walk, mut wrong, mut whole) = (Walk::new(&path, start), 0_usize, true);
    let (told, mut paths) = (damage.inodes(), Paths::new());
    while let Some(item) = walk.next(fs, clock) {
        if pattern.as_ref().is_some_and(|pattern| !pattern.matches(&item.path)) {
            let _ = fs.evict_inode(clock, item.ino);
            continue;
        }
        let hurt = damage.of_inode(item.ino);
        wrong += usize::from(item.problem.is_some() || hurt.is_some());
        whole &= hurt.is_none() && item.problem.as_ref().is_none_or(Problem::is_told_whole);
        if table.rows.len() as u64 == limits.names {
            run.warnings.push(ended_at(limits.names));
            whole = false;
            break;
        }
        if let Some(ino) = u32::try_from(item.ino.0).ok().filter(|ino| told.contains(ino)) {
            paths.entry(ino).or_insert_with(|| shown(&item.path));
        }
        table.rows.push(file(&item, hurt));
        // Drops the in-memory state of the inode.
        fs.evict_inode(clock, item.ino)
            .map_err(|problem| Error::FileSystem { problem, path: item.path })?;
    }
    if pattern.is_some() && table.rows.is_empty() {
        return Err(Error::Path(PathProblem::NoMatch));
    }
    if wrong > 0 {
        run.warnings
            .push(format!("The last column shows the problems of {}.", counted(wrong, "name")));
    }
    run.tables.push(table);
    damage::tell(&mut run, damage, &paths);
    Ok(ImageReport { run, whole: whole && !damage.may_miss_names() })
}

fn file(item: &Item, hurt: Option<&str>) -> Row {
    let row = Row::new(shown(&item.path), "");
    let problem = item.problem.as_ref().map(ToString::to_string);
    let hurt = hurt.map(|hurt| format!("damaged: {hurt}"));
    let problem = match (problem, hurt) {
        // An unreadable item needs no further explanation.
        (Some(problem), Some(hurt)) if !problem.starts_with("damaged") => {
            Some(format!("{problem}; {hurt}"))
        }
        (problem, hurt) => problem.or(hurt),
    };
    let Some(attributes) = item.attributes else {
        return row.cell("detail", Cell::text(problem.unwrap_or_default()));
    };
    let detail = problem.or_else(|| match attributes.kind {
        Kind::Symlink => Some(format!("-> {}", shown(&item.target))),
        Kind::Character(device) | Kind::Block(device) => {
            Some(format!("device {}:{}", device.major, device.minor))
        }
        _ => None,
    });
    let size = match attributes.kind {
        Kind::File | Kind::Symlink => Cell::count(attributes.size),
        _ => Cell::none(),
    };
    row.cell("mode", Cell::text(mode(&attributes)))
        .cell("link_count", Cell::int(attributes.links.into()))
        .cell("uid", Cell::int(attributes.uid.into()))
        .cell("gid", Cell::int(attributes.gid.into()))
        .cell("size_bytes", size)
        .cell("modified", Cell::text(date(attributes.modified.seconds)))
        .cell("detail", detail.map_or(Cell::none(), Cell::text))
}

/// Reports what was extracted from the image `name` into the folder `target`.
#[must_use]
pub fn extracted(name: &str, target: &str, done: &ExtractionReport) -> ImageReport {
    let mut run =
        RunResult::new("image-extract", &format!("Files of {name} in {target}"), 0, VERSION);
    run.tables.push(
        Table::new("written", "Written")
            .of([(Row::new("written", ""), ())])
            .column("directory_count", "directories", |()| Cell::int(done.directories))
            .column("file_count", "files", |()| Cell::int(done.files))
            .column("link_count", "hard links", |()| Cell::int(done.links))
            .column("symlink_count", "symbolic links", |()| Cell::int(done.symlinks))
            .column("content_bytes", "content", |()| Cell::count(done.bytes.get()))
            .table(),
    );
    left_out(&mut run, done);
    if let Some(names) = done.ended_at {
        run.warnings.push(ended_at(names));
    }
    if let Some(problem) = &done.unsafe_because {
        run.warnings.push(format!(
            "Files may be missing on the disk, and the mark `{MARK}` stays in the folder: {problem}"
        ));
    }
    damage::tell(&mut run, &done.damage, &done.paths);
    ImageReport { run, whole: done.is_whole() && !done.damage.may_miss_names() }
}

/// The row limit of the table of what is not taken.
const NOT_TAKEN: usize = 10_000;

/// Adds what is not in something that was made.
pub(crate) fn not_taken(run: &mut RunResult, what: &str, left_out: &[LeftOut]) {
    let count = left_out.len();
    if count == 0 {
        return;
    }
    run.warnings.push(format!("left out of {what}: {count}, see the last table"));
    if count > NOT_TAKEN {
        run.warnings.push(format!("only {NOT_TAKEN} of {count} things left out are listed"));
    }
    let rows = (1..).zip(left_out.iter().take(NOT_TAKEN));
    let rows = rows.map(|(number, one)| (Row::new(number.to_string(), shown(&one.path)), one));
    let why = |one: &&LeftOut| Cell::text(shown(one.why.to_string().as_bytes()));
    run.tables.push(Table::new("skipped", "Left out").of(rows).column("why", "why", why).table());
}

fn ended_at(names: u64) -> String {
    format!(
        "Only the first {names} names are included: name a folder in the image, or raise the limit with --max-names."
    )
}

/// Adds the skipped items: the number of each kind, and each name with its reason, losses first.
fn left_out(run: &mut RunResult, done: &ExtractionReport) {
    if done.skipped.is_empty() {
        return;
    }
    let (lost, kept): (Vec<_>, Vec<_>) = done.skipped.iter().partition(|one| one.why.is_loss());
    if !lost.is_empty() {
        let count = lost.len();
        run.warnings
            .push(format!("names left out or not taken whole: {count}, see the last tables"));
    }
    let mut counts: BTreeMap<(bool, &str), u64> = BTreeMap::new();
    for one in &done.skipped {
        *counts.entry((!one.why.is_loss(), one.why.class())).or_default() += 1;
    }
    let mut reasons = Table::new("reasons", "Left out, by reason")
        .column("name_count", "names")
        .column("meaning", "whole without it?");
    for ((kept, class), count) in counts {
        let whole = if kept { "yes" } else { "no" };
        let row = Row::new(class, "").cell("name_count", Cell::int(count));
        reasons.rows.push(row.cell("meaning", Cell::text(whole)));
    }
    run.tables.push(reasons);
    let mut table = Table::new("skipped", "Left out").column("why", "why");
    let row = |one: &&SkippedItem| {
        Row::new(shown(&one.path), "").cell("why", Cell::text(one.why.to_string()))
    };
    table.rows = lost.iter().chain(&kept).take(ROWS).map(row).collect();
    if done.skipped.len() > ROWS {
        run.warnings
            .push(format!("only {ROWS} of {} names left out are listed", done.skipped.len()));
    }
    run.tables.push(table);
}

/// Kind and permissions as `ls -l` shows them.
fn mode(attributes: &Attributes) -> String {
    let kind = match attributes.kind {
        Kind::File => '-',
        Kind::Directory => 'd',
        Kind::Symlink => 'l',
        Kind::Fifo => 'p',
        Kind::Socket => 's',
        Kind::Character(_) => 'c',
        Kind::Block(_) => 'b',
    };
    let bits = attributes.mode;
    let mut mode = String::from(kind);
    for (shift, special, letter) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let triple = bits >> shift;
        mode.push(if triple & 4 == 0 { '-' } else { 'r' });
        mode.push(if triple & 2 == 0 { '-' } else { 'w' });
        mode.push(match (bits & special != 0, triple & 1 != 0) {
            (true, true) => letter,
            (true, false) => letter.to_ascii_uppercase(),
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    mode
}

/// A place in a file.
pub(crate) fn place(at: Bytes) -> String {
    format!("{:#x}", at.get())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::SkipReason;
    use crate::fs::jffs2::tests::Writer;
    use crate::identify::identify;
    use crate::shape::Shape;
    use boardlab_jffs2::format::ByteOrder;
    use boardlab_result::Value;
    use boardlab_vfs::{Device, MemoryFs, NewInode};

    #[test]
    fn flash_and_filesystem_become_tables() {
        let shape = Shape::nand(Bytes::kib(2), Bytes::new(64), Bytes::kib(128));
        let mut writer = Writer::new(ByteOrder::Big, shape);
        writer.inodes(300);
        let file = writer.file();
        let run = info("x.bin", &file, &identify(&file), &Hints::default(), None).run;
        let cell = |table, row, column| {
            let cell: &Cell = run.table(table).and_then(|table| table.cell(row, column)).unwrap();
            cell.value.clone()
        };
        assert_eq!(cell("filesystem", "jffs2", "order"), Value::Text("big-endian".into()));
        assert_eq!(cell("filesystem", "jffs2", "damaged_count"), Value::Int(0));
        assert_eq!(cell("flash", "flash", "page_bytes"), Value::Int(2_048));
        assert_eq!(cell("flash", "flash", "oob_bytes"), Value::Int(64));
        assert!(run.table("evidence").unwrap().rows.len() >= 3);
        assert!(run.warnings.is_empty() && run.findings.is_empty(), "{run:?}");
    }

    #[test]
    fn doubts_become_warnings_and_other_content_has_no_flash() {
        let mut writer = Writer::new(ByteOrder::Little, Shape::nor(Bytes::kib(64)));
        writer.marks = false;
        writer.inodes(100);
        writer.data.truncate(writer.data.len() - 9);
        let file = Contents::of(writer.data);
        let run = info("x.bin", &file, &identify(&file), &Hints::default(), None).run;
        assert!(run.warnings[0].starts_with("The file is truncated: "), "{:?}", run.warnings);
        assert!(run.warnings[1].contains("64 KiB is the smallest size"), "{:?}", run.warnings);
        assert!(run.findings[0].contains("read as NOR. If it is of NAND"), "{:?}", run.findings);
        let file = Contents::of(b"ANDROID!".repeat(8));
        let run = info("x.bin", &file, &identify(&file), &Hints::default(), None).run;
        assert!(run.table("flash").is_none());
        let kind = run.table("contents").unwrap().cell("1", "kind").unwrap().value.clone();
        assert_eq!(kind, Value::Text("Android boot image".into()));
    }

    #[test]
    fn files_become_rows_as_ls_shows_them() {
        let (mut fs, mut clock) = (MemoryFs::new(), Clock::new());
        let root = fs.root();
        let device = Kind::Block(Device { major: 31, minor: 4 });
        fs.create(&mut clock, root, b"dev", &NewInode::of(device, 0o640)).unwrap();
        fs.create(&mut clock, root, b"run", &NewInode::of(Kind::File, 0o6711)).unwrap();
        let link = NewInode { target: b"/\xff", ..NewInode::of(Kind::Symlink, 0o777) };
        fs.create(&mut clock, root, b"\x1bl", &link).unwrap();
        fs.create(&mut clock, root, b"tmp", &NewInode::of(Kind::Directory, 0o1777)).unwrap();
        let run =
            listing("x.bin", &mut fs, &mut clock, b"/", &Damage::default(), Limits::default())
                .unwrap()
                .run;
        let table = run.table("files").unwrap();
        let text = |row, column| table.cell(row, column).unwrap().value.clone();
        let words = |words: &str| Value::Text(words.into());
        assert_eq!(text("/dev", "mode"), words("brw-r-----"));
        assert_eq!(text("/dev", "detail"), words("device 31:4"));
        assert_eq!(text("/run", "mode"), words("-rws--s--x"));
        assert_eq!(text("/tmp", "mode"), words("drwxrwxrwt"));
        assert_eq!(text("/\\u{1b}l", "detail"), words("-> /\\xff"));
        assert_eq!(text("/run", "modified"), words("1970-01-01 00:00:00"));
        assert!(
            listing(
                "x.bin",
                &mut fs,
                &mut clock,
                Selection::Below(b"/none".to_vec()),
                &Damage::default(),
                Limits::default()
            )
            .is_err()
        );
    }

    #[test]
    fn what_was_left_out_is_told_with_its_reason() {
        let device = Kind::Character(Device { major: 1, minor: 3 });
        let skipped = SkippedItem { path: b"/null".into(), why: SkipReason::Kind(device) };
        let done =
            ExtractionReport { files: 3, skipped: vec![skipped], ..ExtractionReport::default() };
        let run = extracted("x.bin", "out", &done).run;
        let cell = run.table("skipped").unwrap().cell("/null", "why").unwrap();
        assert_eq!(cell.value, Value::Text("a character device".into()));
        assert!(run.warnings.is_empty(), "{:?}", run.warnings);
        let count = run.table("reasons").unwrap().cell("devices, pipes and sockets", "name_count");
        assert_eq!(count.unwrap().value, Value::Int(1));
        assert!(extracted("x.bin", "out", &ExtractionReport::default()).run.warnings.is_empty());
    }
}
