//! Truncation.
//!
//! Layer: rank 5. The kernel (`logfs_truncate` and what it calls, Linux 3.12, `fs/logfs/readwrite.c`) does it
//! in steps of 8 MiB from the end, and has two faults, which a faithful mount mirrors: a file without indirect
//! blocks keeps its blocks unless it becomes shorter than one, so that old bytes come back when it grows again;
//! and the block in which the file then ends is lost when it ends at its end. A hole at the end of a file it goes
//! through step by step, and for ever if a damaged inode is long enough; here such a hole is one step.

use crate::Logfs;
use crate::error::Error;
use crate::format::{BLOCK, BLOCK_SHIFT, BlockId, DIRECT, HEIGHT_MAX, POINTERS, offset_of, span};
use crate::space::Shadow;
use crate::tree::{Change, Target};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

const BLOCK_BYTES: u64 = 4_096;
/// Bytes that are cut off at once.
const STEP: u64 = 8 << 20;
/// A file with more than so many bytes may end in a hole that is left out.
const LONG: u64 = 64 * STEP;

impl<M: Mtd> Logfs<M> {
    /// Makes a file shorter.
    pub(crate) fn truncate(
        &mut self,
        clock: &mut Clock,
        ino: u64,
        target: u64,
    ) -> Result<(), Error> {
        let faithful = self.options.faithful;
        let inode = self.inode(ino)?;
        let mut size = inode.disk.size.next_multiple_of(STEP);
        if !faithful && inode.disk.pointers.iter().any(|&pointer| pointer > 0) {
            size = size.max(STEP);
        }
        while size > target {
            if size - target > LONG {
                let end = self.end_of_blocks(clock, ino, size)?.next_multiple_of(STEP);
                size = size.min(end.max(target) + STEP);
            }
            size = size.saturating_sub(STEP).max(target);
            self.collect(clock)?;
            if !faithful {
                // With the next commit the file is as short as its blocks.
                let disk = &mut self.inode_mut(ino)?.disk;
                disk.size = disk.size.min(size);
            }
            self.cut(clock, ino, size)?;
            self.write_inode_block(clock, ino)?;
            self.trim();
        }
        self.inode_mut(ino)?.disk.size = target;
        Ok(())
    }

    /// The byte behind the last block of a file that begins before `size`; what follows is a hole.
    fn end_of_blocks(&mut self, clock: &mut Clock, ino: u64, size: u64) -> Result<u64, Error> {
        let disk = &self.inode(ino)?.disk;
        let (level, pointer) = (disk.height.min(HEIGHT_MAX), disk.pointers[DIRECT]);
        let below = size.div_ceil(BLOCK_BYTES);
        let mut last = None;
        if pointer > 0 && level > 0 {
            last = self.last_below(clock, BlockId { ino, level, index: 0 }, pointer, below)?;
        }
        Ok(last.map_or(DIRECT as u64, |block| block + 1) * BLOCK_BYTES)
    }

    /// The last block of data below `limit` that a block leads to.
    fn last_below(
        &mut self,
        clock: &mut Clock,
        id: BlockId,
        pointer: u64,
        limit: u64,
    ) -> Result<Option<u64>, Error> {
        if id.level == 0 {
            return Ok(Some(id.index));
        }
        self.load(clock, id, offset_of(pointer))?;
        let (level, step) = (id.level - 1, span(id.level - 1));
        for slot in (0..POINTERS).rev() {
            let index = id.index * POINTERS as u64 + slot as u64;
            let pointer = self.nodes.word(id, slot).unwrap_or_default();
            if pointer > 0 && index * step < limit {
                let child = BlockId { index, level, ..id };
                let last = self.last_below(clock, child, pointer, limit)?;
                if last.is_some() {
                    return Ok(last);
                }
            }
        }
        Ok(None)
    }

    fn cut(&mut self, clock: &mut Clock, ino: u64, size: u64) -> Result<(), Error> {
        let disk = &self.inode(ino)?.disk;
        let (height, pointer) = (disk.height.min(HEIGHT_MAX), disk.pointers[DIRECT]);
        if self.options.faithful && size >= span(height).min(span(3)) * BLOCK_BYTES {
            return Ok(());
        }
        if pointer > 0 && height > 0 && size < span(height) * BLOCK_BYTES {
            let mut change = Change { pointer, write: false, replace: true };
            let id = BlockId { ino, level: height, index: 0 };
            self.cut_below(clock, id, &mut change, size)?;
            self.inode_mut(ino)?.disk.pointers[DIRECT] = change.pointer;
        }
        for index in (0..DIRECT).rev() {
            let block = index as u64;
            if self.is_kept(block + 1, size) {
                break;
            }
            let pointer = self.inode(ino)?.disk.pointers[index];
            if pointer > 0 {
                let pointer = self.cut_block(clock, BlockId::data(ino, block), pointer, size)?;
                self.inode_mut(ino)?.disk.pointers[index] = pointer;
            }
        }
        Ok(())
    }

    /// Whether what ends before block `end` stays as it is.
    const fn is_kept(&self, end: u64, size: u64) -> bool {
        let border = end * BLOCK_BYTES;
        size > border || (size == border && !self.options.faithful)
    }

    /// Cuts off what an indirect block leads to. Returns whether anything changed (`__logfs_truncate_rec`).
    fn cut_below(
        &mut self,
        clock: &mut Clock,
        id: BlockId,
        this: &mut Change,
        size: u64,
    ) -> Result<bool, Error> {
        self.load(clock, id, offset_of(this.pointer))?;
        let step = span(id.level - 1);
        let first = id.index * span(id.level);
        let mut changed = false;
        for slot in (0..POINTERS).rev() {
            let block = first + slot as u64 * step;
            if self.is_kept(block + step, size) {
                break;
            }
            let pointer = self.nodes.word(id, slot).unwrap_or_default();
            if pointer == 0 {
                continue;
            }
            let child = BlockId {
                ino: id.ino,
                level: id.level - 1,
                index: id.index * POINTERS as u64 + slot as u64,
            };
            let after = if child.level > 0 {
                let mut change = Change { pointer, write: false, replace: true };
                self.cut_below(clock, child, &mut change, size)?;
                change.pointer
            } else {
                self.cut_block(clock, child, pointer, size)?
            };
            self.nodes.set_word(id, slot, after);
            changed |= after != pointer;
        }
        if changed {
            let some = (0..POINTERS).any(|slot| self.nodes.word(id, slot).unwrap_or_default() > 0);
            this.write = some;
            self.replace(clock, Target { id, data: None }, this)?;
        }
        Ok(changed)
    }

    /// Deletes a block of data, or clears the end of the one in which the file ends. Returns the new pointer
    /// (`logfs_truncate_i0`).
    fn cut_block(
        &mut self,
        clock: &mut Clock,
        id: BlockId,
        pointer: u64,
        size: u64,
    ) -> Result<u64, Error> {
        let start = id.index << BLOCK_SHIFT;
        let old = offset_of(pointer);
        let mut shadow = Shadow { old, new: 0, old_bytes: 0, new_bytes: 0 };
        if size > start && size - start < BLOCK_BYTES {
            let keep = usize::try_from(size - start).expect("below a block");
            let mut data = vec![0; BLOCK];
            self.read_object(clock, id, old, &mut data)?;
            data[keep..].fill(0);
            (shadow.new, shadow.new_bytes) = self.write_object(clock, id, Some(&data))?;
        }
        shadow.old_bytes = self.replaced_bytes(clock, id, old)?;
        self.finish_replacing(id, shadow)?;
        self.nodes.remove(id);
        let full = if self.options.faithful || shadow.new == 0 { 0 } else { crate::format::FULL };
        Ok(shadow.new | full)
    }

    /// Cuts off what lies behind the end of a file that grows: a kernel may have left blocks, and bytes in the last one.
    pub(crate) fn cut_behind(&mut self, clock: &mut Clock, ino: u64) -> Result<(), Error> {
        let disk = &self.inode(ino)?.disk;
        let size = disk.size;
        if self.options.faithful || disk.pointers.iter().all(|&pointer| pointer == 0) {
            return Ok(());
        }
        let end = size.div_ceil(BLOCK_BYTES);
        let next = self.seek_data(clock, ino, end)?;
        let more = self.find(clock, BlockId::data(ino, next))?.is_some();
        if more || self.ends_in_old_bytes(clock, ino, size)? {
            self.cut(clock, ino, size)?;
            self.mark_dirty(ino);
        }
        Ok(())
    }

    /// Whether the block in which the file ends has bytes behind that end.
    fn ends_in_old_bytes(&mut self, clock: &mut Clock, ino: u64, size: u64) -> Result<bool, Error> {
        let id = BlockId::data(ino, size >> BLOCK_SHIFT);
        let keep = usize::try_from(size % BLOCK_BYTES).expect("below a block");
        if keep == 0 {
            return Ok(false);
        }
        let Some(at) = self.find(clock, id)? else { return Ok(false) };
        let mut data = vec![0; BLOCK];
        self.read_object(clock, id, at, &mut data)?;
        Ok(data[keep..].iter().any(|&byte| byte > 0))
    }
}
