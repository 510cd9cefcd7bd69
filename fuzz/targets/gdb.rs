#![no_main]

#[path = "../harness/gdb.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::run(input));
