//! New blocks of UBI.

use crate::pieces::{below, small};
use crate::untrusted::pieces::{DATA_SUM, Input, Kind, NEW_PAGE, Piece};
use crate::untrusted::ubi::Shape;
use boardlab_sim::Stream;
use boardlab_ubi::format::vid::Extent;
use boardlab_ubi::format::vtbl::AUTORESIZE;
use boardlab_ubi::format::{
    Compat, EcHeader, FASTMAP_ANCHOR, FASTMAP_DATA, LAYOUT_VOLUME, Payload, Record, VidHeader,
    VolumeKind,
};

/// A block with a header or two and perhaps data, or a bad block.
pub fn template(input: &Input, random: &mut Stream) -> Vec<Piece> {
    let shape = Shape::of(input.shape);
    let block = small(random, shape.pieces().count);
    if random.chance(1, 12) {
        return vec![Piece::new(block, Kind::BadBlock, 0, Vec::new())];
    }
    let vid_offset = shape.sub_page.max(64);
    let data_offset = (vid_offset + shape.sub_page.max(64)).next_multiple_of(shape.page.max(64));
    let ec = EcHeader { ec: u32::from(small(random, 9)), vid_offset, data_offset, image_seq: 0 };
    let mut pieces = vec![Piece::new(block, Kind::Header, 0, ec.bytes().to_vec())];
    if random.chance(1, 6) {
        return pieces;
    }
    let header = header(random);
    let sum = if header.payload == Payload::Dynamic { 0 } else { DATA_SUM };
    pieces.push(Piece::new(block, Kind::Header, sum, header.bytes().to_vec()));
    let (kind, data) = if header.volume == LAYOUT_VOLUME {
        (Kind::Table, table(random))
    } else {
        (Kind::Raw, vec![random.below(256).to_le_bytes()[0]; below(random, 40)])
    };
    pieces.push(Piece::new(block, kind, NEW_PAGE, data));
    pieces
}

fn header(random: &mut Stream) -> VidHeader {
    let volumes = [0, 0, 1, 1, 2, 3, LAYOUT_VOLUME, LAYOUT_VOLUME, FASTMAP_ANCHOR, FASTMAP_DATA];
    let volume = volumes[below(random, volumes.len())];
    let compat = match volume {
        LAYOUT_VOLUME => Compat::Reject,
        FASTMAP_ANCHOR | FASTMAP_DATA => Compat::Delete,
        _ => Compat::None,
    };
    let data = Extent { size: 1 + u32::from(small(random, 90)), crc: 0 };
    let used_lebs = 1 + u32::from(small(random, 3));
    let payload = match random.below(4) {
        0 => Payload::Copied(data),
        1 if compat == Compat::None => Payload::Static { data, used_lebs, copy: false },
        _ => Payload::Dynamic,
    };
    let leb = u32::from(small(random, 3));
    VidHeader { volume, leb, compat, data_pad: 0, payload, sqnum: random.below(40) }
}

fn table(random: &mut Stream) -> Vec<u8> {
    let record = |random: &mut Stream, id: u8| Record {
        reserved_lebs: 1 + u32::from(small(random, 4)),
        alignment: 1,
        data_pad: 0,
        kind: if random.chance(1, 2) { VolumeKind::Dynamic } else { VolumeKind::Static },
        updating: random.chance(1, 8),
        name: vec![b'a' + id],
        flags: if random.chance(1, 8) { AUTORESIZE } else { 0 },
    };
    (0..small(random, 4)).flat_map(|id| record(random, id).bytes()).collect()
}
