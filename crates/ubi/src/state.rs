//! The state of a volume, and the counts of reserved blocks.
//!
//! Layer: rank 4. Main types: [`VolumeState`], the kernel's `struct ubi_volume`; [`Space`].
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/ubi.h`; `vtbl.c`, `init_volumes` and `check_av`; `misc.c`.

use crate::attach::{AttachVolume, expect_equal};
use crate::error::AttachError;
use crate::format::to_usize;
use crate::format::vtbl::{Record, SKIP_CHECK, VolumeKind};
use crate::lebs::{LebIndex, PebIndex};
use boardlab_sim::Bytes;

/// What is known of a user volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeInfo {
    /// Its number.
    pub id: u32,
    /// Its name; bytes that are not UTF-8 are replaced.
    pub name: String,
    /// Its type.
    pub kind: VolumeKind,
    /// LEBs reserved for it.
    pub reserved_lebs: u32,
    /// Usable bytes of a LEB.
    pub leb_size: u32,
    /// Its size: of a static volume the bytes of its data.
    pub size: Bytes,
    /// Whether an update was interrupted.
    pub updating: bool,
    /// Whether data of a static volume are missing or damaged.
    pub corrupted: bool,
}

/// A volume.
#[derive(Debug, Clone)]
pub(crate) struct VolumeState {
    pub(crate) id: u32,
    pub(crate) kind: VolumeKind,
    pub(crate) name: Vec<u8>,
    /// LEBs reserved for it.
    pub(crate) reserved: u32,
    pub(crate) data_pad: u32,
    /// Usable bytes of a LEB.
    pub(crate) leb_size: u32,
    /// LEBs with data; of a dynamic volume all.
    pub(crate) used_lebs: u32,
    /// Bytes of the last LEB with data.
    pub(crate) last_bytes: u32,
    pub(crate) used_bytes: u64,
    /// Whether a static volume is not verified when it is opened.
    pub(crate) skip_check: bool,
    /// Whether it was verified since the attach.
    pub(crate) checked: bool,
    /// Whether data of a static volume are missing or damaged.
    pub(crate) corrupted: bool,
    /// Whether an update was begun and not completed.
    pub(crate) updating: bool,
    /// After an attach by fastmap: whether the mapping of each LEB was compared with the header of the
    /// block (`checkmap`).
    pub(crate) compared: Option<Vec<bool>>,
    /// The block of each LEB (`eba_tbl`).
    pebs: Vec<Option<PebIndex>>,
}

impl VolumeState {
    pub(crate) fn new(id: u32, record: &Record, leb_size: u32) -> Self {
        let mut volume = Self {
            id,
            kind: record.kind,
            name: record.name.clone(),
            reserved: record.reserved_lebs,
            data_pad: record.data_pad,
            leb_size: leb_size - record.data_pad,
            used_lebs: 0,
            last_bytes: 0,
            used_bytes: 0,
            skip_check: record.flags & SKIP_CHECK != 0,
            checked: false,
            corrupted: false,
            updating: record.updating,
            compared: None,
            pebs: vec![None; to_usize(record.reserved_lebs)],
        };
        if volume.kind == VolumeKind::Dynamic {
            volume.use_all();
        }
        volume
    }

    /// A dynamic volume uses all its LEBs.
    fn use_all(&mut self) {
        self.used_lebs = self.reserved;
        self.last_bytes = self.leb_size;
        self.used_bytes = u64::from(self.used_lebs) * u64::from(self.leb_size);
    }

    /// The size of a static volume from its headers.
    pub(crate) fn take_static_size(&mut self, found: &AttachVolume) {
        if self.kind == VolumeKind::Dynamic {
            return;
        }
        if found.count() != found.used_lebs {
            self.corrupted = true;
            return;
        }
        self.used_lebs = found.used_lebs;
        self.last_bytes = found.last_data_size;
        self.used_bytes =
            u64::from(self.used_lebs - 1) * u64::from(self.leb_size) + u64::from(self.last_bytes);
    }

    /// The size of a static volume after an update.
    pub(crate) fn set_static_size(&mut self, bytes: u64) {
        let size = u64::from(self.leb_size);
        let small = |value: u64| u32::try_from(value).expect("the size of a volume was checked");
        self.corrupted = false;
        self.used_bytes = bytes;
        self.used_lebs = small(bytes.div_ceil(size));
        self.last_bytes = small(bytes % size);
        if self.last_bytes == 0 {
            self.last_bytes = self.leb_size;
        }
    }

    /// Whether the headers agree with the volume table (`check_av`).
    pub(crate) fn check(&self, found: &AttachVolume) -> Result<(), AttachError> {
        let kind = |kind: VolumeKind| u32::from(kind.number());
        let beyond = found.highest_leb.saturating_add(1).max(found.count()).max(found.used_lebs);
        expect_equal(self.id, "the number of LEBs", self.reserved.max(beyond), self.reserved)?;
        expect_equal(self.id, "the type", kind(self.kind), kind(found.kind))?;
        expect_equal(self.id, "the padding", self.data_pad, found.data_pad)
    }

    pub(crate) fn peb(&self, leb: LebIndex) -> Option<PebIndex> {
        self.pebs.get(to_usize(leb.0)).copied().flatten()
    }

    /// The place of a LEB's block; `None` beyond the volume.
    pub(crate) fn slot(&mut self, leb: LebIndex) -> Option<&mut Option<PebIndex>> {
        self.pebs.get_mut(to_usize(leb.0))
    }

    /// The blocks of the LEBs that are mapped.
    pub(crate) fn mapped(&self) -> impl Iterator<Item = PebIndex> {
        self.pebs.iter().flatten().copied()
    }

    /// The block of each LEB.
    pub(crate) fn mapping(&self) -> &[Option<PebIndex>] {
        &self.pebs
    }

    /// Marks the mapping of a LEB as compared; returns whether it was not yet.
    pub(crate) fn compare(&mut self, leb: LebIndex) -> bool {
        let slot = self.compared.as_mut().and_then(|marks| marks.get_mut(to_usize(leb.0)));
        slot.is_some_and(|mark| !std::mem::replace(mark, true))
    }

    /// Changes the length of the mapping.
    pub(crate) fn resize_mapping(&mut self, reserved: u32) {
        self.pebs.resize(to_usize(reserved), None);
    }

    /// Changes the number of LEBs.
    pub(crate) fn set_reserved(&mut self, reserved: u32) {
        self.reserved = reserved;
        if self.kind == VolumeKind::Dynamic {
            self.use_all();
        }
    }

    pub(crate) fn info(&self) -> VolumeInfo {
        VolumeInfo {
            id: self.id,
            name: String::from_utf8_lossy(&self.name).into_owned(),
            kind: self.kind,
            reserved_lebs: self.reserved,
            leb_size: self.leb_size,
            size: Bytes::new(self.used_bytes),
            updating: self.updating,
            corrupted: self.corrupted,
        }
    }
}

/// Counts of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    pub(crate) good: u32,
    pub(crate) bad: u32,
    /// Blocks that nobody reserves (`avail_pebs`).
    pub(crate) available: u32,
    /// Blocks that somebody reserves (`rsvd_pebs`).
    pub(crate) reserved: u32,
    /// Blocks reserved to replace bad ones (`beb_rsvd_pebs`).
    pub(crate) bad_reserve: u32,
    /// How many should be (`beb_rsvd_level`).
    pub(crate) bad_level: u32,
}

impl Space {
    pub(crate) const fn new(good: u32, bad: u32, corrupted: u32) -> Self {
        let available = good - corrupted;
        Self { good, bad, available, reserved: 0, bad_reserve: 0, bad_level: 0 }
    }

    /// Reserves blocks, of which there are enough.
    pub(crate) const fn take(&mut self, count: u32) {
        self.available -= count;
        self.reserved += count;
    }

    /// Gives up reserved blocks, and fills the reserve for bad ones (`ubi_update_reserved`).
    pub(crate) fn give_back(&mut self, count: u32) {
        self.reserved -= count;
        self.available += count;
        let missing = self.bad_level.saturating_sub(self.bad_reserve).min(self.available);
        self.take(missing);
        self.bad_reserve += missing;
    }

    /// Undoes [`Space::take`] after an error.
    pub(crate) const fn untake(&mut self, count: u32) {
        self.reserved -= count;
        self.available += count;
    }

    /// How many blocks should replace bad ones (`ubi_calculate_reserved`).
    pub(crate) const fn calculate_reserve(&mut self, limit: u32) {
        self.bad_level = limit.saturating_sub(self.bad);
    }
}
