//! How JFFS2 reads and programs the flash.
//!
//! Layer: rank 5. [`Volume::program_flash`] and [`Volume::read_flash`]: reads see the write buffer
//! on top of the flash. Bytes that the ECC could not correct are returned as they are, because the
//! checksums of the nodes tell good data from bad. Source: Linux 6.1, `jffs2_flash_read` of
//! `fs/jffs2/wbuf.c`.

use crate::error::Error;
use crate::volume::Volume;
use boardlab_mtd::{Error as FlashError, Mtd};
use boardlab_sim::{Bytes, Clock};

impl<M: Mtd> Volume<M> {
    /// Reads `buffer.len()` bytes from `offset` on.
    ///
    /// # Errors
    /// [`Error::Flash`], except for bit errors.
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

    /// Reads page by page, so that one uncorrectable page does not affect others. Where the device
    /// returns nothing for such a page, zeros remain, which are not a node.
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
