//! The write buffers of the journal heads.
//!
//! Layer: rank 5. Main types: [`JournalHead`], [`WriteBuffer`]. A head collects nodes in its buffer and
//! writes them in units of the largest write that the flash does at once, aligned to it. What is less
//! is written when someone asks for it, or by a timer, padded to the smallest write.
//!
//! ```text
//!  LEB:   |  written                      | buffer: used | avail |
//!         0                             offs                offs + size, aligned to max_write
//! ```
//! The kernel lets the timer expire between 5.0 and 5.5 s after the last node, when another
//! interrupt occurs; here it expires after 5.0 s. A buffer whose timer has expired is written by the
//! next step of the background thread.
//!
//! Source: Linux 6.1, `fs/ubifs/io.c` (`ubifs_wbuf_*`), `super.c` (`alloc_wbufs`,
//! `bud_wbuf_callback`).

use crate::format::{ALIGN, HEADER_SIZE, usize_of};
use crate::io::pad;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::{Clock, Duration, Instant};
use boardlab_vfs::{Errno, Work};

/// The journal head of garbage collection: its position in `Volume::heads`.
pub(crate) const GC_HEAD: usize = 0;
/// The journal head of inodes and entries.
pub(crate) const BASE_HEAD: usize = 1;
/// The journal head of file content.
pub(crate) const DATA_HEAD: usize = 2;

/// How long nodes stay in a buffer to which nothing is added (`dirty_writeback_interval`).
const TIMER: Duration = Duration::from_millis(5_000);

/// A journal head (`struct ubifs_jhead`).
#[derive(Debug, Clone)]
pub(crate) struct JournalHead {
    /// Its buffer.
    pub wbuf: WriteBuffer,
    /// Its buds since the last commit, the oldest first.
    pub buds: Vec<LebIndex>,
    /// Whether its nodes are in groups.
    pub grouped: bool,
}

/// A write buffer (`struct ubifs_wbuf`).
#[derive(Debug, Clone)]
pub(crate) struct WriteBuffer {
    /// The bytes; as many as the largest write.
    pub buffer: Vec<u8>,
    /// The LEB; `None` before the first one.
    pub leb: Option<LebIndex>,
    /// The offset of the buffer's first byte there.
    pub offs: u32,
    /// Bytes of the buffer that are free.
    pub avail: u32,
    /// Bytes of the buffer that are in use.
    pub used: u32,
    /// Bytes of the buffer up to the next boundary.
    pub size: u32,
    /// When it is written if nothing is added; `None` when the timer is off.
    pub due: Option<Instant>,
    /// The inodes with nodes in the buffer.
    pub inodes: Vec<u32>,
}

impl WriteBuffer {
    fn new(leb_start: u32, max_write: u32) -> Self {
        let size = max_write - leb_start % max_write;
        let most = usize_of(max_write) / HEADER_SIZE + 1;
        Self {
            buffer: vec![0; usize_of(max_write)],
            leb: None,
            offs: 0,
            avail: size,
            used: 0,
            size,
            due: None,
            inodes: Vec::with_capacity(most),
        }
    }

    /// Empties the buffer, which begins at `offs` from now on, and ends at the next boundary.
    fn restart(&mut self, offs: u32, leb_size: u32, max_write: u32) {
        let room = leb_size - offs;
        self.offs = offs;
        self.size =
            if room < max_write { room } else { (offs + 1).next_multiple_of(max_write) - offs };
        self.avail = self.size;
        self.used = 0;
    }

    /// Appends a node and padding bytes up to `aligned`.
    fn append(&mut self, data: &[u8], aligned: u32) {
        let start = usize_of(self.used);
        let end = start + usize_of(aligned);
        self.buffer[start..start + data.len()].copy_from_slice(data);
        pad(&mut self.buffer[start + data.len()..end]);
        self.used += aligned;
        self.avail -= aligned;
    }
}

impl<L: Lebs> Volume<L> {
    /// Makes the journal heads with empty buffers (`alloc_wbufs`).
    pub(crate) fn alloc_wbufs(&mut self) {
        let (start, max_write) = (self.lebs.shape().leb_start, self.layout.max_write);
        let head = |number| JournalHead {
            wbuf: WriteBuffer::new(start, max_write),
            buds: Vec::new(),
            grouped: number != GC_HEAD,
        };
        self.heads = (0..usize_of(self.layout.jhead_count)).map(head).collect();
    }

    /// Tells the LEB properties how much of the head's LEB is free (`bud_wbuf_callback`).
    fn account_wbuf(&mut self, clock: &mut Clock, head: usize, padded: u32) -> Result<(), Error> {
        let wbuf = &self.heads[head].wbuf;
        let leb = wbuf.leb.expect("a write buffer that was written has a LEB");
        let free = self.layout.leb_size - wbuf.offs - wbuf.used;
        self.update_one_lp(clock, leb, Some(free), padded, (0, 0))
    }

    /// Checks what holds before every use of a buffer.
    fn assert_wbuf(&self, head: usize) {
        let (wbuf, layout) = (&self.heads[head].wbuf, &self.layout);
        let (min_io, max_write) = (layout.min_io, layout.max_write);
        assert!((min_io..=max_write).contains(&wbuf.size), "write buffer of {} bytes", wbuf.size);
        assert!(wbuf.size.is_multiple_of(min_io) && wbuf.offs.is_multiple_of(min_io));
        assert!(wbuf.avail.is_multiple_of(ALIGN) && wbuf.avail + wbuf.used == wbuf.size);
        assert!(wbuf.offs + wbuf.size <= layout.leb_size, "write buffer beyond the LEB");
        if layout.leb_size - wbuf.offs >= max_write {
            let end = wbuf.offs + wbuf.size;
            assert!(end.is_multiple_of(max_write), "write buffer ends at {end}");
        }
        assert!(!self.mode.read_only, "a write buffer is used on a read-only mount");
    }

    /// Writes what is in the buffer, padded to the smallest write (`ubifs_wbuf_sync_nolock`).
    pub(crate) fn wbuf_sync(&mut self, clock: &mut Clock, head: usize) -> Result<(), Error> {
        let wbuf = &mut self.heads[head].wbuf;
        wbuf.due = None;
        let (Some(leb), used, offs) = (wbuf.leb, wbuf.used, wbuf.offs) else { return Ok(()) };
        if used == 0 {
            return Ok(());
        }
        self.assert_wbuf(head);
        if self.mode.failed {
            return Err(Errno::RoFs.into());
        }
        let length = used.next_multiple_of(self.layout.min_io);
        let mut buffer = std::mem::take(&mut self.heads[head].wbuf.buffer);
        self.pad(clock, &mut buffer[usize_of(used)..usize_of(length)]);
        let written = self.leb_write(clock, leb, offs, &buffer[..usize_of(length)]);
        let wbuf = &mut self.heads[head].wbuf;
        wbuf.buffer = buffer;
        written?;
        wbuf.restart(offs + length, self.layout.leb_size, self.layout.max_write);
        wbuf.inodes.clear();
        self.account_wbuf(clock, head, length - used)
    }

    /// Moves an empty buffer to another place (`ubifs_wbuf_seek_nolock`).
    pub(crate) fn wbuf_seek(
        &mut self,
        _clock: &mut Clock,
        head: usize,
        leb: LebIndex,
        offs: u32,
    ) -> Result<(), Error> {
        let (leb_size, min_io) = (self.layout.leb_size, self.layout.min_io);
        let wbuf = &mut self.heads[head].wbuf;
        assert!(offs <= leb_size && offs.is_multiple_of(min_io), "wbuf_seek to {offs}");
        assert!(wbuf.leb != Some(leb), "wbuf_seek to LEB {leb}, where it is");
        assert_eq!(wbuf.used, 0, "wbuf_seek of a buffer that is not empty");
        wbuf.leb = Some(leb);
        wbuf.restart(offs, leb_size, self.layout.max_write);
        Ok(())
    }

    /// Writes nodes to the head: to the buffer, and what fills whole units to the flash. A node that
    /// is not a multiple of 8 bytes long is padded (`ubifs_wbuf_write_nolock`).
    ///
    /// # Errors
    /// ENOSPC when the LEB has no room, EROFS after an error, and any of the volume.
    pub(crate) fn wbuf_write(
        &mut self,
        clock: &mut Clock,
        head: usize,
        data: &[u8],
    ) -> Result<(), Error> {
        let aligned = crate::format::u32_of(data.len()).next_multiple_of(ALIGN);
        self.assert_wbuf(head);
        let wbuf = &mut self.heads[head].wbuf;
        assert!(!data.is_empty() && wbuf.leb.is_some(), "wbuf_write: nothing, or nowhere");
        if self.layout.leb_size - wbuf.offs - wbuf.used < aligned {
            return Err(Errno::NoSpc.into());
        }
        wbuf.due = None;
        if self.mode.failed {
            return Err(Errno::RoFs.into());
        }
        self.buffer_node(clock, head, data, aligned)?;
        self.account_wbuf(clock, head, 0)?;
        let wbuf = &mut self.heads[head].wbuf;
        if wbuf.used > 0 && head != GC_HEAD {
            wbuf.due = Some(clock.now() + TIMER);
        }
        Ok(())
    }

    /// Puts nodes into the buffer, and writes what fills units.
    fn buffer_node(
        &mut self,
        clock: &mut Clock,
        head: usize,
        data: &[u8],
        aligned: u32,
    ) -> Result<(), Error> {
        let wbuf = &mut self.heads[head].wbuf;
        if aligned > wbuf.avail {
            return self.write_large(clock, head, data, aligned);
        }
        wbuf.append(data, aligned);
        let full = wbuf.avail == 0;
        self.host.spend(clock, Work::Copy, data.len());
        if full { self.flush_wbuf(clock, head) } else { Ok(()) }
    }

    /// Writes a full buffer. The next one is as large as possible.
    fn flush_wbuf(&mut self, clock: &mut Clock, head: usize) -> Result<(), Error> {
        let wbuf = &mut self.heads[head].wbuf;
        let (buffer, size) = (std::mem::take(&mut wbuf.buffer), wbuf.size);
        let written = self.write_at_wbuf(clock, head, &buffer[..usize_of(size)]);
        let wbuf = &mut self.heads[head].wbuf;
        wbuf.buffer = buffer;
        written?;
        wbuf.restart(wbuf.offs, self.layout.leb_size, self.layout.max_write);
        wbuf.inodes.clear();
        Ok(())
    }

    /// Writes whole units at the buffer's offset, which moves on.
    fn write_at_wbuf(&mut self, clock: &mut Clock, head: usize, data: &[u8]) -> Result<(), Error> {
        let wbuf = &self.heads[head].wbuf;
        let leb = wbuf.leb.expect("a write buffer that is written has a LEB");
        self.leb_write(clock, leb, wbuf.offs, data)?;
        self.heads[head].wbuf.offs += crate::format::u32_of(data.len());
        Ok(())
    }

    /// Writes nodes that do not fit the buffer: fills it, writes whole units past it, and keeps the
    /// rest.
    fn write_large(
        &mut self,
        clock: &mut Clock,
        head: usize,
        data: &[u8],
        aligned: u32,
    ) -> Result<(), Error> {
        let max_write = self.layout.max_write;
        let wbuf = &mut self.heads[head].wbuf;
        let (avail, used, offs) = (wbuf.avail, wbuf.used, wbuf.offs);
        let mut rest = (data, aligned);
        if used > 0 {
            wbuf.append(&data[..usize_of(avail)], avail);
            self.host.spend(clock, Work::Copy, usize_of(avail));
            self.flush_wbuf(clock, head)?;
            rest = (&data[usize_of(avail)..], aligned - avail);
        } else if !offs.is_multiple_of(max_write) {
            self.write_at_wbuf(clock, head, &data[..usize_of(avail)])?;
            rest = (&data[usize_of(avail)..], aligned - avail);
        }
        let units = rest.1 / max_write;
        if units > 0 {
            rest = self.write_units(clock, head, rest, units)?;
        }
        let wbuf = &mut self.heads[head].wbuf;
        wbuf.restart(wbuf.offs, self.layout.leb_size, max_write);
        wbuf.inodes.clear();
        if rest.1 > 0 {
            wbuf.append(rest.0, rest.1);
            self.host.spend(clock, Work::Copy, rest.0.len());
        }
        Ok(())
    }

    /// Writes whole units: all but the last one directly, the last one, which may end with padding,
    /// through the buffer.
    fn write_units<'a>(
        &mut self,
        clock: &mut Clock,
        head: usize,
        (data, aligned): (&'a [u8], u32),
        units: u32,
    ) -> Result<(&'a [u8], u32), Error> {
        let max_write = self.layout.max_write;
        let (direct, last) = data.split_at(usize_of((units - 1) * max_write));
        if !direct.is_empty() {
            self.write_at_wbuf(clock, head, direct)?;
        }
        let (last, rest) = last.split_at(last.len().min(usize_of(max_write)));
        let mut buffer = std::mem::take(&mut self.heads[head].wbuf.buffer);
        buffer[..last.len()].copy_from_slice(last);
        pad(&mut buffer[last.len()..]);
        self.host.spend(clock, Work::Copy, last.len());
        let written = self.write_at_wbuf(clock, head, &buffer);
        self.heads[head].wbuf.buffer = buffer;
        written?;
        Ok((rest, aligned - units * max_write))
    }

    /// Notes that nodes of this inode are in the buffer, if it is not empty
    /// (`ubifs_wbuf_add_ino_nolock`).
    pub(crate) fn wbuf_add_inode(&mut self, head: usize, ino: u32) {
        let wbuf = &mut self.heads[head].wbuf;
        if wbuf.used > 0 {
            wbuf.inodes.push(ino);
        }
    }

    /// Writes the buffers with nodes of this inode (`ubifs_sync_wbufs_by_inode`). What is in the buffer
    /// of garbage collection is a copy of nodes on flash.
    pub(crate) fn sync_wbufs_by_inode(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        for head in BASE_HEAD..self.heads.len() {
            if self.heads[head].wbuf.inodes.contains(&ino) {
                let synced = self.wbuf_sync(clock, head);
                synced.inspect_err(|error| self.switch_to_read_only(error))?;
            }
        }
        Ok(())
    }

    /// Writes the buffers whose timer has expired; whether there was one (`ubifs_bg_wbufs_sync`).
    pub(crate) fn bg_wbufs_sync(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        let mut any = false;
        for head in 0..self.heads.len() {
            if self.heads[head].wbuf.due.is_none_or(|due| due > clock.now()) {
                continue;
            }
            any = true;
            if let Err(error) = self.wbuf_sync(clock, head) {
                self.switch_to_read_only(&error);
                self.heads.iter_mut().for_each(|head| head.wbuf.due = None);
                return Err(error);
            }
        }
        Ok(any)
    }

    /// The head whose bud this LEB is (`ubifs_get_wbuf`).
    pub(crate) fn head_of(&self, leb: LebIndex) -> Option<usize> {
        if self.heads.is_empty() {
            return None;
        }
        self.log.buds.get(&leb).map(|bud| bud.jhead)
    }
}

#[cfg(test)]
mod tests;
