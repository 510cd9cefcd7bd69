//! An attached flash.
//!
//! Layer: rank 4. Main types: [`Ubi`], the kernel's `struct ubi_device`; [`Counts`].
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/ubi.h`; `build.c`, `ubi_detach_mtd_dev`.

use crate::error::AttachError;
use crate::fastmap::FastmapState;
use crate::format::vtbl::Record;
use crate::format::{LAYOUT_VOLUME, to_usize};
use crate::io::Io;
use crate::layout::Layout;
use crate::lebs::{Error, PebIndex};
use crate::options::Mistake;
use crate::state::{Space, VolumeInfo, VolumeState};
use crate::vtbl::Table;
use crate::wear::Wl;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// An attached flash. A clone is a fork of the device with all its volumes.
///
/// ```
/// use boardlab_mtd::RamMtd;
/// use boardlab_sim::{Bytes, Clock};
/// use boardlab_ubi::{LebIndex, Lebs, NewVolume, Options, Ubi};
///
/// let mut clock = Clock::new();
/// let flash = RamMtd::nand(64, 64, Bytes::kib(2), Bytes::new(64));
/// let mut ubi = Ubi::attach(&mut clock, flash, &Options::default()).unwrap();
/// let id = ubi.create_volume(&mut clock, &NewVolume::dynamic("data", Bytes::mib(1))).unwrap();
/// let mut volume = ubi.into_volume(&mut clock, id).unwrap();
/// volume.change(&mut clock, LebIndex(3), &[7; 4_096]).unwrap();
/// let mut found = [0; 2];
/// volume.read(&mut clock, LebIndex(3), 4_095, &mut found).unwrap();
/// assert_eq!(found, [7, 0xFF]);
/// ```
#[derive(Debug, Clone)]
pub struct Ubi<M> {
    pub(crate) io: Io<M>,
    /// User volumes by number, then the layout volume.
    pub(crate) volumes: Vec<Option<VolumeState>>,
    pub(crate) table: Table,
    /// The records of the table.
    pub(crate) records: Vec<Option<Record>>,
    pub(crate) space: Space,
    /// The next sequence number (`global_sqnum`).
    pub(crate) sqnum: u64,
    pub(crate) wl: Wl,
    pub(crate) mistake: Option<Mistake>,
    pub(crate) mean_ec: u32,
    pub(crate) corrupted_pebs: u32,
    /// In kernels with fastmaps, what they keep about them.
    pub(crate) fastmap: Option<FastmapState>,
}

/// Counts of blocks, as `ubinfo` prints them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Blocks that are not bad.
    pub good: u32,
    /// Bad blocks.
    pub bad: u32,
    /// Blocks with data but without a VID header, which are kept.
    pub corrupted: u32,
    /// Blocks that no volume reserves.
    pub available: u32,
    /// Blocks reserved by volumes, for moves, changes and as replacements.
    pub reserved: u32,
    /// Blocks reserved to replace bad ones.
    pub bad_reserve: u32,
    /// The largest erase counter.
    pub max_ec: u32,
    /// The mean erase counter at attach.
    pub mean_ec: u32,
    /// LEBs moved to another block since the attach, for wear levelling or because of bit flips.
    pub moved: u64,
    /// Works of the background thread that wait.
    pub works: usize,
}

impl<M: Mtd> Ubi<M> {
    /// Reserves blocks at attach.
    pub(crate) fn reserve(&mut self, needed: u32) -> Result<(), AttachError> {
        let available = self.space.available;
        if needed > available {
            return Err(AttachError::NoSpace { needed, available });
        }
        self.space.take(needed);
        Ok(())
    }

    /// The user volumes, by number.
    #[must_use]
    pub fn volumes(&self) -> Vec<VolumeInfo> {
        let user = self.volumes.iter().flatten().filter(|volume| volume.id != LAYOUT_VOLUME);
        user.map(VolumeState::info).collect()
    }

    /// The counts of blocks.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            good: self.space.good,
            bad: self.space.bad,
            corrupted: self.corrupted_pebs,
            available: self.space.available,
            reserved: self.space.reserved,
            bad_reserve: self.space.bad_reserve,
            max_ec: self.wl.max_ec,
            mean_ec: self.mean_ec,
            moved: self.wl.moved,
            works: self.wl.works.len(),
        }
    }

    /// Where headers and data lie in a block.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.io.layout
    }

    /// The blocks that are free.
    pub fn free_pebs(&self) -> impl Iterator<Item = PebIndex> + '_ {
        self.wl.free.iter().map(|(_, peb)| PebIndex(peb))
    }

    /// The blocks in reserve for those that go bad.
    #[must_use]
    pub const fn bad_reserve(&self) -> u32 {
        self.space.bad_reserve
    }

    /// The erase counter of each block in service.
    #[must_use]
    pub fn erase_counters(&self) -> &[Option<u32>] {
        &self.wl.ec
    }

    /// The number of the image.
    #[must_use]
    pub const fn image_seq(&self) -> u32 {
        self.io.image_seq
    }

    /// Whether nothing is written any more, by option or after an error.
    #[must_use]
    pub const fn is_read_only(&self) -> bool {
        self.io.read_only
    }

    /// The device below.
    #[must_use]
    pub const fn device(&self) -> &M {
        &self.io.mtd
    }

    /// The device below. What is written to it behind the back of UBI damages the volumes.
    #[must_use]
    pub const fn device_mut(&mut self) -> &mut M {
        &mut self.io.mtd
    }

    /// Detaches: writes a fastmap if the kernel does. Works that wait are dropped, as the kernel drops
    /// them, but for one: the background thread, woken by the first work that the fastmap scheduled,
    /// waits for the lock and does it before it sees that it must end.
    ///
    /// # Errors
    /// After a power cut.
    pub fn detach(mut self, clock: &mut Clock) -> Result<M, Error> {
        if self.writes_fastmaps() {
            self.update_fastmap(clock)?;
            self.background(clock)?;
        }
        Ok(self.io.mtd)
    }

    /// Whether there is a fastmap on the flash.
    #[must_use]
    pub fn has_fastmap(&self) -> bool {
        self.fastmap.as_ref().is_some_and(|map| map.blocks.is_some())
    }

    /// Whether the flash was attached by a fastmap, without a scan.
    #[must_use]
    pub fn was_attached_by_fastmap(&self) -> bool {
        self.fastmap.as_ref().is_some_and(|map| map.attached_fast)
    }

    /// The device below, as it is.
    #[must_use]
    pub fn into_device(self) -> M {
        self.io.mtd
    }

    fn index_of(&self, volume: u32) -> usize {
        if volume == LAYOUT_VOLUME { to_usize(self.table.slots()) } else { to_usize(volume) }
    }

    /// The state of a volume, if it exists.
    pub(crate) fn find_volume(&self, volume: u32) -> Option<&VolumeState> {
        self.volumes.get(self.index_of(volume))?.as_ref()
    }

    /// The state of a volume that exists.
    pub(crate) fn volume_state(&self, volume: u32) -> &VolumeState {
        self.find_volume(volume).expect("the volume exists")
    }

    /// The state of a volume that exists.
    pub(crate) fn volume_state_mut(&mut self, volume: u32) -> &mut VolumeState {
        let index = self.index_of(volume);
        self.volumes[index].as_mut().expect("the volume exists")
    }
}
