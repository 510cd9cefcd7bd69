//! The cost of each kind of work, derived from a core: its clock, its caches and the memory behind them.
//!
//! Layer: rank 8. Main type: [`Core`]. What the work is does not depend on the core: instructions, lines that
//! are always fetched, lines that are changed and pushed out, and tables that may or may not fit the cache. It was
//! counted on the sources of Linux 2.6 for a core that takes a cycle for an instruction; `docs/models/host.md` has the
//! equation and the counts.

use boardlab_document::quantity::Ratio;
use boardlab_document::section;
use boardlab_sim::{Bytes, Duration, Hertz};
use boardlab_vfs::{Cost, Work};

/// Code and data that the kernel uses between two pieces of work, and that take each other's place in a small cache.
const KERNEL: Bytes = Bytes::kib(64);
/// Instructions of a path through the kernel for each line that it needs of them.
const INSTRUCTIONS_A_LINE: u64 = 20;

section! {
    /// A core.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) struct Core {
        /// Cycles of an instruction whose data are in the cache.
        cycles_per_instruction: Ratio =>
            within(Ratio::from_millionths(100_000), Ratio::from_millionths(20_000_000)),
        /// The smaller of the instruction and the data cache.
        cache: Bytes => within(Bytes::kib(1), Bytes::mib(64)),
        /// Bytes of a line of it.
        line: Bytes => within(Bytes::new(8), Bytes::new(256)),
        /// The time until a missing line is in the cache.
        fetch: Duration => up_to(Duration::from_micros(100)),
        /// The time that it takes longer when it pushes a changed line out.
        push: Duration => up_to(Duration::from_micros(100)),
    }
}

/// A kind of work, whatever core does it.
struct Effort {
    /// Instructions each time.
    each: u64,
    /// How much of `each` is a path through the kernel rather than loops.
    path: bool,
    /// Bytes that are fetched each time.
    fetched: Bytes,
    /// Bytes that are changed each time, so that other changed lines are pushed out.
    changed: Bytes,
    /// Instructions for a byte.
    per_byte: u64,
    /// Bytes of tables with an access at random for each byte.
    table: Bytes,
    /// Whether each byte comes from memory.
    streams: bool,
}

const LOOP: Effort = Effort {
    each: 0,
    path: false,
    fetched: Bytes::ZERO,
    changed: Bytes::ZERO,
    per_byte: 0,
    table: Bytes::ZERO,
    streams: false,
};

const fn path(each: u64) -> Effort {
    Effort { each, path: true, ..LOOP }
}

/// The effort of a kind of work. Sources: Linux 2.6, `fs/read_write.c`, `fs/namei.c`, `mm/filemap.c`, `lib/crc32.c`,
/// `lib/zlib_deflate`, `lib/zlib_inflate`, `lib/lzo`, `fs/jffs2/compr_rtime.c`; zstd as in Linux 4.14.
const fn effort(work: Work) -> Effort {
    match work {
        Work::Call => path(2_000),
        Work::Lookup => path(4_000),
        Work::Page => path(2_500),
        Work::Node => path(3_000),
        // A word is loaded, stored, and the loop goes on: four instructions, one byte's worth.
        Work::Copy => Effort { each: 100, per_byte: 1, streams: true, ..LOOP },
        Work::Crc => Effort { each: 50, per_byte: 6, ..LOOP },
        Work::Deflate => Effort {
            each: 22_750,
            fetched: Bytes::kib(16),
            changed: Bytes::kib(64),
            per_byte: 50,
            table: Bytes::kib(64),
            ..LOOP
        },
        Work::Inflate => Effort { each: 40_000, per_byte: 15, ..LOOP },
        Work::LzoCompress => Effort {
            each: 200,
            fetched: Bytes::new(600 * 32),
            per_byte: 15,
            table: Bytes::kib(64),
            ..LOOP
        },
        Work::LzoDecompress => Effort { each: 1_000, per_byte: 6, ..LOOP },
        Work::ZstdCompress => Effort {
            each: 9_824,
            changed: Bytes::kib(32),
            per_byte: 25,
            table: Bytes::kib(64),
            ..LOOP
        },
        Work::ZstdDecompress => Effort { each: 20_000, per_byte: 8, ..LOOP },
        Work::RtimeCompress => Effort { each: 716, changed: Bytes::new(512), per_byte: 18, ..LOOP },
        Work::RtimeDecompress => {
            Effort { each: 716, changed: Bytes::new(512), per_byte: 12, ..LOOP }
        }
    }
}

/// Whether a kind of work pushes out lines that were changed.
pub(super) fn pushes(work: Work) -> bool {
    !effort(work).changed.is_zero()
}

impl Core {
    /// The cost of a kind of work at a clock.
    pub(super) fn cost(self, clock: Hertz, work: Work) -> Cost {
        let effort = effort(work);
        // The cycles of so many lines, rounded once.
        let cycles = |lines: u64, time: Duration| {
            let all = u128::from(lines) * u128::from(time.as_nanos()) * u128::from(clock.get());
            u64::try_from((all + 500_000_000) / 1_000_000_000).unwrap_or(u64::MAX)
        };
        let lines = |bytes: Bytes| bytes.get().div_ceil(self.line.get());
        let run = |count: u64| scaled(count, self.cycles_per_instruction.millionths());
        let missing = |count: u64, of: Bytes| cycles(scaled(count, self.missing(of)), self.fetch);
        let mut each = run(effort.each);
        if effort.path {
            each += missing(effort.each / INSTRUCTIONS_A_LINE, KERNEL);
        }
        each += cycles(lines(effort.fetched), self.fetch)
            + cycles(lines(effort.changed), self.fetch + self.push);
        let kib = Bytes::kib(1);
        let streamed = if effort.streams { cycles(lines(kib), self.fetch) } else { 0 };
        let per_kib =
            run(effort.per_byte * kib.get()) + missing(kib.get(), effort.table) + streamed;
        Cost { each, per_kib }
    }

    /// The share of `bytes`, in millionths, that the cache has no room for.
    fn missing(self, bytes: Bytes) -> u64 {
        match bytes.get().checked_sub(self.cache.get()) {
            Some(left) if left > 0 => left * 1_000_000 / bytes.get(),
            _ => 0,
        }
    }
}

/// `count` times `millionths`.
fn scaled(count: u64, millionths: u64) -> u64 {
    u64::try_from(u128::from(count) * u128::from(millionths) / 1_000_000).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::nand::board;

    fn core(cache: Bytes) -> Core {
        let (fetch, push) = (Duration::from_nanos(100), Duration::from_nanos(50));
        let cycles_per_instruction = Ratio::from_millionths(1_000_000);
        Core { cycles_per_instruction, cache, line: Bytes::new(32), fetch, push }
    }

    /// The board of the publication was counted by hand, kind by kind; the same core derives the same.
    #[test]
    fn the_derived_costs_of_a_mips_at_327_mhz_are_those_that_were_counted() {
        let document = catalog::compose::<&str>("nand-filesystems", &[]).unwrap();
        let boards = document.read(|section| {
            let board = section.section("board", board::read);
            section.leave_rest();
            board
        });
        let counted = boards.unwrap().value;
        let clock = counted.machine.clock;
        for work in Work::ALL {
            let derived = core(Bytes::kib(64)).cost(clock, work);
            let Cost { each, per_kib } = counted.machine.costs[work as usize];
            for (one, other) in [(derived.each, each), (derived.per_kib, per_kib)] {
                assert!(one.abs_diff(other) * 100 <= other, "{}: {one}, {other}", work.name());
            }
        }
    }

    /// By hand, at 100 MHz: a line takes 10 cycles. Of 64 KiB an eighth fits, so 87 of the 100 lines of a system call
    /// are fetched, and 896 of the 1,024 accesses of deflate.
    #[test]
    fn a_small_cache_costs_the_lines_that_do_not_fit() {
        let clock = Hertz::from_hz(100_000_000);
        let cost = |work| core(Bytes::kib(8)).cost(clock, work);
        assert_eq!(cost(Work::Call), Cost { each: 2_000 + 870, per_kib: 0 });
        assert_eq!(cost(Work::Deflate).per_kib, 51_200 + 8_960);
        assert_eq!(cost(Work::Copy), Cost { each: 100, per_kib: 1_024 + 320 });
        let slow = Ratio::from_millionths(1_500_000);
        let slow = Core { cycles_per_instruction: slow, ..core(Bytes::kib(64)) };
        assert_eq!(slow.cost(clock, Work::Crc), Cost { each: 75, per_kib: 9_216 });
    }
}
