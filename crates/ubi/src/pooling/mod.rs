//! The pools of free blocks, and the anchor; [`mod@write`] writes a fastmap.
//!
//! Layer: rank 4. Blocks are taken from pools in kernels with fastmaps. Source: Linux 6.1, `drivers/mtd/ubi/fastmap-wl.c`.

mod write;

use crate::device::Ubi;
use crate::eba;
use crate::fastmap::FastmapState;
use crate::format::fastmap::START;
use crate::lebs::{Error, PebIndex};
use crate::wear::{self, PebTree, Wl, Work};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// Rounds of writing a fastmap and doing a work before there is no block (`ubi_wl_get_peb`).
const ATTEMPTS: u32 = 10;

/// Of the blocks at the beginning of the device, the least worn (`find_anchor_wl_entry`).
pub(crate) fn find_anchor(tree: &PebTree) -> Option<PebIndex> {
    tree.iter().find(|&(_, peb)| peb < START).map(|(_, peb)| PebIndex(peb))
}

impl<M: Mtd> Ubi<M> {
    /// What a kernel with fastmaps keeps about them.
    pub(crate) fn map(&mut self) -> &mut FastmapState {
        self.fastmap.as_mut().expect("the kernel has fastmaps")
    }

    /// Whether fastmaps are written.
    pub(crate) fn writes_fastmaps(&self) -> bool {
        self.fastmap.as_ref().is_some_and(|map| !map.disabled)
    }

    fn take_free(&mut self, peb: PebIndex) -> PebIndex {
        let key = self.wl.key(peb);
        self.wl.free.remove(key);
        peb
    }

    /// Takes a free block for a fastmap (`ubi_wl_get_fm_peb`).
    pub(crate) fn take_for_map(&mut self, anchor: bool) -> Option<PebIndex> {
        if self.free_count() <= i64::from(self.space.bad_reserve) {
            return None;
        }
        if anchor {
            let peb = find_anchor(&self.wl.free)?;
            return Some(self.take_free(peb));
        }
        self.take_mean()
    }

    fn free_count(&self) -> i64 {
        i64::try_from(self.wl.free.len()).expect("a device has fewer blocks")
    }

    /// Does works until the pools can be filled (`wait_free_pebs_for_pool`).
    fn wait_for_free(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let map_blocks = self.map().block_count;
        let reserved = wear::RESERVED + eba::RESERVED + map_blocks - 1 + self.space.bad_reserve;
        loop {
            let map = self.map();
            let pooled =
                map.pool.pebs.len() - map.pool.used + map.wl_pool.pebs.len() - map.wl_pool.used;
            let pooled = i64::try_from(pooled).expect("pools are small");
            let free = self.free_count() + pooled;
            match self.do_work(clock) {
                Err(error) if error.is_power_cut() => return Err(error),
                Ok(true) if free < i64::from(reserved) => {}
                _ => return Ok(()),
            }
        }
    }

    /// Whether another free block may go to a pool (`has_enough_free_count`).
    fn has_enough(&mut self, for_moves: bool) -> bool {
        if self.wl.free.is_empty() {
            return false;
        }
        let reserve = if for_moves { self.space.bad_reserve } else { 0 };
        let writes = !self.io.read_only && self.writes_fastmaps();
        let map = self.map();
        let for_map = if !map.wl_pool.pebs.is_empty() && writes { map.block_count - 1 } else { 0 };
        self.free_count() - i64::from(reserve) > i64::from(for_map)
    }

    /// Gives the unused blocks of the pools back and fills the pools again
    /// (`ubi_refill_pools_and_lock`).
    pub(crate) fn refill_pools(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if !self.io.read_only && self.writes_fastmaps() {
            self.wait_for_free(clock)?;
        }
        let map = self.map();
        let mut unused = map.wl_pool.drain_unused();
        unused.extend(map.pool.drain_unused());
        unused.extend(map.anchor.take());
        unused.into_iter().for_each(|peb| self.wl.add_free(peb));
        if self.writes_fastmaps() {
            self.map().anchor = self.take_for_map(true);
        }
        loop {
            let (data, moves) = (self.map().pool.has_room(), self.map().wl_pool.has_room());
            if !data && !moves {
                return Ok(());
            }
            if data {
                if !self.has_enough(false) {
                    return Ok(());
                }
                let Some(peb) = self.take_mean() else { return Ok(()) };
                self.map().pool.pebs.push(peb);
            }
            if moves {
                if !self.has_enough(true) {
                    return Ok(());
                }
                let worn = Wl::most_worn(&self.wl.free, self.wl.free_diff());
                let peb = worn.expect("there is a free block");
                let peb = self.take_free(peb);
                self.map().wl_pool.pebs.push(peb);
            }
        }
    }

    /// Takes a block for data from the pool (`ubi_wl_get_peb`).
    pub(crate) fn get_pooled(&mut self, clock: &mut Clock) -> Result<PebIndex, Error> {
        for _ in 0..ATTEMPTS {
            let map = self.map();
            if map.pool.is_used_up() || map.wl_pool.is_used_up() {
                self.update_fastmap(clock)?;
            }
            if let Some(peb) = self.map().pool.take() {
                self.wl.protect(peb);
                return Ok(peb);
            }
            while self.wl.free.is_empty() && self.do_work(clock)? {}
        }
        Err(Error::NoFreePeb)
    }

    /// The next block for data that are moved; a new fastmap is scheduled if there is none
    /// (`next_peb_for_wl`).
    pub(crate) fn next_pooled_for_move(&mut self, schedule: bool) -> Option<PebIndex> {
        let map = self.map();
        if map.wl_pool.is_used_up() {
            map.write_scheduled |= schedule;
        }
        map.wl_pool.peek()
    }

    /// Whether the least worn used block is far below the most worn free one (`need_wear_leveling`).
    pub(crate) fn pooled_needs_levelling(&mut self) -> bool {
        let Some((least, _)) = self.wl.used.first() else { return false };
        let next = self.next_pooled_for_move(false);
        let free = Wl::most_worn(&self.wl.free, self.wl.free_diff());
        let candidates = next.into_iter().chain(free);
        let most = candidates.map(|peb| self.wl.key(peb).0).max();
        most.is_some_and(|ec| self.wl.is_far_above(ec, least))
    }

    /// Takes a block for data that are moved from the pool (`get_peb_for_wl`).
    fn take_pooled_for_move(&mut self) -> Option<PebIndex> {
        self.next_pooled_for_move(true);
        self.map().wl_pool.take()
    }

    /// Chooses source and target of a move; the flag says whether it is for bit flips.
    pub(crate) fn choose_pooled_move(&mut self) -> Option<(PebIndex, PebIndex, bool)> {
        self.next_pooled_for_move(true)?;
        if self.wl.used.is_empty() && self.wl.scrub.is_empty() {
            return None;
        }
        let low = find_anchor(&self.wl.used);
        if let (Some(low), Some(anchor)) = (low, self.map().anchor) {
            let (least, _) = self.wl.key(low);
            if self.wl.is_far_above(self.wl.key(anchor).0, least) {
                self.map().produce_anchor = true;
                self.map().anchor = None;
                self.wl.add_free(anchor);
            }
        }
        if self.map().produce_anchor {
            let source = low?;
            let target = self.take_pooled_for_move()?;
            let key = self.wl.key(source);
            self.wl.used.remove(key);
            self.map().produce_anchor = false;
            return Some((source, target, false));
        }
        if let Some(source) = self.wl.scrub.first() {
            let target = self.take_pooled_for_move()?;
            self.wl.scrub.remove(source);
            return Some((PebIndex(source.1), target, true));
        }
        let source = self.wl.used.first()?;
        let target = self.take_pooled_for_move()?;
        if !self.wl.is_far_above(self.wl.key(target).0, source.0) {
            self.wl.add_free(target);
            return None;
        }
        self.wl.used.remove(source);
        Some((PebIndex(source.1), target, false))
    }

    /// Sets a block at the beginning of the device aside, or has one made free
    /// (`ubi_ensure_anchor_pebs`).
    pub(crate) fn ensure_anchor(&mut self) {
        if self.map().anchor.is_some() {
            return;
        }
        let anchor = self.take_for_map(true);
        self.map().anchor = anchor;
        if anchor.is_some() {
            return;
        }
        self.map().produce_anchor = true;
        if !self.wl.level_scheduled {
            self.wl.level_scheduled = true;
            self.wl.works.push_back(Work::Level);
        }
    }
}
