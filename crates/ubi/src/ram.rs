//! A volume in memory: for the tests of filesystems, and for images of a single volume.
//!
//! Layer: rank 4. Main type: [`RamLebs`]. Its operations take no time. It rejects what flash cannot
//! do: writes that are not aligned, and bytes written twice.

use crate::format::to_usize;
use crate::lebs::{Error, LebIndex, Lebs, Shape, check_range};
use boardlab_sim::Clock;

/// A volume in memory.
#[derive(Debug, Clone)]
pub struct RamLebs {
    shape: Shape,
    /// The content up to the last written byte; `None` while not mapped.
    lebs: Vec<Option<Vec<u8>>>,
}

impl RamLebs {
    /// An empty volume.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        let count = usize::try_from(shape.leb_count).expect("a count fits the address space");
        Self { shape, lebs: vec![None; count] }
    }

    /// A volume with the LEBs of `image` one after another, as `mkfs.ubifs` writes them; LEBs beyond
    /// the image are unmapped.
    #[must_use]
    pub fn with_image(shape: Shape, image: &[u8]) -> Self {
        let mut volume = Self::new(shape);
        for (leb, content) in volume.lebs.iter_mut().zip(image.chunks(to_usize(shape.leb_size))) {
            *leb = Some(content.to_vec());
        }
        volume
    }

    /// The content of a mapped LEB up to its last written byte.
    #[must_use]
    pub fn content(&self, leb: LebIndex) -> Option<&[u8]> {
        self.lebs.get(to_usize(leb.0))?.as_deref()
    }

    fn slot(&mut self, leb: LebIndex) -> Result<&mut Option<Vec<u8>>, Error> {
        let count = self.shape.leb_count;
        self.lebs.get_mut(to_usize(leb.0)).ok_or(Error::NoSuchLeb { leb, count })
    }

    fn check(&self, leb: LebIndex, offset: u32, length: usize, unit: u32) -> Result<(), Error> {
        check_range(leb, offset, length, (self.shape.leb_size, unit))
    }
}

impl Lebs for RamLebs {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read(
        &mut self,
        _clock: &mut Clock,
        leb: LebIndex,
        offset: u32,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        self.check(leb, offset, buffer.len(), 1)?;
        let content = self.slot(leb)?.as_deref().unwrap_or_default();
        let tail = content.get(to_usize(offset)..).unwrap_or_default();
        let have = tail.len().min(buffer.len());
        buffer[..have].copy_from_slice(&tail[..have]);
        buffer[have..].fill(0xFF);
        Ok(())
    }

    fn write(
        &mut self,
        _clock: &mut Clock,
        leb: LebIndex,
        offset: u32,
        data: &[u8],
    ) -> Result<(), Error> {
        self.check(leb, offset, data.len(), self.shape.min_io)?;
        let content = self.slot(leb)?.get_or_insert_default();
        let start = to_usize(offset);
        if content.len() < start + data.len() {
            content.resize(start + data.len(), 0xFF);
        }
        let target = &mut content[start..start + data.len()];
        assert!(
            boardlab_mtd::is_erased(target),
            "RamLebs::write: LEB {leb}, {} bytes from {offset} on are not erased",
            data.len()
        );
        target.copy_from_slice(data);
        Ok(())
    }

    fn change(&mut self, _clock: &mut Clock, leb: LebIndex, data: &[u8]) -> Result<(), Error> {
        self.check(leb, 0, data.len(), self.shape.min_io)?;
        *self.slot(leb)? = Some(data.to_vec());
        Ok(())
    }

    fn unmap(&mut self, _clock: &mut Clock, leb: LebIndex) -> Result<(), Error> {
        *self.slot(leb)? = None;
        Ok(())
    }

    fn map(&mut self, _clock: &mut Clock, leb: LebIndex) -> Result<(), Error> {
        let slot = self.slot(leb)?;
        assert!(slot.is_none(), "RamLebs::map: LEB {leb} is mapped");
        *slot = Some(Vec::new());
        Ok(())
    }

    fn is_mapped(&self, leb: LebIndex) -> Result<bool, Error> {
        let count = self.shape.leb_count;
        self.lebs.get(to_usize(leb.0)).map(Option::is_some).ok_or(Error::NoSuchLeb { leb, count })
    }

    fn sync(&mut self, _clock: &mut Clock) -> Result<(), Error> {
        Ok(())
    }

    fn background(&mut self, _clock: &mut Clock) -> Result<bool, Error> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_sim::Bytes;

    #[test]
    fn a_leb_reads_erased_until_it_is_written_and_after_it_is_unmapped() {
        let shape =
            Shape { leb_count: 2, leb_size: 4_096, leb_start: 0, min_io: 512, max_write: 512 };
        let (mut lebs, mut clock) = (RamLebs::new(shape), Clock::new());
        let (leb, mut buffer) = (LebIndex(1), [0; 4]);
        lebs.write(&mut clock, leb, 512, &[5; 512]).unwrap();
        lebs.read(&mut clock, leb, 510, &mut buffer).unwrap();
        assert_eq!((buffer, lebs.is_mapped(leb)), ([0xFF, 0xFF, 5, 5], Ok(true)));
        lebs.unmap(&mut clock, leb).unwrap();
        lebs.read(&mut clock, leb, 510, &mut buffer).unwrap();
        assert_eq!((buffer, lebs.is_mapped(leb)), ([0xFF; 4], Ok(false)));
        let past = lebs.read(&mut clock, leb, 4_095, &mut buffer);
        assert_eq!(past, Err(Error::Range { leb, offset: 4_095, length: Bytes::new(4) }));
    }
}
