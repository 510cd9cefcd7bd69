//! A flash with UBI of unknown content: what an input of its fuzz target stands for, and all that is
//! done with it.

use super::pieces::{Blocks, Contents, Input};
use super::{WalkCounts, within_limits};
use boardlab_mtd::stats::Stats;
use boardlab_mtd::{BlockIndex, Mtd, RamMtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::{FastmapMode, LebIndex, Lebs, NewVolume, Options, Ubi, VolumeInfo, VolumeKind};

#[path = "../../../ubi/tests/devices.rs"]
mod devices;

use devices::SubPages;

/// A device of unknown content that counts what is read.
pub(crate) type Device = Stats<Box<dyn Mtd>>;

/// A kind of flash. NOR has pages of one byte.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) blocks: u32,
    pub(crate) block: u32,
    pub(crate) page: u32,
    pub(crate) sub_page: u32,
}

const fn shape(blocks: u32, block: u32, page: u32, sub_page: u32) -> Shape {
    Shape { blocks, block, page, sub_page }
}

/// The shapes that an input can choose. Only a flash of more than 64 blocks has fastmaps.
pub(crate) const SHAPES: [Shape; 5] = [
    shape(20, 2 << 10, 512, 512),
    shape(20, 8 << 10, 2_048, 512),
    shape(12, 4 << 10, 1, 1),
    shape(70, 16 << 10, 512, 512),
    shape(20, 16 << 10, 512, 256),
];

impl Shape {
    /// The shape of a number.
    pub(crate) fn of(number: u8) -> Self {
        SHAPES[usize::from(number) % SHAPES.len()]
    }

    /// Bytes of the flash.
    pub(crate) const fn size(self) -> usize {
        (self.block * self.blocks) as usize
    }

    /// The blocks that pieces are put into.
    pub(crate) const fn pieces(self) -> Blocks {
        Blocks {
            count: self.blocks as usize,
            size: self.block as usize,
            page: self.page as usize,
            sub_page: self.sub_page as usize,
        }
    }

    /// An erased flash.
    pub(crate) fn device(self) -> Box<dyn Mtd> {
        match self.page {
            1 => Box::new(RamMtd::nor(self.blocks, Bytes::new(u64::from(self.block)))),
            page => Box::new(SubPages::new(self.blocks, self.block / page, page, self.sub_page)),
        }
    }

    /// The sub-page that UBI must be told.
    pub(crate) fn sub_page(self) -> Option<u32> {
        (self.sub_page < self.page).then_some(self.sub_page)
    }
}

/// Bit 0: written on. Bits 1 and 2: fastmaps. Bit 3: write-protected. Bit 4: blocks are moved early.
/// Bit 5: all of the background's work is done before volumes are read.
fn options(input: &Input, shape: Shape) -> Options {
    let fastmap = match input.options >> 1 & 3 {
        0 => FastmapMode::Absent,
        1 => FastmapMode::Existing,
        2 => FastmapMode::Convert,
        _ => FastmapMode::Disabled,
    };
    let wl_threshold = if input.options & 16 == 0 { 4_096 } else { 2 };
    let read_only = input.options & 8 != 0;
    Options { sub_page: shape.sub_page(), fastmap, wl_threshold, read_only, ..Options::default() }
}

/// The flash of an input.
fn flash(input: &Input, shape: Shape) -> Device {
    let (mut device, clock) = (shape.device(), &mut Clock::new());
    let contents = Contents::of(input, shape.pieces());
    for (index, bytes) in (0..).zip(&contents.blocks) {
        let start = Bytes::new(u64::from(shape.block) * index);
        device.program(clock, start, bytes).expect("within the flash");
    }
    for block in contents.bad.into_iter().filter(|_| shape.page > 1) {
        let block = BlockIndex(u32::try_from(block).expect("a few"));
        device.mark_bad(clock, block).expect("within the flash");
    }
    Stats::new(device)
}

/// Attaches, reads and perhaps writes the flash of an input, within the limits.
pub(crate) fn run(bytes: &[u8]) -> WalkCounts {
    let input = Input::parse(bytes);
    let shape = Shape::of(input.shape);
    let (mut device, options) = (flash(&input, shape), options(&input, shape));
    within_limits((shape.size(), 0), || {
        let (clock, mut found) = (&mut Clock::new(), WalkCounts::default());
        attach(clock, &mut device, (&input, &options), &mut found);
        found.count_reads(&device);
        found
    })
}

/// Everything with an attached flash.
fn attach(
    clock: &mut Clock,
    device: &mut Device,
    (input, options): (&Input, &Options),
    found: &mut WalkCounts,
) {
    let Ok(mut ubi) = Ubi::attach(clock, &mut *device, options) else { return };
    found.mounted = true;
    check(&ubi);
    if input.options & 32 != 0 {
        background(clock, &mut ubi);
    }
    read(clock, &mut ubi, found);
    if input.options & 1 == 0 {
        background(clock, &mut ubi);
        return;
    }
    write_on(clock, &mut ubi);
    background(clock, &mut ubi);
    if ubi.detach(clock).is_err() {
        return;
    }
    let Ok(mut ubi) = Ubi::attach(clock, device, options) else { return };
    check(&ubi);
    read(clock, &mut ubi, &mut WalkCounts::default());
}

fn check<M: Mtd>(ubi: &Ubi<M>) {
    ubi.check_tables().unwrap_or_else(|problem| panic!("{problem}"));
    let _ = (ubi.counts(), ubi.volumes());
}

/// A background that never comes to an end is a hang.
fn background<M: Mtd>(clock: &mut Clock, ubi: &mut Ubi<M>) {
    let mut steps = 0;
    while ubi.background(clock) == Ok(true) {
        steps += 1;
        assert!(steps < 100_000, "the background does not come to an end");
    }
    check(ubi);
}

fn read<M: Mtd>(clock: &mut Clock, ubi: &mut Ubi<M>, found: &mut WalkCounts) {
    for info in ubi.volumes() {
        found.names += 1;
        let Ok(mut volume) = ubi.volume(clock, info.id) else { continue };
        let mut content = vec![0; info.leb_size as usize];
        for leb in 0..info.reserved_lebs {
            if volume.read(clock, LebIndex(leb), 0, &mut content).is_ok() {
                found.bytes += content.len() as u64;
            }
        }
    }
}

/// Every operation that writes, on the volumes that were there and on new ones; whether they succeed
/// is the image's affair.
fn write_on<M: Mtd>(clock: &mut Clock, ubi: &mut Ubi<M>) {
    let volumes = ubi.volumes();
    for (index, info) in volumes.iter().take(4).enumerate() {
        write_volume(clock, ubi, info);
        check(ubi);
        let _ = match index {
            0 => ubi.rename_volumes(clock, &[(info.id, "renamed")]),
            1 => ubi.resize_volume(clock, info.id, info.reserved_lebs + 1),
            2 => ubi.resize_volume(clock, info.id, info.reserved_lebs.div_ceil(2)),
            _ => ubi.remove_volume(clock, info.id),
        };
        check(ubi);
    }
    let size = Bytes::new(u64::from(ubi.layout().leb_size) * 2);
    for new in [NewVolume::dynamic("dynamic", size), NewVolume::fixed("static", size)] {
        let Ok(id) = ubi.create_volume(clock, &new) else { continue };
        check(ubi);
        let made = ubi.volumes().into_iter().find(|info| info.id == id);
        write_volume(clock, ubi, &made.expect("it was made"));
    }
    if let Some(info) = volumes.first() {
        let _ = ubi.remove_volume(clock, info.id);
    }
    check(ubi);
}

fn write_volume<M: Mtd>(clock: &mut Clock, ubi: &mut Ubi<M>, info: &VolumeInfo) {
    let page = ubi.layout().min_io.max(64) as usize;
    let content: Vec<u8> =
        (0..info.leb_size as usize).map(|at| (at % 251).to_le_bytes()[0]).collect();
    let _ = ubi.update_volume(clock, info.id, &content[..content.len() / 2]);
    background(clock, ubi);
    if info.kind == VolumeKind::Static {
        return;
    }
    let Ok(mut volume) = ubi.volume(clock, info.id) else { return };
    let last = LebIndex(info.reserved_lebs - 1);
    let _ = volume.map(clock, last);
    for round in 0..12 {
        let leb = LebIndex(round % info.reserved_lebs.min(3));
        let _ = volume.change(clock, leb, &content[..page * (1 + round as usize % 2)]);
        let _ = volume.background(clock);
    }
    let _ = volume.unmap(clock, last);
    let _ = volume.write(clock, last, 0, &content[..page]);
}
