//! Damage is told: whatever bits are wrong, either all files are as they were, or the loss is told.

use super::{BOARD, LARGE, SMALL, with_oob};
use boardlab_image::{
    Contents, Damage, Hints, Limits, MountedImage, Shape, identify, open, tables,
};
use boardlab_result::Value;
use boardlab_sim::Seed;
use boardlab_vfs::Mount;
use boardlab_workload::tree::manifest;

/// All names, attributes and contents; what cannot be read says so.
fn contents_of(image: MountedImage) -> String {
    let MountedImage { fs, mut clock, .. } = image;
    manifest(&mut Mount::new(fs), &mut clock).unwrap_or_else(|error| format!("{error:?}"))
}

fn board() -> Vec<u8> {
    std::fs::read(BOARD).unwrap()
}

/// What the image tells, and what is in it. An image that is refused tells so.
fn looked_at(bytes: Vec<u8>) -> Option<(Damage, String)> {
    let mut image = open(&Contents::of(bytes), &Hints::default()).ok()?;
    let damage = Damage::of(&mut image).unwrap();
    Some((damage, contents_of(image)))
}

fn listed(bytes: Vec<u8>) -> tables::ImageReport {
    let mut image = open(&Contents::of(bytes), &Hints::default()).unwrap();
    let damage = Damage::of(&mut image).unwrap();
    tables::listing("x", &mut image.fs, &mut image.clock, b"/", &damage, Limits::default()).unwrap()
}

fn steps(shape: Shape) -> usize {
    shape.page.to_usize() / 256
}

#[test]
fn a_wrong_bit_in_every_step_is_corrected_and_told_and_nothing_is_lost() {
    let whole = looked_at(board()).unwrap();
    assert!(whole.0.is_whole() && whole.0.audit.places.is_empty(), "{:?}", whole.0);
    for shape in [SMALL, LARGE] {
        let mut bytes = with_oob(shape);
        let pages = bytes.len() / shape.raw_page().to_usize();
        for page in bytes.chunks_mut(shape.raw_page().to_usize()) {
            for (number, step) in page[..shape.page.to_usize()].chunks_mut(256).enumerate() {
                step[40 + number * 37 % 200] ^= 1 << (number % 8);
            }
        }
        let (damage, found) = looked_at(bytes.clone()).unwrap();
        assert_eq!(found, whole.1);
        assert_eq!(damage.corrected_bits, (pages * steps(shape)) as u64);
        assert!(damage.is_whole() && damage.audit.damaged == 0, "{:?}", damage.audit);
        let file = Contents::of(bytes);
        let identity = identify(&file);
        let mut image = open(&file, &Hints::default()).unwrap();
        let info =
            tables::info("x", &file, &identity, &Hints::default(), Some(&Damage::of(&mut image)));
        let told = info.run.table("filesystem").unwrap().cell("jffs2", "damaged_count").unwrap();
        assert!(info.whole && told.value == Value::Int(0), "{told:?}");
        let sample = tables::info("x", &file, &identity, &Hints::default(), None);
        let told = sample.run.table("filesystem").unwrap().cell("jffs2", "damaged_count").unwrap();
        assert_eq!((identity.main().shape, &told.value), (Some(shape), &Value::Int(0)));
        let rows = &info.run.table("correction").unwrap().rows;
        assert_eq!(rows.len(), (pages * steps(shape)).min(1_000));
    }
}

#[test]
fn two_wrong_bits_in_any_step_are_told_or_touch_nothing() {
    let whole = looked_at(board()).unwrap().1;
    for shape in [SMALL, LARGE] {
        let bytes = with_oob(shape);
        let raw = shape.raw_page().to_usize();
        let mut lost = 0;
        for place in 0..bytes.len() / raw * steps(shape) {
            let (page, step) = (place / steps(shape), place % steps(shape));
            let start = page * raw + step * 256;
            for (one, other) in [(3, 77), (0, 1)] {
                let mut bytes = bytes.clone();
                bytes[start + one] ^= 1 << (place % 8);
                bytes[start + other] ^= 0x10;
                let Some((damage, found)) = looked_at(bytes) else {
                    lost += 1;
                    continue;
                };
                assert_eq!(damage.uncorrectable_steps, 1, "page {page}, step {step}");
                assert_eq!(damage.steps[0].step.page, page as u64);
                assert!(
                    !damage.is_whole() || found == whole,
                    "page {page}, step {step}: {damage:?}"
                );
                lost += usize::from(!damage.is_whole());
            }
        }
        assert!(lost > 20, "{lost}");
    }
}

#[test]
fn wrong_bits_without_any_correction_are_told_or_touch_nothing() {
    let (bytes, whole) = (board(), looked_at(board()).unwrap().1);
    let step = if std::env::var_os("BOARDLAB_FULL").is_some() { 1 } else { 23 };
    let mut noise = Seed::new(1).stream("image.damage.plain");
    let (mut lost, mut harmless) = (0, 0);
    for at in (0..bytes.len()).step_by(step) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << noise.below(8);
        let Some((damage, found)) = looked_at(bytes) else { continue };
        assert!(!damage.is_whole() || found == whole, "byte {at}: {damage:?}");
        lost += usize::from(!damage.is_whole());
        harmless += usize::from(damage.is_whole());
    }
    assert!(lost > 10 * harmless, "{lost} lost, {harmless} harmless");
}

/// Images of Linux and mkfs.jffs2, with a summary and without, and with spare bytes.
const CLEAN: [&str; 3] = [
    BOARD,
    concat!(env!("CARGO_MANIFEST_DIR"), "/../jffs2/tests/images/nor-little.img"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../jffs2/tests/images/nand-big-summary.img"),
];

#[test]
fn images_as_they_were_made_are_whole() {
    for path in CLEAN {
        let (damage, _) = looked_at(std::fs::read(path).unwrap()).unwrap();
        assert!(damage.is_whole() && damage.audit.places.is_empty(), "{path}: {damage:?}");
        assert!(damage.audit.nodes > 10, "{path}");
    }
}

/// The pages and steps of a dump in which a node of mkfs.jffs2 begins that `wanted` picks: the
/// place of its header.
fn place_of(bytes: &[u8], wanted: impl Fn(&[u8]) -> bool) -> usize {
    (0..bytes.len() - 68)
        .step_by(4)
        .find(|&at| bytes[at..].starts_with(&[0x19, 0x85]) && wanted(&bytes[at..]))
        .unwrap()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn detail<'a>(told: &'a tables::ImageReport, path: &str) -> &'a Value {
    &told.run.table("files").unwrap().cell(path, "detail").unwrap().value
}

#[test]
fn a_file_that_lost_a_piece_is_marked_with_its_bytes() {
    // The second node of the only file of more than a page.
    let bytes = board();
    let at = place_of(&bytes, |node| node[3] == 2 && word(node, 44) > 0);
    let (offset, size) = (word(&bytes[at..], 44), word(&bytes[at..], 52));
    for wrong in [70, 5] {
        let mut bytes = bytes.clone();
        bytes[at + wrong] ^= 0x81;
        let told = listed(bytes);
        assert!(!told.whole);
        let rows = &told.run.table("files").unwrap().rows;
        let marked: Vec<_> = rows
            .iter()
            .filter(|row| format!("{:?}", row.cells["detail"]).contains("damaged"))
            .collect();
        // It has two names.
        assert_eq!(marked.len(), 2, "{marked:?}");
        let Value::Text(words) = detail(&told, &marked[0].id) else { unreachable!() };
        let last = offset + size - 1;
        assert!(words.contains(&format!("bytes {offset} to {last} ")), "{words}");
        let damage = &told.run.table("damage").unwrap().rows;
        assert!(damage.len() == 1 && !told.run.warnings.is_empty(), "{damage:?}");
    }
}

#[test]
fn a_file_whose_only_node_is_lost_is_listed_and_a_lost_name_is_told() {
    let bytes = board();
    let named =
        |name: &'static [u8]| move |node: &[u8]| node[3] == 1 && node[40..].starts_with(name);
    let entry = place_of(&bytes, named(b"motd"));
    let ino = word(&bytes[entry..], 20);
    let node = place_of(&bytes, |node| node[3] == 2 && word(node, 12) == ino);
    let mut lost = bytes.clone();
    lost[node + 13] ^= 0x40;
    let told = listed(lost);
    assert!(!told.whole);
    let Value::Text(words) = detail(&told, "/etc/motd") else { panic!("not marked: {told:?}") };
    assert!(
        words.starts_with("damaged: ") && words.ends_with("none of its nodes is good"),
        "{words}"
    );
    let mut nameless = bytes;
    nameless[entry + 41] ^= 0x40;
    let told = listed(nameless);
    assert!(!told.whole && told.run.table("files").unwrap().row("/etc/motd").is_none());
    let Value::Text(words) = detail(&told, "/etc") else { panic!("not marked: {told:?}") };
    assert!(words.contains("a name in it is missing"), "{words}");
}

#[test]
fn a_write_that_was_cut_off_is_told_and_is_no_loss() {
    let whole = looked_at(board()).unwrap().1;
    let bytes = board();
    // A newer node of a file behind the last one, with its data not written to the end.
    let at = place_of(&bytes, |node| node[3] == 2 && word(node, 48) > 60 && word(node, 44) == 0);
    let length = (68 + word(&bytes[at..], 48)) as usize;
    for cut in [4, 20, 50, 80] {
        let mut torn = bytes.clone();
        torn.resize(torn.len().next_multiple_of(4), 0xFF);
        let end = torn.len();
        torn.extend(&bytes[at..at + length]);
        torn[end + cut..].fill(0xFF);
        torn.resize(torn.len().next_multiple_of(8_192), 0xFF);
        let (damage, found) = looked_at(torn).unwrap();
        assert!(damage.is_whole(), "{cut}: {damage:?}");
        assert_eq!((damage.audit.places.len(), &found), (1, &whole), "{cut}");
    }
}

#[test]
fn a_block_that_looks_bad_by_a_wrong_bit_is_told() {
    let mut bytes = with_oob(SMALL);
    bytes[SMALL.raw_block().to_usize() + 512 + 5] ^= 4;
    let told = listed(bytes.clone());
    assert!(!told.whole);
    assert!(told.run.warnings.iter().any(|one| one.starts_with("Block 1 is left out")), "{told:?}");
    bytes[SMALL.raw_block().to_usize() + 512 + 5] = 0;
    let told = listed(bytes);
    assert!(told.run.table("damage").is_some());
}

#[test]
fn a_piece_that_was_read_as_zeros_or_as_erased_is_told() {
    let (bytes, whole) = (board(), looked_at(board()).unwrap().1);
    let mut lost = 0;
    for at in (0..bytes.len() - 512).step_by(512) {
        for fill in [0, 0xFF] {
            let mut bytes = bytes.clone();
            bytes[at..at + 512].fill(fill);
            let Some((damage, found)) = looked_at(bytes) else { continue };
            assert!(!damage.is_whole() || found == whole, "{fill:#x} at {at:#x}: {damage:?}");
            lost += usize::from(!damage.is_whole());
        }
    }
    assert!(lost > 30, "{lost}");
    // Filled up with zeros by whoever put it together, it is whole.
    let mut filled = bytes;
    filled.resize(filled.len().next_multiple_of(8_192) + 65_536, 0);
    let (damage, found) = looked_at(filled).unwrap();
    assert!(damage.is_whole() && found == whole, "{damage:?}");
}
