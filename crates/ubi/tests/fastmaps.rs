//! Attaching by a fastmap, and by a scan where the fastmap is damaged.

use boardlab_mtd::{Kind, Mtd, RamMtd, Stats};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::{FastmapMode, LebIndex, Lebs, NewVolume, Options, Ubi, Volume};

const PAGE: u64 = 2_048;
const BLOCK: u64 = 8 * PAGE;

fn options(fastmap: FastmapMode) -> Options {
    Options { fastmap, ..Options::default() }
}

/// A flash with data, detached with a fastmap.
fn detached() -> RamMtd {
    let mut clock = Clock::new();
    let flash = RamMtd::nand(400, 8, Bytes::new(PAGE), Bytes::new(64));
    let ubi = Ubi::attach(&mut clock, flash, &options(FastmapMode::Convert)).unwrap();
    let mut ubi = ubi;
    ubi.create_volume(&mut clock, &NewVolume::dynamic("data", Bytes::mib(3))).unwrap();
    let mut volume = ubi.into_volume(&mut clock, 0).unwrap();
    for leb in 0..60 {
        volume.change(&mut clock, LebIndex(leb), &page(leb)).unwrap();
        while volume.background(&mut clock).unwrap() {}
    }
    volume.ubi().check_tables().unwrap();
    volume.into_ubi().detach(&mut clock).unwrap()
}

fn page(leb: u32) -> [u8; 2_048] {
    [u8::try_from(leb % 200).unwrap(); 2_048]
}

/// Attaches; returns the volume and the reads that it took.
fn attach(flash: RamMtd, fastmap: FastmapMode) -> (Volume<Stats<RamMtd>>, u64) {
    let mut clock = Clock::new();
    let ubi = Ubi::attach(&mut clock, Stats::new(flash), &options(fastmap)).unwrap();
    ubi.check_tables().unwrap();
    let reads = ubi.device().of(Kind::Read).count();
    (ubi.into_volume(&mut clock, 0).unwrap(), reads)
}

fn verify<M: Mtd>(volume: &mut Volume<M>) {
    let mut clock = Clock::new();
    for leb in 0..60 {
        let mut found = [0; 2_048];
        volume.read(&mut clock, LebIndex(leb), 0, &mut found).unwrap();
        assert_eq!(found, page(leb), "LEB {leb}");
    }
}

/// The block that holds the beginning of the newest fastmap.
fn anchor(flash: &RamMtd) -> u64 {
    let image = flash.image();
    let starts = image.chunks(usize::try_from(BLOCK).unwrap());
    let is_anchor = |peb: &[u8]| peb[4_096..4_100] == [0x7B, 0x11, 0xD6, 0x9F];
    let anchors = (0..).zip(starts.take(64)).filter(|(_, peb)| is_anchor(peb));
    anchors.max_by_key(|(_, peb)| &peb[2_048 + 40..2_048 + 48]).unwrap().0
}

#[test]
fn a_fastmap_spares_the_scan() {
    let flash = detached();
    let (mut fast, by_map) = attach(flash.clone(), FastmapMode::Existing);
    let (mut slow, by_scan) = attach(flash.clone(), FastmapMode::Disabled);
    assert!(fast.ubi().was_attached_by_fastmap() && !slow.ubi().was_attached_by_fastmap());
    assert!(by_map < 250 && by_scan > 700, "{by_map} reads instead of {by_scan}");
    verify(&mut fast);
    verify(&mut slow);
    let (mut absent, _) = attach(flash, FastmapMode::Absent);
    assert!(!absent.ubi().was_attached_by_fastmap());
    verify(&mut absent);
}

#[test]
fn what_was_written_after_the_fastmap_is_found() {
    let mut clock = Clock::new();
    let (mut volume, _) = attach(detached(), FastmapMode::Convert);
    for leb in 0..60 {
        volume.change(&mut clock, LebIndex(leb), &page(leb + 60)).unwrap();
        volume.background(&mut clock).unwrap();
        let flash = volume.ubi().device().device().clone();
        let (mut again, _) = attach(flash, FastmapMode::Convert);
        assert!(again.ubi().was_attached_by_fastmap(), "{leb}");
        let mut found = [0; 2_048];
        again.read(&mut clock, LebIndex(leb), 0, &mut found).unwrap();
        assert_eq!(found, page(leb + 60));
    }
}

#[test]
fn a_leb_that_was_unmapped_and_erased_after_the_fastmap_is_empty() {
    let mut clock = Clock::new();
    let (mut volume, _) = attach(detached(), FastmapMode::Convert);
    volume.unmap(&mut clock, LebIndex(7)).unwrap();
    while volume.background(&mut clock).unwrap() {}
    let flash = volume.into_ubi().into_device().into_inner();
    let (mut again, _) = attach(flash, FastmapMode::Convert);
    assert!(again.ubi().was_attached_by_fastmap());
    // The fastmap still has the mapping; the first read finds the block empty.
    assert_eq!(again.is_mapped(LebIndex(7)), Ok(true));
    let mut found = [0; 2_048];
    again.read(&mut clock, LebIndex(7), 0, &mut found).unwrap();
    assert_eq!((found, again.is_mapped(LebIndex(7))), ([0xFF; 2_048], Ok(false)));
    again.ubi().check_tables().unwrap();
}

#[test]
fn a_damaged_fastmap_is_not_used() {
    let flash = detached();
    let start = anchor(&flash) * BLOCK + 2 * PAGE;
    for page_number in 0..3 {
        let mut damaged = flash.clone();
        let at = Bytes::new(start + page_number * PAGE);
        let mut bytes = vec![0; 2_048];
        damaged.read(&mut Clock::new(), at, &mut bytes).unwrap();
        // A program clears bits: the first that is set.
        let byte = bytes.iter_mut().rfind(|byte| **byte != 0).unwrap();
        *byte &= *byte - 1;
        damaged.program(&mut Clock::new(), at, &bytes).unwrap();
        let (mut volume, reads) = attach(damaged, FastmapMode::Convert);
        assert!(!volume.ubi().was_attached_by_fastmap() && reads > 700, "{page_number}");
        verify(&mut volume);
    }
}

#[test]
fn small_flashes_have_no_fastmap() {
    let mut clock = Clock::new();
    let flash = RamMtd::nand(64, 8, Bytes::new(PAGE), Bytes::new(64));
    let mut ubi = Ubi::attach(&mut clock, flash, &options(FastmapMode::Convert)).unwrap();
    ubi.create_volume(&mut clock, &NewVolume::dynamic("data", Bytes::kib(30))).unwrap();
    assert!(!ubi.has_fastmap());
    let flash = ubi.detach(&mut clock).unwrap();
    let ubi = Ubi::attach(&mut clock, flash, &options(FastmapMode::Convert)).unwrap();
    assert!(!ubi.was_attached_by_fastmap());
}
