//! Board files of the SATA experiment: the host's end of the link, and what its sequencers cost.
//!
//! Layer: rank 8. Main type: [`SataHost`]; function: [`read`]. What the costs mean is in
//! [`boardlab_sata::host::Costs`].

use super::limits;
use crate::managed::values::count;
use boardlab_document::{Read, Section};
use boardlab_sata::Speed;
use boardlab_sata::host::{Build, Costs, Limits, Settings};
use boardlab_sata::link::End;
use boardlab_sim::Duration;

const SPEEDS: [(&str, Speed); 3] =
    [("1.5 Gb/s", Speed::Gen1), ("3 Gb/s", Speed::Gen2), ("6 Gb/s", Speed::Gen3)];

/// A board with a SATA host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SataHost {
    /// What it is, one line.
    pub name: String,
    /// The fastest speed that it has.
    pub speed: Speed,
    /// Its end of the link.
    pub end: End,
    /// A job is set up, before any timer.
    pub setup: Duration,
    /// From the start of a command until it can go to the link.
    pub start: Duration,
    /// From the end of a command until that was noticed.
    pub poll: Duration,
    /// What firmware spends on each command besides.
    pub firmware: Overhead,
    /// What the sequencer in hardware spends.
    pub sequencer: Overhead,
}

/// What is spent on each command of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overhead {
    /// On a write.
    pub write: Duration,
    /// On a read.
    pub read: Duration,
}

impl SataHost {
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
    if !section.has("sata_host") {
        section.leave_rest();
        return Err(section.refuse(
            "title",
            "tells of no host for a SATA drive",
            "a board with [sata_host]",
            "take board = \"ml505\", or add what docs/formats/board.md lists for SATA",
        ));
    }
    let name = section.required::<String>("title");
    let host = section.section("sata_host", host);
    section.finish()?;
    Ok(SataHost { name: name?, ..host? })
}

fn host(section: Section<'_>) -> Read<SataHost> {
    let speed = speed(&section);
    let end = end(&section);
    let cost = |key| section.key::<Duration>(key).within(Duration::ZERO, limits::COMMAND);
    let (setup, start) = (cost("setup").required(), cost("start").required());
    let poll = cost("poll").required();
    let firmware = section.section("firmware", overhead);
    let sequencer = section.section("sequencer", overhead);
    section.finish()?;
    let end = end?.check(&section)?;
    Ok(SataHost {
        name: String::new(),
        speed: speed?,
        end,
        setup: setup?,
        start: start?,
        poll: poll?,
        firmware: firmware?,
        sequencer: sequencer?,
    })
}

fn overhead(section: Section<'_>) -> Read<Overhead> {
    let cost = |key| section.key::<Duration>(key).within(Duration::ZERO, limits::COMMAND);
    let (write, read) = (cost("write").required(), cost("read").required());
    section.finish()?;
    Ok(Overhead { write: write?, read: read? })
}

/// The fastest speed of an end.
pub(super) fn speed(section: &Section<'_>) -> Read<Speed> {
    section.one_of("speed", &SPEEDS)
}

/// An end whose FIFO has not been checked.
pub(super) struct RawEnd(End);

/// The keys of an end.
pub(super) fn end(section: &Section<'_>) -> Read<RawEnd> {
    let latency = count(section, "latency", 1, limits::LATENCY);
    let holda_after = count(section, "holda_after", 1, End::LONGEST_HOLDA.into());
    let fifo = count(section, "fifo", 32, limits::FIFO);
    let hold_from = count(section, "hold_from", 2, limits::FIFO);
    let hold_to = count(section, "hold_to", 0, limits::FIFO);
    let continues = section.required::<bool>("cont");
    Ok(RawEnd(End {
        latency: latency?,
        holda_after: holda_after?,
        fifo: fifo?,
        hold_from: hold_from?,
        hold_to: hold_to?,
        continues: continues?,
    }))
}

impl RawEnd {
    /// The end, if HOLD begins within the FIFO and ends below that.
    ///
    /// # Errors
    /// The rule that is broken.
    pub(super) fn check(self, section: &Section<'_>) -> Read<End> {
        let Self(end) = self;
        let help = "the FIFO must also take what comes after HOLD was sent: 20 dwords and what is on the way";
        let refused = |key: &str, problem: &str, expected: &str| {
            Err(section.refuse(key, problem, expected, help))
        };
        if end.hold_from >= end.fifo {
            let expected = format!("less than the {} dwords of the FIFO", end.fifo);
            return refused("hold_from", "leaves the FIFO no room", &expected);
        }
        if end.hold_to >= end.hold_from {
            let expected = format!("less than `hold_from`, {}", end.hold_from);
            return refused("hold_to", "is not below where HOLD begins", &expected);
        }
        Ok(end)
    }
}
