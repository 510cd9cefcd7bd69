//! JFFS2 in the experiment.

mod findings;

use super::{Commands, FileSystemType, Levelling, Mounted, Moves, OnFlash, Pick, Setting, System};
use crate::nandfs::flash::{Flash, Wired};
use crate::nandfs::scenario::Kernel;
use boardlab_document::{Read, Section};
use boardlab_experiment::Cause;
use boardlab_jffs2::{Compression, Jffs2, Options, Profile};
use boardlab_mtd::FlashKind;
use boardlab_sim::Clock;
use boardlab_vfs::{FileSystem, Structure, Work};
use boardlab_workload::powercut::ForkingFlash;
use std::sync::Arc;

/// Its entry in the list.
pub(super) const TYPE: FileSystemType = FileSystemType {
    name: "jffs2",
    read,
    merged: Some([2, 4, 10]),
    removed: None,
    explain: findings::explain,
    wishes: |_| Vec::new(),
};

/// The section `[jffs2]`.
#[derive(Debug)]
struct Jffs2System {
    /// Whether summaries are written.
    summary: bool,
}

fn read(section: Section<'_>) -> Read<Arc<dyn System>> {
    let summary = section.required::<bool>("summary");
    section.finish()?;
    Ok(Arc::new(Jffs2System { summary: summary? }))
}

impl Jffs2System {
    /// Compression by priority, as Linux does, and LZO where the kernel has it.
    fn options(&self, setting: &Setting) -> Options {
        let (profile, lzo) = match setting.kernel {
            Kernel::Linux26 => (Profile::LINUX_2_6_24, false),
            Kernel::Linux61 => (Profile::LINUX_6_1, true),
        };
        Options {
            host: setting.host.clone(),
            seed: setting.seed,
            compression: Compression { lzo, ..Compression::default() },
            read_only: setting.read_only,
            summary: self.summary,
            profile,
            ..Options::default()
        }
    }
}

impl System for Jffs2System {
    fn uses(&self, kernel: Kernel, work: Work) -> bool {
        match work {
            Work::LzoCompress | Work::LzoDecompress => kernel == Kernel::Linux61,
            Work::ZstdCompress | Work::ZstdDecompress => false,
            _ => true,
        }
    }

    fn takes(&self, _kind: FlashKind) -> bool {
        true
    }

    fn compression(&self) -> &'static str {
        "zlib"
    }

    fn commands(&self, _kernel: Kernel, wired: Wired<'_>) -> Commands {
        let block = wired.block_size().get();
        // On NAND the driver of the board marks clean blocks, in the spare bytes.
        let file = if self.summary { "jffs2.sum" } else { "jffs2.img" };
        let (options, markers, write) = match wired.nand() {
            Some(part) => {
                let options = format!(" -s {} -n", part.geometry.page.get());
                (options, " -n", format!("nandwrite -p /dev/mtd0 {file}"))
            }
            None => (String::new(), "", format!("flashcp {file} /dev/mtd0")),
        };
        let image = format!("mkfs.jffs2 -r root -o jffs2.img -e {block}{options}");
        let make = match self.summary {
            true => format!("{image} && sumtool -i jffs2.img -o jffs2.sum -e {block}{markers}"),
            false => image,
        };
        let mount = format!("flash_erase -j /dev/mtd0 0 0 && {write} && mount -t jffs2 mtd0 /mnt");
        Commands { make, mount }
    }

    fn levelling(&self, _kernel: Kernel) -> Levelling {
        Levelling { pick: Pick::InTurn, moves: Moves::Oldest }
    }

    fn mount(&self, setting: &Setting, flash: Flash, clock: &mut Clock) -> Result<OnFlash, Cause> {
        let fs = Box::new(Jffs2::mount(clock, flash, self.options(setting))?);
        Ok(OnFlash { fs, attach: None })
    }

    fn mount_watched(
        &self,
        setting: &Setting,
        flash: ForkingFlash<Flash>,
        clock: &mut Clock,
    ) -> Result<Box<dyn FileSystem>, Cause> {
        Ok(Box::new(Jffs2::mount(clock, flash, self.options(setting))?))
    }
}

impl Mounted for Jffs2<Flash> {
    fn fork(&self) -> Box<dyn Mounted> {
        Box::new(self.clone())
    }

    fn flash(&self) -> &Flash {
        self.device()
    }

    fn into_flash(self: Box<Self>, _clock: &mut Clock) -> Result<Flash, Cause> {
        Ok(self.into_device())
    }

    fn structures(&self) -> Vec<Structure> {
        Self::structures(self)
    }
}
