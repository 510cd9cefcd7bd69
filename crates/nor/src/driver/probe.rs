//! Identification of a chip by bus cycles: the CFI query (JESD68).
//!
//! Main type: [`CfiInfo`]. Drivers know only what [`probe`] returns, never the part file.

use crate::bus::{Bus, ChipIndex};
use crate::chip::Address;
use boardlab_sim::{Bytes, Clock};
use std::fmt;

/// The data of the CFI query table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CfiInfo {
    /// 1Fh: typical word program in microseconds.
    pub word_typical_us: u64,
    /// 23h with 1Fh: maximum word program in microseconds.
    pub word_max_us: u64,
    /// 20h: typical buffer program in microseconds.
    pub buffer_typical_us: u64,
    /// 24h with 20h: maximum buffer program in microseconds.
    pub buffer_max_us: u64,
    /// 21h: typical sector erase in milliseconds.
    pub erase_typical_ms: u64,
    /// 25h with 21h: maximum sector erase in milliseconds.
    pub erase_max_ms: u64,
    /// 2Ah: write buffer; `None` without one.
    pub write_buffer: Option<Bytes>,
    /// 27h: size of the device.
    pub size: Bytes,
    /// 2Dh on: sectors and their sizes in address order.
    pub regions: Vec<(u32, Bytes)>,
    /// Minor version of the primary table as a number.
    pub primary_minor: u8,
}

impl CfiInfo {
    /// The typical time of a buffer program, or of a word program on a part without a buffer.
    #[must_use]
    pub fn program_typical_us(&self) -> u64 {
        self.write_buffer.map_or(self.word_typical_us, |_| self.buffer_typical_us)
    }

    /// The maximum time of a buffer program, or of a word program on a part without a buffer.
    #[must_use]
    pub fn program_max_us(&self) -> u64 {
        self.write_buffer.map_or(self.word_max_us, |_| self.buffer_max_us)
    }
}

/// Why the query failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeError {
    /// No `QRY` at 10h: the part predates CFI, or there is no part.
    NoCfi {
        /// The bytes read instead.
        found: [u8; 3],
    },
    /// A command set other than AMD's (0002h).
    CommandSet {
        /// The command set's number.
        found: u16,
    },
    /// The region table does not add up to the size of the device.
    Regions {
        /// The sum of the regions.
        sum: Bytes,
        /// The size at 27h.
        size: Bytes,
    },
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCfi { found } => write!(
                f,
                "the part has no CFI table: expected \"QRY\" at 10h, found {:02x} {:02x} {:02x}",
                found[0], found[1], found[2]
            ),
            Self::CommandSet { found } => {
                write!(f, "the part has command set {found:04x}h: expected 0002h (AMD)")
            }
            Self::Regions { sum, size } => {
                write!(f, "the CFI regions add up to {sum}: expected the device's size of {size}")
            }
        }
    }
}

impl std::error::Error for ProbeError {}

/// Queries the first chip of the bus and leaves it in array mode.
///
/// # Errors
/// If there is no valid CFI table of the AMD command set.
pub fn probe(bus: &mut Bus, clock: &mut Clock) -> Result<CfiInfo, ProbeError> {
    let chip = ChipIndex(0);
    // In x8 a word address is doubled: the chip sees A-1 as its lowest address line.
    let scale = if bus.word() == Bytes::new(1) { 2 } else { 1 };
    bus.write(clock, chip, Address(0), 0xF0);
    bus.write(clock, chip, Address(0x55 * scale), 0x98);
    let query: Vec<u8> =
        (0..0x60).map(|at| bus.read(clock, chip, Address(at * scale)).to_le_bytes()[0]).collect();
    bus.write(clock, chip, Address(0), 0xF0);
    parse(&query)
}

fn parse(query: &[u8]) -> Result<CfiInfo, ProbeError> {
    let found = [query[0x10], query[0x11], query[0x12]];
    if &found != b"QRY" {
        return Err(ProbeError::NoCfi { found });
    }
    let word = |at: usize| u16::from_le_bytes([query[at], query[at + 1]]);
    if word(0x13) != 0x0002 {
        return Err(ProbeError::CommandSet { found: word(0x13) });
    }
    let power = |at: usize| 1_u64 << query[at].min(30);
    let region = |index: usize| {
        let at = 0x2D + 4 * index;
        let size = Bytes::new(256) * u64::from(word(at + 2)).max(1);
        let size = if word(at + 2) == 0 { Bytes::new(128) } else { size };
        (u32::from(word(at)) + 1, size)
    };
    let mut regions: Vec<_> = (0..usize::from(query[0x2C]).min(4)).map(region).collect();
    let primary = usize::from(word(0x15));
    // A top-boot part (PRI+0Fh = 3) lists its regions from the top down; drivers reverse them.
    if query.get(primary + 0x0F) == Some(&3) {
        regions.reverse();
    }
    let sum = regions.iter().map(|&(count, size)| size * u64::from(count)).sum();
    let size = Bytes::new(power(0x27));
    if sum != size {
        return Err(ProbeError::Regions { sum, size });
    }
    let minor = query.get(primary + 4).copied().unwrap_or(b'0');
    Ok(CfiInfo {
        word_typical_us: power(0x1F),
        word_max_us: power(0x1F) * power(0x23),
        buffer_typical_us: power(0x20),
        buffer_max_us: power(0x20) * power(0x24),
        erase_typical_ms: power(0x21),
        erase_max_ms: power(0x21) * power(0x25),
        write_buffer: (word(0x2A) != 0).then(|| Bytes::new(power(0x2A))),
        size,
        regions,
        primary_minor: minor.wrapping_sub(b'0'),
    })
}
