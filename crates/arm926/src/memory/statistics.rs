//! Counts of the memory system.
//!
//! Layer: rank 3. Cycles of waiting are core clock cycles.

use serde::{Deserialize, Serialize};

/// Lookups and misses of one cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCounts {
    /// Reads that looked there: of the instruction side one whenever fetching enters another line.
    pub reads: u64,
    /// Reads that missed, each of which fills a line.
    pub read_misses: u64,
    /// Writes that looked there.
    pub writes: u64,
    /// Writes that missed, and went to memory.
    pub write_misses: u64,
    /// Half-lines that were written back.
    pub half_lines_written: u64,
}

/// Where the core waited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// For lines of the instruction cache, and uncached fetches.
    pub fetch: u64,
    /// For lines of the data cache.
    pub data: u64,
    /// For translation table walks.
    pub walk: u64,
    /// For room in the write buffers, or for them to drain.
    pub write_buffer: u64,
    /// For uncached reads and unbuffered writes.
    pub uncached: u64,
}

/// All counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// The instruction cache.
    pub instruction_cache: CacheCounts,
    /// The data cache.
    pub data_cache: CacheCounts,
    /// Lookups of the TLB: one for each lookup of a cache, and each uncached access.
    pub tlb_lookups: u64,
    /// Walks.
    pub tlb_misses: u64,
    /// Cycles of waiting.
    pub waiting: Waiting,
}
