//! The built-in cards and the board of the card experiments: each is read, and what is built from it does
//! what its figures say.

#![allow(clippy::unwrap_used, reason = "the helpers of a test panic like the test")]

use boardlab_block::{BlockDevice, Extent, Payload, Request};
use boardlab_ftl::Translation;
use boardlab_lab::card::board::Host;
use boardlab_lab::card::compose::{Layer, compose};
use boardlab_lab::card::part::CardPart;
use boardlab_lab::card::{board, part};
use boardlab_lab::catalog;
use boardlab_lab::document::{Document, Reading};
use boardlab_lab::source::Kind;
use boardlab_sd::{Card, Data, Mode};
use boardlab_sim::{Bytes, Instant, Seed};

fn document(kind: Kind, name: &str) -> Document {
    let source = catalog::find(kind, name, None).unwrap_or_else(|error| panic!("{error}"));
    Document::parse(&source).unwrap_or_else(|error| panic!("{error}"))
}

fn read(name: &str) -> Reading<CardPart> {
    document(Kind::Part, name).read(part::read).unwrap_or_else(|error| panic!("{error}"))
}

fn host() -> Host {
    let read = document(Kind::Board, "raspberry-pi-4").read(board::read);
    read.unwrap_or_else(|error| panic!("{error}")).value
}

fn names() -> impl Iterator<Item = &'static str> {
    let cards = catalog::parts().iter().filter(|file| file.path.starts_with("parts/sd/"));
    cards.map(|file| file.name)
}

fn card(part: &CardPart) -> Card<Layer> {
    compose(part, &host(), Data::Lost, Seed::new(1)).unwrap_or_else(|error| panic!("{error}"))
}

/// MiB a second, in hundredths, of `mebibytes` written in order in requests of 1 MiB.
fn sequential(card: &mut Card<Layer>, mebibytes: u64) -> u64 {
    let mut now = Instant::ZERO;
    for request in 0..mebibytes {
        let extent = Extent::new(request * 2_048, 2_048);
        let write = Request::Write { extent, data: Payload::Repeated(0), durable: false };
        now = card.submit(now, write).unwrap().ended;
    }
    mebibytes * 100_000_000_000 / now.as_nanos()
}

#[test]
fn every_figure_of_a_card_names_its_source() {
    for name in names() {
        for parameter in read(name).parameters {
            let source = parameter.source.trim();
            assert!(source.len() >= 4, "{name}: {}: {source:?}", parameter.key);
        }
    }
}

#[test]
fn every_card_can_be_built_and_written_in_the_slot_of_the_evaluation() {
    for name in names() {
        let part = read(name).value;
        let mut card = card(&part);
        let rate = sequential(&mut card, 64);
        assert!(rate > 0, "{name}");
        assert_eq!(card.translation().counters().written * part.page.get(), 64 << 20, "{name}");
    }
}

#[test]
fn the_card_of_the_evaluation_has_the_published_size_in_whole_units() {
    let part = read("kioxia-16gb").value;
    assert_eq!(part.face.capacity, Bytes::mib(14_744));
    let geometry = part.geometry().unwrap();
    assert_eq!(geometry.page() * u64::from(geometry.pages_per_block()), Bytes::mib(12));
    // 14.4 GiB are 1,229 blocks of 12 MiB; 7 % of all blocks are spare.
    assert_eq!(geometry.blocks(), 1_322);
}

#[test]
fn the_card_of_the_evaluation_runs_in_ddr50_and_writes_as_fast_as_published() {
    let mut card = card(&read("kioxia-16gb").value);
    assert_eq!(card.bus().mode(), Mode::Ddr50);
    let rate = sequential(&mut card, 512);
    // 18.2 MiB/s within 5 %.
    assert!((1_729..=1_911).contains(&rate), "{rate} hundredths of a MiB/s");
}
