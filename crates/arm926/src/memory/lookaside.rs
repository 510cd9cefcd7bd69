//! The look-aside of the fast engines: the lookups that are known to hit.
//!
//! Layer: rank 3. Replacement on this core does not depend on hits, so skipping a lookup that would hit
//! changes no later one. The memory system tells [`Lookaside`] when entries may become invalid; the
//! reference interpreter never reads it. It is derived data and is not saved. [`Hits`] are the entries
//! of one [`Context`] at one privilege. The tables of recent contexts are kept for when a system
//! switches back. They then apply the evictions of instruction lines that they missed, and compare what
//! they presume with the TLB and the data cache. The entries of a translation that the TLB replaces wait
//! for it to come back. Excess invalidation costs only time.

mod contents;
mod hits;
mod log;
mod misses;
mod tables;

use std::sync::Arc;

use super::cache::Cache;
use super::tlb::Tlb;
use super::{Abort, Access, Hit, Memory};
use crate::address::{Cycles, LINE, Modified, Physical, Virtual};
use crate::bus::Bus;
use contents::Contents;
use hits::DataLine;
pub use hits::{DataLayout, HALF, Hits, LineHit, READS, WRITES};
use log::Log;
use misses::Misses;
use tables::Tables;

/// The number of contexts whose tables are kept, besides the current one.
const INACTIVE_MAX: usize = 15;

/// The state besides TLB and caches that determines whether an access hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Context {
    /// The FCSE PID; 0 without the MMU.
    pub(super) pid: u8,
    /// The domain access register.
    pub(super) domains: u32,
    /// The control register.
    pub(super) control: u32,
}

/// The identity of a look-aside, and thereby of its core. Stamps are valid for one identity.
#[derive(Debug, Clone, Default)]
pub struct Identity(Arc<()>);

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Identity {}

/// The tables of a context that is not current.
#[derive(Debug)]
struct InactiveTables {
    tables: Tables,
    /// The number of the first eviction that they missed.
    since: u64,
}

/// The result of the lookup of an instruction line.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LineLookup {
    /// It hits.
    Hit(LineHit),
    /// It misses, so that a fetch would fill it.
    Miss(MissingLine),
    /// A fetch would do anything else, or stamps are exhausted.
    Other,
}

impl From<Option<LineHit>> for LineLookup {
    fn from(line: Option<LineHit>) -> Self {
        line.map_or(Self::Other, Self::Hit)
    }
}

/// An instruction line that a fetch would fill.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MissingLine {
    at: Virtual,
    modified: Modified,
    privileged: bool,
    /// The place of its translation in the TLB.
    place: usize,
}

/// The entries of all contexts.
#[derive(Debug)]
pub struct Lookaside {
    /// The tables of the current context.
    tables: Tables,
    /// The tables of other contexts, the most recent last.
    inactive: Vec<InactiveTables>,
    /// The lines that writes of the current context miss.
    misses: Misses,
    log: Log,
    contents: Contents,
    /// The line hit of each line of the instruction cache, if known.
    filled: Box<[LineHit]>,
    identity: Identity,
    /// See [`Lookaside::line_losses`].
    line_losses: u64,
}

/// A copy belongs to another core: it is empty.
impl Clone for Lookaside {
    fn clone(&self) -> Self {
        Self::new(self.tables.context, [self.filled.len(), self.tables.data_lines()])
    }
}

impl Lookaside {
    /// Creates tables for an instruction cache and a data cache with these numbers of lines.
    pub(super) fn new(context: Context, [instructions, data]: [usize; 2]) -> Self {
        Self {
            tables: Tables::new(context, data),
            inactive: Vec::new(),
            misses: Misses::default(),
            log: Log::default(),
            contents: Contents::default(),
            filled: vec![LineHit::NONE; instructions].into(),
            identity: Identity::default(),
            line_losses: 0,
        }
    }

    /// The entries at a privilege.
    #[must_use]
    #[inline]
    pub fn hits(&self, privileged: bool) -> &Hits {
        &self.tables.hits[usize::from(privileged)]
    }

    /// The identity. An engine that finds another one discards its derived data.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// How often a walk may have made instruction lines miss. Between instructions that compiled code executes,
    /// nothing else does.
    #[must_use]
    #[inline]
    pub const fn line_losses(&self) -> u64 {
        self.line_losses
    }

    /// The line hit of `at`, in line `index` of the instruction cache; `None` if stamps are exhausted.
    fn line(
        &mut self,
        at: Virtual,
        index: usize,
        contents: &[u8; LINE as usize],
    ) -> Option<LineHit> {
        let known = self.filled[index];
        if known.is_of(at.0) {
            return Some(known);
        }
        let line = self.contents.line(at, contents)?;
        self.filled[index] = line;
        Some(line)
    }

    /// Records that writes miss the line of `access`, which is at `physical` in memory, in `context`: it
    /// is not the current one until fetches use a new PID.
    #[inline]
    pub(super) fn add_miss(&mut self, context: Context, access: Access, physical: Physical) {
        if context == self.tables.context {
            self.misses.add(access.at, access.privileged, physical);
        }
    }

    /// Drops the miss of `line`, which the data cache has been filled with.
    #[inline]
    pub(super) fn drop_miss(&mut self, line: Modified) {
        self.misses.drop_line(line);
    }

    /// Drops the entries of line `index` of the data cache, at `line`: it was evicted or invalidated.
    #[inline]
    pub(super) fn drop_data_line(&mut self, index: usize, line: Modified) {
        self.tables.drop_data_line(index, line);
    }

    /// Drops the write entries of line `index` of the data cache, at `line`: it was cleaned.
    pub(super) fn clean_data_line(&mut self, index: usize, line: Modified) {
        self.tables.clean_data_line(index, line);
    }

    /// Drops the entries of line `index` of the instruction cache, at `line`: it was evicted or
    /// invalidated.
    pub(super) fn drop_instruction_line(&mut self, index: usize, line: Modified) {
        self.filled[index] = LineHit::NONE;
        self.tables.drop_instruction_line(line);
        if !self.inactive.is_empty() {
            self.log.add(line);
        }
    }

    /// Drops the entries of the translation that was at `place` of the TLB, and brings those back of the
    /// one that is there now.
    pub(super) fn replace_translation(&mut self, place: usize, tlb: &Tlb) {
        self.misses.clear();
        self.line_losses += u64::from(self.tables.has_lines(place));
        self.tables.drop_translation(place);
        if tlb.is_distinct() {
            self.tables.restore_translation(place, tlb.entry(place));
        }
    }

    /// Invalidates all entries: translations overlap.
    pub(super) fn invalidate_all(&mut self) {
        self.line_losses += 1;
        self.invalidate_instructions();
        self.invalidate_translations();
    }

    /// Invalidates the entries of all lines of the instruction cache.
    pub(super) fn invalidate_instructions(&mut self) {
        self.tables.clear_lines();
        self.filled.fill(LineHit::NONE);
        self.log.invalidate_all();
    }

    /// Invalidates the entries of all lines of the data cache. Other contexts compare theirs with it.
    pub(super) fn invalidate_data(&mut self) {
        self.tables.clear_data();
    }

    /// Invalidates the entries of all translations. Other contexts compare theirs with the TLB.
    pub(super) fn invalidate_translations(&mut self) {
        self.tables.clear();
        self.misses.clear();
    }

    /// Switches to a context.
    pub(super) fn enter(&mut self, context: Context, tlb: &Tlb, data: &Cache) {
        if self.tables.context == context {
            return;
        }
        self.misses.clear();
        if !tlb.is_distinct() {
            // A mark does not tell which of the overlapping translations its entry presumes.
            self.tables.clear();
        }
        let known = self.inactive.iter().position(|other| other.tables.context == context);
        let tables = match known.map(|at| self.inactive.remove(at)) {
            Some(InactiveTables { mut tables, since }) => {
                match self.log.since(since) {
                    Some(evicted) => {
                        evicted.for_each(|line| tables.drop_instruction_line(line));
                        tables.reconcile(tlb, data);
                    }
                    None => tables.clear(),
                }
                tables
            }
            None if self.inactive.len() < INACTIVE_MAX => {
                Tables::new(context, self.tables.data_lines())
            }
            None => {
                let mut tables = self.inactive.remove(0).tables;
                tables.clear();
                tables.context = context;
                tables
            }
        };
        let tables = std::mem::replace(&mut self.tables, tables);
        self.inactive.push(InactiveTables { tables, since: self.log.count() });
    }
}

impl Memory {
    /// Writes one aligned item, like [`Memory::write`]. A line that is known to miss is not looked up.
    ///
    /// # Errors
    ///
    /// An [`Abort`].
    #[inline(always)]
    pub(crate) fn write_quickly<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<(), Abort> {
        match self.lookaside.misses.find(access.at, access.privileged) {
            Some(physical) => self.write_around(physical, access.width, &[value], bus, now),
            None => return self.write(access, value, bus, now),
        }
        Ok(())
    }

    /// Writes one aligned item to a line in memory that is known to miss, like [`Memory::write`]; returns
    /// false, and does nothing, if it is none or if the board has no quick way.
    #[cfg(feature = "compiler")]
    #[inline(always)]
    pub(crate) fn write_known_miss<B: Bus + ?Sized>(
        &mut self,
        access: Access,
        value: u32,
        bus: &mut B,
        now: &mut Cycles,
    ) -> bool {
        let physical = self.lookaside.misses.find(access.at, access.privileged);
        let Some(at) = physical else { return false };
        let Some(waits) = bus.write_memory(at, access.width, value) else { return false };
        self.note_around(1);
        self.time_store(at, access.width, waits, now);
        true
    }

    /// Writes aligned words, like [`Memory::write_words`]. Lines that are known to miss are not looked up.
    ///
    /// # Errors
    ///
    /// An [`Abort`], after the preceding words are written.
    pub(crate) fn write_words_quickly<B: Bus + ?Sized>(
        &mut self,
        mut access: Access,
        mut values: &[u32],
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<(), Abort> {
        while let Some((line, others)) = access.split_at_line(values) {
            match self.lookaside.misses.find(access.at, access.privileged) {
                Some(physical) => self.write_around(physical, access.width, line, bus, now),
                None => self.write_words(access, line, bus, now)?,
            }
            (access, values) = (access.word(line.len()), others);
        }
        Ok(())
    }

    /// Adds the entries of lines (for a write, half-lines) at `at` that an access would hit.
    pub fn learn(&mut self, at: Virtual, bytes: u32, (privileged, write): (bool, bool)) {
        let unit = if write { HALF } else { LINE };
        let mut line = Virtual(at.0 & !(unit - 1));
        loop {
            if let Some(hit) = self.data_place(line, privileged, write) {
                self.add_hit(line, (privileged, write), hit);
            }
            line.0 = line.0.wrapping_add(unit);
            if line.0.wrapping_sub(at.0) >= bytes {
                return;
            }
        }
    }

    /// Like [`Memory::learn`], directly after an aligned access to these `bytes` that did not abort.
    #[inline]
    pub(crate) fn learn_last(
        &mut self,
        at: Virtual,
        bytes: u32,
        (privileged, write): (bool, bool),
    ) {
        let unit = if write { HALF } else { LINE };
        if (at.0 ^ at.0.wrapping_add(bytes - 1)) & !(unit - 1) != 0 {
            return self.learn(at, bytes, (privileged, write));
        }
        self.learn_item(at, (privileged, write));
    }

    /// Like [`Memory::learn_last`], after an access to an item or a pair, which is in one half-line.
    #[inline]
    pub(crate) fn learn_item(&mut self, at: Virtual, access: (bool, bool)) {
        if let Some(hit) = self.hit {
            self.add_hit(at, access, hit);
        }
    }

    /// Adds an entry for the line of the data cache that an access hits.
    fn add_hit(&mut self, at: Virtual, access: (bool, bool), Hit { line, place }: Hit) {
        let Some(address) = self.data.address(line) else { return };
        let line = DataLine { index: line, at: address, host: self.data.host_address(line) };
        let translation = (place, self.tlb.entry(place));
        self.lookaside.tables.add_data(at, access, line, translation);
    }

    /// Looks up the instruction line of `at` without an effect on the core; adds the entry of a hit.
    pub(crate) fn find_line(&mut self, at: Virtual, privileged: bool) -> LineLookup {
        let known = self.lookaside.hits(privileged).line(at.0);
        if known != LineHit::NONE {
            return LineLookup::Hit(known);
        }
        let Some((modified, place)) = self.instruction_translation(at, privileged) else {
            return LineLookup::Other;
        };
        match (self.instructions.find(modified), place) {
            (Some(index), _) => self.add_line((at, privileged), index, place).into(),
            (None, Some(place)) if !self.instructions.is_locked() => {
                LineLookup::Miss(MissingLine { at, modified, privileged, place })
            }
            _ => LineLookup::Other,
        }
    }

    /// Adds the entry of line `index` of the instruction cache; `None` if stamps are exhausted.
    fn add_line(
        &mut self,
        (at, privileged): (Virtual, bool),
        index: usize,
        place: Option<usize>,
    ) -> Option<LineHit> {
        let line = self.lookaside.line(at, index, self.instructions.contents(index)?)?;
        let translation = place.map(|place| (place, self.tlb.entry(place)));
        self.lookaside.tables.add_line(line, privileged, translation);
        Some(line)
    }

    /// The line hit of `at`, if a fetch there would hit; adds its entry.
    pub fn line_hit(&mut self, at: Virtual, privileged: bool) -> Option<LineHit> {
        match self.find_line(at, privileged) {
            LineLookup::Hit(line) => Some(line),
            _ => None,
        }
    }

    /// Fetches a line that [`Memory::find_line`] has just missed, and makes it the current one. `None` if
    /// stamps are exhausted.
    ///
    /// # Errors
    ///
    /// An [`Abort`].
    pub(crate) fn fetch_line<B: Bus + ?Sized>(
        &mut self,
        missing: MissingLine,
        bus: &mut B,
        now: &mut Cycles,
    ) -> Result<Option<LineHit>, Abort> {
        let MissingLine { at, modified, privileged, place } = missing;
        let filled = self.fetch_missing((at, modified), privileged, place, bus, now)?;
        Ok(filled.and_then(|index| self.add_line((at, privileged), index, Some(place))))
    }

    /// The line hit of the current line, if a fetch at `at` would use it without a lookup.
    pub fn current_hit(&mut self, at: Virtual, privileged: bool) -> Option<LineHit> {
        let index = self.current_place(at, privileged)?;
        self.lookaside.line(at, index, self.instructions.contents(index)?)
    }

    /// The line hit of `at`, if it is the current line or would hit.
    pub(crate) fn line_of(&mut self, at: Virtual, privileged: bool) -> Option<LineHit> {
        self.current_hit(at, privileged).or_else(|| self.line_hit(at, privileged))
    }

    /// Replaces the look-aside, with a new identity, when stamps run out.
    pub(crate) fn renew_lookaside(&mut self) {
        if self.lookaside.contents.are_exhausted() {
            self.lookaside = self.lookaside.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::Width;
    use crate::config::Config;
    use crate::memory::tlb::Entry;

    /// Below 32 MB, where a process number counts.
    const AT: u32 = 0x0010_0A40;
    const PID: u8 = 3;
    const LINE_AT: Modified = Modified(AT | (PID as u32) << 25);
    /// Line 2 of each cache: byte 64 of its array.
    const INDEX: usize = 2;

    const fn context(pid: u8, domains: u32) -> Context {
        Context { pid, domains, control: 1 }
    }

    /// A look-aside with its TLB and data cache.
    struct Fixture {
        lookaside: Lookaside,
        tlb: Tlb,
        data: Cache,
        place: usize,
    }

    /// A translation of 2^`shift` bytes.
    const fn translation(base: u32, shift: u8) -> Entry {
        let mask = !((1 << shift) - 1);
        Entry { base: base & mask, mask, shift, ..Entry::NONE }
    }

    const fn data_line(index: usize, at: Modified) -> DataLine {
        DataLine { index, at: at.line(), host: 0 }
    }

    impl Fixture {
        /// With a translation of 2^`shift` bytes.
        fn new(shift: u8) -> Self {
            let config = Config::default();
            let (mut tlb, mut data) = (Tlb::new(&config), Cache::new(config.data_cache));
            let lines = [Cache::new(config.instruction_cache).lines(), data.lines()];
            data.install(INDEX, LINE_AT, Physical(0), &[0; 32]);
            data.mark_dirty(INDEX, 0);
            data.mark_dirty(INDEX, HALF);
            let (place, _) = tlb.insert(translation(LINE_AT.0, shift));
            let lookaside = Lookaside::new(context(PID, 1), lines);
            Self { lookaside, tlb, data, place }
        }

        /// With the line under one of its virtual addresses.
        fn filled(at: u32) -> Self {
            let mut fixture = Self::new(10);
            fixture.fill(at);
            fixture
        }

        fn fill(&mut self, at: u32) {
            let Self { lookaside, tlb, place, .. } = self;
            let (hit, translation) = (data_line(INDEX, LINE_AT), (*place, tlb.entry(*place)));
            for privileged in [false, true] {
                lookaside.tables.add_data(Virtual(at), (privileged, false), hit, translation);
                lookaside.tables.add_data(Virtual(at + 16), (privileged, true), hit, translation);
                let line = lookaside.line(Virtual(at), INDEX, &[7; 32]).unwrap();
                lookaside.tables.add_line(line, privileged, Some(translation));
            }
        }

        fn enter(&mut self, context: Context) {
            self.lookaside.enter(context, &self.tlb, &self.data);
        }

        fn evict_data_line(&mut self) {
            self.data.invalidate(INDEX);
            self.lookaside.drop_data_line(INDEX, LINE_AT);
        }

        fn replace_data_line(&mut self) {
            self.evict_data_line();
            self.data.install(INDEX, Modified(LINE_AT.0 + 0x1000), Physical(0), &[0; 32]);
        }

        fn clean_data_line(&mut self) {
            self.data.clean(INDEX);
            self.lookaside.clean_data_line(INDEX, LINE_AT);
        }

        fn evict_instruction_line(&mut self) {
            self.lookaside.drop_instruction_line(INDEX, LINE_AT);
        }

        fn replace_translation(&mut self) {
            let before = *self.tlb.entry(self.place);
            let mut other = before;
            while *self.tlb.entry(self.place) == before {
                // The same set of the TLB.
                other.base += 32 << before.shift;
                self.insert(other);
            }
        }

        /// Inserts a translation, as a walk does; returns its place.
        fn insert(&mut self, translation: Entry) -> usize {
            let (place, _) = self.tlb.insert(translation);
            self.lookaside.replace_translation(place, &self.tlb);
            place
        }

        fn known(&self, at: u32) -> [bool; 3] {
            let [user, privileged] = [false, true].map(|privileged| {
                let hits = self.lookaside.hits(privileged);
                let (read, write) = (hits.read(at + 8, 4), hits.write(at + 20, 4));
                assert!(read.is_none_or(|at| at == 72) && write.is_none_or(|at| at == 84));
                [read.is_some(), write.is_some(), hits.line(at + 31) != LineHit::NONE]
            });
            assert_eq!(user, privileged);
            user
        }
    }

    /// Whether a change ends a known miss, and the change.
    type Ending = (bool, fn(&mut Fixture));

    #[test]
    fn a_known_miss_ends_with_its_fill_its_translation_and_its_context() {
        let physical = Physical(0x4000);
        let known = |lookaside: &Lookaside, offset| {
            let at = Virtual(AT + offset);
            [false, true].map(|privileged| lookaside.misses.find(at, privileged))
        };
        let ends: [Ending; 9] = [
            (false, |fixture| fixture.enter(context(PID, 1))),
            (false, Fixture::evict_data_line),
            (false, |fixture| fixture.lookaside.invalidate_data()),
            (false, |fixture| fixture.lookaside.invalidate_instructions()),
            (true, |fixture| fixture.lookaside.drop_miss(LINE_AT)),
            (true, Fixture::replace_translation),
            (true, |fixture| fixture.lookaside.invalidate_translations()),
            (true, |fixture| fixture.enter(context(PID + 1, 1))),
            (true, |fixture| fixture.enter(context(PID, 3))),
        ];
        for (index, (ends, change)) in ends.into_iter().enumerate() {
            let mut fixture = Fixture::new(10);
            assert_eq!(known(&fixture.lookaside, 0), [None; 2]);
            let access = Access { at: Virtual(AT + 8), width: Width::Word, privileged: true };
            let at = Physical(physical.0 + 8);
            fixture.lookaside.add_miss(context(PID + 1, 1), access, at);
            assert_eq!(known(&fixture.lookaside, 0), [None; 2], "of a context to come");
            fixture.lookaside.add_miss(context(PID, 1), access, at);
            assert_eq!(known(&fixture.lookaside, 4), [None, Some(Physical(physical.0 + 4))]);
            assert_eq!(known(&fixture.lookaside, LINE), [None; 2]);
            change(&mut fixture);
            let still = known(&fixture.lookaside, 0);
            assert_eq!(still, [None, (!ends).then_some(physical)], "{index}");
            // Nor does it come back with the context.
            fixture.enter(context(PID, 1));
            assert_eq!(known(&fixture.lookaside, 0), still, "{index}");
        }
    }

    #[test]
    fn an_entry_is_for_its_line_or_half_line_and_aligned_accesses_only() {
        let fixture = Fixture::filled(AT);
        assert_eq!(fixture.known(AT), [true; 3]);
        let hits = fixture.lookaside.hits(true);
        assert_eq!(hits.write(AT, 4), None, "the other half");
        assert_eq!((hits.read(AT + 1, 4), hits.read(AT + 1, 2)), (None, None));
        assert_eq!((hits.read(AT + 2, 2), hits.read(AT + 3, 1)), (Some(66), Some(67)));
        assert_eq!(hits.read(AT + 32, 4), None);
        assert_eq!(hits.read(AT + 0x10_0000, 4), None);
    }

    #[test]
    fn an_empty_table_has_no_hit_at_any_address() {
        let lookaside = Fixture::new(10).lookaside;
        for at in (0..128).chain(0xFFFF_FF80..=0xFFFF_FFFF) {
            for size in [1, 2, 4] {
                assert_eq!(lookaside.hits(false).read(at, size), None);
                assert_eq!(lookaside.hits(false).write(at, size), None);
            }
            assert_eq!(lookaside.hits(false).line(at), LineHit::NONE);
        }
    }

    #[test]
    fn an_entry_of_another_line_at_its_place_replaces_an_entry_and_a_repetition_changes_nothing() {
        let mut fixture = Fixture::filled(AT);
        fixture.fill(AT);
        assert_eq!(fixture.known(AT), [true; 3]);
        let other = AT + 0x10_0000;
        let line = data_line(INDEX + 4, Modified(LINE_AT.0 + 0x10_0000));
        let Fixture { lookaside, tlb, place, .. } = &mut fixture;
        let translation = (*place, tlb.entry(*place));
        lookaside.tables.add_data(Virtual(other), (true, false), line, translation);
        let hits = lookaside.hits(true);
        assert_eq!((hits.read(AT, 4), hits.write(AT + 16, 4)), (None, None));
        assert_eq!((hits.read(other, 4), hits.write(other + 16, 4)), (Some(64 + 128), None));
        lookaside.tables.add_data(Virtual(other + 16), (true, true), line, translation);
        let hits = lookaside.hits(true);
        assert_eq!((hits.write(other, 4), hits.write(other + 20, 4)), (None, Some(64 + 128 + 20)));
    }

    #[test]
    fn lines_are_lost_by_walks_that_end_a_translation_of_theirs() {
        let losses: [(Notification, u64); 6] = [
            (Fixture::evict_data_line, 0),
            (Fixture::clean_data_line, 0),
            (Fixture::replace_translation, 1),
            (|fixture| fixture.lookaside.invalidate_all(), 1),
            (|fixture| _ = fixture.insert(translation(LINE_AT.0 ^ 1 << 20, 10)), 0),
            (
                |fixture| {
                    fixture.replace_translation();
                    fixture.replace_translation();
                },
                1,
            ),
        ];
        for (index, (change, losses)) in losses.into_iter().enumerate() {
            let mut fixture = Fixture::filled(AT);
            change(&mut fixture);
            assert_eq!(fixture.lookaside.line_losses(), losses, "{index}");
        }
    }

    type Notification = fn(&mut Fixture);

    /// The notifications, and the entries that remain: reads, writes, lines.
    const NOTIFICATIONS: [(Notification, [bool; 3]); 6] = [
        (Fixture::evict_data_line, [false, false, true]),
        (Fixture::replace_data_line, [false, false, true]),
        (Fixture::clean_data_line, [true, false, true]),
        (Fixture::evict_instruction_line, [true, true, false]),
        (Fixture::replace_translation, [false; 3]),
        (|fixture| fixture.lookaside.invalidate_all(), [false; 3]),
    ];

    #[test]
    fn each_notification_removes_what_it_says_under_both_addresses_of_a_line() {
        for at in [AT, LINE_AT.0] {
            for (number, (end, left)) in NOTIFICATIONS.into_iter().enumerate() {
                let mut fixture = Fixture::filled(at);
                end(&mut fixture);
                assert_eq!(fixture.known(at), left, "end {number}");
            }
        }
    }

    #[test]
    fn a_line_of_another_process_at_the_same_address_takes_nothing_along() {
        let other = Modified(AT | 5 << 25);
        let mut fixture = Fixture::filled(AT);
        fixture.lookaside.drop_data_line(INDEX + 4, other);
        fixture.lookaside.drop_instruction_line(INDEX + 4, other);
        fixture.insert(translation(other.0, 20));
        assert_eq!(fixture.known(AT), [true; 3]);
    }

    #[test]
    fn a_lost_translation_removes_every_line_of_its_page() {
        for shift in [10, 12, 20] {
            let page = AT & !((1 << shift) - 1);
            for at in (page..page + (1 << shift)).step_by(if shift == 20 { 0x1FE0 } else { 32 }) {
                let mut fixture = Fixture::new(shift);
                let entry = *fixture.tlb.entry(fixture.place);
                let lookaside = &mut fixture.lookaside;
                let line = Virtual(at).modified(PID).line();
                let (hit, translation) = (data_line(0, line), (fixture.place, &entry));
                lookaside.tables.add_data(Virtual(at), (true, false), hit, translation);
                lookaside.tables.add_data(Virtual(at), (false, true), hit, translation);
                lookaside.tables.add_data(Virtual(at + 16), (true, true), hit, translation);
                let line = lookaside.line(Virtual(at), 0, &[7; 32]).unwrap();
                lookaside.tables.add_line(line, true, Some(translation));
                fixture.replace_translation();
                let lookaside = &fixture.lookaside;
                assert_eq!(lookaside.hits(true).read(at, 4), None);
                assert_eq!(lookaside.hits(false).write(at, 4), None);
                assert_eq!(lookaside.hits(true).write(at + 16, 4), None);
                assert_eq!(lookaside.hits(true).line(at), LineHit::NONE);
            }
        }
    }

    #[test]
    fn a_lost_small_page_leaves_others_whose_entries_are_beside_its_own() {
        for at in [AT + 0x1_0020, AT - 0xFFE0] {
            let mut fixture = Fixture::filled(AT);
            let entry = translation(Virtual(at).modified(PID).0, 10);
            let (place, _) = fixture.tlb.insert(entry);
            assert_ne!(place, fixture.place);
            let tables = &mut fixture.lookaside.tables;
            let line = Virtual(at).modified(PID).line();
            let (hit, translation) = (data_line(INDEX + 1, line), (place, &entry));
            tables.add_data(Virtual(at), (true, false), hit, translation);
            tables.add_data(Virtual(at), (true, true), hit, translation);
            assert_ne!(fixture.lookaside.hits(true).read(at, 4), None);
            fixture.lookaside.tables.drop_translation(place);
            assert_eq!(fixture.lookaside.hits(true).read(at, 4), None);
            assert_eq!(fixture.known(AT), [true; 3]);
        }
    }

    #[test]
    fn a_context_that_comes_back_knows_what_it_knew_but_for_what_ended_meanwhile() {
        for (number, (end, left)) in NOTIFICATIONS.into_iter().enumerate() {
            let mut fixture = Fixture::filled(AT);
            let line = fixture.lookaside.hits(true).line(AT);
            fixture.enter(context(5, 1));
            assert_eq!(fixture.known(AT), [false; 3]);
            fixture.enter(context(PID, 1));
            assert_eq!(fixture.known(AT), [true; 3]);
            assert_eq!(fixture.lookaside.hits(true).line(AT), line, "the same line");
            fixture.enter(context(PID, 2));
            assert_eq!(fixture.known(AT), [false; 3], "other domains");
            end(&mut fixture);
            fixture.enter(context(PID, 1));
            assert_eq!(fixture.known(AT), left, "end {number}");
        }
    }

    #[test]
    fn the_entries_of_a_translation_that_comes_back_are_there_again_but_for_what_ended_meanwhile() {
        let none: (Notification, [bool; 3]) = (|_| {}, [true; 3]);
        let flushed: [(Notification, [bool; 3]); 3] = [
            (|fixture| fixture.lookaside.invalidate_instructions(), [true, true, false]),
            (|fixture| fixture.lookaside.invalidate_data(), [false, false, true]),
            (|fixture| fixture.lookaside.invalidate_translations(), [false; 3]),
        ];
        let ends = NOTIFICATIONS[..4].iter().copied().chain([none]).chain(flushed);
        for (number, (end, left)) in ends.enumerate() {
            for (at, is_away) in
                [AT, LINE_AT.0].into_iter().flat_map(|at| [(at, false), (at, true)])
            {
                let mut fixture = Fixture::filled(at);
                let translation = *fixture.tlb.entry(fixture.place);
                fixture.replace_translation();
                assert_eq!(fixture.known(at), [false; 3]);
                end(&mut fixture);
                if is_away {
                    fixture.enter(context(PID + 1, 1));
                }
                fixture.place = fixture.insert(translation);
                fixture.enter(context(PID, 1));
                assert_eq!(fixture.known(at), left, "end {number}, away: {is_away}");
                // They end like others.
                fixture.replace_translation();
                assert_eq!(fixture.known(at), [false; 3]);
            }
        }
    }

    #[test]
    fn entries_end_while_they_wait_in_a_context_that_is_not_current() {
        for (number, (end, left)) in NOTIFICATIONS[..4].iter().copied().enumerate() {
            let mut fixture = Fixture::filled(AT);
            let translation = *fixture.tlb.entry(fixture.place);
            fixture.replace_translation();
            fixture.enter(context(PID + 1, 1));
            end(&mut fixture);
            fixture.enter(context(PID, 1));
            fixture.place = fixture.insert(translation);
            assert_eq!(fixture.known(AT), left, "end {number}");
        }
    }

    #[test]
    fn another_translation_of_a_page_brings_nothing_back() {
        for change in 0..4 {
            let mut fixture = Fixture::filled(AT);
            let mut translation = *fixture.tlb.entry(fixture.place);
            fixture.replace_translation();
            match change {
                0 => translation.permission = 1,
                1 => translation.cacheable = true,
                2 => translation.domain = 1,
                _ => translation.physical = 0x4000,
            }
            fixture.insert(translation);
            assert_eq!(fixture.known(AT), [false; 3], "{change}");
        }
    }

    #[test]
    fn nothing_comes_back_while_translations_overlap() {
        for is_away in [false, true] {
            let mut fixture = Fixture::filled(AT);
            let entry = *fixture.tlb.entry(fixture.place);
            fixture.replace_translation();
            fixture.tlb.insert(translation(LINE_AT.0, 20));
            if is_away {
                fixture.enter(context(PID + 1, 1));
            }
            fixture.insert(entry);
            fixture.enter(context(PID, 1));
            assert_eq!(fixture.known(AT), [false; 3], "away: {is_away}");
        }
    }

    #[test]
    fn what_was_known_while_translations_overlapped_is_forgotten_with_its_context() {
        let mut fixture = Fixture::new(10);
        let page = *fixture.tlb.entry(fixture.place);
        let section = fixture.insert(translation(LINE_AT.0, 20));
        // A line of the section alone, at the place of the page's.
        let other = Virtual(AT ^ 0x1_0000);
        let line = data_line(INDEX + 4, other.modified(PID).line());
        let Fixture { lookaside, tlb, .. } = &mut fixture;
        let translation = (section, tlb.entry(section));
        lookaside.tables.add_data(other, (true, false), line, translation);
        fixture.fill(AT);
        assert_eq!(fixture.known(AT), [true; 3]);
        fixture.enter(context(PID + 1, 1));
        fixture.tlb.invalidate(LINE_AT);
        fixture.insert(page);
        assert!(fixture.tlb.is_distinct());
        fixture.enter(context(PID, 1));
        assert_eq!(fixture.known(AT), [false; 3]);
    }

    #[test]
    fn a_translation_does_not_bring_the_entries_of_another_one_of_its_page_back() {
        let mut fixture = Fixture::new(10);
        let (page, section) = (*fixture.tlb.entry(fixture.place), translation(LINE_AT.0, 20));
        // An entry of the page at an index at which the section then has one that ends.
        fixture.fill(AT);
        fixture.replace_translation();
        fixture.tlb.invalidate_all();
        fixture.place = fixture.insert(section);
        fixture.fill(AT);
        fixture.replace_translation();
        assert_eq!(fixture.known(AT), [false; 3]);
        fixture.tlb.invalidate_all();
        fixture.place = fixture.insert(page);
        assert_eq!(fixture.known(AT), [false; 3], "those of the section are at their indices");
        fixture.replace_translation();
        fixture.tlb.invalidate_all();
        fixture.place = fixture.insert(section);
        assert_eq!(fixture.known(AT), [false; 3], "its entries were forgotten");
    }

    #[test]
    fn a_line_has_the_same_stamp_in_each_context_as_long_as_it_has_the_same_contents() {
        let mut fixture = Fixture::filled(AT);
        let line = fixture.lookaside.hits(true).line(AT);
        fixture.enter(context(PID, 2));
        fixture.fill(AT);
        assert_eq!(fixture.lookaside.hits(false).line(AT), line);
        fixture.evict_instruction_line();
        fixture.fill(AT);
        assert_eq!(fixture.lookaside.hits(false).line(AT), line, "the same contents again");
        fixture.evict_instruction_line();
        let other = fixture.lookaside.line(Virtual(AT), INDEX, &[8; 32]);
        assert_ne!(other, Some(line));
        assert_eq!(fixture.lookaside.line(Virtual(AT), INDEX, &[8; 32]), other);
        let alias = fixture.lookaside.line(Virtual(LINE_AT.0), INDEX, &[8; 32]);
        assert_ne!(alias, other, "the same line under its other address");
    }

    #[test]
    fn more_evictions_than_are_logged_invalidate_everything() {
        for (evictions, left) in [(4096, true), (4097, false)] {
            let mut fixture = Fixture::filled(AT);
            fixture.enter(context(5, 1));
            let elsewhere = Modified(0x4000_0000);
            (0..evictions).for_each(|_| fixture.lookaside.drop_instruction_line(9, elsewhere));
            fixture.enter(context(PID, 1));
            assert_eq!(fixture.known(AT), [left; 3]);
        }
    }

    #[test]
    fn the_context_that_was_left_longest_ago_is_dropped_first() {
        for (last, left) in [(20, false), (19, true)] {
            let mut fixture = Fixture::filled(AT);
            (4..last).for_each(|pid| fixture.enter(context(pid, 1)));
            fixture.enter(context(PID, 1));
            assert_eq!(fixture.known(AT), [left; 3]);
        }
    }
}
