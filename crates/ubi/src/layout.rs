//! Where headers and data lie in a physical erase block.
//!
//! Layer: rank 4. Main type: [`Layout`].
//!
//! ```text
//!  0           vid_aligned   vid_offset        leb_start                    peb_size
//!  | EC header | shift       | VID header      | LEB: leb_size bytes        |
//!  |<-ec_size->|             |<- vid_size ---->|
//! ```
//! Source: Linux 6.1, `drivers/mtd/ubi/build.c`, `io_init` and `get_bad_peb_limit`.

use crate::error::AttachError;
use crate::format::{ec, vid};
use crate::options::Options;
use boardlab_mtd::{FlashKind, Geometry};
use boardlab_sim::Bytes;

/// Where headers and data lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The number of physical erase blocks (PEBs).
    pub peb_count: u32,
    /// The size of a PEB.
    pub peb_size: u32,
    /// The smallest write of data, and its alignment.
    pub min_io: u32,
    /// The smallest write of a header: a sub-page.
    pub header_io: u32,
    /// The unit that the device writes at once if it can.
    pub max_write: u32,
    /// Bytes written for an EC header.
    pub ec_size: u32,
    /// Bytes written for a VID header.
    pub vid_size: u32,
    /// The offset of the VID header.
    pub vid_offset: u32,
    /// Where the write of a VID header begins.
    pub vid_aligned: u32,
    /// The offset of a LEB in its PEB.
    pub leb_start: u32,
    /// The size of a LEB without a volume's alignment.
    pub leb_size: u32,
    /// Whether blocks can be bad.
    pub bad_blocks: bool,
    /// The number of bad blocks to expect (`bad_peb_limit`).
    pub bad_limit: u32,
    /// Whether headers must be invalidated before an erase: NOR whose bytes are written singly.
    pub invalidates: bool,
    /// Whether both headers lie in one sub-page, which allows reading only.
    pub shared_headers: bool,
}

impl Layout {
    /// The layout on a device of this geometry.
    ///
    /// # Errors
    /// [`AttachError::Geometry`], [`AttachError::VidOffset`].
    pub fn new(geometry: &Geometry, options: &Options) -> Result<Self, AttachError> {
        let [region] = geometry.regions.as_slice() else {
            let found = geometry.regions.len();
            return Err(geometry_error("one erase block size", found as u64));
        };
        let nand = geometry.kind == FlashKind::Nand;
        let peb_size = small("the erase block size", region.size)?;
        let min_io = small("the write size", geometry.write_size)?;
        let max_write = small("the write buffer", geometry.write_buffer)?;
        let header_io = options.sub_page.unwrap_or(min_io);
        if !min_io.is_power_of_two() {
            return Err(geometry_error("the write size", u64::from(min_io)));
        }
        if header_io == 0 || !min_io.is_multiple_of(header_io) {
            return Err(geometry_error("the sub-page size", u64::from(header_io)));
        }
        if max_write < min_io || !max_write.is_power_of_two() {
            return Err(geometry_error("the write buffer", u64::from(max_write)));
        }
        let chip_blocks = options.chip_blocks.unwrap_or(region.count);
        let ec_size = ec::SIZE_ON_FLASH.next_multiple_of(header_io);
        let vid_offset = options.vid_offset.unwrap_or(ec_size);
        let mut layout = Self {
            peb_count: region.count,
            peb_size,
            min_io,
            header_io,
            max_write,
            ec_size,
            vid_size: vid::SIZE_ON_FLASH.next_multiple_of(header_io),
            vid_offset,
            vid_aligned: vid_offset / header_io * header_io,
            leb_start: 0,
            leb_size: 0,
            bad_blocks: nand,
            bad_limit: if nand { bad_limit(chip_blocks, options.beb_limit) } else { 0 },
            invalidates: geometry.kind == FlashKind::Nor && min_io == 1,
            shared_headers: false,
        };
        layout.place_data()?;
        Ok(layout)
    }

    fn place_data(&mut self) -> Result<(), AttachError> {
        let wrong = AttachError::VidOffset { offset: self.vid_offset, peb_size: self.peb_size };
        let room = u64::from(self.peb_size.saturating_sub(vid::SIZE_ON_FLASH));
        let end = u64::from(self.vid_offset) + u64::from(vid::SIZE_ON_FLASH);
        let leb_start = end.next_multiple_of(u64::from(self.min_io));
        if self.shift() + vid::SIZE_ON_FLASH > self.vid_size
            || !self.shift().is_multiple_of(4)
            || self.vid_offset < ec::SIZE_ON_FLASH
            || leb_start > room
        {
            return Err(wrong);
        }
        self.leb_start = u32::try_from(leb_start).map_err(|_| wrong)?;
        self.leb_size = self.peb_size - self.leb_start;
        self.shared_headers = end <= u64::from(self.header_io);
        Ok(())
    }

    /// The offset of the VID header in its write (`vid_hdr_shift`).
    #[must_use]
    pub const fn shift(&self) -> u32 {
        self.vid_offset - self.vid_aligned
    }

    /// How many blocks may be erroneous before moves stop (`max_erroneous`).
    #[must_use]
    pub fn erroneous_max(&self) -> u32 {
        (self.peb_count / 10).max(16)
    }
}

fn geometry_error(what: &'static str, found: u64) -> AttachError {
    AttachError::Geometry { what, found }
}

fn small(what: &'static str, size: Bytes) -> Result<u32, AttachError> {
    u32::try_from(size.get()).map_err(|_| geometry_error(what, size.get()))
}

/// The number of bad blocks to expect on a device: `per_1024` of 1,024, rounded up.
fn bad_limit(pebs: u32, per_1024: u32) -> u32 {
    let limit = u64::from(pebs) * u64::from(per_1024) / 1_024;
    let covers = (limit * 1_024).checked_div(u64::from(per_1024));
    let short = covers.is_some_and(|covered| covered < u64::from(pebs));
    u32::try_from(limit + u64::from(short)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_mtd::{Mtd, RamMtd};

    fn layout(device: &RamMtd, options: &Options) -> Layout {
        Layout::new(device.geometry(), options).unwrap()
    }

    #[test]
    fn headers_take_a_page_or_a_sub_page_each() {
        let nand = RamMtd::nand(64, 64, Bytes::kib(2), Bytes::new(64));
        let pages = layout(&nand, &Options::default());
        assert_eq!((pages.vid_offset, pages.leb_start, pages.leb_size), (2_048, 4_096, 126_976));
        let options = Options { sub_page: Some(512), ..Options::default() };
        let parts = layout(&nand, &options);
        assert_eq!((parts.vid_offset, parts.leb_start, parts.leb_size), (512, 2_048, 129_024));
        let nor = layout(&RamMtd::nor(32, Bytes::kib(64)), &Options::default());
        assert_eq!((nor.vid_offset, nor.leb_start, nor.leb_size), (64, 128, 65_408));
        assert!(nor.invalidates && !nor.bad_blocks);
    }

    #[test]
    fn a_vid_offset_within_a_sub_page_shifts_the_header() {
        let nand = RamMtd::nand(64, 64, Bytes::kib(2), Bytes::new(64));
        let at = |offset| {
            let options = Options { vid_offset: Some(offset), ..Options::default() };
            Layout::new(nand.geometry(), &options)
        };
        let layout = at(2_048 + 128).unwrap();
        assert_eq!((layout.vid_aligned, layout.shift(), layout.leb_start), (2_048, 128, 4_096));
        assert!(at(64).unwrap().shared_headers);
        let refused = |offset| AttachError::VidOffset { offset, peb_size: 131_072 };
        for offset in [32, 2_050, 2_048 + 2_000, 131_072, u32::MAX] {
            assert_eq!(at(offset), Err(refused(offset)));
        }
    }

    #[test]
    fn bad_blocks_are_expected_in_proportion() {
        assert_eq!(bad_limit(2_048, 20), 40);
        assert_eq!(bad_limit(1_000, 20), 20);
        assert_eq!(bad_limit(64, 20), 2);
        assert_eq!(bad_limit(64, 0), 0);
    }
}
