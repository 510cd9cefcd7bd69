//! A JFFS2 of unknown content: what an input of its fuzz target stands for, and how it is read.
//!
//! An input is a shape, options, and the written part of one erase block after the other, so that a
//! small input makes a whole flash; whatever the bytes are, they mean something.

use super::{WalkCounts, background, walk, within_limits, write_on};
use boardlab_jffs2::format::{ByteOrder, OobCleanmarker};
use boardlab_jffs2::{Jffs2, Options, Profile};
use boardlab_mtd::stats::Stats;
use boardlab_mtd::{BlockIndex, Mtd, PageIndex, RamMtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::FileSystem;

/// A kind of flash: how many blocks of how many pages of how many bytes; NOR has one page a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) blocks: u32,
    pub(crate) pages: u32,
    pub(crate) page: u32,
    pub(crate) nand: bool,
}

const fn shape(nand: bool, blocks: u32, pages: u32, page: u32) -> Shape {
    Shape { blocks, pages, page, nand }
}

/// The shapes that an input can choose.
pub(crate) const SHAPES: [Shape; 5] = [
    shape(false, 8, 1, 4 << 10),
    shape(false, 6, 1, 16 << 10),
    shape(true, 8, 8, 512),
    shape(true, 6, 8, 2 << 10),
    shape(false, 5, 1, 64 << 10),
];

impl Shape {
    /// Bytes of an erase block.
    pub(crate) const fn block(self) -> usize {
        (self.pages * self.page) as usize
    }

    /// Bytes of the flash.
    pub(crate) const fn size(self) -> usize {
        self.block() * self.blocks as usize
    }
}

/// The written part of an erase block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// Bit 0: marked bad (NAND). Bit 1: a cleanmarker in the spare bytes (NAND). Bit 2: in the other
    /// byte order.
    pub(crate) flags: u8,
    /// From the beginning on; the rest is erased.
    pub(crate) bytes: Vec<u8>,
}

/// What an input stands for.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    /// Index into [`SHAPES`].
    pub(crate) shape: usize,
    /// Bit 0: no summaries. Bits 1 and 2: the byte order is not given, little, big. Bit 3: the older
    /// kernel. Bit 4: the background check comes before the walk. Bit 5: mounted to be written, and
    /// written on.
    pub(crate) options: u8,
    pub(crate) blocks: Vec<Block>,
}

impl Input {
    /// Reads an input; every input can be read.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let (&[shape, options], mut rest) = bytes.split_first_chunk().unwrap_or((&[0, 0], &[]));
        let shape = usize::from(shape) % SHAPES.len();
        let mut blocks = Vec::new();
        while let (Some((&[flags, low, high], behind)), true) =
            (rest.split_first_chunk(), blocks.len() < SHAPES[shape].blocks as usize)
        {
            let length = usize::from(u16::from_le_bytes([low, high]));
            let length = length.min(behind.len()).min(SHAPES[shape].block());
            blocks.push(Block { flags, bytes: behind[..length].to_vec() });
            rest = &behind[length..];
        }
        Self { shape, options, blocks }
    }

    /// The kind of flash.
    pub(crate) fn shape(&self) -> Shape {
        SHAPES[self.shape]
    }

    /// The flash.
    pub(crate) fn device(&self) -> RamMtd {
        let shape = self.shape();
        let page = Bytes::new(u64::from(shape.page));
        let mut device = if shape.nand {
            RamMtd::nand(shape.blocks, shape.pages, page, Bytes::new(u64::from(shape.page / 32)))
        } else {
            RamMtd::nor(shape.blocks, page)
        };
        for (index, block) in (0..).zip(&self.blocks) {
            write(&mut device, shape, index, block);
        }
        device
    }

    /// How it is mounted.
    pub(crate) fn mount_options(&self) -> Options {
        let byte_order = match self.options >> 1 & 3 {
            1 => Some(ByteOrder::Little),
            2 => Some(ByteOrder::Big),
            _ => None,
        };
        let older = self.options & 8 != 0;
        let profile = if older { Profile::LINUX_2_6_24 } else { Profile::LINUX_6_1 };
        let summary = self.options & 1 == 0;
        let read_only = self.options & 32 == 0;
        Options { byte_order, summary, profile, read_only, ..Options::default() }
    }
}

fn write(device: &mut RamMtd, shape: Shape, index: u32, block: &Block) {
    let clock = &mut Clock::new();
    let start = Bytes::new(u64::from(index) * u64::from(shape.pages * shape.page));
    let unit = if shape.nand { shape.page as usize } else { 1 };
    let mut bytes = block.bytes.clone();
    bytes.resize(bytes.len().next_multiple_of(unit), 0xFF);
    if !bytes.is_empty() {
        device.program(clock, start, &bytes).expect("within the flash");
    }
    if shape.nand && block.flags & 2 != 0 {
        let order = if block.flags & 4 == 0 { ByteOrder::Little } else { ByteOrder::Big };
        let page = PageIndex(index * shape.pages);
        let marker = OobCleanmarker.bytes(order);
        device.program_oob(clock, page, &[], &marker).expect("within the flash");
    }
    if shape.nand && block.flags & 1 != 0 {
        device.mark_bad(clock, BlockIndex(index)).expect("within the flash");
    }
}

/// A flash that waits to be mounted.
pub(crate) struct Flash {
    device: Stats<RamMtd>,
    options: Options,
    check_first: bool,
}

impl Flash {
    /// What an input stands for.
    pub(crate) fn of(input: &Input) -> Self {
        let check_first = input.options & 16 != 0;
        Self { check_first, ..Self::new(input.device(), input.mount_options()) }
    }

    /// A flash with these contents.
    pub(crate) fn new(device: RamMtd, options: Options) -> Self {
        Self { device: Stats::new(device), options, check_first: false }
    }

    /// Mounts, walks over every name and reads every file.
    pub(crate) fn read_everything(&mut self) -> WalkCounts {
        let clock = &mut Clock::new();
        let mut found = WalkCounts::default();
        if let Ok(mut fs) = Jffs2::mount(clock, &mut self.device, self.options.clone()) {
            found.mounted = true;
            if self.check_first {
                background(&mut fs, clock);
            }
            walk(&mut fs, clock, &mut found);
            background(&mut fs, clock);
            let _ = fs.statfs(clock);
            if !self.options.read_only {
                write_on(&mut fs, clock);
            }
        }
        found.count_reads(&self.device);
        found
    }
}

/// What the compressors take as soon as something is written, whatever the size of the flash.
const COMPRESSORS: usize = 1 << 20;

/// Reads the flash of an input within the limits.
pub(crate) fn run(bytes: &[u8]) -> WalkCounts {
    let input = Input::parse(bytes);
    let mut flash = Flash::of(&input);
    let fixed = if input.mount_options().read_only { 0 } else { COMPRESSORS };
    within_limits((input.shape().size(), fixed), || flash.read_everything())
}
