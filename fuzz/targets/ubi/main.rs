//! Attach, read and write of UBI on a flash of unknown content.
//!
//! An input consists of headers, tables and data ([`untrusted::pieces`]), whose checksums are made
//! right when the flash is made. The mutator inserts, copies, moves and changes them.

#![no_main]

#[path = "../pieces/mod.rs"]
mod pieces;
mod template;
#[path = "../../../crates/image/tests/untrusted/mod.rs"]
mod untrusted;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use peak_alloc::PeakAlloc;
use untrusted::ubi::{SHAPES, Shape};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const TARGET: pieces::Target = pieces::Target {
    shapes: SHAPES.len(),
    blocks: |number| Shape::of(number).pieces(),
    template: template::template,
};

fuzz_target!(|bytes: &[u8]| {
    untrusted::ubi::run(bytes);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    pieces::mutate(&TARGET, data, (size, max_size), seed)
});
