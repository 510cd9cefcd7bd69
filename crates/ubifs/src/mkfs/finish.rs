//! The index over all leaf nodes, and the areas before the main area.
//!
//! Layer: rank 5. Main function: [`Builder::finish`].

use super::{Builder, Format, Image, Leaf, MkfsError, Place};
use crate::LebIndex;
use crate::format::index::{Branch, IndexNode};
use crate::format::journal::CommitStart;
use crate::format::key::Key;
use crate::format::master::Master;
use crate::format::superblock::Superblock;
use crate::format::{u32_of, usize_of};
use crate::layout::{LEBS_MIN, LOG_LEB, LSAVE_DEFAULT, MAIN_LEBS_MIN, MASTER_LEB, SB_LEB};
use crate::lprops::{Lprops, flag};
use crate::superblock::create::{DATA_HEADS, FANOUT, TIME_GRAN};

/// The version of the format, as `mkfs.ubifs` writes it.
const VERSION: u32 = 4;

/// The index, after it was written.
struct Index {
    root: Place,
    /// Bytes of all indexing nodes.
    size: u64,
    /// The place behind the last of them, in whole writes.
    head: (LebIndex, u32),
}

impl Builder {
    /// Writes the index and everything before the main area, after all nodes.
    ///
    /// # Errors
    /// [`MkfsError::NoSpace`]; any of the volume in memory.
    ///
    /// # Panics
    /// When the root directory was not added.
    pub fn finish(mut self) -> Result<Image, MkfsError> {
        self.main.close_all(&mut self.clock, &mut self.volume)?;
        let index = self.write_index()?;
        let gc = self.main.skip();
        let first = self.volume.layout.main_first.0;
        let main_lebs = u32_of(self.main.props.len()).max(MAIN_LEBS_MIN);
        let (needed, max) = ((first + main_lebs).max(LEBS_MIN), self.format.max_lebs);
        if needed > max {
            return Err(MkfsError::NoSpace { needed: self.needed(main_lebs)?, max });
        }
        self.volume.layout.leb_count = needed;
        self.volume.layout.main_lebs = needed - first;
        self.volume.sb = self.superblock();
        self.volume.calc_lpt_geom()?;
        self.volume.write_new_lpt(&mut self.clock, &self.main.props)?;
        self.count_space();
        let master = self.master(&index, gc);
        self.write_fixed_areas(&master)?;
        let buds = self.areas.buds;
        Ok(Image { bytes: self.bytes(), leb_count: needed, volume_lebs: needed.max(first + buds) })
    }

    /// The least LEBs for a main area of this size: the areas before it grow with the volume.
    fn needed(&self, main_lebs: u32) -> Result<u32, MkfsError> {
        let mut max_lebs = self.format.max_lebs;
        loop {
            let larger = Self::new(Format { max_lebs, ..self.format })?;
            let needed = larger.volume.layout.main_first.0.saturating_add(main_lebs);
            if needed <= max_lebs {
                return Ok(max_lebs);
            }
            max_lebs = needed;
        }
    }

    /// Writes the index bottom up.
    fn write_index(&mut self) -> Result<Index, MkfsError> {
        self.main.index = true;
        self.leaves.sort_by(|one, next| (one.key, &one.name).cmp(&(next.key, &next.name)));
        let branch = |key: Key, at: Place| Branch { lnum: at.leb, offs: at.offs, len: at.len, key };
        let leaves = std::mem::take(&mut self.leaves);
        assert!(!leaves.is_empty(), "a filesystem without a root directory");
        let mut below: Vec<Branch> =
            leaves.into_iter().map(|Leaf { key, at, .. }| branch(key, at)).collect();
        let (mut level, mut size) = (0, 0);
        let (root, head) = loop {
            let mut above = Vec::new();
            let mut last = None;
            for branches in below.chunks(usize_of(FANOUT)) {
                let mut node = IndexNode { level, branches: branches.to_vec() }.emit();
                self.volume.prepare_node(&mut self.clock, &mut node, false);
                let at = self.main.append(&mut self.clock, &mut self.volume, &node)?;
                size += u64::from(at.len.next_multiple_of(8));
                above.push(branch(branches[0].key, at));
                last = Some(at);
            }
            if let (Some(root), 1) = (last, above.len()) {
                let end = (root.offs + root.len).next_multiple_of(8);
                break (root, (root.leb, end.next_multiple_of(self.volume.layout.min_io)));
            }
            (level, below) = (level + 1, above);
        };
        self.main.close_all(&mut self.clock, &mut self.volume)?;
        Ok(Index { root, size, head })
    }

    /// Adds the LEBs of the main area to the totals.
    fn count_space(&mut self) {
        let layout = &self.volume.layout;
        let (first, leb_size) = (layout.main_first.0, layout.leb_size);
        let empty = crate::lpt::Props::empty(leb_size);
        for number in 0..layout.main_lebs {
            let props = self.main.props.get(usize_of(number)).copied().unwrap_or(empty);
            self.volume.count_space(
                Lprops {
                    leb: LebIndex(first + number),
                    free: props.free,
                    dirty: props.dirty,
                    flags: if props.index { flag::INDEX } else { 0 },
                },
                1,
            );
        }
    }

    fn superblock(&self) -> Superblock {
        let layout = &self.volume.layout;
        Superblock {
            flags: if self.lpt.big { Superblock::BIGLPT } else { 0 }
                | if self.format.fix_up { Superblock::SPACE_FIXUP } else { 0 },
            min_io: layout.min_io,
            leb_size: layout.leb_size,
            leb_count: layout.leb_count,
            max_leb_count: layout.max_leb_count,
            max_bud_bytes: u64::from(self.areas.buds) * u64::from(layout.leb_size),
            log_lebs: self.areas.log,
            lpt_lebs: self.lpt.lpt_lebs,
            orph_lebs: self.areas.orphans,
            jhead_count: DATA_HEADS,
            fanout: FANOUT,
            lsave_count: LSAVE_DEFAULT,
            fmt_version: VERSION,
            default_compr: self.default_compressor(),
            time_gran: TIME_GRAN,
            uuid: self.volume.new_uuid(),
            ..Superblock::default()
        }
    }

    fn master(&self, index: &Index, gc: LebIndex) -> Master {
        let (layout, totals) = (&self.volume.layout, &self.volume.lst);
        let count = |value: i64| u64::try_from(value).expect("a sum of what each LEB has");
        let lebs = |value: i64| u32::try_from(value).expect("LEBs of the main area");
        let mut master = Master {
            highest_inum: u64::from(self.highest_ino),
            flags: Master::NO_ORPHS,
            log_lnum: LOG_LEB,
            root_lnum: index.root.leb,
            root_offs: index.root.offs,
            root_len: index.root.len,
            gc_lnum: Some(gc),
            ihead_lnum: index.head.0,
            ihead_offs: index.head.1,
            index_size: index.size,
            total_free: count(totals.total_free),
            total_dirty: count(totals.total_dirty),
            total_used: count(totals.total_used),
            total_dead: count(totals.total_dead),
            total_dark: count(totals.total_dark),
            empty_lebs: lebs(totals.empty_lebs),
            idx_lebs: lebs(totals.idx_lebs),
            leb_count: layout.leb_count,
            ..Master::default()
        };
        self.volume.lpt.store_in_master(&mut master);
        master.lscan_lnum = layout.main_first;
        master
    }

    fn write_fixed_areas(&mut self, master: &Master) -> Result<(), MkfsError> {
        let (volume, clock) = (&mut self.volume, &mut self.clock);
        volume.write_node(clock, volume.sb.emit(), SB_LEB, 0)?;
        volume.write_node(clock, CommitStart { cmt_no: 0 }.emit(), LOG_LEB, 0)?;
        volume.write_node(clock, master.emit(), MASTER_LEB, 0)?;
        volume.write_node(clock, master.emit(), LebIndex(MASTER_LEB.0 + 1), 0)?;
        Ok(())
    }

    /// All LEBs one after another.
    fn bytes(&self) -> Vec<u8> {
        let (count, size) = (self.volume.layout.leb_count, usize_of(self.volume.layout.leb_size));
        let mut bytes = vec![0xFF; size * usize_of(count)];
        for (leb, room) in (0..count).zip(bytes.chunks_exact_mut(size)) {
            let content = self.volume.lebs.content(LebIndex(leb)).unwrap_or_default();
            room[..content.len()].copy_from_slice(content);
        }
        bytes
    }
}
