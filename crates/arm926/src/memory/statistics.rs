//! The counts of the memory system.
//!
//! Layer: rank 3. Stalls are in core clock cycles; each stall cycle is counted once, by its cause.

use serde::{Deserialize, Serialize};

/// The lookups and misses of a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCounts {
    /// Read lookups; in the instruction cache one for each line entered.
    pub reads: u64,
    /// Read misses, each of which refills a line unless all ways are locked.
    pub read_misses: u64,
    /// Write lookups.
    pub writes: u64,
    /// Write misses, which go to memory.
    pub write_misses: u64,
    /// Lines replaced by refills.
    pub replaced: u64,
    /// Half-lines written back, by replacement or maintenance.
    pub half_lines_written: u64,
}

/// Stall cycles by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Refills of the instruction cache, and uncached fetches.
    pub fetch: u64,
    /// Refills of the data cache.
    pub data: u64,
    /// Translation table walks.
    pub walk: u64,
    /// Full write buffers, and drains.
    pub write_buffer: u64,
    /// Uncached reads and unbuffered writes.
    pub uncached: u64,
    /// Maintenance that tests several sets of the data cache.
    pub maintenance: u64,
}

/// All counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// The instruction cache.
    pub instruction_cache: CacheCounts,
    /// The data cache.
    pub data_cache: CacheCounts,
    /// TLB lookups with the MMU on: one for each cache lookup and each uncached access.
    pub tlb_lookups: u64,
    /// Translation table walks.
    pub tlb_misses: u64,
    /// Descriptors read by walks.
    pub descriptors: u64,
    /// Uncached fetches.
    pub uncached_fetches: u64,
    /// Uncached data reads.
    pub uncached_reads: u64,
    /// Writes that stalled the core until they completed.
    pub unbuffered_writes: u64,
    /// Writes to the store buffer.
    pub buffered_writes: u64,
    /// Buffered writes and write-backs that the bus answered with an error, invisible to the core.
    pub lost_writes: u64,
    /// Stall cycles.
    pub waiting: Waiting,
}
