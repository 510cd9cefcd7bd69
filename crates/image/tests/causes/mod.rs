//! Why an image is not read: each cause with its place, and what was found and expected.

use crate::made::{BLOCK, DATA, add_dynamic, add_static, blocks_of, file_of, flash, squashfs};
use crate::{named, paths, single};
use boardlab_image::{Contents, Error, Hints, Kind, Shape, identify, open};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::{LebIndex, RamLebs};
use boardlab_ubifs::Ubifs;
use boardlab_vfs::FileSystem;

const LAYOUT_VOLUME: u32 = 0x7FFF_EFFF;

fn two() -> Vec<u8> {
    let mut ubi = flash();
    add_static(&mut ubi, "squash", &squashfs(40_000));
    add_dynamic(&mut ubi, "data", &[(0, b"first"), (2, b"third")]);
    file_of(ubi)
}

fn partial() -> Hints {
    Hints { partial: true, ..Hints::default() }
}

fn refused(file: &[u8], hints: &Hints) -> String {
    open(&Contents::of(file.to_vec()), hints).unwrap_err().to_string()
}

#[test]
fn a_cut_within_a_block_is_told_with_the_block() {
    let whole = two();
    let refused_early = open(&Contents::of(whole[..3 * BLOCK + 100].to_vec()), &Hints::default());
    let help = refused_early.unwrap_err().help();
    assert!(help.ends_with("it is empty, or the dump ends too early"), "{help}");
    for length in [100 * BLOCK + 100, 159 * BLOCK + 1] {
        let text = refused(&whole[..length], &Hints::default());
        let block = length / BLOCK;
        let expected = format!(
            "the image is truncated: it ends after {length} bytes, within erase block {block}, which \
             ends at {}",
            (block + 1) * BLOCK
        );
        assert!(text.starts_with(&expected), "{text}");
    }
}

#[test]
fn without_a_volume_table_the_headers_that_there_are_are_told() {
    let mut file = two();
    for block in blocks_of(&file, LAYOUT_VOLUME).into_values() {
        file[block * BLOCK..(block + 1) * BLOCK].fill(0xFF);
    }
    let text = refused(&file, &partial());
    let expected = "UBI cannot be attached: there is no volume table: of 160 blocks, 158 have an erase \
                    counter header and 5 a volume header, none for the volume table (0x7fffefff); \
                    volume 0 has 3 blocks; volume 1 has 2 blocks";
    assert_eq!(text, expected);
    file.truncate(file.len() - 1_000);
    let text = refused(&file, &partial());
    let end = "; the file ends within block 159, after 15384 of 16384 bytes";
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn of_two_damaged_volume_tables_both_places_are_told_and_of_one_nothing_is_lost() {
    let mut file = two();
    let copies = blocks_of(&file, LAYOUT_VOLUME);
    let damage = |file: &mut [u8], copy: u32| file[copies[&copy] * BLOCK + DATA + 172 + 20] ^= 1;
    damage(&mut file, 0);
    let identity = identify(&Contents::of(file.clone()));
    assert_eq!((identity.main().kind, identity.main().detail.as_str()), (Kind::Ubi, "2 volumes"));
    damage(&mut file, 1);
    let text = refused(&file, &Hints::default());
    let place =
        |copy| format!("copy {copy} in block {} at {:#x}", copies[&copy], copies[&copy] * BLOCK);
    assert!(text.contains("record 1 of the volume table: the checksum is 0x"), "{text}");
    assert!(text.ends_with(&format!("; {}, {}", place(0), place(1))), "{text}");
}

#[test]
fn a_block_of_another_image_is_told_with_its_place() {
    let mut file = two();
    let header = &mut file[20 * BLOCK..20 * BLOCK + 64];
    header[24..28].copy_from_slice(&9_u32.to_be_bytes());
    let crc = boardlab_ubi::format::crc(&header[..60]);
    header[60..].copy_from_slice(&crc.to_be_bytes());
    let text = refused(&file, &Hints::default());
    let start = "UBI cannot be attached: block 20 is of image 9, the blocks before of image ";
    assert!(text.starts_with(start), "{text}");
    let place = format!("(block 20 at {:#x} of the file)", 20 * BLOCK);
    assert!(text.ends_with(&place), "{text}");
}

/// With sub-pages, both headers lie in the first page, where OOB bytes do not matter.
#[test]
fn without_a_volume_table_pages_with_spare_bytes_are_still_found() {
    let mut file = crate::two();
    for block in file.chunks_mut(BLOCK) {
        if block[256..].starts_with(b"UBI!") && block[264..268] == LAYOUT_VOLUME.to_be_bytes() {
            block.fill(0xFF);
        }
    }
    let file: Vec<u8> = file.chunks(512).flat_map(|page| [page, &[0xFF; 16]].concat()).collect();
    let shape = Shape::nand(Bytes::new(512), Bytes::new(16), Bytes::kib(16));
    assert_eq!(identify(&Contents::of(file)).main().shape, Some(shape));
}

/// The table of an image with fewer blocks than its volumes reserve is judged as on its flash.
#[test]
fn that_an_image_is_smaller_than_its_flash_is_not_why() {
    let mut file = crate::two();
    let blocks = file.len() / BLOCK;
    for block in 0..blocks {
        let at = block * BLOCK;
        if file[at + 256..].starts_with(b"UBI!")
            && file[at + 264..at + 268] == LAYOUT_VOLUME.to_be_bytes()
        {
            file[at + 512 + 172 + 20] ^= 1;
        }
    }
    let text = refused(&file, &Hints::default());
    assert!(text.contains("record 1 of the volume table: the checksum is 0x"), "{text}");
}

#[test]
fn a_volume_without_its_blocks_is_empty() {
    let mut file = two();
    for block in blocks_of(&file, 1).into_values() {
        file[block * BLOCK..(block + 1) * BLOCK].fill(0xFF);
    }
    let text = refused(&file, &named("data"));
    assert!(text.starts_with("the volume `data` holds no UBIFS (empty)"), "{text}");
}

#[test]
fn a_single_volume_with_spare_bytes_is_read() {
    let plain = paths(&single(), &Hints::default()).unwrap();
    let with_oob = |oob: usize| -> Vec<u8> {
        single().chunks(512).flat_map(|page| [page, &vec![0xFF; oob][..]].concat()).collect()
    };
    let contents = Contents::of(with_oob(16));
    let shape = Shape::nand(Bytes::new(512), Bytes::new(16), Bytes::new(15_872));
    assert_eq!(identify(&contents).main().shape, Some(shape));
    assert_eq!(paths(&with_oob(16), &Hints::default()).unwrap(), plain);
    let wrong = Hints { oob: Some(Bytes::ZERO), ..Hints::default() };
    assert!(matches!(open(&contents, &wrong), Err(Error::WrongShape { .. })));
    let cut = refused(&with_oob(16)[..100_000], &Hints::default());
    assert!(cut.contains("it ends after 100000 bytes, with 6 of 13 LEBs"), "{cut}");
    // No known part has such pages.
    let refused = refused(&with_oob(24), &Hints::default());
    assert!(refused.contains("instead of JFFS2 or UBIFS or YAFFS2"), "{refused}");
}

/// With pages as large as the superblock, only the nodes behind it show the OOB bytes.
#[test]
fn a_single_volume_with_large_pages_shows_its_spare_bytes_by_the_nodes_behind_the_superblock() {
    let shape = boardlab_ubi::Shape {
        leb_count: 40,
        leb_size: 65_536,
        leb_start: 0,
        min_io: 4_096,
        max_write: 4_096,
    };
    let mut clock = Clock::new();
    let options = boardlab_ubifs::Options::default();
    let mut fs = Ubifs::mount(&mut clock, RamLebs::new(shape), options).unwrap();
    fs.unmount(&mut clock).unwrap();
    let lebs = fs.into_lebs();
    let whole = |leb| {
        let mut bytes = lebs.content(LebIndex(leb)).unwrap_or_default().to_vec();
        bytes.resize(65_536, 0xFF);
        bytes
    };
    let file: Vec<u8> = (0..40).flat_map(whole).collect();
    for oob in [0, 128, 224] {
        let with: Vec<u8> =
            file.chunks(4_096).flat_map(|page| [page, &vec![0xFF; oob][..]].concat()).collect();
        let contents = Contents::of(with);
        let shape = Shape::nand(Bytes::kib(4), Bytes::new(oob as u64), Bytes::kib(64));
        assert_eq!(identify(&contents).main().shape, Some(shape));
        assert!(open(&contents, &Hints::default()).is_ok());
    }
}
