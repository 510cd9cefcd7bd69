//! The flash of a UBI image, derived from the headers in it.
//!
//! Layer: rank 7. Main type: [`UbiFlash`]. The erase counter headers stand at the beginning of the
//! blocks and say where the volume header and the data of a block begin. With OOB bytes in the file
//! both are found with the right page and OOB size only; the volume table decides.

use super::HEADERS;
use crate::contents::Contents;
use crate::detection::Detection;
use crate::shape::{LAYOUTS, OOB_SIZES, PAGE_SIZE_MAX, Shape, gcd};
use boardlab_sim::Bytes;
use boardlab_ubi::format::ec::EcView;
use boardlab_ubi::format::vid::VidView;
use boardlab_ubi::format::vtbl::{self, Limits, Record};
use boardlab_ubi::format::{LAYOUT_VOLUME, ec, vid};
use std::collections::BTreeMap;

/// The blocks that are tried for each shape, and the volume headers that are enough. On a fresh flash
/// the first volumes lie in its middle.
const TRIED: usize = 1 << 14;
const ENOUGH: usize = 256;
/// The smallest page of NAND without OOB bytes in the file: with sub-pages of 256 bytes the headers are
/// where they would be with such pages.
const PLAIN_MIN: Bytes = Bytes::new(512);
/// The largest block that is looked for by its header.
const BLOCK_MAX: Bytes = Bytes::mib(16);
/// The blocks in which a header is looked for that is not at their beginning.
const SIDES: u64 = 64;
/// The pages of a block, as powers of two.
const PAGES_PER_BLOCK: std::ops::RangeInclusive<u32> = 3..=10;

/// The flash of a UBI image.
#[derive(Debug, Clone)]
pub(super) struct UbiFlash {
    pub(super) shape: Shape,
    /// The offset of the first block in the file.
    pub(super) at: Bytes,
    /// The first header.
    pub(super) first: Bytes,
    /// The offset of the volume header in a block, and that of the data.
    pub(super) vid_offset: u32,
    pub(super) data_offset: u32,
    /// How many erase counter headers and volume headers are right.
    pub(super) headers: usize,
    pub(super) volume_headers: usize,
    /// The volume table.
    pub(super) table: VolumeTable,
}

/// A volume table, as it is on the flash.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct VolumeTable {
    /// How many of its records are right, with those of no volume.
    pub(super) records: usize,
    /// The records of volumes, by the number of the volume.
    pub(super) volumes: BTreeMap<u32, Record>,
}

impl VolumeTable {
    /// The blocks that the volumes reserve.
    pub(super) fn reserved(&self) -> u32 {
        self.volumes.values().map(|record| record.reserved_lebs).fold(0, u32::saturating_add)
    }
}

/// The best volume table, and the right volume headers.
type Judgement = (VolumeTable, usize);

/// The headers of the same layout.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Headers {
    places: Vec<Bytes>,
    vid_offset: u32,
    data_offset: u32,
}

impl Headers {
    /// Those at `candidates` with right checksums, laid out as the first of them.
    pub(super) fn of(contents: &Contents, candidates: &[Bytes]) -> Option<Self> {
        let (mut places, mut layout) = (Vec::new(), None);
        for &at in candidates {
            let Some(found) = layout_at(contents, at) else { continue };
            if *layout.get_or_insert(found) == found {
                places.push(at);
            }
        }
        let (vid_offset, data_offset) = layout?;
        Some(Self { places, vid_offset, data_offset })
    }

    /// Those of a file of blocks that each begin with one or are erased, the first with one; and the
    /// distance of the blocks in the file.
    pub(super) fn throughout(contents: &Contents) -> Option<(Self, Bytes)> {
        let header = |at| layout_at(contents, at);
        let first = header(Bytes::ZERO)?;
        let starts = (1..=BLOCK_MAX / PLAIN_MIN).map(|number| PLAIN_MIN * number);
        let mut starts = starts.take_while(|at| *at < contents.length());
        let distance = starts.find(|at| header(*at).is_some())?;
        let blocks = contents.length() / distance;
        let at = |number| distance * number;
        if at(blocks) != contents.length() || blocks > HEADERS as u64 {
            return None;
        }
        // Where the second block is erased, that was a multiple of the distance.
        let is_multiple = |by: u64| {
            let shift = Bytes::new(distance.get() / by);
            (0..blocks.min(SIDES)).any(|number| header(at(number) + shift).is_some())
        };
        if [2, 3, 5, 7].into_iter().any(is_multiple) {
            return None;
        }
        let mut places = Vec::new();
        for at in (0..blocks).map(at) {
            if header(at) == Some(first) {
                places.push(at);
            } else if contents.window(at, ec::SIZE) != [0xFF; ec::SIZE] {
                return None;
            }
        }
        let (vid_offset, data_offset) = first;
        Some((Self { places, vid_offset, data_offset }, distance))
    }

    /// Possible distances of blocks: the commonest one, and what divides all.
    fn distances(&self) -> Vec<Bytes> {
        let mut counts: BTreeMap<Bytes, usize> = BTreeMap::new();
        let mut divisor = 0;
        for pair in self.places.windows(2) {
            *counts.entry(pair[1] - pair[0]).or_default() += 1;
            divisor = gcd(divisor, (pair[1] - pair[0]).get());
        }
        let commonest = counts
            .into_iter()
            .max_by_key(|&(distance, count)| (count, std::cmp::Reverse(distance)));
        let mut all: Vec<Bytes> = commonest.map(|(distance, _)| distance).into_iter().collect();
        all.push(Bytes::new(divisor));
        all.dedup();
        all.retain(|distance| !distance.is_zero());
        all
    }

    /// The shapes that fit the offsets in the headers and this distance of blocks.
    fn shapes(&self, distance: Bytes) -> Vec<Shape> {
        let (vid, data) = (u64::from(self.vid_offset), u64::from(self.data_offset));
        let mut shapes = Vec::new();
        if data < 256 {
            shapes.push(Shape::nor(distance));
        }
        let mut page = 256;
        while page <= PAGE_SIZE_MAX.get() {
            let one = data == page && vid < page;
            let two = data == 2 * page && vid >= page;
            if one || two {
                self.add_pages(Bytes::new(page), distance, &mut shapes);
            }
            page *= 2;
        }
        shapes.retain(|shape| shape.check().is_ok() && shape.raw_block() == distance);
        shapes
    }

    fn add_pages(&self, page: Bytes, distance: Bytes, shapes: &mut Vec<Shape>) {
        if page >= PLAIN_MIN {
            shapes.push(Shape::nand(page, Bytes::ZERO, distance));
        }
        let known = LAYOUTS.iter().filter(|layout| layout.0 == page.get());
        for &(_, oob) in known {
            let oob = Bytes::new(oob);
            shapes.push(Shape::nand(page, oob, page * (distance / (page + oob))));
        }
        let [fewest, most] = OOB_SIZES;
        for count in PAGES_PER_BLOCK.map(|shift| 1_u64 << shift) {
            let raw = Bytes::new(distance.get() / count);
            if raw >= page + fewest && raw <= page + most {
                shapes.push(Shape::nand(page, raw - page, page * count));
            }
        }
    }

    /// The right volume headers with this shape, and the right records of the best volume table.
    fn judge(&self, contents: &Contents, shape: Shape) -> Judgement {
        let (mut headers, mut best) = (0, VolumeTable::default());
        let leb_size = u32::try_from(shape.block.get()).unwrap_or(u32::MAX);
        let Some(leb_size) = leb_size.checked_sub(self.data_offset) else { return (best, 0) };
        for &start in self.places.iter().take(TRIED) {
            let at = start + shape.in_file(Bytes::new(u64::from(self.vid_offset)));
            let bytes = contents.window(at, vid::SIZE);
            let parsed = VidView::new(&bytes).and_then(|view| view.parse(leb_size));
            let Ok(header) = parsed else { continue };
            headers += 1;
            if header.volume == LAYOUT_VOLUME {
                let found = self.table(contents, shape, (start, leb_size));
                let rank = |table: &VolumeTable| (table.records, table.reserved());
                if rank(&found) > rank(&best) {
                    best = found;
                }
            }
            if headers >= ENOUGH && best.records > 0 {
                break;
            }
        }
        (best, headers)
    }

    /// The volume table in a block, as far as it is right.
    fn table(&self, contents: &Contents, shape: Shape, (start, size): (Bytes, u32)) -> VolumeTable {
        let limits = Limits { leb_size: size, min_io: 1, good_pebs: u32::MAX };
        let mut table = VolumeTable::default();
        for number in 0..vtbl::slots(size) {
            let offset = u64::from(self.data_offset) + u64::from(number) * vtbl::SIZE as u64;
            let bytes = record(contents, shape, start, Bytes::new(offset));
            let Ok(record) = Record::parse(&bytes, limits) else { continue };
            table.records += 1;
            table.volumes.extend(record.map(|record| (number, record)));
        }
        table
    }
}

/// Where the header at `at` says that the volume header and the data of its block begin, if it is right.
fn layout_at(contents: &Contents, at: Bytes) -> Option<(u32, u32)> {
    let bytes = contents.window(at, ec::SIZE);
    let header = EcView::new(&bytes).and_then(|view| view.parse()).ok()?;
    Some((header.vid_offset, header.data_offset))
}

/// The bytes of a record of the volume table, which may lie in two pages.
fn record(contents: &Contents, shape: Shape, start: Bytes, offset: Bytes) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(vtbl::SIZE);
    while bytes.len() < vtbl::SIZE {
        let next = offset + Bytes::of(&bytes);
        let missing = Bytes::new((vtbl::SIZE - bytes.len()) as u64);
        let in_page = shape.page * (next / shape.page + 1) - next;
        let length = if shape.is_nand() { missing.min(in_page) } else { missing };
        let piece = contents.window(start + shape.in_file(next), length.to_usize());
        if piece.is_empty() {
            break;
        }
        bytes.extend(piece);
    }
    bytes
}

impl UbiFlash {
    /// Bytes of a LEB.
    pub(super) fn leb_size(&self) -> u32 {
        let block = u32::try_from(self.shape.block.get()).unwrap_or(u32::MAX);
        block.saturating_sub(self.data_offset)
    }

    /// The flash whose blocks begin with `headers`; `other` is what else is in the file.
    pub(super) fn of(contents: &Contents, headers: Headers, other: &[Detection]) -> Option<Self> {
        let mut best: Option<(Judgement, Shape)> = None;
        let known = contents.code().map(|code| (code.map.page, code.map.oob));
        let is_possible = |shape: &Shape| {
            known.is_none_or(|known| known == (shape.page.to_usize(), shape.oob.to_usize()))
        };
        for distance in headers.distances() {
            for shape in headers.shapes(distance).into_iter().filter(is_possible) {
                let found = headers.judge(contents, shape);
                // Without a volume table, other pages may have the headers at the same places.
                let rank = |(table, headers): &Judgement, shape: Shape| {
                    (table.records, *headers, shape.block.get().is_power_of_two())
                };
                let is_better = best
                    .as_ref()
                    .is_none_or(|(most, other)| rank(&found, shape) > rank(most, *other));
                if is_better {
                    best = Some((found, shape));
                }
            }
        }
        let ((table, volume_headers), shape) = best.filter(|(found, _)| found.1 > 0)?;
        let first = headers.places[0];
        // Erased and bad blocks before it belong to it; other content does not.
        let behind = other.iter().any(|one| one.at < first && one.shape != Some(shape));
        let within = Bytes::new(first.get() % shape.raw_block().get());
        let at = if behind { first } else { within };
        let Headers { vid_offset, data_offset, places } = headers;
        let headers = places.len();
        Some(Self { shape, at, first, vid_offset, data_offset, headers, volume_headers, table })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_ubi::format::ec::EcHeader;

    /// Blocks of 16 KiB, of which those of `erased` have no header.
    fn blocks(count: usize, erased: &[usize]) -> Contents {
        let header = EcHeader { ec: 1, vid_offset: 512, data_offset: 1_024, image_seq: 7 }.bytes();
        let block = |number| {
            let head = if erased.contains(&number) { [0xFF; ec::SIZE] } else { header };
            [&head[..], &[0xFF; 16_384 - ec::SIZE]].concat()
        };
        Contents::of((0..count).flat_map(block).collect())
    }

    #[test]
    fn erased_blocks_hide_no_distance() {
        let found = |erased: &[usize]| Headers::throughout(&blocks(30, erased));
        let (headers, distance) = found(&[3, 29]).unwrap();
        assert_eq!((headers.places.len(), distance), (28, Bytes::kib(16)));
        for erased in [&[0][..], &[1], &[1, 2], &[1, 2, 3, 4]] {
            assert_eq!(found(erased), None, "{erased:?}");
        }
        let more = [&blocks(30, &[]).window(Bytes::ZERO, 30 << 14)[..], &[0xFF; 512]].concat();
        assert_eq!(Headers::throughout(&Contents::of(more)), None);
    }
}
