//! The memory system: MMU, TLB, caches with data, buffers, coprocessor registers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bench;
mod caches;
mod control;
mod costs;
mod fcse;
mod mmu;
mod random;
mod tlb;
