//! A bus with only memory, for tests, examples and benchmarks of the core.
//!
//! Layer: rank 3. [`Ram`] starts at address 0; beyond it every access is an external abort.

use serde::{Deserialize, Serialize};

use crate::address::{Cycles, Physical};
use crate::bus::{Bus, BusFault, Lines, Reply, Waits, Width};

/// Memory from address 0 on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ram {
    bytes: Vec<u8>,
    waits: Waits,
    /// nIRQ is asserted from this cycle on.
    pub irq_from: Cycles,
    /// nFIQ is asserted from this cycle on.
    pub fiq_from: Cycles,
}

impl Ram {
    /// So many bytes of zeros, answering with these wait states; no interrupts.
    #[must_use]
    pub fn new(size: usize, waits: Waits) -> Self {
        let never = Cycles::NEVER;
        Self { bytes: vec![0; size], waits, irq_from: never, fiq_from: never }
    }

    /// The contents.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The contents.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Writes words from `at` on.
    ///
    /// # Panics
    ///
    /// Where they do not fit.
    pub fn put(&mut self, at: usize, words: &[u32]) {
        for (place, word) in self.bytes[at..at + 4 * words.len()].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }

    fn part(&mut self, at: Physical, length: usize) -> Result<&mut [u8], BusFault> {
        let start = at.0 as usize;
        let end = start.checked_add(length).ok_or(BusFault)?;
        self.bytes.get_mut(start..end).ok_or(BusFault)
    }
}

impl Bus for Ram {
    #[inline]
    fn read(&mut self, at: Physical, width: Width, _now: Cycles) -> Result<Reply, BusFault> {
        let waits = self.waits;
        if width == Width::Word {
            return self.peek(at).map(|value| Reply { value, waits }).ok_or(BusFault);
        }
        let part = self.part(at, width.bytes() as usize)?;
        let value = part.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
        Ok(Reply { value, waits })
    }

    fn write(
        &mut self,
        at: Physical,
        width: Width,
        value: u32,
        _now: Cycles,
    ) -> Result<Waits, BusFault> {
        let length = width.bytes() as usize;
        self.part(at, length)?.copy_from_slice(&value.to_le_bytes()[..length]);
        Ok(self.waits)
    }

    fn read_line(
        &mut self,
        at: Physical,
        line: &mut [u8; 32],
        _now: Cycles,
    ) -> Result<Waits, BusFault> {
        line.copy_from_slice(self.part(at, 32)?);
        Ok(self.waits)
    }

    fn write_burst(&mut self, at: Physical, data: &[u8], _now: Cycles) -> Result<Waits, BusFault> {
        self.part(at, data.len())?.copy_from_slice(data);
        Ok(self.waits)
    }

    fn lines(&mut self, now: Cycles) -> Lines {
        let (irq, fiq) = (self.irq_from <= now, self.fiq_from <= now);
        let later = [self.irq_from, self.fiq_from].into_iter().filter(|&from| from > now);
        Lines { irq, fiq, until: later.min().unwrap_or(Cycles::NEVER), halt: false }
    }

    #[inline]
    fn peek(&self, at: Physical) -> Option<u32> {
        let start = at.0 as usize;
        let word = self.bytes.get(start..start.checked_add(4)?)?;
        Some(u32::from_le_bytes(word.try_into().ok()?))
    }

    fn poke(&mut self, at: Physical, value: u32) -> bool {
        let part = self.part(at, 4);
        part.map(|part| part.copy_from_slice(&value.to_le_bytes())).is_ok()
    }
}
