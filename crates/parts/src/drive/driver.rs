//! Board files of jobs on a drive: a controller with a queue, and its driver.
//!
//! Layer: rank 8. Main type: [`Ahci`]; function: [`read`]. The controller is an end of the link as any other; that it is
//! an AHCI one shows in the queue and in what a driver spends on a command.
//!
//! Left out: several ports, coalescing of interrupts, power states of the link.

use super::board::{end, speed};
use super::limits;
use crate::managed::values::count;
use boardlab_document::{Read, Section};
use boardlab_sata::Speed;
use boardlab_sata::disk::Driver;
use boardlab_sata::link::End;
use boardlab_sim::Duration;

/// A controller with its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ahci {
    /// What the board is, one line.
    pub name: String,
    /// The fastest speed that it has.
    pub speed: Speed,
    /// Its end of the link.
    pub end: End,
    /// How it drives a drive.
    pub driver: Driver,
}

/// Reads the section of a board.
///
/// # Errors
/// Whatever is missing, unknown or of the wrong kind, and a board without such a controller.
pub fn read(section: Section<'_>) -> Read<Ahci> {
    if !section.has("ahci") {
        section.leave_rest();
        return Err(section.refuse(
            "title",
            "tells of no controller for the jobs of a SATA drive",
            "a board with [ahci]",
            "take board = \"linux-ahci\", or add what docs/formats/board.md lists for it",
        ));
    }
    let name = section.required::<String>("title");
    let ahci = section.section("ahci", ahci);
    section.finish()?;
    Ok(Ahci { name: name?, ..ahci? })
}

fn ahci(section: Section<'_>) -> Read<Ahci> {
    let (speed, end) = (speed(&section), end(&section));
    let queue = count(&section, "queue", 1, 32);
    let largest = count(&section, "largest", 1, 65_536);
    let cost = |key| section.key::<Duration>(key).within(Duration::ZERO, limits::COMMAND);
    let (submit, complete) = (cost("submit").required(), cost("complete").required());
    section.finish()?;
    let (queue, end) = (queue?, end?.check(&section)?);
    let driver = Driver {
        queue: (queue > 1).then_some(queue),
        largest: largest?,
        submit: submit?,
        complete: complete?,
    };
    Ok(Ahci { name: String::new(), speed: speed?, end, driver })
}
