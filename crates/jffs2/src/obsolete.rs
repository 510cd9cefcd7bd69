//! Marks nodes obsolete: always in the accounting, and on the flash where the flash allows it.
//!
//! Layer: rank 5. Methods of [`Volume`]. On NOR a bit of the node's header is programmed, and the
//! node leaves its owner's list at once. On NAND nothing is written, nor where blocks have
//! summaries, whose entries stay as they were written. There the node stays in the list until its
//! block is erased, because a removed name must be known as long as an older entry for it exists.
//!
//! Source: Linux 6.1, `jffs2_mark_node_obsolete` of `fs/jffs2/nodemgmt.c`.

use crate::block::NodeId;
use crate::error::Error;
use crate::format::header::{self, Header};
use crate::format::{pad, to_usize};
use crate::fragments::Effect;
use crate::volume::Volume;
use crate::wbuf::is_power_cut;
use boardlab_mtd::{Error as FlashError, Mtd};
use boardlab_sim::Clock;

impl<M: Mtd> Volume<M> {
    /// Marks a node obsolete, unless it is.
    ///
    /// # Errors
    /// Only a power cut: a node that cannot be marked on the flash is obsolete all the same.
    pub(crate) fn mark_obsolete(&mut self, clock: &mut Clock, id: NodeId) -> Result<(), Error> {
        if self.account_obsolete(id) {
            self.mark_on_flash(clock, id)?;
        }
        Ok(())
    }

    /// Applies the effects of a change of fragments.
    ///
    /// # Errors
    /// As [`Volume::mark_obsolete`].
    pub(crate) fn apply_effects(
        &mut self,
        clock: &mut Clock,
        effects: &[Effect],
    ) -> Result<(), Error> {
        let obsolete = self.account_effects(effects);
        obsolete.into_iter().try_for_each(|id| self.mark_on_flash(clock, id))
    }

    fn mark_on_flash(&mut self, clock: &mut Clock, id: NodeId) -> Result<(), Error> {
        if !self.marks_obsolete() || self.read_only || self.building {
            return Ok(());
        }
        match self.clear_accurate(clock, id) {
            Err(error) if is_power_cut(&error) => return Err(error.into()),
            Ok(true) => {
                self.unlink_node(id);
                self.release_owner(id);
            }
            Ok(false) | Err(_) => {}
        }
        Ok(())
    }

    /// Clears the accurate bit in a node's header; false when there is no such node.
    fn clear_accurate(&mut self, clock: &mut Clock, id: NodeId) -> Result<bool, FlashError> {
        let (at, length) = (self.blocks.flash_offset(id), self.blocks.length(id));
        let unit = self.device.geometry().write_size.to_usize();
        let mut bytes = vec![0xFF; to_usize(header::SIZE).next_multiple_of(unit)];
        self.device.read(clock, at, &mut bytes[..to_usize(header::SIZE)])?;
        let Ok(found) = Header::parse(&bytes, self.order) else { return Ok(false) };
        if u64::from(found.length).next_multiple_of(4) != u64::from(pad(length)) || !found.accurate
        {
            return Ok(false);
        }
        Header { accurate: false, ..found }.emit(&mut bytes, self.order);
        self.program_flash(clock, at, &bytes)?;
        Ok(true)
    }
}
