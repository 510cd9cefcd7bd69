//! The cost of the host's CPU: a clock frequency, and cycles for each kind of work.
//!
//! Layer: rank 2. Main types: [`Host`], [`Work`], [`Cost`]. A filesystem does the work itself, with
//! real data, and reports the amount to the host. The host advances the clock and keeps count, so
//! that a run can say where the CPU time went. The numbers come from board files, with their
//! sources; `docs/models/host.md` says what they leave out.

use boardlab_sim::{Clock, Duration, Hertz};

/// A kind of work of the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// Entering and leaving the kernel; no bytes.
    Call,
    /// Resolving one component of a path; no bytes.
    Lookup,
    /// Finding or adding one page of the page cache; no bytes.
    Page,
    /// Copying memory; bytes copied.
    Copy,
    /// CRC-32; bytes summed.
    Crc,
    /// zlib's deflate; bytes in. The fixed part clears the tables and builds the codes.
    Deflate,
    /// zlib's inflate; bytes out.
    Inflate,
    /// LZO1X-1 compression; bytes in.
    LzoCompress,
    /// LZO1X decompression; bytes out.
    LzoDecompress,
    /// zstd compression at level 3; bytes in.
    ZstdCompress,
    /// zstd decompression; bytes out.
    ZstdDecompress,
    /// rtime compression; bytes in.
    RtimeCompress,
    /// rtime decompression; bytes out.
    RtimeDecompress,
    /// The filesystem's own bookkeeping for one node or chunk; no bytes.
    Node,
}

impl Work {
    /// Every kind, in the order of its discriminant.
    pub const ALL: [Self; 14] = [
        Self::Call,
        Self::Lookup,
        Self::Page,
        Self::Copy,
        Self::Crc,
        Self::Deflate,
        Self::Inflate,
        Self::LzoCompress,
        Self::LzoDecompress,
        Self::ZstdCompress,
        Self::ZstdDecompress,
        Self::RtimeCompress,
        Self::RtimeDecompress,
        Self::Node,
    ];

    /// The name in board files and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Lookup => "lookup",
            Self::Page => "page",
            Self::Copy => "copy",
            Self::Crc => "crc",
            Self::Deflate => "deflate",
            Self::Inflate => "inflate",
            Self::LzoCompress => "lzo_compress",
            Self::LzoDecompress => "lzo_decompress",
            Self::ZstdCompress => "zstd_compress",
            Self::ZstdDecompress => "zstd_decompress",
            Self::RtimeCompress => "rtime_compress",
            Self::RtimeDecompress => "rtime_decompress",
            Self::Node => "node",
        }
    }
}

/// Cycles of one piece of work: a fixed part and a part per KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Cycles each time.
    pub each: u64,
    /// Cycles for 1,024 bytes.
    pub per_kib: u64,
}

/// The total of one kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkTotal {
    /// How often it was done.
    pub count: u64,
    /// How many bytes it processed.
    pub bytes: u64,
    /// The time it took.
    pub time: Duration,
}

/// A CPU whose work takes time, with the totals of its work.
#[derive(Debug, Clone)]
pub struct Host {
    frequency: Hertz,
    costs: [Cost; Work::ALL.len()],
    done: [WorkTotal; Work::ALL.len()],
}

impl Host {
    /// A CPU at `frequency`; work of `kind` costs `costs(kind)`.
    #[must_use]
    pub fn new(frequency: Hertz, costs: impl Fn(Work) -> Cost) -> Self {
        Self { frequency, costs: Work::ALL.map(costs), done: Default::default() }
    }

    /// A CPU whose work takes no time but is counted.
    #[must_use]
    pub fn free() -> Self {
        Self::new(Hertz::from_hz(1), |_| Cost::default())
    }

    /// Advances the clock by one piece of work on `bytes` bytes, rounded once to the nearest
    /// nanosecond.
    pub fn spend(&mut self, clock: &mut Clock, work: Work, bytes: usize) {
        let cost = self.costs[work as usize];
        let bytes = u64::try_from(bytes).expect("a length fits u64");
        let time = self.frequency.time_of(cost.each + cost.per_kib * bytes / 1_024);
        let done = &mut self.done[work as usize];
        done.count += 1;
        done.bytes += bytes;
        done.time += time;
        clock.advance(time);
    }

    /// The total of a kind of work.
    #[must_use]
    pub const fn work_total(&self, work: Work) -> WorkTotal {
        self.done[work as usize]
    }

    /// The time of all work.
    #[must_use]
    pub fn busy(&self) -> Duration {
        self.done.iter().fold(Duration::ZERO, |sum, done| sum + done.time)
    }

    /// Resets all totals.
    pub fn reset(&mut self) {
        self.done = Default::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_listed_in_the_order_of_their_discriminant() {
        for (index, work) in Work::ALL.into_iter().enumerate() {
            assert_eq!(work as usize, index);
        }
    }

    #[test]
    fn work_costs_a_fixed_part_and_a_part_by_size() {
        let cost = |work| match work {
            Work::Crc => Cost { each: 100, per_kib: 4_096 },
            _ => Cost::default(),
        };
        let (mut host, mut clock) = (Host::new(Hertz::from_hz(1_000_000), cost), Clock::new());
        host.spend(&mut clock, Work::Crc, 512);
        host.spend(&mut clock, Work::Copy, 1_000_000);
        assert_eq!(clock.now().as_nanos(), 2_148_000);
        assert_eq!(host.work_total(Work::Crc).time, Duration::from_micros(2_148));
        assert_eq!(
            (host.work_total(Work::Copy).count, host.work_total(Work::Copy).bytes),
            (1, 1_000_000)
        );
        assert_eq!(host.busy(), Duration::from_micros(2_148));
    }
}
