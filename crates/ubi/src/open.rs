//! Attaches a flash.
//!
//! Layer: rank 4. The headers of all blocks are read, or a fastmap; then the volume table. The blocks
//! are sorted into the trees of wear levelling and the LEBs mapped.
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/build.c`, `ubi_attach_mtd_dev`; `attach.c`, `ubi_attach`;
//! `vtbl.c`, `init_volumes` and `check_attaching_info`.

use crate::attach::{AttachInfo, AttachVolume, expect_equal, scan};
use crate::device::Ubi;
use crate::error::{AttachError, VolumeError};
use crate::fastmap::FastmapState;
use crate::fastmap::read::{self, Unusable};
use crate::format::fastmap::START;
use crate::format::vtbl::{AUTORESIZE, Record};
use crate::format::{
    INTERNAL_COUNT, INTERNAL_START, LAYOUT_LEBS, LAYOUT_NAME, LAYOUT_VOLUME, VolumeKind, to_usize,
};
use crate::io::Io;
use crate::layout::Layout;
use crate::lebs::Error;
use crate::options::{FastmapMode, Options};
use crate::state::{Space, VolumeState};
use crate::vtbl;
use crate::wear::Wl;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// Finds out which block holds what, by a fastmap or by a scan (`ubi_attach`).
fn find_blocks<M: Mtd>(
    io: &mut Io<M>,
    clock: &mut Clock,
    fastmap: Option<&mut FastmapState>,
    options: &Options,
) -> Result<AttachInfo, AttachError> {
    let count = io.layout.peb_count;
    let fast = count > START && options.fastmap != FastmapMode::Disabled;
    let mut info = AttachInfo::default();
    let mut start = 0;
    if let Some(state) = fastmap.filter(|_| fast) {
        match read::attach(io, clock, state, options) {
            Ok(info) => return Ok(info),
            Err(Unusable::None(found)) => (info, start) = (*found, START),
            Err(Unusable::Bad) => {}
            Err(Unusable::Attach(error)) => return Err(error),
        }
    }
    scan::scan_all(io, clock, &mut info, start..count, options)?;
    Ok(info)
}

impl<M: Mtd> Ubi<M> {
    /// Attaches a flash. An empty flash is formatted. The blocks to be erased wait for
    /// [`Ubi::background`].
    ///
    /// # Errors
    /// [`AttachError`].
    pub fn attach(clock: &mut Clock, mtd: M, options: &Options) -> Result<Self, AttachError> {
        let layout = Layout::new(mtd.geometry(), options)?;
        let mut io = Io {
            mtd,
            layout,
            read_only: options.read_only || layout.shared_headers,
            image_seq: 0,
            bitflip_threshold: options.bitflip_threshold,
        };
        let mut fastmap = FastmapState::new(options.fastmap, &layout);
        let mut info = find_blocks(&mut io, clock, fastmap.as_mut(), options)?;
        let (table, records) = vtbl::read(&mut io, clock, &mut info, options)?;
        let corrupted_pebs = info.corrupted_count();
        let layout = io.layout;
        let mut ubi = Self {
            io,
            volumes: Vec::new(),
            table,
            records,
            space: Space::new(layout.peb_count - info.bad_count, info.bad_count, corrupted_pebs),
            sqnum: 0,
            wl: Wl::new(layout.peb_count, options.wl_threshold),
            mistake: options.mistake,
            mean_ec: info.mean_ec,
            corrupted_pebs,
            fastmap,
        };
        let resized = ubi.init_volumes(&info)?;
        ubi.check_info(&mut info)?;
        ubi.init_wl(clock, &info)?;
        ubi.init_eba(&info)?;
        if let Some(id) = resized {
            ubi.autoresize(clock, id).map_err(|error| match error {
                VolumeError::Operation(error) => error.into(),
                _ => AttachError::Operation(Error::NoFreePeb),
            })?;
        }
        Ok(ubi)
    }

    /// Makes the volumes of the table; returns the one that is to take all free blocks.
    fn init_volumes(&mut self, info: &AttachInfo) -> Result<Option<u32>, AttachError> {
        let leb_size = self.io.layout.leb_size;
        let (mut resized, mut needed) = (None, LAYOUT_LEBS);
        for (id, record) in (0..).zip(&self.records) {
            let Some(record) = record else {
                self.volumes.push(None);
                continue;
            };
            if record.flags & AUTORESIZE != 0
                && let Some(first) = resized.replace(id)
            {
                return Err(AttachError::TwoAutoresize { first, second: id });
            }
            needed += record.reserved_lebs;
            let mut volume = VolumeState::new(id, record, leb_size);
            if let Some(found) = info.volumes.get(&id).filter(|found| found.count() > 0) {
                volume.take_static_size(found);
            }
            self.volumes.push(Some(volume));
        }
        let layout_record = Record {
            reserved_lebs: LAYOUT_LEBS,
            alignment: 1,
            data_pad: 0,
            kind: VolumeKind::Dynamic,
            updating: false,
            name: LAYOUT_NAME.to_vec(),
            flags: 0,
        };
        let mut layout = VolumeState::new(LAYOUT_VOLUME, &layout_record, leb_size);
        // The kernel keeps the number of LEBs here, which a fastmap shows.
        layout.last_bytes = LAYOUT_LEBS;
        self.volumes.push(Some(layout));
        if self.was_attached_by_fastmap() {
            let count = to_usize(self.io.layout.peb_count);
            let volumes = self.volumes.iter_mut().flatten();
            volumes.for_each(|volume| volume.compared = Some(vec![false; count]));
        }
        self.reserve(needed)?;
        Ok(resized)
    }

    /// Compares the volumes of the table with those of the headers, and drops what the table does not
    /// have (`check_attaching_info`).
    fn check_info(&mut self, info: &mut AttachInfo) -> Result<(), AttachError> {
        let slots = self.table.slots();
        let found = u32::try_from(info.volumes.len()).expect("there are few volumes");
        if found > slots + INTERNAL_COUNT {
            return Err(AttachError::Inconsistent {
                volume: LAYOUT_VOLUME,
                field: "the number of volumes",
                expected: u64::from(slots),
                found: u64::from(found - INTERNAL_COUNT),
            });
        }
        if let Some((&volume, _)) = info.volumes.last_key_value()
            && volume < INTERNAL_START
        {
            let limit = volume.min(slots + INTERNAL_COUNT - 1);
            expect_equal(volume, "the number of the volume", limit, volume)?;
        }
        for (id, volume) in (0..).zip(&self.volumes) {
            match (volume, info.volumes.get(&id)) {
                (Some(volume), Some(found)) => volume.check(found)?,
                (None, Some(_)) => info.remove_volume(id),
                (_, None) => {}
            }
        }
        let layout = info.volumes.get(&LAYOUT_VOLUME).map_or(0, AttachVolume::count);
        if layout > LAYOUT_LEBS {
            return Err(AttachError::LayoutLeb { leb: LAYOUT_LEBS });
        }
        Ok(())
    }
}
