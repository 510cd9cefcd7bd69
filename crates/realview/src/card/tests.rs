//! The card's states, by commands.

use super::*;
use boardlab_sim::Bytes;

const NOW: Instant = Instant::ZERO;
const HERE: u32 = 0x4567_0000;

fn card(size: Bytes) -> Card {
    Card::new(Medium::empty(size).unwrap(), false).unwrap()
}

fn short(card: &mut Card, index: u8, argument: u32) -> u32 {
    match card.command(index, argument, NOW) {
        Response::Short(value) | Response::Unchecked(value) => value,
        other => panic!("command {index}: {other:?}"),
    }
}

fn state(card: &mut Card) -> u32 {
    short(card, 13, HERE) >> 9 & 15
}

fn selected(size: Bytes) -> Card {
    let mut card = card(size);
    card.command(0, 0, NOW);
    short(&mut card, 8, 0x1AA);
    short(&mut card, 55, 0);
    short(&mut card, 41, 0x40FF_8000);
    assert!(matches!(card.command(2, 0, NOW), Response::Long(_)));
    assert_eq!(short(&mut card, 3, 0) >> 16, 0x4567);
    assert!(matches!(card.command(9, HERE, NOW), Response::Long(_)));
    short(&mut card, 7, HERE);
    card
}

#[test]
fn a_large_card_is_never_ready_for_a_host_that_does_not_know_such_cards() {
    let mut card = card(Bytes::mib(4096));
    for _ in 0..3 {
        short(&mut card, 55, 0);
        assert_eq!(short(&mut card, 41, 0x00FF_8000) >> 31, 0);
    }
    short(&mut card, 55, 0);
    assert_eq!(short(&mut card, 41, 0x40FF_8000) >> 30, 3);
}

#[test]
fn a_small_card_does_not_claim_high_capacity() {
    let mut card = card(Bytes::mib(64));
    short(&mut card, 55, 0);
    assert_eq!(short(&mut card, 41, 0x40FF_8000) >> 30, 2);
}

#[test]
fn small_cards_are_addressed_by_byte_and_large_ones_by_block() {
    for (size, argument) in [(Bytes::mib(64), 512 * 9), (Bytes::mib(4096), 9)] {
        let mut card = selected(size);
        short(&mut card, 24, argument);
        card.receive_bytes(&[0x5A; BLOCK], true, NOW);
        let mut found = [0; BLOCK];
        card.medium().unwrap().contents(9, &mut found).unwrap();
        assert_eq!(found, [0x5A; BLOCK]);
    }
}

#[test]
fn a_deselected_card_answers_to_its_address_alone() {
    let mut card = selected(Bytes::mib(64));
    assert_eq!(card.command(7, 0, NOW), Response::None);
    assert_eq!(card.command(13, 0x1234_0000, NOW), Response::None);
    assert_eq!(state(&mut card), 3);
    assert_eq!(card.command(17, 0, NOW), Response::None);
    assert_eq!(short(&mut card, 13, HERE) & status::ILLEGAL_COMMAND, status::ILLEGAL_COMMAND);
    short(&mut card, 7, HERE);
    assert_eq!(state(&mut card), 4);
}

#[test]
fn an_application_command_needs_its_announcement() {
    let mut card = selected(Bytes::mib(64));
    assert_eq!(card.command(41, 0, NOW), Response::None);
    assert_eq!(card.command(51, 0, NOW), Response::None);
    assert_ne!(short(&mut card, 55, HERE) & status::APPLICATION, 0);
    short(&mut card, 51, 0);
    assert_eq!(card.poll_send(8, NOW), Progress::Ready);
    assert_eq!(card.send_bytes(4), ([2, 5, 0, 0], 4));
}

#[test]
fn addresses_beyond_the_end_and_across_blocks_are_told() {
    let mut card = selected(Bytes::mib(64));
    let ready = 4 << 9 | status::READY_FOR_DATA;
    assert_eq!(short(&mut card, 17, 64 << 20), status::OUT_OF_RANGE | ready);
    assert_eq!(short(&mut card, 17, 100), status::ADDRESS_ERROR | ready);
    assert_eq!(short(&mut card, 13, HERE), ready, "each is told once");
    short(&mut card, 16, 12);
    short(&mut card, 17, 500);
    assert_eq!(state(&mut card), 5, "twelve bytes up to the end of the block");
}

#[test]
fn a_protected_card_is_not_written() {
    let mut card = Card::new(Medium::empty(Bytes::mib(64)).unwrap(), true).unwrap();
    card.state = State::Transfer;
    assert_ne!(short(&mut card, 24, 0) & status::PROTECTED, 0);
    assert_eq!(card.poll_receive(NOW), Progress::Waiting);
}

#[test]
fn a_part_of_a_block_is_read() {
    let contents: Vec<u8> = (0..1_u32 << 16).map(|at| at.to_le_bytes()[0]).collect();
    let mut card = Card::new(Medium::image(&contents).unwrap(), false).unwrap();
    card.state = State::Transfer;
    short(&mut card, 16, 6);
    short(&mut card, 17, 1000);
    assert_eq!(card.poll_send(6, NOW), Progress::Ready);
    assert_eq!(card.send_bytes(4), ([232, 233, 234, 235], 4));
    assert_eq!(card.send_bytes(4), ([236, 237, 0, 0], 2));
    assert_eq!(state(&mut card), 4);
}

#[test]
fn writing_takes_the_time_of_the_medium() {
    use boardlab_block::{Costs, Geometry, RamBlock};
    use boardlab_sim::Duration;
    let costs = Costs { write: Duration::from_micros(400), ..Costs::default() };
    let device = RamBlock::new(Geometry::of_size(Bytes::mib(64))).with_costs(costs);
    let mut card = Card::new(Medium::Device(Box::new(device)), false).unwrap();
    card.state = State::Transfer;
    short(&mut card, 24, 0);
    card.receive_bytes(&[1; BLOCK], true, NOW);
    assert_eq!(state(&mut card), 7);
    let later = Instant::from_nanos(400_000);
    let Response::Short(status) = card.command(13, HERE, later) else { panic!("no answer") };
    assert_eq!(status >> 9 & 15, 4);
}

#[test]
fn sizes_and_blocks_that_no_card_has_are_refused() {
    assert!(Medium::empty(Bytes::ZERO).is_err());
    assert!(Medium::empty(Bytes::new(1000)).is_err());
    let odd = Medium::empty(Bytes::new(512 * 12_347)).unwrap();
    assert!(matches!(Card::new(odd, false), Err(Error::CardSize { .. })));
    let block = Bytes::kib(4);
    let geometry = boardlab_block::Geometry {
        block,
        physical: block,
        optimal: block,
        discard: None,
        ..boardlab_block::Geometry::of_size(Bytes::mib(64))
    };
    let device = boardlab_block::RamBlock::new(geometry);
    let refused = Card::new(Medium::Device(Box::new(device)), false);
    assert!(matches!(refused, Err(Error::CardBlock { .. })));
}
