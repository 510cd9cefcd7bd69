//! Pages, blocks and tags are found, wherever a driver or a tool puts them.

use crate::asked::{cell, damage, faults, info, opened, shape};
use crate::images::{
    LINUX_MANIFEST, RAW, TREE, big_endian, in_band, large, larger, linux, moved, small, text, told,
    told_by,
};
use crate::maker::{self, Maker};
use boardlab_codec::ByteOrder;
use boardlab_image::{Contents, Error, Hints, Kind, Shape, identify};
use boardlab_result::Value;
use boardlab_sim::Bytes;

#[test]
fn an_image_of_linux_is_what_its_manifest_says() {
    let image = linux();
    assert_eq!(told(&image), LINUX_MANIFEST);
    let told = info(&image);
    assert!(told.whole && told.run.warnings.is_empty() && told.run.findings.is_empty());
    assert_eq!(cell(&told, "filesystem", "yaffs2", "tags"), text("in spare bytes 2 to 29"));
    assert_eq!(cell(&told, "filesystem", "yaffs2", "first_sequence"), Value::Int(4_097));
    assert_eq!(cell(&told, "filesystem", "yaffs2", "last_sequence"), Value::Int(4_132));
    assert_eq!(cell(&told, "flash", "flash", "block_bytes"), Value::Int(131_072));
    assert_eq!(cell(&told, "flash", "flash", "correction"), text("Hamming, 1 bit in 256 B"));
    let checkpoint = text("of a machine of 64 bits: says what the chunks say");
    assert_eq!(cell(&told, "blocks", "checkpoint", "detail"), checkpoint);
    assert_eq!(faults(&image), [""; 0]);
}

/// The tags at a spare byte and the ECC at another, of so many.
fn layout(image: &[u8], size: usize, tags: usize, ecc: usize) -> Vec<u8> {
    moved(image, |_, spare| {
        let mut other = vec![0xFF; size];
        other[tags..tags + 28].copy_from_slice(&spare[2..30]);
        other[ecc..ecc + 24].copy_from_slice(&spare[40..64]);
        other
    })
}

#[test]
fn the_same_image_is_read_with_its_spare_bytes_in_other_places() {
    let image = linux();
    for (size, tags, ecc) in [(64, 0, 36), (64, 4, 40), (64, 36, 6), (128, 30, 104), (112, 1, 64)] {
        let image = layout(&image, size, tags, ecc);
        let oob = Bytes::new(size as u64);
        assert_eq!(shape(&image), Shape::nand(Bytes::kib(2), oob, Bytes::kib(128)));
        assert_eq!(told(&image), LINUX_MANIFEST, "{size} {tags} {ecc}");
        let told = info(&image);
        let place = format!("in spare bytes {tags} to {}", tags + 27);
        assert_eq!(cell(&told, "filesystem", "yaffs2", "tags"), text(&place));
        assert_eq!(cell(&told, "flash", "flash", "correction"), text("Hamming, 1 bit in 256 B"));
    }
}

#[test]
fn every_variant_is_read_without_being_told_anything() {
    let large_page = Shape::nand(Bytes::kib(2), Bytes::new(64), Bytes::kib(32));
    let plain = moved(&in_band(), |_, _| Vec::new());
    let larger_page = Shape::nand(Bytes::kib(4), Bytes::new(128), Bytes::kib(32));
    for (image, expected, tags) in [
        (large(), large_page, "in spare bytes 2 to 29"),
        (in_band(), large_page, "in band"),
        (plain, Shape { oob: Bytes::ZERO, ..large_page }, "in band"),
        (larger(), larger_page, "in spare bytes 2 to 29"),
        (big_endian(), large_page, "in spare bytes 2 to 29"),
    ] {
        assert_eq!(shape(&image), expected);
        assert_eq!(told(&image), TREE);
        let told = info(&image);
        assert_eq!(cell(&told, "filesystem", "yaffs2", "tags"), text(tags));
        assert!(told.whole, "{told:?}");
    }
    let order = cell(&info(&big_endian()), "filesystem", "yaffs2", "order");
    assert_eq!(order, text("big-endian"));
    for image in [large(), in_band(), larger()] {
        assert_eq!(faults(&image), [""; 0]);
    }
}

#[test]
fn yaffs1_is_read_with_both_layouts_and_both_orders_of_its_ecc() {
    let without_attribute = TREE.replace("user.note=6869", "-");
    let places = ["around the page status", "around the page status", "in spare bytes 8 to 15"];
    for (image, place) in small().into_iter().zip(places) {
        let identity = identify(&Contents::of(image.clone()));
        assert_eq!(identity.main().kind, Kind::FileSystem("YAFFS1"));
        assert_eq!(told(&image), without_attribute);
        let told = info(&image);
        assert_eq!(cell(&told, "filesystem", "yaffs1", "tags"), text(place));
        assert_eq!(cell(&told, "flash", "flash", "correction"), text("Hamming, 1 bit in 256 B"));
        assert_eq!(faults(&image), [""; 0]);
        // A wrong bit in every step of every second page: in all of them would hide the order of the ECC.
        let mut wrong = image.clone();
        let programmed = wrong.chunks_mut(528).filter(|page| page[512..] != [0xFF; 16]);
        for page in programmed.step_by(2) {
            page[200] ^= 4;
            page[500] ^= 32;
        }
        assert_eq!(crate::images::told(&wrong), without_attribute, "{place}");
        let damage = damage(&wrong);
        assert!(damage.is_whole() && damage.corrected_bits > 100, "{damage:?}");
    }
}

#[test]
fn what_mkyaffs2image_writes_is_read() {
    let layouts = [(2_048, 64), (4_096, 128), (8_192, 448), (16_384, 1_280)];
    for (page, oob) in layouts {
        for (order, code) in [(ByteOrder::Little, true), (ByteOrder::Big, false)] {
            let image = maker::tree(Maker::new(page, oob, order, code));
            let found = shape(&image);
            assert_eq!((found.page.get(), found.oob.get()), (page as u64, oob as u64));
            assert_eq!(told(&image), maker::TREE, "{page} {oob} {order:?}");
            let told = info(&image);
            let last = if code { 27 } else { 15 };
            let place = text(&format!("in spare bytes 0 to {last}"));
            assert_eq!(cell(&told, "filesystem", "yaffs2", "tags"), place);
            assert!(told.run.warnings[0].contains("is a guess"), "{:?}", told.run.warnings);
            assert_eq!(faults(&image), [""; 0]);
        }
    }
}

#[test]
fn a_size_that_was_guessed_is_taken_from_the_user_and_one_that_is_known_is_defended() {
    let image = maker::tree(Maker::new(2_048, 64, ByteOrder::Little, true));
    for block in [16, 32, 256, 512] {
        let hints = Hints { block: Some(Bytes::kib(block)), ..Hints::default() };
        assert_eq!(told_by(&image, &hints), maker::TREE);
    }
    let image = large();
    let hints = Hints { block: Some(Bytes::kib(128)), ..Hints::default() };
    let refused = opened(&image, &hints).unwrap_err();
    assert!(matches!(refused, Error::WrongBlock { .. }), "{refused}");
    assert!(refused.help().ends_with("give --block 32KiB"), "{}", refused.help());
    let hints = Hints { order: Some(ByteOrder::Big), ..Hints::default() };
    let refused = opened(&image, &hints).unwrap_err();
    assert!(matches!(refused, Error::WrongByteOrder { .. }), "{refused}");
    for (page, oob) in [(512, 16), (2_048, 128), (4_096, 128), (2_048, 0)] {
        let (page, oob) = (Some(Bytes::new(page)), Some(Bytes::new(oob)));
        let refused = opened(&image, &Hints { page, oob, ..Hints::default() }).unwrap_err();
        assert!(matches!(refused, Error::WrongShape { .. }), "{refused}");
    }
    let (page, oob) = (Some(Bytes::kib(2)), Some(Bytes::new(64)));
    assert_eq!(told_by(&image, &Hints { page, oob, ..Hints::default() }), TREE);
    let refused = opened(&image, &Hints { commit: Some(1), ..Hints::default() }).unwrap_err();
    assert_eq!(refused.to_string(), "--commit is not for YAFFS: give --as-of");
}

#[test]
fn unusual_sizes_are_found_by_the_distances_of_headers() {
    let image = moved(&large(), |_, spare| [&[0xFF; 9], &spare[2..30], &[0xFF; 39]].concat());
    assert_eq!(shape(&image).oob, Bytes::new(76));
    assert_eq!(told(&image), TREE);
    let hints = Hints { oob: Some(Bytes::new(76)), ..Hints::default() };
    assert_eq!(told_by(&image, &hints), TREE);
}

#[test]
fn a_dump_without_spare_bytes_is_named_and_refused() {
    let image = moved(&large(), |_, _| Vec::new());
    let identity = identify(&Contents::of(image.clone()));
    assert_eq!(identity.main().kind, Kind::FileSystem("YAFFS2"));
    assert_eq!(identity.main().detail, "pages of 2 KiB, without the tags");
    let refused = opened(&image, &Hints::default()).unwrap_err();
    let expected =
        "found object headers of YAFFS from 0x0 on, pages of 2 KiB, and no tags beside them";
    assert_eq!(refused.to_string(), expected);
    assert!(refused.help().contains("nanddump --oob"), "{}", refused.help());
}

#[test]
fn a_partition_behind_other_content_is_found() {
    let mut image = vec![0xFF; 16 * RAW * 3];
    image[..8].copy_from_slice(b"ANDROID!");
    image.extend(large());
    let identity = identify(&Contents::of(image.clone()));
    let found = identity.found.iter().find(|one| one.kind == Kind::FileSystem("YAFFS2")).unwrap();
    assert_eq!(found.at.get(), 16 * 3 * RAW as u64);
    assert_eq!(told(&image), TREE);
    // Not at a page of its own.
    let mut image = vec![0x55; 1_000];
    image.extend(large());
    assert_eq!(told(&image), TREE);
}

#[test]
fn a_file_that_ends_within_a_page_is_truncated() {
    let mut image = large();
    image.truncate(100 * RAW + 77);
    let refused = opened(&image, &Hints::default()).unwrap_err();
    assert!(matches!(refused, Error::Truncated { .. }), "{refused}");
    assert!(refused.to_string().contains("within a page of erase block 6"), "{refused}");
    let partial = Hints { partial: true, ..Hints::default() };
    assert!(opened(&image, &partial).unwrap().truncated.is_some());
}
