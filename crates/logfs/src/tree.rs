//! From an inode to its blocks: 16 direct pointers, and one to a tree of indirect blocks.
//!
//! Layer: rank 5. When a block is written, the pointer to it changes, but its indirect block is written only
//! when that pointer begins or ceases to exist, or when a hole disappears or appears below; otherwise the
//! pointer becomes an alias in the journal.
//!
//! Source: Linux 3.12, `fs/logfs/readwrite.c`.

use crate::block::Home;
use crate::error::{Damage, Error, What};
use crate::format::inode::{WORD_MODE, WORD_POINTERS, WORD_SIZE, WORD_USED};
use crate::format::{BLOCK, BlockId, DIRECT, FULL, HEIGHT_MAX, MASTER, POINTERS, offset_of, span};
use crate::space::Shadow;
use crate::{Logfs, inode};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// What happens to a block (`struct write_control`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    /// The pointer to it, before and after.
    pub pointer: u64,
    /// Whether it is written.
    pub write: bool,
    /// Whether what it replaces is looked at: not when the tree only grows.
    pub replace: bool,
}

/// A block to be written or deleted, and its content when it is not in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub id: BlockId,
    pub data: Option<&'a [u8]>,
}

/// The word of a direct pointer, or of the indirect one behind them.
fn pointer_word(index: usize) -> u16 {
    WORD_POINTERS + u16::try_from(index).expect("below 17")
}

/// The words of a block.
pub(crate) fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|word| u64::from_be_bytes(word.try_into().expect("eight bytes")))
}

/// The pointers of an indirect block that are in use. The first block of the lowest level does not use its first 16.
pub(crate) fn pointers_of(id: BlockId, bytes: &[u8]) -> impl Iterator<Item = u64> {
    words_of(bytes).skip(if id.level == 1 && id.index == 0 { DIRECT } else { 0 })
}

/// Whether an indirect block has pointers, and whether all lead to no hole.
fn fill_of(id: BlockId, bytes: &[u8]) -> (bool, bool) {
    let add = |(some, all), pointer| (some | (pointer > 0), all & (pointer & FULL > 0));
    pointers_of(id, bytes).fold((false, true), add)
}

impl<M: Mtd> Logfs<M> {
    pub(crate) fn inode(&self, ino: u64) -> Result<&inode::Inode, Error> {
        self.inodes.get(&ino).ok_or(Error::MissingInode(ino))
    }

    pub(crate) fn inode_mut(&mut self, ino: u64) -> Result<&mut inode::Inode, Error> {
        self.inodes.get_mut(&ino).ok_or(Error::MissingInode(ino))
    }

    /// The offset of a block of an inode in memory; `None` for a hole (`logfs_read_block`).
    pub(crate) fn find(&mut self, clock: &mut Clock, id: BlockId) -> Result<Option<u64>, Error> {
        let block = id.bix();
        let disk = &self.inode(id.ino)?.disk;
        if id.level == 0 && block < DIRECT as u64 {
            let index = usize::try_from(block).expect("below 16");
            return Ok(Some(offset_of(disk.pointers[index])).filter(|&at| at > 0));
        }
        let (mut pointer, height) = (disk.pointers[DIRECT], disk.height.min(HEIGHT_MAX));
        if pointer == 0 || block >= span(height) || id.level > height {
            return Ok(None);
        }
        for level in (id.level + 1..=height).rev() {
            let way = BlockId::leading_to(id.ino, level, block);
            self.load(clock, way, offset_of(pointer))?;
            pointer = self.nodes.word(way, way.slot(block)).unwrap_or_default();
            if pointer == 0 {
                return Ok(None);
            }
        }
        Ok(Some(offset_of(pointer)).filter(|&at| at > 0))
    }

    /// Notes that a word of an inode changed; those of the inode file are in the journal anyway.
    pub(crate) fn note_inode_word(&mut self, ino: u64, word: u16) {
        if ino != MASTER {
            self.aliases.note(BlockId::of_inode(ino), &Home::Inode, word);
        }
    }

    /// Accounts for the bytes of an inode (`set_iused`).
    fn account_to_inode(&mut self, ino: u64, shadow: &Shadow) -> Result<(), Error> {
        if shadow.old_bytes == shadow.new_bytes {
            return Ok(());
        }
        let disk = &mut self.inode_mut(ino)?.disk;
        // That of a damaged inode may be anything.
        let more = disk.used.saturating_add(shadow.new_bytes.into());
        disk.used = more.saturating_sub(shadow.old_bytes.into());
        self.note_inode_word(ino, WORD_USED);
        self.note_inode_word(ino, WORD_SIZE);
        Ok(())
    }

    /// Writes or deletes a block, and notes what it replaces (`logfs_write_i0`).
    pub(crate) fn replace(
        &mut self,
        clock: &mut Clock,
        target: Target<'_>,
        change: &mut Change,
    ) -> Result<(), Error> {
        let id = target.id;
        if change.pointer == 0 && self.options.faithful {
            self.check_objects(1)?;
        }
        let mut shadow =
            Shadow { old: offset_of(change.pointer), new: 0, old_bytes: 0, new_bytes: 0 };
        if change.replace {
            shadow.old_bytes = self.replaced_bytes(clock, id, shadow.old)?;
        }
        if change.write {
            (shadow.new, shadow.new_bytes) = self.write_object(clock, id, target.data)?;
        }
        self.finish_replacing(id, shadow)?;
        let full = id.level == 0 || self.nodes.get(id).is_some_and(|bytes| fill_of(id, bytes).1);
        change.pointer = shadow.new;
        if shadow.new > 0 && full {
            change.pointer |= FULL;
        }
        Ok(())
    }

    /// What follows a written or deleted block (`fill_shadow_tree`).
    pub(crate) fn finish_replacing(&mut self, id: BlockId, shadow: Shadow) -> Result<(), Error> {
        self.account_to_inode(id.ino, &shadow)?;
        let written = self.aliases.get(id).is_some_and(|changed| changed.home == Home::Node);
        if written
            && let Some(changed) = self.aliases.remove(id)
            && let Some(transaction) = changed.transaction
        {
            self.apply(transaction);
        }
        self.note_shadow(shadow);
        Ok(())
    }

    /// Writes a block (`logfs_write_buf`), or deletes one (`logfs_delete`).
    pub(crate) fn change(
        &mut self,
        clock: &mut Clock,
        target: Target<'_>,
        write: bool,
    ) -> Result<(), Error> {
        let BlockId { ino, level, index } = target.id;
        if self.options.faithful && ino != MASTER {
            let now = self.now(clock);
            let disk = &mut self.inode_mut(ino)?.disk;
            (disk.changed, disk.modified) = (now, now);
        }
        if level == 0 && index < DIRECT as u64 {
            let at = usize::try_from(index).expect("below 16");
            let pointer = self.inode(ino)?.disk.pointers[at];
            let mut change = Change { pointer, write, replace: true };
            self.replace(clock, target, &mut change)?;
            self.inode_mut(ino)?.disk.pointers[at] = change.pointer;
            self.note_inode_word(ino, pointer_word(at));
            return Ok(());
        }
        self.grow(clock, target.id)?;
        let disk = &self.inode(ino)?.disk;
        let (pointer, height) = (disk.pointers[DIRECT], disk.height);
        let mut change = Change { pointer, write, replace: true };
        if height > level {
            self.change_below(clock, target, &mut change, height)?;
        } else {
            self.replace(clock, target, &mut change)?;
        }
        if pointer != change.pointer {
            self.inode_mut(ino)?.disk.pointers[DIRECT] = change.pointer;
            self.note_inode_word(ino, pointer_word(DIRECT));
        }
        Ok(())
    }

    /// Changes a block below an indirect block, and that if need be (`__logfs_write_rec`).
    fn change_below(
        &mut self,
        clock: &mut Clock,
        target: Target<'_>,
        this: &mut Change,
        level: u8,
    ) -> Result<(), Error> {
        let block = target.id.bix();
        let id = BlockId::leading_to(target.id.ino, level, block);
        let slot = id.slot(block);
        if this.pointer > 0 {
            self.load(clock, id, offset_of(this.pointer))?;
        } else if !self.nodes.contains(id) {
            self.begin_block(id, vec![0; BLOCK]);
        }
        let pointer = self.nodes.word(id, slot).unwrap_or_default();
        let mut child = Change { pointer, ..*this };
        if level - 1 > target.id.level {
            self.change_below(clock, target, &mut child, level - 1)?;
        } else {
            self.replace(clock, target, &mut child)?;
        }
        self.nodes.set_word(id, slot, child.pointer);
        let (some, all) = self.nodes.get(id).map(|bytes| fill_of(id, bytes)).unwrap_or_default();
        this.write |= some;
        let same = (this.pointer == 0) != some && (this.pointer & FULL > 0) == all;
        if this.pointer == 0 || !same {
            self.replace(clock, Target { id, data: None }, this)
        } else {
            let word = u16::try_from(slot).expect("below 512");
            self.aliases.note(id, &Home::Node, word);
            Ok(())
        }
    }

    /// Begins an indirect block. Changed words of one that is not there can only be damage of the journal.
    fn begin_block(&mut self, id: BlockId, bytes: Vec<u8>) {
        self.aliases.remove(id);
        self.nodes.insert(id, bytes.into());
    }

    /// Adds levels of indirect blocks until a block has its place (`grow_inode`).
    fn grow(&mut self, clock: &mut Clock, block: BlockId) -> Result<(), Error> {
        let ino = block.ino;
        loop {
            let disk = &self.inode(ino)?.disk;
            let (height, pointer) = (disk.height, disk.pointers[DIRECT]);
            if block.level <= height && block.bix() < span(height) {
                return Ok(());
            }
            if height >= HEIGHT_MAX {
                let cause = Damage::Level(height + 1);
                return Err(Error::damaged(offset_of(pointer), What::Block(block), cause));
            }
            let id = BlockId { ino, level: height + 1, index: 0 };
            let mut bytes = vec![0; BLOCK];
            bytes[..8].copy_from_slice(&pointer.to_be_bytes());
            self.begin_block(id, bytes);
            let mut change = Change { pointer: 0, write: true, replace: false };
            self.replace(clock, Target { id, data: None }, &mut change)?;
            let disk = &mut self.inode_mut(ino)?.disk;
            disk.pointers[DIRECT] = change.pointer;
            disk.height += 1;
            self.note_inode_word(ino, WORD_MODE);
            if !self.options.faithful {
                // The kernel commits the height without the pointer, unless that changes once more.
                self.note_inode_word(ino, pointer_word(DIRECT));
            }
        }
    }

    /// The first hole from a block on (`logfs_seek_hole`).
    pub(crate) fn seek_hole(
        &mut self,
        clock: &mut Clock,
        ino: u64,
        block: u64,
    ) -> Result<u64, Error> {
        let disk = &self.inode(ino)?.disk;
        let mut block = block;
        while block < DIRECT as u64 {
            if disk.pointers[usize::try_from(block).expect("below 16")] == 0 {
                return Ok(block);
            }
            block += 1;
        }
        let (pointer, end) = (disk.pointers[DIRECT], span(disk.height.min(HEIGHT_MAX)));
        if pointer == 0 || block >= end {
            return Ok(block);
        }
        if pointer & FULL > 0 {
            return Ok(end);
        }
        self.seek_below(clock, ino, block, |pointer| pointer & FULL == 0)
    }

    /// The first block with data from a block on, or the end (`logfs_seek_data`).
    pub(crate) fn seek_data(
        &mut self,
        clock: &mut Clock,
        ino: u64,
        block: u64,
    ) -> Result<u64, Error> {
        let disk = &self.inode(ino)?.disk;
        let last = disk.size >> crate::format::BLOCK_SHIFT;
        let mut block = block;
        while block < DIRECT as u64 {
            if disk.pointers[usize::try_from(block).expect("below 16")] > 0 {
                return Ok(block);
            }
            block += 1;
        }
        let (pointer, end) = (disk.pointers[DIRECT], span(disk.height.min(HEIGHT_MAX)));
        if block >= end || pointer == 0 {
            return Ok(block.max(last));
        }
        self.seek_below(clock, ino, block, |pointer| pointer > 0)
    }

    /// The first block from `block` on whose pointers are all wanted, down to the data
    /// (`seek_holedata_loop`); the end when there is none.
    fn seek_below(
        &mut self,
        clock: &mut Clock,
        ino: u64,
        block: u64,
        wanted: impl Fn(u64) -> bool,
    ) -> Result<u64, Error> {
        let disk = &self.inode(ino)?.disk;
        let height = disk.height.min(HEIGHT_MAX);
        let (root, end) = (disk.pointers[DIRECT], span(height));
        let mut block = block;
        'down: while block < end {
            let mut pointer = root;
            for level in (1..=height).rev() {
                let id = BlockId::leading_to(ino, level, block);
                self.load(clock, id, offset_of(pointer))?;
                let (step, first) = (span(level - 1), id.slot(block));
                let words = words_of(self.nodes.get(id).unwrap_or_default());
                let found = words.enumerate().skip(first).find(|&(_, word)| wanted(word));
                let (slot, word) = found.unwrap_or((POINTERS, 0));
                if slot > first {
                    block = (block / step + (slot - first) as u64) * step;
                }
                if slot == POINTERS {
                    continue 'down;
                }
                pointer = word;
                if pointer == 0 {
                    return Ok(block);
                }
            }
            return Ok(block);
        }
        Ok(block)
    }
}
