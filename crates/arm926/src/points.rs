//! Breakpoints on instructions and watchpoints on data.
//!
//! Layer: rank 3. Main types: [`Points`], the points of a [`crate::Processor`], and [`Watchpoint`];
//! [`crate::Stop`] names the one hit. Points belong to the host: they cost no cycles, affect no count
//! or trace hash, and are not saved. With points every engine uses the reference interpreter; without,
//! they cost nothing. Addresses are virtual, before FCSE. [`crate::Processor::step`] ignores points.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use crate::address::Virtual;
use crate::bus::Width;

/// The kind of accesses that a watchpoint watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WatchKind {
    /// Reads.
    Reads,
    /// Writes, including those that do not change the value.
    Writes,
    /// Reads and writes.
    Accesses,
}

/// A range of bytes whose accesses stop the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Watchpoint {
    /// The first byte.
    pub at: Virtual,
    /// The number of bytes.
    pub length: NonZeroU32,
    /// The kind of accesses.
    pub of: WatchKind,
}

impl Watchpoint {
    /// Whether an access hits the watchpoint. The low bits of an unaligned address are ignored.
    fn matches(&self, at: Virtual, width: Width, write: bool) -> bool {
        let watched = match self.of {
            WatchKind::Reads => !write,
            WatchKind::Writes => write,
            WatchKind::Accesses => true,
        };
        let start = u64::from(at.0 & !(width.bytes() - 1));
        let (from, length) = (u64::from(self.at.0), u64::from(self.length.get()));
        watched && start < from + length && from < start + u64::from(width.bytes())
    }
}

/// An access that hit a watchpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WatchHit {
    pub(crate) watchpoint: Watchpoint,
    pub(crate) at: Virtual,
    pub(crate) write: bool,
}

/// Breakpoints and watchpoints.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Points {
    breakpoints: BTreeSet<u32>,
    watchpoints: Vec<Watchpoint>,
    /// The breakpoint to ignore once since the run stopped there: address, count of instructions.
    passed: Option<(u32, u64)>,
}

impl Points {
    /// Whether there are no points.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.breakpoints.is_empty() && self.watchpoints.is_empty()
    }

    /// Sets a breakpoint: a run stops before each execution of the instruction at `at`, and a run
    /// continued from there executes it. Bit 0, the Thumb bit in the address of a function, is
    /// ignored. Returns whether there was no breakpoint at `at` before.
    pub fn set_breakpoint(&mut self, at: Virtual) -> bool {
        self.breakpoints.insert(at.0 & !1)
    }

    /// Removes a breakpoint; returns whether there was one.
    pub fn clear_breakpoint(&mut self, at: Virtual) -> bool {
        self.breakpoints.remove(&(at.0 & !1))
    }

    /// The addresses with a breakpoint, in order.
    pub fn breakpoints(&self) -> impl ExactSizeIterator<Item = Virtual> {
        self.breakpoints.iter().map(|at| Virtual(*at))
    }

    /// Sets a watchpoint: a run stops after each instruction whose access hits it. Aborted accesses,
    /// fetches and translation table walks do not hit watchpoints.
    pub fn set_watchpoint(&mut self, watchpoint: Watchpoint) {
        self.watchpoints.push(watchpoint);
    }

    /// Removes a watchpoint, one of them if it was set several times; returns whether there was one.
    pub fn clear_watchpoint(&mut self, watchpoint: Watchpoint) -> bool {
        let at = self.watchpoints.iter().position(|other| *other == watchpoint);
        at.map(|at| self.watchpoints.remove(at)).is_some()
    }

    /// The watchpoints, in the order in which they were set.
    #[must_use]
    pub fn watchpoints(&self) -> &[Watchpoint] {
        &self.watchpoints
    }

    /// Removes all points.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Lets the next run execute the instruction at `at` in spite of its breakpoint, if it is the
    /// next one after `instructions` executed ones.
    pub(crate) const fn pass(&mut self, at: u32, instructions: u64) {
        self.passed = Some((at, instructions));
    }

    /// Whether to stop before the instruction at `at`, the next one after `instructions` executed ones.
    #[inline]
    pub(crate) fn stops_at(&mut self, at: u32, instructions: u64) -> bool {
        let stops = self.breakpoints.contains(&at) && self.passed != Some((at, instructions));
        if stops {
            self.pass(at, instructions);
        }
        stops
    }
}

/// Compares accesses with the watchpoints.
#[derive(Debug, Clone)]
pub(crate) struct Watcher {
    watchpoints: Vec<Watchpoint>,
    /// The first hit.
    seen: Option<WatchHit>,
}

impl Watcher {
    /// A watcher with the watchpoints of `points`.
    pub(crate) fn new(points: &Points) -> Self {
        Self { watchpoints: points.watchpoints.clone(), seen: None }
    }

    /// Compares an access with the watchpoints.
    pub(crate) fn observe(&mut self, at: Virtual, width: Width, write: bool) {
        if self.seen.is_none() {
            let watchpoint = self.watchpoints.iter().find(|one| one.matches(at, width, write));
            self.seen =
                watchpoint.map(|watchpoint| WatchHit { watchpoint: *watchpoint, at, write });
        }
    }

    /// Takes the first hit since the last call.
    #[inline]
    pub(crate) const fn take(&mut self) -> Option<WatchHit> {
        self.seen.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(at: u32, length: u32, of: WatchKind) -> Watchpoint {
        Watchpoint { at: Virtual(at), length: NonZeroU32::new(length).unwrap(), of }
    }

    #[test]
    fn a_watchpoint_sees_every_access_to_one_of_its_bytes_and_no_other() {
        let byte = watch(0x101, 1, WatchKind::Writes);
        assert!(byte.matches(Virtual(0x101), Width::Byte, true));
        assert!(!byte.matches(Virtual(0x101), Width::Byte, false));
        assert!(byte.matches(Virtual(0x100), Width::Half, true));
        assert!(byte.matches(Virtual(0x103), Width::Word, true), "its lowest bits do not count");
        assert!(!byte.matches(Virtual(0x100), Width::Byte, true));
        assert!(!byte.matches(Virtual(0x102), Width::Half, true));
        let end = watch(0xFFFF_FFFF, u32::MAX, WatchKind::Accesses);
        assert!(end.matches(Virtual(0xFFFF_FFFC), Width::Word, false));
        assert!(!end.matches(Virtual(0), Width::Word, false), "addresses do not wrap");
        assert!(!watch(0, 4, WatchKind::Reads).matches(Virtual(0), Width::Word, true));
    }

    #[test]
    fn points_are_taken_away_one_by_one() {
        let mut points = Points::default();
        assert!(points.is_empty());
        assert!(points.set_breakpoint(Virtual(0x101)) && !points.set_breakpoint(Virtual(0x100)));
        let one = watch(8, 4, WatchKind::Reads);
        points.set_watchpoint(one);
        points.set_watchpoint(one);
        assert!(points.clear_watchpoint(one) && points.watchpoints() == [one]);
        assert!(!points.clear_watchpoint(watch(8, 4, WatchKind::Writes)));
        assert!(points.clear_breakpoint(Virtual(0x100)) && points.breakpoints().len() == 0);
        assert!(points.clear_watchpoint(one) && points.is_empty());
    }
}
