//! The check of all LEB properties: every LEB of the main area is scanned, and its nodes are looked up.
//!
//! Layer: rank 5. Source: Linux 6.1, `fs/ubifs/lprops.c` (`scan_check_cb`, `dbg_check_lprops`).

use super::compare;
use crate::format::NodeType;
use crate::lprops::{Lprops, SpaceTotals};
use crate::lpt::ScanStep;
use crate::scan::ScannedLeb;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;

/// What a scan of a LEB says about it.
struct Scan {
    index: bool,
    free: u32,
    dirty: u32,
}

impl<L: Lebs> Volume<L> {
    /// Compares the properties of every LEB, and their totals, with the nodes on flash
    /// (`dbg_check_lprops`).
    pub(crate) fn check_lprops(&mut self, clock: &mut Clock) -> Result<(), Error> {
        for head in 0..self.heads.len() {
            self.wbuf_sync(clock, head)?;
        }
        let mut totals = SpaceTotals::default();
        for lp in self.all_lprops(clock)? {
            self.check_leb(clock, lp, &mut totals)?;
        }
        self.compare_totals(&totals)
    }

    /// The properties of all LEBs of the main area, in order.
    pub(super) fn all_lprops(&mut self, clock: &mut Clock) -> Result<Vec<Lprops>, Error> {
        let mut all = Vec::new();
        let (first, last) = (self.layout.main_first, LebIndex(self.layout.leb_count - 1));
        self.lpt_scan(clock, Some(first), last, &mut |_, lp, _| {
            all.push(lp);
            ScanStep::Continue
        })?;
        Ok(all)
    }

    /// Compares the totals in memory with those of all LEBs.
    pub(super) fn compare_totals(&self, totals: &SpaceTotals) -> Result<(), Error> {
        let lst = self.lst;
        compare("empty LEBs", 0, lst.empty_lebs, totals.empty_lebs)?;
        compare("index LEBs", 0, lst.idx_lebs, totals.idx_lebs)?;
        compare("free bytes", 0, lst.total_free, totals.total_free)?;
        compare("dirty bytes", 0, lst.total_dirty, totals.total_dirty)?;
        compare("used bytes", 0, lst.total_used, totals.total_used)?;
        compare("dead bytes", 0, lst.total_dead, totals.total_dead)?;
        compare("dark bytes", 0, lst.total_dark, totals.total_dark)
    }

    /// Compares the properties of a LEB with its nodes, and adds it to the totals.
    pub(super) fn check_leb(
        &mut self,
        clock: &mut Clock,
        lp: Lprops,
        totals: &mut SpaceTotals,
    ) -> Result<(), Error> {
        let size = self.layout.leb_size;
        // After a power cut, LEBs without used nodes may hold anything.
        if lp.free == size || lp.free + lp.dirty == size && !lp.is_index() {
            totals.empty_lebs += i64::from(lp.free == size);
            totals.total_free += i64::from(lp.free);
            totals.total_dirty += i64::from(lp.dirty);
            totals.total_dark += i64::from(self.calc_dark(size));
            return Ok(());
        }
        let mut found = self.scan_leb(clock, lp.leb)?;
        self.excuse(&lp, &mut found);
        compare("free bytes of LEB", lp.leb.0, lp.free, found.free)?;
        compare("dirty bytes of LEB", lp.leb.0, lp.dirty, found.dirty)?;
        compare("index flag of LEB", lp.leb.0, lp.is_index(), found.index)?;
        let space = found.free + found.dirty;
        totals.empty_lebs += i64::from(found.free == size);
        totals.idx_lebs += i64::from(found.index);
        totals.total_free += i64::from(found.free);
        totals.total_dirty += i64::from(found.dirty);
        if !lp.is_index() {
            totals.total_used += i64::from(size - space);
            if space < self.layout.dead_wm {
                totals.total_dead += i64::from(space);
            } else {
                totals.total_dark += i64::from(self.calc_dark(space));
            }
        }
        Ok(())
    }

    /// What may differ: LEBs without used nodes after an incomplete commit, and the end of index LEBs
    /// after index nodes were written into their gaps.
    fn excuse(&self, lp: &Lprops, found: &mut Scan) {
        let size = self.layout.leb_size;
        let unused = lp.free + lp.dirty == size && found.free + found.dirty == size;
        let odd =
            found.index && !lp.is_index() || !found.index && found.free == size || lp.free == size;
        if unused && odd {
            (found.free, found.dirty, found.index) = (lp.free, lp.dirty, false);
        }
        let same_sum = lp.free + lp.dirty == found.free + found.dirty;
        if found.index && same_sum && lp.leb != self.tnc.ihead_lnum {
            (found.free, found.dirty) = (lp.free, lp.dirty);
        }
        if found.index && !lp.is_index() && found.free == size {
            found.index = false;
        }
    }

    fn scan_leb(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<Scan, Error> {
        let scanned = self.scan(clock, leb, 0)?;
        let index = scanned.nodes.first().is_some_and(|node| node.kind == NodeType::Index);
        let used = self.used_bytes(clock, &scanned, index)?;
        let free = self.layout.leb_size - scanned.endpt;
        compare("used bytes of LEB", leb.0, used.min(scanned.endpt), used)?;
        Ok(Scan { index, free, dirty: scanned.endpt - used })
    }

    /// Bytes of the nodes that the index refers to.
    fn used_bytes(
        &mut self,
        clock: &mut Clock,
        scanned: &ScannedLeb,
        index: bool,
    ) -> Result<u32, Error> {
        let mut used = 0;
        for node in &scanned.nodes {
            let place = (scanned.leb, node.offs);
            let (key, level) = if index {
                let found = self.scanned_index(scanned, node)?;
                (found.branches[0].key, found.level)
            } else {
                (node.key, 0)
            };
            if self.tnc_has_node(clock, key, level, place, index)? {
                used += node.len.next_multiple_of(8);
            }
        }
        Ok(used)
    }
}
