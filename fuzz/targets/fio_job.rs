#![no_main]

#[path = "../harness/fio_job.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::run(input));
