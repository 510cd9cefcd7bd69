//! The arguments of `boardlab image create`.
//!
//! Layer: rank 12. Main type: [`Create`]. The options have the meaning of those of `mkfs.ubifs`,
//! `mkfs.jffs2` and `ubinize`, whose letters their help names.

use super::size;
use boardlab_image::ByteOrder;
use boardlab_image::files::Taking;
use boardlab_image::make::{
    Compression, FileOptions, Flash, Jffs2Options, NewTags, Pad, Placing, is_jffs2, is_on_flash,
};
use boardlab_sim::Bytes;
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

pub(super) const HELP: &str = "\
Of a folder or an archive, a UBI image with one UBIFS volume that takes all free blocks at the first attach. Of an \
.ini file, byte for byte the image that ubinize makes. Times are those of the last change of content, and at most \
SOURCE_DATE_EPOCH, if that is set. OUTPUT must be new; it appears whole or not at all. \
Exit status 1: something is left out; the last table says what and why.

Examples:
  boardlab image create rootfs board.ubi --page 2KiB --block 128KiB --max-blocks 1000
  boardlab image create rootfs board.ubifs --page 2KiB --block 128KiB --max-blocks 1000 --volume-only
  boardlab image create rootfs nor.jffs2 --fs jffs2 --page 1 --block 64KiB -D devices.txt --pad 8MiB
  boardlab image create rootfs nand.jffs2 --fs jffs2 --summary --page 2KiB --oob 64 --block 128KiB
  boardlab image create rootfs board.yaffs2 --fs yaffs2 --page 2KiB --oob 64 --block 128KiB
  boardlab image create rootfs mk.yaffs2 --fs yaffs2 --tags start --page 2KiB --oob 64 --block 128KiB
  boardlab image create rootfs board.logfs --fs logfs --page 2KiB --oob 64 --block 128KiB --max-blocks 2048
  boardlab image create files board.ubi --metadata files.json --page 2KiB --block 128KiB --max-blocks 1000
  boardlab image create --tar rootfs.tar board.ubi --page 2KiB --block 128KiB --max-blocks 1000
  boardlab image create board.ini board.ubi --page 2KiB --sub-page 512 --block 128KiB";

/// What an image is made of, and for which flash.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Folder with the files, or .ini file with the volumes as ubinize takes it; see --tar
    #[arg(value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    pub(crate) input: PathBuf,
    /// New file for the image
    #[arg(value_name = "OUTPUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// INPUT is a tar archive, - for standard input: owners and devices need no root
    #[arg(long)]
    pub(crate) tar: bool,
    /// Owners, modes, times, devices and attributes, as `image extract --metadata` writes them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) metadata: Option<PathBuf>,
    /// The image.
    #[command(flatten)]
    pub(crate) new: NewImage,
}

/// The flash and the filesystem of a new image.
#[derive(Debug, Args)]
pub(crate) struct NewImage {
    /// Bytes of a page, such as 2KiB; 1 for NOR (mkfs.ubifs -m, ubinize -m)
    #[arg(long, value_name = "SIZE", value_parser = size, required = true)]
    pub(crate) page: Option<Bytes>,
    /// Bytes of an erase block, such as 128KiB (ubinize -p)
    #[arg(long, value_name = "SIZE", value_parser = size, required = true)]
    pub(crate) block: Option<Bytes>,
    /// Smallest write of a header, if less than a page (ubinize -s)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    sub_page: Option<Bytes>,
    /// Offset of the volume header, if not that of the next sub-page (ubinize -O)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    vid_offset: Option<Bytes>,
    /// Erase counter of all blocks (ubinize -e)
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=0x7FFF_FFFF))]
    erase_counter: u32,
    /// Number of the image; drawn with --seed if left out (ubinize -Q)
    #[arg(long, value_name = "N")]
    image_seq: Option<u32>,
    /// Spare bytes after each page, with an ECC unless --tags start; none if left out
    #[arg(long, value_name = "SIZE", value_parser = size)]
    oob: Option<Bytes>,
    /// Bits that the ECC corrects in so many bytes: 1 is Hamming, more BCH [default: 1/256]
    #[arg(long, value_name = "BITS/BYTES", value_parser = ecc, requires = "oob")]
    ecc: Option<(u32, Bytes)>,
    /// Size of the image, such as 8MiB or 64blocks: erased blocks follow (mkfs.jffs2 -p)
    #[arg(long, value_name = "SIZE", value_parser = pad)]
    pub(crate) pad: Option<Pad>,
    /// Bad blocks of the flash to go around, such as 3,17,40-42, or @FILE with such a list
    #[arg(long, value_name = "LIST")]
    pub(crate) bad_blocks: Option<String>,
    /// What is made of files.
    #[command(flatten)]
    folder: OfFiles,
}

/// Options for files.
#[derive(Debug, Args)]
#[command(next_help_heading = "The filesystem, of a folder or an archive")]
struct OfFiles {
    /// Filesystem: ubifs, jffs2, yaffs2 (YAFFS1 with pages of 512 bytes), logfs [default: ubifs]
    #[arg(long, value_name = "NAME")]
    fs: Option<String>,
    /// Place of the tags of YAFFS2 [default: free]
    #[arg(long, value_name = "PLACE")]
    tags: Option<Tags>,
    /// Write YAFFS2 or JFFS2 for a big-endian board (mkfs.jffs2 -b)
    #[arg(long)]
    big_endian: bool,
    /// End full blocks of JFFS2 with a summary, for a faster mount (sumtool)
    #[arg(long)]
    summary: bool,
    /// Leave out the cleanmarkers of JFFS2 (mkfs.jffs2 -n)
    #[arg(long)]
    no_cleanmarkers: bool,
    /// Logical erase blocks that UBIFS may grow to (mkfs.ubifs -c); for LogFS, blocks of the flash
    #[arg(long, value_name = "N")]
    max_blocks: Option<u32>,
    /// Compression (mkfs.ubifs -x, mkfs.jffs2 -m) [default: lzo; JFFS2: priority; LogFS: none]
    #[arg(long, value_name = "NAME")]
    compression: Option<Kind>,
    /// Name of the UBI volume [default: rootfs]
    #[arg(long, value_name = "NAME", conflicts_with = "volume_only")]
    volume_name: Option<String>,
    /// Make the volume alone, as mkfs.ubifs does, without UBI
    #[arg(long)]
    volume_only: bool,
    /// Let the first mount repair what a flasher writes of erased pages (mkfs.ubifs -F)
    #[arg(long)]
    fix_up: bool,
    /// Give all files to root (mkfs.ubifs -U)
    #[arg(long)]
    squash_uids: bool,
    /// Let nobody but the owner of a file write to it (mkfs.jffs2 -P)
    #[arg(long)]
    squash_perms: bool,
    /// Table of devices, folders, owners and modes, as mtd-utils take it (mkfs.jffs2 -D)
    #[arg(short = 'D', long = "devtable", value_name = "FILE", value_hint = ValueHint::FilePath)]
    devices: Option<PathBuf>,
}

/// Where tags lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Tags {
    /// In the spare bytes that the ECC of Linux leaves free
    Free,
    /// From the first spare byte on, without ECC of the data, as mkyaffs2image writes them
    Start,
    /// At the end of each page, for parts without free spare bytes
    InBand,
}

impl From<Tags> for NewTags {
    fn from(tags: Tags) -> Self {
        match tags {
            Tags::Free => Self::Free,
            Tags::Start => Self::Start,
            Tags::InBand => Self::InBand,
        }
    }
}

/// Compressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// As it is
    None,
    /// LZO
    Lzo,
    /// Deflate of zlib
    Zlib,
    /// Zstandard, for Linux 5.0 and newer
    Zstd,
    /// LZO, but zlib where that is 20 % smaller
    FavorLzo,
    /// The repeats of JFFS2, for the smallest code
    Rtime,
    /// JFFS2: zlib, or rtime where that does not make the data smaller
    Priority,
    /// JFFS2: the smaller of zlib and rtime
    Size,
}

impl From<Kind> for Compression {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::None => Self::None,
            Kind::Lzo => Self::Lzo,
            Kind::Zlib => Self::Zlib,
            Kind::Zstd => Self::Zstd,
            Kind::FavorLzo => Self::FavorLzo,
            Kind::Rtime => Self::Rtime,
            Kind::Priority => Self::Priority,
            Kind::Size => Self::Size,
        }
    }
}

impl NewImage {
    /// The flash; pages and blocks are those of `like` where they are not given.
    pub(crate) fn flash(&self, like: (Bytes, Bytes)) -> Flash {
        Flash {
            page: self.page.unwrap_or(like.0),
            block: self.block.unwrap_or(like.1),
            sub_page: self.sub_page,
            vid_offset: self.vid_offset,
            erase_counter: self.erase_counter,
            image_seq: self.image_seq,
            oob: self.oob,
            ecc: self.ecc,
        }
    }

    /// The filesystem, if one is named.
    pub(crate) fn fs(&self) -> Option<&str> {
        self.folder.fs.as_deref()
    }

    /// The options for files, with the latest time of its files and the place of the blocks; `None` without
    /// --max-blocks.
    pub(crate) fn files(&self, latest: Option<i64>, placing: Placing) -> Option<FileOptions> {
        let OfFiles { fs, max_blocks, compression, volume_name, .. } = &self.folder;
        let name = || volume_name.clone().unwrap_or_else(|| "rootfs".into());
        let fs = fs.clone().unwrap_or_else(|| "ubifs".into());
        let unlimited = is_on_flash(&fs).then_some(0);
        Some(FileOptions {
            max_lebs: max_blocks.or(unlimited)?,
            fs,
            compression: compression.map(Compression::from),
            tags: self.folder.tags.map_or(NewTags::Free, NewTags::from),
            order: if self.folder.big_endian { ByteOrder::Big } else { ByteOrder::Little },
            fix_up: self.folder.fix_up,
            jffs2: Jffs2Options {
                summary: self.folder.summary,
                cleanmarkers: !self.folder.no_cleanmarkers,
            },
            metadata: None,
            devices: self.folder.devices.clone(),
            placing,
            volume: (!self.folder.volume_only).then(name),
            taking: Taking {
                squash: self.folder.squash_uids,
                squash_modes: self.folder.squash_perms,
                latest,
            },
        })
    }

    /// A given option that is for files only.
    pub(crate) fn for_files(&self) -> Option<&'static str> {
        let OfFiles { fs, max_blocks, compression, volume_name, .. } = &self.folder;
        let given = [
            (fs.is_some(), "--fs"),
            (self.folder.tags.is_some(), "--tags"),
            (self.folder.big_endian, "--big-endian"),
            (max_blocks.is_some(), "--max-blocks"),
            (compression.is_some(), "--compression"),
            (volume_name.is_some(), "--volume-name"),
            (self.folder.volume_only, "--volume-only"),
            (self.folder.fix_up, "--fix-up"),
            (self.folder.squash_uids, "--squash-uids"),
            (self.folder.squash_perms, "--squash-perms"),
            (self.folder.summary, "--summary"),
            (self.folder.no_cleanmarkers, "--no-cleanmarkers"),
            (self.folder.devices.is_some(), "--devtable"),
        ];
        given.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }

    /// A given option that is not for the spare bytes of pages, or any of them.
    pub(crate) fn for_pages(&self, with_spare: bool) -> Option<&'static str> {
        let given = [
            (self.page.is_some(), "--page"),
            (self.block.is_some(), "--block"),
            (self.sub_page.is_some(), "--sub-page"),
            (self.vid_offset.is_some(), "--vid-offset"),
            (self.image_seq.is_some(), "--image-seq"),
            (self.erase_counter > 0, "--erase-counter"),
            (self.pad.is_some(), "--pad"),
            (self.bad_blocks.is_some(), "--bad-blocks"),
            (self.oob.is_some() && !with_spare, "--oob"),
            (self.ecc.is_some() && !with_spare, "--ecc"),
        ];
        let given = given.into_iter().find_map(|(is_given, option)| is_given.then_some(option));
        given.or_else(|| self.for_files())
    }

    /// The spare bytes of a page, if they are given.
    pub(crate) const fn oob(&self) -> Option<Bytes> {
        self.oob
    }

    /// The code, if it is given.
    pub(crate) const fn ecc(&self) -> Option<(u32, Bytes)> {
        self.ecc
    }

    /// A given option that is for UBI and UBIFS only, although neither is made.
    pub(crate) fn for_volume(&self) -> Option<&'static str> {
        let OfFiles { fs, volume_name, .. } = &self.folder;
        if !fs.as_deref().is_some_and(is_on_flash) {
            return None;
        }
        let given = [
            (volume_name.is_some(), "--volume-name"),
            (self.folder.volume_only, "--volume-only"),
            (self.folder.fix_up, "--fix-up"),
            (self.sub_page.is_some(), "--sub-page"),
            (self.vid_offset.is_some(), "--vid-offset"),
            (self.image_seq.is_some(), "--image-seq"),
            (self.erase_counter > 0, "--erase-counter"),
        ];
        given.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }

    /// A given option that is for a filesystem on the flash itself, although none is made.
    pub(crate) fn for_flash(&self) -> Option<&'static str> {
        if self.folder.fs.as_deref().is_some_and(is_on_flash) {
            return None;
        }
        let given =
            [(self.folder.tags.is_some(), "--tags"), (self.folder.big_endian, "--big-endian")];
        given.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }

    /// A given option that is for JFFS2 only, although another filesystem is made.
    pub(crate) fn for_jffs2(&self) -> Option<&'static str> {
        if self.folder.fs.as_deref().is_some_and(is_jffs2) {
            return None;
        }
        let given = [
            (self.folder.summary, "--summary"),
            (self.folder.no_cleanmarkers, "--no-cleanmarkers"),
        ];
        given.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }

    /// A given option that is for UBI only, although the volume alone is made.
    pub(crate) const fn for_ubi(&self) -> Option<&'static str> {
        if !self.folder.volume_only {
            return None;
        }
        if self.oob.is_some() {
            return Some("--oob");
        }
        if self.image_seq.is_some() {
            return Some("--image-seq");
        }
        if self.erase_counter > 0 { Some("--erase-counter") } else { None }
    }
}

/// A size that an image is padded to: `8MiB`, or `64blocks`.
fn pad(text: &str) -> Result<Pad, String> {
    let Some(blocks) = text.strip_suffix("blocks") else {
        return size(text).map(Pad::Bytes).map_err(|misfit| format!("{misfit}, or 64blocks"));
    };
    let count = blocks.trim_end().parse().map(Pad::Blocks);
    count.map_err(|_| "expected a number of blocks, such as 64blocks".into())
}

/// An ECC: `4/512`.
fn ecc(text: &str) -> Result<(u32, Bytes), String> {
    let parsed = text.split_once('/').and_then(|(bits, bytes)| {
        let bits = bits.parse().ok().filter(|&bits: &u32| bits > 0)?;
        let bytes = bytes.parse().ok().filter(|&bytes: &u64| bytes > 0)?;
        Some((bits, Bytes::new(bytes)))
    });
    parsed.ok_or_else(|| "expected bits and bytes, such as 4/512".into())
}
