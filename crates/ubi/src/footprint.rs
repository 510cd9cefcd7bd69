//! The memory that UBI would use in a 32-bit kernel.
//!
//! Layer: rank 4. Main types: [`Ubi::structures`], [`Structure`]. The counts are those of the present
//! state.
//!
//! Source of the sizes: the sum of the fields of Linux 6.1, `drivers/mtd/ubi/ubi.h`, on 32 bit, rounded
//! up to what the allocator gives; `struct ubi_wl_entry` has a slab of its own, aligned to 8 bytes.

use crate::device::Ubi;
use crate::format::vtbl;
use boardlab_sim::Bytes;

/// Bytes of a `struct ubi_device` as allocated.
const DEVICE: u64 = 2_048;
/// The same with the pools of fastmaps.
const DEVICE_WITH_POOLS: u64 = 4_096;
/// Bytes of a `struct ubi_volume` as allocated: a device, a character device, 35 numbers, a name.
const VOLUME: u64 = 1_024;

/// Structures of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structure {
    /// The name in the kernel.
    pub name: &'static str,
    /// Bytes of one.
    pub size: Bytes,
    /// How many there are.
    pub count: u64,
}

impl<M> Ubi<M> {
    /// The present state in structures of the kernel.
    #[must_use]
    pub fn structures(&self) -> Vec<Structure> {
        let of = |name, size, count| Structure { name, size: Bytes::new(size), count };
        let layout = &self.io.layout;
        let volumes = || self.volumes.iter().flatten();
        let entries = volumes().map(|volume| u64::from(volume.reserved)).sum();
        let marks = volumes().filter_map(|volume| volume.compared.as_ref());
        let mark_bytes = marks.map(|marks| u64_of(marks.len().div_ceil(32) * 4)).sum();
        let table = u64::from(self.table.slots()) * u64_of(vtbl::SIZE);
        let device = if self.fastmap.is_some() { DEVICE_WITH_POOLS } else { DEVICE };
        let map_buffer = self.fastmap.as_ref().map_or(0, |map| u64_of(map.size));
        vec![
            of("struct ubi_device", device, 1),
            of("struct ubi_volume", VOLUME, u64_of(volumes().count())),
            of("struct ubi_wl_entry", 24, u64_of(self.wl.ec.iter().flatten().count())),
            of("lookuptbl, by pointers", 4, u64::from(layout.peb_count)),
            of("struct ubi_eba_entry", 4, entries),
            of("struct ubi_work", 32, u64_of(self.wl.works.len())),
            of("vtbl, by bytes", 1, table.next_multiple_of(u64::from(layout.min_io))),
            of("peb_buf, by bytes", 1, u64::from(layout.peb_size)),
            of("fm_buf, by bytes", 1, map_buffer),
            of("checkmap, by bytes", 1, mark_bytes),
        ]
    }
}

fn u64_of(count: usize) -> u64 {
    u64::try_from(count).expect("u64 holds usize")
}
