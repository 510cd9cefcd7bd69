//! UBI images: the volumes, and the UBIFS in one of them.
//!
//! Layer: rank 7. Main type: [`UbiImage`]. The flash is attached as Linux attaches it, which repairs
//! the volume table and lets a volume take the free blocks, in memory. An image of `ubinize` has fewer
//! blocks than its volumes reserve: the rest is erased. What cannot be attached so is attached as a
//! write-protected flash.

use super::lebs::ImageLebs;
use super::raw::{RawVolume, RawVolumeReport};
use super::survey::{Headers, UbiFlash};
use super::volumes::{self, Entry};
use super::{
    DetectedFileSystem, agrees, cause, commits, detail, filesystem, leb_count, mount, rebuild,
    recipe, ubi_check,
};
use crate::audit::Audit;
use crate::contents::Contents;
use crate::detection::{Confidence, Detection, Kind};
use crate::dump::Dump;
use crate::error::{Error, TruncatedPart, VolumeError};
use crate::finding::{Finding, Place, Severity};
use crate::fs::{Hints, MountedImage, Recipe};
use crate::rebuild::RebuildStep;
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_result::prose::counted;
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::{AttachError, FastmapMode, Options, Ubi};
use boardlab_ubifs::format::superblock::Superblock;
use std::io::Write;

/// The most blocks that volumes may reserve beyond the file: so many for any file, and at most so many.
const RESERVED: [u32; 2] = [1 << 11, 1 << 20];
/// Bytes of the file for each further one, so that no claim takes much memory.
const BYTES_PER_RESERVED: u64 = 64;
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
    /// The length of the file.
    length: Bytes,
}

/// UBI whose blocks begin with `headers`.
pub(super) fn recognise(
    contents: &Contents,
    headers: Headers,
    other: &[Detection],
) -> Option<(Detection, UbiImage)> {
    let flash = UbiFlash::of(contents, headers, other)?;
    let attached = attached(contents, &flash);
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
        flash.volume_headers, flash.table.records, flash.shape
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

fn attached(contents: &Contents, flash: &UbiFlash) -> Result<Attached, String> {
    let ubi = attach(contents, flash)?;
    let volumes = volumes::volumes(&ubi);
    Ok(Attached { ubi, volumes, length: contents.length() })
}

/// Attaches the flash.
fn attach(contents: &Contents, flash: &UbiFlash) -> Result<Ubi<Dump>, String> {
    let words = |problem: &dyn std::fmt::Display| problem.to_string();
    let dump = Dump::with_spare(contents.from(flash.at), flash.shape, spare(contents, flash));
    let mut dump = dump.map_err(|problem| words(&problem))?.with_partial_pages();
    let blocks = boardlab_mtd::Mtd::geometry(&dump).block_count();
    let most = u32::try_from(contents.length().get() / BYTES_PER_RESERVED).unwrap_or(u32::MAX);
    let most = most.clamp(RESERVED[0], RESERVED[1]);
    let reserved = flash.table.reserved();
    let more = blocks.saturating_add(reserved.min(most)).saturating_add(BESIDES);
    let mut found: Option<AttachError> = None;
    // What volumes reserve must be there: there is no attaching with fewer blocks.
    let own = (reserved < blocks).then_some((blocks, false));
    for (blocks, read_only) in own.into_iter().chain([(more, false), (more, true)]) {
        let dump = dump.clone().extended(blocks).map_err(|problem| words(&problem))?;
        match Ubi::attach(&mut Clock::new(), dump, &options(flash, read_only)) {
            Ok(ubi) => return Ok(ubi),
            // That an image has fewer blocks than its flash is not why.
            Err(problem) if blocks == more => drop(found.get_or_insert(problem)),
            Err(_) => {}
        }
    }
    let found = found.expect("more blocks than the file has were tried");
    Err(cause::of_attach(&found, &mut dump, flash, contents.length()))
}

fn options(flash: &UbiFlash, read_only: bool) -> Options {
    let vid = flash.vid_offset;
    let is_sub_page = u64::from(vid) < flash.shape.page.get() && vid.is_power_of_two();
    Options {
        vid_offset: Some(vid),
        sub_page: is_sub_page.then_some(vid),
        fastmap: FastmapMode::Absent,
        read_only,
        ..Options::default()
    }
}

impl Attached {
    fn mountable(&self) -> Vec<&Entry> {
        self.volumes.iter().filter(|volume| volume.superblock.is_some()).collect()
    }

    /// The volume with UBIFS that is meant.
    fn choose(&self, wanted: Option<&str>) -> Result<(&Entry, &Superblock), Error> {
        let found = match (wanted, self.mountable().as_slice()) {
            (None, [one]) => Some(*one),
            (None, _) => None,
            (Some(name), _) => volumes::named(&self.volumes, name),
        };
        let found = found.and_then(|one| Some((one, one.superblock.as_ref()?)));
        Ok(found.ok_or_else(|| volumes::refused(&self.volumes, wanted))?)
    }

    /// The LEBs of a volume with UBIFS, of which more are shown than there are while nothing is written.
    fn lebs(&self, shape: Shape, entry: &Entry, hints: &Hints) -> Result<ImageLebs, Error> {
        if !hints.reads_only() && self.ubi.is_read_only() {
            let why =
                "UBI can only be attached as a write-protected flash, so nothing can be written";
            return Err(Error::Mount(why.into()));
        }
        let superblock = entry.superblock.as_ref().expect("only volumes with UBIFS are mounted");
        let volume = self.ubi.clone().into_volume(&mut Clock::new(), entry.info.id);
        let volume = volume.map_err(|problem| Error::Mount(problem.into()))?;
        let page = u32::try_from(shape.page.get()).expect("pages are small");
        // Without OOB bytes, pages of half the size have the same headers: the superblock knows.
        let min_io = if superblock.min_io.is_multiple_of(page) { superblock.min_io } else { page };
        let least = if hints.reads_only() { leb_count(superblock, self.length) } else { 0 };
        Ok(ImageLebs::of_volume(volume, least, min_io))
    }

    /// Adds the tables of one volume.
    fn tell_volume(&self, run: &mut RunResult, shape: Shape, entry: &Entry, audit: Option<&Audit>) {
        run.tables.push(volumes::table([entry]));
        let Some(superblock) = &entry.superblock else {
            run.tables.extend(volumes::content_table(entry));
            return;
        };
        run.tables.push(filesystem(superblock, audit));
        run.tables.push(detail::superblock(superblock));
        run.tables.extend(detail::nodes(audit));
        run.tables.extend(self.lebs(shape, entry, &Hints::default()).ok().and_then(commits::table));
    }
}

impl DetectedFileSystem for UbiImage {
    fn of_changed(&self, contents: &Contents) -> Box<dyn DetectedFileSystem> {
        let flash = self.flash.clone();
        let attached = attached(contents, &flash);
        Box::new(Self { flash, attached })
    }

    fn shape(&self) -> Shape {
        self.flash.shape
    }

    fn spare(&self, contents: &Contents) -> Option<Spare> {
        spare(contents, &self.flash)
    }

    fn tell(
        &self,
        run: &mut RunResult,
        _contents: &Contents,
        hints: &Hints,
        audit: Option<&Audit>,
    ) {
        let Ok(attached) = &self.attached else { return };
        if let Some(wanted) = &hints.volume {
            if let Some(entry) = volumes::named(&attached.volumes, wanted) {
                attached.tell_volume(run, self.flash.shape, entry, audit);
            }
            return;
        }
        run.tables.push(blocks(&attached.ubi));
        run.tables.push(volumes::table(&attached.volumes));
        if let Ok((entry, superblock)) = attached.choose(None) {
            run.tables.push(filesystem(superblock, audit));
            let lebs = attached.lebs(self.flash.shape, entry, &Hints::default());
            run.tables.extend(lebs.ok().and_then(commits::table));
        } else if attached.mountable().len() > 1 {
            run.warnings
                .push("Several volumes hold UBIFS: name one with --volume to list it.".into());
        }
    }

    fn rebuild(&self, contents: &Contents) -> Vec<RebuildStep> {
        let Ok(Attached { ubi, volumes, .. }) = &self.attached else { return Vec::new() };
        let found = spare(contents, &self.flash);
        let shape = self.flash.shape;
        rebuild::of_ubi(shape, ubi.layout(), ubi.image_seq(), volumes, found.as_ref())
    }

    fn recipe(&self, contents: &Contents, hints: &Hints) -> Result<Recipe, Error> {
        agrees(self.flash.shape, hints)?;
        let Attached { ubi, volumes, .. } = self.attached()?;
        recipe::of_ubi(contents, &self.flash, (ubi, volumes), self.spare(contents).as_ref())
    }

    fn is_mountable(&self, hints: &Hints) -> Result<bool, Error> {
        let Ok(attached) = &self.attached else { return Ok(true) };
        let Some(wanted) = &hints.volume else { return Ok(attached.mountable().len() == 1) };
        let found = volumes::named(&attached.volumes, wanted);
        let found = found.ok_or_else(|| volumes::refused(&attached.volumes, Some(wanted)))?;
        Ok(found.superblock.is_some())
    }

    fn damage(&self, hints: &Hints) -> Vec<String> {
        let Ok(attached) = &self.attached else { return Vec::new() };
        let meant = |entry: &&Entry| match &hints.volume {
            Some(wanted) => volumes::named(&attached.volumes, wanted)
                .is_some_and(|it| it.info.id == entry.info.id),
            None => true,
        };
        attached.volumes.iter().filter(meant).filter_map(Entry::damage).collect()
    }

    fn carve(
        &self,
        contents: &Contents,
        hints: &Hints,
        limit: Bytes,
        file: &mut dyn Write,
    ) -> Result<RawVolumeReport, Error> {
        agrees(self.flash.shape, hints)?;
        self.refuse_truncated(contents, hints)?;
        let attached = self.attached()?;
        let wanted = hints.volume.as_deref();
        let found = match (wanted, attached.volumes.as_slice()) {
            (None, [one]) => Some(one),
            (None, _) => None,
            (Some(name), all) => volumes::named(all, name),
        };
        let entry = found.ok_or_else(|| volumes::refused(&attached.volumes, wanted))?;
        let mut raw = RawVolume::of(&attached.ubi, &entry.info);
        let done = raw.write(limit, file)?;
        if !done.damage.is_empty() && !hints.partial {
            return Err(VolumeError::Damaged { name: entry.name(), damage: done.damage }.into());
        }
        Ok(RawVolumeReport { name: entry.name(), content: entry.words(), ..done })
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
            Some(name) => vec![attached.choose(Some(name))?.0],
            None => attached.mountable(),
        };
        for entry in attached.volumes.iter().filter(|one| one.has_lost_superblock()) {
            let finding = Finding::new(
                Severity::Error,
                "the superblock of UBIFS",
                "is damaged",
                "a node with a right checksum in LEB 0, without which nothing can be read",
            );
            let volume = Some(entry.name());
            findings.push(finding.at(Place { volume, leb: Some(0), ..Place::default() }));
        }
        let of = |one: &Entry| Hints { volume: Some(one.info.name.clone()), ..hints.clone() };
        Ok((findings, chosen.into_iter().map(of).collect()))
    }

    fn mount(&self, contents: &Contents, hints: &Hints) -> Result<MountedImage, Error> {
        let flash = &self.flash;
        agrees(flash.shape, hints)?;
        let truncated = self.refuse_truncated(contents, hints)?;
        let attached = self.attached()?;
        let (chosen, _) = attached.choose(hints.volume.as_deref())?;
        mount(|| attached.lebs(flash.shape, chosen, hints), hints, flash.at, truncated)
    }
}

impl UbiImage {
    fn attached(&self) -> Result<&Attached, Error> {
        let words = |problem| Error::Mount(format!("UBI cannot be attached: {problem}").into());
        self.attached.as_ref().map_err(words)
    }

    /// Refuses a file that ends within a block, unless that is allowed: then the length that it should
    /// have at least.
    fn refuse_truncated(&self, contents: &Contents, hints: &Hints) -> Result<Option<Bytes>, Error> {
        let flash = &self.flash;
        let raw = flash.shape.raw_block();
        let length = contents.length() - flash.at;
        let whole = flash.at + raw * length.div_ceil(raw);
        let truncated = (contents.length() < whole).then_some(whole);
        match truncated {
            Some(needed) if !hints.partial => {
                let cut = TruncatedPart::Block { shape: flash.shape, block: length / raw };
                Err(Error::Truncated { length: contents.length(), needed, cut })
            }
            truncated => Ok(truncated),
        }
    }
}

fn blocks(ubi: &Ubi<Dump>) -> Table {
    let counts = ubi.counts();
    Table::new("ubi", "UBI")
        .of([(Row::new("ubi", ""), ())])
        .column("leb_bytes", "LEB", |()| Cell::int(ubi.layout().leb_size.into()))
        .column("bad_count", "bad blocks", |()| Cell::int(counts.bad.into()))
        .column("unreadable_count", "blocks without a header", |()| {
            Cell::int(counts.corrupted.into())
        })
        .column("erase_mean", "mean erase counter", |()| Cell::int(counts.mean_ec.into()))
        .column("erase_max", "largest", |()| Cell::int(counts.max_ec.into()))
        .table()
}
