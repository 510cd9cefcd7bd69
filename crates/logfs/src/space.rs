//! Free space, and what will be free after the next commit.
//!
//! Layer: rank 5. Main types: [`Space`], [`Shadow`]. An object that is written does not count before the next
//! commit, and the object that it replaces counts until then: it is in the shadow of the new one.
//!
//! Source: Linux 3.12, `struct logfs_shadow`; `fill_shadow_tree` and `logfs_reserve_bytes` in
//! `fs/logfs/readwrite.c`, `account_shadow` and `logfs_calc_free` in `journal.c`.

use crate::Logfs;
use crate::error::Error;
use crate::format::object::MAX;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::Errno;
use std::collections::{BTreeMap, BTreeSet};

/// An object that was written, or deleted, since the last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shadow {
    /// The offset of the old object; 0 for none.
    pub old: u64,
    /// The offset of the new one; 0 for none.
    pub new: u64,
    /// Bytes of the old object with its header.
    pub old_bytes: u32,
    /// Bytes of the new one.
    pub new_bytes: u32,
}

/// The free space of a filesystem.
#[derive(Debug, Clone, Default)]
pub(crate) struct Space {
    /// Bytes that are free, as of the last commit.
    pub free: i64,
    /// Bytes of valid objects, as of the last commit.
    pub used: u64,
    /// Bytes that the next commit takes.
    pub taken: u64,
    /// Bytes that it frees.
    pub freed: u64,
    /// Bytes reserved for dirty pages.
    pub reserved: u64,
    /// The pages, by inode and number.
    pub pages: BTreeMap<(u64, u64), u32>,
    /// Segments that are bad.
    pub bad_segments: u32,
    /// Objects that replace none, by offset.
    fresh: BTreeMap<(u64, u64), Shadow>,
    /// Objects that are replaced, by offset.
    replaced: BTreeMap<(u64, u64), Shadow>,
    /// Tells objects of one offset apart, which damaged images have.
    serial: u64,
    /// The segments of these objects.
    segments: BTreeSet<u64>,
}

impl Space {
    /// Notes a written or deleted object.
    pub(crate) fn note(&mut self, shadow: Shadow, segment_shift: u8) {
        self.serial += 1;
        let (tree, at) = if shadow.old > 0 {
            (&mut self.replaced, shadow.old)
        } else {
            (&mut self.fresh, shadow.new)
        };
        tree.insert((at, self.serial), shadow);
        self.taken += u64::from(shadow.new_bytes);
        self.freed += u64::from(shadow.old_bytes);
        self.segments.insert(shadow.old >> segment_shift);
        self.segments.insert(shadow.new >> segment_shift);
    }

    /// Whether an object at this offset is valid until the next commit.
    pub(crate) fn is_replaced(&self, at: u64) -> bool {
        self.replaced.range((at, 0)..=(at, u64::MAX)).next().is_some()
    }

    /// Segments with objects that the next commit changes.
    pub(crate) fn shadowed_segments(&self) -> usize {
        self.segments.len()
    }

    /// All shadows, in the order in which a commit accounts for them: fresh objects first, and the highest
    /// offset first (`btree_grim_visitor64`).
    fn take(&mut self) -> Vec<Shadow> {
        self.segments.clear();
        let fresh = std::mem::take(&mut self.fresh);
        let replaced = std::mem::take(&mut self.replaced);
        fresh.into_values().rev().chain(replaced.into_values().rev()).collect()
    }

    /// Bytes that may be written now; less than none when more is dirty than fits.
    pub(crate) fn available(&self) -> i64 {
        let bytes = |count: u64| i64::try_from(count).expect("a flash is below 8 EiB");
        self.free + bytes(self.freed) - bytes(self.taken) - bytes(self.reserved)
    }

    /// Gives the reservation of a page back.
    pub(crate) fn release(&mut self, ino: u64, page: u64) {
        if let Some(bytes) = self.pages.remove(&(ino, page)) {
            self.reserved -= u64::from(bytes);
        }
    }

    /// Whether the sums are those of what they sum up.
    pub(crate) fn is_consistent(&self) -> bool {
        let shadows = || self.fresh.values().chain(self.replaced.values());
        self.taken == shadows().map(|shadow| u64::from(shadow.new_bytes)).sum::<u64>()
            && self.freed == shadows().map(|shadow| u64::from(shadow.old_bytes)).sum::<u64>()
            && self.reserved == self.pages.values().map(|&bytes| u64::from(bytes)).sum::<u64>()
    }
}

impl<M: Mtd> Logfs<M> {
    /// Calculates what is free when nothing is dirty (`logfs_calc_free`).
    pub(crate) fn calculate_free(&mut self) {
        let bytes = |count: u64| i64::try_from(count).expect("a flash is below 8 EiB");
        let layout = &self.layout;
        let usable = i64::from(layout.usable());
        let aside = 2 + i64::from(layout.journal_segments) + 2 * i64::from(layout.levels);
        let segments = i64::from(layout.segments) - aside;
        let spare = self.space.bad_segments + self.superblock.bad_segment_reserve;
        let speed = i64::try_from(self.superblock.speed_reserve).unwrap_or(i64::MAX);
        let reserve = (i64::from(spare) * usable).max(speed);
        let free = segments * usable - bytes(self.space.used) - i64::from(layout.levels) * 4_096;
        self.space.free = free.saturating_sub(reserve).max(0);
    }

    /// Whether so many bytes can be written (`logfs_reserve_bytes`).
    pub(crate) fn check_room(&self, bytes: u64) -> Result<(), Error> {
        let needed = i64::try_from(bytes).unwrap_or(i64::MAX);
        if self.space.available() < needed { Err(Errno::NoSpc.into()) } else { Ok(()) }
    }

    /// Whether so many new objects can be written.
    pub(crate) fn check_objects(&self, count: u64) -> Result<(), Error> {
        self.check_room(count * u64::from(MAX))
    }

    /// Makes everything that was written count (`account_shadows`).
    pub(crate) fn account(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let shadows = self.space.take();
        for shadow in &shadows {
            let (old, new) = (i64::from(shadow.old_bytes), i64::from(shadow.new_bytes));
            self.space.free += old - new;
            self.space.used = (self.space.used + u64::from(shadow.new_bytes))
                .saturating_sub(u64::from(shadow.old_bytes));
            self.space.taken -= u64::from(shadow.new_bytes);
            self.space.freed -= u64::from(shadow.old_bytes);
            self.change_valid(clock, shadow.old, -old)?;
            self.change_valid(clock, shadow.new, new)?;
        }
        let segments: BTreeSet<u64> = shadows
            .iter()
            .flat_map(|shadow| [shadow.old, shadow.new])
            .filter(|&at| at > 0)
            .map(|at| self.layout.segment_of(at))
            .collect();
        for segment in segments {
            self.correct_valid(clock, segment << self.layout.segment_shift)?;
        }
        Ok(())
    }
}
