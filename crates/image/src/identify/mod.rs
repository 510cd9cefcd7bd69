//! What is in a file: which filesystem or other content, of which flash, and how that is known.
//!
//! Layer: rank 7. Main types: [`Identity`], [`Found`] and [`Kind`]; main function: [`identify`].
//! In reading order: [`nodes`] finds JFFS2 nodes, [`survey`] tells the flash by them, `magic` knows
//! the headers of everything else, `repeated` those that come back over the flash. The file is
//! untrusted: what is looked at is bounded, and nothing is believed that was not checked.

mod magic;
mod nodes;
mod repeated;
pub mod survey;

use crate::contents::Contents;
use crate::shape::Shape;
pub use boardlab_jffs2::format::ByteOrder;
use boardlab_sim::Bytes;
pub(crate) use nodes::Sweep;
use std::fmt;
pub(crate) use survey::Survey;
pub use survey::{Cleanmarkers, Jffs2};

/// Borders at which content may begin within a file: the smallest erase block of NOR in use.
const BORDER: Bytes = Bytes::kib(64);
/// Borders that are looked at.
const BORDERS: u64 = 16_384;
/// Contents that are listed.
const FOUND: usize = 32;

/// What something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// JFFS2 filesystem.
    Jffs2,
    /// UBI volumes.
    Ubi,
    /// UBIFS filesystem, without UBI.
    Ubifs,
    /// YAFFS2 filesystem.
    Yaffs2,
    /// LogFS filesystem.
    Logfs,
    /// littlefs filesystem.
    Littlefs,
    /// SquashFS filesystem.
    Squashfs,
    /// cramfs filesystem.
    Cramfs,
    /// romfs filesystem.
    Romfs,
    /// EROFS filesystem.
    Erofs,
    /// F2FS filesystem.
    F2fs,
    /// ext2 filesystem.
    Ext2,
    /// ext3 filesystem.
    Ext3,
    /// ext4 filesystem.
    Ext4,
    /// FAT, exFAT or NTFS filesystem.
    Fat,
    /// GPT partition table.
    Gpt,
    /// MBR partition table.
    Mbr,
    /// U-Boot image.
    UImage,
    /// Flattened device tree, or a U-Boot FIT image.
    DeviceTree,
    /// TRX firmware.
    Trx,
    /// Android boot image.
    AndroidBoot,
    /// Android sparse image.
    AndroidSparse,
    /// ELF program.
    Elf,
    /// Compressed data.
    Compressed,
    /// Archive of files.
    Archive,
    /// Text.
    Text,
    /// Erased flash: 0xFF alone.
    Erased,
    /// Zeros alone.
    Zeros,
    /// Nothing at all.
    Empty,
    /// Something else.
    Unknown,
}

/// What a kind is called, for people.
const NAMES: &[(Kind, &str)] = &[
    (Kind::Jffs2, "JFFS2 filesystem"),
    (Kind::Ubi, "UBI image"),
    (Kind::Ubifs, "UBIFS filesystem"),
    (Kind::Yaffs2, "YAFFS2 filesystem"),
    (Kind::Logfs, "LogFS filesystem"),
    (Kind::Littlefs, "littlefs filesystem"),
    (Kind::Squashfs, "SquashFS filesystem"),
    (Kind::Cramfs, "cramfs filesystem"),
    (Kind::Romfs, "romfs filesystem"),
    (Kind::Erofs, "EROFS filesystem"),
    (Kind::F2fs, "F2FS filesystem"),
    (Kind::Ext2, "ext2 filesystem"),
    (Kind::Ext3, "ext3 filesystem"),
    (Kind::Ext4, "ext4 filesystem"),
    (Kind::Fat, "FAT-like filesystem"),
    (Kind::Gpt, "GPT partition table"),
    (Kind::Mbr, "MBR partition table"),
    (Kind::UImage, "U-Boot image"),
    (Kind::DeviceTree, "device tree or FIT image"),
    (Kind::Trx, "TRX firmware"),
    (Kind::AndroidBoot, "Android boot image"),
    (Kind::AndroidSparse, "Android sparse image"),
    (Kind::Elf, "ELF program"),
    (Kind::Compressed, "compressed data"),
    (Kind::Archive, "archive"),
    (Kind::Text, "text"),
    (Kind::Erased, "erased flash"),
    (Kind::Zeros, "zeros"),
    (Kind::Empty, "empty file"),
    (Kind::Unknown, "unknown content"),
];

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(kind, _)| kind == self);
        f.pad(name.map_or("unknown content", |(_, name)| name))
    }
}

/// How sure something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// A magic number alone.
    Possible,
    /// Several things fit.
    Likely,
    /// Checksums or all fields of a header fit.
    Certain,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Certain => "certain",
        })
    }
}

/// A header that was recognised, at a place of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hit {
    kind: Kind,
    confidence: Confidence,
    /// Where the magic number is, from the beginning of the content.
    at: usize,
    evidence: String,
    detail: String,
    size: Option<Bytes>,
}

/// One reason to believe something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Where in the file.
    pub at: Bytes,
    /// What is there.
    pub what: String,
}

/// One content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What it is.
    pub kind: Kind,
    /// Where in the file it begins.
    pub at: Bytes,
    /// How long it is, where it says so.
    pub size: Option<Bytes>,
    /// How sure that is.
    pub confidence: Confidence,
    /// More about it: version, name.
    pub detail: String,
    /// How that is known.
    pub evidence: Vec<Evidence>,
    /// The flash, of JFFS2.
    pub jffs2: Option<Jffs2>,
    /// Page, spare bytes and erase block, where something else tells them.
    pub shape: Option<Shape>,
}

impl Found {
    fn new(kind: Kind, at: Bytes, confidence: Confidence) -> Self {
        let (detail, evidence) = (String::new(), Vec::new());
        Self { kind, at, size: None, confidence, detail, evidence, jffs2: None, shape: None }
    }

    fn because(mut self, at: Bytes, what: impl Into<String>) -> Self {
        self.evidence.push(Evidence { at, what: what.into() });
        self
    }
}

/// What is in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// How long the file is.
    pub length: Bytes,
    /// What is in it, in order; at least one.
    pub found: Vec<Found>,
}

impl Identity {
    /// The first content of this kind.
    #[must_use]
    pub fn of_kind(&self, kind: Kind) -> Option<&Found> {
        self.found.iter().find(|found| found.kind == kind)
    }

    /// The content that the file is called by: the surest, the first of those.
    #[must_use]
    pub fn main(&self) -> &Found {
        let mut best = &self.found[0];
        for found in &self.found[1..] {
            if found.confidence > best.confidence {
                best = found;
            }
        }
        best
    }
}

/// Says what is in `contents`.
#[must_use]
pub fn identify(contents: &Contents) -> Identity {
    identify_swept(contents, &Sweep::of(contents))
}

/// As [`identify`], after the nodes have been looked for.
pub(crate) fn identify_swept(contents: &Contents, sweep: &Sweep) -> Identity {
    let mut found = headers(contents, sweep);
    if let Some(jffs2) = jffs2(contents, sweep, &found) {
        found.push(jffs2);
    }
    found.sort_by_key(|one| one.at);
    if found.is_empty() {
        found.push(featureless(contents, sweep));
    }
    Identity { length: contents.length(), found }
}

/// What the file is when no header says anything.
fn featureless(contents: &Contents, sweep: &Sweep) -> Found {
    let certain = |kind| Found::new(kind, Bytes::ZERO, Confidence::Certain);
    match sweep.first_programmed {
        _ if contents.length().is_zero() => certain(Kind::Empty),
        None => certain(Kind::Erased),
        Some(Bytes::ZERO) if sweep.zeros => certain(Kind::Zeros),
        Some(at) => {
            let bytes = contents.window(at, 16);
            let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Found::new(Kind::Unknown, at, Confidence::Possible)
                .because(at, format!("first bytes {}", bytes.join(" ")))
        }
    }
}

/// JFFS2, as far as there are nodes that are not within some `other` content.
fn jffs2(contents: &Contents, sweep: &Sweep, other: &[Found]) -> Option<Found> {
    let survey = Survey::of(contents, sweep)?;
    let image = survey.conclude();
    let right = image.checked - image.damaged;
    let confidence = match (right, sweep.nodes.len(), image.cleanmarkers) {
        (1.., _, _) => Confidence::Certain,
        (0, 1.., _) | (0, 0, Cleanmarkers::Oob) => Confidence::Likely,
        _ => return None,
    };
    let covers =
        |one: &Found| one.size.is_some_and(|size| (one.at..one.at + size).contains(&image.first));
    if other.iter().any(covers) {
        return None;
    }
    // Erased blocks in front belong to it; other content does not.
    let behind = other.iter().any(|one| one.at < image.first);
    let start = if behind { start_of_block(&image) } else { Bytes::ZERO };
    let mut found = Found::new(Kind::Jffs2, start, confidence);
    found.detail = image.order.to_string();
    if let Some(node) = sweep.nodes.first() {
        found = found.because(node.at, format!("first node, {}, checksum right", node.order));
    }
    if image.checked > 0 {
        let counts = format!("{right} of {} nodes right", image.checked);
        let pages = match image.shape.oob.get() {
            0 => "without spare bytes".to_owned(),
            oob => format!("with {oob} spare bytes after every {}", image.shape.page),
        };
        found = found.because(image.first, format!("{counts} {pages}"));
    }
    found = blocks_because(found, &image);
    if let Some(needed) = image.truncated {
        let what = format!("the file ends here; {} bytes would be whole", needed.get());
        found = found.because(contents.length(), what);
    }
    found.shape = Some(image.shape);
    found.jffs2 = Some(image);
    Some(found)
}

fn blocks_because(found: Found, image: &Jffs2) -> Found {
    let block = image.shape.block;
    let by = match (image.block_known, image.cleanmarkers) {
        (true, Cleanmarkers::Data) => "by cleanmarkers or summaries",
        (true, Cleanmarkers::Oob) => "by cleanmarkers in the spare bytes, or summaries",
        (true, Cleanmarkers::None) => "by summaries",
        (false, _) => "the smallest that no node crosses",
    };
    found.because(image.first, format!("erase blocks of {block}: {by}"))
}

/// Where the erase block with the first node begins in the file.
fn start_of_block(image: &Jffs2) -> Bytes {
    let raw = image.shape.raw_block();
    raw * (image.first / raw)
}

/// Everything else that begins at the beginning, after erased flash, or at a border of blocks.
fn headers(contents: &Contents, sweep: &Sweep) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let Some(first) = sweep.first_programmed else { return found };
    let page = Bytes::new(512);
    let first = page * (first / page);
    let borders = (0..BORDERS).map(|number| BORDER * number);
    let mut places: Vec<Bytes> = borders.take_while(|at| *at < contents.length()).collect();
    places.push(first);
    places.sort_unstable();
    places.dedup();
    let mut end = Bytes::ZERO;
    for at in places.into_iter().filter(|at| *at >= first) {
        if at < end || found.len() == FOUND {
            continue;
        }
        let Some(hit) = magic::recognise(&contents.window(at, magic::HEAD)) else { continue };
        // In the middle of a file a magic number alone is chance.
        if at != first && hit.confidence < Confidence::Certain {
            continue;
        }
        end = at + hit.size.unwrap_or(Bytes::ZERO).min(contents.length());
        if hit.kind == Kind::Ubi && hit.confidence == Confidence::Certain {
            // Each of its blocks begins with such a header.
            found.push(repeated::ubi(contents, at, hit.detail));
            return found;
        }
        found.push(of_hit(hit, at));
    }
    if found.is_empty() {
        found.extend(repeated::yaffs2(contents, first));
    }
    found
}

fn of_hit(hit: Hit, at: Bytes) -> Found {
    let magic = at + Bytes::new(hit.at as u64);
    let found = Found::new(hit.kind, at, hit.confidence).because(magic, hit.evidence);
    Found { size: hit.size, detail: hit.detail, ..found }
}

#[cfg(test)]
pub(crate) mod tests;
