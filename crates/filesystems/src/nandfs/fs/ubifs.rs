//! UBIFS on UBI in the experiment.
//!
//! The mount attaches the flash first, as `ubiattach` does: without it there is no volume to mount. One
//! dynamic volume takes all blocks that UBI has to give (`ubimkvol -m`). At the end the background
//! thread of UBI has done its works, and the flash is detached.

mod findings;

use super::{
    AttachBy, Census, Commands, FileSystemType, Levelling, Missing, Mounted, Moves, OnFlash, Pick,
    Setting, System,
};
use crate::nandfs::flash::{Counts, Flash, Wired};
use crate::nandfs::run::measure::{Attach, TimedWork, memory};
use crate::nandfs::scenario::{Kernel, KernelSettings};
use boardlab_document::{Field, Read, Section};
use boardlab_experiment::Cause;
use boardlab_media::CellKind;
use boardlab_mtd::{FlashKind, Mtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::{FastmapMode, NewVolume, Ubi, Volume};
use boardlab_ubifs::{Compressor, Options, Profile, Ubifs};
use boardlab_vfs::{FileSystem, Structure, Work};
use boardlab_workload::powercut::{ForkingFlash, WriteThrough};
use std::sync::Arc;

/// Its entry in the list.
pub(super) const TYPE: FileSystemType = FileSystemType {
    name: "ubifs",
    read,
    merged: Some([2, 6, 27]),
    removed: None,
    explain: findings::explain,
    wishes: findings::wishes,
};

/// Compressors as scenarios write them.
const COMPRESSORS: [(&str, Compressor); 4] = [
    ("lzo", Compressor::Lzo),
    ("zlib", Compressor::Zlib),
    ("zstd", Compressor::Zstd),
    ("none", Compressor::None),
];

/// The section `[ubifs]`.
#[derive(Debug, Clone, Copy)]
struct UbifsSystem {
    /// What compresses the content of files.
    compressor: Compressor,
    /// Whether UBI puts both headers into one page where the part allows it.
    sub_pages: bool,
    /// Whether UBI keeps a fastmap.
    fastmap: bool,
    /// Whether a read of pages in sequence reads what lies behind them on flash as well.
    bulk_read: bool,
    /// The difference of erase counters at which UBI moves data that lie still.
    wl_threshold: u32,
    /// Where UBI puts its second header, if not behind the first.
    vid_offset: Option<u32>,
}

/// The first header of UBI, behind which the second one lies.
const EC_HEADER: Bytes = Bytes::new(64);
/// The largest erase block.
const BLOCK: Bytes = Bytes::mib(16);

/// The default of Linux, which takes 2 to 65,536 (`CONFIG_MTD_UBI_WL_THRESHOLD`).
const THRESHOLD: u64 = 4_096;

fn read(section: Section<'_>) -> Read<Arc<dyn System>> {
    let compressor = section.one_of("compressor", &COMPRESSORS);
    let sub_pages = section.required::<bool>("sub_pages");
    let fastmap = section.required::<bool>("fastmap");
    let bulk_read = section.required::<bool>("bulk_read");
    let threshold = section.key("wl_threshold").within(2, 65_536).or(THRESHOLD);
    let wl_threshold = <u32 as Field>::required(threshold);
    let offset = section.key::<Bytes>("vid_offset").within(EC_HEADER, BLOCK).optional();
    let vid_offset = offset.map(|offset| offset.and_then(|bytes| u32::try_from(bytes.get()).ok()));
    section.finish()?;
    Ok(Arc::new(UbifsSystem {
        compressor: compressor?,
        sub_pages: sub_pages?,
        fastmap: fastmap?,
        bulk_read: bulk_read?,
        wl_threshold: wl_threshold?,
        vid_offset: vid_offset?,
    }))
}

/// Bytes that UBI writes at once, the smallest part of them, and those of a block before the data.
struct Written {
    page: u64,
    sub_page: u64,
    headers: u64,
}

impl UbifsSystem {
    /// Linux reserved 1 % of the blocks for bad ones until 3.6 (`CONFIG_MTD_UBI_BEB_RESERVE`), since then
    /// 20 in 1,024.
    fn attach_options(&self, kernel: Kernel, sub_page: Bytes) -> boardlab_ubi::Options {
        let beb_limit = match kernel {
            Kernel::Linux26 => 10,
            Kernel::Linux61 => 20,
        };
        let bytes = u32::try_from(sub_page.get()).expect("a page fits u32");
        boardlab_ubi::Options {
            beb_limit,
            sub_page: self.sub_pages.then_some(bytes),
            fastmap: if self.fastmap { FastmapMode::Convert } else { FastmapMode::Absent },
            wl_threshold: self.wl_threshold,
            vid_offset: self.vid_offset,
            ..boardlab_ubi::Options::default()
        }
    }

    /// A new filesystem has the format of its kernel. The first releases verified the checksum of data
    /// nodes in every read; since 2.6.30 only the mount option `chk_data_crc` does.
    fn options(&self, setting: &Setting) -> Options {
        let (profile, check_data_crc) = match setting.kernel {
            Kernel::Linux26 => (Profile::LINUX_2_6, true),
            Kernel::Linux61 => (Profile::LINUX_6_1, false),
        };
        Options {
            host: setting.host.clone(),
            seed: setting.seed,
            compressor: Some(self.compressor),
            bulk_read: self.bulk_read,
            check_data_crc,
            read_only: setting.read_only,
            profile,
            ..Options::default()
        }
    }

    /// How UBI writes to such a flash.
    fn written(&self, wired: Wired<'_>) -> Written {
        let headers = |page: u64| {
            let behind = |offset: u32| (u64::from(offset) + EC_HEADER.get()).next_multiple_of(page);
            self.vid_offset.map(behind)
        };
        let Some(part) = wired.nand() else {
            // Each header takes 64 bytes, and bytes are written singly.
            return Written { page: 1, sub_page: 1, headers: headers(1).unwrap_or(128) };
        };
        let page = part.geometry.page.get();
        // Both headers are in the first page where UBI can use a part of it, else in one each.
        let in_one = self.sub_pages && part.cell == CellKind::Slc && part.on_die_ecc.is_none();
        let usual = if in_one && page > 512 { page } else { 2 * page };
        let sub_page = if usual == page { page / 4 } else { page };
        Written { page, sub_page, headers: headers(page).unwrap_or(usual) }
    }

    /// Attaches the flash and opens its volume.
    fn open<M: Mtd>(
        &self,
        flash: M,
        (kernel, sub_page): (Kernel, Bytes),
        clock: &mut Clock,
    ) -> Result<Volume<M>, Cause> {
        let ubi = with_volume(flash, &self.attach_options(kernel, sub_page), clock)?;
        Ok(ubi.into_volume(clock, 0)?)
    }
}

/// Attaches a flash. If there is no volume, every block is erased, so that bad ones show, as
/// `ubiformat` does; then the volume is made.
fn with_volume<M: Mtd>(
    flash: M,
    options: &boardlab_ubi::Options,
    clock: &mut Clock,
) -> Result<Ubi<M>, Cause> {
    let mut ubi = Ubi::attach(clock, flash, options)?;
    if ubi.volumes().is_empty() {
        while ubi.background(clock)? {}
        let size = ubi.available();
        ubi.create_volume(clock, &NewVolume::dynamic("root", size))?;
    }
    Ok(ubi)
}

/// The structures of UBI in RAM.
fn structures<M>(ubi: &Ubi<M>) -> Vec<Structure> {
    let own = ubi.structures().into_iter();
    own.map(|one| Structure { name: one.name, size: one.size, count: one.count }).collect()
}

impl System for UbifsSystem {
    fn uses(&self, _kernel: Kernel, work: Work) -> bool {
        match work {
            Work::LzoCompress | Work::LzoDecompress => self.compressor == Compressor::Lzo,
            Work::ZstdCompress | Work::ZstdDecompress => self.compressor == Compressor::Zstd,
            Work::Deflate | Work::Inflate => self.compressor == Compressor::Zlib,
            Work::RtimeCompress | Work::RtimeDecompress => false,
            _ => true,
        }
    }

    fn missing(&self, kernel: KernelSettings) -> Option<Missing> {
        if kernel.verify_write && self.sub_pages {
            // It compares what it finds in the other sub-pages with erased ones.
            return Some(Missing {
                problem: "asks for sub-pages, which a driver that verifies whole pages refuses",
                expected: "whole pages",
                help: "--set ubifs.sub_pages=false",
            });
        }
        let expected = "settings of that kernel";
        let help = "--set kernel.profile=linux-6.1";
        if kernel.profile == Kernel::Linux61 {
            return None;
        }
        if self.compressor == Compressor::Zstd {
            let problem = "asks for zstd, which Linux has for UBIFS since 5.3";
            return Some(Missing { problem, expected, help });
        }
        let problem = "asks for a fastmap, which Linux has since 3.7";
        self.fastmap.then_some(Missing { problem, expected, help })
    }

    fn takes(&self, _kind: FlashKind) -> bool {
        true
    }

    fn compression(&self) -> &'static str {
        match self.compressor {
            Compressor::Lzo => "LZO",
            Compressor::Zlib => "zlib",
            Compressor::Zstd => "zstd",
            Compressor::None => "none",
        }
    }

    fn compressions(&self, kernel: Kernel) -> Option<(&'static str, Vec<Arc<dyn System>>)> {
        let of_kernel =
            |compressor: &Compressor| *compressor != Compressor::Zstd || kernel == Kernel::Linux61;
        let all = COMPRESSORS.map(|(_, compressor)| compressor).into_iter().filter(of_kernel);
        let with = |compressor| -> Arc<dyn System> { Arc::new(Self { compressor, ..*self }) };
        Some(("compressor", all.map(with).collect()))
    }

    fn commands(&self, kernel: Kernel, wired: Wired<'_>) -> Commands {
        let (block, blocks) = (wired.block_size().get(), u64::from(wired.blocks()));
        let Written { page, sub_page, headers } = self.written(wired);
        let limit = u64::from(self.attach_options(kernel, Bytes::new(page)).beb_limit);
        let reserve = wired.nand().map_or(0, |_| (blocks * limit).div_ceil(1_024));
        let lebs = blocks.saturating_sub(4 + reserve);
        let name =
            COMPRESSORS.iter().find(|(_, one)| *one == self.compressor).map_or("", |one| one.0);
        let vid = self.vid_offset.map_or_else(String::new, |offset| format!(" -O {offset}"));
        let bulk = if self.bulk_read { ",bulk_read" } else { "" };
        Commands {
            make: format!(
                "mkfs.ubifs -r root -o ubifs.img -m {page} -e {} -c {lebs} -x {name} && printf '[root]\\nmode=ubi\\nimage=ubifs.img\\nvol_id=0\\nvol_type=dynamic\\nvol_name=root\\nvol_flags=autoresize\\n' > ubi.ini && ubinize -o ubi.img -m {page} -p {block} -s {sub_page}{vid} ubi.ini",
                block.saturating_sub(headers),
            ),
            mount: format!(
                "ubiformat /dev/mtd0 -s {sub_page}{vid} -f ubi.img && ubiattach -m 0{vid} && mount -t ubifs -o compr={name}{bulk} ubi0:root /mnt"
            ),
        }
    }

    fn at_risk(&self, wired: Wired<'_>) -> Option<String> {
        let Wired::Nor { part, board } = wired else { return None };
        let buffer = part.write_buffer?.get() * board.chips as u64;
        let begins = self.written(wired).headers;
        let aligned = begins.next_multiple_of(buffer) - EC_HEADER.get();
        (!begins.is_multiple_of(buffer)).then(|| {
            format!(
                "UBIFS takes for damage of a power cut what lies within one write buffer, counted from the begin of its data. UBI begins \
                 these at byte {begins} of a block, so that a buffer of {} lies across two of them. ubinize, ubiformat and ubiattach -O \
                 {aligned} begin them at a buffer; here ubifs.vid_offset = \"{aligned} B\"",
                Bytes::new(buffer)
            )
        })
    }

    fn levelling(&self, _kernel: Kernel) -> Levelling {
        Levelling { pick: Pick::Median, moves: Moves::Apart }
    }

    fn wear_threshold(&self) -> Option<u32> {
        Some(self.wl_threshold)
    }

    fn with_wear_threshold(&self, erases: u32) -> Option<Arc<dyn System>> {
        Some(Arc::new(Self { wl_threshold: erases, ..*self }))
    }

    fn mount(&self, setting: &Setting, flash: Flash, clock: &mut Clock) -> Result<OnFlash, Cause> {
        let (begun, sub_page) = ((clock.now(), Counts::of(&flash)), flash.sub_page());
        let volume = self.open(flash, (setting.kernel, sub_page), clock)?;
        let attached = (clock.now(), Counts::of(volume.ubi().device()));
        let fs = Box::new(Ubifs::mount(clock, volume, self.options(setting))?);
        Ok(OnFlash { fs, attach: Some(TimedWork::between(begun, attached)) })
    }

    fn attach(
        &self,
        setting: &Setting,
        flash: Flash,
        by: AttachBy,
        clock: &mut Clock,
    ) -> Result<Option<Attach>, Cause> {
        let fastmap = match by {
            AttachBy::Scan => FastmapMode::Absent,
            AttachBy::Map => FastmapMode::Convert,
        };
        let options = self.attach_options(setting.kernel, flash.sub_page());
        let options = boardlab_ubi::Options { fastmap, ..options };
        let mut ubi = with_volume(flash, &options, clock)?;
        while ubi.background(clock)? {}
        let flash = ubi.detach(clock)?;
        let begun = (clock.now(), Counts::of(&flash));
        let ubi = Ubi::attach(clock, flash, &options)?;
        let run = TimedWork::between(begun, (clock.now(), Counts::of(ubi.device())));
        Ok(Some(Attach { run, memory: memory(&structures(&ubi)) }))
    }

    fn mount_watched(
        &self,
        setting: &Setting,
        flash: ForkingFlash<Flash>,
        clock: &mut Clock,
    ) -> Result<Box<dyn FileSystem>, Cause> {
        let sub_page = flash.ask(Flash::sub_page);
        let volume = self.open(flash, (setting.kernel, sub_page), clock)?;
        let fs = Ubifs::mount(clock, volume, self.options(setting))?;
        Ok(Box::new(WriteThrough::new(fs)))
    }
}

impl Mounted for Ubifs<Volume<Flash>> {
    fn fork(&self) -> Box<dyn Mounted> {
        Box::new(self.clone())
    }

    fn flash(&self) -> &Flash {
        self.lebs().ubi().device()
    }

    fn into_flash(self: Box<Self>, clock: &mut Clock) -> Result<Flash, Cause> {
        let mut ubi = self.into_lebs().into_ubi();
        while ubi.background(clock)? {}
        Ok(ubi.detach(clock)?)
    }

    fn census(&self) -> Census {
        let ubi = self.lebs().ubi();
        let free = ubi.free_pebs().map(|peb| peb.0).collect();
        let reserve = Some(ubi.bad_reserve());
        Census { free: Some(free), reserve, ..Census::default() }
    }

    fn structures(&self) -> Vec<Structure> {
        let below = structures(self.lebs().ubi());
        below.into_iter().chain(Self::structures(self)).collect()
    }

    fn reserved(&self) -> Vec<(&'static str, Bytes)> {
        let ubi = self.lebs().ubi();
        let (layout, volume) = (ubi.layout(), self.volume().layout());
        let pebs = u64::from(layout.peb_count);
        let headers = u64::from(layout.peb_size - layout.leb_size) * pebs;
        let leb = u64::from(layout.leb_size);
        let kept = pebs - u64::from(volume.leb_count);
        let areas = volume.leb_count - volume.main_lebs;
        vec![
            ("headers of UBI", Bytes::new(headers)),
            ("blocks that UBI keeps", Bytes::new(kept * leb)),
            ("areas of UBIFS before the main one", Bytes::new(u64::from(areas) * leb)),
        ]
    }
}
