//! On a NAND chip with sub-pages, ECC and the physics of power cuts.

use crate::part::part;
use boardlab_mtd::TearOutcome;
use boardlab_nand::chip::{Die, Setup};
use boardlab_nand::{Nand, Port, PortTiming, Profile};
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_ubi::{Error, LebIndex, Lebs, NewVolume, Options, Ubi, Volume};
use std::sync::Arc;

const LEBS: u32 = 5;

fn nand(clock: &mut Clock, seed: u64) -> Nand {
    let part = Arc::new(part(20, 4));
    let profile = Profile::linux_6_1(&part).unwrap();
    let die = Die::new(part, &Setup::perfect(Seed::new(seed))).unwrap();
    let port = Port::new(die, PortTiming::default()).unwrap();
    Nand::attach(port, profile, clock).unwrap()
}

fn attach(clock: &mut Clock, nand: Nand) -> Ubi<Nand> {
    let sub_page = u32::try_from(nand.subpage().get()).unwrap();
    let options = Options { sub_page: Some(sub_page), wl_threshold: 3, ..Options::default() };
    let ubi = Ubi::attach(clock, nand, &options).unwrap();
    ubi.check_tables().unwrap();
    ubi
}

fn content(value: u8) -> Vec<u8> {
    vec![value; 2_048]
}

/// A volume whose LEBs all hold zeros.
fn prepared() -> Nand {
    let mut clock = Clock::new();
    let nand = nand(&mut clock, 1);
    assert_eq!(nand.subpage(), Bytes::new(512));
    let mut ubi = attach(&mut clock, nand);
    assert_eq!((ubi.layout().leb_start, ubi.layout().leb_size), (2_048, 3 * 2_048));
    let size = Bytes::new(u64::from(LEBS * ubi.layout().leb_size));
    ubi.create_volume(&mut clock, &NewVolume::dynamic("data", size)).unwrap();
    let mut volume = ubi.into_volume(&mut clock, 0).unwrap();
    for leb in 0..LEBS {
        volume.change(&mut clock, LebIndex(leb), &content(0)).unwrap();
    }
    while volume.background(&mut clock).unwrap() {}
    volume.into_ubi().into_device()
}

/// Changes LEBs until the power is cut. Returns what each LEB holds, and the change in progress.
fn work(volume: &mut Volume<Nand>, clock: &mut Clock) -> (Vec<u8>, Option<(usize, u8)>, bool) {
    let mut known = vec![0; usize::try_from(LEBS).unwrap()];
    for round in 1..25_u8 {
        let leb = usize::from(round % 2);
        let index = LebIndex(u32::from(round % 2));
        match volume.change(clock, index, &content(round)) {
            Ok(()) => known[leb] = round,
            Err(Error::Flash(_)) => return (known, Some((leb, round)), true),
            Err(other) => panic!("{other}"),
        }
        match volume.background(clock) {
            Ok(_) => {}
            Err(Error::Flash(_)) => return (known, None, true),
            Err(other) => panic!("{other}"),
        }
    }
    (known, None, false)
}

fn verify(
    volume: &mut Volume<Nand>,
    clock: &mut Clock,
    known: &[u8],
    changing: Option<(usize, u8)>,
) {
    for (leb, &value) in known.iter().enumerate() {
        let mut found = content(0xEE);
        let index = LebIndex(u32::try_from(leb).unwrap());
        volume.read(clock, index, 0, &mut found).unwrap();
        let new = changing.filter(|&(at, _)| at == leb).map(|(_, value)| content(value));
        assert!(found == content(value) || Some(&found) == new.as_ref(), "LEB {leb}");
    }
}

#[test]
fn every_leb_is_old_or_new_after_a_cut_in_the_chip() {
    let flash = prepared();
    let mut cuts = 0;
    for torn in [TearOutcome::Partial, TearOutcome::Weak, TearOutcome::Finished] {
        for number in 0.. {
            let mut clock = Clock::new();
            let ubi = attach(&mut clock, flash.clone());
            let mut volume = ubi.into_volume(&mut clock, 0).unwrap();
            let port = &mut volume.ubi_mut().device_mut().port;
            port.cut_at_operation(port.operations() + number, torn);
            let (known, changing, cut) = work(&mut volume, &mut clock);
            if !cut {
                break;
            }
            cuts += 1;
            let mut nand = volume.into_ubi().into_device();
            nand.power_on(&mut clock).unwrap();
            let mut volume = attach(&mut clock, nand).into_volume(&mut clock, 0).unwrap();
            verify(&mut volume, &mut clock, &known, changing);
            while volume.background(&mut clock).unwrap() {}
            volume.ubi().check_tables().unwrap();
            verify(&mut volume, &mut clock, &known, changing);
            let nand = volume.into_ubi().into_device();
            let mut volume = attach(&mut clock, nand).into_volume(&mut clock, 0).unwrap();
            verify(&mut volume, &mut clock, &known, changing);
        }
    }
    assert!(cuts > 200, "{cuts}");
}

#[test]
fn an_attach_takes_two_reads_a_block() {
    let mut clock = Clock::new();
    let flash = prepared();
    let before = flash.counts().page_reads;
    let ubi = attach(&mut clock, flash);
    // And three pages for each copy of the volume table.
    assert_eq!(ubi.device().counts().page_reads - before, 20 * 2 + 2 * 3);
}
