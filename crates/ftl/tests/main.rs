//! The integration tests of this crate, in one program, since linking twenty programs takes longer
//! than most of the tests.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

mod amplification;
mod ceiling;
mod demand_map;
mod integrity;
mod log_bands;
mod log_block;
mod log_integrity;
mod log_power_cut;
mod log_theory;
mod log_tiny;
mod log_wear;
mod own_collection;
mod power_cut;
mod reliability;
mod rest;
mod slc_cache;
mod theory;
mod timed_runs;
mod tiny;
mod wear;
