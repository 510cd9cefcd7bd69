//! The memory that UBIFS would use in a 32-bit kernel.
//!
//! Layer: rank 5. [`Ubifs::structures`]. The counts are those of the present state: a mount reads only
//! the way to the root of the index and to the LEBs it needs, and both trees grow with use until the
//! kernel runs short of memory ([`Ubifs::shrink_index`]). Names and content belong to the caches above,
//! and the blocks of UBI to UBI.
//!
//! Source of the sizes: for `ubifs_inode` slabinfo of a 32-bit kernel 3.6; for the others the sum of
//! their fields in Linux 6.1, `fs/ubifs/ubifs.h`, without authentication, as the allocator rounds it.
//! Left out: the memory of the compressors, which all mounts share.

use crate::format::u32_of;
use crate::{Lebs, Ubifs};
use boardlab_sim::Bytes;
use boardlab_vfs::Structure;

/// Bytes of `struct ubifs_znode` before its branches, of which it has room for a whole fanout.
const ZNODE: u64 = 56;
/// Bytes of `struct ubifs_zbranch`.
const ZBRANCH: u64 = 24;
/// Bytes of `struct ubifs_pnode`: 24, and 24 for each of four LEBs.
const PNODE: u64 = 120;
/// Bytes of `struct ubifs_nnode`: 24, and 12 for each of four branches.
const NNODE: u64 = 72;
/// Bytes of `struct ubifs_bud`.
const BUD: u64 = 36;
/// Bytes of `struct ubifs_orphan`.
const ORPHAN: u64 = 52;
/// Bytes of `struct ubifs_old_idx`.
const OLD_INDEX: u64 = 20;
/// LEB-sized buffers of a writable mount: scan, index in gaps, LPT, orphans.
const LEB_BUFFERS: u64 = 4;
/// The most LEBs of a heap, and how many heaps there are.
const HEAPS: u64 = 4 * 256;
/// The buffer for a block when memory is short (`COMPRESSED_DATA_NODE_BUF_SZ`).
const WRITE_RESERVE: u64 = 48 + 2 * 4_096;
/// The most that bulk-read reads at once (`UBIFS_MAX_BULK_READ` data nodes).
const BULK_READ: u64 = 32 * (48 + 4_096);

impl<L: Lebs> Ubifs<L> {
    /// The present state in structures of the kernel.
    #[must_use]
    pub fn structures(&self) -> Vec<Structure> {
        let volume = &self.volume;
        let (dirty, clean) = volume.znode_counts();
        let (pnodes, nnodes) = volume.lpt_node_counts();
        let layout = &volume.layout;
        let znode = ZNODE + ZBRANCH * u64::from(layout.fanout);
        let count = |length: usize| u64::from(u32_of(length));
        let of = |name, size, count| Structure { name, size: Bytes::new(size), count };
        let data: u64 =
            volume.inodes.values().filter(|inode| !inode.data.is_empty()).map(data_size).sum();
        vec![
            of("struct ubifs_inode", 352, count(volume.inodes.len())),
            of("targets, device numbers and attributes, by bytes", 1, data),
            of("struct ubifs_znode", slab(znode), dirty + clean),
            of("entries kept with the index, by bytes", 1, volume.leaf_cache_bytes()),
            of("struct ubifs_old_idx", slab(OLD_INDEX), volume.old_index_count()),
            of("struct ubifs_pnode", slab(PNODE), pnodes),
            of("struct ubifs_nnode", slab(NNODE), nnodes),
            of("properties of the LPT's own LEBs, twice", 24, u64::from(layout.lpt_lebs)),
            of("heaps of LEB properties", 4, HEAPS),
            of("struct ubifs_bud", slab(BUD), count(volume.log.buds.len())),
            of("struct ubifs_orphan", slab(ORPHAN), count(volume.orphans.len())),
            of("write buffers", u64::from(layout.max_write), u64::from(layout.jhead_count)),
            of("buffers and nodes, by bytes", 1, self.buffers()),
        ]
    }

    /// Buffers of LEBs, of bulk-read, of the last block, of the commit; superblock and master node.
    fn buffers(&self) -> u64 {
        let (layout, options) = (&self.volume.layout, &self.volume.options);
        let leb = u64::from(layout.leb_size);
        let writable = !self.volume.mode.read_only;
        let lebs = if writable { LEB_BUFFERS } else { 1 };
        let reserve = if writable { slab(WRITE_RESERVE) } else { 0 };
        let bulk = if options.bulk_read { slab(BULK_READ.min(leb)) } else { 0 };
        let index = u64::from(layout.max_idx_node_sz.next_multiple_of(layout.min_io));
        let roots = 4_096_u32.next_multiple_of(layout.min_io) + layout.mst_node_alsz;
        lebs * leb + reserve + bulk + slab(2 * index) + u64::from(roots)
    }
}

/// The memory of an inode's data, which have a NUL behind.
fn data_size(inode: &crate::inode::Inode) -> u64 {
    slab(u64::from(inode.data_len()) + 1)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use boardlab_sim::Clock;
    use boardlab_ubi::RamLebs;
    use boardlab_vfs::Mount;

    #[test]
    fn memory_grows_with_inodes_and_index_and_has_four_buffers_of_a_leb() {
        let lebs = RamLebs::new(crate::test_volume::shape(200, 15_872));
        let mut clock = Clock::new();
        let mut mount = Mount::new(Ubifs::mount(&mut clock, lebs, Options::default()).unwrap());
        let counted = |mount: &Mount<Ubifs<RamLebs>>, name: &str| {
            let all = mount.fs().structures();
            all.iter().find(|found| found.name == name).map(|found| (found.size.get(), found.count))
        };
        assert_eq!(counted(&mount, "struct ubifs_inode"), Some((352, 1)));
        assert_eq!(counted(&mount, "struct ubifs_znode"), Some((256, 1)));
        for number in 0..40 {
            mount.mkdir(&mut clock, format!("/{number}"), 0o755).unwrap();
        }
        assert_eq!(counted(&mount, "struct ubifs_inode"), Some((352, 41)));
        let (_, znodes) = counted(&mount, "struct ubifs_znode").unwrap();
        assert!(znodes > 81 / 8, "{znodes} znodes for 81 leaves");
        let (_, buffers) = counted(&mount, "buffers and nodes, by bytes").unwrap();
        assert_eq!(buffers, 4 * 15_872 + 16_384 + 1_024 + 4_096 + 512);
        assert_eq!(slab(PNODE), 128);
        assert_eq!(slab(NNODE), 96);
    }
}
