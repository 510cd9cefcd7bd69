//! The ONFI parameter page: 256 bytes that describe the chip.
//!
//! Layer: inside the chip. Source: ONFI 1.0, section 5.4.1; places as in Linux 6.1 (`struct
//! nand_onfi_params`). Fields that a [`Part`] does not have are zero.

use crate::part::{BusWidth, Interface, Part};
use boardlab_sim::Duration;

/// The length of one copy of the page.
pub const LENGTH: usize = 256;

/// Byte 107: the number of guaranteed good blocks from block 0 on. [`boardlab_media::Lifetime`]
/// keeps block 0 good. 0 in bytes 108-109 states that their endurance is that of the other blocks.
const VALID_AT_THE_BEGINNING: u8 = 1;

/// The parameter page; `None` on a part that has none.
#[must_use]
pub fn page(part: &Part) -> Option<[u8; LENGTH]> {
    let onfi = part.onfi.as_ref()?;
    let mut page = [0; LENGTH];
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"ONFI");
    put(4, &onfi.revision.to_le_bytes());
    let wide = part.interface == Interface::Parallel(BusWidth::X16);
    put(6, &(onfi.features & !1 | u16::from(wide)).to_le_bytes());
    put(8, &onfi.optional_commands.to_le_bytes());
    put(32, &padded::<12>(&onfi.manufacturer));
    put(44, &padded::<20>(&onfi.model));
    put(64, &part.identity[..1]);
    let geometry = &part.geometry;
    put(80, &narrow32(geometry.page.get()).to_le_bytes());
    put(84, &narrow16(geometry.oob.get()).to_le_bytes());
    put(92, &geometry.pages_per_block.to_le_bytes());
    put(96, &geometry.blocks.to_le_bytes());
    put(100, &[1]);
    put(101, &[address_cycles(part)]);
    put(102, &[u8::try_from(part.cell.bits()).unwrap_or(u8::MAX)]);
    put(103, &narrow16(part.bad_blocks_max.into()).to_le_bytes());
    put(105, &endurance(part.endurance));
    put(107, &[VALID_AT_THE_BEGINNING]);
    put(110, &[u8::try_from(part.programs_per_page).unwrap_or(u8::MAX)]);
    put(112, &[ecc_bits(part)]);
    put(129, &onfi.timing_modes.to_le_bytes());
    put(133, &micros(part.timing.program.max).to_le_bytes());
    put(135, &micros(part.timing.erase.max).to_le_bytes());
    put(137, &micros(part.timing.read.max()).to_le_bytes());
    put(139, &narrow16(change_of_column(part).as_nanos()).to_le_bytes());
    let crc = crc(&page[..254]);
    page[254..].copy_from_slice(&crc.to_le_bytes());
    Some(page)
}

/// tCCS. A part file has no such time: a change of column waits tWHR before data out and tADL
/// before data in (the [`crate::Port`] observes both), so the longer of them is always sufficient.
fn change_of_column(part: &Part) -> Duration {
    part.timing.write_to_read.max(part.timing.address_to_data)
}

/// Byte 112 is the number of correctable bits in 512 bytes; 0xFF states another step.
fn ecc_bits(part: &Part) -> u8 {
    let need = part.ecc;
    if part.on_die_ecc.is_some() {
        return 0;
    }
    if need.step.get() > 512 { 0xFF } else { u8::try_from(need.bits).unwrap_or(u8::MAX) }
}

/// Row cycles in the low, column cycles in the high half.
fn address_cycles(part: &Part) -> u8 {
    let rows = super::ParallelChip::row_cycles(part);
    let columns = super::ParallelChip::column_cycles(part);
    u8::try_from(columns << 4 | rows).expect("a few cycles")
}

/// A value and a power of ten.
fn endurance(erases: u32) -> [u8; 2] {
    let (mut value, mut exponent) = (erases, 0);
    while value > 255 || (value >= 10 && value % 10 == 0) {
        value /= 10;
        exponent += 1;
    }
    [u8::try_from(value).expect("at most 255"), exponent]
}

/// The CRC-16 of the page: polynomial 8005h, start 4F4Eh, highest bit first.
#[must_use]
pub fn crc(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0x4F4E, |crc, &byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x8005 }
        })
    })
}

fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    field.iter_mut().zip(text.bytes()).for_each(|(byte, given)| *byte = given);
    field
}

fn micros(span: Duration) -> u16 {
    narrow16(span.as_nanos().div_ceil(1_000))
}

fn narrow16(value: u64) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

fn narrow32(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
