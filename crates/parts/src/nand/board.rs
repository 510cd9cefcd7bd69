//! Board files of the NAND experiment: CPU, memory and the way to the flash.
//!
//! Layer: rank 8. Main types: [`BoardSpec`], and [`Port`], the two constants that the publication
//! leaves undetermined: they stand in the file twice, as nothing (the part's data sheet alone) and
//! as fitted. Leaves out: interrupts, other tasks, DMA.

use super::limits;
use boardlab_document::{Read, Section};
use boardlab_sim::{Bytes, Duration, Hertz};
use boardlab_vfs::{Cost, Host, Work};

/// What the NAND experiment needs of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardSpec {
    /// Memory in all.
    pub ram: Bytes,
    /// Of it, what the kernel takes.
    pub kernel: Bytes,
    /// The CPU's clock.
    pub clock: Hertz,
    /// Cycles of each kind of work, in the order of [`Work::ALL`].
    pub costs: [Cost; Work::ALL.len()],
    /// The way to the flash as the part's data sheet has it.
    pub data_sheet: Port,
    /// The way to the flash as it fits the print.
    pub fitted: Port,
}

/// What the CPU's way to the flash adds to the part's own times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Port {
    /// To each command: software, chip select, waiting.
    pub per_command: Duration,
    /// To each byte that moves: programmed input and output, software error correction.
    pub per_byte: Duration,
}

impl BoardSpec {
    /// The CPU.
    #[must_use]
    pub fn host(&self) -> Host {
        Host::new(self.clock, |work| self.costs[work as usize])
    }

    /// Memory that is left to the page cache.
    #[must_use]
    pub fn page_cache(&self) -> Bytes {
        self.ram - self.kernel
    }
}

/// Reads the section of a board.
///
/// # Errors
/// Whatever is missing, unknown or of the wrong kind.
pub fn read(section: Section<'_>) -> Read<BoardSpec> {
    if !section.has("nand_port") {
        section.leave_rest();
        return Err(section.refuse(
            "title",
            "tells of no way to a NAND flash",
            "a board with [nand_port], [memory] and [cpu.work]",
            "take board = \"mips-327\", or add what docs/formats/board.md lists for NAND",
        ));
    }
    // The title is for `boardlab list`.
    let title = section.required::<String>("title");
    let memory = section.section("memory", memory);
    let cpu = section.section("cpu", cpu);
    let ports = section.section("nand_port", |port| {
        let own = constants(&port);
        let fitted = port.section("fitted", |fitted| {
            let constants = constants(&fitted);
            fitted.finish()?;
            constants
        });
        port.finish()?;
        Ok((own?, fitted?))
    });
    section.finish()?;
    let ((ram, kernel), (clock, costs), _) = (memory?, cpu?, title?);
    let (data_sheet, fitted) = ports?;
    Ok(BoardSpec { ram, kernel, clock, costs, data_sheet, fitted })
}

fn memory(section: Section<'_>) -> Read<(Bytes, Bytes)> {
    let within = |key| section.key::<Bytes>(key).within(Bytes::mib(1), limits::RAM).required();
    let (ram, kernel) = (within("ram"), within("kernel"));
    section.finish()?;
    let (ram, kernel) = (ram?, kernel?);
    if kernel < ram {
        return Ok((ram, kernel));
    }
    Err(section.refuse(
        "kernel",
        &format!("leaves nothing of the memory of {ram}"),
        &format!("a size below {ram}"),
        "compare `memory.ram` with `memory.kernel`",
    ))
}

fn cpu(section: Section<'_>) -> Read<(Hertz, [Cost; Work::ALL.len()])> {
    let (slowest, fastest) = (Hertz::from_hz(1_000_000), Hertz::from_hz(100_000_000_000));
    let clock = section.key::<Hertz>("clock").within(slowest, fastest).required();
    let costs = section.section("work", |work| {
        // Every kind is read before the first error counts, so that all errors are shown.
        let each = Work::ALL.map(|kind| work.section(kind.name(), cost));
        work.finish()?;
        let mut costs = [Cost::default(); Work::ALL.len()];
        for (place, cost) in costs.iter_mut().zip(each) {
            *place = cost?;
        }
        Ok(costs)
    });
    section.finish()?;
    Ok((clock?, costs?))
}

fn cost(section: Section<'_>) -> Read<Cost> {
    let cycles = |key| section.key::<u64>(key).within(0, limits::CYCLES).required();
    let (each, per_kib) = (cycles("each"), cycles("per_kib"));
    section.finish()?;
    Ok(Cost { each: each?, per_kib: per_kib? })
}

fn constants(section: &Section<'_>) -> Read<Port> {
    let span = |key, most| section.key::<Duration>(key).within(Duration::ZERO, most).required();
    let per_command = span("per_command", limits::PER_COMMAND);
    let per_byte = span("per_byte", limits::PER_BYTE);
    Ok(Port { per_command: per_command?, per_byte: per_byte? })
}
