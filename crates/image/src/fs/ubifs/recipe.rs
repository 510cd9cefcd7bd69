//! How a UBIFS is made again of its files, and a UBI image of its volumes.
//!
//! Layer: rank 7. Functions: [`of_volume`], [`of_ubi`].

use super::survey::UbiFlash;
use super::volumes::Entry;
use super::{Image, create};
use crate::contents::Contents;
use crate::dump::Dump;
use crate::error::Error;
use crate::files::{Compression, VolumeFormat};
use crate::fs::recipe::known_spare;
use crate::fs::{Recipe, RecipeContent, RecipeVolume};
use crate::spare::Spare;
use boardlab_sim::{Bytes, Seed};
use boardlab_ubi::create::{Format, layout};
use boardlab_ubi::format::vtbl::{AUTORESIZE, Record, SKIP_CHECK};
use boardlab_ubi::{NewVolume, Ubi};
use boardlab_ubifs::format::superblock::Superblock;

fn format(superblock: &Superblock, leb_size: u32) -> VolumeFormat {
    let compression = match superblock.default_compr {
        1 => Compression::Lzo,
        2 => Compression::Zlib,
        3 => Compression::Zstd,
        _ => Compression::None,
    };
    VolumeFormat {
        leb_size,
        min_io: superblock.min_io,
        max_lebs: superblock.max_leb_count,
        compression,
        fix_up: superblock.flags & Superblock::SPACE_FIXUP != 0,
        seed: Seed::new(0),
    }
}

/// A single volume.
pub(super) fn of_volume(contents: &Contents, image: &Image) -> Result<Recipe, Error> {
    let Image { at, shape, ref superblock } = *image;
    if !shape.oob.is_zero() {
        let why = "it is a volume with spare bytes, which lie on a flash with UBI only".into();
        return Err(Error::NoRecipe { why });
    }
    let format = format(superblock, superblock.leb_size);
    let blocks = (contents.length() - at).div_ceil(shape.raw_block());
    let blocks = blocks.max(superblock.leb_count.into());
    let content = RecipeContent::Volume(create::create, format);
    Ok(Recipe { at, shape, blocks, may_grow: true, bad_blocks: Vec::new(), spare: None, content })
}

/// A UBI image.
pub(super) fn of_ubi(
    contents: &Contents,
    flash: &UbiFlash,
    (ubi, entries): (&Ubi<Dump>, &[Entry]),
    found: Option<&Spare>,
) -> Result<Recipe, Error> {
    let (shape, lies) = (flash.shape, ubi.layout());
    let word = |bytes: Bytes| u32::try_from(bytes.get()).unwrap_or(u32::MAX);
    let (page, vid) = (word(shape.page), lies.vid_offset);
    let is_sub_page = vid.is_power_of_two() && vid < page && lies.leb_start == page;
    let is_usual = page == 1 || vid == page && lies.leb_start == 2 * page;
    let format = Format {
        peb_size: word(shape.block),
        min_io: page,
        sub_page: is_sub_page.then_some(vid),
        vid_offset: (!is_usual && !is_sub_page).then_some(vid),
        ec: ubi.counts().mean_ec,
        image_seq: ubi.image_seq(),
    };
    let made = layout(&format).ok().map(|made| (made.vid_offset, made.leb_start));
    if made != Some((vid, lies.leb_start)) {
        let start = lies.leb_start;
        let why = format!("its headers lie at byte {vid} and its data at byte {start} of a block");
        return Err(Error::NoRecipe { why });
    }
    let volumes =
        entries.iter().map(|entry| volume(entry, flash.table.volumes.get(&entry.info.id)));
    let content = RecipeContent::Ubi(format, volumes.collect());
    let spare = known_spare(shape, found)?;
    let mut dump = Dump::with_spare(contents.from(flash.at), shape, found.cloned())?;
    let recipe = Recipe::new(contents, (flash.at, shape), &mut dump, spare, |_| content);
    // An image of ubinize has fewer blocks than its volumes are to have.
    let has_autoresize = |record: &Record| record.flags & AUTORESIZE != 0;
    let may_grow = u64::from(flash.table.reserved()) >= recipe.blocks
        || flash.table.volumes.values().any(has_autoresize);
    Ok(Recipe { may_grow, ..recipe })
}

/// A volume, with its size as the volume table has it.
fn volume(entry: &Entry, record: Option<&Record>) -> RecipeVolume {
    let info = &entry.info;
    let reserved = record.map_or(info.reserved_lebs, |record| record.reserved_lebs);
    let has = |flag: u8| record.is_some_and(|record| record.flags & flag != 0);
    let new = NewVolume {
        id: Some(info.id),
        name: info.name.clone(),
        kind: info.kind,
        size: Bytes::new(info.leb_size.into()) * u64::from(reserved),
        alignment: record.map_or(1, |record| record.alignment),
        skip_check: has(SKIP_CHECK),
    };
    let format = |superblock| (create::create as _, format(superblock, info.leb_size));
    RecipeVolume {
        new,
        autoresize: has(AUTORESIZE),
        filesystem: entry.superblock.as_ref().map(format),
        damage: entry.damage(),
    }
}
