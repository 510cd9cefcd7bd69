//! How long interrupts are off: every stretch of instructions that masks them, by where it begins.
//!
//! Layer: rank 8. Main types: [`Section`], and `Watch`, the reference interpreter with a look at the mask after each step. Sleep is not
//! counted: an interrupt ends it, masked or not.

use super::Cause;
use super::guest::Guest;
use boardlab_arm926::{Bus, Engine, Limit, Processor, Psr, Stop};
use boardlab_sim::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The longest stretch of those that begin at one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Section {
    /// The first instruction that could not be interrupted.
    pub(super) from: u32,
    /// The first one that could be again.
    pub(super) to: u32,
    /// Cycles between.
    pub(super) cycles: u64,
    /// Stretches that begin there.
    pub(super) count: u64,
}

/// What was seen.
#[derive(Debug, Default)]
struct Seen {
    /// Where and when the present stretch began.
    open: Option<(u32, u64)>,
    /// By the first instruction.
    all: BTreeMap<u32, Section>,
}

impl Seen {
    /// Between two instructions; `slept` since the last one.
    fn look(&mut self, masked: bool, slept: bool, pc: u32, now: u64) {
        match self.open {
            None if masked => self.open = Some((pc, now)),
            Some((from, _)) if masked && slept => self.open = Some((from, now)),
            Some((from, since)) if !masked => {
                self.open = None;
                let cycles = now - since;
                let fresh = Section { from, to: pc, cycles: 0, count: 0 };
                let section = self.all.entry(from).or_insert(fresh);
                section.count += 1;
                if cycles > section.cycles {
                    *section = Section { to: pc, cycles, ..*section };
                }
            }
            _ => {}
        }
    }
}

/// Steps the reference and looks.
struct Watch(Arc<Mutex<Seen>>);

impl<B: Bus> Engine<B> for Watch {
    fn run(&mut self, processor: &mut Processor<B>, limit: Limit) -> Stop {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while processor.now < limit.cycles && processor.counts.instructions < limit.instructions {
            let asleep = processor.counts.asleep;
            if let Some(stop) = processor.step_within(limit.cycles) {
                return stop;
            }
            let registers = &processor.registers;
            let masked = registers.cpsr().0 & Psr::I != 0;
            let slept = processor.counts.asleep != asleep;
            seen.look(masked, slept, registers.pc, processor.now.0);
        }
        Stop::Limit
    }

    fn forget(&mut self) {}
}

/// The sections of a loaded system while it runs for `watched`, longest first.
pub(super) fn measure(saved: &[u8], watched: Duration) -> Result<Vec<Section>, Cause> {
    let mut guest = Guest::restored(saved)?;
    guest.run("bench load &")?;
    let seen = Arc::new(Mutex::new(Seen::default()));
    guest.machine().set_engine(Watch(Arc::clone(&seen)));
    guest.go_on(watched)?;
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    let mut all: Vec<Section> = seen.all.values().copied().collect();
    all.sort_by_key(|section| (std::cmp::Reverse(section.cycles), section.from));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_goes_from_the_masked_boundary_to_the_unmasked_one_without_sleep() {
        let mut seen = Seen::default();
        for (masked, slept, pc, now) in [
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
            seen.look(masked, slept, pc, now);
        }
        let found: Vec<Section> = seen.all.into_values().collect();
        let expected = [
            Section { from: 0x20, to: 0x30, cycles: 40, count: 2 },
            Section { from: 0x40, to: 0x48, cycles: 9, count: 1 },
        ];
        assert_eq!(found, expected);
    }
}
