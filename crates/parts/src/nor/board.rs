//! Board files of the NOR experiment: bus and CPU.

use super::limits;
use boardlab_document::{Read, Section};
use boardlab_nor::{BusTiming, HostTiming};
use boardlab_sim::Hertz;

/// What the NOR experiment needs of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardSpec {
    /// How many parts share the bus.
    pub chips: usize,
    /// What an access costs.
    pub bus: BusTiming,
    /// The CPU.
    pub host: HostTiming,
}

/// Reads the section of a board.
///
/// # Errors
/// Whatever is missing, unknown or of the wrong kind.
pub fn read(section: Section<'_>) -> Read<BoardSpec> {
    // The title is for `boardlab list`.
    let title = section.required::<String>("title");
    let bus = section.section("bus", |bus| {
        let chips = bus.key::<u64>("chips").within(1, 16).required();
        let read_cycle = limits::some_span(&bus, "read_cycle", limits::BUS_CYCLE);
        let write_cycle = limits::some_span(&bus, "write_cycle", limits::BUS_CYCLE);
        bus.finish()?;
        let chips = usize::try_from(chips?).expect("within 16");
        Ok((chips, BusTiming { read_cycle: read_cycle?, write_cycle: write_cycle? }))
    });
    let host = section.section("cpu", cpu);
    section.finish()?;
    let ((chips, bus), _) = (bus?, title?);
    Ok(BoardSpec { chips, bus, host: host? })
}

fn cpu(section: Section<'_>) -> Read<HostTiming> {
    let fastest = Hertz::from_hz(100_000_000_000);
    let time_base = section.key::<Hertz>("time_base").within(Hertz::from_hz(1_000_000), fastest);
    let time_base = time_base.required();
    let jiffies = section.key::<Hertz>("jiffies").within(Hertz::from_hz(1), Hertz::from_hz(10_000));
    let jiffies = jiffies.required();
    let copy_rate = limits::rate(&section, "copy_rate");
    let span = |key| limits::span(&section, key, limits::SPAN);
    let (call, split, switch) = (span("call"), span("split"), span("context_switch"));
    let wake_latency = limits::times(&section, "wake_latency", limits::SPAN);
    section.finish()?;
    Ok(HostTiming {
        time_base: time_base?,
        jiffies: jiffies?,
        wake_latency: wake_latency?,
        context_switch: switch?,
        copy_rate: copy_rate?,
        call: call?,
        split: split?,
    })
}
