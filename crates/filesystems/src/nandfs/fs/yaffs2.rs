//! YAFFS2 in the experiment.
//!
//! Layer: rank 10. Main type: `Yaffs2System`. The module never was part of Linux: its versions were built for
//! many kernels. A scenario says what a version can do, and the kernel which version of the module it is.

mod findings;

use super::{
    Commands, FileSystemType, Levelling, Mounted, Moves, OnFlash, Pick, Reading, Setting, System,
};
use crate::nandfs::flash::{Flash, Wired};
use crate::nandfs::scenario::Kernel;
use boardlab_document::{Read, Section};
use boardlab_experiment::Cause;
use boardlab_mtd::{Geometry, Mtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{FileSystem, Structure, Work};
use boardlab_workload::powercut::ForkingFlash;
use boardlab_yaffs2::format::tags::PROTECTED;
use boardlab_yaffs2::{Options, TagsPlace, Version, Yaffs};
use std::sync::Arc;

/// Its entry in the list.
pub(super) const TYPE: FileSystemType = FileSystemType {
    name: "yaffs2",
    read,
    merged: None,
    removed: None,
    explain: findings::explain,
    wishes: findings::wishes,
};

/// The most chunks of the cache of short operations (`YAFFS_MAX_SHORT_OP_CACHES`).
const CACHES_MAX: u64 = 20;

/// The section `[yaffs2]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Yaffs2System {
    /// Whether blocks end in a summary.
    summary: bool,
    /// Whether checkpoints are written and read.
    checkpoint: bool,
    /// Chunks of the cache of short operations.
    caches: usize,
    /// Whether writes of whole chunks bypass that cache.
    bypass_aligned: bool,
    /// Whether what the sources lose at a power cut is kept.
    repaired: bool,
}

fn read(section: Section<'_>) -> Read<Arc<dyn System>> {
    let summary = section.required::<bool>("summary");
    let checkpoint = section.required::<bool>("checkpoint");
    let caches = section.key::<u64>("caches").within(0, CACHES_MAX).required();
    let bypass_aligned = section.required::<bool>("bypass_aligned");
    let repaired = section.required::<bool>("repaired");
    section.finish()?;
    Ok(Arc::new(Yaffs2System {
        summary: summary?,
        checkpoint: checkpoint?,
        caches: usize::try_from(caches?).expect("20 at most"),
        bypass_aligned: bypass_aligned?,
        repaired: repaired?,
    }))
}

/// As the module for Linux does: in the pages themselves where the spare bytes have no room for protected tags. Small
/// pages have no room either, so that the mount is refused.
fn tags(geometry: &Geometry) -> TagsPlace {
    let available = geometry.oob.map_or(Bytes::ZERO, |oob| oob.available);
    if available < Bytes::new(PROTECTED as u64) && geometry.write_size >= Bytes::kib(1) {
        return TagsPlace::InBand;
    }
    TagsPlace::Oob { ecc: true }
}

impl Yaffs2System {
    /// The module of 2008 wrote times of four bytes, and moved no data that lie still: blocks are refreshed since
    /// February 2010.
    fn options(&self, setting: &Setting, geometry: &Geometry) -> Options {
        let (version, long_times, refresh_period) = match setting.kernel {
            Kernel::Linux26 => (Version::Y2008, false, 0),
            Kernel::Linux61 => (Version::Y2026, true, 500),
        };
        Options {
            tags: tags(geometry),
            host: setting.host.clone(),
            caches: self.caches,
            bypass_aligned: self.bypass_aligned,
            read_only: setting.read_only,
            summary: self.summary,
            read_checkpoint: self.checkpoint,
            write_checkpoint: self.checkpoint,
            long_times,
            refresh_period,
            repaired: self.repaired,
            version,
            ..Options::default()
        }
    }

    /// The same with these settings, unless it has them.
    fn with(self, checkpoint: bool, summary: bool) -> Option<Arc<dyn System>> {
        let other = Self { summary, checkpoint, ..self };
        (other != self).then(|| -> Arc<dyn System> { Arc::new(other) })
    }
}

impl System for Yaffs2System {
    fn uses(&self, _kernel: Kernel, work: Work) -> bool {
        matches!(work, Work::Call | Work::Lookup | Work::Page | Work::Copy | Work::Node)
    }

    fn readings(&self, kernel: Kernel) -> Vec<Reading> {
        let reading = |name, checkpoint, summary| Reading {
            name,
            system: self.with(checkpoint, summary),
            verify_write: false,
        };
        let verified = Reading { name: "verify-after-write", system: None, verify_write: true };
        let mut all = vec![
            reading("checkpoint", true, false),
            reading("checkpoint-summaries", true, true),
            reading("scan", false, false),
            reading("scan-summaries", false, true),
        ];
        all.extend((kernel == Kernel::Linux26).then_some(verified));
        all
    }

    fn compression(&self) -> &'static str {
        "none"
    }

    fn commands(&self, kernel: Kernel, wired: Wired<'_>) -> Commands {
        let part = wired.nand().expect("it takes no NOR");
        let geometry = part.geometry;
        let [page, block, oob] =
            [geometry.page, geometry.block_size(), geometry.oob].map(Bytes::get);
        // A chip that corrects by itself, and a driver with its own code, put the tags where they like.
        let (tags, write) =
            match part.on_die_ecc.is_some() || (kernel == Kernel::Linux61 && part.ecc.bits > 1) {
                true => ("start", "--autoplace --oob"),
                false => ("free", "--oob"),
            };
        let options = [
            (!self.checkpoint).then_some("no-checkpoint"),
            (self.caches == 0).then_some("no-cache"),
        ];
        let options = options.into_iter().flatten().collect::<Vec<_>>().join(",");
        let options = if options.is_empty() { options } else { format!("-o {options} ") };
        Commands {
            make: format!(
                "boardlab image create root yaffs2.img --fs yaffs2 --page {page}B --block {block}B --oob {oob}B --tags {tags}"
            ),
            mount: format!(
                "flash_erase /dev/mtd0 0 0 && nandwrite {write} /dev/mtd0 yaffs2.img && mount -t yaffs2 {options}/dev/mtdblock0 /mnt"
            ),
        }
    }

    fn levelling(&self, kernel: Kernel) -> Levelling {
        let moves = match kernel {
            Kernel::Linux26 => Moves::Never,
            Kernel::Linux61 => Moves::Oldest,
        };
        Levelling { pick: Pick::InTurn, moves }
    }

    fn mount(&self, setting: &Setting, flash: Flash, clock: &mut Clock) -> Result<OnFlash, Cause> {
        let geometry = flash.geometry().clone();
        let fs = Box::new(Yaffs::mount(clock, flash, self.options(setting, &geometry))?);
        Ok(OnFlash { fs, attach: None })
    }

    fn mount_watched(
        &self,
        setting: &Setting,
        flash: ForkingFlash<Flash>,
        clock: &mut Clock,
    ) -> Result<Box<dyn FileSystem>, Cause> {
        let geometry = flash.geometry().clone();
        // It is no file of the run.
        let options = Options { hide_lost_and_found: true, ..self.options(setting, &geometry) };
        Ok(Box::new(Yaffs::mount(clock, flash, options)?))
    }
}

impl Mounted for Yaffs<Flash> {
    fn fork(&self) -> Box<dyn Mounted> {
        Box::new(self.clone())
    }

    fn flash(&self) -> &Flash {
        self.device()
    }

    fn into_flash(self: Box<Self>, _clock: &mut Clock) -> Result<Flash, Cause> {
        Ok(self.into_device())
    }

    fn moves(&self) -> Option<u64> {
        Some(self.counts().refreshes)
    }

    fn structures(&self) -> Vec<Structure> {
        Self::structures(self)
    }

    fn reserved(&self) -> Vec<(&'static str, Bytes)> {
        let block = self.device().geometry().regions[0].size;
        let [collection, checkpoint] = self.kept_blocks().map(|count| block * u64::from(count));
        vec![
            ("blocks kept for garbage collection", collection),
            ("blocks kept for a checkpoint", checkpoint),
        ]
    }
}
