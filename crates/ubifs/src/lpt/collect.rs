//! Space in the own area of the LEB properties tree (LPT): which LEBs are free, and how more are made.
//!
//! Layer: rank 5. A LEB in which all is dirty becomes free by a commit without being read. In the large
//! model the dirtiest LEB is read and its valid nodes are made dirty, so that the next commit writes them
//! elsewhere.
//!
//! Source: Linux 6.1, `fs/ubifs/lpt_commit.c`: `need_write_all`, `lpt_tgc_start`, `lpt_gc_lnum`,
//! `populate_lsave`.

use super::geometry::FANOUT;
use super::node::Kind;
use super::tree::NONE;
use crate::error::Problem;
use crate::format::{u32_of, usize_of};
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;

impl<L: Lebs> Volume<L> {
    /// Whether the free LEBs hold less than twice the tree (`need_write_all`).
    pub(super) fn own_space_is_short(&self) -> bool {
        let leb_size = self.layout.leb_size;
        let own = self.lpt.own.iter().zip(self.layout.lpt_first.0..);
        let free = own.map(|(own, leb)| {
            if leb == self.lpt.nhead_lnum.0 {
                u64::from(leb_size - self.lpt.nhead_offs)
            } else if own.free.saturating_add(own.dirty) == leb_size {
                u64::from(leb_size)
            } else {
                0
            }
        });
        free.sum::<u64>() <= self.lpt.size * 2
    }

    /// Cleans LEB after LEB until there is space (large model).
    pub(super) fn make_own_space(&mut self, clock: &mut Clock) -> Result<(), Error> {
        while self.own_space_is_short() {
            self.clean_dirtiest_leb(clock)?;
        }
        Ok(())
    }

    /// Counts LEBs in which all is dirty as free after this commit (`lpt_tgc_start`).
    pub(super) fn collect_dirty_lebs(&mut self) {
        let (first, leb_size) = (self.layout.lpt_first.0, self.layout.leb_size);
        let head = self.lpt.nhead_lnum.0;
        for (own, leb) in self.lpt.own.iter_mut().zip(first..) {
            if leb != head && own.dirty > 0 && own.free.saturating_add(own.dirty) == leb_size {
                (own.collected, own.free, own.dirty) = (true, leb_size, 0);
            }
        }
    }

    /// Unmaps them (`lpt_tgc_end`).
    pub(super) fn release_dirty_lebs(&mut self, clock: &mut Clock) -> Result<(), Error> {
        for at in 0..self.lpt.own.len() {
            if self.lpt.own[at].collected {
                self.leb_unmap(clock, LebIndex(self.layout.lpt_first.0 + u32_of(at)))?;
                self.lpt.own[at].collected = false;
            }
        }
        Ok(())
    }

    /// Makes the valid nodes of the dirtiest LEB dirty (`lpt_gc`).
    fn clean_dirtiest_leb(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let leb_size = self.layout.leb_size;
        let mut dirtiest: Option<(u32, u32)> = None;
        for (own, leb) in self.lpt.own.iter().zip(self.layout.lpt_first.0..) {
            let whole = own.free.saturating_add(own.dirty) == leb_size;
            if leb == self.lpt.nhead_lnum.0 || whole {
                continue;
            }
            if own.dirty > dirtiest.map_or(0, |(dirty, _)| dirty) {
                dirtiest = Some((own.dirty, leb));
            }
        }
        let head = self.lpt.nhead_lnum;
        let (_, leb) = dirtiest.ok_or(Error::at(head, leb_size, Problem::LptSpace))?;
        self.clean_own_leb(clock, LebIndex(leb))
    }

    /// Makes the valid nodes of a LEB dirty (`lpt_gc_lnum`).
    fn clean_own_leb(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<(), Error> {
        let leb_size = self.layout.leb_size;
        let bytes = self.read_lpt_node(clock, (leb, 0), leb_size)?;
        let mut offs = 0;
        while offs < leb_size {
            let node = &bytes[usize_of(offs)..];
            let Some(kind) = self.lpt.kind(node) else {
                let next = offs.next_multiple_of(self.layout.min_io);
                if next == offs {
                    break;
                }
                offs = next;
                continue;
            };
            self.make_node_dirty(clock, kind, node, (leb, offs))?;
            offs += self.lpt.size_of(kind);
        }
        let own = &self.lpt.own[usize_of(leb.0 - self.layout.lpt_first.0)];
        // A table that counts too little dirt would be cleaned for ever.
        if own.free.saturating_add(own.dirty) < leb_size {
            return Err(Error::at(leb, 0, Problem::LptNode));
        }
        Ok(())
    }

    /// Makes a node dirty, if the one at this place is the valid one.
    fn make_node_dirty(
        &mut self,
        clock: &mut Clock,
        kind: Kind,
        node: &[u8],
        at: (LebIndex, u32),
    ) -> Result<(), Error> {
        match kind {
            Kind::Pnode => {
                let number = self.lpt.number(node);
                if number >= self.lpt.pnode_count {
                    return Ok(());
                }
                let pnode = self.load_pnode(clock, number)?;
                let (parent, iip) = {
                    let pnode = &self.lpt.pnodes[usize_of(pnode)];
                    (pnode.parent, pnode.iip)
                };
                if self.lpt.place_of(parent, iip) == Some(at) {
                    self.make_pnode_dirty(pnode);
                }
            }
            Kind::Nnode => {
                let Some(nnode) = self.nnode_with(clock, self.lpt.number(node))? else {
                    return Ok(());
                };
                let (parent, iip) = {
                    let nnode = &self.lpt.nnodes[usize_of(nnode)];
                    (nnode.parent, nnode.iip)
                };
                if self.lpt.place_of(parent, iip) == Some(at) {
                    self.make_nnodes_dirty(nnode);
                }
            }
            Kind::Ltab if at == (self.lpt.ltab_lnum, self.lpt.ltab_offs) => self.make_ltab_dirty(),
            Kind::Lsave if at == (self.lpt.lsave_lnum, self.lpt.lsave_offs) => {
                self.make_lsave_dirty();
            }
            Kind::Ltab | Kind::Lsave => {}
        }
        Ok(())
    }

    /// The inner node with a number (`nnode_lookup`); `None` if the tree has none.
    fn nnode_with(&mut self, clock: &mut Clock, mut number: u32) -> Result<Option<u32>, Error> {
        let mut at = self.lpt_root(clock)?;
        if number == 0 {
            return Ok(None);
        }
        loop {
            let iip = number % FANOUT;
            number /= FANOUT;
            if number == 0 {
                return Ok(Some(at));
            }
            let node = &self.lpt.nnodes[usize_of(at)];
            let branch = node.branches[usize_of(iip)];
            if node.level < 2 || (branch.place.is_none() && branch.child == NONE) {
                return Ok(None);
            }
            at = self.get_nnode(clock, at, iip)?;
        }
    }

    /// Notes in the save table which LEBs are of interest after the next mount (`populate_lsave`).
    pub(super) fn fill_save_table(&mut self) {
        self.make_lsave_dirty();
        let (count, first) = (usize_of(self.sb.lsave_count), self.layout.main_first);
        let mut saved: Vec<LebIndex> = self.interesting_lebs(count);
        saved.resize(count, first);
        self.lpt.saved = saved;
    }
}
