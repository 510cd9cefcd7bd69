#![no_main]

#[path = "../harness/yaffs2.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::run(input));
