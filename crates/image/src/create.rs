//! Writes a flash to a file, block by block from the first on, including bad blocks.
//!
//! Layer: rank 7. Functions: [`write_data`] writes the main data; [`write_raw`] writes pages and
//! all of their OOB bytes as the cells return them, like `nanddump --oob --noecc --bb=dumpbad` of
//! mtd-utils 2.1. A [`Dump`](crate::Dump) of such a file is the same flash again.

use crate::error::Error;
use boardlab_mtd::{BlockIndex, Error as MtdError, FlashKind, Mtd, PageIndex, RawPages};
use boardlab_sim::{Bytes, Clock};
use std::io::{BufWriter, Write};

/// The size of the written file, and the blocks and reads that were not clean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteSummary {
    /// Bytes of the file.
    pub length: Bytes,
    /// Blocks that are marked bad.
    pub bad_blocks: u32,
    /// Reads with uncorrectable bit errors; the file contains what they returned.
    pub uncorrectable: u32,
}

/// Writes the corrected data of `device` to `file`, without OOB bytes. A block that is marked bad
/// is written as far as it can be read.
///
/// # Errors
/// [`Error::Unwritable`], [`Error::Device`].
pub fn write_data(
    device: &mut dyn Mtd,
    clock: &mut Clock,
    file: &mut dyn Write,
) -> Result<WriteSummary, Error> {
    let (mut file, mut written) = (BufWriter::new(file), WriteSummary::default());
    let geometry = device.geometry().clone();
    // NOR has no pages; it is read in units of a common size.
    let paged = geometry.kind == FlashKind::Nand;
    let step = if paged { geometry.write_size } else { Bytes::kib(2) };
    for block in (0..geometry.block_count()).map(BlockIndex) {
        written.bad_blocks += u32::from(device.is_bad(clock, block)?);
        let range = geometry.block_range(block)?;
        let mut next = range.start;
        while next < range.end {
            let length = (range.end - next).min(step);
            let mut data = vec![0xFF; length.to_usize()];
            match device.read(clock, next, &mut data) {
                Ok(_) => {}
                Err(MtdError::Uncorrectable { .. }) => written.uncorrectable += 1,
                Err(problem) => return Err(problem.into()),
            }
            put(&mut file, &data, &mut written)?;
            next += length;
        }
    }
    finish(&mut file, written)
}

/// Writes all pages of `device` to `file`, each followed by its OOB bytes.
///
/// # Errors
/// [`Error::Unwritable`], [`Error::Device`], with [`MtdError::NoOob`] of a flash without spare bytes.
pub fn write_raw<D: RawPages + ?Sized>(
    device: &mut D,
    clock: &mut Clock,
    file: &mut dyn Write,
) -> Result<WriteSummary, Error> {
    let (mut file, mut written) = (BufWriter::new(file), WriteSummary::default());
    let geometry = device.geometry().clone();
    let spare = geometry.oob.ok_or(MtdError::NoOob)?;
    let mut data = vec![0; geometry.write_size.to_usize()];
    let mut oob = vec![0; spare.size.to_usize()];
    for block in (0..geometry.block_count()).map(BlockIndex) {
        written.bad_blocks += u32::from(device.is_bad(clock, block)?);
        let range = geometry.block_range(block)?;
        for page in range.start / geometry.write_size..range.end / geometry.write_size {
            let page = PageIndex(u32::try_from(page).expect("pages are counted in u32"));
            device.read_raw(clock, page, &mut data, &mut oob)?;
            put(&mut file, &data, &mut written)?;
            put(&mut file, &oob, &mut written)?;
        }
    }
    finish(&mut file, written)
}

fn put(file: &mut dyn Write, bytes: &[u8], written: &mut WriteSummary) -> Result<(), Error> {
    file.write_all(bytes).map_err(|problem| Error::Unwritable { problem })?;
    written.length += Bytes::of(bytes);
    Ok(())
}

fn finish(file: &mut dyn Write, written: WriteSummary) -> Result<WriteSummary, Error> {
    file.flush().map_err(|problem| Error::Unwritable { problem })?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::Contents;
    use crate::dump::Dump;
    use crate::shape::Shape;
    use crate::spare::Spare;
    use boardlab_mtd::RamMtd;

    const SHAPE: Shape = Shape::nand(Bytes::new(512), Bytes::new(16), Bytes::kib(4));

    /// Four blocks with some pages programmed, a bad block and a page with too many wrong bits.
    fn dump() -> Dump {
        let spare = Spare::linux(SHAPE, 1, Bytes::new(256));
        let erased = Contents::of(vec![0xFF; 4 * SHAPE.raw_block().to_usize()]);
        let (mut dump, mut clock) = (Dump::with_spare(erased, SHAPE, spare).unwrap(), Clock::new());
        for page in [0, 3, 9, 31] {
            dump.program_oob(&mut clock, PageIndex(page), &[page.to_le_bytes()[0]; 512], &[7])
                .unwrap();
        }
        dump.mark_bad(&mut clock, BlockIndex(2)).unwrap();
        let mut two_bits = [0xFF; 512];
        two_bits[0] = 0xFC;
        dump.program_raw(&mut clock, PageIndex(3), &two_bits, &[]).unwrap();
        dump
    }

    #[test]
    fn a_raw_file_is_the_same_flash_again() {
        let (mut dump, mut clock, mut file) = (dump(), Clock::new(), Vec::new());
        let written = write_raw(&mut dump, &mut clock, &mut file).unwrap();
        assert_eq!((written.length, written.bad_blocks), (SHAPE.raw_block() * 4, 1));
        let spare = Spare::linux(SHAPE, 1, Bytes::new(256));
        let mut again = Dump::with_spare(Contents::of(file.clone()), SHAPE, spare).unwrap();
        assert_eq!(again.is_bad(&mut clock, BlockIndex(2)), Ok(true));
        let mut free = [0; 2];
        again.read_oob(&mut clock, PageIndex(9), &mut free).unwrap();
        assert_eq!(free, [7, 0xFF]);
        let mut twice = Vec::new();
        write_raw(&mut again, &mut clock, &mut twice).unwrap();
        assert_eq!(file, twice);
    }

    #[test]
    fn data_are_written_corrected_and_what_cannot_be_is_counted() {
        let (mut dump, mut clock, mut file) = (dump(), Clock::new(), Vec::new());
        let mut wrong = [0xFF; 512];
        wrong[77] = 0xFE;
        dump.program_raw(&mut clock, PageIndex(9), &wrong, &[]).unwrap();
        let written = write_data(&mut dump, &mut clock, &mut file).unwrap();
        let length = SHAPE.block * 4;
        assert_eq!(written, WriteSummary { length, bad_blocks: 1, uncorrectable: 1 });
        assert_eq!(file[9 * 512..10 * 512], [9; 512]);
        assert_eq!(file[512], 0xFF);
    }

    #[test]
    fn nor_has_data_only() {
        let (mut nor, mut clock, mut file) =
            (RamMtd::nor(2, Bytes::kib(4)), Clock::new(), Vec::new());
        nor.program(&mut clock, Bytes::new(5), &[1]).unwrap();
        write_data(&mut nor, &mut clock, &mut file).unwrap();
        assert_eq!((file.len(), file[5], file[6]), (8_192, 1, 0xFF));
        let refused = write_raw(&mut nor, &mut clock, &mut file);
        assert!(matches!(refused, Err(Error::Device(MtdError::NoOob))));
    }

    #[test]
    fn a_full_disk_is_an_error() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let refused = write_raw(&mut dump(), &mut Clock::new(), &mut Full);
        assert!(matches!(refused, Err(Error::Unwritable { .. })));
    }
}
