//! The coherence checker: uses of stale contents, and the maintenance operation that is missing.
//!
//! Layer: rank 3. [`Checker`] keeps the newest contents of every page ever written: those of a machine
//! without caches. It compares all that the core reads: data, instructions, descriptors, and the
//! translations in the TLB. A difference is a [`Violation`]. The location of the newest contents
//! determines the missing operation. Stale contents that are never used are not reported.
//!
//! Writes of debuggers and semihosting hosts count as the core's. Other changes of memory, by devices
//! that are bus masters, are unknown to the checker; the board has none.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::address::{Cycles, Modified, Physical};
use crate::bus::{Bus, Width};

const PAGE: usize = 4096;

/// The maximum number of violations kept; further ones are only counted.
pub const LIMIT: usize = 1_000;

/// A kind of stale contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Stale {
    /// An instruction; the newest one is dirty in the data cache, in the line at this address.
    InstructionNotCleaned(Modified),
    /// An instruction; the newest one is in memory, or the mapping of the line's address changed.
    InstructionNotInvalidated,
    /// Data; the newest are dirty in the data cache, in the line at another address of the same memory.
    DirtySynonym(Modified),
    /// Data in the data cache; the newest are in memory, or the mapping of the line's address changed.
    DataNotInvalidated,
    /// A descriptor in a walk; the newest one is dirty in the data cache, in the line at this address.
    DescriptorNotCleaned(Modified),
    /// A translation in the TLB; its descriptor at this physical address has changed.
    Translation(Physical),
    /// A written value that is lost: a dirty line was invalidated without cleaning.
    Lost,
}

impl Stale {
    /// The missing CP15 operation.
    #[must_use]
    pub const fn missing(&self) -> &'static str {
        match self {
            Self::InstructionNotCleaned(_) => {
                "clean the data cache line (c7, c10, 1), then invalidate the instruction cache line (c7, c5, 1)"
            }
            Self::InstructionNotInvalidated => "invalidate the instruction cache line (c7, c5, 1)",
            Self::DirtySynonym(_) => {
                "clean the data cache line of the other address (c7, c10, 1), and invalidate this one (c7, c6, 1)"
            }
            Self::DataNotInvalidated => {
                "clean and invalidate the data cache line (c7, c14, 1) before its memory or its mapping changes"
            }
            Self::DescriptorNotCleaned(_) => {
                "clean the data cache line of the descriptor (c7, c10, 1) and drain the write buffer (c7, c10, 4)"
            }
            Self::Translation(_) => "invalidate the TLB entry (c8, c7, 1)",
            Self::Lost => "clean the data cache line (c7, c10, 1) before it is invalidated",
        }
    }
}

/// A use of stale contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The kind.
    pub stale: Stale,
    /// The address of the access.
    pub at: Modified,
    /// Its physical address; for walks and translations, that of the descriptor.
    pub physical: Physical,
    /// The address of the instruction.
    pub pc: u32,
    /// The time.
    pub now: Cycles,
}

/// The locations of the newest contents of a line.
pub(super) struct Holder {
    /// The dirty line with the same physical address, if any.
    pub(super) dirty: Option<Modified>,
    /// The word in memory.
    pub(super) memory: Option<u32>,
}

/// The kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Instruction,
    Data,
    Descriptor,
}

/// The newest contents of memory, and the violations found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Checker {
    /// The pages by number; `None` if never written, empty if there is no memory.
    pages: Vec<Option<Vec<u8>>>,
    violations: Vec<Violation>,
    /// The kinds and instructions already reported.
    seen: BTreeSet<(Stale, u32)>,
    dropped: u64,
    pc: u32,
    now: Cycles,
}

impl Checker {
    /// The violations in order, one for each kind and instruction.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// The number of violations beyond [`LIMIT`].
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Sets the instruction to which the next accesses belong.
    pub(super) const fn instruction(&mut self, pc: u32, now: Cycles) {
        (self.pc, self.now) = (pc, now);
    }

    /// Records a store by the core.
    pub(super) fn wrote<B: Bus + ?Sized>(
        &mut self,
        at: Physical,
        width: Width,
        value: u32,
        bus: &B,
    ) {
        let number = at.0 as usize / PAGE;
        if self.pages.len() <= number {
            self.pages.resize(number + 1, None);
        }
        let page = self.pages[number].get_or_insert_with(|| contents(number, bus));
        let length = width.bytes() as usize;
        let start = at.0 as usize % PAGE;
        if let Some(place) = page.get_mut(start..start + length) {
            place.copy_from_slice(&value.to_le_bytes()[..length]);
        }
    }

    /// The newest contents at `at`, right-aligned, if known.
    pub(super) fn newest(&self, at: Physical, width: Width) -> Option<u32> {
        let page = self.pages.get(at.0 as usize / PAGE)?.as_ref()?;
        let start = at.0 as usize % PAGE;
        let bytes = page.get(start..start + width.bytes() as usize)?;
        Some(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte)))
    }

    /// Whether `value`, read at `physical`, differs from the newest contents.
    pub(super) fn differs(&self, physical: Physical, width: Width, value: u32) -> bool {
        self.newest(physical, width).is_some_and(|newest| newest != value)
    }

    /// Reports a use of stale contents, by the location of the newest word.
    pub(super) fn stale(&mut self, used: Use, at: Modified, physical: Physical, holder: &Holder) {
        let word = Physical(physical.0 & !3);
        let in_memory = self.newest(word, Width::Word) == holder.memory;
        let stale = match (used, holder.dirty) {
            (Use::Instruction, Some(line)) => Stale::InstructionNotCleaned(line),
            (Use::Descriptor, Some(line)) => Stale::DescriptorNotCleaned(line),
            (Use::Data, Some(line)) => Stale::DirtySynonym(line),
            (Use::Instruction, None) if in_memory => Stale::InstructionNotInvalidated,
            (Use::Data, None) if in_memory => Stale::DataNotInvalidated,
            (_, None) => Stale::Lost,
        };
        self.report(stale, at, physical);
    }

    pub(super) fn report(&mut self, stale: Stale, at: Modified, physical: Physical) {
        if !self.seen.contains(&(stale, self.pc)) {
            if self.violations.len() < LIMIT {
                self.seen.insert((stale, self.pc));
                self.violations.push(Violation { stale, at, physical, pc: self.pc, now: self.now });
            } else {
                self.dropped += 1;
            }
        }
    }
}

/// The contents of a page in memory; empty if there is no memory.
fn contents<B: Bus + ?Sized>(number: usize, bus: &B) -> Vec<u8> {
    let start = u32::try_from(number * PAGE).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(PAGE);
    for offset in (0..4096).step_by(4) {
        match bus.peek(Physical(start + offset)) {
            Some(word) => bytes.extend_from_slice(&word.to_le_bytes()),
            None => return Vec::new(),
        }
    }
    bytes
}
