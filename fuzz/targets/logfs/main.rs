//! Mount, walk and read of LogFS on a flash of unknown content.
//!
//! Checksums are made right when the flash is made, unless an option says otherwise. So bytes that are changed at random
//! are looked at, and no mutator is needed.

#![no_main]

#[path = "../../../crates/image/tests/untrusted/mod.rs"]
mod untrusted;

use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fuzz_target!(|bytes: &[u8]| {
    untrusted::logfs::run(bytes);
});
