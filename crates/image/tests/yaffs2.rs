//! Images of YAFFS: those of a kernel and of the public sources, moved, damaged and forged ones.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

mod asked;
#[path = "yaffs2/check.rs"]
mod check;
#[path = "yaffs2/damage.rs"]
mod damage;
#[path = "yaffs2/forged.rs"]
mod forged;
#[path = "yaffs2/images.rs"]
mod images;
#[path = "yaffs2/layouts.rs"]
mod layouts;
#[cfg(unix)]
#[path = "yaffs2/made.rs"]
mod made;
#[path = "yaffs2/maker.rs"]
mod maker;
#[path = "yaffs2/past.rs"]
mod past;
#[path = "yaffs2/untrusted.rs"]
mod untrusted;
