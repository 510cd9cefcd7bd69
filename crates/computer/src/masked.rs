//! How long interrupts are masked: every stretch of instructions that cannot be interrupted, by where it begins.
//!
//! Layer: rank 9. Main types: [`MaskedStretches`], which is told of each boundary between two instructions, and [`Stretch`], which has a row in
//! [`table`]. Sleep is not counted: an interrupt ends it, masked or not.

use super::symbols::Symbols;
use boardlab_arm926::{Bus, Processor, Psr};
use boardlab_result::{Cell, Row, Table, TableWithItems};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// First instructions that are kept apart: a guest may mask interrupts anywhere. The shortest stretches go.
const MOST: usize = 4_096;

/// The longest stretch of those that begin at one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The first instruction that could not be interrupted.
    pub from: u32,
    /// The first one that could be again.
    pub to: u32,
    /// Cycles between.
    pub cycles: u64,
    /// Instructions of the run before it.
    pub after: u64,
    /// Stretches that begin there.
    pub count: u64,
}

/// The table `interrupts-off` of these stretches, by the names of this program; `time` is that of cycles.
pub fn table<'s>(
    title: &str,
    stretches: impl IntoIterator<Item = (Row, &'s Stretch)>,
    symbols: &Symbols,
    time: impl Fn(u64) -> Cell,
) -> TableWithItems<&'s Stretch> {
    Table::new("interrupts-off", title)
        .of(stretches)
        .column("cycles_count", "cycles", |one| Cell::count(one.cycles))
        .column("time_ns", "time", |one| time(one.cycles))
        .column("from", "from", |one| Cell::text(symbols.place(one.from)))
        .column("to", "to", |one| Cell::text(symbols.place(one.to)))
        .column("times_count", "times", |one| Cell::count(one.count))
}

/// A stretch that has not ended.
#[derive(Debug, Clone, Copy)]
struct Open {
    from: u32,
    /// Cycle from which on it is counted.
    since: u64,
    after: u64,
}

/// What was seen.
#[derive(Debug, Clone, Default)]
pub struct MaskedStretches {
    /// The present stretch, as far as it goes.
    open: Option<Open>,
    /// Cycles asleep at the last boundary.
    asleep: u64,
    /// By the first instruction.
    all: BTreeMap<u32, Stretch>,
}

impl MaskedStretches {
    /// Looks at a boundary between two instructions.
    pub fn look<B: Bus>(&mut self, processor: &Processor<B>) {
        let registers = &processor.registers;
        let slept = processor.counts.asleep != self.asleep;
        self.asleep = processor.counts.asleep;
        let masked = registers.cpsr().0 & Psr::I != 0;
        let after = processor.counts.instructions;
        self.boundary(masked, slept, Open { from: registers.pc, since: processor.now.0, after });
    }

    /// A boundary, where a stretch would begin as `here`; `slept` since the last one.
    fn boundary(&mut self, masked: bool, slept: bool, here: Open) {
        match self.open {
            None if masked => self.open = Some(here),
            Some(open) if masked && slept => self.open = Some(Open { since: here.since, ..open }),
            Some(Open { from, since, after }) if !masked => {
                self.open = None;
                let cycles = here.since - since;
                self.ended(Stretch { from, to: here.from, cycles, after, count: 1 });
            }
            _ => {}
        }
    }

    fn ended(&mut self, stretch: Stretch) {
        if let Some(known) = self.all.get_mut(&stretch.from) {
            known.count += 1;
            if stretch.cycles > known.cycles {
                *known = Stretch { count: known.count, ..stretch };
            }
            return;
        }
        if self.all.len() >= MOST {
            let shortest = self.all.values().min_by_key(|one| one.cycles).copied();
            match shortest.filter(|one| one.cycles < stretch.cycles) {
                Some(one) => self.all.remove(&one.from),
                None => return,
            };
        }
        self.all.insert(stretch.from, stretch);
    }

    /// The stretches that ended, longest first.
    #[must_use]
    pub fn longest(&self) -> Vec<Stretch> {
        let mut all: Vec<Stretch> = self.all.values().copied().collect();
        all.sort_by_key(|stretch| (Reverse(stretch.cycles), stretch.from));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_goes_from_the_masked_boundary_to_the_unmasked_one_without_sleep() {
        let mut masked = MaskedStretches::default();
        for (is_masked, slept, from, since) in [
            (false, false, 0x10, 5),
            (true, false, 0x20, 10),
            (true, false, 0x24, 14),
            (false, false, 0x28, 20),
            (true, false, 0x20, 30),
            (false, false, 0x30, 70),
            (true, false, 0x40, 80),
            (true, true, 0x44, 5_000),
            (false, false, 0x48, 5_009),
        ] {
            masked.boundary(is_masked, slept, Open { from, since, after: since / 10 });
        }
        let expected = [
            Stretch { from: 0x20, to: 0x30, cycles: 40, after: 3, count: 2 },
            Stretch { from: 0x40, to: 0x48, cycles: 9, after: 8, count: 1 },
        ];
        assert_eq!(masked.longest(), expected);
    }

    #[test]
    fn where_stretches_begin_everywhere_the_longest_stay() {
        let mut masked = MaskedStretches::default();
        let mut now = 0;
        for step in 0..2 * 4_096_u32 {
            masked.boundary(true, false, Open { from: step * 8, since: now, after: 0 });
            now += u64::from(step) + 1;
            masked.boundary(false, false, Open { from: step * 8 + 4, since: now, after: 0 });
        }
        let longest = masked.longest();
        assert_eq!(longest.len(), MOST);
        assert_eq!((longest[0].cycles, longest[MOST - 1].cycles), (8_192, 4_097));
    }
}
