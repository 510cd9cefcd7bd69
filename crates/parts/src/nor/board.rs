//! Board files of the NOR experiments: bus and CPU, and the memory of a board that runs a kernel with filesystems.
//!
//! Layer: rank 8. Main types: [`BoardSpec`], [`KernelBoard`].

use super::limits;
use crate::machine::{Cpu, Machine, Memory};
use boardlab_document::{Read, Section, keys, section};
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

/// A board whose kernel has filesystems on its NOR.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelBoard {
    /// CPU and memory.
    pub machine: Machine,
    /// The bus with the flash, and the waits of its driver.
    pub flash: BoardSpec,
}

/// Reads the section of a board. What its kernel would need for filesystems ([`OF_KERNEL`]) is read, and dropped.
pub fn read(section: Section<'_>) -> Read<BoardSpec> {
    // The title is for `boardlab list`.
    let title = section.required::<String>("title");
    // A key that is asked for is one that the scenario has: these are not.
    let there = |section: &Section<'_>, name: &str| section.keys().any(|key| key == name);
    let memory = there(&section, "memory").then(|| section.section("memory", Memory::read));
    let bus = section.section("bus", Bus::read);
    let host = section.section("cpu", |cpu| {
        let timing = timing(&cpu);
        let work = there(&cpu, "clock").then(|| Cpu::read(&cpu)).transpose();
        cpu.finish().and(work).and(timing)
    });
    section.finish()?;
    title?;
    memory.transpose()?;
    Ok(bus?.with(host?))
}

/// Keys of a board that only its kernel needs, for filesystems.
pub const OF_KERNEL: [&str; 4] =
    ["board.memory", "board.cpu.clock", "board.cpu.core", "board.cpu.work"];

/// Reads the section of a board that runs a kernel.
pub fn read_with_kernel(section: Section<'_>) -> Read<KernelBoard> {
    for key in ["bus", "memory"] {
        section.needs(
            &[key],
            "describes no NOR flash on the bus of a CPU with memory",
            "a board with [bus], [memory], and [cpu] with its timers and [cpu.core] or [cpu.work]",
            "use --set board=powerpc-800-linux, or add what that board has: boardlab list keys nor-advise",
        )?;
    }
    let title = section.required::<String>("title");
    let memory = section.section("memory", Memory::read);
    let bus = section.section("bus", Bus::read);
    let cpu = section.section("cpu", |cpu| {
        let (timing, work) = (timing(&cpu), Cpu::read(&cpu));
        cpu.finish()?;
        Ok((timing?, work?))
    });
    section.finish()?;
    let (memory, bus, (timing, cpu), _) = (memory?, bus?, cpu?, title?);
    Ok(KernelBoard { machine: Machine::new(memory, &cpu), flash: bus.with(timing) })
}

section! {
    /// The section `bus`.
    struct Bus {
        chips: u8 => within(1, 16),
        read_cycle: Duration => with(limits::some_span, limits::BUS_CYCLE),
        write_cycle: Duration => with(limits::some_span, limits::BUS_CYCLE),
    }
}

impl Bus {
    fn with(self, host: HostTiming) -> BoardSpec {
        let Self { chips, read_cycle, write_cycle } = self;
        BoardSpec { chips: chips.into(), bus: BusTiming { read_cycle, write_cycle }, host }
    }
}

/// The timers and waits of the section `cpu`.
fn timing(section: &Section<'_>) -> Read<HostTiming> {
    keys!(section => HostTiming {
        time_base: Hertz => within(Hertz::from_hz(1_000_000), Hertz::from_hz(100_000_000_000)),
        jiffies: Hertz => within(Hertz::from_hz(1), Hertz::from_hz(10_000)),
        copy_rate: Rate => with(limits::rate),
        call: Duration => up_to(limits::SPAN),
        split: Duration => up_to(limits::SPAN),
        context_switch: Duration => up_to(limits::SPAN),
        wake_latency: QuantileTable => with(limits::times, limits::SPAN),
    })
}
