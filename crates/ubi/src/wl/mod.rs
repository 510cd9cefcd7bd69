//! Wear levelling: which block is taken, which is erased when, which data are moved.
//!
//! Layer: rank 4. The state is in [`crate::wear`].
//!
//! ```text
//!            get_peb                 ten erases later             put_peb
//!  free -----------------> queue --------------------> used -----------------> work: erase
//!   ^                                                    |  bit flips             |
//!   |                                                    +----------> scrub       |
//!   |   the worker moves data of the least erased        |              |         |
//!   |   used block, or of a block to be scrubbed:        v              v         |
//!   +----------------- erase of the old block <--- copy to a free block           |
//!   +-----------------------------------------------------------------------------+
//! ```
//! A block whose data cannot be read is erroneous until its LEB is unmapped. A block that cannot be
//! erased is marked bad and replaced from the reserve.
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/wl.c`. One thing happens at a time, so the states of a move in
//! progress (`move_from`, `move_to`, `move_to_put`) do not occur.

pub(crate) mod erase;
pub(crate) mod worker;

use crate::attach::{AttachInfo, AttachPeb};
use crate::device::Ubi;
use crate::error::AttachError;
use crate::fastmap::{FastmapState, MapBlock};
use crate::format::FASTMAP_ANCHOR;
use crate::format::fastmap::START;
use crate::lebs::{Error, PebIndex};
use crate::wear::{RESERVED, Wl, Work};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// Consecutive failures from which on the background thread gives up (`WL_MAX_FAILURES`).
const FAILURES_MAX: u32 = 32;

impl<M: Mtd> Ubi<M> {
    /// Sorts the blocks that a scan found into the trees (`ubi_wl_init`).
    pub(crate) fn init_wl(
        &mut self,
        clock: &mut Clock,
        info: &AttachInfo,
    ) -> Result<(), AttachError> {
        self.wl.max_ec = info.max_ec;
        let known = |block: &AttachPeb| block.ec.unwrap_or(info.mean_ec);
        for block in &info.erase {
            self.wl.enter(block.peb, known(block));
            self.wl.schedule_erase(block);
        }
        for block in &info.free {
            self.wl.enter(block.peb, known(block));
            self.wl.add_free(block.peb);
        }
        for volume in info.volumes.values().rev() {
            for (_, block) in volume.iter() {
                self.wl.enter(block.peb, known(block));
                let key = self.wl.key(block.peb);
                let tree = if block.scrub { &mut self.wl.scrub } else { &mut self.wl.used };
                tree.insert(key);
            }
        }
        for block in &info.fastmap {
            self.init_map_block(clock, block)?;
        }
        let for_map = self.fastmap.as_ref().map_or(0, |map| 2 * map.block_count);
        self.reserve(RESERVED + for_map)?;
        self.ensure_wear_levelling();
        if !self.io.read_only && self.writes_fastmaps() {
            self.ensure_anchor();
        }
        Ok(())
    }

    /// Takes a block of a fastmap into service: of the present one, or of an old one, which is erased.
    /// An old anchor is erased at once, so that it cannot be taken for the newest.
    fn init_map_block(&mut self, clock: &mut Clock, block: &AttachPeb) -> Result<(), AttachError> {
        let present = self.fastmap.as_ref().and_then(|map| map.blocks.as_ref());
        let found = present.and_then(|blocks| blocks.iter().find(|other| other.peb == block.peb));
        if let Some(&MapBlock { peb, ec, .. }) = found {
            self.wl.enter(peb, ec);
            return Ok(());
        }
        if self.wl.ec_of(block.peb).is_some() {
            return Ok(());
        }
        self.wl.enter(block.peb, block.ec.unwrap_or(0));
        if block.volume == Some(FASTMAP_ANCHOR) {
            self.erase_now(clock, block.peb, false)?;
            self.wl.add_free(block.peb);
        } else {
            self.wl.schedule_erase(block);
        }
        Ok(())
    }

    /// Takes a free block for data (`ubi_wl_get_peb`).
    pub(crate) fn get_peb(&mut self, clock: &mut Clock) -> Result<PebIndex, Error> {
        if self.fastmap.is_some() {
            return self.get_pooled(clock);
        }
        while self.wl.free.is_empty() {
            if self.wl.works.is_empty() {
                return Err(Error::NoFreePeb);
            }
            self.do_work(clock)?;
        }
        let peb = self.take_mean().ok_or(Error::NoFreePeb)?;
        self.wl.protect(peb);
        Ok(peb)
    }

    /// Takes a free block of medium wear (`wl_get_wle`, `find_mean_wl_entry`): the root of the tree
    /// while all are about equally worn.
    pub(crate) fn take_mean(&mut self) -> Option<PebIndex> {
        let free = &self.wl.free;
        let ((first, _), (last, _)) = (free.first()?, free.last()?);
        let peb = if last - first < self.wl.free_diff() {
            self.spare_anchor(PebIndex(free.root()?.1))?
        } else {
            Wl::most_worn(free, self.wl.free_diff() / 2)?
        };
        let key = self.wl.key(peb);
        self.wl.free.remove(key);
        Some(peb)
    }

    /// Before the first fastmap, leaves a block that can be its anchor and takes the next one
    /// (`may_reserve_for_fm`).
    fn spare_anchor(&self, root: PebIndex) -> Option<PebIndex> {
        let first = |map: &FastmapState| !map.disabled && map.blocks.is_none();
        if root.0 < START && self.fastmap.as_ref().is_some_and(first) {
            return self.wl.free.after_root().map(|(_, peb)| PebIndex(peb));
        }
        Some(root)
    }

    /// Gives a block back, to be erased (`ubi_wl_put_peb`).
    pub(crate) fn put_peb(
        &mut self,
        peb: PebIndex,
        (volume, leb): (u32, u32),
        torture: bool,
    ) -> Result<(), Error> {
        let Some(ec) = self.wl.ec_of(peb) else { return Ok(()) };
        let key = (ec, peb.0);
        let mut torture = torture;
        if !self.wl.used.remove(key) && !self.wl.scrub.remove(key) {
            if self.wl.erroneous.remove(key) {
                torture = true;
            } else if !self.wl.unprotect(peb) {
                self.io.read_only = true;
                return Err(Error::NoHeader { peb });
            }
        }
        let (volume, leb) = (Some(volume), Some(leb));
        self.wl.works.push_back(Work::Erase { peb, volume, leb, torture });
        Ok(())
    }

    /// Schedules a move of the data of a block with bit flips (`ubi_wl_scrub_peb`). A block whose move
    /// failed before is out of service; there the kernel follows a null pointer.
    pub(crate) fn scrub_peb(&mut self, peb: PebIndex) -> Result<(), Error> {
        let Some(ec) = self.wl.ec_of(peb) else { return Ok(()) };
        let key = (ec, peb.0);
        if self.wl.scrub.contains(key) || self.wl.erroneous.contains(key) {
            return Ok(());
        }
        if !self.wl.used.remove(key) && !self.wl.unprotect(peb) {
            self.io.read_only = true;
            return Err(Error::NoHeader { peb });
        }
        self.wl.scrub.insert(key);
        self.ensure_wear_levelling();
        Ok(())
    }

    /// Does the oldest work; returns whether there was one (`do_work`).
    pub(crate) fn do_work(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        match self.wl.works.pop_front() {
            Some(work) => self.run(clock, &work).map(|()| true),
            None => Ok(false),
        }
    }

    fn run(&mut self, clock: &mut Clock, work: &Work) -> Result<(), Error> {
        match *work {
            Work::Erase { peb, torture, .. } => self.erase_peb(clock, peb, torture),
            Work::Level => self.level(clock),
        }
    }

    /// Does the works of a volume, or of a LEB of it; all works without a volume (`ubi_wl_flush`).
    pub(crate) fn flush(
        &mut self,
        clock: &mut Clock,
        of: Option<u32>,
        of_leb: Option<u32>,
    ) -> Result<(), Error> {
        let concerned = |work: &Work| match work {
            Work::Erase { volume, leb, .. } => {
                (of.is_none() || *volume == of) && (of_leb.is_none() || *leb == of_leb)
            }
            Work::Level => of.is_none() && of_leb.is_none(),
        };
        while let Some(index) = self.wl.works.iter().position(concerned) {
            let work = self.wl.works.remove(index).expect("the position of a work");
            self.run(clock, &work)?;
        }
        Ok(())
    }

    /// One step of the background thread (`ubi_thread`). An error other than a power cut is only
    /// counted, as the kernel's thread does; after 33 in a row the device becomes read-only. Returns
    /// whether there is more to do.
    ///
    /// # Errors
    /// After a power cut.
    pub fn background(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        if let Some(map) = &mut self.fastmap
            && std::mem::take(&mut map.write_scheduled)
        {
            self.update_fastmap(clock)?;
            return Ok(!self.io.read_only && !self.wl.works.is_empty());
        }
        if self.io.read_only || self.wl.works.is_empty() {
            return Ok(false);
        }
        match self.do_work(clock) {
            Ok(_) => self.wl.failures = 0,
            Err(error) if error.is_power_cut() => return Err(error),
            Err(_) => {
                self.wl.failures += 1;
                if self.wl.failures > FAILURES_MAX + 1 {
                    self.io.read_only = true;
                }
            }
        }
        let map_waits = self.fastmap.as_ref().is_some_and(|map| map.write_scheduled);
        Ok(map_waits || (!self.io.read_only && !self.wl.works.is_empty()))
    }
}
