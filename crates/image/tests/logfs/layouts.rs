//! The flash is found, with and without spare bytes, whatever is around it.

use crate::asked::{cell, faults, info, opened, shape};
use crate::images::{MANIFEST, RAW, linux, plain, told};
use boardlab_codec::ByteOrder;
use boardlab_image::{Contents, Error, Hints, Shape, identify};
use boardlab_result::Value;
use boardlab_sim::Bytes;

#[test]
fn an_image_of_linux_is_what_its_manifest_says() {
    let image = linux();
    assert_eq!(told(&image), MANIFEST);
    assert_eq!(shape(&image), Shape::nand(Bytes::kib(2), Bytes::new(64), Bytes::kib(128)));
    let told = info(&image);
    assert!(told.whole && told.run.warnings.is_empty() && told.run.findings.is_empty());
    assert_eq!(cell(&told, "filesystem", "logfs", "segment_count"), Value::Int(256));
    assert_eq!(cell(&told, "filesystem", "logfs", "journal"), Value::Text("1, 2, 3, 4".into()));
    assert_eq!(cell(&told, "filesystem", "logfs", "checked_count"), Value::Int(85));
    // The kernel's own counts of valid bytes, of links and of used bytes are those of the objects.
    assert_eq!(faults(&image), [""; 0]);
}

#[test]
fn without_spare_bytes_it_is_the_same() {
    let image = plain(&linux());
    assert_eq!(told(&image), MANIFEST);
    let told = info(&image);
    assert!(told.whole, "{told:?}");
    assert!(told.run.findings[0].contains("no OOB bytes"), "{:?}", told.run.findings);
    assert_eq!(faults(&image), [""; 0]);
}

#[test]
fn other_numbers_of_spare_bytes_are_found() {
    for spare in [112, 128] {
        let image: Vec<u8> = linux()
            .chunks(RAW)
            .flat_map(|raw| [&raw[..2_048], &vec![0xFF; spare]].concat())
            .collect();
        let oob = Bytes::new(spare as u64);
        assert_eq!(shape(&image), Shape::nand(Bytes::kib(2), oob, Bytes::kib(128)));
        assert_eq!(told(&image), MANIFEST);
    }
}

#[test]
fn something_in_front_of_it_does_not_hide_it() {
    let image = [vec![0x55; 3 * RAW], linux()].concat();
    let identity = identify(&Contents::of(image.clone()));
    let at = Bytes::new(3 * RAW as u64);
    assert!(identity.found.iter().any(|found| found.at == at), "{:?}", identity.found);
    assert_eq!(told(&image), MANIFEST);
}

#[test]
fn one_superblock_is_enough() {
    let mut image = linux();
    image[..RAW].fill(0);
    assert_eq!(told(&image), MANIFEST);
    let found = faults(&image);
    assert!(found.iter().any(|fault| fault.starts_with("the first superblock")), "{found:?}");
    let mut image = linux();
    let last = image.len() - 2 * RAW;
    image[last..].fill(0);
    assert_eq!(told(&image), MANIFEST);
    assert!(faults(&image).iter().any(|fault| fault.starts_with("the last superblock")));
}

#[test]
fn hints_that_the_image_contradicts_are_refused() {
    let image = linux();
    let bytes = |count| Some(Bytes::new(count));
    let right =
        Hints { page: bytes(2_048), oob: bytes(64), block: bytes(131_072), ..Hints::default() };
    assert!(opened(&image, &right).is_ok());
    for wrong in [
        Hints { page: bytes(4_096), ..Hints::default() },
        Hints { oob: bytes(0), ..Hints::default() },
        Hints { block: bytes(262_144), ..Hints::default() },
    ] {
        assert!(matches!(opened(&image, &wrong), Err(Error::WrongShape { .. })), "{wrong:?}");
    }
    let little = Hints { order: Some(ByteOrder::Little), ..Hints::default() };
    assert!(matches!(opened(&image, &little), Err(Error::WrongByteOrder { .. })));
    for (useless, option) in [
        (Hints { volume: Some("a".into()), ..Hints::default() }, "--volume"),
        (Hints { commit: Some(1), ..Hints::default() }, "--commit"),
        (Hints { as_of: Some(1), ..Hints::default() }, "--as-of"),
    ] {
        let refused = opened(&image, &useless);
        assert!(matches!(refused, Err(Error::NotFor { option: found, .. }) if found == option));
    }
}

#[test]
fn a_truncated_image_is_read_on_request() {
    let image = linux();
    let short = &image[..200 * 64 * RAW];
    assert!(matches!(opened(short, &Hints::default()), Err(Error::Truncated { .. })));
    let partial = Hints { partial: true, ..Hints::default() };
    let found = opened(short, &partial).unwrap();
    assert_eq!(found.truncated, Some(Bytes::new(image.len() as u64)));
}
