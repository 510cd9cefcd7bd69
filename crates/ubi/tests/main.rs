//! UBI on flashes in memory: in one program, since linking several takes longer than most of them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod devices;
mod fastmaps;
mod faults;
mod hostile;
mod kernel;
mod model;
mod nand;
mod part;
mod power_cuts;
mod tools;
mod volumes;
