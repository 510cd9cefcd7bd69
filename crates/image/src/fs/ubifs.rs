//! UBIFS images: a single volume, as `mkfs.ubifs` writes it, or in a volume of a UBI image.
//!
//! Layer: rank 7. In reading order: this file finds both and mounts a single volume; [`ubi`] a UBI
//! image, [`survey`] its flash, [`volumes`] what is in its volumes, [`raw`] their bytes; [`lebs`] is what
//! UBIFS lies on; [`commits`] its older states, [`deleted`] its deleted files; [`detail`] and [`audit`] put it and its damage into words.
//!
//! A filesystem that was not unmounted is shown as a read-only mount of Linux shows it: its journal is
//! replayed in memory.

mod audit;
mod cause;
mod check;
mod commits;
mod create;
mod deleted;
mod detail;
mod lebs;
mod raw;
mod rebuild;
mod recipe;
mod survey;
mod ubi;
mod ubi_check;
mod volumes;

pub use raw::RawVolumeReport;

use super::{
    DetectedFileSystem, Detector, FileSystemType, Hints, ImageFileSystem, MountedImage, Recipe,
    refuse_as_of, refuse_volumes,
};
use crate::audit::Audit;
use crate::contents::Contents;
use crate::deleted::Remnants;
use crate::detection::{Confidence, Detection, Kind};
use crate::dump::Dump;
use crate::error::{Error, TruncatedPart};
use crate::finding::Finding;
use crate::places::Places;
use crate::rebuild::RebuildStep;
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubifs::format::superblock::{self, Superblock};
use boardlab_ubifs::format::{Header, NodeType, check_checksum};
use boardlab_ubifs::{Options, Ubifs};
use lebs::ImageLebs;
use std::ops::Range;
use survey::Headers;

/// The entry in the list of filesystems.
pub(super) const TYPE: FileSystemType = FileSystemType {
    name: "UBIFS",
    search: || Box::new(Search::default()),
    create: Some(create::create),
    create_dump: None,
};
/// Every block begins at a multiple of this, also with OOB bytes in the file.
const STEP: u64 = 8;
/// The headers that are remembered: from more on, those of the first blocks are enough.
const HEADERS: usize = 1 << 16;
/// The most LEBs of a volume.
const LEBS: u32 = 1 << 22;
/// The LEBs that every volume has room for: `mkfs.ubifs` writes fewer, and UBIFS grows at a mount.
const LEBS_MIN: u32 = 32;

/// Bytes of the file for each LEB that a superblock may claim, so that no claim takes much memory.
const BYTES_PER_LEB: u64 = 8;

/// The LEBs of the volume that a filesystem is mounted on, as far as a file of this length makes the
/// claim believable. The journal of a small image may need more than are in use.
fn leb_count(superblock: &Superblock, length: Bytes) -> u32 {
    let Superblock { log_lebs, lpt_lebs, orph_lebs, .. } = *superblock;
    let fixed = [3, log_lebs, lpt_lebs, orph_lebs].into_iter().fold(0, u32::saturating_add);
    let buds = superblock.max_bud_bytes.div_ceil(u64::from(superblock.leb_size.max(1)));
    let journal = fixed.saturating_add(u32::try_from(buds).unwrap_or(u32::MAX));
    let most = u32::try_from(length.get() / BYTES_PER_LEB).unwrap_or(LEBS).clamp(LEBS_MIN, LEBS);
    superblock.leb_count.max(journal.min(superblock.max_leb_count)).clamp(LEBS_MIN, most)
}

/// The places of headers of UBI.
#[derive(Debug, Default)]
struct Search {
    headers: Vec<Bytes>,
}

impl Detector for Search {
    fn magics(&self) -> &'static [&'static [u8]] {
        &[b"UBI#"]
    }

    fn look(&mut self, at: Bytes, _head: &[u8]) {
        if at.get().is_multiple_of(STEP) && self.headers.len() < HEADERS {
            self.headers.push(at);
        }
    }

    fn has_enough(&self) -> bool {
        false
    }

    fn look_at_end(&mut self, _at: Bytes, _head: &[u8]) {}

    fn covers(&self, contents: &Contents) -> Option<Box<dyn DetectedFileSystem>> {
        let (headers, distance) = Headers::throughout(contents)?;
        let (found, image) = ubi::recognise(contents, headers, &[])?;
        let is_it = found.shape.is_some_and(|shape| shape.raw_block() == distance);
        is_it.then(|| Box::new(image) as _)
    }

    fn conclude(
        self: Box<Self>,
        contents: &Contents,
        other: &[Detection],
    ) -> Option<(Detection, Box<dyn DetectedFileSystem>)> {
        let headers = Headers::of(contents, &self.headers);
        let ubi = headers.and_then(|headers| ubi::recognise(contents, headers, other));
        if let Some((found, image)) = ubi {
            return Some((found, Box::new(image)));
        }
        let is_ours = |one: &&Detection| {
            one.kind == Kind::FileSystem(TYPE.name) && one.confidence == Confidence::Certain
        };
        let found = other.iter().find(is_ours)?;
        let (found, image) = recognise(contents, found)?;
        Some((found, Box::new(image)))
    }
}

/// A single volume in a file.
#[derive(Debug, Clone)]
struct Image {
    at: Bytes,
    shape: Shape,
    superblock: Superblock,
}

/// The superblock at the place of a magic number, if its checksum is right.
fn recognise(contents: &Contents, found: &Detection) -> Option<(Detection, Image)> {
    let contents = contents.from(found.at);
    let head = contents.window(Bytes::ZERO, superblock::SIZE);
    // Its first page shows the pages, whatever is between them.
    let said = Superblock::parse(&head).ok()?;
    let shapes = shapes(&contents, &said);
    let superblock = |shape| node(&contents, shape, Bytes::ZERO, NodeType::Superblock);
    let right = |shape: &Shape| superblock(*shape).is_some();
    let rank = |shape: &Shape| (has_master(&contents, *shape), shape.oob.is_zero());
    let shape = shapes.into_iter().filter(right).max_by_key(rank)?;
    let superblock = Superblock::parse(&superblock(shape)?).ok()?;
    if shape.check().is_err() || superblock.leb_count > LEBS {
        return None;
    }
    let mut evidence = String::from("superblock, checksum right");
    if !shape.oob.is_zero() {
        evidence += &format!(" with {} spare bytes after every {}", shape.oob.get(), shape.page);
    }
    let mut found = found.clone().because(found.at, evidence);
    found.shape = Some(shape);
    found.size = Some(shape.raw_block() * u64::from(superblock.leb_count));
    Some((found.clone(), Image { at: found.at, shape, superblock }))
}

/// The shapes that a volume with this superblock may have in a file: LEBs one after another, with or
/// without OOB bytes after each page.
fn shapes(contents: &Contents, superblock: &Superblock) -> Vec<Shape> {
    let block = Bytes::new(u64::from(superblock.leb_size));
    let page = Bytes::new(u64::from(superblock.min_io));
    // NOR has no pages; 8 bytes are the least that UBIFS writes.
    if page <= Bytes::new(8) {
        return vec![Shape::nor(block)];
    }
    let known = contents.layouts().into_iter();
    let known = known.filter(|layout| layout.0 == page.get()).map(|layout| layout.1);
    let shape = |oob| Shape::nand(page, Bytes::new(oob), block);
    [0].into_iter().chain(known).map(shape).filter(|shape| shape.check().is_ok()).collect()
}

/// The node of a kind with one length at an offset of the flash, if its checksum is right.
fn node(contents: &Contents, shape: Shape, at: Bytes, kind: NodeType) -> Option<Vec<u8>> {
    let length = Bytes::new(kind.lengths().0.into()).to_usize();
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let next = at + Bytes::of(&bytes);
        let missing = Bytes::new((length - bytes.len()) as u64);
        let in_page = shape.page * (next / shape.page + 1) - next;
        let piece = if shape.is_nand() { missing.min(in_page) } else { missing };
        let piece = contents.window(shape.in_file(next), piece.to_usize());
        if piece.is_empty() {
            return None;
        }
        bytes.extend(piece);
    }
    let header = Header::parse(&bytes).ok().filter(|header| header.node_type == kind)?;
    check_checksum(&bytes, &header).ok()?;
    Some(bytes)
}

/// Whether one of the two LEBs of master nodes begins with one.
fn has_master(contents: &Contents, shape: Shape) -> bool {
    let at = |leb| shape.block * leb;
    [1, 2].into_iter().any(|leb| node(contents, shape, at(leb), NodeType::Master).is_some())
}

impl Image {
    fn needed(&self) -> Bytes {
        self.shape.raw_block() * u64::from(self.superblock.leb_count)
    }

    /// The LEBs: those of the filesystem, and when it is written also those that the file has behind them, into
    /// which it grows as on a larger volume.
    fn lebs(&self, contents: &Contents, hints: &Hints) -> Result<ImageLebs, Error> {
        let Superblock { leb_size, min_io, max_leb_count, .. } = self.superblock;
        let mut leb_count = leb_count(&self.superblock, contents.length());
        if !hints.reads_only() {
            let there = (contents.length() - self.at) / self.shape.raw_block();
            let there = u32::try_from(there).unwrap_or(LEBS).min(LEBS);
            leb_count = leb_count.max(there.min(max_leb_count));
        }
        let spare = self.spare(contents);
        let dump = Dump::with_spare(contents.from(self.at), self.shape, spare)?;
        let dump = dump.extended(leb_count)?;
        let shape =
            boardlab_ubi::Shape { leb_count, leb_size, leb_start: 0, min_io, max_write: min_io };
        Ok(ImageLebs::plain(dump, shape))
    }

    /// The bytes that the file should have, when it is truncated.
    fn truncated(&self, contents: &Contents) -> Option<Bytes> {
        let needed = self.at + self.needed();
        (contents.length() < needed).then_some(needed)
    }
}

impl DetectedFileSystem for Image {
    fn of_changed(&self, contents: &Contents) -> Box<dyn DetectedFileSystem> {
        let mut changed = self.clone();
        let contents = &contents.from(self.at);
        let node = node(contents, self.shape, Bytes::ZERO, NodeType::Superblock);
        if let Some(superblock) = node.and_then(|node| Superblock::parse(&node).ok()) {
            changed.superblock = superblock;
        }
        Box::new(changed)
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn spare(&self, contents: &Contents) -> Option<Spare> {
        Spare::detect_if_any(&contents.from(self.at), self.shape, Bytes::ZERO, None)
    }

    fn tell(
        &self,
        run: &mut RunResult,
        contents: &Contents,
        _hints: &Hints,
        audit: Option<&Audit>,
    ) {
        run.tables.push(filesystem(&self.superblock, audit));
        run.tables.push(detail::superblock(&self.superblock));
        run.tables.extend(detail::nodes(audit));
        run.tables.extend(self.lebs(contents, &Hints::default()).ok().and_then(commits::table));
    }

    fn rebuild(&self, _contents: &Contents) -> Vec<RebuildStep> {
        rebuild::of_volume(&self.superblock)
    }

    fn recipe(&self, contents: &Contents, hints: &Hints) -> Result<Recipe, Error> {
        agrees(self.shape, hints)?;
        recipe::of_volume(contents, self)
    }

    fn mount(&self, contents: &Contents, hints: &Hints) -> Result<MountedImage, Error> {
        agrees(self.shape, hints)?;
        refuse_volumes(hints)?;
        let truncated = self.truncated(contents);
        if let (Some(needed), false) = (truncated, hints.partial) {
            let found = (contents.length() - self.at) / self.shape.raw_block();
            let cut = TruncatedPart::Lebs { found, needed: self.superblock.leb_count.into() };
            return Err(Error::Truncated { length: contents.length(), needed, cut });
        }
        mount(|| self.lebs(contents, hints), hints, self.at, truncated)
    }
}

/// Mounts a volume for reading, as it is or as a commit left it. One that cannot be mounted is shown, if
/// `hints` allow that, as the newest commit of which something stands.
fn mount(
    lebs: impl Fn() -> Result<ImageLebs, Error>,
    hints: &Hints,
    at: Bytes,
    truncated: Option<Bytes>,
) -> Result<MountedImage, Error> {
    refuse_as_of(hints, "UBIFS: its older states are commits, for --commit")?;
    let mut clock = Clock::new();
    let (read_only, wall) = (hints.reads_only(), hints.wall());
    let options = || Options { read_only, wall, check_data_crc: true, ..Options::default() };
    let fs = if let Some(number) = hints.commit {
        commits::mount(&mut clock, lebs()?, number, options())?
    } else {
        match Ubifs::mount(&mut clock, lebs()?, options()) {
            Ok(fs) => fs,
            Err(problem) => {
                let why = cause::of_mount(&problem, &lebs()?, at) + &cause::truncated(truncated);
                let newest =
                    if hints.partial { commits::newest(&mut clock, &lebs, options) } else { None };
                let Some(mut fs) = newest else { return Err(Error::Mount(why.into())) };
                fs.lebs_mut().instead_of = Some(why);
                fs
            }
        }
    };
    Ok(MountedImage { fs: Box::new(fs), clock, at, truncated })
}

/// Refuses what the user says of the flash and the image contradicts.
fn agrees(shape: Shape, hints: &Hints) -> Result<(), Error> {
    let expected = hints.shape_over(shape)?;
    if expected == shape {
        return Ok(());
    }
    Err(Error::WrongShape { expected, found: shape })
}

impl ImageFileSystem for Ubifs<ImageLebs> {
    fn dump(&self) -> &Dump {
        self.lebs().dump()
    }

    fn dump_mut(&mut self) -> &mut Dump {
        self.lebs_mut().dump_mut()
    }

    /// Right after the mount most of the index is still on the flash.
    fn copy(&self) -> Option<Box<dyn ImageFileSystem>> {
        Some(Box::new(self.clone()))
    }

    fn deleted(self: Box<Self>, clock: &mut Clock) -> Result<Remnants, Error> {
        deleted::remnants(*self, clock)
    }

    fn audit(&mut self, clock: &mut Clock) -> Result<Audit, Error> {
        let mut audit = audit::audit(self, clock);
        if let (Some(why), Some((commit, _))) = (&self.lebs().instead_of, self.older_commit()) {
            audit.unknown_loss = true;
            audit.foreign = Some(format!(
                "The filesystem cannot be mounted: {why}. This is the tree of commit {commit}, as far as it \
                 stands, without what the journal has."
            ));
        } else if let Some((commit, newest)) = self.older_commit() {
            audit.foreign = Some(format!(
                "This is the tree of commit {commit}, without what the journal has; the newest commit is {newest}."
            ));
        } else if self.needs_recovery() {
            let text = "The filesystem was not unmounted: its journal is replayed in memory, as Linux \
                        shows it in a read-only mount.";
            audit.foreign = Some(text.into());
        }
        Ok(audit)
    }

    fn findings(&mut self, clock: &mut Clock, places: &Places) -> Vec<Finding> {
        check::findings(self, clock, places)
    }

    fn inodes_in(&self, range: Range<Bytes>) -> Vec<u32> {
        let nodes = &self.lebs().nodes;
        let end = nodes.partition_point(|(node, _)| node.start < range.end);
        // Nodes do not overlap, so only the last one before the range can reach into it.
        let touched = nodes[..end].iter().rev().take_while(|(node, _)| node.end > range.start);
        let mut inodes: Vec<u32> = touched.map(|(_, ino)| *ino).collect();
        inodes.sort_unstable();
        inodes.dedup();
        inodes
    }
}

/// The table of a filesystem.
fn filesystem(superblock: &Superblock, audit: Option<&Audit>) -> Table {
    let compressor = detail::compressor(superblock.default_compr);
    let count = |of: fn(&Audit) -> u64| audit.map_or(Cell::none(), |it| Cell::int(of(it)));
    Table::new("filesystem", "Filesystem")
        .of([(Row::new("ubifs", ""), ())])
        .column("leb_count", "LEBs", |()| Cell::int(u64::from(superblock.leb_count)))
        .column("leb_bytes", "LEB", |()| Cell::int(u64::from(superblock.leb_size)))
        .column("compressor", "compressor", |()| Cell::text(compressor))
        .column("checked_count", "nodes checked", |()| count(|audit| audit.nodes))
        .column("damaged_count", "of them damaged", |()| count(|audit| audit.damaged))
        .table()
}
