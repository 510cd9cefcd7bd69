//! Reads and programs of the flash as JFFS2 makes them.
//!
//! Layer: rank 5. [`Volume::program_flash`] and [`Volume::read_flash`]: what is in the write buffer lies over what is on the flash, and
//! bytes that the error correction could not mend are given as they are, because the checksums of the
//! nodes tell the good ones from the bad. Source: Linux 6.1, `jffs2_flash_read` of `fs/jffs2/wbuf.c`.

use crate::error::Error;
use crate::volume::Volume;
use boardlab_mtd::{Error as FlashError, Mtd};
use boardlab_sim::{Bytes, Clock};

impl<M: Mtd> Volume<M> {
    /// Reads `buffer.len()` bytes from `offset` on.
    ///
    /// # Errors
    /// [`Error::Flash`], but for bit errors.
    pub(crate) fn read_flash(
        &mut self,
        clock: &mut Clock,
        offset: Bytes,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        if buffer.is_empty() {
            return Ok(());
        }
        match self.device.read(clock, offset, buffer) {
            Ok(_) => {}
            Err(FlashError::Uncorrectable { .. }) => self.read_damaged(clock, offset, buffer)?,
            Err(error) => return Err(error.into()),
        }
        self.wbuf.overlay(offset, buffer);
        Ok(())
    }

    /// Programs `bytes` at `at`.
    pub(crate) fn program_flash(
        &mut self,
        clock: &mut Clock,
        at: Bytes,
        bytes: &[u8],
    ) -> Result<(), FlashError> {
        self.ticks.pass();
        self.device.program(clock, at, bytes)
    }

    /// Reads page by page, so that one page that cannot be corrected does not take others with it. A
    /// device that gives nothing of such a page leaves zeros, which are no node.
    fn read_damaged(
        &mut self,
        clock: &mut Clock,
        offset: Bytes,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let page = self.device.geometry().write_size.get().max(512);
        let mut at = offset.get();
        let mut rest = buffer;
        while !rest.is_empty() {
            let length = (page - at % page).min(Bytes::of(rest).get());
            let (piece, behind) = rest.split_at_mut(Bytes::new(length).to_usize());
            piece.fill(0);
            match self.device.read(clock, Bytes::new(at), piece) {
                Ok(_) | Err(FlashError::Uncorrectable { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            at += length;
            rest = behind;
        }
        Ok(())
    }
}
