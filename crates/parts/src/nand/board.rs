//! Board files of the NAND experiment: CPU, memory and the port to the flash.
//!
//! Layer: rank 8. Main types: [`BoardSpec`], and [`Port`], two constants. Of the published board, where the
//! publication does not determine them, the file has them twice: as zero (the part's data sheet alone) and fitted.

use super::limits;
use crate::machine::{Cpu, Machine, Memory};
use boardlab_document::{Read, Section, keys, section};
use boardlab_sim::Duration;

/// What the NAND experiment needs of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardSpec {
    /// CPU and memory.
    pub machine: Machine,
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
    let cpu = section.section("cpu", |cpu| {
        let read = Cpu::read(&cpu);
        cpu.finish().and(read)
    });
    let ports = section.section("nand_port", Ports::read);
    section.finish()?;
    let (machine, _) = (Machine::new(memory?, &cpu?), title?);
    let Ports { port, fitted } = ports?;
    Ok(BoardSpec { machine, port, fitted })
}

fn constants(section: &Section<'_>) -> Read<Port> {
    keys!(section => Port {
        per_command: Duration => up_to(limits::PER_COMMAND),
        per_byte: Duration => up_to(limits::PER_BYTE),
    })
}
