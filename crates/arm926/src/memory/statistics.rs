//! Counts of the memory system.
//!
//! Layer: rank 3. Cycles of waiting are core clock cycles; each cycle of waiting is counted once, for what the core waited for.

use serde::{Deserialize, Serialize};

/// Lookups and misses of one cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCounts {
    /// Reads that looked there: of the instruction side one whenever fetching enters another line.
    pub reads: u64,
    /// Reads that missed, each of which fills a line (unless all ways are locked).
    pub read_misses: u64,
    /// Writes that looked there.
    pub writes: u64,
    /// Writes that missed, and went to memory.
    pub write_misses: u64,
    /// Lines that a fill replaced.
    pub replaced: u64,
    /// Half-lines that were written back, by replacement or by an operation.
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
    /// For operations that look at several sets of the data cache.
    pub maintenance: u64,
}

/// All counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// The instruction cache.
    pub instruction_cache: CacheCounts,
    /// The data cache.
    pub data_cache: CacheCounts,
    /// Lookups of the TLB: one for each lookup of a cache, and each uncached access, with the MMU on.
    pub tlb_lookups: u64,
    /// Walks.
    pub tlb_misses: u64,
    /// Descriptors that walks read.
    pub descriptors: u64,
    /// Fetches past the instruction cache.
    pub uncached_fetches: u64,
    /// Reads of data past the data cache.
    pub uncached_reads: u64,
    /// Writes for which the core waited.
    pub unbuffered_writes: u64,
    /// Writes that went into the store buffer.
    pub buffered_writes: u64,
    /// Buffered writes and lines written back that the board answered with an error, which the core does not see.
    pub lost_writes: u64,
    /// Cycles of waiting.
    pub waiting: Waiting,
}
