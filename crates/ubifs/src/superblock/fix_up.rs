//! The fix-up of free space: an image that was written to the flash page by page may have written the
//! erased pages at the ends of LEBs, too. The first mount rewrites such LEBs.
//!
//! Layer: rank 5. Source: Linux 6.1, `fs/ubifs/sb.c` (`ubifs_fixup_free_space`, `fixup_leb`).

use crate::format::superblock::Superblock;
use crate::format::usize_of;
use crate::layout::{LOG_LEB, MASTER_LEB};
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;

impl<L: Lebs> Volume<L> {
    /// Rewrites every LEB that has free space, and clears the flag that asks for it
    /// (`ubifs_fixup_free_space`).
    pub(crate) fn fix_up_free_space(&mut self, clock: &mut Clock) -> Result<(), Error> {
        assert!(!self.mode.read_only, "a fix-up on a read-only mount");
        for leb in MASTER_LEB.0..LOG_LEB.0 {
            let used = self.master_offs + self.layout.mst_node_alsz;
            self.fix_up_leb(clock, LebIndex(leb), used)?;
        }
        self.fix_up_log(clock)?;
        for leb in self.layout.lpt_first.0..=self.layout.lpt_last.0 {
            let free = self.lpt_leb_free(LebIndex(leb));
            self.fix_up_free(clock, LebIndex(leb), free)?;
        }
        for leb in self.layout.orph_first.0..=self.layout.orph_last.0 {
            self.fix_up_leb(clock, LebIndex(leb), 0)?;
        }
        for leb in self.layout.main_first.0..self.layout.leb_count {
            let free = self.lpt_lookup(clock, LebIndex(leb))?.free;
            self.fix_up_free(clock, LebIndex(leb), free)?;
        }
        self.sb.flags &= !Superblock::SPACE_FIXUP;
        self.mode.superblock_changed = true;
        Ok(())
    }

    /// The log has one commit start, at its head.
    fn fix_up_log(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let head = self.log.head;
        let mut leb = self.next_log_leb(head);
        // Before the replay, the tail is the first LEB of the log.
        while leb != self.log.tail {
            self.fix_up_leb(clock, leb, 0)?;
            leb = self.next_log_leb(leb);
        }
        let start = 32_u32.next_multiple_of(self.layout.min_io);
        self.fix_up_leb(clock, head, start)
    }

    fn fix_up_free(&mut self, clock: &mut Clock, leb: LebIndex, free: u32) -> Result<(), Error> {
        if free == 0 {
            return Ok(());
        }
        self.fix_up_leb(clock, leb, self.layout.leb_size - free)
    }

    /// Rewrites the first `used` bytes of a LEB, or unmaps it if there are none.
    fn fix_up_leb(&mut self, clock: &mut Clock, leb: LebIndex, used: u32) -> Result<(), Error> {
        if used == 0 {
            return self.leb_unmap(clock, leb);
        }
        let mut bytes = vec![0; usize_of(used)];
        self.leb_read(clock, leb, 0, &mut bytes)?;
        self.leb_change(clock, leb, &bytes)
    }
}

#[cfg(test)]
mod tests {
    use crate::LebIndex;
    use crate::test_volume::from_mkfs;

    #[test]
    fn the_used_part_of_a_leb_stays_and_an_unused_leb_is_unmapped() {
        let (mut clock, mut volume) = from_mkfs();
        let leb = LebIndex(12);
        let before = volume.lebs.content(leb).unwrap()[..2_560].to_vec();
        volume.fix_up_free(&mut clock, leb, 15_360 - 2_560).unwrap();
        assert_eq!(volume.lebs.content(leb), Some(before.as_slice()));
        volume.fix_up_free(&mut clock, leb, 0).unwrap();
        assert_eq!(volume.lebs.content(leb), Some(before.as_slice()), "it has no free space");
        volume.fix_up_free(&mut clock, leb, 15_360).unwrap();
        assert_eq!(volume.lebs.content(leb), None);
    }

    #[test]
    fn the_log_of_an_image_has_its_commit_start_alone() {
        let (mut clock, mut volume) = from_mkfs();
        volume.fix_up_log(&mut clock).unwrap();
        assert_eq!(volume.lebs.content(LebIndex(3)).unwrap().len(), 512);
        for leb in 4..=volume.layout.log_last.0 {
            assert_eq!(volume.lebs.content(LebIndex(leb)), None, "LEB {leb}");
        }
    }
}
