//! The core's view of a board: the trait [`Bus`].
//!
//! Layer: rank 3, the seam between this crate and a board. The core is the only master. A board answers transfers at once
//! with the data and the wait states that they cost, and says which interrupt lines are high and until when
//! that holds. Widths and bursts are those of AHB; memory is little-endian.

use serde::{Deserialize, Serialize};

use crate::address::{Cycles, Physical};

/// How much one transfer moves.
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
    /// In bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Byte => 1,
            Self::Half => 2,
            Self::Word => 4,
        }
    }
}

/// Wait states of a transfer in bus clock cycles, beyond the one address cycle and one data cycle a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Waits {
    /// Before the first word.
    pub first: u16,
    /// Before each further word of a burst.
    pub next: u16,
}

/// What a read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The data, right-aligned.
    pub value: u32,
    /// What it cost.
    pub waits: Waits,
}

/// The slave answered with an error, or there is no slave at that address: an external abort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BusFault;

/// The interrupt lines at one instant. The default is that none is asserted, but for no time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lines {
    /// nIRQ is asserted.
    pub irq: bool,
    /// nFIQ is asserted.
    pub fiq: bool,
    /// The next cycle at which a line may change although the core touches nothing; [`Cycles::NEVER`] if none.
    pub until: Cycles,
    /// The board asks the run to end here ([`crate::Stop::Board`]): the guest did what the board cannot answer for.
    pub halt: bool,
}

/// What the core is connected to.
pub trait Bus {
    /// Reads at the instant `now`; `at` is aligned to `width`.
    ///
    /// # Errors
    ///
    /// [`BusFault`] is taken by the core as an external abort.
    fn read(&mut self, at: Physical, width: Width, now: Cycles) -> Result<Reply, BusFault>;

    /// Writes at the instant `now`; `at` is aligned to `width`, `value` is right-aligned.
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

    /// Reads the 32 bytes of a line as one burst.
    ///
    /// # Errors
    ///
    /// [`BusFault`] as in [`Bus::read`].
    fn read_line(
        &mut self,
        at: Physical,
        line: &mut [u8; 32],
        now: Cycles,
    ) -> Result<Waits, BusFault>;

    /// Writes 16 or 32 bytes (half a line or a line) as one burst.
    ///
    /// # Errors
    ///
    /// [`BusFault`] as in [`Bus::read`].
    fn write_burst(&mut self, at: Physical, data: &[u8], now: Cycles) -> Result<Waits, BusFault>;

    /// The interrupt lines at `now`. Asked at the first boundary between two instructions at or after `until` of the last answer,
    /// and after each instruction that read or wrote through [`Bus::read`] or [`Bus::write`].
    fn lines(&mut self, now: Cycles) -> Lines;

    /// What is at the aligned word `at`, without side effect and without time: for debuggers and checks. Nothing where
    /// there is no memory.
    fn peek(&self, at: Physical) -> Option<u32>;

    /// Replaces the aligned word at `at`, without time: for debuggers and loaders. Tells whether there is memory.
    fn poke(&mut self, at: Physical, value: u32) -> bool;
}
