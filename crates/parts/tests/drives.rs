//! The built-in SATA drives: read, composed with a host, written and read.

use boardlab_block::Extent;
use boardlab_document::source::Kind;
use boardlab_document::{Document, Reading};
use boardlab_ftl::Translation;
use boardlab_parts::drive::board::{self, SataHost};
use boardlab_parts::drive::compose::{age, compose, wiring};
use boardlab_parts::drive::part::{self, DrivePart};
use boardlab_parts::{Failure, catalog};
use boardlab_sata::device::Data;
use boardlab_sata::host::{Build, Pattern};
use boardlab_sata::wire::identify::Identify;
use boardlab_sim::{Instant, Seed};

fn names() -> Vec<&'static str> {
    let drives = catalog::parts().iter().filter(|file| file.path.starts_with("parts/sata/"));
    drives.map(|file| file.name).collect()
}

fn read(name: &str) -> Reading<DrivePart> {
    let source = catalog::find(Kind::Part, name, None).unwrap();
    let read = Document::parse(&source).unwrap().read(part::read);
    read.unwrap_or_else(|error| panic!("{error}"))
}

fn host() -> SataHost {
    let source = catalog::find(Kind::Board, "ml505", None).unwrap();
    let read = Document::parse(&source).unwrap().read(board::read);
    read.unwrap_or_else(|error| panic!("{error}")).value
}

#[test]
fn every_drive_keeps_a_pattern_and_says_who_it_is() {
    assert_eq!(names().len(), 5);
    for name in names() {
        let part = read(name).value;
        let mut drive = compose(&part, host().port(), true, Seed::new(1)).unwrap();
        let words = drive.identify.emit_payload().unwrap();
        let identify = Identify::parse(&words).unwrap();
        assert_eq!(identify.sectors, part.drive.sectors, "{name}");
        assert_eq!(identify.model, part.identity.model, "{name}");
        let last = part.drive.sectors - 256;
        let pattern = Pattern::Increment.at(last);
        let extent = Extent::new(last, 256);
        drive.storage.write(Instant::ZERO, extent, Data::Counting(pattern)).unwrap();
        let ended = drive.storage.end_write(Instant::ZERO).unwrap();
        assert_eq!(drive.storage.counting(extent), Some(pattern), "{name}");
        let out = drive.storage.read(ended, extent).unwrap();
        assert!(out > ended, "{name}");
    }
}

#[test]
fn at_most_three_numbers_of_a_drive_and_one_of_the_host_are_fitted() {
    let fitted = |parameters: &[boardlab_result::Parameter]| {
        parameters.iter().filter(|one| one.origin == boardlab_result::Origin::Fitted).count()
    };
    for name in names() {
        let count = fitted(&read(name).parameters);
        let example = name.starts_with("generic");
        assert!(if example { count == 0 } else { (2..=3).contains(&count) }, "{name}: {count}");
    }
    let source = catalog::find(Kind::Board, "ml505", None).unwrap();
    let read = Document::parse(&source).unwrap().read(board::read).unwrap();
    assert_eq!(fitted(&read.parameters), 1);
}

#[test]
fn an_aged_drive_has_no_more_erased_blocks_than_its_reserve() {
    let part = read("intel-x25-e-32gb").value;
    let mut small = part.clone();
    small.drive.sectors = 2 << 20;
    let mut drive = compose(&small, host().port(), false, Seed::new(1)).unwrap();
    let aged = age(drive.storage.translation_mut(), &small).unwrap();
    let free = |drive: &boardlab_parts::drive::compose::DriveOnHost| {
        drive.storage.translation().occupancy().free_blocks
    };
    assert!(free(&drive) <= small.managed.policies.reserve + 1, "{}", free(&drive));
    let later = aged + boardlab_sim::Duration::from_secs(10);
    drive.storage.translation_mut().idle(aged, later);
    let policies = small.managed.policies;
    assert_eq!(free(&drive), policies.reserve + policies.idle_blocks);
}

#[test]
fn a_fifo_without_headroom_is_refused() {
    let part = read("transcend-ts32gssd25s-m").value;
    let mut host = host();
    assert_eq!(wiring(&part, host.port()).unwrap().speed, host.speed);
    let needed = 20 + host.end.latency + part.end.latency;
    host.end.hold_from = host.end.fifo - needed + 1;
    let left = needed - 1;
    assert_eq!(wiring(&part, host.port()), Err(Failure::Headroom { end: "host", left, needed }));
}

#[test]
fn builds_differ_in_what_a_command_costs_them() {
    let host = host();
    let costs = |build| host.settings(build, boardlab_sata::host::Limits::default()).costs;
    assert_eq!(costs(Build::Firmware).update_write, host.firmware.write);
    assert_eq!(costs(Build::Sequencer).update_read, host.sequencer.read);
}
