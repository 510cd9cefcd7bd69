//! The volumes of a UBI image, with what is in each.
//!
//! Layer: rank 7. Main type: [`Entry`]. A volume is recognised by its first LEB.

use super::TYPE;
use super::raw::RawVolume;
use crate::contents::Contents;
use crate::detection::{Confidence, Detection, Kind};
use crate::dump::Dump;
use crate::error::{RawDamage, VolumeContent, VolumeError};
use crate::fs::{HEADER_MAX, jffs2};
use crate::magic;
use crate::names::shown;
use boardlab_result::{Cell, Row, Table};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::{Ubi, VolumeInfo, VolumeKind};
use boardlab_ubifs::format::superblock::Superblock;
use boardlab_ubifs::read_superblock;
use memchr::memmem;

/// The bytes of a volume that are looked at.
const HEAD: u32 = 256 * 1_024;

/// A volume.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) info: VolumeInfo,
    /// What is in it, in a word or two.
    pub(super) content: String,
    /// The header that says so.
    pub(super) found: Option<Detection>,
    /// The superblock of UBIFS in it.
    pub(super) superblock: Option<Superblock>,
    /// LEBs that are mapped.
    pub(super) mapped: u64,
    /// Its bytes; of a static volume that is not whole, as many as its headers say.
    size: Bytes,
    /// What is damaged of a static volume: the first place, and how many there are.
    damaged: Option<(RawDamage, usize)>,
}

impl Entry {
    fn of(ubi: &Ubi<Dump>, info: VolumeInfo) -> Self {
        let mut raw = RawVolume::of(ubi, &info);
        let mut entry = Self {
            content: "empty".into(),
            found: None,
            superblock: None,
            mapped: raw.mapped(),
            size: info.size,
            damaged: None,
            info,
        };
        let Some(first) = raw.first() else { return entry };
        entry.verify(&mut raw);
        entry.superblock = superblock(ubi, &entry.info);
        if entry.superblock.is_some() {
            entry.content = TYPE.name.into();
            return entry;
        }
        let mut head = raw.head(first, HEAD);
        if entry.info.kind == VolumeKind::Dynamic {
            // What was not written there reads as 0xFF.
            let end = head.iter().rposition(|&byte| byte != 0xFF).map_or(0, |last| last + 1);
            head.truncate(end);
        }
        let found = recognise(head);
        entry.content = match found.kind {
            Kind::Erased => "erased".into(),
            kind if first > 0 => format!("{kind} from LEB {first} on"),
            kind => kind.to_string(),
        };
        entry.found = Some(found);
        entry
    }

    /// Verifies a static volume.
    fn verify(&mut self, raw: &mut RawVolume) {
        if self.info.kind == VolumeKind::Dynamic {
            return;
        }
        let most = Bytes::new(self.info.leb_size.into()) * u64::from(self.info.reserved_lebs);
        let Ok(done) = raw.write(most, &mut std::io::sink()) else { return };
        self.size = done.length;
        self.damaged = done.damage.first().map(|first| (first.clone(), done.damage.len()));
    }

    /// Whether it holds a UBIFS that nobody can mount, for its superblock is damaged.
    pub(super) fn has_lost_superblock(&self) -> bool {
        let is_ubifs = |one: &Detection| one.kind == Kind::FileSystem(TYPE.name);
        self.superblock.is_none() && self.found.as_ref().is_some_and(is_ubifs)
    }

    /// What is damaged of it, in a sentence.
    pub(super) fn damage(&self) -> Option<String> {
        let name = self.name();
        if self.has_lost_superblock() {
            return Some(format!(
                "Volume {name} holds a UBIFS whose superblock is damaged: its files cannot be read."
            ));
        }
        if self.info.updating {
            return Some(format!("The update of volume {name} was interrupted: it is not whole."));
        }
        let (first, count) = self.damaged.as_ref()?;
        let more = if *count > 1 { format!("; and {} more", count - 1) } else { String::new() };
        Some(format!("Volume {name} is damaged: {first}{more}."))
    }

    /// Its name as it is shown.
    pub(super) fn name(&self) -> String {
        shown(self.info.name.as_bytes())
    }

    /// What is in it, with details.
    pub(super) fn words(&self) -> String {
        match self.found.as_ref().map(|found| found.detail.as_str()) {
            None | Some("") => self.content.clone(),
            Some(detail) => format!("{}, {detail}", self.content),
        }
    }

    fn state(&self) -> Option<&'static str> {
        match (self.info.updating, self.info.corrupted || self.damaged.is_some()) {
            (true, _) => Some("an update was interrupted"),
            (_, true) => Some("damaged"),
            _ => None,
        }
    }

    fn listed(&self) -> VolumeContent {
        VolumeContent {
            id: self.info.id,
            name: self.name(),
            content: self.content.clone(),
            is_mountable: self.superblock.is_some(),
            is_empty: self.mapped == 0,
        }
    }
}

/// What begins with `head`. A volume in a volume is not looked into.
fn recognise(head: Vec<u8>) -> Detection {
    let all = |wanted: u8| head.iter().all(|&byte| byte == wanted);
    let certain = |kind| Detection::new(kind, Bytes::ZERO, Confidence::Certain);
    if all(0xFF) {
        return certain(Kind::Erased);
    }
    if all(0) {
        return certain(Kind::Zeros);
    }
    if let Some(hit) = magic::recognise(&head[..head.len().min(magic::HEAD)]) {
        return hit.found(Bytes::ZERO);
    }
    let unknown = Detection::new(Kind::Unknown, Bytes::ZERO, Confidence::Possible);
    let mut search = (jffs2::TYPE.search)();
    let mut places: Vec<usize> =
        search.magics().iter().flat_map(|magic| memmem::find_iter(&head, magic)).collect();
    places.sort_unstable();
    for at in places {
        search.look(Bytes::new(at as u64), &head[at..head.len().min(at + HEADER_MAX)]);
    }
    let found = search.conclude(&Contents::of(head), &[]).map(|(found, _)| found);
    found.filter(|found| found.at.is_zero()).unwrap_or(unknown)
}

/// The superblock of a volume with UBIFS.
fn superblock(ubi: &Ubi<Dump>, info: &VolumeInfo) -> Option<Superblock> {
    let mut clock = Clock::new();
    let mut volume = ubi.clone().into_volume(&mut clock, info.id).ok()?;
    read_superblock(&mut clock, &mut volume).ok()
}

/// All volumes of an attached flash.
pub(super) fn volumes(ubi: &Ubi<Dump>) -> Vec<Entry> {
    ubi.volumes().into_iter().map(|info| Entry::of(ubi, info)).collect()
}

/// The volume of this name or number.
pub(super) fn named<'a>(volumes: &'a [Entry], wanted: &str) -> Option<&'a Entry> {
    let named = volumes.iter().find(|one| one.info.name == wanted || one.name() == wanted);
    let number = wanted.parse().ok();
    named.or_else(|| volumes.iter().find(|one| Some(one.info.id) == number))
}

/// The error of a volume that is not there, or not clear, or of no use.
pub(super) fn refused(volumes: &[Entry], wanted: Option<&str>) -> VolumeError {
    VolumeError::Choice {
        wanted: wanted.map(str::to_owned),
        named: wanted.and_then(|wanted| named(volumes, wanted)).map(Entry::name),
        found: volumes.iter().map(Entry::listed).collect(),
    }
}

/// The table of the volumes.
pub(super) fn table<'a>(volumes: impl IntoIterator<Item = &'a Entry>) -> Table {
    let text = |words: Option<&str>| words.map_or(Cell::none(), Cell::text);
    let detail = |entry: &&Entry| {
        let detail = entry.found.as_ref().map(|found| found.detail.as_str());
        text(detail.filter(|detail| !detail.is_empty()))
    };
    Table::new("volumes", "Volumes")
        .of(volumes.into_iter().map(|entry| (Row::new(entry.name(), ""), entry)))
        .column("id", "number", |entry| Cell::int(entry.info.id.into()))
        .column("kind", "type", |entry| Cell::text(entry.info.kind.to_string()))
        .column("leb_count", "LEBs", |entry| Cell::int(entry.info.reserved_lebs.into()))
        .column("size_bytes", "size", |entry| Cell::int(entry.size.get()))
        .column("content", "content", |entry| Cell::text(entry.content.clone()))
        .column("detail", "more", detail)
        .column("state", "state", |entry| text(entry.state()))
        .table()
}

/// What is known of the content of a volume, one row a property.
pub(super) fn content_table(entry: &Entry) -> Option<Table> {
    let found = entry.found.as_ref()?;
    let mut table = Table::new("content", "Content").column("value", "value");
    let mut add = |name: &str, cell| table.rows.push(Row::new(name, "").cell("value", cell));
    add("what it is", Cell::text(found.kind.to_string()));
    if !found.detail.is_empty() {
        add("more", Cell::text(found.detail.clone()));
    }
    add("sure?", Cell::text(found.confidence.to_string()));
    if let Some(size) = found.size {
        add("length", Cell::text(format!("{} B", size.get())));
    }
    for (number, evidence) in (1..).zip(&found.evidence) {
        let name = format!("evidence {number}");
        add(&name, Cell::text(format!("{} at {:#x}", evidence.what, evidence.at.get())));
    }
    add("mapped LEBs", Cell::int(entry.mapped));
    Some(table)
}
