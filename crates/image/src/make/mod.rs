//! New images: of the files of a folder, or of the volumes that a configuration of `ubinize` lists.
//!
//! Layer: rank 7; reads files of this machine and writes none. In reading order: this file; `ini`, the
//! configuration; `spare`, an image with spare bytes; `bad_blocks`, lists of them, and `place`, an image around
//! them; [`report`], what was made as a result. Each
//! filesystem makes its own volume: [`FileSystemType::create`](crate::fs::FileSystemType::create).
//!
//! The image is made in memory. The same files, options and seed give the same bytes.

mod bad_blocks;
mod ini;
mod place;
pub mod report;
mod spare;

pub use crate::files::{
    Compression, FlashFormat, Jffs2Options, MakeError, NewFileSystem, NewTags, VolumeFormat,
};

pub use bad_blocks::bad_blocks;
pub use place::{Pad, Placing, place};
pub(crate) use spare::with_pages;
pub use spare::with_spare;

use crate::files::{LeftOut, Taking, Tree, devices};
use crate::fs::{ALL, Create, CreateDump, FileSystemType};
use crate::metadata::{self, Applied};
use crate::shape::Shape;
use boardlab_codec::ByteOrder;
use boardlab_sim::{Bytes, Seed};
use boardlab_ubi::create::{self, Content};
use boardlab_ubi::{Layout, NewVolume};
use boardlab_vfs::Kind;
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The flash that an image is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flash {
    /// Bytes of a page; 1 for NOR.
    pub page: Bytes,
    /// Bytes of an erase block.
    pub block: Bytes,
    /// The smallest write of a header; `None` for a page.
    pub sub_page: Option<Bytes>,
    /// The offset of the volume header; `None` for the first sub-page behind the erase counter.
    pub vid_offset: Option<Bytes>,
    /// The erase counter of all blocks.
    pub erase_counter: u32,
    /// The number of the image; `None` for one of the seed.
    pub image_seq: Option<u32>,
    /// The spare bytes of a page in the image; `None` for none.
    pub oob: Option<Bytes>,
    /// The bits that the ECC corrects, in so many bytes each; `None` for one in 256, where there is an ECC.
    pub ecc: Option<(u32, Bytes)>,
}

/// What is made of files.
#[derive(Debug, Clone)]
pub struct FileOptions {
    /// The filesystem.
    pub fs: String,
    /// The LEBs that it may grow to, or the erase blocks of its flash; 0 where the user leaves that open.
    pub max_lebs: u32,
    /// The compression; `None` where the user leaves that open.
    pub compression: Option<Compression>,
    /// Whether the first mount rewrites LEBs that are partly erased.
    pub fix_up: bool,
    /// The place of the tags of YAFFS2.
    pub tags: NewTags,
    /// The byte order of YAFFS2 and JFFS2.
    pub order: ByteOrder,
    /// What JFFS2 writes besides.
    pub jffs2: Jffs2Options,
    /// Owners, modes, times, devices and attributes of the files, as `image extract` writes them.
    pub metadata: Option<PathBuf>,
    /// A table of devices, as mtd-utils take it, which changes what the metadata say.
    pub devices: Option<PathBuf>,
    /// Where the blocks lie.
    pub placing: Placing,
    /// The name of the volume; `None` for the volume alone, without UBI.
    pub volume: Option<String>,
    /// How files are taken.
    pub taking: Taking,
}

impl Default for FileOptions {
    /// A UBIFS for a volume `rootfs`, whose size is left open.
    fn default() -> Self {
        Self {
            fs: "ubifs".into(),
            max_lebs: 0,
            compression: None,
            fix_up: false,
            tags: NewTags::Free,
            order: ByteOrder::Little,
            jffs2: Jffs2Options::default(),
            metadata: None,
            devices: None,
            placing: Placing::default(),
            volume: Some("rootfs".into()),
            taking: Taking::default(),
        }
    }
}

/// A volume of a new image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeVolume {
    /// The volume.
    pub new: NewVolume,
    /// Whether it takes all free blocks at the first attach.
    pub autoresize: bool,
    /// The file of its data.
    pub source: Option<PathBuf>,
    /// Its data in bytes.
    pub data: u64,
}

/// A new image.
#[derive(Debug)]
pub struct Made {
    /// The image.
    pub bytes: Vec<u8>,
    /// The flash that it is for.
    pub shape: Shape,
    /// Where headers and data lie in a block; `None` without UBI.
    pub layout: Option<Layout>,
    /// The mark of a bad block in the spare bytes; `None` for that of Linux.
    pub(crate) mark: Option<Range<usize>>,
    /// The volumes of UBI.
    pub volumes: Vec<MadeVolume>,
    /// The filesystem, of a folder.
    pub filesystem: Option<NewFileSystem>,
    /// What became of the metadata, where there are any.
    pub metadata: Option<Applied>,
    /// What is not in the image.
    pub left_out: Vec<LeftOut>,
    /// The bad blocks in the image.
    pub bad_blocks: Vec<u32>,
    /// The bad blocks behind its end.
    pub beyond: Vec<u32>,
}

impl Made {
    /// An image of which nothing else is known yet.
    pub(crate) const fn of(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            shape: Shape::nor(Bytes::ZERO),
            layout: None,
            mark: None,
            volumes: Vec::new(),
            filesystem: None,
            metadata: None,
            left_out: Vec::new(),
            bad_blocks: Vec::new(),
            beyond: Vec::new(),
        }
    }
}

impl Flash {
    /// A flash of such pages and blocks, with everything else left open, and all erase counters 0.
    #[must_use]
    pub const fn of(page: Bytes, block: Bytes) -> Self {
        Self {
            page,
            block,
            sub_page: None,
            vid_offset: None,
            erase_counter: 0,
            image_seq: None,
            oob: None,
            ecc: None,
        }
    }

    /// Checks the sizes.
    fn check(&self) -> Result<(), MakeError> {
        let page = self.page.get();
        let whole = page.is_power_of_two() && (page == 1 || (256..=65_536).contains(&page));
        let pages = "1 (NOR), or a power of two from 256 B to 64 KiB";
        require(whole, "--page", self.page, pages)?;
        let shape = Shape::nand(self.page, Bytes::ZERO, self.block);
        let blocks = format!("whole pages of {}, such as 128KiB", self.page);
        require(shape.check().is_ok(), "--block", self.block, &blocks)?;
        if let Some(sub) = self.sub_page {
            let fits = sub.get().is_power_of_two() && sub.get() >= 64.min(page) && sub <= self.page;
            let expected = format!("a power of two up to the page of {}", self.page);
            require(fits, "--sub-page", sub, &expected)?;
        }
        if let Some(offset) = self.vid_offset {
            let fits = offset.get() >= 64
                && offset.is_multiple_of(Bytes::new(8))
                && offset + self.page < self.block;
            let expected = "an offset behind the erase counter header, such as the page size";
            require(fits, "--vid-offset", offset, expected)?;
        }
        Ok(())
    }

    /// The same in the terms of UBI.
    fn format(&self, seed: Seed) -> create::Format {
        let word = |bytes: Bytes| u32::try_from(bytes.get()).expect("the sizes were checked");
        let drawn = seed.stream("image sequence").next_u64() >> 32;
        create::Format {
            peb_size: word(self.block),
            min_io: word(self.page),
            sub_page: self.sub_page.map(word),
            vid_offset: self.vid_offset.map(word),
            ec: self.erase_counter,
            image_seq: self.image_seq.unwrap_or(u32::try_from(drawn).expect("half of the bits")),
        }
    }
}

fn require(
    fits: bool,
    option: &'static str,
    found: Bytes,
    expected: &str,
) -> Result<(), MakeError> {
    if fits {
        return Ok(());
    }
    let found = found.to_string().replace(' ', "");
    Err(MakeError::Value { option, found, expected: expected.into() })
}

/// What an image is made of, besides volumes.
#[derive(Debug)]
pub enum Files<'a> {
    /// A folder of this machine.
    Folder(&'a Path),
    /// A tar archive.
    Archive(File),
    /// Files that were gathered before.
    Tree(&'a mut Tree),
}

/// Makes an image of the files in `folder`.
///
/// # Errors
/// Any but [`MakeError::Ini`].
pub fn of_folder(
    folder: &Path,
    flash: &Flash,
    options: &FileOptions,
    seed: Seed,
) -> Result<Made, MakeError> {
    of_files(Files::Folder(folder), flash, options, (seed, ALL))
}

/// Makes an image of files, with a list of filesystems.
///
/// # Errors
/// Any but [`MakeError::Ini`].
pub fn of_files(
    files: Files<'_>,
    flash: &Flash,
    options: &FileOptions,
    (seed, types): (Seed, &[FileSystemType]),
) -> Result<Made, MakeError> {
    flash.check()?;
    let by_name = |one: &&FileSystemType| one.name.eq_ignore_ascii_case(&options.fs);
    if let Some(create) = types.iter().find(by_name).and_then(|one| one.create_dump) {
        return with_tree(files, options, |tree| on_flash(tree, flash, options, create));
    }
    let layout = create::layout(&flash.format(seed))?;
    let create = creator(&options.fs, types)?;
    if let Some(name) = &options.volume {
        let fits = !name.is_empty() && name.len() <= boardlab_ubi::format::vtbl::NAME_MAX;
        if !fits || name.contains('\0') {
            let (option, expected) = ("--volume-name", "1 to 127 bytes".into());
            return Err(MakeError::Value { option, found: format!("`{name}`"), expected });
        }
    }
    with_tree(files, options, |tree| in_volume(tree, flash, options, (seed, &layout, create)))
}

/// Gathers files, makes an image of them, places its blocks, and notes what is left out.
fn with_tree(
    files: Files<'_>,
    options: &FileOptions,
    make: impl FnOnce(&mut Tree) -> Result<Made, MakeError>,
) -> Result<Made, MakeError> {
    let mut gathered;
    let tree = match files {
        Files::Tree(tree) => tree,
        Files::Folder(folder) => {
            gathered = Tree::of(folder, &options.taking)?;
            &mut gathered
        }
        Files::Archive(file) => {
            gathered = Tree::of_archive(file, &options.taking)?;
            &mut gathered
        }
    };
    if tree.nodes.first().is_none_or(|root| root.kind != Kind::Directory) {
        return Err(MakeError::NoRoot);
    }
    let metadata = options.metadata.as_deref();
    let metadata = metadata.map(|path| metadata::apply(tree, path, &options.taking)).transpose()?;
    if let Some(table) = &options.devices {
        devices::apply(tree, table, &options.taking)?;
    }
    let made = place(make(tree)?, &options.placing)?;
    Ok(Made { metadata, left_out: std::mem::take(&mut tree.left_out), ..made })
}

/// A filesystem in a volume, which is all of an image of UBI or alone.
fn in_volume(
    tree: &mut Tree,
    flash: &Flash,
    options: &FileOptions,
    (seed, layout, make): (Seed, &Layout, Create),
) -> Result<Made, MakeError> {
    let FileOptions { max_lebs, compression, fix_up, .. } = *options;
    let (leb_size, min_io) = (layout.leb_size, layout.min_io);
    let compression = compression.unwrap_or(Compression::Lzo);
    let volume = VolumeFormat { leb_size, min_io, max_lebs, compression, fix_up, seed };
    let mut made = make(tree, &volume)?;
    let bytes = std::mem::take(&mut made.bytes);
    let Some(name) = &options.volume else {
        let shape = Shape::nand(flash.page, Bytes::ZERO, Bytes::new(u64::from(leb_size)));
        let (layout, volumes, filesystem) = (None, Vec::new(), Some(made));
        return Ok(Made { shape, layout, volumes, filesystem, ..Made::of(bytes) });
    };
    let size = Bytes::new(u64::from(leb_size)) * u64::from(made.volume_lebs);
    let new = NewVolume { id: Some(0), ..NewVolume::dynamic(name, size) };
    let data = Bytes::of(&bytes).get();
    let volume = MadeVolume { new: new.clone(), autoresize: true, source: None, data };
    let content = Content { volume: new, autoresize: true, data: &bytes };
    let image = create::create(&flash.format(seed), &[content])?;
    let made = Made {
        shape: Shape::nand(flash.page, Bytes::ZERO, flash.block),
        layout: Some(*layout),
        volumes: vec![volume],
        filesystem: Some(made),
        ..Made::of(image)
    };
    with_spare(made, flash.oob, flash.ecc)
}

/// Whether a filesystem of this name has cleanmarkers and summaries.
#[must_use]
pub fn is_jffs2(fs: &str) -> bool {
    fs.eq_ignore_ascii_case("jffs2")
}

/// Whether a filesystem of this name lies on the flash itself, and not in a volume of UBI.
#[must_use]
pub fn is_on_flash(fs: &str) -> bool {
    ALL.iter().any(|one| one.name.eq_ignore_ascii_case(fs) && one.create_dump.is_some())
}

/// A filesystem that lies on the flash itself.
fn on_flash(
    tree: &mut Tree,
    flash: &Flash,
    options: &FileOptions,
    create: CreateDump,
) -> Result<Made, MakeError> {
    let shape = Shape::nand(flash.page, flash.oob.unwrap_or(Bytes::ZERO), flash.block);
    let FileOptions { tags, order, max_lebs: blocks, compression, .. } = *options;
    let (ecc, jffs2, bad_blocks) = (flash.ecc, options.jffs2, options.placing.bad_blocks.clone());
    let format = FlashFormat {
        ecc,
        tags,
        order,
        blocks,
        compression,
        jffs2,
        bad_blocks,
        ..FlashFormat::of(shape)
    };
    let mut made = create(tree, &format)?;
    let bytes = std::mem::take(&mut made.bytes);
    let (layout, volumes, filesystem) = (None, Vec::new(), Some(made));
    Ok(Made { shape, layout, volumes, filesystem, ..Made::of(bytes) })
}

/// The function that makes a filesystem of this name.
fn creator(name: &str, types: &[FileSystemType]) -> Result<Create, MakeError> {
    let found = types.iter().find(|one| one.name.eq_ignore_ascii_case(name));
    found.and_then(|one| one.create).ok_or_else(|| {
        let is_maker = |one: &&FileSystemType| one.create.is_some() || one.create_dump.is_some();
        let makers = types.iter().filter(is_maker);
        let expected = makers.map(|one| one.name.to_lowercase()).collect();
        let found = found.map_or_else(|| format!("`{name}`"), |one| one.name.to_owned());
        MakeError::FileSystem { found, expected }
    })
}

/// Makes an image with the volumes of a configuration of `ubinize`, byte for byte as that does.
///
/// # Errors
/// Any but [`MakeError::NoSpace`].
pub fn of_ini(path: &Path, flash: &Flash, seed: Seed) -> Result<Made, MakeError> {
    flash.check()?;
    let layout = create::layout(&flash.format(seed))?;
    let text = fs::read(path);
    let text = text.map_err(|problem| MakeError::Unreadable { path: path.into(), problem })?;
    let volumes = ini::volumes(&ini::parse(&text)?, &layout, path)?;
    let contents: Vec<Content<'_>> = volumes
        .iter()
        .map(|one| Content { volume: one.new.clone(), autoresize: one.autoresize, data: &one.data })
        .collect();
    let bytes = create::create(&flash.format(seed), &contents)?;
    let volumes = volumes.into_iter().map(|one| MadeVolume {
        new: one.new,
        autoresize: one.autoresize,
        source: one.image,
        data: Bytes::of(&one.data).get(),
    });
    let made = Made {
        shape: Shape::nand(flash.page, Bytes::ZERO, flash.block),
        layout: Some(layout),
        volumes: volumes.collect(),
        ..Made::of(bytes)
    };
    with_spare(made, flash.oob, flash.ecc)
}
