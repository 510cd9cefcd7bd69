//! A LogFS of unknown content: what an input of its fuzz target stands for, and how it is read.
//!
//! The first byte of an input has the options. Then there is one piece after the other: the numbers of its segment and of
//! its first page there, its length in two bytes, and its bytes. Its last page is filled with zeros; what is missing is
//! erased.

#[path = "../logfs/mend.rs"]
mod mend;

use super::{WalkCounts, walk, within_limits, write_on};
use boardlab_logfs::{Logfs, Options};
use boardlab_mtd::stats::Stats;
use boardlab_mtd::{Mtd, RamMtd};
use boardlab_sim::{Bytes, Clock};

const BLOCKS: u32 = 32;
const PAGES: u32 = 64;
const PAGE: usize = 512;
const SEGMENT: usize = 32 << 10;

/// What a mount takes whatever the size of the flash: zlib to write, and the pages that a collection reads.
const FIXED: usize = 2 << 20;

/// Reads the flash of an input within the limits.
pub(crate) fn run(input: &[u8]) -> WalkCounts {
    let (&bits, pieces) = input.split_first().unwrap_or((&0, &[]));
    let on = |bit: u8| bits >> bit & 1 == 1;
    let size = BLOCKS as usize * SEGMENT;
    let flash = flash(pieces, !on(1));
    let options = Options { read_only: !on(0), faithful: on(2), ..Options::default() };
    within_limits((size, FIXED), || read_everything(flash, &options))
}

fn flash(mut pieces: &[u8], mended: bool) -> RamMtd {
    let mut content = vec![0xFF; BLOCKS as usize * SEGMENT];
    while let Some((&[segment, page, high, low], rest)) = pieces.split_first_chunk() {
        let page = usize::from(page) % PAGES as usize * PAGE;
        let start = usize::from(segment) % BLOCKS as usize * SEGMENT + page;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let length = length.min(SEGMENT - page).min(rest.len());
        let (piece, rest) = rest.split_at(length);
        content[start..start + length].copy_from_slice(piece);
        content[start + length..start + length.next_multiple_of(PAGE)].fill(0);
        pieces = rest;
    }
    if mended {
        mend::mend(&mut content, SEGMENT);
    }
    let unit = Bytes::new(PAGE as u64);
    let mut flash = RamMtd::nand(BLOCKS, PAGES, unit, Bytes::new(16));
    for (number, page) in (0_u64..).zip(content.chunks_exact(PAGE)) {
        if page.iter().any(|&byte| byte != 0xFF) {
            flash.program(&mut Clock::new(), unit * number, page).expect("an erased page");
        }
    }
    flash
}

/// Mounts, walks over every name and reads every file; then writes, and reads all of it again.
fn read_everything(flash: RamMtd, options: &Options) -> WalkCounts {
    let (mut flash, mut found) = (Stats::new(flash), WalkCounts::default());
    found.mounted = mounted(&mut flash, options, &mut found);
    if found.mounted && !options.read_only {
        let again = Options { read_only: true, ..options.clone() };
        mounted(&mut flash, &again, &mut found);
    }
    found.count_reads(&flash);
    found
}

fn mounted(flash: &mut Stats<RamMtd>, options: &Options, found: &mut WalkCounts) -> bool {
    let clock = &mut Clock::new();
    let Ok(mut fs) = Logfs::mount(clock, flash, options.clone()) else { return false };
    walk(&mut fs, clock, found);
    match options.read_only {
        true => drop(fs.audit(clock)),
        false => write_on(&mut fs, clock),
    }
    true
}
