//! SD status, the answer to ACMD13: speed classes, the allocation unit, erase times.
//!
//! Layer: registers. Main types: [`SdStatus`], [`AllocationUnit`]. Source: SD Physical Layer Simplified
//! Specification 6.00, section 4.10.2; Linux 6.1 `drivers/mmc/core/sd.c`, `mmc_read_ssr`, reads the
//! allocation unit and the erase times from it. Left out: the address fields of video speed classes.

use super::bits::Bits;
use boardlab_sim::{Bytes, Duration};
use std::fmt;

/// The allocation unit, to which the speed classes apply: one of fifteen sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllocationUnit(u8);

impl AllocationUnit {
    /// Sizes in KiB by code, from code 1 on.
    const KIBIBYTES: [u64; 15] = [
        16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192, 12_288, 16_384, 24_576, 32_768,
        65_536,
    ];

    /// The unit of `size`; `None` when SD status cannot represent that size.
    #[must_use]
    pub fn new(size: Bytes) -> Option<Self> {
        let codes = 1..=15;
        Self::KIBIBYTES
            .iter()
            .zip(codes)
            .find(|(kib, _)| Bytes::kib(**kib) == size)
            .map(|(_, code)| Self(code))
    }

    /// The size in bytes.
    #[must_use]
    pub const fn size(self) -> Bytes {
        Bytes::kib(Self::KIBIBYTES[self.0 as usize - 1])
    }

    /// The number that the register holds.
    #[must_use]
    pub const fn code(self) -> u8 {
        self.0
    }

    /// All sizes that SD status can represent.
    pub fn sizes() -> impl Iterator<Item = Bytes> {
        Self::KIBIBYTES.into_iter().map(Bytes::kib)
    }
}

impl fmt::Display for AllocationUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.size().fmt(f)
    }
}

/// The speed classes that are printed on a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Classes {
    /// Speed class: 0, 2, 4, 6 or 10 MB/s.
    pub speed: u8,
    /// UHS speed grade: 0, 1 (10 MB/s) or 3 (30 MB/s).
    pub uhs: u8,
    /// Video speed class: 0, 6, 10, 30, 60 or 90 MB/s.
    pub video: u8,
    /// Application performance class: 0, 1 or 2.
    pub application: u8,
}

/// The maximum erase time: `timeout` for `units` allocation units, and `offset` once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EraseTime {
    /// The allocation units that are erased within the timeout; 0 where the card does not state it.
    pub units: u16,
    /// Seconds, up to 63.
    pub timeout: u8,
    /// Seconds, up to 3.
    pub offset: u8,
}

impl EraseTime {
    /// The maximum erase time of `units` allocation units; `None` where the card does not state it.
    /// Source: the specification's section 4.14.
    #[must_use]
    pub fn limit(&self, units: u64) -> Option<Duration> {
        let each = u64::from(self.timeout) * 1_000_000;
        let (erased, offset) = (u64::from(self.units), u64::from(self.offset) * 1_000_000);
        (self.units != 0).then(|| Duration::from_micros(each * units / erased + offset))
    }
}

/// The SD status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SdStatus {
    /// Whether four data lines are in use instead of one.
    pub four_lines: bool,
    /// The speed classes.
    pub classes: Classes,
    /// The allocation unit, which UHS cards report in a second field too.
    pub allocation_unit: AllocationUnit,
    /// Time of an erase.
    pub erase: EraseTime,
    /// Whether CMD38 supports discard.
    pub discard: bool,
}

impl SdStatus {
    /// The register. `None` when a value does not fit its field: an unknown speed class, a timeout
    /// beyond 63 s, an offset beyond 3 s.
    #[must_use]
    pub fn register(&self) -> Option<[u8; 64]> {
        let speed = [0, 2, 4, 6, 10].iter().position(|&class| class == self.classes.speed)?;
        let within = self.erase.timeout < 64
            && self.erase.offset < 4
            && self.classes.uhs < 16
            && self.classes.application < 16;
        let unit = u64::from(self.allocation_unit.code());
        within.then(|| {
            Bits::<64>::zero()
                .with(511, 510, if self.four_lines { 0b10 } else { 0b00 })
                .with(447, 440, speed as u64)
                .with(431, 428, unit)
                .with(423, 408, u64::from(self.erase.units))
                .with(407, 402, u64::from(self.erase.timeout))
                .with(401, 400, u64::from(self.erase.offset))
                .with(399, 396, u64::from(self.classes.uhs))
                .with(395, 392, if self.classes.uhs > 0 { unit } else { 0 })
                .with(391, 384, u64::from(self.classes.video))
                .with(339, 336, u64::from(self.classes.application))
                .with(313, 313, u64::from(self.discard))
                .0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{AllocationUnit, Classes, EraseTime, SdStatus};
    use boardlab_sim::{Bytes, Duration};

    const CLASSES: Classes = Classes { speed: 10, uhs: 1, video: 10, application: 1 };

    fn status() -> SdStatus {
        SdStatus {
            four_lines: true,
            classes: CLASSES,
            allocation_unit: AllocationUnit::new(Bytes::mib(4)).unwrap(),
            erase: EraseTime { units: 8, timeout: 1, offset: 1 },
            discard: true,
        }
    }

    #[test]
    fn fields_stand_where_linux_looks_for_them() {
        let register = status().register().unwrap();
        // The allocation unit is the upper half of byte 10, erase size bytes 11 and 12, timeout
        // the upper six bits of byte 13, grade and unit of UHS byte 14.
        assert_eq!(register[0], 0x80);
        assert_eq!(register[8..16], [4, 0, 0x90, 0, 8, 0b0000_0101, 0x19, 10]);
        assert_eq!((register[21], register[24]), (1, 0b10));
    }

    #[test]
    fn a_unit_of_three_mebibytes_cannot_be_told() {
        assert_eq!(AllocationUnit::new(Bytes::mib(3)), None);
        assert_eq!(AllocationUnit::new(Bytes::mib(12)).map(AllocationUnit::code), Some(0xB));
        for size in AllocationUnit::sizes() {
            assert_eq!(AllocationUnit::new(size).unwrap().size(), size);
        }
    }

    #[test]
    fn erase_time_grows_with_the_units_and_is_unknown_without_a_size() {
        let erase = status().erase;
        assert_eq!(erase.limit(16), Some(Duration::from_millis(3_000)));
        assert_eq!(EraseTime { units: 0, ..erase }.limit(16), None);
    }

    #[test]
    fn a_class_that_there_is_none_of_gives_no_register() {
        let classes = Classes { speed: 3, ..CLASSES };
        assert_eq!(SdStatus { classes, ..status() }.register(), None);
        let erase = EraseTime { timeout: 64, ..status().erase };
        assert_eq!(SdStatus { erase, ..status() }.register(), None);
    }
}
