//! UBIFS images: a single volume, as `mkfs.ubifs` writes it, or in a volume of a UBI image.
//!
//! Layer: rank 7. In reading order: this file finds both and mounts a single volume; [`ubi`] the
//! volumes of a UBI image, [`survey`] its flash; [`lebs`] is what UBIFS lies on; [`audit`] puts the
//! damage into words.
//!
//! A filesystem that was not unmounted is shown as a read-only mount of Linux shows it: its journal is
//! replayed in memory.

mod audit;
mod check;
mod create;
mod lebs;
mod survey;
mod ubi;
mod ubi_check;

use super::{
    DetectedFileSystem, Detector, FileSystemType, Hints, ImageFileSystem, MountedImage, Window,
};
use crate::audit::Audit;
use crate::contents::Contents;
use crate::detection::{Confidence, Detection, Kind};
use crate::dump::Dump;
use crate::error::{Error, TruncatedPart};
use crate::finding::Finding;
use crate::places::Places;
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubifs::format::superblock::Superblock;
use boardlab_ubifs::{Options, Ubifs};
use lebs::ImageLebs;
use std::ops::Range;

/// The entry in the list of filesystems.
pub(super) const TYPE: FileSystemType = FileSystemType {
    name: "UBIFS",
    search: || Box::new(Search::default()),
    create: Some(create::create),
};
/// The magic number of an erase counter header.
const MAGIC: &[u8] = b"UBI#";
/// Every block begins at a multiple of this, also with OOB bytes in the file.
const STEP: usize = 8;
/// The headers that are remembered: from more on, those of the first blocks are enough.
const HEADERS: usize = 1 << 16;
/// The most LEBs of a volume.
const LEBS: u32 = 1 << 22;
/// The LEBs that every volume has room for: `mkfs.ubifs` writes fewer, and UBIFS grows at a mount.
const LEBS_MIN: u32 = 32;

/// The LEBs of the volume that a filesystem is mounted on. The journal of a small image may need more
/// than are in use.
fn leb_count(superblock: &Superblock) -> u32 {
    let Superblock { log_lebs, lpt_lebs, orph_lebs, .. } = *superblock;
    let fixed = [3, log_lebs, lpt_lebs, orph_lebs].into_iter().fold(0, u32::saturating_add);
    let buds = superblock.max_bud_bytes.div_ceil(u64::from(superblock.leb_size.max(1)));
    let journal = fixed.saturating_add(u32::try_from(buds).unwrap_or(u32::MAX));
    superblock.leb_count.max(journal.min(superblock.max_leb_count)).clamp(LEBS_MIN, LEBS)
}

/// The places of headers of UBI.
#[derive(Debug, Default)]
struct Search {
    headers: Vec<Bytes>,
}

impl Detector for Search {
    fn look(&mut self, window: &Window<'_>) {
        let first = window.begins.start / STEP * STEP;
        let pieces = window.bytes[first..].chunks(STEP);
        for (at, piece) in (first..window.begins.end).step_by(STEP).zip(pieces) {
            if piece.starts_with(MAGIC) && self.headers.len() < HEADERS {
                self.headers.push(window.at + Bytes::new(at as u64));
            }
        }
    }

    fn has_enough(&self) -> bool {
        false
    }

    fn look_at_end(&mut self, _window: &Window<'_>) {}

    fn conclude(
        self: Box<Self>,
        contents: &Contents,
        other: &[Detection],
    ) -> Option<(Detection, Box<dyn DetectedFileSystem>)> {
        if let Some((found, image)) = ubi::recognise(contents, &self.headers, other) {
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
#[derive(Debug)]
struct Image {
    at: Bytes,
    shape: Shape,
    superblock: Superblock,
}

/// The superblock at the place of a magic number, if its checksum is right.
fn recognise(contents: &Contents, found: &Detection) -> Option<(Detection, Image)> {
    use boardlab_ubifs::format::superblock::SIZE;
    let bytes = contents.window(found.at, SIZE);
    let checksum = bytes.get(4..8).and_then(|word| word.try_into().ok()).map(u32::from_le_bytes)?;
    if bytes.len() < SIZE || boardlab_ubi::format::crc(&bytes[8..]) != checksum {
        return None;
    }
    let superblock = Superblock::parse(&bytes).ok()?;
    let block = Bytes::new(u64::from(superblock.leb_size));
    let page = Bytes::new(u64::from(superblock.min_io));
    // NOR has no pages; 8 bytes are the least that UBIFS writes.
    let shape = match page.get() {
        0..=8 => Shape::nor(block),
        _ => Shape::nand(page, Bytes::ZERO, block),
    };
    if shape.check().is_err() || superblock.leb_count > LEBS {
        return None;
    }
    let mut found = found.clone().because(found.at, "superblock, checksum right");
    found.shape = Some(shape);
    found.size = Some(block * u64::from(superblock.leb_count));
    Some((found.clone(), Image { at: found.at, shape, superblock }))
}

impl Image {
    fn needed(&self) -> Bytes {
        self.shape.block * u64::from(self.superblock.leb_count)
    }

    /// The bytes that the file should have, when it is truncated.
    fn truncated(&self, contents: &Contents) -> Option<Bytes> {
        let needed = self.at + self.needed();
        (contents.length() < needed).then_some(needed)
    }
}

impl DetectedFileSystem for Image {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn spare(&self, _contents: &Contents) -> Option<Spare> {
        None
    }

    fn tell(&self, run: &mut RunResult, _contents: &Contents, audit: Option<&Audit>) {
        run.tables.push(filesystem(&self.superblock, audit));
    }

    fn mount(&self, contents: &Contents, hints: &Hints) -> Result<MountedImage, Error> {
        agrees(self.shape, hints)?;
        let truncated = self.truncated(contents);
        if let (Some(needed), false) = (truncated, hints.partial) {
            let cut = TruncatedPart::Block(self.shape);
            return Err(Error::Truncated { length: contents.length(), needed, cut });
        }
        let Superblock { leb_size, min_io, .. } = self.superblock;
        let leb_count = leb_count(&self.superblock);
        let dump = Dump::new(contents.from(self.at), self.shape)?.extended(leb_count)?;
        let shape =
            boardlab_ubi::Shape { leb_count, leb_size, leb_start: 0, min_io, max_write: min_io };
        mount(ImageLebs::plain(dump, shape), self.at, truncated)
    }
}

/// Mounts a volume for reading.
fn mount(lebs: ImageLebs, at: Bytes, truncated: Option<Bytes>) -> Result<MountedImage, Error> {
    let mut clock = Clock::new();
    let options = Options { read_only: true, check_data_crc: true, ..Options::default() };
    let fs = Ubifs::mount(&mut clock, lebs, options);
    let fs = fs.map_err(|problem| Error::Mount(problem.into()))?;
    Ok(MountedImage { fs: Box::new(fs), clock, at, truncated })
}

/// Refuses what the user says of the flash and the image contradicts.
fn agrees(shape: Shape, hints: &Hints) -> Result<(), Error> {
    let expected = Shape {
        page: hints.page.unwrap_or(shape.page),
        oob: hints.oob.unwrap_or(shape.oob),
        block: hints.block.unwrap_or(shape.block),
    };
    expected.check().map_err(|problem| Error::Unsound { problem })?;
    if expected == shape {
        return Ok(());
    }
    Err(Error::WrongShape { expected, found: shape })
}

impl ImageFileSystem for Ubifs<ImageLebs> {
    fn dump(&self) -> &Dump {
        self.lebs().dump()
    }

    fn audit(&mut self, clock: &mut Clock) -> Result<Audit, Error> {
        let mut audit = audit::audit(self, clock);
        if self.needs_recovery() {
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
    let compressor = match superblock.default_compr {
        0 => "none",
        1 => "LZO",
        2 => "zlib",
        3 => "zstd",
        _ => "unknown",
    };
    let count = |of: fn(&Audit) -> u64| audit.map_or(Cell::none(), |it| Cell::int(of(it)));
    let row = Row::new("ubifs", "")
        .cell("leb_count", Cell::int(u64::from(superblock.leb_count)))
        .cell("leb_bytes", Cell::int(u64::from(superblock.leb_size)))
        .cell("compressor", Cell::text(compressor))
        .cell("checked_count", count(|audit| audit.nodes))
        .cell("damaged_count", count(|audit| audit.damaged));
    let mut table = Table::new("filesystem", "Filesystem")
        .column("leb_count", "LEBs")
        .column("leb_bytes", "LEB")
        .column("compressor", "compressor")
        .column("checked_count", "nodes checked")
        .column("damaged_count", "of them damaged");
    table.rows.push(row);
    table
}
