//! The master area: two LEBs with a master node each time that a commit ends.
//!
//! Layer: rank 5. Both copies say the same. A copy that differs is left from a power cut: recovery
//! decides then.
//!
//! Source: Linux 6.1, `fs/ubifs/master.c`.

use crate::error::Problem;
use crate::format::master::{Master, SIZE};
use crate::format::{INUM_WATERMARK, Malformed, NodeType, SQNUM_WATERMARK};
use crate::layout::{LEBS_MIN, LOG_LEB, MASTER_LEB};
use crate::recovery::same_master;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Errno;

/// The last master node of one LEB: its offset, its sequence number and its bytes.
type LastNode = Option<(u32, u64, Vec<u8>)>;

impl<L: Lebs> Volume<L> {
    /// Reads the master node, or recovers it when the two copies are not both right, and takes its
    /// values over (`ubifs_read_master`).
    ///
    /// # Errors
    /// [`Error::Node`] names the field that cannot be.
    pub(crate) fn read_master(&mut self, clock: &mut Clock) -> Result<(), Error> {
        match self.scan_for_master(clock) {
            Err(error) if error.is_unclean() => self.recover_master(clock)?,
            other => other?,
        }
        self.master.flags &= !Master::RECOVERY;
        self.adopt_new_size()?;
        self.validate_master().map_err(|cause| Error::Node {
            leb: MASTER_LEB,
            offs: self.master_offs,
            cause,
        })?;
        self.adopt_master();
        Ok(())
    }

    /// Finds the last master node, which must be the same in both LEBs (`scan_for_master`).
    fn scan_for_master(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let (first, count) = self.last_master(clock, MASTER_LEB)?;
        let (second, second_count) = self.last_master(clock, LebIndex(MASTER_LEB.0 + 1))?;
        let differ = Error::at(MASTER_LEB, 0, Problem::NotAPowerCut);
        let (Some(first), Some(second)) = (first, second) else { return Err(differ) };
        if count != second_count || first.0 != second.0 || !same_master(&first.2, &second.2) {
            return Err(differ);
        }
        let (offs, sqnum, bytes) = first;
        self.master =
            Master::parse(&bytes).map_err(|cause| Error::Node { leb: MASTER_LEB, offs, cause })?;
        self.master_offs = offs;
        self.max_sqnum = sqnum;
        Ok(())
    }

    /// The last node of a master LEB, and the number of its nodes.
    fn last_master(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
    ) -> Result<(LastNode, usize), Error> {
        let scanned = self.scan(clock, leb, 0)?;
        let Some(last) = scanned.nodes.last() else { return Ok((None, 0)) };
        if last.kind != NodeType::Master {
            let (found, expected) = (last.kind.number(), Some(NodeType::Master));
            let cause = Malformed::Type { found, expected };
            return Err(Error::Node { leb, offs: last.offs, cause });
        }
        let bytes = scanned.node_bytes(last).to_vec();
        Ok((Some((last.offs, last.sqnum, bytes)), scanned.nodes.len()))
    }

    /// Counts LEBs that the filesystem has grown by.
    fn adopt_new_size(&mut self) -> Result<(), Error> {
        let (old, new) = (self.master.leb_count, self.layout.leb_count);
        if old == new {
            return Ok(());
        }
        if new < old || new < LEBS_MIN {
            let cause = Malformed::Field { name: "leb_cnt", value: u64::from(old) };
            return Err(Error::Node { leb: MASTER_LEB, offs: self.master_offs, cause });
        }
        let (growth, master) = (u64::from(new - old), &mut self.master);
        let free = growth * u64::from(self.layout.leb_size);
        let dark = growth * u64::from(self.layout.dark_wm);
        master.leb_count = new;
        master.empty_lebs = master.empty_lebs.saturating_add(new - old);
        master.total_free = master.total_free.saturating_add(free);
        master.total_dark = master.total_dark.saturating_add(dark);
        Ok(())
    }

    /// Checks all values (`validate_master`).
    fn validate_master(&self) -> Result<(), Malformed> {
        let (master, layout) = (&self.master, &self.layout);
        require(self.max_sqnum < SQNUM_WATERMARK, "sqnum", self.max_sqnum)?;
        require(master.cmt_no < self.max_sqnum, "cmt_no", master.cmt_no)?;
        let inum = master.highest_inum;
        require(inum < u64::from(INUM_WATERMARK), "highest_inum", inum)?;
        let log = LOG_LEB..=layout.log_last;
        require(log.contains(&master.log_lnum), "log_lnum", master.log_lnum.0)?;
        // The next one is written behind it.
        let aligned = self.master_offs.is_multiple_of(layout.min_io);
        require(aligned, "offset of the node", self.master_offs)?;
        self.validate_index()?;
        self.validate_lpt()?;
        self.validate_totals()
    }

    fn is_main(&self, leb: LebIndex) -> bool {
        leb >= self.layout.main_first && leb.0 < self.layout.leb_count
    }

    /// The places in the main area.
    fn validate_index(&self) -> Result<(), Malformed> {
        let (master, layout) = (&self.master, &self.layout);
        require(self.is_main(master.root_lnum), "root_lnum", master.root_lnum.0)?;
        let (offs, len) = (master.root_offs, master.root_len);
        require(offs < layout.leb_size && offs.is_multiple_of(8), "root_offs", offs)?;
        let lengths =
            crate::format::index::size_of(1)..=crate::format::index::size_of(layout.fanout);
        require(lengths.contains(&len), "root_len", len)?;
        if let Some(leb) = master.gc_lnum {
            require(self.is_main(leb), "gc_lnum", leb.0)?;
        } else {
            // -1 is below the main area for the kernel, which compares signed numbers.
            require(false, "gc_lnum", u32::MAX)?;
        }
        require(self.is_main(master.ihead_lnum), "ihead_lnum", master.ihead_lnum.0)?;
        let offs = master.ihead_offs;
        let aligned = offs.is_multiple_of(layout.min_io);
        require(aligned && offs <= layout.leb_size, "ihead_offs", offs)?;
        let size = master.index_size;
        require(size.is_multiple_of(8) && size < layout.main_bytes, "index_size", size)
    }

    /// The places in the area of the LEB properties tree.
    fn validate_lpt(&self) -> Result<(), Malformed> {
        let (master, layout, lpt) = (&self.master, &self.layout, &self.lpt);
        let area = layout.lpt_first..=layout.lpt_last;
        let fits =
            |offs: u32, size: u32| offs.checked_add(size).is_some_and(|end| end <= layout.leb_size);
        require(area.contains(&master.lpt_lnum), "lpt_lnum", master.lpt_lnum.0)?;
        require(fits(master.lpt_offs, lpt.nnode_sz), "lpt_offs", master.lpt_offs)?;
        require(area.contains(&master.nhead_lnum), "nhead_lnum", master.nhead_lnum.0)?;
        let aligned = master.nhead_offs.is_multiple_of(layout.min_io);
        require(aligned && fits(master.nhead_offs, 0), "nhead_offs", master.nhead_offs)?;
        require(area.contains(&master.ltab_lnum), "ltab_lnum", master.ltab_lnum.0)?;
        require(fits(master.ltab_offs, lpt.ltab_sz), "ltab_offs", master.ltab_offs)?;
        if self.sb.flags & crate::format::superblock::Superblock::BIGLPT != 0 {
            require(area.contains(&master.lsave_lnum), "lsave_lnum", master.lsave_lnum.0)?;
            require(fits(master.lsave_offs, lpt.lsave_sz), "lsave_offs", master.lsave_offs)?;
        }
        require(self.is_main(master.lscan_lnum), "lscan_lnum", master.lscan_lnum.0)
    }

    /// The totals of the main area.
    fn validate_totals(&self) -> Result<(), Malformed> {
        let (master, layout) = (&self.master, &self.layout);
        let size = layout.main_bytes;
        let (free, dirty, used) = (master.total_free, master.total_dirty, master.total_used);
        let (dead, dark) = (master.total_dead, master.total_dark);
        require(master.empty_lebs <= layout.main_lebs - 2, "empty_lebs", master.empty_lebs)?;
        require(master.idx_lebs < layout.main_lebs, "idx_lebs", master.idx_lebs)?;
        let sizes = [
            ("total_free", free),
            ("total_dirty", dirty),
            ("total_used", used),
            ("total_dead", dead),
            ("total_dark", dark),
        ];
        for (name, value) in sizes {
            // No sum is larger than the main area: so sums of several do not overflow.
            require(value.is_multiple_of(8) && value <= size, name, value)?;
        }
        require(free + dirty + used <= size, "total_used", used)?;
        let spent = dead + dark + used + master.index_size;
        require(spent <= size, "total_used", used)?;
        require(dead <= free + dirty, "total_dead", dead)?;
        require(dark <= free + dirty, "total_dark", dark)
    }

    /// Takes the values over.
    fn adopt_master(&mut self) {
        let master = &self.master;
        let signed = |value: u64| i64::try_from(value).expect("at most the size of the main area");
        self.highest_inum = u32::try_from(master.highest_inum).expect("it was validated");
        self.cmt_no = master.cmt_no;
        self.log.head = master.log_lnum;
        self.log.head_offs = 0;
        self.log.tail = LOG_LEB;
        self.bi.old_idx_sz = master.index_size;
        self.calc_idx_sz = master.index_size;
        self.lst.empty_lebs = i64::from(master.empty_lebs);
        self.lst.idx_lebs = i64::from(master.idx_lebs);
        self.lst.total_free = signed(master.total_free);
        self.lst.total_dirty = signed(master.total_dirty);
        self.lst.total_used = signed(master.total_used);
        self.lst.total_dead = signed(master.total_dead);
        self.lst.total_dark = signed(master.total_dark);
        self.tnc.load_master(master);
        self.lpt.load_master(master);
    }

    /// Writes the master node to both LEBs, behind the last one, or at the beginning when they are
    /// full (`ubifs_write_master`).
    pub(crate) fn write_master(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if self.mode.failed {
            return Err(Errno::RoFs.into());
        }
        let size = crate::format::u32_of(SIZE);
        let mut offs = self.master_offs + self.layout.mst_node_alsz;
        if offs + size > self.layout.leb_size {
            self.leb_unmap(clock, MASTER_LEB)?;
            offs = 0;
        }
        self.master_offs = offs;
        self.master.highest_inum = u64::from(self.highest_inum);
        self.write_node(clock, self.master.emit(), MASTER_LEB, offs)?;
        let second = LebIndex(MASTER_LEB.0 + 1);
        if offs == 0 {
            self.leb_unmap(clock, second)?;
        }
        self.write_node(clock, self.master.emit(), second, offs)
    }
}

fn require(ok: bool, name: &'static str, value: impl Into<u64>) -> Result<(), Malformed> {
    if ok { Ok(()) } else { Err(Malformed::Field { name, value: value.into() }) }
}

#[cfg(test)]
mod tests;
