//! Saves the data of a block in which a write failed.
//!
//! Layer: rank 4. The data before the write and those that could not be written go to a new block; the
//! old one is tested.
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/eba.c`, `recover_peb` and `try_recover_peb`.

use super::Leb;
use crate::device::Ubi;
use crate::format::vid::{Extent, Payload, VidHeader};
use crate::format::{crc, length_of, to_usize};
use crate::io::{Found, RETRIES};
use crate::lebs::{Error, PebIndex};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

impl<M: Mtd> Ubi<M> {
    /// Moves a LEB away from a block in which the write of `data` at `offset` failed.
    pub(crate) fn recover_peb(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
        at: Leb,
        offset: u32,
        data: &[u8],
    ) -> Result<(), Error> {
        let mut tries = 0;
        loop {
            let new = self.get_peb(clock)?;
            let name = (at.volume, at.leb.0);
            let error = match self.copy_for_recovery(clock, (peb, new), offset, data) {
                Ok(()) => {
                    self.set_peb(at, Some(new));
                    let _ = self.put_peb(peb, name, true);
                    return Ok(());
                }
                Err(error) => error,
            };
            let _ = self.put_peb(new, name, true);
            tries += 1;
            match error {
                Failure::Source(error) => return Err(error),
                Failure::Target(error) if tries > RETRIES || error.is_power_cut() => {
                    return Err(error);
                }
                Failure::Target(_) => {}
            }
        }
    }

    fn copy_for_recovery(
        &mut self,
        clock: &mut Clock,
        (peb, new): (PebIndex, PebIndex),
        offset: u32,
        data: &[u8],
    ) -> Result<(), Failure> {
        let found = self.io.read_vid(clock, peb).map_err(Failure::Source)?;
        let Found::Header { header, .. } = found else {
            return Err(Failure::Source(Error::NoHeader { peb }));
        };
        let mut content = vec![0; to_usize(offset)];
        if offset > 0 {
            self.io.read_data(clock, peb, 0, &mut content).map_err(Failure::Source)?;
        }
        content.extend_from_slice(data);
        let extent = Extent { size: length_of(&content), crc: crc(&content) };
        let sqnum = self.next_sqnum();
        let header = VidHeader { payload: Payload::Copied(extent), sqnum, ..header };
        self.io.write_vid(clock, new, &header).map_err(Failure::Target)?;
        self.io.write_data(clock, new, 0, &content).map_err(Failure::Target)
    }
}

/// Where a recovery failed: another target may do, another source does not exist.
enum Failure {
    Source(Error),
    Target(Error),
}
