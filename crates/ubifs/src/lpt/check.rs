//! The consistency of the LEB properties tree (LPT) in memory.
//!
//! Layer: rank 5. Source: Linux 6.1, `fs/ubifs/lpt.c`, `dbg_check_lpt_nodes`, and `lpt_commit.c`,
//! `dbg_check_ltab`, as far as they need no flash.

use super::geometry::FANOUT;
use super::tree::NONE;
use crate::error::Problem;
use crate::format::{u32_of, usize_of};
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Contradiction;

impl<L: Lebs> Volume<L> {
    /// The used bytes of each of the tree's own LEBs, as the table on flash says.
    ///
    /// # Errors
    /// A damaged table, and any of the LEBs.
    pub(crate) fn lpt_told(&mut self, clock: &mut Clock) -> Result<Vec<u32>, Error> {
        let (leb, offs) = (self.lpt.ltab_lnum, self.lpt.ltab_offs);
        let bytes = self.read_lpt_node(clock, (leb, offs), self.lpt.ltab_sz)?;
        let table = self.lpt.unpack_ltab(&self.layout, &bytes);
        let table = table.ok_or(Error::at(leb, offs, Problem::LptNode))?;
        let size = self.layout.leb_size;
        Ok(table.iter().map(|own| size - own.free - own.dirty).collect())
    }

    /// Whether free and dirty bytes of every LEB in memory fit into it. The replay counts dirt before free
    /// bytes, so only its end shows whether the image is right.
    ///
    /// # Errors
    /// [`Problem::Properties`] of the first LEB in which they do not.
    pub(crate) fn check_replayed_lprops(&self) -> Result<(), Error> {
        let (size, first) = (self.layout.leb_size, self.layout.main_first.0);
        for pnode in &self.lpt.pnodes {
            for (leb, slot) in (first + pnode.number * FANOUT..).zip(&pnode.slots) {
                if slot.free > size || slot.dirty > size - slot.free {
                    return Err(Error::at(LebIndex(leb), 0, Problem::Properties));
                }
            }
        }
        Ok(())
    }

    /// Compares the nodes in memory with each other and with the counters.
    ///
    /// # Errors
    /// What contradicts what.
    pub(crate) fn compare_lpt(&self) -> Result<(), Contradiction> {
        let wrong = |what: String| Err(Contradiction(what));
        let (lpt, mut dirty) = (&self.lpt, (0, 0));
        for (at, nnode) in lpt.nnodes.iter().enumerate() {
            dirty.0 += u32::from(nnode.dirty);
            let linked = match nnode.parent {
                NONE => at == 0,
                parent => {
                    let parent = &lpt.nnodes[usize_of(parent)];
                    let branch = parent.branches[usize_of(nnode.iip)];
                    branch.child == u32_of(at) && (parent.dirty || !nnode.dirty)
                }
            };
            if !linked {
                return wrong(format!("nnode {} of the LPT and its parent", nnode.number));
            }
        }
        for (at, pnode) in lpt.pnodes.iter().enumerate() {
            dirty.1 += u32::from(pnode.dirty);
            let parent = &lpt.nnodes[usize_of(pnode.parent)];
            let linked = parent.branches[usize_of(pnode.iip)].child == u32_of(at)
                && lpt.first_leaf((parent.number, parent.level), pnode.iip) == pnode.number
                && lpt.pnode_of(pnode.number) == Some(u32_of(at))
                && (parent.dirty || !pnode.dirty);
            if !linked {
                return wrong(format!("pnode {} of the LPT and its parent", pnode.number));
            }
        }
        if dirty != (lpt.dirty_nnodes, lpt.dirty_pnodes) {
            return wrong(format!(
                "{} and {} dirty nodes of the LPT, counted {} and {}",
                dirty.0, dirty.1, lpt.dirty_nnodes, lpt.dirty_pnodes
            ));
        }
        let full = lpt
            .own
            .iter()
            .position(|own| own.free.saturating_add(own.dirty) > self.layout.leb_size);
        full.map_or(Ok(()), |at| wrong(format!("LEB {at} of the LPT has more space than bytes")))
    }
}
