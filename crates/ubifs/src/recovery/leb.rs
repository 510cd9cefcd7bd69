//! The recovery of the last LEB of a journal head or of the log.
//!
//! Layer: rank 5. The LEB is scanned up to the damage. What follows must be empty from the next write
//! unit on. Then an incomplete group of nodes is dropped, and the LEB is written again without the
//! damage.
//!
//! Source: Linux 6.1, `fs/ubifs/recovery.c` (`ubifs_recover_leb`, `ubifs_recover_log_leb`,
//! `fix_unclean_leb`).

use crate::error::Problem;
use crate::format::journal::{COMMIT_START_SIZE, CommitStart};
use crate::format::{Group, HEADER_SIZE, Malformed, NodeType};
use crate::format::{u32_of, usize_of};
use crate::layout::LOG_LEB;
use crate::options::Mistake;
use crate::scan::{Scanned, ScannedLeb};
use crate::wbuf::GC_HEAD;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_mtd::is_erased;
use boardlab_sim::Clock;

impl<L: Lebs> Volume<L> {
    /// Scans a LEB from `offs` on, and repairs what a power cut has left there
    /// (`ubifs_recover_leb`). `head` is the journal head of the LEB, if it has one.
    pub(crate) fn recover_leb(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        offs: u32,
        head: Option<usize>,
    ) -> Result<ScannedLeb, Error> {
        let start = offs;
        let mut scanned = self.start_scan(clock, leb, offs)?;
        let (mut offs, stop) = self.scan_until_damage(clock, &mut scanned, offs)?;
        if !self.is_power_cut(clock, &scanned, offs, &stop) {
            return Err(Error::at(leb, offs, Problem::NotAPowerCut));
        }
        let unit = offs / self.layout.min_io * self.layout.min_io;
        let grouped = head.is_some_and(|head| self.heads[head].grouped);
        if grouped && self.mistake != Some(Mistake::ReplaysTornGroups) {
            drop_last_group(&mut scanned, &mut offs);
        }
        if head == Some(GC_HEAD) {
            // The whole write unit goes. Otherwise padding would take space of the GC head, and no
            // LEB might be left that can be collected into the rest.
            while offs > unit {
                let Some(node) = scanned.nodes.pop() else { break };
                offs = node.offs;
            }
        }
        offs = self.clean_buffer(clock, &mut scanned, offs);
        self.end_scan(&mut scanned, offs);
        self.fix_unclean_leb(clock, &mut scanned, start)?;
        Ok(scanned)
    }

    /// Adds nodes until something is not one. Returns where, and what the scan says about it.
    fn scan_until_damage(
        &mut self,
        clock: &mut Clock,
        scanned: &mut ScannedLeb,
        offs: u32,
    ) -> Result<(u32, Scanned), Error> {
        let (leb, mut offs) = (scanned.leb, offs);
        let mut stop = Scanned::EmptySpace;
        while self.layout.leb_size - offs >= 8 {
            stop = self.scan_a_node(clock, &scanned.bytes[usize_of(offs)..], leb, offs);
            match &stop {
                Scanned::Node(header) => {
                    let length = header.len.next_multiple_of(8);
                    self.add_snod(scanned, offs)?;
                    offs += length;
                }
                Scanned::Padding(length) => offs += length,
                _ => break,
            }
        }
        Ok((offs, stop))
    }

    /// Whether a power cut during the last write can have left this.
    fn is_power_cut(
        &mut self,
        clock: &mut Clock,
        scanned: &ScannedLeb,
        offs: u32,
        stop: &Scanned,
    ) -> bool {
        match stop {
            Scanned::Garbage | Scanned::BadPadding => self.is_last_write(scanned, offs),
            Scanned::Damaged => self.no_more_nodes(clock, scanned, offs),
            _ => is_erased(&scanned.bytes[usize_of(offs)..]) || self.is_last_write(scanned, offs),
        }
    }

    /// Whether the flash is empty from the next write unit on (`is_last_write`).
    fn is_last_write(&self, scanned: &ScannedLeb, offs: u32) -> bool {
        self.is_empty_from(scanned, (offs + 1).next_multiple_of(self.layout.max_write))
    }

    fn is_empty_from(&self, scanned: &ScannedLeb, offs: u32) -> bool {
        is_erased(scanned.bytes.get(usize_of(offs)..).unwrap_or_default())
    }

    /// Whether nothing follows a damaged node (`no_more_nodes`): behind the write unit of its header,
    /// or, when the header is whole, behind the node.
    fn no_more_nodes(&mut self, clock: &mut Clock, scanned: &ScannedLeb, offs: u32) -> bool {
        let unit = self.layout.max_write;
        let header = u32_of(HEADER_SIZE);
        if self.is_empty_from(scanned, (offs + header).next_multiple_of(unit)) {
            return true;
        }
        let node = &scanned.bytes[usize_of(offs)..];
        if !matches!(self.check_node(clock, node, offs, true), Err(Malformed::Checksum { .. })) {
            return false;
        }
        let length = u32::from_le_bytes([node[16], node[17], node[18], node[19]]);
        self.is_empty_from(scanned, (offs + length).next_multiple_of(unit))
    }

    /// Pads up to the next write unit and erases the rest, in memory (`clean_buf`). Returns the new
    /// end.
    fn clean_buffer(&mut self, clock: &mut Clock, scanned: &mut ScannedLeb, offs: u32) -> u32 {
        let end = offs.next_multiple_of(self.layout.min_io);
        let (start, stop) = (usize_of(offs), usize_of(end));
        self.pad(clock, &mut scanned.bytes[start..stop]);
        scanned.bytes[stop..].fill(0xFF);
        end
    }

    /// Writes a LEB without its damage, or notes it when the mount is read-only
    /// (`fix_unclean_leb`).
    fn fix_unclean_leb(
        &mut self,
        clock: &mut Clock,
        scanned: &mut ScannedLeb,
        start: u32,
    ) -> Result<(), Error> {
        let (leb, last) = (scanned.leb, scanned.nodes.last());
        let end = last.map_or(start, |node| node.offs + node.len);
        if self.mode.read_only {
            self.recovery.unclean.push((leb, end));
            return Ok(());
        }
        if end == 0 {
            return self.leb_unmap(clock, leb);
        }
        let length = usize_of(end.next_multiple_of(self.layout.min_io));
        self.leb_read_before(clock, scanned, start)?;
        let padded = usize_of(end.next_multiple_of(8));
        if padded < length {
            self.pad(clock, &mut scanned.bytes[padded..length]);
        }
        let bytes = scanned.bytes[..length].to_vec();
        self.leb_change(clock, leb, &bytes)
    }

    /// Reads what is before the place where the scan started.
    fn leb_read_before(
        &mut self,
        clock: &mut Clock,
        scanned: &mut ScannedLeb,
        start: u32,
    ) -> Result<(), Error> {
        if start == 0 {
            return Ok(());
        }
        self.leb_read(clock, scanned.leb, 0, &mut scanned.bytes[..usize_of(start)])
    }

    /// Repairs a log LEB, if it is the last one (`ubifs_recover_log_leb`).
    pub(crate) fn recover_log_leb(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        offs: u32,
    ) -> Result<ScannedLeb, Error> {
        let mut next = LebIndex(leb.0 + 1);
        if next > self.layout.log_last {
            next = LOG_LEB;
        }
        if next != self.log.tail {
            let scanned = self.scan(clock, next, 0)?;
            if let Some(node) = scanned.nodes.first() {
                let start = match self.recovery.cs_sqnum {
                    0 => self.commit_start_sqnum(clock, leb, offs)?,
                    sqnum => sqnum,
                };
                if node.sqnum > start {
                    return Err(Error::at(leb, offs, Problem::NotAPowerCut));
                }
            }
        }
        self.recover_leb(clock, leb, offs, None)
    }

    /// The sequence number of the commit start node at this place (`get_cs_sqnum`).
    fn commit_start_sqnum(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        offs: u32,
    ) -> Result<u64, Error> {
        let wrong = Error::at(leb, offs, Problem::Log);
        if usize_of(self.layout.leb_size - offs) < COMMIT_START_SIZE {
            return Err(wrong);
        }
        let mut bytes = vec![0; COMMIT_START_SIZE];
        self.leb_read_unchecked(clock, leb, offs, &mut bytes)?;
        match self.scan_a_node(clock, &bytes, leb, offs) {
            Scanned::Node(header) if header.node_type == NodeType::CommitStart => {
                let node = CommitStart::parse(&bytes).map_err(|_| wrong.clone())?;
                if node.cmt_no == self.cmt_no { Ok(header.sqnum) } else { Err(wrong) }
            }
            _ => Err(wrong),
        }
    }
}

/// Drops nodes at the end whose group is not complete (`drop_last_group`).
fn drop_last_group(scanned: &mut ScannedLeb, offs: &mut u32) {
    while let Some(node) = scanned.nodes.pop_if(|node| node.group == Group::In) {
        *offs = node.offs;
    }
}
