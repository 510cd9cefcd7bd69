//! The MMU: translation tables and permissions.
//!
//! Layer: rank 3. [`walk`] converts descriptors to an [`Entry`]; [`permits`] evaluates its permission
//! bits. The caller supplies the reader: the core's takes bus cycles, a debugger's none, and neither
//! uses the data cache. Source: ARM DDI 0100E, B3; DDI 0198D, chapter 3. A tiny page in a coarse table,
//! unpredictable there, is a translation fault here.

use super::AbortKind;
use super::tlb::Entry;
use crate::address::{Modified, Physical};

/// A failed walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The kind of abort.
    pub(crate) kind: AbortKind,
    /// The domain, if known.
    pub(crate) domain: u8,
}

/// The memory attributes of a region, with the data cache on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Region {
    /// Strongly ordered: neither cached nor buffered.
    Strong,
    /// Buffered but not cached.
    Buffered,
    /// Cached; writes also go to memory.
    WriteThrough,
    /// Cached; writes stay in the cache.
    WriteBack,
}

impl Region {
    /// Whether accesses look up the cache.
    #[inline]
    pub(crate) const fn is_cached(self) -> bool {
        matches!(self, Self::WriteThrough | Self::WriteBack)
    }

    /// The attributes by the B bit and the effective C bit.
    #[inline]
    pub(crate) const fn of(cacheable: bool, bufferable: bool) -> Self {
        match (cacheable, bufferable) {
            (false, false) => Self::Strong,
            (false, true) => Self::Buffered,
            (true, false) => Self::WriteThrough,
            (true, true) => Self::WriteBack,
        }
    }
}

/// Walks the tables at `table` for `at`.
pub(crate) fn walk(
    table: u32,
    at: Modified,
    mut read: impl FnMut(Physical) -> Option<u32>,
) -> Result<Entry, Fault> {
    let first = table & !0x3FFF | at.0 >> 20 << 2;
    let Some(descriptor) = read(Physical(first)) else {
        return Err(Fault { kind: AbortKind::FirstLevelExternal, domain: 0 });
    };
    let domain = field(descriptor, 5, 0xF);
    let second = match descriptor & 3 {
        0b01 => descriptor & !0x3FF | (at.0 >> 12 & 0xFF) << 2,
        0b11 => descriptor & !0xFFF | (at.0 >> 10 & 0x3FF) << 2,
        0b10 => {
            let entry = leaf(at, descriptor, 20, field(descriptor, 10, 3));
            return Ok(Entry { domain, section: true, first, ..entry });
        }
        _ => return Err(Fault { kind: AbortKind::SectionTranslation, domain: 0 }),
    };
    let fine = descriptor & 3 == 0b11;
    let Some(descriptor) = read(Physical(second)) else {
        return Err(Fault { kind: AbortKind::SecondLevelExternal, domain });
    };
    let entry = match descriptor & 3 {
        0b01 => page(at, descriptor, 16),
        0b10 => page(at, descriptor, 12),
        0b11 if fine => leaf(at, descriptor, 10, field(descriptor, 4, 3)),
        _ => return Err(Fault { kind: AbortKind::PageTranslation, domain }),
    };
    Ok(Entry { domain, first, second, ..entry })
}

fn field(value: u32, shift: u32, mask: u32) -> u8 {
    (value >> shift & mask).to_le_bytes()[0]
}

/// A page of four sub-pages: all of it if their permissions are equal, otherwise that of `at`.
fn page(at: Modified, descriptor: u32, shift: u8) -> Entry {
    let permissions = field(descriptor, 4, 0xFF);
    let part = at.0 >> (shift - 2) & 3;
    let permission = permissions >> (2 * part) & 3;
    let whole = permissions == permission * 0x55;
    let entry = leaf(at, descriptor, shift, permission);
    if whole {
        return entry;
    }
    let small = leaf(at, descriptor, shift - 2, permission);
    Entry { physical: entry.physical | at.0 & !entry.mask & small.mask, ..small }
}

fn leaf(at: Modified, descriptor: u32, shift: u8, permission: u8) -> Entry {
    let mask = !((1_u32 << shift) - 1);
    Entry {
        base: at.0 & mask,
        mask,
        physical: descriptor & mask,
        first: 0,
        second: 0,
        shift,
        permission,
        domain: 0,
        cacheable: descriptor & 8 != 0,
        bufferable: descriptor & 4 != 0,
        section: false,
    }
}

/// Whether permission bits allow an access. `system_rom` is S (bit 0) and R (bit 1) of the control
/// register; both together, which is unpredictable, allow nothing.
#[inline]
pub(crate) const fn permits(
    permission: u8,
    system_rom: u32,
    privileged: bool,
    write: bool,
) -> bool {
    match permission {
        0 => !write && (system_rom == 1 && privileged || system_rom == 2),
        1 => privileged,
        2 => privileged || !write,
        _ => true,
    }
}
