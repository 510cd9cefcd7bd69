//! Link rates in closed form: the best throughput of a link, computed by counting dwords.
//!
//! Layer: facts about frames, without state. Main types: [`Link`], [`Direction`]. A Data FIS of `n`
//! payload dwords occupies `n + 4` dwords on the wire (SOF, header, CRC, EOF), followed by the
//! turnaround `T`: everything from its EOF to the next SOF. A FIS without payload occupies its own
//! dwords, three more (SOF, CRC, EOF) and a turnaround. A write needs one DMA Activate for each Data
//! FIS. Two of each 256 dwords are ALIGN, which stretches everything by 256/254 on average. Every
//! result is an exact ratio in u128, rounded once.
//!
//! The engines insert ALIGNs where they fall and derive the turnaround from latencies. Tests compare
//! the engines with these formulas.
//!
//! Source: Serial ATA Revision 3, 7.2 (rates), 9.4.6 (ALIGN), 10.5 (FISes), 11 (command protocols).

use crate::link::Wiring;
use crate::wire::{Speed, align};
use crate::{LARGEST_DATA, SECTOR, SECTOR_DWORDS};
use boardlab_sim::{Bytes, Duration};

/// The dwords around the payload of a Data FIS: SOF, header, CRC, EOF.
pub const DATA_FRAMING: u64 = 4;
/// The dwords around a FIS without payload: SOF, CRC, EOF.
pub const FIS_FRAMING: u64 = 3;

/// The dwords of the FISes of a DMA command: Register in either direction, and DMA Activate.
const REGISTER: u64 = 5;
const DMA_ACTIVATE: u64 = 1;

/// The direction of a data transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Device to host: consecutive Data FISes.
    Read,
    /// Host to device: a DMA Activate before each Data FIS.
    Write,
}

/// The parameters of a link that determine its rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link {
    /// The speed.
    pub speed: Speed,
    /// The dwords from the EOF of a frame to the SOF of the next, without ALIGNs.
    pub turnaround: u64,
    /// The dwords saved by two turnarounds if the receiver of each frame sends the next: it sees SYNC
    /// earlier than the sender. Zero if only one number is known.
    pub reply_saving: u64,
}

impl Link {
    /// Returns a link on which every turnaround takes `turnaround` dwords.
    #[must_use]
    pub const fn new(speed: Speed, turnaround: u64) -> Self {
        Self { speed, turnaround, reply_saving: 0 }
    }

    /// Returns the link of `wiring` if both agents respond at once. A frame needs three round trips:
    /// X_RDY and R_RDY, EOF and R_OK, SYNC and SYNC. Each of the six dwords travels for a latency and
    /// is answered in the tick after its arrival. The receiver of the frame does not wait for the last
    /// of them.
    #[must_use]
    pub const fn of(wiring: &Wiring) -> Self {
        let round_trip = wiring.host.latency as u64 + wiring.device.latency as u64;
        Self { speed: wiring.speed, turnaround: 3 * round_trip + 5, reply_saving: round_trip }
    }

    /// Returns the dwords of one Data FIS of `payload` dwords and the FIS that it waits for, without
    /// ALIGNs.
    #[must_use]
    pub const fn data_frame(self, direction: Direction, payload: u64) -> u64 {
        let frame = payload + DATA_FRAMING + self.turnaround;
        match direction {
            Direction::Read => frame,
            Direction::Write => frame + self.short_frame(DMA_ACTIVATE) - self.reply_saving,
        }
    }

    /// Returns the dwords of a FIS of `dwords` without payload, without ALIGNs.
    #[must_use]
    pub const fn short_frame(self, dwords: u64) -> u64 {
        dwords + FIS_FRAMING + self.turnaround
    }

    /// Returns the dwords of the data phase of `sectors` sectors in Data FISes of maximum size, without
    /// ALIGNs.
    #[must_use]
    pub fn data_phase(self, direction: Direction, sectors: u64) -> u64 {
        let (largest, payload) = (u64::from(LARGEST_DATA), sectors * u64::from(SECTOR_DWORDS));
        let last = match payload % largest {
            0 => 0,
            rest => self.data_frame(direction, rest),
        };
        payload / largest * self.data_frame(direction, largest) + last
    }

    /// Returns the dwords of a DMA command: both Register FISes and the data phase, without ALIGNs.
    #[must_use]
    pub fn command(self, direction: Direction, sectors: u64) -> u64 {
        2 * self.short_frame(REGISTER) - self.reply_saving + self.data_phase(direction, sectors)
    }

    /// Returns the time of `dwords` including ALIGNs, rounded to the nearest nanosecond.
    #[must_use]
    pub fn time_of(self, dwords: u64) -> Duration {
        let nanos = u128::from(dwords) * u128::from(align::PERIOD) * 1_000_000_000;
        Duration::from_nanos(nearest(nanos, self.dwords_a_second()))
    }

    /// Returns the rate of consecutive Data FISes of 8 KiB in bytes per second, rounded to the nearest.
    #[must_use]
    pub fn rate(self, direction: Direction) -> u64 {
        let largest = u64::from(LARGEST_DATA);
        let bytes = u128::from(largest * 4) * self.dwords_a_second();
        let dwords = self.data_frame(direction, largest);
        nearest(bytes, u128::from(dwords) * u128::from(align::PERIOD))
    }

    /// Returns the rate of DMA commands of `sectors` sectors in bytes per second, rounded to the
    /// nearest. Each command costs `overhead` besides the time on the link.
    #[must_use]
    pub fn command_rate(self, direction: Direction, sectors: u64, overhead: Duration) -> u64 {
        const SECOND: u128 = 1_000_000_000;
        let bytes: Bytes = SECTOR * sectors;
        let wire = u128::from(self.command(direction, sectors)) * u128::from(align::PERIOD);
        let aside = u128::from(overhead.as_nanos()) * self.dwords_a_second();
        let scaled = u128::from(bytes.get()) * SECOND * self.dwords_a_second();
        nearest(scaled, wire * SECOND + aside)
    }

    /// Returns the dwords per second that are not ALIGN, times the period of ALIGNs.
    fn dwords_a_second(self) -> u128 {
        u128::from(self.speed.dword_clock().get()) * u128::from(align::SLOTS)
    }
}

/// Returns `numerator / denominator`, halves rounded up, or `u64::MAX` on overflow.
fn nearest(numerator: u128, denominator: u128) -> u64 {
    u64::try_from((numerator + denominator / 2) / denominator).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gen2(turnaround: u64) -> Link {
        Link::new(Speed::Gen2, turnaround)
    }

    /// Asserts that a rate is within 5,000 bytes per second of `hundredths`, in units of 10,000.
    fn close(rate: u64, hundredths: u64) {
        assert!(rate.abs_diff(hundredths * 10_000) <= 5_000, "{rate} is not {hundredths}");
    }

    #[test]
    fn a_link_without_turnaround_carries_297_megabytes_a_second_and_other_speeds_in_proportion() {
        let at = |speed| Link::new(speed, 0).rate(Direction::Read);
        close(at(Speed::Gen2), 29_708);
        // 8192 bytes in 2052 dwords, of which 254 in 256 are not ALIGN.
        let exact = 8_192 * 75_000_000_u64 * 254 / (2_052 * 256);
        assert!(at(Speed::Gen2) - exact <= 1);
        assert!(at(Speed::Gen1).abs_diff(at(Speed::Gen2) / 2) <= 1);
        assert!(at(Speed::Gen3).abs_diff(at(Speed::Gen2) * 2) <= 1);
    }

    #[test]
    fn rates_fall_with_the_turnaround_as_worked_out_by_hand() {
        for (turnaround, [first, second, third]) in [
            (0, [14_854, 29_708, 59_415]),
            (60, [14_432, 28_864, 57_727]),
            (75, [14_330, 28_660, 57_320]),
            (100, [14_164, 28_327, 56_654]),
            (150, [13_842, 27_684, 55_368]),
        ] {
            for (speed, expected) in Speed::ALL.into_iter().zip([first, second, third]) {
                close(Link::new(speed, turnaround).rate(Direction::Read), expected);
            }
        }
    }

    #[test]
    fn a_write_pays_for_a_dma_activate_with_every_data_fis() {
        for (turnaround, expected) in
            [(0, 29_650), (60, 28_020), (75, 27_634), (100, 27_020), (150, 25_870)]
        {
            let rate = gen2(turnaround).rate(Direction::Write);
            assert!(rate.abs_diff(expected * 10_000) < 100_000, "T = {turnaround}: {rate}");
            // 2T + 4 instead of T.
            assert_eq!(rate, gen2(2 * turnaround + 4).rate(Direction::Read));
        }
    }

    #[test]
    fn small_commands_pay_for_their_registers_and_their_firmware() {
        let rate = |sectors, nanos| {
            gen2(75).command_rate(Direction::Read, sectors, Duration::from_nanos(nanos))
        };
        close(rate(256, 0), 28_521);
        close(rate(2_048, 0), 28_643);
        close(rate(65_536, 0), 28_660);
        close(rate(256, 3_000), 28_336);
        close(rate(2_048, 3_000), 28_619);
        close(rate(65_536, 3_000), 28_659);
        close(rate(256, 1_000), 28_459);
        close(rate(8, 0), 24_019);
        close(rate(8, 3_000), 20_426);
    }

    #[test]
    fn two_dwords_in_256_are_align() {
        // 254 dwords take the time of 256.
        assert_eq!((align::PERIOD - align::SLOTS, align::PERIOD), (2, 256));
        for speed in Speed::ALL {
            let link = Link::new(speed, 0);
            assert_eq!(link.time_of(254 * 3), speed.time_of(256 * 3));
        }
    }

    #[test]
    fn a_short_last_data_fis_pays_for_a_frame_of_its_own() {
        let link = gen2(75);
        assert_eq!(link.data_phase(Direction::Read, 16), 2_048 + 4 + 75);
        assert_eq!(link.data_phase(Direction::Read, 17), 2_048 + 128 + 2 * (4 + 75));
        assert_eq!(link.data_phase(Direction::Write, 1), 128 + 4 + 75 + 4 + 75);
    }
}
