//! A card that maps whole blocks keeps a few units open: one stream more than that, and it thrashes.
//!
//! The experiment is flashbench's "open allocation units" test: writes of one size in turn to so
//! many units, each in order.
use crate::small::{blocks, geometry, part, timing};
use boardlab_block::{BlockDevice, Cause, Extent, Payload, Request};
use boardlab_ftl::{LogBlocks, LogPolicies, TimedMedium, Translation};
use boardlab_sd::{Card, Data};
use boardlab_sim::{Instant, Seed};

const UNIT: u64 = 4 << 20;
const WRITE: u64 = 256 << 10;

fn card(open_units: u32) -> Card<LogBlocks<TimedMedium>> {
    let geometry = geometry(24);
    let medium = TimedMedium::new(&geometry, &timing(0)).unwrap();
    let logs = LogPolicies::own(open_units);
    let layer = LogBlocks::new(geometry, logs, medium, Seed::new(1)).unwrap();
    Card::new(part(), layer, 2, Data::Lost).unwrap()
}

/// Writes of 256 KiB in turn to `streams` units, each in order and until it is full, on a card whose
/// every unit holds data. KiB a second, and how many writes were slow because of merges.
fn interleaved(card: &mut Card<LogBlocks<TimedMedium>>, streams: u64) -> (u64, u64) {
    let mut now = Instant::ZERO;
    let mut write = |now: Instant, first: u64, bytes: u64| {
        let extent = Extent::new(blocks(first), blocks(bytes));
        let request = Request::Write { extent, data: Payload::Repeated(1), durable: false };
        let done = card.submit(now, request).unwrap();
        (done.ended, u64::from(done.cause == Some(Cause::Merge)))
    };
    for unit in 0..16 {
        (now, _) = write(now, unit * UNIT, UNIT);
    }
    let (start, mut merges) = (now, 0);
    for step in 0..UNIT / WRITE {
        for stream in 0..streams {
            let (ended, merged) = write(now, stream * UNIT + step * WRITE, WRITE);
            (now, merges) = (ended, merges + merged);
        }
    }
    let bytes = streams * UNIT;
    ((bytes >> 10) * 1_000_000_000 / now.since(start).as_nanos(), merges)
}

#[test]
fn as_many_streams_as_units_may_be_open_run_at_full_speed_and_one_more_thrashes() {
    for open in [1, 2, 4] {
        let [one, full, over] = [1, u64::from(open), u64::from(open) + 1]
            .map(|streams| interleaved(&mut card(open), streams));
        assert!(full.0 * 10 > one.0 * 9, "{open} open: {one:?} alone, {full:?} together");
        assert!(over.0 * 4 < full.0, "{open} open: {full:?}, and {over:?} with one more");
        let writes = (u64::from(open) + 1) * (UNIT / WRITE);
        assert!(over.1 * 10 > writes * 9, "{open} open: {} of {writes} waited for a merge", over.1);
    }
}

#[test]
fn writes_in_order_are_copied_once_however_often_they_are_asked_for() {
    let mut card = card(2);
    interleaved(&mut card, 2);
    let counters = *card.translation().counters();
    assert_eq!(counters.programs[boardlab_ftl::Cause::Merge], 0, "{counters:?}");
}
