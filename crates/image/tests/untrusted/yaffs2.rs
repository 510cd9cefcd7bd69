//! A YAFFS of unknown content: what an input of its fuzz target stands for, and how it is read.
//!
//! The first byte of an input is the layout, the second has the options, and then there is one page after the other,
//! each with its spare bytes. What is missing is erased.

use super::{WalkCounts, walk, within_limits, write_on};
use boardlab_mtd::stats::Stats;
use boardlab_mtd::{Mtd, PageIndex, RamMtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::FileSystem;
use boardlab_yaffs2::format::ByteOrder;
use boardlab_yaffs2::format::tags1::Layout1;
use boardlab_yaffs2::{Options, TagsPlace, Yaffs};

const BLOCKS: u32 = 24;
const PAGES: u32 = 8;

/// Where the tags are, the bytes of a page, and its spare bytes.
const LAYOUTS: [(TagsPlace, u32, u32); 5] = [
    (TagsPlace::Oob { ecc: false }, 1_024, 16),
    (TagsPlace::Oob { ecc: true }, 1_024, 28),
    (TagsPlace::InBand, 1_024, 0),
    (TagsPlace::Yaffs1(Layout1::Around), 512, 16),
    (TagsPlace::Yaffs1(Layout1::Packed), 512, 8),
];

/// What the tables take whatever the size of the flash: objects are found by their number, of which there are 2^18, in
/// an index of eight bytes each, which may double as it grows.
const FIXED: usize = 5 << 20;

/// Reads the flash of an input within the limits.
pub(crate) fn run(input: &[u8]) -> WalkCounts {
    let (&[layout, bits], pages) = input.split_first_chunk().unwrap_or((&[0, 0], &[]));
    let (tags, page, spare) = LAYOUTS[usize::from(layout) % LAYOUTS.len()];
    let flash = flash(pages, page, spare);
    let size = (BLOCKS * PAGES * page) as usize;
    let options = options(tags, bits);
    within_limits((size, FIXED), || read_everything(flash, &options))
}

/// How it is mounted.
fn options(tags: TagsPlace, bits: u8) -> Options {
    let on = |bit: u8| bits >> bit & 1 == 1;
    let writes = on(0);
    Options {
        tags,
        byte_order: if on(1) { ByteOrder::Big } else { ByteOrder::Little },
        summary: on(2),
        read_checkpoint: on(3),
        repaired: on(4),
        lazy_load: on(5),
        read_only: !writes,
        empty_lost_and_found: writes && on(6),
        caches: if on(7) { 10 } else { 0 },
        ..Options::default()
    }
}

fn flash(pages: &[u8], page: u32, spare: u32) -> RamMtd {
    let (size, free) = (Bytes::new(page.into()), Bytes::new(spare.max(2).into()));
    let mut flash = RamMtd::nand(BLOCKS, PAGES, size, free);
    let (page, spare) = (page as usize, spare as usize);
    let pages = pages.chunks_exact(page + spare).take((BLOCKS * PAGES) as usize);
    for (number, bytes) in (0..).zip(pages) {
        let (data, spare) = bytes.split_at(page);
        let page = PageIndex(number);
        flash.program_oob(&mut Clock::new(), page, data, spare).expect("an erased page");
    }
    flash
}

/// Mounts, walks over every name and reads every file; then writes, and reads all of it again.
fn read_everything(flash: RamMtd, options: &Options) -> WalkCounts {
    let (mut flash, mut found) = (Stats::new(flash), WalkCounts::default());
    found.mounted = mounted(&mut flash, options, &mut found, !options.read_only);
    if found.mounted && !options.read_only {
        assert!(mounted(&mut flash, options, &mut found, false), "it was mounted before");
    }
    found.count_reads(&flash);
    found
}

fn mounted(
    flash: &mut Stats<RamMtd>,
    options: &Options,
    found: &mut WalkCounts,
    writes: bool,
) -> bool {
    let clock = &mut Clock::new();
    let Ok(mut fs) = Yaffs::mount(clock, flash, options.clone()) else { return false };
    if options.read_only {
        // A collection believes the tags in the pages, and the tables summaries that say otherwise: a chunk may go that
        // they have, which reads as a hole.
        fs.check_tables().expect("whatever is on the flash, the tables agree");
    }
    walk(&mut fs, clock, found);
    if writes {
        write_on(&mut fs, clock);
    }
    true
}
