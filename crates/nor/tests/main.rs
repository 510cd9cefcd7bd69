//! The tests of this crate from outside, in one program, since linking twenty takes longer than most of them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

mod bus_bursts;
mod chip_buffer;
mod chip_faults;
mod chip_model;
mod chip_power;
mod chip_protect;
mod chip_qemu;
mod chip_reference;
mod chip_rig;
mod chip_suspend;
mod driver;
mod driver_bench;
mod passed;
mod tuner;
