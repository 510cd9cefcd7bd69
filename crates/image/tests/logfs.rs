//! Images of LogFS: that of a kernel, damaged and forged ones, and new ones.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

mod asked;
#[path = "logfs/damage.rs"]
mod damage;
#[path = "logfs/images.rs"]
mod images;
#[path = "logfs/layouts.rs"]
mod layouts;
#[cfg(unix)]
#[path = "logfs/made.rs"]
mod made;
#[path = "logfs/mend.rs"]
mod mend;
#[path = "logfs/untrusted.rs"]
mod untrusted;
