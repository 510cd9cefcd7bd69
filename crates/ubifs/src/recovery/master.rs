//! The recovery of the master node.
//!
//! Layer: rank 5. A master node is written to LEB 1, then to LEB 2, at the same offset. When the LEBs
//! are full, LEB 1 is unmapped and written, then LEB 2. So a power cut leaves the new node in LEB 1
//! only, or a damaged unit at the end of one of them, or one of them empty.
//!
//! Source: Linux 6.1, `fs/ubifs/recovery.c` (`get_master_node`, `ubifs_recover_master_node`,
//! `write_rcvrd_mst_node`).

use crate::error::Problem;
use crate::format::master::{Master, SIZE};
use crate::format::{MAGIC, NodeType};
use crate::format::{u32_of, usize_of};
use crate::layout::MASTER_LEB;
use crate::scan::Scanned;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_mtd::is_erased;
use boardlab_sim::Clock;

/// The bytes of the node that the copies have in common end here, and go on behind the HMAC.
const HMAC: std::ops::Range<usize> = 296..360;
const HEADER: usize = crate::format::HEADER_SIZE;

/// What a master LEB holds.
struct Copy {
    /// The last good node: its offset, its sequence number and its bytes.
    node: Option<(u32, u64, Vec<u8>)>,
    /// Whether a damaged unit follows.
    damaged: bool,
}

impl<L: Lebs> Volume<L> {
    /// Chooses the master node of two copies that differ or are damaged, and, unless the mount is
    /// read-only, writes it to both (`ubifs_recover_master_node`).
    pub(crate) fn recover_master(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let first = self.master_copy(clock, MASTER_LEB)?;
        let second = self.master_copy(clock, LebIndex(MASTER_LEB.0 + 1))?;
        let chosen = self.choose_master(&first, &second);
        let (_, sqnum, bytes) =
            chosen.ok_or_else(|| Error::at(MASTER_LEB, 0, Problem::NotAPowerCut))?;
        self.master = Master::parse(bytes).map_err(|cause| Error::Node {
            leb: MASTER_LEB,
            offs: 0,
            cause,
        })?;
        self.master_offs = 0;
        if self.mode.read_only {
            self.recovery.master = Some(self.master.clone());
            self.max_sqnum = *sqnum;
            // The copies differ, so something was written after a clean unmount.
            self.master.flags |= Master::DIRTY;
            return Ok(());
        }
        self.max_sqnum = sqnum.saturating_sub(1);
        self.write_recovered(clock, self.master.clone())
    }

    /// Writes the master node that a read-only mount has recovered, when the volume becomes writable
    /// (`ubifs_write_rcvrd_mst_node`).
    pub(crate) fn write_recovered_master(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let Some(mut master) = self.recovery.master.clone() else { return Ok(()) };
        master.flags |= Master::DIRTY;
        self.master.flags |= Master::DIRTY;
        self.write_recovered(clock, master)?;
        self.recovery.master = None;
        Ok(())
    }

    fn write_recovered(&mut self, clock: &mut Clock, mut master: Master) -> Result<(), Error> {
        master.flags |= Master::RECOVERY;
        let mut bytes = master.emit();
        self.prepare_node(clock, &mut bytes, true);
        self.leb_change(clock, MASTER_LEB, &bytes)?;
        self.leb_change(clock, LebIndex(MASTER_LEB.0 + 1), &bytes)
    }

    /// Which copy counts; `None` when no power cut leaves these.
    fn choose_master<'a>(
        &self,
        first: &'a Copy,
        second: &'a Copy,
    ) -> Option<&'a (u32, u64, Vec<u8>)> {
        let (size, leb_size) = (self.layout.mst_node_alsz, self.layout.leb_size);
        let Some(one) = &first.node else {
            // LEB 1 was unmapped, because LEB 2 has no room for another node.
            return second.node.as_ref().filter(|two| two.0 + 2 * size > leb_size);
        };
        let recovered = Master::parse(&one.2).is_ok_and(|node| node.flags & Master::RECOVERY != 0);
        if recovered && one.0 == 0 && !first.damaged {
            return Some(one);
        }
        let fits = match &second.node {
            Some(two) if two.0 == one.0 => same_master(&one.2, &two.2),
            // LEB 1 was written and LEB 2 was not; the same with LEB 1 unmapped before.
            Some(two) => {
                let next = two.0 + size == one.0;
                let wrapped = one.0 == 0 && leb_size - two.0 - size < size;
                (next || wrapped) && !first.damaged
            }
            None => one.0 == 0 && !first.damaged,
        };
        fits.then_some(one)
    }

    /// Finds the last good node of a master LEB, with at most one damaged unit behind it
    /// (`get_master_node`).
    fn master_copy(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<Copy, Error> {
        let mut bytes = vec![0; usize_of(self.layout.leb_size)];
        self.leb_read_unchecked(clock, leb, 0, &mut bytes)?;
        let size = usize_of(self.layout.mst_node_alsz);
        let magic = MAGIC.to_le_bytes();
        let nodes = (0..).take_while(|&index: &usize| {
            let start = index * size;
            start + SIZE <= bytes.len() && bytes[start..start + 4] == magic
        });
        let mut copy = Copy { node: None, damaged: false };
        let mut offs = nodes.count() * size;
        if offs > 0 {
            offs -= size;
            let mut good = self.is_node(clock, &bytes, leb, offs);
            if good.is_none() && offs > 0 {
                offs -= size;
                good = self.is_node(clock, &bytes, leb, offs);
                if good.is_none() {
                    return Err(Error::at(leb, u32_of(offs), Problem::NotAPowerCut));
                }
            }
            if let Some((kind, sqnum)) = good {
                if kind != NodeType::Master {
                    return Err(Error::at(leb, u32_of(offs), Problem::NotAPowerCut));
                }
                copy.node = Some((u32_of(offs), sqnum, bytes[offs..offs + SIZE].to_vec()));
                offs += size;
            }
        }
        let behind = (offs + size).min(bytes.len());
        copy.damaged = !is_erased(bytes.get(offs..behind).unwrap_or_default());
        if !is_erased(&bytes[behind..]) {
            return Err(Error::at(leb, u32_of(behind), Problem::NotAPowerCut));
        }
        Ok(copy)
    }

    fn is_node(
        &mut self,
        clock: &mut Clock,
        bytes: &[u8],
        leb: LebIndex,
        offs: usize,
    ) -> Option<(NodeType, u64)> {
        match self.scan_a_node(clock, &bytes[offs..], leb, u32_of(offs)) {
            Scanned::Node(header) => Some((header.node_type, header.sqnum)),
            _ => None,
        }
    }
}

/// Whether two master nodes say the same (`ubifs_compare_master_node`).
pub(crate) fn same_master(one: &[u8], two: &[u8]) -> bool {
    one[HEADER..HMAC.start] == two[HEADER..HMAC.start] && one[HMAC.end..SIZE] == two[HMAC.end..SIZE]
}
