//! Where a run is to stop: breakpoints on instructions, watchpoints on data.
//!
//! Layer: rank 3. Main types: [`Points`], which a [`crate::Processor`] has as `points`, and [`Watchpoint`]; [`crate::Stop`] says which was hit. Points are the host's
//! and no state of the core: they cost no cycles, change no count and no trace hash, and are not saved. While there is any, every
//! engine leaves all instructions to the reference interpreter; without one they cost nothing. Addresses are virtual, as the
//! program uses them, before FCSE. [`crate::Processor::step`] makes a step whatever the points say.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use crate::address::Virtual;
use crate::bus::Width;

/// What of data a watchpoint watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Watched {
    /// Reads.
    Reads,
    /// Writes, of the same value too.
    Writes,
    /// Both.
    Accesses,
}

/// Bytes that are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Watchpoint {
    /// The first byte.
    pub at: Virtual,
    /// How many.
    pub length: NonZeroU32,
    /// What of them.
    pub of: Watched,
}

impl Watchpoint {
    /// Whether an access is one that it watches. The lowest bits of an address that is not aligned do not count.
    fn sees(&self, at: Virtual, width: Width, write: bool) -> bool {
        let watched = match self.of {
            Watched::Reads => !write,
            Watched::Writes => write,
            Watched::Accesses => true,
        };
        let start = u64::from(at.0 & !(width.bytes() - 1));
        let (from, length) = (u64::from(self.at.0), u64::from(self.length.get()));
        watched && start < from + length && from < start + u64::from(width.bytes())
    }
}

/// An access that was watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) watchpoint: Watchpoint,
    pub(crate) at: Virtual,
    pub(crate) write: bool,
}

/// Breakpoints and watchpoints.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Points {
    breakpoints: BTreeSet<u32>,
    watchpoints: Vec<Watchpoint>,
    /// The breakpoint that is passed next, because the run stopped at it already: its address, and the count of instructions there.
    passed: Option<(u32, u64)>,
}

impl Points {
    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.breakpoints.is_empty() && self.watchpoints.is_empty()
    }

    /// Stops a run in front of the instruction at `at` each time that it is to be executed; a run that goes on from there executes it. Bit 0, which
    /// says Thumb in the address of a function, does not count. Tells whether there was none.
    pub fn set_breakpoint(&mut self, at: Virtual) -> bool {
        self.breakpoints.insert(at.0 & !1)
    }

    /// Takes a breakpoint away; tells whether there was one.
    pub fn clear_breakpoint(&mut self, at: Virtual) -> bool {
        self.breakpoints.remove(&(at.0 & !1))
    }

    /// The addresses with a breakpoint, in order.
    pub fn breakpoints(&self) -> impl ExactSizeIterator<Item = Virtual> {
        self.breakpoints.iter().map(|at| Virtual(*at))
    }

    /// Stops a run behind each instruction that accesses the bytes so. Accesses that abort do not count, nor do fetches and table walks.
    pub fn set_watchpoint(&mut self, watchpoint: Watchpoint) {
        self.watchpoints.push(watchpoint);
    }

    /// Takes a watchpoint away, once if it was set more often; tells whether there was one.
    pub fn clear_watchpoint(&mut self, watchpoint: Watchpoint) -> bool {
        let at = self.watchpoints.iter().position(|other| *other == watchpoint);
        at.map(|at| self.watchpoints.remove(at)).is_some()
    }

    /// The watchpoints, in the order in which they were set.
    #[must_use]
    pub fn watchpoints(&self) -> &[Watchpoint] {
        &self.watchpoints
    }

    /// Takes all away.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Lets the next run execute the instruction at `at`, which is the next one after so many, although it has a breakpoint.
    pub(crate) const fn pass(&mut self, at: u32, instructions: u64) {
        self.passed = Some((at, instructions));
    }

    /// Whether to stop in front of the instruction at `at`, the next one after so many.
    #[inline]
    pub(crate) fn stops_at(&mut self, at: u32, instructions: u64) -> bool {
        let stops = self.breakpoints.contains(&at) && self.passed != Some((at, instructions));
        if stops {
            self.pass(at, instructions);
        }
        stops
    }
}

/// Looks at accesses for watchpoints.
#[derive(Debug, Clone)]
pub(crate) struct Watcher {
    watchpoints: Vec<Watchpoint>,
    /// The first access that was watched.
    seen: Option<Seen>,
}

impl Watcher {
    /// For the watchpoints of `points`.
    pub(crate) fn new(points: &Points) -> Self {
        Self { watchpoints: points.watchpoints.clone(), seen: None }
    }

    /// Sees an access.
    pub(crate) fn look(&mut self, at: Virtual, width: Width, write: bool) {
        if self.seen.is_none() {
            let watchpoint = self.watchpoints.iter().find(|one| one.sees(at, width, write));
            self.seen = watchpoint.map(|watchpoint| Seen { watchpoint: *watchpoint, at, write });
        }
    }

    /// The first access that was watched since this was last asked.
    #[inline]
    pub(crate) const fn take(&mut self) -> Option<Seen> {
        self.seen.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(at: u32, length: u32, of: Watched) -> Watchpoint {
        Watchpoint { at: Virtual(at), length: NonZeroU32::new(length).unwrap(), of }
    }

    #[test]
    fn a_watchpoint_sees_every_access_to_one_of_its_bytes_and_no_other() {
        let byte = watch(0x101, 1, Watched::Writes);
        assert!(byte.sees(Virtual(0x101), Width::Byte, true));
        assert!(!byte.sees(Virtual(0x101), Width::Byte, false));
        assert!(byte.sees(Virtual(0x100), Width::Half, true));
        assert!(byte.sees(Virtual(0x103), Width::Word, true), "its lowest bits do not count");
        assert!(!byte.sees(Virtual(0x100), Width::Byte, true));
        assert!(!byte.sees(Virtual(0x102), Width::Half, true));
        let end = watch(0xFFFF_FFFF, u32::MAX, Watched::Accesses);
        assert!(end.sees(Virtual(0xFFFF_FFFC), Width::Word, false));
        assert!(!end.sees(Virtual(0), Width::Word, false), "addresses do not wrap");
        assert!(!watch(0, 4, Watched::Reads).sees(Virtual(0), Width::Word, true));
    }

    #[test]
    fn points_are_taken_away_one_by_one() {
        let mut points = Points::default();
        assert!(points.is_empty());
        assert!(points.set_breakpoint(Virtual(0x101)) && !points.set_breakpoint(Virtual(0x100)));
        let one = watch(8, 4, Watched::Reads);
        points.set_watchpoint(one);
        points.set_watchpoint(one);
        assert!(points.clear_watchpoint(one) && points.watchpoints() == [one]);
        assert!(!points.clear_watchpoint(watch(8, 4, Watched::Writes)));
        assert!(points.clear_breakpoint(Virtual(0x100)) && points.breakpoints().len() == 0);
        assert!(points.clear_watchpoint(one) && points.is_empty());
    }
}
