//! Erases blocks, and replaces those that cannot be erased any more.
//!
//! Layer: rank 4. Source: Linux 6.1, `drivers/mtd/ubi/wl.c`, `ubi_sync_erase` and `__erase_worker`.

use crate::device::Ubi;
use crate::format::EC_MAX;
use crate::format::fastmap::START;
use crate::lebs::{Error, PebIndex};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

impl<M: Mtd> Ubi<M> {
    /// Erases a block and writes its EC header.
    pub(crate) fn erase_now(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
        torture: bool,
    ) -> Result<(), Error> {
        let (ec, _) = self.wl.key(peb);
        let erases = self.io.erase(clock, peb, torture)?;
        let ec = ec.checked_add(erases).filter(|&ec| ec <= EC_MAX);
        let ec = ec.ok_or(Error::EraseCounter { peb })?;
        self.io.write_ec(clock, peb, ec)?;
        self.wl.enter(peb, ec);
        self.wl.max_ec = self.wl.max_ec.max(ec);
        Ok(())
    }

    /// Erases a block that is in no tree, and frees it; or marks it bad.
    pub(crate) fn erase_peb(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
        torture: bool,
    ) -> Result<(), Error> {
        let Err(error) = self.erase_now(clock, peb, torture) else {
            match &mut self.fastmap {
                Some(map) if !map.disabled && map.anchor.is_none() && peb.0 < START => {
                    map.anchor = Some(peb);
                    map.produce_anchor = false;
                }
                _ => self.wl.add_free(peb),
            }
            self.wl.serve_queue();
            self.ensure_wear_levelling();
            return Ok(());
        };
        self.wl.retire(peb);
        if !error.is_io() || !self.io.layout.bad_blocks {
            self.io.read_only = true;
            return Err(error);
        }
        let replaced = self.replace_bad(clock, peb);
        if replaced.is_err() {
            self.io.read_only = true;
        }
        replaced
    }

    /// Marks a block bad and takes one from the reserve, or from the available ones, in its place.
    fn replace_bad(&mut self, clock: &mut Clock, peb: PebIndex) -> Result<(), Error> {
        if self.space.bad_reserve == 0 && self.space.available == 0 {
            return Err(Error::NoFreePeb);
        }
        self.io.mark_bad(clock, peb)?;
        if self.space.bad_reserve > 0 {
            self.space.bad_reserve -= 1;
        } else {
            self.space.available -= 1;
        }
        self.space.bad += 1;
        self.space.good -= 1;
        self.space.calculate_reserve(self.io.layout.bad_limit);
        Ok(())
    }
}
