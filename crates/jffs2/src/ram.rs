//! The memory that JFFS2 would use in a 32-bit kernel.
//!
//! Layer: rank 5. [`Jffs2::structures`]. The counts are those of the present state: right after a
//! mount there are references of all nodes and no fragments; once all inodes are open there are
//! both. Names and content belong to the caches above.
//!
//! Source of the sizes: slabinfo of a 32-bit x86 kernel 3.6 (`docs/formats/jffs2.md`), and for
//! structures without a slab of their own the sum of their fields. A block of references holds 30
//! and a link to the next.

use crate::Jffs2;
use crate::Volume;
use boardlab_mtd::BlockIndex;
use boardlab_sim::Bytes;
use boardlab_vfs::Structure;

/// References per reference block (`REFS_PER_BLOCK`).
const REFS_PER_BLOCK: u64 = 255 / 8 - 1;
/// Bytes of a directory entry before its name (`struct jffs2_full_dirent`).
const FULL_DIRENT: u64 = 24;

impl<M> Volume<M> {
    /// The reference blocks of all erase blocks: at least one for each with nodes, including the
    /// end marker.
    fn reference_blocks(&self) -> u64 {
        let blocks = (0..self.blocks.count()).map(|index| self.blocks.block(BlockIndex(index)));
        let in_use = blocks.filter(|block| !block.refs().is_empty());
        in_use.map(|block| u64_of(block.refs().len()).div_ceil(REFS_PER_BLOCK)).sum()
    }

    /// Buckets of the kernel's inode hash table (`calculate_inocache_hashsize`): two per MiB, in
    /// steps of 64.
    fn buckets(&self) -> u64 {
        let (least, most) = self.profile.inode_buckets;
        (self.layout.size() / Bytes::mib(1) * 2 / 64 * 64).clamp(least, most)
    }

    fn buffers(&self) -> u64 {
        let page = self.layout.page_size.map_or(0, u64::from);
        let summary = if self.summary { u64::from(self.layout.block_size) } else { 0 };
        page + summary
    }
}

impl<M> Jffs2<M> {
    /// The present state in structures of the kernel.
    #[must_use]
    pub fn structures(&self) -> Vec<Structure> {
        let volume = &self.volume;
        let (data, references) = volume.xattrs.counts();
        let open = || self.open.values();
        let dnodes = open().map(|inode| inode.fragments.dnode_count()).sum::<usize>()
            + open().filter(|inode| inode.metadata_node.is_some()).count();
        let names = open().flat_map(|inode| inode.entries.keys());
        let entry_bytes: u64 = names.map(|name| slab(FULL_DIRENT + u64_of(name.len()) + 1)).sum();
        let of = |name, size, count| Structure { name, size: Bytes::new(size), count };
        vec![
            of("struct jffs2_raw_node_ref (refblock of 30)", 248, volume.reference_blocks()),
            of("struct jffs2_inode_cache", 32, u64_of(volume.inodes.count())),
            of("struct jffs2_inode_info", 312, u64_of(self.open.len())),
            of("struct jffs2_full_dnode", 16, u64_of(dnodes)),
            of("struct jffs2_node_frag", 24, u64_of(open().map(|i| i.fragments.count()).sum())),
            of("struct jffs2_full_dirent, by bytes", 1, entry_bytes),
            of("struct jffs2_eraseblock", 52, u64::from(volume.blocks.count())),
            of("inode hash buckets", 4, volume.buckets()),
            of("summary buffer and write buffer, by bytes", 1, volume.buffers()),
            of("struct jffs2_xattr_datum", 64, u64_of(data)),
            of("struct jffs2_xattr_ref", 32, u64_of(references)),
        ]
    }
}

/// The allocation size of the kernel's allocator: powers of two, and 96 and 192.
const fn slab(bytes: u64) -> u64 {
    match bytes {
        65..=96 => 96,
        129..=192 => 192,
        _ if bytes <= 8 => 8,
        _ => bytes.next_power_of_two(),
    }
}

fn u64_of(count: usize) -> u64 {
    u64::try_from(count).expect("u64 holds usize")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_in_the_sizes_of_the_kernels_allocator() {
        assert_eq!(
            [1, 8, 9, 33, 65, 96, 97, 129, 193].map(slab),
            [8, 8, 16, 64, 96, 96, 128, 192, 256]
        );
        assert_eq!(REFS_PER_BLOCK, 30);
    }
}
