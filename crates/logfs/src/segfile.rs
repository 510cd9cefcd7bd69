//! The segment file: how often each segment was erased, its level, and how much in it is valid.
//!
//! Layer: rank 5. Its blocks are in memory once they were read, and its changed words are in the journal: it
//! is seldom written. Source: Linux 3.12, `logfs_mod_segment_entry` in `fs/logfs/readwrite.c`.

use crate::Logfs;
use crate::block::Home;
use crate::error::{Damage, Error, What};
use crate::format::{BlockId, POINTERS, SEGMENT_FILE, SegmentEntry};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// The block of a segment's entry, and its word in it.
fn place_of(segment: u32) -> (BlockId, u16) {
    let entries = u32::try_from(POINTERS).expect("512");
    let word = u16::try_from(segment % entries).expect("below 512");
    (BlockId::data(SEGMENT_FILE, u64::from(segment / entries)), word)
}

impl<M: Mtd> Logfs<M> {
    fn load_entry(&mut self, clock: &mut Clock, segment: u32) -> Result<(BlockId, u16), Error> {
        let (block, word) = place_of(segment);
        if !self.nodes.contains(block) {
            let hole = Error::damaged(0, What::SegmentEntry(segment), Damage::Hole);
            let at = self.find(clock, block)?.ok_or(hole)?;
            self.load(clock, block, at)?;
        }
        Ok((block, word))
    }

    /// The entry of a segment.
    pub(crate) fn segment_entry(
        &mut self,
        clock: &mut Clock,
        segment: u32,
    ) -> Result<SegmentEntry, Error> {
        let (block, word) = self.load_entry(clock, segment)?;
        let value = self.nodes.word(block, usize::from(word)).unwrap_or_default();
        Ok(SegmentEntry::of_word(value))
    }

    /// Sets the entry of a segment.
    pub(crate) fn set_segment_entry(
        &mut self,
        clock: &mut Clock,
        segment: u32,
        entry: SegmentEntry,
    ) -> Result<(), Error> {
        let (block, word) = self.load_entry(clock, segment)?;
        self.nodes.set_word(block, usize::from(word), entry.word());
        self.aliases.note(block, &Home::Node, word);
        Ok(())
    }

    /// Changes how much of the segment with an offset is valid (`logfs_set_segment_used`). The sum of several
    /// changes counts: in between, it may be less than nothing.
    pub(crate) fn change_valid(
        &mut self,
        clock: &mut Clock,
        at: u64,
        change: i64,
    ) -> Result<(), Error> {
        if change == 0 {
            return Ok(());
        }
        let segment = u32::try_from(self.layout.segment_of(at)).unwrap_or(u32::MAX);
        if segment >= self.layout.segments {
            return Err(Error::damaged(at, What::SegmentEntry(segment), Damage::Outside));
        }
        let entry = self.segment_entry(clock, segment)?;
        if !entry.is_store() {
            self.counts.corrected_entries += 1;
            return Ok(());
        }
        let bytes = u32::try_from(change.unsigned_abs()).unwrap_or_default();
        let bytes = if change < 0 { bytes.wrapping_neg() } else { bytes };
        let valid = entry.valid.wrapping_add(bytes);
        self.set_segment_entry(clock, segment, SegmentEntry { valid, ..entry })
    }

    /// Corrects the entry of a segment with an offset that counts more than a segment has, or less than nothing.
    /// The kernel stops then.
    pub(crate) fn correct_valid(&mut self, clock: &mut Clock, at: u64) -> Result<(), Error> {
        let segment = u32::try_from(self.layout.segment_of(at)).unwrap_or(u32::MAX);
        let entry = self.segment_entry(clock, segment)?;
        if !entry.is_store() || entry.valid <= self.layout.segment_size {
            return Ok(());
        }
        self.counts.corrected_entries += 1;
        let negative = entry.valid > u32::MAX / 2;
        let valid = if negative { 0 } else { self.layout.segment_size };
        self.set_segment_entry(clock, segment, SegmentEntry { valid, ..entry })
    }
}
