//! The log: which LEBs of the main area are buds of the journal.
//!
//! Layer: rank 5. Main types: [`Log`], [`Bud`].
//!
//! ```text
//!  log LEB:  | commit start, references of open buds | reference | reference | ...
//! ```
//! A LEB is referenced here before its first node is written, so that a replay finds it. A commit
//! begins a new LEB of the log. When it has ended, the LEBs before are unmapped.
//!
//! Source: Linux 6.1, `fs/ubifs/log.c`.

use crate::commit::CommitState;
use crate::error::Problem;
use crate::format::journal::{CommitStart, Reference};
use crate::format::{NodeType, u32_of, usize_of};
use crate::layout::LOG_LEB;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Errno;
use std::collections::{BTreeMap, BTreeSet};

/// A bud: a LEB of the main area in which the journal is (`struct ubifs_bud`).
#[derive(Debug, Clone)]
pub(crate) struct Bud {
    /// The LEB.
    pub leb: LebIndex,
    /// Where the journal begins in it.
    pub start: u32,
    /// The head that writes it.
    pub jhead: usize,
}

/// The log and the buds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    /// The LEB that is written.
    pub head: LebIndex,
    /// The offset that is written next.
    pub head_offs: u32,
    /// The LEB with the last commit start.
    pub tail: LebIndex,
    /// The buds by their LEBs.
    pub buds: BTreeMap<LebIndex, Bud>,
    /// Bytes of all buds, from their starts to the ends of their LEBs.
    pub bud_bytes: u64,
    /// Bytes of buds that the running commit takes over.
    pub cmt_bud_bytes: u64,
    /// Buds that the running commit takes over completely, by their LEBs.
    pub old_buds: Vec<Bud>,
}

impl<L: Lebs> Volume<L> {
    /// The bud in this LEB (`ubifs_search_bud`).
    pub(crate) fn search_bud(&self, leb: LebIndex) -> Option<&Bud> {
        self.log.buds.get(&leb)
    }

    /// Adds a bud to the tables in memory. All its bytes count from now on, since a mount would read
    /// them (`ubifs_add_bud`).
    pub(crate) fn add_bud(&mut self, bud: Bud) {
        if let Some(head) = self.heads.get_mut(bud.jhead) {
            head.buds.push(bud.leb);
        }
        self.log.bud_bytes += u64::from(self.layout.leb_size - bud.start);
        let before = self.log.buds.insert(bud.leb, bud);
        assert!(before.is_none(), "add_bud: the LEB is a bud");
    }

    /// Makes a LEB a bud, in the log and in memory. `None`: the log or the journal is full, and a
    /// commit is needed first (`ubifs_add_bud_to_log`, -EAGAIN).
    pub(crate) fn add_bud_to_log(
        &mut self,
        clock: &mut Clock,
        jhead: usize,
        leb: LebIndex,
        offs: u32,
    ) -> Result<Option<()>, Error> {
        if self.mode.failed {
            return Err(Errno::RoFs.into());
        }
        if self.search_bud(leb).is_some() {
            // The image says that the LEB is free, or reserved for garbage collection.
            return Err(Error::at(leb, offs, Problem::Properties));
        }
        let (layout, log) = (&self.layout, &self.log);
        let (reference, leb_size) = (layout.ref_node_alsz, layout.leb_size);
        let log_full = self.empty_log_bytes() < u64::from(reference) + layout.min_log_bytes;
        let with_bud = log.bud_bytes + u64::from(leb_size - offs);
        if log_full || with_bud > layout.max_bud_bytes {
            self.commit_required();
            return Ok(None);
        }
        if log.bud_bytes >= layout.bg_bud_bytes && self.commit == CommitState::Resting {
            self.request_bg_commit();
        }
        if self.log.head_offs > leb_size - reference {
            self.advance_log_head();
        }
        if self.log.head_offs == 0 {
            self.leb_unmap(clock, self.log.head)?;
        }
        if offs == 0 {
            // It may be unmapped and not yet erased: after a power cut its old content would be back.
            self.leb_map(clock, leb)?;
        }
        let node = self.reference(jhead, leb, offs);
        self.write_node(clock, node, self.log.head, self.log.head_offs)?;
        self.log.head_offs += reference;
        self.add_bud(Bud { leb, start: offs, jhead });
        Ok(Some(()))
    }

    fn reference(&self, jhead: usize, lnum: LebIndex, offs: u32) -> Vec<u8> {
        Reference { lnum, offs, jhead: u32_of(jhead) }.emit()
    }

    fn advance_log_head(&mut self) {
        self.log.head = self.next_log_leb(self.log.head);
        self.log.head_offs = 0;
        assert_ne!(self.log.head, self.log.tail, "the head of the log has reached its tail");
    }

    /// Begins a commit in the log: a new LEB with the commit start and references to the buds that are
    /// still written. Returns the LEB, which becomes the tail (`ubifs_log_start_commit`).
    pub(crate) fn log_start_commit(&mut self, clock: &mut Clock) -> Result<LebIndex, Error> {
        let mut bytes = CommitStart { cmt_no: self.cmt_no }.emit();
        self.prepare_node(clock, &mut bytes, false);
        for jhead in 0..self.heads.len() {
            let wbuf = &self.heads[jhead].wbuf;
            let (Some(leb), offs) = (wbuf.leb, wbuf.offs) else { continue };
            if offs == self.layout.leb_size {
                continue;
            }
            let mut node = self.reference(jhead, leb, offs);
            self.prepare_node(clock, &mut node, false);
            bytes.extend_from_slice(&node);
        }
        self.pad_to_units(clock, &mut bytes);
        if self.log.head_offs > 0 {
            self.advance_log_head();
        }
        let head = self.log.head;
        self.leb_unmap(clock, head)?;
        self.leb_write(clock, head, 0, &bytes)?;
        self.log.head_offs += u32_of(bytes.len());
        assert!(self.log.head_offs < self.layout.leb_size, "a commit start fills a LEB");
        self.remove_buds();
        Ok(head)
    }

    fn pad_to_units(&mut self, clock: &mut Clock, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        bytes.resize(length.next_multiple_of(usize_of(self.layout.min_io)), 0);
        self.pad(clock, &mut bytes[length..]);
    }

    /// Takes the buds out that the commit takes over. Those that are still written begin where the
    /// next nodes come (`remove_buds`).
    fn remove_buds(&mut self) {
        assert!(self.log.old_buds.is_empty(), "the last commit has left buds");
        let leb_size = self.layout.leb_size;
        let (mut kept, mut bytes) = (BTreeMap::new(), 0);
        for (leb, mut bud) in std::mem::take(&mut self.log.buds) {
            let head = &mut self.heads[bud.jhead];
            if head.wbuf.leb == Some(leb) {
                bytes += u64::from(head.wbuf.offs - bud.start);
                bud.start = head.wbuf.offs;
                kept.insert(leb, bud);
            } else {
                bytes += u64::from(leb_size - bud.start);
                head.buds.retain(|&other| other != leb);
                self.log.old_buds.push(bud);
            }
        }
        self.log.buds = kept;
        self.log.cmt_bud_bytes = bytes;
    }

    /// Ends a commit in the log, and writes the master node (`ubifs_log_end_commit`).
    pub(crate) fn log_end_commit(
        &mut self,
        clock: &mut Clock,
        new_tail: LebIndex,
    ) -> Result<(), Error> {
        self.log.tail = new_tail;
        self.log.bud_bytes -= self.log.cmt_bud_bytes;
        self.write_master(clock)
    }

    /// Releases the buds that the commit has taken over, and unmaps the log before the new tail
    /// (`ubifs_log_post_commit`).
    pub(crate) fn log_post_commit(
        &mut self,
        clock: &mut Clock,
        old_tail: LebIndex,
    ) -> Result<(), Error> {
        // The kernel keeps them in a list whose first one is the last that was added.
        while let Some(leb) = self.log.old_buds.last().map(|bud| bud.leb) {
            self.return_leb(clock, leb)?;
            self.log.old_buds.pop();
        }
        let mut leb = old_tail;
        while leb != self.log.tail {
            self.leb_unmap(clock, leb)?;
            leb = self.next_log_leb(leb);
        }
        Ok(())
    }

    /// Makes room in a log that is full after a power cut: keeps the first reference of each bud
    /// (`ubifs_consolidate_log`).
    ///
    /// # Errors
    /// [`Problem::Log`] when that makes no room.
    pub(crate) fn consolidate_log(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let head = self.log.head;
        let mut copy = LogCopy { leb: self.log.tail, bytes: Vec::new() };
        let (mut done, mut first) = (BTreeSet::new(), true);
        let mut leb = self.log.tail;
        loop {
            let scanned = self.scan(clock, leb, 0)?;
            for node in &scanned.nodes {
                let bytes = scanned.node_bytes(node);
                let wanted =
                    match node.kind {
                        NodeType::Reference => {
                            let offs = node.offs;
                            let reference = Reference::parse(bytes)
                                .map_err(|cause| Error::Node { leb, offs, cause })?;
                            done.insert(reference.lnum)
                        }
                        NodeType::CommitStart => std::mem::take(&mut first),
                        _ => false,
                    };
                if wanted {
                    self.copy_log_node(clock, &mut copy, bytes)?;
                }
            }
            if leb == head {
                break;
            }
            leb = self.next_log_leb(leb);
        }
        self.finish_log_copy(clock, copy, head)
    }

    /// Appends a node to the copy; a LEB that is full is written (`add_node`).
    fn copy_log_node(
        &mut self,
        clock: &mut Clock,
        copy: &mut LogCopy,
        node: &[u8],
    ) -> Result<(), Error> {
        if copy.bytes.len() + node.len() > usize_of(self.layout.leb_size) {
            self.pad_to_units(clock, &mut copy.bytes);
            self.leb_change(clock, copy.leb, &copy.bytes)?;
            copy.leb = self.next_log_leb(copy.leb);
            copy.bytes.clear();
        }
        copy.bytes.extend_from_slice(node);
        copy.bytes.resize(copy.bytes.len().next_multiple_of(8), 0);
        Ok(())
    }

    /// Writes the rest of the copy, and unmaps what is behind it.
    fn finish_log_copy(
        &mut self,
        clock: &mut Clock,
        mut copy: LogCopy,
        old_head: LebIndex,
    ) -> Result<(), Error> {
        if !copy.bytes.is_empty() {
            self.pad_to_units(clock, &mut copy.bytes);
            self.leb_change(clock, copy.leb, &copy.bytes)?;
        }
        if copy.leb == old_head {
            return Err(Error::at(old_head, self.log.head_offs, Problem::Log));
        }
        let mut leb = copy.leb;
        while leb != old_head {
            leb = self.next_log_leb(leb);
            self.leb_unmap(clock, leb)?;
        }
        self.log.head = copy.leb;
        self.log.head_offs = u32_of(copy.bytes.len());
        Ok(())
    }

    /// The LEB of the log behind this one; the first one behind the last one.
    pub(crate) fn next_log_leb(&self, leb: LebIndex) -> LebIndex {
        if leb >= self.layout.log_last { LOG_LEB } else { LebIndex(leb.0 + 1) }
    }

    /// Bytes of the log from its head to its tail (`empty_log_bytes`).
    pub(crate) fn empty_log_bytes(&self) -> u64 {
        let (log, leb_size) = (&self.log, u64::from(self.layout.leb_size));
        let head = u64::from(log.head.0) * leb_size + u64::from(log.head_offs);
        let tail = u64::from(log.tail.0) * leb_size;
        if head > tail {
            self.layout.log_bytes + tail - head
        } else if head < tail {
            tail - head
        } else if log.head == log.tail {
            self.layout.log_bytes
        } else {
            0
        }
    }
}

/// A LEB of the log that is being written anew.
struct LogCopy {
    /// Which one.
    leb: LebIndex,
    /// Its new content so far.
    bytes: Vec<u8>,
}

#[cfg(test)]
mod tests;
