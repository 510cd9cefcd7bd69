//! Board files of the NOR experiment: bus and CPU.

use super::limits;
use boardlab_document::{Read, Section, fields, section};
use boardlab_nor::{BusTiming, HostTiming};
use boardlab_sim::{Duration, Hertz, QuantileTable, Rate};

/// The properties of a board that the NOR experiment needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardSpec {
    /// The number of parts on the bus.
    pub chips: usize,
    /// The timing of an access.
    pub bus: BusTiming,
    /// The CPU.
    pub host: HostTiming,
}

/// Reads the section of a board.
pub fn read(section: Section<'_>) -> Read<BoardSpec> {
    // The title is for `boardlab list`.
    let title = section.required::<String>("title");
    let bus = section.section("bus", Bus::read);
    let host = section.section("cpu", cpu);
    section.finish()?;
    let (Bus { chips, read_cycle, write_cycle }, _) = (bus?, title?);
    let bus = BusTiming { read_cycle, write_cycle };
    Ok(BoardSpec { chips: chips.into(), bus, host: host? })
}

section! {
    /// The section `bus`.
    struct Bus {
        chips: u8 => within(1, 16),
        read_cycle: Duration => with(limits::some_span, limits::BUS_CYCLE),
        write_cycle: Duration => with(limits::some_span, limits::BUS_CYCLE),
    }
}

fn cpu(section: Section<'_>) -> Read<HostTiming> {
    fields!(section => HostTiming {
        time_base: Hertz => within(Hertz::from_hz(1_000_000), Hertz::from_hz(100_000_000_000)),
        jiffies: Hertz => within(Hertz::from_hz(1), Hertz::from_hz(10_000)),
        copy_rate: Rate => with(limits::rate),
        call: Duration => up_to(limits::SPAN),
        split: Duration => up_to(limits::SPAN),
        context_switch: Duration => up_to(limits::SPAN),
        wake_latency: QuantileTable => with(limits::times, limits::SPAN),
    })
}
