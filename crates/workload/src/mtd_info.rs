//! The output of `mtd_debug info` for a raw flash.
//!
//! Layer: rank 6. Main type: [`Info`]. Source of the text: mtd-utils (master after 2.1.5, commit
//! 475bf707b958), `misc-utils/mtd_debug.c`, `showinfo`; of flags and regions: Linux 6.1,
//! `include/uapi/mtd/mtd-abi.h`, `cfi_cmdset_0002.c`, `nand_base.c`. Unlike there, a size is not cut
//! to 32 bits.

use boardlab_mtd::{FlashKind, Geometry};
use boardlab_sim::Bytes;
use std::fmt;

/// A run of erase blocks, as Linux reports those of NOR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Where it begins.
    pub offset: Bytes,
    /// Size of its erase blocks.
    pub erase_size: Bytes,
    /// How many there are.
    pub blocks: u32,
}

/// The data of `mtd_debug info`. Its [`Display`](fmt::Display) is the tool's output to the byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// What kind of flash.
    pub kind: FlashKind,
    /// The size of the device.
    pub size: Bytes,
    /// The size of the largest erase block.
    pub erase_size: Bytes,
    /// The smallest program.
    pub write_size: Bytes,
    /// OOB bytes per page.
    pub oob_size: Bytes,
    /// Erase regions; Linux reports those of NOR only.
    pub regions: Vec<Region>,
}

impl Info {
    /// What Linux would report for a device of this geometry.
    #[must_use]
    pub fn of(geometry: &Geometry) -> Self {
        let mut offset = Bytes::ZERO;
        let mut regions = Vec::new();
        for region in &geometry.regions {
            regions.push(Region { offset, erase_size: region.size, blocks: region.count });
            offset += region.size * u64::from(region.count);
        }
        let sizes = regions.iter().map(|region| region.erase_size);
        Self {
            kind: geometry.kind,
            size: offset,
            erase_size: sizes.max().unwrap_or_default(),
            write_size: geometry.write_size,
            oob_size: geometry.oob.map_or(Bytes::ZERO, |oob| oob.size),
            regions: if geometry.kind == FlashKind::Nor { regions } else { Vec::new() },
        }
    }

    const fn type_and_flags(&self) -> (&'static str, &'static str) {
        match self.kind {
            FlashKind::Nor => ("MTD_NORFLASH", "MTD_CAP_NORFLASH"),
            FlashKind::Nand => ("MTD_NANDFLASH", "MTD_CAP_NANDFLASH"),
            FlashKind::Ram => ("MTD_RAM", "MTD_CAP_RAM"),
        }
    }
}

/// A size as the tool prints it: bytes, a space and, from 1,024 on, whole larger units.
struct Size(Bytes);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.get();
        write!(f, "{bytes} ")?;
        let unit = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];
        match unit.iter().find(|(_, shift)| bytes >> shift > 0) {
            Some((letter, shift)) => write!(f, "({}{letter})", bytes >> shift),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, flags) = self.type_and_flags();
        writeln!(f, "mtd.type = {kind}")?;
        writeln!(f, "mtd.flags = {flags}")?;
        writeln!(f, "mtd.size = {}", Size(self.size))?;
        writeln!(f, "mtd.erasesize = {}", Size(self.erase_size))?;
        writeln!(f, "mtd.writesize = {}", Size(self.write_size))?;
        writeln!(f, "mtd.oobsize = {}", Size(self.oob_size))?;
        writeln!(f, "regions = {}\n", self.regions.len())?;
        for (index, region) in self.regions.iter().enumerate() {
            writeln!(f, "region[{index}].offset = {:#010x}", region.offset.get())?;
            writeln!(f, "region[{index}].erasesize = {}", Size(region.erase_size))?;
            writeln!(f, "region[{index}].numblocks = {}", region.blocks)?;
            writeln!(f, "region[{index}].regionindex = {index}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_mtd::{EraseRegion, Mtd, RamMtd};

    #[test]
    fn nor_is_reported_with_its_regions() {
        let region = |count, kib| EraseRegion { count, size: Bytes::kib(kib) };
        let geometry = Geometry {
            regions: vec![region(8, 8), region(127, 64)],
            ..Geometry::uniform(FlashKind::Nor, 1, Bytes::kib(64))
        };
        let expected = "\
mtd.type = MTD_NORFLASH
mtd.flags = MTD_CAP_NORFLASH
mtd.size = 8388608 (8M)
mtd.erasesize = 65536 (64K)
mtd.writesize = 1 \n\
mtd.oobsize = 0 \n\
regions = 2

region[0].offset = 0x00000000
region[0].erasesize = 8192 (8K)
region[0].numblocks = 8
region[0].regionindex = 0
region[1].offset = 0x00010000
region[1].erasesize = 65536 (64K)
region[1].numblocks = 127
region[1].regionindex = 1
";
        assert_eq!(Info::of(&geometry).to_string(), expected);
    }

    #[test]
    fn nand_is_reported_with_its_pages_and_without_regions() {
        let flash = RamMtd::nand(2_048, 64, Bytes::kib(2), Bytes::new(64));
        let text = Info::of(flash.geometry()).to_string();
        for line in ["MTD_NANDFLASH", "268435456 (256M)", "2048 (2K)", "64 \n", "regions = 0\n\n"] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains("region["));
    }
}
