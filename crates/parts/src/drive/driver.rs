//! Board files for fio jobs on a drive: an AHCI controller with a command queue, and its driver.
//!
//! Layer: rank 8. Main type: [`Ahci`]; function: [`read`]. The controller is an ordinary end of the
//! link; AHCI determines its queue and the driver's cost of a command.
//!
//! Left out: several ports, coalescing of interrupts, power states of the link.

use super::board::{Port, SPEEDS, check_end, end};
use super::limits;
use boardlab_document::{Read, Section, section};
use boardlab_sata::Speed;
use boardlab_sata::disk::Driver;
use boardlab_sata::link::End;
use boardlab_sim::Duration;

/// A controller with its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ahci {
    /// The title of the board.
    pub name: String,
    /// What a drive is connected to.
    pub port: Port,
    /// How it drives a drive.
    pub driver: Driver,
}

/// Reads the section of a board.
///
/// # Errors
/// Whatever is missing, unknown or of the wrong kind, and a board without such a controller.
pub fn read(section: Section<'_>) -> Read<Ahci> {
    section.needs(
        &["ahci"],
        "describes no controller for jobs on a SATA drive",
        "a board with [ahci]",
        "use --set board=linux-ahci, or add what that board has: boardlab list keys drive-fio",
    )?;
    let name = section.required("title");
    let ahci = section.section("ahci", Controller::read);
    section.finish()?;
    let (name, Controller { speed, end, queue, largest, submit, complete }) = (name?, ahci?);
    let driver = Driver { queue: (queue > 1).then_some(queue), largest, submit, complete };
    Ok(Ahci { name, port: Port { speed, end }, driver })
}

section! {
    /// The section `ahci`.
    struct Controller(section) {
        speed: Speed => one_of(SPEEDS),
        end: End = end(&section) => check_end,
        queue: u32 => within(1, 32),
        largest: u32 => within(1, 65_536),
        submit: Duration => up_to(limits::COMMAND),
        complete: Duration => up_to(limits::COMMAND),
    }
}
