//! Identity: autoselect codes and the CFI query table, generated from the part.
//!
//! Layer: inside the chip. Source: JESD68 (query structure), JEP137 (command set 0002h), the
//! S29GL-P data sheet, tables 12.5 to 12.8 (primary vendor table), and the drivers that read it: Linux
//! `cfi_cmdset_0002` and u-boot `cfi_flash`.
//!
//! On a top-boot part (PRI+0Fh = 3) the region table is in reverse address order: AMD parts use one
//! table for both boot variants, and both drivers reverse it.
//!
//! Assumed: addresses outside the tables read as zero; ACC is not supported (PRI+0Dh, +0Eh).

use super::Chip;
use super::wiring::Address;
use crate::part::{Boot, Cfi, Part, Region};
use boardlab_sim::Bytes;

/// The command set of AMD and its successors.
const COMMAND_SET: u16 = 0x0002;
/// The address of the primary vendor table, unless a long region table reaches beyond it.
const PRIMARY: usize = 0x40;
/// The address of the region table.
const REGIONS: usize = 0x2D;

impl Chip {
    /// A read in autoselect mode.
    pub(super) fn autoselect(&self, address: Address) -> u16 {
        let identity = &self.part.identity;
        let code = match (self.wiring.table_index(address), identity.device_extended) {
            (0x00, _) => identity.manufacturer,
            (0x01, _) => identity.device,
            (0x02, _) => u16::from(self.protection.is_set(self.sector_at(address))),
            (0x0E, Some([second, _])) => second,
            (0x0F, Some([_, third])) => third,
            _ => 0,
        };
        self.wiring.data(code)
    }

    /// A read in the CFI query.
    pub(super) fn query(&self, address: Address) -> u16 {
        let at = usize::try_from(self.wiring.table_index(address)).expect("eight bits");
        let table = self.part.cfi.map(|cfi| table(&self.part, &cfi)).unwrap_or_default();
        table.get(at).copied().map_or(0, u16::from)
    }
}

/// The query table from address 00h on.
fn table(part: &Part, cfi: &Cfi) -> Vec<u8> {
    let mut table = vec![0; 0x10];
    let primary = PRIMARY.max(REGIONS + 4 * part.regions.len());
    table.extend(b"QRY");
    push(&mut table, COMMAND_SET);
    push(&mut table, u16::try_from(primary).unwrap_or(0));
    table.extend([0; 4]);
    table.extend(cfi.vcc);
    table.extend(cfi.vpp);
    let times = &cfi.times;
    table.extend([times.word_typical, times.buffer_typical]);
    table.extend([times.erase_typical, times.chip_typical]);
    table.extend([times.word_max, times.buffer_max, times.erase_max, times.chip_max]);
    table.push(exponent(part.size()));
    push(&mut table, cfi.interface);
    push(&mut table, part.write_buffer.map_or(0, exponent).into());
    regions(part, &mut table);
    table.resize(primary, 0);
    primary_table(part, cfi, &mut table);
    table
}

/// The number of regions, and for each the number of sectors minus one and their size in units of 256
/// bytes.
fn regions(part: &Part, table: &mut Vec<u8>) {
    table.push(u8::try_from(part.regions.len()).unwrap_or(u8::MAX));
    let mut push_region = |region: &Region| {
        push(table, u16::try_from(region.count - 1).unwrap_or(u16::MAX));
        push(table, u16::try_from(region.size.get() / 256).unwrap_or(u16::MAX));
    };
    if part.boot == Boot::Top {
        part.regions.iter().rev().for_each(&mut push_region);
    } else {
        part.regions.iter().for_each(&mut push_region);
    }
}

/// The vendor table of command set 0002h.
fn primary_table(part: &Part, cfi: &Cfi, table: &mut Vec<u8>) {
    let boot = match part.boot {
        Boot::Uniform => 4,
        Boot::Bottom => 2,
        Boot::Top => 3,
    };
    table.extend(b"PRI1");
    table.extend([cfi.primary_minor, cfi.silicon_revision]);
    table.push(if part.features.erase_suspend { 2 } else { 0 });
    table.extend([cfi.protection_group, 0, cfi.protection_scheme]);
    table.extend([0, 0, cfi.page_mode, 0, 0, boot]);
    table.push(u8::from(part.features.program_suspend));
}

/// Appends a 16-bit field, low byte first.
fn push(table: &mut Vec<u8>, value: u16) {
    table.extend(value.to_le_bytes());
}

/// The binary logarithm of a size that is a power of two.
fn exponent(size: Bytes) -> u8 {
    u8::try_from(size.get().trailing_zeros()).expect("at most 64")
}
