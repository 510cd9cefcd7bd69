//! Board files of the SATA experiment: the host's end of the link, and the cost of its sequencers.
//!
//! Layer: rank 8. Main types: [`SataHost`], [`Port`]; function: [`read`]. What the costs mean is in
//! [`boardlab_sata::host::Costs`].

use super::limits;
use boardlab_document::{Read, Section, keys, section};
use boardlab_sata::Speed;
use boardlab_sata::host::{Build, Costs, Limits, Settings};
use boardlab_sata::link::End;
use boardlab_sim::Duration;

pub(super) const SPEEDS: [(&str, Speed); 3] =
    [("1.5 Gb/s", Speed::Gen1), ("3 Gb/s", Speed::Gen2), ("6 Gb/s", Speed::Gen3)];

section! {
    /// One side of a link: of a host, or of a drive.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Port(section) {
        /// The fastest speed that it has.
        pub speed: Speed => one_of(SPEEDS),
        /// Its end of the link.
        pub end: End = end(&section) => check_end,
    }
}

section! {
    /// A board with a SATA host.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct SataHost(section) {
        /// The title, which is outside of the section.
        pub name: String = Read::Ok(String::new()),
        /// The fastest speed that it supports.
        pub speed: Speed => one_of(SPEEDS),
        /// Its end of the link.
        pub end: End = end(&section) => check_end,
        /// The set-up of a job, before the timer starts.
        pub setup: Duration => up_to(limits::COMMAND),
        /// The time from the start of a command until it is passed to the link.
        pub start: Duration => up_to(limits::COMMAND),
        /// The time from the end of a command until the host detects it.
        pub poll: Duration => up_to(limits::COMMAND),
        /// The additional cost of sequencing in firmware.
        pub firmware: Overhead,
        /// The cost of sequencing in hardware.
        pub sequencer: Overhead,
    }
}

section! {
    /// The cost of each command of a loop.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Overhead {
        /// Of a write.
        pub write: Duration => up_to(limits::COMMAND),
        /// Of a read.
        pub read: Duration => up_to(limits::COMMAND),
    }
}

impl SataHost {
    /// What a drive is connected to.
    #[must_use]
    pub const fn port(&self) -> Port {
        Port { speed: self.speed, end: self.end }
    }

    /// The host with commands sequenced as `build` does.
    #[must_use]
    pub const fn settings(&self, build: Build, limits: Limits) -> Settings {
        let overhead = match build {
            Build::Single | Build::Firmware => self.firmware,
            Build::Sequencer => self.sequencer,
        };
        let Self { setup, start, poll, .. } = *self;
        let Overhead { write, read } = overhead;
        let costs = Costs { setup, start, poll, update_read: read, update_write: write };
        Settings { build, costs, limits }
    }
}

/// Reads the section of a board.
///
/// # Errors
/// Whatever is missing, unknown or of the wrong kind, and a board without a host for SATA.
pub fn read(section: Section<'_>) -> Read<SataHost> {
    section.needs(
        &["sata_host"],
        "describes no host for a SATA drive",
        "a board with [sata_host]",
        "use --set board=ml505, or add what that board has: boardlab list keys sata-ssd",
    )?;
    let name = section.required::<String>("title");
    let host = section.section("sata_host", SataHost::read);
    section.finish()?;
    Ok(SataHost { name: name?, ..host? })
}

/// Reads the keys of an end; [`check_end`] checks them.
pub(super) fn end(section: &Section<'_>) -> Read<End> {
    keys!(section => End {
        latency: u32 => within(1, limits::LATENCY),
        holda_after: u32 => within(1, End::LONGEST_HOLDA.into()),
        fifo: u32 => within(32, limits::FIFO),
        hold_from: u32 => within(2, limits::FIFO),
        hold_to: u32 => up_to(limits::FIFO),
        cont: bool,
    })
}

/// Refuses an end unless HOLD begins within the FIFO and ends at a lower fill level.
pub(super) fn check_end(section: &Section<'_>, end: End) -> Read<End> {
    let help = "the FIFO must have room for what arrives after HOLD was sent: 20 dwords and those in flight";
    if end.hold_from >= end.fifo {
        let expected = format!("less than the {} dwords of the FIFO", end.fifo);
        return Err(section.refuse("hold_from", "leaves no room in the FIFO", &expected, help));
    }
    if end.hold_to >= end.hold_from {
        let expected = format!("less than `hold_from`, {}", end.hold_from);
        return Err(section.refuse(
            "hold_to",
            "is not below the level at which HOLD begins",
            &expected,
            help,
        ));
    }
    Ok(end)
}
