//! The memory that LogFS would use in a 32-bit kernel.
//!
//! Layer: rank 5. [`Logfs::structures`]. Source of the sizes: for `logfs_inode` slabinfo of a 32-bit kernel 3.6;
//! for the others the sum of their fields in Linux 3.12, `fs/logfs/logfs.h`, as the allocator rounds it. The pools
//! hold three structures for each block of a segment (`logfs_init_rw`). Left out: the workspace of zlib, which all
//! mounts share.

use crate::Logfs;
use crate::format::BLOCK;
use boardlab_mtd::Mtd;
use boardlab_sim::Bytes;
use boardlab_vfs::Structure;

/// Bytes of `struct logfs_inode`.
const INODE: u64 = 440;
/// Bytes of `struct logfs_block`: 64 of them are a bit for each pointer.
const BLOCK_STATE: u64 = 128;
/// Bytes of `struct logfs_shadow`.
const SHADOW: u64 = 64;
/// Bytes of `struct gc_candidate`.
const CANDIDATE: u64 = 32;
/// Bytes of `struct object_alias_item`, of which a pool holds 600.
const ALIAS_ITEM: u64 = 32;
const ALIAS_POOL: u64 = 600;
/// Bytes of `struct logfs_super`: 2,048 of them are the list of journal entries.
const SUPER: u64 = 4_096;
/// Bytes of `struct logfs_area`, and how many there are.
const AREA: u64 = 32;
const AREAS: u64 = 13;
/// Bytes of a node of a btree, of which a pool holds 32.
const BTREE_NODE: u64 = 128;
const BTREE_POOL: u64 = 32;

impl<M: Mtd> Logfs<M> {
    /// The present state in structures of the kernel.
    #[must_use]
    pub fn structures(&self) -> Vec<Structure> {
        let of = |name, size, count| Structure { name, size: Bytes::new(size), count };
        let count = |length: usize| u64::try_from(length).expect("a length fits u64");
        let blocks = u64::from(self.layout.segment_size) / BLOCK as u64;
        let pool = 3 * blocks;
        let nodes = count(self.collector.candidates()) / 8 + 1;
        vec![
            of("struct logfs_super and journal buffers", SUPER + 2 * 8_192, 1),
            of("struct logfs_inode", INODE, count(self.inodes.len())),
            of("struct logfs_block", BLOCK_STATE, pool.max(count(self.aliases.blocks()))),
            of("struct logfs_shadow", SHADOW, pool),
            of("struct object_alias_item", ALIAS_ITEM, ALIAS_POOL),
            of("struct gc_candidate", CANDIDATE, count(self.collector.candidates())),
            of("struct logfs_area", AREA, AREAS),
            of("btree node", BTREE_NODE, BTREE_POOL.max(nodes)),
            of("page of a block", BLOCK as u64, count(self.nodes.len())),
            of("page of the flash", BLOCK as u64, count(self.media.cached()) / BLOCK as u64),
        ]
    }
}
