//! The same operations as a real Linux 6.1 did on nandsim leave the same bytes in every block.
//!
//! Each file of this folder has one line a block: the checksum of its bytes in a dump of the kernel's
//! flash. README.md says how they were made.

mod changes;

use crate::devices::SubPages;
use boardlab_mtd::{Fault, FaultInjector, Mtd, Rule, Trigger};
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_ubi::create::{Format, create};
use boardlab_ubi::format::{EcHeader, crc};
use boardlab_ubi::{FastmapMode, NewVolume, Options, Ubi, VolumeKind};

const IMAGE_SEQ: u32 = 305_419_896;

/// A flash of nandsim.
#[derive(Clone, Copy)]
struct Flash {
    name: &'static str,
    page: u32,
    pages: u32,
    blocks: u32,
    /// Blocks of the whole chip, of which the flash is the first partition.
    chip: u32,
    /// Whether the VID header is in the second page.
    late_vid: bool,
}

impl Flash {
    const fn new(name: &'static str, page: u32, pages: u32, chip: u32) -> Self {
        Self { name, page, pages, blocks: 64, chip, late_vid: false }
    }

    fn sub_page(&self) -> u32 {
        if self.page == 512 { 256 } else { self.page / 4 }
    }

    fn options(&self) -> Options {
        Options {
            sub_page: Some(self.sub_page()),
            vid_offset: self.late_vid.then_some(self.page),
            chip_blocks: Some(self.chip),
            ..Options::default()
        }
    }

    /// The flash after `ubiformat -Q 305419896 -e ec`.
    fn formatted(&self, ec: u32) -> SubPages {
        let Options { sub_page, vid_offset, .. } = self.options();
        let (peb_size, min_io) = (self.page * self.pages, self.page);
        let format = Format { peb_size, min_io, sub_page, vid_offset, ec, image_seq: IMAGE_SEQ };
        let mut image = create(&format, &[]).unwrap();
        let vid_offset = vid_offset.unwrap_or_else(|| self.sub_page());
        let data_offset = if self.late_vid { 2 * self.page } else { self.page };
        let header = EcHeader { ec, vid_offset, data_offset, image_seq: IMAGE_SEQ };
        let mut block = vec![0xFF; usize::try_from(peb_size).unwrap()];
        block[..64].copy_from_slice(&header.bytes());
        image.extend(block.repeat(usize::try_from(self.blocks - 2).unwrap()));
        let mut flash = SubPages::new(self.blocks, self.pages, self.page, self.sub_page());
        flash.program(&mut Clock::new(), Bytes::ZERO, &image).unwrap();
        flash
    }
}

const SMALL: Flash = Flash::new("512", 512, 32, 1_024);
const MIDDLE: Flash = Flash::new("2048", 2_048, 64, 512);
const LARGE: Flash = Flash::new("4096", 4_096, 64, 256);

/// What `yes TEXT | head -c LENGTH` prints.
fn yes(text: &str, length: usize) -> Vec<u8> {
    text.bytes().chain([b'\n']).cycle().take(length).collect()
}

/// The blocks that differ from those of the kernel.
fn differences(flash: &SubPages, sums: &str) -> Vec<usize> {
    let image = flash.image();
    let blocks = image.chunks(image.len() / sums.lines().count());
    let pairs = blocks.map(|block| format!("{:08x}", crc(block))).zip(sums.lines());
    pairs.enumerate().filter(|(_, (ours, theirs))| ours != theirs).map(|(peb, _)| peb).collect()
}

fn idle(ubi: &mut Ubi<SubPages>, clock: &mut Clock) {
    while ubi.background(clock).unwrap() {}
}

/// The script `volumes` of README.md: without the background thread but after an attach.
fn volumes(flash: &Flash) -> SubPages {
    let mut clock = Clock::new();
    let clock = &mut clock;
    let (fixed, dynamic) = (yes("static-data-of-a-volume", 100_000), yes("dynamic-data", 133_333));
    let mut ubi = Ubi::attach(clock, flash.formatted(5), &flash.options()).unwrap();
    let alignment = if flash.page == 2_048 { 8_192 } else { 4 * flash.page };
    let sized = |name, size| NewVolume::dynamic(name, Bytes::new(size));
    for new in [
        sized("dyn", 150_000),
        NewVolume { kind: VolumeKind::Static, ..sized("static", 110_000) },
        NewVolume { alignment, ..sized("align", 20_000) },
        NewVolume { id: Some(7), ..sized("gone", 16_000) },
    ] {
        ubi.create_volume(clock, &new).unwrap();
    }
    ubi.update_volume(clock, 1, &fixed).unwrap();
    ubi.update_volume(clock, 0, &dynamic).unwrap();
    ubi.rename_volumes(clock, &[(0, "renamed"), (1, "dyn")]).unwrap();
    let lebs =
        |ubi: &Ubi<SubPages>, index: usize, size: u32| size.div_ceil(ubi.volumes()[index].leb_size);
    ubi.resize_volume(clock, 0, lebs(&ubi, 0, 200_000)).unwrap();
    ubi.remove_volume(clock, 7).unwrap();
    ubi.resize_volume(clock, 2, lebs(&ubi, 2, 10_000)).unwrap();
    let mut ubi = Ubi::attach(clock, ubi.into_device(), &flash.options()).unwrap();
    idle(&mut ubi, clock);
    ubi.update_volume(clock, 0, &[]).unwrap();
    ubi.update_volume(clock, 0, &fixed).unwrap();
    ubi.into_device()
}

#[test]
fn volumes_have_the_bytes_of_linux() {
    let late = Flash { name: "2048n", late_vid: true, ..MIDDLE };
    for (flash, sums) in [
        (SMALL, include_str!("volumes-512")),
        (MIDDLE, include_str!("volumes-2048")),
        (late, include_str!("volumes-2048n")),
        (LARGE, include_str!("volumes-4096")),
    ] {
        assert_eq!(differences(&volumes(&flash), sums), [0; 0], "{}", flash.name);
    }
}

/// With a threshold of 64, and without the background thread: 53 moves in 900 updates.
#[test]
fn wear_levelling_makes_the_choices_of_linux() {
    let mut clock = Clock::new();
    let options = Options { wl_threshold: 64, ..SMALL.options() };
    let mut ubi = Ubi::attach(&mut clock, SMALL.formatted(0), &options).unwrap();
    let cold = NewVolume::dynamic("cold", Bytes::new(412_672));
    ubi.create_volume(&mut clock, &cold).unwrap();
    ubi.update_volume(&mut clock, 0, &yes("cold-data-here", 412_672)).unwrap();
    ubi.create_volume(&mut clock, &NewVolume::dynamic("hot", Bytes::new(40_000))).unwrap();
    for _ in 0..900 {
        ubi.update_volume(&mut clock, 1, &yes("hot-data", 40_000)).unwrap();
    }
    assert_eq!(ubi.counts().moved, 53);
    assert_eq!(differences(ubi.device(), include_str!("wear")), [0; 0]);
}

/// Blocks that cannot be erased after some times, and pages that cannot be written: the test of such
/// blocks, the recovery of their data, bad blocks and their reserve.
#[test]
fn faults_are_handled_as_linux_does() {
    let mut clock = Clock::new();
    let block = |peb: u64| Bytes::new(peb * 16_384)..Bytes::new((peb + 1) * 16_384);
    let page = |page: u64| Bytes::new(page * 512)..Bytes::new((page + 1) * 512);
    let weak = |fault, times, range| Rule::new(fault, Trigger::From(times)).within(range);
    let flash = [
        // ubiformat erased it once.
        weak(Fault::EraseFails, 1, block(20)),
        weak(Fault::ProgramFails, 2, page(1_290)),
        weak(Fault::ProgramFails, 4, page(1_442)),
    ]
    .into_iter()
    .fold(FaultInjector::new(SMALL.formatted(0), Seed::new(1)), FaultInjector::rule);
    let mut ubi = Ubi::attach(&mut clock, flash, &SMALL.options()).unwrap();
    let cold = NewVolume::dynamic("cold", Bytes::new(155_000));
    ubi.create_volume(&mut clock, &cold).unwrap();
    ubi.update_volume(&mut clock, 0, &yes("cold-data-here", 155_000)).unwrap();
    ubi.create_volume(&mut clock, &NewVolume::dynamic("hot", Bytes::new(40_000))).unwrap();
    for _ in 0..250 {
        ubi.update_volume(&mut clock, 1, &yes("hot-data", 40_000)).unwrap();
    }
    ubi.check_tables().unwrap();
    let counts = ubi.counts();
    assert_eq!((counts.bad, counts.bad_reserve, counts.max_ec), (3, 17, 49));
    // What is left in bad blocks is not defined.
    let different = differences(ubi.device().device(), include_str!("faults"));
    assert_eq!(different, [40, 45]);
}

/// The script `fastmap` of README.md: without the background thread but after an attach.
#[test]
fn fastmaps_have_the_bytes_of_linux() {
    let mut clock = Clock::new();
    let clock = &mut clock;
    let flash = Flash { blocks: 80, ..MIDDLE };
    let options = Options { fastmap: FastmapMode::Convert, ..flash.options() };
    let attach = |clock: &mut Clock, flash| {
        let mut ubi = Ubi::attach(clock, flash, &options).unwrap();
        idle(&mut ubi, clock);
        ubi
    };
    let detach = |clock: &mut Clock, mut ubi: Ubi<SubPages>| {
        ubi.update_fastmap(clock).unwrap();
        ubi.into_device()
    };
    let ubi = attach(clock, flash.formatted(0));
    let device = detach(clock, ubi);
    let mut ubi = attach(clock, device);
    assert!(ubi.was_attached_by_fastmap());
    for (kind, name, size) in
        [(VolumeKind::Dynamic, "dyn", 350_000), (VolumeKind::Static, "static", 260_000)]
    {
        let new = NewVolume { kind, ..NewVolume::dynamic(name, Bytes::new(size)) };
        ubi.create_volume(clock, &new).unwrap();
    }
    ubi.update_volume(clock, 1, &yes("static-data-of-a-volume", 250_000)).unwrap();
    let device = detach(clock, ubi);
    assert_eq!(differences(&device, include_str!("fastmap-one")), [0; 0]);
    let mut ubi = attach(clock, device);
    ubi.rename_volumes(clock, &[(0, "renamed"), (1, "dyn")]).unwrap();
    ubi.remove_volume(clock, 0).unwrap();
    let device = detach(clock, ubi);
    assert_eq!(differences(&device, include_str!("fastmap-two")), [0; 0]);
}
