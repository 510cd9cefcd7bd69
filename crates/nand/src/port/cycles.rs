//! Cycles of the parallel bus and transfers of the serial one, with their times.
//!
//! Layer: rank 3, below the operations of [`Port`].

use super::{Port, PortError, Wire};
use crate::chip::{ParallelChip, Phase, Refusal};
use crate::part::Interface;
use boardlab_media::Row;
use boardlab_sim::{Clock, Duration, Hertz, Instant};

impl Port {
    /// Counts a command, and advances the clock by its command and address cycles.
    pub(super) fn command(
        &mut self,
        clock: &mut Clock,
        commands: u32,
        addresses: u32,
    ) -> Result<(), PortError> {
        self.powered(clock.now())?;
        self.counts.commands += 1;
        let cycles = u64::from(commands + addresses);
        clock.advance(self.write_cycle() * cycles + self.timing.per_command);
        Ok(())
    }

    pub(super) fn data_out(
        &mut self,
        clock: &mut Clock,
        buffer: &mut [u8],
    ) -> Result<(), PortError> {
        self.powered(clock.now())?;
        let cycles = count(buffer.len()).div_ceil(self.width());
        clock.advance(self.read_cycle() * cycles + self.timing.per_byte * count(buffer.len()));
        self.counts.bytes_out += count(buffer.len());
        self.parallel().output(clock.now(), buffer).map_err(PortError::from)
    }

    /// Performs one selection of a chip on a serial bus, with its time.
    pub(super) fn select(
        &mut self,
        clock: &mut Clock,
        out: &[u8],
        mut phase: Phase<'_>,
    ) -> Result<(), PortError> {
        self.powered(clock.now())?;
        let (data, single) = match &mut phase {
            Phase::None => (0, true),
            Phase::In(data) => {
                self.counts.bytes_in += count(data.len());
                (count(data.len()), matches!(out[0], 0x02 | 0x84))
            }
            Phase::Out(buffer) => {
                self.counts.bytes_out += count(buffer.len());
                (count(buffer.len()), !matches!(out[0], 0x3B | 0x6B))
            }
        };
        self.counts.commands += 1;
        let lanes = if single { 1 } else { self.lanes() };
        let clocks = count(out.len()) * 8 + (data * 8).div_ceil(u64::from(lanes));
        clock.advance(self.serial_clock().time_of(clocks));
        clock.advance(self.timing.per_command + self.timing.per_byte * data);
        let Wire::Serial(chip) = &mut self.wire else {
            return Err(Refusal::UnknownCommand(out[0]).into());
        };
        chip.select(clock.now(), out, phase).map_err(PortError::from)
    }

    pub(super) fn parallel(&mut self) -> &mut ParallelChip {
        match &mut self.wire {
            Wire::Parallel(chip) => chip,
            Wire::Serial(_) => unreachable!("Port: cycles of a parallel bus on a serial one"),
        }
    }

    pub(super) fn full_address_cycles(&self) -> u32 {
        ParallelChip::column_cycles(self.part()) + ParallelChip::row_cycles(self.part())
    }

    pub(super) fn full_address(
        &mut self,
        now: Instant,
        row: Row,
        column: usize,
    ) -> Result<(), PortError> {
        let rows = usize::try_from(ParallelChip::row_cycles(self.part())).expect("two or three");
        let address = ParallelChip::row_address(self.part(), row);
        let (column, columns) = self.column_bytes(column);
        let mut cycles = [0; 5];
        cycles[..columns].copy_from_slice(&column[..columns]);
        cycles[columns..columns + rows].copy_from_slice(&address[..rows]);
        Ok(self.parallel().addresses(now, &cycles[..columns + rows])?)
    }

    pub(super) fn column_address(&mut self, now: Instant, column: usize) -> Result<(), PortError> {
        let (column, columns) = self.column_bytes(column);
        Ok(self.parallel().addresses(now, &column[..columns])?)
    }

    /// The address cycles of a column, and how many of them there are.
    fn column_bytes(&self, column: usize) -> ([u8; 2], usize) {
        if self.part().is_small_page() {
            return (column_bytes(column % 256), 1);
        }
        (column_bytes(column / usize::try_from(self.width()).expect("one or two")), 2)
    }

    /// The command that selects the origin of a column of a small page.
    pub(super) const fn small_page_pointer(column: usize) -> u8 {
        match column {
            0..256 => 0x00,
            256..512 => 0x01,
            _ => 0x50,
        }
    }

    pub(super) fn write_cycle(&self) -> Duration {
        self.part().timing.write_cycle.max(self.timing.write_cycle)
    }

    pub(super) fn read_cycle(&self) -> Duration {
        self.part().timing.read_cycle.max(self.timing.read_cycle)
    }

    /// The bytes of a data cycle.
    pub(super) fn width(&self) -> u64 {
        match self.part().interface {
            Interface::Parallel(width) => width.bytes(),
            Interface::Spi { .. } => 1,
        }
    }

    pub(super) fn lanes(&self) -> u32 {
        match self.part().interface {
            Interface::Spi { lanes, .. } => lanes,
            Interface::Parallel(_) => 1,
        }
    }

    pub(super) fn serial_clock(&self) -> Hertz {
        let Interface::Spi { clock, .. } = self.part().interface else {
            unreachable!("Port: a serial clock on a parallel bus")
        };
        self.timing.clock.map_or(clock, |board| board.min(clock))
    }
}

pub(super) fn count(length: usize) -> u64 {
    u64::try_from(length).expect("a length fits u64")
}

/// A column as two address bytes, the low one first.
pub(super) fn column_bytes(column: usize) -> [u8; 2] {
    u16::try_from(column).expect("a page has fewer than 65,536 columns").to_le_bytes()
}
