//! Why a UBI image cannot be attached, or a UBIFS in it not be mounted, with the places.
//!
//! Layer: rank 7. Functions: [`of_attach`] and [`of_mount`].

use super::audit::place_of;
use super::lebs::ImageLebs;
use super::survey::UbiFlash;
use crate::dump::Dump;
use boardlab_mtd::Mtd;
use boardlab_result::prose::counted;
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::format::ec::{self, EcView};
use boardlab_ubi::format::vid::VidView;
use boardlab_ubi::format::{INTERNAL_START, LAYOUT_VOLUME};
use boardlab_ubi::{AttachError, PebIndex};
use boardlab_ubifs::MountError;
use std::collections::BTreeMap;

/// The blocks that are looked at.
const BLOCKS: u64 = 1 << 16;
/// The volumes that are named.
const VOLUMES: usize = 16;

/// The headers of all blocks.
#[derive(Default)]
struct Headers {
    blocks: u64,
    erase_counters: u64,
    volumes: u64,
    /// The blocks of the volume table: LEB, block.
    tables: Vec<(u32, u64)>,
    /// The blocks of each volume.
    of_volumes: BTreeMap<u32, u64>,
}

impl Headers {
    fn of(dump: &mut Dump, flash: &UbiFlash) -> Self {
        let mut headers = Self::default();
        let geometry = dump.geometry();
        let size = dump.shape().block;
        let leb_size = flash.leb_size();
        headers.blocks = u64::from(geometry.block_count());
        for block in 0..headers.blocks.min(BLOCKS) {
            let mut bytes = [0; ec::SIZE];
            let mut read = |at: Bytes| dump.read(&mut Clock::new(), at, &mut bytes).map(|_| bytes);
            if let Ok(bytes) = read(size * block)
                && EcView::new(&bytes).and_then(|view| view.parse()).is_ok()
            {
                headers.erase_counters += 1;
            }
            let Ok(bytes) = read(size * block + Bytes::new(flash.vid_offset.into())) else {
                continue;
            };
            let Ok(header) = VidView::new(&bytes).and_then(|view| view.parse(leb_size)) else {
                continue;
            };
            headers.volumes += 1;
            if header.volume == LAYOUT_VOLUME {
                headers.tables.push((header.leb, block));
            } else if header.volume < INTERNAL_START {
                *headers.of_volumes.entry(header.volume).or_default() += 1;
            }
        }
        headers
    }

    fn words(&self) -> String {
        format!(
            "of {}, {} have an erase counter header and {} a volume header",
            counted(self.blocks, "block"),
            self.erase_counters,
            self.volumes
        )
    }

    /// `volume 0 has 14 blocks, volume 1 has 3 blocks`.
    fn volumes(&self) -> String {
        let words = |(volume, &blocks): (&u32, &u64)| {
            format!("; volume {volume} has {}", counted(blocks, "block"))
        };
        self.of_volumes.iter().take(VOLUMES).map(words).collect()
    }
}

/// Why the flash cannot be attached. `length` is that of the file.
pub(super) fn of_attach(
    problem: &AttachError,
    dump: &mut Dump,
    flash: &UbiFlash,
    length: Bytes,
) -> String {
    let in_file = |block: u64| {
        let at = flash.at + flash.shape.raw_block() * block;
        format!("block {block} at {:#x}", at.get())
    };
    let mut words = problem.to_string();
    match problem {
        AttachError::NoTable => {
            let headers = Headers::of(dump, flash);
            words +=
                &format!(": {}, none for the volume table ({LAYOUT_VOLUME:#x})", headers.words());
            words += &headers.volumes();
        }
        AttachError::Table(_) => {
            let headers = Headers::of(dump, flash);
            let copies = headers
                .tables
                .iter()
                .map(|(leb, block)| format!("copy {leb} in {}", in_file(*block)));
            let copies: Vec<_> = copies.collect();
            words += &format!("; {}", copies.join(", "));
        }
        AttachError::NotUbi { .. } | AttachError::Corrupted { .. } => {
            words += &format!(": {}", Headers::of(dump, flash).words());
        }
        other => {
            if let Some(PebIndex(block)) = block_of(other) {
                words += &format!(" ({} of the file)", in_file(block.into()));
            }
        }
    }
    words + &end_of_file(flash, length)
}

/// The block that an error is about.
const fn block_of(problem: &AttachError) -> Option<PebIndex> {
    match problem {
        AttachError::Header { peb, .. }
        | AttachError::ImageSeq { peb, .. }
        | AttachError::Rejected { peb, .. }
        | AttachError::SameSqnum { second: peb, .. }
        | AttachError::Vanished { peb } => Some(*peb),
        _ => None,
    }
}

/// Where the file ends, if that is within a block.
fn end_of_file(flash: &UbiFlash, length: Bytes) -> String {
    let raw = flash.shape.raw_block();
    let block = (length - flash.at) / raw;
    let within = length - flash.at - raw * block;
    if within.is_zero() {
        return String::new();
    }
    format!("; the file ends within block {block}, after {} of {} bytes", within.get(), raw.get())
}

/// The bytes that a truncated file should have.
pub(super) fn truncated(needed: Option<Bytes>) -> String {
    needed.map_or_else(String::new, |needed| {
        format!("; the file is truncated, it should have at least {} bytes", needed.get())
    })
}

/// Why a filesystem cannot be mounted; the volume begins at `at` in the file.
pub(super) fn of_mount(problem: &MountError, lebs: &ImageLebs, at: Bytes) -> String {
    let words = problem.to_string();
    let place = match problem {
        MountError::Failed(error) => place_of(error),
        _ => None,
    };
    let Some((leb, offs)) = place else { return words };
    let Some(on_flash) = lebs.place(leb, offs) else {
        return format!("{words}; no block of the file holds LEB {leb}");
    };
    let shape = lebs.dump().shape();
    let (block, in_file) = (on_flash / shape.block, at + shape.in_file(on_flash));
    format!("{words} (in block {block}, at {:#x} of the file)", in_file.get())
}
