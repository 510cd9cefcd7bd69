//! Board files of the NAND experiment: CPU, memory and the port to the flash.
//!
//! Layer: rank 8. Main types: [`BoardSpec`], and [`Port`], two constants. Of the published board, where the
//! publication does not determine them, the file has them twice: as zero (the part's data sheet alone) and fitted.
//! Left out: interrupts, other tasks, DMA.

use super::cpu_core::{self, Core};
use super::limits;
use boardlab_document::{Read, Section, fields, keys, section};
use boardlab_sim::{Bytes, Duration, Hertz};
use boardlab_vfs::{Cost, Host, Work};

/// What the NAND experiment needs of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardSpec {
    /// The size of the memory.
    pub ram: Bytes,
    /// The memory that the kernel takes.
    pub kernel: Bytes,
    /// The CPU's clock.
    pub clock: Hertz,
    /// Cycles of each kind of work, in the order of [`Work::ALL`].
    pub costs: [Cost; Work::ALL.len()],
    /// The port; with zeros, the times of the part's data sheet alone.
    pub port: Port,
    /// The port fitted to published figures, where there are any.
    pub fitted: Option<Port>,
}

/// The time that the port of the CPU adds to the times of the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Port {
    /// Added to each command: software, chip select, waiting.
    pub per_command: Duration,
    /// Added to each transferred byte: programmed I/O, software ECC.
    pub per_byte: Duration,
}

section! {
    /// The section `nand_port`.
    struct Ports(section) {
        port: Port = constants(&section),
        fitted: Option<Port> => optional_section(|fitted| {
            let constants = constants(&fitted);
            fitted.finish().and(constants)
        }),
    }
}

section! {
    /// The section `memory`.
    struct Memory(section) {
        ram: Bytes => within(Bytes::mib(1), limits::RAM),
        kernel: Bytes => within(Bytes::mib(1), limits::RAM),
    }
    check(ram, kernel) {
        if kernel >= ram {
            let problem = format!("leaves nothing of the memory of {ram}");
            let expected = format!("a size below {ram}");
            let help = "compare `memory.ram` with `memory.kernel`";
            return Err(section.refuse("kernel", &problem, &expected, help));
        }
    }
}

section! {
    /// The section `cpu`: the cycles of each kind of work, or the core from which they follow.
    struct Cpu(section) {
        clock: Hertz => within(Hertz::from_hz(1_000_000), Hertz::from_hz(100_000_000_000)),
        core: Option<Core> => optional_section(Core::read),
        work: Option<[Cost; Work::ALL.len()]> = {
            match core {
                Ok(None) => section.section("work", work).map(Some),
                _ if section.has("work") => {
                    let problem = "stands beside `core`, from which all costs follow";
                    let help = "leave one of them out; a board that extends another has its costs";
                    Err(section.refuse("work", problem, "either `core` or `work`", help))
                }
                _ => Ok(None),
            }
        },
    }
}

impl Cpu {
    /// The cost of each kind of work.
    fn costs(&self) -> [Cost; Work::ALL.len()] {
        let derived = |core: Core| Work::ALL.map(|kind| core.cost(self.clock, kind));
        self.work.or_else(|| self.core.map(derived)).expect("one of both was read")
    }
}

/// Whether the cost of a kind of work depends on `cpu.core.push`.
#[must_use]
pub fn pushes(work: Work) -> bool {
    cpu_core::pushes(work)
}

impl BoardSpec {
    /// The CPU.
    #[must_use]
    pub fn host(&self) -> Host {
        Host::new(self.clock, |work| self.costs[work as usize])
    }

    /// The memory of the page cache.
    #[must_use]
    pub fn page_cache(&self) -> Bytes {
        self.ram - self.kernel
    }
}

/// Reads the section of a board.
pub fn read(section: Section<'_>) -> Read<BoardSpec> {
    section.needs(
        &["nand_port"],
        "describes no port to a NAND flash",
        "a board with [nand_port], [memory], and [cpu.core] or [cpu.work]",
        "use --set board=mips-327, or add what that board has: boardlab list keys nand-filesystems",
    )?;
    // The title is for `boardlab list`.
    let title = section.required::<String>("title");
    let memory = section.section("memory", Memory::read);
    let cpu = section.section("cpu", Cpu::read);
    let ports = section.section("nand_port", Ports::read);
    section.finish()?;
    let (Memory { ram, kernel }, cpu, _) = (memory?, cpu?, title?);
    let Ports { port, fitted } = ports?;
    Ok(BoardSpec { ram, kernel, clock: cpu.clock, costs: cpu.costs(), port, fitted })
}

fn work(section: Section<'_>) -> Read<[Cost; Work::ALL.len()]> {
    // Every kind is read before the first error is returned, so that all errors are shown.
    let each = Work::ALL.map(|kind| section.section(kind.name(), cost));
    section.finish()?;
    let mut costs = [Cost::default(); Work::ALL.len()];
    for (place, cost) in costs.iter_mut().zip(each) {
        *place = cost?;
    }
    Ok(costs)
}

fn cost(section: Section<'_>) -> Read<Cost> {
    fields!(section => Cost {
        each: u64 => up_to(limits::CYCLES),
        per_kib: u64 => up_to(limits::CYCLES),
    })
}

fn constants(section: &Section<'_>) -> Read<Port> {
    keys!(section => Port {
        per_command: Duration => up_to(limits::PER_COMMAND),
        per_byte: Duration => up_to(limits::PER_BYTE),
    })
}
