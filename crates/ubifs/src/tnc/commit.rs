//! Writing the index at a commit.
//!
//! Layer: rank 5. Main types: [`Plan`], [`IndexHead`]. The start of the commit gives every dirty znode
//! its place, children before parents: at the index head, continued in empty LEBs; and if there are too
//! few of these, in the gaps of index LEBs (`gaps`). The end writes them, in units of a whole node of
//! the largest size, padded only before the end of a LEB and at the end.
//!
//! Source: Linux 6.1, `fs/ubifs/tnc_commit.c`.

use super::Tnc;
use super::znode::{Zbranch, ZnodeId};
use crate::format::index::{Branch, IndexNode, size_of};
use crate::format::{u32_of, usize_of};
use crate::lprops::flag;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::{Errno, Work};

/// With the checks of the index on, one commit in so many uses gaps without need. (The kernel decides
/// that at random.)
const FORCED_GAPS: u64 = 8;

/// The commit that is running.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    /// The znodes to write, in order (`cnext`).
    pub order: Vec<ZnodeId>,
    /// How many of them are in gaps, and thus written already (`enext`).
    pub next: usize,
    /// The empty LEBs for the rest.
    pub lebs: Vec<LebIndex>,
    /// How many of them are in use.
    pub lebs_used: usize,
    /// LEBs whose gaps were used.
    pub gap_lebs: Vec<LebIndex>,
    /// Where the index head will be.
    head: (LebIndex, u32),
}

/// The head of the index while znodes get their places, and again while they are written.
#[derive(Debug, Clone, Copy)]
struct IndexHead {
    /// `None`: the next LEB begins.
    leb: Option<LebIndex>,
    /// The offset of the buffer.
    offs: u32,
    /// Bytes of the buffer in use.
    used: u32,
    /// Bytes of the buffer.
    buffer: u32,
    leb_size: u32,
    min_io: u32,
}

/// A write of the buffer.
#[derive(Debug, Clone, Copy)]
struct Flush {
    /// Bytes that are written.
    len: u32,
    /// The node ends here, aligned; the rest is padding. More than `len` if the buffer keeps bytes.
    used: u32,
    /// No other node fits the LEB.
    full: bool,
}

impl IndexHead {
    fn begin(&mut self, leb: LebIndex) {
        self.leb = Some(leb);
        (self.offs, self.used) = (0, 0);
    }

    /// Adds a node; `next` is the length of the one behind it. The result is a write that is due now.
    fn add(&mut self, len: u32, next: Option<u32>) -> Option<Flush> {
        self.used += len.next_multiple_of(8);
        let fits = next.is_some_and(|next| self.offs + self.used + next <= self.leb_size);
        if fits && self.used < self.buffer {
            return None;
        }
        let len = if fits { self.buffer } else { self.used.next_multiple_of(self.min_io) };
        let flush = Flush { len, used: self.used, full: next.is_some() && !fits };
        self.offs += len;
        self.used = self.used.saturating_sub(len);
        Some(flush)
    }
}

impl<L: Lebs> Volume<L> {
    fn index_head(&self) -> IndexHead {
        let layout = &self.layout;
        IndexHead {
            leb: Some(self.tnc.ihead_lnum),
            offs: self.tnc.ihead_offs,
            used: 0,
            buffer: size_of(layout.fanout).next_multiple_of(layout.min_io),
            leb_size: layout.leb_size,
            min_io: layout.min_io,
        }
    }

    /// Bytes of a znode's node.
    pub(super) fn node_len(&self, id: ZnodeId) -> u32 {
        size_of(u32_of(self.tnc.arena.node(id).count()))
    }

    /// The length of the node at a position of the order.
    fn len_at(&self, position: usize) -> Option<u32> {
        self.tnc.plan.order.get(position).map(|&id| self.node_len(id))
    }

    /// Gives all dirty znodes their places. The result is the new root
    /// (`ubifs_tnc_start_commit`).
    ///
    /// # Errors
    /// `NoSpc` if neither empty LEBs nor gaps suffice.
    pub(crate) fn tnc_start_commit(&mut self, clock: &mut Clock) -> Result<Branch, Error> {
        self.check_tnc(clock, true)?;
        self.order_dirty_znodes();
        let count = self.tnc.plan.order.len();
        if count > 0 {
            if let Err(error) = self.layout_commit(clock, count) {
                // The first error counts; the volume becomes read-only.
                drop(self.free_unused_idx_lebs(clock));
                return Err(error);
            }
            assert_eq!(self.tnc.dirty, 0, "a dirty znode has got no place");
            self.free_unused_idx_lebs(clock)?;
        }
        self.destroy_old_index();
        self.save_dirty_idx_lnums();
        assert_eq!(self.bi.min_idx_lebs, self.calc_min_idx_lebs(), "the reserve of the index");
        self.bi.old_idx_sz = self.calc_idx_sz;
        self.bi.uncommitted_idx = 0;
        self.bi.min_idx_lebs = self.calc_min_idx_lebs();
        Ok(self.tnc.zroot.branch())
    }

    /// Lists dirty znodes, children before parents, from left to right (`get_znodes_to_commit`).
    fn order_dirty_znodes(&mut self) {
        let mut order = std::mem::take(&mut self.tnc.plan.order);
        order.clear();
        if let Some(root) = self.tnc.zroot.child() {
            self.tnc.list_dirty(root, &mut order);
        }
        for &id in &order {
            self.tnc.arena.node_mut(id).alt = false;
        }
        assert_eq!(u64::try_from(order.len()), Ok(self.tnc.dirty), "the count of dirty znodes");
        self.tnc.plan = Plan { order, ..Plan::default() };
    }

    fn layout_commit(&mut self, clock: &mut Clock, count: usize) -> Result<(), Error> {
        if !self.alloc_idx_lebs(clock, count)? {
            self.layout_in_gaps(clock, count)?;
        }
        self.layout_in_empty_space(clock)
    }

    /// How many empty LEBs it takes for `count` more nodes; it may be more than needed
    /// (`get_leb_cnt`).
    pub(super) fn idx_lebs_for(&self, count: usize) -> usize {
        let layout = &self.layout;
        let node = layout.max_idx_node_sz;
        let at_head = (layout.leb_size - self.tnc.ihead_offs) / node;
        count.saturating_sub(usize_of(at_head)).div_ceil(usize_of(layout.leb_size / node))
    }

    /// Takes empty LEBs for `count` nodes (`alloc_idx_lebs`). False: there are too few.
    fn alloc_idx_lebs(&mut self, clock: &mut Clock, count: usize) -> Result<bool, Error> {
        let needed = self.idx_lebs_for(count);
        if needed == 0 {
            return Ok(true);
        }
        for _ in 0..needed {
            let Some(leb) = self.find_free_leb_for_idx(clock)? else { return Ok(false) };
            self.tnc.plan.lebs.push(leb);
        }
        Ok(!(self.options.checks.index && self.cmt_no.is_multiple_of(FORCED_GAPS)))
    }

    /// Returns the LEBs that are not in use (`free_unused_idx_lebs`).
    fn free_unused_idx_lebs(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let mut result = Ok(());
        for leb in self.tnc.plan.lebs.split_off(self.tnc.plan.lebs_used) {
            let flags = (0, flag::INDEX | flag::TAKEN);
            result = result.and(self.change_one_lp(clock, leb, None, None, flags));
        }
        result
    }

    /// Notes the place of the node of a znode, in its parent (`layout_in_empty_space`,
    /// `make_idx_node`).
    pub(super) fn place_znode(&mut self, id: ZnodeId, leb: LebIndex, offs: u32) {
        let len = self.node_len(id);
        self.tnc.own_branch_mut(id).set_place(leb, offs, len);
        self.calc_idx_sz += u64::from(len.next_multiple_of(8));
        self.tnc.dirty -= 1;
    }

    fn layout_in_empty_space(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let Some(first) = self.len_at(self.tnc.plan.next) else {
            self.tnc.plan.head = (self.tnc.ihead_lnum, self.tnc.ihead_offs);
            return Ok(());
        };
        let mut head = self.index_head();
        if head.offs + first > head.leb_size {
            head.leb = None;
        }
        for position in self.tnc.plan.next..self.tnc.plan.order.len() {
            let leb = match head.leb {
                Some(leb) => leb,
                None => self.next_idx_leb()?,
            };
            if head.leb.is_none() {
                head.begin(leb);
            }
            let id = self.tnc.plan.order[position];
            self.place_znode(id, leb, head.offs + head.used);
            let next = self.len_at(position + 1);
            let Some(flush) = head.add(self.node_len(id), next) else { continue };
            if flush.full || next.is_none() {
                let free = head.leb_size - head.offs;
                self.update_one_lp(clock, leb, Some(free), flush.len - flush.used, (0, 0))?;
            }
            self.tnc.plan.head = (leb, head.offs);
            if flush.full {
                head.leb = None;
            }
        }
        Ok(())
    }

    fn next_idx_leb(&mut self) -> Result<LebIndex, Error> {
        let plan = &mut self.tnc.plan;
        let leb = *plan.lebs.get(plan.lebs_used).ok_or(Errno::NoSpc)?;
        plan.lebs_used += 1;
        Ok(leb)
    }

    /// The node of a znode, ready to be written (`make_idx_node`).
    pub(super) fn index_node(&mut self, clock: &mut Clock, id: ZnodeId) -> Vec<u8> {
        let arena = &self.tnc.arena;
        let branches: Vec<Branch> = arena.branches(id).iter().map(Zbranch::branch).collect();
        let written = branches.iter().all(|branch| branch.lnum.0 != 0 && branch.len != 0);
        assert!(written, "an indexing node refers to what is not on flash");
        let mut node = IndexNode { level: arena.node(id).level, branches }.emit();
        self.host.spend(clock, Work::Node, 0);
        self.prepare_node(clock, &mut node, false);
        node
    }

    /// Writes the index (`ubifs_tnc_end_commit`).
    pub(crate) fn tnc_end_commit(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if self.tnc.plan.order.is_empty() {
            return Ok(());
        }
        for leb in std::mem::take(&mut self.tnc.plan.gap_lebs) {
            self.return_leb(clock, leb)?;
        }
        self.write_index(clock)?;
        let written = u64::try_from(self.tnc.plan.order.len()).expect("a count fits u64");
        self.tnc.clean += written;
        self.tnc.plan = Plan::default();
        Ok(())
    }

    fn write_index(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let Some(first) = self.len_at(self.tnc.plan.next) else { return Ok(()) };
        let mut head = self.index_head();
        let mut lebs = std::mem::take(&mut self.tnc.plan.lebs).into_iter();
        if head.offs + first > head.leb_size {
            let full = head.leb.take().unwrap_or_default();
            self.update_one_lp(clock, full, None, 0, (0, flag::TAKEN))?;
        }
        let mut buffer = std::mem::take(&mut self.tnc.buffer);
        // The last node may reach beyond the buffer's unit.
        buffer.resize(2 * usize_of(head.buffer), 0);
        for position in self.tnc.plan.next..self.tnc.plan.order.len() {
            let id = self.tnc.plan.order[position];
            let node = self.index_node(clock, id);
            let leb = *head.leb.get_or_insert_with(|| {
                (head.offs, head.used) = (0, 0);
                lebs.next().expect("the layout has counted the LEBs")
            });
            let place = (leb, head.offs + head.used);
            let branch = self.tnc.own_branch(id);
            assert!(branch.is_at(place.0, place.1), "a znode is written to another place");
            self.tnc.arena.node_mut(id).dirty = false;
            let start = usize_of(head.used);
            buffer[start..start + node.len()].copy_from_slice(&node);
            let (offs, next) = (head.offs, self.len_at(position + 1));
            let Some(flush) = head.add(u32_of(node.len()), next) else { continue };
            let (len, used) = (usize_of(flush.len), usize_of(flush.used));
            if used < len {
                self.pad(clock, &mut buffer[used..len]);
            }
            self.leb_write(clock, leb, offs, &buffer[..len])?;
            if used > len {
                buffer.copy_within(len..used, 0);
            }
            if flush.full {
                self.update_one_lp(clock, leb, None, 0, (0, flag::TAKEN))?;
                head.leb = None;
            }
        }
        self.tnc.buffer = buffer;
        let end = (head.leb.unwrap_or_default(), head.offs);
        assert_eq!(end, self.tnc.plan.head, "the index ends at another place");
        (self.tnc.ihead_lnum, self.tnc.ihead_offs) = end;
        Ok(())
    }
}

impl Tnc {
    /// Appends the dirty znodes below `id` and then `id`; the depth is that of the index.
    fn list_dirty(&self, id: ZnodeId, order: &mut Vec<ZnodeId>) {
        let node = self.arena.node(id);
        if !node.dirty {
            return;
        }
        if node.level > 0 {
            for child in self.arena.branches(id).iter().filter_map(Zbranch::child) {
                self.list_dirty(child, order);
            }
        }
        order.push(id);
    }
}
