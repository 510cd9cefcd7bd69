//! Finding an entry among those with the same key.
//!
//! Layer: rank 5. Entries with equal keys are in the order of their names. While the journal is
//! replayed, some may be missing on flash: the journal may have moved or removed them, and the replay
//! has not come to that yet. Such a branch is called dangling.
//!
//! Source: Linux 6.1, `fs/ubifs/tnc.c` (`matches_name`, `resolve_collision`, `fallible_matches_name`,
//! `fallible_resolve_collision`, `resolve_collision_directly`).

use super::broken;
use super::load::name_of;
use super::znode::Cursor;
use crate::format::key::Key;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use std::cmp::Ordering;

/// What a search of the fallible kind knows.
struct Dangling {
    /// A branch whose node is missing.
    found: Option<Cursor>,
    /// It is not known in which direction the name is.
    unsure: bool,
    /// A new entry is added, so a dangling branch is never it.
    adding: bool,
}

impl<L: Lebs> Volume<L> {
    /// Moves `at`, a slot with this key, to the entry with this name, as the state of the mount
    /// allows. False: there is none, and `at` is the slot before the place where it would be.
    pub(super) fn resolve(
        &mut self,
        clock: &mut Clock,
        key: Key,
        at: &mut Cursor,
        name: &[u8],
        adding: bool,
    ) -> Result<bool, Error> {
        if self.mode.replaying {
            self.fallible_resolve_collision(clock, key, at, name, adding)
        } else {
            self.resolve_collision(clock, key, at, name)
        }
    }

    fn compare_name(
        &mut self,
        clock: &mut Clock,
        at: Cursor,
        name: &[u8],
    ) -> Result<Ordering, Error> {
        self.cache_entry(clock, at, false)?;
        Ok(name_of(self.cached(at)).cmp(name))
    }

    /// `None`: the entry is not on flash.
    fn fallible_compare_name(
        &mut self,
        clock: &mut Clock,
        at: Cursor,
        name: &[u8],
    ) -> Result<Option<Ordering>, Error> {
        if !self.cache_entry(clock, at, true)? {
            return Ok(None);
        }
        Ok(Some(name_of(self.cached(at)).cmp(name)))
    }

    fn has_key(&self, at: Cursor, key: Key) -> bool {
        self.tnc.arena.under(at).key == key
    }

    /// A search to the left has come to another key. A new entry must not go behind the last slot of
    /// that znode, since the parent's key of the next one may be equal.
    fn stay_right_of(&mut self, clock: &mut Clock, at: &mut Cursor) -> Result<(), Error> {
        if at.behind() < self.tnc.arena.node(at.znode).count() {
            return Ok(());
        }
        if !self.tnc_next(clock, at)? || at.n != 0 {
            return Err(broken(&self.tnc.own_branch(at.znode).branch()));
        }
        at.n = -1;
        Ok(())
    }

    pub(super) fn resolve_collision(
        &mut self,
        clock: &mut Clock,
        key: Key,
        at: &mut Cursor,
        name: &[u8],
    ) -> Result<bool, Error> {
        match self.compare_name(clock, *at, name)? {
            Ordering::Equal => Ok(true),
            Ordering::Greater => self.resolve_left(clock, key, at, name),
            Ordering::Less => self.resolve_right(clock, key, at, name),
        }
    }

    fn resolve_left(
        &mut self,
        clock: &mut Clock,
        key: Key,
        at: &mut Cursor,
        name: &[u8],
    ) -> Result<bool, Error> {
        loop {
            if !self.tnc_prev(clock, at)? {
                at.n = -1;
                return Ok(false);
            }
            if !self.has_key(*at, key) {
                self.stay_right_of(clock, at)?;
                return Ok(false);
            }
            match self.compare_name(clock, *at, name)? {
                Ordering::Less => return Ok(false),
                Ordering::Equal => return Ok(true),
                Ordering::Greater => {}
            }
        }
    }

    fn resolve_right(
        &mut self,
        clock: &mut Clock,
        key: Key,
        at: &mut Cursor,
        name: &[u8],
    ) -> Result<bool, Error> {
        let mut right = *at;
        while self.tnc_next(clock, &mut right)? && self.has_key(right, key) {
            let order = self.compare_name(clock, right, name)?;
            if order == Ordering::Greater {
                break;
            }
            *at = right;
            if order == Ordering::Equal {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn fallible_resolve_collision(
        &mut self,
        clock: &mut Clock,
        key: Key,
        at: &mut Cursor,
        name: &[u8],
        adding: bool,
    ) -> Result<bool, Error> {
        let start = *at;
        let first = self.fallible_compare_name(clock, start, name)?;
        if first == Some(Ordering::Equal) {
            return Ok(true);
        }
        let found = first.is_none().then_some(start);
        // A dangling branch that shall be removed is removed wherever it is.
        let mut dangling = Dangling { found, unsure: first.is_none() || !adding, adding };
        let leftwards = first == Some(Ordering::Greater) || dangling.unsure;
        if leftwards && self.fallible_left(clock, key, at, name, &mut dangling)? {
            return Ok(true);
        }
        if first == Some(Ordering::Less) || dangling.unsure {
            *at = start;
            if self.fallible_right(clock, key, at, name, &mut dangling)? {
                return Ok(true);
            }
        }
        match dangling.found {
            Some(found) if !adding => {
                *at = found;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn fallible_left(
        &mut self,
        clock: &mut Clock,
        key: Key,
        at: &mut Cursor,
        name: &[u8],
        dangling: &mut Dangling,
    ) -> Result<bool, Error> {
        loop {
            if !self.tnc_prev(clock, at)? {
                at.n = -1;
                return Ok(false);
            }
            if !self.has_key(*at, key) {
                self.stay_right_of(clock, at)?;
                return Ok(false);
            }
            match self.fallible_compare_name(clock, *at, name)? {
                Some(Ordering::Equal) => return Ok(true),
                None => dangling.found = Some(*at),
                Some(Ordering::Less) if dangling.adding => return Ok(false),
                Some(Ordering::Greater) if dangling.adding => dangling.unsure = false,
                Some(_) => {}
            }
        }
    }

    fn fallible_right(
        &mut self,
        clock: &mut Clock,
        key: Key,
        at: &mut Cursor,
        name: &[u8],
        dangling: &mut Dangling,
    ) -> Result<bool, Error> {
        let mut right = *at;
        while self.tnc_next(clock, &mut right)? && self.has_key(right, key) {
            let order = self.fallible_compare_name(clock, right, name)?;
            if order == Some(Ordering::Greater) {
                break;
            }
            *at = right;
            match order {
                Some(Ordering::Equal) => return Ok(true),
                None => dangling.found = Some(right),
                _ => {}
            }
        }
        Ok(false)
    }

    /// Moves `at`, a slot with this key, to the slot with this key and place
    /// (`resolve_collision_directly`).
    pub(super) fn resolve_by_place(
        &mut self,
        clock: &mut Clock,
        key: Key,
        at: &mut Cursor,
        (leb, offs): (LebIndex, u32),
    ) -> Result<bool, Error> {
        if self.tnc.arena.under(*at).is_at(leb, offs) {
            return Ok(true);
        }
        let mut left = *at;
        while self.tnc_prev(clock, &mut left)? && self.has_key(left, key) {
            if self.tnc.arena.under(left).is_at(leb, offs) {
                *at = left;
                return Ok(true);
            }
        }
        let mut right = *at;
        while self.tnc_next(clock, &mut right)? && self.has_key(right, key) {
            *at = right;
            if self.tnc.arena.under(right).is_at(leb, offs) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
