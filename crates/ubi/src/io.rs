//! Reads, programs and erases of physical erase blocks, with the retries of the kernel.
//!
//! Layer: rank 4. Main types: [`Io`]; [`Found`], the result of reading a header.
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/io.c`. Left out: the self-checks of debugfs.

use crate::format::ec::{EcHeader, EcView};
use crate::format::vid::{VidHeader, VidView};
use crate::format::{Malformed, ec, to_usize, vid};
use crate::layout::Layout;
use crate::lebs::{Error, PebIndex};
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::{Bytes, Clock};

/// How often an operation that failed is done again (`UBI_IO_RETRIES`).
pub(crate) const RETRIES: u32 = 3;
/// The bytes that a suspect block must hold.
const PATTERNS: [u8; 3] = [0xA5, 0x5A, 0x00];

/// The flash, and what every access needs to know.
#[derive(Debug, Clone)]
pub(crate) struct Io<M> {
    pub(crate) mtd: M,
    pub(crate) layout: Layout,
    /// Whether nothing is written any more (`ro_mode`).
    pub(crate) read_only: bool,
    /// The number of the image, for new EC headers.
    pub(crate) image_seq: u32,
    pub(crate) bitflip_threshold: u32,
}

/// Whether a read without error had bit flips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    Clean,
    Bitflips,
}

/// What was read in place of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found<T> {
    /// The header (0, `UBI_IO_BITFLIPS`).
    Header { header: T, bitflips: bool },
    /// Erased flash (`UBI_IO_FF`, `UBI_IO_FF_BITFLIPS`).
    Erased { bitflips: bool },
    /// Neither (`UBI_IO_BAD_HDR`, `UBI_IO_BAD_HDR_EBADMSG`); `ecc` after a read with bit flips or more.
    Bad { ecc: bool },
}

impl<M: Mtd> Io<M> {
    fn place(&self, peb: PebIndex, offset: u32) -> Bytes {
        Bytes::new(u64::from(peb.0) * u64::from(self.layout.peb_size) + u64::from(offset))
    }

    /// Reads from a block. The buffer holds what was read also after [`Error::is_uncorrectable`].
    pub(crate) fn read(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
        offset: u32,
        buffer: &mut [u8],
    ) -> Result<Health, Error> {
        let place = self.place(peb, offset);
        let mut retries = 0;
        loop {
            match self.mtd.read(clock, place, buffer) {
                Ok(health) if health.worst >= self.bitflip_threshold.max(1) => {
                    return Ok(Health::Bitflips);
                }
                Ok(_) => return Ok(Health::Clean),
                Err(error) => retry(error, &mut retries)?,
            }
        }
    }

    /// Reads from the data area of a block.
    pub(crate) fn read_data(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
        offset: u32,
        buffer: &mut [u8],
    ) -> Result<Health, Error> {
        self.read(clock, peb, self.layout.leb_start + offset, buffer)
    }

    /// Writes to a block.
    pub(crate) fn write(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
        offset: u32,
        data: &[u8],
    ) -> Result<(), Error> {
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        let place = self.place(peb, offset);
        Ok(self.mtd.program(clock, place, data)?)
    }

    /// Writes to the data area of a block.
    pub(crate) fn write_data(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
        offset: u32,
        data: &[u8],
    ) -> Result<(), Error> {
        self.write(clock, peb, self.layout.leb_start + offset, data)
    }

    fn erase_once(&mut self, clock: &mut Clock, peb: PebIndex) -> Result<(), Error> {
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        let mut retries = 0;
        while let Err(error) = self.mtd.erase(clock, BlockIndex(peb.0)) {
            retry(error, &mut retries)?;
        }
        Ok(())
    }

    /// Erases a block, after a test of it if `torture` says so. Returns the number of erases
    /// (`ubi_io_sync_erase`).
    pub(crate) fn erase(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
        torture: bool,
    ) -> Result<u32, Error> {
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        if self.layout.invalidates {
            self.invalidate(clock, peb)?;
        }
        let mut erases = 1;
        if torture {
            self.torture(clock, peb)?;
            erases += u32::try_from(PATTERNS.len()).expect("a few patterns");
        }
        self.erase_once(clock, peb)?;
        Ok(erases)
    }

    /// Tests whether a block can still be erased and written (`torture_peb`).
    fn torture(&mut self, clock: &mut Clock, peb: PebIndex) -> Result<(), Error> {
        let mut buffer = vec![0; to_usize(self.layout.peb_size)];
        for pattern in PATTERNS {
            self.erase_once(clock, peb)?;
            self.expect_pattern(clock, peb, 0xFF, &mut buffer)?;
            buffer.fill(pattern);
            self.write(clock, peb, 0, &buffer)?;
            self.expect_pattern(clock, peb, pattern, &mut buffer)?;
        }
        Ok(())
    }

    fn expect_pattern(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
        pattern: u8,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        match self.read(clock, peb, 0, buffer) {
            Ok(Health::Clean) if buffer.iter().all(|&byte| byte == pattern) => Ok(()),
            Ok(_) => Err(Error::Torture { peb }),
            Err(error) if error.is_uncorrectable() => Err(Error::Torture { peb }),
            Err(error) => Err(error),
        }
    }

    /// Destroys valid headers before an erase, which NOR begins by programming zeros: a power cut
    /// would leave headers with damaged data (`nor_erase_prepare`).
    fn invalidate(&mut self, clock: &mut Clock, peb: PebIndex) -> Result<(), Error> {
        let gone = |present: Result<bool, Error>| match present {
            Err(error) if error.is_power_cut() => Err(error),
            present => Ok(!present.unwrap_or(true)),
        };
        let found = self.read_ec(clock, peb);
        if !gone(found.map(|found| needs_invalidation(&found)))? {
            let place = self.place(peb, 0);
            self.mtd.program(clock, place, &[0; 4])?;
        }
        let found = self.read_vid(clock, peb);
        if !gone(found.map(|found| needs_invalidation(&found)))? {
            let place = self.place(peb, self.layout.vid_aligned);
            self.mtd.program(clock, place, &[0; 4])?;
        }
        Ok(())
    }

    /// Whether a block is marked bad.
    pub(crate) fn is_bad(&mut self, clock: &mut Clock, peb: PebIndex) -> Result<bool, Error> {
        if !self.layout.bad_blocks {
            return Ok(false);
        }
        Ok(self.mtd.is_bad(clock, BlockIndex(peb.0))?)
    }

    /// Marks a block bad.
    pub(crate) fn mark_bad(&mut self, clock: &mut Clock, peb: PebIndex) -> Result<(), Error> {
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        if self.layout.bad_blocks {
            self.mtd.mark_bad(clock, BlockIndex(peb.0))?;
        }
        Ok(())
    }

    /// Reads the EC header of a block (`ubi_io_read_ec_hdr`).
    pub(crate) fn read_ec(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
    ) -> Result<Found<EcHeader>, Error> {
        let mut bytes = [0; ec::SIZE];
        let read = self.read(clock, peb, 0, &mut bytes);
        let parsed = EcView::new(&bytes).and_then(|view| self.check_ec(view.parse()?));
        found(peb, read, parsed)
    }

    fn check_ec(&self, header: EcHeader) -> Result<EcHeader, Malformed> {
        if header.vid_offset != self.layout.vid_offset {
            return Err(Malformed::value("the offset of the VID header", header.vid_offset));
        }
        if header.data_offset != self.layout.leb_start {
            return Err(Malformed::value("the offset of the data", header.data_offset));
        }
        Ok(header)
    }

    /// Reads the VID header of a block (`ubi_io_read_vid_hdr`).
    pub(crate) fn read_vid(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
    ) -> Result<Found<VidHeader>, Error> {
        let shift = to_usize(self.layout.shift());
        let mut bytes = vec![0; shift + vid::SIZE];
        let read = self.read(clock, peb, self.layout.vid_aligned, &mut bytes);
        let view = VidView::new(&bytes[shift..]);
        let parsed = view.and_then(|view| view.parse(self.layout.leb_size));
        found(peb, read, parsed)
    }

    /// Writes an EC header with this erase counter (`ubi_io_write_ec_hdr`).
    pub(crate) fn write_ec(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
        ec: u32,
    ) -> Result<(), Error> {
        let Layout { ec_size, vid_offset, leb_start, .. } = self.layout;
        let header = EcHeader { ec, vid_offset, data_offset: leb_start, image_seq: self.image_seq };
        let mut bytes = vec![0; to_usize(ec_size)];
        bytes[..ec::SIZE].copy_from_slice(&header.bytes());
        self.write(clock, peb, 0, &bytes)
    }

    /// Writes a VID header (`ubi_io_write_vid_hdr`).
    pub(crate) fn write_vid(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
        header: &VidHeader,
    ) -> Result<(), Error> {
        let shift = to_usize(self.layout.shift());
        let mut bytes = vec![0; to_usize(self.layout.vid_size)];
        bytes[shift..shift + vid::SIZE].copy_from_slice(&header.bytes());
        self.write(clock, peb, self.layout.vid_aligned, &bytes)
    }
}

/// Counts an attempt that failed; gives up after the last.
fn retry(error: boardlab_mtd::Error, retries: &mut u32) -> Result<(), Error> {
    *retries += 1;
    let error = Error::Flash(error);
    if *retries > RETRIES || error.is_power_cut() { Err(error) } else { Ok(()) }
}

fn needs_invalidation<T>(found: &Found<T>) -> bool {
    !matches!(found, Found::Bad { .. } | Found::Erased { bitflips: false })
}

/// The kernel's verdict on a header from the result of the read and that of the checks.
fn found<T>(
    peb: PebIndex,
    read: Result<Health, Error>,
    parsed: Result<T, Malformed>,
) -> Result<Found<T>, Error> {
    let (bitflips, uncorrectable) = match read {
        Ok(health) => (health == Health::Bitflips, false),
        Err(error) if error.is_uncorrectable() => (true, true),
        Err(error) => return Err(error),
    };
    match parsed {
        Ok(header) => Ok(Found::Header { header, bitflips }),
        Err(cause @ Malformed::Value { .. }) => Err(Error::Header { peb, cause }),
        Err(Malformed::Erased) if !uncorrectable => Ok(Found::Erased { bitflips }),
        Err(Malformed::Crc { .. }) => Ok(Found::Bad { ecc: bitflips }),
        Err(_) => Ok(Found::Bad { ecc: uncorrectable }),
    }
}
