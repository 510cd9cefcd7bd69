//! The lists of erase blocks, threaded through the blocks so that one is moved in constant time.
//!
//! Layer: rank 5. The list operations of [`Blocks`], and the comparison of all counts with the
//! references. Source: the lists of `struct jffs2_sb_info`, Linux 6.1, `fs/jffs2/jffs2_fs_sb.h`.

use super::{Blocks, END, List, Space, counter};
use crate::format::to_usize;
use crate::hold::hold;
use boardlab_mtd::BlockIndex;
use boardlab_vfs::Contradiction;

impl Blocks {
    /// The number of blocks on a list.
    #[must_use]
    pub const fn on_list(&self, list: List) -> u32 {
        self.heads[list as usize].count
    }

    /// The blocks of a list, in its order.
    pub fn list(&self, list: List) -> impl Iterator<Item = BlockIndex> + '_ {
        let link = |index: u32| (index != END).then_some(BlockIndex(index));
        let first = link(self.heads[list as usize].first);
        std::iter::successors(first, move |&block| link(self.block(block).next))
    }

    /// The first block of a list.
    #[must_use]
    pub fn first(&self, list: List) -> Option<BlockIndex> {
        self.list(list).next()
    }

    /// Moves a block from its list to the end of another.
    pub fn move_to(&mut self, block: BlockIndex, list: List) {
        self.unlink(block);
        let previous = self.heads[list as usize].last;
        let entry = self.block_mut(block);
        (entry.list, entry.previous, entry.next) = (list, END, END);
        if list == List::None {
            return;
        }
        entry.previous = previous;
        match previous {
            END => self.heads[list as usize].first = block.0,
            last => self.blocks[to_usize(last)].next = block.0,
        }
        let head = &mut self.heads[list as usize];
        head.last = block.0;
        head.count += 1;
    }

    /// Removes the first block of a list.
    pub fn take_first(&mut self, list: List) -> Option<BlockIndex> {
        let block = self.first(list)?;
        self.move_to(block, List::None);
        Some(block)
    }

    /// Moves the first `count` blocks of a list to its end.
    pub fn rotate(&mut self, list: List, count: u32) {
        for _ in 0..count {
            let Some(block) = self.first(list) else { return };
            self.move_to(block, list);
        }
    }

    fn unlink(&mut self, block: BlockIndex) {
        let (list, previous, next) = {
            let entry = self.block(block);
            (entry.list, entry.previous, entry.next)
        };
        if list == List::None {
            return;
        }
        match previous {
            END => self.heads[list as usize].first = next,
            before => self.blocks[to_usize(before)].next = next,
        }
        match next {
            END => self.heads[list as usize].last = previous,
            after => self.blocks[to_usize(after)].previous = previous,
        }
        self.heads[list as usize].count -= 1;
    }

    /// Compares every count with the references and every list with its blocks.
    ///
    /// # Panics
    /// When they differ, which is a bug of this crate and never of an image. For tests; it walks
    /// everything.
    pub fn check_accounting(&self) {
        self.compare_accounts().unwrap_or_else(|found| panic!("{found}"));
    }

    /// As [`Blocks::check_accounting`], without the panic.
    pub(crate) fn compare_accounts(&self) -> Result<(), Contradiction> {
        let mut totals = Space::default();
        let mut lost = 0;
        for index in (0..self.count()).map(BlockIndex) {
            let space = self.block(index).space;
            self.compare_block(index)?;
            for (total, part) in [
                (&mut totals.used, space.used),
                (&mut totals.unchecked, space.unchecked),
                (&mut totals.dirty, space.dirty),
                (&mut totals.wasted, space.wasted),
                (&mut totals.free, space.free),
            ] {
                *total += part;
            }
            lost += u64::from(space == Space::default()) * u64::from(self.size);
        }
        hold!(totals == self.totals, "all blocks have {totals:?}, the sums are {:?}", self.totals);
        let (found, size) = (totals.total() + lost, u64::from(self.size) * u64::from(self.count()));
        hold!(found == size, "{found} bytes are counted, bad or being erased, of {size}");
        self.compare_lists()
    }

    fn compare_block(&self, index: BlockIndex) -> Result<(), Contradiction> {
        let block = self.block(index);
        let mut found = Space { free: block.space.free, ..Space::default() };
        let mut end = 0;
        for number in 0..u32::try_from(block.refs.len()).expect("counted in u32") {
            let id = self.id(index, number).expect("the number is below the count");
            hold!(self.node(id).offset() == end, "a gap in block {index} at {end}");
            end += self.length(id);
            *counter(&mut found, self.node(id).state()) += u64::from(self.length(id));
        }
        found.wasted = block.space.wasted;
        found.dirty = found.dirty.saturating_sub(found.wasted);
        let (list, space) = (block.list, block.space);
        hold!(found == space, "block {index} on {list:?} has {found:?}, its sums are {space:?}");
        let counts = space.used + space.unchecked;
        let erasable = [List::Erasable, List::ErasablePendingWbuf, List::ErasePending];
        hold!(counts == 0 || !erasable.contains(&list), "block {index} on {list:?} has {space:?}");
        Ok(())
    }

    fn compare_lists(&self) -> Result<(), Contradiction> {
        for head in 0..self.heads.len() {
            let mut count = 0;
            let mut at = self.heads[head].first;
            while at != END {
                let list = self.blocks[to_usize(at)].list;
                hold!(list as usize == head, "block {at} on {list:?} is on list {head}");
                (count, at) = (count + 1, self.blocks[to_usize(at)].next);
            }
            let length = self.heads[head].count;
            hold!(count == length, "list {head} has {count} blocks and not {length}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BlockState, NodeState, Owner, RefilePolicy, is_dirty};
    use super::*;

    const FIRST: BlockIndex = BlockIndex(0);

    fn filled() -> Blocks {
        let mut blocks = Blocks::new(3, 1024);
        for _ in 0..4 {
            blocks.link(FIRST, 200, NodeState::Pristine, Owner::Inode(0), None);
        }
        blocks.move_to(FIRST, List::Clean);
        blocks
    }

    #[test]
    fn the_length_of_a_node_is_the_distance_to_the_next() {
        let mut blocks = Blocks::new(1, 1024);
        let first = blocks.link(FIRST, 12, NodeState::Normal, Owner::Nobody, None);
        let second = blocks.link(FIRST, 100, NodeState::Unchecked, Owner::Inode(7), None);
        blocks.link_dirty(FIRST, 4);
        blocks.link_dirty(FIRST, 8);
        assert_eq!((blocks.length(first), blocks.length(second)), (12, 100));
        assert_eq!(blocks.node(second).owner(), Owner::Inode(7));
        assert_eq!(blocks.block(FIRST).refs().len(), 3);
        assert_eq!(blocks.free_offset(FIRST), 124);
        blocks.check_accounting();
    }

    #[test]
    fn a_little_obsolete_is_wasted_and_more_makes_it_dirty() {
        let mut blocks = Blocks::new(1, 65_536);
        let nodes = [100, 100, 64_000]
            .map(|length| blocks.link(FIRST, length, NodeState::Pristine, Owner::Nobody, None));
        blocks.move_to(FIRST, List::Clean);
        blocks.mark_obsolete(nodes[0], RefilePolicy::To(List::ErasePending));
        assert_eq!((blocks.totals().wasted, blocks.block(FIRST).list()), (100, List::Clean));
        blocks.mark_obsolete(nodes[1], RefilePolicy::To(List::ErasePending));
        assert_eq!((blocks.totals().dirty, blocks.block(FIRST).list()), (200, List::Dirty));
        assert!(!blocks.mark_obsolete(nodes[1], RefilePolicy::To(List::ErasePending)));
        blocks.mark_obsolete(nodes[2], RefilePolicy::To(List::ErasePending));
        assert_eq!(blocks.block(FIRST).list(), List::ErasePending);
        blocks.check_accounting();
    }

    #[test]
    fn half_a_block_of_obsolete_nodes_is_very_dirty() {
        let mut blocks = filled();
        for index in 0..3 {
            let id = blocks.id(FIRST, index).unwrap();
            blocks.mark_obsolete(id, RefilePolicy::To(List::ErasePending));
        }
        assert_eq!(blocks.block(FIRST).list(), List::VeryDirty);
        assert_eq!((blocks.on_list(List::Clean), blocks.on_list(List::VeryDirty)), (0, 1));
        blocks.check_accounting();
    }

    #[test]
    fn a_node_that_counts_after_all_keeps_its_block_from_being_erased() {
        for erasable in [List::ErasePending, List::Erasable] {
            let mut blocks = filled();
            let nodes = [0, 1, 2, 3].map(|index| blocks.id(FIRST, index).unwrap());
            for id in nodes {
                blocks.mark_obsolete(id, RefilePolicy::To(erasable));
            }
            assert_eq!(blocks.block(FIRST).list(), erasable);
            blocks.unmark_obsolete(nodes[1], NodeState::Pristine);
            assert_eq!((blocks.totals().used, blocks.totals().dirty), (200, 824));
            assert_eq!(blocks.block(FIRST).list(), List::VeryDirty);
            blocks.check_accounting();
        }
    }

    #[test]
    fn checking_a_node_moves_its_bytes_from_unchecked_to_used() {
        let mut blocks = Blocks::new(1, 1024);
        let id = blocks.link(FIRST, 200, NodeState::Unchecked, Owner::Nobody, None);
        blocks.mark_used(id, NodeState::Pristine);
        assert_eq!((blocks.totals().used, blocks.totals().unchecked), (200, 0));
        blocks.mark_normal(id);
        assert_eq!(blocks.node(id).state(), NodeState::Normal);
        blocks.check_accounting();
    }

    #[test]
    fn an_erase_takes_a_block_out_of_the_sums_and_brings_it_back_free() {
        let mut blocks = filled();
        blocks.begin_erase(FIRST);
        assert_eq!((blocks.erasing(), blocks.totals().free), (1024, 2048));
        blocks.check_accounting();
        blocks.finish_erase(FIRST, List::Free);
        assert_eq!((blocks.erasing(), blocks.totals().free), (0, 3072));
        blocks.check_accounting();
    }

    #[test]
    fn scanned_blocks_are_told_apart() {
        let mut blocks = Blocks::new(4, 1024);
        let at = BlockIndex;
        blocks.link(at(0), 12, NodeState::Normal, Owner::Nobody, None);
        blocks.link(at(1), 900, NodeState::Unchecked, Owner::Nobody, None);
        blocks.link_dirty(at(1), 100);
        blocks.link(at(2), 400, NodeState::Unchecked, Owner::Nobody, None);
        blocks.link_dirty(at(3), 400);
        let verdicts = [0, 1, 2, 3].map(|index| blocks.classify(at(index), 12));
        let expected = [
            BlockState::Cleanmarker,
            BlockState::Clean,
            BlockState::PartDirty,
            BlockState::AllDirty,
        ];
        assert_eq!(verdicts, expected);
        assert_eq!(blocks.block(at(1)).space().wasted, 100);
        blocks.check_accounting();
    }

    #[test]
    fn lists_keep_their_order_and_can_be_rotated() {
        let mut blocks = Blocks::new(4, 1024);
        for index in [2, 0, 3] {
            blocks.move_to(BlockIndex(index), List::Free);
        }
        blocks.rotate(List::Free, 1);
        assert_eq!(blocks.list(List::Free).map(|block| block.0).collect::<Vec<_>>(), [0, 3, 2]);
        blocks.move_to(BlockIndex(3), List::Dirty);
        assert_eq!(blocks.take_first(List::Free), Some(BlockIndex(0)));
        assert_eq!(blocks.first(List::Free), Some(BlockIndex(2)));
        blocks.check_accounting();
    }

    #[test]
    fn less_than_a_small_node_is_not_worth_collecting() {
        assert!(!is_dirty(196));
        assert!(is_dirty(197));
    }
}
