//! What the host's CPU costs: a clock frequency, and cycles for each kind of work.
//!
//! Layer: rank 2. Main types: [`Host`], [`Work`], [`Cost`]. A filesystem does the work itself, with real
//! data, and tells the host how much of it there was; the host moves the clock on and keeps count, so
//! that a run can say where the CPU's time went. The numbers come from board files, with their
//! sources; what they leave out is said in `docs/models/host.md`.

use boardlab_sim::{Clock, Duration, Hertz};

/// A kind of work of the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// Entering the kernel and leaving it; no bytes.
    Call,
    /// Resolving one component of a path; no bytes.
    Lookup,
    /// Finding or adding one page of the page cache; no bytes.
    Page,
    /// Copying memory; bytes copied.
    Copy,
    /// CRC-32; bytes summed.
    Crc,
    /// zlib's deflate; bytes in. Its fixed part clears the tables and builds the codes.
    Deflate,
    /// zlib's inflate; bytes out.
    Inflate,
    /// LZO1X-1 compression; bytes in.
    LzoCompress,
    /// LZO1X decompression; bytes out.
    LzoDecompress,
    /// rtime compression; bytes in.
    RtimeCompress,
    /// rtime decompression; bytes out.
    RtimeDecompress,
    /// The filesystem's own bookkeeping for one node or chunk; no bytes.
    Node,
}

impl Work {
    /// Every kind, in the order of its discriminant.
    pub const ALL: [Self; 12] = [
        Self::Call,
        Self::Lookup,
        Self::Page,
        Self::Copy,
        Self::Crc,
        Self::Deflate,
        Self::Inflate,
        Self::LzoCompress,
        Self::LzoDecompress,
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
            Self::RtimeCompress => "rtime_compress",
            Self::RtimeDecompress => "rtime_decompress",
            Self::Node => "node",
        }
    }
}

/// Cycles of one piece of work: so many each time, and so many a KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Each time.
    pub each: u64,
    /// For 1,024 bytes.
    pub per_kib: u64,
}

/// How much of one kind of work was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    /// How often.
    pub count: u64,
    /// On how many bytes.
    pub bytes: u64,
    /// The time it took.
    pub time: Duration,
}

/// A CPU that costs time, and what it did.
#[derive(Debug, Clone)]
pub struct Host {
    frequency: Hertz,
    costs: [Cost; Work::ALL.len()],
    done: [Done; Work::ALL.len()],
}

impl Host {
    /// A CPU at `frequency` for which work of `kind` costs `costs(kind)`.
    #[must_use]
    pub fn new(frequency: Hertz, costs: impl Fn(Work) -> Cost) -> Self {
        Self { frequency, costs: Work::ALL.map(costs), done: Default::default() }
    }

    /// A CPU whose work costs no time; it is counted all the same.
    #[must_use]
    pub fn free() -> Self {
        Self::new(Hertz::from_hz(1), |_| Cost::default())
    }

    /// Spends the time of one piece of work on `bytes` bytes, rounded once to the nearest nanosecond.
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

    /// How much work of a kind was done.
    #[must_use]
    pub const fn done(&self, work: Work) -> Done {
        self.done[work as usize]
    }

    /// The time of all work.
    #[must_use]
    pub fn busy(&self) -> Duration {
        self.done.iter().fold(Duration::ZERO, |sum, done| sum + done.time)
    }

    /// Counts from zero again.
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
        assert_eq!(host.done(Work::Crc).time, Duration::from_micros(2_148));
        assert_eq!((host.done(Work::Copy).count, host.done(Work::Copy).bytes), (1, 1_000_000));
        assert_eq!(host.busy(), Duration::from_micros(2_148));
    }
}
