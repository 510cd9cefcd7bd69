//! Compares the tables in memory with each other, for tests.
//!
//! Layer: rank 5. Source of the rules: `core/yaffs_verify.c`.

use crate::Yaffs;
use crate::block::State;
use crate::object::{Slot, Variant};
use boardlab_mtd::Mtd;
use boardlab_vfs::Contradiction;
use std::collections::BTreeSet;

macro_rules! hold {
    ($condition:expr, $($text:tt)*) => {
        if !$condition {
            return Err(Contradiction(format!($($text)*)));
        }
    };
}

impl<M: Mtd> Yaffs<M> {
    /// Compares blocks, account, trees and directories.
    pub(crate) fn compare_tables(&self) -> Result<(), Contradiction> {
        self.compare_blocks()?;
        self.compare_objects()
    }

    fn compare_blocks(&self) -> Result<(), Contradiction> {
        let (mut free, mut allocating) = (0, 0);
        for (block, info) in self.blocks.iter() {
            let used = self.blocks.count_used(block);
            hold!(
                used == info.in_use,
                "block {block} has {used} chunks in use and counts {}",
                info.in_use
            );
            hold!(info.soft_deleted <= info.in_use, "block {block}: {info:?}");
            allocating += u32::from(info.state == State::Allocating);
            let counts = matches!(
                info.state,
                State::Empty | State::Allocating | State::Collecting | State::Full
            );
            if counts {
                let left = self.layout.chunks_per_block - info.live();
                free += left.cast_signed();
            }
        }
        let counted = self.space.free_chunks;
        hold!(free == counted, "{free} chunks are free, and {counted} are counted");
        let (erased, counted) = (self.blocks.count(State::Empty), self.space.erased_blocks);
        hold!(
            erased.cast_signed() == counted,
            "{erased} blocks are erased, and {counted} are counted"
        );
        hold!(allocating <= 1, "{allocating} blocks are allocated from");
        let checkpoint = self.blocks.count(State::Checkpoint);
        let counted = self.checkpoint.blocks;
        hold!(
            checkpoint == counted,
            "{checkpoint} blocks of a checkpoint, and {counted} are counted"
        );
        Ok(())
    }

    fn compare_objects(&self) -> Result<(), Contradiction> {
        let (mut nodes, mut count) = (0, 0);
        let mut chunks = BTreeSet::new();
        for (slot, object) in self.objects.iter() {
            count += 1;
            let id = object.id;
            if object.header > 0 {
                let (block, page) = self.layout.place(object.header);
                hold!(self.blocks.is_used(block, page), "the header of object {id} is not in use");
                hold!(chunks.insert(object.header), "object {id} shares the chunk of its header");
            }
            if let Some(file) = object.file() {
                nodes += file.tree.nodes();
                let leaves = file.tree.leaves();
                let entries = leaves.iter().flat_map(|(_, entries)| entries);
                let mut data = 0;
                for &chunk in entries.filter(|&&chunk| chunk > 0) {
                    let (block, page) = self.layout.place(chunk);
                    hold!(self.blocks.is_used(block, page), "a chunk of object {id} is not in use");
                    hold!(chunks.insert(chunk), "object {id} shares chunk {chunk}");
                    data += 1;
                }
                let counted = object.data_chunks;
                let right = data == counted || object.soft_deleted;
                hold!(right, "object {id} has {data} chunks and counts {counted}");
            }
            self.compare_links(slot)?;
        }
        hold!(count == self.objects.count(), "{count} objects");
        hold!(nodes == self.nodes.0, "{nodes} nodes of trees, and {} are counted", self.nodes.0);
        self.compare_directories()
    }

    fn compare_links(&self, slot: Slot) -> Result<(), Contradiction> {
        let object = self.objects.get(slot);
        for &link in &object.links {
            let leads = self.objects.try_get(link).map(|link| &link.variant);
            let right =
                matches!(leads, Some(Variant::HardLink { target, .. }) if *target == Some(slot));
            hold!(right, "a link of object {} leads elsewhere", object.id);
        }
        Ok(())
    }

    fn compare_directories(&self) -> Result<(), Contradiction> {
        let mut children = BTreeSet::new();
        for (slot, _) in self.objects.iter() {
            for child in self.objects.children(slot) {
                let right = self.objects.get(child).parent == Some(slot);
                hold!(right, "a child does not name its directory");
                hold!(children.insert(child), "an object is in a directory twice");
            }
        }
        let held = |slot: &Slot| self.objects.get(*slot).parent.is_some();
        let inside = self.objects.iter().map(|(slot, _)| slot).filter(held).count();
        hold!(children.len() == inside, "{} children of {inside}", children.len());
        Ok(())
    }
}
