//! LogFS in the experiment.
//!
//! Layer: rank 10. Main type: `LogfsSystem`. The publication is older than LogFS in Linux, which came with 2.6.34: the
//! format and the code here are those of 2.6.35 and later.

mod findings;

use super::{
    Census, Commands, FileSystemType, Levelling, Mounted, Moves, OnFlash, Pick, Reading, Setting,
    System,
};
use crate::nandfs::flash::{Flash, Wired};
use crate::nandfs::scenario::Kernel;
use boardlab_document::{Read, Section};
use boardlab_experiment::Cause;
use boardlab_logfs::mkfs::{self, Format};
use boardlab_logfs::{Logfs, Options};
use boardlab_mtd::Mtd;
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{FileSystem, Structure, Work};
use boardlab_workload::powercut::ForkingFlash;
use std::sync::Arc;

/// Its entry in the list.
pub(super) const TYPE: FileSystemType = FileSystemType {
    name: "logfs",
    read,
    merged: Some([2, 6, 34]),
    removed: Some([4, 10, 0]),
    explain: findings::explain,
    wishes: findings::wishes,
};

/// The section `[logfs]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LogfsSystem {
    /// Whether files are compressed with zlib.
    compress: bool,
    /// Whether what the kernel loses or leaves behind is mirrored.
    faithful: bool,
    /// The difference of erase counters from which its options take when the journal is moved.
    wear_delta: u32,
}

fn read(section: Section<'_>) -> Read<Arc<dyn System>> {
    let compress = section.required::<bool>("compress");
    let faithful = section.required::<bool>("faithful");
    section.finish()?;
    let wear_delta = Options::WEAR_DELTA;
    Ok(Arc::new(LogfsSystem { compress: compress?, faithful: faithful?, wear_delta }))
}

impl LogfsSystem {
    /// An erased flash gets an empty filesystem.
    fn mounted<M: Mtd>(
        self,
        setting: &Setting,
        mut device: M,
        clock: &mut Clock,
    ) -> Result<Logfs<M>, Cause> {
        let segment_shift = small_segment(&device);
        if mkfs::is_blank(clock, &mut device)? {
            let format = Format { compress: self.compress, segment_shift, ..Format::default() };
            let write_shift = segment_shift.and_then(|_| write_shift(&device));
            Format { write_shift, ..format }.make(clock, &mut device)?;
        }
        let Self { faithful, wear_delta, .. } = self;
        let (host, read_only) = (setting.host.clone(), setting.read_only);
        let options = Options { host, read_only, faithful, wear_delta, ..Options::default() };
        Ok(Logfs::mount(clock, device, options)?)
    }
}

/// The segment of a flash that is too small for those of 128 KiB, as those of power cuts are.
fn small_segment<M: Mtd>(device: &M) -> Option<u8> {
    const SMALL: u64 = 40 << 17;
    let size = device.geometry().size().get();
    let block = device.geometry().regions.first()?.size.get();
    let shift = u8::try_from(block.max(1).ilog2()).ok()?.max(mkfs::SEGMENT_SHIFT_MIN);
    (size < SMALL).then_some(shift)
}

/// The write unit of small segments: a page.
fn write_shift<M: Mtd>(device: &M) -> Option<u8> {
    u8::try_from(device.geometry().write_size.get().max(1).ilog2()).ok()
}

impl System for LogfsSystem {
    fn uses(&self, _kernel: Kernel, work: Work) -> bool {
        let always = [Work::Call, Work::Lookup, Work::Page, Work::Copy, Work::Crc, Work::Node];
        // The journal is compressed, whatever the files are.
        let journal = [Work::Deflate, Work::Inflate];
        always.contains(&work) || journal.contains(&work)
    }

    fn readings(&self, _kernel: Kernel) -> Vec<Reading> {
        let with = |name, compress| {
            let other = Self { compress, ..*self };
            let system = (other != *self).then(|| -> Arc<dyn System> { Arc::new(other) });
            Reading { name, system, verify_write: false }
        };
        vec![with("plain", false), with("zlib", true)]
    }

    fn compression(&self) -> &'static str {
        if self.compress { "zlib" } else { "off" }
    }

    fn compressions(&self, _kernel: Kernel) -> Option<(&'static str, Vec<Arc<dyn System>>)> {
        let with = |compress| -> Arc<dyn System> { Arc::new(Self { compress, ..*self }) };
        Some(("compress", [false, true].map(with).into()))
    }

    fn commands(&self, _kernel: Kernel, wired: Wired<'_>) -> Commands {
        let geometry = wired.nand().expect("it takes no NOR").geometry;
        let (page, block) = (geometry.page.get(), geometry.block_size().get());
        let compression = if self.compress { "zlib" } else { "none" };
        Commands {
            make: format!(
                "boardlab image create root logfs.img --fs logfs --page {page}B --block {block}B --max-blocks {} --compression {compression}",
                geometry.blocks
            ),
            mount: "flash_erase /dev/mtd0 0 0 && nandwrite --skip-all-ffs /dev/mtd0 logfs.img && mount -t logfs mtd0 /mnt".into(),
        }
    }

    fn levelling(&self, _kernel: Kernel) -> Levelling {
        Levelling { pick: Pick::InTurn, moves: Moves::LeastWorn }
    }

    fn wear_threshold(&self) -> Option<u32> {
        Some(self.wear_delta)
    }

    fn with_wear_threshold(&self, erases: u32) -> Option<Arc<dyn System>> {
        Some(Arc::new(Self { wear_delta: erases, ..*self }))
    }

    fn mount(&self, setting: &Setting, flash: Flash, clock: &mut Clock) -> Result<OnFlash, Cause> {
        Ok(OnFlash { fs: Box::new(self.mounted(setting, flash, clock)?), attach: None })
    }

    fn mount_watched(
        &self,
        setting: &Setting,
        flash: ForkingFlash<Flash>,
        clock: &mut Clock,
    ) -> Result<Box<dyn FileSystem>, Cause> {
        let fs = self.mounted(setting, flash, clock)?;
        Ok(Box::new(boardlab_workload::powercut::WriteThrough::new(fs)))
    }
}

impl Mounted for Logfs<Flash> {
    fn fork(&self) -> Box<dyn Mounted> {
        Box::new(self.clone())
    }

    fn flash(&self) -> &Flash {
        self.device()
    }

    fn into_flash(self: Box<Self>, _clock: &mut Clock) -> Result<Flash, Cause> {
        Ok(self.into_device())
    }

    fn bad_blocks(&self) -> u64 {
        (self.failed_segments() * self.layout().blocks).into()
    }

    fn census(&self) -> Census {
        let blocks = self.layout().blocks;
        let journal = self.journal_segments().flat_map(|one| one * blocks..(one + 1) * blocks);
        Census { journal: journal.collect(), ..Census::default() }
    }

    fn uncounted(&self) -> Bytes {
        Self::uncounted(self)
    }

    fn moves(&self) -> Option<u64> {
        Some(self.counts().wear_moves)
    }

    fn structures(&self) -> Vec<Structure> {
        Self::structures(self)
    }

    fn reserved(&self) -> Vec<(&'static str, Bytes)> {
        let segment = Bytes::new(u64::from(self.layout().segment_size));
        let journal = u64::from(self.layout().journal_segments);
        let levels = u64::from(self.layout().levels);
        let spare = u64::from(self.superblock().bad_segment_reserve);
        vec![
            ("superblocks and journal", segment * (2 + journal)),
            ("segments being written and for garbage collection", segment * (2 * levels)),
            ("segments in reserve for bad ones", segment * spare),
        ]
    }
}
