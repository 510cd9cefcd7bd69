//! The bus between host and card: modes, widths, and clocks that commands and blocks take.
//!
//! Layer: below the card; it knows no flash. Main types: [`Mode`], [`Bus`].
//!
//! A command is 48 bits on its own line and is answered there with 48 or 136 bits. A block of 512
//! bytes is transferred over 1, 4 or 8 lines with a start bit, a CRC-16 for each line and an end
//! bit; with double data rate each line carries two bits a clock and has two CRCs, one for each
//! edge. After a block that is written, the card answers with a status of 5 bits and then holds
//! line 0 low while it is busy.
//!
//! Source: SD Physical Layer Simplified Specification 6.00, sections 3.6 (formats) and 4.12
//! (timing: N_CR 2 to 64 clocks, N_RC at least 8, N_WR at least 2, N_CRC 2); JESD84-B51 for eMMC.
//! Where the specification gives a range, the part file states the value.

use boardlab_sim::{Duration, Hertz};
use std::fmt;

/// Bytes of a block.
pub const BLOCK: u64 = 512;

/// The bus mode: its clock and data rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// SD default speed, 25 MHz; also the first mode after power-up.
    Default,
    /// SD and eMMC high speed: 50 MHz on SD, 52 MHz on eMMC.
    HighSpeed,
    /// UHS-I SDR12, 25 MHz.
    Sdr12,
    /// UHS-I SDR25, 50 MHz.
    Sdr25,
    /// UHS-I SDR50, 100 MHz.
    Sdr50,
    /// UHS-I DDR50, 50 MHz, both edges.
    Ddr50,
    /// UHS-I SDR104, 208 MHz.
    Sdr104,
    /// eMMC DDR52, 52 MHz, both edges.
    Ddr52,
    /// eMMC HS200, 200 MHz.
    Hs200,
    /// eMMC HS400, 200 MHz, both edges.
    Hs400,
}

impl Mode {
    /// All modes, slowest first within SD and within eMMC.
    pub const ALL: [Self; 10] = [
        Self::Default,
        Self::HighSpeed,
        Self::Sdr12,
        Self::Sdr25,
        Self::Ddr50,
        Self::Sdr50,
        Self::Sdr104,
        Self::Ddr52,
        Self::Hs200,
        Self::Hs400,
    ];

    /// The name in part files: `ddr50`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::HighSpeed => "high-speed",
            Self::Sdr12 => "sdr12",
            Self::Sdr25 => "sdr25",
            Self::Sdr50 => "sdr50",
            Self::Ddr50 => "ddr50",
            Self::Sdr104 => "sdr104",
            Self::Ddr52 => "ddr52",
            Self::Hs200 => "hs200",
            Self::Hs400 => "hs400",
        }
    }

    /// The mode called `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Whether data are transferred on both edges of the clock.
    #[must_use]
    pub const fn double(self) -> bool {
        matches!(self, Self::Ddr50 | Self::Ddr52 | Self::Hs400)
    }

    /// The highest clock that the mode allows a card of the given kind.
    #[must_use]
    pub const fn clock(self, kind: Kind) -> Option<Hertz> {
        let megahertz = match (self, kind) {
            (Self::Default | Self::Sdr12, Kind::Sd) => 25,
            (Self::HighSpeed | Self::Sdr25 | Self::Ddr50, Kind::Sd) => 50,
            (Self::Sdr50, Kind::Sd) => 100,
            (Self::Sdr104, Kind::Sd) => 208,
            (Self::Default, Kind::Emmc) => 26,
            (Self::HighSpeed | Self::Ddr52, Kind::Emmc) => 52,
            (Self::Hs200 | Self::Hs400, Kind::Emmc) => 200,
            _ => return None,
        };
        Some(Hertz::from_hz(megahertz * 1_000_000))
    }

    /// `TRAN_SPEED` of the CSD in this mode.
    #[must_use]
    pub const fn speed_code(self) -> u8 {
        match self {
            Self::HighSpeed | Self::Sdr25 => 0x5A,
            Self::Sdr50 | Self::Ddr50 => 0x0B,
            Self::Sdr104 => 0x2B,
            _ => 0x32,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The protocol of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// SD memory card.
    Sd,
    /// eMMC device.
    Emmc,
}

/// Data lines in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    /// One.
    One,
    /// Four.
    Four,
    /// Eight, eMMC only.
    Eight,
}

impl Width {
    /// The number of lines.
    #[must_use]
    pub const fn lines(self) -> u64 {
        match self {
            Self::One => 1,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// The clocks between commands and blocks, for which the specification gives a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gaps {
    /// `N_CR`: from a command to its response, 2 to 64 clocks.
    pub response: u64,
    /// `N_RC`: from a response to the next command, at least 8 clocks.
    pub next_command: u64,
    /// `N_WR`: from a response, or from the end of busy, to the next block written; at least 2 clocks.
    pub write: u64,
    /// Between two blocks that are read, at least 2 clocks.
    pub read: u64,
}

impl Gaps {
    /// The least that the specification allows.
    pub const LEAST: Self = Self { response: 2, next_command: 8, write: 2, read: 2 };
}

/// A bus in one mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bus {
    mode: Mode,
    width: Width,
    clock: Hertz,
    gaps: Gaps,
}

/// The bits of a command, and of a short response.
const COMMAND: u64 = 48;
/// CRC-16 of a line, for each edge.
const CRC: u64 = 16;
/// Start bit and end bit.
const FRAME: u64 = 2;
/// `N_CRC`: from the end of a block to the card's status.
const BEFORE_STATUS: u64 = 2;
/// Start bit, three bits, end bit.
const STATUS: u64 = 5;

impl Bus {
    /// A bus of `mode` and `width` at the highest clock, or at `clock` where a host is slower.
    ///
    /// `None` when the kind of card has no such mode or width, or the clock is beyond the mode's.
    #[must_use]
    pub fn new(
        kind: Kind,
        mode: Mode,
        width: Width,
        clock: Option<Hertz>,
        gaps: Gaps,
    ) -> Option<Self> {
        let highest = mode.clock(kind)?;
        let clock = clock.unwrap_or(highest);
        let narrow = match (kind, mode) {
            (Kind::Sd, Mode::Default | Mode::HighSpeed) => Width::One,
            (Kind::Sd, _) | (Kind::Emmc, Mode::Ddr52 | Mode::Hs200) => Width::Four,
            (Kind::Emmc, Mode::Hs400) => Width::Eight,
            (Kind::Emmc, _) => Width::One,
        };
        let widest = if kind == Kind::Sd { Width::Four } else { Width::Eight };
        let fits = clock <= highest && (narrow..=widest).contains(&width);
        fits.then_some(Self { mode, width, clock, gaps })
    }

    /// The mode.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Data lines.
    #[must_use]
    pub const fn width(&self) -> Width {
        self.width
    }

    /// The clock.
    #[must_use]
    pub const fn clock(&self) -> Hertz {
        self.clock
    }

    /// The time of a command, its short response, and the gap to the next command.
    #[must_use]
    pub fn command(&self) -> Duration {
        self.clock.time_of(2 * COMMAND + self.gaps.response + self.gaps.next_command)
    }

    /// The clocks of one block on the data lines, from start bit to end bit.
    #[must_use]
    pub const fn block_clocks(&self) -> u64 {
        let bits = BLOCK * 8 / self.width.lines();
        let payload = if self.mode.double() { bits / 2 } else { bits };
        payload + CRC + FRAME
    }

    /// The time of `blocks` consecutive block writes without busy: gap, block, status.
    #[must_use]
    pub fn write(&self, blocks: u64) -> Duration {
        self.clock
            .time_of(blocks * (self.gaps.write + self.block_clocks() + BEFORE_STATUS + STATUS))
    }

    /// The time of `blocks` consecutive block reads.
    #[must_use]
    pub fn read(&self, blocks: u64) -> Duration {
        self.clock.time_of(blocks * (self.gaps.read + self.block_clocks()))
    }

    /// The bytes a second of the data lines without any gap: an upper bound for every card.
    #[must_use]
    pub const fn raw(&self) -> u64 {
        let edges = if self.mode.double() { 2 } else { 1 };
        self.clock.get() * self.width.lines() * edges / 8
    }
}

#[cfg(test)]
mod tests {
    use super::{Bus, Gaps, Kind, Mode, Width};
    use boardlab_sim::{Duration, Hertz};

    fn sd(mode: Mode) -> Bus {
        Bus::new(Kind::Sd, mode, Width::Four, None, Gaps::LEAST).unwrap()
    }

    #[test]
    fn raw_rates_are_those_of_the_modes_names() {
        let megabytes = |mode| sd(mode).raw() / 1_000;
        assert_eq!(megabytes(Mode::Default), 12_500);
        assert_eq!(megabytes(Mode::HighSpeed), 25_000);
        assert_eq!(megabytes(Mode::Ddr50), 50_000);
        assert_eq!(megabytes(Mode::Sdr50), 50_000);
        assert_eq!(megabytes(Mode::Sdr104), 104_000);
        let hs400 = Bus::new(Kind::Emmc, Mode::Hs400, Width::Eight, None, Gaps::LEAST).unwrap();
        assert_eq!(hs400.raw(), 400_000_000);
    }

    #[test]
    fn a_block_has_one_crc_for_each_line_and_edge() {
        assert_eq!(sd(Mode::HighSpeed).block_clocks(), 1_024 + 16 + 2);
        assert_eq!(sd(Mode::Ddr50).block_clocks(), 512 + 16 + 2);
        let one = Bus::new(Kind::Sd, Mode::Default, Width::One, None, Gaps::LEAST).unwrap();
        assert_eq!(one.block_clocks(), 4_096 + 16 + 2);
    }

    #[test]
    fn blocks_written_at_ddr50_reach_forty_seven_megabytes_a_second() {
        // 2 + 530 + 2 + 5 clocks of 20 ns for 512 bytes.
        assert_eq!(sd(Mode::Ddr50).write(1), Duration::from_nanos(539 * 20));
        assert_eq!(sd(Mode::Ddr50).write(64), Duration::from_nanos(64 * 539 * 20));
    }

    #[test]
    fn a_command_takes_its_bits_and_the_gaps() {
        assert_eq!(sd(Mode::Default).command(), Duration::from_nanos((96 + 2 + 8) * 40));
    }

    #[test]
    fn what_a_card_does_not_have_is_refused() {
        let new = |kind, mode, width, clock| Bus::new(kind, mode, width, clock, Gaps::LEAST);
        assert_eq!(new(Kind::Sd, Mode::Hs400, Width::Eight, None), None);
        assert_eq!(new(Kind::Sd, Mode::Ddr50, Width::One, None), None, "UHS-I has four lines");
        assert_eq!(new(Kind::Sd, Mode::HighSpeed, Width::Eight, None), None);
        assert_eq!(new(Kind::Emmc, Mode::Hs400, Width::Four, None), None);
        let fast = Some(Hertz::from_hz(51_000_000));
        assert_eq!(new(Kind::Sd, Mode::Ddr50, Width::Four, fast), None);
    }

    #[test]
    fn every_mode_is_found_by_its_name() {
        for mode in Mode::ALL {
            assert_eq!(Mode::named(mode.name()), Some(mode));
        }
        assert_eq!(Mode::named("DDR50"), None);
    }
}
