//! The constants of volumes that the kernel has laid out.

use super::*;
use crate::format::tests::{SUPERBLOCK, node};

const SHAPE: Shape =
    Shape { leb_count: 940, leb_size: 15_872, leb_start: 512, min_io: 512, max_write: 512 };

/// The superblock that the kernel has made for such a volume.
fn kernel() -> Superblock {
    Superblock::parse(&node(SUPERBLOCK)).unwrap()
}

fn layout(sb: &Superblock) -> Result<Layout, MountError> {
    let mut layout = Layout::early(&SHAPE)?.with_areas(sb, SHAPE.leb_count)?;
    layout.add_constants()?;
    Ok(layout)
}

#[test]
fn the_areas_of_a_volume_of_the_kernel_are_those_that_it_reported() {
    let layout = layout(&kernel()).unwrap();
    // The kernel: "FS size: 14713344 bytes (14 MiB, 927 LEBs), max 940 LEBs".
    assert_eq!((layout.main_bytes, layout.main_lebs), (14_713_344, 927));
    assert_eq!((layout.log_lebs, layout.log_last), (6, LebIndex(8)));
    assert_eq!((layout.lpt_first, layout.lpt_last), (LebIndex(9), LebIndex(10)));
    assert_eq!((layout.orph_first, layout.orph_last), (LebIndex(11), LebIndex(12)));
    assert_eq!((layout.main_first, layout.leb_count), (LebIndex(13), 940));
    assert_eq!((layout.min_idx_node_sz, layout.max_idx_node_sz), (48, 192));
    assert_eq!((layout.dead_wm, layout.dark_wm, layout.leb_overhead), (512, 4_608, 3_440));
    assert_eq!((layout.bg_bud_bytes, layout.max_bud_bytes), (528_736, 650_752));
    assert_eq!(
        (layout.ref_node_alsz, layout.mst_node_alsz, layout.idx_leb_size),
        (512, 512, 15_680)
    );
}

#[test]
fn a_small_journal_is_counted_as_large_enough_for_all_heads() {
    let layout = layout(&Superblock { max_bud_bytes: 3 * 15_872, ..kernel() }).unwrap();
    assert_eq!(layout.bg_bud_bytes, 4 * 15_872 + 1);
    assert_eq!(layout.max_bud_bytes, 5 * 15_872 + 1);
}

#[test]
fn a_volume_full_of_the_smallest_leaves_is_no_forgery() {
    let layout = layout(&kernel()).unwrap();
    // The smallest leaf is a data node: a head of 48 bytes and one to eight of data.
    let most = usize::try_from(layout.main_bytes / 56).unwrap();
    assert!(layout.takes_leaves(most) && !layout.takes_leaves(most + 1));
}

#[test]
fn small_units_are_eight_bytes() {
    let shape = Shape { min_io: 1, max_write: 1, ..SHAPE };
    let layout = Layout::early(&shape).unwrap();
    assert_eq!((layout.min_io, layout.max_write, layout.dead_wm), (8, 8, 56));
    let layout = Layout::early(&Shape { max_write: 64, ..shape }).unwrap();
    assert_eq!((layout.min_io, layout.max_write), (8, 64));
}

#[test]
fn a_volume_that_does_not_suit_is_refused_with_the_limit() {
    for (shape, expected) in [
        (Shape { leb_size: 15_359, ..SHAPE }, (15_359, 15_360)),
        (Shape { leb_count: 16, ..SHAPE }, (16, 17)),
        (Shape { min_io: 500, ..SHAPE }, (500, 1)),
        (Shape { max_write: 256, ..SHAPE }, (256, 512)),
        (Shape { max_write: 1_536, ..SHAPE }, (1_536, 512)),
    ] {
        match Layout::early(&shape) {
            Err(MountError::Shape { found, limit, .. }) => assert_eq!((found, limit), expected),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn every_field_that_cannot_be_is_named_with_what_would_fit() {
    let good = kernel();
    let with = |change: &dyn Fn(&mut Superblock)| {
        let mut sb = good.clone();
        change(&mut sb);
        match layout(&sb) {
            Err(MountError::Superblock { field, found, expected }) => (field, found, expected),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(with(&|sb| sb.fmt_version = 2), ("fmt_version", 2, 3));
    assert_eq!(with(&|sb| sb.flags = 0x48), ("flags", 0x48, 0x08));
    assert_eq!(with(&|sb| sb.flags = 0), ("flags", 0, 0x08));
    assert_eq!(with(&|sb| sb.min_io = 2_048), ("min_io_size", 2_048, 512));
    assert_eq!(with(&|sb| sb.leb_size = 16_384), ("leb_size", 16_384, 15_872));
    assert_eq!(with(&|sb| sb.log_lebs = 1), ("log_lebs", 1, 2));
    assert_eq!(with(&|sb| sb.lpt_lebs = 1), ("lpt_lebs", 1, 2));
    assert_eq!(with(&|sb| sb.orph_lebs = 0), ("orph_lebs", 0, 1));
    assert_eq!(with(&|sb| sb.jhead_count = 0), ("jhead_cnt", 0, 1));
    assert_eq!(with(&|sb| sb.jhead_count = 2), ("jhead_cnt", 2, 1));
    assert_eq!(with(&|sb| sb.leb_count = 21), ("leb_cnt", 21, 22));
    assert_eq!(with(&|sb| sb.leb_count = 941), ("leb_cnt", 941, 940));
    assert_eq!(with(&|sb| sb.orph_lebs = u32::MAX), ("leb_cnt", 940, 0x1_0000_0013));
    assert_eq!(with(&|sb| sb.max_leb_count = 939), ("max_leb_cnt", 939, 940));
    assert_eq!(with(&|sb| sb.max_bud_bytes = 47_615), ("max_bud_bytes", 47_615, 47_616));
    let most = 927 * 15_872;
    assert_eq!(with(&|sb| sb.max_bud_bytes = u64::MAX), ("max_bud_bytes", u64::MAX, most));
    assert_eq!(with(&|sb| sb.fanout = 2), ("fanout", 2, 3));
    assert_eq!(with(&|sb| sb.fanout = 793), ("fanout", 793, 792));
    assert_eq!(with(&|sb| sb.lsave_count = 928), ("lsave_cnt", 928, 927));
    assert_eq!(with(&|sb| sb.default_compr = 4), ("default_compr", 4, 3));
    assert_eq!(with(&|sb| sb.rp_size = most + 1), ("rp_size", most + 1, most));
    assert_eq!(with(&|sb| sb.time_gran = 0), ("time_gran", 0, 1_000_000_000));
    assert_eq!(with(&|sb| sb.max_bud_bytes = 900 * 15_872), ("log_lebs", 6, 31));
}

#[test]
fn features_that_do_not_exist_here_are_named() {
    for (flag, expected) in [(0x10, "encryption"), (0x20, "authentication")] {
        let sb = Superblock { flags: 8 | flag, ..kernel() };
        assert_eq!(layout(&sb), Err(MountError::Unsupported { feature: expected }));
    }
}

#[test]
fn no_value_of_a_field_overflows() {
    let bytes = node(SUPERBLOCK);
    for at in (28..108).step_by(4) {
        for value in [0_u32, 1, 0x7FFF_FFFF, 0x8000_0000, u32::MAX] {
            let mut bytes = bytes.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            drop(layout(&Superblock::parse(&bytes).unwrap()));
        }
    }
}
