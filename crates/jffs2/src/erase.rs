//! Erasing blocks: from "nothing in it counts" to "free, and a cleanmarker says so".
//!
//! Layer: rank 5. Methods of [`Jffs2`] and [`Volume`].
//!
//! ```text
//!  Erasable --(no free block, or chosen by garbage collection)--+
//!  ErasablePendingWbuf --(write buffer on flash)--+             |
//!                                                 v             v
//!                                             ErasePending -> Erasing -> EraseComplete -> Free
//!                                                 ^              |            |  all 0xFF? cleanmarker
//!                                                 +- NAND: again +----- fails +
//!                                                     second time: marked Bad; NOR: Bad until the next mount
//! ```
//! A successful erase is accepted only when the whole block reads 0xFF. Once the cleanmarker is
//! written the block is not verified again, since the cleanmarker is written last.
//!
//! Source: Linux 6.1, `fs/jffs2/erase.c`, `wbuf.c` (`jffs2_write_nand_cleanmarker`,
//! `jffs2_write_nand_badblock`).

use crate::Jffs2;
use crate::Mistake;
use crate::block::{List, NodeId, NodeState, Owner};
use crate::error::Error;
use crate::format::{OobCleanmarker, cleanmarker, to_usize};
use crate::volume::Volume;
use crate::wbuf::is_power_cut;
use boardlab_mtd::{BlockIndex, Error as FlashError, Mtd, PageIndex};
use boardlab_sim::{Bytes, Clock};

/// The read size when an erased block is verified (`PAGE_SIZE`).
const VERIFY_PIECE: u32 = 4_096;
/// A block of NAND is bad after this many failures (`MAX_ERASE_FAILURES`).
const FAILURES_MAX: u32 = 2;

impl<M: Mtd> Jffs2<M> {
    /// Erases or finishes up to `count` blocks, and returns how many were finished
    /// (`jffs2_erase_pending_blocks`).
    ///
    /// # Errors
    /// Only a power cut; a block that fails moves to another list.
    pub(crate) fn erase_some(&mut self, clock: &mut Clock, count: u32) -> Result<u32, Error> {
        let volume = &mut self.volume;
        let mut done = 0;
        while done < count {
            if let Some(block) = volume.blocks.first(List::EraseComplete) {
                volume.finish_erase(clock, block)?;
                done += 1;
            } else if let Some(block) = volume.blocks.first(List::ErasePending) {
                volume.erase(clock, block)?;
            } else {
                break;
            }
        }
        Ok(done)
    }

    /// Returns a power cut; a failure of the medium is not an error here.
    pub(crate) fn fail_unless_medium(&self, error: Error) -> Result<(), Error> {
        match error {
            Error::Flash(error) if !is_power_cut(&error) => Ok(()),
            error => Err(error),
        }
    }
}

impl<M: Mtd> Volume<M> {
    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        self.forget_nodes(block);
        self.blocks.begin_erase(block);
        match self.erase_device(clock, block) {
            Ok(()) => self.blocks.move_to(block, List::EraseComplete),
            Err(error) if is_power_cut(&error) => return Err(error.into()),
            Err(_) => self.fail_erase(clock, block)?,
        }
        Ok(())
    }

    /// Erases a block, which may be several erase blocks of the device.
    fn erase_device(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), FlashError> {
        let start = self.blocks.block_offset(block);
        let range = start..start + Bytes::new(u64::from(self.blocks.size()));
        let pieces: Vec<_> = self.device.geometry().by_block(range).collect();
        self.ticks.pass();
        pieces.into_iter().try_for_each(|(block, _)| self.device.erase(clock, block))
    }

    /// Verifies an erased block, writes its cleanmarker, and frees it.
    fn finish_erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        let checked = self.is_erased(clock, block);
        let done = checked.and_then(|erased| {
            let marked = erased && self.write_cleanmarker(clock, block).map(|()| true)?;
            Ok(marked)
        });
        match done {
            Ok(true) => {}
            Err(error) if is_power_cut(&error) => return Err(error.into()),
            Ok(false) | Err(_) => return self.fail_erase(clock, block),
        }
        self.blocks.finish_erase(block, List::Free);
        let marker = self.layout.cleanmarker();
        if marker > 0 {
            self.blocks.link(block, marker, NodeState::Normal, Owner::Nobody, None);
        }
        Ok(())
    }

    fn is_erased(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<bool, FlashError> {
        if self.mistake == Some(Mistake::TrustsErases) {
            return Ok(true);
        }
        let (size, start) = (self.blocks.size(), self.blocks.block_offset(block));
        let mut buffer = vec![0; to_usize(VERIFY_PIECE.min(size))];
        for at in (0..size).step_by(buffer.len()) {
            let piece = &mut buffer[..to_usize(VERIFY_PIECE.min(size - at))];
            self.device.read(clock, start + Bytes::new(u64::from(at)), piece)?;
            if !boardlab_mtd::is_erased(piece) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn write_cleanmarker(
        &mut self,
        clock: &mut Clock,
        block: BlockIndex,
    ) -> Result<(), FlashError> {
        let start = self.blocks.block_offset(block);
        let Some(page) = self.layout.page_size else {
            let unit = self.device.geometry().write_size.to_usize();
            let mut node = vec![0xFF; to_usize(cleanmarker::SIZE).next_multiple_of(unit)];
            cleanmarker::NODE.emit(&mut node, self.order);
            return self.program_flash(clock, start, &node);
        };
        let marker = OobCleanmarker.bytes(self.order);
        let length = marker.len().min(to_usize(self.layout.oob_free));
        let page = PageIndex(
            u32::try_from(start / Bytes::new(u64::from(page))).map_err(|_| FlashError::NoOob)?,
        );
        self.device.program_oob(clock, page, &[], &marker[..length])
    }

    /// Handles a failed erase or cleanmarker: on NAND the block is tried once more and then marked
    /// bad (`jffs2_erase_failed`).
    fn fail_erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        if self.layout.page_size.is_some() {
            let failures = self.erase_failures.entry(block.0).or_default();
            *failures += 1;
            if *failures < FAILURES_MAX {
                self.blocks.retry_erase(block);
                return Ok(());
            }
            match self.mark_bad(clock, block) {
                Err(error) if is_power_cut(&error) => return Err(error.into()),
                // Without a bad-block mark the next mount finds the block again.
                Ok(()) | Err(_) => {}
            }
        }
        self.blocks.fail_erase(block);
        Ok(())
    }

    fn mark_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), FlashError> {
        let start = self.blocks.block_offset(block);
        let Some(first) = self.device.geometry().block_at(start) else { return Ok(()) };
        self.device.mark_bad(clock, first)
    }

    /// Removes the nodes of a block to be erased from the lists of their owners
    /// (`jffs2_free_jeb_node_refs`).
    fn forget_nodes(&mut self, block: BlockIndex) {
        self.inodes.unlink_block(&mut self.blocks, block);
        for index in 0.. {
            let Some(id) = self.blocks.id(block, index) else { break };
            if matches!(self.blocks.node(id).owner(), Owner::Xattr(_) | Owner::Xref(_)) {
                self.unlink_node(id);
                self.release_owner(id);
            }
        }
    }

    /// Removes one node from the list of its owner.
    pub(crate) fn unlink_node(&mut self, id: NodeId) {
        let owner = self.blocks.node(id).owner();
        let first = match owner {
            Owner::Nobody => None,
            Owner::Inode(slot) => self.inodes.try_get(slot).and_then(|inode| inode.nodes),
            Owner::Xattr(slot) => self.xattrs.datum(slot).and_then(|datum| datum.nodes),
            Owner::Xref(slot) => self.xattrs.reference(slot).and_then(|entry| entry.nodes),
        };
        let next = self.blocks.node(id).next();
        if first != Some(id) {
            let before =
                self.blocks.chain(first).find(|&at| self.blocks.node(at).next() == Some(id));
            if let Some(before) = before {
                self.blocks.set_next(before, next);
            }
            return;
        }
        match owner {
            Owner::Nobody => {}
            Owner::Inode(slot) => self.inodes.get_mut(slot).nodes = next,
            Owner::Xattr(slot) => {
                if let Some(datum) = self.xattrs.datum_mut(slot) {
                    datum.nodes = next;
                }
            }
            Owner::Xref(slot) => {
                if let Some(entry) = self.xattrs.reference_mut(slot) {
                    entry.nodes = next;
                }
            }
        }
    }

    /// Forgets the owner of a node when it has no node left and nothing leads to it.
    pub(crate) fn release_owner(&mut self, id: NodeId) {
        match self.blocks.node(id).owner() {
            Owner::Nobody => {}
            Owner::Inode(slot) => {
                let gone = self.inodes.try_get(slot).is_some_and(|inode| {
                    inode.nodes.is_none()
                        && inode.links == 0
                        && inode.state != crate::index::InodeState::Present
                });
                if gone {
                    self.inodes.remove(slot);
                }
            }
            Owner::Xattr(slot) => {
                let unused =
                    |datum: &crate::xattr::Datum| datum.nodes.is_none() && datum.references == 0;
                if self.xattrs.datum(slot).is_some_and(unused) {
                    self.xattrs.remove_datum(slot);
                }
            }
            Owner::Xref(slot) => {
                let unused =
                    |entry: &crate::xattr::Reference| entry.nodes.is_none() && entry.removed;
                if self.xattrs.reference(slot).is_some_and(unused) {
                    self.xattrs.remove_reference(slot);
                }
            }
        }
    }
}
