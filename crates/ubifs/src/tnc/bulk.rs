//! Reading data nodes that lie one after another at once.
//!
//! Layer: rank 5.
//!
//! Source: Linux 6.1, `fs/ubifs/tnc.c` (`ubifs_tnc_get_bu_keys`, `ubifs_tnc_bulk_read`, `read_wbuf`,
//! `validate_data_node`), `super.c` (`max_bu_buf_len`).

use super::BulkRead;
use super::load::key_of;
use super::lookup::{Access, Lookup};
use crate::error::Problem;
use crate::format::index::Branch;
use crate::format::key::{Key, KeyType};
use crate::format::{Malformed, NodeType, usize_of};
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::{Errno, Work};

/// The most blocks at once.
const BLOCKS_MAX: u32 = 32;

impl<L: Lebs> Volume<L> {
    /// The most bytes that are read at once.
    fn bulk_read_limit(&self) -> u32 {
        let (_, max) = NodeType::Data.lengths();
        (BLOCKS_MAX * max).min(self.layout.leb_size)
    }

    /// The first block from that of `key` on, of the same inode, that has a data node.
    pub(crate) fn tnc_next_data(
        &mut self,
        clock: &mut Clock,
        key: Key,
    ) -> Result<Option<u32>, Error> {
        let Lookup { mut at, exact } = self.lookup_level0(clock, key, Access::Read)?;
        if exact {
            return Ok(Some(key.low()));
        }
        if !self.tnc_next(clock, &mut at)? {
            return Ok(None);
        }
        let next = self.tnc.arena.under(at).branch().key;
        let is_data = next.ino() == key.ino() && next.kind() == Some(KeyType::Data);
        Ok(is_data.then(|| next.low()))
    }

    /// Looks up the data nodes from `key` on that lie one after another in one LEB
    /// (`ubifs_tnc_get_bu_keys`).
    ///
    /// # Errors
    /// `Inval` if the first node is larger than a bulk-read can be.
    pub(crate) fn tnc_get_bu_keys(
        &mut self,
        clock: &mut Clock,
        key: Key,
    ) -> Result<BulkRead, Error> {
        let mut bulk = BulkRead { gc_seq: self.gc.gc_seq, ..BulkRead::default() };
        let Lookup { mut at, exact } = self.lookup_level0(clock, key, Access::Read)?;
        let mut block = key.low();
        if exact {
            let first = self.tnc.arena.under(at).branch();
            self.check_first(&first)?;
            bulk.branches.push(first);
            bulk.block_count = 1;
        }
        while bulk.block_count < BLOCKS_MAX {
            if !self.tnc_next(clock, &mut at)? {
                bulk.eof = true;
                break;
            }
            let branch = self.tnc.arena.under(at).branch();
            let is_data = branch.key.kind() == Some(KeyType::Data);
            if branch.key.ino() != key.ino() || !is_data {
                bulk.eof = true;
                break;
            }
            if bulk.branches.is_empty() {
                self.check_first(&branch)?;
            } else if !self.continues(&bulk, &branch) {
                break;
            }
            // Holes count, too, but for a hole at the first block.
            bulk.block_count += branch.key.low().saturating_sub(block + 1);
            if bulk.block_count >= BLOCKS_MAX {
                break;
            }
            block = branch.key.low();
            bulk.branches.push(branch);
            bulk.block_count += 1;
        }
        bulk.block_count = bulk.block_count.min(BLOCKS_MAX);
        Ok(bulk)
    }

    fn check_first(&self, branch: &Branch) -> Result<(), Error> {
        if branch.len > self.bulk_read_limit() {
            return Err(Errno::Inval.into());
        }
        Ok(())
    }

    /// Whether a node lies directly behind those found, and all fit the buffer.
    fn continues(&self, bulk: &BulkRead, branch: &Branch) -> bool {
        let (first, last) = (bulk.branches[0], bulk.branches[bulk.branches.len() - 1]);
        let end = (last.offs + last.len).next_multiple_of(8);
        branch.lnum == first.lnum
            && branch.offs == end
            && branch.offs + branch.len - first.offs <= self.bulk_read_limit()
    }

    /// Reads and checks the nodes of a bulk-read. False: garbage collection may have moved them in the
    /// meantime (`ubifs_tnc_bulk_read`, `-EAGAIN`).
    ///
    /// # Errors
    /// [`Error::Node`] or [`Problem::WrongKey`] for a node that is not what the index says.
    pub(crate) fn tnc_bulk_read(
        &mut self,
        clock: &mut Clock,
        bulk: &mut BulkRead,
    ) -> Result<bool, Error> {
        let (Some(first), Some(last)) = (bulk.branches.first(), bulk.branches.last()) else {
            return Ok(true);
        };
        let (leb, offs) = (first.lnum, first.offs);
        let mut buffer = vec![0; usize_of(last.offs + last.len - offs)];
        let read = match self.head_of(leb) {
            Some(head) => self.read_under_wbuf(clock, head, (leb, offs), &mut buffer),
            None => self.leb_read_unchecked(clock, leb, offs, &mut buffer),
        };
        if self.may_be_collected(leb, bulk.gc_seq) {
            return Ok(false);
        }
        read?;
        for branch in &bulk.branches {
            let start = usize_of(branch.offs - offs);
            self.check_data(clock, &buffer[start..start + usize_of(branch.len)], branch)?;
        }
        bulk.buffer = buffer;
        Ok(true)
    }

    /// Reads bytes of a LEB, those in the write buffer from there (`read_wbuf`).
    fn read_under_wbuf(
        &mut self,
        clock: &mut Clock,
        head: usize,
        (leb, offs): (LebIndex, u32),
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let wbuf = &self.heads[head].wbuf;
        let begin = usize_of(wbuf.offs.saturating_sub(offs));
        if wbuf.leb != Some(leb) || begin >= buffer.len() {
            return self.leb_read_unchecked(clock, leb, offs, buffer);
        }
        let (flash, tail) = buffer.split_at_mut(begin);
        let skip = usize_of(offs.saturating_sub(wbuf.offs));
        let Some(source) = wbuf.buffer.get(skip..skip + tail.len()) else {
            return Err(Error::at(leb, offs, Problem::Index));
        };
        tail.copy_from_slice(source);
        self.host.spend(clock, Work::Copy, tail.len());
        if flash.is_empty() {
            return Ok(());
        }
        self.leb_read_unchecked(clock, leb, offs, flash)
    }

    fn check_data(&mut self, clock: &mut Clock, node: &[u8], branch: &Branch) -> Result<(), Error> {
        let wrong = |cause| Error::Node { leb: branch.lnum, offs: branch.offs, cause };
        let header = self.check_node(clock, node, branch.offs, false).map_err(wrong)?;
        if header.node_type != NodeType::Data {
            let found = header.node_type.number();
            return Err(wrong(Malformed::Type { found, expected: Some(NodeType::Data) }));
        }
        if header.len != branch.len {
            let (min, max) = (branch.len, branch.len);
            return Err(wrong(Malformed::Length { found: header.len, min, max }));
        }
        if key_of(node) != Some(branch.key) {
            return Err(Error::at(branch.lnum, branch.offs, Problem::WrongKey));
        }
        Ok(())
    }
}
