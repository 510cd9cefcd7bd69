//! The commands that make such a UBIFS, and such a UBI image.
//!
//! Layer: rank 7. Functions: [`of_volume`], [`of_ubi`]. The options are those of mtd-utils 2.1.

use super::volumes::Entry;
use crate::rebuild::{RebuildStep, file, flash, spare, word};
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_sim::Bytes;
use boardlab_ubi::{Layout, VolumeKind};
use boardlab_ubifs::format::superblock::Superblock;

/// The compression as both programs name it.
fn compression(superblock: &Superblock) -> &'static str {
    match superblock.default_compr {
        1 => "lzo",
        2 => "zlib",
        3 => "zstd",
        _ => "none",
    }
}

fn mkfs(superblock: &Superblock, output: &str) -> RebuildStep {
    let Superblock { min_io, leb_size, max_leb_count, flags, .. } = *superblock;
    let fix_up = if flags & Superblock::SPACE_FIXUP == 0 { "" } else { " -F" };
    let packed = compression(superblock);
    let line = format!(
        "mkfs.ubifs -r DIR -m {min_io} -e {leb_size} -c {max_leb_count} -x {packed}{fix_up} -o {output}"
    );
    RebuildStep::new("mkfs.ubifs", line)
}

/// What a folder becomes a UBIFS with, besides its flash.
fn of_folder(superblock: &Superblock) -> String {
    let fix_up = if superblock.flags & Superblock::SPACE_FIXUP == 0 { "" } else { " --fix-up" };
    let packed = compression(superblock);
    format!(" --max-blocks {} --compression {packed}{fix_up}", superblock.max_leb_count)
}

/// The options of both programs for where headers and data lie in a block.
fn offsets(page: u32, vid_offset: u32, leb_start: u32) -> [String; 2] {
    if vid_offset == page && leb_start == 2 * page || page == 1 {
        return [String::new(), String::new()];
    }
    if vid_offset.is_power_of_two() && vid_offset < page && leb_start == page {
        return [format!(" --sub-page {vid_offset}"), format!(" -s {vid_offset}")];
    }
    [format!(" --vid-offset {vid_offset}"), format!(" -O {vid_offset}")]
}

/// A single volume. The pages in front of a LEB are taken for those of its headers.
pub(super) fn of_volume(superblock: &Superblock) -> Vec<RebuildStep> {
    let Superblock { min_io, leb_size, .. } = *superblock;
    let mut steps = vec![mkfs(superblock, "image.ubifs")];
    let block = leb_size.checked_next_power_of_two().unwrap_or(leb_size);
    let start = block - leb_size;
    let page = if min_io <= 8 { 1 } else { min_io };
    let known = match (page, start) {
        (1, 128) => Some(String::new()),
        (page, start) if start == 2 * page => Some(String::new()),
        (page, start) if start == page && page >= 512 => Some(format!(" --sub-page {}", page / 4)),
        _ => None,
    };
    match known {
        Some(sub_page) => {
            let shape = Shape::nand(Bytes::new(page.into()), Bytes::ZERO, Bytes::new(block.into()));
            let line = format!(
                "boardlab image create DIR image.ubifs {}{sub_page}{} --volume-only",
                flash(shape),
                of_folder(superblock)
            );
            steps.push(RebuildStep::new("boardlab", line));
        }
        None => steps.push(RebuildStep::new(
            "note",
            format!("no erase block of a usual size has LEBs of {leb_size} bytes"),
        )),
    }
    steps
}

/// A UBI image with its volumes.
pub(super) fn of_ubi(
    shape: Shape,
    layout: &Layout,
    image_seq: u32,
    entries: &[Entry],
    found: Option<&Spare>,
) -> Vec<RebuildStep> {
    let mut steps = Vec::new();
    let ini = |line: String| RebuildStep::new("image.ini", line);
    let page = u32::try_from(shape.page.get()).unwrap_or(u32::MAX);
    let [ours, theirs] = offsets(page, layout.vid_offset, layout.leb_start);
    for entry in entries {
        let ending = if entry.superblock.is_some() { "ubifs" } else { "img" };
        let source = file(&entry.info.name, ending);
        match &entry.superblock {
            Some(superblock) => steps.push(mkfs(superblock, &source)),
            None => steps.push(RebuildStep::new(
                "boardlab",
                format!(
                    "boardlab image extract IMAGE {source} --volume {} --raw",
                    word(&entry.info.name)
                ),
            )),
        }
    }
    for entry in entries {
        let info = &entry.info;
        let ending = if entry.superblock.is_some() { "ubifs" } else { "img" };
        steps.push(ini(format!("[volume-{}]", info.id)));
        steps.push(ini("mode=ubi".into()));
        steps.push(ini(format!("image={}", file(&info.name, ending))));
        steps.push(ini(format!("vol_id={}", info.id)));
        let kind = if info.kind == VolumeKind::Static { "static" } else { "dynamic" };
        steps.push(ini(format!("vol_type={kind}")));
        let bytes = u64::from(info.reserved_lebs) * u64::from(info.leb_size);
        steps.push(ini(format!("vol_size={bytes}")));
        steps.push(ini(format!("vol_name={}", entry.name())));
    }
    let block = shape.block.get();
    let line =
        format!("ubinize -o image.ubi -p {block} -m {page}{theirs} -Q {image_seq} image.ini");
    steps.push(RebuildStep::new("ubinize", line));
    let (oob, note) = spare(shape, found);
    let flash = format!("{}{ours}{oob} --image-seq {image_seq}", flash(shape));
    let line = match entries {
        [one] if one.superblock.is_some() => {
            let superblock = one.superblock.as_ref().map(of_folder).unwrap_or_default();
            let name = word(&one.info.name);
            format!("boardlab image create DIR image.ubi {flash}{superblock} --volume-name {name}")
        }
        _ => format!("boardlab image create image.ini image.ubi {flash}"),
    };
    steps.push(RebuildStep::new("boardlab", line));
    steps.extend(note);
    steps
}
