//! Devices for the tests.

use boardlab_mtd::{
    BlockIndex, EraseRegion, Error, FlashKind, Geometry, Mtd, Oob, PageIndex, RamMtd, ReadResult,
};
use boardlab_sim::{Bytes, Clock, mix};

/// A NAND whose driver programs parts of pages, as `nand::Nand` does.
#[derive(Debug, Clone)]
pub(crate) struct SubPages {
    flash: RamMtd,
    geometry: Geometry,
    /// How often each block can still be erased; empty for ever.
    left: Vec<u32>,
}

impl SubPages {
    /// An erased NAND with blocks of 64 pages; `sub_page` may be a page.
    pub(crate) fn new(blocks: u32, pages: u32, page: u32, sub_page: u32) -> Self {
        let size = Bytes::new(u64::from(pages) * u64::from(page));
        let with_unit = |unit: u32| Geometry {
            kind: FlashKind::Nand,
            regions: vec![EraseRegion { count: blocks, size }],
            write_size: Bytes::new(u64::from(unit)),
            write_buffer: Bytes::new(u64::from(unit)),
            oob: Some(Oob { size: Bytes::new(16), available: Bytes::new(16) }),
        };
        let flash = RamMtd::new(with_unit(sub_page));
        Self { flash, geometry: with_unit(page), left: Vec::new() }
    }

    /// The same, whose blocks can be erased `endurance` times, or up to a twentieth more often.
    pub(crate) fn mortal(self, endurance: u32) -> Self {
        let blocks = u64::from(self.geometry.regions[0].count);
        let more = |block| u32::try_from(mix(block) % u64::from(endurance / 20)).unwrap();
        Self { left: (0..blocks).map(|block| endurance + more(block)).collect(), ..self }
    }

    /// All bytes.
    pub(crate) fn image(&self) -> Vec<u8> {
        self.flash.image()
    }
}

impl Mtd for SubPages {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn read(&mut self, clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult {
        self.flash.read(clock, offset, buffer)
    }

    fn program(&mut self, clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error> {
        self.flash.program(clock, offset, data)
    }

    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        if let Some(left) = self.left.get_mut(usize::try_from(block.0).unwrap()) {
            *left = left.checked_sub(1).ok_or(Error::EraseFailed { block })?;
        }
        self.flash.erase(clock, block)
    }

    fn read_oob(&mut self, clock: &mut Clock, page: PageIndex, buffer: &mut [u8]) -> ReadResult {
        self.flash.read_oob(clock, page, buffer)
    }

    fn is_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<bool, Error> {
        self.flash.is_bad(clock, block)
    }

    fn mark_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        self.flash.mark_bad(clock, block)
    }
}
