//! Images that no UBI wrote: every error is a value, nothing panics.

use crate::devices::SubPages;
use boardlab_mtd::{BlockIndex, Mtd, RamMtd};
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_ubi::format::fastmap::{Fastmap, SuperBlock};
use boardlab_ubi::format::{Compat, EcHeader, Payload, VidHeader};
use boardlab_ubi::{
    AttachError, FastmapMode, LebIndex, Lebs, NewVolume, Options, Ubi, VolumeError,
};

const BLOCK: usize = 4 * 512;
const PEBS: u32 = 20;

fn flash(image: &[u8]) -> RamMtd {
    let mut flash = RamMtd::nand(PEBS, 4, Bytes::new(512), Bytes::new(16));
    flash.program(&mut Clock::new(), Bytes::ZERO, image).unwrap();
    flash
}

fn attach(image: &[u8]) -> Result<Ubi<RamMtd>, AttachError> {
    Ubi::attach(&mut Clock::new(), flash(image), &Options::default())
}

/// An image with a dynamic and a static volume.
fn good() -> Vec<u8> {
    let mut clock = Clock::new();
    let mut ubi = attach(&[0xFF; BLOCK * 20]).unwrap();
    ubi.create_volume(&mut clock, &NewVolume::dynamic("d", Bytes::new(3_000))).unwrap();
    ubi.create_volume(&mut clock, &NewVolume::fixed("s", Bytes::new(3_000))).unwrap();
    ubi.update_volume(&mut clock, 0, &[1; 1_500]).unwrap();
    ubi.update_volume(&mut clock, 1, &[2; 2_500]).unwrap();
    while ubi.background(&mut clock).unwrap() {}
    ubi.into_device().image()
}

/// Attaches, does all work, reads all volumes.
fn exercise(image: &[u8]) {
    let Ok(mut ubi) = attach(image) else { return };
    let mut clock = Clock::new();
    ubi.check_tables().unwrap();
    while ubi.background(&mut clock).unwrap() {}
    for info in ubi.volumes() {
        let Ok(mut volume) = ubi.volume(&mut clock, info.id) else { continue };
        for leb in 0..info.reserved_lebs.min(64) {
            let _ = volume.read(&mut clock, LebIndex(leb), 0, &mut [0; 16]);
            let _ = volume.change(&mut clock, LebIndex(leb), &[3; 512]);
        }
    }
    ubi.check_tables().unwrap();
}

#[test]
fn every_changed_byte_of_headers_and_tables_is_survived() {
    let image = good();
    // Both headers of each block, and the first records of a volume table.
    let in_header = |at: usize| at % BLOCK < 1_024 && at % 512 < 65;
    let in_table = |at: usize| (1_024..1_024 + 2 * 172).contains(&(at % BLOCK));
    let shown = |&at: &usize| image[at] != 0xFF && (in_header(at) || in_table(at));
    for at in (0..image.len()).filter(shown) {
        let mut image = image.clone();
        image[at] ^= if at % 2 == 0 { 0x01 } else { 0x80 };
        exercise(&image);
    }
}

/// Puts headers with right checksums over those of the image.
fn forged(image: &[u8], peb: usize, header: &VidHeader) -> Vec<u8> {
    let mut image = image.to_vec();
    let ec = EcHeader { ec: 1, vid_offset: 512, data_offset: 1_024, image_seq: 0 };
    image[peb * BLOCK..][..64].copy_from_slice(&ec.bytes());
    image[peb * BLOCK + 512..][..64].copy_from_slice(&header.bytes());
    image
}

fn header() -> VidHeader {
    let payload = Payload::Dynamic;
    VidHeader { volume: 0, leb: 0, compat: Compat::None, data_pad: 0, payload, sqnum: 1 << 60 }
}

#[test]
fn forged_headers_are_refused_or_dropped() {
    let image = good();
    let refused = |header: VidHeader| attach(&forged(&image, 19, &header)).err();
    let layout = VidHeader { volume: 0x7FFF_EFFF, compat: Compat::Reject, ..header() };
    let third = refused(VidHeader { leb: 2, ..layout });
    assert_eq!(third, Some(AttachError::LayoutLeb { leb: 2 }));
    let beyond = refused(VidHeader { leb: 77, ..header() });
    assert!(matches!(beyond, Some(AttachError::Inconsistent { volume: 0, .. })), "{beyond:?}");
    let last = refused(VidHeader { sqnum: u64::MAX, ..header() });
    assert!(matches!(last, Some(AttachError::Header { .. })), "{last:?}");
    let unknown = |compat| VidHeader { volume: 0x7FFF_F300, compat, ..header() };
    let rejected = refused(unknown(Compat::Reject));
    assert!(matches!(rejected, Some(AttachError::Rejected { volume: 0x7FFF_F300, .. })));
    assert_eq!(refused(unknown(Compat::Delete)), None);
    assert_eq!(refused(unknown(Compat::Preserve)), None);
    let read_only = attach(&forged(&image, 19, &unknown(Compat::ReadOnly))).unwrap();
    assert!(read_only.is_read_only());
    // A volume that the table does not have is removed.
    let fourth = VidHeader { volume: 4, ..header() };
    let mut removed = attach(&forged(&image, 19, &fourth)).unwrap();
    assert_eq!(removed.counts().works, 1);
    removed.background(&mut Clock::new()).unwrap();
    removed.check_tables().unwrap();
}

/// A flash with a fastmap, the block of the fastmap, and what it says.
fn with_fastmap() -> (RamMtd, u64, SuperBlock, Fastmap) {
    let mut clock = Clock::new();
    let flash = RamMtd::nand(80, 8, Bytes::new(2_048), Bytes::new(16));
    let mut ubi = Ubi::attach(&mut clock, flash, &with_maps()).unwrap();
    ubi.create_volume(&mut clock, &NewVolume::dynamic("d", Bytes::kib(30))).unwrap();
    ubi.update_volume(&mut clock, 0, &[1; 20_000]).unwrap();
    while ubi.background(&mut clock).unwrap() {}
    let flash = ubi.detach(&mut clock).unwrap();
    let image = flash.image();
    let blocks = (0..).zip(image.chunks(8 * 2_048)).take(64);
    let starts = blocks.filter(|(_, peb)| peb[4_096..4_100] == [0x7B, 0x11, 0xD6, 0x9F]);
    let (peb, block) = starts.max_by_key(|(_, peb)| &peb[2_088..2_096]).unwrap();
    let (first, map) = Fastmap::parse(&block[4_096..]).unwrap();
    (flash, peb, first, map)
}

fn with_maps() -> Options {
    Options { fastmap: FastmapMode::Convert, ..Options::default() }
}

/// Attaches with a forged fastmap, does all work; returns whether the fastmap was accepted.
fn accepts(change: impl FnOnce(&mut Fastmap)) -> bool {
    let (mut flash, peb, first, mut map) = with_fastmap();
    let mut clock = Clock::new();
    change(&mut map);
    let bytes = map.bytes(&first.blocks, 6 * 2_048);
    let start = peb * 8 * 2_048;
    let mut headers = vec![0; 4_096];
    flash.read(&mut clock, Bytes::new(start), &mut headers).unwrap();
    flash.erase(&mut clock, BlockIndex(u32::try_from(peb).unwrap())).unwrap();
    flash.program(&mut clock, Bytes::new(start), &[headers, bytes].concat()).unwrap();
    let Ok(mut ubi) = Ubi::attach(&mut clock, flash, &with_maps()) else { return false };
    while ubi.background(&mut clock).unwrap() {}
    ubi.check_tables().unwrap();
    if let Ok(mut volume) = ubi.volume(&mut clock, 0) {
        for leb in 0..2 {
            let _ = volume.read(&mut clock, LebIndex(leb), 0, &mut [0; 16]);
            let _ = volume.change(&mut clock, LebIndex(leb), &[3; 2_048]);
        }
    }
    ubi.check_tables().unwrap();
    ubi.was_attached_by_fastmap()
}

#[test]
fn forged_fastmaps_are_refused() {
    assert!(accepts(|_| {}));
    assert!(!accepts(|map| map.free[0].peb = 80));
    assert!(!accepts(|map| map.free[0].peb = u32::MAX));
    assert!(!accepts(|map| map.free[0] = map.free[1]));
    assert!(!accepts(|map| map.used[0] = map.free[1]));
    assert!(!accepts(|map| map.pool.pebs[0] = map.free[0].peb));
    assert!(!accepts(|map| map.pool.pebs[0] = 1_000));
    assert!(!accepts(|map| map.wl_pool.pebs.clear()));
    assert!(!accepts(|map| map.bad_count = 1));
    assert!(!accepts(|map| map.bad_count = u32::MAX));
    assert!(!accepts(|map| map.volumes[0].mapping[0] = Some(79)));
    assert!(!accepts(|map| map.volumes[0].mapping[1] = map.volumes[0].mapping[0]));
    assert!(!accepts(|map| map.volumes[1].id = map.volumes[0].id));
    assert!(!accepts(|map| map.volumes[0].data_pad = 4_000));
    // Lies that nothing contradicts: Linux has no slot for volume 100, and leaves its blocks alone.
    assert!(accepts(|map| map.volumes[0].id = 100));
    assert!(accepts(|map| map.free[0].ec = 0x7FFF_FFFF));
    assert!(accepts(|map| map.free[0].ec = u32::MAX));
}

#[test]
fn blocks_of_two_images_are_refused() {
    let mut image = good();
    let ec = EcHeader { ec: 1, vid_offset: 512, data_offset: 1_024, image_seq: 99 };
    image[19 * BLOCK..][..64].copy_from_slice(&ec.bytes());
    let refused = attach(&image).unwrap_err();
    assert!(matches!(refused, AttachError::ImageSeq { found: 99, .. }), "{refused}");
}

#[test]
fn other_data_are_no_ubi() {
    let mut image = vec![0; BLOCK * 20];
    Seed::new(4).stream("noise").fill(&mut image);
    // Without ECC errors nothing tells the blocks from such whose erase was interrupted.
    assert_eq!(attach(&image).unwrap_err(), AttachError::NoTable);
    for zeros in [0, 0x55] {
        assert_eq!(attach(&vec![zeros; BLOCK * 20]).unwrap_err(), AttachError::NoTable);
    }
}

#[test]
fn an_image_for_another_layout_is_refused() {
    let options = Options { sub_page: Some(256), ..Options::default() };
    let mut flash = SubPages::new(PEBS, 4, 512, 256);
    flash.program(&mut Clock::new(), Bytes::ZERO, &good()).unwrap();
    let refused = Ubi::attach(&mut Clock::new(), flash, &options).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("the offset of the VID header is 512"), "{text}");
}

#[test]
fn a_volume_that_does_not_exist_is_not_opened() {
    let ubi = attach(&good()).unwrap();
    let none = ubi.into_volume(&mut Clock::new(), 7).unwrap_err();
    assert_eq!(none, VolumeError::NoSuchVolume { id: 7 });
}
