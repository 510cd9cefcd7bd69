//! The decoding of command FISes: opcodes, and the position of each command's address and count.
//!
//! Layer: decoding, without state. Main types: [`Request`], [`DataCommand`]. Source: ATA8-ACS, clause 7
//! (commands), 7.14 for DATA SET MANAGEMENT, 7.48 for SET FEATURES; Serial ATA Revision 3, 13.6 for
//! queued commands. Left out, and therefore aborted: PIO reads and writes, MULTIPLE, CHS addressing,
//! security, SMART, streaming.

use crate::device::drive::Drive;
use crate::wire::fis::RegisterH2d;
use boardlab_block::Extent;

/// The sectors that a count of zero stands for.
const SECTORS_MAX_28: u64 = 256;
const SECTORS_MAX_48: u64 = 65_536;
/// Device register: LBA addressing.
const LBA: u8 = 0x40;
/// The address of the NCQ command error log.
const NCQ_ERROR_LOG: u64 = 0x10;
/// DATA SET MANAGEMENT: the TRIM bit.
const TRIM: u16 = 1;
/// SET FEATURES, Serial ATA features: DMA Setup auto-activate.
const AUTO_ACTIVATE: u16 = 2;

/// A command that reads or writes sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DataCommand {
    pub(crate) extent: Extent,
    pub(crate) is_write: bool,
    /// The tag of a queued command.
    pub(crate) tag: Option<u8>,
}

/// A feature that SET FEATURES changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    WriteCache(bool),
    LookAhead(bool),
    AutoActivate(bool),
    /// The transfer mode, which has no effect on a serial link.
    TransferMode,
}

/// A decoded command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    Identify,
    Transfer(DataCommand),
    Flush,
    /// Enters a lower power state, after a flush.
    Standby,
    PowerMode,
    SetFeature(Setting),
    /// TRIM; this number of blocks of ranges follows.
    Trim(u64),
    NativeMax {
        is_28_bit: bool,
    },
    NcqErrorLog,
    Idle,
    /// A queued command whose tag exceeds the queue depth.
    InvalidTag(u8),
    /// An unknown command, or one that this drive does not support.
    Unsupported,
}

impl Request {
    /// Decodes a command FIS for `drive`.
    pub(crate) fn of(fis: &RegisterH2d, drive: &Drive) -> Self {
        match fis.command {
            0xEC => Self::Identify,
            0xC8 | 0xCA => lba28(fis),
            0x25 | 0x35 if drive.lba48 => lba48(fis),
            0x60 | 0x61 if drive.lba48 => {
                drive.queue.map_or(Self::Unsupported, |depth| queued(fis, depth))
            }
            0xE7 => Self::Flush,
            0xEA if drive.lba48 => Self::Flush,
            0xE0 | 0xE2 => Self::Standby,
            0xE1 | 0xE3 => Self::Idle,
            0xE5 => Self::PowerMode,
            0xEF => set_feature(fis),
            0x06 if drive.trims && fis.features & TRIM == TRIM => Self::Trim(count(fis.count)),
            0xF8 => Self::NativeMax { is_28_bit: true },
            0x27 if drive.lba48 => Self::NativeMax { is_28_bit: false },
            0x2F if drive.queue.is_some() && fis.lba & 0xFF == NCQ_ERROR_LOG && fis.count == 1 => {
                Self::NcqErrorLog
            }
            _ => Self::Unsupported,
        }
    }
}

fn count(count: u16) -> u64 {
    if count == 0 { SECTORS_MAX_48 } else { count.into() }
}

/// READ DMA, WRITE DMA: four bits of the address are in the device register.
fn lba28(fis: &RegisterH2d) -> Request {
    let first = fis.lba & 0xFF_FFFF | u64::from(fis.device & 0x0F) << 24;
    let count = match fis.count & 0xFF {
        0 => SECTORS_MAX_28,
        count => count.into(),
    };
    let extent = Extent::new(first, count);
    with_lba(fis, DataCommand { extent, is_write: fis.command == 0xCA, tag: None })
}

/// READ DMA EXT, WRITE DMA EXT.
fn lba48(fis: &RegisterH2d) -> Request {
    let extent = Extent::new(fis.lba, count(fis.count));
    with_lba(fis, DataCommand { extent, is_write: fis.command == 0x35, tag: None })
}

/// READ FPDMA QUEUED, WRITE FPDMA QUEUED: the count is in the features field, the tag in the count
/// field.
fn queued(fis: &RegisterH2d, depth: u32) -> Request {
    let extent = Extent::new(fis.lba, count(fis.features));
    let tag = fis.count.to_le_bytes()[0] >> 3;
    if u32::from(tag) >= depth {
        return Request::InvalidTag(tag);
    }
    let is_write = fis.command == 0x61;
    with_lba(fis, DataCommand { extent, is_write, tag: Some(tag) })
}

/// Rejects CHS addresses, which must not be interpreted as an LBA.
fn with_lba(fis: &RegisterH2d, command: DataCommand) -> Request {
    if fis.device & LBA == 0 { Request::Unsupported } else { Request::Transfer(command) }
}

fn set_feature(fis: &RegisterH2d) -> Request {
    match (fis.features & 0xFF, fis.count & 0xFF) {
        (0x02, _) => Request::SetFeature(Setting::WriteCache(true)),
        (0x82, _) => Request::SetFeature(Setting::WriteCache(false)),
        (0xAA, _) => Request::SetFeature(Setting::LookAhead(true)),
        (0x55, _) => Request::SetFeature(Setting::LookAhead(false)),
        (0x10, AUTO_ACTIVATE) => Request::SetFeature(Setting::AutoActivate(true)),
        (0x90, AUTO_ACTIVATE) => Request::SetFeature(Setting::AutoActivate(false)),
        (0x03, _) => Request::SetFeature(Setting::TransferMode),
        _ => Request::Unsupported,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::drive::WriteCache;
    use boardlab_ftl::Stripe;
    use boardlab_sim::{Bytes, Duration};

    fn drive(lba48: bool, queue: Option<u32>) -> Drive {
        Drive {
            sectors: 1 << 27,
            lba48,
            queue,
            trims: lba48,
            command: Duration::ZERO,
            stripe: Stripe::SINGLE,
            read_buffer: Bytes::kib(64),
            look_ahead: false,
            write_cache: WriteCache::Through,
            idle_after: Duration::ZERO,
            activates_early: true,
            frame: 2_048,
            identify_frame: 128,
        }
    }

    fn fis(command: u8, lba: u64, count: u16) -> RegisterH2d {
        let device = 0xE5;
        RegisterH2d { is_command: true, command, lba, count, device, ..Default::default() }
    }

    fn transfer(request: Request) -> DataCommand {
        let Request::Transfer(command) = request else { panic!("{request:?} moves no data") };
        command
    }

    #[test]
    fn each_command_is_decoded_with_its_own_address_and_count_fields() {
        let drive = drive(true, Some(8));
        let short = transfer(Request::of(&fis(0xC8, 0xFF12_3456, 0xFF00), &drive));
        assert_eq!(
            short.extent,
            Extent::new(0x512_3456, 256),
            "the count's upper byte is not of it"
        );
        let long = transfer(Request::of(&fis(0x35, 0xFF12_3456, 0), &drive));
        assert_eq!((long.extent, long.is_write), (Extent::new(0xFF12_3456, 65_536), true));
        let queued = RegisterH2d { features: 0, ..fis(0x61, 77, 7 << 3) };
        let queued = transfer(Request::of(&queued, &drive));
        assert_eq!((queued.extent, queued.tag), (Extent::new(77, 65_536), Some(7)));
    }

    #[test]
    fn a_drive_without_a_feature_does_not_support_its_commands() {
        let old = drive(false, None);
        for command in [0x25, 0x35, 0x60, 0x61, 0xEA, 0x27, 0x06, 0x2F, 0x20, 0x30, 0xB0] {
            assert_eq!(
                Request::of(&fis(command, 0x10, 1), &old),
                Request::Unsupported,
                "{command:02X}"
            );
        }
        let beyond = fis(0x60, 0, 8 << 3);
        assert_eq!(Request::of(&beyond, &drive(true, Some(8))), Request::InvalidTag(8));
        let cylinders = RegisterH2d { device: 0xA0, ..fis(0xC8, 1, 1) };
        assert_eq!(Request::of(&cylinders, &old), Request::Unsupported);
        let feature = RegisterH2d { features: 0x42, ..fis(0xEF, 0, 0) };
        assert_eq!(Request::of(&feature, &old), Request::Unsupported);
    }
}
