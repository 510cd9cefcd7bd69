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
use untrusted::{Flash, Input};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fuzz_target!(|bytes: &[u8]| {
    let input = Input::parse(bytes);
    let mut flash = Flash::of(&input);
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let found = flash.read_everything();
    let memory = MEMORY.peak_usage() - before;
    untrusted::check_limits(&input, &found, memory);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::mutate(data, size, max_size, seed)
});
