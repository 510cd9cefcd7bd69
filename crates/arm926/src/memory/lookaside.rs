//! The look-aside of the fast engines: lookups that are known to hit, and when they no longer are.
//!
//! Layer: rank 3. Replacement on this core does not depend on hits, so a lookup that would hit again may be
//! left out without changing any later one. The memory system tells [`Lookaside`] whenever a hit may no longer be
//! one; the reference interpreter never reads it. It is derived data and is not saved. [`Hits`] holds the hits of one
//! [`Context`] at one privilege. A system that switches processes comes back to a context, so the tables of the
//! last contexts are kept. When tables become current again, they apply the events of instruction lines and
//! translations that they missed, and compare what they presume of the data cache's lines with the cache.
//! Invalidating too much is always right, only slower.

mod event;
mod hits;

use std::sync::Arc;

use super::Memory;
use super::cache::Cache;
use crate::address::{LINE, Modified, Virtual};
use event::{Event, Log};
use hits::Tables;
pub use hits::{DATA_ENTRIES, DataHit, HALF, Hits, LINE_ENTRIES, LineHit};

/// Contexts whose tables are kept beside those of the current one.
const PUT_AWAY: usize = 15;

/// What decides whether an access hits, beside the TLB and the caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Context {
    /// The FCSE process number; 0 without the MMU.
    pub(super) pid: u8,
    /// The domain access register.
    pub(super) domains: u32,
    /// The control register.
    pub(super) control: u32,
}

/// Names a look-aside, and with it the core whose it is, among all that live: stamps mean something to an engine only together with it.
#[derive(Debug, Clone, Default)]
pub struct Identity(Arc<()>);

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Identity {}

/// The tables of a context that is not the current one.
#[derive(Debug)]
struct PutAway {
    tables: Tables,
    /// The number of the first event that they do not know of.
    since: u64,
}

/// Remembered hits.
#[derive(Debug)]
pub struct Lookaside {
    /// Of the current context.
    tables: Tables,
    /// The tables of other contexts, the one that was left last at the end.
    put_away: Vec<PutAway>,
    log: Log,
    /// The stamp that was given last.
    stamp: u64,
    /// The stamp of each line of the instruction cache since it was filled; 0 if it has none yet.
    stamps: Box<[u64]>,
    identity: Identity,
}

/// A copy of a core is another core: its look-aside is empty.
impl Clone for Lookaside {
    fn clone(&self) -> Self {
        Self::new(self.tables.context, [self.stamps.len(), self.tables.data_lines()])
    }
}

impl Lookaside {
    /// Without entries; for an instruction cache and a data cache of so many lines.
    pub(super) fn new(context: Context, [instructions, data]: [usize; 2]) -> Self {
        Self {
            tables: Tables::new(context, data),
            put_away: Vec::new(),
            log: Log::default(),
            stamp: 0,
            stamps: vec![0; instructions].into(),
            identity: Identity::default(),
        }
    }

    /// The hits at a privilege.
    #[must_use]
    #[inline]
    pub fn hits(&self, privileged: bool) -> &Hits {
        &self.tables.hits[usize::from(privileged)]
    }

    /// Its name. An engine that finds another one than before forgets what it derived.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// A stamp that nothing else has.
    pub(crate) const fn new_stamp(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp
    }

    /// Adds that the line of `at`, which is at `offset` of the data cache's array, hits when read.
    pub fn add_read(&mut self, at: Virtual, privileged: bool, offset: u32) {
        self.tables.add_read(at, privileged, offset);
    }

    /// Adds that the half-line of `at`, in the line at `offset` of the data cache's array, hits when written, is written
    /// back and dirty.
    pub fn add_write(&mut self, at: Virtual, privileged: bool, offset: u32) {
        self.tables.add_write(at, privileged, offset);
    }

    /// Adds that the line of `at`, which is line `index` of the instruction cache, hits when fetched; its stamp.
    pub(super) fn add_line(&mut self, at: Virtual, privileged: bool, index: usize) -> u64 {
        if self.stamps[index] == 0 {
            self.stamps[index] = self.new_stamp();
        }
        let stamp = self.stamps[index];
        self.tables.hits[usize::from(privileged)].add_line(at, stamp);
        stamp
    }

    /// Line `index` of the data cache, that of `line`, was evicted or invalidated.
    #[inline]
    pub(super) fn data_line_gone(&mut self, index: usize, line: Modified) {
        self.tables.data_line_gone(index, line);
    }

    /// Line `index` of the data cache is no longer dirty, in one half or both: the next store to it must set the bit.
    pub(super) fn data_line_cleaned(&mut self, index: usize, line: Modified) {
        self.tables.data_line_cleaned(index, line);
    }

    /// Line `index` of the instruction cache, that of `line`, was evicted or invalidated.
    pub(super) fn instruction_line_gone(&mut self, index: usize, line: Modified) {
        self.stamps[index] = 0;
        self.note(Event::InstructionLineGone(line));
    }

    /// The TLB lost what it knew about the 2^`shift` bytes from `page` on.
    pub(super) fn translation_gone(&mut self, page: Modified, shift: u8) {
        self.note(Event::TranslationGone { page, shift });
    }

    #[inline]
    fn note(&mut self, event: Event) {
        self.tables.apply(event);
        if !self.put_away.is_empty() {
            self.log.add(event);
        }
    }

    /// Anything may have changed: an operation on all of a cache or TLB, a debugger's write.
    pub(super) fn forget_all(&mut self) {
        self.tables.clear();
        self.stamps.fill(0);
        self.log.forget_all();
    }

    /// Another context becomes current, or the same stays.
    pub(super) fn enter(&mut self, context: Context, data: &Cache) {
        if self.tables.context == context {
            return;
        }
        let known = self.put_away.iter().position(|other| other.tables.context == context);
        let tables = match known.map(|at| self.put_away.remove(at)) {
            Some(PutAway { mut tables, since }) => {
                match self.log.since(since) {
                    Some(events) => {
                        events.for_each(|event| tables.apply(event));
                        tables.reconcile(data);
                    }
                    None => tables.clear(),
                }
                tables
            }
            None if self.put_away.len() < PUT_AWAY => Tables::new(context, self.tables.data_lines()),
            None => {
                let mut tables = self.put_away.remove(0).tables;
                tables.clear();
                tables.context = context;
                tables
            }
        };
        let tables = std::mem::replace(&mut self.tables, tables);
        self.put_away.push(PutAway { tables, since: self.log.count() });
    }
}

impl Memory {
    /// Remembers those lines (half-lines, if written) of the `bytes` from `at` on that an access at this privilege would hit now.
    pub(crate) fn remember(&mut self, at: Virtual, bytes: u32, (privileged, write): (bool, bool)) {
        let unit = if write { HALF } else { LINE };
        let mut line = Virtual(at.0 & !(unit - 1));
        loop {
            if let Some(offset) = self.data_line(line, privileged, write)
                && let Ok(offset) = u32::try_from(offset)
            {
                if write {
                    self.lookaside().add_write(line, privileged, offset);
                } else {
                    self.lookaside().add_read(line, privileged, offset);
                }
            }
            line.0 = line.0.wrapping_add(unit);
            if line.0.wrapping_sub(at.0) >= bytes {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Below 32 MB, where a process number counts.
    const AT: u32 = 0x0010_0A40;
    const PID: u8 = 3;
    const LINE_AT: Modified = Modified(AT | (PID as u32) << 25);

    const fn context(pid: u8, domains: u32) -> Context {
        Context { pid, domains, control: 1 }
    }

    /// With the line remembered under one of its virtual addresses.
    fn filled(at: u32) -> Lookaside {
        let mut lookaside = Lookaside::new(context(PID, 1));
        for privileged in [false, true] {
            lookaside.add_read(Virtual(at), privileged, 64);
            lookaside.add_write(Virtual(at + 16), privileged, 64);
            lookaside.add_line(Virtual(at), privileged);
        }
        lookaside
    }

    fn known(lookaside: &Lookaside, at: u32) -> [bool; 3] {
        let [user, privileged] = [false, true].map(|privileged| {
            let hits = lookaside.hits(privileged);
            let (read, write) = (hits.read(at + 8, 4), hits.write(at + 20, 4));
            assert!(read.is_none_or(|at| at == 72) && write.is_none_or(|at| at == 84));
            [read.is_some(), write.is_some(), hits.stamp(at + 31) != 0]
        });
        assert_eq!(user, privileged);
        user
    }

    #[test]
    fn a_hit_is_remembered_for_its_line_or_half_line_and_aligned_accesses_only() {
        let lookaside = filled(AT);
        assert_eq!(known(&lookaside, AT), [true; 3]);
        let hits = lookaside.hits(true);
        assert_eq!(hits.write(AT, 4), None, "the other half");
        assert_eq!((hits.read(AT + 1, 4), hits.read(AT + 1, 2)), (None, None));
        assert_eq!((hits.read(AT + 2, 2), hits.read(AT + 3, 1)), (Some(66), Some(67)));
        assert_eq!(hits.read(AT + 32, 4), None);
        assert_eq!(hits.read(AT + 0x10_0000, 4), None);
    }

    #[test]
    fn an_empty_table_has_no_hit_at_any_address() {
        let lookaside = Lookaside::new(context(0, 0));
        for at in (0..128).chain(0xFFFF_FF80..=0xFFFF_FFFF) {
            for size in [1, 2, 4] {
                assert_eq!(lookaside.hits(false).read(at, size), None);
                assert_eq!(lookaside.hits(false).write(at, size), None);
            }
            assert_eq!(lookaside.hits(false).stamp(at), 0);
        }
    }

    type Forget = fn(&mut Lookaside);

    /// What ends hits, and which are left: reads, writes, lines.
    const ENDS: [(Forget, [bool; 3]); 5] = [
        (|lookaside| lookaside.data_line_gone(LINE_AT), [false, false, true]),
        (|lookaside| lookaside.data_line_cleaned(LINE_AT), [true, false, true]),
        (|lookaside| lookaside.instruction_line_gone(LINE_AT), [true, true, false]),
        (|lookaside| lookaside.translation_gone(Modified(LINE_AT.0 & !1023), 10), [false; 3]),
        (Lookaside::forget_all, [false; 3]),
    ];

    #[test]
    fn each_notification_forgets_what_it_says_under_both_addresses_of_a_line() {
        for at in [AT, LINE_AT.0] {
            for (end, left) in ENDS {
                let mut lookaside = filled(at);
                end(&mut lookaside);
                assert_eq!(known(&lookaside, at), left);
            }
        }
    }

    #[test]
    fn a_line_of_another_process_at_the_same_address_takes_nothing_along() {
        let other = Modified(AT | 5 << 25);
        let mut lookaside = filled(AT);
        lookaside.data_line_gone(other);
        lookaside.instruction_line_gone(other);
        lookaside.translation_gone(Modified(other.0 & !0xF_FFFF), 20);
        assert_eq!(known(&lookaside, AT), [true; 3]);
    }

    #[test]
    fn a_lost_translation_forgets_every_line_of_its_page() {
        for (page, shift) in [(AT & !1023, 10), (AT & !4095, 12), (AT & !0xF_FFFF, 20)] {
            for at in (page..page + (1 << shift)).step_by(32) {
                let mut lookaside = Lookaside::new(context(PID, 1));
                lookaside.add_read(Virtual(at), true, 0);
                lookaside.add_write(Virtual(at), false, 0);
                lookaside.add_write(Virtual(at + 16), true, 0);
                lookaside.add_line(Virtual(at), true);
                lookaside.translation_gone(Modified(page | 3 << 25), shift);
                assert_eq!(lookaside.hits(true).read(at, 4), None);
                assert_eq!(lookaside.hits(false).write(at, 4), None);
                assert_eq!(lookaside.hits(true).write(at + 16, 4), None);
                assert_eq!(lookaside.hits(true).stamp(at), 0);
            }
        }
    }

    #[test]
    fn a_lost_small_page_leaves_its_neighbours() {
        let mut lookaside = filled(AT);
        lookaside.translation_gone(Modified((LINE_AT.0 & !1023) + 1024), 10);
        lookaside.translation_gone(Modified((LINE_AT.0 & !1023) - 1024), 10);
        assert_eq!(known(&lookaside, AT), [true; 3]);
    }

    #[test]
    fn a_context_that_comes_back_knows_what_it_knew_but_for_what_ended_meanwhile() {
        for (end, left) in ENDS {
            let mut lookaside = filled(AT);
            let stamp = lookaside.hits(true).stamp(AT);
            lookaside.enter(context(5, 1));
            assert_eq!(known(&lookaside, AT), [false; 3]);
            lookaside.enter(context(PID, 1));
            assert_eq!(known(&lookaside, AT), [true; 3]);
            assert_eq!(lookaside.hits(true).stamp(AT), stamp, "the same line");
            lookaside.enter(context(PID, 2));
            assert_eq!(known(&lookaside, AT), [false; 3], "other domains");
            end(&mut lookaside);
            lookaside.enter(context(PID, 1));
            assert_eq!(known(&lookaside, AT), left);
        }
    }

    #[test]
    fn more_events_than_are_logged_forget_everything() {
        for (events, left) in [(4096, true), (4097, false)] {
            let mut lookaside = filled(AT);
            lookaside.enter(context(5, 1));
            (0..events).for_each(|_| lookaside.data_line_gone(Modified(0x4000_0000)));
            lookaside.enter(context(PID, 1));
            assert_eq!(known(&lookaside, AT), [left; 3]);
        }
    }

    #[test]
    fn the_context_that_was_left_longest_ago_is_forgotten_first() {
        let mut lookaside = filled(AT);
        (4..20).for_each(|pid| lookaside.enter(context(pid, 1)));
        lookaside.enter(context(PID, 1));
        assert_eq!(known(&lookaside, AT), [false; 3]);
        let mut lookaside = filled(AT);
        (4..19).for_each(|pid| lookaside.enter(context(pid, 1)));
        lookaside.enter(context(PID, 1));
        assert_eq!(known(&lookaside, AT), [true; 3]);
    }
}
