//! The integration tests of this crate, in one program, since linking twenty takes longer than most of
//! them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

mod device;
mod device_on_link;
mod device_storage;
mod disk;
mod drive;
mod errors;
mod fast;
mod fast_agrees;
mod fast_chatter;
mod host;
mod host_and_ssd;
mod host_on_link;
mod link;
mod link_damage;
mod link_faults;
mod link_flow;
mod link_paths;
mod link_rig;
mod link_store;
mod pair;
mod toy;
mod wire;
