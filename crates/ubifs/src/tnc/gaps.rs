//! Writing the index into the gaps of index LEBs, when there are too few empty LEBs.
//!
//! Layer: rank 5. A gap is what neither the current index nor that of the last commit refers to. The
//! LEB is rewritten atomically, with new nodes in its gaps.
//!
//! Source: Linux 6.1, `fs/ubifs/tnc_commit.c` (`layout_in_gaps`, `layout_leb_in_gaps`, `fill_gap`,
//! `make_idx_node`, `is_idx_node_in_use`).

use super::place::InIndex;
use crate::format::key::Key;
use crate::format::{u32_of, usize_of};
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;

/// A LEB whose gaps are filled.
struct GapLeb {
    leb: LebIndex,
    bytes: Vec<u8>,
    /// The end of what is used of it, aligned.
    end: u32,
    /// Bytes that are dirty.
    dirt: u32,
    /// Nodes in gaps.
    written: usize,
}

impl<L: Lebs> Volume<L> {
    /// Places nodes in gaps until the empty LEBs suffice for the rest.
    pub(super) fn layout_in_gaps(&mut self, clock: &mut Clock, count: usize) -> Result<(), Error> {
        let mut count = count;
        loop {
            let Some(written) = self.layout_leb_in_gaps(clock)? else { return Ok(()) };
            count = count.saturating_sub(written);
            if self.idx_lebs_for(count) <= self.tnc.plan.lebs.len() {
                return Ok(());
            }
        }
    }

    /// Fills the gaps of one LEB. `None`: there is none with gaps.
    fn layout_leb_in_gaps(&mut self, clock: &mut Clock) -> Result<Option<usize>, Error> {
        let Some(leb) = self.find_dirty_idx_leb(clock)? else { return Ok(None) };
        self.tnc.plan.gap_lebs.push(leb);
        let mut scanned = self.scan(clock, leb, 0)?;
        let nodes = std::mem::take(&mut scanned.nodes);
        let mut begin = 0;
        let mut gaps = GapLeb { leb, bytes: Vec::new(), end: 0, dirt: 0, written: 0 };
        for node in &nodes {
            let index = self.scanned_index(&scanned, node)?;
            let key = index.branches[0].key;
            let used = self.index_node_in_use(clock, key, index.level, (leb, node.offs))?;
            let aligned = node.len.next_multiple_of(8);
            match used {
                InIndex::No => continue,
                InIndex::Dirty => gaps.dirt += aligned,
                InIndex::Clean => {}
            }
            gaps.bytes = std::mem::take(&mut scanned.bytes);
            self.fill_gap(clock, &mut gaps, begin, node.offs);
            scanned.bytes = std::mem::take(&mut gaps.bytes);
            begin = node.offs + aligned;
        }
        gaps.bytes = scanned.bytes;
        gaps.end = self.layout.leb_size;
        self.fill_gap(clock, &mut gaps, begin, self.layout.leb_size);
        self.finish_gap_leb(clock, &gaps)?;
        Ok(Some(gaps.written))
    }

    fn finish_gap_leb(&mut self, clock: &mut Clock, gaps: &GapLeb) -> Result<(), Error> {
        let free = self.layout.leb_size - gaps.end;
        if gaps.written == 0 {
            let lp = self.read_one_lp(clock, gaps.leb)?;
            if lp.free == self.layout.leb_size {
                // A LEB that garbage collection had emptied: its space is what it was.
                self.change_one_lp(clock, gaps.leb, Some(free), Some(gaps.dirt), (0, 0))?;
            }
            return Ok(());
        }
        self.change_one_lp(clock, gaps.leb, Some(free), Some(gaps.dirt), (0, 0))?;
        self.leb_change(clock, gaps.leb, &gaps.bytes[..usize_of(gaps.end)])
    }

    /// Whether an indexing node belongs to the current index, or only to the last one.
    fn index_node_in_use(
        &mut self,
        clock: &mut Clock,
        key: Key,
        level: u16,
        place: (LebIndex, u32),
    ) -> Result<InIndex, Error> {
        let found = self.find_index_node(clock, key, level, place)?;
        if found == InIndex::No && self.tnc.old_index.contains(&place) {
            return Ok(InIndex::Dirty);
        }
        Ok(found)
    }

    /// Places the next nodes between `begin` and `end` as far as they fit, and pads the rest.
    fn fill_gap(&mut self, clock: &mut Clock, gaps: &mut GapLeb, begin: u32, end: u32) {
        if begin >= end {
            return;
        }
        let mut position = begin;
        while let Some(&id) = self.tnc.plan.order.get(self.tnc.plan.next) {
            if self.node_len(id) >= end - position {
                break;
            }
            let node = self.index_node(clock, id);
            let start = usize_of(position);
            gaps.bytes[start..start + node.len()].copy_from_slice(&node);
            self.tnc.remember_old(id);
            self.place_znode(id, gaps.leb, position);
            self.tnc.arena.node_mut(id).dirty = false;
            position += u32_of(node.len()).next_multiple_of(8);
            self.tnc.plan.next += 1;
            gaps.written += 1;
        }
        let padded = if end == self.layout.leb_size {
            gaps.end = position.next_multiple_of(self.layout.min_io);
            gaps.end
        } else {
            end
        };
        self.pad(clock, &mut gaps.bytes[usize_of(position)..usize_of(padded)]);
        gaps.dirt += padded - position;
    }
}
