//! The checker of coherence: what would go wrong on a core with virtual caches, and what maintenance is missing.
//!
//! Layer: rank 3. [`Checker`] keeps, for each page of memory that was ever written, what the program last wrote to
//! each byte: the contents that a machine without caches would have. Whatever the core then reads (data, an
//! instruction, a descriptor in a walk, a translation that the TLB kept) is compared. A difference is a [`Violation`]; where the
//! new contents still are tells which operation is missing. Data that are stale but never used are not reported.
//!
//! A debugger's and a semihosting host's writes count as the core's. Memory that changes otherwise (a device that is a master of the
//! bus) is not known to this checker; the board has none.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::address::{Cycles, Modified, Physical};
use crate::bus::{Bus, Width};

const PAGE: usize = 4096;

/// At most so many violations are kept; further ones are counted.
pub const LIMIT: usize = 1_000;

/// What was read although it was not the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Stale {
    /// An instruction; the newer one is dirty in the data cache, in the line of this address.
    InstructionNotCleaned(Modified),
    /// An instruction; the newer one is in memory, or the line came from other memory than its address now means.
    InstructionNotInvalidated,
    /// Data; the newer ones are dirty in the data cache, in the line of another address of the same memory.
    DirtySynonym(Modified),
    /// Data in the data cache; the newer ones are in memory, or the line came from other memory than its address now means.
    DataNotInvalidated,
    /// A descriptor, in a walk; the newer one is dirty in the data cache, in the line of this address.
    DescriptorNotCleaned(Modified),
    /// A translation in the TLB; the descriptor that it came from, at this physical address, has changed since.
    Translation(Physical),
    /// What was written is nowhere any more: a dirty line was invalidated without being cleaned.
    Lost,
}

impl Stale {
    /// The operation that is missing, as CP15 has it.
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
    /// Which.
    pub stale: Stale,
    /// What was accessed.
    pub at: Modified,
    /// Where that is in memory; of a walk and of a translation, where the descriptor is.
    pub physical: Physical,
    /// The instruction that did it.
    pub pc: u32,
    /// When.
    pub now: Cycles,
}

/// Where the newest contents of a line are besides memory: asked of the data cache when something differs.
pub(super) struct Holder {
    /// The dirty line with the same physical address, if there is one.
    pub(super) dirty: Option<Modified>,
    /// What memory holds.
    pub(super) memory: Option<u32>,
}

/// What kind of access is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Instruction,
    Data,
    Descriptor,
}

/// The contents of memory as a machine without caches would have them, where they were ever written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Checker {
    /// By physical page number; nothing where nobody wrote, empty where there is no memory.
    pages: Vec<Option<Vec<u8>>>,
    violations: Vec<Violation>,
    /// Reported already: the kind, and the instruction.
    seen: BTreeSet<(Stale, u32)>,
    dropped: u64,
    pc: u32,
    now: Cycles,
}

impl Checker {
    /// The violations in the order in which they were found, one for each kind and instruction.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// How many came after the [`LIMIT`].
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The instruction that is executed from now on.
    pub(super) const fn instruction(&mut self, pc: u32, now: Cycles) {
        (self.pc, self.now) = (pc, now);
    }

    /// The core stored `value`.
    pub(super) fn wrote<B: Bus>(&mut self, at: Physical, width: Width, value: u32, bus: &B) {
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

    /// The newest contents at `at`, right-aligned, where they are known.
    pub(super) fn newest(&self, at: Physical, width: Width) -> Option<u32> {
        let page = self.pages.get(at.0 as usize / PAGE)?.as_ref()?;
        let start = at.0 as usize % PAGE;
        let bytes = page.get(start..start + width.bytes() as usize)?;
        Some(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte)))
    }

    /// Whether `value`, read at `physical`, is older than the newest contents.
    pub(super) fn differs(&self, physical: Physical, width: Width, value: u32) -> bool {
        self.newest(physical, width).is_some_and(|newest| newest != value)
    }

    /// Something stale was used: says which, from where the newest word is.
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

/// The contents of a page in memory; empty where there is none.
fn contents<B: Bus>(number: usize, bus: &B) -> Vec<u8> {
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
