//! UBI images: the volumes, and the UBIFS in one of them.
//!
//! Layer: rank 7. Main type: [`UbiImage`]. The flash is attached as Linux attaches it, which repairs
//! the volume table and lets a volume take the free blocks, in memory. An image of `ubinize` has fewer
//! blocks than its volumes reserve: the rest is erased. What cannot be attached so is attached as a
//! write-protected flash.

use super::lebs::ImageLebs;
use super::survey::UbiFlash;
use super::{DetectedFileSystem, TYPE, agrees, filesystem, leb_count, mount, ubi_check};
use crate::audit::Audit;
use crate::contents::Contents;
use crate::detection::{Confidence, Detection, Kind};
use crate::dump::Dump;
use crate::error::{Error, TruncatedPart};
use crate::finding::{Finding, Severity};
use crate::fs::{Hints, MountedImage};
use crate::magic;
use crate::names::shown;
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_result::prose::counted;
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::{FastmapMode, LebIndex, Lebs, Options, Ubi, VolumeInfo, VolumeKind};
use boardlab_ubifs::format::superblock::Superblock;
use boardlab_ubifs::read_superblock;

/// The most blocks that volumes may reserve beyond the file.
const RESERVED: u32 = 1 << 20;
/// Blocks that UBI needs besides those of volumes.
const BESIDES: u32 = 32;

/// A UBI image.
#[derive(Debug)]
pub(super) struct UbiImage {
    flash: UbiFlash,
    /// The attached flash with its volumes; or why it cannot be attached.
    attached: Result<Attached, String>,
}

/// An attached flash.
#[derive(Debug)]
struct Attached {
    ubi: Ubi<Dump>,
    volumes: Vec<Entry>,
}

/// A volume.
#[derive(Debug)]
struct Entry {
    info: VolumeInfo,
    content: String,
    /// The superblock of UBIFS in it.
    superblock: Option<Superblock>,
}

/// UBI with blocks at some of `headers`.
pub(super) fn recognise(
    contents: &Contents,
    headers: &[Bytes],
    other: &[Detection],
) -> Option<(Detection, UbiImage)> {
    let flash = UbiFlash::of(contents, headers, other)?;
    let attached = attach(contents, &flash).map(|ubi| {
        let volumes = volumes(&ubi);
        Attached { ubi, volumes }
    });
    let before = other.iter().find(|one| one.kind == Kind::Ubi);
    let mut found = Detection::new(Kind::Ubi, flash.at, Confidence::Certain);
    found.detail = match &attached {
        Ok(attached) => counted(attached.volumes.len(), "volume"),
        Err(_) => before.map_or(String::new(), |one| one.detail.clone()),
    };
    let text = format!("{} erase counter headers `UBI#`, checksums right", flash.headers);
    found = found.because(flash.first, text);
    let text = format!(
        "{} volume headers and {} records of the volume table right with {}",
        flash.volume_headers, flash.records, flash.shape
    );
    found = found.because(flash.first, text);
    found.shape = Some(flash.shape);
    Some((found, UbiImage { flash, attached }))
}

fn spare(contents: &Contents, flash: &UbiFlash) -> Option<Spare> {
    let contents = contents.from(flash.at);
    let first = flash.first - flash.at;
    (!flash.shape.oob.is_zero()).then(|| Spare::detect(&contents, flash.shape, first, None))
}

/// Attaches the flash.
fn attach(contents: &Contents, flash: &UbiFlash) -> Result<Ubi<Dump>, String> {
    let words = |problem: &dyn std::fmt::Display| problem.to_string();
    let dump = Dump::with_spare(contents.from(flash.at), flash.shape, spare(contents, flash));
    let dump = dump.map_err(|problem| words(&problem))?.with_partial_pages();
    let blocks = boardlab_mtd::Mtd::geometry(&dump).block_count();
    let more = blocks.saturating_add(flash.reserved.min(RESERVED)).saturating_add(BESIDES);
    let mut first = None;
    for (blocks, read_only) in [(blocks, false), (more, false), (more, true)] {
        let dump = dump.clone().extended(blocks).map_err(|problem| words(&problem))?;
        let vid = flash.vid_offset;
        let sub_page =
            (u64::from(vid) < flash.shape.page.get() && vid.is_power_of_two()).then_some(vid);
        let options = Options {
            vid_offset: Some(vid),
            sub_page,
            fastmap: FastmapMode::Absent,
            read_only,
            ..Options::default()
        };
        match Ubi::attach(&mut Clock::new(), dump, &options) {
            Ok(ubi) => return Ok(ubi),
            Err(problem) => drop(first.get_or_insert(problem)),
        }
    }
    Err(first.map_or(String::new(), |problem| problem.to_string()))
}

/// The volumes with what is in them.
fn volumes(ubi: &Ubi<Dump>) -> Vec<Entry> {
    let entry = |info: VolumeInfo| {
        let (content, superblock) = content(ubi.clone(), &info);
        Entry { info, content, superblock }
    };
    ubi.volumes().into_iter().map(entry).collect()
}

/// What a volume begins with.
fn content(ubi: Ubi<Dump>, info: &VolumeInfo) -> (String, Option<Superblock>) {
    let mut clock = Clock::new();
    let mut volume = match ubi.into_volume(&mut clock, info.id) {
        Ok(volume) => volume,
        Err(problem) => return (format!("unreadable: {problem}"), None),
    };
    if let Ok(superblock) = read_superblock(&mut clock, &mut volume) {
        return (TYPE.name.into(), Some(superblock));
    }
    let shape = volume.shape();
    let length =
        info.size.min(Bytes::new(magic::HEAD as u64)).min(Bytes::new(shape.leb_size.into()));
    let mut head = vec![0; length.to_usize()];
    match volume.read(&mut clock, LebIndex(0), 0, &mut head) {
        Err(problem) => (format!("unreadable: {problem}"), None),
        Ok(()) if head.iter().all(|&byte| byte == 0xFF) => ("empty".into(), None),
        Ok(()) => {
            let found = magic::recognise(&head);
            (found.map_or(Kind::Unknown, |found| found.kind).to_string(), None)
        }
    }
}

impl Attached {
    fn mountable(&self) -> Vec<&Entry> {
        self.volumes.iter().filter(|volume| volume.superblock.is_some()).collect()
    }

    /// The volume that is meant.
    fn choose(&self, wanted: Option<&str>) -> Result<&Entry, Error> {
        let mountable = self.mountable();
        let found = match (wanted, mountable.as_slice()) {
            (None, [one]) => Some(*one),
            (None, _) => None,
            (Some(name), all) => {
                let named = all
                    .iter()
                    .find(|one| one.info.name == name || shown(one.info.name.as_bytes()) == name);
                let number = name.parse().ok();
                named.or_else(|| all.iter().find(|one| Some(one.info.id) == number)).copied()
            }
        };
        let name = |one: &Entry| shown(one.info.name.as_bytes());
        found.ok_or_else(|| Error::Volume {
            wanted: wanted.map(str::to_owned),
            found: self
                .volumes
                .iter()
                .map(|one| format!("{} ({})", name(one), one.content))
                .collect(),
            mountable: mountable.into_iter().map(name).collect(),
        })
    }
}

impl DetectedFileSystem for UbiImage {
    fn shape(&self) -> Shape {
        self.flash.shape
    }

    fn spare(&self, contents: &Contents) -> Option<Spare> {
        spare(contents, &self.flash)
    }

    fn tell(&self, run: &mut RunResult, _contents: &Contents, audit: Option<&Audit>) {
        let Ok(attached) = &self.attached else { return };
        run.tables.push(blocks(&attached.ubi));
        run.tables.push(table(&attached.volumes));
        let chosen = attached.choose(None);
        if let Some(superblock) = chosen.ok().and_then(|one| one.superblock.as_ref()) {
            run.tables.push(filesystem(superblock, audit));
        } else if attached.mountable().len() > 1 {
            run.warnings
                .push("Several volumes hold UBIFS: name one with --volume to list it.".into());
        }
    }

    fn is_single(&self) -> bool {
        self.attached.as_ref().map_or(true, |attached| attached.mountable().len() == 1)
    }

    /// Checks the blocks. Then every UBIFS is to be mounted, or the one that is asked for.
    fn check_below(
        &self,
        contents: &Contents,
        hints: &Hints,
    ) -> Result<(Vec<Finding>, Vec<Hints>), Error> {
        agrees(self.flash.shape, hints)?;
        let spare = spare(contents, &self.flash);
        let mut findings = ubi_check::check(contents, &self.flash, spare)?;
        let attached = match &self.attached {
            Ok(attached) => attached,
            Err(problem) => {
                let found = format!("cannot be attached: {problem}");
                let finding = Finding::new(Severity::Error, "UBI", found, "what Linux attaches");
                findings.push(finding);
                return Ok((findings, Vec::new()));
            }
        };
        let chosen = match &hints.volume {
            Some(name) => vec![attached.choose(Some(name))?],
            None => attached.mountable(),
        };
        let of = |one: &Entry| Hints { volume: Some(one.info.name.clone()), ..hints.clone() };
        Ok((findings, chosen.into_iter().map(of).collect()))
    }

    fn mount(&self, contents: &Contents, hints: &Hints) -> Result<MountedImage, Error> {
        let Self { flash, attached } = self;
        agrees(flash.shape, hints)?;
        let raw = flash.shape.raw_block();
        let length = contents.length() - flash.at;
        let whole = flash.at + raw * length.div_ceil(raw);
        let truncated = (contents.length() < whole).then_some(whole);
        if let (Some(needed), false) = (truncated, hints.partial) {
            let cut = TruncatedPart::Block(flash.shape);
            return Err(Error::Truncated { length: contents.length(), needed, cut });
        }
        let attached = attached
            .as_ref()
            .map_err(|problem| Error::Mount(format!("UBI cannot be attached: {problem}").into()))?;
        let chosen = attached.choose(hints.volume.as_deref())?;
        let superblock = chosen.superblock.as_ref().expect("only volumes with UBIFS are chosen");
        let volume = attached.ubi.clone().into_volume(&mut Clock::new(), chosen.info.id);
        let volume = volume.map_err(|problem| Error::Mount(problem.into()))?;
        let page = u32::try_from(flash.shape.page.get()).expect("pages are small");
        // Without OOB bytes, pages of half the size have the same headers: the superblock knows.
        let min_io = if superblock.min_io.is_multiple_of(page) { superblock.min_io } else { page };
        let lebs = ImageLebs::of_volume(volume, leb_count(superblock), min_io);
        mount(lebs, flash.at, truncated)
    }
}

fn blocks(ubi: &Ubi<Dump>) -> Table {
    let counts = ubi.counts();
    let row = Row::new("ubi", "")
        .cell("leb_bytes", Cell::int(ubi.layout().leb_size.into()))
        .cell("bad_count", Cell::int(counts.bad.into()))
        .cell("unreadable_count", Cell::int(counts.corrupted.into()))
        .cell("erase_mean", Cell::int(counts.mean_ec.into()))
        .cell("erase_max", Cell::int(counts.max_ec.into()));
    let mut table = Table::new("ubi", "UBI")
        .column("leb_bytes", "LEB")
        .column("bad_count", "bad blocks")
        .column("unreadable_count", "blocks without a header")
        .column("erase_mean", "mean erase counter")
        .column("erase_max", "largest");
    table.rows.push(row);
    table
}

fn table(volumes: &[Entry]) -> Table {
    let mut table = Table::new("volumes", "Volumes")
        .column("id", "number")
        .column("kind", "type")
        .column("leb_count", "LEBs")
        .column("size_bytes", "size")
        .column("content", "content")
        .column("state", "state");
    for Entry { info, content, .. } in volumes {
        let kind = if info.kind == VolumeKind::Static { "static" } else { "dynamic" };
        let state = match (info.updating, info.corrupted) {
            (true, _) => Cell::text("an update was interrupted"),
            (_, true) => Cell::text("damaged"),
            _ => Cell::none(),
        };
        let row = Row::new(shown(info.name.as_bytes()), "")
            .cell("id", Cell::int(info.id.into()))
            .cell("kind", Cell::text(kind))
            .cell("leb_count", Cell::int(info.reserved_lebs.into()))
            .cell("size_bytes", Cell::int(info.size.get()))
            .cell("content", Cell::text(content.clone()))
            .cell("state", state);
        table.rows.push(row);
    }
    table
}
