//! Every way to be wrong about an image, and what is said of it.

use super::*;
use crate::fs::jffs2::tests::{Writer, image_of};
use boardlab_jffs2::format::ByteOrder;

const NAND: Shape = Shape::nand(Bytes::kib(2), Bytes::new(64), Bytes::kib(128));
const NOR: Shape = Shape::nor(Bytes::kib(64));

fn image(order: ByteOrder, shape: Shape) -> Contents {
    let mut writer = Writer::new(order, shape);
    writer.inodes(400);
    writer.file()
}

fn chosen(contents: &Contents, hints: &Hints) -> Result<Choice, Error> {
    choose(contents, &image_of(contents), hints)
}

#[allow(clippy::needless_pass_by_value, reason = "the hints are made for the call")]
fn refusal(contents: &Contents, hints: Hints) -> [String; 2] {
    let error = chosen(contents, &hints).unwrap_err();
    [error.to_string(), error.help()]
}

fn pages(page: u64, oob: u64) -> Hints {
    Hints { page: Some(Bytes::new(page)), oob: Some(Bytes::new(oob)), ..Hints::default() }
}

#[track_caller]
fn says(refusal: &[String; 2], [title, help]: [&str; 2]) {
    assert!(refusal[0].contains(title), "{title:?} is not in {:?}", refusal[0]);
    assert!(refusal[1].contains(help), "{help:?} is not in {:?}", refusal[1]);
}

#[test]
fn what_the_user_says_is_taken_when_it_fits() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let file = image(order, NAND);
        let right = Hints { block: Some(NAND.block), order: Some(order), ..pages(2_048, 64) };
        for hints in [Hints::default(), right, pages(2_048, 64)] {
            let choice = chosen(&file, &hints).unwrap();
            assert_eq!((choice.shape, choice.flash.order, choice.at), (NAND, order, Bytes::ZERO));
        }
        let file = image(order, NOR);
        let choice = chosen(&file, &pages(2_048, 0)).unwrap();
        assert_eq!(choice.shape, Shape { page: Bytes::kib(2), ..NOR });
    }
}

#[test]
fn the_place_of_the_cleanmarker_is_that_in_the_pages_of_the_user() {
    let mut writer = Writer::new(ByteOrder::Little, NAND);
    writer.data.resize(4 * NAND.block.to_usize(), 0xFF);
    let file = writer.file();
    // Without nodes nothing contradicts other pages.
    let choice = chosen(&file, &pages(1_024, 32)).unwrap();
    assert_eq!((choice.shape.page, choice.flash.marker), (Bytes::kib(1), None));
    assert_eq!(chosen(&file, &pages(2_048, 64)).unwrap().flash.marker, Some(2));
}

#[test]
fn a_wrong_page_or_spare_size_is_refused_with_the_one_that_fits() {
    let file = image(ByteOrder::Little, NAND);
    let fits = "leave out --page and --oob, or give --page 2KiB --oob 64";
    for (page, oob) in [(512, 16), (4_096, 128), (2_048, 128), (2_048, 0), (1, 0), (4_096, 0)] {
        let refusal = refusal(&file, pages(page, oob));
        says(&refusal, ["found pages of 2 KiB with 64 spare bytes, not pages ", fits]);
        assert!(refusal[0].contains("nodes are right instead of"), "{}", refusal[0]);
    }
    let one = Hints { oob: Some(Bytes::new(16)), ..Hints::default() };
    says(&refusal(&file, one), ["not pages of 2 KiB with 16 spare bytes", fits]);
    for oob in [16, 64, 224] {
        let oob = Hints { oob: Some(Bytes::new(oob)), ..Hints::default() };
        let refusal = refusal(&image(ByteOrder::Big, NOR), oob);
        says(&refusal, ["found pages without spare bytes, not", "no spare bytes in this file"]);
    }
}

#[test]
fn numbers_that_are_no_flash_are_refused_before_anything_is_read_with_them() {
    let file = image(ByteOrder::Little, NAND);
    says(&refusal(&file, pages(0, 0)), ["no flash has pages of 0 B", "1 B (NOR) to 64 KiB"]);
    let huge = pages(u64::MAX, u64::MAX);
    says(&refusal(&file, huge), ["no flash has pages of", "1 B (NOR) to 64 KiB"]);
    let oob = pages(2_048, 1 << 40);
    says(&refusal(&file, oob), ["a page cannot have 1099511627776 spare", "0, or 8 B to 8 KiB"]);
    let block = |block| Hints { block: Some(Bytes::new(block)), ..Hints::default() };
    for size in [0, 1, 100_000, u64::MAX] {
        let says_sizes = ["does not fit", "whole pages, 4 KiB to 64 MiB"];
        says(&refusal(&file, block(size)), says_sizes);
    }
}

#[test]
fn a_wrong_erase_block_is_refused_with_the_one_that_fits() {
    let block = |kib| Hints { block: Some(Bytes::kib(kib)), ..Hints::default() };
    let small = refusal(&image(ByteOrder::Little, NAND), block(16));
    says(&small, ["found erase blocks of 128 KiB, not 16 KiB: the node at 0x", "--block 128KiB"]);
    let large = refusal(&image(ByteOrder::Big, NOR), block(128));
    let says_marks = "found erase blocks of 64 KiB, not 128 KiB: cleanmarkers";
    says(&large, [says_marks, "leave out --block, or give --block 64KiB"]);
    let mut writer = Writer::new(ByteOrder::Little, NOR);
    writer.marks = false;
    writer.inodes(400);
    let larger = chosen(&writer.file(), &block(128)).unwrap();
    assert_eq!(larger.shape, Shape::nor(Bytes::kib(128)));
}

#[test]
fn a_wrong_byte_order_is_refused_with_the_right_one() {
    let wrong = |order: ByteOrder| Hints { order: Some(order), ..Hints::default() };
    let little = refusal(&image(ByteOrder::Little, NAND), wrong(ByteOrder::Big));
    says(&little, ["is little-endian, not big-endian", "give --endian little"]);
    let big = refusal(&image(ByteOrder::Big, NOR), wrong(ByteOrder::Little));
    says(&big, ["the node at 0x0 is big-endian, not little-endian", "give --endian big"]);
}

#[test]
fn a_truncated_image_is_refused_unless_the_user_wants_what_there_is() {
    let whole = image(ByteOrder::Little, NAND);
    let cut = Contents::of(whole.window(Bytes::ZERO, 400_000));
    let refused = refusal(&cut, Hints::default());
    let ends = "it ends after 400000 bytes, within erase block 2, which ends at 405504";
    says(&refused, [ends, "--partial"]);
    assert!(chosen(&cut, &Hints { partial: true, ..Hints::default() }).is_ok());

    let mut writer = Writer::new(ByteOrder::Little, NOR);
    writer.inodes(100);
    writer.data.truncate(writer.data.len() - 9);
    let refused = refusal(&Contents::of(writer.data), Hints::default());
    says(&refused, ["the image is truncated: it ends after", "take the dump again"]);
    assert!(refused[0].contains("within a node that needs"), "{}", refused[0]);
}
