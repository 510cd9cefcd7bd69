//! The memory that YAFFS would use in a 32-bit kernel.
//!
//! Layer: rank 5. [`Yaffs::structures`]. Objects and nodes of trees come in lots of a hundred
//! (`core/yaffs_allocator.c`). Source of the sizes: the fields of the structures in `core/yaffs_guts.h` on a
//! 32-bit machine.

use crate::Yaffs;
use crate::format::to_u32;
use crate::object::Variant;
use crate::options::Version;
use boardlab_sim::Bytes;
use boardlab_vfs::Structure;

/// Objects and nodes are allocated so many at a time.
const LOT: u64 = 100;
/// Bytes of `struct yaffs_obj`, and in 2008, with times and sizes of four bytes.
const OBJECT: u64 = 152;
const OBJECT_2008: u64 = 124;
/// Buffers of a page, for whatever needs one (`YAFFS_N_TEMP_BUFFERS`).
const BUFFERS: u64 = 6;
/// Bytes of `struct yaffs_dev` without its hash buckets, and of those.
const DEVICE: u64 = 700;
const BUCKETS: u64 = 256 * 12;

impl<M> Yaffs<M> {
    /// The present state in structures of the kernel.
    #[must_use]
    pub fn structures(&self) -> Vec<Structure> {
        let of = |name, size, count| Structure { name, size: Bytes::new(size), count };
        let bytes = |length: usize| u64::from(to_u32(length));
        let lots = |count: u32| u64::from(count).div_ceil(LOT) * LOT;
        let blocks = u64::from(self.layout.blocks);
        let page = bytes(self.layout.page);
        let targets = self.objects.iter().map(|(_, object)| match &object.variant {
            Variant::Symlink { target: Some(target) } => bytes(target.len()) + 1,
            _ => 0,
        });
        let object = match self.options.version {
            Version::Y2008 => OBJECT_2008,
            Version::Y2026 => OBJECT,
        };
        vec![
            of("struct yaffs_obj", object, lots(self.objects.count())),
            of("struct yaffs_tnode", bytes(self.layout.node), lots(self.nodes.0)),
            of("struct yaffs_block_info", 8, blocks),
            of("chunk bits of a block", bytes(self.blocks.stride()), blocks),
            of("chunk of the cache of short operations", page, bytes(self.cache.entries.len())),
            of("temporary buffer", page, BUFFERS),
            of("summary of a block, by bytes", 1, 2 * bytes(self.summary.len())),
            of("targets of symbolic links, by bytes", 1, targets.sum()),
            of("struct yaffs_dev and hash buckets", DEVICE + BUCKETS, 1),
        ]
    }
}
