//! Mount, walk, read and write of UBIFS on a volume of unknown content.
//!
//! An input consists of nodes ([`untrusted::pieces`]), whose checksums are made right when the volume is
//! made. The mutator inserts, copies, moves and changes them, and lets one refer to another.

#![no_main]

#[path = "../pieces/mod.rs"]
mod pieces;
mod template;
#[path = "../../../crates/image/tests/untrusted/mod.rs"]
mod untrusted;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use peak_alloc::PeakAlloc;
use untrusted::ubifs::{SHAPES, lebs};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const TARGET: pieces::Target =
    pieces::Target { shapes: SHAPES.len(), blocks: lebs, template: template::template };

fuzz_target!(|bytes: &[u8]| {
    untrusted::ubifs::run(bytes);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    pieces::mutate(&TARGET, data, (size, max_size), seed)
});
