//! Compares mappings that came from a fastmap with the headers of their blocks.
//!
//! Layer: rank 4. A LEB that was unmapped after the fastmap was written is still mapped in it, and its
//! block may have been erased since. So the header is read when the LEB is used first.
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/eba.c`, `check_mapping`.

use super::Leb;
use crate::device::Ubi;
use crate::io::Found;
use crate::lebs::{Error, PebIndex};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

impl<M: Mtd> Ubi<M> {
    /// The block of a LEB, after the comparison with its header.
    pub(crate) fn compared_peb(
        &mut self,
        clock: &mut Clock,
        at: Leb,
    ) -> Result<Option<PebIndex>, Error> {
        let Some(peb) = self.peb_of(at) else { return Ok(None) };
        if !self.volume_state_mut(at.volume).compare(at.leb) {
            return Ok(Some(peb));
        }
        let torture = match self.io.read_vid(clock, peb)? {
            Found::Header { header, .. } => {
                if (header.volume, header.leb) == (at.volume, at.leb.0) {
                    return Ok(Some(peb));
                }
                self.io.read_only = true;
                return Err(Error::NoHeader { peb });
            }
            Found::Erased { bitflips } => bitflips,
            Found::Bad { ecc } => ecc,
        };
        self.set_peb(at, None);
        // A block that cannot be put back makes the device read-only; the LEB is unmapped all the same.
        let _ = self.put_peb(peb, (at.volume, at.leb.0), torture);
        Ok(None)
    }
}
