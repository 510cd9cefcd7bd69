//! The kernel's tick counter, by which garbage collection chooses a block.
//!
//! Layer: rank 5. Main type: [`Ticks`]. The kernel uses `jiffies % 128`. Hardly any time passes
//! between two operations that change the flash, so all choices between them use the same number;
//! that matters. Blocks in which only the summary is live are chosen one after the other, ten and
//! more, until a moved node fills the page of the write buffer that they wait for. With a new
//! number for each choice, one in seven would be a block that is hardly dirty; in Linux it is one
//! in fifty (docs/models/jffs2-gc.md).
//!
//! The number depends on the speed of the machine and on the time since power-on. Here a new one is
//! drawn after each change of the flash, so that a run is reproducible.
//!
//! Source: Linux 6.1, `jffs2_find_gc_block` of `fs/jffs2/gc.c`, `jffs2_mark_node_obsolete` of
//! `nodemgmt.c`.

use boardlab_sim::Stream;

/// Choices repeat after this many ticks.
const PERIOD: u64 = 128;

/// The tick counter.
#[derive(Debug, Clone)]
pub(crate) struct Ticks {
    stream: Stream,
    shown: Option<u64>,
}

impl Ticks {
    /// A counter whose numbers come from `stream`.
    pub(crate) const fn new(stream: Stream) -> Self {
        Self { stream, shown: None }
    }

    /// The flash was programmed or erased, so time has passed.
    pub(crate) const fn pass(&mut self) {
        self.shown = None;
    }

    /// The present number from 0 to 127.
    pub(crate) fn shown(&mut self) -> u64 {
        *self.shown.get_or_insert_with(|| self.stream.below(PERIOD))
    }

    /// Draws a choice that happens once in 128 times, however quickly the choices follow each other.
    pub(crate) fn one_in_period(&mut self) -> bool {
        self.stream.below(PERIOD) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{PERIOD, Ticks};
    use boardlab_sim::Seed;

    #[test]
    fn the_number_stays_until_the_flash_changes_and_takes_every_value() {
        let mut ticks = Ticks::new(Seed::new(1).stream("test"));
        let mut seen = [false; 128];
        for _ in 0..10_000 {
            let shown = ticks.shown();
            assert!(shown < PERIOD);
            assert_eq!(ticks.shown(), shown);
            seen[usize::try_from(shown).unwrap()] = true;
            ticks.pass();
        }
        assert!(seen.iter().all(|&seen| seen));
    }
}
