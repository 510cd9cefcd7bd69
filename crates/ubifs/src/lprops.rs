//! The properties of LEBs of the main area, and their totals.
//!
//! Layer: rank 5. Main types: [`Lprops`], [`SpaceTotals`]. They are kept in the
//! [LEB properties tree](crate::lpt); only [`Volume::change_lp`] changes them.
//!
//! Source: Linux 6.1, `fs/ubifs/lprops.c`.

use crate::error::Problem;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;

/// The smallest node that may be written into dark space (`MIN_WRITE_SZ`).
const WRITE_MIN: u32 = 48 + 8;

/// Flags of a LEB.
pub(crate) mod flag {
    /// In use by a journal head, the index head or garbage collection (`LPROPS_TAKEN`). In memory only.
    pub(crate) const TAKEN: u8 = 0x10;
    /// Has indexing nodes (`LPROPS_INDEX`).
    pub(crate) const INDEX: u8 = 0x20;
}

/// The properties of a LEB of the main area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lprops {
    /// The LEB.
    pub(crate) leb: LebIndex,
    /// Free bytes at its end.
    pub(crate) free: u32,
    /// Bytes of obsolete nodes and padding.
    pub(crate) dirty: u32,
    /// Flags of [`flag`].
    pub(crate) flags: u8,
}

impl Lprops {
    /// Whether it has indexing nodes.
    pub(crate) const fn is_index(self) -> bool {
        self.flags & flag::INDEX != 0
    }

    /// Whether it is in use.
    pub(crate) const fn is_taken(self) -> bool {
        self.flags & flag::TAKEN != 0
    }
}

/// Totals of the main area (`struct ubifs_lp_stats`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SpaceTotals {
    /// Empty LEBs.
    pub(crate) empty_lebs: i64,
    /// Those of them in use.
    pub(crate) taken_empty_lebs: i64,
    /// LEBs of the index.
    pub(crate) idx_lebs: i64,
    /// Free bytes.
    pub(crate) total_free: i64,
    /// Dirty bytes.
    pub(crate) total_dirty: i64,
    /// Used bytes of LEBs that are not of the index.
    pub(crate) total_used: i64,
    /// Bytes of space that is too small to be used.
    pub(crate) total_dead: i64,
    /// Bytes of space that may be too small.
    pub(crate) total_dark: i64,
}

impl<L: Lebs> Volume<L> {
    /// Changes the properties of a LEB and the totals (`ubifs_change_lp`). `None` leaves a value as it
    /// is; `flags` replaces all flags.
    ///
    /// # Errors
    /// A damaged node of the LEB properties tree, and any of the LEBs.
    pub(crate) fn change_lp(
        &mut self,
        clock: &mut Clock,
        lp: Lprops,
        free: Option<u32>,
        dirty: Option<u32>,
        flags: u8,
    ) -> Result<Lprops, Error> {
        let old = self.lpt_lookup_dirty(clock, lp.leb)?;
        let leb_size = self.layout.leb_size;
        let new = Lprops {
            leb: lp.leb,
            free: free.map_or(old.free, |free| free.next_multiple_of(8)),
            dirty: dirty.map_or(old.dirty, |dirty| dirty.next_multiple_of(8)),
            flags,
        };
        // The replay counts dirt in buds before their free bytes.
        let fits = new.free <= leb_size && new.dirty <= leb_size - new.free;
        if !fits && !self.mode.replaying {
            return Err(Error::at(new.leb, 0, Problem::Properties));
        }
        self.count_space(old, -1);
        self.count_space(new, 1);
        let (index, slot_flags) = (self.main_index(lp.leb), flags);
        let slot = self.lpt.slot_mut(index);
        (slot.free, slot.dirty, slot.flags) = (new.free, new.dirty, slot_flags);
        self.change_category(index);
        Ok(new)
    }

    /// Adds a LEB to the totals, or subtracts it.
    pub(crate) fn count_space(&mut self, lp: Lprops, sign: i64) {
        let layout = &self.layout;
        let (leb_size, space) = (layout.leb_size, lp.free + lp.dirty);
        let (is_dead, dark) = (space < layout.dead_wm, self.calc_dark(space));
        let (is_empty, totals) = (lp.free == leb_size, &mut self.lst);
        totals.total_free += sign * i64::from(lp.free);
        totals.total_dirty += sign * i64::from(lp.dirty);
        totals.empty_lebs += sign * i64::from(is_empty);
        totals.taken_empty_lebs += sign * i64::from(is_empty && lp.is_taken());
        totals.idx_lebs += sign * i64::from(lp.is_index());
        if lp.is_index() {
            return;
        }
        totals.total_used += sign * (i64::from(leb_size) - i64::from(space));
        if is_dead {
            totals.total_dead += sign * i64::from(space);
        } else {
            totals.total_dark += sign * i64::from(dark);
        }
    }

    /// Changes the properties of a LEB; flags are set and cleared (`ubifs_change_one_lp`).
    ///
    /// # Errors
    /// As [`Volume::change_lp`].
    pub(crate) fn change_one_lp(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        free: Option<u32>,
        dirty: Option<u32>,
        (set, clean): (u8, u8),
    ) -> Result<(), Error> {
        let lp = self.lpt_lookup_dirty(clock, leb)?;
        let flags = (lp.flags | set) & !clean;
        self.change_lp(clock, lp, free, dirty, flags)?;
        Ok(())
    }

    /// As [`Volume::change_one_lp`], but `dirty` is added (`ubifs_update_one_lp`).
    ///
    /// # Errors
    /// As [`Volume::change_lp`].
    pub(crate) fn update_one_lp(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        free: Option<u32>,
        dirty: u32,
        (set, clean): (u8, u8),
    ) -> Result<(), Error> {
        let lp = self.lpt_lookup_dirty(clock, leb)?;
        let flags = (lp.flags | set) & !clean;
        self.change_lp(clock, lp, free, Some(lp.dirty + dirty), flags)?;
        Ok(())
    }

    /// The properties of a LEB (`ubifs_read_one_lp`).
    ///
    /// # Errors
    /// As [`Volume::change_lp`].
    pub(crate) fn read_one_lp(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
    ) -> Result<Lprops, Error> {
        self.lpt_lookup(clock, leb)
    }

    /// Counts bytes of a LEB as dirty (`ubifs_add_dirt`).
    ///
    /// # Errors
    /// As [`Volume::change_lp`].
    pub(crate) fn add_dirt(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        dirty: u32,
    ) -> Result<(), Error> {
        self.update_one_lp(clock, leb, None, dirty, (0, 0))
    }

    /// Returns a LEB that was taken (`ubifs_return_leb`).
    ///
    /// # Errors
    /// As [`Volume::change_lp`].
    pub(crate) fn return_leb(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<(), Error> {
        self.change_one_lp(clock, leb, None, None, (0, flag::TAKEN))
    }

    /// How many of `space` bytes may be too small to be used (`ubifs_calc_dark`).
    pub(crate) const fn calc_dark(&self, space: u32) -> u32 {
        let dark_wm = self.layout.dark_wm;
        if space < dark_wm {
            space
        } else if space - dark_wm < WRITE_MIN {
            // The smallest node still fits.
            space - WRITE_MIN
        } else {
            dark_wm
        }
    }
}
