//! Mount, walk and read of YAFFS on a flash of unknown content.
//!
//! Pages have no check sum but the code over their tags, which not all layouts have. So bytes that are changed at
//! random are looked at, and no mutator is needed.

#![no_main]

#[path = "../../../crates/image/tests/untrusted/mod.rs"]
mod untrusted;

use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fuzz_target!(|bytes: &[u8]| {
    untrusted::yaffs2::run(bytes);
});
