//! YAFFS by its public interface.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod forged;
mod weaknesses;
