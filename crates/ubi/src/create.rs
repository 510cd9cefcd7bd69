//! Images as `ubinize` of mtd-utils makes them: two copies of the volume table, then the volumes.
//!
//! Layer: rank 4. Main types: [`Format`], [`Content`]; [`create`] makes an image. For equal parameters
//! the bytes are those of `ubinize`.
//!
//! Source: mtd-utils 2.1, `ubi-utils/ubinize.c` and `libubigen.c`.

use crate::error::{AttachError, VolumeError};
use crate::format::vid::{Compat, Extent, Payload, VidHeader};
use crate::format::vtbl::{self, AUTORESIZE, NAME_MAX, Record, SKIP_CHECK};
use crate::format::{
    EcHeader, LAYOUT_LEBS, LAYOUT_VOLUME, VolumeKind, crc, ec, length_of, to_usize, vid,
};
use crate::layout::Layout;
use crate::options::Options;
use crate::vmt::NewVolume;
use boardlab_mtd::{FlashKind, Geometry};
use boardlab_sim::Bytes;

/// The flash that an image is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// The size of an erase block (`-p`).
    pub peb_size: u32,
    /// The smallest write (`-m`).
    pub min_io: u32,
    /// The smallest write of a header; `None` for the smallest write (`-s`).
    pub sub_page: Option<u32>,
    /// The offset of the VID header; `None` for the first sub-page after the EC header (`-O`).
    pub vid_offset: Option<u32>,
    /// The erase counter of all blocks (`-e`).
    pub ec: u32,
    /// The number of the image (`-Q`).
    pub image_seq: u32,
}

/// A volume of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content<'a> {
    /// The volume. Without a number it has its position among the volumes.
    pub volume: NewVolume,
    /// Whether it takes all free blocks at the first attach.
    pub autoresize: bool,
    /// Its data.
    pub data: &'a [u8],
}

/// Why an image cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CreateError {
    /// The layout is impossible.
    Layout(AttachError),
    /// A volume is impossible.
    Volume(VolumeError),
}

impl std::fmt::Display for CreateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Layout(error) => error.fmt(f),
            Self::Volume(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CreateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Layout(error) => Some(error),
            Self::Volume(error) => Some(error),
        }
    }
}

impl From<VolumeError> for CreateError {
    fn from(error: VolumeError) -> Self {
        Self::Volume(error)
    }
}

/// An image with these volumes, in this order on flash.
///
/// # Errors
/// [`CreateError`].
pub fn create(format: &Format, volumes: &[Content<'_>]) -> Result<Vec<u8>, CreateError> {
    let layout = layout(format)?;
    let slots = vtbl::slots(layout.leb_size);
    let mut table = vec![None; to_usize(slots)];
    let mut image = Writer { layout, format, bytes: Vec::new() };
    for (index, content) in (0..).zip(volumes) {
        let id = content.volume.id.unwrap_or(index);
        let record = record_of(content, &layout)?;
        let slot = table.get_mut(to_usize(id)).filter(|slot| slot.is_none());
        *slot.ok_or(VolumeError::Id { id: Some(id) })? = Some(record);
    }
    check_names(&table)?;
    let records = table.iter().flat_map(|record: &Option<Record>| {
        record.as_ref().map_or_else(Record::vacant, Record::bytes)
    });
    let records: Vec<u8> = records.collect();
    let plain = |volume, leb| VidHeader {
        volume,
        leb,
        compat: Compat::None,
        data_pad: 0,
        payload: Payload::Dynamic,
        sqnum: 0,
    };
    for copy in 0..LAYOUT_LEBS {
        let header = VidHeader { compat: Compat::Reject, ..plain(LAYOUT_VOLUME, copy) };
        image.push(&header, &records);
    }
    for (index, content) in (0..).zip(volumes) {
        let id = content.volume.id.unwrap_or(index);
        let data_pad = layout.leb_size % content.volume.alignment;
        let chunks = content.data.chunks(to_usize(layout.leb_size - data_pad));
        let used_lebs = u32::try_from(chunks.len()).expect("the size was checked");
        for (leb, chunk) in (0..).zip(chunks) {
            let data = Extent { size: length_of(chunk), crc: crc(chunk) };
            let payload = match content.volume.kind {
                VolumeKind::Dynamic => Payload::Dynamic,
                VolumeKind::Static => Payload::Static { data, used_lebs, copy: false },
            };
            image.push(&VidHeader { data_pad, payload, ..plain(id, leb) }, chunk);
        }
    }
    Ok(image.bytes)
}

/// Where headers and data lie in the blocks of an image.
///
/// # Errors
/// [`CreateError::Layout`].
pub fn layout(format: &Format) -> Result<Layout, CreateError> {
    let size = |bytes: u32| Bytes::new(u64::from(bytes));
    let geometry = Geometry {
        write_size: size(format.min_io),
        write_buffer: size(format.min_io),
        ..Geometry::uniform(FlashKind::Ram, 1, size(format.peb_size))
    };
    let options =
        Options { sub_page: format.sub_page, vid_offset: format.vid_offset, ..Options::default() };
    let layout = Layout::new(&geometry, &options).map_err(CreateError::Layout)?;
    let leb_size = layout.leb_size;
    if vtbl::slots(leb_size) == 0 {
        return Err(CreateError::Layout(AttachError::SmallLebs { leb_size }));
    }
    Ok(layout)
}

fn record_of(content: &Content<'_>, layout: &Layout) -> Result<Record, VolumeError> {
    let Content { volume, autoresize, data } = content;
    let alignment = volume.alignment;
    let unaligned = alignment != 1 && !alignment.is_multiple_of(layout.min_io);
    if alignment == 0 || alignment > layout.leb_size || unaligned {
        return Err(VolumeError::Alignment { found: alignment });
    }
    let name = volume.name.as_bytes();
    if name.is_empty() || name.len() > NAME_MAX || name.contains(&0) {
        return Err(VolumeError::Name { name: volume.name.clone(), used_by: None });
    }
    let data_pad = layout.leb_size % alignment;
    // ubinize counts whole LEBs, also where the alignment leaves less of them.
    let lebs = volume.size.get().div_ceil(u64::from(layout.leb_size));
    let reserved_lebs = u32::try_from(lebs).ok().filter(|&lebs| lebs > 0);
    let needed = Bytes::of(data).get().div_ceil(u64::from(layout.leb_size - data_pad));
    let fits = Bytes::of(data) <= volume.size && needed <= lebs;
    let found = if fits { volume.size } else { Bytes::of(data) };
    let reserved_lebs = reserved_lebs.filter(|_| fits).ok_or(VolumeError::Size { found })?;
    let skip = if volume.skip_check { SKIP_CHECK } else { 0 };
    let resize = if *autoresize { AUTORESIZE } else { 0 };
    Ok(Record {
        reserved_lebs,
        alignment,
        data_pad,
        kind: volume.kind,
        updating: false,
        name: name.to_vec(),
        flags: skip | resize,
    })
}

fn check_names(table: &[Option<Record>]) -> Result<(), VolumeError> {
    let named = || (0..).zip(table).filter_map(|(id, record)| Some((id, record.as_ref()?)));
    for (id, record) in named() {
        let mut before = named().take_while(|&(other, _)| other < id);
        if let Some((used_by, _)) = before.find(|(_, other)| other.name == record.name) {
            let name = String::from_utf8_lossy(&record.name).into_owned();
            return Err(VolumeError::Name { name, used_by: Some(used_by) });
        }
    }
    Ok(())
}

struct Writer<'a> {
    layout: Layout,
    format: &'a Format,
    bytes: Vec<u8>,
}

impl Writer<'_> {
    /// Adds a block; what is neither header nor data stays erased.
    fn push(&mut self, header: &VidHeader, data: &[u8]) {
        let Layout { vid_offset, leb_start, peb_size, .. } = self.layout;
        let Format { ec, image_seq, .. } = *self.format;
        let first = EcHeader { ec, vid_offset, data_offset: leb_start, image_seq };
        let start = self.bytes.len();
        self.bytes.resize(start + to_usize(peb_size), 0xFF);
        let block = &mut self.bytes[start..];
        block[..ec::SIZE].copy_from_slice(&first.bytes());
        block[to_usize(vid_offset)..][..vid::SIZE].copy_from_slice(&header.bytes());
        block[to_usize(leb_start)..][..data.len()].copy_from_slice(data);
    }
}
