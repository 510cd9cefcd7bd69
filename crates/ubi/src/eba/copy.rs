//! Moves a LEB to another block.
//!
//! Layer: rank 4. The copy gets a new sequence number and the checksum of its data, so that after a
//! power cut an incomplete copy is recognised.
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/eba.c`, `ubi_eba_copy_leb`; `misc.c`, `ubi_calc_data_len`.

use super::Leb;
use crate::device::Ubi;
use crate::format::vid::{Extent, Payload, VidHeader};
use crate::format::{crc, length_of, to_usize};
use crate::io::Found;
use crate::lebs::{Error, LebIndex, PebIndex};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// How a move ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
    /// The LEB is in the new block.
    Done,
    /// The volume is gone, or the LEB is elsewhere (`MOVE_CANCEL_RACE`).
    Cancelled,
    /// The data cannot be read (`MOVE_SOURCE_RD_ERR`).
    SourceUnreadable,
    /// The new block cannot be written or read (`MOVE_TARGET_WR_ERR`, `_RD_ERR`, `_BITFLIPS`).
    TargetFailed,
}

/// The length of `data` without the 0xFF at its end, in whole units.
pub(crate) fn used_length(data: &[u8], unit: u32) -> usize {
    let used = data.iter().rposition(|&byte| byte != 0xFF).map_or(0, |last| last + 1);
    used.next_multiple_of(to_usize(unit))
}

impl<M: Mtd> Ubi<M> {
    /// Copies a LEB whose VID header is `header` from a block to an erased one.
    pub(crate) fn copy_leb(
        &mut self,
        clock: &mut Clock,
        source: PebIndex,
        target: PebIndex,
        header: VidHeader,
    ) -> Result<Move, Error> {
        let at = Leb { volume: header.volume, leb: LebIndex(header.leb) };
        let mapped = self.find_volume(at.volume).and_then(|volume| volume.peb(at.leb));
        if mapped != Some(source) {
            return Ok(Move::Cancelled);
        }
        let unit = self.io.layout.min_io;
        let length = match header.payload {
            Payload::Static { data, .. } => data.size.next_multiple_of(unit),
            _ => self.io.layout.leb_size - header.data_pad,
        };
        let mut data = vec![0; to_usize(length)];
        match self.io.read_data(clock, source, 0, &mut data) {
            Ok(_) => {}
            Err(error) if error.is_power_cut() => return Err(error),
            Err(_) => return Ok(Move::SourceUnreadable),
        }
        let payload = match header.payload {
            Payload::Static { data: extent, used_lebs, .. } => {
                let sum = crc(&data[..to_usize(extent.size)]);
                let extent = Extent { crc: sum, ..extent };
                Payload::Static { data: extent, used_lebs, copy: true }
            }
            written => {
                data.truncate(used_length(&data, unit));
                let extent = Extent { size: length_of(&data), crc: crc(&data) };
                if data.is_empty() { written } else { Payload::Copied(extent) }
            }
        };
        let sqnum = self.next_sqnum();
        let moved =
            self.write_copy(clock, target, &VidHeader { payload, sqnum, ..header }, &data)?;
        if moved == Move::Done {
            self.set_peb(at, Some(target));
        }
        Ok(moved)
    }

    /// Writes the header, reads it back, writes the data.
    fn write_copy(
        &mut self,
        clock: &mut Clock,
        target: PebIndex,
        header: &VidHeader,
        data: &[u8],
    ) -> Result<Move, Error> {
        match self.io.write_vid(clock, target, header) {
            Ok(()) => {}
            Err(error) if error.is_io() => return Ok(Move::TargetFailed),
            Err(error) => return Err(error),
        }
        match self.io.read_vid(clock, target) {
            Ok(Found::Header { bitflips: false, .. }) => {}
            Ok(_) | Err(Error::Header { .. }) => return Ok(Move::TargetFailed),
            Err(error) => return Err(error),
        }
        if data.is_empty() {
            return Ok(Move::Done);
        }
        match self.io.write_data(clock, target, 0, data) {
            Ok(()) => Ok(Move::Done),
            Err(error) if error.is_io() => Ok(Move::TargetFailed),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::used_length;

    #[test]
    fn erased_bytes_at_the_end_are_not_copied() {
        assert_eq!(used_length(&[0xFF; 64], 16), 0);
        let mut data = [0xFF; 64];
        data[16] = 0;
        assert_eq!(used_length(&data, 16), 32);
        assert_eq!(used_length(&data, 1), 17);
    }
}
