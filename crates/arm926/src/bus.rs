//! The core's view of a board: the trait [`Bus`].
//!
//! Layer: rank 3, the interface between this crate and a board. The core is the only bus master. A
//! board answers transfers at once, with the data and wait states, and reports the interrupt lines and
//! when they may change. Widths and bursts are those of AHB; memory is little-endian.

use serde::{Deserialize, Serialize};

use crate::address::{Cycles, Physical};

/// The width of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Width {
    /// 8 bits.
    Byte,
    /// 16 bits, at an even address.
    Half,
    /// 32 bits, at a multiple of four.
    Word,
}

impl Width {
    /// The width in bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Byte => 1,
            Self::Half => 2,
            Self::Word => 4,
        }
    }
}

/// The wait states of a transfer in bus clock cycles, besides one for the address and one per word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Waits {
    /// Before the first word.
    pub first: u16,
    /// Before each further word of a burst.
    pub next: u16,
}

/// The answer to a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The data, right-aligned.
    pub value: u32,
    /// The wait states.
    pub waits: Waits,
}

/// A bus error: the slave's, or no slave has the address. The core takes an external abort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BusFault;

/// The interrupt lines at one instant. The default is inactive, and valid for no time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lines {
    /// nIRQ is asserted.
    pub irq: bool,
    /// nFIQ is asserted.
    pub fiq: bool,
    /// The next cycle at which a line may change without an access; [`Cycles::NEVER`] if none.
    pub until: Cycles,
    /// Whether the run must stop ([`crate::Stop::Board`]), since the board does not model the access.
    pub halt: bool,
}

/// The addresses of a burst.
fn words(at: Physical) -> impl Iterator<Item = Physical> {
    (0..).map(move |index: u32| Physical(at.0.wrapping_add(4 * index)))
}

/// The wait states of a burst of single transfers.
#[derive(Debug, Default)]
struct Burst {
    waits: Waits,
    begun: bool,
}

impl Burst {
    /// Adds the next word.
    fn add(&mut self, waits: Waits) {
        if std::mem::replace(&mut self.begun, true) {
            self.waits.next = self.waits.next.max(waits.next);
        } else {
            self.waits.first = waits.first;
        }
    }
}

/// The bus of a core. By default, bursts consist of single transfers.
pub trait Bus {
    /// Reads at the instant `now`; `at` is aligned to `width`.
    ///
    /// # Errors
    ///
    /// [`BusFault`] is taken by the core as an external abort.
    fn read(&mut self, at: Physical, width: Width, now: Cycles) -> Result<Reply, BusFault>;

    /// Writes the right-aligned `value` at the instant `now`; `at` is aligned to `width`.
    ///
    /// # Errors
    ///
    /// [`BusFault`] as in [`Bus::read`].
    fn write(
        &mut self,
        at: Physical,
        width: Width,
        value: u32,
        now: Cycles,
    ) -> Result<Waits, BusFault>;

    /// Reads the 32 bytes of a cached line as one burst. The default reads words by [`Bus::read`]. Its
    /// wait states are those of the first word, and the largest `next` of the others.
    ///
    /// # Errors
    ///
    /// [`BusFault`] as in [`Bus::read`].
    fn read_line(
        &mut self,
        at: Physical,
        line: &mut [u8; 32],
        now: Cycles,
    ) -> Result<Waits, BusFault> {
        let mut burst = Burst::default();
        for (place, word) in words(at).zip(line.as_chunks_mut::<4>().0) {
            let reply = self.read(place, Width::Word, now)?;
            *word = reply.value.to_le_bytes();
            burst.add(reply.waits);
        }
        Ok(burst.waits)
    }

    /// Writes half a line or a line (16 or 32 bytes) as one burst. The default writes words by
    /// [`Bus::write`], with wait states as in [`Bus::read_line`].
    ///
    /// # Errors
    ///
    /// [`BusFault`] as in [`Bus::read`]; the words before it are written.
    fn write_burst(&mut self, at: Physical, data: &[u8], now: Cycles) -> Result<Waits, BusFault> {
        let mut burst = Burst::default();
        for (place, word) in words(at).zip(data.as_chunks::<4>().0) {
            burst.add(self.write(place, Width::Word, u32::from_le_bytes(*word), now)?);
        }
        Ok(burst.waits)
    }

    /// The interrupt lines at `now`. The core samples them at the first boundary at or after `until`,
    /// and after each instruction with a single transfer to other than [memory](Bus::is_memory), unless it
    /// [changes nothing](Bus::lines_may_differ).
    fn lines(&mut self, now: Cycles) -> Lines;

    /// Whether an interrupt line, or the time of its next change, may differ from what [`Bus::lines`] last
    /// returned, because of an access since. The core asks after reads of other than memory.
    fn lines_may_differ(&self) -> bool {
        true
    }

    /// Whether an access at `at` reaches only memory, so that no interrupt line changes. It is the same for all
    /// addresses of a cache line.
    fn is_memory(&self, _at: Physical) -> bool {
        false
    }

    /// Writes to [memory](Bus::is_memory) as [`Bus::write`] does at any instant; `None`, and nothing is written,
    /// where the access may reach more. The default leaves all accesses to [`Bus::write`].
    fn write_memory(&mut self, _at: Physical, _width: Width, _value: u32) -> Option<Waits> {
        None
    }

    /// Writes at least one word, from the aligned `at` on and within a cache line, as one [`Bus::write_memory`]
    /// each with these wait states; `None`, and nothing is written, where they may reach more than memory or
    /// where their wait states differ. The default leaves all words to [`Bus::write`].
    fn write_words(&mut self, _at: Physical, _values: &[u32]) -> Option<Waits> {
        None
    }

    /// Reads the aligned word at `at` without time or side effects; `None` without memory.
    fn peek(&self, at: Physical) -> Option<u32>;

    /// Replaces the aligned word at `at` without time; returns whether there is memory.
    fn poke(&mut self, at: Physical, value: u32) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ram::Ram;

    /// Memory that says nothing of bursts.
    struct Plain(Ram);

    impl Bus for Plain {
        fn read(&mut self, at: Physical, width: Width, now: Cycles) -> Result<Reply, BusFault> {
            self.0.read(at, width, now)
        }

        fn write(
            &mut self,
            at: Physical,
            width: Width,
            value: u32,
            now: Cycles,
        ) -> Result<Waits, BusFault> {
            self.0.write(at, width, value, now)
        }

        fn lines(&mut self, now: Cycles) -> Lines {
            self.0.lines(now)
        }

        fn peek(&self, at: Physical) -> Option<u32> {
            self.0.peek(at)
        }

        fn poke(&mut self, at: Physical, value: u32) -> bool {
            self.0.poke(at, value)
        }
    }

    #[test]
    fn a_board_that_says_nothing_of_bursts_has_those_of_single_transfers() {
        let waits = Waits { first: 5, next: 2 };
        let mut ram = Ram::new(256, waits);
        let data: Vec<u8> = (0..32).collect();
        let now = Cycles(7);
        let mut plain = Plain(ram.clone());
        for (at, length) in [(0, 32), (64, 16), (240, 16)] {
            let written = ram.write_burst(Physical(at), &data[..length], now);
            assert_eq!(plain.write_burst(Physical(at), &data[..length], now), written);
        }
        assert_eq!(plain.0, ram);
        let (mut one, mut other) = ([0; 32], [0; 32]);
        for at in [0, 32, 64, 224] {
            let read = ram.read_line(Physical(at), &mut one, now);
            assert_eq!((plain.read_line(Physical(at), &mut other, now), other), (read, one));
            assert_eq!(read, Ok(waits));
        }
        assert_eq!(plain.read_line(Physical(256), &mut other, now), Err(BusFault));
        assert_eq!(plain.write_burst(Physical(256), &data, now), Err(BusFault));
    }
}
