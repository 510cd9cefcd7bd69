//! The tests of this crate from outside, in one program, since linking twenty takes longer than
//! most of them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

mod blktrace;
mod fio_any_job;
mod fio_engine;
mod fio_oracle;
mod fio_output;
mod fio_refusals;
mod kernel_ubifs;
mod logfs_oracle;
mod model;
mod mtd_debug;
mod powercut;
mod powercut_jffs2;
mod powercut_logfs;
mod powercut_plans;
mod powercut_ubifs;
mod powercut_yaffs;
mod tiobench;
mod trace;
mod tree;
mod yaffs_oracle;
