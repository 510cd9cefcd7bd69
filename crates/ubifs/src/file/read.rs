//! Reading pages, one by one or many in one go. Source: Linux 6.1, `fs/ubifs/file.c` (`do_readpage`,
//! `read_block`, `ubifs_bulk_read`, `ubifs_do_bulk_read`, `populate_page`).

use super::PAGE;
use crate::error::Problem;
use crate::format::BLOCK_SIZE;
use crate::format::data::Data;
use crate::format::key::Key;
use crate::tnc::{BulkRead, Located};
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Errno;

/// Reads in a row that switch bulk-read on.
const READS_IN_A_ROW: u64 = 3;

impl<L: Lebs> Volume<L> {
    /// Reads a page (`ubifs_read_folio`). After three pages in a row, nodes that lie behind each other
    /// are read together, if the mount asks for that.
    ///
    /// # Errors
    /// EISDIR, a damaged node, any of the volume.
    pub(crate) fn do_read_page(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        self.pages.read_ahead.clear();
        if self.iget(clock, ino)?.is_dir() {
            return Err(Errno::IsDir.into());
        }
        if self.wants_bulk_read(ino, page) && self.do_bulk_read(clock, ino, page, buffer)? {
            return Ok(());
        }
        self.read_one_page(clock, ino, page, buffer)
    }

    /// Reads one page (`do_readpage`).
    pub(crate) fn read_one_page(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let size = self.iget(clock, ino)?.size;
        let found = page < size.div_ceil(PAGE) && self.read_block(clock, ino, page, buffer)?;
        if found {
            zero_tail(buffer, size, page);
        } else {
            buffer.fill(0);
        }
        self.pages.set_hole((ino, page), !found);
        Ok(())
    }

    /// The first page from `page` on that has data; `None` behind the last.
    pub(crate) fn do_next_data(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        page: u64,
    ) -> Result<Option<u64>, Error> {
        let Ok(block) = block_number(page) else { return Ok(None) };
        Ok(self.tnc_next_data(clock, Key::data(ino, block))?.map(u64::from))
    }

    /// Reads one block; false for a hole, of which nothing is read.
    fn read_block(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<bool, Error> {
        let key = Key::data(ino, block_number(page)?);
        let Some(Located { node, leb, offs }) = self.tnc_locate(clock, key)? else {
            return Ok(false);
        };
        self.unpack_block(clock, (leb, offs), &node, buffer)?;
        Ok(true)
    }

    /// Decompresses a block.
    pub(crate) fn unpack_block(
        &mut self,
        clock: &mut Clock,
        (leb, offs): (LebIndex, u32),
        node: &[u8],
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let data = Data::parse(node).map_err(|cause| Error::Node { leb, offs, cause })?;
        let bad = Error::at(leb, offs, Problem::Compressed(data.compr_type));
        let size = usize::try_from(data.size).map_err(|_| bad.clone())?;
        if size == 0 || size > BLOCK_SIZE {
            return Err(bad);
        }
        let (codec, host) = (&mut self.compressors, &mut self.host);
        let done = codec.decompress(host, clock, data.compr_type, data.data, buffer);
        if done != Some(size) {
            return Err(bad);
        }
        buffer[size..].fill(0);
        Ok(())
    }

    /// Whether this page is read in sequence with the ones before (`ubifs_bulk_read`).
    fn wants_bulk_read(&mut self, ino: u32, page: u64) -> bool {
        let enabled = self.options.bulk_read;
        let inode = self.inode_mut(ino);
        let last = std::mem::replace(&mut inode.last_page_read, page);
        if !enabled {
            return false;
        }
        if page != last + 1 {
            (inode.read_in_a_row, inode.bulk_read) = (1, false);
            return false;
        }
        if !inode.bulk_read {
            inode.read_in_a_row += 1;
            inode.bulk_read = inode.read_in_a_row >= READS_IN_A_ROW;
        }
        inode.bulk_read
    }

    /// Reads this page and the following ones; false if that did not work, so that the page is read
    /// alone (`ubifs_do_bulk_read`).
    fn do_bulk_read(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<bool, Error> {
        match self.try_bulk_read(clock, ino, page, buffer) {
            Err(error) => error.unless_power_cut().map(|()| false),
            done => done,
        }
    }

    fn try_bulk_read(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<bool, Error> {
        let mut bulk = self.tnc_get_bu_keys(clock, Key::data(ino, block_number(page)?))?;
        let inode = self.inode_mut(ino);
        if bulk.eof {
            (inode.read_in_a_row, inode.bulk_read) = (1, false);
        }
        if bulk.block_count == 0 {
            (inode.read_in_a_row, inode.bulk_read) = (0, false);
            return Ok(false);
        }
        if !bulk.branches.is_empty() {
            self.tnc_bulk_read(clock, &mut bulk)?;
        }
        let mut next = 0;
        let hole = self.populate_page(clock, &bulk, &mut next, (ino, page), buffer)?;
        self.pages.set_hole((ino, page), hole);
        self.read_ahead(clock, &bulk, next, (ino, page))?;
        Ok(true)
    }

    /// Fills the pages behind the wanted one. A damaged one ends this: it is read alone later.
    fn read_ahead(
        &mut self,
        clock: &mut Clock,
        bulk: &BulkRead,
        mut next: usize,
        (ino, page): (u32, u64),
    ) -> Result<(), Error> {
        let size = self.inode(ino).size;
        if size == 0 {
            return Ok(());
        }
        let behind = (page + u64::from(bulk.block_count)).min(size.div_ceil(PAGE));
        let mut last = page;
        for number in page + 1..behind {
            let key = (ino, number);
            if !self.pages.dirty.contains(&key) {
                let mut content = vec![0; BLOCK_SIZE].into_boxed_slice();
                match self.populate_page(clock, bulk, &mut next, key, &mut content) {
                    Ok(hole) => self.pages.set_hole(key, hole),
                    Err(error) => {
                        error.unless_power_cut()?;
                        break;
                    }
                }
                self.pages.read_ahead.push((number, content));
            }
            last = number;
        }
        self.inode_mut(ino).last_page_read = last;
        Ok(())
    }

    /// Fills one page from what was read; whether it is a hole (`populate_page`).
    fn populate_page(
        &mut self,
        clock: &mut Clock,
        bulk: &BulkRead,
        next: &mut usize,
        (ino, page): (u32, u64),
        buffer: &mut [u8],
    ) -> Result<bool, Error> {
        buffer.fill(0);
        let size = self.inode(ino).size;
        if page >= size.div_ceil(PAGE) {
            return Ok(true);
        }
        let block = block_number(page)?;
        while bulk.branches.get(*next).is_some_and(|branch| branch.key.low() < block) {
            *next += 1;
        }
        let Some(branch) = bulk.branches.get(*next).filter(|branch| branch.key.low() == block)
        else {
            return Ok(true);
        };
        let bad = Error::at(branch.lnum, branch.offs, Problem::WrongKey);
        let start =
            usize::try_from(branch.offs - bulk.branches[0].offs).map_err(|_| bad.clone())?;
        let length = usize::try_from(branch.len).map_err(|_| bad.clone())?;
        let node = bulk.buffer.get(start..start + length).ok_or(bad)?;
        self.unpack_block(clock, (branch.lnum, branch.offs), node, buffer)?;
        *next += 1;
        zero_tail(buffer, size, page);
        Ok(false)
    }
}

/// The number of the block of a page; the index has 29 bits for it.
fn block_number(page: u64) -> Result<u32, Error> {
    u32::try_from(page).map_err(|_| Errno::FBig.into())
}

/// The bytes beyond the end of the file read as zeros.
fn zero_tail(buffer: &mut [u8], size: u64, page: u64) {
    let within = usize::try_from(size - page * PAGE).unwrap_or(usize::MAX);
    if within < buffer.len() {
        buffer[within..].fill(0);
    }
}
