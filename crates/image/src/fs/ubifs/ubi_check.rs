//! The check of UBI itself: headers, erase counters, the two volume tables, copies of LEBs, checksums of
//! static volumes, the fastmap.
//!
//! Layer: rank 7. Main function: [`check`]. The blocks are read as Linux reads them at an attach without
//! a fastmap, but every header is judged.
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/attach.c` (`scan_peb`, `ubi_add_to_av`), `vtbl.c`
//! (`process_lvol`, `check_attaching_info`).

use super::survey::UbiFlash;
use crate::contents::Contents;
use crate::dump::Dump;
use crate::error::Error;
use crate::finding::{Finding, Place, Severity};
use crate::names::shown;
use crate::places::Places;
use crate::spare::Spare;
use boardlab_mtd::{BlockIndex, Mtd, is_erased};
use boardlab_result::prose::counted;
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::format::ec::{self, EcView};
use boardlab_ubi::format::vid::{self, VidView};
use boardlab_ubi::format::vtbl::{self, Limits, Record};
use boardlab_ubi::format::{
    EcHeader, FASTMAP_ANCHOR, FASTMAP_DATA, INTERNAL_START, LAYOUT_LEBS, LAYOUT_VOLUME, Payload,
    VidHeader, VolumeKind, crc,
};
use std::collections::BTreeMap;

/// A block with a volume header.
#[derive(Debug, Clone, Copy)]
struct Mapped {
    block: u32,
    header: VidHeader,
}

/// The check while it runs.
struct Checking {
    dump: Dump,
    clock: Clock,
    places: Places,
    vid_offset: u32,
    data_offset: u32,
    leb_size: u32,
    image_seq: Option<u32>,
    /// The erase counters that are known.
    counters: Vec<u32>,
    erased: u64,
    bad: u64,
    mapped: Vec<Mapped>,
    findings: Vec<Finding>,
}

/// Checks the blocks of a flash.
///
/// # Errors
/// [`Error::TooLarge`].
pub(super) fn check(
    contents: &Contents,
    flash: &UbiFlash,
    spare: Option<Spare>,
) -> Result<Vec<Finding>, Error> {
    let dump = Dump::with_spare(contents.from(flash.at), flash.shape, spare)?;
    let blocks = dump.geometry().block_count();
    let mut checking = Checking {
        places: Places::of(&dump, flash.at),
        dump,
        clock: Clock::new(),
        vid_offset: flash.vid_offset,
        data_offset: flash.data_offset,
        leb_size: flash.leb_size(),
        image_seq: None,
        counters: Vec::new(),
        erased: 0,
        bad: 0,
        mapped: Vec::new(),
        findings: Vec::new(),
    };
    for block in 0..blocks {
        checking.block(block);
    }
    checking.volumes();
    checking.summary();
    Ok(checking.findings)
}

impl Checking {
    fn add(&mut self, finding: Finding, (block, offset): (u32, u32)) {
        let start = self.dump.shape().block * u64::from(block);
        let place = Place::of(&self.places, start + Bytes::new(u64::from(offset)));
        self.findings.push(finding.at(place));
    }

    /// Reads bytes of a block; whether the flash could read them.
    fn read(&mut self, block: u32, offset: u32, length: usize) -> (Vec<u8>, bool) {
        let start = self.dump.shape().block * u64::from(block) + Bytes::new(u64::from(offset));
        let mut bytes = vec![0xFF; length];
        let read = self.dump.read(&mut self.clock, start, &mut bytes);
        (bytes, read.is_ok())
    }

    fn block(&mut self, block: u32) {
        if self.dump.is_bad(&mut self.clock, BlockIndex(block)).unwrap_or(false) {
            self.bad += 1;
            return;
        }
        let (bytes, _) = self.read(block, 0, ec::SIZE);
        let counter = if is_erased(&bytes) { None } else { self.counter(block, &bytes) };
        let (header, _) = self.read(block, self.vid_offset, vid::SIZE);
        if is_erased(&header) {
            self.erased += u64::from(is_erased(&bytes));
            return;
        }
        let parsed = VidView::new(&header).and_then(|view| view.parse(self.leb_size));
        match parsed {
            Ok(header) => {
                if counter.is_none() && is_erased(&bytes) {
                    self.no_counter(block, "erased bytes".into());
                }
                self.mapped.push(Mapped { block, header });
            }
            Err(cause) => {
                let place = (block, self.vid_offset);
                let (what, found) = ("the volume header", cause.to_string());
                let rest = usize::try_from(self.leb_size).unwrap_or(0);
                let (data, _) = self.read(block, self.data_offset, rest);
                let finding = if is_erased(&data) {
                    let expected =
                        "a right header; a power cut leaves this, and Linux erases the block";
                    Finding::new(Severity::Warning, what, found, expected)
                } else {
                    let expected = "a right header; the data behind it are lost";
                    Finding::new(Severity::Error, what, found, expected)
                };
                self.add(finding, place);
            }
        }
    }

    fn no_counter(&mut self, block: u32, found: String) {
        let expected = "a right header; Linux takes the mean counter";
        let finding = Finding::new(Severity::Warning, "the erase counter header", found, expected);
        self.add(finding, (block, 0));
    }

    /// Judges the erase counter header of a block.
    fn counter(&mut self, block: u32, bytes: &[u8]) -> Option<EcHeader> {
        let header = match EcView::new(bytes).and_then(|view| view.parse()) {
            Ok(header) => header,
            Err(cause) => {
                self.no_counter(block, cause.to_string());
                return None;
            }
        };
        self.counters.push(header.ec);
        let image = *self.image_seq.get_or_insert(header.image_seq);
        for (what, found, expected) in [
            ("the offset of the volume header", header.vid_offset, self.vid_offset),
            ("the offset of the data", header.data_offset, self.data_offset),
            ("the number of the image", header.image_seq, image),
        ] {
            // An old UBI left the number out.
            let is_old = what.ends_with("image") && (found == 0 || expected == 0);
            if found != expected && !is_old {
                let expected = format!("{expected}, as in the other blocks");
                let finding = Finding::new(Severity::Error, what, found.to_string(), expected);
                self.add(finding, (block, 0));
            }
        }
        Some(header)
    }

    fn summary(&mut self) {
        let sum: u64 = self.counters.iter().copied().map(u64::from).sum();
        let mean = sum / (self.counters.len() as u64).max(1);
        let least = self.counters.iter().min().copied().unwrap_or(0);
        let most = self.counters.iter().max().copied().unwrap_or(0);
        let found = format!(
            "{} to {}, mean {mean}, in {}; {} erased, {} bad",
            least,
            most,
            counted(self.counters.len(), "block"),
            self.erased,
            self.bad
        );
        self.findings.push(Finding::new(Severity::Note, "the erase counters", found, ""));
    }

    /// Judges the volume table and all LEBs.
    fn volumes(&mut self) {
        let mapped = std::mem::take(&mut self.mapped);
        let mut lebs: BTreeMap<(u32, u32), Vec<Mapped>> = BTreeMap::new();
        for one in mapped {
            lebs.entry((one.header.volume, one.header.leb)).or_default().push(one);
        }
        let mut newest = BTreeMap::new();
        for (place, mut copies) in lebs {
            copies.sort_by_key(|one| (one.header.sqnum, one.block));
            newest.insert(place, self.newest(place, &copies));
        }
        let records = self.tables(&newest);
        let mut statics: BTreeMap<u32, Vec<Mapped>> = BTreeMap::new();
        let mut has_fastmap = false;
        for ((volume, _), one) in newest {
            match volume {
                LAYOUT_VOLUME => {}
                FASTMAP_ANCHOR | FASTMAP_DATA => has_fastmap = true,
                other if other >= INTERNAL_START => self.unknown(&one),
                _ => self.leb(&one, records.as_deref()),
            }
            if volume < INTERNAL_START && one.header.payload.kind() == VolumeKind::Static {
                statics.entry(volume).or_default().push(one);
            }
        }
        for (volume, lebs) in statics {
            self.static_volume(volume, &lebs);
        }
        if has_fastmap {
            let found = "blocks of a fastmap";
            let expected = "Linux without fastmaps ignores them";
            self.findings.push(Finding::new(Severity::Note, "the fastmap", found, expected));
        }
    }

    /// Of the copies of a LEB, in the order of their age, the one that Linux takes.
    fn newest(&mut self, (volume, leb): (u32, u32), copies: &[Mapped]) -> Mapped {
        let mut taken = copies[0];
        for pair in copies.windows(2) {
            let [older, newer] = [pair[0], pair[1]];
            let what = format!("LEB {leb} of volume {}", number(volume));
            let found = format!("two copies, the other one in block {}", older.block);
            let finding = if older.header.sqnum == newer.header.sqnum {
                let expected = "two sequence numbers; Linux does not attach this";
                Finding::new(Severity::Error, what, found, expected)
            } else if newer.header.payload.is_copy() && !self.is_right(&newer) {
                let expected = "the newer copy is not whole; Linux takes the older one";
                Finding::new(Severity::Warning, what, found, expected)
            } else {
                taken = newer;
                let expected = "Linux takes the newer copy and erases the older one";
                Finding::new(Severity::Note, what, found, expected)
            };
            self.add(finding, (newer.block, self.vid_offset));
        }
        taken
    }

    /// Whether the checksum of the data is right.
    fn is_right(&mut self, one: &Mapped) -> bool {
        let Some(data) = one.header.payload.extent() else { return true };
        let length = usize::try_from(data.size.min(self.leb_size)).unwrap_or(0);
        let (bytes, is_read) = self.read(one.block, self.data_offset, length);
        is_read && crc(&bytes) == data.crc
    }

    /// Compares the two copies of the volume table, and returns the records of the right one.
    fn tables(&mut self, lebs: &BTreeMap<(u32, u32), Mapped>) -> Option<Vec<Option<Record>>> {
        let limits = Limits { leb_size: self.leb_size, min_io: 1, good_pebs: u32::MAX };
        let length = vtbl::SIZE * usize::try_from(vtbl::slots(self.leb_size)).unwrap_or(0);
        let (mut right, mut seen) = (None, Vec::new());
        for copy in 0..LAYOUT_LEBS {
            let what = format!("copy {copy} of the volume table");
            let Some(&one) = lebs.get(&(LAYOUT_VOLUME, copy)) else {
                let expected = "two copies; Linux makes the other one again";
                self.findings.push(Finding::new(Severity::Warning, what, "is missing", expected));
                continue;
            };
            let (bytes, _) = self.read(one.block, self.data_offset, length);
            match vtbl::parse_table(&bytes, limits) {
                Ok(records) => drop(right.get_or_insert(records)),
                Err(cause) => {
                    let expected = "a right table; Linux takes the other copy";
                    let finding =
                        Finding::new(Severity::Warning, what, cause.to_string(), expected);
                    self.add(finding, (one.block, self.data_offset));
                    continue;
                }
            }
            seen.push((one.block, bytes));
        }
        if let [(_, first), (block, second)] = seen.as_slice()
            && first != second
        {
            let expected = "equal copies; Linux takes the first and writes the second again";
            let finding = Finding::new(Severity::Warning, "the volume table", "differs", expected);
            self.add(finding, (*block, self.data_offset));
        }
        if right.is_none() {
            let expected = "at least one right copy";
            self.findings.push(Finding::new(
                Severity::Error,
                "the volume table",
                "is lost",
                expected,
            ));
        }
        right
    }

    fn unknown(&mut self, one: &Mapped) {
        let found = format!("internal volume {:#x}", one.header.volume);
        let expected = "an internal volume that this model knows";
        let finding = Finding::new(Severity::Warning, "the volume header", found, expected);
        self.add(finding, (one.block, self.vid_offset));
    }

    /// Compares the header of a LEB with the record of its volume.
    fn leb(&mut self, one: &Mapped, records: Option<&[Option<Record>]>) {
        let Some(records) = records else { return };
        let VidHeader { volume, leb, data_pad, payload, .. } = one.header;
        let index = usize::try_from(volume).unwrap_or(usize::MAX);
        let place = (one.block, self.vid_offset);
        let Some(record) = records.get(index).and_then(Option::as_ref) else {
            let found = format!("LEB {leb} of volume {volume}, which is not in the table");
            let expected = "a volume of the table; Linux erases the block";
            let finding = Finding::new(Severity::Warning, "the volume header", found, expected);
            return self.add(finding, place);
        };
        let name = shown(&record.name);
        for (what, found, expected) in [
            ("the number of the LEB", leb, (leb >= record.reserved_lebs, record.reserved_lebs)),
            ("the padding", data_pad, (data_pad != record.data_pad, record.data_pad)),
        ] {
            let (is_wrong, limit) = expected;
            if is_wrong {
                let expected = match what {
                    "the padding" => format!("{limit}, as the volume table says"),
                    _ => format!("less than the {limit} of the volume table"),
                };
                let finding = Finding::new(Severity::Error, what, found.to_string(), expected);
                self.add_of(finding, place, &name);
            }
        }
        if payload.kind() != record.kind {
            let expected = format!("{}, as the volume table says", record.kind);
            let found = payload.kind().to_string();
            let finding = Finding::new(Severity::Error, "the type of the volume", found, expected);
            self.add_of(finding, place, &name);
        }
        if record.updating && leb == 0 {
            let (found, expected) = ("an interrupted update", "a finished one");
            let finding = Finding::new(Severity::Error, "the volume", found, expected);
            self.add_of(finding, place, &name);
        }
    }

    fn add_of(&mut self, finding: Finding, place: (u32, u32), volume: &str) {
        self.add(finding, place);
        if let Some(last) = self.findings.last_mut() {
            last.place.volume = Some(volume.to_owned());
        }
    }

    /// Checks that all LEBs of a static volume are there and right.
    fn static_volume(&mut self, volume: u32, lebs: &[Mapped]) {
        let used = |one: &Mapped| match one.header.payload {
            Payload::Static { used_lebs, .. } => used_lebs,
            _ => 0,
        };
        let expected = lebs.first().map_or(0, used);
        for one in lebs {
            let place = (one.block, self.vid_offset);
            let leb = one.header.leb;
            if used(one) != expected {
                let (found, expected) = (used(one).to_string(), format!("{expected}, as in LEB 0"));
                let what = format!("the used LEBs of volume {volume}");
                self.add(Finding::new(Severity::Error, what, found, expected), place);
            }
            if !self.is_right(one) {
                let what = format!("LEB {leb} of static volume {volume}");
                let (found, expected) =
                    ("a wrong checksum", "data with the checksum of the header");
                let finding = Finding::new(Severity::Error, what, found, expected);
                self.add(finding, (one.block, self.data_offset));
            }
        }
        let count = u32::try_from(lebs.len()).unwrap_or(u32::MAX);
        if count != expected {
            let what = format!("static volume {volume}");
            let (found, expected) = (format!("{count} LEBs"), format!("{expected} LEBs"));
            self.findings.push(Finding::new(Severity::Error, what, found, expected));
        }
    }
}

/// The number of a volume, or the name of an internal one.
fn number(volume: u32) -> String {
    match volume {
        LAYOUT_VOLUME => "the volume table".into(),
        FASTMAP_ANCHOR | FASTMAP_DATA => "the fastmap".into(),
        other => other.to_string(),
    }
}
