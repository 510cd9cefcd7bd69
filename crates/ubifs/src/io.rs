//! Reading and writing of LEBs and nodes.
//!
//! Layer: rank 5. The first write error makes the volume read-only. Every node gets the next sequence
//! number when it is prepared, so that the order of all nodes is known after a power cut.
//!
//! Source: Linux 6.1, `fs/ubifs/io.c`.

use crate::error::Problem;
use crate::format::padding;
use crate::format::{self, Group, Header, Malformed, NodeType, SQNUM_WATERMARK, usize_of};
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::{Errno, Work};

/// Whether an error of reading leaves bytes in the buffer that checksums can judge (`-EBADMSG`).
pub(crate) const fn is_uncorrectable(error: &Error) -> bool {
    matches!(error, Error::Lebs(boardlab_ubi::Error::Uncorrectable { .. }))
}

impl<L: Lebs> Volume<L> {
    /// Reads bytes (`ubifs_leb_read`).
    ///
    /// # Errors
    /// Any of the LEBs; `Uncorrectable` leaves in the buffer what was read.
    pub(crate) fn leb_read(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        offs: u32,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        Ok(self.lebs.read(clock, leb, offs, buffer)?)
    }

    /// Reads bytes, right or not: the caller checks checksums.
    pub(crate) fn leb_read_unchecked(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        offs: u32,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        match self.leb_read(clock, leb, offs, buffer) {
            Err(error) if !is_uncorrectable(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Writes to the flash, unless the volume is read-only; an error makes it so.
    fn change_flash(
        &mut self,
        write: impl FnOnce(&mut L) -> Result<(), boardlab_ubi::Error>,
    ) -> Result<(), Error> {
        assert!(!self.mode.read_only, "a write on a read-only mount");
        if self.mode.failed {
            return Err(Errno::RoFs.into());
        }
        write(&mut self.lebs).map_err(|error| {
            let error = Error::from(error);
            self.switch_to_read_only(&error);
            error
        })
    }

    /// Writes whole units to erased bytes (`ubifs_leb_write`).
    pub(crate) fn leb_write(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        offs: u32,
        data: &[u8],
    ) -> Result<(), Error> {
        self.change_flash(|lebs| lebs.write(clock, leb, offs, data))
    }

    /// Replaces the content of a LEB atomically (`ubifs_leb_change`).
    pub(crate) fn leb_change(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        data: &[u8],
    ) -> Result<(), Error> {
        self.change_flash(|lebs| lebs.change(clock, leb, data))
    }

    /// Discards the content of a LEB (`ubifs_leb_unmap`).
    pub(crate) fn leb_unmap(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<(), Error> {
        self.change_flash(|lebs| lebs.unmap(clock, leb))
    }

    /// Maps a LEB to an erased block (`ubifs_leb_map`).
    pub(crate) fn leb_map(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<(), Error> {
        self.change_flash(|lebs| lebs.map(clock, leb))
    }

    /// Reads the node at a place, which must be of this kind and length (`ubifs_read_node`).
    ///
    /// # Errors
    /// [`Error::Node`] when there is another node or none.
    pub(crate) fn read_node(
        &mut self,
        clock: &mut Clock,
        kind: NodeType,
        leb: LebIndex,
        offs: u32,
        len: u32,
    ) -> Result<Vec<u8>, Error> {
        self.check_place(leb, offs, len)?;
        let mut bytes = vec![0; usize_of(len)];
        self.leb_read_unchecked(clock, leb, offs, &mut bytes)?;
        self.check_read_node(clock, kind, (leb, offs), &bytes)?;
        Ok(bytes)
    }

    /// Reads a node that lies perhaps in a write buffer, completely or in part; the buffer is that of
    /// the journal head whose bud the LEB is (`ubifs_get_wbuf`, `ubifs_read_node_wbuf`).
    ///
    /// # Errors
    /// As [`Volume::read_node`].
    pub(crate) fn read_node_wbuf(
        &mut self,
        clock: &mut Clock,
        kind: NodeType,
        leb: LebIndex,
        offs: u32,
        len: u32,
    ) -> Result<Vec<u8>, Error> {
        self.check_place(leb, offs, len)?;
        let wbuf = self.head_of(leb).map(|head| &self.heads[head].wbuf);
        let here = wbuf.filter(|wbuf| wbuf.leb == Some(leb) && offs + len > wbuf.offs);
        let Some(wbuf) = here else { return self.read_node(clock, kind, leb, offs, len) };
        let on_flash = wbuf.offs.saturating_sub(offs);
        let first = usize_of(offs + on_flash - wbuf.offs);
        let tail = wbuf.buffer.get(first..first + usize_of(len - on_flash));
        let Some(tail) = tail.map(<[u8]>::to_vec) else {
            let (found, needed) = (wbuf.buffer.len(), first + usize_of(len - on_flash));
            return Err(Error::Node { leb, offs, cause: Malformed::Short { found, needed } });
        };
        self.host.spend(clock, Work::Copy, tail.len());
        let mut bytes = vec![0; usize_of(on_flash)];
        if on_flash > 0 {
            self.leb_read_unchecked(clock, leb, offs, &mut bytes)?;
        }
        bytes.extend_from_slice(&tail);
        self.check_read_node(clock, kind, (leb, offs), &bytes)?;
        Ok(bytes)
    }

    /// Whether a node was written after the older commit that is mounted.
    pub(crate) fn is_beyond_commit(&self, header: &Header) -> bool {
        self.past.as_ref().is_some_and(|past| header.sqnum >= past.leaves_below)
    }

    /// A place that an index on flash gave: it must be within the LEB before memory is reserved.
    pub(crate) fn check_place(&self, leb: LebIndex, offs: u32, len: u32) -> Result<(), Error> {
        let size = self.layout.leb_size;
        Ok(boardlab_ubi::lebs::check_range(leb, offs, usize_of(len), (size, 1))?)
    }

    fn check_read_node(
        &mut self,
        clock: &mut Clock,
        kind: NodeType,
        (leb, offs): (LebIndex, u32),
        bytes: &[u8],
    ) -> Result<(), Error> {
        let wrong = |cause| Error::Node { leb, offs, cause };
        let header = self.check_node(clock, bytes, offs, false).map_err(wrong)?;
        if header.node_type != kind {
            let found = header.node_type.number();
            return Err(wrong(Malformed::Type { found, expected: Some(kind) }));
        }
        if usize_of(header.len) != bytes.len() {
            let expected = format::u32_of(bytes.len());
            let found = header.len;
            return Err(wrong(Malformed::Length { found, min: expected, max: expected }));
        }
        if self.is_beyond_commit(&header) {
            return Err(Error::at(leb, offs, Problem::Newer));
        }
        Ok(())
    }

    /// Checks the header and the checksum of the node at the beginning of `bytes`, at this offset of
    /// its LEB. With `check_crc` false, the checksum of a data node is only verified while mounting, or
    /// if the options want it (`ubifs_check_node`).
    pub(crate) fn check_node(
        &mut self,
        clock: &mut Clock,
        bytes: &[u8],
        offs: u32,
        check_crc: bool,
    ) -> Result<Header, Malformed> {
        let header = Header::parse(bytes)?;
        let room = self.layout.leb_size.saturating_sub(offs);
        let max = match header.node_type {
            NodeType::Index if self.layout.max_idx_node_sz > 0 => {
                room.min(format::index::size_of(self.layout.fanout))
            }
            _ => room,
        };
        if header.len > max {
            let (min, _) = header.node_type.lengths();
            return Err(Malformed::Length { found: header.len, min, max });
        }
        let wanted = check_crc
            || self.mode.mounting
            || self.mode.failed
            || self.options.check_data_crc
            || header.node_type != NodeType::Data;
        if wanted {
            self.host.spend(clock, Work::Crc, usize_of(header.len) - 8);
            format::check_checksum(bytes, &header)?;
        }
        Ok(header)
    }

    /// Fills in sequence number, length, group and checksum, and appends padding up to the smallest
    /// write if `pad` (`ubifs_prepare_node`).
    pub(crate) fn prepare_node(&mut self, clock: &mut Clock, node: &mut Vec<u8>, pad: bool) {
        self.finish_node(clock, node, Group::None);
        if pad {
            let length = node.len().next_multiple_of(8);
            node.resize(length.next_multiple_of(usize_of(self.layout.min_io)), 0);
            self.pad(clock, &mut node[length..]);
        }
    }

    /// The same for a node of a group, without padding (`ubifs_prep_grp_node`).
    pub(crate) fn prepare_group_node(&mut self, clock: &mut Clock, node: &mut [u8], last: bool) {
        self.finish_node(clock, node, if last { Group::Last } else { Group::In });
    }

    fn finish_node(&mut self, clock: &mut Clock, node: &mut [u8], group: Group) {
        let sqnum = self.next_sqnum();
        Header::fill(node, sqnum, group);
        self.host.spend(clock, Work::Crc, node.len() - 8);
        format::seal(node);
    }

    /// Fills `bytes` with padding (`ubifs_pad`).
    pub(crate) fn pad(&mut self, clock: &mut Clock, bytes: &mut [u8]) {
        if bytes.len() >= padding::SIZE {
            self.host.spend(clock, Work::Crc, padding::SIZE - 8);
        }
        pad(bytes);
    }

    /// Prepares and writes one node, padded to whole units (`ubifs_write_node`).
    pub(crate) fn write_node(
        &mut self,
        clock: &mut Clock,
        mut node: Vec<u8>,
        leb: LebIndex,
        offs: u32,
    ) -> Result<(), Error> {
        assert!(offs.is_multiple_of(self.layout.min_io), "write_node: {offs} is not aligned");
        if self.mode.failed {
            return Err(Errno::RoFs.into());
        }
        self.prepare_node(clock, &mut node, true);
        self.leb_write(clock, leb, offs, &node)
    }

    /// The next sequence number. The last ones end the life of the volume.
    pub(crate) fn next_sqnum(&mut self) -> u64 {
        self.max_sqnum = self.max_sqnum.saturating_add(1);
        if self.max_sqnum >= SQNUM_WATERMARK {
            self.switch_to_read_only(&Error::Refused(Errno::Inval));
        }
        self.max_sqnum
    }

    /// Makes the volume read-only until it is mounted again, because of an error; checksums of data
    /// are verified from now on (`ubifs_ro_mode`).
    pub(crate) fn switch_to_read_only(&mut self, _cause: &Error) {
        self.mode.failed = true;
    }
}

/// Fills `bytes` with a padding node or padding bytes (`ubifs_pad`); the CPU work is not counted.
pub(crate) fn pad(bytes: &mut [u8]) {
    padding::pad(bytes);
}

#[cfg(test)]
mod tests;
