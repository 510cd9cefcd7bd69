//! Mount, walk and read of JFFS2 on a flash of unknown content.
//!
//! Everything on the flash has a check sum, so bytes that are changed at random are hardly ever looked
//! at. The mutator therefore works on nodes too, and makes most check sums right again ([`mutate`]).
//! Besides panics, it looks for memory above four times the flash and for reads without end.

#![no_main]

mod mutate;
#[path = "../../../crates/image/tests/untrusted/mod.rs"]
mod untrusted;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fuzz_target!(|bytes: &[u8]| {
    untrusted::jffs2::run(bytes);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::mutate(data, size, max_size, seed)
});
